"""Dependence between columns of a log that no straight line or ranking shows."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import checks
from ..arrays import Floats
from ..errors import OptionError

_BANDS = ("standard-error", "rank")


def distributional_correlation(
    x: ArrayLike, y: ArrayLike, *, band: str = "standard-error", width: float = 2.0
) -> float:
    """Whether the distribution of y moves up or down with x [feitelson2004].

    The sample is halved at the median of x. Each y of the sample is a vote on which half has the
    larger values at this point: +1 if F(y | low x) is above F(y | high x), -1 if it is below, 0 if
    they differ by no more than chance may explain. The mean vote is the result. For instance,
    wider jobs may tend to run longer although no width says what a runtime is.

    Parameters
    ----------
    x, y : two columns, one value per job.
    band : what chance may explain: ``standard-error``, `width` standard errors of the difference
        of the two distribution functions; ``rank``, `width` sqrt(i) / n at the i-th smallest y,
        as the R package hpcwld has it.
    width : see `band`; 0 counts every difference.

    Returns
    -------
    From -1 (wholly opposed) to 1 (wholly in step); about 0 if y does not depend on x, or if the
    two distributions cross.

    Notes
    -----
    Where many x are equal to the median, they all go to the side that makes the parts more even.
    The band ``rank`` is one standard error for small y, where it counts a quarter of what is pure
    chance, and never counts the sqrt(n) largest. With two standard errors about one y in twenty
    of independent columns has a vote.
    """
    checks.choice(band, _BANDS, "band")
    width = checks.non_negative(width, "width")
    given, asked = _column("x", x), _column("y", y)
    count = given.size
    if asked.size != count:
        raise OptionError(f"y has {asked.size} values, x has {count}; give one of each per job")
    is_low = _lower_half(given)
    points = np.sort(asked)
    below = [np.searchsorted(np.sort(asked[part]), points, "right") for part in (is_low, ~is_low)]
    sizes = int(is_low.sum()), count - int(is_low.sum())
    difference = below[0] / sizes[0] - below[1] / sizes[1]
    if band == "rank":
        chance = width * np.sqrt(np.arange(1, count + 1)) / count
    else:
        share = (below[0] + below[1]) / count
        chance = width * np.sqrt(share * (1 - share) * (1 / sizes[0] + 1 / sizes[1]))
    return float(np.mean(np.sign(difference) * (np.abs(difference) > chance)))


def _lower_half(x: Floats) -> NDArray[np.bool_]:
    """Return which values are the smaller half, as evenly as equal values allow."""
    middle = np.median(x)
    under, upto = x < middle, x <= middle
    return under if abs(2 * under.sum() - x.size) <= abs(2 * upto.sum() - x.size) else upto


def _column(name: str, values: ArrayLike) -> Floats:
    array = checks.numbers(values, name)
    if array.ndim != 1 or array.size < 2:
        raise OptionError(f"{name}: give a column of at least two numbers")
    wrong = np.flatnonzero(~np.isfinite(array))
    if wrong.size:
        raise OptionError(f"{name}[{wrong[0]}] = {array[wrong[0]]:g}: give finite numbers")
    if name == "x" and array.min() == array.max():
        raise OptionError(f"x is {array[0]:g} throughout; there are no halves to compare")
    return array
