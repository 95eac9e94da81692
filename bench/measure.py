"""What all measurements share: best times, fresh processes, and the list of results."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

from rich.console import Console

try:
    from sojourn.run.simulate import prepare
except ImportError:
    # An earlier version, beside which ours is measured.
    from sojourn.simulation import prepare

DATA = Path(os.environ.get("SOJOURN_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
RESULTS = Path(__file__).resolve().parent / "results"

console = Console(width=130)
rows: list[dict] = []


def note(what: str, measured: str, wanted: str = "", ok: bool | None = None) -> None:
    mark = {True: "[green]met[/]", False: "[red]missed[/]", None: ""}[ok]
    rows.append({"what": what, "measured": measured, "wanted": wanted, "ok": ok})
    console.print(f"  {what:<58} {measured:>24}  {wanted:<22} {mark}")


def kernel_time(jobs, cluster, policy="easy", repeat=3, clock=time.perf_counter, **options):
    """Best time of the compiled loop alone, and the run."""
    best = float("inf")
    for _ in range(repeat):
        run, _ = prepare(jobs, cluster, policy, **options)
        began = clock()
        run.to_the_end()
        best = min(best, clock() - began)
    return best, run


def fresh(code_or_command, repeat=3):
    """Best wall time of a fresh process, and its peak memory in MB."""
    best, peak = float("inf"), 0.0
    for _ in range(repeat):
        began = time.perf_counter()
        done = subprocess.Popen(code_or_command, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(done.pid, 0)
        best = min(best, time.perf_counter() - began)
        peak = max(peak, usage.ru_maxrss / 1024)
        if status:
            raise SystemExit(f"failed: {code_or_command}")
    return best, peak
