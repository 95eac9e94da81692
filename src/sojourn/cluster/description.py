"""Clusters that somebody describes in a CSV or TOML file."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import ClusterError, OptionError, nearest
from ..files.access import PathName
from ._group import SHORT, Group, GroupReader, is_number
from ._parts import (
    PART_KEYS,
    caps_of,
    check_keys,
    partitions_of,
    pools_of,
    queues_of,
    racks_of,
    staying_of,
    tables_of,
)
from ._table import TextTable, key, read_text
from .cluster import Cluster
from .partition import BETWEEN, Partition, Queue
from .report import ClusterReport, Remark
from .server import Node, Server, resource_name

PREFIX = "resource:"
"""How a column begins that counts a resource whatever its name."""

_PARTITIONS = "partitions"
_SAME = {"node": "name", "hostname": "name", "partition": _PARTITIONS, "feature": "features"}
_MEMORY = re.compile(r"memory([kmgtp])i?b")
_WHOLE = re.compile(r"\d{1,15}(\.0*)?")
_ALIKE = 0.75
"""Similarity from which an unknown column is a known one misspelt."""

COLUMN_NAMES = frozenset({*_SAME, _PARTITIONS, *SHORT, "memory_kib"})
"""Names of columns besides the keys of a node, by which a description is known."""

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
_OF_NODES = (
    *("processor", "reference_ops", "servers", "node", "partition", "pool", "cap", "rack"),
    "stay_on",
)
_TOP = (*_OF_NODES, "procs", "queue", "between")
_MOST_NODES = 1_000_000
Catalogue = Callable[[Path], Cluster]


class NodeSheet(NamedTuple):
    """What a description in CSV says: rows, partitions of each row's nodes, and remarks."""

    groups: list[Group]
    partitions: list[list[str]]
    remarks: tuple[Remark, ...]


class _Column(NamedTuple):
    """A column: key of a node, and the unit or the name of the resource that it has."""

    key: str
    detail: str = ""
    is_guess: bool = False


def read_sheet(path: PathName, table: TextTable, keys: Mapping[str, str]) -> NodeSheet:
    """Return what a table says; its columns are `keys`, resources and partitions."""
    columns = _columns(path, table.header, keys)
    sheet = NodeSheet([], [], ())
    for line, row in table.rows:
        if any(cell.strip() for cell in row[len(columns) :]):
            problem = f"{len(row)} cells where the first line names {len(columns)} columns"
            raise ClusterError(path, f"{problem}; correct the row", line=line)
        said: dict[str, Any] = {}
        counts: dict[str, str] = {}
        member: list[str] = []
        for column, cell in zip(columns, map(str.strip, row), strict=False):
            if not cell:
                continue
            if column.is_guess and not _WHOLE.fullmatch(cell):
                raise _unknown(path, column.detail, keys)
            if column.key == "resources":
                counts[column.detail] = cell
            elif column.key == _PARTITIONS:
                member = list(dict.fromkeys(filter(None, re.split(r"[\s;,|]+", cell))))
            elif column.key == "memory":
                said["memory"] = cell + column.detail
            else:
                said[column.key] = cell
        if counts:
            said["resources"] = counts
        sheet.groups.append(Group(line, "", said))
        sheet.partitions.append(member)
    return sheet._replace(remarks=_remarks(columns, sheet.groups))


def is_resource(title: str, keys: Mapping[str, str]) -> bool:
    """Whether a column of this name is taken for a resource, if it has whole numbers."""
    plain = key(title)
    if plain in {key(name) for name in (*keys, *_SAME, _PARTITIONS)} or _MEMORY.fullmatch(plain):
        return False
    return title.lower() in SHORT or not _alike(title, keys)


def _columns(path: PathName, header: Sequence[str], keys: Mapping[str, str]) -> list[_Column]:
    columns: list[_Column] = []
    for title in map(str.strip, header):
        column = _column(path, title, keys)
        for other in columns:
            if (column.key, column.key == "resources" and column.detail) == (
                other.key,
                other.key == "resources" and other.detail,
            ):
                name = column.detail if column.key == "resources" else column.key
                raise ClusterError(path, f"two columns are called '{name}'; remove one", line=1)
        columns.append(column)
    return columns


def _column(path: PathName, title: str, keys: Mapping[str, str]) -> _Column:
    plain = key(title)
    ours = {key(name): name for name in keys} | _SAME | {_PARTITIONS: _PARTITIONS}
    if plain in ours and ":" not in title:
        return _Column(ours[plain])
    unit = _MEMORY.fullmatch(plain)
    if unit:
        return _Column("memory", unit[1].upper())
    is_marked = title.lower().startswith(PREFIX)
    name = title[len(PREFIX) :] if is_marked else title
    if not is_marked and not is_resource(title, keys):
        raise _unknown(path, title, keys)
    try:
        known = resource_name(name, "column")
    except OptionError as error:
        problem = str(error) if is_marked else _unknown(path, title, keys).problem
        raise ClusterError(path, problem, line=1) from None
    is_sure = is_marked or ":" in name or name.lower() in SHORT
    return _Column("resources", known, not is_sure)


def _alike(title: str, keys: Mapping[str, str]) -> bool:
    names = (*keys, _PARTITIONS)
    return bool(difflib.get_close_matches(title.lower(), names, n=1, cutoff=_ALIKE))


def _unknown(path: PathName, title: str, keys: Mapping[str, str]) -> ClusterError:
    names = (*keys, "gpus", _PARTITIONS)
    hint = nearest(title, names) if _alike(title, keys) else f"choose from {', '.join(names)}"
    return ClusterError(path, f"unknown column '{title[:40]}'; {hint}", line=1)


def _remarks(columns: Sequence[_Column], groups: Sequence[Group]) -> tuple[Remark, ...]:
    """Say which columns were taken for resources because of their numbers."""
    remarks = []
    for column in columns:
        counted = [group.said.get("resources", {}).get(column.detail) for group in groups]
        if column.is_guess and any(text and float(text) for text in counted):
            what = f"column '{column.detail}' counts a resource of nodes"
            remarks.append(Remark("kept", what, (1,)))
    return tuple(remarks)


def cluster_of_table(
    path: PathName,
    table: TextTable,
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


def _members(sheet: NodeSheet, nodes: _Nodes) -> dict[str, list[int]]:
    """Return the places of the nodes of each partition, in the order in which rows name them."""
    members: dict[str, list[int]] = {}
    for names, (first, last) in zip(sheet.partitions, nodes.spans, strict=True):
        for name in names:
            members.setdefault(name, []).extend(range(first, last))
    return members


def read_toml(
    path: PathName,
    *,
    processor: str | None = None,
    reference_ops: float | None = None,
    catalogue: Cluster | None = None,
    read_catalogue: Catalogue | None = None,
) -> Cluster:
    """Read a description in TOML; `read_catalogue` reads the file that it names as ``servers``."""
    from ..files.access import load_toml

    try:
        values = load_toml(read_text(path))
    except ValueError as error:
        match = re.search(r"\(at line (\d+)", str(error))
        raise ClusterError(
            path, f"is not TOML: {error}; correct it", line=int(match[1]) if match else None
        ) from None
    for name in values:
        if name not in _TOP:
            raise ClusterError(path, f"unknown key '{name}'; {nearest(name, _TOP)}")
    groups = {kind: tables_of(path, values, kind) for kind in ("node", *PART_KEYS)}
    for kind, keys in (("node", _NODE), *PART_KEYS.items()):
        check_keys(path, groups[kind], keys)
    between = values.get("between", "priority")
    if between not in BETWEEN:
        problem = f"{str(between)[:40]!r}: choose {', '.join(BETWEEN)}"
        raise ClusterError(path, problem, field="between")
    if "procs" in values:
        if processor is not None or reference_ops is not None:
            problem = "processors are only counted; leave processor and reference speed out"
            raise ClusterError(path, problem, field="procs")
        return _counted(path, values, queues_of(path, groups["queue"], []), between)
    servers = values.get("servers")
    if servers is not None and catalogue is None:
        if not isinstance(servers, str) or read_catalogue is None:
            raise ClusterError(path, "give the name of a file", field="servers")
        catalogue = read_catalogue(Path(os.fspath(path)).parent / servers)
    reference = values.get("reference_ops") if reference_ops is None else reference_ops
    if reference is not None and not is_number(reference):
        raise ClusterError(path, f"{reference!r} is not a number", field="reference_ops")
    nodes = _nodes(path, groups["node"], catalogue)
    report = ClusterReport(str(path), "description", nodes.rows, nodes.rows, len(nodes.servers))
    try:
        plain = Cluster.of(
            nodes.servers,
            processor=str(processor or values.get("processor", "core")),
            reference_ops=reference,
            report=report,
        )
    except OptionError as error:
        raise ClusterError(path, str(error)) from None
    partitions = partitions_of(path, groups["partition"], nodes.places(plain))
    caps = caps_of(path, groups["cap"], nodes.places(plain), partitions)
    racks = racks_of(path, groups["rack"], nodes.places(plain))
    queues = queues_of(path, groups["queue"], [part.name for part in partitions])
    pools = pools_of(path, groups["pool"], plain.resource_names)
    names = [node.name for node in plain.nodes]
    staying = staying_of(path, groups["stay_on"], names, nodes.places(plain), partitions)
    try:
        return replace(
            plain,
            partitions=tuple(partitions),
            caps=tuple(caps),
            racks=tuple(racks),
            queues=tuple(queues),
            pools=pools,
            between=between,
            power_saving=staying,
            report=with_idle_nodes(report, partitions),
        )
    except OptionError as error:
        raise ClusterError(path, str(error)) from None


def _counted(
    path: PathName, values: Mapping[str, Any], queues: Sequence[Queue], between: str
) -> Cluster:
    """Return processors that are only counted, with the queues to them."""
    other = next((name for name in _OF_NODES if name in values), None)
    if other is not None:
        problem = f"processors are only counted, but '{other}' is about nodes; remove one of them"
        raise ClusterError(path, problem, field="procs")
    report = ClusterReport(str(path), "description", 1, 1, 0)
    try:
        counted = Cluster.homogeneous(values["procs"], queues=queues, between=between)
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
        places: dict[str, Sequence[int]] = {
            node.name: (at,) for at, node in enumerate(cluster.nodes)
        }
        for label, span in zip(self.labels, self.spans, strict=True):
            if label:
                places.setdefault(label, range(*span))
        return places


def _nodes(path: PathName, groups: Iterable[Group], catalogue: Cluster | None) -> _Nodes:
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
