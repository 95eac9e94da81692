"""Fragmentation: resources that nobody can use because another one is used up on the same node.

At any time what a node has of a resource is

- *used*: held by jobs (a job with whole nodes holds all processors of its nodes);
- *stranded*: held by nobody, while the node is there and another resource that it has is used up;
- *free*: held by nobody, while the node is there and has some of every resource left;
- *down*: held by nobody, while the node is not there.

These four add up to what the node has, at any time. The walk knows allocations only, nothing of the
engine that made them.

- `states`: their names; `holding`: from allocations to totals and to a table over time
"""

from ..._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
