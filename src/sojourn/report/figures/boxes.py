"""Coloured boxes over time, one by one or averaged into the cells of a picture."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from numpy.typing import NDArray

from .style import Clock, duration, number

__all__ = ["EXACT", "Boxes", "draw_boxes", "paint"]

Floats = NDArray[np.float64]

EXACT = 4000
"""Boxes up to which each is drawn by itself; more are averaged into cells."""

_COLUMNS, _ROWS = 960, 400


class Boxes(NamedTuple):
    """Rectangles over time, each of one colour.

    Attributes
    ----------
    left, right : times (s).
    bottom, top : servers or customers.
    color : red, green and blue (0 to 1), one row per box.
    """

    left: Floats
    right: Floats
    bottom: Floats
    top: Floats
    color: Floats


def paint(boxes: Boxes, columns: Floats, rows: Floats) -> Floats:
    """Average boxes over the cells of a grid: the exact picture at a coarser grain.

    Parameters
    ----------
    boxes : rectangles that do not overlap.
    columns, rows : evenly spaced edges of the cells, along time and upwards.

    Returns
    -------
    array of shape (rows, columns, 4)
        The sum of colour times covered share (three values), and the covered share (0 to 1).
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
    clock: Clock,
    window: tuple[float, float, float, float],
    rows: str,
    *,
    solid: bool = False,
) -> str:
    """Draw boxes one by one if they are few, else averaged into cells.

    Parameters
    ----------
    window : first and last time (s), lowest and highest row of the picture.
    rows : what the rows are, in the plural.
    solid : colour cells by what covers them, however little, instead of fading them to white.

    Returns
    -------
    str
        How they were drawn when averaged, for the caption; else nothing.
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
        each = (high - low) / count
        several = rows if each > 1 else rows.removesuffix("s")
        span = duration(columns[1] - columns[0])
        caption = (
            f"cells of {span} × {number(each)} {several}, {'any part' if solid else 'mean colour'}"
        )
    ax.set_ylim(low, high)
    clock.mark(ax, first, last)
    return caption
