"""Measure speed, side by side in one run, and check results as well as times.

    make bench            everything, about fifteen minutes
    make bench ARGS=quick a tenth of the jobs, to see that all of it works
    make bench ARGS="--against PATH" beside the sources of an earlier version, where that matters

Each line says what was asked for and what was measured; a line that misses says so, and the exit
code is 1.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import asleep
import command
import engine
import numpy as np
import placements
import slurm_site
import study
import theory
from bare import bare_easy
from measure import DATA, RESULTS, console, fresh, kernel_time, note, rows
from rich.table import Table
from simpy_easy import simpy_easy

import sojourn

SERVERS = 256


def main() -> int:
    quick = "quick" in sys.argv[1:]
    n = 100_000 if quick else 1_000_000
    RESULTS.mkdir(exist_ok=True)
    sojourn_command = str(Path(sys.executable).parent / "sojourn")
    console.print(
        f"[bold]sojourn {sojourn.__version__}[/], {n:,} Lublin jobs, {SERVERS} processors"
    )

    console.print(
        "\n[bold]Right first[/]: the same schedule as a plain script, 10,000 jobs, load 0.8"
    )
    few = sojourn.lublin(10_000, SERVERS, load=0.8, seed=1)
    columns = few.submit, few.runtime, few.procs
    began = time.perf_counter()
    by_script = simpy_easy(*(c.tolist() for c in columns), SERVERS)
    script = time.perf_counter() - began
    few_time, run = kernel_time(few, SERVERS, repeat=9, estimates="exact")
    same = bool(np.array_equal(np.array(by_script, float), run.start))
    note("start times equal to a SimPy script's", f"{'all' if same else 'NOT'} 10,000", "all", same)
    note("a plain SimPy script, EASY", f"{len(few) / script:,.0f} jobs/s")

    console.print("\n[bold]EASY[/], load 0.8")
    many = sojourn.lublin(n, SERVERS, load=0.8, seed=1)
    log = RESULTS / f"lublin-{n}.swf"
    sojourn.write_swf(many, log)
    columns = many.submit, many.runtime, many.procs
    bare_easy(*(c[:10] for c in columns), SERVERS)
    began = time.perf_counter()
    by_bare = bare_easy(*columns, SERVERS)
    bare = time.perf_counter() - began
    easy, run = kernel_time(many, SERVERS, estimates="exact")
    same = bool(np.array_equal(by_bare, run.start))
    note("start times equal to the bare loop's", f"{'all' if same else 'NOT'} {n:,}", "all", same)
    note("a bare loop with no features", f"{n / bare / 1e6:.2f} M jobs/s")
    note("EASY kernel", f"{n / easy / 1e6:.2f} M jobs/s", ">= 2 M jobs/s", n / easy >= 2e6)
    note("  against the SimPy script", f"{script / len(few) / (easy / n):,.0f} x")

    import pandas as pd

    began = time.perf_counter()
    pd.read_csv(log, sep=r"\s+", comment=";", header=None)
    pandas_here = time.perf_counter() - began
    ratio = easy / pandas_here
    note("kernel against pandas.read_csv of the log", f"{ratio:.2f} x", "<= 0.5 x", ratio <= 0.5)
    command.measure(many, log, SERVERS, sojourn_command, quick)

    console.print("\n[bold]Growth[/]")
    ratio = (easy / n) / (few_time / len(few))
    note(f"cost per job at {n:,} against 10,000", f"{ratio:.2f} x", "<= 1.3 x", ratio <= 1.3)
    for size in (100_000, n // 2):
        piece, _ = kernel_time(many[:size], SERVERS, estimates="exact")
        note(f"  cost per job at {size:,}", f"{piece / size * 1e9:.0f} ns")
    # Half as many jobs again, so that the queue grows beyond 50,000.
    over = sojourn.lublin(n * 3 // 2, SERVERS, load=1.2, seed=1)
    slow, run = kernel_time(over, SERVERS, estimates="exact", record=False)
    longest = longest_queue(over.submit, run.start)
    ratio = (slow / len(over)) / (easy / n)
    note(
        f"cost per job overloaded (load 1.2, queue to {longest:,})",
        f"{ratio:.2f} x",
        "<= 5 x",
        ratio <= 5 and (quick or longest > 50_000),
    )

    console.print("\n[bold]Control and backfilling[/], against EASY at constant rate")
    control = "workload:1.0,1.33:1e5:3e5"
    controlled, run = kernel_time(many, SERVERS, estimates="exact", rate=control)
    constant, _ = kernel_time(many, SERVERS, estimates="exact", rate=1.0)
    ratio = controlled / constant
    switches = len(run.rows("epoch_time"))
    note(f"workload hysteresis, {switches:,} switches", f"{ratio:.2f} x", "<= 1.5 x", ratio <= 1.5)
    recorded, _ = kernel_time(many, SERVERS, estimates="exact", record=True)
    note("recording the trajectory", f"{recorded / easy:.2f} x")
    conservative, _ = kernel_time(many, SERVERS, policy="conservative", estimates="exact", repeat=2)
    ratio = conservative / easy
    note("conservative, exact estimates", f"{ratio:.2f} x", "<= 20 x", ratio <= 20)
    guessed = sojourn.apply_estimates(many, "tsafrir", seed=1)
    user, _ = kernel_time(guessed, SERVERS, estimates="user")
    note("EASY, user estimates", f"{user / easy:.2f} x")
    conservative, _ = kernel_time(
        guessed, SERVERS, policy="conservative", estimates="user", repeat=1
    )
    note("conservative, user estimates", f"{conservative / user:.2f} x EASY's")
    for policy in ("fcfs", "first-fit", "sjf+easy", "easy-sjbf", "fcfs+easy:4", "lcfs-pr", "spf"):
        taken, _ = kernel_time(many, SERVERS, policy=policy, estimates="exact", repeat=1)
        note(f"  {policy}", f"{taken / easy:.2f} x")

    ricc = DATA / "swf" / "RICC-2010-2.swf.gz"
    if ricc.exists() and not quick:
        console.print("\n[bold]A real log[/]: RICC, 447,794 jobs, 8,192 processors")
        jobs = sojourn.read_swf(ricc)
        for policy in ("fcfs", "first-fit", "easy", "easy-sjbf", "fcfs+easy:4", "conservative"):
            for estimates in ("exact", "user"):
                taken, run = kernel_time(jobs, 8192, policy, repeat=1, estimates=estimates)
                wait = float(np.mean(run.start - run.jobs.submit))
                note(
                    f"  {policy}, {estimates} estimates",
                    f"{taken:.2f} s",
                    f"mean wait {wait:,.0f} s",
                )

    engine.measure(quick, earlier_version(sys.argv[1:]))
    asleep.measure(quick)
    placements.measure(quick)
    slurm_site.measure()
    theory.measure(quick)
    study.measure(quick)

    console.print("\n[bold]Starting[/]")
    imports, _ = fresh([sys.executable, "-c", "import numba, pandas"], 5)
    small = RESULTS / "small.swf"
    sojourn.write_swf(few[:1000], small)
    with tempfile.TemporaryDirectory() as folder:
        out = ["--procs", str(SERVERS), "--out", folder + "/run", "--json"]
        warm, _ = fresh([sojourn_command, "simulate", str(small), *out], 5)
        ratio = warm / imports
        note(
            "simulate 1,000 jobs, warm, against 'import numba, pandas'",
            f"{warm:.2f} s / {imports:.2f} s = {ratio:.2f} x",
            "<= 4 x",
            ratio <= 4,
        )
        environment = {**os.environ, "SOJOURN_CACHE_DIR": folder}
        began = time.perf_counter()
        subprocess.run(
            [sojourn_command, "simulate", str(small), *out],
            env=environment,
            check=True,
            capture_output=True,
        )
        note("the same with nothing compiled yet", f"{time.perf_counter() - began:.1f} s")
    help_time, _ = fresh([sojourn_command, "--help"], 5)
    listed = """
import runpy, sys
sys.argv = ["sojourn", "--help"]
try:
    runpy.run_module("sojourn", run_name="__main__")
except SystemExit:
    pass
assert not {"numba", "pandas"} & set(sys.modules)
"""
    clean = subprocess.run([sys.executable, "-c", listed], capture_output=True).returncode == 0
    note(
        f"--help ({help_time:.2f} s) imports neither numba nor pandas",
        "true" if clean else "FALSE",
        "true",
        clean,
    )

    summary = Table(title="asked for, and measured")
    for heading in ("what", "wanted", "measured", ""):
        summary.add_column(heading)
    for row in rows:
        if row["ok"] is not None:
            verdict = "met" if row["ok"] else "missed"
            summary.add_row(row["what"].strip(), row["wanted"], row["measured"], verdict)
    console.print(summary)
    (RESULTS / "bench.json").write_text(json.dumps(rows, indent=1))
    console.print(f"rows in {RESULTS / 'bench.json'}")
    return int(any(row["ok"] is False for row in rows))


def earlier_version(given: list[str]) -> Path | None:
    """The checkout after ``--against``."""
    return Path(given[given.index("--against") + 1]) if "--against" in given else None


def longest_queue(submit, start) -> int:
    """Largest number of jobs that wait at once."""
    times = np.concatenate([submit, start])
    steps = np.concatenate([np.ones(len(submit), np.int64), -np.ones(len(start), np.int64)])
    order = np.lexsort((steps, times))
    return int(np.cumsum(steps[order]).max())


if __name__ == "__main__":
    sys.exit(main())
