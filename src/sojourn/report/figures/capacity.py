"""How large a machine must be, by what it can take and how long jobs wait; who finishes in time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib import ticker
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from numpy.typing import ArrayLike

from ...arrays import Floats
from ...errors import OptionError
from . import style

_HOUR = 3600.0
_LOG = style.PALETTE[3]
_CURVES = (*style.PALETTE[:3], *style.PALETTE[4:6])
_BOXED: dict[str, Any] = {
    "frameon": True,
    "facecolor": "white",
    "edgecolor": "none",
    "framealpha": 1,
}
_BEHIND: dict[str, Any] = {"facecolor": "white", "edgecolor": "none", "pad": 0.6, "alpha": 0.6}
"""What stands behind words that a curve may cross."""
_MARKERS = ("o", "s", "^", "D", "v")
_DASHES = ("-", (0, (5, 2)), (0, (2, 1.5)), (0, (6, 2, 1.5, 2)))
_MEASURED = "as measured"
_LOW = 0.1
"""Share of an axis that a line of text takes."""
_SHORTEST = 1.0
"""Wait (s) below which a logarithmic axis shows no difference."""


@style.styled
def stability_curves(
    curves: Mapping[str, tuple[ArrayLike, ArrayLike]],
    arrival_rate: float,
    procs: int,
    *,
    busy: float | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Draw the largest arrival rate against processors.

    Parameters
    ----------
    curves : processors and the largest rate (jobs/s) at each, by name; the one that is called
        ``exponential`` is that of the formula and drawn as a line, others have marks.
    arrival_rate : of the log (jobs/s).
    procs : of the machine.
    busy : processors that the log keeps busy on average; gives the limit of perfect packing.
    ax : axes to draw in; a new figure when None.
    """
    if not curves:
        raise OptionError("no curves to draw; give at least one")
    ax = style.new_axes(ax, 8.0, 4.4)
    last = 0.0
    others = 0
    for name, (sizes, rates) in curves.items():
        size, rate = np.asarray(sizes, dtype=np.float64), np.asarray(rates) * _HOUR
        last = max(last, float(size.max()))
        if name == "exponential":
            label = "fcfs, exponential service (exact)"
            ax.plot(size, rate, color=style.INK, linewidth=1.4, label=label)
            continue
        color = _CURVES[others % len(_CURVES)]
        mark = _MARKERS[others % len(_MARKERS)]
        label = f"{name}, the log's own jobs (simulated)"
        ax.plot(size, rate, color=color, marker=mark, markersize=4, linewidth=1.4, label=label)
        others += 1
    if busy is not None:
        size = np.array([0.0, last])
        ideal = arrival_rate * _HOUR / busy * size
        label = "own jobs, no processor idle"
        ax.plot(size, ideal, color=style.MUTED, linewidth=1.0, linestyle=":", label=label)
    ax.axhline(arrival_rate * _HOUR, color=_LOG, linewidth=1.2, linestyle=(0, (5, 2)))
    ax.axvline(procs, color=style.MUTED, linewidth=1.0, linestyle=(0, (2, 1.5)))
    first = min(float(np.min(np.asarray(sizes))) for sizes, _ in curves.values())
    ax.set_xlim(first - 0.04 * (last - first or 1.0), last + 0.02 * (last - first or 1.0))
    ax.set_ylim(0, None)
    # Under its line, unless that is too close to the axis.
    low = arrival_rate * _HOUR < _LOW * ax.get_ylim()[1]
    style.note(
        ax,
        f"the log: {style.number(arrival_rate * _HOUR)} jobs/h",
        (1.0, arrival_rate * _HOUR),
        (-4, 4 if low else -4),
        frame=("axes fraction", "data"),
        ha="right",
        va="bottom" if low else "top",
        color=_LOG,
    )
    _name_today(ax, procs, _LOW if low else 0.02)
    ax.xaxis.set_major_formatter("{x:,.6g}")
    ax.set_xlabel("processors")
    ax.set_ylabel("largest arrival rate (jobs/h)")
    # Lines that mark sizes may run behind it.
    ax.legend(loc="upper left", **_BOXED)
    style.title(ax, "What the machine can take", "stable where a curve is above the log's rate")
    return style.root(ax)


@style.styled
def size_curves(
    procs: ArrayLike,
    measures: Mapping[str, tuple[ArrayLike, float]],
    utilisation: ArrayLike,
    *,
    theory: Mapping[str, tuple[ArrayLike, ArrayLike]] | None = None,
    chosen: int | None = None,
    today: int | None = None,
    caption: str = "",
    fig: Figure | SubFigure | None = None,
) -> Figure:
    """Draw waits and utilisation against processors.

    Parameters
    ----------
    procs : sizes that were simulated, ascending.
    measures : by name: values (s) at each size, and the target (s).
    utilisation : at each size.
    theory : by name: sizes, and the values (s) expected there; inf where there are none.
    chosen, today : sizes to mark.
    caption : how the curves were made.
    fig : figure to draw in; a new one when None.
    """
    size = np.asarray(procs, dtype=np.float64)
    if size.size == 0 or not measures:
        raise OptionError("no sizes or no measures to draw; give at least one of each")
    fig = fig if fig is not None else style.new_figure(8.0, 6.0)
    top, bottom = fig.subplots(2, 1, sharex=True, height_ratios=(2.4, 1))
    style.polish(top)
    style.polish(bottom)
    drawn = []
    for place, (name, (values, target)) in enumerate(measures.items()):
        color = style.PALETTE[place % len(style.PALETTE)]
        mark = _MARKERS[place % len(_MARKERS)]
        wait = np.asarray(values, dtype=np.float64)
        drawn += [wait, np.array([target])]
        _waits(top, name, size, wait, target, color, mark)
        if theory is not None and name in theory:
            _expected(top, name, *theory[name], color)
    shown = np.maximum(np.concatenate(drawn), _SHORTEST)
    if (np.concatenate(drawn) < _SHORTEST).any():
        caption += f"{', ' if caption else ''}0 drawn as {style.duration(_SHORTEST)}"
    low, high = float(shown.min()), float(shown.max())
    top.set_yscale("log")
    top.set_ylim(low / 1.5, high * 1.5)
    style.duration_axis(top.yaxis, low / 1.5, high * 1.5)
    top.set_ylabel("wait (logarithmic)")
    bottom.plot(size, 100 * np.asarray(utilisation), color=style.INK, marker="o", markersize=3.5)
    bottom.set_ylim(0, 100)
    bottom.set_ylabel("utilisation (%)")
    bottom.set_xlabel("processors")
    bottom.xaxis.set_major_formatter("{x:,.6g}")
    if today is not None and size[0] <= today <= size[-1] and today != chosen:
        for ax in (top, bottom):
            ax.axvline(today, color=style.MUTED, linewidth=1.0, linestyle=(0, (2, 1.5)))
        _name_today(bottom, today)
    if chosen is not None:
        for ax in (top, bottom):
            ax.axvline(chosen, color=style.PALETTE[2], linewidth=1.4)
        words = f"{chosen:,} meet the target{' (today)' if chosen == today else ''}"
        style.note(bottom, words, (chosen, 16), (5, 0), color=style.PALETTE[2], bbox=_BEHIND)
    # Waits fall from the upper left to the lower right, unless nobody waits anyway.
    flat = max(float(wait[0]) for wait in drawn[::2]) <= _SHORTEST
    top.legend(loc="center left" if flat else "lower left", **_BOXED)
    style.title(top, "Waits by the size of the machine", caption)
    return style.root(fig)


def _waits(
    ax: Axes, name: str, size: Floats, wait: Floats, target: float, color: str, mark: str
) -> None:
    """Draw what was simulated, and the target."""
    shown = np.maximum(wait, _SHORTEST)
    label = f"{name}, simulated"
    ax.plot(size, shown, color=color, marker=mark, markersize=4, linewidth=1.4, label=label)
    line = max(target, _SHORTEST)
    ax.axhline(line, color=color, linewidth=0.9, linestyle=":")
    words, frame = f"{name} within {style.duration(target)}", ("axes fraction", "data")
    style.note(ax, words, (1.0, line), (-4, 3), frame=frame, ha="right", color=color, bbox=_BEHIND)


def _expected(ax: Axes, name: str, sizes: ArrayLike, values: ArrayLike, color: str) -> None:
    """Draw what theory says, where that is a wait at all."""
    wait = np.array(values, dtype=np.float64)
    wait[~(np.isfinite(wait) & (wait >= _SHORTEST))] = np.nan
    dash, label = (0, (5, 2)), f"{name}, theory"
    ax.plot(np.asarray(sizes), wait, color=color, linestyle=dash, linewidth=1.1, label=label)


def _name_today(ax: Axes, procs: int, height: float = 0.02) -> None:
    style.note(ax, f"today: {procs:,}", (procs, height), (4, 0), frame=("data", "axes fraction"))


@style.styled
def limit_curves(
    limits: ArrayLike,
    panels: Mapping[str, Mapping[str, ArrayLike]],
    *,
    target: float | None = None,
    fig: Figure | SubFigure | None = None,
) -> Figure:
    """Draw the probability of completion against the time limit [mminf2023, figs. 3 and 4].

    Parameters
    ----------
    limits : limits (s), above 0 and rising.
    panels : by its title, the curves of a panel: probabilities by name. One whose name begins
        with ``as measured`` is drawn in black.
    target : probability to mark, with the limit at which each curve first reaches it.
    fig : figure to draw in; a new one when None.
    """
    z = np.asarray(limits, dtype=np.float64)
    if z.ndim != 1 or z.size < 2 or not (z > 0).all() or not (np.diff(z) > 0).all():
        raise OptionError("limits: give at least two, above 0 and rising")
    if not panels:
        raise OptionError("no curves to draw; give at least one panel")
    fig = fig if fig is not None else style.new_figure(5.2 * len(panels), 5.0)
    axes = fig.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for ax, (name, curves) in zip(axes, panels.items(), strict=True):
        _draw_limits(style.polish(ax), z, curves, target)
        style.title(ax, name)
    axes[0].set_ylabel("probability of completion")
    return style.root(fig)


def _draw_limits(
    ax: Axes, z: np.ndarray, curves: Mapping[str, ArrayLike], target: float | None
) -> None:
    if target is not None:
        ax.axhline(target, color=style.MUTED, linewidth=0.8, linestyle=(0, (1, 2)))
        style.note(
            ax, style.percent_tick(target), (0.01, target), (0, 2), frame=("axes fraction", "data")
        )
    colours = iter(style.PALETTE[:-1] * (1 + len(curves) // (len(style.PALETTE) - 1)))
    for index, (name, values) in enumerate(curves.items()):
        curve = np.asarray(values, dtype=np.float64)
        if curve.shape != z.shape:
            raise OptionError(f"curve '{name}': {curve.size} values for {z.size} limits")
        colour = style.INK if name.startswith(_MEASURED) else next(colours)
        dash = "-" if colour == style.INK else _DASHES[index % len(_DASHES)]
        label = name
        reached = np.flatnonzero(curve >= target) if target is not None else np.empty(0, int)
        if target is not None and reached.size and reached[0] > 0:
            last = reached[0]
            at = float(np.interp(target, curve[last - 1 : last + 1], z[last - 1 : last + 1]))
            label = f"{name}: {style.duration(at)}"
            ax.plot([at], [target], "o", color=colour, markersize=4.5, zorder=3)
        ax.plot(z, curve, color=colour, linestyle=dash, linewidth=1.7, label=label)
    ax.set_xscale("log")
    ax.set_xlim(float(z[0]), float(z[-1]))
    ax.set_ylim(0, 1.02)
    ax.yaxis.set_major_locator(ticker.MultipleLocator(0.25))
    ax.yaxis.set_major_formatter(style.percent_tick)
    style.duration_axis(ax.xaxis, float(z[0]), float(z[-1]))
    ax.set_xlabel("limit (logarithmic)")
    heading = None if target is None else f"{100 * target:g} % finish at"
    ax.legend(loc="upper left", bbox_to_anchor=(0.0, -0.16), title=heading, alignment="left")
