"""The points of a study, every measure with its interval; and the intervals of a single run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...arrays import Floats
from ...errors import OptionError
from ...measures.registry import get as measure
from ..figures.binning import Path, bin_path
from ..figures.style import number
from .words import bounded, bounded_change

if TYPE_CHECKING:
    from ...study.intervals import Interval


RUN = "run"
"""What is varied in a comparison."""
LEVEL = 0.95
_WINDOWS = 512


@dataclass(frozen=True)
class Points:
    """One entry per point, in the order of the study.

    The `front` is the points of it that a search found, and how sure each is of its place (0 to 1).
    Points that are `fresh` are measured by replications that the search has not seen; those of a
    front are among them, or there are none. Points that are one run each of the same jobs have
    values job by job, in the order of submission, and intervals of the run `alone`.
    """

    keys: Mapping[str, Sequence[Any]]  # values of what was varied
    samples: Mapping[str, Sequence[Floats]]  # by measure, of each point's replications
    replications: Sequence[NDArray[np.int64]]  # which these are, by point
    objectives: tuple[str, ...]  # measures that the study is about; at least one
    front: Mapping[int, float] = field(default_factory=dict)
    fresh: frozenset[int] = frozenset()
    resampled: bool = False  # whether replications are draws of one log
    maximised: tuple[str, ...] = ()  # measures of which more is better, whatever is usual
    jobs: Mapping[str, Sequence[Floats]] = field(default_factory=dict)  # by measure
    alone: Sequence[Mapping[str, Interval]] = ()  # of each point, by measure
    unaccepted: Sequence[float] = ()  # jobs of each point that never fit: the mean of its runs

    def __len__(self) -> int:
        return len(self.replications)

    @cached_property
    def varying(self) -> dict[str, Sequence[Any]]:
        """Keys that have more than one value, or the first if none has."""
        several = {key: values for key, values in self.keys.items() if len(set(values)) > 1}
        return several or dict(list(self.keys.items())[:1])

    @cached_property
    def names(self) -> list[str]:
        """What to call each point: the values of what was varied."""
        columns = [[in_words(value) for value in values] for values in self.varying.values()]
        if not columns:
            return ["the scenario"] * len(self)
        if self.by_name:
            return columns[0]
        return [
            ", ".join(f"{key} = {text}" for key, text in zip(self.varying, row, strict=True))
            for row in zip(*columns, strict=True)
        ]

    @property
    def by_name(self) -> bool:
        """Whether words alone distinguish points, which need not be said to be values of a key."""
        columns = list(self.varying.values())
        return len(columns) == 1 and all(isinstance(value, str) for value in columns[0])

    @property
    def confirmed(self) -> bool:
        """Whether a front is measured by replications that the search has not seen."""
        return bool(self.fresh)

    @property
    def several(self) -> bool:
        """Whether points were replicated."""
        return any(numbers.size > 1 for numbers in self.replications)

    def lower(self, name: str) -> bool | None:
        """Whether less of a measure is better; None where neither end is."""
        if name in self.maximised:
            return False
        usual = measure(name).lower
        return True if usual is None and self.front and name in self.objectives else usual

    def interval(self, name: str, point: int) -> Interval:
        """Return the mean of a measure at a point, with its interval.

        Over replications if there are several, else as the one run has it.
        """
        from ...study.intervals import Interval
        from ...study.outcome import replicated_interval

        values = self.samples[name][point]
        known = values[np.isfinite(values)]
        if known.size == 0:
            return Interval(np.nan, np.nan, np.nan, LEVEL, 0, "no value")
        interval = replicated_interval(known, self.resampled, level=LEVEL)
        if known.size == 1 and self.alone:
            return self.alone[point].get(name, interval)
        return bounded(measure(name), interval)

    @cached_property
    def intervals(self) -> dict[str, list[Interval]]:
        """All of them, by measure."""
        every = range(len(self))
        return {name: [self.interval(name, i) for i in every] for name in self.samples}

    @property
    def judged(self) -> Sequence[int]:
        """Points among which the best is looked for: those of a front, if a search found one."""
        return sorted(self.front) if self.front else range(len(self))

    def best(self, name: str, *, worst: bool = False) -> int | None:
        """Return the point with the best mean of a measure; None where no end is better."""
        lower = self.lower(name)
        known = [i for i in self.judged if np.isfinite(self.intervals[name][i].estimate)]
        if lower is None or not known:
            return None
        sign = 1.0 if lower != worst else -1.0
        return min(known, key=lambda i: sign * self.intervals[name][i].estimate)

    def tied(self, name: str, best: int) -> list[int]:
        """Return the points whose mean of a measure is that of the best, itself among them."""
        intervals = self.intervals[name]
        return [i for i in self.judged if intervals[i].estimate == intervals[best].estimate]

    @property
    def together(self) -> float:
        """Level of each of the comparisons that one sentence on the best stands for.

        By Bonferroni's inequality all of them hold together with `LEVEL` [law2015]: those of all
        points with one; those of all pairs where both ends are chosen by how they came out, as
        the best and the worst of a front are.
        """
        count = len(self.judged)
        pairs = count * (count - 1) // 2 if self.front else count - 1
        return 1 - (1 - LEVEL) / max(pairs, 1)

    def difference(
        self, name: str, point: int, base: int, *, level: float = LEVEL
    ) -> Interval | None:
        """Return by how much a measure of one point exceeds that of another.

        Replications with the same number had the same jobs: they are compared in pairs. Of single
        runs batches of the same jobs are. None where neither has a spread.
        """
        from ...study.batches import batch_means
        from ...study.paired import paired_difference

        above, below = self._pairs(name, point, base)
        if above.size > 1:
            if self.resampled:
                return _difference_of_draws(above, below, level)
            return paired_difference(above, below, level=level)
        if above.size == 0 or name not in self.jobs:
            return None
        try:
            interval = batch_means(self.jobs[name][point] - self.jobs[name][base], level=level)
        except OptionError:
            return None
        if "correlated" in interval.method:
            return None
        return _moved(interval, float(above[0] - below[0]))

    def change(self, name: str, point: int, base: int, *, level: float = LEVEL) -> Interval | None:
        """Return the relative change of a measure from one point to another, as `difference` does.

        It says how much, not whether: where the baseline may be 0 it has no ends. None where there
        is no change relative to the baseline.
        """
        from ...study.batches import batch_means, split
        from ...study.outcome import replicated_change
        from ...study.paired import relative_change

        above, below = self._pairs(name, point, base)
        if above.size == 0:
            return None
        try:
            change = replicated_change(above, below, self.resampled, level=level)
            if above.size == 1 and name in self.jobs:
                these, those = self.jobs[name][point], self.jobs[name][base]
                batches = batch_means(these - those)
                if "correlated" not in batches.method:
                    parts = (split(values, batches.n).mean(1) for values in (these, those))
                    change = _moved(relative_change(*parts, level=level), change.estimate)
        except OptionError:
            return None
        return bounded_change(measure(name), change)

    def rivals(self, name: str, best: int) -> tuple[list[int], bool]:
        """Return the points that may be as good as the best, and whether all could be compared.

        Then the true best is the one given or one of these, with the level of confidence for all
        comparisons together.
        """
        others = [i for i in self.judged if i != best]
        lower, rivals, known = self.lower(name), [], 0
        for point in others:
            above, below = self._pairs(name, best, point)
            gap = self.difference(name, best, point, level=self.together)
            if gap is None and not (above.size and np.array_equal(above, below)):
                continue
            known += 1
            if gap is None or not (gap.high < 0 if lower else gap.low > 0):
                rivals.append(point)
        return rivals, known == len(others)

    def _pairs(self, name: str, point: int, base: int) -> tuple[Floats, Floats]:
        """Values of both points in replications that they share."""
        _, here, there = np.intersect1d(
            self.replications[point], self.replications[base], return_indices=True
        )
        above, below = self.samples[name][point][here], self.samples[name][base][there]
        known = np.isfinite(above) & np.isfinite(below)
        return above[known], below[known]


def _difference_of_draws(above: Floats, below: Floats, level: float) -> Interval:
    """The difference between points on draws of one log, made as the change of means is.

    Months that are busier than others spread differences, which says nothing of who is better.
    """
    from ...study.intervals import resampled_interval
    from ...study.outcome import replicated_change

    middle = float(below.mean())
    if middle == 0:
        return resampled_interval(above - below, level=level)
    change = replicated_change(above, below, True, level=level)
    low, high = sorted((middle * change.low, middle * change.high))
    return replace(change, estimate=middle * change.estimate, low=low, high=high)


def in_words(value: Any) -> str:
    """Write the value of a key."""
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if not isinstance(value, int | float | np.number):
        return str(value)
    if np.isinf(value):
        return "∞" if value > 0 else "−∞"
    return number(float(value))


def is_numeric(values: Sequence[Any]) -> bool:
    """Whether all values are numbers."""
    return all(isinstance(v, int | float | np.number) and not isinstance(v, bool) for v in values)


def mean_of_run(values: Floats, estimate: float | None = None) -> Interval | None:
    """Return the interval of a mean over jobs in order of submission; None of too few."""
    from ...study.batches import batch_means

    return _batched(values, batch_means, estimate)


def quantile_of_run(values: Floats, q: float, estimate: float | None = None) -> Interval | None:
    """Return the interval of a quantile over the jobs of one run, as `mean_of_run` does."""
    from ...study.batches import batch_quantile

    return _batched(values, lambda known: batch_quantile(known, q), estimate)


def mean_over_time(path: Path | None, estimate: float) -> Interval | None:
    """Return the interval of the mean of a path, in any unit, from windows of equal length."""
    from ...study.batches import batch_means

    if path is None:
        return None
    edges = np.linspace(float(path.time[0]), float(path.time[-1]), _WINDOWS + 1)
    if not edges[-1] > edges[0]:
        return None
    windows = bin_path(path, edges).mean
    mean = float(windows.mean())
    if not mean > 0:
        return None
    return _batched(windows * (estimate / mean), batch_means, estimate)


def _batched(
    values: Floats, batches: Callable[[Floats], Interval], estimate: float | None
) -> Interval | None:
    if values.size == 0 or not np.isfinite(values).all() or np.ptp(values) == 0:
        return None
    try:
        interval = batches(values)
    except OptionError:
        return None
    return _moved(interval, interval.estimate if estimate is None else estimate)


def _moved(interval: Interval, estimate: float) -> Interval:
    """An interval around the mean of all jobs, of which batches of equal length leave some out."""
    by = estimate - interval.estimate
    return replace(interval, estimate=estimate, low=interval.low + by, high=interval.high + by)
