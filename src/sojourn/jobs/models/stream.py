"""A job stream from three distributions, and distributions written as text: ``erlang:60:4``."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ...errors import OptionError, did_you_mean
from ..table import Jobs
from .distributions import (
    Deterministic,
    Discrete,
    Distribution,
    Erlang,
    Exponential,
    GeometricWidths,
    Hyperexponential,
    UniformWidths,
    at_least_one,
)


def generate(
    n: int,
    interarrival: Distribution,
    work: Distribution,
    width: Distribution,
    *,
    seed: int = 0,
    servers: int | None = None,
) -> Jobs:
    """Draw a stream of ``n`` jobs, sorted by submit.

    The three sequences have random streams of their own, so changing one distribution leaves the
    other two sequences as they were (common random numbers). The first job arrives at 0: the
    first interarrival time has no predecessor to be counted from [rumyantsev2018, section II-A].

    Parameters
    ----------
    n : number of jobs, >= 1.
    interarrival : seconds between arrivals.
    work : amount of work of a job, seconds at the reference rate; also its runtime and estimate.
    width : processors of a job, whole numbers >= 1.
    seed : the only source of randomness.
    servers : size of the machine, processors; a wider job is an error. Goes into the header.

    Examples
    --------
    >>> from sojourn.jobs.models import Discrete, Exponential, generate
    >>> width = Discrete([1, 8], [0.5, 0.5])
    >>> jobs = generate(100, Exponential(60), Exponential(600), width, seed=1)
    >>> len(jobs), sorted(set(jobs.procs.tolist()))
    (100, [1, 8])
    """
    at_least_one("generate", "n", n)
    if servers is not None:
        at_least_one("generate", "servers", servers)
    for_t, for_s, for_n = streams(seed, 3)
    gaps = np.asarray(interarrival.sample(for_t, n), dtype=np.float64)
    amount = np.asarray(work.sample(for_s, n), dtype=np.float64)
    procs = _whole_widths(np.asarray(width.sample(for_n, n)), servers)
    gaps[0] = 0.0
    header = [
        f"MaxJobs: {n}",
        *([] if servers is None else [f"MaxProcs: {servers}"]),
        f"Note: interarrival {interarrival!r}, work {work!r}, width {width!r}, seed {seed}",
    ]
    columns = {
        "submit": np.cumsum(gaps),
        "runtime": amount,
        "estimate": amount.copy(),
        "requested": procs.copy(),
        "procs": procs,
    }
    return Jobs(columns, header=header, source="generate")


def streams(seed: int, n: int, *, first: int = 0) -> list[np.random.Generator]:
    """``n`` independent random generators that all follow from one seed >= 0.

    Others begin at another `first`.
    """
    try:
        children = [np.random.SeedSequence(seed, spawn_key=(first + k,)) for k in range(n)]
    except (TypeError, ValueError):
        raise OptionError(f"seed is {seed!r}; give a whole number >= 0") from None
    return [np.random.default_rng(child) for child in children]


def _whole_widths(drawn: npt.NDArray[Any], servers: int | None) -> npt.NDArray[np.int64]:
    """Widths as integers, checked against the machine."""
    procs = drawn.astype(np.int64)
    if (procs != drawn).any() or (procs < 1).any():
        bad = drawn[(procs != drawn) | (procs < 1)][0]
        raise OptionError(
            f"a width of {bad} was drawn; widths are whole numbers >= 1", key="workload.widths"
        )
    if servers is not None and int(procs.max()) > servers:
        raise OptionError(
            f"a width of {procs.max()} was drawn for {servers} servers; "
            "limit the widths or give more servers",
            key="workload.widths",
        )
    return procs


TIMES: dict[str, str] = {
    "exponential": "MEAN",
    "deterministic": "MEAN",
    "hyperexponential": "MEAN:CV2",
    "erlang": "MEAN:K",
}
"""Distributions of times and work, with their parameters."""

WIDTH_KINDS = ("N", "uniform:LOW-HIGH", "geometric:P", "N=PROB,N=PROB,...")
"""How the distribution of widths is written."""


def parse_time(text: str, *, mean: float | None = None) -> Distribution:
    """Make a distribution of seconds from ``KIND[:MEAN[:SHAPE]]``.

    Parameters
    ----------
    text : a kind of `TIMES` with its parameters; a bare number is its mean, exponential.
    mean : takes the place of the mean in the text, where it may then be left out: ``erlang::4``.

    Examples
    --------
    >>> parse_time("hyperexponential:100:4").mean
    100.0
    """
    kind, _, rest = text.strip().lower().partition(":")
    if _is_number(kind) and not rest:
        kind, rest = "exponential", kind
    if kind not in TIMES:
        near = did_you_mean(kind, TIMES) or f"; known: {', '.join(TIMES)}"
        raise OptionError(f"distribution '{text}': no kind is called '{kind}'{near}")
    first, _, shape = rest.partition(":")
    try:
        centre = mean if mean is not None else float(first)
        if kind == "hyperexponential":
            return Hyperexponential.with_cv2(centre, float(shape))
        if kind == "erlang":
            return Erlang(int(shape), centre)
        if shape:
            raise ValueError(shape)
        return Exponential(centre) if kind == "exponential" else Deterministic(centre)
    except ValueError:
        raise OptionError(f"distribution '{text}': write {kind}:{TIMES[kind]}") from None


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def parse_width(text: str, procs: int) -> Distribution:
    """Make a distribution of processors: one of `WIDTH_KINDS`, on a machine of `procs`."""
    kind, _, rest = text.strip().lower().partition(":")
    try:
        if kind == "uniform":
            low, _, high = rest.partition("-") if rest else ("1", "", "")
            return UniformWidths(int(low), int(high) if high else procs)
        if kind == "geometric":
            return GeometricWidths(float(rest), procs)
        if "=" in kind:
            pairs = [part.split("=") for part in kind.split(",")]
            return Discrete(tuple(int(n) for n, _ in pairs), tuple(float(p) for _, p in pairs))
        return Deterministic(int(kind))
    except ValueError:
        raise OptionError(
            f"widths '{text}' cannot be read; write one of {', '.join(WIDTH_KINDS)}"
        ) from None


def interarrival_for(load: float, work: Distribution, width: Distribution, procs: int) -> float:
    """Return the mean interarrival time (s) at which these jobs offer a load to a machine."""
    if not load > 0:
        raise OptionError(f"load {load}; give a number above 0")
    return work.mean * width.mean / (procs * load)
