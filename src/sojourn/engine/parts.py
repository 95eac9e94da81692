"""Larger parts of a kernel on named nodes, compiled by themselves and called through pointers.

They are the same for all disciplines: what is compiled once is not compiled into each kernel again.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numba
from numba import types

from . import foresight, shadows, starting
from .address import Address, Tables
from .caps import no_caps
from .domains import no_domains
from .nodes import NODE_SCORE_POINTER, example, make_nodes
from .state import make_running, make_scalars
from .types import empty_jobs

_INDEX, _REAL, _YES = types.int64, types.float64, types.boolean


def _try_to_start(s, tables, j, reserved):
    return starting.try_to_start(
        s, tables.nodes, tables.jobs, j, reserved, tables.score, tables.theta
    )


def _find_shadow(s, tables, head):
    return shadows.find_shadow_on_nodes(
        s, tables.run, tables.nodes, tables.jobs, head, tables.score, tables.theta
    )


def _earliest(s, tables, j, at_once):
    return foresight.earliest(s, tables.nodes, tables.jobs, j, at_once, tables.score, tables.theta)


def _take_now(s, tables, j, until):
    foresight.take_now(s, tables.nodes, tables.jobs, j, until, tables.score, tables.theta)


def _promise(s, tables, j, held):
    return foresight.promise(s, tables.nodes, tables.jobs, j, held, tables.score, tables.theta)


def _take_promised(s, tables, j, promised):
    return foresight.take_promised(
        s, tables.nodes, tables.jobs, j, promised, tables.score, tables.theta
    )


def _find_naturally(s, tables, j):
    return starting.find_naturally(s, tables.nodes, tables.jobs, j, tables.score, tables.theta)


class Part(NamedTuple):
    """A part: what it returns, what it takes beside scalars and tables, seconds to compile."""

    function: Any
    returns: Any
    takes: tuple[Any, ...]
    seconds: float


PARTS = {
    "try_to_start": Part(_try_to_start, _YES, (_INDEX, _YES), 4.0),
    "find_shadow": Part(_find_shadow, _YES, (_INDEX,), 1.8),
    "earliest": Part(_earliest, types.UniTuple(_REAL, 2), (_INDEX, _YES), 1.3),
    "take_now": Part(_take_now, types.void, (_INDEX, _REAL), 0.5),
    "promise": Part(_promise, _REAL, (_INDEX, _REAL), 2.4),
    "take_promised": Part(_take_promised, _YES, (_INDEX, _REAL), 1.3),
    "find_naturally": Part(_find_naturally, _YES, (_INDEX,), 3.0),
}
"""By their names in `types.Parts`."""


@cache
def signatures(capped: bool, domained: bool) -> dict[str, Any]:
    """Signatures of the parts, by example."""
    scalars = make_scalars(1, 1.0)
    beside = no_caps() if capped else None, no_domains() if domained else None
    nodes = make_nodes(scalars, *example(), 0, None, *beside)
    run = make_running(empty_jobs(), scalars, named=True)
    kinds = [Address(numba.typeof(each)) for each in (run, nodes, empty_jobs())]
    tables = types.NamedTuple([*kinds, NODE_SCORE_POINTER, types.float64[::1]], Tables)
    given = numba.typeof(scalars), Address(tables)
    return {name: part.returns(*given, *part.takes) for name, part in PARTS.items()}
