"""Memory goes by jobs, not by processors: a machine of any width is as good as a small one."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import sojourn

WIDTH = 2_000_000_000
POLICIES = (
    *("fcfs", "first-fit", "easy", "easy@sjf", "easy:4", "conservative", "wfp3+easy"),
    *("sjf+easy", "lpf", "lcfs-pr"),
)


@pytest.mark.parametrize("policy", POLICIES)
def test_memory_goes_by_jobs(policy: str) -> None:
    jobs = sojourn.lublin(10, 64, load=0.7, seed=1)
    sojourn.simulate(jobs, 64, policy)
    tracemalloc.start()
    try:
        sojourn.simulate(jobs, WIDTH, policy, record=True)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 20e6


@pytest.mark.parametrize("policy", POLICIES)
def test_width_changes_nothing_but_the_unit(policy: str) -> None:
    """Every job and the machine a million times as wide: the same schedule."""
    rng = np.random.default_rng(3)
    n, servers, unit = 300, 2_000, 1_000_000
    runtime = rng.integers(1, 100, n).astype(float)
    narrow = sojourn.Jobs(
        {
            "submit": np.sort(rng.integers(0, 2_000, n)).astype(float),
            "runtime": runtime,
            "estimate": runtime * rng.integers(1, 4, n),
            "procs": rng.integers(1, servers + 1, n),
        }
    )
    wide = narrow.replace(procs=narrow.procs * unit)
    starts = [
        sojourn.simulate(jobs, width, policy).start.tolist()
        for jobs, width in ((narrow, servers), (wide, servers * unit))
    ]
    assert starts[0] == starts[1]
