"""Streams of jobs on virtual nodes, once or several times, and what became of them."""

from __future__ import annotations

import gzip
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ...errors import OptionError, RunError
from .clock import ModelClock
from .cluster import AUTHENTICATIONS, VirtualCluster, own_folder, terminable
from .conf import MOST_NODES, Scheduling, read_scheduling
from .modeltime import ModelTime
from .needs import advice, missing_for, slurm_version
from .reading import ControllerLog, collect
from .stream import Job, RealTime, play

MODES = ("real", "model")
"""How time passes: as it does, or moved on when nothing is under way."""

_PACKING = 6


@dataclass(frozen=True)
class StreamRun:
    """A stream that went through a virtual cluster.

    Parameters
    ----------
    rows : one per job, in the order of submission, with the columns `COLUMNS`.
    mode : how time passed.
    span : seconds that passed on the cluster, from the stream's zero to its end.
    seconds : that it took, without starting and stopping the cluster.
    conf : text of the ``slurm.conf``.
    log : the controller's log, packed with gzip.
    slurm : version of Slurm.
    """

    rows: list[dict[str, Any]]
    mode: str
    span: float
    seconds: float
    conf: str
    log: bytes
    slurm: str | None

    @property
    def speed(self) -> float:
        """How many times faster than it would have happened."""
        return self.span / self.seconds

    def as_dict(self) -> dict[str, Any]:
        """Return what was measured, without the jobs."""
        return {
            "mode": self.mode,
            "jobs": len(self.rows),
            "span": self.span,
            "seconds": self.seconds,
            "speed": self.speed,
            "slurm": self.slurm,
            "not_completed": sum(row["state"] != "COMPLETED" for row in self.rows),
        }


def run_stream(
    jobs: Sequence[Job],
    nodes: int,
    *,
    mode: str = "real",
    conf: str | os.PathLike[str] | Scheduling | None = None,
    auth: str = "none",
    progress: Callable[[int, int], None] | None = None,
) -> StreamRun:
    """Send a stream through a real Slurm with virtual nodes, and stop it.

    Nothing is left running and no file is left behind, also on an error, Ctrl-C or SIGTERM.

    Parameters
    ----------
    jobs : the stream, as from `read_stream`.
    nodes : number of virtual nodes.
    mode : ``real``, in which jobs sleep for as long as they run, or ``model``.
    conf : a ``slurm.conf`` whose scheduling lines are taken over; None for Slurm's defaults.
    auth : ``none`` (any local user can submit while it lasts) or ``munge``.
    progress : called now and then with (jobs ended, jobs).

    Raises
    ------
    RunError
        When Slurm is missing or fails; `check` says what is missing.
    """
    check_plan(jobs, nodes, mode, auth)
    scheduling = conf if isinstance(conf, Scheduling) else read_scheduling(conf)
    with terminable(), own_folder() as folder:
        clock = ModelClock(folder) if mode == "model" else None
        environment = clock.environment if clock is not None else {}
        with VirtualCluster(
            nodes, scheduling, auth=auth, environment=environment, folder=folder
        ) as cluster:
            log = ControllerLog(cluster.log)
            pace = ModelTime(clock, cluster, log) if clock is not None else RealTime()
            begin = time.monotonic()
            played = play(cluster, jobs, pace, log, progress=progress)
            seconds, span = time.monotonic() - begin, pace.now() - played.zero
            return StreamRun(
                rows=collect(log, cluster.completions, played.jobs, played.zero),
                mode=mode,
                span=span,
                seconds=seconds,
                conf=cluster.conf.read_text(encoding="utf-8"),
                log=gzip.compress(cluster.log.read_bytes(), _PACKING),
                slurm=slurm_version(),
            )


def check_plan(jobs: Sequence[Job], nodes: int, mode: str, auth: str) -> None:
    """Raise an error if a stream cannot be run on this machine, before anything is started."""
    if mode not in MODES:
        raise OptionError(f"mode '{mode}' is unknown; choose {', '.join(MODES)}")
    if auth not in AUTHENTICATIONS:
        raise OptionError(f"auth '{auth}' is unknown; choose {', '.join(AUTHENTICATIONS)}")
    if not 1 <= nodes <= MOST_NODES:
        raise OptionError(f"nodes must be between 1 and {MOST_NODES}, not {nodes}")
    if not jobs:
        raise OptionError("the stream has no job; give at least one")
    widest = max(jobs, key=lambda job: job.nodes)
    if widest.nodes > nodes:
        raise OptionError(
            f"job {widest.id} needs {widest.nodes} nodes, the cluster has {nodes}; use more"
        )
    missing = missing_for(mode, auth)
    if missing:
        names = ", ".join(need.name for need in missing)
        raise RunError(f"missing on this machine: {names}; {advice(missing)}")
