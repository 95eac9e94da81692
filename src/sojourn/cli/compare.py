"""``sojourn compare``: one log under several policies."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from json import loads as json_of
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
    by: o.By = None,
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

    from ..classes import CLASSES
    from ..output import Digest, as_json, check_file, check_folder, provenance, write_rows
    from ..workload.classes import check_known, listed_classes

    classes = [] if by is None else listed_classes(by, CLASSES)

    if out is not None:
        check_folder(out)
        if classes:
            check_file(out / "classes.csv")
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
    for name in classes:
        check_known(jobs, name)

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
        "by": by,
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
    if classes:
        told["classes"] = {name: [] for name in classes}
    with progress("simulating") as report, _keeping(out, told, origin) as keep:
        given = {**options, "placements": places, "clean": ()}
        for each in run(jobs, system, chosen, progress=report, **given):
            rows.append(each.row())
            for name in classes:
                told["classes"][name] += _class_rows(each, rows[-1], name)
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
    from ._tables import (
        new_console,
        show_compared_classes,
        show_comparison,
        show_not_acted_on,
        show_report,
    )

    show_report(cleaning)
    show_not_acted_on(new_console(), told["not_modelled"])
    show_comparison(
        rows, measures_of(system, options), assumed=system.power_model or "", recorded=recorded
    )
    show_compared_classes(new_console(), told.get("classes", {}))
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
    from ..output import as_json, put_rows, stage_run, staged

    folders: list[str] = []
    with staged(out) as stage:

        def keep(run: Outcome) -> None:
            folders.append(_folder(run.row(), folders))
            by = list(told.get("classes", {}))
            stage_run(run.result, stage, folders[-1], by=by, origin=origin)

        yield keep
        if "classes" not in told and _has_classes(out):
            stage.remove("classes.csv")
        if "classes" in told:
            every = told["classes"].items()
            put_rows(
                stage("classes.csv"), [{"by": by, **row} for by, part in every for row in part]
            )
        text = as_json({**told, "folders": folders, "provenance": origin})
        stage("compare.json").write_text(text + "\n", encoding="utf-8")


def _has_classes(out: Path) -> bool:
    """Whether a former comparison left measures of classes there."""
    try:
        return "classes" in json_of((out / "compare.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, TypeError):
        return False


def _class_rows(run: Outcome, row: dict[str, Any], by: str) -> list[dict[str, Any]]:
    """Return the measures of each class of jobs of a run, with what the table calls the run."""
    from ..classes import class_rows

    return [{"run": _label(row), **part} for part in class_rows(run.result.by(by))]


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
