"""What two sides of a comparison change, in all and by class of jobs, each with its interval."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..cluster.power import assumed_watts
from ..errors import OptionError, plural
from ..jobs import Jobs
from ..jobs.classes import classed
from ..measures.entry import Measure
from ..measures.formulas import describe
from ..measures.registry import get, rests_on_watts
from ..run.result import Result
from .intervals import Interval, resampled_interval
from .paired import resampled_change

FEWEST = 2
"""Draws that an interval needs."""

_JOBS = ("wait", "bounded_slowdown")
_COMPARED = (
    *("wait_mean", "wait_median", "wait_p95", "bounded_slowdown_mean"),
    *("utilisation", "energy_kwh"),
)
_WHERE_GIVEN = ("cost", "carbon_kg", "deferred_wait_mean", "others_wait_mean")
"""Compared where both sides have it."""
_SAME = 1.0  # s: accounting of managers knows whole seconds
_FAR = 9.0

Both = tuple[float, float]


@dataclass(frozen=True)
class Change:
    """A measure on both sides.

    Parameters
    ----------
    what : the measure.
    a, b : its values, in its unit.
    difference : of b less a, with its interval.
    """

    what: Measure
    a: float
    b: float
    difference: Interval

    @property
    def measure(self) -> str:
        """The measure in words."""
        return self.what.label

    @property
    def share(self) -> float:
        """The difference over the value of the first side; -0.31 is 31 % less."""
        return self.difference.estimate / self.a if self.a else float("nan")

    @property
    def in_percent(self) -> str:
        """The share in words: a percentage, or how many times as much where that is far more."""
        if not np.isfinite(self.share):
            return "-"
        if self.share > _FAR:
            return f"x {1 + self.share:,.0f}"
        return f"{round(100 * self.share, 1) + 0.0:+.1f} %"

    @property
    def verdict(self) -> str:
        """``better``, ``worse``, ``no sure difference``, or ``same``: of waits, to the second."""
        low, high = self.difference.low, self.difference.high
        if max(abs(low), abs(high)) <= (_SAME if self.what.unit == "s" else 0.0):
            return "same"
        if low <= 0 <= high:
            return "no sure difference"
        return "better" if (self.difference.estimate < 0) == self.what.lower else "worse"

    @property
    def shown(self) -> tuple[float, ...]:
        """Both values, the difference and its ends, in the unit of `Measure.title`."""
        gap = self.difference
        return tuple(map(self.what.shown, (self.a, self.b, gap.estimate, gap.low, gap.high)))

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return {
            "measure": self.measure,
            "unit": self.what.unit,
            "a": self.a,
            "b": self.b,
            "difference": self.difference.as_dict(),
            "share": self.share,
            "verdict": self.verdict,
        }

    def as_row(self) -> dict[str, Any]:
        """Return plain values for a row of a table: the interval as its estimate and ends."""
        gap = self.difference
        ends = {"difference": gap.estimate, "low": gap.low, "high": gap.high}
        return self.as_dict() | ends


@dataclass(frozen=True)
class ClassChange:
    """How a class of jobs fares on both sides.

    Parameters
    ----------
    name, jobs : of the class.
    wait, slowdown : changes of the mean wait and of the mean bounded slowdown.
    """

    name: str
    jobs: int
    wait: Change
    slowdown: Change

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        parts = {"wait": self.wait.as_dict(), "bounded_slowdown": self.slowdown.as_dict()}
        return {"class": self.name, "jobs": self.jobs, **parts}


class ClassMeans(NamedTuple):
    """The jobs of a class, and the mean of their waits (s) and bounded slowdowns on both sides."""

    jobs: int
    wait: Both
    slowdown: Both


class BothSides(NamedTuple):
    """The numbers of both sides on one log.

    Parameters
    ----------
    jobs : that ran on both sides.
    only : jobs that ran on the first side only, and on the second only.
    measures : by name, on both sides.
    classes : by what jobs are classed by, and by class.
    """

    jobs: int
    only: tuple[int, int]
    measures: Mapping[str, Both]
    classes: Mapping[str, Mapping[str, ClassMeans]]


def measure_sides(jobs: Jobs, runs: Sequence[Result], by: Sequence[str]) -> BothSides:
    """Measure both sides over the jobs that ran on both."""
    tables = [columns_of(jobs, run) for run in runs]
    ran = [np.isfinite(table["wait"]) for table in tables]
    common = ran[0] & ran[1]
    if not common.any():
        raise OptionError("no job runs on both sides; check that the machines suit the log")
    columns = {name: [table[name][common] for table in tables] for name in _JOBS}
    summaries = [
        {**run.summary, **{name: describe(columns[name][side]) for name in _JOBS}}
        for side, run in enumerate(runs)
    ]
    held = _may_be_held(jobs, runs)
    if held is not None:
        for summary, waits in zip(summaries, columns["wait"], strict=True):
            for who, mine in (("deferred", held[common]), ("others", ~held[common])):
                summary[who] = {"wait_mean": float(waits[mine].mean()) if mine.any() else np.nan}
    states_energy = all(run.states_energy for run in runs)
    measures = {
        name: (get(name).of(summaries[0]), get(name).of(summaries[1]))
        for name in _COMPARED
        if states_energy or not rests_on_watts(name)
    }
    same_money = len({currency_of(run) for run in runs}) == 1
    for name in _WHERE_GIVEN:
        pair = get(name).of(summaries[0]), get(name).of(summaries[1])
        if np.isfinite(pair).all() and (name != "cost" or same_money):
            measures[name] = pair
    classes = {name: _class_means(*classed(jobs, name), common, columns) for name in by}
    only = int(np.count_nonzero(ran[0] & ~common)), int(np.count_nonzero(ran[1] & ~common))
    return BothSides(int(np.count_nonzero(common)), only, measures, classes)


def currency_of(run: Result) -> str:
    """Return the currency of the costs of a run; empty if it has none."""
    return str(run.summary.get("energy", {}).get("currency") or "")


def remarks_on(runs: tuple[Result, Result], only: tuple[int, int]) -> Iterator[str]:
    """Yield what to know of the numbers of two sides, A and B, in sentences.

    Parameters
    ----------
    runs : of both sides on the log itself.
    only : jobs that ran on the first side only, and on the second only.
    """
    left = sum(only)
    if left:
        one = left == 1
        where = {(True, False): "A", (False, True): "B"}.get((only[0] > 0, only[1] > 0), "one side")
        yield (
            f"{plural(left, 'job')} that {'runs' if one else 'run'} on {where} only "
            f"{'is' if one else 'are'} left out of waits and slowdowns; utilisation and energy "
            f"have {'it' if one else 'them'}."
        )
    stated = [run.states_energy for run in runs]
    for name, known in (
        ("energy", stated),
        *(
            (name, [bool(np.isfinite(get(name).of(run.summary))) for run in runs])
            for name in ("cost", "carbon_kg")
        ),
    ):
        if known[0] != known[1]:
            yield f"Not compared: {get(name).label}, which only {'AB'[known[1]]} has."
    money = [currency_of(run) for run in runs]
    if np.isfinite([get("cost").of(run.summary) for run in runs]).all():
        if money[0] != money[1]:
            words = " and ".join(f"'{name}'" for name in money)
            yield f"Not compared: {get('cost').label}, in {words}."
        elif money[0]:
            yield f"{get('cost').label.capitalize()}: in {money[0]}."
    if all(stated):
        for words in dict.fromkeys(filter(None, (assumed_watts(run.summary) for run in runs))):
            yield f"Energy and what rests on it: {words}."


def _may_be_held(jobs: Jobs, runs: Sequence[Result]) -> NDArray[np.bool_] | None:
    """Which jobs may be held for cheap or clean electricity on the last side that holds any."""
    for run in reversed(runs):
        table = run.job_columns()
        if "deferred" in table:
            return np.isin(jobs.job, table["job"][table["deferred"]])
    return None


def columns_of(jobs: Jobs, run: Result) -> Mapping[str, NDArray[Any]]:
    """Return waits (s) and bounded slowdowns of a run, in the order of the log; nan if not run."""
    table = run.job_columns()
    if np.array_equal(table["job"], jobs.job):
        return table
    place = {job: row for row, job in enumerate(table["job"].tolist())}
    rows = np.array([place.get(job, -1) for job in jobs.job.tolist()])
    return {name: np.where(rows >= 0, table[name][rows], np.nan) for name in _JOBS}


def _class_means(
    codes: NDArray[np.int64],
    names: Sequence[str],
    common: NDArray[np.bool_],
    columns: Mapping[str, Sequence[NDArray[np.float64]]],
) -> dict[str, ClassMeans]:
    codes = codes[common]
    count = np.bincount(codes, minlength=len(names))
    sums = {
        column: [np.bincount(codes, weights=values, minlength=len(names)) for values in sides]
        for column, sides in columns.items()
    }

    def means(column: str, code: int) -> Both:
        a, b = (float(total[code] / count[code]) for total in sums[column])
        return a, b

    return {
        names[code]: ClassMeans(int(count[code]), *(means(column, code) for column in _JOBS))
        for code in np.flatnonzero(count).tolist()
    }


def overall_changes(real: BothSides, drawn: Sequence[BothSides], level: float) -> Iterator[Change]:
    """Yield the changes of all measures: values of the log itself, intervals from drawn logs."""
    for name, values in real.measures.items():
        # In small draws nobody may be held.
        others = [pair.measures[name] for pair in drawn if name in pair.measures]
        if len(others) >= min(FEWEST, len(drawn)):
            yield _change(name, values, others, level)


def class_changes(
    by: str, real: BothSides, drawn: Sequence[BothSides], level: float
) -> Iterator[ClassChange]:
    """Yield changes of the classes that most draws have: most jobs first, widths as they are."""
    classes = real.classes[by]
    order = (
        list(classes) if by == "width" else sorted(classes, key=lambda name: -classes[name].jobs)
    )
    for name in order:
        others = [pair.classes[by][name] for pair in drawn if name in pair.classes[by]]
        if len(others) < max(FEWEST, len(drawn) // 2):
            continue
        jobs, wait, slowdown = classes[name]
        yield ClassChange(
            name,
            jobs,
            _change("wait_mean", wait, [means.wait for means in others], level),
            _change("bounded_slowdown_mean", slowdown, [m.slowdown for m in others], level),
        )


def _change(name: str, real: Both, drawn: Sequence[Both], level: float) -> Change:
    """A measure on both sides; its interval is that of the ratio, where there is one.

    Waits of two draws may differ tenfold, while one side has the same share of the other's.
    """
    before, after = np.array(drawn).T
    a, b = real
    if a > 0 and before.mean() > 0:
        ratio = resampled_change(after, before, level=level)
        moved = b / a - 1.0 - ratio.estimate
        low, high = max(ratio.low + moved, -1.0), ratio.high + moved
        difference = replace(
            ratio, estimate=b - a, low=low * a, high=high * a, method="paired ratio"
        )
    else:
        difference = resampled_interval(after - before, estimate=b - a, level=level)
    return Change(get(name), a, b, difference)
