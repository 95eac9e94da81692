"""Compression: after an early end, reservations move up, one by one in the order of the queue.

Jobs are often submitted by the hundred, alike and one after the other. Neighbours in the queue
with the same width, plan and reserved start are moved together: once one of them finds no earlier
place the others find none, and as many as fit side by side take the same one.
"""

from __future__ import annotations

import numpy as np

from ..jit import called, inlined
from .profile import (
    FREED,
    KINDS,
    ONE,
    held_until,
    hold_end,
    profile_add,
    profile_add_near,
    profile_near,
)

_STEPS_PER_STRETCH = 32
"""A look at one stretch that has become free costs about as much as one at so many steps."""
_FEW = np.uintp(8)
"""Steps that `compress` looks at one by one: most of its places are long, or there is none."""


@inlined
def _slot(procs, length):
    """Where jobs of that width and plan are remembered."""
    return (31 * procs + np.int64(length)) & (KINDS - 1)


@inlined
def _bound(tried, k, procs, length, held, begin):
    """The earliest start that column k leaves a job with a reservation at `held`."""
    if tried[0, k] <= procs and tried[1, k] <= length:
        begin = max(begin, tried[2, k] - length)
        if held >= tried[2, k]:
            begin = max(begin, tried[3, k])
    return begin


@inlined
def _not_before(tried, procs, length, held, begin):
    """The earliest start that past failures leave a job, `begin` at least.

    A column of `tried` holds (procs, length, until, start): so many for so long are nowhere to be
    had before `until`, hence neither more of them nor for longer; nor do they start before
    `start` where they may last beyond `until`. There is one column for this kind of job, and one
    for about 2**k processors.
    """
    kind = _slot(procs, length)
    if tried[0, kind] == procs and tried[1, kind] == length and tried[2, kind] > -np.inf:
        return _bound(tried, kind, procs, length, held, begin)
    k = KINDS
    while True:
        begin = _bound(tried, k, procs, length, held, begin)
        if (1 << (k - KINDS)) >= procs:
            return begin
        k += 1


@inlined
def _note(tried, k, procs, length, held):
    tried[0, k] = procs
    tried[1, k] = length
    tried[2, k] = held
    tried[3, k] = held


@inlined
def _failed(tried, procs, length, held):
    """Remember that a job of such width and plan can start no sooner than at `held`."""
    kind = _slot(procs, length)
    if tried[0, kind] != procs or tried[1, kind] != length or held > tried[2, kind]:
        _note(tried, kind, procs, length, held)
    k = KINDS
    while (1 << (k - KINDS)) < procs:
        k += 1
    if held > tried[2, k] or (procs <= tried[0, k] and length <= tried[1, k]):
        _note(tried, k, procs, length, held)


@inlined
def _freed(tried, work):
    """Something has become free from `work` on: what was said of places before it still holds."""
    for k in range(tried.shape[1]):
        if work < tried[2, k]:
            tried[2, k] = work
            tried[3, k] = -np.inf


@inlined
def _last_short(profile, begin, end, procs, guess):
    """The last step of [begin, end) with fewer than `procs` free, -1 if there is none.

    And the step that covers `end`.
    """
    near = profile_near(profile, end, guess)
    i = near
    if profile.at[i] >= end and profile.at[i] > begin:
        i -= 1
    while i >= 0 and profile.free[i] >= procs:
        if profile.at[i] <= begin:
            return -1, near
        i -= 1
    return i, near


@inlined
def _fewest(profile, begin, end):
    """The fewest processors that are free anywhere in [begin, end)."""
    i = profile_near(profile, begin, profile.hint[1])
    least = profile.free[i]
    while profile.at[i + 1] < end:
        i += 1
        least = min(least, profile.free[i])
    return least


@inlined
def _next_place(profile, i, begin, procs, length, now, before, latest, few):
    """The earliest place from `begin` on, which step i covers: its step, its start and its end.

    Nobody looks on where it would begin at `before`, or end after `latest`. So `few` steps are
    looked at one by one; of a place that is longer, the last that is too low is looked for.
    """
    at, free = profile.at, profile.free
    # Without a sign, so that the compiler need not think of negative places.
    size, i = np.uintp(max(profile.size[0], 0)), np.uintp(max(i, 0))
    near = i
    while True:
        if free[i] < procs:
            while i < size and free[i] < procs:
                i += ONE
            begin = at[i]
        end = hold_end(now, begin, length)
        if begin >= before or end > latest:
            return np.int64(i), begin, end
        k, last = i + ONE, min(i + few, size)
        while k < last and at[k] < end and free[k] >= procs:
            k += ONE
        if at[k] >= end:
            return np.int64(i), begin, end
        if free[k] < procs:
            i = k
            continue
        near = np.uintp(max(profile_near(profile, end, np.int64(max(near, k))), 0))
        # A place that begins before the last step that is too low ends after it.
        short = near
        if at[near] >= end:
            short -= ONE
        while short > k and free[short] >= procs:
            short -= ONE
        if short <= k:
            return np.int64(i), begin, end
        i = short


@called
def _place_before(profile, now, procs, length, held, begin, since, before, hint):
    """Earliest start in [begin, before) of a place that ends by `held`; `held` if there is none.

    Only of those that last beyond `since`: where enough is free there, a place may have begun
    before.
    """
    i = profile_near(profile, max(begin, since), hint[0])
    while profile.at[i] > begin and profile.free[i] >= procs <= profile.free[i - 1]:
        i -= 1
    begin = max(profile.at[i], begin)
    # Without `now`, whose hair belongs to what is reserved anew.
    hint[0], begin, end = _next_place(profile, i, begin, procs, length, -np.inf, before, held, _FEW)
    if end > held or begin >= before:
        return held
    # Where a search begins is rounded: what is free begins with the step.
    return max(profile.at[hint[0]], now)


@called
def _sooner(profile, now, procs, length, held, begin, seen, hint):
    """Earliest start >= `begin` for one that holds [held, held + length) already; `held` if none.

    Its own ground counts as free: either all of the new place lies before it, or it reaches into
    it, and then every step between the two must do. `hint` has steps near those last looked at.

    When the first `seen` stretches had become free there was none. So a new place has a part of a
    stretch that has become free since, where enough is free.
    """
    if begin + length <= held:
        begin = _not_before(profile.tried, procs, length, held, begin)
    number = profile.size[1]
    new = number - seen
    fully = new > FREED or new * _STEPS_PER_STRETCH > profile.size[0] or held <= now
    if begin + length <= held and fully:
        found = _place_before(profile, now, procs, length, held, begin, begin, np.inf, hint)
        if found < held:
            return found
    elif begin + length <= held:
        best = held
        for k in range(seen, number):
            column = k & (FREED - 1)
            since, until = profile.freed[0, column], min(profile.freed[1, column], best)
            if procs > profile.freed[2, column]:
                continue
            # Rounded down: rather too early than too late.
            first = max(since - length - 1e-15 * (abs(since) + length), begin)
            if first + length <= held and first < until:
                found = _place_before(profile, now, procs, length, held, first, since, until, hint)
                best = min(best, found)
        if best < held:
            return best
    short, hint[1] = _last_short(profile, now, held, procs, hint[1])
    if short < 0:
        return now
    return min(profile.at[short + 1], held)


@inlined
def _move_hold(profile, at, until, held, end, procs, hint):
    """A hold of [held, end) becomes one of [at, until), which begins sooner."""
    if held < until < end:
        hint[1] = profile_add_near(profile, at, held, -procs, hint[1])
        hint[2] = profile_add_near(profile, until, end, procs, hint[2])
    else:
        profile_add(profile, held, end, procs)
        profile_add(profile, at, until, -procs)


@inlined
def _same(procs, plan, promise, j, other):
    return promise[j] == promise[other] and procs[j] == procs[other] and plan[j] == plan[other]


@called
def compress(profile, now, ordered, size, procs, plan, promise, seen, moved):
    """Move up every reserved start that can be sooner; how many, and how many have none.

    Parameters
    ----------
    ordered, size : the waiting jobs, first in order first; those without a reservation are left
        at its beginning, in order.
    promise : the reserved start of each job, `inf` for none; brought up to date.
    seen : how many stretches had become free when each job had no sooner start; brought up to date.
    moved : receives the jobs whose start has become sooner.
    """
    tried = profile.tried
    tried[2:, :] = -np.inf
    changed = 0
    without = 0
    hint = profile.hint
    i = 0
    while i < size:
        j = ordered[i]
        held, width, length = promise[j], procs[j], plan[j]
        stop = i + 1
        if held == np.inf:
            ordered[without] = j
            without += 1
            i = stop
            continue
        while stop < size and _same(procs, plan, promise, j, ordered[stop]):
            stop += 1
        begin, first = now, i
        while i < stop:
            begin = _sooner(profile, now, width, length, held, begin, seen[ordered[i]], hint)
            if begin == held:
                _failed(tried, width, length, held)
                break
            until = hold_end(now, begin, length)
            alike = stop - i
            if until > begin:
                alike = min(alike, _fewest(profile, begin, min(until, held)) // width)
            end = held_until(now, held, length)
            _move_hold(profile, begin, until, held, end, alike * width, hint)
            _freed(tried, max(held, until))
            for k in range(i, i + alike):
                promise[ordered[k]] = begin
                moved[changed] = ordered[k]
                changed += 1
            i += alike
        for k in range(first, stop):
            seen[ordered[k]] = profile.size[1]
        i = stop
    return changed, without


@inlined
def forget_refusals(profile):
    """Something has become free: what was looked for in vain may be there now."""
    profile.refused[:, 2] = -np.inf


@called
def reserve_earliest(profile, now, procs, length):
    """Reserve the earliest place for a job; its start.

    Row k of `refused` remembers (procs, length, start) for about 2**k processors, as long as
    nothing becomes free: so many for so long cannot start before `start`.
    """
    refused = profile.refused
    begin = now
    k = 0
    while True:
        if refused[k, 0] <= procs and refused[k, 1] <= length:
            begin = max(begin, refused[k, 2])
        if (1 << k) >= procs:
            break
        k += 1
    i = profile_near(profile, begin, profile.hint[0])
    size = np.uintp(max(profile.size[0], 0))
    i, begin, end = _next_place(profile, i, begin, procs, length, now, np.inf, np.inf, size)
    profile.hint[0] = i
    if begin > refused[k, 2] or (procs <= refused[k, 0] and length <= refused[k, 1]):
        refused[k, 0] = procs
        refused[k, 1] = length
        refused[k, 2] = begin
    profile_add_near(profile, begin, end, -procs, i)
    return begin
