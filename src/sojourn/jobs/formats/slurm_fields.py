"""The values that Slurm prints: instants, durations, limits, memory, node lists and job numbers."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, tzinfo
from functools import lru_cache
from typing import NamedTuple

from ...errors import OptionError

__all__ = [
    "DURATION",
    "INSTANT",
    "JOB",
    "UNKNOWN",
    "JobNumber",
    "Moment",
    "count",
    "duration",
    "expand_nodes",
    "fold_nodes",
    "instant",
    "job_number",
    "kilobytes",
    "limit",
    "memory",
    "memory_per_node",
    "moment",
    "tasks",
    "trackable",
    "whole",
    "zone_of",
]

UNKNOWN = frozenset({"", "unknown", "none", "n/a", "(null)", "invalid", "partition_limit"})
"""Words for a value that is not known, in small letters."""

_ENDLESS = frozenset({"unlimited", "infinite"})
_MINUTE, _HOUR, _DAY = 60.0, 3600.0, 86400.0
_LARGEST = 1e15
_DIGITS = 20
_MOST = 1 << 20
"""Names or tasks that one bracket may stand for."""

INSTANT = re.compile(
    r"(?i:|unknown|none|n/a|invalid|\d{1,12}(\.\d*)?"
    r"|\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(z|[+-]\d\d:?\d\d)?)"
)
DURATION = re.compile(
    r"(?i:|unknown|none|n/a|invalid|unlimited|infinite|partition_limit"
    r"|(\d+-)?(\d+:){0,2}\d+(\.\d*)?)"
)
JOB = re.compile(r"(\d{1,18})(?:_(?:(\d{1,18})|\[([^\]]*)\]?)|\+(\d{1,9}))?(?:\.(.+))?")


def zone_of(name: str) -> tzinfo:
    """Return a time zone by its name, such as ``Europe/Moscow`` or ``UTC``."""
    from zoneinfo import ZoneInfo

    if name.upper() == "UTC":
        return UTC
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise OptionError(
            f"timezone '{name}' is unknown; give a name such as Europe/Berlin, or UTC",
            key="workload.timezone",
        ) from None


class Moment(NamedTuple):
    """An instant as a log has it.

    Parameters
    ----------
    time : Unix time (s), nan if not known; the first of two where the clock was set back.
    other : the other one of an hour that occurs twice, or that was left out; else nan.
    is_local : whether the log names no zone.
    """

    time: float
    other: float = math.nan
    is_local: bool = False


@lru_cache(maxsize=1 << 16)
def moment(text: str, zone: tzinfo) -> Moment:
    """Return an instant, in `zone` if it names none; ValueError if it is none."""
    word = text.strip()
    if word.lower() in UNKNOWN:
        return Moment(math.nan)
    if word.replace(".", "", 1).isdecimal():
        return Moment(float(word))
    date = datetime.fromisoformat(word)
    if date.tzinfo is not None:
        return Moment(date.timestamp())
    first = date.replace(tzinfo=zone).timestamp()
    second = first if zone is UTC else date.replace(tzinfo=zone, fold=1).timestamp()
    return Moment(first, math.nan if first == second else second, True)


def instant(text: str, zone: tzinfo = UTC) -> float:
    """Return a moment as Unix time (s); nan for one that is not known.

    >>> instant("2021-02-11T22:36:19"), instant("2021-02-11T23:36:19+01:00"), instant("Unknown")
    (1613082979.0, 1613082979.0, nan)
    """
    return moment(text, zone).time


@lru_cache(maxsize=1 << 14)
def duration(text: str) -> float:
    """Return a length of time (s); nan for one that is not known, inf for one without end.

    >>> duration("1-02:03:04"), duration("03:04"), duration("01:07.402"), duration("2-12")
    (93784.0, 184.0, 67.402, 216000.0)
    """
    word = text.strip().lower()
    if word in UNKNOWN:
        return math.nan
    if word in _ENDLESS:
        return math.inf
    days, dash, rest = word.rpartition("-")
    parts = [float(part) for part in rest.split(":")]
    if len(parts) > 3:
        raise ValueError(text)
    # After days come hours, as in 2-12; else the last part is seconds.
    sizes = (_HOUR, _MINUTE, 1.0) if dash else (_HOUR, _MINUTE, 1.0)[3 - len(parts) :]
    total = sum(size * part for size, part in zip(sizes, parts, strict=False))
    return total + (_DAY * int(days) if dash else 0.0)


@lru_cache(maxsize=1 << 12)
def limit(text: str) -> float:
    """Return a time limit (s): as `duration`, but a plain number counts minutes."""
    word = text.strip()
    return _MINUTE * float(word) if word.isdecimal() else duration(word)


_SIZES = {"": 1.0, "K": 1024.0, "M": 1024.0**2, "G": 1024.0**3, "T": 1024.0**4, "P": 1024.0**5}
_MEMORY = re.compile(r"(\d+(?:\.\d*)?)([KMGTP]?)B?([nc]?)", re.IGNORECASE)


@lru_cache(maxsize=1 << 12)
def kilobytes(text: str, unit: str = "") -> float:
    """Return an amount of memory in KB; nan if not known.

    Parameters
    ----------
    text : such as ``114944K`` or ``0.5G``.
    unit : of a number without one: K, M, G, T or P; by default bytes.
    """
    return _amount(text, unit)[0]


def _amount(text: str, unit: str) -> tuple[float, str]:
    word = text.strip()
    if word.lower() in UNKNOWN:
        return math.nan, ""
    found = _MEMORY.fullmatch(word)
    if found is None:  # Slurm writes 16? and the like where a counter overflowed.
        return math.nan, ""
    size = _SIZES[(found[2] or unit).upper()]
    return float(found[1]) * size / 1024.0, found[3].lower()


@lru_cache(maxsize=1 << 12)
def memory(text: str, nodes: int, procs: int) -> float:
    """Return requested memory per processor (KB), -1 if not known.

    ``2800Mc`` is per processor, ``4Gn`` per node, ``16G`` of the whole job; ``0`` stands for all
    memory of a node, which is not a number.
    """
    total, per = _amount(text, "M")
    if not total > 0:
        return -1.0
    if per == "c":
        return total
    if procs <= 0 or (per == "n" and nodes <= 0):
        return -1.0
    return total * (nodes if per == "n" else 1) / procs


@lru_cache(maxsize=1 << 12)
def memory_per_node(text: str, nodes: int, procs: int) -> float:
    """Return requested memory per node (KB), -1 if not known; texts as for `memory`.

    Memory of a whole job is so much on each node only if its processors are shared out evenly.

    >>> memory_per_node("4Gn", 2, 8), memory_per_node("16G", 2, 8), memory_per_node("1Gc", 2, 8)
    (4194304.0, 8388608.0, -1.0)
    """
    total, per = _amount(text, "M")
    if not total > 0 or per == "c":
        return -1.0
    if per == "n":
        return total
    return total / nodes if nodes > 0 and procs > 0 and procs % nodes == 0 else -1.0


@lru_cache(maxsize=1 << 12)
def trackable(text: str) -> dict[str, str]:
    """Return trackable resources by name: ``cpu=16,mem=16G,node=2``."""
    pairs = (part.partition("=") for part in text.split(",") if "=" in part)
    return {name.strip(): value.strip() for name, _, value in pairs}


@lru_cache(maxsize=1 << 12)
def count(text: str) -> int:
    """Return a count that may be written short.

    >>> count("48"), count("1.5K")
    (48, 1500)
    """
    size = {"K": 1e3, "M": 1e6, "G": 1e9}.get(text[-1:].upper())
    value = float(text[:-1]) * size if size else float(text)
    if not abs(value) <= _LARGEST:
        raise ValueError(text)
    return round(value)


def whole(text: str) -> int:
    """Return a whole number; ValueError for one that is none, or too large to be true."""
    value = int(text) if len(text) <= _DIGITS else _LARGEST + 1
    if not abs(value) <= _LARGEST:
        raise ValueError(text)
    return int(value)


class JobNumber(NamedTuple):
    """A job's number in its parts.

    Parameters
    ----------
    job : the number itself.
    task : of an array; None if the job is none.
    pending : tasks of an array that wait, as written; None if it is no such record.
    component : of a heterogeneous job; None if the job is none.
    step : name of a step; None for the job itself.
    """

    job: int
    task: int | None
    pending: str | None
    component: int | None
    step: str | None

    @property
    def label(self) -> str:
        """The job without its step, as Slurm writes it."""
        if self.task is not None:
            return f"{self.job}_{self.task}"
        return f"{self.job}+{self.component}" if self.component is not None else str(self.job)


def job_number(text: str) -> JobNumber:
    """Take a job's number apart.

    >>> job_number("12_3.batch").label, job_number("12+1.0").step, job_number("12_[4-7%2]").pending
    ('12_3', '0', '4-7%2')
    """
    found = JOB.fullmatch(text.strip())
    if found is None:
        raise ValueError(text)
    job, task, pending, component, step = found.groups()
    return JobNumber(
        int(job),
        None if task is None else int(task),
        pending,
        None if component is None else int(component),
        step,
    )


def tasks(pending: str) -> list[int]:
    """Return the tasks of an array that wait; those that Slurm left out of a long list are not in.

    >>> tasks("4-7%2"), tasks("1,3,10-20:5"), tasks("1-2,...")
    ([4, 5, 6, 7], [1, 3, 10, 15, 20], [1, 2])
    """
    listed = pending.partition("%")[0].replace("...", "")
    found: list[int] = []
    for part in filter(None, (part.strip() for part in listed.split(","))):
        span, _, step = part.partition(":")
        first, dash, last = span.partition("-")
        found.extend(range(int(first), int(last if dash else first) + 1, int(step or 1)))
        if len(found) > _MOST:
            raise ValueError(pending)
    return found


@lru_cache(maxsize=1 << 12)
def expand_nodes(text: str) -> tuple[str, ...]:
    """Return the nodes of a list, by name.

    >>> expand_nodes("n[1-3,7],m01"), expand_nodes("r[0-1]n[08-09]"), expand_nodes("None assigned")
    (('n1', 'n2', 'n3', 'n7', 'm01'), ('r0n08', 'r0n09', 'r1n08', 'r1n09'), ())
    """
    if text.strip().lower() in UNKNOWN | {"none assigned"}:
        return ()
    return tuple(name for part in _outside(text.strip()) for name in _expanded(part))


def fold_nodes(names: Sequence[str]) -> str:
    """Return a list of nodes as Slurm writes it: the names of a prefix together, runs as spans.

    >>> fold_nodes(("n1", "n2", "n3", "n7", "m01", "login")), fold_nodes(("n9",))
    ('n[1-3,7],m01,login', 'n9')
    """
    groups: dict[tuple[str, int], list[int]] = {}
    for name in names:
        prefix = name.rstrip("0123456789")
        digits = name[len(prefix) :]
        # Numbers with leading zeros are told apart by their width.
        width = len(digits) if digits.startswith("0") or not digits else 0
        groups.setdefault((prefix, width), []).append(int(digits or -1))
    return ",".join(_folded(*key, numbers) for key, numbers in groups.items())


def _folded(prefix: str, width: int, numbers: list[int]) -> str:
    if numbers == [-1]:
        return prefix
    spans: list[list[int]] = []
    for number in sorted(numbers):
        if spans and spans[-1][1] == number - 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    told = ",".join(
        f"{a:0{width}d}" if a == b else f"{a:0{width}d}-{b:0{width}d}" for a, b in spans
    )
    return f"{prefix}[{told}]" if len(numbers) > 1 else f"{prefix}{told}"


def _outside(text: str) -> Iterator[str]:
    """Yield what stands between the commas that are in no bracket."""
    yield from (part for part in re.findall(r"(?:\[[^\]]*\]|[^,\[])+", text) if part.strip())


def _expanded(part: str) -> Iterator[str]:
    pieces = re.split(r"\[([^\]]*)\]", part.strip())
    choices = [[piece] if k % 2 == 0 else _numbers(piece) for k, piece in enumerate(pieces)]
    if math.prod(map(len, choices)) > _MOST:
        raise ValueError(part)
    return ("".join(names) for names in itertools.product(*choices))


def _numbers(ranges: str) -> list[str]:
    names: list[str] = []
    for span in ranges.split(","):
        first, dash, last = span.partition("-")
        if not dash:
            names.append(first)
            continue
        if int(last) - int(first) >= _MOST:
            raise ValueError(ranges)
        names.extend(f"{k:0{len(first)}d}" for k in range(int(first), int(last) + 1))
    return names
