"""What the columns of ``sacct`` can hold, and which fields of a row are whose.

Slurm quotes nothing, so a row may have more parts than columns, and line breaks in it. Only free
texts take a delimiter or a line break, and the instants, durations and counts among them tell where
each begins. Parts are taken one by one, with the set of columns that each may belong to: the work
is proportional to their number, however many ways there are to place them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from .slurm_fields import DURATION, INSTANT, JOB

__all__ = ["Columns", "Spread"]

_FREE = frozenset(
    {"admincomment", "comment", "constraints", "extra", "jobname", "submitline"}
    | {"systemcomment", "workdir", "stdin", "stdout", "stderr", "reason"}
)
# What may have a comma in it, where that is the delimiter.
_LISTS = frozenset(
    {"alloctres", "dependency", "flags", "licenses", "nodelist", "partition", "reqtres"}
)
_COUNT = re.compile(r"(-?\d{1,12}(\.\d+)?[KMG]?)?")
_STATE = re.compile(r"([A-Z_]+( by \S+|\+)?)?")
_EXIT = re.compile(r"(\d+:\d+)?")
_NOTHING = re.compile("")
_NODES = re.compile(r"[^\[\]=]*(\[[^\[\]=]*\][^\[\]=]*)*")
_RESOURCES = re.compile(r"([^=,|]+=[^=,|]*(,[^=,|]+=[^=,|]*)*)?")
_PIECES = {_NODES: re.compile("[^=]*"), _RESOURCES: _RESOURCES}
"""What may stand between two commas of a list."""

_SHAPES: dict[str, re.Pattern[str]] = {
    "jobid": JOB,
    "jobidraw": re.compile(f"({JOB.pattern})?"),
    **dict.fromkeys(("submit", "eligible", "start", "end"), INSTANT),
    **dict.fromkeys(
        ("elapsed", "timelimit", "suspended", "cputime", "totalcpu", "usercpu", "systemcpu"),
        DURATION,
    ),
    **dict.fromkeys(
        (
            *("ncpus", "reqcpus", "alloccpus", "nnodes", "reqnodes", "allocnodes"),
            *("uid", "gid", "elapsedraw", "cputimeraw", "ntasks", "priority"),
        ),
        _COUNT,
    ),
    "timelimitraw": DURATION,
    "state": _STATE,
    **dict.fromkeys(("exitcode", "derivedexitcode"), _EXIT),
    "nodelist": _NODES,
    **dict.fromkeys(("alloctres", "reqtres"), _RESOURCES),
    "": _NOTHING,
}
"""What the columns that are looked at can hold, by their names in small letters."""


class Columns:
    """The columns of a table.

    Parameters
    ----------
    names : in small letters.
    delimiter : between two of them.
    """

    def __init__(self, names: Sequence[str], delimiter: str) -> None:
        self.names = list(names)
        self.delimiter = delimiter
        self.shapes = [_SHAPES.get(name) for name in names]
        lists = _LISTS if delimiter.strip() == "," else frozenset()
        self.is_list = [name in lists for name in names]
        self.is_free = [name in _FREE or name in lists for name in names]
        self.has_free = any(self.is_free)
        self.checks = [(k, shape.fullmatch) for k, shape in enumerate(self.shapes) if shape]
        # Sets of columns are the bits of a number.
        self.free = sum(1 << k for k, free in enumerate(self.is_free) if free)
        self.shaped = sum(1 << k for k, _ in self.checks)
        pieces = [
            shape if shape is None or not self.is_list[k] else _PIECES[shape]
            for k, shape in enumerate(self.shapes)
        ]
        self.pieces = [None if piece is None else piece.fullmatch for piece in pieces]

    def fields(self, line: str) -> list[str] | None:
        """Return the fields of a row on one line, or None if they cannot be those of the columns.

        Parameters
        ----------
        line : the row.
        """
        parts = line.split(self.delimiter)
        excess = len(parts) - len(self.names)
        if excess < 0 or (excess and not self.has_free):
            return None
        if excess:
            return Spread(self, line).fields()
        for column, fits in self.checks:
            if fits(parts[column].strip()) is None:
                return None
        return parts

    def misfits(self, parts: Sequence[str]) -> Iterator[tuple[str, str]]:
        """Yield the columns, and their fields, that cannot be theirs."""
        for name, shape, part in zip(self.names, self.shapes, parts, strict=True):
            if shape is not None and shape.fullmatch(part.strip()) is None:
                yield name, part


class Spread:
    """A row that may have more parts than columns, and go over several lines.

    Parameters
    ----------
    columns : of the table.
    line : on which the row begins.
    """

    def __init__(self, columns: Columns, line: str) -> None:
        self.columns = columns
        self.parts: list[str] = []
        self.owners: list[int] = []  # the columns that each part but the last may belong to
        self.next = 1  # those that the last part may belong to, by what stands before it
        self.is_broken = False  # whether the last part has a line break in it
        self._take(line.split(columns.delimiter))

    @property
    def goes_on(self) -> bool:
        """Whether some further line could complete the row."""
        return bool(self.next & self.columns.free)

    def add(self, line: str) -> None:
        """Add the next line: it goes on with the text at the end of the last one."""
        first, *rest = line.split(self.columns.delimiter)
        self.is_broken = True
        self._take([f"{self.parts.pop()}\n{first}", *rest])

    def _take(self, parts: Sequence[str]) -> None:
        for part in parts[:-1]:
            mine = self._owners(part)
            self.owners.append(mine)
            self.parts.append(part)
            self.next = self._following(mine)
            self.is_broken = False
        self.parts.append(parts[-1])

    def _following(self, mine: int) -> int:
        columns = self.columns
        return ((mine << 1) | (mine & columns.free)) & ((1 << len(columns.names)) - 1)

    def _owners(self, part: str) -> int:
        """Return the columns that the part after those before may belong to."""
        columns = self.columns
        if self.is_broken:
            return self.next & columns.free
        found = self.next & ~columns.shaped
        left = self.next & columns.shaped
        text = part.strip() if left else part
        while left:
            bit = left & -left
            left ^= bit
            fits = columns.pieces[bit.bit_length() - 1]
            if fits is not None and fits(text) is not None:
                found |= bit
        return found

    def fields(self) -> list[str] | None:
        """Return the fields, or None if the row is not complete, or none of these columns."""
        columns = self.columns
        last = 1 << (len(columns.names) - 1)
        if not self.next & last or not self._owners(self.parts[-1]) & last:
            return None
        # From the end: where a part may be so that those after it find their columns.
        viable = [*self.owners, last]
        for k in range(len(viable) - 2, -1, -1):
            viable[k] &= (viable[k + 1] >> 1) | (viable[k + 1] & columns.free)
        starts, column = [0], 0
        for k in range(1, len(viable)):
            stays = columns.is_free[column] and viable[k] >> column & 1
            moves = viable[k] >> (column + 1) & 1
            # A list takes all that can be its own, a text no more than it must.
            if moves and not (stays and columns.is_list[column]):
                column += 1
                starts.append(k)
        ends = [*starts[1:], len(viable)]
        made = [columns.delimiter.join(self.parts[a:b]) for a, b in zip(starts, ends, strict=True)]
        return None if next(columns.misfits(made), None) else made
