"""From a cluster of named nodes, a placement and constraints to what the kernels see.

Also: which jobs can never run there, and why.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...arrays import Floats, Ints
from ...cluster import Cluster
from ...engine.nodes import (
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
from ...engine.types import empty_jobs
from ...errors import OptionError, PolicyError
from ...jobs import Jobs
from ...policy import Constraints, Placement
from ...policy.record import mistake_in
from .requests import NodeRequests, requests_of

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

REASONS = (
    "",
    "processors",
    "partition",
    "feature",
    "memory",
    "resource",
    "licence",
    "contiguous",
    "power budget",
    "queue",
    "cap",
)
"""Why a job can never run: what there is not enough of, even on the empty cluster."""


@dataclass(frozen=True)
class NamedMachine:
    """Named nodes as a run needs them: what each job asks, and why some are not accepted.

    `reason` is a place in `REASONS`, 0 for accepted jobs.
    """

    cluster: Cluster
    placement: Placement
    reason: NDArray[np.int8]
    requests: NodeRequests

    def facts(
        self,
        accepted: NDArray[np.bool_],
        seed: int,
        blind: bool,
        *,
        names_nodes: bool = False,
        by_node: bool = False,
        domain: Ints | None = None,
    ) -> Facts:
        """What never changes during a run of the accepted jobs.

        `names_nodes`: a reservation must name its nodes, whatever jobs ask for; `by_node`: each
        node is looked at for itself; `domain`: that of each node, where they have rates of their
        own.
        """
        columns, placement = self.cluster.columns, self.placement
        order = _order(self.cluster, placement)
        pinned = not bool(self.requests.plain[accepted].all()) or placement.rule == "contiguous"
        pinned = pinned or names_nodes
        pool_first, pooling = _pools(
            _kinds(columns.slowness, domain)[order], placement, pinned or by_node
        )
        return Facts(
            rule=_RULES[placement.rule],
            pooling=pooling,
            seed=seed,
            blind=blind,
            pinned=pinned,
            capacity=self.requests.capacity,
            licences=self.requests.pools,
            ops=columns.ops,
            slowness=columns.slowness,
            watts=columns.watts,
            idle_watts=columns.idle_watts,
            order=order,
            pool_first=pool_first,
            group_first=_runs(columns.slowness[order]),
        )

    def needs(self, accepted: NDArray[np.bool_], limit: Floats, watts: Ints | None = None) -> Needs:
        """What the accepted jobs ask of their nodes; `limit` is that of each (s).

        `watts` are what their tasks add, where caps ask for it; -1 where nodes say that.
        """
        asked = self.requests.of(accepted)
        # Who keeps to a budget may find room when others have taken what draws much.
        alike = np.full(len(asked.tasks), -1)
        if not asked.plain.all():
            request = self.requests.alike[accepted]
            if watts is not None:
                request = np.unique(np.stack([request, watts]), axis=1, return_inverse=True)[1]
            _, first, which = np.unique(request, return_index=True, return_inverse=True)
            sure = asked.budget == np.inf
            if watts is not None and self.placement.rule == "contiguous":
                sure = np.zeros_like(sure)
            alike = np.where(sure, first[which], -1)
        return Needs(
            plain=asked.plain,
            tasks=asked.tasks,
            need=asked.need,
            per_node=asked.per_node,
            licence=asked.licence,
            whole=asked.whole,
            distinct=asked.distinct,
            choice=asked.choice,
            choices=asked.choices,
            eligible=asked.eligible,
            budget=asked.budget,
            limit=limit,
            alike=alike,
        )


def build_machine(
    jobs: Jobs,
    cluster: Cluster,
    placement: Placement,
    constraints: Constraints,
    factor: float | None = None,
) -> NamedMachine:
    """Find out what each job asks, and which can never run; `factor` as of `asked_time`."""
    asked = requests_of(jobs, cluster, constraints, factor)
    if cluster.power_model is not None:
        _refuse_watts(placement, asked)
    reason = np.zeros(len(jobs), dtype=np.int8)
    if asked.plain.all() and placement.rule != "contiguous":
        reason[jobs.procs > cluster.procs] = REASONS.index("processors")
        reason[asked.unlicensed] = REASONS.index("licence")
        reason[asked.refused] = REASONS.index("partition")
        return NamedMachine(cluster, placement, reason, asked)
    for j in np.unique(asked.alike).tolist():
        reason[j] = REASONS.index(_reason(cluster, placement, asked, j))
    return NamedMachine(cluster, placement, reason[asked.alike], asked)


def _refuse_watts(placement: Placement, asked: NodeRequests) -> None:
    """Refuse what rests on watts of nodes, where some have none."""
    if placement.by_watts:
        raise PolicyError(
            f"placement '{placement}': not all nodes have watts; give them, or another placement"
        )
    if np.isfinite(asked.budget).any():
        raise OptionError("power_budget: not all nodes have watts; give them, or leave it out")


def _reason(cluster: Cluster, placement: Placement, asked: NodeRequests, j: int) -> str:
    """Why job `j` cannot run even on the empty cluster: the first wish that makes it impossible."""
    capacity, tasks = asked.capacity, int(asked.tasks[j])

    def usable(rows: range, eligible: NDArray[np.bool_]) -> Ints:
        return usable_tasks(asked, j, rows, eligible)

    everywhere = np.ones(len(capacity[0]), dtype=np.bool_)
    if usable(range(1), everywhere).sum() < tasks:
        return "processors"
    if asked.refused[j]:
        return "partition"
    mine = slice(asked.choice[j], asked.choice[j] + asked.choices[j])
    choices = asked.eligible[mine]
    for nodes, why in ((asked.in_partition[mine], "partition"), (choices, "feature")):
        if max(usable(range(1), some).sum() for some in nodes) < tasks:
            return why
    for rows, why in ((range(2), "memory"), (range(len(capacity)), "resource")):
        if max(usable(rows, some).sum() for some in choices) < tasks:
            return why
    if asked.unlicensed[j] or np.any(asked.licence[:, j] > asked.pools):
        return "licence"
    return _reason_by_place(cluster, placement, asked, j, usable)


def usable_tasks(asked: NodeRequests, j: int, rows: range, eligible: NDArray[np.bool_]) -> Ints:
    """Tasks of job `j` that each node of the empty cluster could take, by some resources."""
    capacity = asked.capacity
    most = capacity[0] // asked.need[0, j]
    for r in rows:
        need, once = asked.need[r, j], asked.per_node[r, j]
        if need > 0:
            most = np.minimum(most, np.maximum(capacity[r] - once, 0) // need)
        elif once > 0:
            most = np.where(capacity[r] < once, 0, most)
    if asked.distinct[j]:
        most = np.minimum(most, 1)
    return np.where(eligible, most, 0)


def _reason_by_place(
    cluster: Cluster, placement: Placement, asked: NodeRequests, j: int, usable: Any
) -> str:
    """Whether neighbours or a power budget make a job impossible; "" if not."""
    tasks, first = int(asked.tasks[j]), asked.choice[j]
    watts = cluster.columns.watts * asked.need[0, j]
    reason = ""
    for some in asked.eligible[first : first + asked.choices[j]]:
        most = usable(range(len(asked.capacity)), some)
        if most.sum() < tasks:
            continue
        order = np.argsort(watts, kind="stable")
        if placement.rule == "contiguous":
            stretches = np.split(np.arange(len(most)), np.flatnonzero(most == 0))
            order = next((s for s in stretches if most[s].sum() >= tasks), np.arange(0))
            if not len(order):
                # Where the budget is all that is missing in some partition, it is the reason.
                reason = "contiguous" if reason != "power budget" else reason
                continue
        before = np.cumsum(most[order]) - most[order]
        taken = np.clip(tasks - before, 0, most[order])
        if np.dot(taken, watts[order]) <= asked.budget[j]:
            return ""
        reason = "power budget"
    return reason


def _order(cluster: Cluster, placement: Placement) -> Ints:
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


def _runs(slowness: Floats | Ints) -> Ints:
    """Where runs of equal slowness begin, and the end."""
    edges = np.flatnonzero(slowness[1:] != slowness[:-1]) + 1
    return np.concatenate([[0], edges, [len(slowness)]]).astype(np.int64)


def _kinds(slowness: Floats, domain: Ints | None) -> Floats | Ints:
    """Numbers that are equal for nodes which are equally fast at any time."""
    if domain is None:
        return slowness
    pairs = np.stack([slowness, domain.astype(np.float64)])
    return np.unique(pairs, axis=1, return_inverse=True)[1].reshape(-1)


def _pools(slowness: Floats | Ints, placement: Placement, pinned: bool) -> tuple[Ints, int]:
    """Where pools begin in the order of visits, and what makes them.

    Processors are interchangeable for a promise if they are equally fast and nothing but their
    number matters; where nodes matter, each is a pool of its own.
    """
    if not pinned and placement.has_fixed_order:
        return _runs(slowness), BY_SPEED
    if not pinned and len(np.unique(slowness)) == 1:
        return np.array([0, len(slowness)]), ONE_POOL
    return np.arange(len(slowness) + 1), BY_NODE
