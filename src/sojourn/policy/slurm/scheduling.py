"""What a ``slurm.conf`` says about scheduling, each value with Slurm's default [slurm]."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass

from ...cluster.slurm import read_lines

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

PARAMETERS: dict[str, int] = {
    "batch_sched_delay": 3,
    "bf_continue": 0,
    "bf_interval": 30,
    "bf_job_part_count_reserve": 0,
    "bf_max_job_part": 0,
    "bf_max_job_start": 0,
    "bf_max_job_test": 500,
    "bf_max_job_user": 0,
    "bf_min_age_reserve": 0,
    "bf_resolution": 60,
    "bf_window": 1440,
    "default_queue_depth": 100,
    "sched_interval": 60,
    "sched_max_job_start": 0,
}
"""Scheduler parameters that are modelled, with their defaults in Slurm's own units."""

UNMODELLED: dict[str, str] = {
    "bf_max_time": "the backfill loop always reaches the end of its queue",
    "bf_min_prio_reserve": "every waiting job may get a reservation",
    "bf_yield_interval": "the backfill loop does not pause",
    "bf_yield_sleep": "the backfill loop does not pause",
    "defer": "a submit may set off the main loop",
    "max_rpc_cnt": "requests to the controller are not counted",
    "max_sched_time": "the main loop always reaches the end of its queue",
    "partition_job_depth": "all jobs of a partition are looked at",
    "sched_min_interval": "the main loop looks about once a second",
}
"""Scheduler parameters that are known and have no effect here, each with the reason."""

POWER_LINES = (
    *("SuspendTime", "SuspendTimeout", "ResumeTimeout", "SuspendRate", "ResumeRate"),
    *("SuspendExcNodes", "SuspendExcParts", "SuspendExcStates"),
)
"""Lines of power saving."""


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

    @property
    def parameters(self) -> dict[str, str]:
        """All of ``SchedulerParameters``; one without a value is ``1``."""
        said = self.get("SchedulerParameters").lstrip("=").split(",")
        pairs = (each.partition("=") for each in said if each.strip())
        return {name.strip().lower(): value.strip() or "1" for name, _, value in pairs}

    def parameter(self, name: str, default: int) -> int:
        """Return a number out of ``SchedulerParameters``."""
        found = re.match(r"\d+", self.parameters.get(name.lower(), ""))
        return int(found[0]) if found else default

    def value(self, name: str) -> int:
        """Return one of `PARAMETERS`, or Slurm's default."""
        return self.parameter(name, PARAMETERS[name])

    @property
    def is_backfill(self) -> bool:
        """Whether a backfill loop runs beside the main one."""
        return self.get("SchedulerType").lower() == "sched/backfill"

    @property
    def main_period(self) -> int:
        """Seconds between passes of the main loop that nothing but time sets off."""
        return max(self.value("sched_interval"), 1)

    @property
    def delay(self) -> int:
        """Seconds for which a submit or an end may wait for others before the main loop looks."""
        return self.value("batch_sched_delay")

    @property
    def backfill_period(self) -> int:
        """Seconds between passes of the backfill loop."""
        return max(self.value("bf_interval"), 1)

    @property
    def is_ageless(self) -> bool:
        """Whether the order of waiting jobs cannot change by the passing of time alone."""
        return self.get("PriorityType").lower() == "priority/basic"


def read_scheduling(path: str | os.PathLike[str] | None) -> Scheduling:
    """Read the scheduling lines of a ``slurm.conf``; None gives Slurm's defaults.

    What needs a database of accounts is left aside, and so are included files.

    Raises
    ------
    ClusterError
        When the file cannot be read, or one of its lines is not ``Name=value``.
    """
    if path is None:
        return Scheduling(dict(_DEFAULTS))
    taken = dict(_DEFAULTS)
    left: dict[str, None] = {}
    for line in read_lines(path, follow=False):
        if line.name.lower() in ("nodename", "partitionname", "include"):
            left[line.name] = None
            continue
        for name, value in line.pairs:
            if _TAKEN.match(name) and name.lower() not in _NEEDS_ACCOUNTING:
                former = next((key for key in taken if key.lower() == name.lower()), name)
                taken.pop(former, None)
                taken[name] = value
            else:
                left[name] = None
    return Scheduling(taken, tuple(left))
