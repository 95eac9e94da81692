"""Slurm's controller: submits, ends, the main loop and the backfill loop, in order of time [slurm].

The main loop looks about once a second. It goes through the whole queue once in a period, and
through its beginning when jobs were submitted or have ended and the delay is over. The backfill
loop sleeps for its period after each pass, and then from second to second until something has
changed. The engine's loop comes to the first of the controller's clocks by the timer `s.due`.

At one instant: ends, nodes that are idle again, submits, nodes that are asleep or up,
cancellations, external events, priorities, the main loop, the backfill loop, the power loop. A job
that ends at the instant of its start does so before the next of them.
"""

from __future__ import annotations

import numpy as np

from ...jit import called, inlined
from ..heap import heap_pop
from ..service import first_end, present, retire
from ..types import CANCELLED, GONE, KILLED, WAITS
from . import GO_ON, discipline
from .slurm_backfill import backfill_pass
from .slurm_events import (
    first_event,
    is_over,
    leave_queue,
    note_left,
    spend_since,
    take_event,
)
from .slurm_main import close_job, enqueue, main_pass, note_change, place
from .slurm_nodes import remove
from .slurm_power import arrive, first_change, is_idle_look, look, note_idle, pass_look, set_going
from .slurm_priority import fade, priority_at, share_out
from .slurm_tables import Slurm

__all__ = ["Slurm"]


@inlined
def _submit(d, s, j):
    c = d.controller[0]
    second = int(np.floor(s.now))
    d.priority[j] = priority_at(
        d.rule, d.tree, d.wants.fixed[j], second, d.wants.association[j], second
    )
    enqueue(d, s, j)
    c.jobs_changed = c.quiet_from = second
    c.wanted += 1


@inlined
def _first_idle(d):
    """When the next nodes are idle after a job's end."""
    return d.idle_key[0] if d.controller[0].ending > 0 else np.inf


@inlined
def _leave_nodes(d, s):
    """The nodes of a job that has ended are idle; the main loop will look."""
    c = d.controller[0]
    j = d.idle_job[0]
    heap_pop(d.idle_key, d.idle_job, c.ending)
    c.ending -= 1
    for k in range(d.first[j], d.first[j + 1]):
        node = d.given[k]
        d.closing[node] -= 1
        if d.closing[node] == 0:
            remove(d.closing_set, node)
            if d.power.saving.on:
                note_idle(d, node, int(np.floor(s.now)))
    c.quiet_from = int(np.floor(s.now))
    note_change(d, c.quiet_from)
    note_left(d, j, c.quiet_from)
    c.wanted += 1


@inlined
def _is_running(run, j):
    return not np.isnan(run.start[j]) and np.isnan(run.end[j])


@called
def _end(d, s, run, j):
    """A job that has left service is accounted for."""
    if d.rule.period > 0:
        spend_since(d, run, j, int(np.floor(s.now)))
    close_job(d, s, j)


@inlined
def _stop(d, s, jobs, run, recording, calendar, j):
    """The controller ends a running job."""
    retire(s, run, recording, None, calendar, j, 0)
    run.end[j] = s.now
    if calendar is not None:
        job = calendar.job[j]
        job.state, job.fate, job.left, job.worked = GONE, KILLED, s.now, s.work - job.began
    # What it would have worked, or what it worked beyond that, is no part of the load.
    began = run.start[j]
    if d.power.saving.on and d.power.up[j] > began:
        began = d.power.up[j]
    _lighten(s, jobs.work[j] - (s.now - began))
    _end(d, s, run, j)


@inlined
def _lighten(s, work):
    """Work is not to be done after all."""
    s.load = s.load - work if present(s) > 0 else 0.0


@inlined
def _first_cancel(d):
    """When a user takes a job back next."""
    cancelled = d.controller[0].cancelled
    if cancelled < d.cancels.shape[0]:
        return d.wants.cancel[d.cancels[cancelled]]
    return np.inf


@inlined
def _cancel(d, s, jobs, run, recording, calendar):
    """A user takes a job back: out of the queue, or off its nodes."""
    c = d.controller[0]
    j = d.cancels[c.cancelled]
    c.cancelled += 1
    c.quiet_from = int(np.floor(s.now))
    for at in range(s.waiting):
        if d.queue[at] == j:
            leave_queue(d, s, run, j)
            if calendar is not None:
                calendar.job[j].state, calendar.job[j].fate = GONE, CANCELLED
                calendar.job[j].left = s.now
            _lighten(s, jobs.work[j])
            return
    if _is_running(run, j):
        _stop(d, s, jobs, run, recording, calendar, j)


@inlined
def _enforce_limits(d, s, jobs, run, recording, calendar):
    """Jobs at their limit are ended when the controller looks, twice a minute."""
    c = d.controller[0]
    second = int(np.floor(s.now))
    if second - c.last_limits < d.loops.limit_period:
        return
    c.last_limits = second
    if c.ready > 0:
        set_going(d, s, run)
    at = s.running
    while at > 0:
        at -= 1
        j = run.plan[at]
        if run.planned[j] + d.loops.over_limit > second:
            return
        if d.power.saving.on and d.power.boots[j]:
            continue
        d.timed_out[j] = True
        _stop(d, s, jobs, run, recording, calendar, j)


@inlined
def _purge(d, run, second):
    """Jobs that ended long ago are forgotten, which counts as a change."""
    c = d.controller[0]
    if d.loops.purge_age == 0 or second - c.last_purge < d.loops.purge_period:
        return
    c.last_purge = second
    while c.purged < c.ended:
        ended = run.end[d.ended[c.purged]]
        if int(np.floor(ended)) > second - d.loops.purge_age:
            return
        c.purged += 1
        c.jobs_changed = second


@inlined
def _tick(d, s, jobs, run, recording, calendar):
    c = d.controller[0]
    second = int(np.floor(s.now))
    c.tick = s.now + d.pace.tick
    _enforce_limits(d, s, jobs, run, recording, calendar)
    _purge(d, run, second)
    if s.stopped == 1:
        return
    everybody = second - c.last_full >= d.loops.main_period
    waited = second - c.last_main >= d.loops.main_delay
    if everybody or (c.wanted > 0 and waited):
        c.wanted = 0
        c.last_main = second
        if everybody:
            c.last_full = second
        main_pass(d, s, run, calendar, everybody)


@inlined
def _wake(d, s, run, calendar):
    c = d.controller[0]
    changed = max(c.jobs_changed, c.nodes_changed)
    early = int(np.floor(s.now)) - c.last_backfill < d.loops.backfill_period
    if early or changed < c.last_backfill or s.stopped == 1:
        c.wake = s.now + 1.0 + d.pace.nap
        return
    backfill_pass(d, s, run, calendar)
    done = s.now + d.pace.testing
    c.last_backfill = int(np.floor(done))
    c.wake = done + d.loops.backfill_period + d.pace.nap


@called
def _reorder(d, s, run):
    """Usage fades, running jobs add theirs, waiting jobs get new priorities and places.

    By the classic rule both happen in one walk through the jobs, so that a user's waiting job does
    not see what later ones of the list add.
    """
    c = d.controller[0]
    rule, tree, wants = d.rule, d.tree, d.wants
    second = int(np.floor(s.now))
    fade(tree, rule.decay, second - c.last_period)
    while c.oldest < s.admitted and not np.isnan(run.end[c.oldest]):
        c.oldest += 1
    ranked = rule.fair_tree > 0
    if ranked:
        for j in range(c.oldest, s.admitted):
            if _is_running(run, j):
                spend_since(d, run, j, second)
        share_out(tree, rule)
    for j in range(c.oldest, s.admitted):
        if not np.isnan(run.end[j]):
            continue
        if _is_running(run, j):
            if not ranked:
                spend_since(d, run, j, second)
            continue
        old = d.eligible[j]
        new = priority_at(rule, tree, wants.fixed[j], old, wants.association[j], second)
        d.priority[j] = max(new, d.priority[j]) if rule.only_up > 0 else new
    c.last_period = second
    c.period += rule.period
    waiting = s.waiting
    s.waiting = 0
    for k in range(waiting):
        place(d, s, d.queue[k])


@inlined
def _take_in(d, s, run, calendar):
    """What the engine's loop has brought: ends, then submits; in between, nodes that are idle."""
    for i in range(s.departed):
        _end(d, s, run, run.departed[i])
    while _first_idle(d) <= s.now:
        _leave_nodes(d, s)
    for j in range(s.admitted, s.arrived):
        if calendar is not None:
            if calendar.job[j].fate == CANCELLED:
                d.controller[0].left -= 1
                run.end[j] = s.now
                continue
            calendar.job[j].state = WAITS
        _submit(d, s, j)
    s.admitted = s.arrived
    s.new = 0


@inlined
def _forget_row(c, s, recording):
    """A round that changed nothing, as most do, leaves no row."""
    if c.stirred == 1:
        c.stirred = 0
    elif s.records == 1 and s.recorded > 1:
        last, before = recording.row[s.recorded - 1], recording.row[s.recorded - 2]
        if (
            last.present == before.present
            and last.queued == before.queued
            and last.busy == before.busy
            and last.running == before.running
        ):
            s.recorded -= 1


@inlined
def _is_idle_tick(d, s, second):
    """Whether a round of the main loop would do nothing at all."""
    c, loops = d.controller[0], d.loops
    return (
        second - c.last_limits < loops.limit_period
        and (loops.purge_age == 0 or second - c.last_purge < loops.purge_period)
        and (
            s.stopped == 1
            or (
                second - c.last_full < loops.main_period
                and (c.wanted == 0 or second - c.last_main < loops.main_delay)
            )
        )
    )


@inlined
def _is_idle_wake(d, s, second):
    """Whether the backfill loop would look and sleep on."""
    c = d.controller[0]
    changed = max(c.jobs_changed, c.nodes_changed)
    early = second - c.last_backfill < d.loops.backfill_period
    return early or changed < c.last_backfill or s.stopped == 1


@inlined
def _pass_over(d, s, until):
    """Let the loops go round in vain before a time: nothing but their clocks changes there."""
    c = d.controller[0]
    while True:
        if c.look < c.tick and c.look < c.wake:
            if c.look >= until or not is_idle_look(d, int(np.floor(c.look))):
                return
            pass_look(d)
        elif c.tick <= c.wake:
            if c.tick >= until or not _is_idle_tick(d, s, int(np.floor(c.tick))):
                return
            c.tick += d.pace.tick
        else:
            if c.wake >= until or not _is_idle_wake(d, s, int(np.floor(c.wake))):
                return
            c.wake = c.wake + 1.0 + d.pace.nap


@discipline(Slurm, "the model of Slurm", seconds=(13.0, 13.0))
def slurm_pass(d, s, jobs, run, recording, nodes, calendar, laws):
    """Carry out what is due, in order; the next of the controller's clocks is the timer."""
    c = d.controller[0]
    _forget_row(c, s, recording)
    if c.opened == 0:
        c.opened = 1
        share_out(d.tree, d.rule)
    _take_in(d, s, run, calendar)
    while c.left > 0 and not (s.running > 0 and first_end(s, run) <= s.work):
        if _first_idle(d) <= s.now:
            _leave_nodes(d, s)
        elif first_change(d) <= s.now:
            arrive(d, s)
        elif _first_cancel(d) <= s.now:
            _cancel(d, s, jobs, run, recording, calendar)
        elif first_event(s, calendar) <= s.now:
            if calendar is not None:
                take_event(d, s, jobs, run, recording, calendar)
        elif c.period <= s.now:
            _reorder(d, s, run)
        elif c.tick <= s.now:
            _tick(d, s, jobs, run, recording, calendar)
        elif c.wake <= s.now:
            _wake(d, s, run, calendar)
        elif c.look <= s.now:
            look(d, s)
        else:
            break
    s.due_work = np.inf
    if calendar is not None:
        if is_over(d, s, jobs, calendar):
            return GO_ON
    if c.left > 0:
        until = min(_first_idle(d), first_change(d), _first_cancel(d), c.period)
        until = min(until, first_event(s, calendar))
        if s.arrived < jobs.submit.shape[0]:
            until = min(until, jobs.submit[s.arrived])
        if s.running > 0:
            until = min(until, first_end(s, run))
        _pass_over(d, s, until)
        until = min(_first_idle(d), first_change(d), _first_cancel(d), c.period)
        s.due_work = min(until, c.tick, c.wake, c.look)
    return GO_ON
