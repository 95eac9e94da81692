"""Jobs enter service and leave it: what every discipline shares."""

from __future__ import annotations

import numpy as np

from ..jit import called, inlined
from .domains import leave_service, worked_since
from .heap import heap_discard, heap_pop, heap_push, make_heap
from .placing import give_back
from .types import COMPLETED, GONE, RUNS


@inlined
def present(s):
    """nu: customers in the system."""
    return s.running + s.waiting + s.new - s.withdrawn


@inlined
def first_end(s, run):
    """The work at which the next job ends; call only while one runs.

    With exact estimates the plan itself is the order of completions, and no heap is kept.
    """
    if s.exact == 1:
        return run.planned[run.plan[s.running - 1]]
    return run.finish_key[0]


@inlined
def _place_in_plan(run, end, job, last):
    """Where (planned end, job) stands in the plan, or would: after all that end later."""
    low = 0
    high = last
    while low < high:
        middle = (low + high) >> 1
        other = run.plan[middle]
        if run.planned[other] > end or (run.planned[other] == end and other > job):
            low = middle + 1
        else:
            high = middle
    return max(low, 0)


@inlined
def _plan_insert(s, run, job):
    """Keep the running jobs sorted by (planned end, job), the soonest last."""
    at = s.running
    place = _place_in_plan(run, run.planned[job], job, at)
    # Bounded by 0 as well, so that the compiler need not think of negative places.
    while at > 0 and at > place:
        run.plan[at] = run.plan[at - 1]
        at -= 1
    run.plan[at] = job


@inlined
def _plan_remove(s, run, job):
    last = s.running - 1
    if run.plan[last] == job:
        return
    at = _place_in_plan(run, run.planned[job], job, last)
    while at < last:
        run.plan[at] = run.plan[at + 1]
        at += 1


@inlined
def enter(s, run, j, planned, ends):
    """Customer `j` enters service until the work `ends`, and is planned to end at `planned`."""
    if np.isnan(run.start[j]):
        run.start[j] = s.now
    if s.plans == 1:
        run.planned[j] = planned
        _plan_insert(s, run, j)
    if s.exact == 0:
        heap_push(run.finish_key, run.finish_job, s.running, ends, j)
    s.running += 1
    s.free -= run.held[j]


@inlined
def begin(s, run, calendar, j, amount, planned):
    """Customer `j` enters service with an amount of work [rumyantsev2018, eq. 6].

    `planned` is the work at which it is planned to end; under preemption its place in the order.
    """
    enter(s, run, j, planned, s.work + amount)
    if calendar is not None:
        calendar.job[j].state = RUNS
        calendar.job[j].since = s.now
        calendar.job[j].began = s.work
        calendar.job[j].amount = amount


@called
def shift_boots(s, run, nodes, calendar, faster):
    """The rate has grown by `faster`: boots take as long as before, and so more work."""
    for i in range(s.running):
        j = run.plan[i] if s.plans == 1 else run.finish_job[i]
        if nodes.job[j].up > s.now:
            more = faster * (nodes.job[j].up - s.now)
            nodes.job[j].boot += more
            s.load += more
            if calendar is not None:
                calendar.job[j].amount += more
            if s.exact == 0:
                k = 0
                while run.finish_job[k] != j:
                    k += 1
                run.finish_key[k] += more
            if s.plans == 1 and nodes.job[j].up_by_plan > s.now:
                run.planned[j] += faster * (nodes.job[j].up_by_plan - s.now)
    # By (planned end, job), the soonest last: few have moved.
    for i in range(1, s.running if s.plans == 1 else 0):
        j = run.plan[i]
        k = i
        while k > 0 and (
            run.planned[run.plan[k - 1]] < run.planned[j]
            or (run.planned[run.plan[k - 1]] == run.planned[j] and run.plan[k - 1] < j)
        ):
            run.plan[k] = run.plan[k - 1]
            k -= 1
        run.plan[k] = j
    if s.exact == 0:
        make_heap(run.finish_key, run.finish_job, s.running)
    s.shadow_known = 0
    s.reserved_for = -1


@called
def _close_segment(s, run, recording, nodes, calendar, j, lost):
    """Note the stretch of service that ends now."""
    piece = recording.segment[s.segments]
    piece.job = j
    piece.start = calendar.job[j].since
    piece.stop = s.now
    piece.work = s.work - calendar.job[j].began
    piece.held = run.held[j]
    piece.lost = lost
    piece.slowness = 1.0
    if nodes is not None:
        piece.work = worked_since(s, nodes.domains, j, piece.work)
        piece.slowness = nodes.job[j].slowness
        piece.up = nodes.job[j].up
        piece.boot = nodes.job[j].boot
        piece.row = nodes.job[j].row
        piece.rows = nodes.job[j].rows
    s.segments += 1


@inlined
def let_go(s, run, j):
    """`j` is in service no longer."""
    if s.plans == 1:
        _plan_remove(s, run, j)
        if run.planned[j] > s.work:
            # Earlier than planned: so may be whoever waits for it.
            s.reserved_for = -1
    if s.exact == 0:
        if run.finish_job[0] == j:
            heap_pop(run.finish_key, run.finish_job, s.running)
        else:
            heap_discard(run.finish_key, run.finish_job, s.running, j)
    s.running -= 1
    s.free += run.held[j]
    s.shadow_known = 0


@inlined
def retire(s, run, recording, nodes, calendar, j, lost):
    """`j` is in service no longer; `lost`: its work must be done again."""
    let_go(s, run, j)
    if calendar is not None:
        _close_segment(s, run, recording, nodes, calendar, j, lost)


@inlined
def leave(s, run, recording, nodes, calendar, j, lost):
    """`j` is in service no longer, and holds nothing."""
    retire(s, run, recording, nodes, calendar, j, lost)
    if nodes is not None:
        give_back(s, nodes, j)
        leave_service(s, nodes, nodes.domains, j)


@inlined
def depart(s, run, j):
    """`j` has left for good: the next pass will look at it."""
    run.end[j] = s.now
    run.departed[s.departed] = j
    s.departed += 1
    if present(s) == 0:
        # An empty system has no workload, whatever rounding left.
        s.load = 0.0


@inlined
def finish(s, run, recording, nodes, calendar):
    """The job that ends first departs [rumyantsev2018, eq. 3]."""
    j = run.plan[s.running - 1] if s.exact == 1 else run.finish_job[0]
    leave(s, run, recording, nodes, calendar, j, 0)
    depart(s, run, j)
    if calendar is not None:
        calendar.job[j].state = GONE
        calendar.job[j].fate = COMPLETED
        calendar.job[j].left = s.now
        calendar.job[j].worked = calendar.job[j].amount
