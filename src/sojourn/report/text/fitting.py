"""Models fitted to a log: their parameters, tests of them, and what time limits cost."""

from __future__ import annotations

import math
from typing import Any

from .facts import show_report
from .layout import HOUR, Terminal, as_number, as_seconds, new_table

_TESTS = {
    "interarrivals": "interarrivals exponential",
    "rescaled_interarrivals": "interarrivals, cycles and trend removed",
    "dispersion": "counts, variance over mean",
    "dispersion_hour": "counts per hour, variance over mean",
    "dispersion_day": "counts per day, variance over mean",
    "rescaled_dispersion": "counts, cycles and trend removed",
    "rescaled_dispersion_hour": "counts per hour, cycles and trend removed",
    "rescaled_dispersion_day": "counts per day, cycles and trend removed",
    "durations": "durations as the model has them",
    "requested": "requested limits exponential",
    "cause_duration": "a removed job outlasts a served one",
    "width_duration": "rank correlation of width and duration",
}
_STATISTICS = {"ks": "Kolmogorov-Smirnov", "ad": "Anderson-Darling"}
_READINGS = {
    "job": "one limit, one service",
    "each": "a limit and a service per processor",
    "shared": "one limit, a service per processor",
}


def show_fit(numbers: dict[str, Any]) -> None:
    """Print the parameters of a model, and where the log contradicts it."""
    show_report(numbers["cleaning"])
    console = Terminal()
    console.facts(_parameters(numbers))
    console.print()
    table = new_table("test", "statistic", "value", "p", "of")
    for name, test in numbers["tests"].items():
        what, _, kind = name.rpartition("_")
        known = kind in _STATISTICS
        table.add_row(
            _TESTS[what if known else name],
            _STATISTICS.get(kind, ""),
            as_number(test["value"]),
            "< 0.001" if test["p_value"] < 0.001 else f"{test['p_value']:.3f}",
            f"{test['size']:,}",
        )
    console.print(table)
    notes = (
        "+-: one standard error; p: how often a log that follows the model would be as far from it "
        "(small: it does not follow); of: how many values were tested"
    )
    console.note(notes)
    _show_warnings(console, numbers["warnings"])
    if not numbers["warnings"]:
        console.print("\nnothing in the log speaks against the model", style="green")


def _show_warnings(console: Terminal, warnings: list[str]) -> None:
    """Print where a log contradicts the model."""
    if warnings:
        console.print()
    for line in warnings:
        console.warn(f"! {line}")


def _parameters(numbers: dict[str, Any]) -> list[tuple[str, str]]:
    error, arrivals, width = numbers["standard_errors"], numbers["arrivals"], numbers["width"]
    what = "a job" if numbers["reading"] == "job" else "a sub-request"
    basis = "requested times" if numbers["limits_from"] == "estimates" else "when jobs were removed"
    per_hour = [
        as_number(HOUR * value)
        for value in (numbers["arrival_rate"], error["arrival_rate"], error["arrival_rate_robust"])
    ]
    rows = [
        ("arrivals", f"{per_hour[0]} +- {per_hour[1]} jobs/h (+- {per_hour[2]} as days vary)"),
        ("trend", _trend(arrivals)),
        ("service", f"mean {_mean(numbers, 'service_rate')}, of {what}"),
        ("limit", f"mean {_mean(numbers, 'limit_rate')}, of {what}, from {basis}"),
        (
            "widths",
            f"mean {as_number(width['mean'])} +- {as_number(error['mean_width'])}, "
            f"median {width['median']:,}, up to {width['max']:,}; "
            f"{100 * width['powers_of_two']:.1f} % a power of two",
        ),
        ("jobs", ", ".join(f"{n:,} {name}" for name, n in numbers["outcomes"].items() if n)),
        (
            "counted as",
            ", ".join(f"{numbers[name]:,} {name}" for name in ("served", "removed", "censored")),
        ),
    ]
    asked = numbers["requested_limits"]
    if asked is not None:
        spread = f"squared coefficient of variation {as_number(asked['scv'])}"
        rows.append(
            ("requested", f"{asked['jobs']:,} limits, mean {as_number(asked['mean'])} s, {spread}")
        )
    return rows


def _mean(numbers: dict[str, Any], name: str) -> str:
    """Return a mean time and its standard error, by the delta method, from a rate and its own."""
    rate, error = numbers[name], numbers["standard_errors"][name]
    if rate == 0:
        return "- (no job ended so)"
    robust = numbers["standard_errors"].get(f"{name}_robust")
    more = f" (+- {as_number(robust / rate**2)} as durations vary)" if robust is not None else ""
    return f"{as_number(1 / rate)} +- {as_number(error / rate**2)} s{more}"


def _trend(arrivals: dict[str, Any]) -> str:
    """Return the growth of the rate with its standard error, by the delta method."""
    from ...theory.fit.arrivals import MONTH

    time = min(arrivals["span"], MONTH)
    growth = math.exp(min(arrivals["trend"] * time, 700.0))
    error = growth * arrivals["trend_robust_se"] * time
    if time < MONTH:
        return f"times {growth:.3g} +- {error:.3g} over the log"
    return f"{100 * (growth - 1):+.1f} +- {100 * error:.1f} % in 30 days"


def show_limits(numbers: dict[str, Any]) -> None:
    """Print what time limits cost, and which ones would do."""
    show_report(numbers["cleaning"])
    console = Terminal()
    hours, measured = numbers["processor_hours"], numbers["measured"]
    started = sum(n for name, n in numbers["jobs"].items() if name in hours)
    rows = [
        (
            "killed",
            f"{numbers['jobs']['killed']:,} of {started:,} jobs that started "
            f"({100 * numbers['killed_share']:.1f} %)",
        ),
        (
            "burnt",
            f"{as_number(hours['killed'])} of {as_number(sum(hours.values()))} processor hours "
            f"({100 * numbers['burnt_share']:.1f} %) by killed jobs",
        ),
        ("cancelled", f"{numbers['jobs']['cancelled']:,} jobs in service, "
         f"{as_number(hours['cancelled'])} processor hours"),
        ("requested", f"mean limit {as_seconds(measured['requested_mean'])}")
    ]  # fmt: skip
    console.facts(rows)
    console.print()
    target, enough = f"{100 * numbers['target']:g} %", f"{100 * numbers['enough']:g} %"
    table = new_table(
        "reading", "mean\nservice h", "mean\nlimit h", "finish",
        f"limit h for\n{target} to finish", f"processors\nenough {enough}",
    )  # fmt: skip
    for name, reading in numbers["readings"].items():
        times = (reading[key] / HOUR for key in ("mean_service", "mean_limit"))
        table.add_row(
            _READINGS[name],
            *map(as_number, times),
            f"{100 * reading['completion_probability']:.1f} %",
            as_number(reading["critical_limit"] / HOUR),
            f"{reading['servers']:,}",
        )
    table.add_row(
        "as measured, common limit",
        "",
        "",
        f"{100 * measured['completion_probability']:.1f} %",
        as_number(measured["critical_limit"] / HOUR),
        f"{measured['servers']:,}",
    )
    console.print(table)
    notes = (
        "reading: what a job and its limit are taken for; finish: share of the jobs that complete "
        f"before their limit; enough: all jobs find room {enough} of the time\n"
        "limits of the first three are means of random ones"
    )
    console.note(notes)
    _show_warnings(console, numbers["warnings"])
