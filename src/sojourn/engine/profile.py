"""Availability profile: processors free over future work, as steps.

Step i covers [at[i], at[i+1]) and has free[i] processors; the last one ends at
infinity. Conservative backfilling keeps one between passes; EASY with several reservations builds
one in each pass.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..jit import called, inlined

ONE = np.uintp(1)
FREED = 4096
"""Stretches that are remembered as freed; a power of 2."""
KINDS = 64
"""Kinds of jobs, by width and plan, of which `compress` remembers failures; a power of 2."""


class Profile(NamedTuple):
    """Steps and their number (`size[0]`); the rest belongs to `compression`.

    Column ``i & (FREED - 1)`` of `freed` holds (begin, end, most) of the i-th stretch that has
    become free since the run began: `most` processors are free somewhere in it, and no more.
    ``size[1]`` is their number.
    """

    at: np.ndarray
    free: np.ndarray
    size: np.ndarray
    tried: np.ndarray
    refused: np.ndarray
    freed: np.ndarray
    hint: np.ndarray


def make_profile(room: int, servers: int) -> Profile:
    """Profile of an idle machine with room for `room` steps."""
    rows = int(servers).bit_length() + 1
    profile = Profile(
        at=np.empty(room + 1),
        free=np.empty(room, dtype=np.int64),
        size=np.array([1, 0]),
        tried=np.zeros((4, KINDS + rows)),
        refused=np.zeros((rows, 3)),
        freed=np.zeros((3, FREED)),
        hint=np.zeros(3, dtype=np.int64),
    )
    profile.at[0] = -np.inf
    profile.at[1] = np.inf
    profile.free[0] = servers
    return profile


@inlined
def profile_end(profile, size):
    """The profile has so many steps, and the last of them never ends."""
    profile.at[size] = np.inf
    profile.size[0] = size


@inlined
def profile_reset(profile, now, free):
    """Forget all steps: `free` processors from `now` on."""
    profile.at[0] = now
    profile.free[0] = free
    profile_end(profile, 1)


@called
def profile_advance(profile, now):
    """Drop the steps that end at or before `now`."""
    size = profile.size[0]
    gone = 0
    while profile.at[gone + 1] <= now:
        gone += 1
    if gone > 0:
        _shift(profile, gone, size, -gone)
        profile_end(profile, size - gone)


@inlined
def _find(profile, x):
    """Index of the step that covers `x` (0 if `x` lies before all)."""
    low = 0
    high = profile.size[0]
    while high - low > 1:
        middle = (low + high) >> 1
        if profile.at[middle] <= x:
            low = middle
        else:
            high = middle
    return low


@inlined
def profile_near(profile, x, guess):
    """As `_find`, faster where the answer is not far from step `guess`."""
    size = profile.size[0]
    low = min(max(guess, 0), size - 1)
    stride = 1
    if profile.at[low] <= x:
        high = low + 1
        while high < size and profile.at[high] <= x:
            low = high
            high += stride
            stride *= 2
        high = min(high, size)
    else:
        high = low
        low -= 1
        while low > 0 and profile.at[low] > x:
            high = low
            low -= stride
            stride *= 2
        low = max(low, 0)
    while high - low > 1:
        middle = (low + high) >> 1
        if profile.at[middle] <= x:
            low = middle
        else:
            high = middle
    return low


@inlined
def _shift(profile, first, last, by):
    """Move the steps first to last - 1 by so many places."""
    at, free = profile.at, profile.free
    # Without a sign, so that the compiler need not think of negative places.
    low, k = np.uintp(max(first, 0)), np.uintp(max(last, 0))
    if by > 0:
        up = np.uintp(by)
        while k > low:
            k -= ONE
            at[k + up] = at[k]
            free[k + up] = free[k]
    elif by < 0:
        down = np.uintp(-by)
        while low < k:
            at[low - down] = at[low]
            free[low - down] = free[low]
            low += ONE


@inlined
def _note_freed(profile, begin, end, most):
    column = profile.size[1] & (FREED - 1)
    profile.freed[0, column] = begin
    profile.freed[1, column] = end
    profile.freed[2, column] = most
    profile.size[1] += 1


@inlined
def _change(profile, i, k, begin, end, procs):
    """`profile_add` where step i covers `begin` and step k covers `end`; the last step changed.

    Steps are inserted where none begins yet, and dropped where both sides have become equal. What
    lies behind is moved once for both ends, and not at all if one step comes and one goes.
    """
    at, free, size = profile.at, profile.free, profile.size[0]
    starts, ends = at[i] >= begin, at[k] == end
    after = free[k]
    first = free[i] + procs
    drop_first = starts and i > 0 and first == free[i - 1]
    drop_last = ends and free[k - 1] + procs == after
    inside = (0 if starts else 1) - (1 if drop_first else 0)
    behind = inside + (0 if ends else 1) - (1 if drop_last else 0)
    middle = k if ends else k + 1
    tail = k if ends and not drop_last else k + 1
    if behind > 0:
        _shift(profile, tail, size, behind)
    most = first
    for m in range(i + 1, middle):
        free[m] += procs
        most = max(most, free[m])
    if procs > 0:
        _note_freed(profile, begin, end, most)
    _shift(profile, i + 1, middle, inside)
    if not starts:
        at[i + 1] = begin
        free[i + 1] = first
    elif not drop_first:
        free[i] = first
    if not ends:
        at[middle + inside] = end
        free[middle + inside] = after
    if behind < 0:
        _shift(profile, tail, size, behind)
    profile_end(profile, size + behind)
    return middle + inside - 1


@called
def profile_add_near(profile, begin, end, procs, guess):
    """As `profile_add`, where a step near `begin` is known; a step near `end`."""
    i = profile_near(profile, begin, guess)
    if end <= begin or end <= profile.at[i]:
        # Nothing, or all of it lies before the first step.
        return i
    return _change(profile, i, profile_near(profile, end, i), begin, end, procs)


@inlined
def profile_add(profile, begin, end, procs):
    """`procs` more processors are free (fewer if negative) in [begin, end)."""
    profile_add_near(profile, begin, end, procs, profile.size[0] >> 1)


@called
def profile_limit(profile, begin, end, most):
    """No more than `most` processors are free in [begin, end), which may have no end."""
    while begin < end:
        i = _find(profile, begin)
        until = min(profile.at[i + 1], end)
        excess = profile.free[i] - most
        if excess > 0 and until < np.inf:
            profile_add(profile, begin, until, -excess)
        elif excess > 0:
            last = i
            if profile.at[i] < begin:
                last = i + 1
                profile.at[last] = begin
            profile.free[last] = most
            profile_end(profile, last + 1)
        begin = until


@called
def profile_fits(profile, now, procs, length):
    """Whether `procs` processors stay free from `now` for `length`."""
    i = _find(profile, now)
    if profile.free[i] < procs:
        return False
    end = now + length
    i += 1
    while profile.at[i] < end:
        if profile.free[i] < procs:
            return False
        i += 1
    return True


@inlined
def held_until(now, held, length):
    """Where a hold of `length` that was made from `held` on ends."""
    if length > 0.0 and held == np.nextafter(now, np.inf):
        return now + length
    return held + length


@inlined
def hold_end(now, at, length):
    """Where a hold of `length` from `at` ends.

    What follows an overdue job begins a hair after `now`; the hair is not passed on.
    """
    if length > 0.0 and at <= np.nextafter(now, np.inf):
        return now + length
    return at + length


@called
def profile_earliest(profile, now, procs, length):
    """Earliest start >= `now` of a hold of `procs` processors for `length`."""
    i = _find(profile, now)
    begin = now
    end = now + length
    while True:
        if profile.free[i] < procs:
            begin = profile.at[i + 1]
            end = hold_end(now, begin, length)
        elif end <= profile.at[i + 1]:
            # A plan of 0 needs only the step it starts in.
            return begin
        i += 1
