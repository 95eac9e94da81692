"""Scores of all jobs at once, for orders that do not depend on the time."""

from __future__ import annotations

import numba
import numpy as np
from numba import types

from ..jit import compiled
from .nodes import NODE_SCORE
from .types import SCORE_POINTER, empty_jobs

__all__ = ["no_node_score", "score_all"]


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


@compiled(NODE_SCORE, pointer=True)
def no_node_score(nodes, n, jobs, j, now, theta):
    """Stands where a placement has no score of its own; it is never asked."""
    return 0.0
