"""A site's ``slurm.conf``: nodes, partitions, switches, priorities, both loops [slurm]."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from ...cluster.slurm import SlurmNode, SlurmPartition, is_tree, whole_minutes
from ...errors import ClusterError
from .scheduling import PARAMETERS, UNMODELLED, Scheduling

_UNMODELLED_LINES = {
    "preempttype": ("preempt/none", "no job is preempted"),
    "topologyplugin": ("topology/none", "a network that is no tree counts as none"),
    "licenses": ("", "licenses are free"),
    "priorityweighttres": ("", "trackable resources do not count in the priority"),
    "priorityweightassoc": ("0", "priorities of associations are in the database"),
    "priorityweightqos": ("0", "priorities of qualities of service are in the database"),
    "prioritysitefactorplugin": ("", "the site's own factor is not known"),
    "priorityusageresetperiod": ("none", "usage is never set to zero"),
    "jobsubmitplugins": ("", "jobs are taken as they were submitted"),
    "completewait": ("0", "freed nodes are used at once"),
}
"""Lines that change a schedule and are not modelled: the value that changes nothing, and why."""

_CREDENTIAL_EXPIRES = 120
_DIGITS = 10

Node = SlurmNode
Partition = SlurmPartition


@dataclass(frozen=True)
class SlurmConf:
    """What a ``slurm.conf`` says.

    Parameters
    ----------
    path : of the file.
    lines : all lines but those of nodes and partitions, by their names in small letters.
    nodes, partitions : in the order of the file.
    switches : the nodes of each leaf switch; empty where Slurm is told of none.
    assumed : what had to be assumed, in words.
    suspend_times : of partitions that have their own (s).
    """

    path: str
    lines: Mapping[str, str]
    nodes: tuple[Node, ...]
    partitions: tuple[Partition, ...]
    switches: tuple[tuple[str, ...], ...] = ()
    assumed: tuple[str, ...] = ()
    suspend_times: tuple[tuple[str, float], ...] = ()

    def get(self, name: str, default: str = "") -> str:
        """Return a line's value by name, whatever its case."""
        return self.lines.get(name.lower(), default)

    def number(self, name: str, default: float) -> float:
        """Return a line's value as a number that is not negative."""
        said = self.get(name)
        if not said:
            return default
        try:
            value = float(said)
        except ValueError:
            value = -1.0
        if not 0 <= value < math.inf:
            raise ClusterError(self.path, f"'{said}' is no number; correct it", field=name)
        return value

    def seconds(self, name: str, default: float) -> float:
        """Return a line's length of time: a plain number counts minutes."""
        said = self.get(name)
        return whole_minutes(said, self.path, None, name) * 60.0 if said else default

    @cached_property
    def scheduling(self) -> Scheduling:
        """The numbers of both loops."""
        return Scheduling(self.lines)

    @property
    def is_linear(self) -> bool:
        """Whether jobs get whole nodes only (select/linear)."""
        return self.get("SelectType", "select/linear").lower() == "select/linear"

    @property
    def consumes_memory(self) -> bool:
        """Whether memory is handed out as processors are."""
        return "memory" in self.get("SelectTypeParameters").lower()

    @property
    def has_accounting(self) -> bool:
        """Whether there is a database, without which neither age nor fair share counts."""
        return self.get("AccountingStorageType").lower() == "accounting_storage/slurmdbd"

    @property
    def is_multifactor(self) -> bool:
        """Whether priorities have factors; else jobs go in the order of submission."""
        return self.get("PriorityType", "priority/basic").lower() == "priority/multifactor"

    @property
    def is_fair_tree(self) -> bool:
        """Which rule shares are counted by.

        Where the flags do not say, a dampening factor stands for the classic rule, the only one
        that has it; else it is the fair tree, Slurm's default since 19.05.
        """
        flags = self.priority_flags
        if flags & {"NO_FAIR_TREE", "DEPTH_OBLIVIOUS"}:
            return False
        return "FAIR_TREE" in flags or not self.get("FairShareDampeningFactor")

    @property
    def priority_flags(self) -> frozenset[str]:
        """The flags of ``PriorityFlags``, in capitals."""
        said = self.get("PriorityFlags").upper().split(",")
        return frozenset(flag.strip() for flag in said if flag.strip())

    @property
    def kill_after(self) -> float:
        """Seconds over its limit after which a job is ended, at the next look."""
        said = self.get("OverTimeLimit")
        if said.upper() == "UNLIMITED":
            return math.inf
        return 60.0 * self.number("OverTimeLimit", 0.0)

    @property
    def brings_back(self) -> bool:
        """Whether jobs of failed nodes wait again."""
        return self.number("JobRequeue", 1) > 0

    @property
    def credential_expires(self) -> int:
        """Seconds for which a job that comes back may not start."""
        for part in self.get("AuthInfo").split(","):
            name, _, said = part.strip().partition("=")
            if name.lower() == "cred_expire":
                if not (said.isdecimal() and len(said) < _DIGITS):
                    problem = f"cred_expire '{said}' is no number of seconds; correct it"
                    raise ClusterError(self.path, problem, field="AuthInfo")
                return int(said)
        return _CREDENTIAL_EXPIRES

    @property
    def not_modelled(self) -> tuple[str, ...]:
        """What of the file has no effect here, and what was assumed, each with the reason."""
        told = []
        for name, value in self.scheduling.parameters.items():
            if name in UNMODELLED:
                told.append(f"SchedulerParameters {name}: {UNMODELLED[name]}")
            elif name in PARAMETERS and not value.isdecimal():
                told.append(f"SchedulerParameters {name}={value}: no number, Slurm's default taken")
            elif name not in PARAMETERS:
                told.append(
                    f"SchedulerParameters {name}={value}: not known here, so without effect"
                )
        for name, (harmless, why) in _UNMODELLED_LINES.items():
            said = self.get(name)
            if (
                said
                and said.lower() != harmless
                and not (name == "topologyplugin" and is_tree(said))
            ):
                told.append(f"{name}={said}: {why}")
        if self.is_multifactor and not self.has_accounting:
            told.append("AccountingStorageType: no database, so age and fair share do not count")
        elif self.is_multifactor and self.number("PriorityWeightFairshare", 0):
            told.append("shares of accounts and users are in the database: taken as equal")
        if self.is_multifactor and self.has_accounting and not self.is_fair_tree:
            told.append(
                "shares are counted by the classic rule; PriorityFlags=FAIR_TREE changes it"
            )
        if "DEPTH_OBLIVIOUS" in self.priority_flags:
            told.append("PriorityFlags DEPTH_OBLIVIOUS: counted by the classic rule")
        if len({node.weight for node in self.nodes}) > 1:
            told.append("NodeName Weight: nodes of all weights are used alike")
        told += [f"partition {each.name} is not up: its jobs wait"
                 for each in self.partitions if not each.is_up]  # fmt: skip
        return (*told, *self.assumed)

    def with_parameters(self, changes: Mapping[str, str]) -> SlurmConf:
        """Return a copy in which some lines or scheduler parameters have other values."""
        lines = dict(self.lines)
        for name, value in changes.items():
            key = name.lower()
            if key in PARAMETERS or key in UNMODELLED:
                kept = {**Scheduling(lines).parameters, key: value}
                lines["schedulerparameters"] = ",".join(f"{k}={v}" for k, v in kept.items())
            else:
                lines[key] = value
        return replace(self, lines=lines)
