"""Clusters that somebody describes: a CSV or TOML file, or counts such as ``64 x X5670``."""

from __future__ import annotations

import contextlib
import csv
import io
import math
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path as FilePath
from typing import Any, NamedTuple

from ..errors import ClusterError, InputError, LogError, OptionError
from ._names import nearest
from ._table import Path, Table, key, number, read_text
from .cluster import Cluster
from .library import find_server
from .report import ClusterReport
from .server import LEVELS, Node, Server

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


class _Group(NamedTuple):
    """A row or table of a description: where it is, and what it says."""

    line: int | None
    label: str
    said: Mapping[str, Any]


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
        groups.append(_Group(line, "", {name: cell for name, cell in cells.items() if cell}))
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
    import tomllib

    try:
        told = tomllib.loads(read_text(path))
    except ValueError as error:
        found = re.search(r"\(at line (\d+)", str(error))
        raise ClusterError(
            path, f"is not TOML: {error}", line=int(found[1]) if found else None
        ) from None
    except RecursionError:
        raise ClusterError(path, "is not a description; check the file") from None
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
    if reference is not None and not _is_number(reference):
        raise ClusterError(path, f"{reference!r} is not a number", field="reference_ops")
    groups = [_Group(None, f"node {at}: ", each) for at, each in enumerate(tables, 1)]
    kind = processor or told.get("processor", "core")
    return _cluster(path, groups, str(kind), reference, catalogue)


def _cluster(
    path: Path,
    groups: Iterable[_Group],
    processor: str,
    reference_ops: float | None,
    catalogue: Cluster | None,
) -> Cluster:
    nodes: list[Node | Server] = []
    taken: set[str] = set()
    rows = 0
    for group in groups:
        rows += 1
        reader = _Reader(path, group, catalogue)
        count, server = reader.count(), reader.server()
        if len(nodes) + count > _MOST_NODES:
            raise reader.error("count", f"more than {_MOST_NODES:,} nodes; give fewer")
        name = reader.text("name")
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


class _Reader:
    """Reads the values of one row or table."""

    def __init__(self, path: Path, group: _Group, catalogue: Cluster | None) -> None:
        self.path = path
        self.group = group
        self.catalogue = catalogue

    def error(self, name: str, problem: str) -> ClusterError:
        """Return an error that says where."""
        field = self.group.label + name
        return ClusterError(self.path, problem, line=self.group.line, field=field)

    def text(self, name: str) -> str:
        """Return a value as text; empty if it is not given."""
        value = self.group.said.get(name, "")
        if not isinstance(value, str):
            raise self.error(name, f"{value!r} is not text; put it in quotes")
        return value.strip()

    def number(self, name: str) -> float | None:
        """Return a number, or None if it is not given."""
        value = self.group.said.get(name)
        return None if value is None else self._number(name, value)

    def _number(self, name: str, value: Any) -> float:
        if _is_number(value):
            return float(value)
        with contextlib.suppress(ValueError):
            if isinstance(value, str):
                return number(value)
        raise self.error(name, f"{repr(value)[:40]} is not a number; correct it")

    def positive(self, name: str) -> float | None:
        """Return a number above 0, or None if it is not given."""
        value = self.number(name)
        if value is not None and value <= 0:
            raise self.error(name, f"{value:g} is not above 0; correct it")
        return value

    def whole(self, name: str) -> int | None:
        """Return a whole number above 0, or None if it is not given."""
        value = self.positive(name)
        if value is None:
            return None
        if value != int(value):
            raise self.error(name, f"{value:g} is not a whole number; correct it")
        return int(value)

    def count(self) -> int:
        """How many nodes."""
        return self.whole("count") or 1

    def features(self) -> frozenset[str] | None:
        """Return the words that jobs can ask for, or None if not given."""
        value = self.group.said.get("features")
        if value is None:
            return None
        words = re.split(r"[\s;,|]+", value) if isinstance(value, str) else value
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            raise self.error("features", f"{value!r} is no list of words; correct it")
        return frozenset(filter(None, words))

    def watts(self, base: Server | None) -> tuple[tuple[float, ...], bool] | None:
        """Return watts as `Server` takes them, and whether idle is known; None if not given."""
        value, idle = self.group.said.get("watts"), self.group.said.get("idle_watts")
        if value is None and idle is None:
            return None
        if isinstance(value, str) and len(value.split()) > 1:
            value = value.split()
        if isinstance(value, list):
            if len(value) != len(LEVELS):
                raise self.error(
                    "watts", f"{len(value)} values; give 1 (full load), or {len(LEVELS)} from idle"
                )
            if idle is not None:
                raise self.error("idle_watts", "the first of the watts says it; remove one")
            return tuple(self._watts("watts", each) for each in value), True
        if value is None and base is None:
            raise self.error("watts", "is missing; give it, or a server to take it from")
        full = base.watts[-1] if value is None and base else self._watts("watts", value)
        return (0.0 if idle is None else self._watts("idle_watts", idle), full), idle is not None

    def _watts(self, name: str, value: Any) -> float:
        watts = self._number(name, value)
        if watts < 0:
            raise self.error(name, f"{watts:g} W is below 0; correct it")
        return watts

    def server(self) -> Server:
        """Return the server that is described."""
        wanted, base = self.text("server"), None
        if wanted:
            try:
                base = find_server(wanted, self.catalogue)
            except OptionError as error:
                raise self.error("server", str(error)) from None
        cores, chips, ops = self.whole("cores"), self.whole("chips"), self.positive("ops")
        memory, features, watts = self.positive("memory"), self.features(), self.watts(base)
        for name, value in (("cores", cores), ("ops", ops), ("watts", watts)):
            if value is None and base is None:
                raise self.error(name, "is missing; give it, or a server to take it from")
        model = self.text("model") or (base.model if base else self.text("name") or "node")
        given = {
            "model": model,
            "cores": cores,
            "chips": chips,
            "ops": ops,
            "memory": memory,
            "features": features,
            "watts": watts[0] if watts else None,
            "idle_known": watts[1] if watts else None,
        }
        try:
            return _overlaid(base, {name: v for name, v in given.items() if v is not None})
        except InputError as error:
            raise self.error("server", str(error)) from None


def _overlaid(base: Server | None, given: dict[str, Any]) -> Server:
    if base is None:
        return Server(**given)
    kept = ("model", "cores", "ops", "watts", "chips", "memory", "features", "idle_known", "facts")
    return Server(**{**{name: getattr(base, name) for name in kept}, **given})


def _is_number(value: Any) -> bool:
    # Whole numbers of TOML have no bound, and no float is beyond the largest.
    return type(value) in (int, float) and abs(value) <= sys.float_info.max


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
