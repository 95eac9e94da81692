"""A job stream from three distributions, each with random numbers of its own."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ...errors import OptionError
from ..table import Jobs
from ._checks import at_least_one
from .distributions import Distribution

__all__ = ["generate", "streams"]


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
