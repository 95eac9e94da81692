"""The values of tables: numbers, dates, lengths of time, amounts of memory, states.

A value that is not known is nan here, whatever it was in the table.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from ...arrays import Floats, Ints
from ..header import numbered
from ..schema import MISSING, seconds
from ._columns import is_per_processor, size_unit
from .accounting import ENDED
from .clock import LogClock
from .slurm_fields import kilobytes

MOST_NAMES = 1000
"""Different texts of a column that nobody mapped; one with more is about single jobs."""

NUMBER = "a number"
WHOLE = "a whole number"
FLAG = "0, 1, yes or no"
SPAN = "a number of seconds or a length of time such as 1-02:03:04"
DATE = "a number of seconds or a date such as 2021-02-11T22:36:19"

_UNKNOWN = frozenset(
    {"", "nan", "na", "n/a", "<na>", "nat", "none", "null", "(null)", "unknown", "invalid"}
)
_ENDLESS = frozenset({"unlimited", "infinite", "partition_limit"})
_STATES = {**ENDED, "COMPLETE": 1, "DONE": 1, "FINISHED": 1, "SUCCESS": 1, "EXIT": 0, "ERROR": 0}
_FLAGS = {
    **dict.fromkeys(("1", "1.0", "true", "t", "yes", "y", "exclusive", "excl"), 1),
    **dict.fromkeys(("0", "0.0", "false", "f", "no", "n", "shared", "ok"), 0),
}
_CLOCK = re.compile(
    r"(?:(\d{1,9})(?:-|\s+days?,?\s+))?(?:(\d{1,9}):)?(\d{1,9}):(\d{1,2}(?:\.\d{0,18})?)", re.ASCII
)
_AMOUNT = re.compile(r"(\d{1,18}(?:\.\d{0,18})?)\s*([a-z]+)", re.ASCII)
_UNITS = {
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1.0),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), 60.0),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), 3600.0),
    **dict.fromkeys(("d", "day", "days"), 86400.0),
}


LONGEST_NAME = 80
"""Letters of a job's name; all names take as much memory as the longest."""

_STEPS = (".batch", ".extern", ".interactive")

SIZES = ("memory", "used_memory", "memory_per_node")
"""Columns that hold amounts of memory."""

A_SIZE = "an amount of memory such as 4G"
_SIZE = re.compile(r"\d{1,18}(\.\d{0,18})?\s?[kmgtp]i?b?[nc]?", re.IGNORECASE | re.ASCII)
_JOB, _NODE, _PROCESSOR = 0, 1, 2


def is_unknown(token: str) -> bool:
    """Whether a text says that a value is not known."""
    return token.strip().lower() in _UNKNOWN or token.strip() == str(MISSING)


def number(token: str) -> float:
    """Return a finite number, or nan for one that is not known; ValueError for anything else."""
    try:
        value = float(token)
        if math.isfinite(value) and "_" not in token:
            return value
    except ValueError:
        pass
    if token.strip().lower() in _UNKNOWN:
        return math.nan
    raise ValueError(token)


def whole(token: str) -> int:
    """Return a whole number, or -1 for one that is not known."""
    try:
        if "_" in token:
            raise ValueError(token)
        return int(token)
    except ValueError:
        value = number(token)
        if math.isnan(value):
            return MISSING
        if not value.is_integer():
            raise
        return int(value)


def flag(token: str) -> int:
    """Return 1 or 0 for a yes or no, or -1 where it is not known.

    >>> flag("True"), flag("no"), flag("")
    (1, 0, -1)
    """
    word = token.strip().lower()
    if word in _FLAGS:
        return _FLAGS[word]
    if is_unknown(token) or word == "-1.0":
        return MISSING
    raise ValueError(token)


def span(token: str) -> float:
    """Return a length of time in seconds.

    >>> span("90"), span("1-02:03:04"), span("1 day, 2:03:04"), span("90 min"), span("01:07.402")
    (90.0, 93784.0, 93784.0, 5400.0, 67.402)
    """
    try:
        return number(token)
    except ValueError:
        word = token.strip().lower()
    if word in _ENDLESS:
        return math.nan
    if amount := _AMOUNT.fullmatch(word):
        unit = _UNITS.get(amount[2])
        if unit is not None:
            return unit * float(amount[1])
    clock = _CLOCK.fullmatch(word)
    if clock is None:
        raise ValueError(token)
    days, hours, minutes, seconds = clock.groups()
    # Two numbers may be hours and minutes, or minutes and seconds: only a fraction decides.
    if hours is None and (days is not None or "." not in seconds):
        raise ValueError(token)
    return (
        86400.0 * int(days or 0) + 3600.0 * int(hours or 0) + 60.0 * int(minutes) + float(seconds)
    )


def date(clock: LogClock) -> Callable[[str], float]:
    """Return a reader of dates as Unix time (s); those that name no time zone are on `clock`.

    >>> read = date(LogClock(None))
    >>> read("2021-02-11 22:36:19.5"), read("2021-02-11T23:36:19+01:00")
    (1613082979.5, 1613082979.0)
    """

    def read(token: str) -> float:
        word = token.strip()
        if word.lower() in _UNKNOWN:
            return math.nan
        if word.replace(".", "", 1).isdecimal():  # A number among dates: seconds since when?
            raise ValueError(token)
        return clock.moment(word).time

    return read


def status(word: str) -> int:
    """Return the status of [swf] for a number or the name of a state.

    >>> status("COMPLETED"), status("CANCELLED by 1001"), status("1"), status("RUNNING")
    (1, 5, 1, -1)
    """
    try:
        return whole(word)
    except ValueError:
        return _STATES.get(re.split(r"[\s+]", word.strip().upper())[0], MISSING)


class Unreadable(Exception):
    """A value that its column cannot hold."""

    def __init__(self, row: int | None, field: str, problem: str) -> None:
        self.row, self.field, self.problem = row, field, problem
        super().__init__(problem)


def is_number(word: str) -> bool:
    """Whether a text is a number, or says that it is not known."""
    return reads(number, word)


def is_positive(word: str) -> bool:
    """Whether a text is a number above 0."""
    return is_number(word) and number(word) > 0


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
        refuse(int(bad[0]), ours, str(read[bad[0]]), NUMBER)
    return read


def parsed(
    ours: str, cells: Sequence[str], parse: Callable[[str], float], kind: str
) -> NDArray[Any]:
    """Return texts as numbers of one type."""
    dtype = np.int64 if parse is whole else np.float64
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


def is_size(word: str) -> bool:
    """Whether a text is an amount of memory, a number, or says that it is not known."""
    return _SIZE.fullmatch(word) is not None or is_number(word)


class Sizes(NamedTuple):
    """Amounts of memory, one per job: KB (nan if not known), whose, and whether without a unit."""

    size: Floats
    of: Ints
    bare: NDArray[np.bool_]

    def per_processor(self, nodes: Ints, procs: Ints) -> Floats:
        """Return KB per processor, nan where not known."""
        width = np.where(procs > 0, procs, np.nan)
        count = np.where(nodes > 0, nodes, np.nan)
        shares = np.where(self.of == _NODE, count, 1.0) / width
        known: Floats = np.where(self.of == _PROCESSOR, self.size, self.size * shares)
        return known

    def per_node(self, nodes: Ints, procs: Ints) -> Floats:
        """Return KB per node, nan where not known.

        Memory of a whole job is so much on each node only if its processors are shared out
        evenly.
        """
        count = np.where((nodes > 0) & (procs > 0), nodes, 1)
        even = (nodes > 0) & (procs > 0) & (procs % count == 0)
        of_job = np.where(even & (self.of == _JOB), self.size / count, np.nan)
        known: Floats = np.where(self.of == _NODE, self.size, of_job)
        return np.where(known > 0, known, np.nan)


def sizes_of(name: str, words: Sequence[str], code: Ints, *, theirs: str, in_ours: bool) -> Sizes:
    """Return the amounts of a column."""
    count = len(words)
    size, of, bare = np.full(count, np.nan), np.zeros(count, np.int64), np.zeros(count, np.bool_)
    ours = _NODE if name == "memory_per_node" else _PROCESSOR
    of[:] = _JOB if name == "memory" and not is_per_processor(theirs) else ours
    unit = size_unit(theirs)
    for k, word in enumerate(words):
        if _SIZE.fullmatch(word):
            plain = re.sub(r"[\si]", "", word.lower())
            size[k] = kilobytes(plain)
            of[k] = {"n": _NODE, "c": _PROCESSOR}.get(plain[-1], of[k])
        elif in_ours:
            size[k], of[k] = number(word), ours
        elif is_positive(word):
            bare[k] = not unit
            size[k] = kilobytes(f"{number(word):f}{unit}") if unit else np.nan
    return Sizes(size[code], of[code], bare[code])


class FurtherColumn:
    """One column, taken up part by part: whole numbers, else fractions, else names.

    One that somebody mapped may have any number of names.
    """

    def __init__(self, name: str, *, is_mapped: bool) -> None:
        self.name = name
        self._most = None if is_mapped else MOST_NAMES
        self._parts: list[NDArray[Any]] = []
        self._codes: dict[str, int] | None = None  # None while all are numbers

    def add(self, cells: Sequence[str] | NDArray[Any], places: Ints | None = None) -> None:
        """Take up the next values: texts, or an array of NumPy; `places` as in `Sheet.add`."""
        if isinstance(cells, np.ndarray) and cells.dtype.kind in "iufbmM":
            self._parts.append(self._numbers(cells))
            return
        words = ["" if cell is None else str(cell) for cell in cells]
        read = _as_numbers(words) if self._codes is None else None
        if read is None:
            if self._codes is None:
                self._codes = {}
                self._parts = [self._recoded(part) for part in self._parts]
            read = self._coded(words)
        self._parts.append(read if places is None else read[places])

    def _numbers(self, cells: NDArray[Any]) -> NDArray[Any]:
        kind = cells.dtype.kind
        if kind == "M":
            raise Unreadable(None, self.name, "holds dates; give seconds")
        if kind == "m":
            try:
                return seconds(cells)
            except ValueError as error:
                raise Unreadable(None, self.name, f"{error}; give seconds") from None
        if kind == "f":
            return finite(self.name, cells)
        if kind == "u" and cells.max(initial=0) > np.iinfo(np.int64).max:
            raise Unreadable(None, self.name, "a number takes more than 64 bits; correct it")
        return cells.astype(np.int64)

    def _recoded(self, part: NDArray[Any]) -> Ints:
        """Return numbers as names, since there are names after them."""
        unique, places = np.unique(part, return_inverse=True)
        unknown = part.dtype.kind == "i"
        words = ["" if unknown and cell == -1 else as_word(cell) for cell in unique.tolist()]
        return self._coded(words)[places]

    def _coded(self, words: Sequence[str]) -> Ints:
        codes = self._codes if self._codes is not None else {}
        # A name must fit into the line of a header.
        plain = ["" if is_unknown(word) else " ".join(word.split()) for word in words]
        made = np.array([codes.setdefault(word, len(codes)) for word in plain], np.int64)
        if self._most is not None and len(codes) > self._most:
            raise Unreadable(None, self.name, f"holds more than {self._most} different texts")
        return made

    def column(self) -> tuple[NDArray[Any], list[str]]:
        """Return the numbers, -1 where unknown, and the lines of a header with their names."""
        parts = self._parts or [np.empty(0, np.int64)]
        whole = np.concatenate(parts)
        if self._codes is None:
            if whole.dtype.kind == "f":
                whole = np.where(np.isnan(whole), -1.0, whole)
            return whole, []
        numbers, lines = numbered(self.name, list(self._codes))
        return numbers[whole], lines


def _as_numbers(words: Sequence[str]) -> NDArray[Any] | None:
    """Return texts as whole numbers, else as any; None if one is neither."""
    for parse, dtype in ((whole, np.int64), (number, np.float64)):
        try:
            return np.array([parse(word) for word in words], dtype)
        except (ValueError, OverflowError):
            continue
    return None
