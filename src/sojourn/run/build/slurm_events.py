"""External events as Slurm's controller is handed them, and jobs with checkpoints."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...arrays import Floats, Ints
from ...cluster import Cluster
from ...engine.calendar import make_calendar
from ...engine.checkpoints import CHECKPOINT
from ...engine.happenings import DOWN, UP
from ...engine.passes.slurm_events import TAKEN
from ...errors import OptionError
from ...jobs import EventStream, ExternalEvents, Jobs
from ...policy.checkpoints import Checkpoint
from ...policy.slurm.controller import Happening, Outside, Pace
from ...policy.slurm.requests import Requests
from ...policy.slurm.site import SlurmConf
from .events import External, take_events
from .failing import beside_of

if TYPE_CHECKING:
    from ..options import Options

_MINUTE = 60.0


def requests_with_dumps(asked: Requests, rule: Checkpoint, every: Floats) -> Requests:
    """Return requests of jobs with dumps in their work, and room for them in their limits.

    Parameters
    ----------
    asked : without dumps.
    rule : of the dumps.
    every : work between two of each job (s).
    """
    limit = _MINUTE * asked.limit.astype(np.float64)
    run = rule.with_dumps(np.where(np.isinf(asked.run), limit, asked.run), every)
    room = rule.with_dumps(limit, every) + rule.restore
    return asked._replace(run=run, limit=np.ceil(room / _MINUTE).astype(np.int64))


def external_of(
    jobs: Jobs,
    events: ExternalEvents | EventStream | None,
    cluster: Cluster,
    options: Options,
    horizon: float | None,
) -> External | None:
    """Return the events of a run, failures and maintenance among them; None where there are none.

    Parameters
    ----------
    jobs : as they come to Slurm, for which the column ``begin`` says nothing.
    events : that are given.
    cluster, options : of the run.
    horizon : to which failures are drawn (s); None: twice what the jobs should need.
    """
    if "begin" in jobs.names:
        jobs = jobs.replace(begin=jobs.submit)
    beside = beside_of(jobs, cluster, options, horizon)
    if events is None and beside is None:
        return None
    external = take_events(events or ExternalEvents(()), jobs, cluster, beside)
    if not np.isin(external.kind, TAKEN).all():
        raise OptionError(
            "events: some are of a kind that policy slurm does not know; give cancel, kill, early, "
            "down, up, stop, resume or reserve"
        )
    return external


def happening_of(
    external: External | None,
    conf: SlurmConf,
    pace: Pace,
    place: Ints,
    saves: tuple[Checkpoint, Floats] | None,
    requeue: bool,
) -> Callable[[NDArray[np.bool_]], Happening]:
    """Return what says, of the accepted jobs, what the controller is handed.

    Parameters
    ----------
    external : events; None for none.
    conf, pace : of the controller.
    place : where each of Slurm's nodes stands in the cluster.
    saves : how jobs save their work, and the work between two dumps of each (s); None if they do
        not.
    requeue : whether jobs of failed nodes come back.
    """

    def happening(accepted: NDArray[np.bool_]) -> Happening:
        marks = None
        if saves is not None:
            rule, every = saves
            marks = np.zeros(np.count_nonzero(accepted), CHECKPOINT)
            marks["every"] = every[accepted]
            marks["dump_time"], marks["restore_time"] = rule.dump, rule.restore
        expire, words = conf.credential_expires, max((len(place) + 31) >> 5, 1)
        if external is None:
            calendar = make_calendar(None, None, len(accepted[accepted]), marks)
            reserved = _reserved(np.empty((3, 0)), place, np.empty(0, np.int64), words)
        else:
            calendar = external.calendar(accepted, preemptive=True, checkpoints=marks)
            event = calendar.event
            nodes = np.full(int(place.max(initial=-1)) + 1, -1)
            nodes[place] = np.arange(len(place))
            moved = np.isin(event["kind"], (DOWN, UP))
            event["about"][moved] = nodes[event["about"][moved]]
            event["time"] += pace.zero
            # They are the controller's own: to the engine's loop nothing is reserved.
            calendar = calendar._replace(reservation=calendar.reservation[:0])
            reserved = _reserved(external.reserved, nodes, external.what, words, pace.zero)
        return Happening(calendar, Outside(expire, saves is not None, *reserved), requeue)

    return happening


def _reserved(
    times: Floats, nodes: Ints, what: Ints, words: int, zero: float = 0.0
) -> tuple[Floats, Ints, Ints, Ints]:
    """When reservations are announced, begin and end, each once, and which nodes, as bits."""
    when, row = np.unique(times.T, axis=0, return_inverse=True)
    kept = np.zeros((len(when), words), np.int64)
    for k, node in zip(row.ravel().tolist(), nodes[what].tolist(), strict=True):
        kept[k, node >> 5] |= 1 << (node & 31)
    begin, end = np.floor(when[:, 1]), np.ceil(when[:, 2])
    announced = np.ascontiguousarray(when[:, 0] + zero)
    return announced, begin.astype(np.int64), end.astype(np.int64), kept


def in_the_controllers_clock(external: External, zero: float) -> External:
    """Return events at the times (s) that a run under the controller has for them.

    These are rounded as all its times are, so that what happens at one instant stays together.
    """
    absence = external.absence
    return replace(
        external,
        time=(external.time + zero) - zero,
        absence=absence._replace(
            begin=(absence.begin + zero) - zero, end=(absence.end + zero) - zero
        ),
    )
