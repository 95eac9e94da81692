"""The look of every picture: colours, type sizes, time axes, figures and files."""

from __future__ import annotations

import functools
import io
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, ParamSpec, Protocol, TypeVar

import matplotlib as mpl
import numpy as np
from matplotlib import dates, ticker
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.cm import ScalarMappable
from matplotlib.colorbar import Colorbar
from matplotlib.figure import Figure, SubFigure
from numpy.typing import ArrayLike, NDArray

from ...errors import OptionError
from ...files.staging import atomic_path

# Okabe and Ito's colours, distinct for all common kinds of colour vision, in an order in which
# neighbours differ in lightness too; their yellow is left out, being too faint on white.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
INK = "#222222"
MUTED = "#6E6E6E"
FAINT = "#D9D9D9"
BAND = 0.22
"""Opacity of the band from the smallest to the largest value of a bin."""

_SIZE = 9.5
_RC: Mapping[Any, Any] = MappingProxyType(
    {
        "font.family": "sans-serif",
        "font.sans-serif": ["DejaVu Sans"],
        "font.size": _SIZE,
        "axes.titlesize": _SIZE + 0.5,
        "axes.labelsize": _SIZE,
        "axes.edgecolor": MUTED,
        "axes.labelcolor": INK,
        "axes.linewidth": 0.8,
        "text.color": INK,
        "xtick.color": MUTED,
        "ytick.color": MUTED,
        "xtick.labelcolor": INK,
        "ytick.labelcolor": INK,
        "xtick.labelsize": _SIZE - 1,
        "ytick.labelsize": _SIZE - 1,
        "legend.fontsize": _SIZE - 1,
        "legend.frameon": False,
        "figure.facecolor": "white",
        "axes.facecolor": "white",
        "savefig.facecolor": "white",
        "path.simplify": True,
        # Equal pictures give equal files.
        "svg.hashsalt": "sojourn",
    }
)
_DPI = 160

P = ParamSpec("P")
R = TypeVar("R")


class TableLike(Protocol):
    """Named columns of equal length: a pandas DataFrame, or a plain mapping of arrays."""

    def __getitem__(self, name: Any, /) -> Any: ...

    def __contains__(self, name: Any, /) -> bool: ...


def column(table: TableLike, name: str) -> NDArray[np.float64]:
    """Return a numeric column of a table as floats; an error when it has no such column."""
    if name not in table:
        raise OptionError(f"the table has no column '{name}'; this picture needs it")
    return np.asarray(table[name], dtype=np.float64)


def arrivals(table: TableLike) -> NDArray[np.float64]:
    """Return when each job of a table came to the scheduler (s): its submit, or a later begin."""
    submit = column(table, "submit")
    return np.fmax(submit, column(table, "begin")) if "begin" in table else submit


def styled(draw: Callable[P, R]) -> Callable[P, R]:
    """Run a drawing function in the house style; the caller's own settings stay untouched."""

    @functools.wraps(draw)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
        with mpl.rc_context(dict(_RC)):
            return draw(*args, **kwargs)

    return wrapped


class Picture(Figure):
    """A figure that notebooks show also where nobody has imported pyplot."""

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        """The picture, and its size on the screen (pixels): half, so that it is sharp."""
        file = io.BytesIO()
        self.savefig(file, format="png")
        width, height = (int(side * self.dpi / 2) for side in self.get_size_inches())
        return file.getvalue(), {"width": width, "height": height}


def new_figure(width: float = 10.0, height: float = 4.0) -> Figure:
    """Make a figure that needs no display and leaves pyplot's state alone (inches)."""
    figure = Picture(figsize=(width, height), dpi=_DPI, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def new_axes(ax: Axes | None, width: float = 10.0, height: float = 4.0) -> Axes:
    """Return the caller's axes, or those of a new figure, in the house style."""
    return polish(new_figure(width, height).add_subplot() if ax is None else ax)


def twin(ax: Axes) -> Axes:
    """Return axes over others, with the same abscissa and a scale of their own on the right."""
    other = polish(ax.twinx(), grid=False)
    other.spines["right"].set(visible=True, color=MUTED)
    other.spines["left"].set_visible(False)
    return other


def root(part: Axes | Figure | SubFigure) -> Figure:
    """Return the whole figure that axes or a part of a figure belong to."""
    whole: Any = part
    while not isinstance(whole, Figure):
        whole = whole.figure
    return whole


def polish(ax: Axes, *, grid: bool = True) -> Axes:
    """Take away what carries no data: the box, heavy ticks, a grid over the curves."""
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        ax.spines[side].set_color(MUTED)
    # Ticks are made when the picture is drawn, outside the house style unless it is set now.
    ax.tick_params(labelsize=_SIZE - 1, color=MUTED, labelcolor=INK, length=3.5, width=0.8)
    ax.tick_params(which="minor", length=0)
    ax.set_axisbelow(True)
    if grid:
        ax.grid(axis="y", color=FAINT, linewidth=0.6)
    else:
        ax.grid(False)
    return ax


def title(ax: Axes, text: str, caption: str = "") -> None:
    """Name a panel on its left; on its right say in small type how it was made.

    Where there is no room for both the name goes one line up.
    """
    # Widths of letters in inches, of which the layout may yet take some from the panel.
    wide = 0.085 * len(text) + 0.068 * len(caption)
    room = 0.85 * ax.get_window_extent().width / root(ax).dpi
    ax.set_title(f"{text}\n" if caption and wide > room else text, loc="left", fontweight="bold")
    if caption:
        ax.set_title(caption, loc="right", color=MUTED, fontsize=_SIZE - 1.5)


def colorbar(ax: Axes, scale: ScalarMappable, label: str, **look: Any) -> Colorbar:
    """Say beside axes what the colours of a scale mean."""
    bar = root(ax).colorbar(scale, ax=ax, aspect=30, **look)
    bar.outline.set_visible(False)
    bar.ax.tick_params(length=2, color=MUTED, labelcolor=INK)
    bar.set_label(label)
    return bar


def tint(ax: Axes, edges: NDArray[np.float64], colors: Any) -> None:
    """Colour the background of axes between places along time, behind everything else."""
    ax.broken_barh(
        np.column_stack((edges[:-1], np.diff(edges))).tolist(),
        (0, 1),
        transform=ax.get_xaxis_transform(),
        facecolors=colors,
        linewidth=0,
        antialiased=False,
        zorder=0,
    )


def note(
    ax: Axes,
    text: str,
    place: tuple[float, float],
    shift: tuple[float, float],
    *,
    frame: str | tuple[str, str] = "data",
    **look: Any,
) -> None:
    """Write small text at a place in the coordinates of `frame`, moved by some points."""
    look = {"fontsize": _SIZE - 1.5, "color": MUTED, **look}
    ax.annotate(text, place, xycoords=frame, xytext=shift, textcoords="offset points", **look)


def number_tick(value: float, _place: object = None) -> str:
    """Write the number of a tick, as `number` does."""
    return number(value)


def percent_tick(value: float, _place: object = None) -> str:
    """Write a share at a tick as percent."""
    return f"{100 * value:g} %"


def number(value: float) -> str:
    """Write a number as people read it: thousands apart, three digits, no exponent."""
    if not np.isfinite(value):
        return "–"
    if value == 0 or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}" if abs(value) >= 1e-3 else f"{value:.1e}"


def _short(value: float) -> str:
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{number(value / size)} {letter}"
    return number(value)


_LENGTHS = ((86400.0, "d"), (3600.0, "h"), (60.0, "min"), (1.0, "s"), (1e-3, "ms"))


def duration(seconds: float) -> str:
    """Write a length of time in the largest unit that it fills: ``1.9 h``, ``45 s``."""
    if not np.isfinite(seconds):
        return "–"
    if seconds == 0:
        return "0 s"
    for length, unit in _LENGTHS:
        if seconds >= length * 0.9995:
            return f"{number(seconds / length)} {unit}"
    return f"{number(seconds)} s"


_JOULES = ((3.6e12, "GWh", 3.6e12), (3.6e9, "MWh", 3.6e9), (3.6e5, "kWh", 3.6e6), (0.0, "J", 1.0))


def energy(joules: float) -> str:
    """Write an energy in the unit bills use, or in joules if it is small."""
    length, unit = next((size, unit) for least, unit, size in _JOULES if abs(joules) >= least)
    return f"{number(joules / length)} {unit}"


# Units first, then what may stand between them.
_TICKS = (
    1e-3,
    1.0,
    60.0,
    3600.0,
    86400.0,
    2.592e6,
    0.1,
    10.0,
    600.0,
    2.16e4,
    6.048e5,
    0.01,
    3.15e7,
)


def duration_ticks(low: float, high: float) -> list[float]:
    """Return the lengths of time (s) between two that people know, not too close on a log axis."""
    ticks: list[float] = []
    apart = 0.15 * np.log(max(high / low, 1.0001))
    for tick in _TICKS:
        if low * 0.999 <= tick <= high * 1.001 and all(
            abs(np.log(tick / other)) >= apart for other in ticks
        ):
            ticks.append(tick)
    return sorted(ticks)


def duration_axis(axis: Axis, low: float, high: float) -> None:
    """Mark a logarithmic axis of seconds at the lengths people know."""
    ticks = duration_ticks(low, high)
    if len(ticks) < 2:
        log_axis(axis, "{} s")
        return
    axis.set_major_locator(ticker.FixedLocator(ticks))
    axis.set_major_formatter(lambda value, _: duration(value))
    axis.set_minor_locator(ticker.NullLocator())


def log_axis(axis: Axis, form: str = "{}") -> None:
    """Write the powers of ten of a logarithmic axis as short plain numbers: 100, 1 k, 10 k, 1 M."""
    axis.set_major_locator(ticker.LogLocator(10, numticks=7))
    axis.set_major_formatter(lambda value, _: form.format(_short(value)))
    axis.set_minor_locator(ticker.NullLocator())


@dataclass(frozen=True)
class TimeAxis:
    """How the seconds of a run are written along a time axis."""

    unit: str  # ``s``, ``min``, ``h``, ``days``, or ``UTC`` for calendar dates
    length: float  # seconds in a unit
    origin: float = 0.0  # Unix time (s) of second 0 of the run; 0 without a calendar

    @classmethod
    def spanning(cls, first: float, last: float, unix_start: float | None = None) -> TimeAxis:
        """Choose the unit in which the time from `first` to `last` (s) reads best."""
        if unix_start is not None:
            return cls("UTC", 86400.0, float(unix_start))
        span = last - first
        for unit, length, longest in (("s", 1.0, 300.0), ("min", 60.0, 1.8e4), ("h", 3600.0, 4e5)):
            if span <= longest:
                return cls(unit, length)
        return cls("days", 86400.0)

    def __call__(self, seconds: ArrayLike) -> NDArray[np.float64]:
        """Return the places of moments (s) on the axis."""
        return (self.origin + np.asarray(seconds, dtype=np.float64)) / self.length

    def mark(self, ax: Axes, first: float, last: float, *, label: bool = True) -> None:
        """Give axes their limits (s), ticks and label along time."""
        left, right = float(self(first)), float(self(last))
        ax.set_xlim(left, right if right > left else left + 1.0)
        if self.unit == "UTC":
            calendar: Any = dates
            locator = calendar.AutoDateLocator(minticks=3, maxticks=9)
            ax.xaxis.set_major_locator(locator)
            ax.xaxis.set_major_formatter(calendar.ConciseDateFormatter(locator))
        else:
            # Hours and minutes divide by 6 and 12, not by 5 and 10.
            steps = [1, 2, 5, 10] if self.unit in ("s", "days") else [1, 2, 3, 6, 10]
            ax.xaxis.set_major_locator(ticker.MaxNLocator(8, steps=steps))
            ax.xaxis.set_major_formatter("{x:,.6g}")
        ax.tick_params(axis="x", labelbottom=label)
        if label:
            ax.set_xlabel("date (UTC)" if self.unit == "UTC" else f"time ({self.unit})")


_METADATA: Mapping[str, dict[str, Any]] = MappingProxyType(
    {"png": {}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
)


def save(figure: Figure, path: str | os.PathLike[str], *, dpi: float | None = None) -> Path:
    """Write a figure to a file, whole or not at all.

    Parameters
    ----------
    figure : what one of the drawing functions returned.
    path : where to; the suffix (``.png``, ``.svg`` or ``.pdf``) decides the format.
    dpi : dots per inch, when not the figure's own (160).

    Returns
    -------
    Path
        Where the picture is.
    """
    target = Path(path)
    kind = target.suffix.lower().removeprefix(".")
    if kind not in _METADATA:
        raise OptionError(f"{target}: pictures are .png, .svg or .pdf; change the suffix")
    with mpl.rc_context(dict(_RC)), atomic_path(target) as temporary:
        figure.savefig(temporary, format=kind, dpi=dpi or "figure", metadata=_METADATA[kind])
    return target
