"""``sojourn compare``: one log under several policies."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import OptionError
from . import _options as o
from ._groups import grouped
from ._machine import Machine
from ._options import ClusterName, CostOptions, CountedOptions, NodeOptions

if TYPE_CHECKING:
    from ..policy import Placement


def register(app: typer.Typer) -> None:
    """Add the verb to the command line."""
    app.command(name="compare")(compare)


@grouped
def compare(
    log: o.Log,
    *,
    counted: CountedOptions,
    policies: Annotated[
        str,
        typer.Option(
            metavar="NAME,NAME,...",
            help="Policies as for simulate; changes are told against the first.",
            rich_help_panel="Scheduling",
        ),
    ] = "fcfs,easy,conservative",
    policy_file: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE.py:NAME",
            help="Your own order; --policies then knows NAME and NAME+BACKFILL.",
            rich_help_panel="Scheduling",
        ),
    ] = None,
    running: o.RunOptions,
    cluster: ClusterName = None,
    placements: Annotated[
        str,
        typer.Option(
            metavar="NAME,NAME,...",
            help="Placements as for simulate; each policy is run with each of them.",
            rich_help_panel="Nodes",
        ),
    ] = "first-fit",
    nodes: NodeOptions,
    cost: CostOptions,
    reading: o.LogOptions,
    json: o.AsJson = False,
    csv: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the table as CSV too.")
    ] = None,
) -> None:
    """Run one log under several policies, and placements, and print one table.

    Example: sojourn compare log.swf --policies fcfs,easy,conservative,sjf+easy
    """
    machine = Machine(cluster, counted, nodes, cost, reading.strict)
    chosen = o.chosen_policies(policies, policy_file or [])
    places = _placements(placements)
    options = {**running.options(), **machine.options()}
    jobs, events = running.take_events(reading.read(log))
    options |= events
    cost.check(jobs)
    system = machine.for_jobs(jobs)
    jobs = reading.clean(jobs, system.procs)

    from ..compare import compare as run
    from ..compare import measures_of
    from ..output import as_json, write_rows
    from ._progress import progress

    with progress("simulating") as report:
        given = {**options, "placements": places, "clean": ()}
        rows = [each.row() for each in run(jobs, system, chosen, progress=report, **given)]
    if csv is not None:
        write_rows(csv, rows)
    cleaning = jobs.report.as_dict()
    if json:
        told: dict[str, Any] = {"procs": system.procs, "jobs": len(jobs), "rows": rows}
        print(as_json({**told, "cleaning": cleaning}))
        return
    from ._tables import show_comparison, show_report

    show_report(cleaning)
    show_comparison(rows, measures_of(system, options))


def _placements(text: str) -> list[Placement]:
    """Return the placements of a list, each of them one that is known."""
    from ..policy import parse_placement

    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise OptionError("--placements names none; give for example first-fit,lowest-energy")
    return [parse_placement(name) for name in names]
