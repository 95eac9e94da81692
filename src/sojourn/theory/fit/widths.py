"""The distribution of processors per job."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...errors import OptionError

_WIDEST = 2**24
"""Widths beyond any machine, for which no table of probabilities is made."""


@dataclass(frozen=True)
class Widths:
    """The widths of jobs.

    Parameters
    ----------
    p : p[k-1] is the share of jobs of k processors.
    count : jobs.
    mean, mean_se : mean width and its standard error.
    scv : squared coefficient of variation.
    powers_of_two : share of jobs whose width is a power of two, 1 among them.
    """

    p: NDArray[np.float64]
    count: int
    mean: float
    mean_se: float
    scv: float
    powers_of_two: float

    def quantile(self, q: float) -> int:
        """Return the least width that at least a share q of the jobs does not exceed."""
        # The last sum may fall short of 1 by rounding.
        return min(int(np.searchsorted(np.cumsum(self.p), q)) + 1, self.p.size)

    def as_dict(self) -> dict[str, Any]:
        """Return plain numbers; the distribution by width, without widths that do not occur."""
        return {
            "mean": self.mean,
            "mean_se": self.mean_se,
            "median": self.quantile(0.5),
            "max": int(self.p.size),
            "scv": self.scv,
            "powers_of_two": self.powers_of_two,
            "distribution": {str(k + 1): float(self.p[k]) for k in np.flatnonzero(self.p)},
        }


def fit_widths(width: ArrayLike) -> Widths:
    """Estimate the distribution of widths by their shares.

    Parameters
    ----------
    width : processors of each job, at least 1.
    """
    procs = np.asarray(width, dtype=np.int64)
    if procs.size == 0 or procs.min() < 1:
        raise OptionError("widths: give at least one job, each of at least 1 processor")
    if procs.max() > _WIDEST:
        raise OptionError(
            f"widths: a job of {procs.max()} processors; leave out jobs wider than the machine"
        )
    counts = np.bincount(procs)[1:]
    mean = float(procs.mean())
    spread = float(procs.var(ddof=1)) if procs.size > 1 else 0.0
    return Widths(
        counts / procs.size,
        int(procs.size),
        mean,
        float(np.sqrt(spread / procs.size)),
        spread / mean**2,
        float(np.mean(procs & (procs - 1) == 0)),
    )
