"""Two streams of the same jobs: who ran when in each, and by how much they differ [baranov2019]."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib import ticker
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure, SubFigure
from matplotlib.patches import Patch
from numpy.typing import ArrayLike

from ...arrays import Floats
from ...errors import OptionError
from . import style
from .binning import counted
from .boxes import Boxes, assign_servers, draw_boxes

_SAME, _LATER, _SOONER = "#C6CAD0", style.PALETTE[1], style.PALETTE[0]
_HARDLY = 1e-6
_DOTS = 4000


@style.styled
def stream_pair(
    streams: Mapping[str, style.TableLike],
    procs: int,
    *,
    within: float = 0.0,
    moments: Mapping[str, float] | None = None,
    fig: Figure | SubFigure | None = None,
    unix_start: float | None = None,
) -> Figure:
    """Draw two streams of the same jobs one above the other, coloured by where they differ.

    Parameters
    ----------
    streams : by its name, columns submit, start, end (s) and procs of a stream; two of them, row by
        row the same jobs. Times that are not known are NaN.
    procs : servers of the machine; more if more were busy at once.
    within : s, by which waits may differ and still count as equal.
    moments : by the name of a stream, an instant (s) to mark in it.
    fig : figure to draw in; a new one when None.
    unix_start : Unix time (s) of second 0; given, the time axis shows dates.
    """
    if len(streams) != 2:
        raise OptionError(f"{len(streams)} streams; give two")
    tables = list(streams.values())
    waits = [style.column(table, "start") - style.column(table, "submit") for table in tables]
    if waits[0].shape != waits[1].shape:
        raise OptionError("streams of different length; give the same jobs in both")
    rows = np.flatnonzero(np.isfinite(waits[0] + waits[1]))
    if rows.size == 0:
        raise OptionError("no job was served in both streams; there is nothing to draw")
    gap = (waits[1] - waits[0])[rows]
    later, sooner = gap > within + _HARDLY, gap < -within - _HARDLY
    rgb = np.tile(to_rgb(_SAME), (rows.size, 1))
    rgb[later], rgb[sooner] = to_rgb(_LATER), to_rgb(_SOONER)
    first = min(float(style.column(table, "start")[rows].min()) for table in tables)
    last = max(float(style.column(table, "end")[rows].max()) for table in tables)
    clock = style.TimeAxis.spanning(first, last, unix_start)
    fig = fig if fig is not None else style.new_figure(10.0, 6.4)
    axes = fig.subplots(2, 1, sharex=True)
    for ax, (name, table) in zip(axes, streams.items(), strict=True):
        style.polish(ax, grid=False)
        start, end, width = (style.column(table, key)[rows] for key in ("start", "end", "procs"))
        servers = max(procs, int(counted(start, end, width).value.max()), int(width.max()))
        pieces = assign_servers(start, end, width, servers)
        boxes = Boxes.of(pieces, start, end, rgb)
        caption = draw_boxes(ax, boxes, clock, (first, last, 0.0, float(servers)), "servers")
        ax.yaxis.set_major_locator(ticker.MaxNLocator(6, integer=True))
        ax.set_ylabel("servers")
        style.title(ax, name, caption)
        if moments is not None and name in moments:
            _mark(ax, float(clock(moments[name])))
    below = list(streams)[1]
    clock.mark(axes[0], first, last, label=False)
    axes[0].set_xlabel("")
    clock.mark(axes[1], first, last)
    axes[1].legend(
        handles=[
            Patch(color=_SAME, label=f"same wait: {rows.size - later.sum() - sooner.sum():,} jobs"),
            Patch(color=_LATER, label=f"waits longer in the {below}: {later.sum():,}"),
            Patch(color=_SOONER, label=f"waits less in the {below}: {sooner.sum():,}"),
        ],
        loc="upper left",
        bbox_to_anchor=(0.0, -0.2),
        ncols=3,
        handlelength=1.0,
        borderaxespad=0.0,
    )
    return style.root(fig)


def _mark(ax: Axes, place: float) -> None:
    ax.axvline(place, color=style.INK, linewidth=1.0, linestyle=(0, (4, 2)))
    behind = {"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 1.0}
    frame = ("data", "axes fraction")
    words = "first other decision"
    style.note(
        ax, words, (place, 1.0), (3, -3), frame=frame, va="top", color=style.INK, bbox=behind
    )


@style.styled
def stream_differences(
    submit: ArrayLike,
    difference: ArrayLike,
    *,
    limit: float | None = None,
    fig: Figure | SubFigure | None = None,
    unix_start: float | None = None,
) -> Figure:
    """Draw differences of residence times: over time, P over the first jobs, their distribution.

    Parameters
    ----------
    submit : s, in order.
    difference : model less real (s), job by job.
    limit : P_max (s), to mark.
    fig : figure to draw in; a new one when None.
    unix_start : Unix time (s) of second 0; given, the time axis shows dates.
    """
    when, gap = np.asarray(submit, np.float64), np.asarray(difference, np.float64)
    if gap.ndim != 1 or gap.size == 0 or when.shape != gap.shape or not np.isfinite(gap).all():
        raise OptionError("differences: give one finite number per job, at least one")
    fig = fig if fig is not None else style.new_figure(10.0, 6.0)
    grid = fig.add_gridspec(2, 2)
    over, run, spread = (
        style.polish(fig.add_subplot(place)) for place in (grid[0, :], grid[1, 0], grid[1, 1])
    )
    _draw_over_time(over, when, gap, unix_start)
    _draw_prefixes(run, gap, limit)
    _draw_distribution(spread, np.abs(gap))
    return style.root(fig)


def _draw_over_time(ax: Axes, when: Floats, gap: Floats, unix_start: float | None) -> None:
    clock = style.TimeAxis.spanning(float(when[0]), float(when[-1]), unix_start)
    shown = np.arange(gap.size)
    caption = ""
    if gap.size > _DOTS:
        # The largest, and of the others as many as can be distinguished.
        large = np.argsort(-np.abs(gap), kind="stable")[: _DOTS // 2]
        even = np.linspace(0, gap.size - 1, _DOTS // 2).astype(np.int64)
        shown = np.unique(np.concatenate((large, even)))
        caption = f"{shown.size:,} of {gap.size:,} jobs, the largest among them"
    colors = np.where(gap > _HARDLY, _LATER, np.where(gap < -_HARDLY, _SOONER, _SAME))
    ax.scatter(clock(when[shown]), gap[shown], s=9, c=colors[shown].tolist(), linewidths=0)
    ax.axhline(0.0, color=style.MUTED, linewidth=0.8)
    ax.set_ylabel("difference (s)")
    clock.mark(ax, float(when[0]), float(when[-1]))
    style.title(ax, "Residence time, model less real, by submit", caption)


def _draw_prefixes(ax: Axes, gap: Floats, limit: float | None) -> None:
    count = np.arange(1, gap.size + 1)
    measure = np.sqrt(np.cumsum(gap * gap) / count)
    step = max(1, gap.size // _DOTS)
    ax.plot(count[::step], measure[::step], color=style.INK, linewidth=1.4)
    if limit is not None and np.isfinite(limit):
        ax.axhline(limit, color=_LATER, linewidth=1.0, linestyle=(0, (4, 2)))
        words, frame = f"$P_{{max}}$ = {style.duration(limit)}", ("axes fraction", "data")
        style.note(ax, words, (0.99, limit), (0, 3), frame=frame, ha="right", color=_LATER)
    ax.set_ylim(bottom=0.0)
    ax.set_xlim(1, max(gap.size, 2))
    ax.set_xlabel("number of jobs")
    ax.set_ylabel("P (s)")
    style.title(ax, f"P over the first jobs: {style.duration(float(measure[-1]))} over all")


def _draw_distribution(ax: Axes, size: Floats) -> None:
    ordered = np.sort(size)
    share = np.arange(1, size.size + 1) / size.size
    positive = ordered > _HARDLY
    ax.set_ylim(0, 1.02)
    ax.yaxis.set_major_formatter(style.percent_tick)
    ax.set_ylabel("jobs")
    zero = 1 - positive.mean()
    style.title(ax, "Absolute differences", f"equal: {100 * zero:.0f} % of jobs")
    ax.set_xlabel("at most (logarithmic)")
    if not positive.any():
        ax.text(0.5, 0.5, "no difference", ha="center", transform=ax.transAxes, color=style.MUTED)
        ax.set_xticks([])
        return
    low, high = float(ordered[positive][0]), float(ordered[-1])
    low, high = 0.8 * low, 1.25 * high
    values = np.concatenate(([low], ordered[positive], [high]))
    heights = np.concatenate(([zero], share[positive], [1.0]))
    ax.step(values, heights, where="post", color=style.INK, linewidth=1.4)
    ax.set_xscale("log")
    ax.set_xlim(low, high)
    style.duration_axis(ax.xaxis, low, high)
