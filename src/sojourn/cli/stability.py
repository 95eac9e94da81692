"""``sojourn stability``: whether a machine keeps up with a log."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ._options import CLEANING, READING, AsJson, Chosen, add_verb, takes
from ._run import cleaned_log, progress

if TYPE_CHECKING:
    from ..capacity import Stability

PictureFolder = Annotated[
    Path | None, typer.Option(metavar="DIR", help="Folder for the picture and the numbers.")
]
_HOUR = 3600.0
_NOTABLE = 0.05
"""Dependence of width and service time that is worth a word."""


def register(app: typer.Typer) -> None:
    """Add the verb to the command line."""
    add_verb(app, stability, "stability")


@takes("log", "procs", "estimates", "over_limit", READING, CLEANING)
def stability(
    chosen: Chosen,
    *,
    policy: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Policy to simulate saturated, as for simulate; may be repeated. Default: fcfs "
            "and easy.",
            rich_help_panel="Scheduling",
        ),
    ] = None,
    batch: Annotated[
        int | None,
        typer.Option(metavar="N", min=10, help="Jobs of a saturated run; default: by policy."),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="S", min=0, help="Seed of the draws.")] = 0,
    out: PictureFolder = None,
    json: AsJson = False,
) -> None:
    """Tell whether a machine keeps up with a log, by what margin, and the smallest that would.

    Two answers side by side: the formula, exact for exponential service times, and a saturated
    simulation of the log's own jobs.

    Example: sojourn stability log.swf --procs 80 --policy fcfs --policy easy --out DIR
    """
    from ..policy import parse_policy
    from ..run.folder import as_json, check_folder
    from ..run.outcome.unmodelled import not_acted_on

    scenario = chosen.scenario
    policies = [parse_policy(name) for name in policy or ("fcfs", "easy")]
    if out is not None:
        check_folder(out)
    jobs, size = cleaned_log(scenario)

    from ..capacity import stability as examine

    with progress("saturating") as report:
        found = examine(
            jobs,
            size,
            policies=policies,
            batch=batch,
            seed=seed,
            progress=report,
            estimates=scenario.keys.policy.estimates,
            over_limit=scenario.keys.policy.over_limit,
        )
    told = {
        **found.as_dict(),
        "not_modelled": list(
            dict.fromkeys(x for each in policies for x in not_acted_on(jobs, each))
        ),
        "cleaning": jobs.report.as_dict(),
    }
    if out is not None:
        _write(found, told, out)
    if json:
        print(as_json(told))
        return
    _show(found, told)
    if out is not None:
        print(f"\nstability.png, stability.json in {out}")


def _write(found: Stability, told: dict[str, Any], out: Path) -> None:
    from ..report import save, stability_curves
    from ..run.folder import as_json, staged

    demand = found.demand
    figure = stability_curves(found.curve, demand.arrival_rate, found.procs, busy=demand.busy)
    with staged(out) as place:
        save(figure, place("stability.png"))
        place("stability.json").write_text(as_json(told), encoding="utf-8")


def _show(found: Stability, told: dict[str, Any]) -> None:
    from rich.text import Text

    from ..report.text import (
        as_number,
        as_seconds,
        facts_table,
        new_console,
        new_table,
        show_not_acted_on,
        show_report,
    )

    show_report(told["cleaning"])
    console = new_console()
    demand = found.demand
    console.print(Text(found.verdict, style="bold"), soft_wrap=True)
    show_not_acted_on(console, told["not_modelled"])
    console.print()
    rows = [
        ("machine", f"{found.procs:,} processors; the widest job has {demand.widest:,}"),
        ("jobs", f"{demand.jobs:,}, {as_number(_HOUR * demand.arrival_rate)} an hour"),
        ("service", f"mean {as_seconds(demand.mean_service)}, "
         f"{as_number(demand.mean_width)} processors"),
        ("offered", f"{100 * found.offered:.2f} % of the machine"),
        ("C", f"{found.constant:.6g}, the stability constant: mean of 1 / (jobs that fit on the "
         "machine at once)"),
    ]  # fmt: skip
    if abs(demand.dependence - 1) > _NOTABLE:
        way = "longer" if demand.dependence > 1 else "shorter"
        told_by = f"mean processor time is {demand.dependence:.3g} x mean width x mean service"
        rows.append(("dependence", f"{told_by}: wide jobs run {way}, which C does not know"))
    if found.unaccepted:
        rows.append(("left out", f"{found.unaccepted:,} jobs wider than the machine"))
    console.print(facts_table(rows))
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
    for bound in (found.exponential, *found.simulated):
        exact = bound is found.exponential
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
    if any(bound.name != "fcfs" for bound in found.simulated):
        notes.append("policies other than fcfs: the rate at which they clear a long backlog")
    console.print(Text("\n".join(notes), style="dim"))
