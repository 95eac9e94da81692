"""Who would wait: users, accounts, partitions and so on, and widths, of one run or of several."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...errors import plural
from ...jobs import Jobs
from ...measures.registry import get as measure
from ...run.classes import measure_classes, measure_groups
from ..figures.style import number
from .aggregate import jain_index
from .charts import describe_classes
from .parts import Cell, Figure, Section, Table
from .subjects import RunFolder
from .tables import table_of_classes
from .words import percent, value_text

if TYPE_CHECKING:
    import pandas as pd

_SHOWN = 15
_CHART = 3
"""Classes from which on a chart says more than a table."""

_SEVERAL = {
    "user": "users",
    "group": "groups",
    "account": "accounts",
    "partition": "partitions",
    "queue": "queues",
    "qos": "QoS",
}


def section_of_run(run: RunFolder, charts: dict[str, Any]) -> Section:
    """Return how each class of jobs of a run is served; charts are added to those of the page."""
    users = _by_who(run, "user")
    texts, figures, tables = [], [], []
    if users is None:
        texts.append(_no_users(run))
    else:
        texts.append(_index(users, "user"))
        figures.append(_chart(users, "user", charts))
        tables.append(_table(run, users, "user"))
    for column, classes in _others(run).items():
        if len(classes) >= _CHART:
            texts.append(_index(classes, column))
            figures.append(_chart(classes, column, charts))
        tables.append(_table(run, classes, column))
    tables.append(table_of_classes(run, _by_width(run), _of_width, "Jobs by width"))
    return Section("fairness", "Who would wait", texts, figures, tables)


def section_of_runs(runs: Sequence[RunFolder]) -> Section:
    """Return the mean waits of each class of jobs under several runs of the same jobs."""
    first = runs[0]
    users = _by_who(first, "user")
    known = {} if users is None or len(users) < 2 else {"user": users}
    tables = [
        _table_of_runs(runs, column, [classes, *(_by_who(run, column) for run in runs[1:])])
        for column, classes in {**known, **_others(first)}.items()
    ]
    tables.append(_table_of_runs(runs, "width", [_by_width(run) for run in runs]))
    return Section("fairness", "Who would wait", (), (), tables)


def _others(run: RunFolder) -> dict[str, pd.DataFrame]:
    """Accounts, partitions and so on, where there are at least two of a kind."""
    known = {column: _by_who(run, column) for column in _SEVERAL if column != "user"}
    several = {
        column: classes
        for column, classes in known.items()
        if classes is not None and len(classes) > 1
    }
    # Accounting of Slurm has its partition in both columns.
    partitions, queues = several.get("partition"), several.get("queue")
    if partitions is not None and queues is not None and queues.equals(partitions):
        del several["queue"]
    return several


def _index(classes: pd.DataFrame, column: str) -> str:
    index = jain_index(classes["mean_bounded_slowdown"].to_numpy(np.float64))
    least = number(1 / max(len(classes), 1))
    return (
        f"{plural(len(classes), column, _SEVERAL[column])}; Jain's index of their mean bounded "
        f"slowdowns is {number(index)} (1: all alike; {least}: one bears it all)."
    )


def _chart(classes: pd.DataFrame, column: str, charts: dict[str, Any]) -> Figure:
    several = _SEVERAL[column].lower()
    charts[several] = describe_classes(classes, column, _SEVERAL[column])
    label = (
        f"Mean bounded slowdown of each {column} over the {column}'s share of the processor time"
    )
    return Figure(several, label, f"One point per {column}.")


def _table(run: RunFolder, classes: pd.DataFrame, column: str) -> Table:
    several = _SEVERAL[column]
    caption = f"{several[0].upper()}{several[1:]} with most processor time"
    shown = classes.head(_SHOWN)
    return table_of_classes(run, shown, _of_who(column), caption, _rest(classes, column))


def _rest(classes: pd.DataFrame, column: str) -> str:
    if len(classes) <= _SHOWN or column == "width":
        return ""
    share = percent(float(classes["share"].iloc[_SHOWN:].sum()))
    return f"{len(classes) - _SHOWN:,} more {_SEVERAL[column]} have {share} of the time."


def _table_of_runs(
    runs: Sequence[RunFolder], column: str, tables: Sequence[pd.DataFrame | None]
) -> Table:
    """Return one row per class, with its mean wait under each run; the best is highlighted."""
    what, classes = measure("wait_mean"), tables[0]
    assert classes is not None
    shown = classes if column == "width" else classes.head(_SHOWN)
    nobody = np.full(len(shown), np.nan)
    waits = np.stack(
        [
            nobody if table is None else table["mean_wait"].reindex(shown.index).to_numpy(float)
            for table in tables
        ],
        axis=1,
    )
    rows: list[list[Cell]] = []
    best: set[tuple[int, int]] = set()
    for row, (label, jobs) in enumerate(shown["jobs"].items()):
        mine = waits[row]
        known = mine[np.isfinite(mine)]
        if known.size and known.min() < known.max():
            best |= {(row, 2 + int(i)) for i in np.flatnonzero(mine == known.min())}
        texts = [value_text(what, float(wait)) if np.isfinite(wait) else "–" for wait in mine]
        rows.append([str(label), f"{int(jobs):,}", *texts])
    first = "processors" if column == "width" else column
    caption = f"Mean wait by {column}{'; the best of a row is highlighted' if best else ''}"
    heads = [first, "jobs", *(run.name for run in runs)]
    return Table(heads, rows, caption, _rest(classes, column), frozenset(best))


def _no_users(run: RunFolder) -> str:
    """Say why users are not known."""
    if run.is_of_model:
        return "Users are not known: the jobs are those of a model, which has none."
    why = "is not where it was, has changed, or cannot be read"
    if run.is_redrawn:
        why = "was drawn from anew"
    elif run.log is not None:
        why = "does not record whose they are"
    return f"Users are not known: the job table does not name them, and the log of the jobs {why}."


def _served(run: RunFolder) -> pd.DataFrame:
    import pandas as pd

    names = ("wait", "procs", "bounded_slowdown")
    columns: dict[str, Any] = {name: np.asarray(run.jobs[name], np.float64) for name in names}
    held = run.jobs.get("service", run.jobs["end"] - run.jobs["start"])
    columns["service"] = np.asarray(held, np.float64)
    return pd.DataFrame(columns)


def _by_who(run: RunFolder, column: str) -> pd.DataFrame | None:
    """One row per user, partition and so on, those with most processor time first.

    None where the run does not know it. Columns are those of `Result.by`.
    """
    who = run.who(column)
    if who is None:
        return None
    names, codes = np.unique(who, return_inverse=True)
    groups = measure_groups(_served(run), codes, names.tolist(), column)
    return groups.sort_values("share", ascending=False, kind="stable")


def _by_width(run: RunFolder) -> pd.DataFrame:
    """One row per class of widths, from narrow to wide; columns are those of `Result.by`."""
    size = run.jobs["submit"].size
    widths = {"submit": run.jobs["submit"], "runtime": np.zeros(size), "procs": run.jobs["procs"]}
    return measure_classes(_served(run), Jobs(widths), "width")


def _of_who(column: str) -> Callable[[RunFolder, Any], NDArray[np.bool_]]:
    """Return a function that says which jobs are those of a user, a partition and so on."""

    def members(run: RunFolder, label: Any) -> NDArray[np.bool_]:
        return np.asarray(run.who(column) == label)

    return members


def _of_width(run: RunFolder, label: Any) -> NDArray[np.bool_]:
    """Say which jobs are those of a class of widths, such as ``3-4``."""
    least, _, most = str(label).partition("-")
    procs = np.maximum(run.jobs["procs"], 1)
    return np.asarray((procs >= int(least)) & (procs <= int(most or least)))
