"""The model of Slurm equals its oracle: every start, end, loop and node, to the last bit."""

from __future__ import annotations

import math
import os

import numpy as np
import pytest

from sojourn.policy.slurm.model import LOOPS

from .slurm_harness import at_whole_seconds, draw, on_many_nodes, run_kernel, run_oracle

USUAL = 2000
EXAMPLES = int(os.environ.get("SOJOURN_EXAMPLES", USUAL))
BLOCKS = 8


def _check(seed, drawn):
    """Run both and compare them; the loops that started jobs, and jobs that were no time at all."""
    told, run = run_oracle(drawn), run_kernel(drawn)
    kernel = run.discipline
    for j in range(len(drawn[0])):
        ours = (run.start[j], run.end[j], LOOPS[kernel.by[j]])
        ended = told.end.get(j, told.cancelled.get(j, math.nan))
        theirs = (told.start.get(j, math.nan), ended, told.by.get(j, ""))
        assert np.array_equal(ours[:2], theirs[:2], equal_nan=True), (seed, j, ours, theirs)
        assert ours[2] == theirs[2], (seed, j, ours, theirs)
        nodes = kernel.given[kernel.first[j] : kernel.first[j + 1]].tolist()
        assert sorted(nodes) == sorted(told.given.get(j, [-1] * len(nodes))), (seed, j)
    assert set(np.flatnonzero(kernel.timed_out).tolist()) == told.timed_out, seed
    return {LOOPS[by] for by in kernel.by}, int((run.start == run.end).sum())


def _seeds(block, blocks=BLOCKS):
    return range(block, max(EXAMPLES // 10, 3 * BLOCKS), blocks)


@pytest.mark.parametrize("block", range(BLOCKS))
def test_model_equals_oracle(block):
    started = set()
    for seed in _seeds(block):
        drawn = draw(seed)
        if drawn[0]:
            started |= _check(seed, drawn)[0]
    assert started >= {"main", "backfill"}


# The main loop comes first and leaves little to backfill: a block needs more streams to see both.
@pytest.mark.parametrize("block", range(BLOCKS // 4))
def test_model_equals_oracle_where_many_things_are_due_at_once(block):
    started, instant = set(), 0
    for seed in _seeds(block, BLOCKS // 4):
        drawn = draw(seed)
        if drawn[0]:
            loops, momentary = _check(seed, at_whole_seconds(drawn))
            started |= loops
            instant += momentary
    assert started >= {"main", "backfill"}
    assert instant > 10


@pytest.mark.parametrize("block", range(BLOCKS // 4))
def test_model_equals_oracle_on_many_nodes(block):
    widest = 0
    # Streams on many nodes take long: every eighth, but enough to have many nodes.
    for seed in range(block, max(EXAMPLES // 10, 200), 2 * BLOCKS):
        drawn = draw(seed)
        if drawn[0]:
            _check(seed, on_many_nodes(drawn))
            widest = max(widest, 9 * len(drawn[1]))
    # Sets of nodes are words of 32 bits: more than two of them.
    assert widest > 64
