"""Disciplines that may also stop jobs, which resume with what remains of their work.

Only the first waiting job in order is ever looked at, so the waiting jobs are a heap by (key, job):
a fixed rank, or the remaining plan, negative where the longest comes first. Work and plan that
remain are those on the reference processor: on nodes of slowness f they take f times as long.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...jit import called, inlined
from ..calendar import room_now
from ..caps import lower_now
from ..decided import BEHIND, STARTED, STOPPED
from ..heap import heap_discard, heap_pop, heap_push
from ..placing import give_back, hand_over, retake
from ..service import begin, retire
from ..starting import open_again, shut_reserved
from ..types import NEW, WAITS
from ..verbs import note
from . import GO_ON, REMAINING, Setting, discipline


class Preempt(NamedTuple):
    """The heap of waiting jobs, and by job what remains.

    `remaining` and `left` are work and plan; while a job runs, the work at which they run out.
    `listed` has the running jobs in order, `joining` those that start or resume.
    """

    score: np.ndarray
    waiting: np.ndarray
    key: np.ndarray
    remaining: np.ndarray
    left: np.ndarray
    sort_key: np.ndarray
    listed: np.ndarray
    joining: np.ndarray


def _make(given: Setting) -> Preempt:
    order, n = given.orders.order, len(given.jobs.submit)
    return Preempt(
        *(np.empty(n), np.empty(n, np.int64), np.zeros(n) if order is None else order.copy()),
        *(given.jobs.work.copy(), given.jobs.plan.copy()),
        *(np.empty(n), np.empty(n, np.int64), np.empty(n, np.int64)),
    )


@inlined
def _slowness(nodes, j):
    """Of the nodes that a running job has."""
    if nodes is None:
        return 1.0
    return nodes.job[j].slowness


@inlined
def _wait(d, s, j):
    heap_push(d.score, d.waiting, s.waiting, d.key[j], j)
    s.waiting += 1


@inlined
def _set_key(d, s, j):
    if s.backfill == REMAINING:
        d.key[j] = -d.left[j] if s.longest_first == 1 else d.left[j]


@called
def _admit(d, s, jobs, calendar):
    """Who was withdrawn goes, who came back has all before it; arrivals are for the pass."""
    for i in range(s.withdrawn):
        heap_discard(d.score, d.waiting, s.waiting, calendar.withdrawn[i])
        s.waiting -= 1
    for i in range(s.returned):
        j = calendar.returned[i]
        if calendar.job[j].state == NEW:
            calendar.job[j].state = WAITS
            d.remaining[j], d.left[j] = jobs.work[j], jobs.plan[j]
            _set_key(d, s, j)
            _wait(d, s, j)
            s.new -= 1
    s.withdrawn = s.returned = 0


@inlined
def _begin(d, s, run, nodes, calendar, j):
    """`j` enters service, for the first time or again."""
    slowness = _slowness(nodes, j)
    amount, left = d.remaining[j] * slowness, d.left[j] * slowness
    d.remaining[j] = s.work + amount
    d.left[j] = s.work + left
    # Running jobs are kept in the order of the discipline: by fixed key, or by what runs out.
    place = d.key[j]
    if s.backfill == REMAINING:
        place = -d.left[j] if s.longest_first == 1 else d.left[j]
    begin(s, run, calendar, j, amount, place)


@inlined
def _stop(d, s, run, recording, nodes, calendar, j):
    """`j` gives way, and keeps what remains; its nodes are not given back here."""
    slowness = _slowness(nodes, j)
    retire(s, run, recording, nodes, calendar, j, 0)
    still = d.remaining[j] - s.work
    d.remaining[j] = still / slowness
    d.left[j] = (d.left[j] - s.work) / slowness
    s.load += d.remaining[j] - still
    calendar.job[j].state = WAITS
    calendar.job[j].amount = d.remaining[j]
    note(s, recording, j, STOPPED, -1, d.remaining[j])


@called
def _list_running(d, s, run, nodes):
    """List the running jobs in order, keys up to date.

    All lose work at the same rate, so the plan has kept them in order; on nodes of different
    speeds they do not.
    """
    for i in range(s.running):
        j = run.plan[s.running - 1 - i]
        if s.backfill == REMAINING:
            left = (d.left[j] - s.work) / _slowness(nodes, j)
            d.key[j] = -left if s.longest_first == 1 else left
        d.listed[i] = j
    if nodes is not None:
        if s.speeds > 1 and s.backfill == REMAINING:
            for i in range(s.running):
                heap_push(d.sort_key, d.joining, i, d.key[d.listed[i]], d.listed[i])
            for i in range(s.running):
                d.listed[i] = d.joining[0]
                heap_pop(d.sort_key, d.joining, s.running - i)


@inlined
def _next_in_order(d, s, running, examined):
    """Whether the next in order is the running job at a place of the list, not a waiting one."""
    if s.waiting == 0:
        return True
    if examined >= running:
        return False
    mine, other = d.listed[examined], d.waiting[0]
    return d.key[mine] < d.key[other] or (d.key[mine] == d.key[other] and mine < other)


@inlined
def _pop_waiting(d, s):
    heap_pop(d.score, d.waiting, s.waiting)
    s.waiting -= 1


@inlined
def _select_counted(d, s, jobs, run, recording, calendar):
    """Serve the longest prefix, in order, of all customers present that fits into what is there.

    It stops at the first that does not fit [rumyantsev2018, sec. III-B].
    """
    nodes = None
    running = s.running
    _list_running(d, s, run, nodes)
    room = room_now(s, calendar)
    staying = 0
    joining = 0
    while staying < running or s.waiting > 0:
        stays = _next_in_order(d, s, running, staying)
        j = d.listed[staying] if stays else d.waiting[0]
        if jobs.procs[j] > room:
            break
        room -= jobs.procs[j]
        if stays:
            staying += 1
        else:
            _pop_waiting(d, s)
            d.joining[joining] = j
            joining += 1
    for i in range(staying, running):
        _stop(d, s, run, recording, nodes, calendar, d.listed[i])
    for i in range(joining):
        note(s, recording, d.joining[i], STARTED, -1, s.free)
        _begin(d, s, run, nodes, calendar, d.joining[i])
    for i in range(staying, running):
        _wait(d, s, d.listed[i])


@called
def _lower(s, nodes, calendar, sign):
    """Caps leave less as long as they are low (sign 1); undo that (-1)."""
    for i in range(calendar.fall.shape[0]):
        it = calendar.fall[i]
        if it.begins <= s.now < it.ends:
            lower_now(nodes.caps, it.cap, sign * it.amount)


@called
def _select_on_nodes(d, s, jobs, run, recording, nodes, calendar, laws):
    """As on counted processors: who runs keeps its nodes as long as nobody before it got them."""
    running = s.running
    _list_running(d, s, run, nodes)
    for i in range(running):
        give_back(s, nodes, d.listed[i])
    shut_reserved(s, nodes, np.nextafter(s.work, np.inf))
    _lower(s, nodes, calendar, 1)
    examined = 0
    joining = 0
    while examined < running or s.waiting > 0:
        runs = _next_in_order(d, s, running, examined)
        j = d.listed[examined] if runs else d.waiting[0]
        if runs and retake(s, nodes, j):
            examined += 1
            continue
        if not laws.parts.find_naturally(s, laws.tables, j):
            break
        if runs:
            _stop(d, s, run, recording, nodes, calendar, j)
            examined += 1
        else:
            _pop_waiting(d, s)
        run.held[j] = hand_over(s, nodes, j)
        d.joining[joining] = j
        joining += 1
    for i in range(examined, running):
        _stop(d, s, run, recording, nodes, calendar, d.listed[i])
    for i in range(joining):
        note(s, recording, d.joining[i], STARTED, -1, s.free)
        _begin_again(d, s, jobs, run, nodes, calendar, d.joining[i])
    for i in range(examined, running):
        _wait(d, s, d.listed[i])
    _lower(s, nodes, calendar, -1)
    open_again(s, nodes)


@called
def _note_reserved_now(s, nodes, calendar):
    """Note the nodes that are reserved at this moment, whether or not that was announced."""
    for node in range(s.nodes):
        nodes.node[node].reserved = np.inf
    for i in range(calendar.reservation.shape[0]):
        it = calendar.reservation[i]
        if it.begins <= s.now < it.ends:
            nodes.node[it.what].reserved = s.work


@inlined
def _begin_again(d, s, jobs, run, nodes, calendar, j):
    """As `_begin`; what is before it was counted as on the reference processor until now."""
    before = d.remaining[j]
    _begin(d, s, run, nodes, calendar, j)
    s.load += before * _slowness(nodes, j) - before


@inlined
def _start_arrival(d, s, jobs, run, recording, nodes, calendar, laws, j):
    """Start an arrival in a pass that selects nobody, if it finds a place; whether it does."""
    if nodes is None:
        busy = s.servers - s.gone - s.free
        if jobs.procs[j] > room_now(s, calendar) - busy:
            return False
    else:
        if jobs.procs[j] > s.free:
            return False
        shut_reserved(s, nodes, np.nextafter(s.work, np.inf))
        _lower(s, nodes, calendar, 1)
        found = laws.parts.find_naturally(s, laws.tables, j)
        _lower(s, nodes, calendar, -1)
        open_again(s, nodes)
        if not found:
            return False
        run.held[j] = hand_over(s, nodes, j)
    note(s, recording, j, STARTED, -1, s.free)
    if nodes is None:
        _begin(d, s, run, nodes, calendar, j)
    else:
        _begin_again(d, s, jobs, run, nodes, calendar, j)
    return True


@discipline(Preempt, "preemption", _make, ("find_naturally",), (3.5, 7.0))
def preemptive_pass(d, s, jobs, run, recording, nodes, calendar, laws):
    """Serve the longest prefix, in order, of all customers present.

    With the latest arrival first this is LCFS preemptive-resume. LPF and SPF select anew only when
    somebody leaves or what is there changes; at an arrival the newcomer starts if it fits and
    nothing waits (errata 6).
    """
    if nodes is not None:
        if calendar.reservation.shape[0] > 0:
            _note_reserved_now(s, nodes, calendar)
    # Who is withdrawn while it waits may have been in the way of others.
    left = s.departed + s.withdrawn
    _admit(d, s, jobs, calendar)
    selects = s.backfill != REMAINING or left > 0 or s.stale == 1 or s.looked == 1
    if s.stopped == 1:
        selects = False
    else:
        s.stale = s.looked = 0
    for j in range(s.admitted, s.arrived):
        if calendar.job[j].state != NEW:
            continue
        calendar.job[j].state = WAITS
        _set_key(d, s, j)
        starts = not selects and s.stopped == 0 and s.waiting == 0
        if starts:
            starts = _start_arrival(d, s, jobs, run, recording, nodes, calendar, laws, j)
        if not starts:
            _wait(d, s, j)
            if not selects:
                note(s, recording, j, BEHIND, -1, np.inf)
    s.admitted = s.arrived
    s.new = 0
    kept = calendar.reservation.shape[0] + calendar.fall.shape[0]
    if selects and (s.waiting > 0 or kept > 0):
        if nodes is None:
            _select_counted(d, s, jobs, run, recording, calendar)
        else:
            _select_on_nodes(d, s, jobs, run, recording, nodes, calendar, laws)
    return GO_ON
