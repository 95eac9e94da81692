"""Areas on top of each other over time: states of which each thing is in one."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes

from ...arrays import Floats
from . import style
from .binning import Path, bin_path

_BINS = 360


def shares(time: Floats, levels: Mapping[str, Floats]) -> dict[str, float]:
    """Return the share of each state in the whole over all the time; levels hold from then on."""
    lapse = np.diff(time)
    areas = {state: float(np.sum(lapse * level[:-1])) for state, level in levels.items()}
    whole = sum(areas.values())
    return {state: area / whole if whole > 0 else 0.0 for state, area in areas.items()}


def stack(
    ax: Axes,
    time: Floats,
    levels: Mapping[str, Floats],
    colors: Mapping[str, str],
    clock: style.TimeAxis,
    *,
    exact: int,
) -> str:
    """Stack levels that hold from each instant (s) on, in the order of the colours.

    More than `exact` instants are drawn as means over bins; what is returned says so.
    """
    edges, caption = time, ""
    drawn = dict(levels)
    if time.size > exact:
        edges = np.linspace(time[0], time[-1], _BINS + 1)
        caption = f"means over {style.duration(edges[1] - edges[0])}"
        for state, level in levels.items():
            mean = bin_path(Path.of(time, level), edges).mean
            drawn[state] = np.append(mean, mean[-1])
    below = np.zeros(len(edges))
    for state, color in colors.items():
        above = below + drawn[state]
        ax.fill_between(clock(edges), below, above, step="post", color=color, linewidth=0)
        below = above
    return caption
