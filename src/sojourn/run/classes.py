"""Measures per class of jobs: who waits, and for how long."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..jobs import Jobs
from ..jobs.classes import CLASSES as OF_LOGS
from ..jobs.classes import check_class, classed
from ..measures import quantiles_by_group

if TYPE_CHECKING:
    import pandas as pd

CLASSES = (*OF_LOGS, "status")
"""What the jobs of a run can be classed by."""


def measure_classes(table: pd.DataFrame, log: Jobs, what: str) -> pd.DataFrame:
    """One row per class of `what`; see `Result.by`."""
    return measure_groups(table, *class_codes(table, log, what), what)


def class_codes(
    table: pd.DataFrame, log: Jobs, what: str
) -> tuple[NDArray[np.integer], Sequence[str]]:
    """Return the class of each job of a run, as a place in a list of names."""
    check_class(what, CLASSES)
    if what == "status":
        names, codes = np.unique(table["status"].astype(str), return_inverse=True)
        return codes, names.tolist()
    return classed(log, what)


def measure_groups(
    table: pd.DataFrame, codes: NDArray[np.integer], names: Sequence[str], what: str
) -> pd.DataFrame:
    """One row per group of jobs that has any, in the order of the names.

    Parameters
    ----------
    table : the job table.
    codes : the group of each job, as a place in the names.
    names : of the groups.
    what : the groups are, such as ``user``.
    """
    import pandas as pd

    groups = pd.Categorical.from_codes(codes, categories=pd.Index(names))
    area = table["procs"] * table["service"]
    keys = pd.Series(groups, index=table.index)
    grouped = table.assign(area=area).groupby(keys, observed=True)
    waits = table["wait"].to_numpy(np.float64)
    middle, most = quantiles_by_group(waits, codes, len(names), (0.5, 0.95)).T
    size = grouped.size()
    known = pd.Series(range(len(names)), index=groups.categories)[size.index].to_numpy()
    measured = {
        "jobs": size,
        "share": grouped["area"].sum() / area.sum(),
        "mean_wait": grouped["wait"].mean(),
        "median_wait": middle[known],
        "p95_wait": most[known],
        "mean_bounded_slowdown": grouped["bounded_slowdown"].mean(),
    }
    for spent in ("energy", "cost", "carbon"):
        if spent in table:
            measured[spent] = grouped[spent].sum()
    frame = pd.DataFrame(measured).rename_axis(what)
    return frame.set_axis(pd.Index(frame.index.astype(object), name=what))


def class_rows(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Return one row per class as plain values, its name first; ready for JSON and CSV.

    Parameters
    ----------
    table : one row per class, by its name.
    """
    return [
        {"class": str(name), **{str(key): value for key, value in row.items()}}
        for name, row in zip(table.index, table.to_dict("records"), strict=True)
    ]
