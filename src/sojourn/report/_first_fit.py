"""The compiled part of the assignment of servers; imported when first needed."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..jit import compiled

__all__ = ["first_fit"]


@compiled(allocates=True)
def first_fit(
    start: Any, end: Any, procs: Any, by_start: Any, by_end: Any, servers: int
) -> tuple[Any, Any, Any, int]:
    """Sweep over the starts and ends of jobs, keeping the free servers as a sorted list of gaps.

    Returns the columns of the pieces, and the row of the job that did not fit (-1: all did).
    """
    low = np.empty(servers + 1, np.int64)
    high = np.empty(servers + 1, np.int64)
    low[0], high[0] = 0, servers
    gaps = 1
    free = servers
    room = max(by_start.size + 16, 64)
    job = np.empty(room, np.int64)
    first = np.empty(room, np.int64)
    count = np.empty(room, np.int64)
    pieces = 0
    begin = np.zeros(start.size, np.int64)
    stop = np.zeros(start.size, np.int64)
    e = 0
    for j in by_start:
        while end[by_end[e]] <= start[j]:
            done = by_end[e]
            e += 1
            free += procs[done]
            for p in range(begin[done], stop[done]):
                a = first[p]
                b = a + count[p]
                g = np.searchsorted(low[:gaps], a)
                left = g > 0 and high[g - 1] == a
                right = g < gaps and low[g] == b
                if left and right:
                    high[g - 1] = high[g]
                    for i in range(g, gaps - 1):
                        low[i], high[i] = low[i + 1], high[i + 1]
                    gaps -= 1
                elif left:
                    high[g - 1] = b
                elif right:
                    low[g] = a
                else:
                    for i in range(gaps, g, -1):
                        low[i], high[i] = low[i - 1], high[i - 1]
                    low[g], high[g] = a, b
                    gaps += 1
        need = procs[j]
        if need > free:
            return job[:pieces], first[:pieces], count[:pieces], j
        free -= need
        if pieces + gaps + 1 > room:
            room = 2 * (pieces + gaps + 1)
            wider = np.empty((3, room), np.int64)
            wider[0, :pieces] = job[:pieces]
            wider[1, :pieces] = first[:pieces]
            wider[2, :pieces] = count[:pieces]
            job, first, count = wider[0], wider[1], wider[2]
        begin[j] = pieces
        g = 0
        while g < gaps and high[g] - low[g] < need:
            g += 1
        if g == gaps:
            g = 0
        used = g
        while need > 0:
            taken = min(need, high[used] - low[used])
            job[pieces], first[pieces], count[pieces] = j, low[used], taken
            pieces += 1
            need -= taken
            low[used] += taken
            if low[used] == high[used]:
                used += 1
        if used > g:
            shift = used - g
            for i in range(g, gaps - shift):
                low[i], high[i] = low[i + shift], high[i + shift]
            gaps -= shift
        stop[j] = pieces
    return job[:pieces], first[:pieces], count[:pieces], -1
