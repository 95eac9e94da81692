"""Distributions of what jobs met, and what a threshold trades for what."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib import ticker
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.lines import Line2D
from numpy.typing import ArrayLike, NDArray

from ...errors import OptionError
from ...measures import quantiles
from ...measures.catalogue import DISTRIBUTIONS
from .style import (
    INK,
    MUTED,
    PALETTE,
    Table,
    column,
    duration,
    duration_axis,
    log_axis,
    new_axes,
    new_figure,
    number,
    polish,
    root,
    styled,
    title,
)

__all__ = ["compare", "distributions", "draw_distribution", "trade_off"]

Floats = NDArray[np.float64]

_POINTS = 800
_MARKS = (0.5, 0.9, 0.99)
_DASHES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (2, 1.5)), (0, (6, 2, 1.5, 2)))
_PANELS = tuple(
    (name, DISTRIBUTIONS[name].label.capitalize())
    for name in ("wait", "slowdown", "bounded_slowdown")
)


def _curve(ordered: Floats, low: float) -> tuple[Floats, Floats]:
    """Return the distribution function from `low` on, at no more points than a picture shows."""
    share = np.arange(1, ordered.size + 1) / ordered.size
    last = np.append(np.flatnonzero(np.diff(ordered) > 0), ordered.size - 1)
    value, share = ordered[last], share[last]
    inside = value > low
    at_low = float(share[~inside][-1]) if not inside.all() else 0.0
    value, share = value[inside], share[inside]
    if value.size > _POINTS:
        # Evenly in height, and the highest hundred in full, where single jobs matter.
        keep = np.searchsorted(share, np.linspace(at_low, 1.0, _POINTS))
        keep = np.unique(np.concatenate((keep, np.arange(value.size - 100, value.size))))
        value, share = value[keep[keep < value.size]], share[keep[keep < value.size]]
    return np.append(low, value), np.append(at_low, share)


def draw_distribution(ax: Axes, runs: Mapping[str, Floats], name: str, *, marks: bool) -> None:
    """Draw distribution functions on a logarithmic axis.

    Parameters
    ----------
    runs : values by the name of the run; values that are not finite are left out and counted.
    name : the measure: wait (s; zeros are stated in words, having no place on the axis),
        slowdown or bounded_slowdown.
    marks : whether to mark the median, the 90th and the 99th percentile of each run.
    """
    seconds = name == "wait"
    text = duration if seconds else number
    ordered = {run: np.sort(value[np.isfinite(value)]) for run, value in runs.items()}
    ordered = {run: value for run, value in ordered.items() if value.size}
    if not ordered:
        raise OptionError(f"column '{name}' has no finite value; there is nothing to draw")
    positive = np.concatenate([v[v > 0] for v in ordered.values()])
    positive = positive if positive.size else np.ones(1)
    high = max(float(positive.max()), 10.0 if not seconds else 0.0)
    low = min(max(float(positive.min()), min(1.0, high / 1e6)), high / 10) if seconds else 1.0
    for index, (_, value) in enumerate(ordered.items()):
        color = PALETTE[index % len(PALETTE)]
        x, y = _curve(value, low)
        dash = _DASHES[index // len(PALETTE) % len(_DASHES)]
        # Under a later curve an earlier one still shows as its rim.
        width = 1.5 + 1.3 * (len(ordered) - 1 - index) / max(len(ordered) - 1, 1)
        ax.step(x, y, where="post", color=color, linestyle=dash, linewidth=width)
        if not marks:
            continue
        for level in _MARKS:
            at = float(quantiles(value, (level,))[0])
            if at <= low:
                continue
            ax.plot([at], [level], "o", color=color, markersize=4.5, zorder=3)
            late = np.log(at / low) > 0.6 * np.log(high / low)
            ax.annotate(
                f"{100 * level:.0f} %: {text(at)}",
                (at, level),
                xytext=(-6, 4) if late else (7, -9),
                textcoords="offset points",
                ha="right" if late else "left",
                color=INK,
                fontsize=8,
            )
    ax.set_xscale("log")
    ax.set_xlim(low, high * 1.05)
    ax.set_ylim(0, 1.04)
    ax.yaxis.set_major_locator(ticker.MultipleLocator(0.25))
    ax.yaxis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{100 * value:.0f} %"))
    if seconds:
        duration_axis(ax.xaxis, low, high)
        ax.set_xlabel("wait (logarithmic)")
    else:
        log_axis(ax.xaxis)
        ax.set_xlabel(f"{name.replace('_', ' ')} (ratio, logarithmic)")
    ax.set_ylabel("share of jobs at or below")
    _state_floor(ax, ordered, 0.0 if seconds else 1.0, seconds)
    left_out = sum(int((~np.isfinite(v)).sum()) for v in runs.values())
    title(ax, dict(_PANELS)[name], f"{left_out:,} jobs without a value" if left_out else "")


def _state_floor(ax: Axes, ordered: Mapping[str, Floats], floor: float, seconds: bool) -> None:
    """Say in words how many jobs have the smallest possible value."""
    shares = [float(np.mean(value <= floor)) for value in ordered.values()]
    if max(shares) == 0:
        return
    what = "did not wait" if seconds else "have exactly 1"
    for index, share in enumerate(shares):
        ax.annotate(
            f"{100 * share:.1f} % {what}",
            (0.98, 0.03),
            xycoords="axes fraction",
            xytext=(0, 11 * (len(shares) - 1 - index)),
            textcoords="offset points",
            ha="right",
            va="bottom",
            bbox={"facecolor": "white", "alpha": 0.8, "edgecolor": "none", "pad": 0.5},
            color=PALETTE[index % len(PALETTE)],
            fontsize=8,
        )


@styled
def distributions(jobs: Table, *, fig: Figure | SubFigure | None = None) -> Figure:
    """Draw the distributions of wait, slowdown and bounded slowdown.

    Parameters
    ----------
    jobs : columns wait (s), slowdown, bounded_slowdown; NaN where a job was not accepted.
    fig : figure to draw in; a new one when None.
    """
    return _three({"": jobs}, fig)


@styled
def compare(runs: Mapping[str, Table], *, fig: Figure | SubFigure | None = None) -> Figure:
    """Draw the distributions of several runs over each other.

    Parameters
    ----------
    runs : jobs of each run (see `distributions`) by its name.
    fig : figure to draw in; a new one when None.
    """
    if not runs:
        raise OptionError("no runs to compare; give at least one")
    return _three(runs, fig)


def _three(runs: Mapping[str, Table], fig: Figure | SubFigure | None) -> Figure:
    named = list(runs) != [""]
    fig = fig if fig is not None else new_figure(10.0, 3.9 if named else 3.5)
    axes = fig.subplots(1, 3, sharey=True)
    for ax, (name, _) in zip(axes, _PANELS, strict=True):
        values = {run: column(jobs, name) for run, jobs in runs.items()}
        draw_distribution(polish(ax), values, name, marks=not named)
        if ax is not axes[0]:
            ax.set_ylabel("")
    if named:
        lines = []
        for index, (run, jobs) in enumerate(runs.items()):
            wait = column(jobs, "wait")
            lines.append(
                Line2D(
                    [],
                    [],
                    color=PALETTE[index % len(PALETTE)],
                    linestyle=_DASHES[index // len(PALETTE) % len(_DASHES)],
                    label=f"{run} (mean wait {duration(float(np.nanmean(wait)))})",
                )
            )
        fig.legend(handles=lines, loc="outside lower center", ncols=min(len(lines), 4))
    return root(fig)


@styled
def trade_off(
    k: ArrayLike,
    energy: ArrayLike,
    workload: ArrayLike,
    *,
    plane: bool = False,
    unit: str = "per unit time",
    ax: Axes | None = None,
) -> Figure:
    """Draw energy and mean workload against the switching threshold [rumyantsev2018, fig. 3].

    Parameters
    ----------
    k : thresholds of the workload (s of work).
    energy : mean energy per unit time at each threshold.
    workload : time average of the workload at each threshold (s of work).
    plane : draw energy against workload instead, thresholds along the curve.
    unit : unit of energy, for its axis.
    ax : axes to draw in; a new figure when None.
    """
    threshold, cost, work = (np.asarray(v, dtype=np.float64) for v in (k, energy, workload))
    if not threshold.shape == cost.shape == work.shape or threshold.size == 0:
        raise OptionError("k, energy and workload differ in length or are empty; give one of each")
    ax = new_axes(ax, 6.4 if plane else 8.0, 4.2)
    if plane:
        _plane(ax, threshold, cost, work, unit)
        return root(ax)
    ax.plot(threshold, cost, color=PALETTE[1], marker="o", markersize=3.5, linewidth=1.4)
    ax.set_xlabel("switching threshold $k$ (s of work)")
    ax.set_ylabel(f"mean energy ({unit})", color=PALETTE[1])
    other = polish(ax.twinx(), grid=False)
    other.plot(threshold, work, color=PALETTE[0], marker="s", markersize=3.5, linewidth=1.4)
    other.set_ylabel("mean workload (s of work)", color=PALETTE[0])
    other.spines["right"].set_visible(True)
    other.spines["right"].set_color(MUTED)
    other.spines["left"].set_visible(False)
    for axis in (ax.xaxis, ax.yaxis, other.yaxis):
        axis.set_major_formatter(ticker.ScalarFormatter(useMathText=True))
    ax.ticklabel_format(axis="x", scilimits=(-2, 4))
    other.ticklabel_format(axis="y", scilimits=(-2, 4))
    lines = [
        Line2D([], [], color=PALETTE[1], marker="o", markersize=3.5, label="energy (left)"),
        Line2D([], [], color=PALETTE[0], marker="s", markersize=3.5, label="workload (right)"),
    ]
    ax.legend(handles=lines, loc="center right")
    title(ax, "Energy and workload by threshold")
    return root(ax)


def _plane(ax: Axes, threshold: Floats, cost: Floats, work: Floats, unit: str) -> None:
    ax.plot(work, cost, color=MUTED, linewidth=0.9, zorder=1)
    dots = ax.scatter(work, cost, c=threshold, cmap="viridis", s=26, zorder=2)
    bar = root(ax).colorbar(dots, ax=ax, pad=0.02)
    bar.outline.set_visible(False)
    bar.set_label("threshold $k$ (s of work)")
    bar.formatter = ticker.ScalarFormatter(useMathText=True)
    bar.formatter.set_powerlimits((-2, 4))
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(ticker.ScalarFormatter(useMathText=True))
    ax.ticklabel_format(axis="x", scilimits=(-2, 4))
    ax.set_xlabel("mean workload (s of work)")
    ax.set_ylabel(f"mean energy ({unit})")
    title(ax, "Energy against workload")
