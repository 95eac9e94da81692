"""The whole command beside a fresh process in which pandas reads the same log, in turns."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow.parquet as pq
from measure import note

import sojourn

LARGEST_RATIO = 1.6
LARGEST_MEMORY = 700.0  # MB


class Cost(NamedTuple):
    """What a fresh process took: s on the clock, s of all processors, MB at its peak."""

    wall: float
    cpu: float
    peak: float


def measure(jobs, log: Path, servers: int, command: str, quick: bool) -> None:
    """Measure `sojourn simulate` of an SWF log, and check what it writes.

    The two processes take turns, so that whatever else the machine does strikes both alike; the
    ratios are those of the medians, on the clock and in processor time.
    """
    read = f"import pandas as pd; pd.read_csv(r'{log}', sep=r'\\s+', comment=';', header=None)"
    reading, whole = [], []
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "run")
        given = ["--procs", str(servers), "--policy", "easy", "--estimates", "exact"]
        simulate = [command, "simulate", str(log), *given, "--out", str(out), "--json"]
        fresh(simulate)  # Compiles what is not compiled, and writes bytecode.
        for _ in range(3 if quick else 7):
            reading.append(fresh([sys.executable, "-c", read]))
            whole.append(fresh(simulate))
        same = is_right(jobs, out, servers)
    pandas, ours = middle(reading), middle(whole)
    ratio, in_cpu = ours.wall / pandas.wall, ours.cpu / pandas.cpu
    # In a small run it is the imports of both that are measured.
    met = None if quick else ratio <= LARGEST_RATIO
    note(
        "whole command against a fresh pandas.read_csv of the log",
        f"{ours.wall:.2f} s / {pandas.wall:.2f} s = {ratio:.2f} x",
        f"<= {LARGEST_RATIO} x",
        met,
    )
    note("  in processor time", f"{ours.cpu:.2f} s / {pandas.cpu:.2f} s = {in_cpu:.2f} x")
    note("  its files are the run's, its summary that of the file", str(same), "True", same)
    met = ours.peak <= LARGEST_MEMORY
    note("peak memory of the whole command", f"{ours.peak:,.0f} MB", "<= 700 MB", met)


def fresh(command: list[str]) -> Cost:
    """Run a process as users do, with the bytecode of modules kept."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    began = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment)
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - began
    if status:
        raise SystemExit(f"failed: {command}")
    return Cost(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def middle(costs: list[Cost]) -> Cost:
    return Cost(*(statistics.median(values) for values in zip(*costs, strict=True)))


def is_right(jobs, out: Path, servers: int) -> bool:
    """Whether the files hold the schedule that the same jobs have in this process."""
    start = sojourn.simulate(jobs, servers, "easy", estimates="exact").start
    table = pq.read_table(out / "jobs.parquet")
    summary = json.loads((out / "summary.json").read_text())
    wait = table["wait"].to_numpy()
    return bool(
        np.array_equal(table["start"].to_numpy(), start)
        and np.isclose(summary["wait"]["mean"], wait.mean(), rtol=1e-12)
        and summary["jobs"] == table.num_rows == len(jobs)
    )
