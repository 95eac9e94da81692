"""Clusters from the results table of SPECpower_ssj2008, or one written like it.

A row is a server: operations per second and watts at up to eleven load levels, chips, cores and
memory. Columns are found by their names, which vary between releases. Every row is checked
against itself; what can be put right without a guess is, the rest is refused, and both are
counted in `Cluster.report`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from ..errors import ClusterError, InputError, OptionError
from ..files.access import PathName
from ._layout import PERCENTS, Layout, known, month, realigned
from ._table import TextTable, number, read_table
from .cluster import Cluster
from .library import cores_in_words, model_name, vendor_name
from .report import ClusterReport, Remark
from .server import Server

NONCOMPLIANT_ROW = "non-compliant result"
"""Why a row is refused that SPEC marked."""

_MOST_OF_RESULT = 10_000
_DIMMS = re.compile(r"(\d+)\s*x\s*(\d+)\s*(MB|GB)", re.IGNORECASE)
# Operations are published with three digits at least, operations per watt as whole numbers.
_ROUNDED = 0.01


class Refused(Exception):
    """A row that cannot be used: why, in general and here."""

    def __init__(self, why: str, detail: str = "", field: str | None = None) -> None:
        super().__init__(why)
        self.why = why
        self.detail = detail
        self.field = field


class Entry(NamedTuple):
    """A server of a row, how many nodes it stands for, and what was repaired or is odd."""

    server: Server
    nodes: int
    repairs: tuple[str, ...]
    oddities: tuple[str, ...]


def entry_of(layout: Layout, row: list[str], keep_noncompliant: bool, split: bool) -> Entry:
    """Return the server of a row, realigned if its cells have moved."""
    row = _squared(layout, row)
    field = layout.misplaced(row) if len(row) == layout.width else None
    if len(row) == layout.width and field is None:
        return _as_it_is(layout, row, keep_noncompliant, split)
    entries: dict[tuple[Any, ...], Entry] = {}
    # Without operations per watt no number can be known from its neighbour.
    for candidate, how in realigned(layout, row) if "per_watt100" in layout.place else ():
        try:
            entry = _as_it_is(layout, candidate, True, split)
        except Refused:
            continue
        what = f"cells had to be {how}"
        # Of equal ones the last: it moves the fewest cells.
        entries[entry.server, entry.nodes] = entry._replace(repairs=(what, *entry.repairs))
    if len(entries) == 1:
        (entry,) = entries.values()
        if entry.server.facts.get("result") == 0 and not keep_noncompliant:
            raise Refused(NONCOMPLIANT_ROW)
        return entry
    if len(row) != layout.width:
        detail = f"{len(row)} cells where the first line names {layout.width} columns"
        raise Refused("cells that do not match the column names", detail)
    assert field is not None
    title = layout.title[field]
    shown = row[layout.place[field]].strip()[:40]
    if not shown:
        raise Refused(f"nothing in '{title}'", field=title)
    kind = {"published": "a date", "hw_available": "a date"}.get(field, "a number")
    if field in ("vendor", "processor", "characteristics", "dimms", "form_factor"):
        kind = "text"
    raise Refused(f"'{title}' is not {kind}", f"{shown!r} is not {kind}", title)


def _squared(layout: Layout, row: list[str]) -> list[str]:
    """Leave out empty cells beyond the last column; add those of last columns without use."""
    while len(row) > layout.width and not row[-1].strip():
        row = row[:-1]
    if max(layout.place.values()) < len(row):
        row = row + [""] * (layout.width - len(row))
    return row


def _as_it_is(layout: Layout, row: Sequence[str], keep_noncompliant: bool, split: bool) -> Entry:
    """Return the server of a row whose cells are where they belong."""
    values = _Values(layout, row)
    result = values.result()
    if result == 0 and not keep_noncompliant:
        raise Refused(NONCOMPLIANT_ROW)
    repairs: list[str] = []
    watts, idle_known = _watts(values)
    ops = values.number("ops100") or 0.0
    if ops <= 0:
        raise Refused("no operations at full load", field=layout.title["ops100"])
    _check_ratios(values)
    nodes = values.whole("nodes", 1) or 1
    if nodes > _MOST_OF_RESULT:
        raise Refused("too many nodes", f"{nodes} nodes", layout.title["nodes"])
    cores, chips, memory = _sizes(values, nodes, repairs)
    oddities: list[str] = []
    parts = 1
    if split and nodes > 1:
        if cores % nodes or chips % nodes:
            oddities.append("several nodes that cores or chips cannot be split over: one server")
        else:
            parts = nodes
    try:
        server = Server(
            model=model_name(values.text("processor") or values.text("system")),
            cores=cores // parts,
            ops=ops / parts,
            watts=tuple(w / parts for w in watts),
            chips=chips // parts,
            memory=memory / parts,
            idle_known=idle_known,
            facts=_facts(values, nodes),
        )
    except InputError as error:
        raise Refused("values no server can have", str(error)) from None
    return Entry(server, parts, tuple(repairs), tuple(oddities))


@lru_cache(maxsize=1 << 12)
def _number(text: str) -> float | None:
    return number(text) if known(text) else None


class _Values:
    """The cells of a row by our names."""

    def __init__(self, layout: Layout, row: Sequence[str]) -> None:
        self._layout = layout
        self._cells = {field: row[at].strip() for field, at in layout.place.items()}

    def has(self, field: str) -> bool:
        return field in self._layout.place

    def title(self, field: str) -> str:
        return self._layout.title.get(field, field)

    def text(self, field: str) -> str:
        return self._cells.get(field, "")

    def number(self, field: str) -> float | None:
        return _number(self._cells.get(field, ""))

    def result(self) -> float | None:
        """Overall operations per watt; 0 for what is non-compliant, and says so in words."""
        text = self.text("result")
        if not known(text):
            return None
        try:
            return max(number(text), 0.0)
        except ValueError:
            return 0.0

    def whole(self, field: str, least: int = 0) -> int | None:
        value = self.number(field)
        if value is None:
            return None
        if value != int(value) or value < least:
            title = self.title(field)
            why = f"'{title}' is not a whole number of at least {least}"
            raise Refused(why, f"{value:g} is not a whole number of at least {least}", title)
        return int(value)


def _watts(values: _Values) -> tuple[tuple[float, ...], bool]:
    """Return the watts that the table has, idle first, and whether idle is among them."""
    there = [f"watts{p}" for p in PERCENTS if values.has(f"watts{p}")]
    measured = {field: values.number(field) for field in there}
    for field, watts in measured.items():
        if watts is None:
            raise Refused(f"nothing in '{values.title(field)}'", field=values.title(field))
        if watts < 0:
            raise Refused("negative watts", f"{watts:g} W", values.title(field))
    full = measured["watts100"] or 0.0
    if len(there) == len(PERCENTS):
        return tuple(watts or 0.0 for watts in measured.values()), True
    idle = measured.get("watts0")
    return (idle or 0.0, full), idle is not None


def _check_ratios(values: _Values) -> None:
    """Refuse a row whose operations, watts and operations per watt contradict each other."""
    for percent in PERCENTS[1:]:
        ratio = values.number(f"per_watt{percent}")
        ops, watts = values.number(f"ops{percent}"), values.number(f"watts{percent}")
        if ops is None or watts is None or ratio is None:
            continue
        if watts <= 0 or abs(ops / watts - ratio) > 1 + _ROUNDED * ratio:
            raise Refused(
                "operations, watts and operations per watt do not agree",
                f"{ops:g} operations at {watts:g} W, but {ratio:g} per watt",
                values.title(f"per_watt{percent}"),
            )


def _sizes(values: _Values, nodes: int, repairs: list[str]) -> tuple[int, int, float]:
    """Return cores, chips and memory (GB), put right where the row itself says how."""
    cores, chips = values.whole("cores"), values.whole("chips")
    per_chip = values.whole("cores_per_chip")
    memory = values.number("memory")
    # In results of several nodes, memory is of all of them and the modules are of one.
    modules = nodes * sum(
        int(count) * int(size) / (1024 if unit.upper() == "MB" else 1)
        for count, size, unit in _DIMMS.findall(values.text("dimms"))
    )
    if chips and per_chip and cores and memory == chips * per_chip != cores == modules:
        cores, memory = chips * per_chip, float(cores)
        repairs.append("cores and memory were in each other's column")
    if memory is None and modules:
        memory = modules
        repairs.append("memory was not given: taken from the modules")
    if memory is not None and memory <= 0:
        raise Refused("no memory", f"{memory:g} GB", values.title("memory"))
    cores, chips = _cores(values, cores, chips, per_chip, nodes, repairs)
    return cores, chips, math.nan if memory is None else memory


def _cores(
    values: _Values,
    cores: int | None,
    chips: int | None,
    per_chip: int | None,
    nodes: int,
    repairs: list[str],
) -> tuple[int, int]:
    if cores and chips and per_chip and cores != chips * per_chip:
        described = cores_in_words(values.text("characteristics"))
        if described is not None and chips * described == cores:
            repairs.append("cores per chip contradicted cores, chips and the description")
        elif described == per_chip:
            cores = chips * per_chip
            repairs.append("cores contradicted chips, cores per chip and the description")
        else:
            raise Refused(
                "cores, chips and cores per chip do not agree",
                f"{cores} cores, {chips} chips of {per_chip}",
                values.title("cores"),
            )
    if not cores and chips and per_chip:
        if cores == 0:
            repairs.append("cores were 0: taken from chips and cores per chip")
        cores = chips * per_chip
    if cores and not chips:
        if chips == 0:
            repairs.append("chips were 0: taken from cores and cores per chip")
        chips = cores // per_chip if per_chip and cores % per_chip == 0 else nodes
    if not cores or not chips:
        raise Refused("no cores", f"{cores or 0} cores, {chips or 0} chips", values.title("cores"))
    if cores % chips:
        raise Refused("cores that chips cannot share", f"{cores} cores, {chips} chips")
    return cores, chips


def _facts(values: _Values, nodes: int) -> dict[str, Any]:
    """Return what else is known of a server, for queries."""
    published = month(values.text("published"))
    available = month(values.text("hw_available"))
    year = values.number("year")
    dated = available or published
    facts = {
        "vendor": vendor_name(values.text("vendor")),
        "system": values.text("system"),
        "processor": " ".join(values.text("processor").split()),
        "published": published,
        "hw_available": available,
        "year": int(year) if year else int(dated[:4]) if dated else None,
        "nodes": nodes,
        "threads_per_core": values.number("threads_per_core"),
        "mhz": values.number("mhz"),
        "result": values.result(),
        "version": values.number("version"),
        "form_factor": values.text("form_factor").strip("-"),
    }
    return {name: value for name, value in facts.items() if value not in (None, "")}


NONCOMPLIANT = ("refuse", "keep")
"""What to do with results that SPEC marked as non-compliant."""

_ACTIONS = ("refused", "repaired", "kept")
_MOST_NODES = 1_000_000


def read_specpower(
    path: PathName,
    *,
    noncompliant: str = "refuse",
    split: bool = True,
    processor: str = "core",
    strict: bool = False,
) -> Cluster:
    """Read a table of SPECpower results as a cluster with one node per measured node.

    Parameters
    ----------
    path : comma, semicolon or tab separated; plain, or packed with gzip or xz.
    noncompliant : ``refuse`` or ``keep`` rows whose result is 0 or no number.
    split : make a result of several nodes that many equal nodes; its cores, chips, memory,
        operations and watts are of all of them together.
    processor : what counts as a processor: ``core``, ``chip`` or ``node``.
    strict : fail at the first row that is refused or repaired, other than non-compliant ones.

    Returns
    -------
    The servers in the order of the table; `Cluster.report` says what was repaired and refused.

    Raises
    ------
    ClusterError
        When the file is no such table, or no row of it can be used.
    """
    return cluster_of_table(
        path,
        read_table(path),
        noncompliant=noncompliant,
        split=split,
        processor=processor,
        strict=strict,
    )


def cluster_of_table(
    path: PathName,
    table: TextTable,
    *,
    noncompliant: str = "refuse",
    split: bool = True,
    processor: str = "core",
    strict: bool = False,
    reference_ops: float | None = None,
) -> Cluster:
    """Return the cluster of a table that has been opened; see `read_specpower`."""
    if noncompliant not in NONCOMPLIANT:
        raise OptionError(f"noncompliant '{noncompliant}': choose {' or '.join(NONCOMPLIANT)}")
    layout = Layout.of(path, table.header)
    # Nothing is left out of a table that somebody wrote for this cluster.
    complete = strict or not layout.is_published
    account = _Account()
    servers: list[Server] = []
    rows = kept = 0
    for line, row in table.rows:
        rows += 1
        try:
            entry = entry_of(layout, row, noncompliant == "keep", split)
        except Refused as refusal:
            if complete and refusal.why != NONCOMPLIANT_ROW:
                problem = f"{refusal.detail or refusal.why}; correct the row"
                raise ClusterError(path, problem, line=line, field=refusal.field) from None
            account.add("refused", refusal.why, line, refusal.detail)
            continue
        if strict and entry.repairs:
            raise ClusterError(path, f"{entry.repairs[0]}; correct the row", line=line)
        for what in entry.repairs:
            account.add("repaired", what, line)
        for what in entry.oddities:
            account.add("kept", what, line)
        kept += 1
        servers += [entry.server] * entry.nodes
        if len(servers) > _MOST_NODES:
            raise ClusterError(path, f"more than {_MOST_NODES:,} nodes; take fewer", line=line)
    remarks = account.remarks()
    if not servers:
        why = f": {remarks[0]}" if remarks else ""
        raise ClusterError(path, f"has no server that can be used{why}; check the table")
    report = ClusterReport(str(path), "specpower", rows, kept, len(servers), remarks)
    return Cluster.of(servers, processor=processor, reference_ops=reference_ops, report=report)


class _Account:
    """Collects the lines of rows that were refused, repaired or odd, by what was found."""

    def __init__(self) -> None:
        self._lines: dict[tuple[str, str], list[int]] = {}
        self._example: dict[tuple[str, str], str] = {}

    def add(self, action: str, what: str, line: int, example: str = "") -> None:
        self._lines.setdefault((action, what), []).append(line)
        self._example.setdefault((action, what), example)

    def remarks(self) -> tuple[Remark, ...]:
        """Return what was found, what was refused first."""
        heads = sorted(self._lines, key=lambda head: _ACTIONS.index(head[0]))
        return tuple(Remark(*head, tuple(self._lines[head]), self._example[head]) for head in heads)
