"""The scores that an engine needs where a policy has none."""

from __future__ import annotations

from ..jit import compiled
from .nodes import NODE_SCORE
from .sleeping import KEEP

__all__ = ["keep_some", "no_node_score"]


@compiled(NODE_SCORE, pointer=True)
def no_node_score(nodes, n, jobs, j, now, theta):
    """Stands where a placement has no score of its own; it is never asked."""
    return 0.0


@compiled(KEEP, pointer=True)
def keep_some(view, now, theta):
    """As many idle nodes as the first parameter says stay on."""
    return theta[0]
