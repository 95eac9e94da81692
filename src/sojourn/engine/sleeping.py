"""Nodes that sleep: their states, who wakes them, and how long a job waits for its nodes to be up.

A node that sleeps, or is on its way, is free. Whoever gets it wakes it, and the boot is the first
part of that job's service; so all that plans counts it. Times of changes are in seconds: no service
rate makes a boot faster. What all of this means exactly is said on the page of power states.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np
from numba import types

from ..jit import called, inlined
from .bits import bit_clear, bit_next, bit_set
from .caps import draw_more, may_draw_more, wake_for
from .draws import uniform
from .heap import heap_discard, heap_pop, heap_push
from .nodes import ORDERED, PICK, PICK_TASKS, SLOWEST, SleepFacts
from .state import ASLEEP, ENTERING, FAILED, LEAVING, UP

__all__ = [
    "ASLEEP",
    "ENTERING",
    "FAILED",
    "KEEP",
    "KEEP_POINTER",
    "LEAVING",
    "UP",
    "SleepView",
    "boot_of_nodes",
    "boot_of_pools",
    "count_on",
    "count_on_free",
    "expect_sleepers",
    "first_rest",
    "go",
    "is_a_change_due",
    "is_anybody_due",
    "is_eased",
    "is_unsettled",
    "is_up_at_once",
    "is_up_by",
    "lie_idle",
    "put_to_sleep",
    "return_idle",
    "set_up_sleep",
    "stir",
    "use_nodes",
]

_ROUNDING = 4e-16

# What is drawn: of boots whether they fail and how long they take, and idle times.
_BOOTS, _RESTS = np.uint64(0xD1B54A32D192ED03), np.uint64(0x2545F4914F6CDD1D)


class SleepView(NamedTuple):
    """What a sleep policy sees: numbers of nodes by state, of jobs that wait, and of all nodes.

    `coming` nodes are on their way to be up, and no job has them; `busy` ones have jobs on them,
    or will when they are up.
    """

    idle: int
    coming: int
    asleep: int
    busy: int
    nodes: int
    waiting: int


KEEP = types.float64(numba.typeof(SleepView(0, 0, 0, 0, 0, 0)), types.float64, types.float64[::1])
"""Of (view, now, theta): how many idle nodes stay on, or are woken if there are fewer."""
KEEP_POINTER = types.FunctionType(KEEP)


def set_up_sleep(s: Any, facts: SleepFacts | None) -> None:
    """Let nodes of a run sleep; without `facts` none does."""
    s.sleeps, s.stir, s.rouse = 0, np.inf, np.inf
    if facts is not None:
        s.sleeps = 1
        s.idle_time, s.ask_every, s.keeps = facts.idle_time, facts.ask_every, facts.keeps
        if facts.idle_varies:
            # A drawn time is part of the time from which on a node's idle time counts.
            s.idle_varies, s.idle_mean, s.idle_time = 1, facts.idle_time, 0.0
        s.sleep_gap, s.wake_gap = facts.sleep_gap, facts.wake_gap
        s.next_sleep = s.next_wake = -np.inf
        s.boot_failure, s.repair, s.seed_of_boots = facts.boot_failure, facts.repair, facts.seed
        leave = facts.leave[facts.able]
        # How long a node takes to wake, if all take as long.
        s.nap_leave = leave[0] if len(leave) and np.all(leave == leave[0]) else np.inf


@inlined
def _put_on(s, nodes, node, shelf):
    """Let placements that visit nodes in an order find a node among others of its kind.

    Those that are up stand in row 0 of the index, all others in the last.
    """
    if s.rule == ORDERED:
        before, place = nodes.node[node].shelf, nodes.node[node].place
        nodes.node[node].shelf = shelf
        if nodes.node[node].free > 0 and before != shelf:
            bit_clear(nodes.bits, before, place)
            bit_set(nodes.bits, shelf, place)


@inlined
def _record(s, nodes, node, state):
    nodes.sleeper[node].state = state
    nodes.change[s.changes].time = s.now
    nodes.change[s.changes].node = node
    nodes.change[s.changes].state = state
    s.changes += 1


@inlined
def _leave_list(s, nodes, node):
    """A node is idle no longer."""
    it = nodes.sleeper[node]
    if it.after >= 0:
        nodes.sleeper[it.before].after = it.after
        nodes.sleeper[it.after].before = it.before
        it.after = -1
        s.idlers -= 1


@inlined
def _exponential(mean, share):
    """A time of this mean (s) from a number in [0, 1).

    It is a multiple of 1/1024, so that sums are exact.
    """
    return np.floor(-1024.0 * mean * np.log1p(-share) + 0.5) / 1024.0


@inlined
def lie_idle(s, nodes, node, at):
    """A node that is up and nobody has is idle from a time on.

    It stands among others that could sleep by when their idle time is over, then by number.
    """
    if nodes.sleeper[node].able == 0:
        return
    nodes.sleeper[node].rests += 1
    since = at
    if s.idle_varies == 1:
        share = uniform(s.seed_of_boots, node, nodes.sleeper[node].rests, _RESTS)
        since = at + _exponential(s.idle_mean, share)
    last = nodes.sleeper[s.nodes].before
    while last != s.nodes and (
        nodes.sleeper[last].since > since or (nodes.sleeper[last].since == since and last > node)
    ):
        last = nodes.sleeper[last].before
    after = nodes.sleeper[last].after
    nodes.sleeper[node].before = last
    nodes.sleeper[node].after = after
    nodes.sleeper[last].after = node
    nodes.sleeper[after].before = node
    nodes.sleeper[node].since = since
    s.idlers += 1


@inlined
def _is_empty(nodes, node):
    return nodes.node[node].free == nodes.node[node].procs


@inlined
def _hold_on_way(nodes, caps, node):
    """A node holds what it may draw on its way, under caps."""
    if caps is not None:
        q = nodes.node[node].pool
        draw_more(caps, nodes.sleeper[node], q, caps.changing[q], 0)


@called
def return_idle(s, nodes, j):
    """A job has given back its nodes: those that are up and empty are idle."""
    first = nodes.job[j].row
    for i in range(first, first + nodes.job[j].rows):
        node = nodes.given[0, i]
        it = nodes.sleeper[node]
        if it.waker == j:
            # It goes on waking, for nobody.
            it.waker = -1
            _hold_on_way(nodes, nodes.caps, node)
        if it.state == UP and it.after < 0 and _is_empty(nodes, node):
            lie_idle(s, nodes, node, s.now)


@inlined
def _come_up(s, nodes, node):
    if nodes.node[node].free > 0 or nodes.sleeper[node].extra > 0:
        s.eased = 1
    _record(s, nodes, node, UP)
    _put_on(s, nodes, node, 0)
    s.not_up -= 1
    nodes.sleeper[node].waker = -1
    draw_more(nodes.caps, nodes.sleeper[node], nodes.node[node].pool, 0, 0)
    if _is_empty(nodes, node):
        lie_idle(s, nodes, node, s.now)


@inlined
def _await(s, nodes, node, at):
    """Something happens to a node at a time (s)."""
    nodes.sleeper[node].arrives = at
    nodes.sleeper[node].moving = 1
    heap_push(nodes.arrival, nodes.arriving, s.transits, at, node)
    s.transits += 1


@inlined
def _set_out(s, nodes, node, state, lapse):
    """A change of state begins, and ends after so many seconds."""
    _record(s, nodes, node, state)
    _await(s, nodes, node, s.now + lapse)


@called
def _drawn_boot_time(seed, mean, node, boot):
    return _exponential(mean, uniform(seed, node, 2 * boot + 1, _BOOTS))


@inlined
def _boot_time(s, nodes, node, boot):
    """How long a boot of a node takes (s), by its number."""
    it = nodes.sleeper[node]
    if it.varies == 0:
        return it.leave
    return _drawn_boot_time(s.seed_of_boots, it.leave, node, boot)


@inlined
def is_up_at_once(s, nodes, node):
    """Whether a sleeper is up as soon as it is woken."""
    if s.boot_failure > 0.0 or s.wake_gap > 0.0:
        return False
    return _boot_time(s, nodes, node, nodes.sleeper[node].boots + 1) == 0.0


@inlined
def wake(s, nodes, node):
    """A sleeper begins to leave as soon as it is there, and boots that begin are not too many."""
    it = nodes.sleeper[node]
    if it.woken == 1 or not (it.state == ENTERING or it.state == ASLEEP):
        return
    it.woken = 1
    it.begins = it.arrives if it.state == ENTERING else s.now
    if s.wake_gap > 0.0:
        it.begins = max(it.begins, s.next_wake)
        s.next_wake = it.begins + s.wake_gap
    if it.state == ASLEEP:
        _boot(s, nodes, node)


@inlined
def _boot(s, nodes, node):
    """A sleeper that was woken begins to leave, or waits until it may."""
    it = nodes.sleeper[node]
    if it.begins > s.now:
        _put_on(s, nodes, node, s.classes + 1)
        _await(s, nodes, node, it.begins)
        return
    it.woken = 0
    it.boots += 1
    s.asleep -= 1
    it.expected = s.now + it.leave
    lapse = _boot_time(s, nodes, node, it.boots)
    if lapse == 0.0 and s.boot_failure == 0.0:
        _record(s, nodes, node, LEAVING)
        _come_up(s, nodes, node)
    else:
        _set_out(s, nodes, node, LEAVING, lapse)


@inlined
def _arrive_asleep(s, nodes, node):
    _record(s, nodes, node, ASLEEP)
    s.asleep += 1
    if nodes.sleeper[node].woken == 0:
        draw_more(nodes.caps, nodes.sleeper[node], nodes.node[node].pool, 0, 1)
    if s.lends == 1:
        s.eased = 1
    if nodes.sleeper[node].leave == 0.0:
        # It is as good as up.
        _put_on(s, nodes, node, 0)
        s.eased = 1


@inlined
def _fall_asleep(s, nodes, node):
    """An idle node begins to go to sleep."""
    _leave_list(s, nodes, node)
    nodes.sleeper[node].woken = 0
    s.not_up += 1
    _put_on(s, nodes, node, s.classes + 1)
    _hold_on_way(nodes, nodes.caps, node)
    if nodes.sleeper[node].enter == 0.0:
        _record(s, nodes, node, ENTERING)
        _arrive_asleep(s, nodes, node)
    else:
        _set_out(s, nodes, node, ENTERING, nodes.sleeper[node].enter)


@called
def first_rest(s, nodes, first):
    """All nodes are idle since the first instant."""
    for node in range(s.nodes):
        if nodes.node[node].there == 1:
            lie_idle(s, nodes, node, first)


@inlined
def is_anybody_due(s, nodes):
    """Whether some node has been idle for long enough to sleep."""
    node = nodes.sleeper[s.nodes].after
    return node != s.nodes and nodes.sleeper[node].since + s.idle_time <= s.now


@inlined
def is_a_change_due(s, nodes):
    """Whether some node arrives where it is on its way to."""
    return s.transits > 0 and nodes.arrival[0] <= s.now


@inlined
def is_unsettled(s):
    """Whether what a boot takes may have changed since the last pass, for somebody who waits."""
    return s.sleeps == 1 and (s.not_up > 0 or s.stirred == 1)


@inlined
def is_eased(s, nodes):
    """Whether who could not start may do so for what nodes, or who has begun, did meanwhile.

    If nodes are only counted, and all that are free are up or asleep, whoever wakes some is up the
    later the later they are woken. Under caps who begins may leave a reservation more than before.
    """
    if s.sleeps == 0:
        return False
    if s.pinned == 1 or s.controlled == 1 or s.speeds > 1 or s.rule > SLOWEST:
        return is_unsettled(s)
    if s.nap_leave == np.inf:
        return is_unsettled(s)
    if s.eased == 1 or (s.begun == 1 and s.not_up > 0):
        return True
    for i in range(s.transits):
        if nodes.node[nodes.arriving[i]].free > 0:
            return True
    return False


@called
def stir(s, nodes):
    """Changes of state that are due end; the next node whose boot has failed, or -1."""
    while s.transits > 0 and nodes.arrival[0] <= s.now:
        node = nodes.arriving[0]
        heap_pop(nodes.arrival, nodes.arriving, s.transits)
        s.transits -= 1
        it = nodes.sleeper[node]
        it.moving = 0
        if it.state == ENTERING:
            _arrive_asleep(s, nodes, node)
            if it.woken == 1:
                _boot(s, nodes, node)
        elif it.state == ASLEEP:
            _boot(s, nodes, node)
        elif it.state == LEAVING:
            failure = s.boot_failure
            if failure > 0.0:
                if uniform(s.seed_of_boots, node, 2 * it.boots, _BOOTS) < failure:
                    s.eased = 1
                    return node
            _come_up(s, nodes, node)
        else:
            # It is repaired.
            s.eased = 1
            return node
    return np.int64(-1)


@called
def go(s, nodes, node, sign, state, lapse):
    """A node has gone (sign -1) for so many seconds, or until it is told; or has come back (1)."""
    it = nodes.sleeper[node]
    if sign == 1:
        _put_on(s, nodes, node, 0)
        _record(s, nodes, node, UP)
        if _is_empty(nodes, node) and it.after < 0:
            lie_idle(s, nodes, node, s.now)
        return
    _leave_list(s, nodes, node)
    it.waker = -1
    draw_more(nodes.caps, it, nodes.node[node].pool, 0, -1 if it.state == ASLEEP else 0)
    if it.state == ASLEEP:
        s.asleep -= 1
    if it.moving == 1:
        heap_discard(nodes.arrival, nodes.arriving, s.transits, node)
        s.transits -= 1
        it.moving = 0
    it.woken = 0
    if it.state != UP and it.state != FAILED:
        s.not_up -= 1
    if lapse < np.inf:
        _set_out(s, nodes, node, state, lapse)
    else:
        _record(s, nodes, node, state)


# How long a job waits for its nodes, as work at the present rate.


@inlined
def _up_time(s, nodes, node):
    """When planning expects a node to be up, if it is wanted from now on (s)."""
    it = nodes.sleeper[node]
    if it.state == UP:
        return s.now
    up = it.expected
    if it.woken == 1:
        up = it.begins + it.leave
    elif it.state == ASLEEP:
        up = s.now + it.leave
    elif it.state == ENTERING:
        up = it.arrives + it.leave
    return max(up, s.now)


@inlined
def _arrival(s, nodes, node):
    """When a node that is wanted is up indeed (s)."""
    it = nodes.sleeper[node]
    if it.state == UP:
        return s.now
    if it.woken == 1:
        return it.begins + _boot_time(s, nodes, node, it.boots + 1)
    return it.arrives


@inlined
def _up_work(s, nodes, node):
    """The work clock then."""
    return s.work + (_up_time(s, nodes, node) - s.now) * s.rate


@inlined
def is_up_by(s, nodes, q):
    """Whether the node of a pool is up at the work `s.awake_by`, if it is woken now.

    One that should be up by now is so right after it.
    """
    node = nodes.node[q].order
    it = nodes.sleeper[node]
    if it.state == LEAVING and it.expected <= s.now and it.arrives > s.now:
        return s.work < s.awake_by
    up = _up_work(s, nodes, node)
    if up > s.awake_by > s.work:
        # Who is woken just in time is up by then, though instants are rounded.
        up -= 2.5 * _ROUNDING * (abs(up) + abs(s.now) * s.rate)
    return up <= s.awake_by


@called
def boot_of_pools(s, nodes, begin):
    """Work until the nodes of the picked pools are up, from the work `begin` on."""
    if s.sleeps == 0 or s.not_up == 0:
        return 0.0
    latest = begin
    for i in range(s.picked):
        latest = max(latest, _up_work(s, nodes, nodes.node[nodes.list[PICK, i]].order))
    return latest - begin


@called
def boot_of_nodes(s, nodes):
    """Work until the picked nodes are up, from now on."""
    if s.sleeps == 0 or s.not_up == 0:
        return 0.0
    latest = s.work
    for i in range(s.picked):
        latest = max(latest, _up_work(s, nodes, nodes.list[PICK, i]))
    return latest - s.work


@inlined
def _next_picked(s, nodes, i, before):
    """The next of the picked nodes; by number after `before` where it matters who wakes first."""
    if s.wake_gap == 0.0:
        return nodes.list[PICK, i]
    least = s.nodes
    for k in range(s.picked):
        if before < nodes.list[PICK, k] < least:
            least = nodes.list[PICK, k]
    return least


@called
def use_nodes(s, nodes, j):
    """`j` gets the picked nodes: they are idle no longer, and those that sleep wake."""
    up = by_plan = s.now
    node = np.int64(-1)
    for i in range(s.picked):
        node = _next_picked(s, nodes, i, node)
        _leave_list(s, nodes, node)
        if nodes.sleeper[node].state == ASLEEP:
            wake_for(s, nodes, nodes.caps, j, nodes.node[node].pool, nodes.list[PICK_TASKS, i])
        if nodes.sleeper[node].state != UP:
            by_plan = max(by_plan, _up_time(s, nodes, node))
            wake(s, nodes, node)
            up = max(up, _arrival(s, nodes, node))
    nodes.job[j].up = up
    nodes.job[j].up_by_plan = by_plan
    nodes.job[j].boot = (up - s.now) * s.rate


@inlined
def _rely_on(s, nodes, node, begin):
    """A reservation at the work `begin` counts on a node."""
    it = nodes.sleeper[node]
    if it.counted != s.passes:
        it.counted = s.passes
        it.wanted = begin
        nodes.relied[s.relied] = node
        s.relied += 1
    it.wanted = min(it.wanted, begin)


@inlined
def _begin_counting(s):
    if s.counted != s.passes:
        s.counted = s.passes
        s.relied = 0


@called
def count_on(s, nodes, begin):
    """A reservation at the work `begin` counts on the nodes of the picked pools."""
    _begin_counting(s)
    for i in range(s.picked):
        _rely_on(s, nodes, nodes.node[nodes.list[PICK, i]].order, begin)


@inlined
def _next_on(s, nodes, shelf, place):
    """The first place from one on, in the order of visits, with a free node of a row of the index.

    Where there is no such order every place is on the first row.
    """
    if s.rule != ORDERED:
        return np.int64(place if shelf == 0 else s.nodes)
    at = bit_next(nodes.bits, shelf, place)
    return np.int64(s.nodes) if at < 0 else at


@inlined
def _next_free(s, nodes, up, other):
    """The next place whose node may have free processors, and where to look then on both rows."""
    if up < other:
        return up, _next_on(s, nodes, 0, up + 1), other
    return other, up, _next_on(s, nodes, s.classes + 1, other + 1)


@called
def count_on_free(s, nodes):
    """The head's reservation counts on as many of the free processors as it needs of them.

    Nodes that are up by then come first, as the placement visits them.
    """
    _begin_counting(s)
    s.awake_by = s.shadow
    left = s.free - s.extra
    for turn in range(2):
        up, other = _next_on(s, nodes, 0, 0), _next_on(s, nodes, s.classes + 1, 0)
        while left > 0 and min(up, other) < s.nodes:
            place, up, other = _next_free(s, nodes, up, other)
            node = nodes.node[place].order
            if nodes.node[node].free > 0 and is_up_by(s, nodes, place) == (turn == 0):
                _rely_on(s, nodes, node, s.shadow)
                left -= nodes.node[node].free


@called
def expect_sleepers(s, nodes):
    """Where no node may sleep and none must wake, only when a sleeper must, for the head's sake.

    That is when it is counted on (`count_on_free`), which it is if it would be among the first
    ones. Whether that is all that there is to know now.
    """
    at = s.now + (s.shadow - s.work) / s.rate - s.nap_leave
    if s.keeps == 1 or at - s.now <= _ROUNDING * abs(s.now) or is_anybody_due(s, nodes):
        return False
    s.counted = 0
    s.awake_by = s.shadow
    left = s.free - s.extra
    up, other = _next_on(s, nodes, 0, 0), _next_on(s, nodes, s.classes + 1, 0)
    while left > 0 and min(up, other) < s.nodes:
        place, up, other = _next_free(s, nodes, up, other)
        node = nodes.node[place].order
        if nodes.node[node].free > 0 and is_up_by(s, nodes, place):
            if nodes.sleeper[node].state == ASLEEP:
                s.rouse = at
                return True
            left -= nodes.node[node].free
    return True


@inlined
def _wanted(s, nodes, node):
    """When a reservation counts on a node (s); inf if none does."""
    it = nodes.sleeper[node]
    if s.counted == 0 or it.counted != s.counted:
        return np.inf
    return s.now + (it.wanted - s.work) / s.rate


@called
def _view(s, nodes):
    coming = asleep = busy = 0
    for node in range(s.nodes):
        it = nodes.sleeper[node]
        if it.state == LEAVING or it.woken == 1:
            coming += 1 if _is_empty(nodes, node) else 0
        elif it.state == ASLEEP or it.state == ENTERING:
            asleep += 1
        if it.state != FAILED and not _is_empty(nodes, node):
            busy += 1
    return SleepView(s.idlers, coming, asleep, busy, s.nodes, s.waiting)


@called
def _wake_idle(s, nodes, node):
    """Wake a sleeper for nobody, if it may draw what that takes; whether it may."""
    q = nodes.node[node].pool
    if not may_draw_more(nodes.caps, q, True):
        return False
    _hold_on_way(nodes, nodes.caps, node)
    draw_more(nodes.caps, nodes.sleeper[node], q, nodes.sleeper[node].extra, -1)
    wake(s, nodes, node)
    return True


@called
def _wake_in_time(s, nodes):
    """Wake sleepers in time for the reservations that count on them; when the next one is due.

    Where watts may be short, in the order of visits.
    """
    at_next, late = np.inf, False
    for i in range(s.relied):
        node = nodes.relied[i]
        if nodes.sleeper[node].state == ASLEEP and nodes.sleeper[node].woken == 0:
            at = _wanted(s, nodes, node) - nodes.sleeper[node].leave
            if at - s.now > _ROUNDING * abs(s.now):
                at_next = min(at_next, at)
            elif s.lends == 0:
                wake(s, nodes, node)
            else:
                late = True
    place = 0 if late else s.nodes
    while place < s.nodes:
        node = nodes.node[place].order
        if nodes.sleeper[node].state == ASLEEP:
            at = _wanted(s, nodes, node) - nodes.sleeper[node].leave
            if at - s.now <= _ROUNDING * abs(s.now):
                _wake_idle(s, nodes, node)
        place += 1
    return at_next


@called
def _wake_some(s, nodes, wanted_awake):
    """Wake sleepers that no reservation counts on, so that enough nodes are on."""
    view = _view(s, nodes)
    awake = view.idle + view.coming
    place = 0
    while awake < wanted_awake and place < s.nodes:
        node = nodes.node[place].order
        if nodes.sleeper[node].state == ASLEEP and nodes.sleeper[node].woken == 0:
            if _wanted(s, nodes, node) == np.inf and _wake_idle(s, nodes, node):
                awake += 1
        place += 1


@called
def _must_stay(s, nodes, node):
    """Whether an idle node is one of those of a set that stay on."""
    for i in range(nodes.stays.shape[0]):
        if nodes.stays[i, node] == 1:
            idle = 0
            for other in range(s.nodes):
                if nodes.stays[i, other] == 1 and nodes.sleeper[other].after >= 0:
                    idle += 1
            if idle <= nodes.stays[i, s.nodes]:
                return True
    return False


@called
def _decide(s, nodes, keep, theta):
    """Who has been idle for long enough goes to sleep, who is needed wakes; when to look again.

    A node that a reservation counts on sleeps only if it can be up again in time.
    """
    wanted_awake = 0.0
    if s.keeps == 1:
        wanted_awake = keep(_view(s, nodes), s.now, theta)
    at_next = np.inf
    node = nodes.sleeper[s.nodes].after
    while node != s.nodes and nodes.sleeper[node].since + s.idle_time <= s.now:
        it = nodes.sleeper[node]
        after = it.after
        back = s.now + it.enter + it.leave
        wanted = _wanted(s, nodes, node)
        # Who is counted on now would have to wake at once, again and again.
        not_now = wanted - s.now > _ROUNDING * max(abs(s.now), 1.0)
        if s.idlers > wanted_awake and back <= wanted and not_now:
            may = it.enter == 0.0 or may_draw_more(nodes.caps, nodes.node[node].pool, False)
            if may and not (nodes.stays.shape[0] > 0 and _must_stay(s, nodes, node)):
                if s.sleep_gap > 0.0 and s.next_sleep > s.now:
                    at_next = s.next_sleep
                else:
                    _fall_asleep(s, nodes, node)
                    s.next_sleep = s.now + s.sleep_gap
        node = after
    if s.asleep > 0 and s.counted > 0:
        at_next = min(at_next, _wake_in_time(s, nodes))
    if s.asleep > 0 and wanted_awake > 0.0:
        _wake_some(s, nodes, wanted_awake)
    return at_next


@inlined
def put_to_sleep(s, nodes, keep, theta):
    """After a pass: let nodes sleep and wake, if anybody may; when something happens to one."""
    s.stir = s.rouse
    s.rouse = np.inf
    if s.keeps == 1 or is_anybody_due(s, nodes) or (s.asleep > 0 and s.counted > 0):
        s.stir = min(s.stir, _decide(s, nodes, keep, theta))
    # Who is due and has not gone is asked again after the next pass.
    node = nodes.sleeper[s.nodes].after
    while node != s.nodes and nodes.sleeper[node].since + s.idle_time <= s.now:
        node = nodes.sleeper[node].after
    if node != s.nodes:
        s.stir = min(s.stir, nodes.sleeper[node].since + s.idle_time)
    if s.transits > 0:
        s.stir = min(s.stir, nodes.arrival[0])
    if s.ask_every > 0.0:
        s.stir = min(s.stir, (np.floor(s.now / s.ask_every) + 1.0) * s.ask_every)
    while s.asked < nodes.asks.shape[0] and nodes.asks[s.asked] <= s.now:
        s.asked += 1
    if s.asked < nodes.asks.shape[0]:
        s.stir = min(s.stir, nodes.asks[s.asked])
    s.stirred = 0
