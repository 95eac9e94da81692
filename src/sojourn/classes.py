"""Measures per class of jobs: who waits, and for how long."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .errors import OptionError
from .workload import Jobs

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["CLASSES", "measure_classes"]

CLASSES = ("user", "group", "queue", "partition", "width", "status")
"""What jobs can be classed by."""


def _labels(table: pd.DataFrame, log: Jobs, what: str) -> pd.Series:
    import pandas as pd

    if what == "status":
        return table["status"].astype(str)
    if what != "width":
        return pd.Series(log[what], index=table.index)
    top = 2 ** np.ceil(np.log2(np.maximum(log.procs, 1))).astype(np.int64)
    names = {int(w): str(w) if w <= 2 else f"{w // 2 + 1}-{w}" for w in np.unique(top)}
    return pd.Series(
        pd.Categorical([names[int(w)] for w in top], categories=list(names.values())),
        index=table.index,
    )


def measure_classes(table: pd.DataFrame, log: Jobs, what: str) -> pd.DataFrame:
    """One row per class of `what`; see `Result.by`."""
    if what not in CLASSES:
        raise OptionError(f"class '{what}': choose from {', '.join(CLASSES)}")
    area = table["procs"] * table["service"]
    grouped = table.assign(area=area).groupby(_labels(table, log, what), observed=True)
    wait = grouped["wait"]
    measured = {
        "jobs": grouped.size(),
        "share": grouped["area"].sum() / area.sum(),
        "mean_wait": wait.mean(),
        "median_wait": wait.median(),
        "p95_wait": wait.quantile(0.95),
        "mean_bounded_slowdown": grouped["bounded_slowdown"].mean(),
        "energy": grouped["energy"].sum(),
    }
    import pandas as pd

    return pd.DataFrame(measured).rename_axis(what)
