"""``sojourn limits``: what time limits do to the jobs of a log."""

from __future__ import annotations

from typing import Annotated, Any

from ..errors import OptionError
from ._options import READING, AsJson, Chosen, option, takes
from ._results import hand_over, picture
from .fit import PictureFolder, Tolerance, Widest, fitted_jobs, show_warnings


@takes("log", READING)
def limits(
    chosen: Chosen,
    *,
    target: Annotated[float, option("SHARE", "Probability of completion aimed at.")] = 0.9,
    limits: Annotated[
        str,
        option(
            "each|shared", "Limits of a job's processors that the picture shows: their own, or one."
        ),
    ] = "each",
    procs: Widest = None,
    tolerance: Tolerance = 0.0,
    out: PictureFolder = None,
    json: AsJson = False,
) -> None:
    """Show how many jobs finish within their time limits, and at which limit enough would.

    Example: sojourn limits log.swf.gz --target 0.95 --out DIR
    """
    if limits not in ("each", "shared"):
        raise OptionError(f"--limits '{limits}': choose each or shared")
    jobs = fitted_jobs(chosen.scenario, procs, out)

    from ..capacity.limits import picture as draw
    from ..capacity.limits import time_limits

    answer = time_limits(jobs, target=target, tolerance=tolerance)
    numbers = {**answer.as_dict(), "cleaning": jobs.report.as_dict()}
    files = {"limits.png": picture(lambda: draw(answer, limits))}
    hand_over(numbers, lambda: _show(numbers), files, json=json, out=out)


_READINGS = {
    "job": "one limit, one service",
    "each": "a limit and a service per processor",
    "shared": "one limit, a service per processor",
}


def _show(numbers: dict[str, Any]) -> None:
    from ..report.text import (
        Terminal,
        as_number,
        as_seconds,
        new_table,
        show_report,
    )

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
        times = (reading[key] / 3600 for key in ("mean_service", "mean_limit"))
        table.add_row(
            _READINGS[name],
            *map(as_number, times),
            f"{100 * reading['completion_probability']:.1f} %",
            as_number(reading["critical_limit"] / 3600),
            f"{reading['servers']:,}",
        )
    table.add_row(
        "as measured, common limit",
        "",
        "",
        f"{100 * measured['completion_probability']:.1f} %",
        as_number(measured["critical_limit"] / 3600),
        f"{measured['servers']:,}",
    )
    console.print(table)
    notes = (
        "reading: what a job and its limit are taken for; finish: share of the jobs that complete "
        f"before their limit; enough: all jobs find room {enough} of the time\n"
        "limits of the first three are means of random ones"
    )
    console.note(notes)
    show_warnings(console, numbers["warnings"])
