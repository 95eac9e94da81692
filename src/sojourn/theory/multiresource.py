"""The stability constant of jobs that need several resources at once, as cores and GPUs.

As with servers alone, C = E[1/K], where K is the number of jobs, in order of arrival, that fit
together; so C is the sum over n of l_n P{a job does not fit into what n leaves}, and
l = -log(1 - P(z)) is now a power series in one variable per resource.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from .. import checks
from ..arrays import Floats, Ints
from ..errors import OptionError
from ..jit import compiled

_POINTS = 200_000_000
_PIECE = 50_000_000
"""Points times classes between which an interrupt is heard."""


def multiresource_constant(
    demands: ArrayLike, probabilities: ArrayLike, capacities: ArrayLike
) -> float:
    """Return C for jobs that take several resources for the same exponential time.

    The queue is FCFS, and stable if and only if lambda C E[S] < 1. Takes time and memory in
    proportion to the product of the capacities, each counted in the largest unit that divides
    all demands.

    Parameters
    ----------
    demands : demands[i][d] is what a job of class i takes of resource d, a whole number.
    probabilities : probability of each class.
    capacities : how much of each resource there is.
    """
    amounts = _whole(demands, "demands", 2)
    there = _whole(capacities, "capacities", 1)
    shares = checks.probabilities(probabilities, "probabilities")
    if amounts.shape != (len(shares), len(there)):
        raise OptionError(
            f"demands has the shape {amounts.shape}; give a row for each of {len(shares)} "
            f"probabilities and a column for each of {len(there)} capacities"
        )
    _check_classes(amounts, there)
    units = np.gcd.reduce(amounts, axis=0)
    used = units > 0
    amounts, there = amounts[:, used] // units[used], there[used] // units[used]
    points = math.prod(int(capacity) + 1 for capacity in there)
    if points > _POINTS:
        raise OptionError(
            f"capacities make a grid of {points:.3g} points, above {_POINTS:.0e}; measure demands "
            "in coarser units"
        )
    steps = np.append(np.cumprod((there + 1)[:0:-1])[::-1], 1)
    classes, which = np.unique(amounts, axis=0, return_inverse=True)
    chances = np.asarray(np.bincount(which.ravel(), shares / shares.sum()), np.float64)
    total = _sum_over_grid(classes, chances, there, classes @ steps, np.zeros(points))
    return min(float(total), 1.0)


def _whole(values: ArrayLike, name: str, dimensions: int) -> Ints:
    numbers = checks.numbers(values, name)
    if numbers.ndim != dimensions or numbers.size == 0:
        wanted = (
            "a list of whole numbers" if dimensions == 1 else "a row of whole numbers per class"
        )
        raise OptionError(f"{name}: give {wanted}")
    wrong = numbers[~((numbers >= 0) & (numbers == np.floor(numbers)) & (numbers < 2**53))]
    if wrong.size:
        raise OptionError(f"{name} has {wrong[0]:g}; give whole numbers of at least 0")
    return numbers.astype(np.int64)


def _check_classes(amounts: Ints, there: Ints) -> None:
    idle = np.flatnonzero(~amounts.any(axis=1))
    if idle.size:
        raise OptionError(f"demands[{idle[0]}] takes nothing; leave this class out")
    wide = np.flatnonzero((amounts > there).any(axis=1))
    if wide.size:
        row = wide[0]
        raise OptionError(
            f"demands[{row}] = {amounts[row].tolist()} does not fit into capacities "
            f"{there.tolist()}; leave this class out, or raise them"
        )


def _sum_over_grid(demands: Ints, p: Floats, capacities: Ints, offsets: Ints, h: Floats) -> float:
    """Sum of l_n P{does not fit}, with h_n = |n| l_n pushed forward class by class.

    |n| is the sum of all coordinates: differentiating along it turns the logarithm into the same
    recursion of positive terms as with one resource, h_n = |n| p_n + sum of p_j h_{n-j}.
    """
    h[offsets] = demands.sum(axis=1) * p
    # What is left of the capacities at a point, and behind it the sum of its coordinates.
    place = np.append(capacities, 0)
    total = 0.0
    piece = max(_PIECE // len(p), 1)
    for begin in range(1, h.size, piece):
        end = min(begin + piece, h.size)
        total = _sum_piece(demands, p, capacities, offsets, h, place, total, begin, end)
    return total


@compiled(
    "float64(int64[:, ::1], float64[::1], int64[::1], int64[::1], float64[::1], int64[::1],"
    " float64, int64, int64)"
)
def _sum_piece(  # type: ignore[no-untyped-def]
    demands, p, capacities, offsets, h, place, total, begin, end
):
    """Add the points from `begin` to `end`; `place` is that of the point before."""
    classes, resources = demands.shape
    left = place[:resources]
    degree = place[resources]
    for point in range(begin, end):
        # The next point of the grid: the last coordinate runs fastest.
        d = resources - 1
        while left[d] == 0:
            left[d] = capacities[d]
            degree -= capacities[d]
            d -= 1
        left[d] -= 1
        degree += 1
        if h[point] > 0.0:
            refused = 0.0
            for i in range(classes):
                fits = True
                for d in range(resources):
                    if demands[i, d] > left[d]:
                        fits = False
                        break
                if fits:
                    h[point + offsets[i]] += p[i] * h[point]
                else:
                    refused += p[i]
            total += h[point] / degree * refused
    place[resources] = degree
    return total
