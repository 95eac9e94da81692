"""A job enters Slurm's queue, starts and ends; the main loop's pass over the queue."""

from __future__ import annotations

import numpy as np

from ...jit import called, inlined
from ..heap import heap_push
from ..service import enter
from .slurm_nodes import count_usable, give_back, take, tightest_groups
from .slurm_tables import MAIN

__all__ = ["begin_job", "close_job", "enqueue", "is_before", "main_pass", "note_change", "unqueue"]


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
    at = s.waiting
    while at > 0 and is_before(d, j, d.queue[at - 1]):
        d.queue[at] = d.queue[at - 1]
        at -= 1
    d.queue[at] = j
    s.waiting += 1


@inlined
def unqueue(d, s, at):
    """Take the job at a place out of the queue."""
    last = s.waiting - 1
    for k in range(at, last):
        d.queue[k] = d.queue[k + 1]
    s.waiting = last


@called
def begin_job(d, s, run, at, by):
    """Start the waiting job at a place of the queue on the chosen nodes."""
    j = d.queue[at]
    unqueue(d, s, at)
    second = int(np.floor(s.now))
    d.by[j] = by
    for k in range(d.wants.nodes[j]):
        node = d.chosen[k]
        d.given[d.first[j] + k] = node
        take(d.wants, j, node, d.busy, d.cpus, d.memory, d.gpus)
    # The rate is 1: work is time. The order of the additions is part of the result.
    ends = s.now + d.wants.launch[j] + d.wants.run[j] + d.wants.finish[j]
    enter(s, run, j, float(second + 60 * d.wants.limit[j]), ends)
    note_change(d, second)


@called
def close_job(d, s, j):
    """A job has left service; its nodes are idle a moment later."""
    c = d.controller[0]
    c.left -= 1
    d.ended[c.ended] = j
    c.ended += 1
    for k in range(d.first[j], d.first[j + 1]):
        node = d.given[k]
        give_back(d.wants, j, node, d.busy, d.cpus, d.memory, d.gpus)
        d.closing[node] += 1
    heap_push(d.idle_key, d.idle_job, c.ending, s.now + d.pace.epilog, j)
    c.ending += 1
    note_change(d, int(np.floor(s.now)))


@called
def main_pass(d, s, run, everybody):
    """Start jobs in order; one that cannot start holds up all others of its partition.

    `everybody` tells whether the whole queue is looked at, or only its beginning.
    """
    if s.waiting == 0:
        return
    wants, machine, loops, kept = d.wants, d.machine, d.loops, d.kept
    for node in range(kept.shape[0]):
        kept[node] = d.closing[node] == 0
    stopped = 0
    tested = started = at = 0
    while at < s.waiting:
        if not everybody and tested > loops.main_depth:
            return
        if loops.main_starts > 0 and started >= loops.main_starts:
            return
        tested += 1
        j = d.queue[at]
        if (stopped >> wants.partition[j]) & 1:
            d.controller[0].jobs_changed = int(np.floor(s.now))
            at += 1
            continue
        usable = count_usable(
            wants, machine, j, kept, d.busy, d.cpus, d.memory, d.gpus, d.usable
        )  # fmt: skip
        if usable >= wants.nodes[j]:
            tightest_groups(machine, d.usable, wants.nodes[j], d.group, d.members, d.chosen)
            begin_job(d, s, run, at, MAIN)
            started += 1
            continue
        stopped |= 1 << wants.partition[j]
        for node in range(kept.shape[0]):
            if (machine.partitions[node] >> wants.partition[j]) & 1:
                kept[node] = False
        at += 1
