"""Chains that move up and down one level at a time and repeat from some level on.

Matrix-geometric solution: above the last boundary level L the probabilities are
pi_{n+1} = pi_n R; R comes from logarithmic reduction (Latouche and Ramaswami), the boundary from
one R_n per level.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..arrays import Floats
from ..errors import RunError
from ._chain import State, eliminate

_STEPS = 100
"""Steps of logarithmic reduction; each doubles the levels looked at."""


@dataclass(frozen=True)
class Levels:
    """Stationary probabilities of all levels."""

    boundary: tuple[Floats, ...]  # of the phases of levels 0 .. L
    ratio: Floats  # R, by which each level above L follows from the one below

    @property
    def last(self) -> int:
        """L, from which on the levels repeat."""
        return len(self.boundary) - 1

    @cached_property
    def _rest(self) -> Floats:
        """(I - R)^-1."""
        return np.asarray(np.linalg.inv(np.eye(len(self.ratio)) - self.ratio))

    @cached_property
    def above(self) -> Floats:
        """Probabilities of the phases, of all levels from L on together."""
        return np.asarray(self.boundary[-1] @ self._rest)

    @cached_property
    def excess(self) -> float:
        """Mean number of levels above L."""
        return float((self.above @ self.ratio @ self._rest).sum())

    @cached_property
    def mean(self) -> float:
        """Mean level."""
        below = sum(n * float(pi.sum()) for n, pi in enumerate(self.boundary[:-1]))
        return below + self.last * float(self.above.sum()) + self.excess

    @cached_property
    def second(self) -> float:
        """Mean of the level squared."""
        below = sum(n * n * float(pi.sum()) for n, pi in enumerate(self.boundary[:-1]))
        once = self.above @ self.ratio @ self._rest
        twice = once @ (np.eye(len(self.ratio)) + self.ratio) @ self._rest
        return (
            below
            + self.last**2 * float(self.above.sum())
            + 2 * self.last * float(once.sum())
            + float(twice.sum())
        )

    def level(self, n: int) -> Floats:
        """Probabilities of the phases of one level."""
        if n <= self.last:
            return self.boundary[n]
        return np.asarray(self.boundary[-1] @ np.linalg.matrix_power(self.ratio, n - self.last))

    @cached_property
    def decay(self) -> float:
        """Factor by which the probability of a level falls in the end, from level to level."""
        return float(np.abs(np.linalg.eigvals(self.ratio)).max())


def block(
    here: Sequence[State],
    there: Sequence[State],
    step: Callable[[State], Iterable[tuple[State, float]]],
) -> Floats:
    """Return the rates from the phases of a level to those of another, as `step` yields them."""
    index = {state: i for i, state in enumerate(there)}
    rates = np.zeros((len(here), len(there)))
    for i, state in enumerate(here):
        for after, rate in step(state):
            rates[i, index[after]] += rate
    return rates


def solve(
    up: Sequence[Floats],
    down: Sequence[Floats],
    repeat: Floats,
    within: Sequence[Floats] | None = None,
) -> Levels:
    """Solve a chain from its rates between levels.

    Parameters
    ----------
    up : rates from level n to n + 1, for n = 0 .. L; from L on they repeat.
    down : rates from level n to n - 1, for n = 1 .. L (`down[0]` is not looked at).
    repeat : rates from level n to n - 1 for all n above L.
    within : rates between the phases of level n, for n = 0 .. L, without a diagonal; from L on they
        repeat. None where each event is an arrival or a departure.

    Notes
    -----
    The chain must be stable and have one closed class.
    """
    last = len(up) - 1
    inside = [np.zeros((len(rates), len(rates))) for rates in up] if within is None else within
    ratio = _ratio(up[last], repeat, inside[last])
    ratios: list[Floats] = [ratio] * (last + 1)
    below = repeat
    for n in range(last, 0, -1):
        ratios[n - 1] = _upward(up[n - 1], ratios[n] @ below + inside[n], down[n])
        below = down[n]
    boundary = [eliminate(ratios[0] @ below + inside[0])]
    for n in range(last):
        boundary.append(boundary[-1] @ ratios[n])
        # A level far more likely than those before it: keep the numbers near 1.
        top = float(boundary[-1].max())
        if top > 1e100:
            boundary = [pi / top for pi in boundary]
    levels = Levels(tuple(boundary), ratio)
    total = sum(float(pi.sum()) for pi in boundary[:-1]) + float(levels.above.sum())
    return Levels(tuple(pi / total for pi in boundary), ratio)


def _ratio(up: Floats, down: Floats, inside: Floats) -> Floats:
    """R = up (-stay - up G)^-1, with G by logarithmic reduction."""
    identity = np.eye(len(up))
    stay = np.diag((up + down + inside).sum(axis=1)) - inside
    rise, fall = np.linalg.solve(stay, up), np.linalg.solve(stay, down)
    g, path = fall.copy(), rise.copy()
    for _ in range(_STEPS):
        both = identity - rise @ fall - fall @ rise
        rise, fall = np.linalg.solve(both, rise @ rise), np.linalg.solve(both, fall @ fall)
        more = path @ fall
        g += more
        path = path @ rise
        if np.abs(1 - g.sum(axis=1)).max() < 1e-14 or more.max() < 1e-17:
            break
    else:
        raise RunError("the chain's solution did not converge: the load is too near to 1")
    # A stable chain comes down from every level with certainty.
    g /= g.sum(axis=1, keepdims=True)
    return _upward(up, up @ g + inside, down)


def _upward(up: Floats, around: Floats, down: Floats) -> Floats:
    """Solve up = R (D - around) for R: time in the phases of the level above, per time in these.

    `around` are the rates within that level, through the levels above it; `down` those out of it
    downwards. D holds the sums of both, so that the rows of D - around are those of `down` without
    a difference of near numbers.
    """
    system = -around
    np.fill_diagonal(system, 0.0)
    np.fill_diagonal(system, down.sum(axis=1) - system.sum(axis=1))
    return np.asarray(np.maximum(np.linalg.solve(system.T, up.T).T, 0.0))
