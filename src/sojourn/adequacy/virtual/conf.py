"""The configuration of a virtual cluster: loopback only, one daemon per node, its own folder."""

from __future__ import annotations

import os
import pwd
import random
import socket
from pathlib import Path
from string import Template

from ...errors import RunError
from ...policy.slurm.scheduling import Scheduling as Scheduling
from ...policy.slurm.scheduling import read_scheduling as read_scheduling

MOST_NODES = 1024
"""More daemons than this on one machine are hardly meant."""

_LOOPBACK = "127.0.0.1"
_LOWEST_PORT = 10_000
_HIGHEST_PORT = 32_767  # the kernel lends higher ones to outgoing connections


def free_ports(count: int, *, tries: int = 200) -> int:
    """Return the first of so many neighbouring ports of the loopback that nobody listens on."""
    chance = random.Random()
    for _ in range(tries):
        first = chance.randrange(_LOWEST_PORT, _HIGHEST_PORT - count + 1)
        if all(_is_free(port) for port in range(first, first + count)):
            return first
    raise RunError(f"no {count} neighbouring ports are free on {_LOOPBACK}; use fewer nodes")


def _is_free(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((_LOOPBACK, port))
        except OSError:
            return False
    return True


def slurm_conf(
    folder: Path, nodes: int, port: int, scheduling: Scheduling, *, munge: Path | None = None
) -> str:
    """Return the text of a ``slurm.conf`` for virtual nodes ``n1``, ``n2`` and so on.

    Parameters
    ----------
    folder : holds everything that the daemons write.
    nodes : number of virtual nodes, each with one processor and one job at a time.
    port : of the controller; the nodes have those that follow.
    scheduling : lines that decide who starts when.
    munge : socket of a munge daemon; None lets every local user act as any other.
    """
    user = pwd.getpwuid(os.geteuid()).pw_name
    kind = "none" if munge is None else "munge"
    given = {"user": user, "kind": kind, "munge": munge, "folder": folder}
    text = Template(Path(__file__).with_name("slurm.conf.in").read_text(encoding="utf-8"))
    told = text.substitute(given, host=_LOOPBACK, port=port, next=port + 1).splitlines()
    lines = dict(line.split("=", 1) for line in told if line and not line.startswith("#"))
    if munge is None:
        del lines["AuthInfo"]
    lines |= scheduling.lines
    if scheduling.get("SelectTypeParameters"):
        lines.pop(next(name for name in lines if name.lower() == "selecttypeparameters"))
    first, last = port + 1, port + nodes
    ports = f"[{first}-{last}]" if nodes > 1 else f"{first}"
    names = f"n[1-{nodes}]" if nodes > 1 else "n1"
    return (
        "".join(f"{name}={value}\n" for name, value in lines.items())
        + f"NodeName={names} NodeAddr={_LOOPBACK} NodeHostname=localhost Port={ports} CPUs=1 "
        "RealMemory=1 State=UNKNOWN\n"
        f"PartitionName=main Nodes={names} Default=YES MaxTime=UNLIMITED State=UP "
        "OverSubscribe=EXCLUSIVE\n"
    )
