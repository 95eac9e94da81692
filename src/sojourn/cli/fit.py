"""``sojourn fit``: the parameters of the models, from a log."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ._options import READING, AsJson, Chosen, option, takes
from ._results import hand_over, picture

if TYPE_CHECKING:
    from ..jobs import Jobs
    from ..run.scenario import Scenario


Widest = Annotated[
    int | None, option("P", "Leave out jobs of more than P processors.", "Jobs", min=1)
]
Tolerance = Annotated[
    float,
    option(
        "S",
        "A job that did not complete counts as killed from S seconds before its limit.",
        "Jobs",
        min=0.0,
    ),
]
PictureFolder = Annotated[Path | None, option("DIR", "Write the picture there.")]


def fitted_jobs(scenario: Scenario, procs: int | None, out: Path | None) -> Jobs:
    """Return the jobs of a log after the cleaning that a fit allows; see that results can go."""
    from ..jobs.clean import cleaned
    from ..run.folder import check_folder
    from ..theory.fit import FITTED

    if out is not None:
        check_folder(out)
    rules = FITTED if procs is None else (*FITTED, "too-wide")
    return cleaned(scenario.raw_log(), procs or 0, rules, strict=scenario.keys.workload.strict)


@takes("log", READING)
def fit(
    chosen: Chosen,
    *,
    reading: Annotated[
        str, option("job|sub-request", "One service and one limit per job, or per processor of it.")
    ] = "job",
    limits: Annotated[
        str, option("each|shared", "Limits of sub-requests: their own, or one.")
    ] = "each",
    limits_from: Annotated[
        str,
        option(
            "ends|estimates",
            "Limit rate from when jobs were removed, or from the times users asked for.",
        ),
    ] = "ends",
    served: Annotated[
        str, option("CLASS,...", "Ends that count as the end of service.")
    ] = "completed,failed",
    removed: Annotated[
        str, option("CLASS,...", "Ends that count as removal; what is in neither list is censored.")
    ] = "killed,cancelled",
    procs: Widest = None,
    tolerance: Tolerance = 0.0,
    out: PictureFolder = None,
    json: AsJson = False,
) -> None:
    """Fit arrivals, widths, service and limits to a log, and say where the model fails.

    Example: sojourn fit log.swf.gz --out DIR
    """
    jobs = fitted_jobs(chosen.scenario, procs, out)

    from ..theory import fit_model

    model = fit_model(
        jobs,
        reading=reading,
        limits=limits,
        limits_from=limits_from,
        served=_listed(served),
        removed=_listed(removed),
        tolerance=tolerance,
    )

    from ..report import fitted

    numbers = {**model.as_dict(), "cleaning": jobs.report.as_dict()}
    files = {"fit.png": picture(lambda: fitted(model, jobs.submit))}
    hand_over(numbers, lambda: _show(numbers), files, json=json, out=out)


def _listed(text: str) -> list[str]:
    """Return the words of a list."""
    return [word.strip() for word in text.split(",") if word.strip() not in ("", "none")]


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
_HOUR = 3600.0


def _show(numbers: dict[str, Any]) -> None:
    from ..report.text import Terminal, as_number, new_table, show_report

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
    show_warnings(console, numbers["warnings"])
    if not numbers["warnings"]:
        console.print("\nnothing in the log speaks against the model", style="green")


def show_warnings(console: Any, warnings: list[str]) -> None:
    """Print where a log contradicts the model."""
    if warnings:
        console.print()
    for line in warnings:
        console.warn(f"! {line}")


def _parameters(numbers: dict[str, Any]) -> list[tuple[str, str]]:
    from ..report.text import as_number

    error, arrivals, width = numbers["standard_errors"], numbers["arrivals"], numbers["width"]
    what = "a job" if numbers["reading"] == "job" else "a sub-request"
    basis = "requested times" if numbers["limits_from"] == "estimates" else "when jobs were removed"
    per_hour = [
        as_number(_HOUR * value)
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
    from ..report.text import as_number

    rate, error = numbers[name], numbers["standard_errors"][name]
    if rate == 0:
        return "- (no job ended so)"
    robust = numbers["standard_errors"].get(f"{name}_robust")
    more = f" (+- {as_number(robust / rate**2)} as durations vary)" if robust is not None else ""
    return f"{as_number(1 / rate)} +- {as_number(error / rate**2)} s{more}"


def _trend(arrivals: dict[str, Any]) -> str:
    """Return the growth of the rate with its standard error, by the delta method."""
    from ..theory.fit.arrivals import MONTH

    time = min(arrivals["span"], MONTH)
    growth = math.exp(min(arrivals["trend"] * time, 700.0))
    error = growth * arrivals["trend_robust_se"] * time
    if time < MONTH:
        return f"times {growth:.3g} +- {error:.3g} over the log"
    return f"{100 * (growth - 1):+.1f} +- {100 * error:.1f} % in 30 days"
