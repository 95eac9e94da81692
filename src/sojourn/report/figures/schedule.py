"""Who ran where and when: Gantt charts and the occupation of servers."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from matplotlib import colormaps, ticker
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection
from matplotlib.colors import LogNorm, to_rgb
from matplotlib.figure import Figure, SubFigure
from matplotlib.patches import Patch
from numpy.typing import NDArray

from ...arrays import Floats
from ...errors import OptionError
from . import style
from .boxes import EXACT, Boxes, assign_servers, draw_boxes

Color = Literal["wait", "width", "job", "user", "account", "partition", "queue", "qos"]

_WHO = ("user", "account", "partition", "queue", "qos")

_WAITING = "#B4B4B4"
_AT_ONCE = "#C6CAD0"
LABELS = 60
"""Boxes up to which each says its job's number."""


class _Colors(NamedTuple):
    rgb: Floats
    scale: ScalarMappable | None
    patches: list[Patch]
    label: str


def _by_value(value: Floats, seconds: bool) -> _Colors:
    positive = value[value > 0]
    low = max(float(positive.min()), 1.0) if positive.size else 1.0
    high = max(float(positive.max()) if positive.size else 1.0, 10.0 * low if seconds else 2 * low)
    if seconds:
        # Waits shorter than a minute look alike on a chart of hours.
        low = max(low, min(60.0, high / 10))
    colors = colormaps["viridis_r"].with_extremes(under=_AT_ONCE)
    scale = ScalarMappable(LogNorm(low, high), colors)
    rgb = np.asarray(scale.to_rgba(np.maximum(value, low)))[:, :3].copy()
    if not seconds:
        return _Colors(rgb, scale, [], "processors of the job")
    rgb[value <= 0] = to_rgb(_AT_ONCE)
    return _Colors(rgb, scale, [], "wait (gray: started at once)")


def _names(jobs: style.TableLike, by: str) -> NDArray[Any]:
    """Return users and so on as names, or as numbers where the table has numbers."""
    if by not in jobs:
        raise OptionError(f"the table has no column '{by}'; this picture needs it")
    names = np.asarray(jobs[by])
    if names.dtype.kind in "iuf":
        return names.astype(np.int64)
    # A missing name is None or nan, which is not equal to itself.
    return np.array(["?" if name is None or name != name else str(name) for name in names])


def _by_name(name: NDArray[Any], by: str, area: Floats) -> _Colors:
    names, who = np.unique(name, return_inverse=True)
    share = np.bincount(who, area)
    top = np.argsort(-share, kind="stable")[: len(style.PALETTE) - 1]
    rgb = np.tile(to_rgb("#BDBDBD"), (names.size, 1))
    patches = []
    for rank, index in enumerate(top):
        rgb[index] = to_rgb(style.PALETTE[rank])
        percent = 100 * share[index] / max(share.sum(), 1e-300)
        patches.append(
            Patch(color=style.PALETTE[rank], label=f"{by} {names[index]}: {percent:.0f} %")
        )
    if names.size > top.size:
        patches.append(Patch(color="#BDBDBD", label=f"{names.size - top.size} others"))
    return _Colors(rgb[who], None, patches, "")


def colors_of(
    jobs: style.TableLike, rows: NDArray[np.int64], area: Floats, color: Color
) -> _Colors:
    """Colour stretches of service, given the rows of their jobs and what each occupied."""
    if color == "wait":
        return _by_value((style.column(jobs, "start") - style.column(jobs, "submit"))[rows], True)
    if color == "width":
        return _by_value(style.column(jobs, "procs")[rows], False)
    if color in _WHO:
        return _by_name(_names(jobs, color)[rows], color, area)
    if color == "job":
        strong = np.array([to_rgb(name) for name in style.PALETTE[:-1]])
        cycle = np.concatenate((strong, 0.5 + 0.5 * strong))
        return _Colors(cycle[rows % len(cycle)], None, [], "")
    others = ", ".join(_WHO[1:])
    raise OptionError(f"color '{color}' is not known; use wait, width, user or job, or {others}")


def stretches_of(
    jobs: style.TableLike, segments: style.TableLike | None
) -> tuple[NDArray[np.int64], Floats, Floats]:
    """Return rows of jobs with when they held their servers, preempted jobs several times."""
    if segments is None:
        start, end = style.column(jobs, "start"), style.column(jobs, "end")
        rows = np.flatnonzero(np.isfinite(start) & np.isfinite(end))
        start, end = start[rows], end[rows]
    else:
        number_of = np.asarray(jobs["job"])
        order = np.argsort(number_of, kind="stable")
        wanted = np.asarray(segments["job"])
        at = np.minimum(np.searchsorted(number_of[order], wanted), number_of.size - 1)
        rows = order[at]
        if not np.array_equal(number_of[rows], wanted):
            missing = wanted[number_of[rows] != wanted][0]
            raise OptionError(f"segments name job {missing}, which is not among the jobs")
        start, end = style.column(segments, "start"), style.column(segments, "end")
    if rows.size == 0:
        raise OptionError("no job was served; there is nothing to draw")
    return rows, start, end


@style.styled
def gantt(
    jobs: style.TableLike,
    procs: int,
    *,
    color: Color = "wait",
    segments: style.TableLike | None = None,
    ax: Axes | None = None,
    unix_start: float | None = None,
) -> Figure:
    """Draw which servers each job occupied, and when.

    Servers are named after the run (`assign_servers`). Up to 4,000 blocks are drawn one by one;
    more are averaged into cells whose colour is the mean of what they cover, idle being white.

    Parameters
    ----------
    jobs : columns job, submit, start, end (s), procs; user when coloured by user. Jobs that were
        not accepted have NaN in start and end and are left out.
    procs : servers of the cluster.
    color : what the colour says: how long the job waited, its width, its user (or
        account, partition, queue, qos), or just the job.
    segments : stretches of service (columns job, start, end) when jobs were preempted.
    ax : axes to draw in; a new figure when None.
    unix_start : Unix time (s) of second 0; given, the time axis shows dates.
    """
    rows, start, end = stretches_of(jobs, segments)
    width = style.column(jobs, "procs")[rows]
    colors = colors_of(jobs, rows, (end - start) * width, color)
    pieces = assign_servers(start, end, width, procs)
    boxes = Boxes.of(pieces, start, end, colors.rgb)
    served = rows.size if segments is None else np.unique(rows).size
    ax = style.new_axes(ax, 10.0, 4.4)
    ax.grid(False)
    first, last = float(start.min()), float(end.max())
    clock = style.TimeAxis.spanning(first, last, unix_start)
    caption = draw_boxes(ax, boxes, clock, (first, last, 0.0, float(procs)), "servers")
    if boxes.left.size <= LABELS:
        label_boxes(ax, boxes, np.asarray(jobs["job"])[rows[pieces.job]], clock)
    _whole_numbers(ax)
    ax.set_ylabel("servers")
    style.title(ax, f"{served:,} jobs on {procs:,} servers", caption)
    explain_colors(ax, colors, color)
    return style.root(ax)


def explain_colors(ax: Axes, colors: _Colors, color: Color) -> None:
    """Say beside a chart what its colours mean."""
    if colors.scale is not None:
        extend = "min" if color == "wait" else "neither"
        look = {"pad": 0.01, "fraction": 0.03, "extend": extend}
        bar = style.colorbar(ax, colors.scale, colors.label, **look)
        if color == "wait":
            style.duration_axis(bar.ax.yaxis, *colors.scale.get_clim())
        else:
            style.log_axis(bar.ax.yaxis)
    if colors.patches:
        ax.legend(
            handles=colors.patches,
            loc="upper left",
            bbox_to_anchor=(0.0, -0.12),
            ncols=len(colors.patches),
            handlelength=1.0,
            columnspacing=1.2,
            borderaxespad=0.0,
        )


def _whole_numbers(ax: Axes) -> None:
    ax.yaxis.set_major_locator(ticker.MaxNLocator(6, integer=True))
    ax.yaxis.set_major_formatter(ticker.StrMethodFormatter("{x:,.0f}"))


def label_boxes(ax: Axes, boxes: Boxes, names: NDArray[np.int64], clock: style.TimeAxis) -> None:
    """Write the number of its job into each box that has room for it."""
    middle = clock((boxes.left + boxes.right) / 2)
    dark = boxes.color @ np.array([0.299, 0.587, 0.114]) < 0.55
    left, right = ax.get_xlim()
    inch = ax.get_ylim()[1] * style.root(ax).dpi / ax.get_window_extent().height
    wide = clock(boxes.right) - clock(boxes.left)
    for i, name in enumerate(names):
        # A number that would not fit its box says less than none.
        if wide[i] < 0.012 * len(str(name)) * (right - left):
            continue
        if boxes.top[i] - boxes.bottom[i] < 0.115 * inch:
            continue
        ax.text(
            float(middle[i]),
            float(boxes.bottom[i] + boxes.top[i]) / 2,
            str(name),
            ha="center",
            va="center",
            fontsize=8,
            color="white" if dark[i] else style.INK,
        )


@style.styled
def occupation(
    jobs: style.TableLike,
    procs: int,
    *,
    fig: Figure | SubFigure | None = None,
    unix_start: float | None = None,
) -> Figure:
    """Draw the servers held by customers, and the state of each customer [rumyantsev2018, fig. 2].

    Parameters
    ----------
    jobs : columns job, submit, start, end (s), procs, in order of arrival. Jobs that were not
        accepted have NaN in start and end and are left out.
    procs : servers of the cluster.
    fig : figure to draw in; a new one when None.
    unix_start : Unix time (s) of second 0; given, the time axis shows dates.
    """
    rows, start, end = stretches_of(jobs, None)
    submit = style.column(jobs, "submit")[rows]
    label = np.asarray(jobs["job"])[rows]
    pieces = assign_servers(start, end, style.column(jobs, "procs")[rows], procs)
    # Steps of the golden ratio: customers that follow each other get grays far apart.
    gray = 0.12 + 0.68 * ((np.arange(rows.size) * 0.6180339887498949) % 1.0)
    held = Boxes.of(pieces, start, end, np.repeat(gray[:, None], 3, axis=1))
    fig = fig if fig is not None else style.new_figure(10.0, 6.0)
    upper, lower = (style.polish(ax, grid=False) for ax in fig.subplots(2, 1, sharex=True))
    first, last = float(submit.min()), float(end.max())
    clock = style.TimeAxis.spanning(first, last, unix_start)
    caption = draw_boxes(upper, held, clock, (first, last, 0.0, float(procs)), "servers")
    upper.set_ylabel("servers")
    style.title(upper, "Servers by customer", caption)
    numbered = bool((np.diff(label) == 1).all())
    base = float(label[0]) if numbered else 1.0
    place = base - 0.5 + np.arange(rows.size, dtype=np.float64)
    caption = _draw_states(lower, (submit, start, end), place, clock)
    lower.set_ylabel("customer" if numbered else "customer, by arrival")
    style.title(lower, "State of each customer", caption)
    for ax in (upper, lower):
        _whole_numbers(ax)
    lower.legend(
        handles=[Patch(color=_WAITING, label="waiting"), Patch(color="black", label="computing")],
        loc="upper left",
    )
    clock.mark(upper, first, last, label=False)
    upper.set_xlabel("")
    fig.align_ylabels((upper, lower))
    return style.root(fig)


def _draw_states(
    ax: Axes, instants: tuple[Floats, Floats, Floats], place: Floats, clock: style.TimeAxis
) -> str:
    """Draw a line per customer, gray from submit to start and black from start to end."""
    submit, start, end = instants
    window = float(submit.min()), float(end.max()), float(place[0]), float(place[-1]) + 1.0
    if place.size > EXACT:
        gray = np.tile(to_rgb(_WAITING), (place.size, 1))
        states = Boxes(
            np.concatenate((submit, start)),
            np.concatenate((start, end)),
            np.tile(place, 2),
            np.tile(place + 1.0, 2),
            np.concatenate((gray, np.zeros_like(gray))),
        )
        return draw_boxes(ax, states, clock, window, "customers", solid=True)
    # Lines keep a width that can be seen, however many customers share the height.
    width = float(np.clip(150.0 / place.size, 0.8, 6.0))
    for left, right, color in ((submit, start, _WAITING), (start, end, "black")):
        lines = np.empty((place.size, 2, 2))
        lines[:, 0, 0], lines[:, 1, 0] = clock(left), clock(right)
        lines[:, :, 1] = place[:, None] + 0.5
        shown = lines[right > left]
        ax.add_collection(
            LineCollection(list(shown), colors=color, linewidths=width, capstyle="butt"),
            autolim=False,
        )
    ax.set_ylim(*window[2:])
    clock.mark(ax, *window[:2])
    return ""
