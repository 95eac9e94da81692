"""Reading a ``slurm.conf`` with what it includes and the ``topology.conf`` beside it [slurm]."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from ...errors import ClusterError, OptionError
from ...workload._slurm_fields import expand_nodes
from ._lines import Line, read_lines
from .site import Node, Partition, SlurmConf, is_tree, whole_minutes

__all__ = ["Node", "Partition", "SlurmConf", "plain_conf", "read_slurm_conf"]

_MOST_NODES = 100_000
_ALIAS = {"features": "feature", "shared": "oversubscribe"}
_SIZES = {"K": 1024, "M": 1024**2, "G": 1024**3, "T": 1024**4, "P": 1024**5}

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
    lines: dict[str, str] = {}
    nodes: dict[str, Node] = {}
    groups: list[tuple[str, ...]] = []
    partitions: list[Partition] = []
    node_default: dict[str, str] = {}
    partition_default: dict[str, str] = {}
    waiting: list[tuple[Line, dict[str, str]]] = []
    sets: list[tuple[Line, dict[str, str]]] = []
    unmodelled: dict[str, None] = {}
    for line in read_lines(path):
        said = {_ALIAS.get(name.lower(), name.lower()): value for name, value in line.pairs}
        kind = line.name.lower()
        if kind == "nodename" and said[kind].upper() == "DEFAULT":
            node_default |= said
        elif kind == "nodename":
            said = {**node_default, **said}
            made = _nodes(line, said)
            unmodelled |= _not_modelled(kind, said)
            groups.append(tuple(made))
            nodes |= made
        elif kind == "partitionname" and said[kind].upper() == "DEFAULT":
            partition_default |= said
        elif kind == "partitionname":
            said = {**partition_default, **said}
            unmodelled |= _not_modelled(kind, said)
            waiting.append((line, said))
        elif kind == "nodeset":
            sets.append((line, said))
        else:
            lines |= said
    # A partition may name nodes that stand further down.
    named = {said["nodeset"]: _node_set(line, said, nodes) for line, said in sets}
    partitions += [_partition(line, said, nodes, named) for line, said in waiting]
    switches, assumed = _switches(Path(path), lines, groups)
    assumed = (*unmodelled, *assumed)
    return SlurmConf(str(path), lines, tuple(nodes.values()), tuple(partitions), switches, assumed)


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


def _node_set(line: Line, said: Mapping[str, str], nodes: Mapping[str, Node]) -> dict[str, None]:
    """Return the nodes of a ``NodeSet``: those it lists, and those with its feature."""
    feature = said.get("feature", "")
    having = [name for name, node in nodes.items() if feature in node.features]
    return dict.fromkeys([*_names(said.get("nodes", ""), line, "Nodes"), *having])


def _switches(
    path: Path, lines: Mapping[str, str], groups: Iterable[tuple[str, ...]]
) -> tuple[tuple[tuple[str, ...], ...], tuple[str, ...]]:
    """Return the leaf switches, and a word where they are not told."""
    if not is_tree(lines.get("topologyplugin", "")):
        return (), ()
    file = path.parent / "topology.conf"
    if not file.is_file():
        return tuple(groups), (
            "TopologyPlugin=topology/tree without a topology.conf beside the file: "
            "the nodes of one NodeName line are taken for those of one leaf switch",
        )
    leaves = []
    for line in read_lines(file):
        said = {name.lower(): value for name, value in line.pairs}
        if "switchname" in said and said.get("nodes"):
            leaves.append(_names(said["nodes"], line, "Nodes"))
    return tuple(leaves), ()


def _names(text: str, line: Line, field: str) -> tuple[str, ...]:
    try:
        names = expand_nodes(text)
    except ValueError:
        raise _bad(line, field, text) from None
    if text.count("[") != text.count("]"):
        raise _bad(line, field, text)
    return names


def _bad(line: Line, field: str, text: str) -> ClusterError:
    problem = f"'{text[:40]}' is no value of it; correct it"
    return ClusterError(line.path, problem, line=line.number, field=field)


def _whole(line: Line, said: Mapping[str, str], field: str, default: int) -> int:
    text = said.get(field.lower(), "")
    if not text:
        return default
    if not text.isdecimal():
        raise _bad(line, field, text)
    return int(text)


def _nodes(line: Line, said: Mapping[str, str]) -> dict[str, Node]:
    sockets = _whole(line, said, "Sockets", 0)
    inner = _whole(line, said, "CoresPerSocket", 1) * _whole(line, said, "ThreadsPerCore", 1)
    boards = _whole(line, said, "Boards", 1)
    sockets = sockets or boards * _whole(line, said, "SocketsPerBoard", 1)
    cpus = _whole(line, said, "CPUs", _whole(line, said, "Procs", sockets * inner))
    node = Node(
        name="",
        cpus=max(cpus, 1),
        memory=_whole(line, said, "RealMemory", 1),
        gres=_gres(line, said.get("gres", "")),
        features=tuple(word.strip() for word in said.get("feature", "").split(",") if word.strip()),
        weight=_whole(line, said, "Weight", 1),
    )
    names = _names(said["nodename"], line, "NodeName")
    if not names or len(names) > _MOST_NODES:
        raise _bad(line, "NodeName", said["nodename"])
    return {name: replace(node, name=name) for name in names}


def _gres(line: Line, text: str) -> tuple[tuple[str, int], ...]:
    """Return counts by kind: ``gpu:tesla:2,gpu:kepler:1`` are three of gpu."""
    counts: dict[str, int] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        words = part.partition("(")[0].split(":")
        count = words[-1] if len(words) > 1 and words[-1][:1].isdecimal() else "1"
        size = _SIZES.get(count[-1:].upper(), 1)
        digits = count if size == 1 else count[:-1]
        if not digits.isdecimal():
            raise _bad(line, "Gres", text)
        counts[words[0]] = counts.get(words[0], 0) + size * int(digits)
    return tuple(counts.items())


def _partition(
    line: Line,
    said: Mapping[str, str],
    nodes: Mapping[str, Node],
    sets: Mapping[str, Iterable[str]],
) -> Partition:
    text = said.get("nodes", "")
    listed = tuple(nodes) if text.upper() == "ALL" else _names(text, line, "Nodes")
    names = tuple(dict.fromkeys(name for each in listed for name in sets.get(each, (each,))))
    unknown = next((name for name in names if name not in nodes), None)
    if unknown is not None:
        raise ClusterError(
            line.path, f"no NodeName line has '{unknown}'", line=line.number, field="Nodes"
        )

    def minutes(field: str, default: float) -> float:
        told = said.get(field.lower(), "")
        return whole_minutes(told, line.path, line.number, field) if told else default

    most = said.get("maxnodes", "")
    both = _whole(line, said, "Priority", 1)
    share = said.get("oversubscribe", "NO").upper()
    return Partition(
        name=said["partitionname"],
        nodes=names,
        is_default=said.get("default", "NO").upper() == "YES",
        is_up=said.get("state", "UP").upper() in ("UP", "DRAIN"),
        whole=share == "EXCLUSIVE",
        tier=_whole(line, said, "PriorityTier", both),
        factor=_whole(line, said, "PriorityJobFactor", both),
        most_minutes=minutes("MaxTime", math.inf),
        default_minutes=minutes("DefaultTime", math.nan),
        least_nodes=_whole(line, said, "MinNodes", 1),
        most_nodes=math.inf
        if most.upper() in ("", "UNLIMITED", "INFINITE")
        else _whole(line, said, "MaxNodes", 1),
        memory_per_cpu=_whole(line, said, "DefMemPerCPU", 0),
        memory_per_node=_whole(line, said, "DefMemPerNode", 0),
    )
