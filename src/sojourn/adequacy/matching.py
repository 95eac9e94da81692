"""Which job of one stream is which of the other, and whether P is defined for the two."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, OptionError
from .stream import JobStream

Match = Literal["auto", "id", "order"]
Unstarted = Literal["error", "leave-out"]

_EPOCH = 1e8
"""A clock that shows more than three years (s) counts from 1970, not from the first job."""

_RESOURCES = (("procs", "procs"), ("nodes", "nodes"), ("nodes", "procs"), ("procs", "nodes"))

SLACK = 1e-6
"""Rounding of a time (s), not a difference."""


class StreamError(InputError):
    """Two streams between which the measure is not defined.

    Parameters
    ----------
    condition : the one that fails: ``n``, ``submit``, ``resources``, ``limit``, ``times`` or
        ``events``.
    job : the first job that breaks it.
    problem : what is wrong, and what to do.
    """

    def __init__(self, condition: str, job: str, problem: str) -> None:
        self.condition = condition
        self.job = job
        self.problem = problem
        super().__init__(f"job {job}: {problem}; P is not defined for these streams")


@dataclass(frozen=True)
class Pair:
    """Two streams of the same jobs, row by row.

    Parameters
    ----------
    real, model : the streams, on one clock.
    matched : ``id`` or ``order``.
    resource : ``nodes`` or ``procs``, what p_i was compared by.
    shift : s, by which the clock of the model was moved.
    unstarted : jobs left out because they never started or ended, in the order of submission.
    alone : jobs left out because they are in one stream only.
    """

    real: JobStream
    model: JobStream
    matched: str
    resource: str
    shift: float
    unstarted: NDArray[Any]
    alone: NDArray[Any]

    @property
    def width(self) -> NDArray[np.int64]:
        """Resources p_i of the jobs."""
        width: NDArray[np.int64] = getattr(self.real, self.resource)
        return width


def match_streams(
    real: JobStream,
    model: JobStream,
    *,
    match: Match = "auto",
    submit_tolerance: float | None = None,
    unstarted: Unstarted = "error",
    common: bool = False,
) -> Pair:
    """Match two streams job by job, and check that P is defined for them.

    Parameters
    ----------
    real, model : the streams.
    match : ``id`` by the jobs' names, ``order`` by the order of submission; ``auto`` takes the
        names where both streams have the same.
    submit_tolerance : s, by which submits may differ. By default 0 where both streams have whole
        seconds, and 1 where a clock has fractions: nobody submits twice at one millisecond.
    unstarted : what to do about jobs that started in one stream only, or have not ended: ``error``,
        or ``leave-out``.
    common : leave out jobs that are in one stream only, by their names, such as those that a model
        does not accept.

    Raises
    ------
    StreamError
        Naming the first job that breaks a condition of [baranov2019, section VII, errata 1]: the
        number of jobs, submit times r_i, resources p_i, ordered times e_i, events that are in one
        stream only, and times in their order.
    """
    if match not in ("auto", "id", "order"):
        raise OptionError(f"match '{match}' is unknown; use auto, id or order")
    if unstarted not in ("error", "leave-out"):
        raise OptionError(f"unstarted '{unstarted}' is unknown; use error or leave-out")
    if submit_tolerance is None:
        submit_tolerance = 0.0 if _is_whole(real.submit) and _is_whole(model.submit) else 1.0
    if not (np.isfinite(submit_tolerance) and submit_tolerance >= 0):
        raise OptionError(f"submit_tolerance {submit_tolerance}: give seconds, 0 or more")
    for stream, name in ((real, "real"), (model, "model")):
        _check_times(stream, name, unstarted)
    alone = np.setxor1d(real.label, model.label) if common else np.empty(0, np.str_)
    if common:
        real, model = (s[np.isin(s.label, alone, invert=True)] for s in (real, model))
        if not len(real):
            raise OptionError("no job has the same name in both streams; compare without common")
    same = set(real.label.tolist()) == set(model.label.tolist())
    matched = "id" if match == "id" or (match == "auto" and same) else "order"
    if len(real) != len(model) or (matched == "id" and not same):
        raise _of_numbers(real, model)
    if matched == "id":
        place = {label: row for row, label in enumerate(model.label.tolist())}
        model = model[np.array([place[label] for label in real.label.tolist()])]
    shift = _shift(real, model)
    if shift:
        model = model.shifted(-shift)
    _check_submits(real, model, submit_tolerance, matched)
    resource = _check_resources(real, model)
    _check_limits(real, model)
    keep = _check_events(real, model, unstarted)
    return Pair(
        real[keep],
        replace(model[keep], label=real.label[keep]),
        matched,
        resource,
        shift,
        real.label[~keep],
        alone,
    )


def _first(wrong: NDArray[np.bool_]) -> int | None:
    rows = np.flatnonzero(wrong)
    return int(rows[0]) if rows.size else None


def _check_times(stream: JobStream, which: str, unstarted: Unstarted) -> None:
    started = np.isfinite(stream.start)
    running = started & ~np.isfinite(stream.end) & (unstarted == "error")
    for wrong, what in (
        (started & (stream.start < stream.submit - SLACK), "starts before it is submitted"),
        (started & (stream.end < stream.start - SLACK), "ends before it starts"),
        (~started & (stream.end < stream.submit - SLACK), "is cancelled before it is submitted"),
        (running, "has started but not ended"),
    ):
        row = _first(wrong)
        if row is not None:
            times = " ".join(
                f"{name} {getattr(stream, name)[row]:.12g}" for name in ("submit", "start", "end")
            )
            raise StreamError(
                "times", str(stream.label[row]), f"{what} in the {which} stream ({times})"
            )


def _of_numbers(real: JobStream, model: JobStream) -> StreamError:
    counts = f"{len(real)} jobs in the real stream, {len(model)} in the model"
    for one, other, name in ((real, model, "model"), (model, real, "real")):
        there = set(other.label.tolist())
        missing = next((label for label in one.label.tolist() if label not in there), None)
        if missing is not None and (len(real) == len(model) or len(one) > len(other)):
            return StreamError(
                "n",
                str(missing),
                f"is not in the {name} stream ({counts}); compare the common jobs (--common), or"
                " give the model all of them",
            )
    longer = real if len(real) > len(model) else model
    extra = str(longer.label[min(len(real), len(model))])
    return StreamError("n", extra, f"has none of its number in the other stream ({counts})")


def _shift(real: JobStream, model: JobStream) -> float:
    """Return how far the model's clock is ahead: 0 unless one of them counts from 1970."""
    if max(real.submit[0], model.submit.min()) < _EPOCH:
        return 0.0
    apart = model.submit - real.submit
    if (np.abs(apart) <= SLACK).any():
        return 0.0
    return float(np.sort(apart)[(apart.size - 1) // 2])


def _is_whole(times: NDArray[np.float64]) -> bool:
    return bool(np.array_equal(times, np.rint(times)))


def _check_submits(real: JobStream, model: JobStream, tolerance: float, matched: str) -> None:
    row = _first(np.abs(model.submit - real.submit) > tolerance + SLACK)
    if row is None:
        return
    how = "" if matched == "id" else f" (job {model.label[row]} of the model, matched by order)"
    raise StreamError(
        "submit",
        str(real.label[row]),
        f"submitted at {real.submit[row]:.12g} s in the real stream and at"
        f" {model.submit[row]:.12g} s in the model{how}; allow for it with a submit tolerance, or"
        " compare the same jobs",
    )


def _check_resources(real: JobStream, model: JobStream) -> str:
    # Where both are known, processors are what a job ordered, and nodes what it happened to get.
    for chosen, theirs in _RESOURCES:
        mine, others = getattr(real, chosen), getattr(model, theirs)
        if (mine > 0).any() and (others > 0).any():
            break
    else:
        raise OptionError("neither stream has nodes or processors; give one of them")
    row = _first((mine != others) & (mine > 0) & (others > 0))
    if row is not None:
        raise StreamError(
            "resources",
            str(real.label[row]),
            f"{mine[row]} {chosen} in the real stream and {others[row]} {theirs} in the model",
        )
    return chosen


def _check_limits(real: JobStream, model: JobStream) -> None:
    known = ~np.isnan(real.limit) & ~np.isnan(model.limit)
    row = _first(known & ~np.isclose(real.limit, model.limit, rtol=0, atol=SLACK, equal_nan=True))
    if row is not None:
        raise StreamError(
            "limit",
            str(real.label[row]),
            f"ordered {real.limit[row]:.12g} s in the real stream and {model.limit[row]:.12g} s"
            " in the model",
        )


def _check_events(real: JobStream, model: JobStream, unstarted: Unstarted) -> NDArray[np.bool_]:
    """Return which jobs started in both streams."""
    first, second = np.isfinite(real.start), np.isfinite(model.start)
    row = _first(first != second)
    if row is not None and unstarted == "error":
        where, not_where = ("real", "model") if first[row] else ("model", "real")
        raise StreamError(
            "events",
            str(real.label[row]),
            f"started in the {where} stream and never in the {not_where} one; leave such jobs out"
            " (--leave-out-unstarted), or let the model have the same cancellations",
        )
    keep = np.isfinite(real.end - real.start) & np.isfinite(model.end - model.start)
    if not keep.any():
        raise OptionError(
            "no job started in both streams: nothing to compare; check that they have starts"
        )
    return keep
