"""From how jobs are held to when each comes to the scheduler."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...arrays import Floats
from ...errors import OptionError
from ...jobs import Jobs
from ...jobs.arrivals import arrivals_of
from ...jobs.deferrable import chosen_jobs, latest_starts
from ...measures.cost import (
    Carbon,
    Clock,
    Prices,
    Tariff,
    known_span,
    number,
    parse_carbon,
    parse_price,
    steps_over,
)
from ...policy import Deferral
from ...policy.deferral import DAY, Series, first_below, lowest_window

if TYPE_CHECKING:
    from ..options import Options


@dataclass(frozen=True)
class Deferred:
    """What holding does to the jobs of a run.

    Parameters
    ----------
    held : which may be held back.
    came : when each would have come to the scheduler (s).
    latest : when each that may be held is to start at the latest (s); nan for all others.
    until : when each that runs in pieces is to end (s); None where jobs run as a whole.
    """

    held: NDArray[np.bool_]
    came: Floats
    latest: Floats
    until: Floats | None = None

    def at(self, rows: NDArray[np.int64]) -> Deferred:
        """Return the same of jobs in another order."""
        until = None if self.until is None else self.until[rows]
        return Deferred(self.held[rows], self.came[rows], self.latest[rows], until)


def series_name(by: str | None, carbon: Any, price: Any) -> str:
    """Return what jobs are held for where nobody says it: carbon if that is a series, else price.

    Parameters
    ----------
    by : where somebody says it.
    carbon, price : as given; None where they are not.
    """
    if by is not None:
        return by
    is_series = carbon is not None and number(carbon) is None
    return "carbon" if is_series or (carbon is not None and price is None) else "price"


def held_for(options: Options, clock: Clock) -> tuple[str, Carbon | Tariff | Prices]:
    """Return what jobs are held for: its name, and the intensity or the price.

    Raises
    ------
    OptionError
        Where there is none, or one that never changes.
    """
    by = series_name(options.defer_by, options.carbon, options.price)
    given = options.carbon if by == "carbon" else options.price
    repeats = options.series == "repeat"
    if given is None:
        raise OptionError(
            f"defer: jobs are held for what? give power.{by}, a series"
            + ("" if options.defer_by else " of prices, or power.carbon, one of intensities"),
            key="defer.kind",
        )
    what: Carbon | Tariff | Prices
    if by == "carbon":
        what = parse_carbon(given, clock, repeats=repeats)
        values = what.grams
    else:
        what = parse_price(given, clock, repeats=repeats)
        values = np.array(what.prices) if isinstance(what, Tariff) else what.price
    if len(values) == 1:
        raise OptionError(
            f"defer: power.{by} is {values[0]:g} at all times, and nothing is gained by waiting; "
            "give a series",
            key="defer.kind",
        )
    return by, what


def series_of(what: Carbon | Tariff | Prices, clock: Clock, first: float, last: float) -> Series:
    """Return the steps of a price or an intensity from one instant to another, or to its end."""
    begin, end = known_span(what)
    low, high = max(first, begin), min(last, end)
    time, value = steps_over(what, clock, low, max(low, high))
    return Series(time, value, max(low, high))


def planned_lengths(jobs: Jobs, options: Options) -> Floats:
    """Return how long each job is planned to run (s): its estimate, or as the options say."""
    if options.factor is not None:
        return np.asarray(jobs.work * options.factor)
    return np.where(jobs.estimate > 0, jobs.estimate, jobs.work)


def held_jobs(jobs: Jobs, options: Options) -> tuple[Deferred, Series, Floats]:
    """Return which jobs may be held, the series they are held for, and their planned lengths (s).

    Parameters
    ----------
    jobs : cleaned, by submit.
    options : of the run.

    Raises
    ------
    OptionError
        For a job that would run beyond the end of the series, and for what is missing.
    """
    deferral: Deferral = options.defer
    clock = Clock.of(jobs.header, options.starts)
    by, what = held_for(options, clock)
    plan, came = planned_lengths(jobs, options), arrivals_of(jobs)
    latest = latest_starts(jobs, plan, deferral.slack)
    held = chosen_jobs(jobs, options.defer_jobs, options.seed) & ~np.isnan(latest)
    if deferral.slack is None and not held.any():
        raise OptionError(
            "no job says how long it may be held; give a slack as in window:24h, or a log with "
            "columns slack or deadline",
            key="defer.slack",
        )
    latest = np.where(held, latest, np.nan)
    begin, end = known_span(what)
    out = held & ((came < begin) | (came + plan > end))
    if out.any():
        at = int(np.argmax(out))
        comes = clock.shown(float(came[at]))
        raise OptionError(
            f"job {int(jobs.job[at])} comes at {comes} and may last {plan[at]:g} s, but "
            f"power.{by} is known from {clock.shown(begin)} to {clock.shown(end)}; let it "
            "repeat, or give a longer one",
            key="power.series",
        )
    if not held.any():
        return Deferred(held, came, latest), Series(np.zeros(1), np.zeros(1), 0.0), plan
    # A job that is held must be able to end within the series.
    latest = np.fmin(latest, end - plan) if np.isfinite(end) else latest
    last = float(np.nanmax(latest + plan + (DAY if deferral.is_quantile else 0.0)))
    series = series_of(what, clock, float(came[held].min()), last)
    return Deferred(held, came, latest), series, plan


def defer(jobs: Jobs, options: Options) -> tuple[Jobs, Deferred]:
    """Return jobs that come to the scheduler when the electricity suits them.

    Parameters
    ----------
    jobs : cleaned, by submit.
    options : of the run, which say how.
    """
    deferral: Deferral = options.defer
    if deferral.kind == "pieces":
        raise OptionError(
            "defer: a run in pieces cannot be stepped nor scheduled by Slurm; choose window or "
            "threshold",
            key="defer.kind",
        )
    made, series, plan = held_jobs(jobs, options)
    begin = made.came.copy()
    mine = made.held
    if mine.any():
        came, latest = made.came[mine], made.latest[mine]
        if deferral.kind == "window":
            begin[mine] = lowest_window(came, plan[mine], latest, series)
        else:
            at, quantile = deferral.at, deferral.is_quantile
            begin[mine] = first_below(came, latest, series, at, is_quantile=quantile)
    return jobs.replace(begin=begin), made
