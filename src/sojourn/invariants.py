"""What must hold after every run, to 1e-9: areas, loads, and the energy bill."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from .aftermath import Aftermath
from .engine.drive import Run
from .errors import RunError
from .measures.formulas import product_sum

__all__ = ["check_bill", "check_run"]

Floats = NDArray[np.float64]

_TOLERANCE = 1e-9
_ROWS = 1 << 15


def _grain(run: Run) -> float:
    """Times are only as fine as their floats; a log of tiny jobs far from zero is coarse."""
    largest = max(abs(run.s.now), np.abs(run.jobs.submit).max())
    return 8 * float(np.spacing(largest))


def check_run(
    run: Run, fastest: float, slowness: Floats | float, after: Aftermath | None = None
) -> None:
    """Check areas and loads.

    Parameters
    ----------
    run : at its end, with at least one job.
    fastest : the largest service rate.
    slowness : of each job's nodes [gomez2012, eq. 2].
    after : what external events did to the jobs.
    """
    total, procs = run.s, run.held
    grain = _grain(run)
    held = float(procs.sum())
    if run.in_pieces:
        pieces = run.rows("segment_held")
        done = product_sum(pieces, run.rows("segment_work"))
        held = float(pieces.sum())
    else:
        done = product_sum(procs, run.jobs.work * slowness)
    left = run.end
    if after is not None:
        left = np.where(after.waiting, run.s.now, after.left)
    coarse = grain * fastest * held
    _must_equal("work done and the sum of job areas", total.effective, done, coarse)
    lapse = float(np.sum(left - run.entered))
    present = total.queue_time + total.service_time
    _must_equal("Little's law", present, lapse, grain * len(procs))
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
        watts += float(piece.sum())
    _must_equal("the energy bill", bill, integral, _grain(run) * watts)


def _must_equal(what: str, left: float, right: float, slack: float) -> None:
    if not abs(left - right) <= _TOLERANCE * max(abs(left), abs(right)) + slack:
        raise RunError(
            f"{what}: {float(left)!r} is not {float(right)!r}; please report this as a bug"
        )
