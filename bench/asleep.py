"""Nodes that sleep, under a cap: speed beside the same jobs without either, on two real logs.

    python bench/asleep.py [quick]

Times are those of a thread, the best of turns: of a whole run with its summary and its bill, and of
the compiled loop alone. Every run checks its cap.
"""

from __future__ import annotations

import sys
import time
from typing import Any

from measure import DATA, console, kernel_time, note

import sojourn
from sojourn.cluster import Cluster, Server
from sojourn.cluster.states import PowerStates, SleepState

LOGS = {"KTH-SP2-1996-2": (100, 1), "RICC-2010-2": (1024, 8)}
WANTED = 0.5
OFF = SleepState("off", 9.75, enter=6.1, enter_watts=100.997, leave=151.52, leave_watts=125.17)
IDLE, BUSY = 95.0, 190.738


def run_time(jobs: sojourn.Jobs, machine: Cluster, **options: Any) -> tuple[float, dict]:
    """Best time of a run with all that its summary says, and the summary."""
    best, summary = float("inf"), {}
    for _ in range(4):
        began = time.thread_time()
        summary = sojourn.simulate(jobs, machine, "easy", **options).summary
        best = min(best, time.thread_time() - began)
    return best, summary


def measure(quick: bool) -> None:
    """Measure both logs, or the beginning of each."""
    console.print("\n[bold]Sleep and a cap[/]: EASY on named nodes, user estimates")
    for name, (count, cores) in LOGS.items():
        path = DATA / "swf" / f"{name}.swf.gz"
        if not path.exists():
            continue
        jobs = sojourn.read_swf(path)
        jobs = jobs[: len(jobs) // 10] if quick else jobs
        server = Server("node", cores, 1000.0 * cores, (IDLE, BUSY), states=PowerStates((OFF,)))
        machine = Cluster.of([server] * count)
        both = {"sleep": "idle:600", "cap": 0.8 * count * BUSY}
        alone, _ = run_time(jobs, machine)
        taken, summary = run_time(jobs, machine, **both)
        share = alone / taken
        good = None if quick else share >= WANTED
        note(f"  {name}, sleep and a cap at 80 %", f"{share:.2f} x", f">= {WANTED} x", good)
        alone, taken = (
            kernel_time(jobs, machine, estimates="user", clock=time.thread_time, **options)[0]
            for options in ({}, both)
        )
        note("    the compiled loop alone", f"{alone / taken:.2f} x")
        seconds = summary["caps"]["cluster"]["exceeded_seconds"]
        note("    cap exceeded", f"{seconds:g} s", "0 s", seconds == 0)


if __name__ == "__main__":
    measure("quick" in sys.argv[1:])
