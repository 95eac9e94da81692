"""Figures 3 and 4 of [mminf2023]: who finishes before the time limit."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from .registry import Reproduced, Request, reproduction

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

MEAN_SERVICE = 1.0
"""x-bar, in units of time."""

MEAN_LIMITS = np.linspace(0.0, 10.0, 101)
"""z-bar along the axis, in the same unit."""

WIDTHS = (1, 3, 5)
"""k of Fig. 4."""

TARGET = 0.9
"""P_cr for which the critical limit (45) is given; the paper gives no number."""


@reproduction("mminf2023-fig3", "Probability of completion against the mean limit, one server")
def fig3(request: Request) -> Reproduced:
    """P_serv of (44), and the critical limit (45)."""
    from ..theory import completion_curve, critical_limit

    curve = completion_curve(MEAN_LIMITS, MEAN_SERVICE, 1)
    rows = [
        {"mean_limit": float(z), "completion_probability": float(p)}
        for z, p in zip(MEAN_LIMITS, curve, strict=True)
    ]
    half, enough = (critical_limit(p, MEAN_SERVICE, 1) for p in (0.5, TARGET))
    says = (
        f"completion is likelier than removal from z = {half:g} on, the mean service time; "
        f"{TARGET:g} needs z = {enough:g}"
    )
    return Reproduced(rows, says, partial(_draw, {"k = 1": curve}, {}))


@reproduction("mminf2023-fig4", "Probability of completion for requests of 1, 3 and 5 servers")
def fig4(request: Request) -> Reproduced:
    """P_serv of (48), and beside it one limit that all sub-requests share (errata 4)."""
    from ..theory import completion_curve, critical_limit

    own, shared = (
        {k: completion_curve(MEAN_LIMITS, MEAN_SERVICE, k, limits=limits) for k in WIDTHS}
        for limits in ("each", "shared")
    )
    columns = {"mean_limit": MEAN_LIMITS}
    columns |= {f"k_{k}": own[k] for k in WIDTHS}
    columns |= {f"k_{k}_shared": shared[k] for k in WIDTHS if k > 1}
    rows = [
        dict(zip(columns, map(float, row), strict=True))
        for row in zip(*columns.values(), strict=True)
    ]
    limits = ", ".join(f"{critical_limit(TARGET, MEAN_SERVICE, k):.3g}" for k in WIDTHS)
    says = (
        f"the more servers a request takes, the rarer it is completed; {TARGET:g} needs "
        f"z = {limits} for k = {', '.join(map(str, WIDTHS))}; with one limit for all "
        f"sub-requests, z = {critical_limit(TARGET, MEAN_SERVICE, WIDTHS[-1], limits='shared'):.3g}"
        f" for k = {WIDTHS[-1]}"
    )
    solid = {f"k = {k}": curve for k, curve in own.items()}
    dashed = {f"k = {k}, one limit for all": shared[k] for k in WIDTHS if k > 1}
    return Reproduced(rows, says, partial(_draw, solid, dashed))


def _draw(solid: dict[str, NDArray[np.float64]], dashed: dict[str, NDArray[np.float64]]) -> Figure:
    """Draw curves over the mean limit; the dashed ones in the colours of the last solid ones."""
    from ..report.figures.style import MUTED, PALETTE, new_axes, note, root, styled, title

    @styled
    def draw() -> Figure:
        ax = new_axes(None, 8.0, 4.2)
        for index, (name, curve) in enumerate(solid.items()):
            ax.plot(MEAN_LIMITS, curve, color=PALETTE[index], linewidth=1.6, label=name)
        for index, (name, curve) in enumerate(dashed.items(), len(solid) - len(dashed)):
            ax.plot(MEAN_LIMITS, curve, "--", color=PALETTE[index], linewidth=1.1, label=name)
        ax.axvline(MEAN_SERVICE, color=MUTED, linewidth=0.8, linestyle=":")
        note(ax, r"$\bar z = \bar x$", (MEAN_SERVICE, 1), (4, -11))
        ax.set_xlim(0, float(MEAN_LIMITS[-1]))
        ax.set_ylim(0, 1)
        ax.set_xlabel(r"mean limit $\bar z$ (in mean service times $\bar x = 1$)")
        ax.set_ylabel(r"$P_{\mathrm{serv}}$")
        if len(solid) + len(dashed) > 1:
            ax.legend(loc="lower right")
        title(ax, "Probability of completion")
        return root(ax)

    return draw()
