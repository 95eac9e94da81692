"""When could a job start, and on which pools? Reservations on named nodes."""

from __future__ import annotations

import numpy as np

from ..jit import called, inlined
from .booting import boot_of_pools
from .calendar import fall_of, stretch_of
from .caps import may_draw
from .choosing import choose, picked_slowness
from .nodes import (
    BY_NODE,
    FREE,
    KEPT,
    PER_JOB,
    PICK,
    PICK_TASKS,
    SPEED,
    expected,
    note_picks,
    takes,
)
from .plans import (
    note_hold,
    plan_append,
    plan_arrivals,
    plan_block,
    plan_change,
    plan_fall,
    plan_find,
    plan_reset,
    recall_hold,
    stays_free,
    stays_on,
    worst_over,
)
from .profile import hold_end
from .starting import open_again, refuse, shut_reserved, take_picks


@called
def _recall_nodes(s, nodes, j):
    """Pick the pools of a running job, one pair for each of its nodes."""
    first = nodes.job[j].row
    note_picks(s, nodes.job[j].rows)
    for k in range(s.picked):
        nodes.list[PICK, k] = nodes.node[nodes.given[0, first + k]].pool
        nodes.list[PICK_TASKS, k] = nodes.given[1, first + k]


@called
def plan_running(s, run, nodes):
    """Plans of the running jobs alone; an overdue one is expected at once, but not yet."""
    soonest = np.nextafter(s.work, np.inf)
    plan_reset(s, nodes)
    plan_arrivals(s, nodes, soonest)
    for i in range(s.running - 1, -1, -1):
        _recall_nodes(s, nodes, run.plan[i])
        plan_append(s, nodes, run.plan[i], max(run.planned[run.plan[i]], soonest))


@called
def keep_reserved(s, nodes, calendar, reach, least):
    """Take the nodes reserved up to `reach` (work) out of what is free ahead, each once at a time.

    Of a node that is down nothing is free that could be taken. The plan may be asked for more
    later: reservations that it has already are not looked at again, and so it has as many as
    `least` then.
    """
    until = nodes.real[KEPT]
    while s.kept < calendar.reservation.shape[0]:
        node = calendar.reservation[s.kept].what
        begins, ends = stretch_of(s, calendar, s.kept)
        if s.kept >= least and reach < begins < np.inf:
            break
        s.kept += 1
        if nodes.node[node].there == 1 and until[node] < ends < np.inf:
            # They come by their beginnings: what was kept of the node ends in between.
            plan_block(s, nodes, node, max(begins, until[node]), ends)
            until[node] = ends


@called
def keep_falls(s, nodes, calendar):
    """Take out of the room ahead what caps will not leave."""
    for i in range(calendar.fall.shape[0]):
        begins, ends = fall_of(s, calendar, i)
        if begins < np.inf:
            plan_fall(s, nodes, calendar.fall[i].cap, begins, ends, calendar.fall[i].amount)


@called
def release_early(s, run, nodes, j):
    """A job has left before its planned end: its pools are free for the rest of it."""
    _recall_nodes(s, nodes, j)
    plan_change(s, nodes, j, s.work, run.planned[j], 1)


@called
def can_take(s, nodes, j, until):
    """Whether the picked pools have nodes for `j` that nobody has reserved before `until`.

    Only a pool of several nodes may have none though its number is enough.
    """
    if s.reserving == 0 or s.pooling == BY_NODE:
        return True
    shut_reserved(s, nodes, until)
    enough = True
    for k in range(s.picked):
        q = nodes.list[PICK, k]
        enough = enough and nodes.stock[FREE, 0, q] >= takes(
            s, nodes, j, 0, q, nodes.list[PICK_TASKS, k]
        )
    open_again(s, nodes)
    return enough


@called
def take_now(s, nodes, jobs, j, until, score, theta):
    """Take the picked pools, on nodes that nobody has reserved before `until`."""
    around = s.reserving == 1 and s.pooling != BY_NODE
    if around:
        shut_reserved(s, nodes, until)
    take_picks(s, nodes, jobs, j, score, theta)
    if around:
        open_again(s, nodes)


@called
def earliest(s, nodes, jobs, j, at_once, score, theta):
    """The earliest start of a job, and the end of its plan there; the pools are picked.

    At each time: the pools that the placement would choose then, if they stay free as long as
    the job would run on them; else the placement's choice among such as stay free long enough,
    counting on ever faster processors, and on boots that take no longer than of that first choice.
    Infinite if `at_once` is asked and it is not, or if what is
    there is never enough.
    """
    plan = shortest = jobs.plan[j]
    step = plan_find(s, nodes, s.work)
    while step < s.steps:
        begin = s.awake_by = max(nodes.plan_at[step], s.work)
        boot = 0.0
        turn = -1
        while turn < s.speeds:
            slowest = np.inf
            # Of length 0: what is free at that time.
            length = 0.0
            if turn >= 0:
                slowest = nodes.real[SPEED, turn]
                length = boot + expected(s, plan, slowest)
            worst_over(s, nodes, step, hold_end(s.work, begin, length))
            turn += 1
            if choose(s, nodes, jobs, j, slowest, score, theta):
                own = boot_of_pools(s, nodes, begin)
                end = hold_end(s.work, begin, own + expected(s, plan, picked_slowness(s, nodes)))
                if turn == 0:
                    boot = own
                good = (turn > 0 and own <= boot) or stays_free(s, nodes, j, step, end)
                if good and stays_on(s, nodes, j, end):
                    if begin > s.work or can_take(s, nodes, j, end):
                        return begin, end
                    break
                if s.pools == 1:
                    break
            elif turn == 0:
                shortest = -np.inf
                break
        if at_once:
            refuse(s, nodes, j, shortest)
            break
        step += 1
    return np.inf, np.inf


@called
def hold_picks(s, nodes, j, begin, end):
    """Nobody else may have what `j` wants of the picked pools in [begin, end)."""
    plan_change(s, nodes, j, begin, end, -1)


@inlined
def promise(s, nodes, jobs, j, held, score, theta):
    """Promise a job its earliest start, never later than the one it holds; that start."""
    if held < np.inf:
        recall_hold(s, nodes, j)
        plan_change(s, nodes, j, held, nodes.job[j].until, 1)
    begin, end = earliest(s, nodes, jobs, j, False, score, theta)
    if begin < np.inf:
        plan_change(s, nodes, j, begin, end, -1)
        note_hold(s, nodes, j, end)
    return begin


@called
def forget(s, nodes, j, held):
    """A waiting job goes: what it was promised is free."""
    recall_hold(s, nodes, j)
    plan_change(s, nodes, j, max(held, s.work), nodes.job[j].until, 1)


@inlined
def take_promised(s, nodes, jobs, j, promised, score, theta):
    """A job's turn has come: whether its pools are free; then they are taken."""
    end = nodes.job[j].until
    recall_hold(s, nodes, j)
    good = True
    for k in range(s.picked):
        q = nodes.list[PICK, k]
        for r in range(s.resources):
            good = good and nodes.stock[FREE, r, q] >= takes(
                s, nodes, j, r, q, nodes.list[PICK_TASKS, k]
            )
    if s.vectors == 1:
        for r in range(s.resources):
            good = good and nodes.stock[FREE, r, s.pools] >= nodes.ask[PER_JOB, r, j]
    good = good and may_draw(nodes.caps, FREE, j)
    length = jobs.plan[j] * picked_slowness(s, nodes)
    if not good or not can_take(s, nodes, j, s.work + length):
        note_hold(s, nodes, j, end)
        return False
    if promised < s.work:
        plan_change(s, nodes, j, promised, end, 1)
        plan_change(s, nodes, j, s.work, s.work + length, -1)
    take_now(s, nodes, jobs, j, s.work + length, score, theta)
    return True
