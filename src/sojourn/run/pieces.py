"""Runs in which jobs that may be held run in pieces, in the best hours up to their deadline.

To the engine each piece is a job, which comes when it is planned for, or when the piece before it
has ended if that is later. When that is follows from the run itself: it is carried out again with
what came of it until nothing changes. What comes later changes nothing before it, so that each
time the run is right to a later instant, and what is left unchanged is right to the end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Floats, Ints
from ..cluster import Cluster
from ..engine.drive import Run
from ..engine.state import SEGMENT
from ..engine.types import JobView
from ..errors import OptionError, RunError
from ..jobs import Jobs
from ..jobs import clean as clean_jobs
from ..jobs.arrivals import order_of_arrival
from ..policy import Control, Policy, Score, parse_policy
from ..policy.deferral import cheapest_pieces
from ..policy.slurm.policy import SlurmPolicy
from .build.deferring import Deferred, held_jobs
from .build.engine import finish
from .options import Options, Prepared
from .outcome.schedule import Schedule
from .result import Result


class PlannedPieces(NamedTuple):
    """PlannedPieces of jobs, those of each in their order.

    Parameters
    ----------
    row : which job they are of.
    begin : when they are planned to begin (s).
    plan, work : how long they are planned to run, and do run, as recorded (s).
    """

    row: Ints
    begin: Floats
    plan: Floats
    work: Floats

    def of(self, which: NDArray[np.bool_]) -> PlannedPieces:
        """Return some of them."""
        return PlannedPieces(self.row[which], self.begin[which], self.plan[which], self.work[which])

    @property
    def is_first(self) -> NDArray[np.bool_]:
        """Which are the first of their jobs."""
        return np.append(True, self.row[1:] != self.row[:-1])[: len(self.row)]


def plan_pieces(jobs: Jobs, work: Floats, options: Options) -> tuple[PlannedPieces, Deferred]:
    """Return the pieces in which jobs are planned to run.

    Parameters
    ----------
    jobs : cleaned, by submit.
    work : how long each does run, as recorded (s): it may end before all its pieces have begun.
    options : of the run.
    """
    made, series, plan = held_jobs(jobs, options)
    restart = options.defer.restart
    rows: list[int] = []
    columns: list[tuple[float, float, float]] = []
    until = np.where(made.held, made.latest + plan, np.nan)
    for row in range(len(jobs)):
        came, left, planned = float(made.came[row]), float(work[row]), float(plan[row])
        if made.held[row] and planned > 0:
            begins, lasts = cheapest_pieces(came, planned, float(until[row]), series)
        else:
            begins, lasts = np.array([came]), np.array([planned])
        for at, (begin, long) in enumerate(zip(begins.tolist(), lasts.tolist(), strict=True)):
            if at and left <= 0:
                break
            done = left if at == len(begins) - 1 else min(left, long)
            left -= done
            more = restart if at else 0.0
            rows.append(row)
            columns.append((begin, long + more, done + more))
    table = np.array(columns).reshape(-1, 3).T
    return PlannedPieces(np.array(rows, dtype=np.int64), *table), replace(made, until=until)


class RunInPieces(Run):
    """A run whose jobs were carried out in pieces, each a job of the engine, as one of whole jobs.

    Parameters
    ----------
    run : of the pieces, at its end.
    jobs : the whole jobs as kernels would see them.
    whole : of which of them each piece is.
    """

    def __init__(self, run: Run, jobs: JobView, whole: Ints) -> None:
        self.jobs, self.rules, self.initial_rate = jobs, run.rules, run.initial_rate
        self.events = self.calendar = self.discipline = None
        count = len(jobs.submit)
        start, end = np.full(count, np.inf), np.full(count, -np.inf)
        np.minimum.at(start, whole, run.start)
        np.maximum.at(end, whole, run.end)
        last = np.zeros(count, dtype=np.int64)
        by_end = np.argsort(run.end, kind="stable")
        last[whole[by_end]] = by_end
        self.running = run.running._replace(start=start, end=end, held=run.held[last])
        segment = _segments(run)
        segment["job"] = whole[segment["job"]]
        self.recording = run.recording._replace(segment=segment)
        self.s = run.s.copy()
        self.s.segments = len(segment)
        self.nodes = run.nodes
        if run.nodes is not None:
            ask = run.nodes.ask
            # Where all jobs ask for processors only, there are no further requests.
            ask = ask[..., last] if ask.shape[-1] else ask
            self.nodes = run.nodes._replace(job=run.nodes.job[last], ask=ask)

    @property
    def in_pieces(self) -> bool:
        """Stretches of service are what there is to add up."""
        return True

    def _load(self) -> None:
        """It has ended: nothing is compiled for it."""


def _segments(run: Run) -> NDArray[Any]:
    """Stretches of service of a run, a job being a piece."""
    if run.in_pieces:
        return run.recording.segment[: run.s.segments].copy()
    made = np.zeros(len(run.start), SEGMENT).view(np.recarray)
    made["job"], made["start"], made["stop"] = np.arange(len(run.start)), run.start, run.end
    made["work"], made["held"], made["slowness"] = run.jobs.work, run.held, 1.0
    if run.nodes is not None:
        for name in ("row", "rows", "slowness"):
            made[name] = run.nodes.job[name]
    return made


def _check(policy: Policy, options: Options) -> None:
    refused = (
        (isinstance(policy, SlurmPolicy), "Slurm's model stops no jobs"),
        (options.events is not None, "external events are of whole jobs"),
        (options.decisions, "decisions are about whole jobs"),
        (not options.sleep.is_never, "nodes that sleep are woken for whole jobs"),
        (options.constraints.are_by_job, "constraints are given job by job"),
    )
    for given, why in refused:
        if given:
            raise OptionError(
                f"defer: jobs cannot run in pieces here: {why}; choose window or threshold",
                key="defer.kind",
            )


def simulate_in_pieces(
    jobs: Jobs,
    cluster: Cluster | int | None,
    policy: str | Policy | Score,
    rate: Control | float | str | None,
    progress: Callable[[int, int], None] | None,
    options: Mapping[str, Any],
) -> Result:
    """Carry out a run in which jobs that may be held run in pieces; see `simulate`."""
    from .simulate import machine_of, prepare, validated

    chosen, scheduling = Options(**options), parse_policy(policy)
    _check(scheduling, chosen)
    machine = machine_of(cluster, [scheduling])
    if chosen.clean:
        jobs = clean_jobs(jobs, procs=machine.procs, rules=chosen.clean)
    jobs = validated(jobs)
    limit = np.where(jobs.estimate > 0, jobs.estimate, np.inf)
    work = np.minimum(jobs.work, limit) if chosen.over_limit == "kill" else jobs.work
    pieces, deferred = plan_pieces(jobs, work, chosen)
    first = pieces.is_first
    whole = jobs.replace(begin=pieces.begin[first])
    given = {**options, "clean": (), "defer": None}
    run, prepared = prepare(whole, machine, scheduling, rate=rate, **given)
    order = order_of_arrival(whole)
    order = np.arange(len(jobs)) if order is None else order
    place = np.full(len(jobs), -1)
    place[order[prepared.accepted]] = np.arange(np.count_nonzero(prepared.accepted))
    pieces = pieces.of(place[pieces.row] >= 0)
    prepared = replace(prepared, options=chosen, deferred=deferred.at(order))
    if not len(pieces.row):
        finish(run, prepared, progress)
        return Result(prepared, run)
    as_jobs = {**given, "estimates": "user", "over_limit": "run", "warmup": 0}
    table = jobs[pieces.row].replace(work=pieces.work, estimate=pieces.plan)

    def carried_out(begin: Floats) -> tuple[Run, Prepared, Ints]:
        now = table.replace(begin=begin)
        by_arrival = order_of_arrival(now)
        run, prepared = prepare(now, machine, scheduling, rate=rate, **as_jobs)
        if not prepared.accepted.all():
            raise RunError("a piece of a job was not accepted; please report this as a bug")
        finish(run, prepared, progress)
        return run, prepared, np.arange(len(now)) if by_arrival is None else by_arrival

    done, rows = _until_settled(pieces, carried_out)
    return Result(prepared, RunInPieces(done, run.jobs, place[pieces.row[rows]]))


def _until_settled(
    pieces: PlannedPieces, carried_out: Callable[[Floats], tuple[Run, Prepared, Ints]]
) -> tuple[Run, Ints]:
    """Run until no piece comes before the one before it has ended.

    Parameters
    ----------
    pieces : as planned.
    carried_out : returns the run in which pieces begin at some instants (s), its input, and which
        piece each of its jobs is.
    """
    later = np.flatnonzero(~pieces.is_first)
    begin, end = pieces.begin.copy(), np.empty(len(pieces.begin))
    # Each time one more piece at least comes when it should, for good.
    for _ in range(len(begin) + 1):
        run, prepared, rows = carried_out(begin)
        end[rows] = run.end
        wanted = begin.copy()
        wanted[later] = np.maximum(pieces.begin[later], end[later - 1])
        if np.array_equal(wanted, begin):
            Schedule(prepared, run).check()
            return run, rows
        begin = wanted
    raise RunError("pieces of jobs do not settle; please report this as a bug")
