"""What should happen: recursions, stability, limits and losses, without a simulation.

- `recursion`: delays by the recursion for workload vectors
- `stability`: the constant C of the stability criterion; `multiresource`: the same for demands
  of several kinds
- `saturated`: the saturated system: maximal throughput with classes of their own rates and speeds
- `markov`: small FCFS systems, with rate control, solved as a Markov chain; `two_server`
- `response`: mean waits near saturation
- `infinite`: servers without end and time limits; `batch`: the same for times of any law;
  `limits`: who finishes in time; `widths`: servers per request
- `loss`: Erlang's formulas and Kaufman and Roberts'
- `correlation`: dependence between columns of a log
- `fit`: the parameters of these models from a log

Nothing here knows the engine: each checks the other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._lazy import attach

if TYPE_CHECKING:
    from . import fit
    from ._estimate import Estimate
    from .batch import batch_completion_probability, batch_infinite_servers
    from .correlation import distributional_correlation
    from .fit.model import Fit, fit_model
    from .infinite import InfiniteServers, infinite_servers
    from .limits import completion_curve, completion_probability, critical_limit
    from .loss import LossSystem, erlang_b, erlang_c, kaufman_roberts, multiserver_wait
    from .markov import SmallSystem, small_system, two_server
    from .multiresource import multiresource_constant
    from .recursion import DrivingSequence, Recursion, driving_sequence, kiefer_wolfowitz
    from .response import Response, response_time
    from .saturated import Saturated, max_throughput, saturated_system
    from .stability import (
        Bounds,
        estimate_stability_constant,
        max_arrival_rate,
        smallest_stable,
        stability_bounds,
        stability_constant,
        stability_constants,
        stability_load,
    )
    from .widths import geometric

_HOME = {
    "_estimate": ["Estimate"],
    "batch": ["batch_completion_probability", "batch_infinite_servers"],
    "correlation": ["distributional_correlation"],
    "fit": [],
    "fit.model": ["Fit", "fit_model"],
    "infinite": ["InfiniteServers", "infinite_servers"],
    "limits": ["completion_curve", "completion_probability", "critical_limit"],
    "loss": ["LossSystem", "erlang_b", "erlang_c", "kaufman_roberts", "multiserver_wait"],
    "markov": ["SmallSystem", "small_system", "two_server"],
    "multiresource": ["multiresource_constant"],
    "recursion": ["DrivingSequence", "Recursion", "driving_sequence", "kiefer_wolfowitz"],
    "response": ["Response", "response_time"],
    "saturated": ["Saturated", "max_throughput", "saturated_system"],
    "stability": [
        "Bounds",
        "estimate_stability_constant",
        "max_arrival_rate",
        "smallest_stable",
        "stability_bounds",
        "stability_constant",
        "stability_constants",
        "stability_load",
    ],
    "widths": ["geometric"],
}

__all__ = [
    "Bounds",
    "DrivingSequence",
    "Estimate",
    "Fit",
    "InfiniteServers",
    "LossSystem",
    "Recursion",
    "Response",
    "Saturated",
    "SmallSystem",
    "batch_completion_probability",
    "batch_infinite_servers",
    "completion_curve",
    "completion_probability",
    "critical_limit",
    "distributional_correlation",
    "driving_sequence",
    "erlang_b",
    "erlang_c",
    "estimate_stability_constant",
    "fit",
    "fit_model",
    "geometric",
    "infinite_servers",
    "kaufman_roberts",
    "kiefer_wolfowitz",
    "max_arrival_rate",
    "max_throughput",
    "multiresource_constant",
    "multiserver_wait",
    "response_time",
    "saturated_system",
    "small_system",
    "smallest_stable",
    "stability_bounds",
    "stability_constant",
    "stability_constants",
    "stability_load",
    "two_server",
]

__getattr__ = attach(__name__, _HOME)
