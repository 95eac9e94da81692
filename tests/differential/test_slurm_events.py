"""Events, reservations and checkpoints under the model of Slurm equal its oracle, to the bit."""

from __future__ import annotations

import math
import os
from collections import Counter

import numpy as np
import pytest
from oracle.checkpoints import with_dumps

from sojourn.engine.types import CANCELLED, COMPLETED, KILLED, UNDECIDED
from sojourn.policy.slurm.model import LOOPS

from .slurm_events_cases import with_events
from .slurm_harness import at_whole_seconds, draw, on_many_nodes, run_kernel, run_oracle

USUAL = 2000
EXAMPLES = int(os.environ.get("SOJOURN_EXAMPLES", USUAL))
BLOCKS = 4


def _fate(told, j):
    if j in told.cancelled:
        return CANCELLED
    if j not in told.end:
        return UNDECIDED
    return KILLED if j in told.events.killed or j in told.timed_out else COMPLETED


def _check(seed, case):
    """Run both and compare them; how much of what happened."""
    told, run = run_oracle(case.drawn, case.outside), run_kernel(case.drawn, case)
    kernel, calendar = run.discipline, run.calendar
    seen = Counter()
    taken_back = set(told.stopped_by_log)
    for j in range(len(case.drawn[0])):
        ended = told.end.get(j, math.nan)
        ours = (run.start[j], run.end[j] if np.isfinite(run.start[j]) else math.nan)
        theirs = (told.start.get(j, math.nan), ended)
        assert np.array_equal(ours, theirs, equal_nan=True), (seed, j, ours, theirs)
        fate = KILLED if j in taken_back else _fate(told, j)
        assert calendar.job[j].fate == fate, (seed, j, calendar.job[j].fate, fate)
        left = told.end.get(j, told.cancelled.get(j, math.nan))
        assert np.array_equal(calendar.job[j].left, left, equal_nan=True), (seed, j)
        assert calendar.job[j].restarts == told.events.restarts.get(j, 0), (seed, j)
        seen[int(fate)] += 1
        seen["restarts"] += told.events.restarts.get(j, 0)
        if j in told.start:
            assert LOOPS[kernel.by[j]] == told.by[j], (seed, j)
            seen[told.by[j]] += 1
    assert set(np.flatnonzero(kernel.timed_out).tolist()) == told.timed_out, seed
    # Stretches of service with their nodes, also of those who began anew.
    pieces = run.recording.segment[: run.s.segments]
    first, node, _ = run.allocated_in(pieces)
    ours = [
        (int(piece["job"]), piece["start"], piece["stop"], sorted(node[first[k] : first[k + 1]]))
        for k, piece in enumerate(pieces)
    ]
    whole = [
        (j, told.start[j], told.end[j], sorted(told.given[j]))
        for j in told.end
        if j not in told.events.killed
    ]
    assert sorted(ours) == sorted(whole + told.events.stretches), seed
    seen["kept"] = int((pieces["kept"] > 0).sum())
    return seen


def _seeds(block, blocks=BLOCKS):
    return range(block, max(EXAMPLES // 10, 10 * BLOCKS), blocks)


@pytest.mark.parametrize("block", range(BLOCKS))
def test_events_equal_the_oracle(block):
    seen = Counter()
    for seed in _seeds(block):
        drawn = draw(seed)
        if drawn[0]:
            seen += _check(seed, with_events(seed, drawn))
    for what in (COMPLETED, KILLED, CANCELLED, "restarts", "main", "backfill"):
        assert seen[what] > 0, what


@pytest.mark.parametrize("block", range(BLOCKS))
def test_events_equal_the_oracle_where_many_things_are_due_at_once(block):
    seen = Counter()
    for seed in _seeds(block):
        drawn = draw(seed)
        if drawn[0]:
            seen += _check(seed, with_events(seed, at_whole_seconds(drawn), whole=True))
    for what in (COMPLETED, KILLED, CANCELLED, "restarts", "main", "backfill"):
        assert seen[what] > 0, what


@pytest.mark.parametrize("block", range(BLOCKS))
def test_checkpoints_equal_the_oracle(block):
    seen = Counter()
    for seed in _seeds(block):
        jobs, *others = at_whole_seconds(draw(seed))
        if jobs:
            _check(seed, case := with_events(seed, (jobs, *others), whole=True, saves=True))
            longer = [
                {**job, "run": float(job["run"]), "limit": job["limit"] + 1}
                for job, it in zip(jobs, case.outside.checkpoints, strict=True)
                if with_dumps(job["run"], it) >= 0
            ]
            seen += _check(seed, with_events(seed, (longer, *others), whole=True, saves=True))
    assert seen["restarts"] > 0
    assert seen["kept"] > 0


def test_events_equal_the_oracle_on_many_nodes():
    widest, seen = 0, Counter()
    for seed in range(0, max(EXAMPLES // 10, 40), 10):
        drawn = draw(seed)
        if drawn[0]:
            seen += _check(seed, with_events(seed, on_many_nodes(drawn)))
            widest = max(widest, 9 * len(drawn[1]))
    assert widest > 64
    assert seen["restarts"] > 0
