"""Service rates over time: of all servers, or of each domain."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure, SubFigure

from ...errors import OptionError
from . import style
from .binning import Path
from .timeline import draw_path


@style.styled
def rates(
    table: style.TableLike,
    until: float,
    *,
    fig: Figure | SubFigure | None = None,
    unix_start: float | None = None,
) -> Figure:
    """Draw the service rate over time, a panel for each domain where there are some.

    Parameters
    ----------
    table : columns time (s) and rate, from then on; ``domain`` says whose, as in `Result.rates`.
    until : when the run ends (s).
    fig : figure to draw in; a new one when None.
    unix_start : Unix time (s) of second 0; given, the time axis shows dates.
    """
    time, rate = (style.column(table, name) for name in ("time", "rate"))
    if time.size == 0:
        raise OptionError("there are no rates; there is nothing to draw")
    whose = np.asarray(table["domain"]) if "domain" in table else np.full(time.size, "all servers")
    names = list(dict.fromkeys(whose.tolist()))
    first, last = float(time.min()), max(until, float(time.max()))
    clock = style.TimeAxis.spanning(first, last, unix_start)
    fig = fig if fig is not None else style.new_figure(10.0, 1.0 + 1.35 * len(names))
    axes = [style.polish(ax) for ax in np.atleast_1d(fig.subplots(len(names), 1, sharex=True))]
    for k, (ax, name) in enumerate(zip(axes, names, strict=True)):
        mine = whose == name
        path = Path.of(np.append(time[mine], last), np.append(rate[mine], rate[mine][-1]))
        color = style.PALETTE[k % len(style.PALETTE)]
        caption = draw_path(ax, path, clock, color=color, fill=True, width=1.1)
        ax.set_ylim(0, 1.08 * float(rate.max()))
        ax.yaxis.set_major_formatter(style.number_tick)
        ax.set_ylabel("rate")
        lasted = np.diff(path.time)
        mean = float(np.dot(path.value[:-1], lasted) / max(lasted.sum(), 1e-12))
        switches = f"{int(mine.sum()) - 1:,} switches, " if mine.sum() > 1 else ""
        style.title(ax, f"Rate of {name}: {switches}{style.number(mean)} on average", caption)
        clock.mark(ax, first, last, label=ax is axes[-1])
    fig.align_ylabels(axes)
    return style.root(fig)
