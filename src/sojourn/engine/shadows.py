"""When a blocked head may start on named nodes, and what its reservation leaves to others."""

from __future__ import annotations

import numpy as np

from ..jit import called, inlined
from .calendar import stretch_of
from .caps import (
    anything_on_way,
    arrive_ahead,
    fits_by_count,
    look_at_room,
    may_draw,
    shift_draw,
)
from .choosing import choose_from
from .nodes import (
    AHEAD,
    CONTIGUOUS,
    FREE,
    GIVEN_NODE,
    PICK,
    PICK_TASKS,
    SLOWEST,
    SPEED,
    USABLE,
    expected,
    takes,
    weigh_stretch,
)
from .placing import (
    room,
    shift_licences,
    shift_rows,
)
from .resting import count_on
from .starting import nth_slowness


@inlined
def release_ahead(s, nodes, j):
    """Add a running job's nodes to what is free ahead."""
    first = nodes.job[j].row
    last = first + nodes.job[j].rows
    shift_rows(s, nodes, AHEAD, 0, j, nodes.given, GIVEN_NODE, first, last, 1)
    shift_licences(s, nodes, AHEAD, j, 1)


@inlined
def _weigh_ahead(s, nodes, j, ahead):
    """Let the stretches of neighbours tell what is free ahead, or now, of a running job's nodes."""
    first = nodes.job[j].row
    for i in range(first, first + nodes.job[j].rows):
        node = nodes.given[0, i]
        free = nodes.stock[AHEAD, 0, nodes.node[node].pool] if ahead else nodes.node[node].free
        weigh_stretch(nodes.stretch, node, free)


@inlined
def _room_of(s, nodes, head, q):
    """Tasks of the head that a pool has room for ahead, in the best of its choices."""
    most = np.int64(0)
    tasks = nodes.job[head].tasks
    first = nodes.job[head].choice
    for choice in range(first, first + nodes.job[head].choices):
        most = max(most, room(s, nodes, AHEAD, head, q, choice, tasks))
    return most


@called
def _room_ahead(s, nodes, head):
    """Tasks of the head for which there is room ahead, as far as that matters: up to all."""
    total = np.int64(0)
    q = 0
    while q < s.pools and total < nodes.job[head].tasks:
        total += _room_of(s, nodes, head, q)
        q += 1
    return total


@called
def _release_and_count(s, nodes, j, head):
    """Add a running job's nodes to what is free ahead; how many more tasks of the head fit."""
    first = nodes.job[j].row
    more = np.int64(0)
    for i in range(first, first + nodes.job[j].rows):
        q = nodes.node[nodes.given[0, i]].pool
        more -= _room_of(s, nodes, head, q)
        for r in range(s.resources):
            nodes.stock[AHEAD, r, q] += takes(s, nodes, j, r, q, nodes.given[1, i])
        more += _room_of(s, nodes, head, q)
    shift_licences(s, nodes, AHEAD, j, 1)
    return more


@inlined
def _hold_ahead(s, nodes, j):
    """Take the head's picks (by pool) from what is free ahead."""
    for i in range(s.picked):
        q = nodes.list[PICK, i]
        for r in range(s.resources):
            nodes.stock[AHEAD, r, q] -= takes(s, nodes, j, r, q, nodes.list[PICK_TASKS, i])
    shift_licences(s, nodes, AHEAD, j, -1)


@inlined
def _most_spare(s, nodes):
    """Processors that the widest job could have beside the head, at most."""
    most = stretch = np.int64(0)
    if s.rule != CONTIGUOUS:
        for q in range(s.pools):
            most += max(min(nodes.stock[FREE, 0, q], nodes.stock[AHEAD, 0, q]), np.int64(0))
        return most
    for q in range(s.pools):
        spare = min(nodes.stock[FREE, 0, q], nodes.stock[AHEAD, 0, q])
        if spare <= 0:
            stretch = np.int64(0)
        stretch += max(spare, 0)
        most = max(most, stretch)
    return most


@inlined
def _is_lasting(s, nodes, head):
    """Whether the head's reservation stays as it is while jobs end as planned and others backfill.

    What is free at each time to come then only becomes less, and at the reservation not what the
    head holds; a placement that visits nodes in an order of its own finds the same nodes again.
    """
    surely = s.rule <= SLOWEST and s.lists == 0 and s.varied == 0
    return surely and nodes.job[head].budget == np.inf


@inlined
def find_shadow_on_nodes(s, run, nodes, jobs, head, score, theta):
    """The blocked head's reservation: when, and what it leaves to others; whether it has one.

    Nothing depends on its end, so it holds a number of processors; where nodes matter it holds
    those that the placement would choose at that time.
    """
    pinned = s.pinned == 1
    if s.reserved_for == head and s.shadow > s.work:
        _set_shadow(s, nodes, s.shadow)
        s.extra = _most_spare(s, nodes)
        return True
    s.reserved_for = -1
    width = jobs.procs[head]
    soonest = np.nextafter(s.work, np.inf)
    # Stretches of neighbours are known without looking at all nodes at each end; of others that
    # ask for more than processors, how many tasks would find room.
    stretched = pinned and s.rule == CONTIGUOUS and nodes.job[head].plain == 1
    counted = pinned and s.rule != CONTIGUOUS and nodes.job[head].plain == 0
    # Not before enough processors are free; from then on by what each end adds.
    room_ahead = np.int64(-1)
    if pinned:
        for r in range(s.resources):
            for q in range(s.pools + 1):
                nodes.stock[AHEAD, r, q] = nodes.stock[FREE, r, q]
    look_at_room(nodes.caps, AHEAD, FREE)
    # Right after now nodes that are on their way have arrived.
    arriving = anything_on_way(nodes.caps)
    arrive_ahead(nodes.caps)
    i = s.running - 1
    have = s.free
    shadow = soonest
    placed = False
    while (i >= 0 or arriving) and not placed:
        shadow = soonest
        if not arriving:
            shadow = max(run.planned[run.plan[i]], soonest)
        arriving = False
        while i >= 0 and max(run.planned[run.plan[i]], soonest) == shadow:
            j = run.plan[i]
            have += run.held[j]
            if counted and room_ahead >= 0:
                room_ahead += _release_and_count(s, nodes, j, head)
            elif pinned:
                release_ahead(s, nodes, j)
            if stretched:
                _weigh_ahead(s, nodes, j, True)
            shift_draw(nodes.caps, AHEAD, j, 1)
            i -= 1
        if have < width:
            continue
        if s.varied == 0 and not may_draw(nodes.caps, AHEAD, head):
            continue
        if not pinned:
            placed = s.lends == 0 or fits_by_count(s, nodes, nodes.caps, AHEAD, head, have)
            continue
        if stretched and nodes.stretch[3, 1] < width:
            continue
        if counted:
            if room_ahead < 0:
                room_ahead = _room_ahead(s, nodes, head)
            if room_ahead < nodes.job[head].tasks:
                continue
        s.awake_by = shadow
        placed = choose_from(s, nodes, jobs, AHEAD, head, np.inf, score, theta)
    if stretched:
        for k in range(i + 1, s.running):
            _weigh_ahead(s, nodes, run.plan[k], False)
    if not placed:
        return False
    _set_shadow(s, nodes, shadow)
    shift_draw(nodes.caps, AHEAD, head, -1)
    s.extra = have - width
    if pinned:
        if s.sleeps == 1:
            count_on(s, nodes, shadow)
        _hold_ahead(s, nodes, head)
        s.extra = _most_spare(s, nodes)
        if _is_lasting(s, nodes, head):
            s.reserved_for = head
    return True


@inlined
def _set_shadow(s, nodes, shadow):
    s.shadow = shadow
    # Generous by the rounding of work + plan; `try_to_start` decides.
    fastest = expected(s, 1.0, nth_slowness(s, nodes, 1))
    until = shadow - s.work + 4.5e-16 * abs(shadow)
    s.until = until / fastest * (1.0 + 1e-15)
    s.shadow_known = 1


@called
def _free_beside(s, nodes, calendar, first, at, length):
    """Processors free at a time on nodes that no known reservation in [at, at + length) wants.

    Of reservations those from `first` on count.
    """
    for node in range(s.nodes):
        nodes.node[node].shut = 0
    for i in range(first, calendar.reservation.shape[0]):
        begins, ends = stretch_of(s, calendar, i)
        if at + length <= begins < np.inf:
            break
        if begins < np.inf and ends > at:
            nodes.node[calendar.reservation[i].what].shut = 1
    have = np.int64(0)
    for node in range(s.nodes):
        if nodes.node[node].shut == 0:
            have += nodes.list[USABLE, node]
        nodes.node[node].shut = 0
    return have


@called
def find_shadow_around(s, run, nodes, calendar, jobs, head):
    """As `find_shadow_on_nodes`, around known reservations of nodes that are only counted."""
    soonest = np.nextafter(s.work, np.inf)
    length = expected(s, jobs.plan[head], nodes.real[SPEED, 0])
    for node in range(s.nodes):
        nodes.list[USABLE, node] = nodes.node[node].free
    look_at_room(nodes.caps, AHEAD, FREE)
    i = s.running - 1
    at = s.work
    over = s.over
    while True:
        while over < calendar.reservation.shape[0]:
            begins, ends = stretch_of(s, calendar, over)
            if at < ends < np.inf:
                break
            over += 1
        # The next planned end, or the next end of a reservation.
        after = np.inf
        if i >= 0:
            after = max(run.planned[run.plan[i]], soonest)
        for k in range(over, calendar.reservation.shape[0]):
            begins, ends = stretch_of(s, calendar, k)
            if after <= begins < np.inf:
                break
            if at < ends < after:
                after = ends
        if after == np.inf:
            return False
        at = after
        while i >= 0 and max(run.planned[run.plan[i]], soonest) <= at:
            first = nodes.job[run.plan[i]].row
            for row in range(first, first + nodes.job[run.plan[i]].rows):
                nodes.list[USABLE, nodes.given[0, row]] += nodes.given[1, row]
            shift_draw(nodes.caps, AHEAD, run.plan[i], 1)
            i -= 1
        have = _free_beside(s, nodes, calendar, over, at, length)
        if have >= jobs.procs[head] and may_draw(nodes.caps, AHEAD, head):
            _set_shadow(s, nodes, at)
            shift_draw(nodes.caps, AHEAD, head, -1)
            s.extra = have - jobs.procs[head]
            return True
