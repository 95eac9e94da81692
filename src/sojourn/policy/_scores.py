"""From a score of one job to that of a whole queue, as the kernels take it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..engine.types import SCORES
from ..jit import compiled, inlined

__all__ = ["compile_formula", "scores_by"]


def scores_by(score: Any) -> Callable[..., None]:
    """Return the function of `SCORES` that evaluates a compiled score for one job after another."""

    def scores(jobs, which, first, last, now, theta, values):  # type: ignore[no-untyped-def]
        for i in range(first, last):
            values[i] = score(jobs, which[i], now, theta)

    return scores


def compile_formula(formula: Callable[..., float]) -> Any:
    """Compile one of our formulas, as `SCORES`, for good: it is kept by its name."""
    scores = scores_by(inlined(formula))
    scores.__qualname__ = f"scores_by_{formula.__name__}"
    return compiled(SCORES, pointer=True)(scores)
