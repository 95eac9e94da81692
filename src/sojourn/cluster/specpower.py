"""Clusters from the results table of SPECpower_ssj2008, or one written like it.

A row is a server: operations per second and watts at up to eleven load levels, chips, cores and
memory. Columns are found by their names, which vary between releases. Every row is checked
against itself; what can be put right without a guess is, the rest is refused, and both are
counted in `Cluster.report`.
"""

from __future__ import annotations

from ..errors import ClusterError, OptionError
from ._layout import Layout
from ._row import NONCOMPLIANT_ROW, Refused, entry_of
from ._table import Path, Table, read_table
from .cluster import Cluster
from .report import ClusterReport, Remark
from .server import Server

__all__ = ["NONCOMPLIANT", "read_specpower"]

NONCOMPLIANT = ("refuse", "keep")
"""What to do with results that SPEC marked as non-compliant."""

_ACTIONS = ("refused", "repaired", "kept")
_MOST_NODES = 1_000_000


def read_specpower(
    path: Path,
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
    path: Path,
    table: Table,
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
        found = sorted(self._lines, key=lambda head: _ACTIONS.index(head[0]))
        return tuple(Remark(*head, tuple(self._lines[head]), self._example[head]) for head in found)
