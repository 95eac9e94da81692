"""Compound Poisson counts: requests come alone, servers come in groups.

If m_j is the mean number of requests that have j servers busy, and these numbers are independent
and Poisson, then N, the number of busy servers, has ``n p_n = sum_j j m_j p_{n-j}``: all terms
are positive (errata 5). A load is g_j = j m_j, the mean number of servers in groups of j.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ..arrays import Floats
from ..errors import OptionError
from ..jit import compiled

_LARGE = 2.0**500
_SMALL = 2.0**-500
_BEYOND = 1e-18
"""Probability that may lie beyond the last state kept."""

_GONE = 3000
"""A power of two that leaves nothing of any number."""

_STATES = 2**28
"""States of which all probabilities may be asked for: 2 GiB of them."""

_LONG = 8e9
"""Products that the recursion may take, some seconds' worth, before the transform takes over."""

_PIECE = 200_000_000
"""Products between which an interrupt is heard."""

_COMMON = 8
"""Sizes that the transform treats one by one."""


@compiled("int64(float64[::1], int64[::1], float64[::1], int64, int64, int64)")
def _recur_piece(
    p: Floats, sizes: NDArray[np.int64], loads: Floats, first: int, begin: int, end: int
) -> int:
    """As `_recur`, for begin <= n < end; the first state that has not vanished, to go on with."""
    states = len(p)
    widest = sizes[-1]
    dense = len(sizes) == widest
    for n in range(begin, end):
        if n > 0:
            p[n] /= n
        if p[n] == 0.0:
            continue
        if p[n] > _LARGE:
            for i in range(first, min(n + widest + 1, states)):
                p[i] *= _SMALL
            while p[first] == 0.0:
                first += 1
        here = p[n]
        if dense:
            above = p[n + 1 : min(n + 1 + widest, states)]
            for j in range(len(above)):
                above[j] += loads[j] * here
        else:
            for i in range(len(sizes)):
                if n + sizes[i] >= states:
                    break
                p[n + sizes[i]] += loads[i] * here
    return first


def _recur(p: Floats, sizes: NDArray[np.int64], loads: Floats) -> None:
    """Fill p[n] from p[0] = 1 with p[1:] = 0; what is left of p[0] is in scale with the others.

    Each p[n], once known, is handed on to the states above. Where it grows too large, everything
    is scaled down by a power of two, so nothing is rounded but what vanishes.
    """
    first = 0
    piece = max(_PIECE // len(sizes), 1)
    for begin in range(0, len(p), piece):
        first = _recur_piece(p, sizes, loads, first, begin, min(begin + piece, len(p)))


@compiled("void(float64[::1], float64, float64)")
def _recur_geometric(p: Floats, load: float, ratio: float) -> None:
    """As `_recur` for loads load * ratio**(j-1): p_n / p_{n-1} = (load + (n-1) ratio) / n."""
    first = 0
    for n in range(1, len(p)):
        p[n] = p[n - 1] * ((load + (n - 1) * ratio) / n)
        if p[n] > _LARGE:
            for i in range(first, n + 1):
                p[i] *= _SMALL
            while p[first] == 0.0:
                first += 1


@compiled("void(float64[::1], float64[::1])")
def _descend(entering: Floats, passing: Floats) -> None:
    """entering[j] += passing[j+1] * entering[j+1], from above."""
    for j in range(len(entering) - 2, -1, -1):
        entering[j] += passing[j + 1] * entering[j + 1]


def visits(p: Floats, passing: Floats) -> Floats:
    """Probability that a request ever has j servers busy, in j = 1, ..., len(p).

    It starts with k by probability p[k-1]; j are followed by j - 1, not by none, by passing[j-1].
    """
    seen = np.array(p, dtype=np.float64)
    _descend(seen, np.ascontiguousarray(passing, dtype=np.float64))
    return seen


def occupancies(states: int, sizes: NDArray[np.int64], loads: Floats) -> Floats:
    """Distribution of N given N < states: of servers that lose what does not fit.

    Sizes of groups are distinct and ascending, loads the mean number of servers in groups of each.
    """
    p = np.zeros(states)
    p[0] = 1.0
    if len(sizes):
        # Under overload p_n grows in every step. p_n / 2**(tilt n) has the loads g_j / 2**(tilt j).
        tilt = _tilt(states, sizes, loads)
        eased = np.ldexp(loads, -np.minimum(tilt * sizes, _GONE))
        _recur(p, np.ascontiguousarray(sizes), eased)
        if tilt:
            p = np.ldexp(p, -np.minimum(tilt * np.arange(states - 1, -1, -1), _GONE))
    return np.asarray(p / p.sum())


def _tilt(states: int, sizes: NDArray[np.int64], loads: Floats) -> int:
    """Power of two by which each server more is made less likely, so that N would fit."""
    low, high = 0.0, max(float(np.log2(loads.sum() / states)), 0.0)
    while high - low > 0.5:
        middle = (low + high) / 2
        if np.dot(loads, np.exp2(-middle * sizes)) > states:
            low = middle
        else:
            high = middle
    return int(low)


class Count(Protocol):
    """A law of the number of busy servers."""

    @property
    def cumulants(self) -> tuple[float, float, float]:
        """Mean, variance and third central moment."""

    def log_pgf(self, z: Floats) -> Floats:
        """Return the logarithm of E[z**N]."""

    def probabilities(self) -> Floats:
        """p_0, p_1, ... up to a state beyond which less than 1e-18 lies."""


@dataclass(frozen=True, eq=False)
class CompoundPoisson:
    """Groups of j servers with the mean number loads[j-1] of servers in them."""

    loads: Floats

    @property
    def cumulants(self) -> tuple[float, float, float]:
        """Mean, variance and third central moment: sums of j**r m_j."""
        j = np.arange(1.0, len(self.loads) + 1)
        return (
            float(self.loads.sum()),
            float(np.dot(self.loads, j)),
            float(np.dot(self.loads, j * j)),
        )

    def log_pgf(self, z: Floats) -> Floats:
        """Sum of m_j (z**j - 1)."""
        sizes, groups = self._groups()
        return np.array([np.dot(groups, x**sizes - 1) for x in np.ravel(z)]).reshape(np.shape(z))

    def probabilities(self) -> Floats:
        """p_0, p_1, ...: by the recursion, or by a transform if that would take long.

        The recursion is right to some 1e-13 of each p_n; the transform to 1e-12 of the mass.
        """
        sizes, groups = self._groups()
        mean, var, _ = self.cumulants
        states = _states(lambda s: float(np.dot(groups, np.expm1(s * sizes))), mean, var)
        if float(states) * len(sizes) > _LONG:
            return self._transformed(states)
        return occupancies(states, sizes, self.loads[sizes - 1])

    def _transformed(self, states: int) -> Floats:
        """p as the inverse transform of exp(M(w) - M(0)); what lies beyond folds back: 1e-18.

        Where exp is not nothing, M(w) - M(0) is a small difference of large numbers: the commonest
        sizes are therefore entered as sines, and only the rest by a transform.
        """
        from scipy import fft

        length = fft.next_fast_len(states, real=True)
        m = np.zeros(length)
        kept = self.loads[: length - 1]
        m[1 : len(kept) + 1] = kept / np.arange(1, len(kept) + 1)
        common = np.argsort(m)[-_COMMON:]
        angle = np.arange(length // 2 + 1) * (np.pi / length)
        exponent = np.zeros(len(angle), dtype=np.complex128)
        for j in common:
            sine = np.sin(j * angle)
            exponent -= 2 * m[j] * sine * (sine + 1j * np.cos(j * angle))
            m[j] = 0.0
        exponent += fft.rfft(m) - m.sum()
        p = np.maximum(fft.irfft(np.exp(exponent), length)[:states], 0.0)
        return np.asarray(p / p.sum())

    def _groups(self) -> tuple[NDArray[np.int64], Floats]:
        """Sizes that occur, and the mean number of requests of each, m_j."""
        sizes = np.flatnonzero(self.loads) + 1
        return sizes, self.loads[sizes - 1] / sizes


@dataclass(frozen=True, eq=False)
class NegativeBinomial:
    """Groups of j servers with load * ratio**(j-1) servers in them [mminf2023, eq. 31, errata 2].

    With ratio 0 it is Poisson's law [eq. 26].
    """

    load: float
    ratio: float

    @property
    def cumulants(self) -> tuple[float, float, float]:
        """Mean, variance and third central moment."""
        rest = 1 - self.ratio
        return (
            self.load / rest,
            self.load / rest**2,
            self.load * (1 + self.ratio) / rest**3,
        )

    def log_pgf(self, z: Floats) -> Floats:
        """Logarithm of ((1 - ratio) / (1 - ratio z))**(load / ratio)."""
        a = self.ratio
        if a == 0:
            return np.asarray(self.load * (np.asarray(z) - 1))
        return np.asarray(-self.load / a * np.log1p(a * (1 - np.asarray(z)) / (1 - a)))

    def probabilities(self) -> Floats:
        """p_0, p_1, ... by the ratio of neighbours."""
        mean, var, _ = self.cumulants
        p = np.zeros(_states(self._log_mgf, mean, var))
        p[0] = 1.0
        _recur_geometric(p, self.load, self.ratio)
        return np.asarray(p / p.sum())

    def _log_mgf(self, s: float) -> float:
        if self.ratio > 0 and s >= -np.log(self.ratio):
            return float("inf")
        if self.ratio == 0:
            return float(self.load * np.expm1(s))
        over = self.ratio * np.expm1(s) / (1 - self.ratio)
        return float(-self.load / self.ratio * np.log1p(-over)) if over < 1 else float("inf")


def _states(log_mgf: Callable[[float], float], mean: float, var: float) -> int:
    """How many states to keep: beyond them lies less than `_BEYOND`, by Chernoff's bound.

    P(N >= n) <= exp(K(s) - s n) for every s > 0; K is convex with K'' >= var, so the best s is at
    most that of the normal law, and the bound falls from there to it.
    """
    spare = -np.log(_BEYOND)
    s = float(np.sqrt(2 * spare / var))
    least = float("inf")
    with np.errstate(over="ignore"):
        while (bound := (log_mgf(s) + spare) / s) <= least:
            least = bound
            s *= 0.8
    states = least + 2
    if not states <= _STATES:
        raise OptionError(
            f"{mean:.6g} busy servers on average: probabilities of more than {_STATES} states "
            "are not kept; use mean and var, where the normal law serves"
        )
    return int(states)
