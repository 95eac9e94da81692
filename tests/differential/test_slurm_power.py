"""Power saving in the model of Slurm equals its oracle: every nap, boot and start, to the bit."""

from __future__ import annotations

import math
import os

import numpy as np
import pytest

from sojourn.engine.sleeping import ASLEEP, ENTERING, LEAVING, UP
from sojourn.policy.slurm.model import LOOPS

from .slurm_harness import (
    at_whole_seconds,
    draw,
    on_many_nodes,
    run_kernel,
    run_oracle,
    that_sleeps,
)

USUAL = 2000
EXAMPLES = int(os.environ.get("SOJOURN_EXAMPLES", USUAL))
BLOCKS = 4
STATES = {"entering": ENTERING, "asleep": ASLEEP, "leaving": LEAVING, "up": UP}


def _check(seed, drawn):
    """Run both and compare them; how many naps, boots, and jobs that waited for their nodes."""
    told, run = run_oracle(drawn), run_kernel(drawn)
    kernel = run.discipline
    for j in range(len(drawn[0])):
        ours = (run.start[j], run.end[j], kernel.power.up[j])
        ended = told.end.get(j, told.cancelled.get(j, math.nan))
        theirs = (told.start.get(j, math.nan), ended, told.power.up.get(j, math.nan))
        assert np.array_equal(ours, theirs, equal_nan=True), (seed, j, ours, theirs)
        assert LOOPS[kernel.by[j]] == told.by.get(j, ""), (seed, j)
        nodes = kernel.given[kernel.first[j] : kernel.first[j + 1]].tolist()
        assert sorted(nodes) == sorted(told.given.get(j, [-1] * len(nodes))), (seed, j)
    assert set(np.flatnonzero(kernel.timed_out).tolist()) == told.timed_out, seed
    # The controller need not live to see that the last nodes have arrived.
    now = float(run.s.now)
    changes = run.state_changes
    node, state, time = (changes[name] for name in ("node", "state", "time"))
    first = min(job["submit"] for job in drawn[0])
    ours = sorted(
        (t, n, c) for n, c, t in zip(node.tolist(), state.tolist(), time.tolist(), strict=True)
    )
    theirs = sorted((max(t, first), n, STATES[word]) for t, n, word in told.power.history)
    assert [row for row in ours if row[0] <= now] == [row for row in theirs if row[0] <= now], seed
    boots = int(np.count_nonzero(state == LEAVING))
    return int(np.count_nonzero(state == ENTERING)), boots, int(np.isfinite(run.up).sum())


def _seeds(block, blocks=BLOCKS):
    return range(block, max(EXAMPLES // 10, 5 * BLOCKS), blocks)


@pytest.mark.parametrize("block", range(BLOCKS))
def test_nodes_sleep_as_the_oracle_says(block):
    total = np.zeros(3, int)
    for seed in _seeds(block):
        drawn = draw(seed)
        if drawn[0]:
            total += _check(seed, that_sleeps(seed, drawn))
    assert (total > 0).all()


@pytest.mark.parametrize("block", range(BLOCKS // 2))
def test_nodes_sleep_where_many_things_are_due_at_once(block):
    total = np.zeros(3, int)
    for seed in _seeds(block, BLOCKS // 2):
        drawn = draw(seed)
        if drawn[0]:
            total += _check(seed, that_sleeps(seed, at_whole_seconds(drawn)))
    assert (total > 0).all()


def test_many_nodes_sleep():
    # Rates, exceptions and sets of nodes in more than two words of bits; streams take long.
    boots = 0
    for seed in range(0, max(EXAMPLES // 10, 40), 10):
        drawn = draw(seed)
        if drawn[0]:
            boots += _check(seed, that_sleeps(seed, on_many_nodes(drawn), scale=9))[1]
    assert boots > 10
