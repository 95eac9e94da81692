"""Checkpoints: the intervals of Young and Daly, and a job that failures strike."""

import math
import random

import pytest
from scipy.optimize import minimize_scalar

from sojourn import OptionError
from sojourn.theory import checkpoint_interval, expected_runtime


def test_young_by_hand():
    assert checkpoint_interval(50.0, 10_000.0, rule="young") == pytest.approx(1000.0)


@pytest.mark.parametrize("mtbf", [3_600.0, 86_400.0, 31_536_000.0])
@pytest.mark.parametrize("dump", [1.0, 60.0, 600.0])
def test_daly_is_near_the_best_interval(dump, mtbf):
    best = minimize_scalar(
        lambda tau: expected_runtime(1.0, tau, dump, mtbf),
        bounds=(1e-3, 5 * mtbf),
        method="bounded",
    )
    daly = expected_runtime(1.0, checkpoint_interval(dump, mtbf), dump, mtbf)
    assert daly <= best.fun * 1.001
    young = expected_runtime(1.0, checkpoint_interval(dump, mtbf, rule="young"), dump, mtbf)
    assert daly <= young * (1 + 1e-9)


def test_a_dump_longer_than_failures_allow():
    assert checkpoint_interval(500.0, 200.0) == 200.0


def test_a_job_that_failures_strike():
    work, tau, dump, mtbf, restore = 3_000.0, 300.0, 30.0, 1_000.0, 60.0
    draw = random.Random(3)
    total, runs = 0.0, 20_000
    for _ in range(runs):
        now, done = 0.0, 0
        strike = draw.expovariate(1 / mtbf)
        while done < work / tau:
            end = now + tau + dump
            while strike < end:
                # Lost work, then a restore that may itself be struck.
                now = strike
                strike = now + draw.expovariate(1 / mtbf)
                while strike < now + restore:
                    now = strike
                    strike = now + draw.expovariate(1 / mtbf)
                now += restore
                end = now + tau + dump
            now, done = end, done + 1
        total += now
    assert total / runs == pytest.approx(expected_runtime(work, tau, dump, mtbf, restore), rel=0.01)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: checkpoint_interval(0.0, 1.0), "dump"),
        (lambda: checkpoint_interval(1.0, -1.0), "mtbf"),
        (lambda: checkpoint_interval(1.0, 1.0, rule="often"), "rule"),
        (lambda: expected_runtime(10.0, 1e9, 1.0, 1.0), "never ends"),
        (lambda: expected_runtime(10.0, math.nan, 1.0, 1.0), "interval"),
    ],
)
def test_bad_values_are_one_line(call, words):
    with pytest.raises(OptionError, match=words):
        call()
