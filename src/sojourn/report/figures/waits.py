"""Recorded waits of the classes of a log."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from ...errors import OptionError
from .curves import draw_distribution
from .style import PALETTE, duration, new_figure, polish, styled, title

__all__ = ["class_waits"]

_CURVES = 6
_LONGEST = 24  # letters of a name in the legend


@styled
def class_waits(classes: Mapping[str, Mapping[str, NDArray[np.float64]]]) -> Figure:
    """Draw the distributions of waits, a panel for each way to class jobs.

    Parameters
    ----------
    classes : waits (s) by the name of the class, by what jobs are classed by. Of many classes those
        with most hours waited are drawn.
    """
    if not classes:
        raise OptionError("no classes to draw; give at least one way to class the jobs")
    count = len(classes)
    columns = min(count, 3)
    rows = -(-count // columns)
    fig = new_figure(max(4.0 * columns, 5.5), 4.2 * rows)
    axes = fig.subplots(rows, columns, squeeze=False)
    for ax in axes.flat[count:]:
        ax.set_axis_off()
    for ax, (by, waits) in zip(axes.flat, classes.items(), strict=False):
        chosen = sorted(waits, key=lambda name: -float(waits[name].sum()))[:_CURVES]
        shown = {name: waits[name] for name in chosen}
        draw_distribution(polish(ax), shown, "wait", marks=False)
        left = len(waits) - len(chosen)
        title(
            ax, f"Wait by {by}", f"{len(chosen)} of {len(waits)} with most waiting" if left else ""
        )
        lines = [
            Line2D([], [], color=PALETTE[place % len(PALETTE)],
                   label=f"{_short(name)} (mean {duration(float(values.mean()))})")
            for place, (name, values) in enumerate(shown.items())
        ]  # fmt: skip
        # Below the panel: the curves and the shares that did not wait need the room inside.
        ax.legend(handles=lines, loc="upper center", bbox_to_anchor=(0.5, -0.16), fontsize=7.5)
    return fig


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST else name[: _LONGEST - 1] + "…"
