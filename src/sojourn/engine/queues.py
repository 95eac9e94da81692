"""Several queues: whose turn it is in a pass, and who is passed over.

The order of all who wait is made at the beginning of a pass, from the lines of the queues. The list
of waiting jobs is put in that order, and its keys are the places in it: to a discipline it is a
fixed order like any other. Where there is one queue, all of this is None.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..jit import called, inlined
from .address import at
from .decided import PASSED_OVER
from .heap import heap_pop, make_heap
from .state import table
from .types import JobView
from .verbs import note

BETWEEN = {"priority": 1, "round-robin": 2, "weights": 3}
"""How queues take turns (`s.between`); 0 where there is one."""

_ROUNDS, _WEIGHTS = BETWEEN["round-robin"], BETWEEN["weights"]

FIXED, OF_POLICY, CHANGING = range(3)
"""Where a queue's order comes from: fixed keys, the policy's score, or a named one of its own."""

NO_LIMIT = 2**62
"""Of what runs at once."""

QUEUE = np.dtype(
    [(name, "f8") for name in ("weight", "served", "listed")]
    + [(name, "i8") for name in ("law", "turn", "max_running", "max_used", "running", "used")]
    + [(name, "i8") for name in ("first", "next", "last")],
    align=True,
)
"""A queue: its place in turns by priority, what it was served, its limits, and its line."""


class QueueRules(NamedTuple):
    """What a run must know of its queues; arrays by job, then by queue."""

    between: str
    member: NDArray[np.int64]
    key: NDArray[np.float64]
    law: NDArray[np.int64]
    priority: NDArray[np.float64]
    weight: NDArray[np.float64]
    max_running: NDArray[np.int64]
    max_used: NDArray[np.int64]

    @property
    def limited(self) -> bool:
        """Whether some queue has a limit of what runs at once."""
        return bool(min(self.max_running.min(), self.max_used.min()) < NO_LIMIT)


class Queues(NamedTuple):
    """The queues of a run.

    `queue` has a record for each. By job: the queue that it is in, its key where that is fixed, and
    its area, processors times plan. `line` has the lines of all queues, one after the other;
    `noted` the promise of each waiting job when the last pass was over.
    """

    queue: np.ndarray
    member: np.ndarray
    key: np.ndarray
    area: np.ndarray
    line: np.ndarray
    noted: np.ndarray


def no_queues() -> QueueRules:
    """Return a queue without jobs: the example whose type fixes the signatures."""
    whole, real = np.zeros(1, np.int64), np.zeros(1)
    nobody, most = np.empty(0, np.int64), np.full(1, NO_LIMIT)
    return QueueRules("priority", nobody, np.empty(0), whole, real, real, most, most)


def make_queues(rules: QueueRules, jobs: JobView) -> Queues:
    """Return the queues at the beginning of a run."""
    n = len(jobs.submit)
    queue = table(len(rules.law), QUEUE)
    for name in ("law", "weight", "max_running", "max_used"):
        queue[name] = getattr(rules, name)
    # Of equal priorities the first in the file goes first.
    queue["turn"] = np.argsort(-rules.priority, kind="stable")
    return Queues(
        queue,
        np.ascontiguousarray(rules.member, dtype=np.int64),
        np.ascontiguousarray(rules.key, dtype=np.float64),
        jobs.procs * jobs.plan,
        np.empty(n, dtype=np.int64),
        np.full(n, np.inf),
    )


@called
def _list_by_law(s, w, queues, law, size):
    """Add to `size` that are listed those who wait in queues of one law; how many are listed."""
    for i in range(s.waiting):
        j = w.job[s.first + i]
        if queues.queue[queues.member[j]].law == law:
            w.scored[size] = j
            size += 1
    return size


@called
def _form_lines(s, w, queues):
    """From a heap of all who wait, the line of each queue, in order."""
    number = queues.queue.shape[0]
    for q in range(number):
        queues.queue[q].last = 0
    for i in range(s.waiting):
        queues.queue[queues.member[w.scored[i]]].last += 1
    end = np.int64(0)
    for q in range(number):
        first = end
        end += queues.queue[q].last
        queues.queue[q].first = first
        queues.queue[q].last = end
        queues.queue[q].next = first
        queues.queue[q].listed = queues.queue[q].served
    for i in range(s.waiting):
        j = w.scored[0]
        heap_pop(w.score, w.scored, s.waiting - i)
        q = queues.member[j]
        queues.line[queues.queue[q].next] = j
        queues.queue[q].next += 1
    for q in range(number):
        queues.queue[q].next = queues.queue[q].first


@inlined
def _has_next(queues, q):
    return queues.queue[q].next < queues.queue[q].last


@called
def _least_served(queues):
    """The queue with the least area by weight that has a next job."""
    best = np.int64(-1)
    for q in range(queues.queue.shape[0]):
        if _has_next(queues, q) and (
            best < 0
            or queues.queue[q].listed * queues.queue[best].weight
            < queues.queue[best].listed * queues.queue[q].weight
        ):
            best = np.int64(q)
    return best


@called
def _merge_lines(s, w, queues):
    """Write the order of all who wait, from the lines of the queues."""
    number = queues.queue.shape[0]
    turn = s.turn
    for place in range(s.waiting):
        if s.between == _WEIGHTS:
            q = _least_served(queues)
        elif s.between == _ROUNDS:
            q = (turn + 1) % number
            while not _has_next(queues, q):
                q = (q + 1) % number
            turn = q
        else:
            at = 0
            while not _has_next(queues, queues.queue[at].turn):
                at += 1
            q = queues.queue[at].turn
        j = queues.line[queues.queue[q].next]
        queues.queue[q].next += 1
        queues.queue[q].listed += queues.area[j]
        w.job[s.first + place] = j
        w.key[j] = place


@inlined
def take_turns(s, w, jobs, queues, laws):
    """Put the list of all who wait in the order of this pass."""
    if queues is not None:
        fixed = _list_by_law(s, w, queues, FIXED, 0)
        for i in range(fixed):
            w.score[i] = queues.key[w.scored[i]]
        ours = _list_by_law(s, w, queues, OF_POLICY, fixed)
        if ours > fixed:
            laws.order(at(jobs), w.scored, fixed, ours, s.now, laws.order_theta, w.score)
        last = _list_by_law(s, w, queues, CHANGING, ours)
        if last > ours:
            laws.changing(at(jobs), w.scored, ours, last, s.now, laws.changing_theta, w.score)
        make_heap(w.score, w.scored, s.waiting)
        _form_lines(s, w, queues)
        _merge_lines(s, w, queues)


@called
def _count(s, jobs, run, queues):
    for q in range(queues.queue.shape[0]):
        queues.queue[q].running = 0
        queues.queue[q].used = 0
    for i in range(s.running):
        j = run.plan[i]
        q = queues.member[j]
        queues.queue[q].running += 1
        queues.queue[q].used += jobs.procs[j]


@inlined
def count_running(s, jobs, run, queues):
    """Count who runs of each queue, where that is limited."""
    if queues is not None:
        if s.limited == 1:
            _count(s, jobs, run, queues)


@inlined
def is_passed_over(s, jobs, queues, j):
    """Whether `j`, beside those who run, would exceed a limit of its queue."""
    if queues is None:
        return False
    q = queues.member[j]
    return (
        queues.queue[q].running >= queues.queue[q].max_running
        or queues.queue[q].used + jobs.procs[j] > queues.queue[q].max_used
    )


@inlined
def note_limit(s, recording, queues, j):
    """Log that `j` is passed over."""
    if queues is not None:
        note(s, recording, j, PASSED_OVER, -1, queues.queue[queues.member[j]].used)


@inlined
def note_turn(s, jobs, queues, j):
    """`j` starts: its queue has had a turn."""
    if queues is not None:
        q = queues.member[j]
        queues.queue[q].running += 1
        queues.queue[q].used += jobs.procs[j]
        queues.queue[q].served += queues.area[j]
        queues.noted[j] = np.inf
        s.turn = q
