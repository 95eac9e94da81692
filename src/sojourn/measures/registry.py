"""The table of all measures, which summaries, tables, sweeps, pages and the reference read.

A measure of yours joins it with `measure`; it is then wherever ours are.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any, TypeVar

from ..errors import OptionError, RunError
from .catalogue import CATALOGUE, HEADLINE
from .entry import KINDS, TABLES, Measure

Function = TypeVar("Function", bound=Callable[[Any], float])

_OURS = {each.name: each for each in CATALOGUE}
_NAMES = {"_".join(each.path): each.name for each in CATALOGUE}
# Keys of a summary and columns of a study that are no measures.
_TAKEN = frozenset(
    {
        *("version", "policy", "rate", "estimates", "over_limit", "passes", "seed", "warmup"),
        *(
            "unaccepted_jobs",
            "unaccepted_reasons",
            "rate_shares",
            "energy",
            "recorded",
            "events",
            "failures",
        ),
        *("processor", "placement", "constraints", "foresight", "resources", "partitions"),
        *("not_modelled", "cleaning", "classes", "provenance", "measures"),
        *("run_id", "replication", "status", "error", "power_model", "seconds"),
        *(each.path[0] for each in CATALOGUE),
    }
)
_NO_MEASURES = ("seed", "warmup", "recorded", "cleaning", "unaccepted_reasons", "rate_shares")
_own: dict[str, Measure] = {}
_from_files: ContextVar[Mapping[str, Measure]] = ContextVar(
    "measures that files describe", default=MappingProxyType({})
)


def measure(
    *,
    label: str,
    unit: str = "",
    better: str = "",
    name: str | None = None,
    low: float = -math.inf,
    high: float = math.inf,
    kind: str = "system",
    tables: Iterable[str] = TABLES,
) -> Callable[[Function], Function]:
    """Register a function of a `Result` as a measure of every run.

    Parameters
    ----------
    label : in words, without the unit.
    unit : of the number that the function returns, such as ``s``, ``kWh`` or ``jobs``; ``share``
        for one of 0 to 1, which is shown in per cent.
    better : ``lower`` or ``higher``; empty where neither end is.
    name : under which summaries and sweeps have it; default: that of the function.
    low, high : what it can never be less, or more, than; intervals end there.
    kind : ``job``, ``system``, ``count``, ``energy``, ``cost`` or ``events``. Energies and costs
        are not shown where nobody gave watts.
    tables : that show it: of ``simulate``, ``compare``, ``sweep`` and ``report``.

    Examples
    --------
    >>> import sojourn
    >>> from sojourn.measures.registry import unregister
    >>> @sojourn.measure(label="share of jobs that wait", unit="share", better="lower")
    ... def waiting(result):
    ...     return float((result.start > result.submit).mean())
    >>> jobs = sojourn.Jobs({"submit": [0, 0], "runtime": [5, 5], "procs": [2, 1]})
    >>> sojourn.simulate(jobs, 2, "fcfs").summary["waiting"]
    0.5
    >>> unregister("waiting")
    """

    def registered(function: Function) -> Function:
        called = name or str(getattr(function, "__name__", ""))
        register(
            Measure(
                called, label, unit, better, low=low, high=high, kind=kind, tables=tuple(tables),
                function=function, digest=_digest_of(function),
            )
        )  # fmt: skip
        return function

    return registered


def register(new: Measure) -> None:
    """Add a measure with a function of a `Result`; one of the same name is replaced.

    Raises
    ------
    OptionError
        Where its name is taken or no name, or what is said of it cannot be.
    """
    about = f"measure '{new.name}'"
    if not new.name.isidentifier():
        raise OptionError(f"{about}: a name has letters, digits and _ alone; give name=")
    if new.name in _TAKEN or new.name in _OURS:
        raise OptionError(f"{about}: summaries have something else of this name; choose another")
    if new.function is None or new.path != (new.name,):
        raise OptionError(f"{about}: give a function of a Result, and no path")
    if not new.label.strip():
        raise OptionError(f"{about}: has no label; say in words what it is")
    if new.better not in ("", "lower", "higher"):
        raise OptionError(f"{about}: better is '{new.better}'; choose lower, higher or ''")
    if new.kind not in KINDS:
        raise OptionError(f"{about}: kind is '{new.kind}'; choose from {', '.join(KINDS)}")
    unknown = [table for table in new.tables if table not in TABLES]
    if unknown:
        raise OptionError(f"{about}: no table '{unknown[0]}'; choose from {', '.join(TABLES)}")
    if not new.low < new.high:
        raise OptionError(f"{about}: low {new.low:g} is not below high {new.high:g}")
    _own[new.name] = new


def unregister(name: str) -> None:
    """Take away a measure that was registered."""
    del _own[name]


def replace_own(measures: Iterable[Measure]) -> None:
    """Have these measures registered and no others, as in the process that they come from."""
    _own.clear()
    _own.update({each.name: each for each in measures})


def own_measures() -> tuple[Measure, ...]:
    """Return the measures that were registered, in their order."""
    return tuple(_own.values())


def all_measures() -> tuple[Measure, ...]:
    """Return every measure: ours, then those that were registered or that files describe."""
    return tuple({**_OURS, **_from_files.get(), **_own}.values())


def in_table(table: str) -> list[Measure]:
    """Return the measures that a table of `TABLES` shows, in its order."""
    return [each for each in all_measures() if table in each.tables]


def headline() -> tuple[str, ...]:
    """Return what a page speaks of first, in this order; then what was registered."""
    return (*HEADLINE, *(each.name for each in all_measures() if each.name not in _OURS))


def find(name: str) -> Measure | None:
    """Return a measure by its name, or by its path in a summary; None if there is none."""
    known = _own.get(name) or _from_files.get().get(name)
    return known or _OURS.get(name) or _OURS.get(_NAMES.get(name.replace(".", "_"), ""))


def get(name: str) -> Measure:
    """Return a measure by its name; an unknown one is called by it, and has no unit or bounds."""
    return find(name) or Measure(name, name, low=-math.inf)


def is_own(name: str) -> bool:
    """Whether a measure was registered, here or by who wrote a file that is shown."""
    return name in _own or name in _from_files.get()


def name_of(path: tuple[str, ...]) -> str:
    """Return the name of the measure at a place of a summary, or one made of its keys."""
    keys = "_".join(path)
    return _NAMES.get(keys, keys)


def rests_on_watts(name: str) -> bool:
    """Whether a measure is an energy, or what an energy costs."""
    known = find(name)
    return known is not None and known.rests_on_watts


def add_computed(result: Any, summary: dict[str, Any]) -> None:
    """Add the measures that have a function to the summary of a result.

    Of those that were registered the summary says what they are.

    Raises
    ------
    RunError
        Where a function fails or returns no number.
    """
    for each in all_measures():
        if each.function is None:
            continue
        try:
            summary[each.name] = float(each.function(result))
        except Exception as error:
            reason = " ".join(f"{type(error).__name__}: {error}".split())
            raise RunError(f"measure '{each.name}': {reason}; correct its function") from error
    if _own:
        summary["measures"] = described_own()


def described_own() -> dict[str, Any]:
    """Return what files say of the measures that were registered, by name."""
    return {each.name: each.described() for each in own_measures()}


@contextmanager
def also_known(described: Mapping[str, Mapping[str, Any]]) -> Iterator[None]:
    """Know the measures that a file describes, as `described_own` does, while it is shown."""
    read = {name: Measure.from_file(name, each) for name, each in described.items()}
    before = _from_files.set({name: each for name, each in read.items() if name not in _OURS})
    try:
        yield
    finally:
        _from_files.reset(before)


def _digest_of(function: Callable[..., Any]) -> str:
    """Return the SHA-256 of what a function says, or of its code where nobody has its text."""
    import inspect

    try:
        text = inspect.getsource(function)
    except (OSError, TypeError):
        code = getattr(function, "__code__", None)
        text = repr(None if code is None else (code.co_code, code.co_names, code.co_varnames))
    return hashlib.sha256(text.encode()).hexdigest()


def flat_summary(summary: Mapping[str, Any], rates: Sequence[float] = ()) -> dict[str, float]:
    """Return every number of a summary under the name of its measure, such as ``wait_mean``.

    Each of the control's rates has its share of the time, be it 0.
    """
    flat = {name: float(value) for name, value in _numbers(summary)}
    shares = summary.get("rate_shares", {})
    known = dict.fromkeys([*(f"{rate:g}" for rate in rates), *shares]) if shares else {}
    return flat | {f"rate_share_{rate}": float(shares.get(rate, 0.0)) for rate in known}


def _numbers(summary: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """The numbers of a summary by the names of their measures."""
    for name, value in summary.items():
        if name in _NO_MEASURES:
            continue
        inner = value.items() if isinstance(value, Mapping) else [("", value)]
        for part, number in inner:
            if not isinstance(number, bool) and isinstance(number, int | float):
                yield name_of((name, part) if part else (name,)), number
