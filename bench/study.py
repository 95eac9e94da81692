"""Studies: overhead of a run, gain of a second process, and what a large study takes.

    python bench/study.py [quick]

The gain of a second process is in wall time, for which the machine must be left alone. Overhead is
in processor time; with two processes it is twice the wall time, whatever they waited for.
"""

from __future__ import annotations

import pickle
import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from measure import DATA, console, kernel_time, note, rows

from sojourn.study import Scenario, sweep
from sojourn.study.execute import DONE, Bundle, Worker
from sojourn.study.grid import Grid
from sojourn.study.plan import plan_runs
from sojourn.study.processes import Processes

SMALL = {
    "workload": {"model": "lublin", "jobs": 1000, "load": 0.7},
    "cluster": {"procs": 128},
    "control": {"kind": "threshold", "rates": [0.8, 1.0], "k": 1e5},
}
RICC = {
    "workload": {"log": str(DATA / "swf" / "RICC-2010-2.swf.gz"), "resample": "week"},
    "policy": {"name": "easy"},
}


def main() -> int:
    quick = "quick" in sys.argv[1:]
    measure(quick)
    return 1 if any(row["ok"] is False for row in rows) else 0


def measure(quick: bool = False) -> None:
    """Everything; `quick` with a tenth of the runs."""
    console.print("\n[bold]Studies[/]")
    overhead(50 if quick else 500)
    # Few runs tell nothing of processes that have to be started: only whether it works.
    gain(20 if quick else 200, 10_000 if quick else 100_000, judged=not quick)
    if Path(RICC["workload"]["log"]).exists():
        large(2 if quick else 5)


def timed_sweep(scenario: Scenario, grid: dict, replications: int, **where):
    with tempfile.TemporaryDirectory() as folder:
        began, used = time.perf_counter(), time.process_time()
        study = sweep(scenario, grid, replications, out=Path(folder) / "study", **where)
        seconds = time.perf_counter() - began
    assert study.done == len(study.plan) == study.new
    return seconds, time.process_time() - used, study


def kernel_seconds(scenario: Scenario, jobs) -> float:
    cluster = scenario.cluster_for(jobs)
    return kernel_time(
        *(jobs, cluster, scenario.policy),
        repeat=9,
        clock=time.process_time,
        rate=scenario.control,
        clean=(),
    )[0]


def overhead(points: int) -> None:
    """Small runs: what is not the kernel, with everything from planning to the last file."""
    scenario = Scenario.from_mapping(SMALL)
    grid = {"control.k": (1e3 * np.arange(points)).tolist()}
    kernel = kernel_seconds(scenario, scenario.workload(0))
    timed_sweep(scenario, {"control.k": [0.0]}, 2, workers=1)
    tables = {}
    for workers in (1, 2):
        seconds, used, study = timed_sweep(scenario, grid, 20, workers=workers)
        tables[workers] = study.table
        runs = len(study.plan)
        extra = 1e3 * ((used if workers == 1 else workers * seconds) / runs - kernel)
        what = f"{runs:,} runs of 1,000 jobs, {workers} process{'es' if workers > 1 else ''}"
        note(what, f"{seconds:.1f} s, {1e3 * seconds / runs:.2f} ms each")
        ok = extra <= 5 if workers == 1 or runs >= 10_000 else None
        note("  overhead beyond the kernel", f"{extra:.2f} ms a run", "<= 5 ms", ok)
    note("  the same rows", str(tables[1].equals(tables[2])), "True", tables[1].equals(tables[2]))


def gain(runs: int, jobs: int, *, judged: bool) -> None:
    """Long runs: how much faster two processes are, with their start and when they are there."""
    scenario = Scenario.from_mapping(SMALL).with_value("workload.jobs", jobs)
    grid = {"control.k": (1e4 * np.arange(10)).tolist()}
    serial, _, one = timed_sweep(scenario, grid, runs // 10, workers=1)
    note(f"{runs} runs of {jobs:,} jobs, in this process", f"{serial:.1f} s")
    whole, _, two = timed_sweep(scenario, grid, runs // 10, workers=2)
    plan = plan_runs(scenario, Grid.of(grid), runs // 10)
    with Processes(Bundle.of(scenario, plan.keys), 2) as processes:
        while not processes.is_ready():
            time.sleep(0.01)
        began = time.perf_counter()
        rows_of = [row for batch in processes.run(plan.runs) for row in batch]
        ready = time.perf_counter() - began
    assert {row["status"] for row in rows_of} == {DONE}
    for what, seconds in (("on 2 processes, their start included", whole), ("started", ready)):
        ratio = serial / seconds
        ok = ratio >= 1.7 if judged else None
        note(f"  {what}", f"{seconds:.1f} s, {ratio:.2f} x", ">= 1.7 x", ok)
    same = one.table.equals(two.table)
    note("  the same rows", str(same), "True", same)


def large(replications: int) -> None:
    """What a study of RICC's log is made of, run by run, in processor time."""
    scenario = Scenario.from_mapping(RICC)
    began = time.process_time()
    bundle = Bundle.of(scenario, ("policy.name",))
    read = time.process_time() - began
    size = len(pickle.dumps(bundle, protocol=5))
    note(f"RICC, {len(bundle.log):,} jobs: read and cleaned once", f"{read:.2f} s")
    note("  sent to each worker", f"{size / 1e6:.0f} MB")
    worker = Worker(bundle)
    grid = Grid.of({"policy.name": ["easy"]})
    plan = plan_runs(scenario, grid, replications + 1)
    took, drawn, summed = [], [], []
    for run in plan.runs:
        began = time.process_time()
        jobs = scenario.with_log(bundle.log).workload(run.seed)
        drawn.append(time.process_time() - began)
        result = scenario.run(jobs, run.seed)
        began = time.process_time()
        scenario.summary(result)
        summed.append(time.process_time() - began)
        del jobs, result
        began = time.process_time()
        assert worker.run(run)["status"] == "done"
        took.append(time.process_time() - began)
    note(
        "  one run, drawn anew", f"{np.median(took[1:]):.2f} s ({min(took):.2f} to {max(took):.2f})"
    )
    note("    of that drawing blocks", f"{np.median(drawn[1:]):.2f} s")
    note("    of that the summary", f"{np.median(summed[1:]):.2f} s")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    note("  memory of a process, at most", f"{peak:,.0f} MB")


if __name__ == "__main__":
    sys.exit(main())
