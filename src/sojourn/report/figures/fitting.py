"""A log beside the model that was fitted to it."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib import ticker
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from numpy.typing import ArrayLike

from ...arrays import Floats
from ...errors import OptionError
from ...theory.fit import Fit, kaplan_meier
from . import style

_DATA, _MODEL = style.PALETTE[0], style.PALETTE[1]
_POINTS = 600
_DEEP = 1e-4
_DAY = 86_400.0
_DAYS = ("Mo", "Tu", "We", "Th", "Fr", "Sa", "Su")


@style.styled
def fitted(fit: Fit, submit: ArrayLike, *, fig: Figure | SubFigure | None = None) -> Figure:
    """Draw a log beside its model: cycles, widths, and how far times are from exponential.

    On the logarithmic scale of the survival panels an exponential distribution is a straight
    line; in the last panel measured quantiles stand against those of the model, and a model that
    holds puts them on the diagonal.

    Parameters
    ----------
    fit : what `sojourn.theory.fit_model` returned.
    submit : submits of the same jobs (s).
    fig : figure to draw in; a new one when None.
    """
    gaps = np.diff(np.sort(np.asarray(submit, dtype=np.float64)))
    if not (gaps > 0).any():
        raise OptionError("submit: give at least two different instants; there is nothing to draw")
    fig = fig if fig is not None else style.new_figure(11.0, 6.6)
    axes = [style.polish(ax) for ax in fig.subplots(2, 3).flat]
    _cycle(axes[0], fit.arrivals.daily, [str(hour) for hour in range(24)], "hour of the day")
    if np.isnan(fit.arrivals.weekly).all():
        # Without dates there are no weekdays; the log's own days are shown instead.
        style.title(axes[0], "By hour", "log's own clock")
        _by_day(axes[1], np.asarray(submit, dtype=np.float64))
    else:
        style.title(axes[0], "By hour", fit.arrivals.clock)
        _cycle(axes[1], fit.arrivals.weekly, list(_DAYS), "day of the week")
        style.title(axes[1], "By weekday")
    _widths(axes[2], fit)
    survival = kaplan_meier(gaps, np.ones(gaps.size, dtype=bool))
    _survival(
        axes[3], survival.time, survival.share, lambda t: np.exp(-t * fit.arrival_rate), "time"
    )
    style.title(axes[3], "Interarrivals", f"squared CV {style.number(fit.arrivals.scv)}")
    seen = fit.outcomes
    ended = seen.are(("completed", "failed", "killed", "cancelled"))
    lasted = kaplan_meier(seen.duration, ended)
    _survival(axes[4], lasted.time, lasted.share, fit.duration_survival, "time in service")
    style.title(axes[4], "Durations", f"squared CV {style.number(fit.duration_scv)}")
    _quantiles(axes[5], lasted.time, lasted.share, fit)
    return style.root(fig)


def _cycle(ax: Axes, factors: Floats, names: list[str], label: str) -> None:
    ax.bar(np.arange(factors.size), np.nan_to_num(factors), color=_DATA, width=0.8)
    ax.axhline(1.0, color=_MODEL, linewidth=1.2)
    step = 6 if factors.size == 24 else 1
    ax.set_xticks(range(0, factors.size, step), names[::step])
    ax.set_xlabel(label)
    ax.set_ylabel("rate over its mean")


def _by_day(ax: Axes, submit: Floats) -> None:
    counts = np.bincount(((submit - submit.min()) // _DAY).astype(np.int64))
    ax.stairs(counts / counts.mean(), np.arange(counts.size + 1), color=_DATA, fill=True)
    ax.axhline(1.0, color=_MODEL, linewidth=1.2)
    ax.set_xlim(0, counts.size)
    ax.set_xlabel("day of the log")
    ax.set_ylabel("rate over its mean")
    style.title(ax, "By day")


def _widths(ax: Axes, fit: Fit) -> None:
    k = np.flatnonzero(fit.width) + 1
    ax.vlines(k, 0, fit.width[k - 1], color=_DATA, linewidth=1.4)
    ax.plot(k, fit.width[k - 1], "o", color=_DATA, markersize=3)
    ax.set_xscale("log", base=2)
    ax.set_xlim(0.8, max(float(k[-1]), 2.0) * 1.25)
    ax.xaxis.set_major_locator(ticker.LogLocator(2, numticks=8))
    ax.xaxis.set_major_formatter("{x:,.0f}")
    ax.xaxis.set_minor_locator(ticker.NullLocator())
    ax.set_ylim(bottom=0)
    ax.yaxis.set_major_formatter(style.percent_tick)
    ax.set_xlabel("processors (logarithmic)")
    ax.set_ylabel("share of jobs")
    style.title(ax, "Widths", f"mean {style.number(fit.widths.mean)}")


def _thinned(time: Floats, share: Floats) -> tuple[Floats, Floats]:
    """Return a survival function at no more points than are seen, evenly in its logarithm."""
    inside = (share >= _DEEP) & (time > 0)
    time, share = time[inside], share[inside]
    if time.size <= _POINTS:
        return time, share
    depth = -np.log(share)
    keep = np.unique(np.searchsorted(depth, np.linspace(0, depth[-1], _POINTS)))
    keep = keep[keep < time.size]
    return time[keep], share[keep]


def _survival(ax: Axes, time: Floats, share: Floats, model: Any, label: str) -> None:
    t, left = _thinned(time, share)
    if not t.size:
        t, left = time[-1:], np.array([_DEEP])
    last = float(t[-1])
    clock = style.TimeAxis.spanning(0.0, last)
    steps = clock(np.append(0, t))
    ax.step(steps, np.append(1, left), where="post", color=_DATA, label="measured")
    grid = np.linspace(0, last, 400)
    ax.plot(clock(grid), model(grid), color=_MODEL, linestyle=(0, (5, 2)), label="model")
    ax.set_yscale("log")
    ax.set_ylim(max(float(left.min()), _DEEP) / 2, 1.3)
    ax.yaxis.set_major_locator(ticker.LogLocator(10, numticks=6))
    ax.yaxis.set_major_formatter(style.percent_tick)
    ax.yaxis.set_minor_locator(ticker.NullLocator())
    clock.mark(ax, 0.0, last)
    ax.set_xlabel(f"{label} ({clock.unit})")
    ax.set_ylabel("share beyond (logarithmic)")
    ax.legend(loc="best")


def _quantiles(ax: Axes, time: Floats, share: Floats, fit: Fit) -> None:
    t, left = _thinned(time, share)
    if t.size < 2:
        ax.set_axis_off()
        style.title(ax, "Quantiles of durations", "too few jobs")
        return
    # The model's survival falls with time: its quantiles by interpolation.
    grid = np.geomspace(float(t[0]) * 1e-3, float(t[-1]) * 1e3, 4000)
    beyond = fit.duration_survival(grid)
    expected = np.interp(-left, -beyond, grid)
    ax.plot(expected, t, "o", color=_DATA, markersize=2.5)
    low = max(min(float(expected[0]), float(t[0])), float(t[-1]) * 1e-6)
    high = max(float(expected[-1]), float(t[-1])) * 1.3
    ax.plot([low, high], [low, high], color=_MODEL, linewidth=1.2)
    for axis, name in ((ax.xaxis, "x"), (ax.yaxis, "y")):
        getattr(ax, f"set_{name}scale")("log")
        getattr(ax, f"set_{name}lim")(low, high)
        if high / low > 100:
            style.duration_axis(axis, low, high)
        else:
            style.log_axis(axis, "{} s")
    ax.grid(color=style.FAINT, linewidth=0.6)
    ax.set_xlabel("of the model", color=style.INK)
    ax.set_ylabel("measured")
    style.title(ax, "Quantiles of durations")
