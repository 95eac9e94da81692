"""Who waits for how long: users, partitions and so on, and widths of a run."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...jobs import Jobs
from ...run.classes import measure_classes, measure_groups
from .subjects import Run

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["by_who", "by_width", "of_who", "of_width"]


def _table(run: Run) -> pd.DataFrame:
    import pandas as pd

    names = ("wait", "procs", "bounded_slowdown")
    columns: dict[str, Any] = {name: np.asarray(run.jobs[name], np.float64) for name in names}
    held = run.jobs.get("service", run.jobs["end"] - run.jobs["start"])
    columns["service"] = np.asarray(held, np.float64)
    return pd.DataFrame(columns)


def by_who(run: Run, column: str) -> pd.DataFrame | None:
    """One row per user, partition and so on, those with most processor time first.

    None where the run does not know it. Columns are those of `Result.by`.
    """
    who = run.who(column)
    if who is None:
        return None
    names, codes = np.unique(who, return_inverse=True)
    found = measure_groups(_table(run), codes, names.tolist(), column)
    return found.sort_values("share", ascending=False, kind="stable")


def by_width(run: Run) -> pd.DataFrame:
    """One row per class of widths, from narrow to wide; columns are those of `Result.by`."""
    size = run.jobs["submit"].size
    widths = {"submit": run.jobs["submit"], "runtime": np.zeros(size), "procs": run.jobs["procs"]}
    return measure_classes(_table(run), Jobs(widths), "width")


def of_who(column: str) -> Callable[[Run, Any], NDArray[np.bool_]]:
    """Return what tells which jobs are those of a user, a partition and so on."""

    def members(run: Run, label: Any) -> NDArray[np.bool_]:
        return np.asarray(run.who(column) == label)

    return members


def of_width(run: Run, label: Any) -> NDArray[np.bool_]:
    """Tell which jobs are those of a class of widths, such as ``3-4``."""
    least, _, most = str(label).partition("-")
    procs = np.maximum(run.jobs["procs"], 1)
    return np.asarray((procs >= int(least)) & (procs <= int(most or least)))
