"""Clusters that somebody describes: a CSV or TOML file, or counts such as ``64 x X5670``."""

from __future__ import annotations

import csv
import io
import math
import os
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path as FilePath

from ..errors import ClusterError, LogError, OptionError
from ._group import Group, GroupReader, is_number
from ._names import nearest
from ._table import Path, Table, key, read_text
from .cluster import Cluster
from .library import find_server
from .report import ClusterReport
from .server import Node, Server

__all__ = ["KEYS", "parse_cluster", "write_cluster"]

KEYS: Mapping[str, str] = {
    "name": "of the node, or of the nodes, which are then numbered",
    "count": "how many such nodes; default 1",
    "server": "a model to take what is not said here from",
    "model": "short name of the kind of node; default: the server's, or the name",
    "cores": "cores of a node",
    "chips": "sockets of a node; default 1",
    "memory": "GB of a node",
    "ops": "operations per second of a node at full load",
    "watts": "W of a node at full load, or at idle, 10 %, ..., 100 %",
    "idle_watts": "W of an idle node",
    "features": "words that jobs can ask for",
}
"""Columns of a description in CSV, keys of a ``[[node]]`` in TOML."""

_TOP = ("processor", "reference_ops", "servers", "node")
_MOST_NODES = 1_000_000
_DIGITS = 9
_COUNTED = re.compile(r"(?:(\d+)\s*[x×*]\s*)?(?!\d+\s*[x×*]?$)(.+)", re.IGNORECASE | re.DOTALL)

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
    names = _columns(path, table.header)
    groups = []
    for line, row in table.rows:
        if any(cell.strip() for cell in row[len(names) :]):
            problem = f"{len(row)} cells where the first line names {len(names)} columns"
            raise ClusterError(path, f"{problem}; correct the row", line=line)
        cells = {name: cell.strip() for name, cell in zip(names, row, strict=False)}
        groups.append(Group(line, "", {name: cell for name, cell in cells.items() if cell}))
    return _cluster(path, groups, processor, reference_ops, catalogue)


def _columns(path: Path, header: list[str]) -> list[str]:
    ours = {key(name): name for name in KEYS}
    names: list[str] = []
    for title in header:
        name = ours.get(key(title))
        if name is None:
            problem = f"unknown column '{title.strip()[:40]}'; {nearest(title.strip(), KEYS)}"
            raise ClusterError(path, problem, line=1)
        if name in names:
            raise ClusterError(path, f"two columns are called '{name}'; remove one", line=1)
        names.append(name)
    return names


def read_toml(
    path: Path,
    *,
    processor: str | None = None,
    reference_ops: float | None = None,
    catalogue: Cluster | None = None,
    read_catalogue: Catalogue | None = None,
) -> Cluster:
    """Read a description in TOML; `read_catalogue` reads the file that it names as ``servers``."""
    from ..workload._toml import load_toml

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
    tables = told.get("node", [])
    if not isinstance(tables, list) or not all(isinstance(each, dict) for each in tables):
        raise ClusterError(path, "nodes are tables; begin each with [[node]]", field="node")
    for at, each in enumerate(tables, 1):
        for name in each:
            if name not in KEYS:
                raise ClusterError(
                    path, f"unknown key '{name}'; {nearest(name, KEYS)}", field=f"node {at}"
                )
    servers = told.get("servers")
    if servers is not None and catalogue is None:
        if not isinstance(servers, str) or read_catalogue is None:
            raise ClusterError(path, "give the name of a file", field="servers")
        catalogue = read_catalogue(FilePath(os.fspath(path)).parent / servers)
    reference = told.get("reference_ops") if reference_ops is None else reference_ops
    if reference is not None and not is_number(reference):
        raise ClusterError(path, f"{reference!r} is not a number", field="reference_ops")
    groups = [Group(None, f"node {at}: ", each) for at, each in enumerate(tables, 1)]
    kind = processor or told.get("processor", "core")
    return _cluster(path, groups, str(kind), reference, catalogue)


def _cluster(
    path: Path,
    groups: Iterable[Group],
    processor: str,
    reference_ops: float | None,
    catalogue: Cluster | None,
) -> Cluster:
    nodes: list[Node | Server] = []
    taken: set[str] = set()
    rows = 0
    for group in groups:
        rows += 1
        reader = GroupReader(path, group, catalogue)
        count, server = reader.count(), reader.server()
        if len(nodes) + count > _MOST_NODES:
            raise reader.error("count", f"more than {_MOST_NODES:,} nodes; give fewer")
        name = reader.label("name")
        if not name:
            nodes += [server] * count
            continue
        names = [name] if count == 1 else [f"{name}-{i}" for i in range(1, count + 1)]
        for each in names:
            if each in taken:
                raise reader.error(
                    "name", f"two nodes are called '{each}'; give each a name of its own"
                )
            taken.add(each)
            nodes.append(Node(each, server))
    if not nodes:
        raise ClusterError(path, "describes no node; add one")
    report = ClusterReport(str(path), "description", rows, rows, len(nodes))
    try:
        return Cluster.of(nodes, processor=processor, reference_ops=reference_ops, report=report)
    except OptionError as error:
        raise ClusterError(path, str(error)) from None


def parse_cluster(
    text: str,
    *,
    catalogue: Cluster | None = None,
    processor: str = "core",
    reference_ops: float | None = None,
) -> Cluster:
    """Return the cluster of counts such as ``64 x X5670, 8 x L5420``.

    Parameters
    ----------
    text : counts and names of servers, with commas between.
    catalogue : a cluster that has the servers; default: the built-in library.
    processor, reference_ops : see `Cluster`.
    """
    nodes: list[Server] = []
    for part in text.split(","):
        found = _COUNTED.fullmatch(part.strip())
        if found is None:
            raise OptionError(f"cluster '{text[:60]}': write for example 64 x X5670, 8 x L5420")
        count = int((found[1] or "1")[:_DIGITS])
        if not 1 <= count <= _MOST_NODES - len(nodes):
            raise OptionError(
                f"cluster '{text[:60]}': {count} nodes; give 1 to {_MOST_NODES:,} in all"
            )
        nodes += [find_server(found[2].strip(), catalogue)] * count
    report = ClusterReport(text, "counts", text.count(",") + 1, text.count(",") + 1, len(nodes))
    return Cluster.of(nodes, processor=processor, reference_ops=reference_ops, report=report)


def write_cluster(cluster: Cluster, path: Path) -> None:
    """Write the nodes of a cluster as a description in CSV, atomically.

    Every number reads back as the same number. What counts as a processor, the reference speed
    and further facts for queries are not written.
    """
    from ..workload._files import open_atomic

    if not cluster.is_named:
        raise OptionError("cluster: only named nodes can be written; this one is counted")
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["name", "model", "cores", "chips", "memory", "ops", "watts", "features"])
    for node in cluster.nodes:
        server = node.server
        curve = server.watts if server.idle_known else server.watts[-1:]
        writer.writerow(
            [
                node.name,
                server.model,
                server.cores,
                server.chips,
                "" if math.isnan(server.memory) else repr(server.memory),
                repr(server.ops),
                " ".join(map(repr, curve)),
                " ".join(sorted(server.features)),
            ]
        )
    try:
        with open_atomic(path) as file:
            file.write(out.getvalue().encode())
    except LogError as error:
        raise ClusterError(path, error.problem) from None
