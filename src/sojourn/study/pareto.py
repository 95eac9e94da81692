"""Trade-offs: which points no other beats, and how much they leave behind them.

All objectives are to be small.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import OptionError

__all__ = ["hypervolume", "nondominated", "redrawn", "unknown"]

Floats = NDArray[np.float64]

_TOGETHER = 256


def nondominated(values: ArrayLike) -> NDArray[np.bool_]:
    """Return which points are on the Pareto front: none is as small in all, and smaller in one.

    Parameters
    ----------
    values : one row per point, one column per objective; a row with nan is never on it.
    """
    given = _rows(values)
    known = ~unknown(given)
    front = known.copy()
    rivals = given[known]
    # So many at a time that memory does not grow with the square of their number.
    for first in range(0, len(given), _TOGETHER):
        piece = given[first : first + _TOGETHER, None, :]
        beaten = (rivals <= piece).all(axis=2) & (rivals < piece).any(axis=2)
        front[first : first + _TOGETHER] &= ~np.asarray(beaten).any(axis=1)
    return front


def unknown(values: Floats) -> NDArray[np.bool_]:
    """Return which rows have a nan in them."""
    return np.asarray(np.any(np.isnan(values), axis=1))


def hypervolume(values: ArrayLike, reference: ArrayLike) -> float:
    """Return the volume that points dominate, up to a reference point.

    Parameters
    ----------
    values : one row per point, one column per objective.
    reference : a value of each objective; what lies beyond it does not count.
    """
    given, corner = _rows(values), np.asarray(reference, dtype=np.float64)
    if corner.shape != given.shape[1:]:
        raise OptionError(
            f"a reference of {corner.size} values for {given.shape[1]} objectives; give one each"
        )
    inside = given[(given < corner).all(axis=1)]
    return _volume(inside[nondominated(inside)], corner)


def _volume(front: Floats, corner: Floats) -> float:
    """Slices between the values of the last objective, each of one dimension less."""
    if not len(front):
        return 0.0
    if front.shape[1] == 1:
        return float(corner[0] - front.min())
    ordered = front[np.argsort(front[:, -1], kind="stable")]
    edges = np.append(ordered[:, -1], corner[-1])
    if front.shape[1] == 2:
        return float(np.sum(np.diff(edges) * (corner[0] - np.minimum.accumulate(ordered[:, 0]))))
    volume = 0.0
    for place, thickness in enumerate(np.diff(edges)):
        if thickness > 0:
            slice_of = ordered[: place + 1, :-1]
            volume += thickness * _volume(slice_of[nondominated(slice_of)], corner[:-1])
    return float(volume)


def redrawn(samples: Floats, draws: int = 1000, seed: int = 0) -> Iterator[Floats]:
    """Yield the means of points over replications that are drawn anew, with replacement.

    Samples are by point, replication and objective. Replication r has the same random numbers at
    all points, so that whole replications are drawn.
    """
    rng = np.random.default_rng(seed)
    count = samples.shape[1]
    for _ in range(draws):
        yield samples[:, rng.integers(0, count, count)].mean(axis=1)


def _rows(values: ArrayLike) -> Floats:
    given = np.asarray(values, dtype=np.float64)
    if given.ndim != 2:
        raise OptionError("objectives come as a table: one row per point, one column for each")
    return given
