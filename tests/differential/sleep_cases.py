"""Nodes that sleep, drawn for a case, and given to sojourn."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from oracle.everything import Case
from oracle.sleeping_nodes import Depth, Sleep, boot_fails, boot_time, idle_time

from sojourn.cluster import Cluster
from sojourn.cluster.states import PowerSaving, PowerStates, SleepState
from sojourn.policy import parse_sleep

from .harness import TICKS
from .pairwise import Row

FAILURE, BOOTS = 0.25, 400


def sleepy(case: Case, row: Row, rng: random.Random, seed: int, *, apart: bool) -> Case:
    """The case of a row with nodes that sleep after an idle time, where it has some.

    With `apart` times are in ticks, and no two changes meet.
    """
    kind = row["sleep"]
    if kind == "never" or case.nodes is None:
        return case

    def seconds(*choices: int) -> int:
        ticks = rng.randrange(1, TICKS) if apart else 0
        return rng.choice(choices) * (TICKS if apart else 1) + ticks

    depths = tuple(
        None if rng.random() < 0.15 else Depth(seconds(0, 1, 3), seconds(0, 1, 2, 5, 9))
        for _ in case.nodes
    )
    if not any(depths):
        depths = (Depth(seconds(1), seconds(5)), *depths[1:])
    keep = rng.randint(1, 2) if kind == "keep" else 0
    sleep = Sleep(depths, seconds(0, 1, 4, 10), keep)
    if rng.random() < 0.5:
        sleep = failing(sleep, seed, seconds(0, 2, 8))
    if rng.random() < 0.3:
        sleep = varying(sleep, seed, rng)
    if rng.random() < 0.4:
        sleep = staggered(sleep, seconds, rng)
    if kind == "keep" and rng.random() < 0.5:
        times = sorted({seconds(*range(40)) for _ in range(rng.randint(1, 5))})
        steps = tuple((time, rng.randint(0, 3)) for time in times)
        sleep = sleep._replace(steps=steps, demand=rng.random() < 0.5)
    return case._replace(sleep=sleep)


def staggered(sleep: Sleep, seconds: Callable[..., int], rng: random.Random) -> Sleep:
    """The same with nodes that go or wake one after the other, and sets of which some stay on."""
    every = range(len(sleep.depths))
    what = rng.choice(("sleep", "wake", "both", "sets"))
    if what in ("sleep", "both"):
        sleep = sleep._replace(sleep_gap=seconds(1, 2, 3, 5))
    if what in ("wake", "both"):
        sleep = sleep._replace(wake_gap=seconds(1, 2, 3, 5))
    if what == "sets" or rng.random() < 0.2:
        sets = [frozenset(rng.sample(every, rng.randint(1, len(every)))) for _ in range(2)]
        sleep = sleep._replace(stays=tuple((nodes, rng.randint(0, 2)) for nodes in set(sets)))
    return sleep


def varying(sleep: Sleep, seed: int, rng: random.Random) -> Sleep:
    """The same with boots of some nodes whose times are drawn, or idle times, or both."""
    what = rng.choice(("boots", "rests", "both"))
    if what != "boots" and not sleep.keep and sleep.idle:
        rests = tuple(
            tuple(idle_time(seed, k, rest, sleep.idle) for rest in range(1, BOOTS))
            for k in range(len(sleep.depths))
        )
        sleep = sleep._replace(rests=rests)
    if what == "rests":
        return sleep
    depths = tuple(
        depth._replace(
            boots=tuple(boot_time(seed, k, boot, depth.leave) for boot in range(1, BOOTS))
        )
        if depth is not None and depth.leave and rng.random() < 0.7
        else depth
        for k, depth in enumerate(sleep.depths)
    )
    return sleep._replace(depths=depths)


def drawing(case: Case, rng: random.Random) -> Case:
    """The case with watts of nodes that sleep, or are on their way, beside those of idle ones."""
    if case.sleep is None:
        return case
    alike = rng.random() < 0.6
    shares = [(rng.uniform(0, 0.9), rng.uniform(0.5, 1.6), rng.uniform(0.5, 1.9))]
    depths = []
    for node, depth in zip(case.nodes or (), case.sleep.depths, strict=True):
        if not alike:
            shares.append(tuple(rng.uniform(0, 1.4) for _ in range(3)))
        if depth is not None:
            idle = case.nodes[0].watts[0] if alike and case.nodes else node.watts[0]
            watts, enter, leave = (int(share * (idle + 2)) for share in shares[-1])
            depth = depth._replace(
                watts=watts,
                enter_watts=enter if depth.enter else 0,
                leave_watts=leave if depth.leave else 0,
            )
        depths.append(depth)
    # Under a cap rates of changes are not defined.
    sleep = case.sleep._replace(depths=tuple(depths), sleep_gap=0, wake_gap=0)
    return case._replace(sleep=sleep)


def failing(sleep: Sleep, seed: int, repair: int) -> Sleep:
    """The same with boots that fail as the seed says."""
    depths = tuple(
        None
        if depth is None
        else depth._replace(
            fails=tuple(boot_fails(seed, k, boot, FAILURE) for boot in range(1, BOOTS))
        )
        for k, depth in enumerate(sleep.depths)
    )
    return sleep._replace(depths=depths, repair=repair, may_fail=True)


def with_states(cluster: Cluster, case: Case) -> Cluster:
    """The cluster with the sleep states of a case."""
    if case.sleep is None:
        return cluster
    names = [node.name for node in cluster.nodes]
    stays = tuple((tuple(names[k] for k in nodes), least) for nodes, least in case.sleep.stays)
    saving = PowerSaving(enter_rate=math.inf, leave_rate=math.inf, excluded_nodes=stays)
    nodes = []
    for node, depth in zip(cluster.nodes, case.sleep.depths, strict=True):
        states = ()
        if depth is not None:
            numbers = (depth.watts, depth.enter, depth.enter_watts, depth.leave, depth.leave_watts)
            varies = "exponential" if depth.boots else ""
            states = (SleepState("off", *map(float, numbers), varies),)
        nodes.append(replace(node, server=replace(node.server, states=PowerStates(states))))
    return replace(cluster, nodes=tuple(nodes), power_saving=saving)


def options_of(case: Case, kind: str) -> dict[str, Any]:
    """The options of a run of the case."""
    if case.sleep is None:
        return {} if kind == "never" else {"sleep": "idle:10"}
    sleep = case.sleep
    idle = float(sleep.idle)
    said = f"exp({idle!r})" if case.sleep.rests else repr(idle)
    text: Any = f"keep:{case.sleep.keep}:{said}" if case.sleep.keep else f"idle:{said}"
    if sleep.steps:
        time, number = (np.array(column, dtype=float) for column in zip(*sleep.steps, strict=True))
        text = parse_sleep(f"idle:{said}").with_steps(time, number, of_demand=sleep.demand)
    rates = {
        name: 60.0 / float(gap)
        for name, gap in (("sleep_rate", sleep.sleep_gap), ("wake_rate", sleep.wake_gap))
        if gap
    }
    fails = {"boot_failure": FAILURE, "boot_repair": float(case.sleep.repair)}
    return {"sleep": text, **rates, **(fails if case.sleep.may_fail else {})}
