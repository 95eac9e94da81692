"""What should happen: recursions, stability, limits and losses, without a simulation.

- `recursion`: delays by the recursion for workload vectors
- `stability`: the constant C of the stability criterion; `multiresource`: the same for demands
  of several kinds
- `saturated`: the saturated system: maximal throughput with classes of their own rates and speeds
- `markov`: small FCFS systems, with rate control, solved as a Markov chain; `two_server`
- `response`: mean waits near saturation
- `infinite`: servers without end and time limits; `limits`: who finishes in time
- `loss`: Erlang's formulas and Kaufman and Roberts'
- `correlation`: dependence between columns of a log
- `fit`: the parameters of these models from a log

Nothing here knows the engine: each checks the other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._lazy import attach

if TYPE_CHECKING:
    from .recursion import kiefer_wolfowitz
    from .stability import stability_constant

_HOME = {
    "recursion": ["kiefer_wolfowitz"],
    "stability": ["stability_constant"],
}

__all__ = [
    "kiefer_wolfowitz",
    "stability_constant",
]

__getattr__ = attach(__name__, _HOME)
