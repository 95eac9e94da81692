"""Conservative backfilling: everybody is promised a start, and nobody may delay a promise.

Promises last from pass to pass, and the plan with them, until an overrun or an external event
spoils it: then all are made anew.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...jit import called, inlined
from ..calendar import look_ahead
from ..compression import compress, forget_refusals, reserve_earliest
from ..decided import KEPT, NO_NODES, PROMISED
from ..foresight import forget, release_early
from ..heap import heap_pop, heap_push
from ..plans import plan_advance, recall_hold
from ..profile import Profile, held_until, profile_add, profile_advance
from ..queues import Queues, count_running, is_passed_over, note_limit, note_turn, take_turns
from ..starting import note_reserved
from ..types import WAITS
from ..verbs import is_overdue, note, plan_ahead, start, time_of
from ..waiting import Waiting, admit, list_remove, put_in_order
from . import GO_ON, Setting, discipline
from .listed import list_and_profile


class Conservative(NamedTuple):
    """The waiting jobs, the plan of processors, and the promises.

    `promise` is the start that each waiting job is promised, as work: infinite if it has none, nan
    when it has started; `first` the first one that it was given; `seen` what was known when there
    was none sooner (see `compress`). `due_*` is a heap of promises.
    With several queues a promise counts when the pass is over, which may take it back before.
    """

    waiting: Waiting
    profile: Profile
    promise: np.ndarray
    first: np.ndarray
    seen: np.ndarray
    due_key: np.ndarray
    due_job: np.ndarray
    queues: Queues | None


def _make(given: Setting) -> Conservative:
    n = len(given.jobs.submit)
    most = 2 * n + 16
    waiting, profile = list_and_profile(given, steps=most)
    return Conservative(
        *(waiting, profile, np.full(n, np.inf), np.full(n, np.nan)),
        np.zeros(n, np.int64),
        *(np.empty(most), np.empty(most, np.int64), given.queues),
    )


@called
def _sweep(key, job, size, promised):
    """Drop the entries of promises that were moved or kept; the size that is left."""
    kept = 0
    for i in range(size):
        if promised[job[i]] == key[i]:
            heap_push(key, job, kept, key[i], job[i])
            kept += 1
    return kept


@inlined
def _enter(d, s, j):
    """Job `j` is due at its promise; entries of promises since moved are dropped in time."""
    if s.between == 0 and np.isnan(d.first[j]):
        d.first[j] = d.promise[j]
    # Those who wait have one live entry each: a short heap stays near.
    if s.dues >= min(4 * s.waiting + 64, d.due_key.shape[0]):
        s.dues = _sweep(d.due_key, d.due_job, s.dues, d.promise)
    heap_push(d.due_key, d.due_job, s.dues, d.promise[j], j)
    s.dues += 1


@inlined
def _need(s, jobs, nodes, j, sign):
    """One more job (sign 1), or one less, may be promised so many pools."""
    if nodes is not None:
        s.needed += sign * min(jobs.procs[j], s.pools)


@inlined
def _vacate(d, s, jobs, run, nodes, calendar):
    """Who has left before his planned end, or was withdrawn, leaves his place to others."""
    for i in range(s.departed):
        j = run.departed[i]
        if run.planned[j] > s.work:
            s.early = 1
            if nodes is None:
                profile_add(d.profile, s.work, run.planned[j], jobs.procs[j])
            elif s.steps > 0:
                release_early(s, run, nodes, j)
    for i in range(s.withdrawn):
        j = calendar.withdrawn[i]
        if d.promise[j] < np.inf:
            s.early = 1
            if nodes is None:
                profile_add(d.profile, d.promise[j], d.promise[j] + jobs.plan[j], jobs.procs[j])
            else:
                forget(s, nodes, j, d.promise[j])
        d.promise[j] = np.nan
        _need(s, jobs, nodes, j, -1)
    for i in range(s.returned):
        d.promise[calendar.returned[i]] = np.inf
        _need(s, jobs, nodes, calendar.returned[i], 1)


@inlined
def _entered(d, s, recording, j):
    """Enter the promise of `j`, and log it."""
    _enter(d, s, j)
    if s.logs == 1 and s.between == 0 and d.promise[j] > s.work:
        note(s, recording, j, PROMISED, -1, time_of(s, d.promise[j]))


@inlined
def _renew(d, s, run, nodes, calendar, rebuild):
    """Bring the plan to the present: of the running jobs alone, if all is to be made anew."""
    w = d.waiting
    if rebuild:
        s.dues = 0
        for i in range(s.sorted):
            d.promise[w.sorted[i]] = np.inf
            if nodes is not None:
                recall_hold(s, nodes, w.sorted[i])
        plan_ahead(s, run, d.profile, nodes, calendar, np.inf)
    elif nodes is None:
        profile_advance(d.profile, s.work)
    else:
        plan_advance(s, nodes)


@inlined
def _make_promises(d, s, jobs, recording, nodes, laws):
    """Bring the promises up to date: the list holds whom it may concern, in order.

    After an early end they are moved up, one by one, in order; then those without one, as all are
    when the plan was spoilt, get theirs. A job for which there is no place in what is there gets
    none.
    """
    w = d.waiting
    concerned = s.sorted
    if nodes is None:
        if s.early == 1:
            procs, plan, moved = jobs.procs, jobs.plan, w.chosen
            number, concerned = compress(
                d.profile, s.work, w.sorted, s.sorted, procs, plan, d.promise, d.seen, moved
            )
            for i in range(number):
                _entered(d, s, recording, moved[i])
        forget_refusals(d.profile)
    else:
        for i in range(s.sorted):
            j = w.sorted[i]
            held = d.promise[j]
            if held < np.inf:
                d.promise[j] = laws.parts.promise(s, laws.tables, j, held)
                if d.promise[j] != held:
                    _entered(d, s, recording, j)
    for i in range(concerned):
        j = w.sorted[i]
        if d.promise[j] == np.inf and jobs.procs[j] <= s.servers - s.gone:
            if nodes is None:
                d.promise[j] = reserve_earliest(d.profile, s.work, jobs.procs[j], jobs.plan[j])
                d.seen[j] = d.profile.size[1]
            else:
                d.promise[j] = laws.parts.promise(s, laws.tables, j, np.inf)
            if d.promise[j] < np.inf:
                _entered(d, s, recording, j)


@inlined
def _take_back(s, w, jobs, nodes, profile, promise, due_key, due_job, queues):
    """List, of all who wait, whom promises concern; who would exceed a limit loses his.

    To the others that is as if the job were cancelled.
    """
    if queues is not None:
        taken = False
        for i in range(s.sorted):
            j = w.sorted[i]
            if promise[j] < np.inf and is_passed_over(s, jobs, queues, j):
                taken = True
                if nodes is None:
                    until = held_until(s.work, promise[j], jobs.plan[j])
                    profile_add(profile, promise[j], until, jobs.procs[j])
                else:
                    forget(s, nodes, j, promise[j])
                promise[j] = np.inf
        if taken:
            s.early = 1
            # A promise that is made again must not be there twice.
            s.dues = _sweep(due_key, due_job, s.dues, promise)
        kept = 0
        for i in range(s.sorted):
            j = w.sorted[i]
            if promise[j] < np.inf and s.early == 0:
                continue
            if not is_passed_over(s, jobs, queues, j):
                w.sorted[kept] = j
                kept += 1
        s.sorted = kept


@inlined
def _settle_promises(s, w, jobs, recording, promise, first, queues):
    """With several queues: the pass is over, and what is promised now counts."""
    if queues is not None:
        for i in range(s.waiting):
            j = w.job[s.first + i]
            promised = promise[j]
            if promised < np.inf and np.isnan(first[j]):
                first[j] = promised
            if s.logs == 1:
                if is_passed_over(s, jobs, queues, j):
                    note_limit(s, recording, queues, j)
                elif promised <= s.work:
                    note(s, recording, j, NO_NODES, -1, s.free)
                elif s.work < promised < np.inf and promised != queues.noted[j]:
                    note(s, recording, j, PROMISED, -1, time_of(s, promised))
                queues.noted[j] = promised


@inlined
def _take_due(d, s):
    """Move the jobs whose promise has come to `chosen`; how many."""
    due = 0
    while s.dues > 0:
        j = d.due_job[0]
        key = d.due_key[0]
        live = d.promise[j] == key
        if live and key > s.work:
            break
        heap_pop(d.due_key, d.due_job, s.dues)
        s.dues -= 1
        if live:
            d.waiting.chosen[due] = j
            due += 1
    return due


@inlined
def _list(d, s, jobs, source, first, size, laws):
    w = d.waiting
    put_in_order(
        s, w, jobs, source, first, size, s.dynamic_order, w.key, laws.order, laws.order_theta
    )


@inlined
def _list_all(d, s, jobs, laws):
    """List all who wait; in a fixed order they wait in order."""
    w = d.waiting
    if s.dynamic_order == 1:
        _list(d, s, jobs, w.job, s.first, s.waiting, laws)
    else:
        s.sorted = s.waiting
        for i in range(s.sorted):
            w.sorted[i] = w.job[s.first + i]


@inlined
def _may_start(d, s, jobs, nodes, j, laws):
    """A job's promise has come: whether what it was promised is free."""
    promised = d.promise[j]
    if nodes is not None:
        good = laws.parts.take_promised(s, laws.tables, j, promised)
    else:
        good = jobs.procs[j] <= s.free
        if good and promised < s.work:
            plan, procs = jobs.plan[j], jobs.procs[j]
            profile_add(d.profile, promised, promised + plan, procs)
            profile_add(d.profile, s.work, s.work + plan, -procs)
    if good:
        d.promise[j] = np.nan
        return True
    # Held up by a job whose plan is 0 and that started a moment ago; it tries again.
    heap_push(d.due_key, d.due_job, s.dues, promised, j)
    s.dues += 1
    return False


@inlined
def _keep_promises(d, s, jobs, run, recording, nodes, calendar, laws):
    """Start those whose promise has come; whether somebody was passed over because of a start."""
    w = d.waiting
    due = _take_due(d, s)
    _list(d, s, jobs, w.chosen, 0, due, laws)
    passed_over = False
    for i in range(s.sorted):
        j = w.sorted[i]
        free, promised = s.free, d.promise[j]
        if is_passed_over(s, jobs, d.queues, j):
            passed_over = True
        elif _may_start(d, s, jobs, nodes, j, laws):
            if np.isnan(d.first[j]):
                d.first[j] = promised
            list_remove(s, w, j)
            _need(s, jobs, nodes, j, -1)
            note(s, recording, j, KEPT, -1, free)
            start(s, jobs, run, nodes, calendar, j)
            note_turn(s, jobs, d.queues, j)
        elif s.between == 0:
            note(s, recording, j, NO_NODES, -1, free)
    return passed_over


@called
def _first_after(key, job, size, promised, work):
    first = np.inf
    for i in range(size):
        if work < key[i] < first and promised[job[i]] == key[i]:
            first = key[i]
    return first


@inlined
def _next_due(d, s, run):
    """The first promise still to come, as work; none while an overdue job spoils the plan."""
    s.due_work = np.inf
    if s.dues == 0 or is_overdue(s, run):
        return
    # The heap begins with a live promise to come, or with one that was held up.
    s.due_work = d.due_key[0]
    if s.due_work <= s.work:
        s.due_work = _first_after(d.due_key, d.due_job, s.dues, d.promise, s.work)


@discipline(
    Conservative, "conservative backfilling", _make, ("promise", "take_promised"), (8.0, 10.0)
)
def conservative_pass(d, s, jobs, run, recording, nodes, calendar, laws):
    """Bring the promises up to date, and start the jobs whose promise has come."""
    w = d.waiting
    s.early = 0
    _vacate(d, s, jobs, run, nodes, calendar)
    newest = s.admitted
    admit(s, w, calendar)
    if nodes is not None:
        for j in range(newest, s.arrived):
            _need(s, jobs, nodes, j, 1)
    look_ahead(s, calendar)
    if nodes is not None:
        # Promises last, but which reservation of a node is the next one does not.
        if s.reserving == 1:
            note_reserved(s, nodes, calendar)
    s.due_work = np.inf
    if s.stopped == 1:
        return GO_ON
    overdue = is_overdue(s, run)
    rebuild = overdue or s.was_overdue == 1 or s.stale == 1
    if nodes is not None:
        rebuild = rebuild or s.steps == 0
    s.was_overdue = 1 if overdue else 0
    s.stale = 0
    if rebuild:
        s.early = 0
    count_running(s, jobs, run, d.queues)
    take_turns(s, w, jobs, d.queues, laws)
    if rebuild or s.early == 1 or s.between > 0:
        _list_all(d, s, jobs, laws)
    else:
        # Only the arrivals of this instant are without a promise.
        size = 0
        for j in range(newest, s.arrived):
            if calendar.job[j].state == WAITS:
                w.chosen[size] = j
                size += 1
        _list(d, s, jobs, w.chosen, 0, size, laws)
    _renew(d, s, run, nodes, calendar, rebuild)
    passed_over = True
    while passed_over:
        _take_back(s, w, jobs, nodes, d.profile, d.promise, d.due_key, d.due_job, d.queues)
        _make_promises(d, s, jobs, recording, nodes, laws)
        passed_over = _keep_promises(d, s, jobs, run, recording, nodes, calendar, laws)
        if passed_over:
            s.early = 1
            _list_all(d, s, jobs, laws)
    _settle_promises(s, w, jobs, recording, d.promise, d.first, d.queues)
    _next_due(d, s, run)
    return GO_ON
