"""The engine equals the oracle: every discipline with every control, on one workload each.

With integer times at rates 1, 2 and 1/2 all clocks are exact in floats, so everything must be
equal to the last bit, ties included. Other rates round; there no two events of the workload
meet, and 1e-9 is asked for.
"""

from __future__ import annotations

import os

import pytest
from hypothesis import given, settings
from oracle.strategies import (
    Thresholds,
    Workload,
    coins,
    count_thresholds,
    jittered,
    workload_thresholds,
    workloads,
)

from .cast import CONSTANT, PAIRS, switching
from .harness import compare

EXAMPLES = int(os.environ.get("SOJOURN_EXAMPLES", "2000"))
NIGHTLY_EXAMPLES = 100_000
JOBS = 12
TWO, THREE = (0.75, 1.25), (0.75, 1.25, 2.5)


def agree_on_integers(name: str, examples: int) -> None:
    pair = PAIRS[name]

    @settings(max_examples=examples)
    @given(workloads(JOBS, min_plan=pair.min_plan))
    def agree(drawn: Workload) -> None:
        jobs, servers = drawn.jobs, drawn.servers
        for speed in CONSTANT.values():
            compare(pair, speed, jobs, servers, exactly=True)
        compare(pair, CONSTANT[1.0], jobs, servers, passes="event", exactly=True)

    agree()


def agree_under_control(name: str, examples: int) -> None:
    pair = PAIRS[name]

    @settings(max_examples=examples)
    @given(
        jittered(JOBS, jitter_works=True),
        count_thresholds(TWO),
        count_thresholds(THREE),
        workload_thresholds(TWO),
        workload_thresholds(THREE),
        coins(JOBS),
    )
    def agree(
        drawn: Workload,
        count_two: Thresholds,
        count_three: Thresholds,
        two: Thresholds,
        three: Thresholds,
        flips: list[float],
    ) -> None:
        jobs, servers = drawn.jobs, drawn.servers
        speeds = switching(count_two, count_three, two, three)
        for speed in speeds:
            compare(pair, speed, jobs, servers, flips, exactly=False)
        compare(pair, speeds[0], jobs, servers, flips, passes="event", exactly=False)

    agree()


@pytest.mark.parametrize("name", PAIRS)
def test_integer_times(name):
    agree_on_integers(name, EXAMPLES)


@pytest.mark.parametrize("name", PAIRS)
def test_rate_controls(name):
    agree_under_control(name, EXAMPLES)


@pytest.mark.nightly
@pytest.mark.parametrize("name", PAIRS)
def test_integer_times_at_length(name):
    agree_on_integers(name, NIGHTLY_EXAMPLES)


@pytest.mark.nightly
@pytest.mark.parametrize("name", PAIRS)
def test_rate_controls_at_length(name):
    agree_under_control(name, NIGHTLY_EXAMPLES)
