"""Nodes that sleep: how many are in which state over time, and where the energy went."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.patheffects import withStroke
from numpy.typing import ArrayLike, NDArray

from ...arrays import Floats
from ...errors import OptionError
from . import style
from .stacking import shares, stack

if TYPE_CHECKING:
    import pandas as pd

_EXACT = 2000
"""Instants up to which every one of them is drawn."""

# Work is dark and what is wasted bright; a node that sleeps is nearly not there.
_LOOK = {
    "busy": ("busy", style.PALETTE[0]),
    "idle": ("idle", style.PALETTE[5]),
    "leaving": ("booting", style.PALETTE[1]),
    "entering": ("going to sleep", style.PALETTE[3]),
    "sleep": ("asleep", "#DCE6EC"),
    "failed": ("failed", style.INK),
}
_HALO = [withStroke(linewidth=2.5, foreground="white")]
_ALIKE = 1.35
"""How much wider than another an interval may be that is said to be alike."""
"""Keeps lines out of words."""
_NAMED = 0.045
"""Share of the longest bar from which on a part has its number written on it."""


@style.styled
def node_states(
    table: pd.DataFrame | Mapping[str, ArrayLike],
    *,
    ax: Axes | None = None,
    unix_start: float | None = None,
) -> Figure:
    """Draw how many nodes are busy, idle, booting, going to sleep, asleep and failed over time.

    Tables of more than 2,000 instants are drawn as exact time averages over bins.

    Parameters
    ----------
    table : columns time (s), busy, idle, entering, sleep, leaving and failed, such as
        `Result.nodes_by_state`.
    ax : axes to draw in; a new figure when None.
    unix_start : Unix time (s) of second 0; given, the time axis shows dates.
    """
    time = style.column(table, "time")
    if time.size == 0:
        raise OptionError("the table has no rows; there is nothing to draw")
    counts = {state: style.column(table, state) for state in _LOOK}
    nodes = sum(float(count[0]) for count in counts.values())
    axes = style.new_axes(ax, 10.0, 3.6)
    clock = style.TimeAxis.spanning(time[0], time[-1], unix_start)
    share = shares(time, counts)
    colors = {state: color for state, (_, color) in _LOOK.items()}
    caption = stack(axes, time, counts, colors, clock, exact=_EXACT)
    axes.set_ylim(0, max(nodes, 1.0))
    axes.set_ylabel(f"of {nodes:,.0f} nodes")
    axes.yaxis.set_major_formatter(style.number_tick)
    clock.mark(axes, time[0], time[-1])
    style.title(axes, "States of the nodes", caption)
    handles = [
        Patch(facecolor=color, label=f"{name} {100 * share[state]:.1f} %")
        for state, (name, color) in _LOOK.items()
        if share[state] > 0
    ]
    axes.legend(
        handles=handles, loc="upper left", bbox_to_anchor=(0.0, -0.2), ncols=max(len(handles), 1)
    )
    return style.root(axes)


@style.styled
def energy_by_cause(runs: Mapping[str, Mapping[str, Any]], *, ax: Axes | None = None) -> Figure:
    """Draw where the energy of several runs went, one stacked bar for each.

    The share behind a bar is how much less, or more, it is than the first.

    Parameters
    ----------
    runs : by name, the summary of a run, or its ``summary["energy"]``.
    ax : axes to draw in; a new figure when None.
    """
    if not runs:
        raise OptionError("no runs are given; there is nothing to draw")
    bills = {name: run.get("energy", run) for name, run in runs.items()}
    without = next((name for name, bill in bills.items() if "busy_joules" not in bill), None)
    if without is not None:
        raise OptionError(f"'{without}' has no 'busy_joules'; give the summary of a run")
    joules = {
        state: np.array([float(bill.get(f"{state}_joules", 0.0)) for bill in bills.values()])
        for state in _LOOK
    }
    total = np.sum(list(joules.values()), axis=0)
    longest = float(total.max())
    size, unit = next(
        (size, unit)
        for size, unit in ((3.6e12, "GWh"), (3.6e9, "MWh"), (3.6e6, "kWh"), (1.0, "J"))
        if longest >= 10 * size or size == 1.0
    )
    axes = style.new_axes(ax, 9.0, 1.4 + 0.45 * len(bills))
    place, left = np.arange(len(bills)), np.zeros(len(bills))
    for state, (name, color) in _LOOK.items():
        if not joules[state].any():
            continue
        axes.barh(place, joules[state] / size, left=left / size, color=color, label=name)
        for y, (begin, part) in enumerate(zip(left, joules[state], strict=True)):
            if part >= _NAMED * longest:
                ink = style.INK if state in ("sleep", "idle") else "white"
                middle = (begin + part / 2) / size
                number = style.number(part / size)
                style.note(axes, number, (middle, y), (0, 0), color=ink, ha="center", va="center")
        left = left + joules[state]
    for y, whole in enumerate(total):
        words = f"{style.number(whole / size)} {unit}"
        if y and total[0] > 0:
            words += f"  {100 * (whole / total[0] - 1):+.1f} %"
        style.note(axes, words, (whole / size, y), (5, 0), color=style.INK, va="center")
    axes.set_yticks(place, list(bills))
    axes.invert_yaxis()
    axes.yaxis.grid(False)
    axes.xaxis.set_major_formatter(style.number_tick)
    # Room for what stands behind the longest bar.
    axes.set_xlim(0, 1.22 * longest / size if longest > 0 else 1.0)
    axes.set_xlabel(f"energy ({unit})")
    axes.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=len(_LOOK))
    return style.root(axes)


@style.styled
def sleep_curve(
    idle_times: ArrayLike,
    saved: ArrayLike,
    waits: ArrayLike,
    *,
    knee: int | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Draw what sleeping saves against what it adds to the mean wait, with intervals.

    Parameters
    ----------
    idle_times : s for which nodes are idle before they go to sleep.
    saved : of each, the share of the energy that is saved, and the ends of its interval.
    waits : of each, what is added to the mean wait (s), and the ends of its interval.
    knee : place of the idle time that is marked.
    ax : axes to draw in; a new figure when None.
    """
    times = np.asarray(idle_times, dtype=np.float64)
    gain, cost = (np.asarray(x, dtype=np.float64).reshape(-1, 3) for x in (saved, waits))
    if not len(times) == len(gain) == len(cost) or not len(times):
        raise OptionError("idle times, savings and waits differ in number or are none; give each")
    axes = style.new_axes(ax, 8.0, 4.4)
    size, unit = (60.0, "min") if np.abs(cost[:, 0]).max() >= 300 else (1.0, "s")
    x, y = cost / size, 100 * gain
    axes.axhline(0, color=style.FAINT, linewidth=0.8)
    axes.axvline(0, color=style.FAINT, linewidth=0.8)
    # Many intervals that are wide would hide the curve, and look like a grid.
    crowded = len(times) > 1 and _is_wide(x, y)
    one = int(np.argmax(y[:, 0])) if knee is None else knee
    shown = np.array([one]) if crowded else np.arange(len(times))
    axes.errorbar(
        *(x[shown, 0], y[shown, 0]),
        xerr=_ends(x[shown]),
        yerr=_ends(y[shown]),
        fmt="none",
        ecolor=style.PALETTE[4],
        elinewidth=1.0,
        alpha=0.5,
        zorder=1,
    )
    order = np.argsort(times)
    line, dots = x[order, 0], y[order, 0]
    axes.plot(line, dots, color=style.PALETTE[0], linewidth=1.2, marker="o", markersize=4, zorder=2)
    axes.plot([0], [0], color=style.INK, marker="o", markersize=4, zorder=2)
    style.note(axes, "never", (0, 0), (7, -11), color=style.INK, path_effects=_HALO)
    if knee is not None:
        axes.plot(
            *(x[knee, :1], y[knee, :1]),
            marker="o",
            markersize=11,
            markerfacecolor="none",
            markeredgecolor=style.PALETTE[1],
            markeredgewidth=1.6,
            zorder=3,
        )
    # Limits are those of the estimates with some room: intervals of small logs are wide.
    cut = _frame(axes, x, y, shown)
    taken: list[tuple[float, float, float]] = []
    for k in sorted(range(len(times)), key=lambda k: (k != knee, times[k])):
        place = axes.transData.transform((x[k, 0], y[k, 0])) / axes.figure.dpi
        near = any(
            -0.55 < place[0] - a < width and abs(place[1] - b) < 0.16 for a, b, width in taken
        )
        if not near:
            words = f"{style.duration(times[k])}{' (knee)' if k == knee else ''}"
            taken.append((float(place[0]), float(place[1]), max(0.55, 0.08 * len(words))))
            color = style.PALETTE[1] if k == knee else style.INK
            style.note(axes, words, (x[k, 0], y[k, 0]), (7, -11), color=color, path_effects=_HALO)
    axes.set_xlabel(f"added to the mean wait ({unit})")
    axes.set_ylabel("energy saved (%)")
    axes.xaxis.set_major_formatter(style.number_tick)
    axes.yaxis.set_major_formatter(style.number_tick)
    words = f"95 % intervals{cut}"
    if crowded:
        name = f"{style.duration(times[one])}{', cut' if cut else ''}"
        words = f"95 % interval of {name}; {_others(x, y, one, unit)}"
    style.title(axes, "What sleeping saves and costs, by idle time", words)
    return style.root(axes)


def _is_wide(x: Floats, y: Floats) -> bool:
    """Whether half of the intervals are wider than a third of what the estimates span, with 0."""
    spans = (np.ptp(np.append(values[:, 0], 0.0)) or 1.0 for values in (x, y))
    widths = (np.nanmedian(values[:, 2] - values[:, 1]) for values in (x, y))
    return any(3 * width > span for width, span in zip(widths, spans, strict=True))


def _others(x: Floats, y: Floats, one: int, unit: str) -> str:
    """Say how wide the intervals are that are not drawn, beside the one that is."""
    halves = [(values[:, 2] - values[:, 1]) / 2 for values in (x, y)]
    if all(np.nanmax(half) <= _ALIKE * half[one] for half in halves):
        return "others alike"
    wait, gain = (np.nanmax(half) for half in halves)
    return f"others up to ±{wait:.3g} {unit} and ±{gain:.2g} %"


def _ends(values: Floats) -> Floats:
    """How far an interval reaches below and above its estimate, as Matplotlib takes it."""
    reach = np.abs(values[:, 1:] - values[:, :1]).T
    return np.where(np.isfinite(reach), reach, 0.0)


def _frame(axes: Axes, x: Floats, y: Floats, shown: NDArray[np.intp]) -> str:
    """Show all estimates, and of intervals drawn what leaves the curve readable; say if cut."""
    cut = ""
    for values, limits in ((x, axes.set_xlim), (y, axes.set_ylim)):
        low, high = min(0.0, values[:, 0].min()), max(0.0, values[:, 0].max())
        room = (high - low) or 1.0
        ends = float(np.nanmin(values[shown, 1])), float(np.nanmax(values[shown, 2]))
        # Without an interval at the ends the estimates need room themselves.
        ends = min(ends[0], low), max(ends[1], high)
        low, high = max(ends[0], low - 0.75 * room), min(ends[1], high + 0.75 * room)
        left, right = min(low, 0.0) - 0.12 * room, max(high, 0.0) + 0.12 * room
        if ends[0] < left or ends[1] > right:
            cut = ", cut where they are wide"
        limits(left, right)
    return cut
