"""Jobs with checkpoints under a Poisson process of failures: the engine against the exact mean."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

import sojourn
from sojourn.policy import Checkpoint
from sojourn.theory import checkpoint_interval, expected_completion, expected_runtime

JOBS = 250
SETS = [
    (work, every, dump, mtbf, restore)
    for work, (every, dump), mtbf, restore in itertools.product(
        (1000.0, 3000.0), ((250.0, 10.0), (400.0, 40.0), ("daly", 20.0)),
        (700.0, 2000.0, 9000.0), (0.0, 60.0),
    )
]  # fmt: skip
# One stretch, which begins anew.
SETS += [(work, 5000.0, 5.0, mtbf, 60.0) for work in (1000.0, 3000.0) for mtbf in (2000.0, 9000.0)]


def completions(work, every, dump, mtbf, restore, seed):
    """Ends of independent jobs, each struck by failures of its own; nodes are back at once."""
    source = np.random.default_rng(seed)
    rows = []
    for job in range(1, JOBS + 1):
        # Far beyond what the slowest of them need.
        horizon = 12 * expected_completion(work, every, dump, mtbf, restore)
        times = np.cumsum(source.exponential(mtbf, int(2 * horizon / mtbf) + 20))
        rows += [{"time": time, "kind": "down", "job": job} for time in times[times < horizon]]
    jobs = sojourn.Jobs({"submit": [0.0] * JOBS, "runtime": [work] * JOBS, "procs": [1] * JOBS})
    rule = Checkpoint(every, dump, restore)
    return sojourn.simulate(jobs, JOBS, "fcfs", events=rows, checkpoint=rule).end


def test_mean_times_to_the_end_are_those_of_theory():
    missed = []
    for seed, (work, given, dump, mtbf, restore) in enumerate(SETS):
        every = round(checkpoint_interval(dump, mtbf)) if given == "daly" else given
        ends = completions(work, every, dump, mtbf, restore, seed)
        error = stats.t.ppf(0.995, JOBS - 1) * ends.std(ddof=1) / math.sqrt(JOBS)
        exact = expected_completion(work, every, dump, mtbf, restore)
        if abs(ends.mean() - exact) > error:
            missed.append((work, every, dump, mtbf, restore, ends.mean(), exact, error))
    assert len(SETS) >= 20
    assert len(missed) <= 0.03 * len(SETS), missed


def test_daly_s_formula_is_the_one_with_equal_stretches():
    """It restores before the first one, too, and dumps at the end."""
    work, tau, dump, m, restore = 3000.0, 300.0, 30.0, 1000.0, 60.0
    stretch = m * math.expm1((tau + dump) / m)
    difference = (math.exp(restore / m) - 1) * stretch
    ours = expected_completion(work, tau, dump, m, restore, at_end=True)
    assert ours + difference == pytest.approx(expected_runtime(work, tau, dump, m, restore))


def test_without_failures_it_is_work_and_dumps():
    assert expected_completion(600, 60, 1, 1e15) == pytest.approx(609, rel=1e-3)
    assert expected_completion(600, 60, 1, 1e15, at_end=True) == pytest.approx(610, rel=1e-3)
    assert expected_completion(50, 60, 1, 1e3) == pytest.approx(1e3 * math.expm1(0.05))


def test_the_interval_of_daly_is_a_good_one():
    """In the engine, too, neither a third of it nor three times as much does better."""
    work, dump, mtbf, restore = 20_000.0, 60.0, 4000.0, 60.0
    best = round(checkpoint_interval(dump, mtbf))
    mean = {
        every: completions(work, float(every), dump, mtbf, restore, 7).mean()
        for every in (best // 3, best, 3 * best)
    }
    assert mean[best] < min(mean[best // 3], mean[3 * best])
