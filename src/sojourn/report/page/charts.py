"""Charts as plain data for Plotly; colours by name, as ``templates/page.js`` reads them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arrays import Floats
from ...errors import plural
from ...measures.catalogue import DISTRIBUTIONS
from ...measures.registry import get as measure
from ..figures.binning import distribution_curve
from ..figures.style import duration, duration_ticks, number
from .pack import Packer
from .points import LEVEL, RUN, Points, in_words, is_numeric
from .subjects import RunFolder
from .words import confidence, percent

if TYPE_CHECKING:
    import pandas as pd


_DASHES = ("solid", "dash", "dot", "dashdot")
_COLORS = 7


def _rounded(values: Floats) -> list[float | None]:
    """Numbers to six digits, which is more than a chart can show; None for what is not finite."""
    return [float(f"{value:.6g}") if np.isfinite(value) else None for value in values.tolist()]


def describe_distribution(runs: Sequence[RunFolder], name: str) -> dict[str, Any]:
    """Return the chart of the distribution of ``wait`` or ``bounded_slowdown``."""
    seconds = name == "wait"
    label = DISTRIBUTIONS[name].label
    values = [np.asarray(run.jobs[name], np.float64) for run in runs]
    finite = np.concatenate([column[np.isfinite(column)] for column in values])
    high = float(finite.max(initial=10.0))
    low = 1.0
    if seconds:
        positive = finite[finite > 0]
        low = min(max(float(positive.min(initial=high)), min(1.0, high / 1e6)), high / 10)
    data = []
    for index, (run, column) in enumerate(zip(runs, values, strict=True)):
        curve = distribution_curve(column, low)
        data.append(
            {
                "type": "scatter",
                "mode": "lines",
                "uid": f"run-{index}",
                "name": run.name,
                "x": _rounded(curve.value),
                "y": _rounded(curve.share),
                "text": [duration(v) if seconds else number(v) for v in curve.value.tolist()],
                "line": {
                    "color": f"@{index % _COLORS}",
                    "shape": "hv",
                    "width": 2,
                    "dash": _DASHES[index // _COLORS % len(_DASHES)],
                },
                "hovertemplate": f"%{{y:.1%}} of jobs: {label} at most %{{text}}",
            }
        )
    layout = {
        "hovermode": "closest",
        "showlegend": len(runs) > 1,
        "xaxis": {
            "type": "log",
            "range": [float(np.log10(low)), float(np.log10(high * 1.05))],
            "title": {"text": f"{label} (logarithmic)"},
            **(_ticks(low, high) if seconds else {"dtick": 1}),
        },
        "yaxis": {
            "title": {"text": "share of jobs at or below"},
            "tickformat": ".0%",
            "range": [0, 1.02],
        },
    }
    return {"kind": "plain", "figure": {"data": data, "layout": layout}}


def _ticks(low: float, high: float) -> dict[str, Any]:
    ticks = duration_ticks(low, high)
    names = [duration(tick) for tick in ticks]
    return {"tickvals": ticks, "ticktext": names} if len(ticks) > 1 else {}


def describe_classes(classes: pd.DataFrame, what: str, several: str) -> dict[str, Any]:
    """Return the chart of users, accounts and so on: what each used, and how each was served.

    `what` is one of them, and `several` are more of them, in words.
    """
    share, wait, slowdown = (
        classes[name].to_numpy(np.float64)
        for name in ("share", "mean_wait", "mean_bounded_slowdown")
    )
    names = [f"{what} {name}" for name in classes.index]
    text = [
        f"{name}: {plural(int(jobs), 'job')}, {percent(part)} of the processor time<br>"
        f"{measure('wait_mean').label} {duration(mean)}, "
        f"{measure('bounded_slowdown_mean').label} {number(slow)}"
        for name, jobs, part, mean, slow in zip(
            names, classes["jobs"], share, wait, slowdown, strict=True
        )
    ]
    low = float(slowdown[np.isfinite(slowdown)].min(initial=1.0))
    least = float(share[share > 0].min(initial=share.max(initial=1e-9)))
    return {
        "kind": "plain",
        "figure": {
            "data": [
                {
                    "type": "scatter",
                    "mode": "markers",
                    "uid": several,
                    "name": plural(len(names), what, several),
                    "x": _rounded(share),
                    "y": _rounded(slowdown),
                    "customdata": text,
                    "hovertemplate": "%{customdata}<extra></extra>",
                    "marker": {"color": "@0/0.75", "size": 9, "line": {"width": 1, "color": "@0"}},
                }
            ],
            "layout": {
                "hovermode": "closest",
                "xaxis": {
                    "type": "log",
                    "title": {"text": "share of the processor time (logarithmic)"},
                    "tickformat": ".1~p",
                    "dtick": max(1, math.ceil(math.log10(share.max(initial=least) / least) / 5)),
                },
                "yaxis": {
                    "type": "log",
                    "title": {"text": measure("bounded_slowdown_mean").label},
                    "dtick": 1 if slowdown.max(initial=1.0) > 20 * low else "D2",
                },
            },
        },
    }


def describe_points(points: Points, packer: Packer, *, curves: bool) -> dict[str, Any]:
    """Return the chart of a study's points, whose axes the reader chooses; arrays go to the packer.

    It begins with `curves` of a measure over what was varied, else with a measure over another.
    """
    # Of a search, points by its own replications look better than those that were run again.
    drawn = sorted(points.fresh) if points.confirmed else list(range(len(points)))
    varied = {key: [values[i] for i in drawn] for key, values in points.varying.items()}
    columns: dict[str, Any] = {}
    for key, values in varied.items():
        label = "" if key == RUN else key
        columns[key] = {"label": label, "unit": "", "key": True, "lower": None}
        if _is_drawable(values):
            columns[key]["values"] = packer.add(np.asarray(values, np.float64), "f8")
        else:
            columns[key]["text"] = [in_words(value) for value in values]
    spread = False
    for name, every in points.intervals.items():
        what, intervals = measure(name), [every[i] for i in drawn]
        unit = what.unit_for(interval.estimate for interval in intervals)
        columns[name] = {
            "label": what.label,
            "unit": unit.name,
            "key": False,
            "lower": points.lower(name),
        }
        sides = {
            side: np.array([getattr(interval, attribute) for interval in intervals]) / unit.size
            for side, attribute in (("values", "estimate"), ("low", "low"), ("high", "high"))
        }
        known = bool(np.isfinite(sides["low"]).any())
        spread |= known
        for side, numbers in sides.items():
            if side == "values" or known:
                columns[name][side] = packer.add(numbers, "f4")
    measures, keys = list(points.samples), list(varied)
    aims = [*points.objectives, *(name for name in measures if name not in points.objectives)]
    across = sorted(keys, key=lambda key: not _is_long(varied[key])) if curves else aims
    return {
        "kind": "explore",
        "columns": columns,
        "keys": keys,
        "names": [points.names[i] for i in drawn],
        "runs": [
            plural(points.replications[i].size, "replication") if spread else "" for i in drawn
        ],
        "x": across[0] if across else aims[0],
        "y": aims[0] if curves or len(aims) == 1 else aims[1],
        "across": keys if curves and keys else measures,
        "up": measures,
        "marked": [place for place, i in enumerate(drawn) if i in points.front],
        "confirmed": points.confirmed,
        "left": len(points) - len(drawn),
        "level": confidence(LEVEL),
    }


def _is_drawable(values: Sequence[Any]) -> bool:
    """Whether values have places on an axis of numbers."""
    return is_numeric(values) and bool(np.isfinite(np.asarray(values, np.float64)).all())


def _is_long(values: Sequence[Any]) -> bool:
    """Whether values are numbers that make a curve."""
    return _is_drawable(values) and len(set(values)) > 2
