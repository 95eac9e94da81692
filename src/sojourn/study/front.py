"""Trade-offs: which points no other beats, how sure each is of its place, and what they dominate.

All objectives are to be small, signed by their `Objective`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays import Floats
from ..errors import OptionError
from .evaluation import Objective
from .grid import Value
from .intervals import Interval, resampled_interval, student
from .outcome import replicated_interval

Values = tuple[Value, ...]

_LEVEL = 0.95
_TOGETHER = 256


@dataclass(frozen=True)
class FrontPoint:
    """A point of the front: values by key, means with intervals by measure.

    `share` says how often (0 to 1) it is on the front when replications are drawn anew, or in how
    many of the draws of one log. `unaccepted` is the mean number of jobs that never fit, and are in
    no objective.
    """

    values: Mapping[str, Value]
    objectives: Mapping[str, Interval]
    share: float
    unaccepted: float = 0.0

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        intervals = {name: interval.as_dict() for name, interval in self.objectives.items()}
        return {
            "values": dict(self.values),
            "objectives": intervals,
            "share": self.share,
            "unaccepted": self.unaccepted,
        }


@dataclass(frozen=True)
class Front:
    """The points that no other beats.

    Parameters
    ----------
    keys : what was varied.
    objectives : what counted.
    points : by the first objective, the best first.
    hypervolume : what the front dominates up to the reference, in the product of the units.
    reference : of the hypervolume, one value for each measure.
    history : hypervolume after each generation, by the means that the search went by.
    evaluated : points that were looked at.
    runs : that this took; `new` of them in this call.
    done : how many of these are there: all of them, unless the search was cut short.
    folder : where they are kept; None if nowhere.
    interrupted : whether the search was cut short.
    """

    keys: tuple[str, ...]
    objectives: tuple[Objective, ...]
    points: tuple[FrontPoint, ...]
    hypervolume: Interval | None
    reference: tuple[float, ...]
    history: tuple[float, ...]
    evaluated: int
    runs: int
    new: int
    done: int = 0
    folder: Path | None = None
    interrupted: bool = False

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        volume = self.hypervolume
        return {
            "objectives": [objective.measure for objective in self.objectives],
            "maximised": [objective.measure for objective in self.objectives if objective.sign < 0],
            "keys": list(self.keys),
            "hypervolume": None if volume is None else volume.estimate,
            "hypervolume_interval": None if volume is None else volume.as_dict(),
            "reference": list(self.reference),
            "points": [point.as_dict() for point in self.points],
            "history": list(self.history),
            "evaluated": self.evaluated,
            "runs": self.runs,
            "done": self.done,
            "new": self.new,
            "interrupted": self.interrupted,
        }


def comparable(samples: Sequence[Floats]) -> tuple[list[int], NDArray[np.intp]]:
    """Return which points can be compared, and by which replications: those that all of them have.

    Samples are by replication and objective; a row with nan is of a run that failed. Such a
    replication is left out at all points. Where that leaves none, so are points, the one with the
    fewest first.
    """
    count = min((len(rows) for rows in samples), default=0)
    good = [np.isfinite(rows[:count]).all(axis=1) for rows in samples]
    left = [place for place, rows in enumerate(good) if rows.any()]
    while left and not np.logical_and.reduce([good[place] for place in left]).any():
        left.remove(min(left, key=lambda place: good[place].sum()))
    common = np.logical_and.reduce([good[place] for place in left]) if left else np.zeros(0, bool)
    return left, np.flatnonzero(common)


def estimated_front(
    points: Sequence[Values],
    samples: Floats,
    corner: Floats | None,
    keys: Sequence[str],
    objectives: Sequence[Objective],
    seed: int,
    resampled: bool,
) -> tuple[tuple[FrontPoint, ...], Interval, tuple[float, ...]]:
    """The front among points, its hypervolume and the reference of that.

    `samples` are by point, replication and objective; points that follow those found make the
    reference, where it is not given. Replications that are draws of one log (`resampled`) are each
    what could have been; of others means are drawn anew.
    """
    count = len(points)

    def reference(means: Floats) -> Floats:
        return means[count:].max(axis=0) if corner is None else corner

    means = samples.mean(axis=1)
    on_front = nondominated(means[:count])
    several = samples.shape[1] > 1
    draws = [means]
    if several:
        draws = list(samples.swapaxes(0, 1) if resampled else redrawn(samples, seed=seed))
    shares = np.mean([nondominated(drawn[:count]) for drawn in draws], axis=0)
    volumes = [hypervolume(drawn[:count][on_front], reference(drawn)) for drawn in draws]
    best = [
        FrontPoint(
            dict(zip(keys, points[place], strict=True)),
            {
                objective.measure: replicated_interval(
                    objective.sign * samples[place, :, i], resampled, level=_LEVEL
                )
                for i, objective in enumerate(objectives)
            },
            float(shares[place]),
        )
        for place in np.argsort(means[:count, 0], kind="stable")
        if on_front[place]
    ]
    size = hypervolume(means[:count][on_front], reference(means))
    if several and resampled:
        volume = resampled_interval(volumes, estimate=size, level=_LEVEL)
    else:
        low, high = _percentiles(volumes, samples.shape[1]) if several else (np.nan, np.nan)
        volume = Interval(size, float(low), float(high), _LEVEL, samples.shape[1], "bootstrap")
    signs = np.array([objective.sign for objective in objectives])
    return tuple(best), volume, tuple((signs * reference(means)).tolist())


def _percentiles(draws: Sequence[float], n: int) -> tuple[float, float]:
    """Ends between which draws from `n` replications lie, as far out as Student's t has them.

    Draws from few values spread less than the values do [hesterberg2015].
    """
    from scipy.special import ndtr

    reach = student(_LEVEL, n - 1) * math.sqrt(n / (n - 1))
    low, high = np.quantile(draws, ndtr([-reach, reach]))
    return float(low), float(high)


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
