"""The engine equals the oracle: every discipline with every control.

With integer times at rates 1, 2 and 1/2 all clocks are exact in floats, so everything must be
equal to the last bit, ties included. Other rates round; there the same workload is jittered so
that no two of its events meet, and 1e-9 is asked for.
"""

from __future__ import annotations

import os
import random

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from oracle import Job
from oracle.strategies import Workload, workloads

from .cast import CONSTANT, PAIRS, THREE, switching
from .harness import compare, jittered

USUAL = 2000
EXAMPLES = int(os.environ.get("SOJOURN_EXAMPLES", USUAL))
JOBS = 8


@pytest.mark.parametrize("name", PAIRS)
def test_engine_equals_oracle(name):
    pair = PAIRS[name]

    @settings(
        max_examples=EXAMPLES,
        derandomize=EXAMPLES <= USUAL,  # a longer run looks for something new every night
        phases=(Phase.explicit, Phase.generate, Phase.shrink),
    )
    @given(workloads(JOBS, min_plan=pair.min_plan), st.integers(0, 2**20))
    def agree(drawn: Workload, seed: int) -> None:
        rng = random.Random(seed)
        for rate in (1.0, rng.choice((0.5, 2.0))):
            compare(pair, CONSTANT[rate], drawn, exactly=True)
        if rng.random() < 0.5:
            compare(pair, CONSTANT[1.0], drawn, passes="event", exactly=True)
        apart = jittered(drawn, rng)
        coins = [rng.random() for _ in range(2 * len(drawn.jobs))]
        for speed in switching(rng):
            compare(pair, speed, apart, coins, exactly=False)
        if rng.random() < 0.25:
            speed = rng.choice(switching(rng))
            compare(pair, speed, apart, coins, passes="event", exactly=False)

    agree()


def crowd(rng: random.Random, min_plan: int) -> Workload:
    """Many jobs in a short time: queues of several blocks of the index, widths of all classes."""
    servers = rng.choice((3, 17, 64, 300))
    jobs, submit = [], 0
    for _ in range(rng.randrange(40, 60)):
        submit += rng.choice((0, 0, 0, 1, 2))
        work = rng.randrange(60)
        procs = min(servers, int(servers ** rng.random()))
        plan = rng.choice((work, work, work + rng.randrange(20), 5 * work, work // 2))
        jobs.append(Job(submit, work, procs, max(plan, min_plan)))
    return Workload(servers, tuple(jobs))


@pytest.mark.parametrize("name", PAIRS)
def test_long_queues(name):
    pair = PAIRS[name]
    for seed in range(max(1, EXAMPLES // 500)):
        rng = random.Random(seed)
        drawn = crowd(rng, pair.min_plan)
        compare(pair, CONSTANT[1.0], drawn, exactly=True)
        compare(pair, CONSTANT[1.0], drawn, passes="event", exactly=True)
        coins = [rng.random() for _ in range(2 * len(drawn.jobs))]
        # With other rates the oracle's rationals grow as long as the run.
        speeds = [speed for speed in switching(rng) if set(speed.control.rates) <= set(THREE)]
        compare(pair, rng.choice(speeds), jittered(drawn, rng), coins, exactly=False)
