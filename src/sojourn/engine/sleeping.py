"""Nodes that sleep: their states, and how they change.

A node that sleeps, or is on its way, is free. Whoever gets it wakes it, and the boot is the first
part of that job's service; so all that plans counts it (`booting`). Who sleeps and who is woken in
time is decided after each pass (`resting`). Times of changes are in seconds: no service rate makes
a boot faster. What all of this means exactly is said on the page of power states.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np
from numba import types

from ..jit import called, inlined
from .bits import bit_clear, bit_set
from .caps import draw_more
from .draws import uniform
from .heap import heap_discard, heap_pop, heap_push
from .nodes import ORDERED, SLOWEST, SleepFacts
from .state import ASLEEP, ENTERING, FAILED, LEAVING, UP

__all__ = [
    "ASLEEP",
    "ENTERING",
    "FAILED",
    "KEEP",
    "KEEP_POINTER",
    "LEAVING",
    "ROUNDING",
    "UP",
    "SleepView",
    "boot_time",
    "fall_asleep",
    "first_rest",
    "go",
    "hold_on_way",
    "is_a_change_due",
    "is_anybody_due",
    "is_eased",
    "is_empty",
    "is_now",
    "is_unsettled",
    "is_up_at_once",
    "leave_list",
    "lie_idle",
    "return_idle",
    "set_up_sleep",
    "stir",
    "wake",
]

ROUNDING = 1e-15
"""The share of a time by which rounding may part two instants that are one."""

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
        s.light = bool(np.any(leave == 0.0))


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
def leave_list(s, nodes, node):
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
def is_now(s, at):
    """Whether a time is over (s), or now but for rounding."""
    return at - s.now <= ROUNDING * max(abs(s.now), 1.0)


@inlined
def is_empty(nodes, node):
    """Whether no job holds a node."""
    return nodes.node[node].free == nodes.node[node].procs


@inlined
def hold_on_way(nodes, caps, node):
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
            hold_on_way(nodes, nodes.caps, node)
        if it.state == UP and it.after < 0 and is_empty(nodes, node):
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
    if is_empty(nodes, node):
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
def boot_time(s, nodes, node, boot):
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
    return boot_time(s, nodes, node, nodes.sleeper[node].boots + 1) == 0.0


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
    if not is_now(s, it.begins):
        _put_on(s, nodes, node, s.classes + 1)
        _await(s, nodes, node, it.begins)
        return
    it.woken = 0
    it.boots += 1
    s.asleep -= 1
    it.expected = s.now + it.leave
    lapse = boot_time(s, nodes, node, it.boots)
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
def fall_asleep(s, nodes, node):
    """An idle node begins to go to sleep."""
    leave_list(s, nodes, node)
    nodes.sleeper[node].woken = 0
    s.not_up += 1
    _put_on(s, nodes, node, s.classes + 1)
    hold_on_way(nodes, nodes.caps, node)
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
    """Whether some node arrives where it is on its way to: rounding makes no boot too late."""
    return s.transits > 0 and is_now(s, nodes.arrival[0])


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
    while is_a_change_due(s, nodes):
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
        if is_empty(nodes, node) and it.after < 0:
            lie_idle(s, nodes, node, s.now)
        return
    leave_list(s, nodes, node)
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
