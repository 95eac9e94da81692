"""Resource selection: which free processors of a cluster of named nodes a job gets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from ..arrays import Floats
from ..errors import PolicyError, did_you_mean
from .files import load_node_score
from .score import NodeScore

# Slowness, watts and operations per second of one processor of each node.
Key = Callable[[Floats, Floats, Floats], Floats]


@dataclass(frozen=True)
class Placement:
    """A rule that picks nodes.

    Parameters
    ----------
    name : as it is called.
    says : what it does, in a line.
    rule : how it finds its nodes; ``ordered`` visits them in the order of `key`.
    key : for ``ordered``: of slowness, watts and operations per second of a processor; nodes
        with equal keys, and all if there is none, are visited as in the cluster's file.
    score : a formula of a node, for ``ordered`` and ``scored``.
    by_watts : whether it must know what nodes draw.
    """

    name: str
    says: str
    rule: str
    key: Key | None = None
    score: NodeScore | None = None
    by_watts: bool = False

    @property
    def has_fixed_order(self) -> bool:
        """Whether nodes are always visited in one order, whoever is free."""
        return self.rule in ("ordered", "slowest")

    def __str__(self) -> str:
        return self.name

    def __reduce__(self) -> Any:
        if PLACEMENTS.get(self.name) is self:
            return parse_placement, (self.name,)
        return Placement, (self.name, self.says, self.rule, self.key, self.score, self.by_watts)


def _slowness(slow: Floats, watts: Floats, ops: Floats) -> Floats:
    return slow


def _watts(slow: Floats, watts: Floats, ops: Floats) -> Floats:
    return watts


def _joules(slow: Floats, watts: Floats, ops: Floats) -> Floats:
    return watts / ops


PLACEMENTS = {
    placement.name: placement
    for placement in (
        Placement("first-fit", "nodes as they come in the file", "ordered"),
        Placement("best-fit", "the node that the job leaves fewest free processors on", "best"),
        Placement("worst-fit", "the node with most free processors", "worst"),
        Placement("fastest", "fastest processors first", "ordered", _slowness),
        Placement("slowest", "slowest processors that meet the job's limit first", "slowest"),
        Placement(
            "lowest-power", "fewest watts per processor first", "ordered", _watts, by_watts=True
        ),
        Placement(
            "lowest-energy", "most operations per joule first", "ordered", _joules, by_watts=True
        ),
        Placement("pack", "partly busy nodes first, so that others stay idle", "pack"),
        Placement("spread", "one processor at a time, from the node with most free", "spread"),
        Placement("contiguous", "neighbouring nodes only; waits for them", "contiguous"),
        Placement("random", "any node with a free processor, by the seed", "random"),
    )
}
"""The named placements."""


def _placement(formula: Callable[..., float]) -> Callable[..., float]:
    """Register a formula over nodes: the smallest comes first; its first line says what it does."""
    name = formula.__name__.replace("_", "-")
    says = (formula.__doc__ or "").partition("\n")[0].removesuffix(".")
    PLACEMENTS[name] = replace(_scored(NodeScore(formula)), name=name, says=says)
    return formula


def _scored(score: NodeScore) -> Placement:
    rule = "ordered" if score.is_fixed else "scored"
    return Placement(score.name, "by a score of the user's", rule, score=score)


def parse_placement(placement: str | Placement | NodeScore) -> Placement:
    """Return a placement from its name, from ``FILE.py:name``, or from a score over nodes."""
    if isinstance(placement, Placement):
        return placement
    if isinstance(placement, str) and ".py:" in placement:
        placement = load_node_score(placement)
    if isinstance(placement, NodeScore):
        return _scored(placement)
    if not isinstance(placement, str):
        raise PolicyError(
            "placement: give a name or a function of (nodes, n, jobs, j, now, theta) decorated "
            f"with @sojourn.score, not {placement!r}"
        )
    name = placement.strip().lower()
    if name not in PLACEMENTS:
        near = did_you_mean(name, PLACEMENTS) or f"; choose from {', '.join(PLACEMENTS)}"
        raise PolicyError(f"unknown placement '{placement}'{near}")
    return PLACEMENTS[name]
