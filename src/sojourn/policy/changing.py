"""The named orders that change with time, as one compiled function: for queues of their own order.

A kernel takes a fixed number of functions, whatever the number of queues.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..jit import inlined
from ._scores import compile_formula
from .orders import ORDERS, expansion, unicef, wfp3
from .score import Score

__all__ = ["CHANGING", "changing_order", "codes_of"]

CHANGING = ("expansion", "unicef", "wfp3")
"""The named orders that read the time."""

_expansion, _unicef, _wfp3 = inlined(expansion), inlined(unicef), inlined(wfp3)


@compile_formula
def changing_order(jobs, j, now, theta):  # type: ignore[no-untyped-def]
    """The score of a job by the order of its queue: ``theta[j]`` is its place in `CHANGING`."""
    if theta[j] == 0.0:
        return _expansion(jobs, j, now, theta)
    if theta[j] == 1.0:
        return _unicef(jobs, j, now, theta)
    return _wfp3(jobs, j, now, theta)


def codes_of(scores: list[Score], members: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return theta for `changing_order`: by job, from the order of each queue."""
    known = [ORDERS[name] for name in CHANGING]
    places = [known.index(score) if score in known else -1 for score in scores]
    return np.array(places, dtype=np.float64)[members]
