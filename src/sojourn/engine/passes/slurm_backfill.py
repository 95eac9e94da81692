"""The backfill loop's pass: jobs start out of order where nobody's reservation is touched.

Reservations are kept on particular nodes and made anew in each pass, in whole seconds, rounded
down to the resolution.
"""

from __future__ import annotations

import numpy as np

from ...jit import called, inlined
from .slurm_main import begin_job
from .slurm_nodes import count_usable, give_back, has_room, suits, tightest_groups
from .slurm_space import NO_TIME, copy, free_between, is_taken, open_map, reserve
from .slurm_tables import BACKFILL, CONSUMABLE

__all__ = ["backfill_pass"]

_WINDOW = 30  # s in which jobs that end count as ending together, at first


@inlined
def round_down(at, step, epoch):
    """Round a second down to a multiple of the step, counted from the epoch."""
    return (at + epoch) // step * step - epoch


@inlined
def _choose(d, j):
    """Choose among the usable nodes, which are enough."""
    tightest_groups(d.machine, d.usable, d.wants.nodes[j], d.group, d.members, d.chosen)


@inlined
def _leave(d, i, j):
    """Take running job `i` away in thought; how many nodes that makes usable for job `j`."""
    wants = d.wants
    found = 0
    for at in range(d.first[i], d.first[i + 1]):
        node = d.given[at]
        give_back(wants, i, node, d.then_busy, d.then_cpus, d.then_memory, d.then_gpus)
        if d.usable[node] or not d.kept[node] or not suits(wants, d.machine, j, node):
            continue
        d.usable[node] = has_room(
            wants, j, node, d.then_busy, d.then_cpus, d.then_memory, d.then_gpus
        )
        found += d.usable[node]
    return found


@inlined
def _concerns(d, i):
    """Whether a running job holds a node that is kept."""
    found = False
    for at in range(d.first[i], d.first[i + 1]):
        found = found or d.kept[d.given[at]]
    return found


@called
def _earliest(d, s, run, j, now, now_only):
    """When a job could start on the kept nodes as jobs end at their limits, and on which.

    Jobs that are just ending count as gone. Where nodes are shared, Slurm lets jobs end in batches:
    those within a window of time, which doubles. `NO_TIME` where the nodes do not suffice.
    """
    wants, machine, epoch = d.wants, d.machine, d.pace.epoch
    need = wants.nodes[j]
    found = count_usable(
        wants, machine, j, d.kept, d.busy, d.cpus, d.memory, d.gpus,
        d.usable,
    )  # fmt: skip
    if found >= need:
        _choose(d, j)
        return now
    if now_only:
        return NO_TIME
    copy(d.then_busy, d.busy)
    copy(d.then_cpus, d.cpus)
    copy(d.then_memory, d.memory)
    copy(d.then_gpus, d.gpus)
    shared = d.loops.select == CONSUMABLE
    window = _WINDOW
    barrier = NO_TIME
    gone = -1
    for k in range(s.running):
        i = run.plan[s.running - 1 - k]
        if shared and not _concerns(d, i):
            continue
        gone = i
        found += _leave(d, i, j)
        if shared:
            if barrier == NO_TIME:
                barrier = round_down(int(run.planned[i]), window, epoch) + window
            if k + 1 < s.running:
                following = int(run.planned[run.plan[s.running - 2 - k]])
                if following <= barrier + window:
                    continue
                window *= 2
                while following > barrier + window:
                    window *= 2
        if found >= need:
            break
    if found < need:
        return NO_TIME
    _choose(d, j)
    return max(int(run.planned[gone]), now + 1)


@inlined
def _suffice(d, j):
    """Whether enough of the kept nodes would do for a job, were they empty."""
    found = 0
    for node in range(d.kept.shape[0]):
        found += d.kept[node] and suits(d.wants, d.machine, j, node)
    return found >= d.wants.nodes[j]


@inlined
def _plan(d, s, run, j, now, now_only):
    """Find when and where a job starts: now, at a time to be reserved, or `NO_TIME`."""
    wants, loops, epoch = d.wants, d.loops, d.pace.epoch
    limit = 60 * wants.limit[j]
    allowed = d.allowed
    later = now
    while True:
        begin_at = later
        later = free_between(d, begin_at, max(begin_at, now) + limit, allowed, d.kept)
        if not _suffice(d, j):
            if later != NO_TIME and not now_only:
                continue
            return NO_TIME
        d.controller[0].tried = 1
        at = _earliest(d, s, run, j, now, now_only)
        if at == NO_TIME:
            if later != NO_TIME and not now_only:
                continue
            return NO_TIME
        if begin_at > at:
            at = begin_at
            d.controller[0].jobs_changed = now
        if at <= now:
            closing = False
            for k in range(wants.nodes[j]):
                closing = closing or d.closing[d.chosen[k]] > 0
            if not closing:
                return now
            at = now + 1
            later = NO_TIME
        if now_only:
            return NO_TIME
        if later != NO_TIME and at > later:
            continue
        if at > now + loops.window:
            return NO_TIME
        step = loops.resolution
        begins, ends = round_down(at, step, epoch), round_down(at + limit, step, epoch)
        if is_taken(d, begins, ends, d.chosen, wants.nodes[j]):
            later = at
            continue
        return at


@called
def backfill_pass(d, s, jobs, run):
    """Look at the waiting jobs in order: start them, or keep nodes for them."""
    wants, machine, loops, epoch = d.wants, d.machine, d.loops, d.pace.epoch
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
        if loops.tests_per_user > 0:
            if d.tested[wants.user[j]] >= loops.tests_per_user:
                continue
            d.tested[wants.user[j]] += 1
        if loops.tests_per_partition > 0:
            if d.looked[part] >= loops.tests_per_partition:
                continue
            d.looked[part] += 1
        young = loops.least_age > 0 and now - int(np.floor(jobs.submit[j])) < loops.least_age
        now_only = young or (loops.reserve > 0 and d.reserved[part] >= loops.reserve)
        for node in range(d.allowed.shape[0]):
            d.allowed[node] = (machine.partitions[node] >> part) & 1 == 1
        d.controller[0].tried = 0
        when = _plan(d, s, run, j, now, now_only)
        tests += d.controller[0].tried
        if when == NO_TIME:
            continue
        until = round_down(when + 60 * wants.limit[j], step, epoch)
        if when == now:
            at -= 1
            begin_job(d, s, run, at, BACKFILL)
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
