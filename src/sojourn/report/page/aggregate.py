"""Half a million jobs in a page: exact means over cells and bins, and the largest blocks whole.

Nothing is sampled: a cell of the chart holds the exact share of its servers' time that was busy
and the mean wait of the jobs that kept it busy; a bin of a path its exact mean and extremes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import Floats, Ints
from ..figures.binning import Bins, Path, bin_path
from ..figures.boxes import Boxes, paint

_MOST_COLUMNS, _LEAST_COLUMNS = 4096, 256
_MOST_ROWS = 64
_MOST_BINS, _LEAST_BINS = 16384, 512


class Blocks(NamedTuple):
    """Neighbouring servers, from `first` on (counted from 0), that a job held for a while (s)."""

    start: Floats
    end: Floats
    first: Ints
    procs: Ints
    job: Ints
    wait: Floats

    def take(self, rows: NDArray[np.bool_] | Ints) -> Blocks:
        """Return some of the blocks, by mask or by place."""
        columns: Any = (column[rows] for column in self)
        return Blocks(*columns)


class Cells(NamedTuple):
    """Blocks averaged over a grid of servers and time, whose edges are `rows` and `columns` (s).

    `share` is the busy part of a cell (0 to 1), `wait` the mean wait (s) of the jobs in it,
    weighted by what they cover; `rest_share` and `rest_wait` those of blocks that are not kept one
    by one.
    """

    columns: Floats
    rows: Floats
    share: Floats
    wait: Floats
    rest_share: Floats
    rest_wait: Floats


def aggregate_blocks(
    blocks: Blocks, span: tuple[float, float], servers: int, most: int, *, charts: int = 1
) -> tuple[Cells, Blocks, float]:
    """Average blocks over cells, and keep those of most server time to be shown one by one.

    Parameters
    ----------
    blocks : what jobs held; no two overlap.
    span : first and last time of the chart (s).
    most : how many blocks to keep.
    charts : how many of them share a page; each is then coarser.

    Returns
    -------
    The cells; the blocks kept, by start; and the share of all server time that these hold.
    """
    area = (blocks.end - blocks.start) * blocks.procs
    kept = np.ones(area.size, dtype=bool)
    if area.size > most:
        kept[np.argsort(-area, kind="stable")[most:]] = False
    rest = (~kept).astype(np.float64)
    columns = np.linspace(
        *span, _cells_for(area.size / 8, _LEAST_COLUMNS, _MOST_COLUMNS // charts) + 1
    )
    rows = np.linspace(0.0, float(servers), min(servers, _MOST_ROWS) + 1)
    first = blocks.first.astype(np.float64)
    boxes = Boxes(
        blocks.start,
        blocks.end,
        first,
        first + blocks.procs,
        np.column_stack((blocks.wait, rest, rest * blocks.wait)),
    )
    waits, rest_share, rest_waits, share = np.moveaxis(paint(boxes, columns, rows), -1, 0)
    cells = Cells(
        columns,
        rows,
        np.clip(share, 0.0, 1.0),
        _mean(waits, share),
        np.clip(rest_share, 0.0, 1.0),
        _mean(rest_waits, rest_share),
    )
    whole = blocks.take(kept)
    held = float(area[kept].sum() / area.sum()) if area.sum() > 0 else 1.0
    return cells, whole.take(np.argsort(whole.start, kind="stable")), held


def _mean(total: Floats, share: Floats) -> Floats:
    # Running sums leave rounding errors where nothing lies.
    covered = share > 1e-9
    return np.where(covered, np.maximum(total, 0.0) / np.where(covered, share, 1.0), 0.0)


def aggregate_path(path: Path, span: tuple[float, float], *, charts: int = 1) -> Bins:
    """Average a path over as many equal bins of a span (s) as its instants are worth."""
    bins = _cells_for(path.time.size / 4, _LEAST_BINS, _MOST_BINS // charts)
    return bin_path(path, np.linspace(*span, bins + 1))


def _cells_for(wanted: float, least: int, most: int) -> int:
    """The power of two from `wanted` on, within bounds."""
    return max(least, min(1 << int(np.ceil(np.log2(max(wanted, 1.0)))), most))


def jain_index(values: Floats) -> float:
    """Jain's index of fairness: 1 if all values are equal, 1/n if one has everything [jain1984]."""
    known = values[np.isfinite(values)]
    squares = float(np.dot(known, known))
    return float(known.sum()) ** 2 / (known.size * squares) if squares > 0 else float("nan")
