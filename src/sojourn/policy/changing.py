"""The named orders that change with time, as one compiled function: for queues of their own order.

A kernel takes a fixed number of functions, whatever the number of queues.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..engine.scores import compile_formula
from ..jit import inlined
from .orders import ORDERS
from .score import Score

CHANGING = tuple(name for name, order in ORDERS.items() if order.depends_on_time)
"""The named orders that read the time."""


def _no_order(jobs, j, now, theta):  # type: ignore[no-untyped-def]
    return 0.0


def _before(place: int, formula: Any, others: Any) -> Any:
    """Return the score by the order at one place, and by all that `others` know."""

    def score(jobs, j, now, theta):  # type: ignore[no-untyped-def]
        if theta[j] == place:
            return formula(jobs, j, now, theta)
        return others(jobs, j, now, theta)

    return score


def _changing_order() -> Any:
    """The score of a job by the order of its queue: ``theta[j]`` is its place in `CHANGING`."""
    score: Any = _no_order
    for place, name in enumerate(CHANGING):
        score = _before(place, inlined(ORDERS[name].formula), inlined(score))
    score.__name__ = "changing_order"
    return score


changing_order = compile_formula(_changing_order())


def codes_of(scores: list[Score], members: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return theta for `changing_order`: by job, from the order of each queue."""
    known = [ORDERS[name] for name in CHANGING]
    places = [known.index(score) if score in known else -1 for score in scores]
    return np.array(places, dtype=np.float64)[members]
