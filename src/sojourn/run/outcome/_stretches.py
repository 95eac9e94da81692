"""The compiled walk from changes of state to the stretches between them, node by node."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import Floats, Ints
from ...engine.state import UP
from ...jit import compiled, inlined


class StateStretches(NamedTuple):
    """When nodes were not on; `begin` and `end` are places among the instants."""

    node: Ints
    state: NDArray[np.int8]
    begin: NDArray[np.int32]
    end: NDArray[np.int32]


class _Open(NamedTuple):
    """Of each node: its state, since which instant, and where its next stretch is written."""

    state: NDArray[np.int64]
    begin: NDArray[np.int64]
    row: Ints


def stretches_of(changes: NDArray[Any], nodes: int, last: float) -> tuple[StateStretches, Floats]:
    """Return the stretches in the order of nodes, then of time, and the instants; `last` is one.

    Parameters
    ----------
    changes : nodes that changed their states, in order of time (`engine.nodes.CHANGE`).
    nodes : how many there are.
    last : s; what has not changed again ends then, if it began before.
    """
    instants = np.empty(len(changes) + 1)
    nothing, short = np.empty(0, np.int64), np.empty(0, np.int32)
    none = StateStretches(nothing, np.empty(0, np.int8), short, short)
    status = _Open(
        np.empty(nodes, np.int64), np.empty(nodes, np.int64), np.zeros(nodes + 1, np.int64)
    )
    passed = _walk(changes, last, instants, status, none, True)
    np.cumsum(status.row, out=status.row)
    size = int(status.row[-1])
    found = StateStretches(
        np.empty(size, np.int64),
        np.empty(size, np.int8),
        np.empty(size, np.int32),
        np.empty(size, np.int32),
    )
    _walk(changes, last, instants, status, found, False)
    instants[passed] = last
    return found, instants[: passed + 1]


@inlined
def _write(status, found, k, end, only_counts):  # type: ignore[no-untyped-def]
    """A stretch of node k has ended: count it, or write it down."""
    if only_counts:
        status.row[k + 1] += 1
    else:
        at = status.row[k]
        found.node[at], found.state[at] = k, status.state[k]
        found.begin[at], found.end[at] = status.begin[k], end
        status.row[k] += 1


@compiled()
def _walk(
    changes: Any, last: float, instants: Any, status: Any, found: Any, only_counts: bool
) -> int:
    """Count the stretches of node k in ``status.row[k + 1]``, or write them from ``row[k]`` on.

    Returns how many instants there are.
    """
    for k in range(len(status.state)):
        status.state[k], status.begin[k] = UP, 0
    passed = 0
    for i in range(len(changes)):
        if i == 0 or changes[i].time > instants[passed - 1]:
            instants[passed] = changes[i].time
            passed += 1
        k, now = changes[i].node, passed - 1
        if status.state[k] != UP and now > status.begin[k]:
            _write(status, found, k, now, only_counts)
        status.state[k], status.begin[k] = changes[i].state, now
    for k in range(len(status.state)):
        if status.state[k] != UP and instants[status.begin[k]] < last:
            _write(status, found, k, passed, only_counts)
    return passed
