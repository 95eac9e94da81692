"""The stream of arrivals: its rate, its days and weeks, its trend, and whether it is Poisson."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...arrays import Floats
from ...errors import OptionError
from .goodness import Statistic, dispersion_test, exponential_test

_HOUR, _DAY, _WEEK = 3600.0, 86_400.0, 604_800.0
MONTH = 30 * _DAY
_YEAR = 365.25 * _DAY
_THURSDAY = 3  # 1 January 1970, counted from Monday
_LONGEST = 300 * _YEAR  # no cycle is looked for in what goes on for longer
_FEWEST = 10  # windows, for a dispersion to mean anything


@dataclass(frozen=True)
class Arrivals:
    """What the submits of a log show.

    Parameters
    ----------
    count, span : arrivals, and the time from the first to the last (s).
    rate, rate_se : arrivals per second, and the standard error for a Poisson process.
    rate_robust_se : standard error (1/s) with the variance of the counts per day,
        or of shorter windows where the log has fewer than ten days.
    daily : rate in each hour of the day over the mean rate; nan where the log never looked.
    weekly : rate on each day of the week, from Monday, over the mean rate; all nan without one.
    clock : whose hours those are.
    trend, trend_se : growth of the logarithm of the rate (1/s), and its standard error for a
        Poisson process.
    trend_robust_se : standard error (1/s) with the variance of the counts per day.
    together : share of arrivals at the same instant as the one before.
    scv : squared coefficient of variation of interarrivals, 1 for a Poisson process.
    tests : by name.
    """

    count: int
    span: float
    rate: float
    rate_se: float
    rate_robust_se: float
    daily: Floats
    weekly: Floats
    clock: str
    trend: float
    trend_se: float
    trend_robust_se: float
    together: float
    scv: float
    tests: dict[str, Statistic]

    def growth(self, seconds: float = _YEAR) -> float:
        """Return the relative growth of the rate in so many seconds: 0.1 is 10 % more."""
        with np.errstate(over="ignore"):
            return float(np.expm1(self.trend * seconds))

    def as_dict(self) -> dict[str, Any]:
        """Return plain numbers."""
        return {
            "count": self.count,
            "span": self.span,
            "rate": self.rate,
            "rate_se": self.rate_se,
            "rate_robust_se": self.rate_robust_se,
            "daily": self.daily.tolist(),
            "weekly": self.weekly.tolist(),
            "clock": self.clock,
            "trend": self.trend,
            "trend_se": self.trend_se,
            "trend_robust_se": self.trend_robust_se,
            "growth_per_month": self.growth(MONTH),
            "growth_per_year": self.growth(),
            "together": self.together,
            "scv": self.scv,
        }


def fit_arrivals(
    submit: ArrayLike, *, offset: float | None = None, clock: str = "", seed: int = 0
) -> Arrivals:
    """Estimate the rate of arrivals, its cycles and its trend, and test for a Poisson process.

    Parameters
    ----------
    submit : instants (s), in any order.
    offset : what to add to them for local time since 1970 (s); None if nobody knows: then hours
        are counted from second 0 and days of the week are not known.
    clock : name of that clock.
    seed : of the tests' bootstrap.

    Notes
    -----
    The trend is that of a Poisson process whose rate is log-linear in time: given their number,
    arrivals are then independent with a density proportional to e**(b t) over the span. A factor
    of the cycle is arrivals over the time that the log looked at this hour or day. Tests called
    ``rescaled`` run in a clock that ticks with cycles and trend, in which a Poisson process of
    that rate would be a stationary one.
    """
    at = np.sort(np.asarray(submit, dtype=np.float64))
    if at.size < 2 or not at[-1] > at[0]:
        raise OptionError("arrivals: give at least two instants, not all the same")
    span = float(at[-1] - at[0])
    rate = (at.size - 1) / span
    local = at + (offset or 0.0)
    daily = _cycle(local, _HOUR, 24)
    weekly = _cycle(local + _THURSDAY * _DAY, _DAY, 7) if offset is not None else np.full(7, np.nan)
    trend, trend_se = _trend((at - at[0]) / span)
    gaps = np.diff(at)
    warped = _rescaled(local, daily, weekly, trend / span)
    tests = _tests("interarrivals", "dispersion", at, seed)
    tests |= _tests("rescaled_interarrivals", "rescaled_dispersion", warped, seed)
    windows = [
        f"dispersion{window}" for window in ("_day", "_hour", "") if f"dispersion{window}" in tests
    ]
    index = tests[windows[0]].value if windows else 1.0
    inflation = float(np.sqrt(max(index, 1.0)))
    rate_se = rate / np.sqrt(at.size - 1)
    return Arrivals(
        count=int(at.size),
        span=span,
        rate=rate,
        rate_se=float(rate_se),
        rate_robust_se=float(rate_se) * inflation,
        daily=daily,
        weekly=weekly,
        clock=clock or "from second 0 of the log",
        trend=trend / span,
        trend_se=trend_se / span,
        trend_robust_se=trend_se / span * inflation,
        together=float(np.mean(gaps == 0)),
        scv=float(gaps.var() / gaps.mean() ** 2),
        tests=tests,
    )


def _tests(gaps: str, counts: str, at: Floats, seed: int) -> dict[str, Statistic]:
    if at.size < 3:
        return {}
    ks, ad = exponential_test(np.diff(at), seed=seed)
    results = {f"{gaps}_ks": ks, f"{gaps}_ad": ad}
    span = at[-1] - at[0]
    for name, window in (("hour", _HOUR), ("day", _DAY)):
        if _FEWEST * window <= span <= _LONGEST:
            results[f"{counts}_{name}"] = dispersion_test(at, window)
    if len(results) == 2 and at.size >= 5 * _FEWEST:
        results[counts] = dispersion_test(at, span / _FEWEST)
    return results


def _cycle(local: Floats, part: float, parts: int) -> Floats:
    """Return the rate in each part of a cycle over the mean of all parts."""
    place = (local // part).astype(np.int64) % parts
    counts = np.bincount(place, minlength=parts)
    # How long the log looked at each part: whole ones between the ends, and the pieces there.
    first, last = int(local[0] // part), int(local[-1] // part)
    rounds, rest = divmod(last + 1 - first, parts)
    looked = np.full(parts, rounds * part)
    looked[np.arange(first, first + rest) % parts] += part
    looked[first % parts] -= local[0] - first * part
    looked[last % parts] -= (last + 1) * part - local[-1]
    rate = np.full(parts, np.nan)
    np.divide(counts, looked, out=rate, where=looked > 0.5 * part)
    mean = np.nanmean(rate) if not np.isnan(rate).all() else np.nan
    return rate / mean if mean > 0 else np.ones(parts)


def _trend(u: Floats) -> tuple[float, float]:
    """Estimate b of the density b e**(b u) / (e**b - 1) on [0, 1], and its standard error."""
    from scipy.optimize import brentq

    centre = float(u[1:-1].mean()) if u.size > 2 else 0.5

    def mean(b: float) -> float:
        return 0.5 + b / 12 if abs(b) < 1e-4 else 1 / -np.expm1(-b) - 1 / b

    b = float(brentq(lambda b: mean(b) - centre, -700.0, 700.0)) if 0.002 < centre < 0.998 else 0.0
    spread = 1 / 12 if abs(b) < 1e-2 else 1 / b**2 - 1 / (4 * np.sinh(b / 2) ** 2)
    return b, float(1 / np.sqrt(max(u.size - 2, 1) * spread))


def _rescaled(local: Floats, daily: Floats, weekly: Floats, trend: float) -> Floats:
    """Return instants in a clock that runs with the cycles and the trend, of the same span."""
    if local[-1] - local[0] > _LONGEST:
        return local
    first, last = int(local[0] // _HOUR), int(local[-1] // _HOUR) + 1
    hours = np.arange(first, last)
    day = (hours // 24 + _THURSDAY) % 7
    speed = np.nan_to_num(daily, nan=1.0)[hours % 24] * np.nan_to_num(weekly, nan=1.0)[day]
    speed = speed * np.exp(np.clip(trend * (hours - first) * _HOUR, -700, 700))
    ticks = np.append(0.0, np.cumsum(speed))
    warped = np.interp(local, np.arange(first, last + 1) * _HOUR, ticks)
    warped -= warped[0]
    return np.asarray(warped * ((local[-1] - local[0]) / warped[-1]))
