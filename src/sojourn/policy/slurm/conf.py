"""Reading a ``slurm.conf`` with what it includes and the ``topology.conf`` beside it [slurm]."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace

from ...cluster.slurm import read_tables, suspend_times
from ...errors import ClusterError, OptionError
from ...jobs.formats.slurm_fields import fold_nodes
from .site import Node, Partition, SlurmConf

__all__ = ["Node", "Partition", "SlurmConf", "plain_conf", "read_slurm_conf"]

_MOST_NODES = 100_000

_UNMODELLED = {
    ("partitionname", "oversubscribe"): (("no", "exclusive"), "no two jobs share a processor"),
    ("partitionname", "qos"): (("n/a",), "limits of a quality of service are in the database"),
    ("partitionname", "maxcpuspernode"): (("unlimited",), "jobs may use all processors of a node"),
    ("partitionname", "maxcpuspersocket"): (("unlimited",), "jobs may use all of a socket"),
    ("partitionname", "lln"): (("no",), "nodes are not chosen by their load"),
    ("partitionname", "exclusiveuser"): (("no",), "users share nodes"),
    ("partitionname", "suspendtimeout"): ((), "that of the whole file holds"),
    ("partitionname", "resumetimeout"): ((), "that of the whole file holds"),
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

    Nodes that are down or for the future are left out, and `SlurmConf.not_modelled` says which.

    Raises
    ------
    ClusterError
        When a file cannot be read or says what cannot be; it names file, line and field.
    """
    tables = read_tables(path)
    unmodelled: dict[str, None] = {}
    for kind, _, said in tables.statements:
        unmodelled |= _not_modelled(kind, said)
    absent: dict[str, list[str]] = {}
    for node in tables.nodes:
        if state := tables.state_of(node):
            absent.setdefault(state, []).append(node.name)
    gone = {name for names in absent.values() for name in names}
    if tables.nodes and len(gone) == len(tables.nodes):
        raise ClusterError(tables.path, "has no node that is up; check the states of nodes")
    left_out = (
        f"{len(names):,} {'node' if len(names) == 1 else 'nodes'} in state {state} left out: "
        f"{fold_nodes(names)}"
        for state, names in absent.items()
    )
    return SlurmConf(
        tables.path,
        tables.lines,
        tuple(node for node in tables.nodes if node.name not in gone),
        tuple(
            replace(part, nodes=tuple(name for name in part.nodes if name not in gone))
            for part in tables.partitions
        ),
        tuple(tuple(name for name in leaf if name not in gone) for leaf in tables.switches),
        (*left_out, *unmodelled, *tables.assumed),
        suspend_times(tables),
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
