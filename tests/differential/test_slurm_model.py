"""The model of Slurm equals its oracle: every start, end, loop and node, to the last bit."""

from __future__ import annotations

import math
import os

import numpy as np
import pytest

from sojourn.policy.slurm.model import LOOPS

from .slurm_harness import draw, run_kernel, run_oracle

USUAL = 2000
EXAMPLES = int(os.environ.get("SOJOURN_EXAMPLES", USUAL))
BLOCKS = 8


@pytest.mark.parametrize("block", range(BLOCKS))
def test_model_equals_oracle(block):
    started = set()
    for seed in range(block, max(EXAMPLES // 10, 3 * BLOCKS), BLOCKS):
        drawn = draw(seed)
        if not drawn[0]:
            continue
        told, kernel = run_oracle(drawn), run_kernel(drawn)
        for j in range(len(drawn[0])):
            ours = (kernel.start[j], kernel.end[j], LOOPS[kernel.by[j]])
            ended = told.end.get(j, told.cancelled.get(j, math.nan))
            theirs = (told.start.get(j, math.nan), ended, told.by.get(j, ""))
            assert np.array_equal(ours[:2], theirs[:2], equal_nan=True), (seed, j, ours, theirs)
            assert ours[2] == theirs[2], (seed, j, ours, theirs)
            nodes = kernel.given[kernel.first[j] : kernel.first[j + 1]].tolist()
            assert sorted(nodes) == sorted(told.given.get(j, [-1] * len(nodes))), (seed, j)
            started.add(ours[2])
        assert set(np.flatnonzero(kernel.timed_out).tolist()) == told.timed_out, seed
    assert started >= {"main", "backfill"}
