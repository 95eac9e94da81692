"""One run of a scenario from beginning to end."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from typing import Any

from ..cost import Clock, parse_carbon
from ..output import Digest, Write, check_folder, check_run, class_tables, provenance, write_run
from ..result import Result
from ..workload import Jobs
from ..workload.classes import check_known
from ._blame import blaming
from ._lines import Path
from .scenario import Scenario

__all__ = ["run_scenario"]

# What is made before the log is read, and the key to blame where nothing else tells.
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
    """Run a scenario, and write to a folder what ``sojourn simulate`` writes.

    Parameters
    ----------
    scenario : what to run; its table ``run`` says with which seed and what is written.
    folder : for the results; None: nothing is written.
    pictures : of a result, files by name and what draws each; asked where ``run.plots`` is set.
    progress : called with (jobs arrived, jobs) from time to time.

    Returns
    -------
    dict
        The summary with its provenance, as in ``summary.json``.

    Raises
    ------
    OptionError
        With the file, line and key of the scenario that it is about.
    """
    wanted, source = scenario.keys.run, scenario.source
    if folder is not None:
        check_folder(folder)
    elif wanted.plots:
        raise source.error(("run", "plots"), "draws into the folder of the results; give --out")
    elif wanted.decisions:
        raise source.error(
            ("run", "decisions"), "are written into the folder of the results; give --out"
        )
    by, files = wanted.by or (), scenario.files
    # Whatever can be wrong is found before the log is read.
    for part, key in _PARTS.items():
        with blaming(source, files, key):
            getattr(scenario, part)
    digests = {name: Digest(path) for name, path in files.items()}
    clock = [time.perf_counter()]
    with blaming(source, files, ("workload",)):
        jobs = scenario.workload()
    with blaming(source, files, ("power", "starts")):
        _check_cost(scenario, jobs)
    with blaming(source, files, ("run", "by")):
        for name in by:
            check_known(jobs, name)
    if folder is not None:
        check_run(
            folder,
            format=wanted.format,
            trajectory=wanted.trajectory,
            named=scenario.nodes is not None and scenario.nodes.is_named,
            classes=bool(by),
        )
    clock.append(time.perf_counter())
    with blaming(source, files):
        result = scenario.run(
            jobs,
            record=wanted.trajectory and folder is not None,
            decisions=wanted.decisions,
            progress=progress,
        )
    clock.append(time.perf_counter())
    with blaming(source, files):  # Energy and its cost are reckoned now.
        summary = result.summary
    origin = provenance("run", scenario.as_mapping(), wanted.seed) | {
        name: {"path": path, "sha256": digests[name].hexdigest()} for name, path in files.items()
    }
    origin.setdefault("input", {"model": scenario.keys.workload.model})
    origin["input"]["jobs"] = jobs.report.read
    if result.cluster.report is not None:
        told = result.cluster.report.as_dict()
        origin.setdefault("cluster", {"path": scenario.keys.cluster.nodes, "sha256": None})
        origin["cluster"] |= {key: told[key] for key in ("kind", "rows", "repaired", "refused")}
    origin["scenario"] = scenario.digest
    origin["seconds"] = {"read": clock[1] - clock[0], "simulate": clock[2] - clock[1]}
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


def _check_cost(scenario: Scenario, jobs: Jobs) -> None:
    """Raise OptionError now for what could not be billed after the run."""
    power = scenario.keys.power
    if power.price is None and power.carbon is None and power.starts is None:
        return
    clock = Clock.of(jobs.header, power.starts)
    if power.carbon is not None:
        parse_carbon(scenario.files.get("carbon", power.carbon), clock)
