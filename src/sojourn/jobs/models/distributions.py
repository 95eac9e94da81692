"""Distributions of times, of work and of widths."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

from ...arrays import Floats
from ...errors import OptionError


def positive(who: str, what: str, value: float) -> None:
    """Refuse anything but a finite number > 0."""
    if not (math.isfinite(value) and value > 0):
        raise OptionError(f"{who}: {what} is {value}; give a finite number > 0")


def at_least_one(who: str, what: str, value: int) -> None:
    """Refuse anything but a whole number >= 1."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise OptionError(f"{who}: {what} is {value!r}; give a whole number >= 1")


def probabilities(who: str, probs: Sequence[float], n: int) -> None:
    """Refuse anything but `n` probabilities that sum to 1."""
    if len(probs) != n or n == 0:
        raise OptionError(f"{who}: {len(probs)} probabilities for {n} values; give one for each")
    if not all(0.0 <= p <= 1.0 for p in probs):
        raise OptionError(f"{who}: a probability is outside [0, 1]; got {tuple(probs)}")
    if abs(math.fsum(probs) - 1.0) > 1e-9:
        raise OptionError(f"{who}: probabilities sum to {math.fsum(probs)}; make them sum to 1")


class Distribution(Protocol):
    """What :func:`generate` needs: independent draws and their mean."""

    @property
    def mean(self) -> float:
        """Expected value."""

    def sample(self, rng: np.random.Generator, n: int) -> npt.NDArray[Any]:
        """Draw ``n`` values."""


@dataclass(frozen=True)
class Exponential:
    """Exponential distribution with a given mean (seconds of time or of work), > 0."""

    mean: float

    def __post_init__(self) -> None:
        positive("Exponential", "mean", self.mean)

    def sample(self, rng: np.random.Generator, n: int) -> Floats:
        """Draw ``n`` values."""
        return rng.exponential(self.mean, n)


def PoissonProcess(rate: float) -> Exponential:
    """Interarrival times (seconds) of a Poisson process of ``rate`` arrivals per second."""
    positive("PoissonProcess", "rate", rate)
    return Exponential(1.0 / rate)


@dataclass(frozen=True)
class Hyperexponential:
    """Mixture of exponentials: branch ``i`` with probability ``probs[i]`` and mean ``means[i]``.

    Parameters
    ----------
    probs : branch probabilities, summing to 1.
    means : expected value of each branch, > 0.
    """

    probs: tuple[float, ...]
    means: tuple[float, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "probs", tuple(map(float, self.probs)))
        object.__setattr__(self, "means", tuple(map(float, self.means)))
        probabilities("Hyperexponential", self.probs, len(self.means))
        for mean in self.means:
            positive("Hyperexponential", "means", mean)

    @classmethod
    def with_cv2(cls, mean: float, cv2: float) -> Hyperexponential:
        """Two branches of balanced means (``p1*m1 = p2*m2``) with a given variability.

        Parameters
        ----------
        mean : expected value, > 0.
        cv2 : squared coefficient of variation, >= 1.
        """
        positive("Hyperexponential", "mean", mean)
        if not (math.isfinite(cv2) and cv2 >= 1.0):
            raise OptionError(
                f"Hyperexponential: cv2 is {cv2}; give a number >= 1 (Erlang covers cv2 < 1)"
            )
        # p2 from p1 * p2 = 1 / (2 * (cv2 + 1)): 1 - p1 would cancel for a large cv2.
        p1 = 0.5 * (1.0 + math.sqrt((cv2 - 1.0) / (cv2 + 1.0)))
        p2 = 0.5 / ((cv2 + 1.0) * p1)
        return cls((p1, p2), (mean / (2.0 * p1), mean / (2.0 * p2)))

    @property
    def mean(self) -> float:
        """Expected value."""
        return math.fsum(p * m for p, m in zip(self.probs, self.means, strict=True))

    @property
    def cv2(self) -> float:
        """Squared coefficient of variation."""
        second = math.fsum(2.0 * p * m * m for p, m in zip(self.probs, self.means, strict=True))
        return second / self.mean**2 - 1.0

    def sample(self, rng: np.random.Generator, n: int) -> Floats:
        """Draw ``n`` values."""
        branch = _pick(rng, self.probs, n)
        drawn: Floats = rng.standard_exponential(n) * np.asarray(self.means)[branch]
        return drawn


@dataclass(frozen=True)
class Deterministic:
    """Always the same value (seconds of time or of work, or processors), >= 0."""

    value: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.value) and self.value >= 0):
            raise OptionError(f"Deterministic: value is {self.value}; give a finite number >= 0")

    @property
    def mean(self) -> float:
        """Expected value."""
        return float(self.value)

    def sample(self, rng: np.random.Generator, n: int) -> Floats:
        """Return ``n`` copies; ``rng`` is left untouched."""
        return np.full(n, float(self.value))


@dataclass(frozen=True)
class Erlang:
    """Sum of ``k`` independent exponentials; squared coefficient of variation ``1/k``.

    Parameters
    ----------
    k : number of stages, >= 1.
    mean : expected value of the sum, > 0.
    """

    k: int
    mean: float

    def __post_init__(self) -> None:
        if int(self.k) != self.k or self.k < 1:
            raise OptionError(f"Erlang: k is {self.k}; give a whole number >= 1")
        positive("Erlang", "mean", self.mean)

    def sample(self, rng: np.random.Generator, n: int) -> Floats:
        """Draw ``n`` values."""
        return rng.gamma(self.k, self.mean / self.k, n)


@dataclass(frozen=True)
class UniformWidths:
    """Every whole number from ``low`` to ``high`` (included) equally likely.

    Parameters
    ----------
    low, high : processors, 1 <= low <= high.
    """

    low: int
    high: int

    def __post_init__(self) -> None:
        if not 1 <= self.low <= self.high:
            raise OptionError(
                f"UniformWidths: low is {self.low} and high is {self.high}; give 1 <= low <= high"
            )

    @property
    def mean(self) -> float:
        """Expected number of processors."""
        return (self.low + self.high) / 2

    def sample(self, rng: np.random.Generator, n: int) -> npt.NDArray[np.int64]:
        """Draw ``n`` widths."""
        return rng.integers(self.low, self.high, n, dtype=np.int64, endpoint=True)


@dataclass(frozen=True)
class GeometricWidths:
    """Geometric on 1, 2, ..., conditioned on being at most ``high``.

    Parameters
    ----------
    p : success probability, 0 < p < 1; ``P(N = k)`` is proportional to ``(1 - p)**(k - 1)``.
    high : largest width, processors, >= 1.
    """

    p: float
    high: int

    def __post_init__(self) -> None:
        if not 0.0 < self.p < 1.0:
            raise OptionError(f"GeometricWidths: p is {self.p}; give 0 < p < 1")
        if self.high < 1:
            raise OptionError(f"GeometricWidths: high is {self.high}; give at least 1 processor")

    @property
    def mean(self) -> float:
        """Expected number of processors."""
        k = np.arange(1, self.high + 1)
        weight = np.exp((k - 1) * math.log1p(-self.p))
        return float((k * weight).sum() / weight.sum())

    def sample(self, rng: np.random.Generator, n: int) -> npt.NDArray[np.int64]:
        """Draw ``n`` widths by inversion."""
        log_q = math.log1p(-self.p)
        within = -math.expm1(self.high * log_q)
        k = np.floor(np.log1p(-rng.random(n) * within) / log_q).astype(np.int64) + 1
        # Rounding at the upper end can give high + 1.
        return np.minimum(k, self.high)


@dataclass(frozen=True)
class Discrete:
    """Given values with given probabilities.

    Parameters
    ----------
    values : the values, >= 0.
    probs : their probabilities, summing to 1.
    """

    values: tuple[float, ...]
    probs: tuple[float, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", tuple(self.values))
        object.__setattr__(self, "probs", tuple(map(float, self.probs)))
        probabilities("Discrete", self.probs, len(self.values))
        if not all(math.isfinite(v) and v >= 0 for v in self.values):
            raise OptionError("Discrete: values contain a negative or infinite number; give >= 0")

    @property
    def mean(self) -> float:
        """Expected value."""
        return math.fsum(p * v for p, v in zip(self.probs, self.values, strict=True))

    def sample(self, rng: np.random.Generator, n: int) -> npt.NDArray[Any]:
        """Draw ``n`` values."""
        return np.asarray(self.values)[_pick(rng, self.probs, n)]


@dataclass(frozen=True, eq=False)
class Empirical:
    """Values seen before: drawn with replacement, or replayed in their order.

    Parameters
    ----------
    samples : the values, >= 0, at least one.
    how : ``"bootstrap"`` draws with replacement, ``"replay"`` gives the first n in order.
    """

    samples: npt.ArrayLike = field(repr=False)
    how: Literal["bootstrap", "replay"] = "bootstrap"

    def __post_init__(self) -> None:
        values = np.array(self.samples)
        if values.ndim != 1 or len(values) == 0:
            raise OptionError("Empirical: samples are not a list of values; give at least one")
        if values.dtype.kind not in "iuf" or not (np.isfinite(values) & (values >= 0)).all():
            raise OptionError("Empirical: samples contain a value that is no finite number >= 0")
        if self.how not in ("bootstrap", "replay"):
            raise OptionError(f"Empirical: how is {self.how!r}; give 'bootstrap' or 'replay'")
        values.flags.writeable = False
        object.__setattr__(self, "samples", values)

    @property
    def mean(self) -> float:
        """Mean of the samples."""
        return float(np.mean(np.asarray(self.samples)))

    def sample(self, rng: np.random.Generator, n: int) -> npt.NDArray[Any]:
        """Draw or replay ``n`` values."""
        values = np.asarray(self.samples)
        if self.how == "bootstrap":
            return values[rng.integers(0, len(values), n)]
        if n > len(values):
            raise OptionError(
                f"Empirical: {n} values wanted, {len(values)} to replay; "
                "ask for fewer or use how='bootstrap'"
            )
        return values[:n].copy()


def _pick(rng: np.random.Generator, probs: Sequence[float], n: int) -> npt.NDArray[np.intp]:
    """Indices drawn with the given probabilities, by inversion of one uniform each."""
    bounds = np.cumsum(probs)[:-1]
    return np.searchsorted(bounds, rng.random(n), side="right")
