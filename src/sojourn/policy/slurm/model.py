"""A model of Slurm: what its controller would do with a stream of jobs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...arrays import Floats
from ...cluster import Cluster
from ...errors import OptionError
from .controller import (
    CONSUMABLE,
    LINEAR,
    LOOPS,
    Controller,
    Happening,
    Loops,
    Machine,
    Pace,
    Wants,
)
from .nodes import NodeTable
from .objections import objections
from .power import power_plan
from .priority import associations, fixed_priority, rule_of
from .requests import Requests
from .site import SlurmConf

__all__ = ["LOOPS", "Scheduled", "loops_of", "make_run", "outcome_of", "schedule"]


_LIMIT_PERIOD, _PURGE_PERIOD = 30, 60  # s, fixed in Slurm
_LEAST_PURGE = 10
_PURGE_AGE = 300  # s, MinJobAge unless told
_LONGEST = 100 * 366 * 86400.0


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
    run = make_run(conf, nodes, requests, pace=pace, launch=launch, completion=completion)
    run.to_the_end(progress)
    return outcome_of(run, nodes)


def outcome_of(run: Controller, nodes: NodeTable) -> Scheduled:
    """Return what became of all jobs of a run that has come to its end, refused ones included."""
    taken = np.array([text == "" for text in run.why], np.bool_)
    first, node, _ = run.allocated
    names = np.array(nodes.names)[np.argsort(run.places)]
    given = iter([tuple(names[node[a:b]].tolist()) for a, b in pairwise(first.tolist())])
    return Scheduled(
        start=_spread(run.up, taken),
        end=_spread(run.left, taken),
        by=_spread(run.discipline.by, taken, 0),
        nodes=tuple(next(given) if mine else () for mine in taken.tolist()),
        timed_out=_spread(run.discipline.timed_out, taken, False),
        refused=~taken,
        why=run.why,
    )


def _spread(values: NDArray[Any], taken: NDArray[np.bool_], missing: Any = np.nan) -> NDArray[Any]:
    """Return values of the jobs that were taken as those of all."""
    column = np.full(len(taken), missing, values.dtype)
    column[taken] = values
    return column


def make_run(
    conf: SlurmConf,
    nodes: NodeTable,
    requests: Requests,
    *,
    pace: Pace | None = None,
    launch: ArrayLike = 0.0,
    completion: ArrayLike = 0.0,
    record: bool = False,
    cluster: Cluster | None = None,
    happening: Callable[[NDArray[np.bool_]], Happening] | None = None,
) -> Controller:
    """Return a run before its first submit; its `why` says what is wrong with jobs not in it.

    Parameters
    ----------
    conf, nodes, requests, pace, launch, completion : as for `schedule`; without a pace, the
        built-in one with the clock of the requests.
    record : keep the trajectory.
    cluster : whose nodes may have states of sleep.
    happening : says what comes from outside, of the jobs that are taken; None for nothing.
    """
    pace = Pace(epoch=int(requests.origin)) if pace is None else pace
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
    taken = np.array([text == "" for text in why], np.bool_)
    # Whoever is refused has an account all the same, and a share.
    tree, association = associations(requests)
    count = requests.submit.size
    late = pace.zero + pace.latency
    wants = Wants(
        submit=requests.submit + late,
        run=requests.run,
        launch=np.broadcast_to(np.asarray(launch, np.float64), count),
        finish=np.broadcast_to(np.asarray(completion, np.float64), count),
        cancel=requests.cancel + late,
        limit=requests.limit,
        nodes=requests.nodes,
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
    wants = Wants(*(np.ascontiguousarray(column[taken]) for column in wants))
    endless = (wants.run > _LONGEST) & np.isinf(wants.cancel)
    if not math.isfinite(conf.kill_after) and endless.any():
        raise OptionError("a job runs until its limit, and OverTimeLimit=UNLIMITED never ends it")
    machine = Machine(*(np.ascontiguousarray(column) for column in machine))
    plan = power_plan(conf, nodes, cluster)
    saving = None if plan is None else plan.saving
    if plan is not None and happening is not None:
        raise OptionError(
            "slurm.SuspendTime: nodes that sleep do not go with events, failures, maintenance or "
            "checkpoints under policy slurm; set it to INFINITE, or leave those out",
            key="slurm.SuspendTime",
        )
    run = Controller(
        *(wants, machine, loops_of(conf), pace, rule_of(conf), tree),
        saving=saving,
        record=record,
        happening=None if happening is None else happening(taken),
    )
    run.requests, run.why, run.power_plan = requests, why, plan
    return run


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
