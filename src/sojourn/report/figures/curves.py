"""Distributions of waits and slowdowns, and what a threshold trades for what."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib import ticker
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.lines import Line2D
from numpy.typing import ArrayLike

from ...arrays import Floats
from ...errors import OptionError
from ...measures import quantiles
from ...measures.catalogue import DISTRIBUTIONS
from . import style
from .binning import distribution_curve

_POINTS = 800
_CLASSES = 6
_LONGEST = 24  # letters of a name in the legend
_MARKS = (0.5, 0.9, 0.99)
_DASHES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (2, 1.5)), (0, (6, 2, 1.5, 2)))
_PANELS = ("wait", "slowdown", "bounded_slowdown")


def _line(index: int) -> dict[str, Any]:
    """Return how the curve of a run is drawn, by its place among the runs."""
    dash = _DASHES[index // len(style.PALETTE) % len(_DASHES)]
    return {"color": style.PALETTE[index % len(style.PALETTE)], "linestyle": dash}


def draw_distribution(ax: Axes, runs: Mapping[str, Floats], name: str, *, marks: bool) -> None:
    """Draw distribution functions of ``wait`` (s), ``slowdown`` or ``bounded_slowdown`` by run.

    Values that are not finite are left out and counted; zeros, which have no place on a logarithmic
    axis, are stated in words. `marks` adds the median, the 90th and the 99th percentile.
    """
    seconds = name == "wait"
    text = style.duration if seconds else style.number
    ordered = {run: np.sort(value[np.isfinite(value)]) for run, value in runs.items()}
    ordered = {run: value for run, value in ordered.items() if value.size}
    if not ordered:
        raise OptionError(f"column '{name}' has no finite value; there is nothing to draw")
    positive = np.concatenate([v[v > 0] for v in ordered.values()])
    positive = positive if positive.size else np.ones(1)
    high = max(float(positive.max()), 10.0 if not seconds else 0.0)
    low = min(max(float(positive.min()), min(1.0, high / 1e6)), high / 10) if seconds else 1.0
    for index, value in enumerate(ordered.values()):
        color = style.PALETTE[index % len(style.PALETTE)]
        x, y = distribution_curve(value, low, _POINTS)
        # Under a later curve an earlier one still shows as its rim.
        width = 1.5 + 1.3 * (len(ordered) - 1 - index) / max(len(ordered) - 1, 1)
        ax.step(x, y, where="post", linewidth=width, **_line(index))
        if not marks:
            continue
        for level in _MARKS:
            at = float(quantiles(value, (level,))[0])
            if at <= low:
                continue
            ax.plot([at], [level], "o", color=color, markersize=4.5, zorder=3)
            late = np.log(at / low) > 0.6 * np.log(high / low)
            words, shift = f"{100 * level:.0f} %: {text(at)}", (-6, 4) if late else (7, -9)
            style.note(
                ax, words, (at, level), shift, ha="right" if late else "left", color=style.INK
            )
    ax.set_xscale("log")
    ax.set_xlim(low, high * 1.05)
    ax.set_ylim(0, 1.04)
    ax.yaxis.set_major_locator(ticker.MultipleLocator(0.25))
    ax.yaxis.set_major_formatter(style.percent_tick)
    if seconds:
        style.duration_axis(ax.xaxis, low, high)
        ax.set_xlabel("wait (logarithmic)")
    else:
        style.log_axis(ax.xaxis)
        ax.set_xlabel(f"{DISTRIBUTIONS[name].label} (ratio, logarithmic)")
    ax.set_ylabel("share of jobs at or below")
    _state_floor(ax, ordered, 0.0 if seconds else 1.0, seconds)
    left_out = sum(int((~np.isfinite(v)).sum()) for v in runs.values())
    style.title(
        ax,
        DISTRIBUTIONS[name].label.capitalize(),
        f"{left_out:,} jobs without a value" if left_out else "",
    )


def _state_floor(ax: Axes, ordered: Mapping[str, Floats], floor: float, seconds: bool) -> None:
    """Say in words how many jobs have the smallest possible value."""
    shares = [float(np.mean(value <= floor)) for value in ordered.values()]
    if max(shares) == 0:
        return
    what = "did not wait" if seconds else "have exactly 1"
    for index, share in enumerate(shares):
        style.note(
            ax,
            f"{100 * share:.1f} % {what}",
            (0.98, 0.03),
            (0, 11 * (len(shares) - 1 - index)),
            frame="axes fraction",
            ha="right",
            va="bottom",
            bbox={"facecolor": "white", "alpha": 0.8, "edgecolor": "none", "pad": 0.5},
            color=style.PALETTE[index % len(style.PALETTE)],
        )


@style.styled
def distributions(jobs: style.TableLike, *, fig: Figure | SubFigure | None = None) -> Figure:
    """Draw the distributions of wait, slowdown and bounded slowdown.

    Parameters
    ----------
    jobs : columns wait (s), slowdown, bounded_slowdown; NaN where a job was not accepted.
    fig : figure to draw in; a new one when None.
    """
    return _three({"": jobs}, fig)


@style.styled
def compare(
    runs: Mapping[str, style.TableLike], *, fig: Figure | SubFigure | None = None
) -> Figure:
    """Draw the distributions of several runs over each other.

    Parameters
    ----------
    runs : jobs of each run (see `distributions`) by its name.
    fig : figure to draw in; a new one when None.
    """
    if not runs:
        raise OptionError("no runs to compare; give at least one")
    return _three(runs, fig)


def _three(runs: Mapping[str, style.TableLike], fig: Figure | SubFigure | None) -> Figure:
    named = list(runs) != [""]
    fig = fig if fig is not None else style.new_figure(10.0, 3.9 if named else 3.5)
    axes = fig.subplots(1, 3, sharey=True)
    for ax, name in zip(axes, _PANELS, strict=True):
        values = {run: style.column(jobs, name) for run, jobs in runs.items()}
        draw_distribution(style.polish(ax), values, name, marks=not named)
        if ax is not axes[0]:
            ax.set_ylabel("")
    if named:
        waits = {run: float(np.nanmean(style.column(jobs, "wait"))) for run, jobs in runs.items()}
        lines = [
            Line2D([], [], label=f"{run} (mean wait {style.duration(wait)})", **_line(index))
            for index, (run, wait) in enumerate(waits.items())
        ]
        fig.legend(handles=lines, loc="outside lower center", ncols=min(len(lines), 4))
    return style.root(fig)


@style.styled
def class_waits(classes: Mapping[str, Mapping[str, Floats]]) -> Figure:
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
    fig = style.new_figure(max(4.0 * columns, 5.5), 4.2 * rows)
    axes = fig.subplots(rows, columns, squeeze=False)
    for ax in axes.flat[count:]:
        ax.set_axis_off()
    for ax, (by, waits) in zip(axes.flat, classes.items(), strict=False):
        chosen = sorted(waits, key=lambda name: -float(waits[name].sum()))[:_CLASSES]
        shown = {name: waits[name] for name in chosen}
        draw_distribution(style.polish(ax), shown, "wait", marks=False)
        left = len(waits) - len(chosen)
        style.title(
            ax, f"Wait by {by}", f"{len(chosen)} of {len(waits)} with most waiting" if left else ""
        )
        means = {name: style.duration(float(wait.mean())) for name, wait in shown.items()}
        lines = [
            Line2D([], [], label=f"{_cut(name)} (mean {mean})", **_line(index))
            for index, (name, mean) in enumerate(means.items())
        ]
        # Below the panel: the curves and the shares that did not wait need the room inside.
        ax.legend(handles=lines, loc="upper center", bbox_to_anchor=(0.5, -0.16), fontsize=7.5)
    return fig


def _cut(name: str) -> str:
    return name if len(name) <= _LONGEST else name[: _LONGEST - 1] + "…"


@style.styled
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
    ax = style.new_axes(ax, 6.4 if plane else 8.0, 4.2)
    if plane:
        _plane(ax, threshold, cost, work, unit)
        return style.root(ax)
    ax.plot(threshold, cost, color=style.PALETTE[1], marker="o", markersize=3.5, linewidth=1.4)
    ax.set_xlabel("switching threshold $k$ (s of work)")
    ax.set_ylabel(f"mean energy ({unit})", color=style.PALETTE[1])
    other = style.twin(ax)
    other.plot(threshold, work, color=style.PALETTE[0], marker="s", markersize=3.5, linewidth=1.4)
    other.set_ylabel("mean workload (s of work)", color=style.PALETTE[0])
    for axis in (ax.xaxis, ax.yaxis, other.yaxis):
        axis.set_major_formatter(ticker.ScalarFormatter(useMathText=True))
    ax.ticklabel_format(axis="x", scilimits=(-2, 4))
    other.ticklabel_format(axis="y", scilimits=(-2, 4))
    lines = [
        Line2D([], [], color=style.PALETTE[1], marker="o", markersize=3.5, label="energy (left)"),
        Line2D(
            [], [], color=style.PALETTE[0], marker="s", markersize=3.5, label="workload (right)"
        ),
    ]
    ax.legend(handles=lines, loc="center right")
    style.title(ax, "Energy and workload by threshold")
    return style.root(ax)


def _plane(ax: Axes, threshold: Floats, cost: Floats, work: Floats, unit: str) -> None:
    ax.plot(work, cost, color=style.MUTED, linewidth=0.9, zorder=1)
    dots = ax.scatter(work, cost, c=threshold, cmap="viridis", s=26, zorder=2)
    bar = style.root(ax).colorbar(dots, ax=ax, pad=0.02)
    bar.outline.set_visible(False)
    bar.set_label("threshold $k$ (s of work)")
    bar.formatter = ticker.ScalarFormatter(useMathText=True)
    bar.formatter.set_powerlimits((-2, 4))
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(ticker.ScalarFormatter(useMathText=True))
    ax.ticklabel_format(axis="x", scilimits=(-2, 4))
    ax.set_xlabel("mean workload (s of work)")
    ax.set_ylabel(f"mean energy ({unit})")
    style.title(ax, "Energy against workload")
