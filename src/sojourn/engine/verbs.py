"""What a pass does with a job: does it fit, when could it start, hold that for it, start it.

Each verb serves counted processors (`nodes` is None) and named nodes alike. A reservation is either
EASY's, a time and what is left over then, or one of many in a plan: the availability profile of
processors, or that of pools.
"""

from __future__ import annotations

import numpy as np

from ..jit import called, inlined
from .booting import boot_of_pools
from .calendar import fall_of, stretch_of
from .choosing import picked_slowness
from .foresight import hold_picks, keep_falls, keep_reserved, plan_running
from .nodes import KEPT, SPEED, expected
from .plans import plan_waking
from .profile import (
    hold_end,
    profile_add,
    profile_earliest,
    profile_end,
    profile_fits,
    profile_limit,
    profile_reset,
)
from .resting import count_on
from .service import begin
from .shadows import find_shadow_around
from .starting import (
    begin_on_nodes,
    has_no_chance,
    is_refused,
    note_reserved,
)


@inlined
def time_of(s, work):
    """When the work clock will read `work`, at the present rate."""
    ahead = work - s.anchor_work
    # A division takes longer than all the rest.
    return s.anchor_time + (ahead if s.rate == 1.0 else ahead / s.rate)


@inlined
def is_overdue(s, run):
    """Whether a running job is past its plan."""
    return s.running > 0 and run.planned[run.plan[s.running - 1]] <= s.work


@inlined
def fits(s, jobs, nodes, j, beside, laws):
    """Whether `j` may start now: it fits, and `beside` the reservation that EASY made.

    By EASY's rule it ends before the shadow time, or leaves the head its processors: one that lasts
    longer takes from the extra ones. On nodes it has them then.
    """
    procs = jobs.procs[j]
    if procs > s.free:
        return False
    if nodes is None:
        if not beside or s.work + jobs.plan[j] <= s.shadow:
            return True
        if procs > s.extra:
            return False
        s.extra -= procs
        return True
    if is_refused(s, nodes, jobs, j, beside) or has_no_chance(s, nodes, jobs, j, beside):
        return False
    return laws.parts.try_to_start(s, laws.tables, j, beside)


@inlined
def start(s, jobs, run, nodes, calendar, j):
    """`j` starts, on nodes those that it has."""
    if nodes is None:
        begin(s, run, calendar, j, jobs.work[j], s.work + jobs.plan[j])
    else:
        begin_on_nodes(s, run, nodes, calendar, jobs, j)


@inlined
def find_shadow(s, jobs, run, nodes, calendar, head, laws):
    """Shadow time and extra processors for a blocked head; whether there is such a time.

    The work at which enough running jobs are planned to have ended [rumyantsev2018, eq. 15;
    errata 5]; an overdue job is expected at once, but not yet.
    """
    if nodes is not None:
        if calendar is not None:
            if s.reserving == 1 and s.pinned == 0:
                return find_shadow_around(s, run, nodes, calendar, jobs, head)
        return laws.parts.find_shadow(s, laws.tables, head)
    procs = jobs.procs[head]
    if procs > s.servers - s.gone:
        return False
    soonest = np.nextafter(s.work, np.inf)
    i = s.running - 1
    have = s.free
    shadow = soonest
    while have < procs:
        shadow = max(run.planned[run.plan[i]], soonest)
        have += run.held[run.plan[i]]
        i -= 1
    while i >= 0 and max(run.planned[run.plan[i]], soonest) == shadow:
        have += run.held[run.plan[i]]
        i -= 1
    s.shadow = shadow
    # Generous by the rounding of work + plan; `fits` decides.
    s.until = shadow - s.work + 4.5e-16 * abs(shadow)
    s.extra = have - procs
    s.shadow_known = 1
    return True


@called
def plan_profile(s, run, profile):
    """Profile of the running jobs alone; an overdue one is expected at once, but not yet."""
    soonest = np.nextafter(s.work, np.inf)
    profile_reset(profile, s.work, s.free)
    last = 0
    for i in range(s.running - 1, -1, -1):
        end = max(run.planned[run.plan[i]], soonest)
        if end > profile.at[last]:
            last += 1
            profile.at[last] = end
            profile.free[last] = profile.free[last - 1]
        profile.free[last] += run.held[run.plan[i]]
    profile_end(profile, last + 1)


@called
def plan_under_caps(s, run, profile, calendar):
    """As `plan_profile`, of what is reserved as well, and of no more than caps let be busy."""
    profile_reset(profile, s.work, s.servers - s.gone)
    for i in range(s.over, calendar.reservation.shape[0]):
        begins, ends = stretch_of(s, calendar, i)
        profile_add(profile, begins, ends, -calendar.reservation[i].what)
    for i in range(calendar.fall.shape[0]):
        begins, ends = fall_of(s, calendar, i)
        if begins < np.inf:
            profile_limit(profile, begins, ends, calendar.fall[i].amount)
    soonest = np.nextafter(s.work, np.inf)
    for i in range(s.running - 1, -1, -1):
        end = max(run.planned[run.plan[i]], soonest)
        profile_add(profile, s.work, end, -run.held[run.plan[i]])


@called
def plan_ahead(s, run, profile, nodes, calendar, reach):
    """Plan with the running jobs and what is reserved, on nodes up to `reach` (work)."""
    if nodes is not None:
        plan_running(s, run, nodes)
        s.kept = s.over
        if s.reserving == 1:
            note_reserved(s, nodes, calendar)
            nodes.real[KEPT, : s.nodes] = -np.inf
            keep_reserved(s, nodes, calendar, reach, 0)
        if s.falling == 1:
            keep_falls(s, nodes, calendar)
    elif s.falling == 1:
        plan_under_caps(s, run, profile, calendar)
    else:
        plan_profile(s, run, profile)
        if s.reserving == 1:
            for i in range(s.over, calendar.reservation.shape[0]):
                begins, ends = stretch_of(s, calendar, i)
                profile_add(profile, begins, ends, -calendar.reservation[i].what)


@inlined
def earliest(s, jobs, profile, nodes, calendar, j, at_once, laws):
    """The earliest start of `j` by the plan, for all of its own, and its end; on nodes, where.

    Infinite if `at_once` is asked and it is not, or if what is there is never enough. Reservations
    of nodes are put into the plan as far as it is looked at: those that begin after the job would
    have ended, on the slowest nodes, cannot move it.
    """
    procs, plan = jobs.procs[j], jobs.plan[j]
    if procs > s.servers - s.gone or (at_once and procs > s.free):
        return np.inf, np.inf
    if nodes is not None:
        if at_once and is_refused(s, nodes, jobs, j, True):
            return np.inf, np.inf
        # Where nodes sleep, how long they boot is part of it: all that is reserved is looked at.
        length = np.inf if s.sleeps == 1 else expected(s, plan, nodes.real[SPEED, 0])
        if s.reserving == 1:
            keep_reserved(s, nodes, calendar, hold_end(s.work, s.work, length), 0)
        at, ends = laws.parts.earliest(s, laws.tables, j, at_once)
        while s.reserving == 1 and not at_once:
            reach, known = hold_end(s.work, at, length), s.kept
            keep_reserved(s, nodes, calendar, reach, 0)
            if s.kept == known:
                break
            # Many more each time, for one that finds no gap between many.
            keep_reserved(s, nodes, calendar, reach, s.over + 8 * (s.kept - s.over))
            at, ends = laws.parts.earliest(s, laws.tables, j, at_once)
        return at, ends
    if procs <= s.free and profile_fits(profile, s.work, procs, plan):
        return s.work, hold_end(s.work, s.work, plan)
    if at_once:
        return np.inf, np.inf
    at = profile_earliest(profile, s.work, procs, plan)
    return at, hold_end(s.work, at, plan)


@inlined
def hold(s, jobs, profile, nodes, j, begins, ends):
    """Nobody else may have in [begins, ends) what `j` was found."""
    if nodes is None:
        profile_add(profile, begins, ends, -jobs.procs[j])
    else:
        hold_picks(s, nodes, j, begins, ends)
        if s.sleeps == 1:
            count_on(s, nodes, begins)


@inlined
def take(s, jobs, profile, nodes, j, ends, laws):
    """Let `j` have from now on what it was found; with a plan of 0 it is overdue at once."""
    until = ends
    if nodes is not None:
        # Its nodes are known now.
        until = s.work + boot_of_pools(s, nodes, s.work) + jobs.plan[j] * picked_slowness(s, nodes)
    hold(s, jobs, profile, nodes, j, s.work, max(until, np.nextafter(s.work, np.inf)))
    if nodes is not None:
        if s.lends == 1 and s.asleep > 0:
            plan_waking(s, nodes, j, max(until, np.nextafter(s.work, np.inf)))
        # As it was found: `until` may lie beyond what was expected without knowing its nodes.
        laws.parts.take_now(s, laws.tables, j, ends)


@called
def note(s, recording, j, code, about, value):
    """Write a line of the log of decisions, if there is one."""
    if s.logs == 1:
        line = recording.line[s.logged]
        line.time = s.now
        line.job = j
        line.code = code
        line.about = about
        line.value = value
        s.logged += 1


@inlined
def may_start(s, jobs, run, profile, nodes, calendar, j, laws):
    """Whether a job fits now, beside what is reserved from outside; its place is taken then."""
    planned = s.reserving == 1
    if nodes is not None:
        planned = planned and s.pinned == 1
    planned = planned or s.falling == 1
    if not planned:
        return fits(s, jobs, nodes, j, False, laws)
    plan_ahead(s, run, profile, nodes, calendar, s.work)
    begins, ends = earliest(s, jobs, profile, nodes, calendar, j, True, laws)
    if begins > s.work:
        return False
    take(s, jobs, profile, nodes, j, ends, laws)
    return True
