"""What the system did over time: workload, busy processors, queue, power."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib import ticker
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure, SubFigure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from numpy.typing import ArrayLike, NDArray

from ...errors import OptionError
from ...measures.registry import get as measure
from . import style
from .binning import Path, bin_path, counted

_EXACT = 4000
"""Instants up to which every one of them is drawn."""

_BINS = 360
_SERVED = "#8C8C8C"
_DASHES: tuple[Any, ...] = ((0, (1.5, 2)), (0, (5, 3)))
_RATES = LinearSegmentedColormap.from_list("rates", ["#FFFFFF", "#F9E0C7"])


def draw_path(
    ax: Axes,
    path: Path,
    clock: style.TimeAxis,
    *,
    color: str,
    fill: bool = False,
    band: bool = True,
    width: float = 1.2,
) -> str:
    """Draw a path, exactly if it is short, else as means of bins with a band of extremes.

    `fill` shades the area under a path that is drawn exactly, `band` from the smallest to the
    largest value of a bin. Returns how it was drawn when not exactly, for the caption; else
    nothing.
    """
    if path.time.size <= _EXACT:
        time, value = path.corners()
        ax.plot(clock(time), value, color=color, linewidth=width)
        if fill:
            ax.fill_between(clock(time), value, color=color, alpha=style.BAND, linewidth=0)
        return ""
    bins = bin_path(path, np.linspace(path.time[0], path.time[-1], _BINS + 1))
    edges = clock(bins.edges)
    ax.stairs(bins.mean, edges, baseline=None, color=color, linewidth=width)
    caption = f"means over {style.duration(bins.edges[1] - bins.edges[0])}"
    if not band:
        return caption
    low, high = (np.append(side, side[-1]) for side in (bins.low, bins.high))
    ax.fill_between(edges, low, high, step="post", color=color, alpha=style.BAND, linewidth=0)
    return f"{caption}, and extremes"


def _from_zero(ax: Axes, top: float | None = None) -> None:
    ax.set_ylim(0, top if top is not None else max(ax.get_ylim()[1], 1.0))
    ax.yaxis.set_major_locator(ticker.MaxNLocator(5, integer=True))
    ax.yaxis.set_major_formatter("{x:,.0f}")


def _levels(thresholds: Mapping[str, float] | Sequence[float]) -> dict[str, float]:
    if isinstance(thresholds, Mapping):
        return {str(name): float(level) for name, level in thresholds.items()}
    levels = [float(level) for level in thresholds]
    if len(levels) == 1 or (len(levels) == 2 and levels[0] == levels[1]):
        return {"$k$": levels[0]}
    if len(levels) == 2:
        return {"$k_L$": min(levels), "$k_H$": max(levels)}
    return {f"$k_{{{i}}}$": level for i, level in enumerate(levels)}


def _tint_rates(
    ax: Axes, time: NDArray[np.float64], rate: NDArray[np.float64], clock: style.TimeAxis
) -> list[Patch]:
    """Tint the times of higher rates; return the legend's patches, none for a constant rate."""
    known = np.unique(rate[:-1] if rate.size > 1 else rate)
    if known.size < 2:
        return []
    change = np.flatnonzero(np.diff(rate[:-1], prepend=np.nan) != 0)
    edges, level = np.append(time[change], time[-1]), rate[change]
    if change.size > 2 * _BINS:
        bins = bin_path(Path.of(time, rate), np.linspace(time[0], time[-1], 2 * _BINS + 1))
        edges, level = bins.edges, bins.mean
    shade = (level - known[0]) / (known[-1] - known[0])
    style.tint(ax, clock(edges), _RATES(shade))
    if known.size > 4:
        known = known[[0, -1]]
    span = known[-1] - known[0]
    return [
        Patch(
            facecolor=_RATES((r - known[0]) / span),
            edgecolor=style.FAINT,
            label=f"rate {style.number(r)}",
        )
        for r in known
    ]


@style.styled
def workload(
    trajectory: style.TableLike,
    thresholds: Mapping[str, float] | Sequence[float] | None = None,
    *,
    ax: Axes | None = None,
    unix_start: float | None = None,
) -> Figure:
    """Draw the workload and the number of customers in service [rumyantsev2018, fig. 1].

    Parameters
    ----------
    trajectory : columns time (s), rate, running and workload (s of work at rate 1), one row per
        instant. Between instants the workload falls with slope rate times running.
    thresholds : levels of the workload at which the rate switches: one, the two of a hysteresis
        (k_L, k_H), or any by name.
    ax : axes to draw in; a new figure when None.
    unix_start : Unix time (s) of second 0; given, the time axis shows dates.
    """
    ax = style.new_axes(ax, 10.0, 4.4)
    time, rate, running = (style.column(trajectory, name) for name in ("time", "rate", "running"))
    path = Path.of(time, style.column(trajectory, "workload"), -rate * running)
    clock = style.TimeAxis.spanning(time[0], time[-1], unix_start)
    count = style.twin(ax)
    tints = _tint_rates(count, time, rate, clock)
    draw_path(count, Path.of(time, running), clock, color=_SERVED, band=False, width=0.9)
    count.set_ylabel("customers in service", color=style.MUTED)
    # Twice the range keeps the gray curve in the lower half, out of the black one's way.
    _from_zero(count, max(2.0 * float(running.max(initial=1.0)), 1.0))
    caption = draw_path(ax, path, clock, color="black", width=1.3)
    ax.set_zorder(count.get_zorder() + 1)
    ax.patch.set_visible(False)
    levels = _levels(thresholds) if thresholds is not None else {}
    marks = [
        ax.axhline(
            level,
            color=style.PALETTE[1],
            linewidth=1.0,
            linestyle=_DASHES[i % len(_DASHES)],
            label=f"{name} = {style.number(level)}",
            zorder=1.5,
        )
        for i, (name, level) in enumerate(levels.items())
    ]
    ax.set_ylim(0, 1.05 * max([float(path.value.max()), *levels.values(), 1e-12]))
    ax.yaxis.set_major_formatter(ticker.ScalarFormatter(useMathText=True))
    ax.ticklabel_format(axis="y", scilimits=(-2, 4))
    ax.set_ylabel("workload $W$ (s of work)")
    clock.mark(ax, time[0], time[-1])
    style.title(ax, "Workload and customers in service", caption)
    lines = [
        Line2D([], [], color="black", label="workload"),
        Line2D([], [], color=_SERVED, label="in service"),
    ]
    handles = [*lines, *marks, *tints]
    ax.legend(handles=handles, loc="upper left", bbox_to_anchor=(0.0, -0.11), ncols=len(handles))
    return style.root(ax)


def busy_path(table: style.TableLike) -> Path:
    """Return the busy processors over time, of a trajectory or of jobs."""
    if "time" in table:
        return Path.of(style.column(table, "time"), style.column(table, "busy"))
    start, end, procs = (style.column(table, name) for name in ("start", "end", "procs"))
    ran = np.isfinite(start) & np.isfinite(end)
    return counted(start[ran], end[ran], procs[ran])


def queue_path(table: style.TableLike) -> Path:
    """Return the jobs waiting over time, of a trajectory or of jobs."""
    if "time" in table:
        return Path.of(style.column(table, "time"), style.column(table, "queued"))
    came, start = style.arrivals(table), style.column(table, "start")
    ran = np.isfinite(start)
    return counted(came[ran], start[ran])


def _mean(path: Path) -> float:
    """Return the mean of a path over its time; 0 if that is none."""
    ends = path.time[[0, -1]]
    return float(bin_path(path, ends).mean[0]) if ends[1] > ends[0] else 0.0


def draw_busy(ax: Axes, path: Path, procs: int, clock: style.TimeAxis) -> float:
    """Draw busy processors under the cluster's size; return the utilisation (0 to 1)."""
    caption = draw_path(ax, path, clock, color=style.PALETTE[0], fill=True, width=1.1)
    ax.axhline(procs, color=style.MUTED, linewidth=0.9, linestyle=(0, (4, 3)))
    share = _mean(path) / procs
    _from_zero(ax, 1.06 * max(procs, float(path.value.max())))
    ax.set_ylabel("busy processors")
    style.title(ax, f"Busy processors: {100 * share:.1f} % of {procs:,}", caption)
    return share


def draw_queue(ax: Axes, path: Path, clock: style.TimeAxis) -> None:
    """Draw the number of jobs waiting."""
    caption = draw_path(ax, path, clock, color=style.PALETTE[1], fill=True, width=1.1)
    _from_zero(ax)
    ax.set_ylabel("jobs waiting")
    style.title(ax, f"Queue: {style.number(_mean(path))} jobs on average", caption)


@style.styled
def utilisation(
    table: style.TableLike,
    procs: int,
    *,
    fig: Figure | SubFigure | None = None,
    unix_start: float | None = None,
) -> Figure:
    """Draw busy processors and the queue over time.

    Runs of more than 4,000 instants are drawn as exact time averages over bins, with a band from
    the smallest to the largest value in each.

    Parameters
    ----------
    table : a trajectory (columns time, busy, queued), or jobs that were not preempted (submit,
        start, end, procs); of jobs the waiting work (processors times service) is drawn too.
    procs : processors of the cluster.
    fig : figure to draw in; a new one when None.
    unix_start : Unix time (s) of second 0; given, the time axis shows dates.
    """
    busy, queue, work = busy_path(table), queue_path(table), None
    if "time" not in table:
        start, end, width = (style.column(table, name) for name in ("start", "end", "procs"))
        ran = np.isfinite(start) & np.isfinite(end)
        area = (width * (end - start) / 3600.0)[ran]
        work = counted(style.arrivals(table)[ran], start[ran], area)
    first = min(busy.time[0], queue.time[0])
    last = max(busy.time[-1], queue.time[-1])
    clock = style.TimeAxis.spanning(first, last, unix_start)
    panels = 2 if work is None else 3
    fig = fig if fig is not None else style.new_figure(10.0, 1.0 + 1.75 * panels)
    axes = [style.polish(ax) for ax in fig.subplots(panels, 1, sharex=True)]
    draw_busy(axes[0], busy, procs, clock)
    draw_queue(axes[1], queue, clock)
    if work is not None:
        caption = draw_path(axes[2], work, clock, color=style.PALETTE[2], fill=True, width=1.1)
        axes[2].set_ylim(bottom=0)
        axes[2].yaxis.set_major_formatter(style.number_tick)
        axes[2].set_ylabel("processor-hours")
        style.title(axes[2], "Work waiting", caption)
    for ax in axes:
        clock.mark(ax, first, last, label=ax is axes[-1])
    fig.align_ylabels(axes)
    return style.root(fig)


def _draw_cap(
    ax: Axes,
    cap: tuple[ArrayLike, ArrayLike],
    clock: style.TimeAxis,
    ends: tuple[float, float],
    size: float,
) -> None:
    """Draw a cap as a line in steps; where there is none there is no line."""
    since, watts = (np.asarray(column, dtype=np.float64) for column in cap)
    time = np.append(np.clip(since, *ends), ends[1])
    most = np.where(np.isfinite(watts), watts / size, np.nan)
    ax.plot(
        clock(time), np.append(most, most[-1]), color=style.PALETTE[3], linewidth=1.4,
        drawstyle="steps-post", label="cap",
    )  # fmt: skip
    lasts = np.where(np.isfinite(most), np.diff(time), 0.0)
    longest = int(lasts.argmax())
    if lasts[longest] > 0:
        ax.annotate(
            "cap", (float(clock(time[longest])), most[longest]), xytext=(4, 2),
            textcoords="offset points", color=style.PALETTE[3], va="bottom",
        )  # fmt: skip
        ax.set_ylim(top=max(ax.get_ylim()[1], 1.1 * float(np.nanmax(most[lasts > 0]))))


@style.styled
def power(
    trajectory: style.TableLike | tuple[ArrayLike, ArrayLike],
    procs: int | None = None,
    watts: Mapping[float, tuple[float, float]] | None = None,
    *,
    cap: tuple[ArrayLike, ArrayLike] | None = None,
    ax: Axes | None = None,
    unix_start: float | None = None,
) -> Figure:
    """Draw the power of the cluster over time, and state its integral, the energy.

    Parameters
    ----------
    trajectory : columns time (s) and power (W); without power, columns time, rate and busy. Or
        instants (s) and the watts from each on, such as `Result.power_steps`.
    procs : servers of the cluster; needed when there is no column power.
    watts : for each rate, what an idle and a busy server draw (W) [rumyantsev2018, eq. 11];
        needed when there is no column power.
    cap : times (s; the first may be minus infinity) and the watts that are allowed from each on.
    ax : axes to draw in; a new figure when None.
    unix_start : Unix time (s) of second 0; given, the time axis shows dates.
    """
    if isinstance(trajectory, tuple):
        trajectory = dict(zip(("time", "power"), trajectory, strict=True))
    time = style.column(trajectory, "time")
    if time.size == 0:
        raise OptionError("the trajectory has no rows; there is nothing to draw")
    if "power" in trajectory:
        drawn = style.column(trajectory, "power")
    elif procs is not None and watts is not None:
        rate, busy = style.column(trajectory, "rate"), style.column(trajectory, "busy")
        drawn = np.full(time.shape, np.nan)
        for speed, (idle, full) in watts.items():
            here = rate == speed
            drawn[here] = idle * (procs - busy[here]) + full * busy[here]
        if np.isnan(drawn).any():
            missing = style.number(float(rate[np.isnan(drawn)][0]))
            raise OptionError(f"watts has no entry for rate {missing}; add its idle and busy power")
    else:
        raise OptionError("the trajectory has no column 'power'; give procs and watts")
    ax = style.new_axes(ax, 10.0, 3.2)
    clock = style.TimeAxis.spanning(time[0], time[-1], unix_start)
    unit = measure("power_peak").unit_for(drawn.tolist())
    path = Path.of(time, drawn / unit.size)
    caption = draw_path(ax, path, clock, color=style.PALETTE[2], fill=True, width=1.1)
    mean = _mean(path)
    joules = mean * unit.size * (time[-1] - time[0])
    ax.axhline(mean, color=style.INK, linewidth=0.9, linestyle=(0, (4, 3)))
    if cap is not None:
        _draw_cap(ax, cap, clock, (time[0], time[-1]), unit.size)
    ax.set_ylim(bottom=0)
    ax.yaxis.set_major_formatter(style.number_tick)
    ax.set_ylabel(f"power ({unit.name})")
    clock.mark(ax, time[0], time[-1])
    style.title(
        ax,
        f"Power: {style.number(mean)} {unit.name} on average, {style.energy(joules)} in all",
        caption,
    )
    return style.root(ax)
