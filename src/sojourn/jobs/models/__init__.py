"""Job streams drawn from distributions: interarrival times t, work S, widths N.

A stream is made of three independent sequences, as in the stochastic recursion of
[rumyantsev2018, section II-A]. Each distribution is a small frozen object with ``sample`` and
``mean``; :func:`generate` puts three of them together.

- `distributions`: of times, work and widths
- `stream`: three of them put together
"""

from ..._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
