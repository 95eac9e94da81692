"""The configuration of a virtual cluster: loopback only, one daemon per node, its own folder."""

from __future__ import annotations

import os
import pwd
import random
import socket
from pathlib import Path

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
    lines = {
        "ClusterName": "virtual",
        "SlurmctldHost": f"localhost({_LOOPBACK})",
        "SlurmctldPort": port,
        "SlurmdPort": port + 1,
        "SlurmUser": user,
        "SlurmdUser": user,
        "AuthType": f"auth/{kind}",
        "CredType": f"cred/{kind}",
        **({} if munge is None else {"AuthInfo": f"socket={munge}"}),
        "CommunicationParameters": "NoInAddrAny,NoCtldInAddrAny",
        "StateSaveLocation": folder / "state",
        "SlurmdSpoolDir": folder / "spool" / "%n",
        "SlurmctldPidFile": folder / "slurmctld.pid",
        "SlurmdPidFile": folder / "%n.pid",
        "SlurmctldLogFile": folder / "slurmctld.log",
        "SlurmdLogFile": folder / "%n.log",
        # Logs when a loop begins a pass.
        "SlurmctldDebug": "debug",
        "SlurmdDebug": "error",
        "LogTimeFormat": "iso8601_ms",
        "SlurmdParameters": "config_overrides",
        "ProctrackType": "proctrack/pgid",
        "TaskPlugin": "task/none",
        "SwitchType": "switch/none",
        "MpiDefault": "none",
        "JobAcctGatherType": "jobacct_gather/none",
        "JobAcctGatherFrequency": 0,
        "AccountingStorageType": "accounting_storage/none",
        "JobCompType": "jobcomp/filetxt",
        "JobCompLoc": folder / "jobcomp.log",
        "SelectType": "select/linear",
        "MailProg": "/bin/true",
        "ReturnToService": 2,
        # A daemon that is slow to answer is late, not lost.
        "SlurmctldTimeout": 300,
        "SlurmdTimeout": 0,
        "InactiveLimit": 0,
        "UnkillableStepTimeout": 65_000,
        "BatchStartTimeout": 1000,
        "MessageTimeout": 60,
        "MaxJobCount": 100_000,
        "JobRequeue": 0,
        **scheduling.lines,
    }
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
