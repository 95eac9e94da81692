"""What a manager adds to a job: launching it, and completing it [baranov2019, section III].

Processing time w_i = a_i + b_i + c_i: launch, execution and completion. Managers bill all three.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Floats
from ..errors import OptionError, did_you_mean
from ..jobs import Jobs
from .stream import JobStream

KINDS: Mapping[str, int] = MappingProxyType(
    {"constant": 1, "exponential": 1, "lognormal": 2, "gamma": 2, "empirical": 0}
)
"""Kinds of overheads, and how many parameters each has."""


@dataclass(frozen=True)
class Overhead:
    """A random length of time (s).

    Parameters
    ----------
    kind : ``constant`` (value), ``exponential`` (mean), ``lognormal`` (median, standard deviation
        of the logarithm), ``gamma`` (mean, shape), or ``empirical`` (any number of values, drawn
        with equal probability).
    parameters : of the kind; times in s.

    Examples
    --------
    >>> Overhead("constant", (0.05,)).mean, parse_overhead("gamma:0.04,2").mean
    (0.05, 0.04)
    """

    kind: str
    parameters: tuple[float, ...]

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            near = did_you_mean(self.kind, KINDS) or f"; known: {', '.join(KINDS)}"
            raise OptionError(f"no overhead is called '{self.kind}'{near}")
        wanted = KINDS[self.kind]
        given = len(self.parameters)
        if given != wanted and (wanted or not given):
            raise OptionError(
                f"overhead {self.kind}: {given} parameters; it has {wanted or 'some'}"
            )
        least = 0.0 if self.kind in ("constant", "empirical") else np.nextafter(0.0, 1.0)
        for value in self.parameters:
            if not (np.isfinite(value) and value >= least):
                raise OptionError(f"overhead {self.kind}: {value:g} s; give numbers above 0")

    @property
    def mean(self) -> float:
        """Expected length (s)."""
        first = self.parameters[0]
        if self.kind == "lognormal":
            return float(first * np.exp(self.parameters[1] ** 2 / 2))
        return float(np.mean(self.parameters)) if self.kind == "empirical" else float(first)

    def draw(self, count: int, rng: np.random.Generator) -> Floats:
        """Return so many lengths (s)."""
        first, *rest = self.parameters
        if self.kind == "constant":
            return np.full(count, first)
        if self.kind == "exponential":
            return rng.exponential(first, count)
        if self.kind == "lognormal":
            return rng.lognormal(np.log(first), rest[0], count)
        if self.kind == "gamma":
            return rng.gamma(rest[0], first / rest[0], count)
        return rng.choice(np.asarray(self.parameters), count)


_NONE = Overhead("constant", (0.0,))


@dataclass(frozen=True)
class Overheads:
    """Launch a_i and completion c_i of the jobs of a manager.

    Parameters
    ----------
    launch, completion : their lengths.
    """

    launch: Overhead = field(default=_NONE)
    completion: Overhead = field(default=_NONE)

    def added(self, jobs: Jobs, *, seed: int = 0) -> Jobs:
        """Return jobs whose runtimes are processing times: launch and completion are in them.

        A job whose runtime is not known stays as it is; limits do not change, so that a job near
        its limit may now reach it.
        """
        rng = np.random.default_rng(seed)
        extra = self.launch.draw(len(jobs), rng) + self.completion.draw(len(jobs), rng)
        runtime = np.where(jobs.runtime >= 0, jobs.runtime + extra, jobs.runtime)
        if "work" not in jobs.names:
            return jobs.replace(runtime=runtime)
        return jobs.replace(
            runtime=runtime, work=np.where(jobs.runtime >= 0, jobs.work + extra, jobs.work)
        )


def parse_overhead(text: str) -> Overhead:
    """Return an overhead of its description: ``0.05``, or ``lognormal:0.04,0.5``."""
    kind, colon, values = text.rpartition(":")
    try:
        parameters = tuple(float(value) for value in values.split(","))
    except ValueError:
        raise OptionError(
            f"overhead '{text}': write seconds, or KIND:VALUE,... with one of {', '.join(KINDS)}"
        ) from None
    return Overhead(kind if colon else "constant", parameters)


def fit_overhead(seconds: ArrayLike, kind: str | None = None) -> Overhead:
    """Fit an overhead to lengths of time.

    Parameters
    ----------
    seconds : measured lengths (s); those below 0, which clocks of whole seconds give, count as 0.
    kind : of `KINDS`; by default ``constant`` if all are equal, ``lognormal`` if all are above 0,
        else ``empirical``.
    """
    values = np.maximum(np.asarray(seconds, np.float64), 0.0)
    if values.ndim != 1 or values.size == 0 or not np.isfinite(values).all():
        raise OptionError("overheads: give at least one finite length of time")
    if kind is None:
        kind = "constant" if np.ptp(values) == 0 else "lognormal" if (values > 0).all() else ""
        kind = kind or "empirical"
    if kind == "constant":
        return Overhead(kind, (float(np.median(values)),))
    if kind == "empirical":
        return Overhead(kind, tuple(np.sort(values).tolist()))
    if kind in ("lognormal", "gamma", "exponential") and not (values > 0).any():
        raise OptionError(f"overhead {kind}: no length is above 0; use constant or empirical")
    if kind == "exponential":
        return Overhead(kind, (float(values.mean()),))
    positive = values[values > 0]
    if kind == "lognormal":
        logs = np.log(positive)
        spread = max(float(logs.std()), 1e-9)
        return Overhead(kind, (float(np.exp(logs.mean())), spread))
    if kind == "gamma":
        # By moments: mean^2 / variance is the shape.
        variance = max(float(values.var()), 1e-18)
        return Overhead(kind, (float(values.mean()), float(values.mean() ** 2 / variance)))
    return Overhead(kind, ())


def fit_overheads(
    stream: JobStream,
    runtimes: ArrayLike,
    *,
    launched: ArrayLike | None = None,
    kind: str | None = None,
) -> Overheads:
    """Fit the overheads of a manager to a stream of jobs whose execution times are known.

    Parameters
    ----------
    stream : what the manager made of the jobs, on a clock finer than the overheads.
    runtimes : execution times b_i (s), in the stream's order.
    launched : when execution began (s). Without it only a_i + c_i is known, and all of it is taken
        as launch.
    kind : as in `fit_overhead`.
    """
    execution = np.asarray(runtimes, np.float64)
    if execution.shape != stream.start.shape:
        raise OptionError(f"runtimes: {execution.size} values for {len(stream)} jobs")
    ran = np.isfinite(stream.start) & np.isfinite(stream.end)
    whole = (stream.end - stream.start - execution)[ran]
    if launched is None:
        return Overheads(fit_overhead(whole, kind))
    begun = np.asarray(launched, np.float64)
    if begun.shape != stream.start.shape:
        raise OptionError(f"launched: {begun.size} values for {len(stream)} jobs")
    launch = (begun - stream.start)[ran]
    return Overheads(fit_overhead(launch, kind), fit_overhead(whole - launch, kind))
