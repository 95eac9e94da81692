"""The waiting jobs: in one or two queue indices, or in a list by (key, job)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..jit import called, inlined
from .address import at
from .heap import heap_pop, make_heap
from .types import NEW, WAITS


class Waiting(NamedTuple):
    """A list of waiting jobs by (key, job), which begins at `s.first`.

    `sorted` is where a pass puts those that it looks at, in order; `chosen`, `score` and `scored`
    are scratch.
    """

    job: np.ndarray
    key: np.ndarray
    backfill_key: np.ndarray
    sorted: np.ndarray
    chosen: np.ndarray
    score: np.ndarray
    scored: np.ndarray


def make_waiting(jobs: int, key: np.ndarray | None, backfill_key: np.ndarray | None) -> Waiting:
    """Return an empty list for so many jobs; keys are None where they depend on the time."""
    whole = np.int64
    return Waiting(
        np.empty(jobs, dtype=whole),
        np.zeros(jobs) if key is None else np.array(key, dtype=np.float64),
        np.zeros(0) if backfill_key is None else np.array(backfill_key, dtype=np.float64),
        *(np.empty(jobs, dtype=whole) for _ in range(2)),
        np.empty(jobs),
        np.empty(jobs, dtype=whole),
    )


@inlined
def _position(s, w, j):
    """Where `j` stands, or would stand, in the list by (key, job)."""
    low = s.first
    high = low + s.waiting
    key = w.key[j]
    while low < high:
        middle = (low + high) >> 1
        other = w.job[middle]
        if w.key[other] < key or (w.key[other] == key and other < j):
            low = middle + 1
        else:
            high = middle
    return low


@inlined
def list_insert(s, w, j):
    """Let `j` wait in the list; the shorter side makes room, if it has any."""
    at = _position(s, w, j)
    last = s.first + s.waiting
    if s.first == 0 or (last < w.job.shape[0] and last - at < at - s.first):
        for i in range(last, at, -1):
            w.job[i] = w.job[i - 1]
        w.job[at] = j
    else:
        s.first -= 1
        for i in range(s.first, at - 1):
            w.job[i] = w.job[i + 1]
        w.job[at - 1] = j
    s.waiting += 1


@inlined
def list_remove(s, w, j):
    """`j` waits no longer; the shorter side closes the gap."""
    at = _position(s, w, j)
    s.waiting -= 1
    if at - s.first < s.waiting >> 1:
        for i in range(at, s.first, -1):
            w.job[i] = w.job[i - 1]
        s.first += 1
    else:
        for i in range(at, s.first + s.waiting):
            w.job[i] = w.job[i + 1]


@called
def admit(s, w, calendar):
    """Bring the list up to date: who was withdrawn goes, who came or came back waits."""
    for i in range(s.withdrawn):
        list_remove(s, w, calendar.withdrawn[i])
    for i in range(s.returned):
        if calendar.job[calendar.returned[i]].state == NEW:
            calendar.job[calendar.returned[i]].state = WAITS
            list_insert(s, w, calendar.returned[i])
    for j in range(s.admitted, s.arrived):
        if calendar.job[j].state == NEW:
            calendar.job[j].state = WAITS
            list_insert(s, w, j)
    s.admitted = s.arrived
    s.withdrawn = s.returned = s.new = 0


@called
def _sort_heap(key, job, size, target):
    """Write the jobs of a heap to `target`, by (key, job)."""
    for i in range(size):
        target[i] = job[0]
        heap_pop(key, job, size - i)


@inlined
def put_in_order(s, w, jobs, source, first, size, dynamic, keys, score, theta):
    """Put jobs in order in `w.sorted`: by their score now, or by their fixed keys."""
    s.sorted = size
    in_order = dynamic == 0
    for i in range(size):
        j = source[first + i]
        w.sorted[i] = j
        if in_order and i > 0:
            before = w.sorted[i - 1]
            in_order = keys[before] < keys[j] or (keys[before] == keys[j] and before < j)
    if in_order:
        return
    for i in range(size):
        w.scored[i] = w.sorted[i]
    if dynamic == 1:
        score(at(jobs), w.scored, 0, size, s.now, theta, w.score)
    else:
        for i in range(size):
            w.score[i] = keys[w.scored[i]]
    make_heap(w.score, w.scored, size)
    _sort_heap(w.score, w.scored, size, w.sorted)
