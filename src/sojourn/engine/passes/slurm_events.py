"""What happens to Slurm's nodes and jobs from outside: failures, cancellations, stops.

What becomes of a job and of its work is the same under every policy (`happenings`); here is what
Slurm makes of it. Whoever comes back leaves its nodes first, and may start when its credential has
expired.
"""

from __future__ import annotations

import numpy as np

from ...jit import called, inlined
from ..calendar import LOOK
from ..happenings import DOWN, RESUME, STOP, STRIKE, UP, WITHDRAW, stop_job, withdraw
from ..types import RUNS, WAITS
from ..words import count
from .slurm_main import close_job, enqueue, unqueue, vacate
from .slurm_nodes import job_at, put, remove, room_for
from .slurm_priority import spend

TAKEN = (WITHDRAW, STRIKE, DOWN, UP, STOP, RESUME, LOOK)
"""Events that this discipline takes itself."""

NEVER = 1 << 60
"""The second at which a job may start that is still leaving its nodes."""

PATIENCE = 3600
"""Seconds for which a run goes on in which jobs wait behind others that can never start."""


@inlined
def first_event(s, calendar):
    """When the next external event comes (s)."""
    if calendar is not None:
        if s.next < calendar.event.shape[0]:
            return calendar.event[s.next].time
    return np.inf


@inlined
def spend_since(d, run, j, second):
    """Add what a running job has used since the last period, or its start."""
    since = max(d.controller[0].last_period, int(np.floor(run.start[j])))
    cpus = d.wants.cpus[j] * d.wants.nodes[j]
    spend(d.tree, d.wants.association[j], cpus, since, second, d.rule.decay)


@called
def _end_early(d, s, jobs, run, recording, calendar, j, returns):
    """A running job is stopped from outside: it comes back, or is killed."""
    if d.rule.period > 0:
        spend_since(d, run, j, int(np.floor(s.now)))
    row = s.given
    for k in range(d.first[j], d.first[j + 1]):
        recording.node[s.given] = d.given[k]
        s.given += 1
    stop_job(s, jobs, run, recording, None, calendar, j, returns)
    piece = recording.segment[s.segments - 1]
    piece.row, piece.rows = row, s.given - row
    if not returns:
        close_job(d, s, j)
        return
    vacate(d, s, j)
    s.new -= 1
    s.returned = 0
    calendar.job[j].state = WAITS
    if d.outside.saves:
        d.wants.run[j] = jobs.work[j]
    d.eligible[j] = NEVER
    enqueue(d, s, j)


@inlined
def note_left(d, j, second):
    """A job has left its nodes: if it comes back, it is submitted anew."""
    if d.eligible[j] == NEVER:
        d.eligible[j] = second + d.outside.expire + 1


@called
def _go_down(d, s, jobs, run, recording, calendar, node):
    """A node is there no longer, after its jobs, in the order of their submits."""
    c = d.controller[0]
    while d.busy[node] > 0:
        j = job_at(d.ending[node, 0])
        for k in range(1, d.busy[node]):
            j = min(j, job_at(d.ending[node, k]))
        _end_early(d, s, jobs, run, recording, calendar, j, s.requeue == 1)
    put(d.down, node)
    s.free -= d.machine.cpus[node]
    s.gone += d.machine.cpus[node]
    c.nodes_changed = int(np.floor(s.now))
    c.wanted += 1


@inlined
def _come_up(d, s, node):
    c = d.controller[0]
    remove(d.down, node)
    s.free += d.machine.cpus[node]
    s.gone -= d.machine.cpus[node]
    c.nodes_changed = int(np.floor(s.now))
    c.wanted += 1


@called
def _take_back(d, s, jobs, run, recording, calendar, j):
    """A job is withdrawn by hand, wherever it is."""
    state = calendar.job[j].state
    if state == RUNS:
        _end_early(d, s, jobs, run, recording, calendar, j, False)
        return
    withdraw(s, calendar, j)
    if state == WAITS:
        s.withdrawn = 0
        leave_queue(d, s, run, j)


@called
def leave_queue(d, s, run, j):
    """A waiting job is taken back."""
    c = d.controller[0]
    at = 0
    while d.queue[at] != j:
        at += 1
    unqueue(d, s, at)
    run.end[j] = s.now
    c.left -= 1
    c.jobs_changed = int(np.floor(s.now))


@called
def take_event(d, s, jobs, run, recording, calendar):
    """The next external event."""
    c = d.controller[0]
    event = calendar.event[s.next]
    kind, about = event.kind, event.about
    second = int(np.floor(s.now))
    s.next += 1
    c.stirred = 1
    c.quiet_from = second
    if kind == DOWN:
        _go_down(d, s, jobs, run, recording, calendar, about)
    elif kind == UP:
        _come_up(d, s, about)
    elif kind == STRIKE:
        if calendar.job[about].state == RUNS:
            _end_early(d, s, jobs, run, recording, calendar, about, s.requeue == 1)
    elif kind == WITHDRAW:
        _take_back(d, s, jobs, run, recording, calendar, about)
    elif kind == STOP:
        s.stopped = 1
    elif kind == RESUME:
        if s.stopped == 1:
            s.stopped = 0
            c.jobs_changed = second
            c.wanted += 1
    else:
        c.nodes_changed = second


@called
def is_over(d, s, jobs, calendar):
    """Whether all who wait, wait for ever: for nodes that never come back, or behind such."""
    c = d.controller[0]
    if c.left == 0 or s.running > 0 or c.ending > 0 or s.waiting == 0:
        return False
    if s.arrived < jobs.submit.shape[0] or s.next < calendar.event.shape[0]:
        return False
    if c.cancelled < d.cancels.shape[0]:
        return False
    since, hopeless = c.quiet_from, True
    for at in range(s.waiting):
        j = d.queue[at]
        row, able = room_for(d, j), 0
        for w in range(d.down.shape[0]):
            able += count(d.room.suits[row, w] & ~d.down[w])
        hopeless = hopeless and able < d.wants.nodes[j]
        since = max(since, d.eligible[j])
    return hopeless or s.stopped == 1 or int(np.floor(s.now)) >= since + PATIENCE
