"""A model of Slurm: what its controller would do with a stream of jobs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...engine.pacing import asked_to_pause
from ...errors import OptionError, RunError
from .controller import CONSUMABLE, LINEAR, Controller, Loops, Machine, Pace, Wants
from .nodes import NodeTable
from .objections import objections
from .priority import associations, fixed_priority, rule_of
from .requests import Requests
from .site import SlurmConf

__all__ = ["LOOPS", "Scheduled", "schedule"]

Floats = NDArray[np.float64]

LOOPS = ("", "main", "backfill")
"""Which loop started a job, by its number in `Scheduled.by`."""

_LIMIT_PERIOD, _PURGE_PERIOD = 30, 60  # s, fixed in Slurm
_LEAST_PURGE = 10
_PURGE_AGE = 300  # s, MinJobAge unless told
_LONGEST = 100 * 366 * 86400.0
_FIRST_STEPS = 1_000  # that the loops take before anybody asks them to pause


@dataclass(frozen=True)
class Scheduled:
    """What became of the jobs, in the order of the requests.

    Parameters
    ----------
    start, end : s after the stream's zero; nan where a job did not start. Of one that was taken
        back while it waited, `end` is when.
    by : which loop started it, a place in `LOOPS`.
    nodes : the names of the nodes of each.
    timed_out : jobs that were ended at their limit.
    refused : jobs that would never start.
    why : of each, what is wrong with it, as "jobs ..." would go on; "" where nothing is.
    """

    start: Floats
    end: Floats
    by: NDArray[np.int8]
    nodes: tuple[tuple[str, ...], ...]
    timed_out: NDArray[np.bool_]
    refused: NDArray[np.bool_]
    why: tuple[str, ...]


def schedule(
    conf: SlurmConf,
    nodes: NodeTable,
    requests: Requests,
    *,
    pace: Pace | None = None,
    launch: ArrayLike = 0.0,
    completion: ArrayLike = 0.0,
    progress: Callable[[int, int], None] | None = None,
) -> Scheduled:
    """Send a stream through the model of a controller.

    Parameters
    ----------
    conf, nodes : of the cluster.
    requests : the stream.
    pace : of the controller.
    launch, completion : what it adds to each job's run (s), for all or one by one.
    progress : called with (jobs that have left, jobs) from time to time.

    Raises
    ------
    OptionError
        When the controller would look for ever.
    """
    pace = Pace() if pace is None else pace
    if not requests.submit.max(initial=0.0) <= _LONGEST:
        raise OptionError("the jobs come over more than a hundred years; check their submits")
    if np.isnan(requests.run).any():
        label = requests.label[np.argmax(np.isnan(requests.run))]
        raise OptionError(f"job {label}: how long it runs is not a number; give its run")
    machine = Machine(
        nodes.cpus, nodes.memory, nodes.gpus, nodes.features, nodes.partitions,
        _leaves(nodes.leaf), nodes.tier,
    )  # fmt: skip
    why = objections(conf, nodes, requests)
    refused = np.array([text != "" for text in why], np.bool_)
    tree, association = associations(requests)
    count = requests.submit.size
    late = pace.zero + pace.latency
    kept = np.where(refused, 0, requests.nodes)
    wants = Wants(
        submit=requests.submit + late,
        run=np.ascontiguousarray(requests.run, np.float64),
        launch=np.broadcast_to(np.asarray(launch, np.float64), count).copy(),
        finish=np.broadcast_to(np.asarray(completion, np.float64), count).copy(),
        cancel=requests.cancel + late,
        limit=requests.limit,
        nodes=kept,
        cpus=requests.cpus,
        memory=requests.memory,
        gpus=requests.gpus,
        whole=requests.whole,
        features=requests.features,
        partition=requests.partition,
        user=requests.user,
        association=association,
        fixed=fixed_priority(conf, nodes, requests),
    )
    loops = loops_of(conf)
    endless = ~refused & (requests.run > _LONGEST) & np.isinf(requests.cancel)
    if not math.isfinite(conf.kill_after) and endless.any():
        raise OptionError("a job runs until its limit, and OverTimeLimit=UNLIMITED never ends it")
    wants = Wants(*(np.ascontiguousarray(column) for column in wants))
    machine = Machine(*(np.ascontiguousarray(column) for column in machine))
    run = Controller(wants, machine, loops, pace, rule_of(conf), tree)
    _run(run, progress)
    tables = run.discipline
    names = np.array(nodes.names)
    return Scheduled(
        start=run.start - pace.zero,
        end=run.end - pace.zero,
        by=tables.by,
        nodes=tuple(
            tuple(names[np.sort(tables.given[a:b])].tolist()) if started else ()
            for a, b, started in _spans(run)
        ),
        timed_out=tables.timed_out,
        refused=refused,
        why=why,
    )


def _run(run: Controller, progress: Callable[[int, int], None] | None) -> None:
    """Run to the end; the kernel comes back several times a second, to hear an interrupt."""
    jobs, loops = len(run.start), run.discipline.loops
    # On an empty machine, with nobody to come or to go, the next full pass starts somebody.
    patience = 100.0 * (loops.main_period + loops.backfill_period)
    idle_since = math.nan
    if run.advance(_FIRST_STEPS):
        return
    with asked_to_pause(run.s, "pause"):
        while not run.advance():
            now = float(run.s.now)
            if not run.only_waits:
                idle_since = math.nan
            elif math.isnan(idle_since):
                idle_since = now
            elif now - idle_since > patience:
                raise RunError("the model starts nobody on an empty machine; please report this")
            if progress is not None:
                progress(jobs - run.left, jobs)


def _spans(run: Controller) -> zip[tuple[int, int, bool]]:
    first = run.discipline.first.tolist()
    return zip(first, first[1:], (~np.isnan(run.start)).tolist(), strict=False)


def _leaves(leaf: NDArray[np.int64]) -> NDArray[np.int64]:
    """Number the switches that have nodes here, in their order; a node on none is by itself."""
    if (leaf < 0).all():
        return leaf
    alone = leaf.max() + 1 + np.arange(leaf.size)
    return np.unique(np.where(leaf < 0, alone, leaf), return_inverse=True)[1]


def loops_of(conf: SlurmConf) -> Loops:
    """Return the numbers of both loops."""
    told = conf.scheduling
    over = conf.kill_after
    age = int(conf.number("MinJobAge", _PURGE_AGE))
    return Loops(
        backfill=told.is_backfill,
        select=LINEAR if conf.is_linear else CONSUMABLE,
        main_period=told.main_period,
        main_delay=told.delay,
        main_depth=told.value("default_queue_depth"),
        main_starts=told.value("sched_max_job_start"),
        backfill_period=told.backfill_period,
        resolution=max(told.value("bf_resolution"), 1),
        window=60 * told.value("bf_window"),
        tests=told.value("bf_max_job_test"),
        reserve=told.value("bf_job_part_count_reserve"),
        tests_per_user=told.value("bf_max_job_user"),
        tests_per_partition=told.value("bf_max_job_part"),
        backfill_starts=told.value("bf_max_job_start"),
        least_age=told.value("bf_min_age_reserve"),
        over_limit=2**40 if math.isinf(over) else int(over),
        limit_period=_LIMIT_PERIOD,
        purge_period=max(_LEAST_PURGE, age) if 0 < age < _PURGE_PERIOD else _PURGE_PERIOD,
        purge_age=age,
    )
