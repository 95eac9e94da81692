"""The one way in which a run is carried out: read, clean, build, run, measure, write."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ..jobs import Jobs
from ..jobs.classes import check_known
from ..jobs.log import size_in_words
from ..measures.cost import Clock, parse_carbon
from ._ahead import Ahead, reader_is_loaded
from ._lines import Path
from .folder import Digest, Write, check_folder, check_run, class_tables, provenance, write_run
from .scenario import Scenario

if TYPE_CHECKING:
    from .result import Result

__all__ = ["carry_out", "check_parts", "check_results", "origin_of", "read_jobs", "run_scenario"]

# What is made before the log is read, and the key to blame where an error does not tell.
_PARTS: dict[str, Path] = {
    "policy": ("policy", "order"),
    "placement": ("policy", "placement"),
    "control": ("control",),
    "nodes": ("cluster", "nodes"),
}


def run_scenario(
    scenario: Scenario,
    folder: str | os.PathLike[str] | None = None,
    *,
    pictures: Callable[[Result], Mapping[str, Write]] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, Any]:
    """Run a scenario, and write to a folder what ``sojourn simulate`` writes; see `carry_out`."""
    return carry_out(scenario, folder, pictures=pictures, progress=progress)


def carry_out(
    scenario: Scenario,
    folder: str | os.PathLike[str] | None = None,
    *,
    command: str = "run",
    options: Mapping[str, Any] | None = None,
    more_files: Mapping[str, str] | None = None,
    pictures: Callable[[Result], Mapping[str, Write]] | None = None,
    progress: Callable[[int, int], None] | None = None,
    say: Callable[[str], None] | None = None,
    meanwhile: Callable[[], object] | None = None,
) -> dict[str, Any]:
    """Run a scenario from beginning to end.

    Parameters
    ----------
    scenario : what to run; its table ``run`` says with which seed and what is written.
    folder : for the results; None: nothing is written.
    command, options : what the provenance says of them; default: the keys of the scenario.
    more_files : that the scenario is from, by what they are.
    pictures : of a result, files by name and what draws each; asked where ``run.plots`` is set.
    progress : called with (jobs arrived, jobs) from time to time.
    say : called with what is taken for granted.
    meanwhile : what to load while the engine runs.

    Returns
    -------
    dict
        The summary with its provenance, as in ``summary.json``.

    Raises
    ------
    OptionError
        With the key, and where it stands, that it is about.
    """
    wanted, source = scenario.keys.run, scenario.source
    check_results(scenario, folder)
    # Whatever can be wrong is found before the log is read.
    check_parts(scenario)
    files = scenario.files | dict(more_files or {})
    digests = {name: Digest(path) for name, path in files.items()}
    engine = Ahead(lambda: scenario.preload(decisions=wanted.decisions), reader_is_loaded)
    clock = [time.perf_counter()]
    jobs = read_jobs(scenario, say)
    if folder is not None:
        check_run(
            folder,
            format=wanted.format,
            trajectory=wanted.trajectory,
            named=scenario.nodes is not None and scenario.nodes.is_named,
            classes=bool(wanted.by),
        )
    clock.append(time.perf_counter())
    engine.wait()
    others = Ahead(meanwhile or (lambda: None))
    with source.locating(scenario.blamed_files):
        result = scenario.run(
            jobs,
            record=wanted.trajectory and folder is not None,
            decisions=wanted.decisions,
            progress=progress,
        )
        clock.append(time.perf_counter())
        others.wait()
        summary = result.summary  # Energy and its cost are reckoned now.
    told = scenario.as_mapping() if options is None else options
    shas = {name: digest.hexdigest() for name, digest in digests.items()}
    origin = origin_of(scenario, jobs, files, shas, command, told)
    if result.cluster.report is not None:
        report = result.cluster.report.as_dict()
        origin.setdefault("cluster", {"path": scenario.keys.cluster.nodes, "sha256": None})
        origin["cluster"] |= {key: report[key] for key in ("kind", "rows", "repaired", "refused")}
        if gone := _left_out(report["remarks"]):
            origin["cluster"]["left_out"] = gone
    origin["scenario"] = scenario.digest_given(shas)
    origin["seconds"] = {"read": clock[1] - clock[0], "simulate": clock[2] - clock[1]}
    by = wanted.by or ()
    if folder is None:
        classes = {"classes": class_tables(result, by)} if by else {}
        return {**summary, **classes, "provenance": origin}
    return write_run(
        result,
        folder,
        format=wanted.format,
        trajectory=wanted.trajectory,
        by=by,
        extras=pictures(result) if wanted.plots and pictures is not None else {},
        origin=origin,
    )


def check_results(scenario: Scenario, folder: str | os.PathLike[str] | None) -> None:
    """Raise OptionError for what could not be written."""
    wanted, source = scenario.keys.run, scenario.source
    if folder is not None:
        check_folder(folder)
    elif wanted.plots:
        raise source.error(("run", "plots"), "draws into the folder of the results; give --out")
    elif wanted.decisions:
        raise source.error(
            ("run", "decisions"), "are written into the folder of the results; give --out"
        )


def check_parts(scenario: Scenario) -> None:
    """Make the policy, the placement, the control and the nodes; an error says of which key."""
    files = scenario.blamed_files
    for part, key in _PARTS.items():
        with scenario.source.locating(files, key):
            getattr(scenario, part)


def read_jobs(scenario: Scenario, say: Callable[[str], None] | None = None) -> Jobs:
    """Return the jobs of a scenario, for which there is a machine, a bill and every class."""
    source, files = scenario.source, scenario.blamed_files
    with source.locating(files, ("workload",)):
        jobs = scenario.workload()
    with source.locating(files, ("power", "starts")):
        _check_cost(scenario, jobs)
    with source.locating(files, ("run", "by")):
        for name in scenario.keys.run.by or ():
            check_known(jobs, name)
    with source.locating(files, ("cluster", "procs")):
        scenario.cluster_for(jobs)
    procs = scenario.keys.cluster.procs
    if say is not None and scenario.nodes is None:
        words = size_in_words(jobs, procs, source.name_of("cluster.procs"))
        if words:
            say(words)
    return jobs


def origin_of(
    scenario: Scenario,
    jobs: Jobs,
    files: Mapping[str, str],
    digests: Mapping[str, str | None],
    command: str,
    options: Mapping[str, Any],
) -> dict[str, Any]:
    """Return where results are from: the command, its options, and the files with their digests."""
    origin = provenance(command, dict(options), scenario.keys.run.seed) | {
        name: {"path": path, "sha256": digests[name]} for name, path in files.items()
    }
    origin.setdefault("input", {"model": scenario.keys.workload.model})
    origin["input"]["jobs"] = jobs.report.read
    return origin


def _left_out(remarks: list[dict[str, Any]]) -> list[str]:
    """What of a cluster's file does not count, each with its nodes."""
    return [
        f"{each['what']} ({each['example']})"
        for each in remarks
        if each["what"].endswith("left out") and each["example"]
    ]


def _check_cost(scenario: Scenario, jobs: Jobs) -> None:
    """Raise OptionError now for what could not be billed after the run."""
    power = scenario.keys.power
    if power.price is None and power.carbon is None and power.starts is None:
        return
    clock = Clock.of(jobs.header, power.starts)
    if power.carbon is not None:
        parse_carbon(scenario.files.get("carbon", power.carbon), clock)
