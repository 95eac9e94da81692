"""How many servers a request takes: fixed, a list of probabilities, geometric, or SciPy's own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from .. import checks
from ..arrays import Floats
from ..errors import OptionError

_WIDEST = 2**20
"""Widths beyond which a distribution without end is not followed."""

_CUT = 1e-18
"""Probability that may lie beyond the last width kept: less than rounding takes away."""


@dataclass(frozen=True)
class Geometric:
    """P{width = k} = (1 - a) a**(k - 1), k = 1, 2, ... [mminf2023, eq. 27]."""

    a: float

    def __post_init__(self) -> None:
        if not 0 <= checks.probability(self.a, "a") < 1:
            raise OptionError(f"a = {self.a:g}: must be below 1, or every request is infinite")

    @property
    def mean(self) -> float:
        """Mean width, servers."""
        return 1 / (1 - self.a)

    def pgf(self, z: float) -> float:
        """Generating function E[z**width] [mminf2023, eq. 28]."""
        return (1 - self.a) * z / (1 - self.a * z)


Width = int | ArrayLike | Geometric | Any
"""A number of servers, p with p[k-1] = P{width = k}, `geometric`, or a frozen distribution."""


def geometric(a: float) -> Geometric:
    """Widths by the geometric law, of mean 1 / (1 - a) [mminf2023, eq. 27].

    Parameters
    ----------
    a : probability that one more server is needed, below 1.
    """
    return Geometric(checks.probability(a, "a"))


def width_probabilities(width: Width, name: str = "width") -> Floats:
    """Return p with p[k-1] = P{width = k} for any `Width`, which messages call by `name`.

    A law without end is cut where less than 1e-18 lies beyond.
    """
    if isinstance(width, Geometric):
        last = 1 if width.a == 0 else int(np.ceil(np.log(_CUT) / np.log(width.a)))
        if last > _WIDEST:
            raise OptionError(f"{name}: geometric({width.a:g}) is too wide; lower a")
        return _normalised((1 - width.a) * np.power(width.a, np.arange(last, dtype=np.float64)))
    if hasattr(width, "pmf"):
        return _tabulated(width, name)
    if isinstance(width, str) or not hasattr(width, "__len__") or getattr(width, "ndim", 1) == 0:
        fixed = np.zeros(checks.servers(cast("int", width), name, _WIDEST))
        fixed[-1] = 1.0
        return fixed
    return np.trim_zeros(_normalised(checks.probabilities(width, name)), "b")


def _tabulated(law: Any, name: str) -> Floats:
    """Probabilities of a frozen distribution of SciPy on 1, 2, ..."""
    least = law.support()[0]
    if not least >= 1:
        raise OptionError(
            f"{name}: the law starts at {least:g}; a request takes 1 or more, use loc"
        )
    last = 64
    while law.sf(last) > _CUT:
        last *= 2
        if last > _WIDEST:
            raise OptionError(
                f"{name}: P{{width > {_WIDEST}}} = {law.sf(_WIDEST):.3g} is too much; "
                "cut the law and give its probabilities"
            )
    return np.trim_zeros(_normalised(np.asarray(law.pmf(np.arange(1, last + 1)))), "b")


def _normalised(p: Floats) -> Floats:
    return np.asarray(p / p.sum())
