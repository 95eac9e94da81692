"""What an interval is made of, checked: each complaint is one line that says what to change."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import checks
from ..errors import OptionError

__all__ = ["Floats", "level_of", "pairs", "quantile_level", "sample", "student"]

Floats = NDArray[np.float64]


def sample(values: ArrayLike, name: str = "values", least: int = 1) -> Floats:
    """Return a column of at least so many finite numbers; `name` is for messages."""
    array = checks.numbers(values, name)
    if array.ndim != 1 or array.size < least:
        raise OptionError(
            f"{name}: has {array.size} numbers in {array.ndim} dimensions; "
            f"give a column of at least {least}"
        )
    checks.refuse_unknown(array, name)
    return array


def pairs(
    first: ArrayLike, second: ArrayLike, names: tuple[str, str], least: int = 1
) -> tuple[Floats, Floats]:
    """Return two columns of finite numbers that belong together row by row."""
    one, other = sample(first, names[0], least), sample(second, names[1], least)
    if one.size != other.size:
        raise OptionError(
            f"{names[0]} has {one.size} numbers, {names[1]} has {other.size}; "
            "give the same replications of both, in the same order"
        )
    return one, other


def level_of(level: float) -> float:
    """Return a level of confidence, strictly between 0 and 1."""
    return _inside(level, "level", "such as 0.95")


def quantile_level(q: float) -> float:
    """Return which quantile is meant, strictly between 0 and 1."""
    return _inside(q, "q", "such as 0.95 for the value that 5 % exceed")


def _inside(value: float, name: str, example: str) -> float:
    number = checks.probability(value, name)
    if not 0 < number < 1:
        raise OptionError(f"{name} = {number:g}: give a number between 0 and 1, {example}")
    return number


def student(level: float, freedom: int) -> float:
    """Return how many standard errors Student's t reaches to either side."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom, 0.5 + level / 2))
