"""A log or stream through the model of its own manager, and how near the model comes."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import Floats
from ..errors import LogError, OptionError
from ..jobs.formats.slurm_fields import fold_nodes
from ..policy import constant
from ..policy.slurm import (
    LOOPS,
    Pace,
    Requests,
    Scheduled,
    SlurmConf,
    node_table,
    outcome_of,
    plain_conf,
    policy_from_slurm,
    read_slurm_conf,
    read_table,
)
from ..policy.slurm.requests import kind_of, origin_of
from ..run.options import Options
from ..run.result import Result
from ..run.slurm import prepare_slurm
from ._tables import csv_columns
from .calibration import CALIBRATED, Calibration
from .measure import Adequacy, compare_streams
from .stream import JobStream, read_stream

COLUMNS = (
    *("id", "submit", "start", "end", "nodes", "node_names", "state", "started_by"),
    *("run", "limit_min"),
)
"""Of the table of jobs; instants in seconds after the stream's zero."""

_MEMBERS, _MANY = 16, 4_000
# Powers of the root of x^4 = x + 1: their multiples fill three dimensions evenly.
_STEPS = (0.8191725133961645, 0.6710436067037893, 0.5497004779019703)
_JITTER = 0.3  # s by which one start of a controller is later than another
_SAME = 1.5  # s, a round of the main loop and what a launch takes
_NEAR = 60.0


@dataclass(frozen=True)
class Replay:
    """What the model of a manager did with a stream.

    Parameters
    ----------
    requests : the stream.
    scheduled : what became of it, in the most typical of several runs.
    start, end : s after the stream's zero; means over the runs that agree with that one.
    stream : the same, to be compared with others.
    real : what really became of it, where the file says so.
    adequacy : how far the model is from that.
    itself : s, the median P between runs of the model whose loops began at other moments: how far
        the manager would be from itself.
    members : number of these runs.
    calibration : where the controller's pace came from.
    not_modelled : what of the configuration has no effect here, with reasons.
    result : the run that `scheduled` is of, with all that is measured of any run.
    """

    requests: Requests
    scheduled: Scheduled
    start: Floats
    end: Floats
    stream: JobStream
    real: JobStream | None
    adequacy: Adequacy | None
    itself: float
    members: int
    calibration: Calibration
    not_modelled: tuple[str, ...]
    result: Result

    @property
    def near(self) -> float:
        """Share of the jobs whose time in the system is within 60 s of the real one."""
        if self.adequacy is None:
            return math.nan
        return float(np.mean(np.abs(self.adequacy.differences) <= _NEAR))

    def refusals(self) -> dict[str, list[str]]:
        """Return the jobs that were refused, by reason: "jobs ..." goes on with it."""
        reasons: dict[str, list[str]] = {}
        for label, why in zip(self.requests.label.tolist(), self.scheduled.why, strict=True):
            if why:
                reasons.setdefault(why, []).append(label)
        return reasons

    def rows(self) -> list[dict[str, Any]]:
        """Return one row per job that was not refused, with the columns `COLUMNS`."""
        return [
            dict(zip(COLUMNS, self._row(j), strict=True))
            for j in np.flatnonzero(~self.scheduled.refused).tolist()
        ]

    def _row(self, j: int) -> tuple[Any, ...]:
        asked, scheduled = self.requests, self.scheduled
        start, end = float(self.start[j]), float(self.end[j])
        started = not math.isnan(start)
        state = "CANCELLED"
        if started:
            state = "TIMEOUT" if scheduled.timed_out[j] else "COMPLETED"
            if asked.cancel[j] <= scheduled.end[j] + _NEAR and scheduled.end[j] >= asked.cancel[j]:
                state = "CANCELLED"
        return (
            str(asked.label[j]),
            float(asked.submit[j]),
            round(start, 3) if started else "",
            round(end, 3),
            int(asked.nodes[j]),
            fold_nodes(scheduled.nodes[j]),
            state,
            LOOPS[scheduled.by[j]],
            float(asked.run[j]),
            int(asked.limit[j]),
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the numbers, without the jobs."""
        waits = self.start - self.requests.submit
        known = waits[np.isfinite(waits)]
        adequacy = None if self.adequacy is None else self.adequacy.as_dict()
        return {
            "jobs": int(self.requests.submit.size),
            "refused": self.requests.label[self.scheduled.refused].tolist(),
            "refused_why": self.refusals(),
            "never_started": int(np.count_nonzero(~np.isfinite(waits))),
            "wait_mean": float(known.mean()) if known.size else None,
            "by_backfill": int(np.count_nonzero(self.scheduled.by == LOOPS.index("backfill"))),
            "members": self.members,
            "P_itself": self.itself,
            "within_60s": None if adequacy is None else self.near,
            "adequacy": adequacy,
            "calibration": self.calibration.as_dict(),
            "not_modelled": list(self.not_modelled),
            "said": list(self.requests.said),
        }


def replay(
    path: str | os.PathLike[str],
    conf: str | os.PathLike[str] | SlurmConf,
    *,
    nodes: int | None = None,
    complement: str | os.PathLike[str] | None = None,
    changes: Mapping[str, str] | None = None,
    calibration: Calibration = CALIBRATED,
    members: int | None = None,
    format: str | None = None,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
    **reading: Any,
) -> Replay:
    """Send a log or stream through the model of Slurm.

    When the controller's loops began relative to the stream is not known, and a job submitted a
    moment before a pass or after it can fare quite differently. So the model is run several times
    with other start offsets. The run that is nearest to all others gives the decisions, the mean of
    those that agree with it the times.

    Parameters
    ----------
    path : a log of ``sacct``, ``jobcomp`` or SWF, which is compared with the model, or a stream: a
        table with columns id, submit, nodes, run and limit_min, compared if it has start and end.
    conf : a ``slurm.conf``.
    nodes : number of equal nodes with one job each, in place of those of the configuration.
    complement : submit commands or a stream with what the log does not record: features, memory.
    changes : scheduler parameters and lines of the configuration with other values.
    calibration : the controller's pace, from a run that is not judged here.
    members : runs with other start offsets; by default 16, fewer for more than 4,000 jobs.
    format : of the log.
    seed : of the overheads, where they are random.
    progress : called with (jobs that have left the model, jobs), over all its runs, from time to
        time.
    reading : options of the reader of accounting: ``timezone``, ``columns``, ``delimiter``,
        ``wait_from``.

    Raises
    ------
    OptionError, LogError, ClusterError
        When something given cannot be used.
    """
    if members is not None and members < 1:
        raise OptionError(f"members {members}: give 1 or more")
    site = conf if isinstance(conf, SlurmConf) else read_slurm_conf(conf)
    if nodes is not None:
        site = plain_conf(nodes, site)
    policy = policy_from_slurm(site, changes)
    jobs, said = read_table(path, complement=complement, format=format, **reading)
    real = _outcome(path, format, reading)
    # What accounting calls elapsed has launch and completion in it.
    is_log = kind_of(path, format) in ("sacct", "jobcomp", "swf")
    if members is None:
        members = usual_members(len(jobs))
    rng = np.random.default_rng(seed)
    made = []
    for k in range(members):
        drawn = {} if is_log else _overheads(calibration, len(jobs), rng)
        pace = beginning(calibration, policy.conf, origin_of(jobs), k, is_log=is_log)
        begun = policy.with_pace(pace, **drawn)
        run, prepared = prepare_slurm(jobs, None, begun, constant(1.0), Options(clean=()))
        report = _in_run(k, members, progress)
        run.to_the_end(report)
        report(len(jobs), len(jobs))
        made.append((run, prepared))
    table = node_table(policy.conf)
    runs = [outcome_of(run, table) for run, _ in made]
    asked, sleeping = made[0][0].requests, made[0][0].power_plan
    asked = asked._replace(said=(*said, *asked.said))
    if runs[0].refused.all():
        why = runs[0].why[0]
        raise LogError(
            path,
            f"no nodes suit any of its jobs, of which the first is one of those {why}; check the "
            "configuration's nodes",
        )
    chosen, itself = typical([run.end - asked.submit for run in runs])
    scheduled = runs[chosen]
    start, end = (agreed([getattr(run, name) for run in runs], chosen) for name in ("start", "end"))
    # Nodes are what a job got: a log that has processors only is held against processors.
    by_procs = real is not None and not (real.nodes > 0).any()
    stream = _stream(asked, scheduled.refused, start, end, by_procs=by_procs)
    adequacy = None
    if real is not None:
        adequacy = compare_streams(
            real,
            stream,
            within=1.0 if is_log else 0.0,
            unstarted="leave-out",
            common=True,
            submit_tolerance=1.0,
        )
    return Replay(
        requests=asked,
        scheduled=scheduled,
        start=start,
        end=end,
        stream=stream,
        real=real,
        adequacy=adequacy,
        itself=itself,
        members=members,
        calibration=calibration,
        not_modelled=policy.not_modelled + (() if sleeping is None else sleeping.said),
        result=Result(made[chosen][1], made[chosen][0]),
    )


def _in_run(
    k: int, runs: int, progress: Callable[[int, int], None] | None
) -> Callable[[int, int], None]:
    """What run `k` of several reports to."""

    def report(left: int, jobs: int) -> None:
        if progress is not None:
            progress(k * jobs + left, runs * jobs)

    return report


def _outcome(
    path: str | os.PathLike[str], format: str | None, reading: Mapping[str, Any]
) -> JobStream | None:
    """What really became of the jobs, where the file says so."""
    name = kind_of(path, format)
    if name == "events":
        return None
    if name == "stream":
        if not {"start", "end"} <= csv_columns(path).keys():
            return None
        return read_stream(path, format="csv")
    if name == "swf":
        return read_stream(path, format=name)
    return read_stream(path, format=name, **reading)


def _overheads(calibration: Calibration, jobs: int, rng: np.random.Generator) -> dict[str, Floats]:
    overheads = calibration.overheads
    return {
        "launch": overheads.launch.draw(jobs, rng),
        "completion": overheads.completion.draw(jobs, rng),
    }


def usual_members(jobs: int) -> int:
    """Return how many runs with other start offsets so many jobs are given."""
    return max(1, min(_MEMBERS, _MEMBERS * _MANY // max(jobs, 1)))


def beginning(
    known: Calibration, site: SlurmConf, origin: float, k: int, *, is_log: bool = True
) -> Pace:
    """Return the beginning of run `k` of several, spread evenly over what is not known of it.

    A stream is sent by us, so many seconds after the controller's start; a log may have been begun
    at any moment of the loops' periods. How much longer than a second a round of the main loop is
    depends on the load, and what Slurm rounds down are times of day, which only logs have.
    """
    scheduling, usual = site.scheduling, known.pace
    begin, slow, day = ((k * step) % 1.0 for step in _STEPS)
    started, tick, epoch = usual.started, usual.tick, int(origin)
    if is_log:
        started -= begin * max(scheduling.backfill_period, scheduling.main_period)
    elif k > 0:
        started += known.spread * _JITTER * (begin - 0.5)
        tick = 1.0 + (tick - 1.0) * (1.0 + known.spread * (slow - 0.5))
    if not is_log:
        epoch = int(day * max(scheduling.value("bf_resolution"), 1))
    return usual._replace(started=started, tick=tick, epoch=epoch)


def typical(residences: list[Floats]) -> tuple[int, float]:
    """Return the run that is nearest to all others, and the median distance between two."""
    if len(residences) == 1:
        return 0, math.nan
    times = np.stack(residences)
    apart = np.array([[_distance(a, b) for b in times] for a in times])
    chosen = int(np.argmin(apart.sum(axis=1)))
    return chosen, float(np.median(apart[~np.eye(len(times), dtype=bool)]))


def agreed(instants: list[Floats], chosen: int) -> Floats:
    """Return mean instants over the runs in which a job fares as in the chosen one."""
    times = np.stack(instants)
    # Decisions that differ move a job by a period of the loops, or more.
    near = np.abs(times - times[chosen]) <= _SAME
    near[chosen] = True
    return np.asarray(np.where(near, times, 0.0).sum(axis=0) / near.sum(axis=0))


def _distance(a: Floats, b: Floats) -> float:
    gaps = (a - b)[np.isfinite(a) & np.isfinite(b)]
    return float(np.sqrt(np.mean(gaps * gaps))) if gaps.size else 0.0


def _stream(
    asked: Requests, refused: NDArray[np.bool_], start: Floats, end: Floats, *, by_procs: bool
) -> JobStream:
    kept = ~refused
    return JobStream.of(
        asked.submit[kept] + asked.origin,
        start[kept] + asked.origin,
        end[kept] + asked.origin,
        label=asked.label[kept],
        nodes=asked.nodes[kept],
        procs=asked.procs[kept] if by_procs else None,
        # Not the limits: they are the file's own, rounded and capped as the manager does.
        source="model of Slurm",
    )
