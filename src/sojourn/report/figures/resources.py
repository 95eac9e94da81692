"""Resources of named nodes over time: used, stranded, free and down."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from matplotlib import ticker
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.patches import Patch
from numpy.typing import ArrayLike

from ...arrays import Floats
from ...errors import OptionError
from ...measures.fragmentation import STATES
from . import style
from .stacking import shares, stack

if TYPE_CHECKING:
    import pandas as pd


_EXACT = 4000
"""Instants up to which every one of them is drawn."""

_COLORS = {
    "used": style.PALETTE[0],
    "stranded": style.PALETTE[1],
    "free": "#F2F2F2",
    "down": style.MUTED,
}


def resources_of(names: list[str]) -> list[str]:
    """Return the resources that a table is about, by the names of its columns."""
    end = f"_{STATES[0]}"
    return [name.removesuffix(end) for name in names if name.endswith(end)]


@style.styled
def fragmentation(
    table: pd.DataFrame | Mapping[str, ArrayLike],
    *,
    fig: Figure | SubFigure | None = None,
    unix_start: float | None = None,
) -> Figure:
    """Draw what is used, stranded, free and down of each resource over time.

    Stranded is what nobody can use because another resource of its node is used up. Tables of more
    than 4,000 instants are drawn as exact time averages over bins.

    Parameters
    ----------
    table : columns time (s) and, for each resource, ``NAME_used``, ``NAME_stranded``, ``NAME_free``
        and ``NAME_down``, such as `Result.fragmentation`.
    fig : figure to draw in; a new one when None.
    unix_start : Unix time (s) of second 0; given, the time axis shows dates.
    """
    names = resources_of([str(name) for name in iter(table)])
    if not names:
        raise OptionError("the table has no column such as 'cores_used'; this picture needs it")
    time = style.column(table, "time")
    if time.size == 0:
        raise OptionError("the table has no rows; there is nothing to draw")
    fig = fig if fig is not None else style.new_figure(10.0, 1.2 + 1.9 * len(names))
    axes: list[Axes] = [
        style.polish(ax) for ax in np.atleast_1d(fig.subplots(len(names), 1, sharex=True))
    ]
    clock = style.TimeAxis.spanning(time[0], time[-1], unix_start)
    drawn: dict[str, bool] = {}
    for ax, name in zip(axes, names, strict=True):
        levels = {state: style.column(table, f"{name}_{state}") for state in STATES}
        caption = _draw(ax, name, time, levels, clock)
        drawn |= {state: True for state, level in levels.items() if level.any()}
        share = shares(time, levels)
        words = f"{100 * share['used']:.1f} % used, {100 * share['stranded']:.1f} % stranded"
        style.title(ax, f"{name}: {words}", caption)
    for ax in axes:
        clock.mark(ax, time[0], time[-1], label=ax is axes[-1])
    handles = [
        Patch(facecolor=_COLORS[state], edgecolor=style.FAINT, label=state)
        for state in STATES
        if state in drawn
    ]
    axes[-1].legend(
        handles=handles, loc="upper left", bbox_to_anchor=(0.0, -0.28), ncols=len(handles)
    )
    return style.root(fig)


def _draw(
    ax: Axes, name: str, time: Floats, levels: dict[str, Floats], clock: style.TimeAxis
) -> str:
    """Stack the states; return how they were drawn when not exactly."""
    capacity = sum(float(level[0]) for level in levels.values())
    size = max(capacity, 1.0)
    parts = {state: level / size for state, level in levels.items()}
    order = {state: _COLORS[state] for state in ("used", "stranded", "down", "free")}
    caption = stack(ax, time, parts, order, clock, exact=_EXACT)
    ax.set_ylim(0, 1)
    ax.yaxis.set_major_formatter(ticker.PercentFormatter(1.0))
    ax.set_ylabel(f"of {_amount(name, capacity)}")
    return caption


def _amount(name: str, capacity: float) -> str:
    """Return how much there is of a resource; memory is counted in KB."""
    if name != "memory":
        return f"{capacity:,.0f} {name}"
    size, unit = next(
        (size, unit)
        for size, unit in ((2.0**30, "TB"), (2.0**20, "GB"), (2.0**10, "MB"), (1.0, "KB"))
        if capacity >= size or size == 1.0
    )
    return f"{capacity / size:,.4g} {unit}"
