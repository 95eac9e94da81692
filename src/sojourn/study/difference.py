"""Two configurations, clusters or scenarios on one log: who gains, who loses, and how sure that is.

Both sides run on the log itself, which gives the numbers, and on logs drawn from its blocks, which
give their errors: two sides that run on the same draw have good and bad luck together.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..adequacy import distance
from ..adequacy.replaying import agreed, typical
from ..cluster import Power
from ..errors import OptionError
from ..jobs import STANDARD, Jobs
from ..jobs.classes import check_known, classed, known_classes
from ..jobs.clean import cleaned
from ..jobs.log import read_jobs
from ..jobs.models.resample import fitting_block, resample_blocks
from ..measures.formulas import quantiles
from ..policy import Policy
from ..run.result import Result
from .intervals import Interval, resampled_interval
from .paired import resampled_change
from .sides import LineChange, Side, lines_that_differ, side_of

__all__ = ["BY", "Change", "ClassChange", "Difference", "Trust", "as_rows", "diff"]

Floats = NDArray[np.float64]

BY = ("partition", "account", "user", "width")
"""What jobs are told apart by, unless asked otherwise."""

UNITS = {
    "mean wait": "s",
    "median wait": "s",
    "95 % wait": "s",
    "mean bounded slowdown": "",
    "utilisation": "",
    "energy": "kWh",
}
"""What is compared, and its unit."""

_LARGER_IS_BETTER = ("utilisation",)
_NEAR = 60.0
_SAME = 1.0  # s: accounting of managers knows whole seconds
_LEAST = 2
_FAR = 9.0
_NAMED = 5
_JOULES_PER_KWH = 3.6e6


@dataclass(frozen=True)
class Trust:
    """How near the first side comes to what the log recorded.

    Parameters
    ----------
    jobs : whose starts were recorded.
    P : s, root mean square of the differences of times in the system.
    relative : the same over the mean recorded time in the system.
    near : share of the jobs within a minute.
    wait, recorded : mean waits (s), simulated and recorded.
    members : runs of the first side, of which the most typical is held against the log: with
        Slurm's loops begun at other moments, as `replay` does; 1 under other policies.
    itself : s, the median P between two of these runs; nan of one.
    """

    jobs: int
    P: float
    relative: float
    near: float
    wait: float
    recorded: float
    members: int = 1
    itself: float = float("nan")


@dataclass(frozen=True)
class Change:
    """A measure on both sides.

    Parameters
    ----------
    measure, unit : what it is.
    a, b : its values.
    difference : of b less a, with its interval.
    """

    measure: str
    unit: str
    a: float
    b: float
    difference: Interval

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
        found = self.difference
        near = _SAME if self.unit == "s" else 0.0
        if max(abs(found.low), abs(found.high)) <= near:
            return "same"
        if not (found.low > 0 or found.high < 0):
            return "no sure difference"
        more_is_better = self.measure in _LARGER_IS_BETTER
        return "better" if (found.estimate > 0) == more_is_better else "worse"

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return {**asdict(self), "share": self.share, "verdict": self.verdict}


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


@dataclass(frozen=True, repr=False)
class Difference:
    """What changes from one side to the other on a log.

    Parameters
    ----------
    a, b : names of the sides.
    log : its file, or where its jobs came from.
    jobs : that ran on both sides.
    only_a, only_b : jobs that ran on one side only, and are left out.
    trust : how near the first side comes to the log; None where it recorded no starts.
    lines : that differ.
    measures : of all jobs.
    classes : by what jobs are told apart by.
    draws, block : how many logs were drawn, and of which blocks.
    not_modelled : what the sides have no notion of, in words.
    left : classes that are in too few of the draws to be judged, by what jobs are told apart by;
        those with most jobs first.
    runs : of both sides on the log itself.
    """

    a: str
    b: str
    log: str
    jobs: int
    only_a: int
    only_b: int
    trust: Trust | None
    lines: tuple[LineChange, ...]
    measures: tuple[Change, ...]
    classes: dict[str, tuple[ClassChange, ...]]
    draws: int
    block: str
    not_modelled: tuple[str, ...]
    left: dict[str, tuple[str, ...]]
    runs: tuple[Result, Result] = field(repr=False, compare=False)

    def __repr__(self) -> str:
        return f"<Difference from {self.a} to {self.b}: {' '.join(self.in_words())}>"

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return {
            **{name: getattr(self, name) for name in ("a", "b", "log", "jobs")},
            **{name: getattr(self, name) for name in ("only_a", "only_b", "draws", "block")},
            "adequacy": None if self.trust is None else asdict(self.trust),
            "lines": [asdict(each) for each in self.lines],
            "measures": [each.as_dict() for each in self.measures],
            "classes": {by: [each.as_dict() for each in rows] for by, rows in self.classes.items()},
            "left": {by: list(names) for by, names in self.left.items()},
            "not_modelled": list(self.not_modelled),
        }

    def left_in_words(self, by: str) -> str:
        """Return which classes are not judged, in a sentence; empty where all are."""
        left = self.left[by]
        if not left:
            return ""
        more = f" and {len(left) - _NAMED} more" if len(left) > _NAMED else ""
        return f"In fewer than half of the draws, and not judged: {', '.join(left[:_NAMED])}{more}."

    def in_words(self) -> list[str]:
        """Return the answer in a few sentences."""
        said = []
        for each in self.measures[:1]:
            size = f"{100 * abs(each.share):.1f} % " if np.isfinite(each.share) else ""
            more = "longer" if each.difference.estimate > 0 else "shorter"
            found = each.difference
            reach = f"{found.low:+,.0f} to {found.high:+,.0f} s"
            said.append(
                {
                    "same": "The mean wait is the same, to the second.",
                    "no sure difference": f"No sure difference in the mean wait ({reach}).",
                }.get(each.verdict, f"Mean waits are {size}{more} with {self.b} ({reach}).")
            )
        for by, rows in self.classes.items():
            gain = [row.name for row in rows if row.wait.verdict == "better"]
            lose = [row.name for row in rows if row.wait.verdict == "worse"]
            if gain or lose:
                said.append(
                    f"By {by}: {len(gain)} gain, {len(lose)} lose, of {len(rows)} with enough jobs."
                )
        if self.trust is not None:
            said.append(
                f"{self.a} is {100 * self.trust.relative:.1f} % of the mean time in the system "
                "away from the log, job by job: smaller differences of single jobs mean little."
            )
        return said


def diff(
    a: Any,
    b: Any,
    log: str | os.PathLike[str] | Jobs,
    *,
    policy: str | Policy = "easy",
    power: Power | None = None,
    by: Sequence[str] | None = None,
    draws: int = 20,
    block: str | None = None,
    level: float = 0.95,
    seed: int = 0,
    rules: Sequence[str] = STANDARD,
    progress: Callable[[int, int], None] | None = None,
    reading: dict[str, Any] | None = None,
    **options: Any,
) -> Difference:
    """Compare two configurations, clusters or scenarios on one log.

    Parameters
    ----------
    a, b : each a ``slurm.conf``, the file of a cluster or of a scenario; or a `SlurmPolicy`, a
        `Cluster` or a `Scenario`.
    log : the log, or its jobs.
    policy : of clusters, which have none of their own.
    power : watts of a processor, where those of the nodes are not known; scenarios say their own.
    by : classes of jobs: ``partition``, ``account``, ``user``, ``width`` and so on; default: those
        of `BY` that the log knows.
    draws : logs drawn from blocks of this one, on which both sides run for the intervals.
    block : what is drawn: ``user``, ``day``, ``week`` or ``jobs``; default: what suits the log.
    level : of confidence.
    seed : of the draws.
    rules : of cleaning.
    progress : called with (runs done, runs).
    reading : options of `read_jobs`.
    options : of `simulate`, where a side is no scenario: price, carbon, estimates.

    Raises
    ------
    OptionError, LogError, ClusterError
        When something given cannot be used.

    Examples
    --------
    >>> import sojourn
    >>> jobs = sojourn.lublin(300, 64, load=0.9, seed=1)
    >>> small, large = sojourn.Cluster.homogeneous(64), sojourn.Cluster.homogeneous(80)
    >>> found = sojourn.diff(small, large, jobs, draws=5)
    >>> found.measures[0].measure, found.measures[0].verdict
    ('mean wait', 'better')
    """
    if draws < _LEAST:
        raise OptionError(f"draws {draws}: give {_LEAST} or more, to know how sure a difference is")
    sides = side_of(a, policy, power, **options), side_of(b, policy, power, **options)
    jobs = log if isinstance(log, Jobs) else read_jobs(log, **(reading or {}))
    source = jobs.source if isinstance(log, Jobs) else os.fspath(log)
    size = max(side.machine(jobs).procs for side in sides)
    jobs = cleaned(jobs, size, rules).sorted()
    known = known_classes(jobs)
    for name in by or ():
        check_known(jobs, name)
    wanted = [name for name in BY if name in known] if by is None else list(by)
    chosen = fitting_block(jobs) if block is None else block

    def report(done: int) -> None:
        if progress is not None:
            progress(done, 2 * (draws + 1))

    report(0)
    first = sides[0].run(jobs, record=True), sides[1].run(jobs, record=True)
    report(2)
    real = _both(jobs, first, wanted)
    drawn = []
    for k in range(draws):
        other = resample_blocks(jobs, chosen, seed + k)
        drawn.append(_both(other, [side.run(other) for side in sides], wanted))
        report(2 * (k + 2))
    names = _names(sides)
    classes = {name: tuple(_class_changes(name, real, drawn, level)) for name in wanted}
    return Difference(
        a=names[0],
        b=names[1],
        log=source or "jobs",
        jobs=real.jobs,
        only_a=real.only[0],
        only_b=real.only[1],
        trust=_trust(jobs, sides[0], first[0]),
        lines=lines_that_differ(*sides),
        measures=tuple(_changes(real, drawn, level)),
        classes=classes,
        draws=draws,
        block=chosen,
        not_modelled=tuple(
            dict.fromkeys(what for each in first for what in each.summary["not_modelled"])
        ),
        left={name: _left(real.classes[name], rows) for name, rows in classes.items()},
        runs=first,
    )


def _names(sides: tuple[Side, Side]) -> tuple[str, str]:
    """Names that tell the sides apart: of files of one name, with as many folders as it takes."""
    parts = [Path(side.path).absolute().parts if side.path else (side.name,) for side in sides]
    for length in range(1, max(map(len, parts)) + 1):
        a, b = (str(Path(*each[-length:])) for each in parts)
        if a != b:
            return a, b
    return f"{sides[0].name} (A)", f"{sides[1].name} (B)"


@dataclass(frozen=True)
class _Both:
    """The numbers of both sides on one log: each value is a pair."""

    jobs: int
    only: tuple[int, int]
    measures: dict[str, tuple[float, float]]
    classes: dict[str, dict[str, tuple[int, tuple[float, float], tuple[float, float]]]]


def _both(jobs: Jobs, runs: Sequence[Result], by: Sequence[str]) -> _Both:
    """Measure both sides over the jobs that ran on both."""
    tables = [_in_order(jobs, run) for run in runs]
    ran = [np.isfinite(table["wait"]) for table in tables]
    common = ran[0] & ran[1]
    if not common.any():
        raise OptionError("no job runs on both sides; check that the machines suit the log")
    waits = [table["wait"][common] for table in tables]
    slowdowns = [table["bounded_slowdown"][common] for table in tables]
    measures = {
        "mean wait": _pair(waits, np.mean),
        "median wait": _pair(waits, lambda x: quantiles(x, [0.5])[0]),
        "95 % wait": _pair(waits, lambda x: quantiles(x, [0.95])[0]),
        "mean bounded slowdown": _pair(slowdowns, np.mean),
        "utilisation": _pair(runs, lambda run: run.summary["utilisation"]),
    }
    if all(run.states_energy for run in runs):
        measures["energy"] = _pair(
            runs, lambda run: run.summary["energy"]["total_joules"] / _JOULES_PER_KWH
        )
    classes: dict[str, Any] = {}
    for name in by:
        codes, names = classed(jobs, name)
        codes = codes[common]
        count = np.bincount(codes, minlength=len(names))
        means = [
            [np.bincount(codes, weights=x, minlength=len(names)) for x in each]
            for each in (waits, slowdowns)
        ]
        classes[name] = {
            names[k]: (
                int(count[k]),
                (means[0][0][k] / count[k], means[0][1][k] / count[k]),
                (means[1][0][k] / count[k], means[1][1][k] / count[k]),
            )
            for k in np.flatnonzero(count).tolist()
        }
    only = (int(np.count_nonzero(ran[0] & ~ran[1])), int(np.count_nonzero(ran[1] & ~ran[0])))
    return _Both(int(np.count_nonzero(common)), only, measures, classes)


def _in_order(jobs: Jobs, run: Result) -> dict[str, NDArray[Any]]:
    """The columns of a run's jobs, in the order of the log."""
    table = run.job_columns()
    if not np.array_equal(table["job"], jobs.job):
        place = {job: k for k, job in enumerate(table["job"].tolist())}
        rows = np.array([place.get(job, -1) for job in jobs.job.tolist()])
        return {
            name: np.where(rows >= 0, table[name][rows], np.nan)
            for name in ("wait", "bounded_slowdown")
        }
    return table


def _pair(both: Sequence[Any], measure: Callable[[Any], Any]) -> tuple[float, float]:
    a, b = (float(measure(each)) for each in both)
    return a, b


def _change(
    measure: str, real: tuple[float, float], drawn: Sequence[tuple[float, float]], level: float
) -> Change:
    """A measure on both sides; its interval is that of the ratio, where there is one.

    Waits of two draws may differ tenfold, while one side has the same share of the other's.
    """
    before, after = np.array(drawn).T
    estimate = real[1] - real[0]
    if real[0] > 0 and before.mean() > 0:
        found = resampled_change(after, before, level=level)
        moved = real[1] / real[0] - 1.0 - found.estimate
        low, high = max(found.low + moved, -1.0), found.high + moved
        difference = replace(
            found, estimate=estimate, low=low * real[0], high=high * real[0], method="paired ratio"
        )
    else:
        difference = resampled_interval(after - before, estimate=estimate, level=level)
    return Change(measure, UNITS[measure], real[0], real[1], difference)


def _changes(real: _Both, drawn: Sequence[_Both], level: float) -> Iterator[Change]:
    for name, values in real.measures.items():
        yield _change(name, values, [each.measures[name] for each in drawn], level)


def _class_changes(
    by: str, real: _Both, drawn: Sequence[_Both], level: float
) -> Iterator[ClassChange]:
    """Changes of the classes that most draws have, those with most jobs first."""
    rows = sorted(real.classes[by].items(), key=lambda each: -each[1][0])
    if by == "width":
        rows = list(real.classes[by].items())
    for name, (jobs, wait, slowdown) in rows:
        others = [each.classes[by][name] for each in drawn if name in each.classes[by]]
        if len(others) < max(_LEAST, len(drawn) // 2):
            continue
        yield ClassChange(
            name,
            jobs,
            _change("mean wait", wait, [each[1] for each in others], level),
            _change("mean bounded slowdown", slowdown, [each[2] for each in others], level),
        )


def _left(every: dict[str, Any], rows: Sequence[ClassChange]) -> tuple[str, ...]:
    """Names of the classes that are not among the rows."""
    others = every.keys() - {row.name for row in rows}
    return tuple(sorted(others, key=lambda name: (-every[name][0], name)))


def _trust(jobs: Jobs, side: Side, run: Result) -> Trust | None:
    """How near a side comes to the starts that the log recorded."""
    if "wait" not in jobs.names:
        return None
    here = (jobs.wait >= 0) & np.isfinite(_in_order(jobs, run)["wait"]) & (jobs.runtime >= 0)
    if not here.any():
        return None
    runs = [run, *side.begun_otherwise(jobs)]
    waits = [_in_order(jobs, each)["wait"][here] for each in runs]
    chosen, itself = typical(waits)
    wait, real = agreed(waits, chosen), jobs.wait[here]
    residence = real + jobs.runtime[here]
    P = distance(residence, wait + jobs.runtime[here])
    return Trust(
        jobs=int(here.sum()),
        P=P,
        relative=P / float(residence.mean()) if residence.mean() > 0 else float("nan"),
        near=float(np.mean(np.abs(wait - real) <= _NEAR)),
        wait=float(wait.mean()),
        recorded=float(real.mean()),
        members=len(runs),
        itself=itself,
    )


def as_rows(found: Difference) -> list[dict[str, Any]]:
    """Return one row per measure and class, for a table: values, interval and verdict."""
    rows = [{"by": "all", "class": "", "jobs": found.jobs, **_row(each)} for each in found.measures]
    for by, classes in found.classes.items():
        for each in classes:
            for change in (each.wait, each.slowdown):
                rows.append({"by": by, "class": each.name, "jobs": each.jobs, **_row(change)})
    return rows


def _row(change: Change) -> dict[str, Any]:
    return {
        "measure": change.measure,
        "unit": change.unit,
        "a": change.a,
        "b": change.b,
        "difference": change.difference.estimate,
        "low": change.difference.low,
        "high": change.difference.high,
        "share": change.share,
        "verdict": change.verdict,
    }
