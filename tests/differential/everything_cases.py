"""Cases of a row of the covering array, drawn at random; and smaller ones that still fail."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from oracle import controls
from oracle.caps import Cap, added, idle_power
from oracle.checkpoints import Checkpoint
from oracle.dispatcher import Scheduling
from oracle.everything import Case
from oracle.everything_strategies import Axes, case_of
from oracle.external_strategies import Troubles
from oracle.strategies import Workload

import sojourn

from .cast import switching
from .everything_axes import BACKFILLS, EVENTS, MACHINES, ORDERS, PLACEMENTS
from .harness import TICKS, Speed, jittered
from .pairwise import Row
from .queue_cases import in_order, slower
from .sleep_cases import drawing, sleepy
from .test_events import scattered

JOBS, NODES, HAPPENINGS = 8, 4, 12
ABOUT_JOBS = ("withdraw", "strike")


class Drawn(NamedTuple):
    """A case, and what the engine is given besides it."""

    case: Case
    speed: Speed
    seed: int
    exactly: bool


def draw(row: Row, rng: random.Random) -> Drawn:
    """A case of a row; with a rate that changes no two of its events meet."""
    queued = row["queues"] != "none"
    axes = Axes(MACHINES[row["machine"]], "fcfs", "first-fit", EVENTS[row["events"]], queued)
    case = case_of(
        axes,
        [rng.randrange(2**32) for _ in range(rng.randint(3, JOBS))],
        [rng.randrange(2**32) for _ in range(rng.randint(1, NODES))],
        [rng.randrange(2**16) for _ in range(rng.randint(2, HAPPENINGS))],
        rng,
    )
    # Scores that divide by the plan, and promises of no length.
    no_zeros = row["order"] == "wfp3" or queued or row["backfill"] == "conservative"
    choice = PLACEMENTS[row["placement"]]
    _, reservations, backfill = BACKFILLS[row["backfill"]]
    order = ORDERS[row["order"]][1]
    case = as_given(case, rng, min_plan=int(no_zeros))._replace(
        queues=tuple(in_order(case.queues, rng, order)),
        between=row["queues"] if queued else "priority",
        discipline=Scheduling(order, backfill, reservations),
        placement=choice.exact,
        passes=row["passes"],
        blind=row["machine"] != "counted" and row["foresight"] == "log",
    )
    if row.get("checkpoints") == "yes":
        case = with_checkpoints(case, rng)
    if row["control"] != "switching":
        rate = float(row["control"])
        speed = Speed(row["control"], sojourn.constant(rate), controls.constant(rate))
        case = sleepy(case._replace(control=speed.exact), row, rng, choice.seed, apart=False)
        case = joined(case._replace(fastest=rate), rng)
        return Drawn(capped(case, row["cap"], rng), speed, choice.seed, True)
    speed = rng.choice(switching(rng))
    coins = np.random.default_rng(choice.seed).random(2 * len(case.jobs)).tolist()
    case = apart(case, rng)._replace(control=speed.exact, coins=tuple(coins))
    case = sleepy(case, row, rng, choice.seed, apart=True)
    case = joined(case._replace(fastest=max(speed.control.rates)), rng)
    return Drawn(capped(case, row["cap"], rng), speed, choice.seed, False)


def capped(case: Case, kind: str, rng: random.Random) -> Case:
    """The case under caps, which leave room for a part of what all processors would add."""
    if kind == "none":
        return case
    case = case._replace(watts=(rng.randint(2, 9), rng.randint(0, 3)))
    if case.nodes is not None and rng.random() < 0.4:
        jobs = (
            job._replace(watts=rng.choice((0, job.procs, 7, 3 * job.procs, None)))
            for job in case.jobs
        )
        case = case._replace(jobs=tuple(jobs))
    case = drawing(case, rng)
    every = range(len(case.nodes or ()))
    caps = [_cap(case, None, kind == "steps", rng)]
    if kind == "sets":
        sets = [rng.sample(every, rng.randint(1, len(every)))]
        sets.append(sets[0][: rng.randint(0, len(sets[0]))])
        sets.append([k for k in every if k not in sets[0]])
        sets = list(dict.fromkeys(frozenset(nodes) for nodes in sets if nodes))
        some = [_cap(case, nodes, rng.random() < 0.5, rng) for nodes in sets]
        caps = rng.sample([*caps, *some], rng.randint(1, len(some) + 1))
    return case._replace(caps=tuple(caps))


def _cap(case: Case, nodes: frozenset[int] | None, changes: bool, rng: random.Random) -> Cap:
    if case.nodes is None:
        busy, idle = case.watts
        idle, full = case.servers * idle, case.servers * max(busy - idle, 0)
    else:
        mine = range(len(case.nodes)) if nodes is None else nodes
        depths = case.sleep.depths if case.sleep else [None] * len(case.nodes)
        idle = sum(idle_power(case.nodes[k], depths[k]) for k in mine)
        full = sum(case.nodes[k].procs * added(case.nodes[k], case.fastest) for k in mine) // 1000
    times = [-math.inf]
    if changes:
        last = max(job.submit for job in case.jobs) + sum(job.work for job in case.jobs)
        times = sorted({rng.randint(0, int(last)) for _ in range(rng.randint(1, 4))})
    return Cap(
        tuple((time, math.ceil(idle) + int(full * rng.uniform(0.2, 1.1))) for time in times), nodes
    )


def with_checkpoints(case: Case, rng: random.Random) -> Case:
    """The case with jobs that dump every few seconds, and come back after a failure."""
    rule = Checkpoint(
        rng.choice((1, 2, 3, 5)), rng.randint(0, 2), rng.randint(0, 3), rng.random() < 0.3
    )
    return case._replace(requeue=True, checkpoints=(rule,) * len(case.jobs))


def as_given(case: Case, rng: random.Random, *, min_plan: int) -> Case:
    """The case with what a table of jobs and a cluster can say.

    The plan is the estimate, or without one the work; tasks with a vector are on nodes of their
    own; who names no partition is in the first; some node has a GPU.
    """
    nodes = case.nodes
    if nodes is not None and nodes[0].more:
        nodes = (nodes[0]._replace(more=(max(1, *nodes[0].more),)), *nodes[1:])
    jobs = []
    for job in case.jobs:
        if job.limit is None and job.work >= min_plan:
            job = job._replace(plan=job.work)
        else:
            plan = max(1, job.plan)
            job = job._replace(plan=plan, limit=plan)
        if job.tasks:
            job = job._replace(once=(), distinct=True)
        elif nodes is not None and nodes[0].more:
            memory = rng.choice(("memory_per_core", "memory_per_node", "feature"))
            if memory != "feature":
                job = job._replace(**{memory: rng.randint(1, 4)})
        if case.partitions and job.partitions is None:
            job = job._replace(partitions=(0,))
        jobs.append(job)
    return case._replace(jobs=tuple(jobs), nodes=nodes)


def joined(case: Case, rng: random.Random) -> Case:
    """The case with some neighbours made one event: of nodes that go, come or are kept together."""
    if case.nodes is None:
        return case
    happenings = list(case.happenings)
    for i in range(1, len(happenings)):
        before, it = happenings[i - 1], happenings[i]
        alike = it.kind == before.kind and it.kind in ("down", "up") and it.about != before.about
        if alike and rng.random() < 0.5:
            happenings[i] = it._replace(time=before.time, joined=True)
    kept = list(case.reservations)
    for i in range(1, len(kept)):
        if kept[i].what != kept[i - 1].what and rng.random() < 0.25:
            kept[i] = kept[i - 1]._replace(what=kept[i].what, joined=True)
    return case._replace(happenings=tuple(happenings), reservations=tuple(kept))


def apart(case: Case, rng: random.Random) -> Case:
    """The same case in ticks, with events that do not meet."""
    moved = jittered(Workload(0, case.jobs), rng).jobs
    jobs = (
        job._replace(
            submit=new.submit,
            work=new.work,
            plan=new.plan,
            limit=None if job.limit is None else new.plan,
        )
        for job, new in zip(case.jobs, moved, strict=True)
    )
    late = scattered(Troubles(case.happenings, case.reservations, case.requeue), rng)
    # What goes down and comes up at one time does so in that order.
    times = (h.time for h in late.happenings)
    happenings = tuple(h._replace(time=t) for h, t in zip(case.happenings, times, strict=True))
    partitions = (
        part._replace(max_time=None if part.max_time is None else part.max_time * TICKS)
        for part in case.partitions
    )
    rules = {rule: _later(rule, rng) for rule in set(case.checkpoints)}
    return case._replace(
        jobs=tuple(jobs),
        partitions=tuple(partitions),
        queues=slower(case.queues, TICKS),
        happenings=happenings,
        reservations=late.reservations,
        checkpoints=tuple(rules[rule] for rule in case.checkpoints),
    )


def _later(rule: Checkpoint, rng: random.Random) -> Checkpoint:
    """A checkpoint in ticks, with dumps that end beside other events."""
    every = int(rule.every * TICKS) + rng.randrange(1, 64)
    return rule._replace(every=every, dump=rule.dump * TICKS, restore=rule.restore * TICKS)


def smaller(drawn: Drawn, fails: Callable[[Drawn], bool]) -> Drawn:
    """A case that still fails, without the jobs and events that are not needed for it."""
    removed = True
    while removed:
        removed = False
        for field in ("happenings", "reservations", "jobs"):
            for i in reversed(range(len(getattr(drawn.case, field)))):
                less = without(drawn, field, i)
                if less is not None and fails(less):
                    drawn, removed = less, True
    return drawn


def without(drawn: Drawn, field: str, i: int) -> Drawn | None:
    """The case without one job, event or reservation; None if it would make no sense."""
    case = drawn.case
    left = getattr(case, field)
    rest = left[i + 1 :]
    if field != "jobs" and rest and rest[0].joined and not left[i].joined:
        rest = (rest[0]._replace(joined=False), *rest[1:])
    case = case._replace(**{field: (*left[:i], *rest)})
    if field == "jobs":
        if not case.jobs:
            return None
        case = case._replace(
            checkpoints=case.checkpoints[: len(case.jobs)],
            happenings=tuple(
                h._replace(about=h.about - (h.about > i)) if h.kind in ABOUT_JOBS else h
                for h in case.happenings
                if not (h.kind in ABOUT_JOBS and h.about == i)
            ),
        )
    return drawn._replace(case=case)
