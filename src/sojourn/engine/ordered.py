"""Kernel for fixed orders: in order, first fit, and EASY backfilling, over the queue index."""

from __future__ import annotations

import numpy as np

from ..jit import compiled, inlined
from .easy import find_shadow, may_backfill
from .instants import KERNEL, READY, next_instant, settle
from .queue import queue_find
from .state import (
    ARRIVED,
    CURSOR,
    DEPARTED,
    EASY,
    EXTRA,
    FIRST_FIT,
    FREE,
    HEAD,
    NEW,
    NONE,
    SHADOW_KNOWN,
    UNTIL,
    WAITING,
)
from .steps import begin
from .waiting import enqueue, unqueue

__all__ = ["run_ordered"]

# What a quick look at a single arrival settles.
_FULL_PASS, _START, _WAIT = range(3)


@inlined
def _look_at_arrival(state, jobs, rules):
    """A single arrival, often without a departure: nobody else's chances have changed."""
    count = state.count
    j = count[ARRIVED] - 1
    fits = jobs.procs[j] <= count[FREE]
    if count[WAITING] == 0:
        return _START if fits else _WAIT
    if count[DEPARTED] > 0 or rules.may_overrun or state.queue.rank[j] < count[HEAD]:
        return _FULL_PASS
    if not fits or rules.backfill == NONE:
        return _WAIT
    if rules.backfill == FIRST_FIT:
        return _START
    if count[SHADOW_KNOWN] == 0:
        find_shadow(state, jobs.procs[state.queue.by_rank[count[HEAD]]])
    return _START if may_backfill(state, jobs, j) else _WAIT


@inlined
def _choose(state, jobs, rules):
    """The next job to start in this pass, or -1: heads first (CURSOR < 0), then backfilling."""
    count = state.count
    servers = rules.servers
    while count[WAITING] > 0 and count[FREE] > 0:
        heads = count[CURSOR] < 0
        index = state.queue
        if rules.own_backfill_order and not heads:
            index = state.backfill
        at, free, until = count[CURSOR], count[FREE], state.clock[UNTIL]
        extra = min(count[EXTRA], free)
        if heads:
            at, free, extra, until = count[HEAD], servers, servers, np.inf
        elif rules.backfill == FIRST_FIT:
            extra = free
        j = queue_find(index, jobs, at, free, extra, until)
        if not heads:
            if j < 0:
                return j
            count[CURSOR] = index.rank[j] + 1
            if rules.backfill == FIRST_FIT or may_backfill(state, jobs, j):
                return j
            continue
        if count[HEAD] != index.rank[j]:
            count[HEAD] = index.rank[j]
            count[SHADOW_KNOWN] = 0
        if jobs.procs[j] <= count[FREE]:
            count[SHADOW_KNOWN] = 0
            return j
        scanned = state.backfill if rules.own_backfill_order else state.queue
        if rules.backfill == NONE or count[WAITING] == 1 or scanned.width[1] > count[FREE]:
            return -1
        if rules.backfill == EASY:
            find_shadow(state, jobs.procs[j])
        count[CURSOR] = 0 if rules.own_backfill_order else count[HEAD] + 1
    return -1


@inlined
def _ordered_pass(state, jobs, rules):
    """One pass: settle a lone arrival at once, else walk the queue."""
    count = state.count
    verdict = _FULL_PASS
    if count[NEW] == 1:
        verdict = _look_at_arrival(state, jobs, rules)
    if verdict != _START:
        for j in range(count[ARRIVED] - count[NEW], count[ARRIVED]):
            enqueue(state, jobs, rules, j)
    count[NEW] = 0
    count[CURSOR] = -1
    while verdict != _WAIT:
        if verdict == _START:
            j = count[ARRIVED] - 1
            verdict = _WAIT
        else:
            j = _choose(state, jobs, rules)
            if j < 0:
                break
            unqueue(state, rules, j)
        begin(state, jobs, rules, j, 1.0)


@compiled(KERNEL)
def run_ordered(
    state, recording, jobs, rules, order, order_theta, backfill, backfill_theta,
    control, wake, control_theta, budget,
):  # fmt: skip
    """Run until done, the budget of instants is spent, or rows are full; the status."""
    while True:
        status = next_instant(state, recording, jobs, rules, control, control_theta, budget)
        if status != READY:
            return status
        budget -= 1
        _ordered_pass(state, jobs, rules)
        settle(state, recording, rules, wake, control_theta)
