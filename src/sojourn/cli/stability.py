"""``sojourn stability``: whether a machine keeps up with a log."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ._options import CLEANING, READING, AsJson, Chosen, option, takes
from ._results import as_file, hand_over, picture
from ._run import cleaned_log, progress

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..capacity import Stability

PictureFolder = Annotated[Path | None, option("DIR", "Folder for the picture and the numbers.")]
_HOUR = 3600.0
_NOTABLE = 0.05
"""Dependence of width and service time that is worth a word."""


@takes("log", "procs", "estimates", "over_limit", READING, CLEANING)
def stability(
    chosen: Chosen,
    *,
    policy: Annotated[
        list[str] | None,
        option(
            "NAME",
            "Policy to simulate saturated, as for simulate; may be repeated. Default: fcfs "
            "and easy.",
            "Scheduling",
        ),
    ] = None,
    batch: Annotated[
        int | None, option("N", "Jobs of a saturated run; default: by policy.", min=10)
    ] = None,
    seed: Annotated[int, option("S", "Seed of the draws.", min=0)] = 0,
    out: PictureFolder = None,
    json: AsJson = False,
) -> None:
    """Say whether a machine keeps up with a log, by what margin, and the smallest that would.

    Two answers side by side: the formula, exact for exponential service times, and a saturated
    simulation of the log's own jobs.

    Example: sojourn stability log.swf --procs 80 --policy fcfs --policy easy --out DIR
    """
    from ..policy import parse_policy
    from ..run.folder import check_folder
    from ..run.outcome.unmodelled import not_acted_on

    scenario = chosen.scenario
    policies = [parse_policy(name) for name in policy or ("fcfs", "easy")]
    if out is not None:
        check_folder(out)
    jobs, size = cleaned_log(scenario)

    from ..capacity import stability as examine

    with progress("saturating") as report:
        answer = examine(
            jobs,
            size,
            policies=policies,
            batch=batch,
            seed=seed,
            progress=report,
            estimates=scenario.keys.policy.estimates,
            over_limit=scenario.keys.policy.over_limit,
        )
    numbers = {
        **answer.as_dict(),
        "not_modelled": list(dict.fromkeys(x for one in policies for x in not_acted_on(jobs, one))),
        "cleaning": jobs.report.as_dict(),
    }
    files = {
        "stability.png": picture(lambda: _drawn(answer)),
        "stability.json": as_file(numbers),
    }
    hand_over(numbers, lambda: _show(answer, numbers), files, json=json, out=out)


def _drawn(answer: Stability) -> Figure:
    from ..report import stability_curves

    demand = answer.demand
    return stability_curves(answer.curve, demand.arrival_rate, answer.procs, busy=demand.busy)


def _show(answer: Stability, numbers: dict[str, Any]) -> None:
    from ..report.text import (
        Terminal,
        as_number,
        as_seconds,
        new_table,
        show_not_acted_on,
        show_report,
    )

    show_report(numbers["cleaning"])
    console = Terminal()
    demand = answer.demand
    console.print(answer.verdict, style="bold", soft_wrap=True)
    show_not_acted_on(console, numbers["not_modelled"])
    console.print()
    rows = [
        ("machine", f"{answer.procs:,} processors; the widest job has {demand.widest:,}"),
        ("jobs", f"{demand.jobs:,}, {as_number(_HOUR * demand.arrival_rate)} an hour"),
        ("service", f"mean {as_seconds(demand.mean_service)}, "
         f"{as_number(demand.mean_width)} processors"),
        ("offered", f"{100 * answer.offered:.2f} % of the machine"),
        ("C", f"{answer.constant:.6g}, the stability constant: mean of 1 / (jobs that fit on the "
         "machine at once)")
    ]  # fmt: skip
    if abs(demand.dependence - 1) > _NOTABLE:
        way = "longer" if demand.dependence > 1 else "shorter"
        because = f"mean processor time is {demand.dependence:.3g} x mean width x mean service"
        rows.append(("dependence", f"{because}: wide jobs run {way}, which C does not know"))
    if answer.unaccepted:
        rows.append(("left out", f"{answer.unaccepted:,} jobs wider than the machine"))
    console.facts(rows)
    console.print()
    table = new_table(
        "",
        "rho",
        "largest\njobs/h",
        "95 %\ninterval",
        "busy at\nmost",
        "margin",
        "smallest\nstable",
    )
    for bound in (answer.exponential, *answer.simulated):
        exact = bound is answer.exponential
        rate = bound.max_rate
        ends = (as_number(_HOUR * end) for end in (rate.low, rate.high))
        table.add_row(
            "fcfs, exponential (exact)" if exact else f"{bound.name}, own jobs (simulated)",
            f"{bound.load:.4f}",
            as_number(_HOUR * rate.value),
            "" if exact else " - ".join(ends),
            f"{100 * bound.utilisation:.1f} %",
            f"{100 * bound.margin:+.1f} %",
            f"{bound.smallest:,}",
        )
    console.print(table)
    notes = [
        "rho: work that arrives over what the machine could do; below 1 it keeps up",
        "margin: by how much arrivals could grow; own jobs are drawn from the log at random",
    ]
    if any(bound.name != "fcfs" for bound in answer.simulated):
        notes.append("policies other than fcfs: the rate at which they clear a long backlog")
    console.note("\n".join(notes))
