"""What in a log speaks against the model that was fitted to it, in words."""

from __future__ import annotations

from .arrivals import MONTH, Arrivals
from .goodness import Statistic
from .risks import Rates

_LEVEL = 0.01
_FEW = 10
_CENSORED = 0.1
_WEAK = 0.05  # a correlation that only large samples can see


def doubts(
    tests: dict[str, Statistic],
    arrivals: Arrivals,
    rates: Rates,
    scv: float,
    limits_from: str,
) -> list[str]:
    """Return one line for each assumption that the data contradict at the level of 1 %."""
    return [
        *_of_arrivals(tests, arrivals),
        *_of_durations(tests, scv),
        *_of_counts(rates),
        *_of_requests(tests, limits_from),
    ]


def _rejected(tests: dict[str, Statistic], *names: str) -> bool:
    return any(tests[name].p_value < _LEVEL for name in names if name in tests)


def _chance(tests: dict[str, Statistic], *names: str) -> str:
    least = min(tests[name].p_value for name in names if name in tests)
    return f"p <= {max(least, 0.001):.3g}"


def _of_arrivals(tests: dict[str, Statistic], arrivals: Arrivals) -> list[str]:
    doubts = []
    windows = ("dispersion", "dispersion_hour", "dispersion_day")
    plain = ("interarrivals_ks", "interarrivals_ad", *windows)
    if _rejected(tests, *plain):
        index = ""
        for unit in ("hour", "day"):
            if f"dispersion_{unit}" in tests:
                ratio = tests[f"dispersion_{unit}"].value
                index = f", variance of counts per {unit} {ratio:.3g} times the mean"
        doubts.append(
            f"arrivals are not Poisson ({_chance(tests, *plain)}): squared coefficient of "
            f"variation of interarrivals {arrivals.scv:.3g}{index}"
        )
        warped = [f"rescaled_{name}" for name in plain]
        if _rejected(tests, *warped):
            doubts.append(
                "cycles and trend do not explain it: arrivals are not Poisson in a clock that "
                f"runs with them either ({_chance(tests, *warped)})"
            )
        else:
            doubts.append("cycles and trend explain it: in a clock that runs with them it is one")
    if arrivals.trend_robust_se > 0 and abs(arrivals.trend) > 2.576 * arrivals.trend_robust_se:
        growth = f"{100 * arrivals.growth(MONTH):+.1f} % in 30 days"
        if arrivals.span < MONTH:
            growth = f"times {1 + arrivals.growth(arrivals.span):.3g} over the log"
        doubts.append(f"the arrival rate is not constant: {growth}")
    return doubts


def _of_durations(tests: dict[str, Statistic], scv: float) -> list[str]:
    doubts = []
    names = ("durations_ks", "durations_ad")
    if _rejected(tests, *names):
        doubts.append(
            f"durations are not exponential ({_chance(tests, *names)}): squared coefficient of "
            f"variation {scv:.3g}, distance of distributions {tests[names[0]].value:.3g}; the "
            "rates give the right means, not the right shares beyond a limit"
        )
    if _rejected(tests, "cause_duration"):
        share = tests["cause_duration"].value
        longer = "longer" if share > 0.5 else "shorter"
        doubts.append(
            f"removed jobs last {longer} than served ones ({100 * share:.0f} % of pairs have the "
            "removed one last longer, 50 % expected): the limit is no exponential clock"
        )
    if _rejected(tests, "width_duration") and abs(tests["width_duration"].value) > _WEAK:
        doubts.append(
            "width and duration depend on each other as the model does not let them (rank "
            f"correlation {tests['width_duration'].value:+.2f})"
        )
    return doubts


def _of_counts(rates: Rates) -> list[str]:
    doubts = []
    for count, what in ((rates.served, "served"), (rates.removed, "removed")):
        if count == 0:
            doubts.append(f"no job was {what}: that rate is 0 as far as the log goes")
        elif count < _FEW:
            doubts.append(f"only {count} jobs were {what}: that rate is hardly known")
    everybody = rates.served + rates.removed + rates.censored
    if rates.censored > _CENSORED * everybody:
        doubts.append(
            f"{100 * rates.censored / everybody:.0f} % of the jobs are censored: the estimates "
            "lean on censoring that has nothing to do with the duration"
        )
    return doubts


def _of_requests(tests: dict[str, Statistic], limits_from: str) -> list[str]:
    names = ("requested_ks", "requested_ad")
    if limits_from != "estimates" or not _rejected(tests, *names):
        return []
    return [f"requested limits are not exponential ({_chance(tests, *names)})"]
