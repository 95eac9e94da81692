"""How a target holds week by week, and what that says about its uncertainty."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..arrays import Floats
from ..theory.estimate import Estimate
from .targets import Target

_WEEK = 7 * 86_400.0
_DRAWS, _FEWEST = 500, 4


@dataclass(frozen=True)
class Week:
    """What the jobs submitted in one week met.

    Parameters
    ----------
    number : weeks of the log before it.
    jobs : how many.
    values : the measure of each target (s).
    met : whether every target held.
    """

    number: int
    jobs: int
    values: tuple[float, ...]
    met: bool


def by_week(submit: Floats, wait: Floats, targets: Sequence[Target]) -> tuple[Week, ...]:
    """Measure each week of a log that has jobs, of submits (s, ascending) and waits (s)."""
    weeks = []
    week = _numbers(submit)
    for number in np.unique(week):
        waits = wait[week == number]
        values = tuple(target.of(waits) for target in targets)
        held = all(target.is_met(value) for target, value in zip(targets, values, strict=True))
        weeks.append(Week(int(number), len(waits), values, held))
    return tuple(weeks)


def resampled(
    submit: Floats,
    wait: Floats,
    targets: Sequence[Target],
    *,
    confidence: float = 0.95,
    seed: int = 0,
) -> tuple[Estimate, ...]:
    """Estimate measures of waits with intervals, by drawing whole weeks with replacement.

    Waits of neighbours depend on each other, those of different weeks much less so. Intervals are
    quantiles over the draws; nan to nan for less than four weeks, which say nothing about those to
    come.
    """
    _, week = np.unique(_numbers(submit), return_inverse=True)
    count = int(week.max()) + 1
    if count < _FEWEST:
        return tuple(
            Estimate(target.of(wait), math.nan, math.nan, confidence) for target in targets
        )
    order = np.argsort(wait)
    ordered, week = wait[order], week[order]
    rng = np.random.default_rng(seed)
    drawn = np.empty((_DRAWS, len(targets)))
    for k in range(_DRAWS):
        times = np.bincount(rng.integers(0, count, count), minlength=count).astype(np.float64)
        drawn[k] = [target.of_sorted(ordered, times[week]) for target in targets]
    ends = np.quantile(drawn, [0.5 - confidence / 2, 0.5 + confidence / 2], axis=0)
    return tuple(
        Estimate(target.of(wait), float(low), float(high), confidence)
        for target, low, high in zip(targets, *ends, strict=True)
    )


def _numbers(submit: Floats) -> NDArray[np.int64]:
    return np.asarray((submit - submit[0]) // _WEEK, dtype=np.int64)
