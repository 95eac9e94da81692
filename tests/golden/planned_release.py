"""EASY as the reference simulator of the published schedules reads it; slow, plain Python.

It differs from `passes="event"` in one point only: a processor is free for the scheduler from the
planned end of its job on, even if the completion that falls on the same instant has not been
handled yet. Where several jobs run to their limits and end together, a pass after the first of
these completions can already start a job on the processors of all of them.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence

ARRIVAL, COMPLETION = 0, 1


def starts(
    submit: Sequence[float],
    work: Sequence[float],
    plan: Sequence[float],
    procs: Sequence[int],
    servers: int,
    *,
    shortest_first: bool = False,
) -> list[float]:
    """Start of each job: one pass per event, arrivals before completions at one instant.

    With `shortest_first` backfilling looks at the shortest plan first (SJBF).
    """
    events = [(time, ARRIVAL, j) for j, time in enumerate(submit)]
    heapq.heapify(events)
    start = [float("nan")] * len(submit)
    planned_end: dict[int, float] = {}
    queue: list[int] = []

    def launch(j: int, now: float) -> None:
        start[j] = now
        planned_end[j] = now + plan[j]
        heapq.heappush(events, (now + work[j], COMPLETION, j))

    while events:
        now, kind, j = heapq.heappop(events)
        if kind == ARRIVAL:
            queue.append(j)
        else:
            del planned_end[j]
        holding = sorted((end, procs[k]) for k, end in planned_end.items() if end > now)
        free = servers - sum(width for _, width in holding)
        while queue and procs[queue[0]] <= free:
            head = queue.pop(0)
            free -= procs[head]
            launch(head, now)
            holding.append((planned_end[head], procs[head]))
        if len(queue) < 2 or free == 0:
            continue
        shadow, extra = _reservation(sorted(holding), free, procs[queue[0]])
        behind = sorted(queue[1:], key=plan.__getitem__) if shortest_first else queue[1:]
        for k in behind:
            in_time = now + plan[k] <= shadow
            if procs[k] <= free and (in_time or procs[k] <= extra):
                queue.remove(k)
                launch(k, now)
                free -= procs[k]
                extra -= 0 if in_time else procs[k]
    return start


def _reservation(holding: list[tuple[float, int]], free: int, width: int) -> tuple[float, int]:
    """When enough processors are free for the head, and how many it will leave."""
    for i, (end, released) in enumerate(holding):
        free += released
        last_of_ties = i + 1 == len(holding) or holding[i + 1][0] > end
        if free >= width and last_of_ties:
            return end, free - width
    raise AssertionError("the head is wider than the machine")
