"""The one event loop: from instant to instant, for every machine and discipline.

At each instant everything due is drained (departures, external events, arrivals, a rate switch),
then the discipline makes one pass. Time is kept on two clocks: seconds, and work, the integral of
the rate. A job that starts at work v and needs work S ends at work v + S whatever the rate does, so
a switch costs O(1).

The loop is compiled once for each type of its arguments: `nodes` and `calendar` may be None, and
what belongs to them is then not even compiled; the discipline is a named tuple whose type chooses
the pass.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numba.extending import overload

from ..jit import called, inlined
from .address import Tables, address_of
from .calendar import arrive, due_time
from .caps import note_falls
from .domains import (
    come_to_domains,
    leave_domains,
    let_domains_fall,
    settle_domains,
    steer_domains,
)
from .happenings import change_states, happen
from .nodes import open_nodes
from .passes import DECIDE, EASY, schedule
from .resting import count_on_free, expect_sleepers, put_to_sleep
from .service import finish, first_end, present, shift_boots
from .sleeping import first_rest, is_a_change_due, is_anybody_due
from .types import ARRIVE, FINISH, SWITCH, UNSEEN, ControlPointers, Laws, Parts, RateLaw, SystemView
from .verbs import time_of

__all__ = ["DECIDE", "DONE", "FULL", "PAUSED", "loop"]

DONE, PAUSED, FULL, _READY = 0, 1, 2, 4


@inlined
def _flows(s, domains, there):
    """Work done per second, what could be, what is not, and how fast unfinished work falls."""
    if domains is None:
        done = s.rate * (there - s.free)
        return done, s.rate * there, s.rate * s.free, s.rate * s.running
    return s.flow, s.most_flow, s.most_flow - s.flow, s.slope


@inlined
def _let_fall(s, domains, at, work):
    """Unfinished work falls until `at`, when the work clock will read `work`."""
    if domains is None:
        s.load -= s.running * (work - s.work)
        if s.switch_at <= at:
            s.load = s.switch_level
    else:
        s.load -= s.slope * (work - s.work)
        let_domains_fall(s, domains, at)


@inlined
def _advance(s, run, domains, at, ends):
    """Move both clocks to `at` and integrate the measures over the interval that ends there."""
    lapse = at - s.now
    there = s.servers - s.gone
    if ends <= at:
        work = first_end(s, run)
    else:
        work = s.anchor_work + (at - s.anchor_time) * s.rate
    if s.due <= at:
        # Like a completion, a promise comes at its own work, not at a rounded one.
        work = max(work, s.due_work)
    work = max(work, s.work)
    if lapse > 0.0:
        done, could, spare, slope = _flows(s, domains, there)
        effective = done * lapse
        s.effective += effective
        if s.waiting > 0:
            s.potential += could * lapse
            s.waste += spare * lapse
            s.queue_time += s.waiting * lapse
        else:
            s.potential += effective
        s.workload_left += s.load * lapse
        s.workload += (s.load - 0.5 * slope * lapse) * lapse
        s.service_time += s.running * lapse
    _let_fall(s, domains, at, work)
    s.now = at
    s.work = work


@inlined
def _view(s, event, before, coin):
    there = s.servers - s.gone
    waiting = s.waiting + s.new - s.withdrawn
    return SystemView(
        event, before, present(s), waiting, there - s.free, there, s.load, s.rate, coin
    )


@inlined
def _steer(s, run, recording, nodes, calendar, control, event, before):
    """Ask the control for the rate after an event; a change re-anchors the work clock, O(1)."""
    coin = 0.0
    if event != SWITCH:
        if s.events < recording.coins.shape[0]:
            coin = recording.coins[s.events]
        s.events += 1
    rate = control.law(_view(s, event, before, coin), s.now, control.theta)
    if rate != s.rate:
        if nodes is not None:
            if s.not_up > 0:
                shift_boots(s, run, nodes, calendar, rate - s.rate)
        s.anchor_time = s.now
        s.anchor_work = s.work
        s.rate = rate
        recording.epoch[s.epochs].time = s.now
        recording.epoch[s.epochs].rate = rate
        s.epochs += 1


def _look(s, run, recording, nodes, calendar, control, event, before, timed):
    """Let the control see an event, or those of the domains that it concerns.

    This body serves where the JIT is disabled, as that of `_set_timers` does.
    """
    if isinstance(control.law, ControlPointers):
        _look_at_domains(s, run, recording, nodes, calendar, control, event, before, timed)
    else:
        _look_at_all(s, run, recording, nodes, calendar, control, event, before, timed)


@inlined
def _look_at_all(s, run, recording, nodes, calendar, control, event, before, timed):
    _steer(s, run, recording, nodes, calendar, control, event, before)


@inlined
def _look_at_domains(s, run, recording, nodes, calendar, control, event, before, timed):
    steer_domains(s, run, recording, nodes, nodes.domains, calendar, control, timed)


@overload(_look, inline="always")
def _look_anywhere(s, run, recording, nodes, calendar, control, event, before, timed):
    look = _look_at_all if isinstance(control.types[0], types.FunctionType) else _look_at_domains

    def of_type(s, run, recording, nodes, calendar, control, event, before, timed):
        return look(s, run, recording, nodes, calendar, control, event, before, timed)

    return of_type


@inlined
def _drain(s, jobs, run, recording, nodes, calendar, control):
    """Departures, external events, arrivals, then the switch; the control looks after each.

    With one pass per event, a single thing: arrivals come first, as in other simulators. An
    external event is one, however many jobs it stops.
    """
    arrivals = jobs.submit.shape[0]
    while True:
        before = present(s)
        arriving = s.arrived < arrivals and jobs.submit[s.arrived] <= s.now
        ending = s.running > 0 and (
            first_end(s, run) <= s.work or time_of(s, first_end(s, run)) <= s.now
        )
        happening = False
        if calendar is not None:
            happening = s.own_events == 0 and s.next < calendar.event.shape[0]
            happening = happening and calendar.event[s.next].time <= s.now
        if s.per_event == 1:
            if s.midway == 1:
                arriving = ending = False
            elif arriving:
                ending = happening = False
        event = SWITCH
        if ending:
            event = FINISH
            finish(s, run, recording, nodes, calendar)
            if nodes is not None:
                leave_domains(nodes.domains, run.departed[s.departed - 1], 0.0)
        elif happening:
            if calendar is not None:
                event = happen(s, jobs, run, recording, nodes, calendar)
        elif arriving:
            event = arrive(s, jobs, calendar)
            if nodes is not None:
                if event == ARRIVE:
                    j = s.arrived - 1
                    come_to_domains(nodes.domains, j, ARRIVE, jobs.work[j])
        elif not (s.timed == 1 and s.switch_at <= s.now):
            return
        if s.controlled == 1 and event != UNSEEN:
            timed = not (ending or happening or arriving)
            _look(s, run, recording, nodes, calendar, control, event, before, timed)
        if not (ending or happening or arriving) or (s.per_event == 1 and s.midway == 0):
            return


@called
def _switches(s, submit, calendar, at):
    """How often an instant may change the rate, at most.

    Each running job may end or be stopped, and each event and arrival may change it.
    """
    calls = 2 * s.running + 2
    j = s.arrived
    while j < submit.shape[0] and submit[j] <= at:
        calls += 1
        j += 1
    if calendar is not None:
        i = s.next
        while i < calendar.event.shape[0] and calendar.event[i].time <= at:
            calls += 1
            i += 1
    return calls


@called
def _is_plan_cramped(s, submit, procs, steps_there, cells_there, calendar, at):
    """Whether plans by pool may not hold one more instant."""
    # Of each waiting job the pools that it may be promised.
    cells = s.needed
    j = s.arrived
    while j < submit.shape[0] and submit[j] <= at:
        cells += min(procs[j], s.pools)
        j += 1
    steps = s.running + s.waiting + s.new + j - s.arrived
    if calendar is not None:
        steps += calendar.reservation.shape[0] + calendar.fall.shape[0]
        if s.requeue == 1:
            # Whoever runs may have to wait again.
            cells += s.servers
    return 2 * steps + 8 > steps_there or cells > cells_there


@inlined
def _is_cramped(s, jobs, run, recording, nodes, calendar, at):
    """Whether what is written may not hold one more instant, whatever it brings."""
    if s.records == 1 and s.recorded + 1 >= recording.row.shape[0]:
        return True
    if s.controlled == 1:
        calls = max(s.domains, 1) * _switches(s, jobs.submit, calendar, at)
        if s.epochs + calls >= recording.epoch.shape[0]:
            return True
    if calendar is not None:
        if s.segments + 2 * run.departed.shape[0] >= recording.segment.shape[0]:
            return True
        if s.own_events == 1 and s.given + s.servers >= recording.node.shape[0]:
            return True
    if s.logs == 1 and s.logged + 4 * jobs.submit.shape[0] + 8 >= recording.line.shape[0]:
        return True
    if nodes is not None:
        if s.given + s.servers >= nodes.given.shape[1]:
            return True
        if s.sleeps == 1 and s.changes + 8 * s.nodes >= nodes.change.shape[0]:
            return True
        if s.planning == 1:
            steps, cells = nodes.plan_at.shape[0], nodes.cell.shape[1]
            if _is_plan_cramped(s, jobs.submit, jobs.procs, steps, cells, calendar, at):
                return True
    return False


@inlined
def _is_over(s, calendar):
    """Whether nodes that go to sleep or wake are all that could still happen.

    They start nobody; a node that is repaired may.
    """
    if present(s) == 0:
        return True
    ahead = s.running > 0 or s.transits > 0 or s.due < np.inf
    if calendar is not None:
        ahead = ahead or s.next < calendar.event.shape[0]
    return not ahead


@inlined
def _next_instant(s, jobs, run, recording, nodes, calendar, budget):
    """Go to the next instant: ready to be drained, or why not."""
    if budget <= 0 or s.pause == 1:
        s.pause = 0
        return PAUSED
    ends = np.inf
    if s.running > 0:
        ends = s.now
        if first_end(s, run) > s.work:
            ends = time_of(s, first_end(s, run))
    at = min(ends, s.switch_at, s.due, s.stir)
    arriving = s.arrived < jobs.submit.shape[0]
    if nodes is not None:
        if s.sleeps == 1 and not arriving and _is_over(s, calendar):
            return DONE
    if arriving:
        at = min(at, jobs.submit[s.arrived])
    if calendar is not None:
        if not arriving and present(s) == 0:
            return DONE
        if s.next < calendar.event.shape[0]:
            at = min(at, calendar.event[s.next].time)
    if at == np.inf:
        return DONE
    if s.written == 1 and _is_cramped(s, jobs, run, recording, nodes, calendar, at):
        return FULL
    # A work is turned into a time with rounding; time never runs backwards.
    at = max(at, s.now)
    if nodes is None:
        _advance(s, run, None, at, ends)
    else:
        _advance(s, run, nodes.domains, at, ends)
    s.instants += 1
    s.departed = 0
    return _READY


def _set_timers(s, run, nodes, control):
    """When controls are asked if nothing happens before."""
    if isinstance(control.law, ControlPointers):
        _set_timers_of_domains(s, run, nodes, control)
    else:
        _set_timer_of_all(s, run, nodes, control)


@inlined
def _set_timer_of_all(s, run, nodes, control):
    """W falls with slope R |S|, and a crossing exists only while somebody is served (errata 2)."""
    if s.timed == 1:
        s.switch_at = np.inf
        if s.running > 0:
            level = control.wake(_view(s, SWITCH, present(s), 0.0), s.now, control.theta)
            if s.load > level:
                s.switch_level = level
                s.switch_at = s.now + (s.load - level) / (s.rate * s.running)


@inlined
def _set_timers_of_domains(s, run, nodes, control):
    settle_domains(s, run, nodes.domains, control)


@overload(_set_timers, inline="always")
def _set_any_timers(s, run, nodes, control):
    one = isinstance(control.types[0], types.FunctionType)
    timers = _set_timer_of_all if one else _set_timers_of_domains

    def of_type(s, run, nodes, control):
        return timers(s, run, nodes, control)

    return of_type


@inlined
def _settle(s, run, recording, nodes, calendar, control):
    """After a pass: set the timers and write a row."""
    _set_timers(s, run, nodes, control)
    s.due = np.inf
    if s.due_work < np.inf:
        s.due = time_of(s, s.due_work)
        if calendar is not None:
            s.due = due_time(s, calendar, s.due)
    if s.records == 1:
        row = recording.row[s.recorded]
        row.time = s.now
        row.rate = s.rate
        if s.domains > 0 and s.running > 0:
            # The mean pace of those in service.
            row.rate = s.slope / s.running
        row.workload = s.load
        row.present = s.running + s.waiting
        row.queued = s.waiting
        row.busy = s.servers - s.gone - s.free
        row.running = s.running
        s.recorded += 1


@inlined
def _wakes_later(s, jobs, run, nodes):
    """Whether something else happens before a sleeper must wake for the head's sake.

    Then that is looked at again.
    """
    if s.running == 0 or s.may_overrun == 1:
        return False
    shadow = s.shadow
    if s.shadow_known == 0:
        if s.lends == 1 and s.transits > 0:
            return False
        # Not before the first planned end.
        shadow = run.planned[run.plan[s.running - 1]]
    at = s.now + (shadow - s.work) / s.rate - s.nap_leave
    if at >= time_of(s, first_end(s, run)) or (s.transits > 0 and at >= nodes.arrival[0]):
        return True
    return s.arrived < jobs.submit.shape[0] and at >= jobs.submit[s.arrived]


@inlined
def _count_on_nodes(s, jobs, run, nodes, find_shadow, tables):
    """Which nodes the reservation of a blocked head counts on, where that decides who sleeps."""
    if s.counted == s.passes:
        return
    if s.backfill != EASY or s.blocked < 0 or s.reserving == 1 or s.falling == 1:
        s.counted = 0
        return
    due = is_anybody_due(s, nodes)
    if s.asleep == 0 and not due:
        return
    if s.pinned == 0 and s.keeps == 0 and not due:
        if _wakes_later(s, jobs, run, nodes):
            s.counted = 0
            return
    if find_shadow is not None:
        if s.pinned == 1:
            if s.counted == 0 or s.reserved_for != s.blocked:
                s.counted = 0
                s.reserved_for = -1
                find_shadow(s, tables, s.blocked)
        elif s.shadow_known == 1 or find_shadow(s, tables, s.blocked):
            if not expect_sleepers(s, nodes):
                count_on_free(s, nodes)
        else:
            s.counted = 0


def loop(
    d, s, jobs, run, recording, nodes, calendar, law, wake, theta, order, order_theta, backfill,
    backfill_theta, changing, changing_theta, score, score_theta, try_to_start, find_shadow,
    earliest, take_now, promise, take_promised, find_naturally, keep, keep_theta, budget,
):  # fmt: skip
    """Run until done, paused, a decision is due or a table is full; the status.

    An instant costs 1 of the budget, and 1 for each job that a pass may look at. Functions of the
    policy are handed over one by one, because only as such they are taken for pointers.
    """
    return _from_instant_to_instant(
        address_of(d), s, address_of(jobs), address_of(run), address_of(recording),
        address_of(nodes), address_of(calendar), law, wake, theta, order, order_theta, backfill,
        backfill_theta, changing, changing_theta, score, score_theta, try_to_start, find_shadow,
        earliest, take_now, promise, take_promised, find_naturally, keep, keep_theta, budget,
    )  # fmt: skip


@inlined
def _from_instant_to_instant(
    d, s, jobs, run, recording, nodes, calendar, law, wake, theta, order, order_theta, backfill,
    backfill_theta, changing, changing_theta, score, score_theta, try_to_start, find_shadow,
    earliest, take_now, promise, take_promised, find_naturally, keep, keep_theta, budget,
):  # fmt: skip
    """As `loop`, of tables by their addresses."""
    control = RateLaw(law, wake, theta)
    parts = Parts(
        try_to_start, find_shadow, earliest, take_now, promise, take_promised, find_naturally
    )
    tables = None
    if nodes is not None:
        tables = address_of(Tables(run, nodes, jobs, score, score_theta))
    laws = Laws(
        order, order_theta, backfill, backfill_theta, changing, changing_theta, parts, tables
    )
    if nodes is not None:
        is_first = s.opened == 0
        open_nodes(s, nodes)
        if is_first and s.sleeps == 1 and jobs.submit.shape[0] > 0:
            first_rest(s, nodes, jobs.submit[0])
    while True:
        if s.pending == 0:
            status = _next_instant(s, jobs, run, recording, nodes, calendar, budget)
            if status != _READY:
                return status
            budget -= 1 + s.lists * s.waiting
            if nodes is not None:
                if s.stir <= s.now:
                    s.stirred = 1
                if is_a_change_due(s, nodes):
                    s.stirred = 1
                    # Of jobs whose nodes have failed the control sees that the workload has grown.
                    while change_states(s, jobs, run, recording, nodes, calendar):
                        if s.controlled == 1:
                            now = present(s)
                            _look(s, run, recording, nodes, calendar, control, SWITCH, now, False)
            _drain(s, jobs, run, recording, nodes, calendar, control)
        if nodes is not None:
            s.passes += 1
        if schedule(d, s, jobs, run, recording, nodes, calendar, laws) == DECIDE:
            return DECIDE
        if nodes is not None:
            if s.sleeps == 1:
                _count_on_nodes(s, jobs, run, nodes, find_shadow, tables)
                if calendar is not None:
                    note_falls(s, nodes.caps, calendar)
                put_to_sleep(s, nodes, keep, keep_theta)
        _settle(s, run, recording, nodes, calendar, control)
