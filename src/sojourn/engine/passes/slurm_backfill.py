"""The backfill loop's pass: jobs start out of order where nobody's reservation is touched.

Reservations are kept on particular nodes and made anew in each pass, in whole seconds, rounded
down to the resolution.
"""

from __future__ import annotations

import numpy as np

from ...jit import called, inlined
from ..words import count, first_in
from .slurm_main import begin_job, leave_sleepers
from .slurm_nodes import (
    NOW,
    PLACES,
    has,
    job_at,
    moment_of,
    room_for,
    tightest_groups,
)
from .slurm_space import (
    NO_TIME,
    first_reserved_end,
    free_between,
    is_taken,
    leave_reserved,
    open_map,
    reserve,
)
from .slurm_tables import BACKFILL, CONSUMABLE

_WINDOW = 30  # s in which jobs that end count as ending together, at first


@inlined
def round_down(at, step, epoch):
    """Round a second down to a multiple of the step, counted from the epoch."""
    return (at + epoch) // step * step - epoch


@inlined
def _concerns(d, i):
    """Whether a running job holds a node that is kept."""
    found = False
    for at in range(d.first[i], d.first[i + 1]):
        found = found or has(d.kept, d.given[at])
    return found


@inlined
def _first_room(d, row):
    """The moment at which the first of the kept nodes has room that has none now, or NOW."""
    room = d.room
    first = NOW
    for w in range(d.kept.shape[0]):
        word = d.kept[w] & room.suits[row, w] & ~room.now[row, w]
        while word != 0:
            moment = room.at[row, (w << 5) + first_in(word)]
            word &= word - 1
            if moment < first or first == NOW:
                first = moment
    return first


@called
def _soonest(d, row, number):
    """The moment at which so many more of the kept nodes have room; NOW where they are too few."""
    if number == 1:
        return _first_room(d, row)
    room, soonest = d.room, d.soonest
    known = 0
    for w in range(d.kept.shape[0]):
        word = d.kept[w] & room.suits[row, w] & ~room.now[row, w]
        while word != 0:
            moment = room.at[row, (w << 5) + first_in(word)]
            word &= word - 1
            if known == number:
                if moment >= soonest[known - 1]:
                    continue
                known -= 1
            k = known
            while k > 0 and soonest[k - 1] > moment:
                soonest[k] = soonest[k - 1]
                k -= 1
            soonest[k] = moment
            known += 1
    return soonest[number - 1] if known == number else NOW


@inlined
def _in_plan(s, run, moment):
    """How many running jobs are planned to end after a moment; the soonest is last in the plan."""
    low = 0
    high = s.running
    while low < high:
        middle = (low + high) >> 1
        if moment_of(run.planned[run.plan[middle]], run.plan[middle]) > moment:
            low = middle + 1
        else:
            high = middle
    return low


@called
def _end_of_batch(d, s, run, moment):
    """The job with which the batch ends that has a moment in it.

    Where nodes are shared, Slurm lets jobs that hold kept nodes end in batches: those within a
    window of time, which doubles until it reaches the job after the batch.
    """
    here = _in_plan(s, run, moment)
    first = s.running - 1
    while first > here and not _concerns(d, run.plan[first]):
        first -= 1
    barrier = round_down(int(run.planned[run.plan[first]]), _WINDOW, d.pace.epoch) + _WINDOW
    window = _WINDOW
    if first > here:
        before = here + 1
        while before < first and not _concerns(d, run.plan[before]):
            before += 1
        following = int(run.planned[run.plan[before - 1]])
        while following > barrier + window:
            window *= 2
    # The last that ends, or the last before one that ends beyond the window.
    beyond = _in_plan(s, run, moment_of(barrier + window, (1 << PLACES) - 1))
    last = min(here, beyond)
    at = last
    while at >= 0 and not _concerns(d, run.plan[at]):
        at -= 1
    if at >= 0:
        return run.plan[at]
    # Nobody after it holds a kept node: it is the last one before.
    at = last + 1
    while not _concerns(d, run.plan[at]):
        at += 1
    return run.plan[at]


@called
def _earliest(d, s, run, j, row, now, now_only):
    """When a job could start on the kept nodes as jobs end at their limits.

    Jobs that are just ending count as gone. `NO_TIME` where the nodes do not suffice; else the
    controller's `moment` is that of the last job which must be gone.
    """
    c = d.controller[0]
    need = d.wants.nodes[j]
    for w in range(d.kept.shape[0]):
        need -= count(d.kept[w] & d.room.now[row, w])
    c.moment = NOW
    if need <= 0:
        return now
    if now_only:
        return NO_TIME
    moment = _soonest(d, row, need)
    if moment == NOW:
        return NO_TIME
    gone = job_at(moment)
    if d.loops.select == CONSUMABLE:
        gone = _end_of_batch(d, s, run, moment)
    c.moment = moment_of(run.planned[gone], gone)
    return max(int(run.planned[gone]), now + 1)


@called
def _choose(d, j, row):
    """Choose among the kept nodes that have room at the moment that `_earliest` has found."""
    room, moment = d.room, d.controller[0].moment
    for w in range(d.kept.shape[0]):
        d.usable[w] = d.kept[w] & room.now[row, w]
        word = 0 if moment == NOW else d.kept[w] & room.suits[row, w] & ~room.now[row, w]
        while word != 0:
            bit = word & -word
            word &= word - 1
            if room.at[row, (w << 5) + first_in(bit)] <= moment:
                d.usable[w] |= bit
    tightest_groups(d, d.wants.nodes[j])


@inlined
def _suffice(d, row, need):
    """Whether enough of the kept nodes would do for a job, were they empty."""
    found = 0
    for w in range(d.kept.shape[0]):
        found += count(d.kept[w] & d.room.suits[row, w])
    return found >= need


@called
def _choose_anew(d, j, row):
    """Choose nodes for a job that starts now anew, where some that it could use are not up."""
    sleepers = 0
    for w in range(d.kept.shape[0]):
        room = d.kept[w] & d.room.now[row, w]
        sleepers |= room & d.power.down[w]
        d.usable[w] = room & ~d.closing_set[w]
    if sleepers != 0:
        leave_sleepers(d, d.wants.nodes[j])
        tightest_groups(d, d.wants.nodes[j])


@inlined
def _sooner(d, instant, begin_at, later):
    """When to look again: as the map says, or when the first reservation is over."""
    step, epoch = d.loops.resolution, d.pace.epoch
    over = round_down(first_reserved_end(d, instant, begin_at) + step - 1, step, epoch) + 1
    if over < d.space_end[d.controller[0].slots - 1] and (later == NO_TIME or over < later):
        return over
    return later


@inlined
def _plan(d, s, run, j, now, now_only):
    """Find when and where a job starts: now, at a time to be reserved, or `NO_TIME`."""
    wants, loops, epoch = d.wants, d.loops, d.pace.epoch
    limit = 60 * wants.limit[j]
    allowed = d.members_of[wants.partition[j]]
    row = room_for(d, j)
    later = now
    while True:
        begin_at = later
        free, meets = allowed, False
        if d.outside.begin.shape[0] > 0:
            meets = leave_reserved(d, s.now, begin_at, begin_at + limit, wants.partition[j])
            free = d.unreserved
        later = free_between(d, begin_at, max(begin_at, now) + limit, free, d.kept)
        if meets:
            later = _sooner(d, s.now, begin_at, later)
        if not _suffice(d, row, wants.nodes[j]):
            if later != NO_TIME and not now_only:
                continue
            return NO_TIME
        d.controller[0].tried = 1
        at = _earliest(d, s, run, j, row, now, now_only)
        if at == NO_TIME:
            if later != NO_TIME and not now_only:
                continue
            return NO_TIME
        if begin_at > at:
            at = begin_at
            d.controller[0].jobs_changed = now
        has_chosen = at <= now
        if has_chosen:
            _choose(d, j, row)
            closing = False
            for k in range(wants.nodes[j]):
                closing = closing or d.closing[d.chosen[k]] > 0
            if not closing:
                if d.power.saving.on:
                    _choose_anew(d, j, row)
                return now
            at = now + 1
            later = NO_TIME
        if now_only:
            return NO_TIME
        if later != NO_TIME and at > later:
            continue
        if at > now + loops.window:
            return NO_TIME
        if not has_chosen:
            _choose(d, j, row)
        step = loops.resolution
        begins, ends = round_down(at, step, epoch), round_down(at + limit, step, epoch)
        if is_taken(d, begins, ends, d.chosen, wants.nodes[j]):
            later = at
            continue
        return at


@called
def backfill_pass(d, s, run, calendar):
    """Look at the waiting jobs in order: start them, or keep nodes for them."""
    wants, loops, epoch = d.wants, d.loops, d.pace.epoch
    now = int(np.floor(s.now))
    step = loops.resolution
    if d.planned_nodes.any():
        d.controller[0].nodes_changed = now
        d.planned_nodes[:] = False
    if s.waiting == 0:
        return
    open_map(d, round_down(now, step, epoch), round_down(now + loops.window, step, epoch))
    d.tested[:] = 0
    d.reserved[:] = 0
    d.looked[:] = 0
    tests = started = at = 0
    while at < s.waiting and tests < loops.tests:
        j = d.queue[at]
        part = wants.partition[j]
        at += 1
        if d.eligible[j] > now:
            continue
        if loops.tests_per_user > 0:
            if d.tested[wants.user[j]] >= loops.tests_per_user:
                continue
            d.tested[wants.user[j]] += 1
        if loops.tests_per_partition > 0:
            if d.looked[part] >= loops.tests_per_partition:
                continue
            d.looked[part] += 1
        young = loops.least_age > 0 and now - d.eligible[j] < loops.least_age
        now_only = young or (loops.reserve > 0 and d.reserved[part] >= loops.reserve)
        vain = d.vain[d.alike[j], int(now_only)]
        if vain >> 1 == d.controller[0].plans:
            # Another like it was in vain, and nothing was planned or started since.
            tests += vain & 1
            continue
        d.controller[0].tried = 0
        when = _plan(d, s, run, j, now, now_only)
        tests += d.controller[0].tried
        if when == NO_TIME:
            plans = d.controller[0].plans
            d.vain[d.alike[j], int(now_only)] = (plans << 1) + d.controller[0].tried
            continue
        until = round_down(when + 60 * wants.limit[j], step, epoch)
        if when == now:
            at -= 1
            begin_job(d, s, run, calendar, at, BACKFILL)
            if wants.whole[j]:
                reserve(d, d.space_begin[0], until, step, d.chosen, wants.nodes[j])
            started += 1
            if loops.backfill_starts > 0 and started >= loops.backfill_starts:
                return
            continue
        d.reserved[part] += 1
        for k in range(wants.nodes[j]):
            node = d.chosen[k]
            if d.busy[node] == 0:
                d.planned_nodes[node] = True
        begins = round_down(when, step, epoch)
        reserve(d, begins, until, step, d.chosen, wants.nodes[j])
    if d.planned_nodes.any():
        d.controller[0].nodes_changed = now
