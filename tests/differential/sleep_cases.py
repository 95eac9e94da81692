"""Nodes that sleep, drawn for a case, and given to sojourn."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

from oracle.everything import Case
from oracle.sleep import Depth, Sleep

from sojourn.cluster import Cluster
from sojourn.cluster.states import PowerStates, SleepState

from .harness import TICKS


def sleepy(case: Case, kind: str, rng: random.Random, *, apart: bool) -> Case:
    """The case with nodes that sleep after an idle time; `kind` is "idle" or "keep".

    With `apart` times are in ticks, and no two changes meet.
    """
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
    return case._replace(sleep=Sleep(depths, seconds(0, 1, 4, 10), keep))


def with_states(cluster: Cluster, case: Case) -> Cluster:
    """The cluster with the sleep states of a case."""
    if case.sleep is None:
        return cluster
    nodes = []
    for node, depth in zip(cluster.nodes, case.sleep.depths, strict=True):
        states = ()
        if depth is not None:
            states = (SleepState("off", 1.0, float(depth.enter), 0.0, float(depth.leave), 0.0),)
        nodes.append(replace(node, server=replace(node.server, states=PowerStates(states))))
    return replace(cluster, nodes=tuple(nodes))


def options_of(case: Case, kind: str) -> dict[str, Any]:
    """The options of a run of the case."""
    if case.sleep is None:
        return {} if kind == "never" else {"sleep": "idle:10"}
    idle = float(case.sleep.idle)
    text = f"keep:{case.sleep.keep}:{idle!r}" if case.sleep.keep else f"idle:{idle!r}"
    return {"sleep": text}
