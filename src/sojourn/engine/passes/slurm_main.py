"""A job enters Slurm's queue, starts and ends; the main loop's pass over the queue."""

from __future__ import annotations

import numpy as np

from ...jit import called, inlined
from ..heap import heap_push
from ..service import enter
from ..types import RUNS
from ..words import count
from .slurm_nodes import (
    give_back,
    has,
    job_at,
    moment_of,
    put,
    room_for,
    take,
    tightest_groups,
)
from .slurm_power import claim, forget_boot, is_not_up
from .slurm_space import leave_reserved
from .slurm_tables import CONSUMABLE, MAIN


@inlined
def note_change(d, second):
    """Jobs and nodes have changed: the backfill loop has work."""
    c = d.controller[0]
    c.jobs_changed = second
    c.nodes_changed = second


@inlined
def is_before(d, i, j):
    """Whether job `i` goes before job `j`: tier, priority, second of the submit, number."""
    tier_i, tier_j = (
        d.machine.tier[d.wants.partition[i]],
        d.machine.tier[d.wants.partition[j]],
    )
    if tier_i != tier_j:
        return tier_i > tier_j
    if d.priority[i] != d.priority[j]:
        return d.priority[i] > d.priority[j]
    return i < j


@called
def enqueue(d, s, j):
    """Insert a job where it belongs in the queue."""
    d.queued[d.wants.partition[j]] += 1
    place(d, s, j)


@called
def place(d, s, j):
    """Put a job after all others of the queue that go before it."""
    at = s.waiting
    while at > 0 and is_before(d, j, d.queue[at - 1]):
        d.queue[at] = d.queue[at - 1]
        at -= 1
    d.queue[at] = j
    s.waiting += 1


@inlined
def unqueue(d, s, at):
    """Take the job at a place out of the queue."""
    d.queued[d.wants.partition[d.queue[at]]] -= 1
    last = s.waiting - 1
    for k in range(at, last):
        d.queue[k] = d.queue[k + 1]
    s.waiting = last


@called
def begin_job(d, s, run, calendar, at, by):
    """Start the waiting job at a place of the queue on the chosen nodes."""
    j = d.queue[at]
    unqueue(d, s, at)
    second = int(np.floor(s.now))
    planned = second + 60 * d.wants.limit[j]
    d.by[j] = by
    held = missing = 0
    for k in range(d.wants.nodes[j]):
        node = d.chosen[k]
        if is_not_up(d, node):
            missing += 1
        d.given[d.first[j] + k] = node
        take(d, j, node, moment_of(planned, j))
        held += d.machine.cpus[node]
    if d.wants.whole[j]:
        run.held[j] = held
    d.controller[0].plans += 1
    # The rate is 1: work is time. The order of the additions is part of the result.
    ends = s.now + d.wants.launch[j] + d.wants.run[j] + d.wants.finish[j]
    if missing > 0:
        # When its nodes will be up is not known yet.
        claim(d, j, missing)
        ends = np.inf
    enter(s, run, j, float(planned), ends)
    if calendar is not None:
        job = calendar.job[j]
        job.state, job.since, job.began = RUNS, s.now, s.work
        job.amount = d.wants.launch[j] + d.wants.run[j] + d.wants.finish[j]
    note_change(d, second)


@called
def close_job(d, s, j):
    """A job has left service for good."""
    c = d.controller[0]
    forget_boot(d, s, j)
    c.left -= 1
    d.ended[c.ended] = j
    c.ended += 1
    vacate(d, s, j)


@called
def vacate(d, s, j):
    """The nodes of a job that has left service are idle a moment later."""
    c = d.controller[0]
    for k in range(d.first[j], d.first[j + 1]):
        node = d.given[k]
        give_back(d, j, node)
        d.closing[node] += 1
        put(d.closing_set, node)
    heap_push(d.idle_key, d.idle_job, c.ending, s.now + d.pace.epilog, j)
    c.ending += 1
    note_change(d, int(np.floor(s.now)))


@called
def leave_sleepers(d, need):
    """Of the usable nodes, leave those alone that are powered down, if the others suffice."""
    down, awake = d.power.down, 0
    for w in range(down.shape[0]):
        awake += count(d.usable[w] & ~down[w])
    if awake >= need:
        for w in range(down.shape[0]):
            d.usable[w] &= ~down[w]


@called
def main_pass(d, s, run, calendar, everybody):
    """Start jobs in order; one that cannot start holds up all others of its partition.

    `everybody` tells whether the whole queue is looked at, or only its beginning.
    """
    if s.waiting == 0:
        return
    wants, loops, kept = d.wants, d.loops, d.kept
    words = kept.shape[0]
    power = d.power
    for w in range(words):
        kept[w] = ~d.closing_set[w] & ~d.down[w]
    if power.saving.on:
        for w in range(words):
            kept[w] &= ~power.blocked[w]
    stopped = 0
    now = int(np.floor(s.now))
    tested = started = at = 0
    while at < s.waiting:
        if d.eligible[d.queue[at]] > now:
            at += 1
            continue
        if not everybody and tested > loops.main_depth:
            return
        if loops.main_starts > 0 and started >= loops.main_starts:
            return
        tested += 1
        j = d.queue[at]
        part = wants.partition[j]
        if (stopped >> part) & 1:
            d.controller[0].jobs_changed = now
            if not _others_wait(d, stopped):
                return
            at += 1
            continue
        row = room_for(d, j)
        allowed = d.members_of[part]
        meets = False
        if d.outside.begin.shape[0] > 0:
            allowed = d.unreserved
            meets = leave_reserved(d, s.now, now, now + 60 * wants.limit[j], part)
        usable = 0
        for w in range(words):
            d.usable[w] = kept[w] & allowed[w] & d.room.now[row, w]
            usable += count(d.usable[w])
        if usable >= wants.nodes[j]:
            if power.saving.on:
                leave_sleepers(d, wants.nodes[j])
            tightest_groups(d, wants.nodes[j])
            begin_job(d, s, run, calendar, at, MAIN)
            started += 1
            continue
        at += 1
        if calendar is not None:
            if _is_passed_by(d, j, row, allowed, meets, stopped, now):
                continue
        stopped |= 1 << part
        for w in range(words):
            kept[w] &= ~d.members_of[part, w]


@called
def _is_passed_by(d, j, row, allowed, meets, stopped, now):
    """Whether a job that cannot start holds up nobody: nodes for it are reserved, or away."""
    c, part, need = d.controller[0], d.wants.partition[j], d.wants.nodes[j]
    words = d.down.shape[0]
    there = up = suited = suited_up = 0
    for w in range(words):
        there += count(d.members_of[part, w] & ~d.down[w])
        free = ~d.down[w]
        for other in range(d.queued.shape[0]):
            if (stopped >> other) & 1:
                free &= ~d.members_of[other, w]
        if d.power.saving.on:
            free &= ~d.power.blocked[w]
        up += count(d.members_of[part, w] & free)
        suits = d.room.suits[row, w] & allowed[w]
        suited += count(suits)
        suited_up += count(suits & ~d.down[w])
    if there < need:
        c.jobs_changed = now
    if up < need:
        return False
    if suited < need and meets:
        return True
    if suited_up >= need:
        return False
    for node in range(d.busy.shape[0]):
        suits = has(d.room.suits[row], node) and has(allowed, node) and not has(d.down, node)
        if suits and _is_in_use(d, node):
            return False
    c.jobs_changed = now
    return True


@inlined
def _is_in_use(d, node):
    """Whether a node is left, or held in a way that nobody else can have a part of it."""
    used = d.closing[node] > 0
    for k in range(d.busy[node]):
        used = used or d.loops.select != CONSUMABLE or d.wants.whole[job_at(d.ending[node, k])]
    return used


@inlined
def _others_wait(d, stopped):
    """Whether jobs wait whose partition is not held up."""
    others = False
    for part in range(d.queued.shape[0]):
        others = others or (d.queued[part] > 0 and (stopped >> part) & 1 == 0)
    return others
