"""What failures cost: work that is lost, dumps and restores, side by side."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure, SubFigure

from ...errors import OptionError
from . import style

_PARTS = {
    "lost_core_hours": ("lost", style.PALETTE[1]),
    "dump_core_hours": ("dumps", style.PALETTE[0]),
    "restore_core_hours": ("restores", style.PALETTE[2]),
}


@style.styled
def failure_costs(
    costs: Mapping[str, Mapping[str, Any]], *, fig: Figure | SubFigure | None = None
) -> Figure | SubFigure:
    """Draw what failures cost in several runs, as stacked bars.

    Parameters
    ----------
    costs : by the name of a run, its ``summary["failures"]``, or means of several of them.
    fig : figure to draw in; a new one when None.
    """
    if not costs:
        raise OptionError("no runs are given; there is nothing to draw")
    names = list(costs)
    fig = fig if fig is not None else style.new_figure(8.0, 1.6 + 0.4 * len(names))
    ax = style.polish(fig.subplots())
    left = np.zeros(len(names))
    place = np.arange(len(names))
    for key, (label, color) in _PARTS.items():
        values = np.array([float(costs[name].get(key, 0.0)) for name in names])
        ax.barh(place, values, left=left, color=color, label=label, height=0.7)
        left += values
    for y, (end, name) in enumerate(zip(left, names, strict=True)):
        ax.annotate(
            f"goodput {100 * float(costs[name]['goodput']):.1f} %",
            (end, y),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            color=style.INK,
        )
    ax.set_yticks(place, names)
    ax.invert_yaxis()
    ax.yaxis.grid(False)
    ax.xaxis.set_major_formatter("{x:,.0f}")
    # Room for what stands behind the longest bar.
    ax.set_xlim(0, 1.25 * max(float(left.max()), 1e-9))
    ax.set_xlabel("core-hours that serve nobody")
    ax.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=len(_PARTS))
    return fig
