"""What reading a cluster file found: rows kept, repaired and refused."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from ..errors import plural

_SHOWN = 5


@dataclass(frozen=True)
class Remark:
    """What was done with some rows of a file, and why.

    Parameters
    ----------
    action : ``repaired``, ``refused``, or ``kept`` as it is although something is odd.
    what : what was found.
    lines : line numbers of the rows, counted from 1; none if it is about no row.
    example : what the first of them looks like.
    """

    action: str
    what: str
    lines: tuple[int, ...]
    example: str = ""

    @property
    def count(self) -> int:
        """How many rows."""
        return len(self.lines)

    def __str__(self) -> str:
        if not self.lines:
            return f"{self.what}{f' ({self.example})' if self.example else ''}"
        lines = "line" if self.count == 1 else "lines"
        more = ", ..." if self.count > _SHOWN else ""
        shown = ", ".join(map(str, self.lines[:_SHOWN]))
        example = f"; {self.example}" if self.example else ""
        return (
            f"{self.action} {plural(self.count, 'row')}: {self.what} "
            f"({lines} {shown}{more}{example})"
        )


@dataclass(frozen=True)
class ClusterReport:
    """The account of reading a cluster file.

    Parameters
    ----------
    source : the file, or the text.
    kind : ``specpower`` or ``description``.
    rows : rows with something in them, below the column names.
    servers : rows that were kept.
    nodes : nodes made of them; a result of several nodes is split.
    remarks : what was refused, repaired or odd.
    """

    source: str
    kind: str
    rows: int
    servers: int
    nodes: int
    remarks: tuple[Remark, ...] = ()

    @property
    def repaired(self) -> tuple[Remark, ...]:
        """Rows that were put right, by what was wrong; a row can be among several."""
        return self._of("repaired")

    @property
    def refused(self) -> tuple[Remark, ...]:
        """Rows that were left out, by reason."""
        return self._of("refused")

    def _of(self, action: str) -> tuple[Remark, ...]:
        return tuple(remark for remark in self.remarks if remark.action == action)

    def count(self, action: str) -> int:
        """Return how many rows were ``repaired``, ``refused`` or ``kept`` with a remark."""
        return len({line for remark in self._of(action) for line in remark.lines})

    def lines(self) -> list[str]:
        """Return the report as lines of text: a summary, then one line per remark."""
        head = (
            f"{self.source}: {plural(self.rows, 'row')} read, {self.servers:,} kept "
            f"({self.count('repaired'):,} of them repaired), {self.count('refused'):,} refused; "
            f"{plural(self.nodes, 'node')}"
        )
        return [head, *(f"  {remark}" for remark in self.remarks)]

    def as_dict(self) -> dict[str, Any]:
        """Return the report as plain values, ready for JSON."""
        remarks = [
            {**asdict(remark), "count": remark.count, "lines": list(remark.lines)}
            for remark in self.remarks
        ]
        counts = {action: self.count(action) for action in ("repaired", "refused")}
        return {**asdict(self), **counts, "remarks": remarks}

    def __str__(self) -> str:
        return "\n".join(self.lines())
