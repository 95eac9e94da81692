"""What a site's ``slurm.conf`` says about its machine [slurm].

- `lines`: statements of a configuration file; `reading`: nodes, partitions, switches
- `gres`: types of generic resources from ``gres.conf``; `machine`: all of it as a cluster
"""

from __future__ import annotations

from .lines import Line, files_beside, read_lines
from .machine import read_slurm_cluster
from .reading import (
    SlurmNode,
    SlurmPartition,
    SlurmTables,
    is_tree,
    natural_order,
    read_tables,
    whole_minutes,
)

__all__ = [
    "Line",
    "SlurmNode",
    "SlurmPartition",
    "SlurmTables",
    "files_beside",
    "is_tree",
    "natural_order",
    "read_lines",
    "read_slurm_cluster",
    "read_tables",
    "whole_minutes",
]
