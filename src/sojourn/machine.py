"""From a cluster of named nodes, a placement and constraints to what the kernels see.

Also: which jobs can never run there, and why.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .cluster import Cluster
from .engine.nodes import (
    BEST,
    BY_NODE,
    BY_SPEED,
    CONTIGUOUS,
    ONE_POOL,
    ORDERED,
    PACK,
    RANDOM,
    SCORED,
    SLOWEST,
    SPREAD,
    WORST,
    Facts,
    Needs,
    NodeView,
)
from .engine.types import empty_jobs
from .errors import JobError, OptionError, PolicyError
from .policy import Asked, Constraints, Placement
from .policy._record import mistake_in
from .workload import Jobs

__all__ = ["REASONS", "Machine", "build_machine", "empty_nodes"]

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

_RULES = {
    "ordered": ORDERED,
    "slowest": SLOWEST,
    "best": BEST,
    "worst": WORST,
    "pack": PACK,
    "spread": SPREAD,
    "contiguous": CONTIGUOUS,
    "random": RANDOM,
    "scored": SCORED,
}

_BY_WATTS = ("lowest-power", "lowest-energy")

REASONS = ("", "processors", "feature", "memory", "contiguous", "power budget")
"""Why a job can never run: what there is not enough of, even on the empty cluster."""


@dataclass(frozen=True)
class Machine:
    """Named nodes as a run needs them: what each job asks, and why some are not accepted.

    `reason` is a place in `REASONS`, 0 for accepted jobs.
    """

    cluster: Cluster
    placement: Placement
    reason: NDArray[np.int8]
    asked: Asked

    def facts(
        self, accepted: NDArray[np.bool_], seed: int, blind: bool, *, by_node: bool = False
    ) -> Facts:
        """What never changes during a run of the accepted jobs.

        With `by_node` every promise names its nodes, whatever the jobs ask for.
        """
        columns, placement = self.cluster.columns, self.placement
        order = _order(self.cluster, placement)
        pinned = not bool(self.asked.plain[accepted].all()) or placement.rule == "contiguous"
        pinned = pinned or by_node
        pool_first, pooling = _pools(columns.slowness[order], placement, pinned)
        return Facts(
            rule=_RULES[placement.rule],
            pooling=pooling,
            seed=seed,
            blind=blind,
            pinned=pinned,
            procs=columns.procs,
            memory=columns.memory,
            feature=self._masks([node.server.features for node in self.cluster.nodes]),
            ops=columns.ops,
            slowness=columns.slowness,
            watts=columns.watts,
            idle_watts=columns.idle_watts,
            order=order,
            pool_first=pool_first,
            group_first=_runs(columns.slowness[order]),
        )

    def needs(self, accepted: NDArray[np.bool_], limit: Floats) -> Needs:
        """What the accepted jobs ask of their nodes."""
        asked = self.asked
        words = [frozenset({word} if word else ()) for word in asked.feature[accepted]]
        return Needs(
            plain=asked.plain[accepted],
            memory_per_core=asked.memory_per_core[accepted],
            memory_per_node=asked.memory_per_node[accepted],
            whole=asked.whole_node[accepted],
            feature=self._masks(words),
            budget=asked.power_budget[accepted],
            limit=limit,
        )

    def _masks(self, words: list[frozenset[str]]) -> Integers:
        """Sets of features as bits; those that no node has share the last."""
        known = sorted(set().union(*(node.server.features for node in self.cluster.nodes)))
        if len(known) > 60:
            raise OptionError(
                f"cluster: {len(known)} different features; at most 60 are told apart"
            )
        bit = {word: 1 << i for i, word in enumerate(known)}
        made: dict[frozenset[str], int] = {}
        for each in set(words):
            made[each] = sum(bit.get(word, 1 << 61) for word in each)
        return np.array([made[each] for each in words], dtype=np.int64)


def build_machine(
    jobs: Jobs, cluster: Cluster, placement: Placement, constraints: Constraints
) -> Machine:
    """Find out what each job asks, and which can never run."""
    asked = constraints.of(jobs)
    if cluster.power_model is not None:
        _refuse_watts(placement, asked)
    both = (asked.memory_per_core > 0) & (asked.memory_per_node > 0)
    if both.any():
        raise JobError(
            int(jobs.job[np.argmax(both)]),
            "memory",
            "asked per core and per node at once; give one of them",
        )
    reason = np.zeros(len(jobs), dtype=np.int8)
    seen: dict[tuple[Any, ...], int] = {}
    columns = (
        jobs.procs,
        asked.memory_per_core,
        asked.memory_per_node,
        asked.whole_node,
        asked.feature,
        asked.power_budget,
    )
    if asked.plain.all() and placement.rule != "contiguous":
        reason[jobs.procs > cluster.procs] = REASONS.index("processors")
    else:
        for j, wish in enumerate(zip(*(column.tolist() for column in columns), strict=True)):
            if wish not in seen:
                seen[wish] = _reason(cluster, placement, *wish)
            reason[j] = seen[wish]
    return Machine(cluster, placement, reason, asked)


def _refuse_watts(placement: Placement, asked: Asked) -> None:
    """Refuse what rests on watts of nodes, where some have none."""
    if placement.name in _BY_WATTS:
        raise PolicyError(
            f"placement '{placement}': not all nodes have watts; give them, or another placement"
        )
    if np.isfinite(asked.power_budget).any():
        raise OptionError("power_budget: not all nodes have watts; give them, or leave it out")


def _reason(
    cluster: Cluster,
    placement: Placement,
    procs: int,
    per_core: int,
    per_node: int,
    whole: bool,
    feature: str,
    budget: float,
) -> int:
    """Why a job cannot run even on the empty cluster: the first wish that makes it impossible."""
    columns = cluster.columns
    usable = columns.procs.copy()
    if usable.sum() < procs:
        return REASONS.index("processors")
    if feature:
        has = [feature in node.server.features for node in cluster.nodes]
        usable[~np.array(has)] = 0
        if usable.sum() < procs:
            return REASONS.index("feature")
    if per_core > 0:
        usable = np.minimum(usable, np.maximum(columns.memory, 0) // per_core)
    if per_node > 0:
        usable[columns.memory < per_node] = 0
    if usable.sum() < procs:
        return REASONS.index("memory")
    order = np.argsort(columns.watts, kind="stable")
    if placement.rule == "contiguous":
        stretches = np.split(np.arange(len(usable)), np.flatnonzero(usable == 0))
        order = next((s for s in stretches if usable[s].sum() >= procs), np.arange(0))
        if not len(order):
            return REASONS.index("contiguous")
    before = np.cumsum(usable[order]) - usable[order]
    taken = np.clip(procs - before, 0, usable[order])
    if np.dot(taken, columns.watts[order]) > budget:
        return REASONS.index("power budget")
    return 0


def _order(cluster: Cluster, placement: Placement) -> Integers:
    """The nodes as the placement visits them; ties as in the file."""
    columns = cluster.columns
    if placement.rule == "slowest":
        key = -columns.slowness
    elif placement.rule == "ordered" and placement.score is not None:
        key = _scores(cluster, placement)
    elif placement.key is not None:
        key = placement.key(columns.slowness, columns.watts, columns.ops)
    else:
        key = np.zeros(len(columns.procs))
    return np.argsort(key, kind="stable").astype(np.int64)


def empty_nodes(cluster: Cluster) -> NodeView:
    """Return the columns of the nodes as a placement's score sees them, all processors free."""
    columns = cluster.columns
    return NodeView(
        columns.procs,
        columns.procs,
        columns.memory,
        columns.memory,
        columns.ops,
        columns.slowness,
        columns.watts,
        columns.idle_watts,
    )


def _scores(cluster: Cluster, placement: Placement) -> Floats:
    """A user's fixed score of every node."""
    score = placement.score
    assert score is not None
    nodes, nobody = empty_nodes(cluster), empty_jobs()
    scores = np.empty(len(nodes.procs))
    for n in range(len(scores)):
        name = cluster.nodes[n].name
        theta = score.parameters
        try:
            scores[n] = score.pointer(nodes, n, nobody, 0, 0.0, theta)
        except PolicyError:
            raise
        except Exception as error:
            raise PolicyError(
                f"placement '{placement}': its score of node {name} fails: "
                f"{type(error).__name__}: {error}; mend the formula"
            ) from None
        if mistake_in(theta) is not None:
            raise PolicyError(
                f"placement '{placement}': its score of node {name} is not a number; return a "
                "number in every case"
            )
    return scores


def _runs(slowness: Floats) -> Integers:
    """Where runs of equal slowness begin, and the end."""
    edges = np.flatnonzero(slowness[1:] != slowness[:-1]) + 1
    return np.concatenate([[0], edges, [len(slowness)]]).astype(np.int64)


def _pools(slowness: Floats, placement: Placement, pinned: bool) -> tuple[Integers, int]:
    """Where pools begin in the order of visits, and what makes them.

    Processors are interchangeable for a promise if they are equally fast and nothing but their
    number matters; where nodes matter, each is a pool of its own.
    """
    if not pinned and placement.has_fixed_order:
        return _runs(slowness), BY_SPEED
    if not pinned and len(np.unique(slowness)) == 1:
        return np.array([0, len(slowness)]), ONE_POOL
    return np.arange(len(slowness) + 1), BY_NODE
