"""Coloured boxes over time, such as jobs on servers: one by one, or averaged into cells."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from numpy.typing import ArrayLike, NDArray

from ...arrays import Floats
from ...errors import OptionError
from .style import TimeAxis, duration, number

EXACT = 4000
"""Boxes up to which each is drawn by itself; more are averaged into cells."""

_COLUMNS, _ROWS = 960, 400


class Pieces(NamedTuple):
    """Blocks of neighbouring servers held by jobs."""

    job: NDArray[np.int64]  # row of the job in the arrays given, counted from 0
    first: NDArray[np.int64]  # lowest server of the block, counted from 0
    procs: NDArray[np.int64]  # servers in the block


def assign_servers(start: ArrayLike, end: ArrayLike, procs: ArrayLike, servers: int) -> Pieces:
    """Name the servers that each job of a schedule occupied.

    On a homogeneous cluster any naming that keeps jobs apart is a true picture of the run. Here
    a job takes the lowest gap that holds it whole, else the lowest free servers in several pieces.
    At one instant servers are released before they are taken, and jobs take them in row order.

    Parameters
    ----------
    start, end : when each job held its servers (s). A job that never started (NaN), or held them
        for no time, gets no piece.
    procs : servers each job held.
    servers : servers of the cluster.

    Returns
    -------
    Pieces
        One or more per job, in the order of starts; the pieces of a job stand together.

    Raises
    ------
    OptionError
        When the jobs need more servers at once than there are.
    """
    from ._kernels import NO_ROOM, first_fit

    begins = np.ascontiguousarray(start, dtype=np.float64)
    ends = np.ascontiguousarray(end, dtype=np.float64)
    width = np.ascontiguousarray(procs, dtype=np.int64)
    if not begins.shape == ends.shape == width.shape:
        raise OptionError("start, end and procs differ in length; give one value of each per job")
    if servers < 1:
        raise OptionError(f"servers is {servers}; a cluster has at least 1")
    held = np.flatnonzero((ends > begins) & (width > 0))
    by_start = held[np.argsort(begins[held], kind="stable")]
    by_end = held[np.argsort(ends[held], kind="stable")]
    orders = np.stack((by_start, by_end))
    spans = np.zeros((2, width.size), dtype=np.int64)
    # A gap lies between two pieces, and each server is in one: no more room than jobs can fill.
    room = 4 * held.size + min(int(servers), 4 * held.size) + 1
    while True:
        pieces = np.empty((3, room), dtype=np.int64)
        gaps = np.empty((2, min(int(servers), room) + 1), dtype=np.int64)
        made, stuck = first_fit(begins, ends, width, orders, int(servers), gaps, spans, pieces)
        if stuck != NO_ROOM:
            break
        room *= 4
    if stuck >= 0:
        raise OptionError(
            f"job in row {stuck}, field 'procs': at {begins[stuck]:.15g} s its {width[stuck]} "
            f"servers are not free among {servers}; check the number of servers, and give "
            "the segments of service if jobs were preempted"
        )
    return Pieces(*pieces[:, :made].copy())


class Boxes(NamedTuple):
    """Rectangles over time, each of one colour."""

    left: Floats  # s
    right: Floats  # s
    bottom: Floats  # servers or customers
    top: Floats
    color: Floats  # red, green and blue (0 to 1), one row per box

    @classmethod
    def of(cls, pieces: Pieces, start: Floats, end: Floats, color: Floats) -> Boxes:
        """Return servers that jobs held as boxes, given times (s) and a colour of each job."""
        bottom = pieces.first.astype(np.float64)
        rows = pieces.job
        return cls(start[rows], end[rows], bottom, bottom + pieces.procs, color[rows])


def paint(boxes: Boxes, columns: Floats, rows: Floats) -> Floats:
    """Average boxes that do not overlap over evenly spaced cells: the picture at a coarser grain.

    Returns, by row and column, the sum of colour times covered share, and the covered share.
    """
    from ._kernels import add_corners

    def place(value: Floats, edges: Floats) -> Floats:
        cells = edges.size - 1
        scaled = (value - edges[0]) * (cells / (edges[-1] - edges[0]))
        return np.ascontiguousarray(np.clip(scaled, 0.0, cells))

    grid = np.zeros((rows.size, columns.size, 4))
    add_corners(
        place(boxes.left, columns),
        place(boxes.right, columns),
        place(boxes.bottom, rows),
        place(boxes.top, rows),
        np.ascontiguousarray(boxes.color),
        grid,
    )
    np.cumsum(grid, axis=0, out=grid)
    np.cumsum(grid, axis=1, out=grid)
    return grid[:-1, :-1]


def draw_boxes(
    ax: Axes,
    boxes: Boxes,
    clock: TimeAxis,
    window: tuple[float, float, float, float],
    rows: str,
    *,
    solid: bool = False,
) -> str:
    """Draw boxes one by one if they are few, else averaged into cells; say how, if averaged.

    The `window` is first and last time (s), lowest and highest row of the picture; `rows` is what
    the rows are, in the plural. Cells are faded to white, or `solid`: coloured by whatever covers
    them.
    """
    first, last, low, high = window
    last = last if last > first else first + 1.0
    if boxes.left.size <= EXACT:
        left, right = clock(boxes.left), clock(boxes.right)
        corners = np.empty((left.size, 4, 2))
        corners[:, :2, 0], corners[:, 2:, 0] = left[:, None], right[:, None]
        corners[:, [0, 3], 1] = boxes.bottom[:, None]
        corners[:, [1, 2], 1] = boxes.top[:, None]
        # White edges keep neighbours apart where both are wider than the edge.
        roomy = (right - left > 0.005 * float(clock(last) - clock(first))) & (
            boxes.top - boxes.bottom > 0.01 * (high - low)
        )
        ax.add_collection(
            PolyCollection(
                list(corners),
                facecolors=boxes.color,
                edgecolors="white",
                linewidths=np.where(roomy, 0.5, 0.0),
                rasterized=left.size > 1000,
            ),
            autolim=False,
        )
        caption = ""
    else:
        count = int(min(_ROWS, round(high - low)))
        columns = np.linspace(first, last, _COLUMNS + 1)
        cells = paint(boxes, columns, np.linspace(low, high, count + 1))
        color, covered = cells[..., :3], cells[..., 3:]
        if solid:
            # Running sums leave rounding errors where nothing lies.
            held = covered > 1e-9
            color = np.where(held, color / np.where(held, covered, 1.0), 0.0)
            covered = held.astype(np.float64)
        image = np.clip(color + (1.0 - covered), 0.0, 1.0)
        ax.imshow(
            # Steps of colour too small to see would double the size of the file.
            (63 * image).round().astype(np.uint8) * 4 + 3,
            extent=(float(clock(first)), float(clock(last)), low, high),
            origin="lower",
            aspect="auto",
            interpolation="nearest",
        )
        height = (high - low) / count
        kind = rows if height > 1 else rows.removesuffix("s")
        span = duration(columns[1] - columns[0])
        means = "any part" if solid else "mean colour"
        caption = f"cells of {span} × {number(height)} {kind}, {means}"
    ax.set_ylim(low, high)
    clock.mark(ax, first, last)
    return caption
