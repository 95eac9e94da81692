"""``sojourn compare``: one log under several policies."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import OptionError
from . import _completion
from . import _options as o
from ._groups import flat, grouped
from ._machine import Machine
from ._options import ClusterName, CostOptions, CountedOptions, NodeOptions
from ._run import input_files

if TYPE_CHECKING:
    from ..compare import Outcome
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
            autocompletion=_completion.policy_lists,
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

    from ..output import Digest, as_json, check_file, check_folder, provenance, write_rows

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
    if csv is not None:
        check_file(csv)
    jobs = reading.clean(jobs, system.procs)

    from ..compare import measures_of
    from ..compare import outcomes_of as run
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
    recorded: dict[str, Any] = {}
    left_out: dict[str, None] = {}
    told: dict[str, Any] = {"procs": system.procs, "jobs": len(jobs), "rows": rows}
    told |= {"recorded": recorded, "power_model": system.power_model}
    told["cleaning"] = cleaning = jobs.report.as_dict()
    with progress("simulating") as report, _keeping(out, told, origin) as keep:
        given = {**options, "placements": places, "clean": ()}
        for each in run(jobs, system, chosen, progress=report, **given):
            rows.append(each.row())
            summary = each.result.summary
            if "recorded" in summary:
                recorded[_label(rows[-1])] = summary["recorded"]
            left_out.update(dict.fromkeys(summary["not_modelled"]))
            keep(each)
        told["not_modelled"] = list(left_out)
    if csv is not None:
        write_rows(csv, rows)
    if json:
        print(as_json(told))
        return
    from ._tables import new_console, show_comparison, show_not_acted_on, show_report

    show_report(cleaning)
    show_not_acted_on(new_console(), told["not_modelled"])
    show_comparison(
        rows, measures_of(system, options), assumed=system.power_model or "", recorded=recorded
    )
    if out is not None:
        print(f"\neach run in a folder of {out}, and compare.json")


@contextmanager
def _keeping(
    out: Path | None, told: dict[str, Any], origin: dict[str, Any]
) -> Iterator[Callable[[Outcome], None]]:
    """Yield what keeps a run; all of them get their places at the end, or none."""
    if out is None:
        yield lambda run: None
        return
    from ..output import as_json, stage_run, staged

    folders: list[str] = []
    with staged(out) as stage:

        def keep(run: Outcome) -> None:
            folders.append(_folder(run.row(), folders))
            stage_run(run.result, stage, folders[-1], origin=origin)

        yield keep
        text = as_json({**told, "folders": folders, "provenance": origin})
        stage("compare.json").write_text(text + "\n", encoding="utf-8")


def _label(row: dict[str, Any]) -> str:
    return " ".join(str(row[key]) for key in ("policy", "placement") if key in row)


def _folder(row: dict[str, Any], taken: list[str]) -> str:
    """Return a name for the folder of a run, which no other run has."""
    name = re.sub(r"[^\w+.:-]+", "-", _label(row)).strip("-.") or "run"
    return name if name not in taken else f"{name}-{len(taken) + 1}"


def _placements(text: str) -> list[Placement]:
    """Return the placements of a list, each of them one that is known."""
    from ..policy import parse_placement

    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise OptionError("--placements names none; give for example first-fit,lowest-energy")
    return [parse_placement(name) for name in names]
