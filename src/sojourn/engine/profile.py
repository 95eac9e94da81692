"""Availability profile: processors free over future work, as steps.

Step i covers [at[i], at[i+1]) and has free[i] processors; the last one never ends. Conservative
backfilling keeps one between passes; EASY with several reservations builds one in each pass.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..jit import called, inlined

__all__ = [
    "Profile",
    "hold_end",
    "make_profile",
    "profile_add",
    "profile_advance",
    "profile_earliest",
    "profile_fits",
    "profile_reset",
    "profile_sooner",
]


class Profile(NamedTuple):
    """Steps and their number (`size[0]`); `tried` belongs to `profile_sooner`."""

    at: np.ndarray
    free: np.ndarray
    size: np.ndarray
    tried: np.ndarray


def make_profile(room: int, servers: int) -> Profile:
    """Profile of an idle machine with room for `room` steps."""
    profile = Profile(
        at=np.empty(room),
        free=np.empty(room, dtype=np.int64),
        size=np.ones(1, dtype=np.int64),
        tried=np.zeros((int(servers).bit_length() + 1, 3)),
    )
    profile.at[0] = -np.inf
    profile.free[0] = servers
    return profile


@inlined
def profile_reset(profile, now, free):
    """Forget all steps: `free` processors from `now` on."""
    profile.at[0] = now
    profile.free[0] = free
    profile.size[0] = 1


@called
def profile_advance(profile, now):
    """Drop the steps that end at or before `now`."""
    size = profile.size[0]
    gone = 0
    while gone + 1 < size and profile.at[gone + 1] <= now:
        gone += 1
    if gone > 0:
        for i in range(size - gone):
            profile.at[i] = profile.at[i + gone]
            profile.free[i] = profile.free[i + gone]
        profile.size[0] = size - gone


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
def _cut(profile, x):
    """Make a step begin exactly at `x`; its index."""
    i = _find(profile, x)
    if profile.at[i] >= x:
        return i
    size = profile.size[0]
    for k in range(size, i + 1, -1):
        profile.at[k] = profile.at[k - 1]
        profile.free[k] = profile.free[k - 1]
    profile.at[i + 1] = x
    profile.free[i + 1] = profile.free[i]
    profile.size[0] = size + 1
    return i + 1


@inlined
def _join(profile, i):
    """Remove step i if it equals its predecessor."""
    size = profile.size[0]
    if 0 < i < size and profile.free[i] == profile.free[i - 1]:
        for k in range(i, size - 1):
            profile.at[k] = profile.at[k + 1]
            profile.free[k] = profile.free[k + 1]
        profile.size[0] = size - 1


@called
def profile_add(profile, begin, end, procs):
    """`procs` more processors are free (fewer if negative) in [begin, end)."""
    if end <= begin:
        return
    first = _cut(profile, begin)
    last = _cut(profile, end)
    for i in range(first, last):
        profile.free[i] += procs
    _join(profile, last)
    _join(profile, first)


@called
def profile_fits(profile, now, procs, length):
    """Whether `procs` processors stay free from `now` for `length`."""
    i = _find(profile, now)
    if profile.free[i] < procs:
        return False
    end = now + length
    i += 1
    while i < profile.size[0] and profile.at[i] < end:
        if profile.free[i] < procs:
            return False
        i += 1
    return True


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
    size = profile.size[0]
    i = 0
    while i + 1 < size and profile.at[i + 1] <= now:
        i += 1
    begin = now
    end = now + length
    while True:
        after = profile.at[i + 1] if i + 1 < size else np.inf
        if profile.free[i] < procs:
            begin = after
            end = hold_end(now, begin, length)
        elif end <= after:
            # A plan of 0 needs only the step it starts in.
            return begin
        i += 1


@called
def profile_sooner(profile, now, procs, length, held, tried):
    """Earliest start >= `now` for one that holds [held, held + length) already; `held` if none.

    Its own ground counts as free: either all of the new place lies before it, or it reaches into
    it, and then every step between the two must do.

    Row k of `tried` remembers (procs, length, until) for about 2**k processors: so many for so
    long are nowhere to be had before `until`, hence neither more of them nor for longer.
    """
    size = profile.size[0]
    begin = now
    k = 0
    while True:
        if tried[k, 0] <= procs and tried[k, 1] <= length:
            begin = max(begin, tried[k, 2] - length)
        if (1 << k) >= procs:
            break
        k += 1
    i = _find(profile, begin)
    begin = max(profile.at[i], now)
    while begin + length <= held:
        after = profile.at[i + 1] if i + 1 < size else np.inf
        if profile.free[i] < procs:
            begin = after
        elif begin + length <= after:
            return begin
        i += 1
    if held > tried[k, 2] or (procs <= tried[k, 0] and length <= tried[k, 1]):
        tried[k, 0] = procs
        tried[k, 1] = length
        tried[k, 2] = held
    begin = held
    i = _find(profile, held)
    if profile.at[i] >= held:
        i -= 1
    while i >= 0 and profile.free[i] >= procs:
        begin = max(profile.at[i], now)
        if begin == now:
            break
        i -= 1
    return begin
