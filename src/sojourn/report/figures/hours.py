"""Cheap and clean hours: power over time above what a kWh emits or costs, and what was held."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure, SubFigure
from numpy.typing import ArrayLike

from ...errors import OptionError
from ...measures.registry import get as measure
from . import style
from .binning import Path, bin_path, counted
from .timeline import draw_path

_CLEAN_TO_DIRTY = LinearSegmentedColormap.from_list("hours", ["#B7E4D3", "#FFFFFF", "#F3C9AE"])
_STRIPS = 720
_HELD = style.PALETTE[3]


@style.styled
def clean_hours(
    power: tuple[ArrayLike, ArrayLike],
    series: tuple[ArrayLike, ArrayLike],
    label: str,
    jobs: style.TableLike | None = None,
    *,
    span: tuple[float, float] | None = None,
    fig: Figure | SubFigure | None = None,
    unix_start: float | None = None,
) -> Figure:
    """Draw the power of a cluster above a price or an intensity, and the processors held back.

    Behind the power hours are green where the series is low, and red where it is high.

    Parameters
    ----------
    power : instants (s) and the watts from each on, such as `Result.power_steps`.
    series : instants (s) and the price or intensity from each on, such as `Result.series_steps`.
    label : of the series and its unit, such as ``carbon intensity: g of CO2 per kWh``.
    jobs : columns submit, begin (s) and procs, and deferred; of a run without held jobs None.
    span : first and last instant (s) to be drawn; default: all of the power.
    fig : to draw in; a new figure when None.
    unix_start : Unix time (s) of second 0; given, the time axis shows dates.
    """
    watts = Path.of(*power)
    if not watts.time[-1] > watts.time[0]:
        raise OptionError("the power has no length; there is nothing to draw")
    first, last = span or (float(watts.time[0]), float(watts.time[-1]))
    if not first < last:
        raise OptionError(f"span from {first:g} s to {last:g} s: give two instants, the later last")
    watts, values = _within(watts, first, last), _within(Path.of(*series), first, last)
    held = None if jobs is None else _held(jobs)
    heights = (2, 1.2) if held is None else (2, 1.2, 1)
    whole = style.new_figure(10.0, 1.4 * sum(heights)) if fig is None else fig
    panels = [style.polish(ax) for ax in whole.subplots(len(heights), 1, height_ratios=heights)]
    clock = style.TimeAxis.spanning(first, last, unix_start)
    unit = measure("power_peak").unit_for(watts.value.tolist())
    scaled = Path.of(watts.time, watts.value / unit.size)
    _tint(panels[0], values, clock, first, last)
    caption = draw_path(panels[0], scaled, clock, color=style.INK, band=False)
    panels[0].set_ylim(bottom=0)
    panels[0].set_ylabel(f"power ({unit.name})")
    name, _, unit_name = label.partition(": ")
    title = f"Power; green where the {name} is low, red where it is high"
    style.title(panels[0], title, caption)
    caption = draw_path(panels[1], values, clock, color=style.PALETTE[1], band=False)
    if values.value.min() >= 0:
        panels[1].set_ylim(bottom=0)
    panels[1].set_ylabel(unit_name.replace(" per ", "\nper "))
    style.title(panels[1], name[:1].upper() + name[1:], caption)
    if held is not None:
        path = _within(held, first, last)
        caption = draw_path(panels[2], path, clock, color=_HELD, fill=True, band=False)
        panels[2].set_ylim(bottom=0)
        panels[2].set_ylabel("processors")
        words = "Held back: processors of jobs that are not let into the queue yet"
        style.title(panels[2], words, caption)
    for ax in panels:
        ax.yaxis.set_major_formatter(style.number_tick)
        clock.mark(ax, first, last, label=ax is panels[-1])
    return style.root(panels[0])


def _within(path: Path, first: float, last: float) -> Path:
    """The part of a path of steps between two instants; it goes on at its ends."""
    inside = (path.time > first) & (path.time < last)
    at = np.searchsorted(path.time, [first, last], side="right") - 1
    value = np.where(at >= 0, path.value[np.maximum(at, 0)], 0.0)
    time = np.concatenate([[first], path.time[inside], [last]])
    return Path.of(time, np.concatenate([value[:1], path.value[inside], value[1:]]))


def _held(jobs: style.TableLike) -> Path | None:
    """Processors of jobs between their submit and when they are let into the queue."""
    if "begin" not in jobs:
        return None
    submit, begin, procs = (style.column(jobs, name) for name in ("submit", "begin", "procs"))
    mine = begin > submit
    if "deferred" in jobs:
        mine &= np.asarray(jobs["deferred"], dtype=np.bool_)
    return counted(submit[mine], begin[mine], procs[mine]) if mine.any() else None


def _tint(ax: Axes, values: Path, clock: style.TimeAxis, first: float, last: float) -> None:
    """Colour the background by the series: green where it is low, red where it is high."""
    strips = min(_STRIPS, max(len(values.time), 2))
    edges = np.linspace(first, last, strips + 1) if len(values.time) > _STRIPS else values.time
    mean = bin_path(values, edges).mean
    low, high = float(mean.min()), float(mean.max())
    shade = (mean - low) / (high - low) if high > low else np.full(len(mean), 0.5)
    style.tint(ax, clock(edges), _CLEAN_TO_DIRTY(shade))
