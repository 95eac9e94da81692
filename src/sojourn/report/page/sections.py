"""Pages of a run, a comparison and a study: which numbers, tables and charts, in which order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...cluster.power import assumed_watts, states_energy
from ...errors import plural
from ...measures.registry import get as measure
from ...measures.registry import in_table
from ..figures.style import number
from .answers import answer_comparison, answer_run, answer_study, ignored_by
from .charts import describe_distribution, describe_points
from .collect import intervals_of_run, points_of_runs, points_of_study
from .fairness import section_of_run, section_of_runs
from .ledger import section_of_energy
from .methods import cited, methods_of
from .pack import Packer
from .parts import Figure, Page, Section, Table
from .points import Points
from .provenance import provenance_of
from .subjects import ComparisonFolder, RunFolder, StudyFolder
from .tables import table_of_failures, table_of_points, table_of_resources, table_of_run
from .timeline import describe_timeline
from .words import between, listed, percent, value_text

if TYPE_CHECKING:
    from ...study.intervals import Interval


def page_of(subject: RunFolder | ComparisonFolder | StudyFolder, packer: Packer) -> Page:
    """Return the page of what a folder holds; its arrays go to the packer."""
    if isinstance(subject, StudyFolder):
        return _page_of_study(subject, packer)
    if isinstance(subject, ComparisonFolder):
        return _page_of_comparison(subject, packer)
    return _page_of_run(subject, packer)


def _page_of_run(run: RunFolder, packer: Packer) -> Page:
    intervals = intervals_of_run(run)
    charts = {"timeline": describe_timeline([run], packer)}
    charts |= distribution_charts([run])
    sections = [over_time([run]), distributions([run], [table_of_run(run)])]
    classes = section_of_run(run, charts)
    sections += [classes, *section_of_energy(run), *not_modelled(ignored_by([run]))]
    methods = methods_of(run, interval=bool(intervals), fairness="users" in charts)
    return Page(
        answer_run(run, intervals),
        _tiles(run, intervals),
        sections,
        charts,
        methods,
        cited(methods),
        provenance_of(run),
    )


def _page_of_comparison(comparison: ComparisonFolder, packer: Packer) -> Page:
    points, runs = points_of_runs(comparison), comparison.runs
    charts = {
        "tradeoff": describe_points(points, packer, curves=False),
        "timeline": describe_timeline(runs, packer),
        **distribution_charts(runs),
    }
    methods = methods_of(comparison, interval=bool(points.alone), fairness=False)
    caption = f"All runs, 95 % intervals where one run allows them, and changes from {runs[0].name}"
    return Page(
        answer_comparison(comparison, points),
        [],
        [
            _trade_off((), table_of_points(points, range(len(points)), caption)),
            over_time(runs),
            distributions(runs, []),
            section_of_runs(runs),
            *not_modelled(ignored_by(runs)),
        ],
        charts,
        methods,
        cited(methods),
        provenance_of(comparison),
    )


def _page_of_study(study: StudyFolder, packer: Packer) -> Page:
    points = points_of_study(study)
    charts: dict[str, Any] = {"tradeoff": describe_points(points, packer, curves=False)}
    sections = [_trade_off(_search(study, points))]
    if len(points) > 1:
        charts["curves"] = describe_points(points, packer, curves=True)
        text = "How a measure changes with what was varied."
        sections.append(Section("varied", "What was varied", (text,), (Figure("curves", text),)))
    sections.append(Section("points", "In numbers", (), (), _numbers(points)))
    if (study.runs["status"] == "failed").any():
        table = table_of_failures(study, list(study.keys))
        sections.append(Section("failed", "Runs that failed", (), (), (table,)))
    methods = methods_of(study, interval=points.several, fairness=False, confirmed=points.confirmed)
    return Page(
        answer_study(study, points),
        _best_tiles(points),
        sections,
        charts,
        methods,
        cited(methods),
        provenance_of(study),
        study.scenario,
    )


def _numbers(points: Points) -> list[Table]:
    """All points; those of a front first."""
    every = range(len(points))
    if not points.front:
        caption = "All points, with 95 % intervals"
        if not points.several:
            caption = (
                "All points, one replication each and so without intervals, and changes from "
                f"{points.names[0]}"
            )
        return [table_of_points(points, every, caption)]
    fresh = " from replications that the search has not seen" if points.confirmed else ""
    front = f"The front, with 95 % intervals{fresh}" if points.several else "The front"
    again = sorted(points.fresh.difference(points.front))
    rest = [i for i in every if i not in points.front and i not in points.fresh]
    tables = [table_of_points(points, sorted(points.front), front)]
    if again:
        caption = f"Other points that were run again, with 95 % intervals{fresh}"
        tables.append(table_of_points(points, again, caption))
    if rest:
        caption = "Other points"
        if points.several:
            caption += ", with 95 % intervals from the replications of the search"
        if points.confirmed:
            caption += ", not to be compared with those of the front"
        tables.append(table_of_points(points, rest, caption))
    return tables


def _search(study: StudyFolder, points: Points) -> list[str]:
    """What a search found, in a sentence."""
    volume = study.front.get("hypervolume_interval")
    if not points.front or not volume:
        return []
    worst = listed(
        value_text(measure(name), float(value))
        for name, value in zip(points.objectives, study.front.get("reference", ()), strict=False)
    )
    ends = ""
    if volume.get("low") is not None and volume.get("high") is not None:
        ends = f" ({100 * volume['level']:.3g} % interval {number(volume['low'])} to "
        ends += f"{number(volume['high'])})"
    return [
        f"The hypervolume of the front up to {worst} is {number(volume['estimate'])}{ends}, in the "
        "product of the units in which measures are kept."
    ]


def _tiles(run: RunFolder, intervals: Mapping[str, Interval]) -> list[tuple[str, str, list[str]]]:
    summary = run.summary
    served = int(summary.get("completed", 0)) + int(summary.get("killed", 0))
    tiles = [("jobs served", f"{served:,}", [f"on {plural(run.procs, 'processor')}"])]
    recorded = summary.get("recorded") or {}
    watts = assumed_watts(summary)
    notes = {
        "makespan": "first submit to last end",
        "cost": str((summary.get("energy") or {}).get("currency") or ""),
    }
    for what in in_table("report"):
        value, real = what.of(summary), what.of(recorded)
        unstated = what.rests_on_watts and not states_energy(summary)
        if np.isnan(value) or unstated or (what.kind == "energy" and value == 0):
            continue
        below = [notes.get(what.name, ""), watts if what.rests_on_watts else ""]
        below = [", ".join(filter(None, below))] if any(below) else []
        if np.isfinite(real):
            jobs = plural(int(recorded["jobs"]), "job")
            below.append(f"recorded in the log: {value_text(what, real)} ({jobs})")
        if what.name in intervals:
            below.append(f"95 % interval {between(what, intervals[what.name])}")
        tiles.append((what.label, value_text(what, value), below))
    return tiles


def _best_tiles(points: Points) -> list[tuple[str, str, list[str]]]:
    tiles = []
    for name in points.objectives:
        best = points.best(name)
        if best is not None:
            what, interval = measure(name), points.intervals[name][best]
            end = "lowest" if points.lower(name) else "highest"
            ends = between(what, interval)
            notes = [f"95 % interval {ends}"] if ends else ["one replication, no interval"]
            ties, label = points.tied(name, best), what.label
            if len(points) > 1 and points.best(name, worst=True) in ties:
                notes.append("the same everywhere")
            elif len(points) > 1:
                label = f"{end} {label}"
                more = f" and {len(ties) - 1:,} more" if len(ties) > 1 else ""
                notes.append(f"at {points.names[best]}{more}")
            tiles.append((label, value_text(what, interval.estimate), notes))
    return tiles


def not_modelled(what: Sequence[str]) -> list[Section]:
    """Return the section of what runs take no notice of; none where there is nothing."""
    if not what:
        return []
    table = Table(["what, and why"], [[reason] for reason in what])
    return [Section("not-modelled", "Not modelled", (), (), [table])]


def over_time(runs: Sequence[RunFolder]) -> Section:
    """Return the place of the chart of what the machine would do."""
    hint = (
        "Drag to zoom, double-click to see everything again. Zoomed out, neighbouring jobs are "
        "averaged; zoomed in, single jobs appear."
    )
    shown = ["busy processors", "jobs waiting"]
    shown += ["power"] if any(states_energy(run.summary) for run in runs) else []
    shown += ["stranded resources"] if any(len(run.resources) > 1 for run in runs) else []
    label = f"Who would run on which processors, and over time {listed(shown)}"
    caption = (
        "Processors without names are numbered after the run: a job takes the lowest gap that "
        "holds it whole, else the lowest free ones in several blocks."
        if all(run.nodes is None for run in runs)
        else "Each node is as high as it has processors, the first on top."
    )
    figure = Figure("timeline", label, caption, tall=True)
    resources = table_of_resources(runs)
    tables = () if resources is None else (resources,)
    return Section("time", "What the machine would do", (), (figure,), tables, hint)


def distribution_charts(runs: Sequence[RunFolder]) -> dict[str, Any]:
    """Return the charts of waits and slowdowns, by their places."""
    names = {"waits": "wait", "slowdowns": "bounded_slowdown"}
    return {place: describe_distribution(runs, name) for place, name in names.items()}


def distributions(runs: Sequence[RunFolder], tables: Sequence[Table]) -> Section:
    """Return the places of these charts, over some tables."""
    notes = []
    for run in runs:
        wait = np.asarray(run.jobs["wait"], np.float64)
        at_once = float(np.mean(wait[np.isfinite(wait)] <= 0))
        who = f" under {run.name}" if len(runs) > 1 else ""
        notes.append(f"{percent(at_once)} of the jobs would not wait{who}")
    return Section(
        "distributions",
        "Waits and slowdowns of jobs",
        ("The share of jobs that would wait at most so long; a curve further left is better.",),
        (
            Figure("waits", "Distribution of wait", "; ".join(notes) + "."),
            Figure("slowdowns", "Distribution of bounded slowdown"),
        ),
        tables,
    )


def _trade_off(texts: Sequence[str], *tables: Table) -> Section:
    label = "Each point by two measures, of which less (or more) is better"
    hint = "Choose the measures above the chart."
    figures = (Figure("tradeoff", label),)
    about = ("What is paid for what.", *texts)
    return Section("tradeoff", "The trade-off", about, figures, tables, hint)
