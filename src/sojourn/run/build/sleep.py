"""From a sleep policy and the states of nodes to what the engine sees of nodes that sleep."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...cluster import Cluster
from ...cluster.states import SleepState
from ...engine.nodes import SleepFacts
from ...errors import OptionError, PolicyError, nearest
from ...policy import Policy

if TYPE_CHECKING:
    from ..options import Options

__all__ = ["depths_of", "refuse_failing_boots", "sleep_facts"]

_KEY = "policy.sleep"


def depths_of(cluster: Cluster, depth: str = "") -> list[SleepState | None]:
    """The state in which each node sleeps: that of a name, or its first; None if it has none."""
    depths: list[SleepState | None] = []
    for node in cluster.nodes:
        states = node.server.states.sleep
        named = [state for state in states if not depth or state.name == depth]
        depths.append(named[0] if named else None)
    return depths


def sleep_facts(cluster: Cluster, policy: Policy, options: Options) -> SleepFacts | None:
    """When the nodes of a run sleep; None if they do not."""
    sleep = options.sleep
    if sleep.is_never:
        return None
    if not cluster.is_named:
        raise OptionError(
            f"sleep '{sleep}': processors are only counted; describe nodes that sleep with "
            "--cluster",
            key=_KEY,
        )
    if policy.preemptive:
        raise PolicyError(
            f"sleep '{sleep}': policy '{policy}' stops jobs, which is not defined for nodes that "
            "sleep; give another policy"
        )
    depths = depths_of(cluster, sleep.depth)
    if not any(depths):
        names = {state.name for node in cluster.nodes for state in node.server.states.sleep}
        what = f"no node has a sleep state '{sleep.depth}'; {nearest(sleep.depth, names)}"
        if not names:
            what = "no node of the cluster has a sleep state; give it one with [[node.sleep]]"
        raise OptionError(f"sleep '{sleep}': {what}", key=_KEY)
    return SleepFacts(
        able=np.array([state is not None for state in depths]),
        enter=np.array([state.enter if state is not None else 0.0 for state in depths]),
        leave=np.array([state.leave if state is not None else 0.0 for state in depths]),
        varies=np.array([state is not None and bool(state.leave_varies) for state in depths]),
        idle_time=sleep.idle_time,
        idle_varies=sleep.idle_varies,
        keeps=sleep.law is not None,
        ask_every=sleep.ask_every,
        boot_failure=options.boot_failure,
        repair=options.boot_repair,
        seed=options.seed,
    )


def refuse_failing_boots(
    sleep: SleepFacts | None, options: Options, *, events: bool, switches: bool
) -> None:
    """Refuse boots that fail where what becomes of their jobs is not defined."""
    if sleep is None or sleep.boot_failure == 0:
        return
    for given, what in (
        (events, "external events, failures and maintenance"),
        (options.checkpoint is not None, "checkpoints"),
        (options.passes == "event", "a scheduling pass after each event"),
        (switches, "a service rate that changes"),
    ):
        if given:
            raise OptionError(
                f"boot_failure: boots that fail are not defined together with {what}; leave one of "
                "them out",
                key="policy.boot_failure",
            )
