"""Who waits for how long: users and widths of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..classes import measure_classes
from ..workload import Jobs
from .subjects import Run

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["by_user", "by_width", "of_user", "of_width"]


def _table(run: Run) -> pd.DataFrame:
    import pandas as pd

    names = ("wait", "procs", "bounded_slowdown")
    columns: dict[str, Any] = {name: np.asarray(run.jobs[name], np.float64) for name in names}
    held = run.jobs.get("service", run.jobs["end"] - run.jobs["start"])
    columns["service"] = np.asarray(held, np.float64)
    columns["energy"] = np.asarray(run.jobs.get("energy", np.full(held.size, np.nan)), np.float64)
    return pd.DataFrame(columns)


def _log(run: Run, **more: Any) -> Jobs:
    size = run.jobs["submit"].size
    return Jobs({"submit": run.jobs["submit"], "runtime": np.zeros(size),
                 "procs": run.jobs["procs"], **more})  # fmt: skip


def by_user(run: Run) -> pd.DataFrame | None:
    """One row per user, those with most processor time first; None where users are not known.

    Columns are those of `Result.by`.
    """
    if run.users is None:
        return None
    found = measure_classes(_table(run), _log(run, user=run.users), "user")
    return found.sort_values("share", ascending=False, kind="stable")


def by_width(run: Run) -> pd.DataFrame:
    """One row per class of widths, from narrow to wide; columns are those of `Result.by`."""
    return measure_classes(_table(run), _log(run), "width")


def of_user(run: Run, label: Any) -> NDArray[np.bool_]:
    """Tell which jobs are those of a user."""
    return np.asarray(run.users == label)


def of_width(run: Run, label: Any) -> NDArray[np.bool_]:
    """Tell which jobs are those of a class of widths, such as ``3-4``."""
    least, _, most = str(label).partition("-")
    procs = np.maximum(run.jobs["procs"], 1)
    return np.asarray((procs >= int(least)) & (procs <= int(most or least)))
