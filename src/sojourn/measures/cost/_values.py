"""Numbers as people write them, and functions that are constant between their changes."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ...arrays import Floats
from ...errors import OptionError

JOULES_PER_KWH = 3.6e6
DAY = 86400


def number(text: str | float) -> float | None:
    """Return the number that a text is; None if it is none."""
    try:
        return float(text)
    except ValueError:
        return None


def pieces(what: str, begins: ArrayLike, values: ArrayLike) -> tuple[Floats, Floats]:
    """Return the pieces of a piecewise constant function, checked."""
    time, value = np.array(begins, dtype=np.float64), np.array(values, dtype=np.float64)
    if not 0 < len(time) == len(value):
        raise OptionError(f"{what}: {len(value)} values for {len(time)} times; give at least one")
    if not (np.isfinite(time).all() and np.isfinite(value).all() and (np.diff(time) > 0).all()):
        raise OptionError(f"{what}: give finite values, and times that increase")
    return time, value
