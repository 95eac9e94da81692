"""What jobs really waited, as the log records it, beside what they would wait in a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Floats
from . import formulas

_LARGE = 1.25
"""Factor between both means from which on it is worth a word."""
_MANY = 99.0
"""Factor from which on it is not worth a number."""
_SHORT = 60.0
"""Seconds below which both means count as no wait at all."""


def recorded_beside(
    recorded: ArrayLike, runtime: ArrayLike, wait: ArrayLike, service: ArrayLike
) -> dict[str, Any] | None:
    """Return recorded and simulated waits of the same jobs, as plain numbers.

    Parameters
    ----------
    recorded, runtime : wait and runtime of each job in the log, s; a wait below 0 is not known.
    wait, service : wait and time in service of the same jobs in a run, s; nan if a job never ran.

    Returns
    -------
    dict
        ``jobs``, how many have both; distributions ``wait`` (s) and ``bounded_slowdown`` as
        recorded; the same two of these jobs in the run, as ``simulated``. None if no job has both.

    Examples
    --------
    >>> section = recorded_beside([-1, 40, 60], [10, 10, 10], [5, 10, 30], [10, 10, 10])
    >>> section["jobs"], section["wait"]["mean"], section["simulated"]["wait"]["mean"]
    (2, 50.0, 20.0)
    """
    real, ran = np.asarray(recorded, np.float64), np.asarray(wait, np.float64)
    both = (real >= 0) & np.isfinite(ran)
    if not both.any():
        return None
    return {
        "jobs": int(np.count_nonzero(both)),
        **_described(real[both], np.asarray(runtime, np.float64)[both]),
        "simulated": _described(ran[both], np.asarray(service, np.float64)[both]),
    }


def _described(wait: Floats, service: Floats) -> dict[str, Any]:
    slowdown = formulas.bounded_slowdown(wait + service, service)
    return {"wait": formulas.describe(wait), "bounded_slowdown": formulas.describe(slowdown)}


def gap_in_words(section: Mapping[str, Any], run: str = "") -> str:
    """Return what a large gap between recorded and simulated waits means; nothing if it is small.

    The section is one of `recorded_beside`; the run has a name where there are several.
    """
    real, model = section["wait"]["mean"], section["simulated"]["wait"]["mean"]
    low, high = sorted((real, model))
    if high < _SHORT or high <= _LARGE * low:
        return ""
    under = f" under {run}" if run else ""
    which = ("recorded one", f"simulated one{under}")
    longer, shorter = which if real > model else which[::-1]
    times = f"{high / low:.2g} times" if low > 0 and high < _MANY * low else "far more than"
    return (
        f"Of the mean waits the {longer} is {times} the {shorter}: the model lacks what the real "
        "machine had, such as other queues, limits, priorities, reservations, outages or another "
        "capacity. A comparison of policies is about the simulated machine; sojourn replay and "
        "sojourn adequacy tell how near a model comes."
    )
