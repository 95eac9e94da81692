"""Scores of all jobs at once, for orders that do not depend on the time."""

from __future__ import annotations

import numba
import numpy as np
from numba import types

from ..jit import compiled
from .types import SCORE_POINTER, empty_jobs

__all__ = ["score_all"]


@compiled(
    types.float64[::1](numba.typeof(empty_jobs()), SCORE_POINTER, types.float64[::1]),
    allocates=True,
)
def score_all(jobs, score, theta):
    """The score of each job."""
    n = jobs.submit.shape[0]
    values = np.empty(n)
    for j in range(n):
        values[j] = score(jobs, j, 0.0, theta)
    return values
