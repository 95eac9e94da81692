"""The user's own functions in a run: tried out before it, watched in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..cluster import Cluster
from ..engine.drive import Run
from ..engine.types import JobView
from ..policy import Policy, parse_placement
from ..policy.checking import Scene, Watch
from .build.machine import Machine, empty_nodes
from .options import Prepared

__all__ = ["finish", "scene_of", "try_out", "watch"]


def scene_of(view: JobView, numbers: NDArray[np.int64], cluster: Cluster) -> Scene:
    """Return what the functions of a run are evaluated on; `numbers` are those of the jobs."""
    if not cluster.is_named:
        return Scene(view, numbers)
    names = tuple(node.name for node in cluster.nodes)
    return Scene(view, numbers, empty_nodes(cluster), names)


def try_out(scene: Scene, policy: Policy, machine: Machine | None) -> None:
    """Evaluate the user's own formulas here and there before the run; PolicyError if one fails."""
    if len(scene.numbers) == 0:
        return
    for order in (policy.score, policy.backfill_score):
        if order is not None:
            scene.try_order(order)
    if machine is not None and machine.placement.score is not None:
        scene.try_placement(machine.placement.score)


def finish(
    run: Run, prepared: Prepared, progress: Callable[[int, int], None] | None = None
) -> None:
    """Run to the end; PolicyError where a function of the user's makes a mistake on the way."""
    watch(run, prepared).around(run.to_the_end, progress)


def watch(run: Run, prepared: Prepared) -> Watch:
    """Return the user's own functions in a run, to see what they do."""
    policy, control, laws = prepared.policy, prepared.control, run.laws
    orders = (
        (policy.score, laws.order_theta),
        (policy.backfill_score or policy.score, laws.backfill_theta),
    )
    watched: list[Any] = [
        (score, theta) for score, theta in orders if score.depends_on_time and not score.house
    ]
    placement = parse_placement(prepared.options.placement)
    if placement.rule == "scored" and laws.placement_theta is not None:
        watched.append((placement.score, laws.placement_theta))
    if not control.house:
        watched.append((control, laws.control_theta))
    numbers = prepared.jobs.job[prepared.accepted]
    return Watch(scene_of(run.jobs, numbers, prepared.cluster), tuple(watched))
