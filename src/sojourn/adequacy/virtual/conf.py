"""The configuration of a virtual cluster: loopback only, one daemon per node, its own folder."""

from __future__ import annotations

import os
import pwd
import random
import re
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ...errors import ClusterError, RunError

__all__ = ["MOST_NODES", "Scheduling", "free_ports", "read_scheduling", "slurm_conf"]

MOST_NODES = 1024
"""More daemons than this on one machine are hardly meant."""

_LOOPBACK = "127.0.0.1"
_LOWEST_PORT = 10_000
_HIGHEST_PORT = 32_767  # the kernel lends higher ones to outgoing connections

# What decides who starts when. All other lines of a site's file name machines, paths and people
# that a virtual cluster does not have.
_TAKEN = re.compile(
    r"(scheduler(type|parameters|timeslice)|priority\w+|fairsharedampeningfactor|killwait|"
    r"completewait|overtimelimit|enforcepartlimits|maxarraysize|selecttypeparameters)$",
    re.IGNORECASE,
)
_NEEDS_ACCOUNTING = ("priorityweightfairshare", "priorityweightassoc", "priorityweightqos")
_DEFAULTS = {
    "SchedulerType": "sched/backfill",
    "PriorityType": "priority/basic",
    "KillWait": "30",
    "CompleteWait": "0",
}


@dataclass(frozen=True)
class Scheduling:
    """What a ``slurm.conf`` says about scheduling.

    Parameters
    ----------
    lines : name -> value of the lines that are taken over.
    left : names of the lines that a virtual cluster leaves aside.
    """

    lines: Mapping[str, str]
    left: tuple[str, ...] = ()

    def get(self, name: str) -> str:
        """Return a value by name, whatever its case, or Slurm's default."""
        lines = {key.lower(): value for key, value in {**_DEFAULTS, **self.lines}.items()}
        return lines.get(name.lower(), "")

    def parameter(self, name: str, default: int) -> int:
        """Return a number out of ``SchedulerParameters``."""
        found = re.search(rf"(?:^|,){name}=(\d+)", self.get("SchedulerParameters"), re.IGNORECASE)
        return int(found[1]) if found else default

    @property
    def is_backfill(self) -> bool:
        """Whether a backfill loop runs beside the main one."""
        return self.get("SchedulerType").lower() == "sched/backfill"

    @property
    def main_period(self) -> int:
        """Seconds between passes of the main loop that nothing but time sets off."""
        return max(self.parameter("sched_interval", 60), 1)

    @property
    def delay(self) -> int:
        """Seconds for which a submit or an end may wait for others before the main loop looks."""
        return self.parameter("batch_sched_delay", 3)

    @property
    def backfill_period(self) -> int:
        """Seconds between passes of the backfill loop."""
        return max(self.parameter("bf_interval", 30), 1)

    @property
    def is_ageless(self) -> bool:
        """Whether the order of waiting jobs cannot change by the passing of time alone."""
        return self.get("PriorityType").lower() == "priority/basic"


def read_scheduling(path: str | os.PathLike[str] | None) -> Scheduling:
    """Read the scheduling lines of a ``slurm.conf``; None gives Slurm's defaults.

    Raises
    ------
    ClusterError
        When the file cannot be read, or one of its lines is not ``Name=value``.
    """
    if path is None:
        return Scheduling(dict(_DEFAULTS))
    try:
        text = Path(path).read_text(encoding="utf-8", errors="replace")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ClusterError(path, f"cannot be read ({reason}); check the path") from None
    taken = dict(_DEFAULTS)
    left: dict[str, None] = {}
    begun = ""
    for number, line in enumerate(text.splitlines(), 1):
        begun += line.removesuffix("\\")
        if line.endswith("\\"):
            continue
        said, begun = re.split(r"(?<!\\)#", begun)[0].strip(), ""
        if not said:
            continue
        name, equals, value = (part.strip() for part in said.partition("="))
        if not equals and name.lower().split()[0] != "include":
            raise ClusterError(path, f"'{said[:40]}' is not Name=value", line=number)
        if _TAKEN.match(name) and name.lower() not in _NEEDS_ACCOUNTING:
            former = next((key for key in taken if key.lower() == name.lower()), name)
            taken.pop(former, None)
            taken[name] = value
        else:
            left[name.split()[0]] = None
    return Scheduling(taken, tuple(left))


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
        # Tells when a loop begins a pass.
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
