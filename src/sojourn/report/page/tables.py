"""Tables of a page: every number with its interval below it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...errors import plural
from ...measures.catalogue import DISTRIBUTIONS, STATISTICS
from ...measures.fragmentation import STATES
from ...measures.registry import get as measure
from ...measures.registry import is_own
from ..figures.style import number
from .parts import Cell, Table
from .points import RUN, Points, in_words, mean_of_run, quantile_of_run
from .subjects import RunFolder, StudyFolder
from .words import between, bounded, percent, signed, value_text

if TYPE_CHECKING:
    import pandas as pd

    from ...study.intervals import Interval

_POINTS, _ERRORS, _COLUMNS = 200, 20, 6
_PLACES: Mapping[str, float] = MappingProxyType(
    {"median": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99}
)
_INTERVALS = "95 % intervals from batches of jobs, where there are enough of them"


def table_of_run(run: RunFolder) -> Table:
    """Return means and quantiles over the jobs of a run."""
    rows: list[list[Cell]] = []
    for name, distribution in DISTRIBUTIONS.items():
        values = run.summary.get(name, {})
        sample = run.in_order(name)
        what = measure(f"{name}_mean")
        row: list[Cell] = [distribution.label]
        for key in STATISTICS:
            value = float("nan") if values.get(key) is None else float(values[key])
            if key == "mean":
                row.append(_with(what.name, value, mean_of_run, sample))
            elif key in _PLACES:
                row.append(_with(what.name, value, quantile_of_run, sample, _PLACES[key]))
            else:
                row.append("–" if np.isnan(value) else value_text(what, value))
        rows.append(row)
    heads = ["", *(short for _, short in STATISTICS.values())]
    return Table(heads, rows, f"Over all jobs, with {_INTERVALS}")


def table_of_classes(
    run: RunFolder,
    classes: pd.DataFrame,
    members: Callable[[RunFolder, Any], NDArray[np.bool_]],
    caption: str,
    note: str = "",
) -> Table:
    """Return one row per class of jobs: how many, their share, and how they were served.

    `members` says which jobs of a run are those of a class.
    """
    served = run.served
    wait, slowdown = (run.in_order(name) for name in ("wait", "bounded_slowdown"))
    rows: list[list[Cell]] = []
    for label, row in classes.iterrows():
        inside = run.ordered(members(run, label))[served]
        waits, slowdowns = wait[inside], slowdown[inside]
        rows.append(
            [
                str(label),
                f"{int(row['jobs']):,}",
                percent(float(row["share"])),
                _with("wait_mean", row["mean_wait"], mean_of_run, waits),
                _with("wait_median", row["median_wait"], quantile_of_run, waits, 0.5),
                _with("wait_p95", row["p95_wait"], quantile_of_run, waits, 0.95),
                _with(
                    "bounded_slowdown_mean", row["mean_bounded_slowdown"], mean_of_run, slowdowns
                ),
            ]
        )
    first = "processors" if classes.index.name == "width" else str(classes.index.name)
    names = ("wait_mean", "wait_median", "wait_p95", "bounded_slowdown_mean")
    heads = [first, "jobs", "processor time", *(measure(name).label for name in names)]
    return Table(heads, rows, f"{caption}, with {_INTERVALS}", note)


def table_of_resources(runs: Sequence[RunFolder]) -> Table | None:
    """Return what was used, stranded, free and down of the resources that jobs ask for.

    None where jobs ask for no more than one, or nodes have no names.
    """
    rows: list[list[Cell]] = []
    for run in runs:
        resources = run.resources
        if len(resources) < 2:
            continue
        for name, resource in resources.items():
            shares = (percent(float(resource["share"][state] or 0.0)) for state in STATES)
            size = f"{resource['capacity']:,}"
            if name == "memory":
                size = f"{number(resource['capacity'] / 2**20)} GB"
            rows.append([*([run.name] if len(runs) > 1 else []), name, size, *shares])
    if not rows:
        return None
    heads = [*([""] if len(runs) > 1 else []), "resource", "capacity", *STATES]
    note = "Stranded is what nobody can use because another resource of its node is used up."
    keys = 2 if len(runs) > 1 else 1
    return Table(heads, rows, "Resources of the nodes, shares of capacity × time", note, keys=keys)


def _with(name: str, value: float, made: Callable[..., Interval | None], *sample: Any) -> Cell:
    what = measure(name)
    if not np.isfinite(value):
        return "–"
    interval = made(*sample, float(value))
    ends = "" if interval is None else between(what, bounded(what, interval))
    return value_text(what, float(value)), ends


def table_of_points(points: Points, chosen: Sequence[int], caption: str) -> Table:
    """Return points with the measures that matter; of many points the first."""
    rest = [name for name in points.samples if name not in points.objectives]
    names = [*points.objectives, *rest]
    # Columns are many; a measure that somebody registered is one that is wanted.
    names = [name for i, name in enumerate(names) if i < _COLUMNS or is_own(name)]
    shown = list(chosen)[:_POINTS]
    keys = points.varying
    sure = bool(shown) and all(i in points.front for i in shown)
    rows: list[list[Cell]] = [
        [
            *(in_words(values[i]) for values in keys.values()),
            *(_cell(points, name, i) for name in names),
            *([percent(points.front[i])] if sure else []),
        ]
        for i in shown
    ]
    best = {
        (shown.index(top), column + len(keys))
        for column, name in enumerate(names)
        for top in _tops(points, name)
        if top in shown
    }
    left = len(chosen) - len(rows)
    heads = [
        *("" if key == RUN else key for key in keys),
        *(measure(name).label for name in names),
        *(["on the front"] if sure else []),
    ]
    return Table(
        heads,
        rows,
        f"{caption}; the best of each column is highlighted" if best else caption,
        f"{left:,} more points are not shown." if left else "",
        frozenset(best),
        keys=len(keys),
    )


def _tops(points: Points, name: str) -> list[int]:
    """Points at which a measure is best; none where it is the same at all of them."""
    best = points.best(name)
    if best is None:
        return []
    ties = points.tied(name, best)
    return [] if points.best(name, worst=True) in ties else ties


def _cell(points: Points, name: str, point: int) -> tuple[str, str]:
    """A measure of a point; below it the interval, and of single runs the change from the first."""
    what, interval = measure(name), points.intervals[name][point]
    notes = [between(what, interval)]
    if point and not (points.several or points.front) and points.lower(name) is not None:
        change = points.change(name, point, 0)
        if change is not None and change.estimate:
            ends = ""
            if np.isfinite([change.low, change.high]).all():
                ends = f" ({signed(change.low)} to {signed(change.high)} %)"
            notes.append(f"{signed(change.estimate)} %{ends}")
    return value_text(what, interval.estimate), "; ".join(filter(None, notes))


def table_of_failures(study: StudyFolder, keys: Sequence[str]) -> Table:
    """Return where runs failed and why, each message of a point once."""
    failed = study.runs[study.runs["status"] == "failed"]
    grouped = failed.groupby([*keys, "error"], sort=False, dropna=False)
    rows: list[list[Cell]] = []
    for _, part in list(grouped)[:_ERRORS]:
        first = part.iloc[0]
        count = plural(len(part), "replication")
        rows.append([*(in_words(first[key]) for key in keys), count, str(first["error"])])
    left = len(grouped) - len(rows)
    note = f"{left:,} more are not shown." if left else ""
    return Table([*keys, "failed", "error"], rows, "", note, keys=len(keys) + 2)
