"""One run from beginning to end, as ``simulate`` and ``peas`` do it."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _options as o
from ._machine import Machine

if TYPE_CHECKING:
    from ..policy import Policy

__all__ = ["Plan", "carry_out", "input_files"]


@dataclass(frozen=True)
class Plan:
    """A run as a command describes it.

    Parameters
    ----------
    command : name of the verb.
    given : every option by name, for the provenance.
    log : the job log.
    policy, placement : of the scheduler.
    reading, running, machine, results : groups of options.
    config : configuration file that some options are from.
    """

    command: str
    given: dict[str, Any]
    log: Path
    policy: Policy
    placement: str
    reading: o.LogOptions
    running: o.RunOptions
    machine: Machine
    results: o.Results
    config: Path | None = None

    def options(self) -> dict[str, Any]:
        """Return the options of the run as `simulate` takes them."""
        results = self.results
        return {
            **self.running.options(),
            **self.machine.options(),
            "placement": self.placement,
            "record": results.trajectory and results.out is not None,
            "decisions": results.debug,
            "clean": (),
        }


def carry_out(plan: Plan) -> dict[str, Any]:
    """Read, simulate and write; return the summary with its provenance."""
    from ..output import Digest
    from ..workload.intake import CLEANED, simulated
    from ._ahead import Ahead, load_engine, load_writers, reader_is_loaded

    results, machine = plan.results, plan.machine
    results.check()
    chosen = plan.options()
    files = input_files(
        plan.log,
        machine,
        plan.running,
        orders=[plan.given.get("policy_file") or ""],
        placements=[plan.placement],
        config=plan.config,
    )
    digests = {name: Digest(path) for name, path in files.items()}
    rate, flags = plan.running.rate, {"decisions": results.debug}
    flags["events"] = plan.running.events is not None
    engine = Ahead(
        lambda: load_engine(plan.policy, rate, machine.cluster, **flags),
        reader_is_loaded,
    )
    clock = [time.perf_counter()]
    whole = results.format == "swf" or plan.running.events is not None
    jobs = plan.reading.read(plan.log, None if whole else CLEANED)
    jobs, events = plan.running.take_events(jobs, **plan.reading.clock())
    machine.cost.check(jobs)
    cluster = machine.for_jobs(jobs)
    jobs = plan.reading.clean(jobs, cluster.procs)
    by = results.classes
    results.check_classes(jobs)
    if results.out is not None:
        from ..output import check_run

        check_run(
            results.out,
            format=results.format,
            trajectory=results.trajectory,
            named=cluster.is_named,
            classes=bool(by),
        )
    if results.format != "swf":
        jobs = simulated(jobs, copy=False)
    clock.append(time.perf_counter())
    engine.wait()

    from ..output import class_tables, provenance, write_run
    from ..simulation import simulate
    from ._pictures import overview_of
    from ._progress import progress

    writers = Ahead(lambda: load_writers(files=results.out is not None, tables=not results.json))
    with progress(str(plan.policy)) as report:
        result = simulate(jobs, cluster, plan.policy, progress=report, **chosen, **events)
    clock.append(time.perf_counter())
    writers.wait()

    origin = provenance(plan.command, plan.given, plan.running.seed) | {
        name: {"path": str(path), "sha256": digests[name].hexdigest()}
        for name, path in files.items()
    }
    origin["input"]["jobs"] = jobs.report.read
    if cluster.report is not None:
        told = cluster.report.as_dict()
        origin["cluster"] |= {key: told[key] for key in ("kind", "rows", "repaired", "refused")}
        gone = [
            f"{each['what']} ({each['example']})"
            for each in told["remarks"]
            if each["what"].endswith("left out") and each["example"]
        ]
        if gone:
            origin["cluster"]["left_out"] = gone
    origin["seconds"] = {"read": clock[1] - clock[0], "simulate": clock[2] - clock[1]}
    if results.out is None:
        classes = {"classes": class_tables(result, by)} if by else {}
        return {**result.summary, **classes, "provenance": origin}
    return write_run(
        result,
        results.out,
        format=results.format,
        trajectory=results.trajectory,
        by=by,
        extras=overview_of(result) if results.plots else {},
        origin=origin,
    )


def input_files(
    log: Path,
    machine: Machine,
    running: o.RunOptions,
    *,
    orders: Iterable[str] = (),
    placements: Iterable[str] = (),
    config: Path | None = None,
) -> dict[str, str | Path]:
    """Return the files that runs depend on, by what they are, as ``files_of`` of a scenario does.

    Parameters
    ----------
    log, machine, running, config : as in `Plan`.
    orders, placements : names; those of the form ``FILE.py:NAME`` are in files.
    """
    carbon, cluster = machine.cost.carbon, machine.name
    found = {"input": log, "cluster": cluster, "config": config, "events": running.events}
    if cluster is not None and cluster.lower().endswith(".toml"):
        # Only here: the keys of scenarios take long to import.
        from ..study.inputs import servers_of

        found["servers"] = servers_of(cluster)
    elif cluster is not None and cluster.lower().endswith(".conf"):
        from ..cluster.slurm import files_beside

        found |= files_beside(cluster)
    if isinstance(carbon, str) and isinstance(o.number_or_text(carbon), str):
        found["carbon"] = carbon
    for name, given in (("order", orders), ("placement", placements)):
        paths = dict.fromkeys(text.rpartition(":")[0] for text in given if ".py:" in text)
        for count, path in enumerate(paths, 1):
            from ..study.inputs import module_files

            found[numbered := name if count == 1 else f"{name} {count}"] = path
            found |= module_files(numbered, path)
    return {name: path for name, path in found.items() if path is not None}
