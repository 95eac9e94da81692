"""The cells of one column as numbers, or which of them is none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from . import _values as values

__all__ = [
    "LONGEST_NAME",
    "Unreadable",
    "as_word",
    "finite",
    "is_number",
    "is_positive",
    "parsed",
    "reads",
    "refuse",
    "refuse_steps",
    "texts",
]

Floats = NDArray[np.float64]

LONGEST_NAME = 80
"""Letters of a job's name; all names take as much memory as the longest."""

_STEPS = (".batch", ".extern", ".interactive")


class Unreadable(Exception):
    """A value that its column cannot hold.

    Parameters
    ----------
    row : its place among the values that were given, or None if the column as a whole is wrong.
    field : our name of the column.
    problem : what is wrong, and what to do.
    """

    def __init__(self, row: int | None, field: str, problem: str) -> None:
        self.row, self.field, self.problem = row, field, problem
        super().__init__(problem)


def is_number(word: str) -> bool:
    """Whether a text is a number, or says that it is not known."""
    return reads(values.number, word)


def is_positive(word: str) -> bool:
    """Whether a text is a number above 0."""
    return is_number(word) and values.number(word) > 0


def reads(parse: Callable[[str], float], word: str) -> bool:
    """Whether a text can be parsed."""
    try:
        parse(word)
    except (ValueError, OverflowError):
        return False
    return True


def texts(cells: Sequence[str]) -> NDArray[Any]:
    """Return names of jobs, each on one line and not too long."""
    made = np.empty(len(cells), object)
    made[:] = [" ".join(cell.split())[:LONGEST_NAME] for cell in cells]
    return made


def as_word(cell: float) -> str:
    """Return a number as a table of text would have it."""
    if cell != cell:
        return ""
    return str(int(cell) if cell == int(cell) else cell)


def finite(ours: str, cells: NDArray[Any]) -> Floats:
    """Return numbers as floats, of which none is infinite."""
    read: Floats = cells.astype(np.float64, copy=False)
    bad = np.flatnonzero(np.isinf(read))
    if bad.size:
        refuse(int(bad[0]), ours, str(read[bad[0]]), values.NUMBER)
    return read


def parsed(
    ours: str, cells: Sequence[str], parse: Callable[[str], float], kind: str
) -> NDArray[Any]:
    """Return texts as numbers of one type."""
    dtype = np.int64 if parse is values.whole else np.float64
    try:
        return np.array([parse(cell) for cell in cells], dtype)
    except (ValueError, OverflowError):
        for row, cell in enumerate(cells):
            try:
                np.array(parse(cell), dtype)
            except (ValueError, OverflowError):
                refuse(row, ours, repr(cell[:40]), kind)
        raise


def refuse(row: int, ours: str, shown: str, kind: str) -> NoReturn:
    """Raise Unreadable for a value that is not of its kind."""
    raise Unreadable(row, ours, f"{shown} is not {kind}; correct it (-1 for unknown)")


def refuse_steps(cells: Sequence[str]) -> None:
    """Raise Unreadable at the first step of a job: steps are no jobs."""
    for row, cell in enumerate(cells):
        if cell.strip().endswith(_STEPS):
            problem = f"{cell[:40]!r} is a step of a job; read the file in the format sacct"
            raise Unreadable(row, "job", problem)
