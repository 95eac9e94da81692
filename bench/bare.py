"""The limit we measure ourselves against: EASY in one specialised loop, with no features at all.

Exact runtimes as estimates, first come first served, rate 1, one pass per instant; the waiting
jobs are a plain array that each pass walks.
"""

import numpy as np
from numba import njit


@njit
def bare_easy(submit, runtime, procs, servers):
    n = len(submit)
    start = np.full(n, np.nan)
    ends = np.empty(servers + 1)
    widths = np.empty(servers + 1, np.int64)
    running = 0
    queue = np.empty(n, np.int64)
    head = tail = 0
    free = servers
    arrived = 0
    while arrived < n or running > 0:
        now = np.inf
        if arrived < n:
            now = submit[arrived]
        if running > 0 and ends[running - 1] < now:
            now = ends[running - 1]
        while running > 0 and ends[running - 1] <= now:
            running -= 1
            free += widths[running]
        while arrived < n and submit[arrived] <= now:
            queue[tail] = arrived
            tail += 1
            arrived += 1
        shadow = np.inf
        extra = 0
        blocked = False
        kept = head
        for k in range(head, tail):
            j = queue[k]
            p = procs[j]
            go = p <= free and (not blocked or now + runtime[j] <= shadow or p <= extra)
            if go:
                if blocked and now + runtime[j] > shadow:
                    extra -= p
                start[j] = now
                free -= p
                at = running
                while at > 0 and ends[at - 1] < now + runtime[j]:
                    ends[at] = ends[at - 1]
                    widths[at] = widths[at - 1]
                    at -= 1
                ends[at] = now + runtime[j]
                widths[at] = p
                running += 1
                continue
            if not blocked:
                blocked = True
                have = free
                i = running
                while have < p:
                    i -= 1
                    have += widths[i]
                    shadow = ends[i]
                while i > 0 and ends[i - 1] == shadow:
                    i -= 1
                    have += widths[i]
                extra = have - p
            queue[kept] = j
            kept += 1
            if free == 0 and kept == k + 1:
                kept = tail
                break
        tail = kept
        if head == tail:
            head = tail = 0
    return start
