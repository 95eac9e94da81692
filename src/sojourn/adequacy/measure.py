"""P, the measure of adequacy: root mean square difference of residence times [baranov2019, eq. 2].

P is ruled by a few jobs: one that waits for another backfill slot can outweigh a thousand that
start a second later. So the median difference, the number of different jobs and how few of them
make half of P stand beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays import Floats
from ..errors import OptionError
from .divergence import Divergence, first_divergence
from .matching import SLACK, Match, Pair, Unstarted, match_streams
from .stream import MORE, JobStream

_TABLE = (50, 100, 250, 500, 750, 1000)
"""Prefixes of [baranov2019, table I]."""

CLASSES = ("width", "queue", "user", *MORE)
"""What jobs are classed by."""

_CONFIDENCE = 0.95
_DRAWS = 2000
_CELLS = 1 << 20
"""Blocks drawn at once, so that memory does not grow with the stream."""

_WORST = 10


@dataclass(frozen=True)
class Prefix:
    """One row of [baranov2019, table I].

    Parameters
    ----------
    n : the first so many jobs, in the order of submission.
    P : s, over them.
    different : how many of them waited another time.
    """

    n: int
    P: float
    different: int


@dataclass(frozen=True)
class ClassMeasure:
    """The measure over one class of jobs.

    Parameters
    ----------
    by : what jobs are classed by.
    name : of the class.
    n, P, different : as in `Prefix`.
    residence : mean residence time in the real stream (s).
    """

    by: str
    name: str
    n: int
    P: float
    different: int
    residence: float


@dataclass(frozen=True)
class Adequacy:
    """How far a model is from what it models.

    Parameters
    ----------
    pair : the two streams.
    P : root mean square difference of residence times (s) [baranov2019, eq. 2].
    interval : from which to which P (s) would lie in 95 % of such streams, by drawing blocks of
        neighbouring jobs.
    euclidean : Euclidean distance of the residence times (s) [baranov2019, eq. 1].
    relative : P over the mean residence time of the real stream.
    median_abs : median absolute difference of residence times (s).
    different : jobs that waited another time.
    half : the fewest jobs that make half of the sum of squares.
    prefixes : P over the first jobs.
    classes : P by width, queue, user, account, partition and QoS, where more than one is known;
        those with the largest part in the sum of squares first, but widths from narrow to wide.
    within : s, by which waits may differ and still count as equal.
    divergence : the first decision that differs; None if none does.
    """

    pair: Pair
    P: float
    interval: tuple[float, float]
    euclidean: float
    relative: float
    median_abs: float
    different: int
    half: int
    prefixes: tuple[Prefix, ...]
    classes: tuple[ClassMeasure, ...]
    within: float
    divergence: Divergence | None

    @property
    def n(self) -> int:
        """Jobs compared."""
        return len(self.pair.real)

    @property
    def differences(self) -> Floats:
        """Residence times V_i - v_i, model less real (s)."""
        return self.pair.model.residence - self.pair.real.residence

    def worst(self, count: int = _WORST) -> list[dict[str, Any]]:
        """Return the jobs that differ most, and their share of the sum of squares."""
        gaps = self.differences
        total = float(gaps @ gaps)
        rows = np.argsort(-np.abs(gaps), kind="stable")[:count]
        real, model = self.pair.real, self.pair.model
        return [
            {
                "job": str(real.label[row]),
                "submit": float(real.submit[row]),
                self.pair.resource: int(self.pair.width[row]),
                "wait_real": float(real.wait[row]),
                "wait_model": float(model.wait[row]),
                "difference": float(gaps[row]),
                "share": float(gaps[row] ** 2 / total),
            }
            for row in rows.tolist()
            if gaps[row] != 0
        ]

    def as_dict(self) -> dict[str, Any]:
        """Return the findings as plain values, ready for JSON."""
        return {
            "n": self.n,
            "P": self.P,
            "interval": list(self.interval),
            "euclidean": self.euclidean,
            "relative": self.relative,
            "median_abs": self.median_abs,
            "different": self.different,
            "half": self.half,
            "mean_residence": float(self.pair.real.residence.mean()),
            "within": self.within,
            "matched": self.pair.matched,
            "resource": self.pair.resource,
            "shift": self.pair.shift,
            "unstarted": self.pair.unstarted.tolist(),
            "alone": self.pair.alone.tolist(),
            "prefixes": [vars(prefix) for prefix in self.prefixes],
            "classes": [vars(row) for row in self.classes],
            "worst": self.worst(),
            "first_divergence": None if self.divergence is None else self.divergence.as_dict(),
        }


def distance(real: ArrayLike, model: ArrayLike) -> float:
    """Return P (s): root mean square difference of residence times [baranov2019, eq. 2].

    >>> distance([10, 20, 30, 40], [10, 20, 36, 32])
    5.0
    """
    gaps = np.asarray(model, np.float64) - np.asarray(real, np.float64)
    if gaps.ndim != 1 or gaps.size == 0:
        raise OptionError("residence times: give two lists of equal length, at least one job")
    return float(np.sqrt(np.mean(gaps * gaps)))


def compare_streams(
    real: JobStream,
    model: JobStream,
    *,
    within: float = 0.0,
    match: Match = "auto",
    submit_tolerance: float | None = None,
    unstarted: Unstarted = "error",
    common: bool = False,
    nodes: int | None = None,
    prefixes: Sequence[int] | None = None,
    seed: int = 0,
) -> Adequacy:
    """Measure how far a model's stream is from the real one.

    Parameters
    ----------
    real, model : the streams.
    within : s, by which waits may differ and still count as equal.
    match, submit_tolerance, unstarted, common : as in `match_streams`.
    nodes : of the machine; by default the most that were busy at once.
    prefixes : numbers of first jobs; by default those of [baranov2019, table I], or the same
        shares of fewer than 1000 jobs.
    seed : of the draws for the interval.

    Raises
    ------
    StreamError
        Where the measure is not defined.
    """
    if not (np.isfinite(within) and within >= 0):
        raise OptionError(f"within {within}: give seconds, 0 or more")
    pair = match_streams(
        real,
        model,
        match=match,
        submit_tolerance=submit_tolerance,
        unstarted=unstarted,
        common=common,
    )
    v, gaps = pair.real.residence, pair.model.residence - pair.real.residence
    differs = np.abs(pair.model.wait - pair.real.wait) > within + SLACK
    squares = gaps * gaps
    total = float(squares.sum())
    measure = distance(v, pair.model.residence)
    mean = float(v.mean())
    largest = np.cumsum(np.sort(squares)[::-1])
    return Adequacy(
        pair=pair,
        P=measure,
        interval=_interval(squares, seed),
        euclidean=float(np.sqrt(total)),
        relative=measure / mean if mean > 0 else (0.0 if measure == 0 else float("inf")),
        median_abs=float(np.median(np.abs(gaps))),
        different=int(np.count_nonzero(differs)),
        half=int(np.searchsorted(largest, total / 2)) + 1 if total > 0 else 0,
        prefixes=_prefixes(squares, differs, prefixes),
        classes=_classes(pair, squares, differs),
        within=within,
        divergence=first_divergence(pair, within=within, nodes=nodes),
    )


def _sizes(n: int, wanted: Sequence[int] | None) -> list[int]:
    if wanted is not None:
        wrong = [size for size in wanted if not 1 <= size <= n]
        if wrong:
            raise OptionError(f"prefix {wrong[0]}: give numbers of jobs from 1 to {n}")
        return sorted(set(wanted))
    if n >= _TABLE[-1]:
        return sorted({*_TABLE, n})
    return sorted({max(1, round(n * size / _TABLE[-1])) for size in _TABLE})


def _prefixes(
    squares: Floats, differs: NDArray[np.bool_], wanted: Sequence[int] | None
) -> tuple[Prefix, ...]:
    sums, counts = np.cumsum(squares), np.cumsum(differs)
    return tuple(
        Prefix(size, float(np.sqrt(sums[size - 1] / size)), int(counts[size - 1]))
        for size in _sizes(squares.size, wanted)
    )


def _classes(pair: Pair, squares: Floats, differs: NDArray[np.bool_]) -> tuple[ClassMeasure, ...]:
    classes = []
    for by in CLASSES:
        names = _names(pair, by)
        kinds, which = np.unique(names, return_inverse=True)
        # Accounting of Slurm has its partition in the column of queues too.
        if kinds.size < 2 or (by == "partition" and np.array_equal(names, pair.real.queue)):
            continue
        count = np.bincount(which)
        size = np.bincount(which, squares)
        other = np.bincount(which, differs)
        residence = np.bincount(which, pair.real.residence)
        rows = [
            ClassMeasure(
                by,
                str(kind),
                int(count[k]),
                float(np.sqrt(size[k] / count[k])),
                int(other[k]),
                float(residence[k] / count[k]),
            )
            for k, kind in enumerate(kinds)
        ]
        if by == "width":
            rows.sort(key=lambda row: int(row.name.partition("-")[0]))
        else:
            rows.sort(key=lambda row: -row.n * row.P**2)
        classes.extend(rows)
    return tuple(classes)


def _names(pair: Pair, by: str) -> NDArray[Any]:
    """Return the class of each job; none where it is not known."""
    if by == "width":
        return _widths(pair.width)
    real = pair.real
    return real.more.get(by, np.empty(0, np.str_)) if by in MORE else getattr(real, by)


def _widths(width: NDArray[np.int64]) -> NDArray[Any]:
    """Return classes of widths between powers of two, as text: 1, 2, 3-4, 5-8."""
    top = 2 ** np.ceil(np.log2(np.maximum(width, 1))).astype(np.int64)
    return np.array([str(w) if w <= 2 else f"{w // 2 + 1}-{w}" for w in top.tolist()])


def _interval(squares: Floats, seed: int) -> tuple[float, float]:
    """Return a 95 % interval of P by a circular block bootstrap.

    Differences come in runs, because a job that starts late delays those behind it; so
    neighbours are drawn together, the cube root of n at a time.
    """
    n = squares.size
    length = max(1, round(n ** (1 / 3)))
    blocks = -(-n // length)
    sums = np.cumsum(np.concatenate(([0.0], squares, squares[:length])))
    totals = sums[length : n + length] - sums[:n]
    rng = np.random.default_rng(seed)
    at_once = max(1, _CELLS // blocks)
    means = np.concatenate(
        [
            totals[rng.integers(0, n, (min(at_once, _DRAWS - k), blocks))].sum(axis=1)
            for k in range(0, _DRAWS, at_once)
        ]
    ) / (blocks * length)
    tail = 50 * (1 - _CONFIDENCE)
    low, high = np.percentile(means, (tail, 100 - tail))
    # Sums of what was added and taken away again may end a rounding below 0.
    return float(np.sqrt(max(low, 0.0))), float(np.sqrt(max(high, 0.0)))
