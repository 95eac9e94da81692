"""The workload model of Lublin and Feitelson for rigid jobs on a parallel computer.

Widths are two-stage uniform in log2 with extra serial and power-of-two jobs; the logarithm of
the runtime is hyper-gamma, mixed by the width; the logarithm of the interarrival time is gamma,
in a clock that runs with the daily cycle of 48 half-hour slots [lublin2003].

Parameter values are those of the authors' program (``m_lublin99``) at 128 processors. This is
not a port: the clock is inverted in closed form for all jobs at once and rounded to seconds
once, where the program truncates at every job and so loses half a second an arrival.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ...__about__ import __version__
from ...arrays import Floats, Ints
from ...errors import OptionError
from ...measures.formulas import product_sum
from ..estimates import EstimateModel, estimate_runtimes
from ..table import Jobs
from . import streams
from .distributions import at_least_one

Indices = npt.NDArray[np.intp]

_SLOTS = 48
_SLOT_SECONDS = 1800.0
_DAY_SECONDS = _SLOTS * _SLOT_SECONDS
# The gamma of the daily cycle lives on slots 11 .. 58, counted from 1 at midnight: its day starts
# at 5 in the morning, when the fewest jobs arrive.
_FIRST_SLOT = 11
_REDRAWS = 1000


@dataclass(frozen=True)
class LublinParameters:
    """Parameters of one type of jobs; the defaults are those of all jobs together.

    Parameters
    ----------
    serial_prob : probability of a serial job.
    pow2_prob : probability of a parallel job whose width is made a power of two.
    ulow : log2 of the smallest parallel width, less 0.2 to make pairs likelier.
    med_below : distance of the break of the two-stage uniform below its upper end, log2.
    hi_below : distance of that upper end below log2 of the machine size.
    uprob : probability of the lower stage, [ulow, umed].
    a1, b1, a2, b2 : shape and scale of the two gammas of ln(runtime in seconds).
    pa, pb : the first gamma is taken with probability ``pa * width + pb``, kept in [0, 1].
    aarr, barr : shape and scale of the gamma of ln(interarrival in seconds) at peak hours.
    arar : factor on ``aarr`` that turns peak hours into the whole day.
    anum, bnum : shape and scale, in slots, of the gamma giving each half hour its arrivals.
    max_log_runtime : ln of the longest runtime, seconds; longer draws are repeated.
    max_log_interarrival : ln of the longest interarrival, seconds; longer draws are repeated.
    queue : queue number written to the jobs: 0 interactive, 1 batch, 0 if not distinguished.
    """

    serial_prob: float = 0.244
    pow2_prob: float = 0.576
    ulow: float = 0.8
    med_below: float = 2.5
    hi_below: float = 0.0
    uprob: float = 0.86
    a1: float = 4.2
    b1: float = 0.94
    a2: float = 312.0
    b2: float = 0.03
    pa: float = -0.0054
    pb: float = 0.78
    aarr: float = 10.2303
    barr: float = 0.4871
    arar: float = 1.0225
    anum: float = 8.1737
    bnum: float = 3.9631
    max_log_runtime: float = 12.0
    max_log_interarrival: float = 13.0
    queue: int = 0

    def __post_init__(self) -> None:
        for item in fields(self):
            if not math.isfinite(getattr(self, item.name)):
                raise OptionError(f"LublinParameters: {item.name} is not finite; give a number")
        for name in ("serial_prob", "pow2_prob", "uprob"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise OptionError(f"LublinParameters: {name} is {getattr(self, name)}; give 0 to 1")
        if self.serial_prob + self.pow2_prob > 1.0 + 1e-12:
            raise OptionError(
                f"LublinParameters: serial_prob + pow2_prob is {self.serial_prob + self.pow2_prob}"
                "; make the sum at most 1"
            )
        for name in (
            *("a1", "b1", "a2", "b2", "aarr", "barr", "arar", "anum", "bnum"),
            *("max_log_runtime", "max_log_interarrival"),
        ):
            if getattr(self, name) <= 0.0:
                raise OptionError(f"LublinParameters: {name} is {getattr(self, name)}; give > 0")
        for name in ("med_below", "hi_below"):
            if getattr(self, name) < 0.0:
                raise OptionError(f"LublinParameters: {name} is {getattr(self, name)}; give >= 0")


# fmt: off
INTERACTIVE = LublinParameters(
    serial_prob=0.1541, pow2_prob=0.625, ulow=1.0, med_below=2.5, hi_below=1.5, uprob=0.705,
    a1=3.8351, b1=0.6605, a2=7.073, b2=0.6856, pa=-0.0118, pb=0.9156,
    aarr=6.5510, barr=0.6621, arar=0.9797, anum=8.9186, bnum=3.6680,
)
"""Interactive jobs: shorter, at most 45 of 128 processors."""

BATCH = LublinParameters(
    serial_prob=0.2927, pow2_prob=0.6686, ulow=1.2, med_below=2.0, hi_below=0.0, uprob=0.875,
    a1=6.57, b1=0.823, a2=639.1, b2=0.0156, pa=-0.003, pb=0.6986,
    aarr=6.0415, barr=0.8531, arar=1.0519, anum=6.1271, bnum=5.2740, queue=1,
)
"""Batch jobs."""
# fmt: on

LUBLIN_TYPES: dict[str, tuple[LublinParameters, ...]] = {
    "all": (LublinParameters(),),
    "interactive": (INTERACTIVE,),
    "batch": (BATCH,),
    "both": (INTERACTIVE, BATCH),
}
"""Published parameter sets by name; ``"both"`` merges two independent arrival processes."""


class _Arrivals(NamedTuple):
    """Arrivals of one type in points, of which a slot takes its weight and a day takes 48."""

    points: Floats
    cycle: Floats  # points from midnight to the edge of each slot, 0 to 48

    def seconds(self, stretch: float, points: Floats) -> Floats:
        """Instants since midnight of the first day at which the clock shows these points."""
        days, within = np.divmod(points * stretch, _SLOTS)
        slots = np.interp(within, self.cycle, np.arange(_SLOTS + 1.0))
        instants: Floats = days * _DAY_SECONDS + slots * _SLOT_SECONDS
        return instants


def lublin(
    jobs: int = 10_000,
    procs: int = 256,
    *,
    load: float | None = None,
    seed: int = 0,
    parameters: LublinParameters | Sequence[LublinParameters] | str = "all",
    estimates: str | float | EstimateModel = "exact",
) -> Jobs:
    """Jobs of the Lublin-Feitelson model.

    Submits and runtimes are whole seconds, as in logs. Widths, runtimes, arrivals and estimates
    have random streams of their own. A power-of-two job of a machine whose size is no power of
    two is at most the largest power of two that fits.

    Parameters
    ----------
    jobs : number of jobs, >= 1.
    procs : size of the machine, processors, >= 1.
    load : offered load wanted, > 0: ``sum(procs * runtime)`` of the jobs over the size of the
        machine times the span from the first to the last submit. Interarrival times are
        stretched by one factor before the daily cycle is laid on them, so that a day stays
        24 hours long; the span is rounded to a whole second. None: as the model has it.
    seed : the only source of randomness.
    parameters : a name in :data:`LUBLIN_TYPES`, or the parameters of one type of jobs or several.
    estimates : model of :mod:`sojourn.jobs.estimates`: a name, a factor, or a function.

    Returns
    -------
    Jobs
        Sorted by submit, with an SWF header saying how they were made.

    Examples
    --------
    >>> import sojourn
    >>> sojourn.lublin(1000, 128, load=0.8, seed=7, estimates="tsafrir")
    <Jobs: 1,000 jobs, from 'lublin'>
    """
    _check(jobs, procs, load)
    kinds = _kinds(parameters)
    *rngs, for_estimates = streams(seed, 3 * len(kinds) + 1)
    arrivals = _first_arrivals(kinds, jobs, rngs[0::3])
    counts = [len(of_kind.points) for of_kind in arrivals]
    widths = [_widths(r, k, procs, n) for r, k, n in zip(rngs[1::3], kinds, counts, strict=True)]
    runtime = np.concatenate(
        [_runtimes(r, k, w) for r, k, w in zip(rngs[2::3], kinds, widths, strict=True)]
    )
    width = np.concatenate(widths)
    span = None if load is None else _span_for(load, product_sum(width, runtime), jobs, procs)
    submit = _submits(arrivals, span)
    order = np.argsort(submit, kind="stable")
    runtime, width = runtime[order], width[order]
    columns = {
        "submit": submit[order],
        "runtime": runtime,
        "allocated": width,
        "requested": width.copy(),
        "procs": width.copy(),
        "estimate": estimate_runtimes(runtime, estimates, for_estimates),
        "status": np.ones(jobs, dtype=np.int64),
        "queue": np.repeat([kind.queue for kind in kinds], counts)[order],
    }
    notes = [
        "Version: 2.2",
        f"MaxJobs: {jobs}",
        f"MaxRecords: {jobs}",
        f"MaxNodes: {procs}",
        f"MaxProcs: {procs}",
        f"Note: Lublin-Feitelson model, sojourn {__version__}, seed {seed}, load {load}, "
        f"estimates {getattr(estimates, '__name__', estimates)}",
        *(f"Note: {kind!r}" for kind in kinds),
    ]
    return Jobs(columns, header=notes, source="lublin")


def daily_cycle(parameters: LublinParameters) -> Floats:
    """Arrival rate in each half hour from midnight, relative to the mean of the day: 48 weights."""
    slot = np.arange(_FIRST_SLOT, _FIRST_SLOT + _SLOTS)
    edges = np.append(slot - 0.5, slot[-1] + 0.5) / parameters.bnum
    share = np.diff([_gamma_cdf(x, parameters.anum) for x in edges])
    weights = np.empty(_SLOTS)
    weights[(slot - 1) % _SLOTS] = share
    if not (weights > 0.0).all():
        raise OptionError(
            f"LublinParameters: anum {parameters.anum} and bnum {parameters.bnum} leave half "
            "hours without any arrival; choose a wider daily cycle"
        )
    normal: Floats = weights / weights.mean()
    return normal


# The same daily cycle for every draw of a study.
@lru_cache(maxsize=1024)
def _gamma_cdf(x: float, shape: float) -> float:
    """Distribution function of a gamma with scale 1, as a sum of positive terms.

    ``P(a, x) = sum over n of x^(a+n) exp(-x) / Gamma(a+n+1)``, each term taken through logs.
    """
    last = int(x + 12.0 * math.sqrt(x) + 60.0)
    log_x = math.log(x)
    return math.fsum(
        math.exp((shape + n) * log_x - x - math.lgamma(shape + n + 1.0)) for n in range(last)
    )


def _first_arrivals(
    kinds: Sequence[LublinParameters], jobs: int, rngs: Sequence[np.random.Generator]
) -> list[_Arrivals]:
    """Points of the first ``jobs`` arrivals over all types, type by type."""
    drawn = [_arrivals(kind, jobs, rng) for kind, rng in zip(kinds, rngs, strict=True)]
    if len(kinds) == 1:
        return drawn
    instants = [of_kind.seconds(1.0, of_kind.points) for of_kind in drawn]
    kind_of = np.repeat(np.arange(len(kinds)), jobs)
    first = kind_of[np.argsort(np.concatenate(instants), kind="stable")[:jobs]]
    counts = np.bincount(first, minlength=len(kinds))
    return [of._replace(points=of.points[:n]) for of, n in zip(drawn, counts, strict=True)]


def _arrivals(kind: LublinParameters, n: int, rng: np.random.Generator) -> _Arrivals:
    """Gamma interarrivals of one type, cumulated, with the daily cycle to lay them on."""

    def draw(which: Indices) -> Floats:
        return rng.gamma(kind.aarr * kind.arar, kind.barr, len(which))

    log_gap = draw(np.arange(n))
    _redraw(log_gap, kind.max_log_interarrival, draw, "max_log_interarrival")
    points = np.cumsum(np.exp(log_gap) / _SLOT_SECONDS)
    return _Arrivals(points, np.append(0.0, np.cumsum(daily_cycle(kind))))


def _widths(rng: np.random.Generator, kind: LublinParameters, procs: int, n: int) -> Ints:
    """Two-stage uniform log2 widths with serial and power-of-two jobs."""
    machine = math.log2(procs)
    high = machine - kind.hi_below
    low = min(kind.ulow, high)
    middle = min(max(high - kind.med_below, low), high)
    which, stage, place = rng.random((3, n))
    lower = stage < kind.uprob
    size = np.where(lower, low + (middle - low) * place, middle + (high - middle) * place)
    power = which < kind.serial_prob + kind.pow2_prob
    size[power] = np.minimum(np.floor(size[power] + 0.5), math.floor(machine))
    width: Ints = np.clip(np.floor(np.exp2(size) + 0.5), 1, procs).astype(np.int64)
    width[which < kind.serial_prob] = 1
    return width


def _runtimes(rng: np.random.Generator, kind: LublinParameters, width: Ints) -> Floats:
    """Hyper-gamma runtimes, whole seconds; the wider the job, the likelier the long gamma."""
    short = np.clip(kind.pa * width + kind.pb, 0.0, 1.0)

    def draw(which: Indices) -> Floats:
        first = rng.random(len(which)) < short[which]
        gamma = rng.standard_gamma(np.where(first, kind.a1, kind.a2))
        logs: Floats = gamma * np.where(first, kind.b1, kind.b2)
        return logs

    log_runtime = draw(np.arange(len(width)))
    _redraw(log_runtime, kind.max_log_runtime, draw, "max_log_runtime")
    # ln(runtime) > 0, so whole seconds start at 1 by themselves.
    runtime: Floats = np.floor(np.exp(log_runtime))
    return runtime


def _redraw(values: Floats, limit: float, draw: Callable[[Indices], Floats], name: str) -> None:
    """Draw again, in place, whatever lies above the limit."""
    left = np.flatnonzero(values > limit)
    for _ in range(_REDRAWS):
        if len(left) == 0:
            return
        values[left] = draw(left)
        left = left[values[left] > limit]
    raise OptionError(f"LublinParameters: {name} of {limit} rejects nearly every draw; raise it")


def _submits(arrivals: Sequence[_Arrivals], span: int | None) -> Floats:
    """Submit instants in whole seconds, type by type; first to last is ``span`` if given."""
    present = [of for of in arrivals if len(of.points)]
    stretch = 1.0 if span is None else _stretch(present, span)
    instants = np.concatenate([of.seconds(stretch, of.points) for of in present])
    if span is None:
        whole: Floats = np.floor(instants)
        return whole
    first = float(instants.min())
    since: Floats = np.rint(instants - first)
    return since + math.floor(first)


def _stretch(arrivals: Sequence[_Arrivals], span: int) -> float:
    """Factor on all points that makes the first and the last submit ``span`` seconds apart."""

    def spanned(stretch: float) -> float:
        ends = [of.seconds(stretch, of.points[[0, -1]]) for of in arrivals]
        return float(max(end[1] for end in ends) - min(end[0] for end in ends))

    low = high = 1.0
    while spanned(low) > span:
        low /= 2.0
    while spanned(high) < span:
        high *= 2.0
    # The span is continuous in the factor, so halving finds a crossing even where it dips.
    while (middle := 0.5 * (low + high)) not in (low, high):
        if spanned(middle) < span:
            low = middle
        else:
            high = middle
    return high


def _span_for(load: float, area: float, jobs: int, procs: int) -> int:
    """Whole seconds over which this area (processor-seconds) is the wanted load."""
    span = area / procs / load
    if jobs < 2 or not 0.5 < span < 1e15:
        raise OptionError(
            f"lublin: load {load} of {jobs} job(s) on {procs} processors needs a span of "
            f"{span:.3g} s; ask for two jobs or more and another load"
        )
    return max(round(span), 1)


def _kinds(
    parameters: LublinParameters | Sequence[LublinParameters] | str,
) -> tuple[LublinParameters, ...]:
    if isinstance(parameters, str):
        if parameters not in LUBLIN_TYPES:
            raise OptionError(
                f"lublin: parameters {parameters!r} are unknown; use one of {sorted(LUBLIN_TYPES)}"
            )
        return LUBLIN_TYPES[parameters]
    if isinstance(parameters, LublinParameters):
        return (parameters,)
    kinds = tuple(parameters)
    if not kinds or not all(isinstance(kind, LublinParameters) for kind in kinds):
        raise OptionError("lublin: parameters are no LublinParameters; give one or several")
    return kinds


def _check(jobs: int, procs: int, load: float | None) -> None:
    at_least_one("lublin", "jobs", jobs)
    at_least_one("lublin", "procs", procs)
    if load is not None and not (math.isfinite(load) and load > 0.0):
        raise OptionError(f"lublin: load is {load}; give a number > 0")
