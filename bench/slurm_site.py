"""A week of a university cluster under the model of Slurm, at its own depths."""

from __future__ import annotations

import time

from measure import DATA, console, kernel_time, note

import sojourn

WANTED = 10_000


def measure() -> None:
    """Note jobs per second of the compiled loop, in processor time."""
    folder = DATA / "slurm-site"
    if not folder.is_dir():
        return
    console.print("\n[bold]Slurm[/], 217 nodes with GPUs, a week, bf_max_job_test=2500")
    jobs = sojourn.read_log(folder / "workload_week.events.gz")
    policy = sojourn.slurm(folder / "slurm.conf")
    seconds, run = kernel_time(jobs, None, policy, repeat=3, clock=time.process_time, clean=())
    rate = len(jobs) / seconds
    note("the model of Slurm", f"{rate:,.0f} jobs/s", f">= {WANTED:,} jobs/s", rate >= WANTED)
    note("  its backfill loop started", f"{int((run.discipline.by == 2).sum()):,} jobs")
