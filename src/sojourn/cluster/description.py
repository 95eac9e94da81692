"""Clusters that somebody describes in a CSV or TOML file."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path as FilePath
from typing import Any, NamedTuple

from ..errors import ClusterError, OptionError, nearest
from ._group import SHORT, Group, GroupReader, is_number
from ._parts import PART_KEYS, check_keys, partitions_of, pools_of, queues_of, tables_of
from ._sheet import Sheet, read_sheet
from ._table import Path, Table, read_text
from .cluster import Cluster
from .partition import BETWEEN, Partition, Queue
from .report import ClusterReport, Remark
from .server import Node, Server

__all__ = ["KEYS", "RESOURCES", "STATES", "cluster_of_table", "read_toml", "with_idle_nodes"]

KEYS: Mapping[str, str] = {
    "name": "of the node, of nodes as n[1-32], or of nodes which are then numbered",
    "count": "how many such nodes; default 1",
    "server": "a model to take what is not said here from",
    "model": "short name of the kind of node; default: the server's, or the name",
    "cores": "cores of a node",
    "chips": "sockets of a node; default 1",
    "memory": "of a node: GB, or a text such as 192G",
    "ops": "operations per second of a node at full load",
    "watts": "W of a node at full load, or at idle, 10 %, ..., 100 %",
    "idle_watts": "W of an idle node",
    "features": "words that jobs can ask for",
}
"""Columns of a description in CSV, keys of a ``[[node]]`` in TOML."""

RESOURCES: Mapping[str, str] = {
    "gpu": "GPUs of a node; also gpus",
    "mic": "coprocessors of a node; also mics",
    "resources": "what else of a node can be counted: { nvme = 2 }",
}
"""Keys of a ``[[node]]`` in TOML for further resources."""

STATES: Mapping[str, str] = {
    "sleep": "depths of sleep: tables that begin with [[node.sleep]]",
    "level": "levels that a node can run at: tables that begin with [[node.level]]",
    "off_watts": "W of a node that is switched off; default 0",
    "failed_watts": "W of a node that has failed; default 0",
}
"""Keys of a ``[[node]]`` in TOML for the states of its power."""

_NODE = {**KEYS, **RESOURCES, **STATES, **dict.fromkeys(SHORT, "")}
_OF_NODES = ("processor", "reference_ops", "servers", "node", "partition", "pool")
_TOP = (*_OF_NODES, "procs", "queue", "between")
_MOST_NODES = 1_000_000

Catalogue = Callable[[FilePath], Cluster]


def cluster_of_table(
    path: Path,
    table: Table,
    *,
    processor: str = "core",
    reference_ops: float | None = None,
    catalogue: Cluster | None = None,
) -> Cluster:
    """Return the cluster of a description in CSV that has been opened."""
    sheet = read_sheet(path, table, KEYS)
    nodes = _nodes(path, sheet.groups, catalogue)
    parts = [Partition(name, tuple(places)) for name, places in _members(sheet, nodes).items()]
    report = ClusterReport(
        str(path), "description", nodes.rows, nodes.rows, len(nodes.servers), sheet.remarks
    )
    try:
        return Cluster.of(
            nodes.servers,
            processor=processor,
            reference_ops=reference_ops,
            report=with_idle_nodes(report, parts),
            partitions=parts,
        )
    except OptionError as error:
        raise ClusterError(path, str(error)) from None


def _members(sheet: Sheet, nodes: _Nodes) -> dict[str, list[int]]:
    """Return the places of the nodes of each partition, in the order in which rows name them."""
    members: dict[str, list[int]] = {}
    for names, (first, last) in zip(sheet.partitions, nodes.spans, strict=True):
        for name in names:
            members.setdefault(name, []).extend(range(first, last))
    return members


def read_toml(
    path: Path,
    *,
    processor: str | None = None,
    reference_ops: float | None = None,
    catalogue: Cluster | None = None,
    read_catalogue: Catalogue | None = None,
) -> Cluster:
    """Read a description in TOML; `read_catalogue` reads the file that it names as ``servers``."""
    from ..files.toml import load_toml

    try:
        told = load_toml(read_text(path))
    except ValueError as error:
        found = re.search(r"\(at line (\d+)", str(error))
        raise ClusterError(
            path, f"is not TOML: {error}; correct it", line=int(found[1]) if found else None
        ) from None
    for name in told:
        if name not in _TOP:
            raise ClusterError(path, f"unknown key '{name}'; {nearest(name, _TOP)}")
    groups = {kind: tables_of(path, told, kind) for kind in ("node", *PART_KEYS)}
    for kind, keys in (("node", _NODE), *PART_KEYS.items()):
        check_keys(path, groups[kind], keys)
    between = told.get("between", "priority")
    if between not in BETWEEN:
        problem = f"{str(between)[:40]!r}: choose {', '.join(BETWEEN)}"
        raise ClusterError(path, problem, field="between")
    if "procs" in told:
        if processor is not None or reference_ops is not None:
            problem = "processors are only counted; leave processor and reference speed out"
            raise ClusterError(path, problem, field="procs")
        return _counted(path, told, queues_of(path, groups["queue"], []), between)
    servers = told.get("servers")
    if servers is not None and catalogue is None:
        if not isinstance(servers, str) or read_catalogue is None:
            raise ClusterError(path, "give the name of a file", field="servers")
        catalogue = read_catalogue(FilePath(os.fspath(path)).parent / servers)
    reference = told.get("reference_ops") if reference_ops is None else reference_ops
    if reference is not None and not is_number(reference):
        raise ClusterError(path, f"{reference!r} is not a number", field="reference_ops")
    nodes = _nodes(path, groups["node"], catalogue)
    report = ClusterReport(str(path), "description", nodes.rows, nodes.rows, len(nodes.servers))
    try:
        plain = Cluster.of(
            nodes.servers,
            processor=str(processor or told.get("processor", "core")),
            reference_ops=reference,
            report=report,
        )
    except OptionError as error:
        raise ClusterError(path, str(error)) from None
    partitions = partitions_of(path, groups["partition"], nodes.places(plain))
    return replace(
        plain,
        partitions=tuple(partitions),
        queues=tuple(queues_of(path, groups["queue"], [part.name for part in partitions])),
        pools=pools_of(path, groups["pool"], plain.resource_names),
        between=between,
        report=with_idle_nodes(report, partitions),
    )


def _counted(path: Path, told: Mapping[str, Any], queues: Sequence[Queue], between: str) -> Cluster:
    """Return processors that are only counted, with the queues to them."""
    other = next((name for name in _OF_NODES if name in told), None)
    if other is not None:
        problem = f"processors are only counted, but '{other}' is about nodes; remove one of them"
        raise ClusterError(path, problem, field="procs")
    report = ClusterReport(str(path), "description", 1, 1, 0)
    try:
        counted = Cluster.homogeneous(told["procs"], queues=queues, between=between)
    except OptionError as error:
        raise ClusterError(path, str(error), field="procs") from None
    return replace(counted, report=report)


class _Nodes(NamedTuple):
    """Nodes of a description: where those of each row or table begin and end, and its name."""

    servers: list[Node | Server]
    spans: list[tuple[int, int]]
    labels: list[str]

    @property
    def rows(self) -> int:
        return len(self.spans)

    def places(self, cluster: Cluster) -> dict[str, Sequence[int]]:
        """Return places by the names of nodes, and by the names of tables, of all their nodes."""
        found: dict[str, Sequence[int]] = {
            node.name: (at,) for at, node in enumerate(cluster.nodes)
        }
        for label, span in zip(self.labels, self.spans, strict=True):
            if label:
                found.setdefault(label, range(*span))
        return found


def _nodes(path: Path, groups: Iterable[Group], catalogue: Cluster | None) -> _Nodes:
    made = _Nodes([], [], [])
    taken: set[str] = set()
    for group in groups:
        reader = GroupReader(path, group, catalogue)
        names, server = reader.names(), reader.server()
        count, first = len(names) or reader.count(), len(made.servers)
        if first + count > _MOST_NODES:
            raise reader.error("count", f"more than {_MOST_NODES:,} nodes; give fewer")
        for name in names:
            if name in taken:
                raise reader.error(
                    "name", f"two nodes are called '{name}'; give each a name of its own"
                )
            taken.add(name)
        made.servers.extend([Node(name, server) for name in names] or [server] * count)
        made.spans.append((first, first + count))
        made.labels.append(reader.label("name"))
    if not made.servers:
        raise ClusterError(path, "describes no node; add one")
    return made


def with_idle_nodes(report: ClusterReport, partitions: Sequence[Partition]) -> ClusterReport:
    """Return a report that says how many nodes are in no partition, where there are partitions."""
    used = {at for part in partitions for at in part.nodes}
    unused = report.nodes - len(used) if partitions else 0
    if not unused:
        return report
    who, them = ("1 node is", "it") if unused == 1 else (f"{unused:,} nodes are", "them")
    what = f"{who} in no partition: no job can use {them}"
    return replace(report, remarks=(*report.remarks, Remark("kept", what, ())))
