"""The front of three measures: what it costs in waits to save energy and carbon dioxide."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from ...arrays import Floats
from ...errors import OptionError
from . import style

_LOG = 30.0
"""Ratio of the largest to the least value from which on an axis is logarithmic."""


@style.styled
def saving_front(
    waits: ArrayLike,
    energy: ArrayLike,
    carbon: ArrayLike,
    *,
    settings: Mapping[str, ArrayLike] | None = None,
    others: Mapping[str, ArrayLike] | None = None,
) -> Figure:
    """Draw what points of a front save, against what they add to the mean wait, with intervals.

    Parameters
    ----------
    waits : of each point what is added to the mean wait (s), and the ends of its interval.
    energy : of each, the share of the energy that is saved, and the ends of its interval.
    carbon : of each, the share of the carbon dioxide that is saved: the colour.
    settings : of each, the values of what was varied, by name: a panel each, below.
    others : further points by name: what is added to the mean wait (s), and the shares of energy
        and of carbon dioxide that are saved.
    """
    cost, gain = (np.asarray(x, dtype=np.float64).reshape(-1, 3) for x in (waits, energy))
    clean = np.asarray(carbon, dtype=np.float64).reshape(-1)
    if not len(cost) == len(gain) == len(clean) or not len(cost):
        raise OptionError("waits, energies and carbon differ in number or are none; give each")
    panels = dict(settings or {})
    fig = style.new_figure(9.0, 4.6 if not panels else 7.0)
    grid = fig.add_gridspec(2 if panels else 1, max(len(panels), 1), height_ratios=_heights(panels))
    ax = style.polish(fig.add_subplot(grid[0, :]))
    size, unit = (3600.0, "h") if cost[:, 0].max() >= 3600 else (60.0, "min")
    x, y = cost / size, 100 * gain
    ax.errorbar(
        *(x[:, 0], y[:, 0]),
        xerr=_ends(x),
        yerr=_ends(y),
        fmt="none",
        ecolor=style.MUTED,
        elinewidth=0.7,
        alpha=0.35,
        zorder=1,
    )
    dots = ax.scatter(x[:, 0], y[:, 0], c=100 * clean, cmap="viridis", s=26, zorder=2)
    bar = fig.colorbar(dots, ax=ax, pad=0.02)
    bar.set_label("CO2 saved (%)")
    bar.ax.yaxis.set_major_formatter(style.number_tick)
    _draw_others(ax, others or {}, size)
    ax.set_xlabel(f"added to the mean wait ({unit})")
    ax.set_ylabel("energy saved (%)")
    style.title(ax, "The best trade-offs", "95 % intervals of paired differences")
    for column, (name, values) in enumerate(panels.items()):
        below = style.polish(fig.add_subplot(grid[1, column]))
        _draw_setting(below, x[:, 0], np.asarray(values, dtype=np.float64), name)
        below.set_xlabel(f"added to the mean wait ({unit})")
    return fig


def _heights(panels: Mapping[str, ArrayLike]) -> list[float]:
    return [2.0, 1.0] if panels else [1.0]


def _draw_others(ax: Axes, others: Mapping[str, ArrayLike], size: float) -> None:
    """Single points, with their names beside them."""
    for name, point in others.items():
        wait, saved, clean = np.asarray(point, dtype=np.float64).reshape(3)
        at = (wait / size, 100 * saved)
        ax.plot(*at, marker="D", markersize=6, color=style.PALETTE[1], zorder=3)
        words = f"{name}: CO2 {100 * clean:.1f} %"
        late = at[0] > 0.6 * ax.get_xlim()[1]
        side = "right" if late else "left"
        style.note(ax, words, at, (-8 if late else 8, -3), ha=side, color=style.INK)


def _draw_setting(ax: Axes, x: Floats, values: Floats, name: str) -> None:
    """The value of what was varied along the front."""
    ax.scatter(x, values, s=10, color=style.PALETTE[0])
    above = values[values > 0]
    if len(above) == len(values) and above.max() > _LOG * above.min():
        ax.set_yscale("log")
        style.log_axis(ax.yaxis)
    else:
        ax.yaxis.set_major_formatter(style.number_tick)
    style.title(ax, name)


def _ends(values: Floats) -> Floats:
    """How far an interval reaches below and above its estimate, as Matplotlib takes it."""
    reach = np.abs(values[:, 1:] - values[:, :1]).T
    return np.where(np.isfinite(reach), reach, 0.0)
