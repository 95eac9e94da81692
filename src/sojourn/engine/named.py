"""Kernel for named nodes and fixed orders: in order, first fit, and EASY, over the queue index."""

from __future__ import annotations

import numpy as np

from ..jit import compiled, spliced
from .instants import FULL, NAMED_KERNEL, READY, next_instant, settle
from .nodes import PINNED, ROWS, RULE, SLOWEST, open_nodes
from .placing import release_departed
from .queue import queue_find
from .starting import begin_on_nodes, find_shadow_on_nodes, try_to_start
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
from .waiting import enqueue, unqueue

__all__ = ["run_named"]


@spliced
def _is_lone(state, nodes, rules, j):
    """Whether a single arrival is all that is new: nobody else's chances have changed.

    Unless the head's reservation depends on what has been backfilled since it was made.
    """
    count = state.count
    return (
        (nodes.number[PINNED] == 0 or nodes.number[RULE] <= SLOWEST)
        and count[NEW] == 1
        and count[WAITING] > 0
        and count[DEPARTED] == 0
        and not rules.may_overrun
        and state.queue.rank[j] >= count[HEAD]
    )


@spliced
def _next_in_line(state, jobs, rules):
    """The job to look at next, or -1: heads first (CURSOR < 0), then backfilling."""
    count = state.count
    if count[WAITING] == 0 or count[FREE] == 0:
        return -1
    heads = count[CURSOR] < 0
    index = state.queue
    if rules.own_backfill_order and not heads:
        index = state.backfill
    servers = rules.servers
    at, free, until = count[CURSOR], count[FREE], state.clock[UNTIL]
    extra = free if rules.backfill == FIRST_FIT else min(count[EXTRA], free)
    if heads:
        at, free, extra, until = count[HEAD], servers, servers, np.inf
    j = queue_find(index, jobs, at, free, extra, until)
    if j >= 0:
        if not heads:
            count[CURSOR] = index.rank[j] + 1
        elif count[HEAD] != index.rank[j]:
            count[HEAD] = index.rank[j]
            count[SHADOW_KNOWN] = 0
    return j


@spliced
def _named_pass(state, nodes, jobs, rules, score, theta):
    count = state.count
    release_departed(state, nodes)
    lone = count[ARRIVED] - 1
    if not _is_lone(state, nodes, rules, lone):
        lone = -1
    for j in range(count[ARRIVED] - count[NEW], count[ARRIVED]):
        enqueue(state, jobs, rules, j)
    count[NEW] = 0
    count[CURSOR] = -1
    if lone >= 0:
        if rules.backfill == NONE or jobs.procs[lone] > count[FREE]:
            return
        count[CURSOR] = 0
    while True:
        heads = count[CURSOR] < 0
        j = lone
        if lone < 0:
            j = _next_in_line(state, jobs, rules)
            if j < 0:
                return
        head = state.queue.by_rank[count[HEAD]]
        blocked = jobs.procs[j] > count[FREE] if heads else j == head
        backfilling = rules.backfill == EASY and not heads
        if backfilling and count[SHADOW_KNOWN] == 0:
            find_shadow_on_nodes(
                state.clock,
                count,
                (state.planned, state.held, state.plan),
                nodes,
                jobs,
                head,
                score,
                theta,
            )
        if not blocked:
            blocked = not try_to_start(
                state.clock, count, nodes, jobs, j, backfilling, score, theta
            )
        if not blocked:
            unqueue(state, rules, j)
            begin_on_nodes(state, nodes, jobs, rules, j)
            if heads:
                count[SHADOW_KNOWN] = 0
        if lone >= 0:
            return
        if heads and blocked:
            scanned = state.backfill if rules.own_backfill_order else state.queue
            if rules.backfill == NONE or count[WAITING] == 1 or scanned.width[1] > count[FREE]:
                return
            count[CURSOR] = 0 if rules.own_backfill_order else count[HEAD] + 1
            count[SHADOW_KNOWN] = 0
            # All may be looked at until the reservation says otherwise.
            count[EXTRA] = count[FREE]


@compiled(NAMED_KERNEL)
def run_named(
    state, nodes, recording, jobs, rules, order, order_theta, backfill, backfill_theta,
    control, wake, control_theta, score, score_theta, budget,
):  # fmt: skip
    """Run until done, the budget of instants is spent, or rows are full; the status."""
    open_nodes(nodes)
    while True:
        if nodes.number[ROWS] + rules.servers >= nodes.given.shape[1]:
            return FULL
        status = next_instant(state, recording, jobs, rules, control, control_theta, budget)
        if status != READY:
            return status
        budget -= 1
        _named_pass(state, nodes, jobs, rules, score, score_theta)
        settle(state, recording, rules, wake, control_theta)
