"""The controller's clock: submits, ends, the main loop and the backfill loop, in order of time.

The main loop looks about once a second. It goes through the whole queue once in a period, and
through its beginning when jobs were submitted or have ended and the delay is over. The backfill
loop sleeps for its period after each pass, and then from second to second until something has
changed.
"""

from __future__ import annotations

import numba
import numpy as np
from numba import types

from ...engine.heap import heap_pop
from ...jit import compiled, inlined
from .backfill import backfill_pass
from .priority import fade, no_associations, priority_at, share_out, spend, unchanging
from .starting import enqueue, finish, main_pass, note, unqueue
from .state import (
    ARRIVED,
    CANCELLED,
    ENDED,
    ENDING,
    JOBS_CHANGED,
    LAST_BACKFILL,
    LAST_FULL,
    LAST_LIMITS,
    LAST_MAIN,
    LAST_PERIOD,
    LAST_PURGE,
    LEFT,
    NODES_CHANGED,
    OLDEST,
    PAUSE,
    PERIOD,
    PURGED,
    RUNNING,
    TICK,
    WAITING,
    WAKE,
    WANTED,
    examples,
    make_state,
)

__all__ = ["run_loops"]


@inlined
def _submit(state, wants, machine, rule, tree, now):
    j = state.count[ARRIVED]
    state.count[ARRIVED] = j + 1
    second = int(np.floor(now))
    if wants.nodes[j] == 0:
        state.count[LEFT] -= 1
        return
    state.priority[j] = priority_at(
        rule, tree, wants.fixed[j], second, wants.association[j], second
    )
    enqueue(state, wants, machine, j)
    state.second[JOBS_CHANGED] = second
    state.count[WANTED] += 1


@inlined
def _leave_nodes(state):
    """The nodes of a job that has ended are idle; the main loop will look."""
    j = state.idle_job[0]
    now = state.idle_key[0]
    heap_pop(state.idle_key, state.idle_job, state.count[ENDING])
    state.count[ENDING] -= 1
    for k in range(state.first[j], state.first[j + 1]):
        state.closing[state.given[k]] -= 1
    note(state, int(np.floor(now)))
    state.count[WANTED] += 1


@inlined
def _is_running(state, j):
    return not np.isnan(state.start[j]) and np.isnan(state.end[j])


@inlined
def _spend_since(state, wants, rule, tree, j, second):
    """Add what a job has used since the last period, or its start."""
    since = max(state.second[LAST_PERIOD], int(np.floor(state.start[j])))
    cpus = wants.cpus[j] * wants.nodes[j]
    spend(tree, wants.association[j], cpus, since, second, rule.decay)


@inlined
def _end(state, wants, pace, rule, tree, j, now):
    if rule.period > 0:
        _spend_since(state, wants, rule, tree, j, int(np.floor(now)))
    finish(state, wants, pace, j, now, state.count[ENDING])
    state.count[ENDING] += 1


@inlined
def _cancel(state, wants, pace, rule, tree, j, now):
    """A user takes a job back: out of the queue, or off its nodes."""
    for at in range(state.count[WAITING]):
        if state.queue[at] == j:
            unqueue(state, at)
            state.end[j] = now
            state.count[LEFT] -= 1
            state.second[JOBS_CHANGED] = int(np.floor(now))
            return
    if not np.isnan(state.start[j]) and np.isnan(state.end[j]):
        _end(state, wants, pace, rule, tree, j, now)


@inlined
def _enforce_limits(state, wants, loops, pace, rule, tree, now):
    """Jobs at their limit are ended when the controller looks, twice a minute."""
    second = int(np.floor(now))
    if second - state.second[LAST_LIMITS] < loops.limit_period:
        return
    state.second[LAST_LIMITS] = second
    while state.count[RUNNING] > 0:
        j = state.active[0]
        if state.planned[j] + loops.over_limit > second:
            return
        state.timed_out[j] = True
        _end(state, wants, pace, rule, tree, j, now)


@inlined
def _purge(state, loops, second):
    """Jobs that ended long ago are forgotten, which counts as a change."""
    if loops.purge_age == 0 or second - state.second[LAST_PURGE] < loops.purge_period:
        return
    state.second[LAST_PURGE] = second
    while state.count[PURGED] < state.count[ENDED]:
        ended = state.end[state.ended[state.count[PURGED]]]
        if int(np.floor(ended)) > second - loops.purge_age:
            return
        state.count[PURGED] += 1
        state.second[JOBS_CHANGED] = second


@inlined
def _tick(state, wants, machine, loops, pace, rule, tree):
    now = state.clock[TICK]
    second = int(np.floor(now))
    state.clock[TICK] = now + pace.tick
    _enforce_limits(state, wants, loops, pace, rule, tree, now)
    _purge(state, loops, second)
    everybody = second - state.second[LAST_FULL] >= loops.main_period
    waited = second - state.second[LAST_MAIN] >= loops.main_delay
    if everybody or (state.count[WANTED] > 0 and waited):
        state.count[WANTED] = 0
        state.second[LAST_MAIN] = second
        if everybody:
            state.second[LAST_FULL] = second
        main_pass(state, wants, machine, loops, now, everybody)


@inlined
def _wake(state, wants, machine, loops, pace):
    now = state.clock[WAKE]
    last = state.second[LAST_BACKFILL]
    changed = max(state.second[JOBS_CHANGED], state.second[NODES_CHANGED])
    if int(np.floor(now)) - last < loops.backfill_period or changed < last:
        state.clock[WAKE] = now + 1.0 + pace.nap
        return
    backfill_pass(state, wants, machine, loops, pace.epoch, now)
    done = now + pace.testing
    state.second[LAST_BACKFILL] = int(np.floor(done))
    state.clock[WAKE] = done + loops.backfill_period + pace.nap


@inlined
def _reorder(state, wants, machine, rule, tree, second):
    """Usage fades, running jobs add theirs, waiting jobs get new priorities and places.

    By the classic rule both happen in one walk through the jobs, so that a user's waiting job does
    not see what later ones of the list add.
    """
    fade(tree, rule.decay, second - state.second[LAST_PERIOD])
    while state.count[OLDEST] < state.count[ARRIVED] and not np.isnan(
        state.end[state.count[OLDEST]]
    ):
        state.count[OLDEST] += 1
    ranked = rule.fair_tree > 0
    if ranked:
        for j in range(state.count[OLDEST], state.count[ARRIVED]):
            if _is_running(state, j):
                _spend_since(state, wants, rule, tree, j, second)
        share_out(tree, rule)
    for j in range(state.count[OLDEST], state.count[ARRIVED]):
        if wants.nodes[j] == 0 or not np.isnan(state.end[j]):
            continue
        if _is_running(state, j):
            if not ranked:
                _spend_since(state, wants, rule, tree, j, second)
            continue
        eligible = int(np.floor(wants.submit[j]))
        new = priority_at(rule, tree, wants.fixed[j], eligible, wants.association[j], second)
        state.priority[j] = max(new, state.priority[j]) if rule.only_up > 0 else new
    state.second[LAST_PERIOD] = second
    waiting = state.count[WAITING]
    state.count[WAITING] = 0
    for k in range(waiting):
        enqueue(state, wants, machine, state.queue[k])


_WANTS, _MACHINE, _LOOPS, _PACE = examples()
_RULE, _TREE = unchanging(), no_associations()
_GIVEN = (make_state(_WANTS, _MACHINE, _LOOPS, _PACE), _WANTS, _MACHINE, _LOOPS, _PACE)
_SIGNATURE = types.boolean(*(numba.typeof(given) for given in (*_GIVEN, _RULE, _TREE)), types.int64)


@compiled(_SIGNATURE, slow="the model of Slurm")
def run_loops(state, wants, machine, loops, pace, rule, tree, budget):
    """Run until every job has ended or was taken back; False if paused before, or out of steps."""
    jobs = wants.submit.shape[0]
    if state.clock[PERIOD] == -np.inf:
        share_out(tree, rule)
        state.clock[PERIOD] = np.inf
        if rule.period > 0:
            state.clock[PERIOD] = state.second[LAST_PERIOD] + rule.period
    while state.count[LEFT] > 0:
        if budget <= 0 or state.count[PAUSE] == 1:
            state.count[PAUSE] = 0
            return False
        budget -= 1
        period = state.clock[PERIOD]
        ends = state.end_key[0] if state.count[RUNNING] > 0 else np.inf
        idle = state.idle_key[0] if state.count[ENDING] > 0 else np.inf
        comes = np.inf
        if state.count[ARRIVED] < jobs:
            comes = wants.submit[state.count[ARRIVED]]
        goes = np.inf
        if state.count[CANCELLED] < state.cancels.shape[0]:
            goes = wants.cancel[state.cancels[state.count[CANCELLED]]]
        at = min(ends, idle, comes, goes, period, state.clock[TICK], state.clock[WAKE])
        if ends == at:
            _end(state, wants, pace, rule, tree, state.end_job[0], at)
        elif idle == at:
            _leave_nodes(state)
        elif comes == at:
            _submit(state, wants, machine, rule, tree, at)
        elif goes == at:
            j = state.cancels[state.count[CANCELLED]]
            state.count[CANCELLED] += 1
            _cancel(state, wants, pace, rule, tree, j, at)
        elif period == at:
            _reorder(state, wants, machine, rule, tree, int(np.floor(at)))
            state.clock[PERIOD] += rule.period
        elif state.clock[TICK] == at:
            _tick(state, wants, machine, loops, pace, rule, tree)
        else:
            _wake(state, wants, machine, loops, pace)
    return True
