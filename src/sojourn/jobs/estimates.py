"""How users estimate the runtime of their jobs.

Every model is a small function ``(runtime, rng, **parameters) -> estimate`` over arrays of
seconds, and never estimates less than the runtime. :data:`MODELS` holds them by name.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from ..arrays import Floats
from ..errors import OptionError
from .models import streams
from .table import Jobs

EstimateModel = Callable[..., Floats]

_MINUTE = 60.0
_HOUR = 3600.0
_DAY = 86400.0
_FIRST = 1 << 16

POPULAR: tuple[tuple[float, float], ...] = (
    (5 * _MINUTE, 0.10),
    (10 * _MINUTE, 0.08),
    (15 * _MINUTE, 0.04),
    (20 * _MINUTE, 0.04),
    (30 * _MINUTE, 0.05),
    (45 * _MINUTE, 0.01),
    (1 * _HOUR, 0.08),
    (1.5 * _HOUR, 0.01),
    (2 * _HOUR, 0.05),
    (3 * _HOUR, 0.03),
    (4 * _HOUR, 0.06),
    (5 * _HOUR, 0.015),
    (6 * _HOUR, 0.02),
    (8 * _HOUR, 0.03),
    (10 * _HOUR, 0.03),
    (12 * _HOUR, 0.04),
    (15 * _HOUR, 0.01),
    (18 * _HOUR, 0.05),
    (24 * _HOUR, 0.05),
    (36 * _HOUR, 0.02),
    (48 * _HOUR, 0.04),
)
"""Round values users choose (seconds) with their relative popularity.

Up to 18 h they are rounded from what users of KTH-SP2 and SDSC-SP2 asked for, whose 20 most
used values hold 75 % and 86 % of the jobs; longer ones, beyond those machines' limits, are set
by analogy.
"""

_MAXIMUM_POPULARITY = 0.12


def exact(runtime: Floats, rng: np.random.Generator) -> Floats:
    """Estimate = runtime: users who know."""
    return runtime.copy()


def factor(runtime: Floats, rng: np.random.Generator, *, f: float = 2.0) -> Floats:
    """Estimate = ``f * runtime``.

    Parameters
    ----------
    runtime : seconds.
    rng : not used.
    f : overestimation, >= 1.
    """
    if not (math.isfinite(f) and f >= 1.0):
        raise OptionError(
            f"estimate model 'factor': f is {f}; give a number >= 1", key="workload.estimates"
        )
    scaled: Floats = runtime * f
    return scaled


def uniform(runtime: Floats, rng: np.random.Generator, *, f: float = 1.0) -> Floats:
    """Estimate = ``runtime * (1 + f*U)`` with U uniform on [0, 1), drawn for each job.

    Parameters
    ----------
    runtime : seconds.
    rng : source of U.
    f : largest relative overestimation, >= 0.
    """
    if not (math.isfinite(f) and f >= 0.0):
        raise OptionError(
            f"estimate model 'uniform': f is {f}; give a number >= 0", key="workload.estimates"
        )
    stretched: Floats = runtime * (1.0 + f * rng.random(len(runtime)))
    return stretched


def tsafrir(runtime: Floats, rng: np.random.Generator, *, maximum: float | None = None) -> Floats:
    """Modal estimates: a few round values, the longest allowed one the most popular.

    How many jobs get each value is drawn first, from the popularity of the values alone. Jobs
    then take them, longest first: a job aims at ``runtime / U`` with U uniform on (0, 1], rounded
    up to the next value; if that value is used up, it takes any left that covers its runtime; if
    there is none, it rounds its runtime up to the next value.

    Kept from [tsafrir2005]: estimates are modal (about 20 values); the maximum is the most
    popular one; the distribution of the estimates is set apart from that of the runtimes; no
    estimate is below its runtime; the accuracy runtime/estimate is about uniform, but for an
    excess close to 0 made by jobs far shorter than the shortest value. Not kept: the tail of
    rarely used values (some 10 % of the jobs), popularities that depend on the numbers of users
    and jobs, one user repeating one value, and jobs killed at their limit (the peak of the
    accuracy at 1; it falls off there instead, since values are rounded up).

    Parameters
    ----------
    runtime : seconds.
    rng : source of the counts, the aims and the order of the jobs.
    maximum : longest estimate allowed, seconds, at least the longest runtime. Default: the
        longest runtime rounded up to a popular value (to whole days beyond 48 h).
    """
    if len(runtime) == 0:
        return runtime.copy()
    values, popularity = _choices(float(runtime.max()), maximum)
    left = rng.multinomial(len(runtime), popularity)
    need = np.searchsorted(values, runtime)
    with np.errstate(over="ignore"):
        aim = np.searchsorted(values, runtime / (1.0 - rng.random(len(runtime))))
    aim = np.minimum(aim, len(values) - 1)
    taken = need.copy()
    for shortest in range(len(values) - 1, -1, -1):
        jobs = rng.permutation(np.flatnonzero(need == shortest))
        refused = []
        for rank in range(shortest, len(values)):
            aiming = jobs[aim[jobs] == rank]
            served = min(len(aiming), int(left[rank]))
            taken[aiming[:served]] = rank
            left[rank] -= served
            refused.append(aiming[served:])
        others = rng.permutation(np.concatenate(refused))
        others = others[: int(left[shortest:].sum())]
        counts = rng.multivariate_hypergeometric(left[shortest:], len(others), method="marginals")
        left[shortest:] -= counts
        taken[others] = np.repeat(np.arange(shortest, len(values)), counts)
    estimate: Floats = values[taken]
    return estimate


def _choices(longest: float, maximum: float | None) -> tuple[Floats, Floats]:
    """Values offered, ascending, the maximum last, and their probabilities."""
    rounds = np.array([value for value, _ in POPULAR])
    weights = np.array([weight for _, weight in POPULAR])
    if maximum is None:
        covering = rounds[rounds >= longest]
        maximum = float(covering[0]) if len(covering) else math.ceil(longest / _DAY) * _DAY
    elif not (math.isfinite(maximum) and maximum >= longest and maximum > 0):
        raise OptionError(
            f"estimate model 'tsafrir': maximum is {maximum} s and the longest runtime is "
            f"{longest} s; give a maximum that covers it",
            key="workload.estimates",
        )
    below = rounds < maximum
    values = np.append(rounds[below], maximum)
    popularity = np.append(weights[below], _MAXIMUM_POPULARITY)
    return values, popularity / popularity.sum()


MODELS: dict[str, EstimateModel] = {
    "exact": exact,
    "factor": factor,
    "uniform": uniform,
    "tsafrir": tsafrir,
}
"""Estimate models by name; a new model is one function and one entry here."""


def estimate_runtimes(
    runtime: npt.ArrayLike,
    model: str | float | EstimateModel,
    rng: np.random.Generator,
    **parameters: Any,
) -> Floats:
    """Estimates of the given runtimes.

    Parameters
    ----------
    runtime : seconds.
    model : a name in :data:`MODELS`, a number (the factor model), or a function of its own.
    rng : source of randomness.
    parameters : passed to the model.

    Returns
    -------
    numpy.ndarray
        Estimates, seconds, none below its runtime.
    """
    seconds = np.asarray(runtime, dtype=np.float64)
    if isinstance(model, str):
        if model not in MODELS:
            raise OptionError(f"estimate model {model!r} is unknown; use one of {sorted(MODELS)}")
        known = list(inspect.signature(MODELS[model]).parameters)[2:]
        for name in parameters:
            if name not in known:
                raise OptionError(
                    f"estimate model {model!r} has no parameter {name!r}; it takes {known}"
                )
        estimate = MODELS[model](seconds, rng, **parameters)
    elif callable(model):
        estimate = np.asarray(model(seconds, rng, **parameters), dtype=np.float64)
    else:
        estimate = factor(seconds, rng, f=float(model))
    if estimate.shape != seconds.shape or not (estimate >= seconds).all():
        raise OptionError(
            "the estimate model gave estimates below the runtime or of another number; "
            "return one estimate >= runtime for each job"
        )
    return estimate


def apply_estimates(
    jobs: Jobs, model: str | float | EstimateModel, *, seed: int = 0, **parameters: Any
) -> Jobs:
    """The same jobs with estimates of a model in place of their own.

    Parameters
    ----------
    jobs : the job stream; jobs of unknown runtime (-1) get no estimate (-1).
    model : a name in :data:`MODELS`, a number (the factor model), or a function of its own.
    seed : the only source of randomness.
    parameters : passed to the model.

    Returns
    -------
    Jobs
        A new stream; ``jobs`` is left as it was.

    Examples
    --------
    >>> import sojourn
    >>> jobs = sojourn.Jobs({"submit": [0, 5], "runtime": [60, 30], "procs": [4, 8]})
    >>> sojourn.apply_estimates(jobs, 2.0).estimate
    array([120.,  60.])
    """
    # Jobs are often drawn with the same seed: their numbers are not to come again here.
    (rng,) = streams(seed, 1, first=_FIRST)
    runtime = np.asarray(jobs.runtime, dtype=np.float64)
    known = runtime >= 0
    estimate = np.full(len(runtime), -1.0)
    estimate[known] = estimate_runtimes(runtime[known], model, rng, **parameters)
    return jobs.replace(estimate=estimate)
