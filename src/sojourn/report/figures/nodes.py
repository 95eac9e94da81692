"""Who ran on which nodes: a Gantt chart of a run on named nodes."""

from __future__ import annotations

from itertools import groupby

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...arrays import Ints
from ...errors import OptionError
from .boxes import Boxes, Pieces, assign_servers, draw_boxes
from .schedule import LABELS, Color, colors_of, explain_colors, label_boxes, stretches_of
from .style import MUTED, TableLike, TimeAxis, column, new_axes, root, styled, title

_LINES = 80
"""Nodes up to which a line is drawn between neighbours."""

_INCH_OF_LABEL = 0.15


@styled
def node_gantt(
    jobs: TableLike,
    allocations: TableLike,
    nodes: TableLike,
    *,
    color: Color = "wait",
    ax: Axes | None = None,
    unix_start: float | None = None,
) -> Figure:
    """Draw which processors of which nodes each job had, and when.

    The nodes stand one above the other, the first of the cluster on top, each as high as it has
    processors. Which processors of its node a job has is not part of a schedule: they are numbered
    as `assign_servers` does. Up to 4,000 blocks are drawn one by one; more are averaged into cells.

    Parameters
    ----------
    jobs : columns job, submit, start, end (s), procs; user when coloured by user.
    allocations : the schedule, with columns job, node (name), procs, start, end (s):
        `Result.allocations` or a file ``schedule``.
    nodes : columns node (name), procs and, for groups of many nodes, model; `Result.nodes` or a
        file ``nodes.csv``.
    color : what the colour says: how long the job waited, its width, its user (or
        account, partition, queue, qos), or just the job.
    ax : axes to draw in; a new figure when None.
    unix_start : Unix time (s) of second 0; given, the time axis shows dates.
    """
    rows, start, end = stretches_of(jobs, allocations)
    taken = column(allocations, "procs")
    size = column(nodes, "procs").astype(np.int64)
    pieces = pieces_on_nodes(allocations, nodes)
    colors = colors_of(jobs, rows, (end - start) * taken, color)
    # The first node is on top, and in it the first processor.
    total = int(size.sum())
    turned = pieces._replace(first=total - pieces.first - pieces.procs)
    boxes = Boxes.of(turned, start, end, colors.rgb)
    ax = new_axes(ax, 10.0, float(np.clip(1.8 + 0.24 * size.size, 3.2, 6.4)))
    ax.grid(False)
    first, last = float(start.min()), float(end.max())
    clock = TimeAxis.spanning(first, last, unix_start)
    caption = draw_boxes(ax, boxes, clock, (first, last, 0.0, float(total)), "processors")
    if boxes.left.size <= LABELS:
        label_boxes(ax, boxes, np.asarray(jobs["job"])[rows[pieces.job]], clock)
    _name_nodes(ax, nodes, size)
    served = np.unique(rows).size
    counted = f"{size.size:,} nodes" if size.size > 1 else "1 node"
    title(ax, f"{served:,} jobs on {counted}", caption)
    explain_colors(ax, colors, color)
    return root(ax)


def pieces_on_nodes(allocations: TableLike, nodes: TableLike) -> Pieces:
    """Return the processors of each part of a schedule, those of all nodes numbered in order."""
    import pandas as pd

    names = np.asarray(nodes["node"], dtype=object)
    given = allocations["node"]
    where = np.asarray(pd.Index(names).get_indexer(pd.Index(given)), dtype=np.int64)
    if (where < 0).any():
        unknown = np.asarray(given, dtype=object)[np.argmax(where < 0)]
        raise OptionError(f"the schedule names node '{unknown}', which is not among the nodes")
    start, end = column(allocations, "start"), column(allocations, "end")
    taken, size = (column(table, "procs").astype(np.int64) for table in (allocations, nodes))
    below = np.cumsum(size) - size
    order = np.argsort(where, kind="stable")
    first = np.searchsorted(where[order], np.arange(size.size + 1))
    parts: list[Pieces] = []
    for node in np.flatnonzero(np.diff(first)):
        rows = order[first[node] : first[node + 1]]
        try:
            pieces = assign_servers(start[rows], end[rows], taken[rows], int(size[node]))
        except OptionError as error:
            raise OptionError(f"node {names[node]}: {error}") from None
        parts.append(Pieces(rows[pieces.job], below[node] + pieces.first, pieces.procs))
    return Pieces(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def _name_nodes(ax: Axes, nodes: TableLike, size: Ints) -> None:
    """Name the nodes, or runs of one model where they are too many, and draw lines between them."""
    names = [str(name) for name in np.asarray(nodes["node"], dtype=object)]
    groups = [(name, 1) for name in names]
    if len(names) > _LINES and "model" in nodes:
        models = map(str, np.asarray(nodes["model"], dtype=object))
        groups = [(model, len(list(run))) for model, run in groupby(models)]
    edges = np.cumsum([0, *(count for _, count in groups)])
    top = float(size.sum()) - np.concatenate([[0.0], np.cumsum(size)])[edges]
    if len(groups) <= _LINES:
        ax.hlines(top[1:-1], 0.0, 1.0, MUTED, linewidth=0.6, transform=ax.get_yaxis_transform())
    inches = ax.get_window_extent().height / root(ax).dpi
    apart = _INCH_OF_LABEL / max(inches, 0.1) * float(size.sum())
    places: list[float] = []
    labels: list[str] = []
    for i, (name, count) in enumerate(groups):
        middle = float(top[i] + top[i + 1]) / 2
        if places and places[-1] - middle < apart:
            continue
        places.append(middle)
        labels.append(name if count == 1 else f"{count} × {name}")
    ax.set_yticks(places, labels)
    ax.tick_params(axis="y", length=0)
    ax.set_ylabel("")
