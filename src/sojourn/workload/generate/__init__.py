"""Job streams drawn from distributions: interarrival times t, work S, widths N.

A stream is made of three independent sequences, as in the stochastic recursion of
[rumyantsev2018, section II-A]. Each distribution is a small frozen object with ``sample`` and
``mean``; :func:`generate` puts three of them together.

- `distributions`: of times, work and widths
- `stream`: three of them put together
"""

from __future__ import annotations

from .distributions import (
    Deterministic,
    Discrete,
    Distribution,
    Empirical,
    Erlang,
    Exponential,
    GeometricWidths,
    Hyperexponential,
    PoissonProcess,
    UniformWidths,
)
from .stream import generate, streams

__all__ = [
    "Deterministic",
    "Discrete",
    "Distribution",
    "Empirical",
    "Erlang",
    "Exponential",
    "GeometricWidths",
    "Hyperexponential",
    "PoissonProcess",
    "UniformWidths",
    "generate",
    "streams",
]
