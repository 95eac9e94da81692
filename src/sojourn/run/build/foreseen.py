"""How many idle nodes stay on when, where a sleep policy looks it up before the run begins."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...arrays import Floats
from ...cluster import Cluster
from ...errors import OptionError
from ...jobs import Jobs
from ...measures.cost import Carbon, Clock, Prices, Tariff, parse_carbon, parse_price
from ...policy import SleepPolicy
from .deferring import series_of

if TYPE_CHECKING:
    from ..options import Options


_HOUR, _DAY, _WEEK = 3600.0, 24, 168
_LONGEST = 20 * 365 * 86400.0
"""s after the last submit to which a price that repeats is looked up; then the last one holds."""


def with_foreseen(
    sleep: SleepPolicy, jobs: Jobs, cluster: Cluster, options: Options
) -> SleepPolicy:
    """Return a policy that knows how many nodes stay on when.

    Parameters
    ----------
    sleep : as given; one that looks nothing up is returned as it is.
    jobs : of the run.
    cluster, options : of the run, which have its nodes, prices and intensities.
    """
    if not sleep.foreseen:
        return sleep
    if len(jobs) == 0:
        return sleep.with_steps(np.zeros(1), np.zeros(1), of_demand=False)
    if sleep.foreseen == "demand":
        hour, procs = demand_by_hour(jobs)
        foreseen = forecast(procs, sleep.level) * len(cluster.nodes) / cluster.procs
        # Rounding must not ask for a node more.
        nodes = np.ceil(np.round(foreseen, 9))
        return sleep.with_steps(_HOUR * hour, nodes, of_demand=True)
    first, last = float(jobs.submit.min()), float(jobs.submit.max())
    clock = Clock.of(jobs.header, options.starts)
    most = last + min(float(jobs.work.sum()), _LONGEST)
    steps = series_of(_known(sleep, clock, options), clock, first, most)
    number = np.where(steps.value <= sleep.level, sleep.theta[0], 0.0)
    changes = np.concatenate([[True], number[1:] != number[:-1]])
    return sleep.with_steps(steps.time[changes], number[changes], of_demand=False)


def _known(sleep: SleepPolicy, clock: Clock, options: Options) -> Carbon | Tariff | Prices:
    """The price or intensity that a policy goes by."""
    given = getattr(options, sleep.foreseen)
    if given is None:
        raise OptionError(
            f"sleep '{sleep}': nodes sleep by which {sleep.foreseen}? give power.{sleep.foreseen}",
            key="policy.sleep",
        )
    repeats = options.series == "repeat"
    if sleep.foreseen == "carbon":
        return parse_carbon(given, clock, repeats=repeats)
    return parse_price(given, clock, repeats=repeats)


def demand_by_hour(jobs: Jobs) -> tuple[Floats, Floats]:
    """Hours that the log touches, counted from second 0, and the mean processors in use in each.

    Jobs begin when the log says so, or where it does not when they were submitted.

    Parameters
    ----------
    jobs : the log.

    Examples
    --------
    >>> import sojourn
    >>> log = sojourn.Jobs({"submit": [0.0, 5400.0], "runtime": [3600.0, 1800.0], "procs": [4, 8]})
    >>> hour, procs = demand_by_hour(log)
    >>> hour.tolist(), procs.tolist()
    ([0.0, 1.0], [4.0, 4.0])
    """
    start = jobs.submit + np.maximum(jobs.wait, 0.0)
    end = start + np.maximum(jobs.runtime, 0.0)
    first = int(np.floor(start.min() / _HOUR))
    edges = _HOUR * np.arange(first, int(np.ceil(end.max() / _HOUR)) + 1)
    if len(edges) < 2:
        edges = _HOUR * np.arange(first, first + 2)
    # Processor seconds up to each edge: those of jobs that have begun, less what is still to come.
    used = np.zeros(len(edges))
    for times, sign in ((start, 1.0), (end, -1.0)):
        order = np.argsort(times)
        time, procs = times[order], jobs.procs[order].astype(float)
        before = np.searchsorted(time, edges, side="right")
        sums = np.concatenate([[0.0], np.cumsum(procs)])[before]
        moments = np.concatenate([[0.0], np.cumsum(procs * time)])[before]
        used += sign * (sums * edges - moments)
    return np.asarray(edges[:-1] / _HOUR), np.asarray(np.diff(used) / _HOUR)


def forecast(demand: Floats, quantile: float) -> Floats:
    """What is foreseen for each hour, from those before it alone.

    The quantile, one of the values, of the same hour in past weeks; in the first week of past
    days, on the first day of the hour before, and in the first hour 0.

    Parameters
    ----------
    demand : of hours that follow each other.
    quantile : from 0 to 1.

    Examples
    --------
    >>> forecast(np.array([3.0, 5.0, 4.0]), 1.0).tolist()
    [0.0, 3.0, 5.0]
    """
    foreseen = np.zeros(len(demand))
    for hour in range(1, len(demand)):
        past = demand[hour % _WEEK : hour : _WEEK]
        if hour < _WEEK:
            past = demand[hour % _DAY : hour : _DAY]
        if hour < _DAY:
            past = demand[hour - 1 : hour]
        foreseen[hour] = np.quantile(past, quantile, method="higher")
    return foreseen
