"""What must hold after every run, to 1e-9: areas, loads, and the energy bill."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...engine.drive import Run
from ...errors import RunError
from ...measures.formulas import product_sum

__all__ = ["check_areas", "check_bill"]

Floats = NDArray[np.float64]

_TOLERANCE = 1e-9
_ROWS = 1 << 15


def _grain(run: Run) -> float:
    """Times are only as fine as their floats; a log of tiny jobs far from zero is coarse."""
    largest = max(abs(run.s.now), np.abs(run.jobs.submit).max())
    return 8 * float(np.spacing(largest))


def check_areas(run: Run, fastest: float, held: NDArray[Any], work: Floats, left: Floats) -> None:
    """Check areas and loads.

    Parameters
    ----------
    run : at its end, with at least one job.
    fastest : the largest service rate.
    held, work : processors and work of each stretch of service, at the speed of its nodes.
    left : when each job left the system (s).
    """
    total, grain = run.s, _grain(run)
    coarse = grain * fastest * float(held.sum())
    done = product_sum(held, work)
    _must_equal("work done and the sum of job areas", total.effective, done, coarse)
    lapse = float(np.sum(left - run.entered))
    present = total.queue_time + total.service_time
    _must_equal("Little's law", present, lapse, grain * len(left))
    wasted = total.potential - total.effective
    slack = coarse + _TOLERANCE * total.potential
    _must_equal("potential less effective load", wasted, total.waste, slack)


def check_bill(run: Run, bill: float, power: Callable[[slice], Floats]) -> None:
    """Check the energy bill (J) against the integral of the power at each recorded instant.

    Parameters
    ----------
    run : at its end.
    bill : J.
    power : returns the watts at some of the recorded instants.
    """
    time = run.rows("time")
    integral = watts = 0.0
    # In pieces that stay in the cache.
    for first in range(0, len(time), _ROWS):
        piece = power(slice(first, first + _ROWS))
        lapse = np.diff(time[first : first + _ROWS + 1])
        integral += product_sum(lapse, piece[: len(lapse)])
        watts += float(np.abs(piece).sum())
    _must_equal("the energy bill", bill, integral, _grain(run) * watts)


def _must_equal(what: str, left: float, right: float, slack: float) -> None:
    if not abs(left - right) <= _TOLERANCE * max(abs(left), abs(right)) + slack:
        raise RunError(
            f"{what}: {float(left)!r} is not {float(right)!r}; please report this as a bug"
        )
