"""Until when a job is held for cheap or clean electricity, from a series that is known ahead.

Three ways, each a small function of the instant at which a job comes, the length that is planned
for it, and the latest instant at which it is to start: `lowest_window`, `first_below` and
`cheapest_pieces`. All are told by the series alone, so that what they say is known when a job
comes. What it means is on the page `docs/background/deferring`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Floats, Ints
from ..errors import OptionError

DEFERRALS = ("window", "threshold", "pieces")
"""The ways in which jobs are held."""

DAY = 86400.0
_ROUNDING = 64 * np.finfo(np.float64).eps
_CELLS = 1 << 20
"""Candidates that are looked at together."""


@dataclass(frozen=True)
class Deferral:
    """How jobs are held back.

    Parameters
    ----------
    kind : ``window``, ``threshold`` or ``pieces``.
    slack : how much later than it comes a job is to start at the latest (s), where the job does not
        say it itself; None: only jobs that say it are held.
    at : of a threshold: a price or an intensity; or with `is_quantile` the share of the next day
        that is as good or better.
    restart : how long it takes to go on after a pause (s); of pieces.
    """

    kind: str
    slack: float | None = None
    at: float = np.nan
    is_quantile: bool = False
    restart: float = 0.0

    def __post_init__(self) -> None:
        if self.kind not in DEFERRALS:
            raise OptionError(f"defer '{self.kind}': choose from {', '.join(DEFERRALS)}")
        for name in ("slack", "restart"):
            value = getattr(self, name)
            if value is not None and not 0 <= value < np.inf:
                raise OptionError(
                    f"defer.{name} {value:g} s: give a time of at least 0", key=f"defer.{name}"
                )
        if self.kind == "threshold" and not np.isfinite(self.at):
            raise OptionError(
                "defer.at: a threshold needs a price or an intensity, or a quantile such as p30",
                key="defer.at",
            )

    def __str__(self) -> str:
        slack = "the jobs' slack" if self.slack is None else f"{self.slack:g} s"
        if self.kind == "threshold":
            at = f"p{100 * self.at:g}" if self.is_quantile else f"{self.at:g}"
            return f"threshold {at}, {slack}"
        restart = f", restart {self.restart:g} s" if self.restart else ""
        return f"{self.kind}, {slack}{restart}"


class Series(NamedTuple):
    """A price or an intensity over the stretch of the log that jobs may be held in.

    Parameters
    ----------
    time, value : from each on (s).
    end : where it ends (s).
    """

    time: Floats
    value: Floats
    end: float

    @property
    def reached(self) -> Floats:
        """The integral of the value, less its mean, from the first time to each.

        Without the mean sums stay small, and sums over equally long windows differ as before.
        """
        last = np.append(self.time[1:], self.end)
        centred = (self.value - self.mean) * (last - self.time)
        return np.concatenate([[0.0], np.cumsum(centred[:-1])])

    @property
    def mean(self) -> float:
        """The mean over the stretch; that of the values where it has no end."""
        if not np.isfinite(self.end) or self.end <= self.time[0]:
            return float(self.value.mean())
        lasted = np.diff(np.append(self.time, self.end))
        return float((self.value * lasted).sum() / lasted.sum())

    def place(self, at: Floats) -> Ints:
        """Return which value holds at some instants (s)."""
        return np.maximum(np.searchsorted(self.time, at, side="right") - 1, 0)


def _chunks(width: Ints) -> Iterator[slice]:
    """Yield parts of the jobs of which all candidates fit into memory; `width` of each."""
    first = 0
    while first < len(width):
        last, most = first + 1, int(width[first])
        while last < len(width):
            most = max(most, int(width[last]))
            if most * (last + 1 - first) > _CELLS:
                break
            last += 1
        yield slice(first, last)
        first = last


def _between(series: Series, low: Floats, high: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """Return the steps of the series in (low, high] of each job, a row each; which are there."""
    first = np.searchsorted(series.time, low, side="right")
    last = np.searchsorted(series.time, high, side="right")
    place = first[:, None] + np.arange(max(int((last - first).max(initial=0)), 1))
    there = place < last[:, None]
    return series.time[np.minimum(place, len(series.time) - 1)], there


def lowest_window(arrival: Floats, plan: Floats, latest: Floats, series: Series) -> Floats:
    """Return the start of each job's window with the least sum of the series; the first of equals.

    Parameters
    ----------
    arrival, latest : first and last instant at which it may start (s).
    plan : how long its window is (s).
    series : that covers all windows.

    Examples
    --------
    >>> import numpy as np
    >>> series = Series(np.arange(5) * 3600.0, np.array([3.0, 1, 5, 1, 4]), 18000.0)
    >>> lowest_window(np.array([0.0]), np.array([5400.0]), np.array([7200.0]), series)
    array([1800.])
    """
    reached, value = series.reached, series.value - series.mean

    def integral(at: Floats) -> Floats:
        place = series.place(at)
        return reached[place] + (at - series.time[place]) * value[place]

    begin = arrival.copy()
    counts = np.searchsorted(series.time, latest + plan, side="right")
    counts -= np.searchsorted(series.time, arrival, side="right")
    # A sum over windows is linear between steps at either end: the least is at one of these.
    for part in _chunks(2 * counts + 2):
        low, high, long = arrival[part], latest[part], plan[part]
        starts, starting = _between(series, low, high)
        ends, ending = _between(series, low + long, high + long)
        tried = np.concatenate([low[:, None], starts, ends - long[:, None], high[:, None]], axis=1)
        edge = np.ones((len(low), 1), dtype=np.bool_)
        allowed = np.concatenate([edge, starting, ending, edge], axis=1)
        allowed &= (tried >= low[:, None]) & (tried <= high[:, None])
        until = integral(tried + long[:, None])
        spent = np.where(allowed, until - integral(tried), np.inf)
        scale = np.abs(reached).max() + np.abs(value).max() * long
        least = spent.min(axis=1) + _ROUNDING * scale
        begin[part] = np.where(spent <= least[:, None], tried, np.inf).min(axis=1)
    return begin


def next_day_quantiles(arrival: Floats, series: Series, share: float) -> Floats:
    """Return, for each job, the least value that holds for a share of the day that it comes in."""
    until = np.minimum(arrival + DAY, series.end)
    least = np.empty(len(arrival))
    first = series.place(arrival)
    counts = np.searchsorted(series.time, until, side="left") - first
    for part in _chunks(counts):
        place = first[part, None] + np.arange(max(int(counts[part].max(initial=0)), 1))
        there = place < (first + counts)[part, None]
        place = np.minimum(place, len(series.time) - 1)
        begins = np.maximum(series.time[place], arrival[part, None])
        ends = np.append(series.time[1:], series.end)[place]
        lasts = np.where(there, np.minimum(ends, until[part, None]) - begins, 0.0)
        value = np.where(there, series.value[place], np.inf)
        order = np.argsort(value, axis=1, kind="stable")
        total = np.cumsum(np.take_along_axis(lasts, order, axis=1), axis=1)
        wanted = share * total[:, -1:] * (1 - _ROUNDING)
        at = np.argmax(total >= wanted, axis=1)
        least[part] = np.take_along_axis(
            value, np.take_along_axis(order, at[:, None], axis=1), axis=1
        )[:, 0]
    return least


def first_below(
    arrival: Floats, latest: Floats, series: Series, at: float, *, is_quantile: bool = False
) -> Floats:
    """Return the first instant at which the series is at or below a threshold; else the latest.

    Parameters
    ----------
    arrival, latest : first and last instant at which each job may start (s).
    series : that covers them.
    at : the threshold, or with `is_quantile` the share of the day from `arrival` on for which the
        series is at or below it.

    Examples
    --------
    >>> import numpy as np
    >>> series = Series(np.arange(5) * 3600.0, np.array([3.0, 1, 5, 1, 4]), 18000.0)
    >>> first_below(np.array([60.0, 7200.0]), np.array([9000.0, 9000.0]), series, 2.0)
    array([3600., 9000.])
    """
    limit = np.full(len(arrival), at)
    if is_quantile:
        limit = next_day_quantiles(arrival, series, at)
    begin = arrival.copy()
    counts = np.searchsorted(series.time, latest, side="right")
    counts -= np.searchsorted(series.time, arrival, side="right")
    now = series.value[series.place(arrival)] <= limit
    for part in _chunks(counts + 1):
        steps, there = _between(series, arrival[part], latest[part])
        good = there & (series.value[series.place(steps)] <= limit[part, None])
        first = np.where(good, steps, np.inf).min(axis=1)
        begin[part] = np.where(now[part], arrival[part], np.minimum(first, latest[part]))
    return begin


def cheapest_pieces(
    arrival: float, plan: float, until: float, series: Series
) -> tuple[Floats, Floats]:
    """Return when the pieces of a job begin, and how long they are (s): its least sum.

    It takes the steps with the least values between two instants, of equal ones the first. Of the
    last one that it takes it needs a part: the end, if only the step after it is taken, else the
    beginning. Steps that touch are one piece.

    Parameters
    ----------
    arrival, until : between which it runs (s).
    plan : how long (s).
    series : that covers both.

    Examples
    --------
    >>> import numpy as np
    >>> series = Series(np.arange(5) * 3600.0, np.array([3.0, 1, 5, 1, 4]), 18000.0)
    >>> cheapest_pieces(0.0, 9000.0, 18000.0, series)
    (array([ 1800., 10800.]), array([5400., 3600.]))
    """
    if until - arrival <= plan:
        return np.array([arrival]), np.array([plan])
    first = int(series.place(np.array([arrival]))[0])
    last = max(int(np.searchsorted(series.time, until, side="left")), first + 1)
    begins = np.maximum(series.time[first:last], arrival)
    ends = np.append(series.time[1:], series.end)[first:last]
    ends = np.minimum(ends, until)
    lasts = ends - begins
    order = np.argsort(series.value[first:last], kind="stable")
    total = np.cumsum(lasts[order])
    count = int(np.searchsorted(total, plan * (1 - _ROUNDING))) + 1
    taken = np.sort(order[:count])
    marginal = int(order[count - 1])
    over = float(total[count - 1]) - plan
    begins, ends = begins.copy(), ends.copy()
    if over > 0:
        rest = set(taken.tolist())
        if marginal + 1 in rest and marginal - 1 not in rest:
            begins[marginal] += over
        else:
            ends[marginal] -= over
    begins, ends = begins[taken], ends[taken]
    apart = begins[1:] > ends[:-1]
    begins, ends = begins[np.append(True, apart)], ends[np.append(apart, True)]
    return begins, ends - begins
