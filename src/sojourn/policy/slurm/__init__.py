"""A model of Slurm 22.05: two loops over one queue, on particular nodes [slurm].

- `conf`, `site`, `scheduling`: what a ``slurm.conf`` says; `nodes`: its nodes as arrays
- `requests`: what each job of a log or stream asks for
- `priority`: the numbers of multifactor priorities, and the tree of accounts
- `controller`: a run of the engine's loop with Slurm's controller as its discipline, which is in
  `engine/passes/slurm*`: the order of what is due, the queue and the main loop's pass, the backfill
  loop's, its map of the future, which nodes a job gets, priorities
- `model`: a stream from its requests to its starts and ends
- `policy`: `SlurmPolicy`, with any line of the file changed; `site_cluster`: its nodes as a cluster
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..._lazy import attach

if TYPE_CHECKING:
    from .conf import plain_conf, read_slurm_conf
    from .controller import Pace
    from .model import LOOPS, Scheduled, make_run, outcome_of, schedule
    from .nodes import NodeTable, node_table
    from .policy import SlurmPolicy, policy_from_slurm, slurm
    from .requests import Requests, read_requests, read_table, requests_of
    from .scheduling import Scheduling, read_scheduling
    from .site import Node, Partition, SlurmConf
    from .site_cluster import cluster_of, conf_on

_HOME = {
    "conf": ["plain_conf", "read_slurm_conf"],
    "controller": ["Pace"],
    "model": ["LOOPS", "Scheduled", "make_run", "outcome_of", "schedule"],
    "nodes": ["NodeTable", "node_table"],
    "policy": ["SlurmPolicy", "policy_from_slurm", "slurm"],
    "requests": ["Requests", "read_requests", "read_table", "requests_of"],
    "site_cluster": ["cluster_of", "conf_on"],
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
    "SlurmPolicy",
    "cluster_of",
    "conf_on",
    "make_run",
    "node_table",
    "outcome_of",
    "plain_conf",
    "policy_from_slurm",
    "read_requests",
    "read_scheduling",
    "read_slurm_conf",
    "read_table",
    "requests_of",
    "schedule",
    "slurm",
]

__getattr__ = attach(__name__, _HOME)
