"""EASY backfilling's rule: the head's shadow time, and who may pass it."""

from __future__ import annotations

import numpy as np

from ..jit import inlined
from .state import EXTRA, FREE, RUNNING, SHADOW, SHADOW_KNOWN, UNTIL, WORK

__all__ = ["find_shadow", "may_backfill"]


@inlined
def find_shadow(state, procs):
    """Shadow time and extra processors for a blocked head that needs `procs`.

    The work at which enough running jobs are planned to have ended [rumyantsev2018, eq. 15;
    errata 5]; an overdue job is expected at once, but not yet.
    """
    count = state.count
    soonest = np.nextafter(state.clock[WORK], np.inf)
    i = count[RUNNING] - 1
    have = count[FREE]
    shadow = soonest
    while have < procs:
        shadow = max(state.planned[state.plan[i]], soonest)
        have += state.held[state.plan[i]]
        i -= 1
    while i >= 0 and max(state.planned[state.plan[i]], soonest) == shadow:
        have += state.held[state.plan[i]]
        i -= 1
    state.clock[SHADOW] = shadow
    # Generous by the rounding of work + plan; `may_backfill` decides.
    state.clock[UNTIL] = shadow - state.clock[WORK] + 4.5e-16 * abs(shadow)
    count[EXTRA] = have - procs
    count[SHADOW_KNOWN] = 1


@inlined
def may_backfill(state, jobs, j):
    """EASY's rule: it ends before the shadow time, or leaves the head its processors.

    A job that lasts longer than the shadow time takes from the extra ones.
    """
    count = state.count
    procs = jobs.procs[j]
    if procs > count[FREE]:
        return False
    if state.clock[WORK] + jobs.plan[j] <= state.clock[SHADOW]:
        return True
    if procs > count[EXTRA]:
        return False
    count[EXTRA] -= procs
    return True
