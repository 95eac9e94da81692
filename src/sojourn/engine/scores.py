"""The scores that an engine needs where a policy has none."""

from __future__ import annotations

from ..jit import compiled
from .nodes import NODE_SCORE

__all__ = ["no_node_score"]


@compiled(NODE_SCORE, pointer=True)
def no_node_score(nodes, n, jobs, j, now, theta):
    """Stands where a placement has no score of its own; it is never asked."""
    return 0.0
