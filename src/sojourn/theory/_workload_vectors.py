"""Compiled kernels of the recursion for workload vectors [rumyantsev2014, eqs. 1, 2].

Servers with the same work left are one run, with their number: a job of width N is one run, not N
servers, and all idle servers are one number. `subtract` is the recursion as written, in its own
order of rounding: O(runs) per job. `complete` keeps the instants at which runs end in a heap, so
that nothing is subtracted from those that stay: O(log s) per job, but it rounds at the size of the
clock instead of the size of the work.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..arrays import Floats, Ints
from ..jit import compiled, inlined


class Runs(NamedTuple):
    """Servers with the same work left: ``work[first:last]`` ascends and is above 0."""

    work: Floats  # s
    servers: Ints  # of each run
    idle: Ints  # one cell: servers without work
    first: Ints  # one cell
    last: Ints  # one cell


class Stream(NamedTuple):
    """A block of customers; `service` beyond the width of a customer is not looked at."""

    gap: Floats
    service: Floats  # customers x 1, or x parts in ascending order
    width: Ints
    delay: Floats  # filled in


@inlined
def _show(runs: Any, vector: Any) -> None:
    """Write the components of the vector, ascending."""
    k = runs.idle[0]
    vector[:k] = 0.0
    for r in range(runs.first[0], runs.last[0]):
        for _ in range(runs.servers[r]):
            vector[k] = runs.work[r]
            k += 1


@inlined
def _take(runs: Any, width: int) -> float:
    """Take the `width` servers with the least work, and return the most of theirs."""
    idle = runs.idle[0]
    if width <= idle:
        runs.idle[0] = idle - width
        return 0.0
    runs.idle[0] = 0
    need = width - idle
    r = runs.first[0]
    while runs.servers[r] < need:
        need -= runs.servers[r]
        r += 1
    delay: float = runs.work[r]
    runs.servers[r] -= need
    runs.first[0] = r + 1 if runs.servers[r] == 0 else r
    return delay


@inlined
def _pass(runs: Any, gap: float) -> None:
    """Let `gap` go by: runs that end become idle."""
    work = runs.work
    first, last = runs.first[0], runs.last[0]
    while first < last and work[first] <= gap:
        runs.idle[0] += runs.servers[first]
        first += 1
    # A view of its own: counted from 0, the loop needs no look at signs and runs on vectors.
    left = work[first:last]
    for r in range(len(left)):
        left[r] -= gap
    runs.first[0] = first


@inlined
def _move(runs: Any, begin: int, end: int, shift: int) -> None:
    """Move the runs from `begin` to `end` by `shift` places, up or down."""
    if shift == 0:
        return
    work, to_work = runs.work[begin:end], runs.work[begin + shift : end + shift]
    count, to_count = runs.servers[begin:end], runs.servers[begin + shift : end + shift]
    if shift < 0:
        for r in range(len(work)):
            to_work[r] = work[r]
            to_count[r] = count[r]
    else:
        for r in range(len(work) - 1, -1, -1):
            to_work[r] = work[r]
            to_count[r] = count[r]


@inlined
def _after(work: Any, first: int, last: int, value: float) -> int:
    """Return the first of the places from `first` to `last` that has more work than `value`."""
    while first < last:
        middle = (first + last) // 2
        if work[middle] > value:
            last = middle
        else:
            first = middle + 1
    return first


@inlined
def _merge(runs: Any, parts: Any, many: int, servers: int, delay: float, gap: float) -> None:
    """Add `many` runs of so many servers with the work (delay + part - gap)^+; parts ascend."""
    done = 0
    while done < many and delay + parts[done] <= gap:
        done += 1
    runs.idle[0] += done * servers
    many -= done
    first, last = runs.first[0], runs.last[0]
    if last + many > len(runs.work):
        _move(runs, first, last, -first)
        first, last = 0, last - first
    runs.last[0] = last + many
    while many > 0:
        value = delay + parts[done + many - 1] - gap
        at = _after(runs.work, first, last, value)
        if many == 1 and runs.last[0] == last + 1 and first > 0 and at - first < last - at:
            # One run in the nearer half of the others: let those before it make room.
            _move(runs, first, at, -1)
            first -= 1
            at -= 1
            runs.last[0] = last
        else:
            _move(runs, at, last, many)
            at += many - 1
        runs.work[at] = value
        runs.servers[at] = servers
        last = at - many + 1
        many -= 1
    runs.first[0] = first


@compiled(slow="the recursion", seconds=0.5)
def subtract(stream: Any, runs: Any, concurrent: bool, vectors: Any) -> None:
    """Go through the customers as eqs. (1) and (2) are written.

    `vectors` is room for what each customer sees, customers x servers; without rows if not wanted.
    """
    for i in range(len(stream.gap)):
        if vectors.shape[0] > 0:
            _show(runs, vectors[i])
        width, gap = stream.width[i], stream.gap[i]
        delay = _take(runs, width)
        _pass(runs, gap)
        many, servers = (1, width) if concurrent else (width, 1)
        _merge(runs, stream.service[i], many, servers, delay, gap)
        stream.delay[i] = delay


@inlined
def _sink(end: Any, count: Any, size: int, instant: float, servers: int) -> None:
    """Put a run on top of the heap and let it sink to its place."""
    k = 0
    while True:
        child = 2 * k + 1
        if child >= size:
            break
        if child + 1 < size and end[child + 1] < end[child]:
            child += 1
        if instant <= end[child]:
            break
        end[k] = end[child]
        count[k] = count[child]
        k = child
    end[k] = instant
    count[k] = servers


@inlined
def _rise(end: Any, count: Any, size: int, instant: float, servers: int) -> None:
    """Put a run behind the last of the heap and let it rise to its place."""
    k = size
    while k > 0:
        parent = (k - 1) // 2
        if end[parent] <= instant:
            break
        end[k] = end[parent]
        count[k] = count[parent]
        k = parent
    end[k] = instant
    count[k] = servers


@compiled(slow="the recursion", seconds=0.5)
def complete(stream: Any, end: Any, count: Any, size: int, concurrent: bool) -> tuple[int, float]:
    """Go through the customers with a heap of runs by the instant at which their work is done.

    Parameters
    ----------
    stream : see its class; the clock shows 0 when its first customer comes.
    end, count : instant and servers of each run, idle ones among them: a heap, the first of
        `size`, with room for a run per server.
    concurrent : whether the servers of a customer are released together.

    Returns
    -------
    The number of runs; and what the clock shows when the next customer comes.
    """
    now = 0.0
    for i in range(len(stream.gap)):
        width = stream.width[i]
        need = width
        while count[0] < need:
            need -= count[0]
            size -= 1
            _sink(end, count, size, end[size], count[size])
        start = max(end[0], now)
        count[0] -= need
        many, servers = (1, width) if concurrent else (width, 1)
        part = 0
        if count[0] == 0:
            # The run on top is used up: the first new one takes its place.
            _sink(end, count, size, start + stream.service[i, 0], servers)
            part = 1
        while part < many:
            _rise(end, count, size, start + stream.service[i, part], servers)
            size += 1
            part += 1
        stream.delay[i] = start - now
        now += stream.gap[i]
    return size, now
