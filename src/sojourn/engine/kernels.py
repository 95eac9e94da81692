"""The loop, compiled for what it is handed: one kernel for each discipline and machine.

On named nodes the larger parts are compiled by themselves and handed over as pointers: they are
the same for all disciplines, and what is compiled once is not compiled into each kernel again.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numba
from numba import config, types

from ..jit import compiled
from .foresight import earliest, promise, take_now, take_promised
from .loop import loop
from .nodes import NODE_SCORE_POINTER, example, make_nodes
from .passes import DISCIPLINES
from .starting import find_naturally, find_shadow_on_nodes, try_to_start
from .state import make_running, make_scalars
from .types import CONTROL_POINTER, SCORES_POINTER, Parts, empty_jobs

__all__ = ["kernel_for", "parts_for"]

_THETA = types.float64[::1]
_FUNCTIONS = (
    *(CONTROL_POINTER, CONTROL_POINTER, _THETA),
    *(SCORES_POINTER, _THETA, SCORES_POINTER, _THETA, SCORES_POINTER, _THETA),
    *(NODE_SCORE_POINTER, _THETA),
)
_PARTS = {
    "try_to_start": try_to_start,
    "find_shadow": find_shadow_on_nodes,
    "earliest": earliest,
    "take_now": take_now,
    "promise": promise,
    "take_promised": take_promised,
    "find_naturally": find_naturally,
}
_SECONDS, _SECONDS_OF_PARTS = 8.0, 18.0
"""What compiling takes on a core of its own: of a kernel, and of the parts that one needs."""


@cache
def _signatures() -> dict[str, Any]:
    """Signatures of the parts, by example."""
    scalars = make_scalars(1, 1.0)
    s, jobs = numba.typeof(scalars), numba.typeof(empty_jobs())
    nodes = numba.typeof(make_nodes(scalars, *example(), 0))
    run = numba.typeof(make_running(empty_jobs(), scalars, named=True))
    j, x, yes, score = types.int64, types.float64, types.boolean, (NODE_SCORE_POINTER, _THETA)
    return {
        "try_to_start": yes(s, nodes, jobs, j, yes, *score),
        "find_shadow": yes(s, run, nodes, jobs, j, *score),
        "earliest": types.UniTuple(x, 2)(s, nodes, jobs, j, yes, *score),
        "take_now": types.void(s, nodes, jobs, j, x, *score),
        "promise": x(s, nodes, jobs, j, x, *score),
        "take_promised": yes(s, nodes, jobs, j, x, *score),
        "find_naturally": yes(s, nodes, jobs, j, *score),
    }


@cache
def _part(name: str) -> Any:
    function = _PARTS[name]
    if config.DISABLE_JIT:
        return function
    slow = "the engine's parts for named nodes"
    return compiled(_signatures()[name], pointer=True, slow=slow, seconds=_SECONDS_OF_PARTS)(
        function.py_func
    )


def parts_for(d: Any, nodes: Any) -> Parts:
    """Return the parts that a discipline needs on named nodes."""
    needed = () if nodes is None else DISCIPLINES[type(d)].parts
    return Parts(*(_part(name) if name in needed else None for name in Parts._fields))


_kernels: dict[tuple[Any, ...], Any] = {}


def kernel_for(d: Any, *tables: Any) -> Any:
    """Return the loop as compiled for a discipline and a machine.

    Each is a function of its own with one signature: several signatures of one function would
    share an index that processes overwrite.

    Parameters
    ----------
    d : the discipline.
    tables : the loop's next arguments, of which the last are the nodes and the calendar.
    """
    if config.DISABLE_JIT:
        return loop
    nodes, calendar = tables[-2:]
    queued = getattr(d, "queues", None) is not None
    which = (type(d), queued, nodes is not None, calendar is not None)
    if which not in _kernels:
        given = tuple(numba.typeof(each) for each in (d, *tables))
        parts = (
            types.none if part is None else types.FunctionType(_signatures()[name])
            for name, part in parts_for(d, nodes)._asdict().items()
        )
        signature = types.int64(*given, *_FUNCTIONS, *parts, types.int64)
        machine = "counted processors" if nodes is None else "named nodes"
        says = DISCIPLINES[type(d)].says
        slow = f"the engine for {'queues, ' if queued else ''}{says} on {machine}"
        _kernels[which] = compiled(signature, slow=slow, seconds=_SECONDS)(loop)
    return _kernels[which]
