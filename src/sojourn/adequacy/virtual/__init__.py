"""A real Slurm with virtual nodes, on this machine.

- `needs`: what it takes, and what is missing
- `conf`: the ``slurm.conf``; `cluster`: its daemons, from start to stop
- `stream`: jobs, submitted and followed; `reading`: what became of each
- `clock`: a clock that can be moved on; `modeltime`: which does so when nothing is under way
- `running`: all of it, as one call
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..._lazy import attach

if TYPE_CHECKING:
    from .cluster import AUTHENTICATIONS, Cluster
    from .conf import Scheduling, read_scheduling
    from .needs import Need, advice, check, exposure, missing_for, remarks, slurm_version
    from .reading import COLUMNS, ControllerLog, Event, collect, read_controller_log
    from .running import MODES, Run, check_plan, run_stream
    from .stream import Job, read_stream

_HOME = {
    "cluster": ["AUTHENTICATIONS", "Cluster"],
    "conf": ["Scheduling", "read_scheduling"],
    "needs": ["Need", "advice", "check", "exposure", "missing_for", "remarks", "slurm_version"],
    "reading": ["COLUMNS", "ControllerLog", "Event", "collect", "read_controller_log"],
    "running": ["MODES", "Run", "check_plan", "run_stream"],
    "stream": ["Job", "read_stream"],
}

__all__ = [
    "AUTHENTICATIONS",
    "COLUMNS",
    "MODES",
    "Cluster",
    "ControllerLog",
    "Event",
    "Job",
    "Need",
    "Run",
    "Scheduling",
    "advice",
    "check",
    "check_plan",
    "collect",
    "exposure",
    "missing_for",
    "read_controller_log",
    "read_scheduling",
    "read_stream",
    "remarks",
    "run_stream",
    "slurm_version",
]

__getattr__ = attach(__name__, _HOME)
