"""``sojourn compare``: one log under several policies."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import OptionError
from . import _options as o
from ._groups import flat, grouped
from ._machine import Machine
from ._options import ClusterName, CostOptions, CountedOptions, NodeOptions
from ._run import input_files

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
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Folder for the runs, each in one of its own; see sojourn report."
        ),
    ] = None,
) -> None:
    """Run one log under several policies, and placements, and print one table.

    Example: sojourn compare log.swf --policies fcfs,easy,conservative,sjf+easy
    """
    machine = Machine(cluster, counted, nodes, cost, reading.strict)
    chosen = o.chosen_policies(policies, policy_file or [])
    places = _placements(placements)
    options = {**running.options(), **machine.options(), "record": out is not None}

    from ..output import Digest, as_json, check_folder, provenance, staged, write_rows, write_run

    if out is not None:
        check_folder(out)
    files = input_files(
        log,
        machine,
        running,
        orders=policy_file or [],
        placements=map(str.strip, placements.split(",")),
    )
    digests = {name: Digest(path) for name, path in files.items()}
    jobs, events = running.take_events(reading.read(log), **reading.clock())
    options |= events
    cost.check(jobs)
    system = machine.for_jobs(jobs)
    jobs = reading.clean(jobs, system.procs)

    from ..compare import compare as run
    from ..compare import measures_of
    from ._progress import progress

    told_options = {
        "log": log,
        "policies": policies,
        "policy_file": policy_file,
        "cluster": cluster,
        "placements": placements,
        **flat(counted, running, nodes, cost, reading),
    }
    origin = provenance("compare", told_options, running.seed) | {
        name: {"path": str(path), "sha256": digests[name].hexdigest()}
        for name, path in files.items()
    }
    origin["input"]["jobs"] = jobs.report.read
    rows: list[dict[str, Any]] = []
    folders: list[str] = []
    with progress("simulating") as report:
        given = {**options, "placements": places, "clean": ()}
        for each in run(jobs, system, chosen, progress=report, **given):
            rows.append(each.row())
            if out is not None:
                folders.append(_folder(rows[-1], folders))
                write_run(each.result, out / folders[-1], origin=origin)
    if csv is not None:
        write_rows(csv, rows)
    cleaning = jobs.report.as_dict()
    told: dict[str, Any] = {"procs": system.procs, "jobs": len(jobs), "rows": rows}
    told["cleaning"] = cleaning
    if out is not None:
        with staged(out) as place:
            kept = as_json({**told, "folders": folders, "provenance": origin})
            place("compare.json").write_text(kept + "\n", encoding="utf-8")
    if json:
        print(as_json(told))
        return
    from ._tables import show_comparison, show_report

    show_report(cleaning)
    show_comparison(rows, measures_of(system, options))
    if out is not None:
        print(f"\neach run in a folder of {out}, and compare.json")


def _folder(row: dict[str, Any], taken: list[str]) -> str:
    """Return a name for the folder of a run, which no other run has."""
    label = " ".join(str(row[key]) for key in ("policy", "placement") if key in row)
    name = re.sub(r"[^\w+.:-]+", "-", label).strip("-.") or "run"
    return name if name not in taken else f"{name}-{len(taken) + 1}"


def _placements(text: str) -> list[Placement]:
    """Return the placements of a list, each of them one that is known."""
    from ..policy import parse_placement

    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise OptionError("--placements names none; give for example first-fit,lowest-energy")
    return [parse_placement(name) for name in names]
