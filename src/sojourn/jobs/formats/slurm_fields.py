"""The values that Slurm prints: durations, memory, resources, node lists and job numbers."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

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
    """Return an amount of memory such as ``0.5G`` in KB; nan if not known; bytes without a unit."""
    return _amount(text, unit)[0]


def _amount(text: str, unit: str) -> tuple[float, str]:
    word = text.strip()
    if word.lower() in UNKNOWN:
        return math.nan, ""
    match = _MEMORY.fullmatch(word)
    if match is None:  # Slurm writes 16? and the like where a counter overflowed.
        return math.nan, ""
    size = _SIZES[(match[2] or unit).upper()]
    return float(match[1]) * size / 1024.0, match[3].lower()


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
    match = JOB.fullmatch(text.strip())
    if match is None:
        raise ValueError(text)
    job, task, pending, component, step = match.groups()
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
    numbers: list[int] = []
    for part in filter(None, (part.strip() for part in listed.split(","))):
        span, _, step = part.partition(":")
        first, dash, last = span.partition("-")
        numbers.extend(range(int(first), int(last if dash else first) + 1, int(step or 1)))
        if len(numbers) > _MOST:
            raise ValueError(pending)
    return numbers


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
        # Numbers with leading zeros differ by their width.
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
    ranges = ",".join(
        f"{a:0{width}d}" if a == b else f"{a:0{width}d}-{b:0{width}d}" for a, b in spans
    )
    return f"{prefix}[{ranges}]" if len(numbers) > 1 else f"{prefix}{ranges}"


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


_GRES, _GPU, _LICENCE = "gres/", "gres/gpu:", "license/"


def known_text(text: str) -> str:
    """Return a text, empty where it says that nothing is known."""
    word = text.strip()
    return "" if word.lower() in UNKNOWN else word


@lru_cache(maxsize=1 << 12)
def gpus_among(text: str) -> int:
    """Return the GPUs among trackable resources, in all; -1 where none are listed.

    >>> gpus_among("cpu=8,gres/gpu=4,gres/gpu:a100=4"), gpus_among("gres/gpu:a100=3,gres/gpu:t4=1")
    (4, 4)
    >>> gpus_among("cpu=8,node=1"), gpus_among("")
    (0, -1)
    """
    resources = trackable(text)
    if not resources:
        return -1
    if resources.get("gres/gpu"):
        return count(resources["gres/gpu"])
    return sum(count(resources[name] or "0") for name in resources if name.startswith(_GPU))


@lru_cache(maxsize=1 << 12)
def gpu_types_among(text: str) -> tuple[str, ...]:
    """Return the types of the GPUs among trackable resources.

    >>> gpu_types_among("cpu=8,gres/gpu=4,gres/gpu:a100=4"), gpu_types_among("gres/gpu=2")
    (('a100',), ())
    """
    resources = trackable(text)
    names = [
        name for name in resources if name.startswith(_GPU) and count(resources[name] or "0") > 0
    ]
    return tuple(name.removeprefix(_GPU) for name in names)


def gpus_in(text: str) -> int:
    """Return the GPUs per node of generic resources as they are requested.

    >>> gpus_in("gpu:2"), gpus_in("gres:gpu:tesla:2,nic:1"), gpus_in("gpu:a100:4(S:0-1)")
    (2, 2, 4)
    """
    return sum(
        whole(words[-1]) if words[-1].isdecimal() else 1
        for words in _generic(text)
        if words[0] == "gpu"
    )


def gpu_types_in(text: str) -> tuple[str, ...]:
    """Return the types of the GPUs of generic resources as they are requested.

    >>> gpu_types_in("gpu:2"), gpu_types_in("gres:gpu:tesla:2,nic:1"), gpu_types_in("gpu:a100")
    ((), ('tesla',), ('a100',))
    """
    gpus = [words for words in _generic(text) if words[0] == "gpu" and len(words) > 1]
    return tuple(words[1] for words in gpus if not words[1].isdecimal())


def _generic(text: str) -> list[list[str]]:
    parts = re.sub(r"\([^)]*\)?|gres[/:]|PER_NODE:", "", text).split(",")
    return [part.strip().split(":") for part in parts]


@lru_cache(maxsize=1 << 12)
def resources_among(text: str) -> str | None:
    """Return other generic resources among trackable ones, in all; None where none are listed.

    >>> resources_among("cpu=8,gres/gpu=4,gres/mic=2,gres/nic:ib=1"), resources_among("cpu=1")
    ('mic=2,nic=1', '')
    """
    resources = trackable(text)
    if not resources:
        return None
    amounts: dict[str, int] = {}
    for name, amount in resources.items():
        kind, typed, _ = name.removeprefix(_GRES).partition(":")
        is_other = name.startswith(_GRES) and kind != "gpu" and amount != ""
        # The sum over all types is listed beside them.
        if is_other and not (typed and f"{_GRES}{kind}" in resources):
            amounts[kind] = amounts.get(kind, 0) + count(amount)
    return ",".join(f"{kind}={amount}" for kind, amount in amounts.items())


@lru_cache(maxsize=1 << 12)
def licences_among(text: str) -> str:
    """Return the licences among trackable resources.

    >>> licences_among("cpu=8,license/matlab=2,license/ansys=1")
    'matlab:2,ansys:1'
    """
    resources = trackable(text)
    return ",".join(
        f"{name.removeprefix(_LICENCE)}:{count(amount)}"
        for name, amount in resources.items()
        if name.startswith(_LICENCE) and amount
    )
