"""A model of Slurm 22.05: two loops over one queue, on particular nodes [slurm].

- `conf`, `site`, `scheduling`: what a ``slurm.conf`` says; `nodes`: its nodes as arrays
- `requests`: what each job of a log or stream asks for
- `priority`: the numbers of multifactor priorities, and the tree of accounts
- `controller`: a run of the engine's loop with Slurm's controller as its discipline, which is in
  `engine/passes/slurm*`: the order of what is due, the queue and the main loop's pass, the backfill
  loop's, its map of the future, which nodes a job gets, priorities
- `model`: a stream from its requests to its starts and ends
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..._lazy import attach

if TYPE_CHECKING:
    from .conf import plain_conf, read_slurm_conf
    from .controller import Pace
    from .model import LOOPS, Scheduled, schedule
    from .nodes import NodeTable, node_table
    from .requests import Requests, read_requests
    from .scheduling import Scheduling, read_scheduling
    from .site import Node, Partition, SlurmConf

_HOME = {
    "conf": ["plain_conf", "read_slurm_conf"],
    "controller": ["Pace"],
    "model": ["LOOPS", "Scheduled", "schedule"],
    "nodes": ["NodeTable", "node_table"],
    "requests": ["Requests", "read_requests"],
    "scheduling": ["Scheduling", "read_scheduling"],
    "site": ["Node", "Partition", "SlurmConf"],
}

__all__ = [
    "LOOPS",
    "Node",
    "NodeTable",
    "Pace",
    "Partition",
    "Requests",
    "Scheduled",
    "Scheduling",
    "SlurmConf",
    "node_table",
    "plain_conf",
    "read_requests",
    "read_scheduling",
    "read_slurm_conf",
    "schedule",
]

__getattr__ = attach(__name__, _HOME)
