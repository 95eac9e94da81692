"""Which column of a published table is which, and whether a row keeps to it."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from ..errors import ClusterError
from ..files.access import PathName
from ._table import key, number

PERCENTS = tuple(range(0, 101, 10))
"""Load levels of the benchmark, in percent; 0 is active idle."""

COLUMNS: Mapping[str, tuple[str, ...]] = {
    "vendor": ("Hardware Vendor", "Vendor"),
    "system": ("System", "System Name"),
    "processor": ("Processor", "CPU"),
    "characteristics": ("Processor Characteristics", "CPU Characteristics"),
    "nodes": ("Nodes",),
    "chips": ("# Chips",),
    "cores": ("# Cores",),
    "cores_per_chip": ("# Cores Per Chip", "#Cores/Chip"),
    "threads_per_core": ("# Threads Per Core", "#Threads/Core"),
    "mhz": ("Processor MHz", "CPU MHz", "MHz"),
    "memory": ("Memory (GB)", "RAM (GB)", "Memory", "RAM"),
    "dimms": ("DIMMS",),
    "form_factor": ("Form Factor",),
    "version": ("Benchmark Version",),
    "result": ("Result", "overall ssj_ops/watt"),
    "published": ("Published",),
    "hw_available": ("HW Avail", "Hardware Availability"),
    "year": ("Hardware release year",),
}
"""Our names of single columns, and theirs; case, blanks and signs do not matter."""

# Columns without use, but with words in them: where cells have moved, they show it.
_WORDS = frozenset(
    {
        "operatingsystem",
        "1stlevelcache",
        "2ndlevelcache",
        "3rdlevelcache",
        "memorydescription",
        "diskdrive",
        "testedby",
    }
)

_LEVELS = (
    ("ops", re.compile(r"(?:ssj)?ops(\d+)(?:of)?(?:target)?(?:load)?")),
    ("watts", re.compile(r"(?:average)?watts(\d+)(?:of)?(?:target)?(?:load)?")),
    ("watts", re.compile(r"(?:average)?watts(?:at)?(?:active)?idle()|(?:active)?idlewatts()")),
    ("per_watt", re.compile(r"performance(?:to)?power(?:ratio)?(\d+)(?:of)?(?:target)?(?:load)?")),
)

_UNKNOWN = frozenset({"", "-", "--", "n/a", "na", "none", "null", "unknown", "?", "..."})

_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_MONTH_YEAR = re.compile(r"([a-z]{3})[a-z]*\.?[-/ ,]+(\d{4}|\d\d)")
_YEAR_MONTH = re.compile(r"(\d{4})[-/](\d{1,2})([-/T ].*)?")

_FURTHEST = 2
_LOSABLE = frozenset(
    {
        "system",
        "threads_per_core",
        "mhz",
        "dimms",
        "form_factor",
        "version",
        "hw_available",
        "year",
    }
)
_DIVISIBLE = frozenset({"system", "characteristics", "dimms"})


class Layout(NamedTuple):
    """Where our fields are in the rows of a table."""

    width: int
    place: Mapping[str, int]
    title: Mapping[str, str]
    checks: Sequence[tuple[str, int, Callable[[str], bool]]]
    words: Sequence[int]

    @classmethod
    def of(cls, path: PathName, header: Sequence[str]) -> Layout:
        """Find our fields among the column names; ClusterError for one missing, or twice."""
        place: dict[str, int] = {}
        for at, name in enumerate(header):
            field = field_of(name)
            if field is None:
                continue
            if field in place:
                both = f"'{header[place[field]].strip()}' and '{name.strip()}'"
                raise ClusterError(path, f"two columns for one thing: {both}; remove one", line=1)
            place[field] = at
        _check_needed(path, header, place)
        checks = [(field, at, _CHECKS.get(field, _is_number)) for field, at in place.items()]
        titles = {field: header[at].strip() for field, at in place.items()}
        words = [at for at, name in enumerate(header) if key(name) in _WORDS]
        return cls(len(header), place, titles, checks, words)

    @property
    def is_published(self) -> bool:
        """Whether it is SPEC's own table rather than one that somebody wrote."""
        return "result" in self.place or "per_watt100" in self.place

    def misplaced(self, row: Sequence[str]) -> str | None:
        """Return the first field that holds what cannot be in it, or None."""
        for field, at, check in self.checks:
            if not check(row[at]) and (field in _NEEDED or known(row[at])):
                return field
        return None


def field_of(name: str) -> str | None:
    """Return our name of a column, or None for one that we do not use."""
    plain = key(name)
    known = FIELDS.get(plain)
    if known is not None:
        return known
    for kind, pattern in _LEVELS:
        match = pattern.fullmatch(plain)
        if match:
            level = int(next((g for g in match.groups() if g), "0"))
            return f"{kind}{level}" if level in PERCENTS else None
    return None


def _check_needed(path: PathName, header: Sequence[str], place: Mapping[str, int]) -> None:
    wanted = {
        "ops100": "ssj_ops @ 100% of target load",
        "watts100": "Average watts @ 100% of target load",
    }
    if not {"chips", "cores_per_chip"} <= set(place):
        wanted["cores"] = "# Cores"
    names = [name.strip() for name in header if field_of(name) is None and name.strip()]
    for field, title in wanted.items():
        if field not in place:
            raise ClusterError(path, f"has no column '{title}'; {_hint(title, names)}", line=1)


def _hint(title: str, names: Sequence[str]) -> str:
    """Return the column that may be meant, by what is left of the names without signs."""
    plain = {key(name): name for name in names}
    close = difflib.get_close_matches(key(title), list(plain), n=1, cutoff=0.8)
    if close:
        return f"if it is '{plain[close[0]][:40]}', call it so"
    return "add it"


def known(text: str) -> bool:
    """Whether a cell says something."""
    return text.strip().lower() not in _UNKNOWN


@lru_cache(maxsize=1 << 12)
def _is_number(text: str) -> bool:
    try:
        number(text)
    except ValueError:
        return False
    return True


def _is_text(text: str) -> bool:
    return not _is_number(text) and any(map(str.isalpha, text))


def _is_date(text: str) -> bool:
    return month(text) is not None


def _is_anything(text: str) -> bool:
    return True


FIELDS = {key(title): field for field, titles in COLUMNS.items() for title in titles}
_NEEDED = frozenset({"ops100", "watts100"})
_CHECKS: dict[str, Callable[[str], bool]] = {
    "vendor": _is_text,
    "system": _is_anything,
    "processor": _is_text,
    "characteristics": _is_text,
    "dimms": _is_text,
    "form_factor": _is_text,
    "result": _is_anything,
    "published": _is_date,
    "hw_available": _is_date,
}


@lru_cache(maxsize=1 << 10)
def month(text: str) -> str | None:
    """Return a date such as ``Jan-2009``, ``Jan 09`` or ``2009-01-31`` as ``2009-01``.

    >>> month("Jan-2009"), month("2011/12"), month("soon")
    ('2009-01', '2011-12', None)
    """
    match = _MONTH_YEAR.fullmatch(text.strip().lower())
    if match and match[1] in _MONTHS:
        year = int(match[2]) + (2000 if len(match[2]) == 2 else 0)
        return f"{year}-{_MONTHS.index(match[1]) + 1:02d}"
    match = _YEAR_MONTH.fullmatch(text.strip())
    if match and 1 <= int(match[2]) <= 12:
        return f"{match[1]}-{int(match[2]):02d}"
    return None


def realigned(layout: Layout, row: list[str]) -> Iterator[tuple[list[str], str]]:
    """Yield the rows that a lost or an extra cell explains, and how.

    A lost cell must be of little use. An extra one must be empty, or half of a text with a comma
    in it that was not quoted: it is joined to the one before.
    """
    surplus = len(row) - layout.width
    moves = [-surplus] if surplus else [k for far in range(1, _FURTHEST + 1) for k in (-far, far)]
    first = layout.misplaced(row) if not surplus else None
    # Cells before a lost or extra one stay: it is not behind the first misplaced cell.
    last = layout.place[first] if first is not None else layout.width - 1
    furthest = max(layout.place.values())
    vital = {at for field, at in layout.place.items() if field not in _LOSABLE}
    whole = {at for field, at in layout.place.items() if field not in _DIVISIBLE}
    for move in moves:
        cells = "1 column" if abs(move) == 1 else f"{abs(move)} columns"
        how = f"moved {cells} to the {'right' if move > 0 else 'left'}"
        for at in range(last + 1):
            if move > 0:
                if not vital.isdisjoint(range(at, at + move)):
                    continue
                moved = row[:at] + [""] * move + row[at:]
            else:
                parts = [part for part in map(str.strip, row[at : at - move + 1]) if part]
                if len(parts) > 1 and (at in whole or any(map(_is_number, parts))):
                    continue
                moved = [*row[:at], ",".join(parts), *row[at - move + 1 :]]
            # Nothing that is said may fall off the end, nothing of use be missing there.
            if len(moved) <= furthest or any(cell.strip() for cell in moved[layout.width :]):
                continue
            fitting = (moved + [""] * layout.width)[: layout.width]
            if layout.misplaced(fitting) is None and not any(
                _is_number(fitting[word]) or _is_date(fitting[word]) for word in layout.words
            ):
                yield fitting, how
