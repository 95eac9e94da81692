"""Small FCFS systems as Markov chains with every job of the queue remembered; slow and plain.

A state is the sorted widths of the running jobs, the widths of the waiting ones in order of
arrival, and the speed. Arrivals beyond a full queue are turned away, so take a low load.
"""

from __future__ import annotations

import numpy as np


def _start(running, waiting, servers):
    """Start jobs from the head of the queue while they fit."""
    running, waiting = list(running), list(waiting)
    while waiting and sum(running) + waiting[0] <= servers:
        running.append(waiting.pop(0))
    return tuple(sorted(running)), tuple(waiting)


def solve(arrival_rate, p, rates, servers, *, speeds=(1.0,), law=None, room=9):
    """Stationary distribution.

    Parameters
    ----------
    p, rates : of widths 1, 2, ...
    law : (event, number before, speed index) -> {speed index: probability}.
    room : places in the queue.

    Returns
    -------
    dict
        (running, waiting, speed index) -> probability.
    """
    law = law or (lambda event, before, speed: {speed: 1.0})
    kinds = [k for k in range(1, len(p) + 1) if p[k - 1] > 0]

    def moves(state):
        running, waiting, speed = state
        before = len(running) + len(waiting)
        if len(waiting) < room:
            for k in kinds:
                after = _start(running, (*waiting, k), servers)
                for pace, chance in law("arrival", before, speed).items():
                    yield (*after, pace), arrival_rate * p[k - 1] * chance
        for i, k in enumerate(running):
            after = _start(running[:i] + running[i + 1 :], waiting, servers)
            for pace, chance in law("departure", before, speed).items():
                yield (*after, pace), speeds[speed] * rates[k - 1] * chance

    first = ((), (), 0)
    index, fresh = {first: 0}, [first]
    edges = []
    while fresh:
        state = fresh.pop()
        for after, rate in moves(state):
            if rate == 0:
                continue
            if after not in index:
                index[after] = len(index)
                fresh.append(after)
            edges.append((index[state], index[after], rate))
    # Power iteration of the uniformised chain: no linear algebra to go wrong.
    rows, columns, values = (np.array(x) for x in zip(*edges, strict=True))
    out = np.bincount(rows, values, len(index))
    step = 0.99 / out.max()
    pi = np.zeros(len(index))
    pi[0] = 1.0
    for _ in range(200_000):
        flow = np.bincount(columns, pi[rows] * values, len(index)) - pi * out
        pi += step * flow
        if np.abs(flow).max() < 1e-15:
            break
    return dict(zip(index, pi / pi.sum(), strict=True))


def mean(chain, value):
    """Mean of a value of (running, waiting, speed index)."""
    return sum(p * value(*state) for state, p in chain.items())
