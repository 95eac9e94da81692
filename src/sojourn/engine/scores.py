"""Scores as kernels take them: of a whole queue, from that of one job; and where there is none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..jit import compiled, inlined
from .nodes import NODE_SCORE
from .sleeping import KEEP
from .types import SCORES


@compiled(NODE_SCORE, pointer=True)
def no_node_score(nodes, n, jobs, j, now, theta):
    """Stands where a placement has no score of its own; it is never asked."""
    return 0.0


@compiled(KEEP, pointer=True)
def keep_some(view, now, theta):
    """As many idle nodes as the first parameter says stay on."""
    return theta[0]


def scores_by(score: Any) -> Callable[..., None]:
    """Return the function of `SCORES` that evaluates a compiled score for one job after another."""

    def scores(jobs, which, first, last, now, theta, values):
        for i in range(first, last):
            values[i] = score(jobs, which[i], now, theta)

    return scores


def compile_formula(formula: Callable[..., float]) -> Any:
    """Compile one of our formulas, as `SCORES`, for good: it is kept by its name."""
    scores = scores_by(inlined(formula))
    scores.__qualname__ = f"scores_by_{formula.__name__}"
    return compiled(SCORES, pointer=True)(scores)
