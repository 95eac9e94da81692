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
from oracle.strategies import Workload, workloads

from .cast import CONSTANT, PAIRS, switching
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
