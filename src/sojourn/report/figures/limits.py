"""The probability that a job finishes, against its time limit [mminf2023, figs. 3 and 4]."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib import ticker
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from numpy.typing import ArrayLike

from ...errors import OptionError
from .style import INK, MUTED, PALETTE, duration, duration_axis, new_figure, polish, root, styled
from .style import title as name_panel

__all__ = ["limit_curves"]

_DASHES = ("-", (0, (5, 2)), (0, (2, 1.5)), (0, (6, 2, 1.5, 2)))
_MEASURED = "as measured"


@styled
def limit_curves(
    limits: ArrayLike,
    panels: Mapping[str, Mapping[str, ArrayLike]],
    *,
    target: float | None = None,
    fig: Figure | SubFigure | None = None,
) -> Figure:
    """Draw the probability of completion against the time limit, panel by panel.

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
    fig = fig if fig is not None else new_figure(5.2 * len(panels), 5.0)
    axes = fig.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for ax, (title, curves) in zip(axes, panels.items(), strict=True):
        _panel(polish(ax), z, curves, target)
        name_panel(ax, title)
    axes[0].set_ylabel("probability of completion")
    return root(fig)


def _panel(ax: Axes, z: np.ndarray, curves: Mapping[str, ArrayLike], target: float | None) -> None:
    if target is not None:
        ax.axhline(target, color=MUTED, linewidth=0.8, linestyle=(0, (1, 2)))
        ax.annotate(
            f"{100 * target:g} %",
            (0.01, target),
            xycoords=("axes fraction", "data"),
            xytext=(0, 2),
            textcoords="offset points",
            color=MUTED,
            fontsize=8,
        )
    colours = iter(PALETTE[:-1] * (1 + len(curves) // (len(PALETTE) - 1)))
    for index, (name, values) in enumerate(curves.items()):
        curve = np.asarray(values, dtype=np.float64)
        if curve.shape != z.shape:
            raise OptionError(f"curve '{name}': {curve.size} values for {z.size} limits")
        colour = INK if name.startswith(_MEASURED) else next(colours)
        dash = "-" if colour == INK else _DASHES[index % len(_DASHES)]
        label = name
        reached = np.flatnonzero(curve >= target) if target is not None else np.empty(0, int)
        if target is not None and reached.size and reached[0] > 0:
            last = reached[0]
            at = float(np.interp(target, curve[last - 1 : last + 1], z[last - 1 : last + 1]))
            label = f"{name}: {duration(at)}"
            ax.plot([at], [target], "o", color=colour, markersize=4.5, zorder=3)
        ax.plot(z, curve, color=colour, linestyle=dash, linewidth=1.7, label=label)
    ax.set_xscale("log")
    ax.set_xlim(float(z[0]), float(z[-1]))
    ax.set_ylim(0, 1.02)
    ax.yaxis.set_major_locator(ticker.MultipleLocator(0.25))
    ax.yaxis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{100 * value:.0f} %"))
    duration_axis(ax.xaxis, float(z[0]), float(z[-1]))
    ax.set_xlabel("limit (logarithmic)")
    heading = None if target is None else f"{100 * target:g} % finish at"
    ax.legend(loc="upper left", bbox_to_anchor=(0.0, -0.16), title=heading, alignment="left")
