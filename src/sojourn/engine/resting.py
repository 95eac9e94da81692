"""Who goes to sleep and who wakes after a pass, and which nodes reservations count on.

A node that a reservation counts on sleeps only if it can be up again in time, and wakes in time.
"""

from __future__ import annotations

import numpy as np

from ..jit import called, inlined
from .bits import bit_next
from .booting import is_up_by
from .caps import draw_more, may_draw_more
from .nodes import ORDERED, PICK
from .sleeping import SleepView, fall_asleep, hold_on_way, is_anybody_due, is_empty, is_now, wake
from .state import ASLEEP, ENTERING, FAILED, LEAVING


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
def _sort_by_number(nodes, first, last):
    """Put the nodes from one place to another in order."""
    for i in range(first + 1, last):
        node = nodes[i]
        k = i
        while k > first and nodes[k - 1] > node:
            nodes[k] = nodes[k - 1]
            k -= 1
        nodes[k] = node


@called
def count_on(s, nodes, begin):
    """A reservation at the work `begin` counts on the nodes of the picked pools."""
    _begin_counting(s)
    first = s.relied
    for i in range(s.picked):
        _rely_on(s, nodes, nodes.node[nodes.list[PICK, i]].order, begin)
    if s.wake_gap > 0.0:
        # It matters who wakes first.
        _sort_by_number(nodes.relied, first, s.relied)


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
    if s.keeps == 1 or is_now(s, at) or is_anybody_due(s, nodes):
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
            coming += 1 if is_empty(nodes, node) else 0
        elif it.state == ASLEEP or it.state == ENTERING:
            asleep += 1
        if it.state != FAILED and not is_empty(nodes, node):
            busy += 1
    return SleepView(s.idlers, coming, asleep, busy, s.nodes, s.waiting)


@called
def _wake_idle(s, nodes, node):
    """Wake a sleeper for nobody, if it may draw what that takes; whether it may."""
    q = nodes.node[node].pool
    if not may_draw_more(nodes.caps, q, True):
        return False
    hold_on_way(nodes, nodes.caps, node)
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
            if not is_now(s, at):
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
            if is_now(s, at):
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
        if s.idlers > wanted_awake and back <= wanted and not is_now(s, wanted):
            may = it.enter == 0.0 or may_draw_more(nodes.caps, nodes.node[node].pool, False)
            if may and not (nodes.stays.shape[0] > 0 and _must_stay(s, nodes, node)):
                if s.sleep_gap > 0.0 and s.next_sleep > s.now:
                    at_next = s.next_sleep
                else:
                    fall_asleep(s, nodes, node)
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
