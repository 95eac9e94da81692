"""The compiled parts of Gantt charts; imported when first needed."""

from __future__ import annotations

from typing import Any

from ...jit import compiled

ALL_PLACED, NO_ROOM = -1, -2


@compiled(slow="the assignment of servers", seconds=0.5)
def first_fit(
    start: Any,
    end: Any,
    procs: Any,
    orders: Any,
    servers: int,
    gaps: Any,
    spans: Any,
    pieces: Any,
) -> tuple[int, int]:
    """Sweep over the starts and ends of jobs, keeping the free servers as a sorted list of gaps.

    `orders` has the rows of jobs by start, and by end; `gaps`, `spans` and `pieces` are room for
    the ends of gaps, for the first and last piece of each job, and for job, first server and
    servers of each piece. Returns the number of pieces; and `ALL_PLACED`, or `NO_ROOM` for more of
    them, or the row of the first job for which not enough servers are free.
    """
    low, high = gaps[0], gaps[1]
    low[0], high[0] = 0, servers
    count = 1
    free = servers
    made = 0
    ended = 0
    for j in orders[0]:
        while end[orders[1, ended]] <= start[j]:
            done = orders[1, ended]
            ended += 1
            free += procs[done]
            for p in range(spans[0, done], spans[1, done]):
                a = pieces[1, p]
                b = a + pieces[2, p]
                g, top = 0, count
                while g < top:
                    middle = (g + top) // 2
                    if low[middle] < a:
                        g = middle + 1
                    else:
                        top = middle
                left = g > 0 and high[g - 1] == a
                right = g < count and low[g] == b
                if left and right:
                    high[g - 1] = high[g]
                    for i in range(g, count - 1):
                        low[i], high[i] = low[i + 1], high[i + 1]
                    count -= 1
                elif left:
                    high[g - 1] = b
                elif right:
                    low[g] = a
                else:
                    for i in range(count, g, -1):
                        low[i], high[i] = low[i - 1], high[i - 1]
                    low[g], high[g] = a, b
                    count += 1
        need = procs[j]
        if need > free:
            return made, j
        if made + count > pieces.shape[1]:
            return made, NO_ROOM
        free -= need
        spans[0, j] = made
        g = 0
        while g < count and high[g] - low[g] < need:
            g += 1
        if g == count:
            g = 0
        used = g
        while need > 0:
            taken = min(need, high[used] - low[used])
            pieces[0, made], pieces[1, made], pieces[2, made] = j, low[used], taken
            made += 1
            need -= taken
            low[used] += taken
            if low[used] == high[used]:
                used += 1
        shift = used - g
        if shift > 0:
            for i in range(g, count - shift):
                low[i], high[i] = low[i + shift], high[i + shift]
            count -= shift
        spans[1, j] = made
    return made, ALL_PLACED


@compiled(slow="the drawing of boxes", seconds=0.5)
def add_corners(left: Any, right: Any, bottom: Any, top: Any, color: Any, grid: Any) -> None:
    """Add boxes to a grid of which two running sums, upwards and along, make the covered shares.

    Places are in cells. The part of each cell beyond an edge is the running sum of two entries,
    1 - f in the edge's own cell and f in the next, where f is how far into its cell the edge lies;
    a box is the product of a difference of such edges along time and one upwards.
    """
    rows, columns = grid.shape[0] - 1, grid.shape[1] - 1
    for i in range(left.size):
        for up in range(4):
            y = bottom[i] if up < 2 else top[i]
            row = int(y)
            high = y - row if up % 2 else 1.0 - (y - row)
            if up >= 2:
                high = -high
            row = max(min(row + up % 2, rows), 0)
            for along in range(4):
                x = left[i] if along < 2 else right[i]
                column = int(x)
                wide = x - column if along % 2 else 1.0 - (x - column)
                if along >= 2:
                    wide = -wide
                column = max(min(column + along % 2, columns), 0)
                share = high * wide
                cell = grid[row, column]
                cell[0] += share * color[i, 0]
                cell[1] += share * color[i, 1]
                cell[2] += share * color[i, 2]
                cell[3] += share
