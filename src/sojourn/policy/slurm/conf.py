"""Reading a ``slurm.conf`` with what it includes and the ``topology.conf`` beside it [slurm]."""

from __future__ import annotations

import os
from collections.abc import Mapping

from ...cluster.slurm import read_tables
from ...errors import OptionError
from .site import Node, Partition, SlurmConf

__all__ = ["Node", "Partition", "SlurmConf", "plain_conf", "read_slurm_conf"]

_MOST_NODES = 100_000

_UNMODELLED = {
    ("nodename", "state"): (("unknown", "idle", "cloud"), "nodes are always up"),
    ("partitionname", "oversubscribe"): (("no", "exclusive"), "no two jobs share a processor"),
    ("partitionname", "qos"): (("n/a",), "limits of a quality of service are in the database"),
    ("partitionname", "maxcpuspernode"): (("unlimited",), "jobs may use all processors of a node"),
    ("partitionname", "maxcpuspersocket"): (("unlimited",), "jobs may use all of a socket"),
    ("partitionname", "lln"): (("no",), "nodes are not chosen by their load"),
    ("partitionname", "exclusiveuser"): (("no",), "users share nodes"),
}
"""What lines of nodes and partitions say that changes a schedule and is not modelled: values that
change nothing, and why."""


def plain_conf(nodes: int, scheduling: SlurmConf | None = None) -> SlurmConf:
    """Return the configuration of a cluster of equal nodes with one job each.

    Parameters
    ----------
    nodes : their number; they are called n1, n2 and so on and have one processor.
    scheduling : where all other lines come from; None gives Slurm's defaults.
    """
    if not 1 <= nodes <= _MOST_NODES:
        raise OptionError(f"{nodes} nodes; give 1 to {_MOST_NODES}")
    names = tuple(f"n{k}" for k in range(1, nodes + 1))
    lines = {} if scheduling is None else dict(scheduling.lines)
    # Whole nodes, whatever the site's own nodes are.
    for name in ("selecttype", "selecttypeparameters", "topologyplugin"):
        lines.pop(name, None)
    return SlurmConf(
        path="" if scheduling is None else scheduling.path,
        lines=lines,
        nodes=tuple(Node(name) for name in names),
        partitions=(Partition("main", names, is_default=True, whole=True),),
    )


def read_slurm_conf(path: str | os.PathLike[str]) -> SlurmConf:
    """Read a ``slurm.conf``, the files it includes, and the ``topology.conf`` beside it.

    Raises
    ------
    ClusterError
        When a file cannot be read or says what cannot be; it names file, line and field.
    """
    tables = read_tables(path)
    unmodelled: dict[str, None] = {}
    for kind, _, said in tables.statements:
        unmodelled |= _not_modelled(kind, said)
    assumed = (*unmodelled, *tables.assumed)
    return SlurmConf(
        tables.path, tables.lines, tables.nodes, tables.partitions, tables.switches, assumed
    )


def _not_modelled(kind: str, said: Mapping[str, str]) -> dict[str, None]:
    """Return what a line says in vain, in words, each once."""
    told: dict[str, None] = {}
    for (of, field), (harmless, why) in _UNMODELLED.items():
        value = said.get(field, "")
        if of == kind and value and value.lower() not in harmless:
            # Many lines of nodes may say the same.
            who = "NodeName" if of == "nodename" else f"partition {said[of]}"
            told[f"{who} {field}={value}: {why}"] = None
    return told
