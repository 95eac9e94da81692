"""Streams for the model of Slurm, run by the compiled controller and by the oracle."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
from oracle import slurm as oracle
from oracle import slurm_power
from oracle.checkpoints import with_dumps

from sojourn.engine.drive import DONE
from sojourn.policy.slurm import priority
from sojourn.policy.slurm.controller import (
    CONSUMABLE,
    LINEAR,
    NEVER,
    Controller,
    Loops,
    Machine,
    Pace,
    Saving,
    Wants,
)

PIECE = 7
# A step is a second or less; the streams take hours.
MOST_PIECES = 100_000

Drawn = tuple[list[dict[str, Any]], list[dict[str, Any]], oracle.Conf, oracle.Pace]
Asleep = tuple[*Drawn, slurm_power.Saving]


def draw(seed: int) -> Drawn:
    """A small machine, a stream that crowds it, and a configuration."""
    rng = random.Random(seed)
    partitions = rng.choice((1, 1, 2))
    whole = rng.random() < 0.6
    leaves = rng.choice((0, 0, 3))
    nodes = [_node(rng, partitions, whole, leaves) for _ in range(rng.choice((1, 2, 3, 5, 8)))]
    if not any(partitions - 1 in node["partitions"] for node in nodes):
        nodes[0]["partitions"] = frozenset(range(partitions))
    jobs: list[dict[str, Any]] = []
    submit = 0.208
    for _ in range(rng.randrange(1, 25)):
        submit += rng.choice((0.0, 0.3, 1, 2, 5, 20, 50))
        job = _job(rng, submit, partitions, whole)
        suited = sum(
            oracle.Controller([job], nodes, None, None).suits(0, n) for n in range(len(nodes))
        )
        if suited:
            jobs.append({**job, "nodes": rng.randint(1, suited)})
    conf = oracle.Conf(
        backfill=rng.random() < 0.8,
        main_period=rng.choice((1, 10, 60)),
        main_delay=rng.choice((0, 3)),
        main_depth=rng.choice((0, 2, 100)),
        main_starts=rng.choice((0, 0, 1)),
        backfill_period=rng.choice((1, 5, 30)),
        resolution=rng.choice((1, 60, 60)),
        window=rng.choice((600, 86_400)),
        tests=rng.choice((1, 3, 500)),
        reserve=rng.choice((0, 0, 1, 2)),
        tests_per_user=rng.choice((0, 0, 2)),
        tests_per_partition=rng.choice((0, 0, 2)),
        backfill_starts=rng.choice((0, 0, 1)),
        least_age=rng.choice((0, 0, 30)),
        over_limit=rng.choice((0, 60)),
        purge_age=rng.choice((0, 40, 300)),
        shared=not whole,
        tiers=tuple(rng.choice((1, 2)) for _ in range(partitions)),
    )
    pace = oracle.Pace(
        started=rng.choice((-10.0, -3.37)),
        epoch=rng.choice((0, 0, 17, 1_000_000_031)),
        epilog=rng.choice((0.02, 0.3)),
    )
    return jobs, nodes, conf, pace


def at_whole_seconds(drawn: Drawn) -> Drawn:
    """The same, but everything falls on whole seconds: many things are due at one instant.

    Each fourth job ends at the instant of its start.
    """
    jobs, nodes, conf, _ = drawn

    def rounded(k: int, job: dict[str, Any]) -> dict[str, Any]:
        run = 0.0 if k % 4 == 0 else float(round(job["run"]))
        times = {name: job[name] // 1 for name in ("submit", "cancel")}
        return {**job, **times, "run": run, "launch": 0.0, "finish": 0.0}

    pace = oracle.Pace(
        started=-10.0, epoch=0, epilog=float(len(jobs) % 2), tick=1.0, nap=0.0, testing=0.0
    )
    return [rounded(k, job) for k, job in enumerate(jobs)], nodes, conf, pace


def on_many_nodes(drawn: Drawn, times: int = 9) -> Drawn:
    """The same on so many times the nodes, of which each job wants as many times more."""
    jobs, nodes, conf, pace = drawn
    return [{**job, "nodes": times * job["nodes"]} for job in jobs], nodes * times, conf, pace


def that_sleeps(seed: int, drawn: Drawn, scale: int = 1) -> Asleep:
    """The same on nodes that are powered down; of `scale` times as many."""
    rng = random.Random(seed)
    jobs, nodes, conf, pace = drawn
    count = len(nodes)
    whole = rng.random() < 0.3
    each = [rng.choice((0, 5, 5, 20, 60)) for _ in range(rng.choice((1, 2)))]
    idle = [rng.choice(each) for _ in nodes]
    if rng.random() < 0.2:
        idle[0] = math.inf
    timeout = rng.choice((0, 3, 30))
    enter = [min(timeout, rng.choice((0, 2, 30)) if whole else 2.5) for _ in nodes]
    leave = [rng.choice((0, 5, 45, 100) if whole else (4.7, 45.3)) for _ in nodes]
    some = rng.sample(range(count), rng.randint(1, count))
    saving = slurm_power.Saving(
        idle_time=idle,
        enter=enter,
        leave=leave,
        suspend_timeout=timeout,
        suspend_rate=scale * rng.choice((0, 1, 3, 60)),
        resume_rate=scale * rng.choice((0, 1, 3, 300)),
        spared=[(some, rng.randint(0, count))] if rng.random() < 0.3 else [],
        spare_planned=rng.random() < 0.2,
        interval=rng.choice((1, 10, 10)),
        least_interval=rng.choice((0, 0, 3)),
    )
    return jobs, nodes, conf, pace, saving


def _saving(saving: slurm_power.Saving) -> Saving:
    """The same for the compiled controller."""
    lists = [sorted(nodes) for nodes, _ in saving.spared]
    # All of a set are spared whatever they do, as nodes without an idle time are.
    never = {n for nodes, number in saving.spared if number >= len(nodes) for n in nodes}
    idle = [math.inf if n in never else t for n, t in enumerate(saving.idle_time)]
    return Saving(
        on=True,
        timeout=saving.suspend_timeout,
        suspend_rate=saving.suspend_rate,
        resume_rate=saving.resume_rate,
        interval=saving.interval,
        least_interval=saving.least_interval,
        spare_planned=saving.spare_planned,
        idle_time=np.array([NEVER if t == math.inf else t for t in idle], np.int64),
        enter=np.array(saving.enter, np.float64),
        leave=np.array(saving.leave, np.float64),
        first=np.cumsum([0, *map(len, lists)]).astype(np.int64),
        spared=np.array([n for nodes in lists for n in nodes], np.int64),
        number=np.array([number for _, number in saving.spared], np.int64),
    )


def _node(rng: random.Random, partitions: int, whole: bool, leaves: int) -> dict[str, Any]:
    other = partitions == 2 and rng.random() < 0.6
    return {
        "cpus": 1 if whole else rng.choice((2, 4)),
        "memory": rng.choice((4, 8)),
        "gpus": rng.choice((0, 0, 1)),
        "features": frozenset(name for name in (0, 1) if rng.random() < 0.7),
        "partitions": frozenset({0, 1} if other else {0}),
        "leaf": rng.randrange(leaves) if leaves else -1,
    }


def _job(rng: random.Random, submit: float, partitions: int, whole: bool) -> dict[str, Any]:
    run = rng.choice((0.5, 1, 5, 20, 59.9, 60, 90, 200))
    enough = math.ceil(run / 60) if rng.random() < 0.85 else 1
    taken_back = submit + rng.choice((3.0, 40.0, 100.0)) if rng.random() < 0.1 else math.inf
    return {
        "submit": submit,
        "run": run,
        "launch": rng.choice((0.03, 0.05)),
        "finish": rng.choice((0.03, 0.2)),
        "cancel": taken_back,
        "limit": enough + rng.choice((0, 0, 0, 1, 3)),
        "cpus": 1 if whole else rng.choice((1, 2, 4)),
        "memory": rng.choice((0, 2, 4)),
        "gpus": rng.choice((0, 0, 0, 1)),
        "whole": whole or rng.random() < 0.2,
        "features": frozenset({rng.choice((0, 1))}) if rng.random() < 0.2 else frozenset(),
        "partition": rng.randrange(partitions),
        "user": rng.randrange(3),
        "priority": float(rng.randint(1, 4)),
    }


def run_oracle(drawn: Drawn | Asleep, outside: Any = None) -> oracle.Controller:
    """What the description says."""
    told = oracle.Controller(*drawn)
    if outside is not None:
        told.outside = outside
    return told.run()


def run_kernel(drawn: Drawn | Asleep, case: Any = None) -> Controller:
    """What the compiled controller does, with the events of a case."""
    jobs, nodes, conf, pace = drawn[:4]

    def column(rows: list[dict[str, Any]], name: str, dtype: Any = np.int64) -> Any:
        values = [row[name] for row in rows]
        if values and isinstance(values[0], frozenset):
            values = [sum(1 << bit for bit in value) for value in values]
        return np.array(values, dtype=dtype)

    real = ("submit", "run", "launch", "finish", "cancel")
    counted = ("limit", "nodes", "cpus", "memory", "gpus")
    named = ("features", "partition", "user")
    wants = Wants(
        *(column(jobs, name, np.float64) for name in real),
        *(column(jobs, name) for name in counted),
        column(jobs, "whole", np.bool_),
        *(column(jobs, name) for name in named),
        association=np.zeros(len(jobs), np.int64),
        fixed=column(jobs, "priority", np.float64),
    )
    if case is not None and case.outside.checkpoints:
        dumped = zip(jobs, case.outside.checkpoints, strict=True)
        wants.run[:] = [with_dumps(job["run"], it) for job, it in dumped]
    own = ("cpus", "memory", "gpus", "features", "partitions", "leaf")
    machine = Machine(*(column(nodes, name) for name in own), np.array(conf.tiers, np.int64))
    if (machine.leaf >= 0).all():
        machine = machine._replace(leaf=np.unique(machine.leaf, return_inverse=True)[1])
    rules = {name: getattr(conf, name) for name in Loops._fields if name != "select"}
    loops = Loops(select=CONSUMABLE if conf.shared else LINEAR, **rules)
    times = Pace(**vars(pace))
    run = Controller(
        wants,
        machine,
        loops,
        times,
        priority.unchanging(),
        priority.no_associations(),
        saving=_saving(drawn[4]) if len(drawn) == 5 else None,
        happening=None if case is None else case.happening,
    )
    # In pieces, as `schedule` runs it.
    for _ in range(MOST_PIECES):
        if run.advance(PIECE) == DONE:
            return run
    raise AssertionError(f"{MOST_PIECES} pieces of {PIECE} steps and no end: {drawn}")
