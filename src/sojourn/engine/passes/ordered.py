"""Fixed orders: in order, first fit and EASY backfilling, over the queue index."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...jit import inlined
from ..caps import procs_that_may_wake, procs_under
from ..nodes import AHEAD, FREE, SLOWEST, expected
from ..queue import (
    QueueIndex,
    make_queue_index,
    queue_find,
    queue_holds,
    queue_insert,
    queue_remove,
)
from ..sleeping import is_eased, is_unsettled
from ..starting import least_boot, nth_slowness
from ..verbs import find_shadow, fits, start
from . import EASY, GO_ON, NONE, Setting, discipline


class Ordered(NamedTuple):
    """The waiting jobs in the order of the queue, and in that of backfilling if it has its own."""

    queue: QueueIndex
    backfill: QueueIndex


def _index(key: np.ndarray | None, servers: int) -> QueueIndex:
    if key is None:
        return make_queue_index(np.empty(0, dtype=np.int64), 1)
    in_place = bool(np.all(key[1:] >= key[:-1]))
    order = np.arange(len(key)) if in_place else np.argsort(key, kind="stable")
    return make_queue_index(order, servers)


def _make(given: Setting) -> Ordered:
    rules, orders = given.rules, given.orders
    own = orders.backfill if rules.own_backfill_order else None
    return Ordered(_index(orders.order, rules.servers), _index(own, rules.servers))


@inlined
def _enqueue(d, s, jobs, j):
    """Let `j` wait, in one index or in two."""
    rank = d.queue.rank[j]
    if s.waiting == 0 or rank < s.head:
        s.head = rank
        s.shadow_known = 0
    queue_insert(d.queue, j, jobs.procs[j], jobs.plan[j])
    if s.own_order == 1:
        queue_insert(d.backfill, j, jobs.procs[j], jobs.plan[j])
    s.waiting += 1


@inlined
def _unqueue(d, s, j):
    """`j` waits no longer."""
    queue_remove(d.queue, j)
    if s.own_order == 1:
        queue_remove(d.backfill, j)
    s.waiting -= 1


@inlined
def _is_lone(d, s, nodes, j):
    """Whether a single arrival is all that is new: nobody else's chances have changed.

    Unless the head's reservation depends on what has been backfilled since it was made: with a
    budget, too, or under caps, the placement may come to other nodes when some that draw much are
    taken.
    """
    if nodes is not None:
        if is_eased(s, nodes) or s.switched == 1:
            return False
        if s.pinned == 1:
            if s.rule > SLOWEST or nodes.job[d.queue.by_rank[s.head]].budget < np.inf:
                return False
            if s.varied == 1:
                return False
    return s.departed == 0 and s.may_overrun == 0 and d.queue.rank[j] >= s.head


@inlined
def _is_idle(s, nodes):
    """Whether nodes changed their states, and nothing else happened that starts anybody."""
    quiet = s.departed == 0 and s.may_overrun == 0 and s.per_event == 0 and s.controlled == 0
    return quiet and s.sleeps == 1 and s.pinned == 0 and not is_eased(s, nodes)


@inlined
def _usable(s, nodes):
    """Processors that the widest job could have now, at most."""
    if nodes is None:
        return s.free
    return procs_under(s, nodes, nodes.caps, FREE, s.free)


@inlined
def _settle_arrival(d, s, jobs, run, nodes, calendar, laws, j):
    """Start a lone arrival, or let it wait."""
    beside = s.waiting > 0
    may_start = not beside or (s.backfill != NONE and jobs.procs[j] <= s.free)
    if may_start and beside and s.backfill == EASY and s.shadow_known == 0:
        find_shadow(s, jobs, run, nodes, calendar, d.queue.by_rank[s.head], laws)
    if may_start and fits(s, jobs, nodes, j, beside and s.backfill == EASY, laws):
        start(s, jobs, run, nodes, calendar, j)
    else:
        _enqueue(d, s, jobs, j)
    if s.waiting > 0:
        s.blocked = d.queue.by_rank[s.head]


@inlined
def _next_of(d, s, jobs, at, free, extra, until):
    """The next job to be backfilled that needs so few processors, and is so short or so narrow."""
    if s.own_order == 1:
        return queue_find(d.backfill, jobs, at, free, extra, until)
    return queue_find(d.queue, jobs, at, free, extra, until)


@inlined
def _candidate(d, s, jobs, nodes, free, extra, until):
    """The next job that may be backfilled; who must wake somebody has less time under caps."""
    j = _next_of(d, s, jobs, s.cursor, free, extra, until)
    if nodes is not None:
        awake = s.free - s.asleep * s.nap_procs
        if s.lends == 1 and awake < free and until < np.inf and s.nap_leave < np.inf:
            fastest = expected(s, 1.0, nth_slowness(s, nodes, 1))
            less = until - least_boot(s) / fastest * (1.0 - 1e-12)
            while j >= 0 and jobs.procs[j] > max(extra, awake) and jobs.plan[j] > less:
                at = d.backfill.rank[j] if s.own_order == 1 else d.queue.rank[j]
                j = _next_of(d, s, jobs, at + 1, free, extra, until)
    return j


@discipline(Ordered, "fixed orders", _make, ("try_to_start", "find_shadow"), (3.0, 4.0))
def ordered_pass(d, s, jobs, run, recording, nodes, calendar, laws):
    """One pass: settle a lone arrival at once, else walk the queue: heads, then backfilling."""
    new = s.new
    s.new = 0
    s.blocked = -1
    if nodes is not None:
        if is_unsettled(s):
            s.reserved_for = -1
        if calendar is None:
            if new == 0 and _is_idle(s, nodes):
                if s.waiting > 0 and s.free > 0:
                    s.blocked = d.queue.by_rank[s.head]
                return GO_ON
    if new == 1 and (s.waiting == 0 or _is_lone(d, s, nodes, s.arrived - 1)):
        _settle_arrival(d, s, jobs, run, nodes, calendar, laws, s.arrived - 1)
        return GO_ON
    if nodes is not None:
        s.eased = s.begun = 0
        if s.lends == 1 or s.may_overrun == 1:
            # The head wakes more sleepers if others have taken nodes that are up; an overdue job
            # is expected right after now.
            s.shadow_known = 0
    for j in range(s.arrived - new, s.arrived):
        _enqueue(d, s, jobs, j)
    heads = True
    while s.waiting > 0 and s.free > 0:
        if heads:
            if not queue_holds(d.queue, s.head):
                j = queue_find(d.queue, jobs, s.head, s.servers, s.servers, np.inf)
                s.head = d.queue.rank[j]
                s.shadow_known = 0
            j = d.queue.by_rank[s.head]
            if fits(s, jobs, nodes, j, False, laws):
                _unqueue(d, s, j)
                start(s, jobs, run, nodes, calendar, j)
                s.shadow_known = 0
                continue
            s.blocked = j
            narrowest = d.backfill.width[1] if s.own_order == 1 else d.queue.width[1]
            if s.backfill == NONE or s.waiting == 1 or narrowest > _usable(s, nodes):
                return GO_ON
            heads = False
            s.cursor = 0 if s.own_order == 1 else s.head + 1
            s.shadow_known = 0
            # All may be looked at until the reservation says otherwise.
            s.extra = s.free
            if nodes is None:
                if s.backfill == EASY:
                    find_shadow(s, jobs, run, nodes, calendar, j, laws)
            continue
        free = _usable(s, nodes)
        extra, until = free, np.inf
        if s.backfill == EASY:
            extra, until = min(s.extra, free), s.until
            if nodes is not None:
                if s.shadow_known == 1:
                    extra = procs_under(s, nodes, nodes.caps, AHEAD, extra)
                    free = procs_that_may_wake(s, nodes.caps, free)
                    extra = min(extra, free)
        j = _candidate(d, s, jobs, nodes, free, extra, until)
        if j < 0:
            return GO_ON
        s.cursor = d.backfill.rank[j] + 1 if s.own_order == 1 else d.queue.rank[j] + 1
        head = d.queue.by_rank[s.head]
        if j == head:
            continue
        if s.backfill == EASY and s.shadow_known == 0:
            find_shadow(s, jobs, run, nodes, calendar, head, laws)
        if fits(s, jobs, nodes, j, s.backfill == EASY, laws):
            _unqueue(d, s, j)
            start(s, jobs, run, nodes, calendar, j)
    return GO_ON
