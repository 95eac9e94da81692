"""The loop, compiled for what it is handed: one kernel for each discipline and machine.

On named nodes the larger parts are compiled by themselves and handed over as pointers: they are
the same for all disciplines, and what is compiled once is not compiled into each kernel again.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numba
from numba import config, types

from ..jit import compiled
from .caps import no_caps
from .domains import no_domains
from .foresight import earliest, promise, take_now, take_promised
from .loop import loop
from .nodes import NODE_SCORE_POINTER, example, make_nodes
from .passes import DISCIPLINES
from .shadows import find_shadow_on_nodes
from .sleeping import KEEP_POINTER
from .starting import find_naturally, try_to_start
from .state import make_running, make_scalars
from .types import CONTROL_POINTER, CONTROLS_POINTER, SCORES_POINTER, Parts, empty_jobs

_THETA = types.float64[::1]
_CONTROL = (CONTROL_POINTER, CONTROL_POINTER, _THETA)
_CONTROLS = (CONTROLS_POINTER, CONTROLS_POINTER, _THETA)
"""Of all servers, and of each domain."""
_FUNCTIONS = (
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
_SECONDS_OF_QUEUES = 2.0
_SECONDS_OF_NODES = 2.5
"""That queues take beside, and what any part on named nodes has in common."""
_SECONDS_OF_PARTS = {
    "try_to_start": 4.0,
    "find_shadow": 1.8,
    "earliest": 1.3,
    "take_now": 0.5,
    "promise": 2.4,
    "take_promised": 1.3,
    "find_naturally": 3.0,
}


@cache
def _signatures(capped: bool, domained: bool) -> dict[str, Any]:
    """Signatures of the parts, by example."""
    scalars = make_scalars(1, 1.0)
    s, jobs = numba.typeof(scalars), numba.typeof(empty_jobs())
    beside = no_caps() if capped else None, no_domains() if domained else None
    nodes = numba.typeof(make_nodes(scalars, *example(), 0, None, *beside))
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


def _beside(nodes: Any) -> tuple[bool, bool]:
    """Whether there are nodes with caps, and with domains."""
    if nodes is None:
        return False, False
    return nodes.caps is not None, nodes.domains is not None


def _wait(d: Any, nodes: Any, parts: Sequence[str]) -> dict[str, Any]:
    """What a user waits for, and about how long (s), with `parts` that are not compiled yet."""
    kind, named = DISCIPLINES[type(d)], nodes is not None
    capped, domained = _beside(nodes)
    queued = getattr(d, "queues", None) is not None
    rules = f"{'queues, ' if queued else ''}{kind.says}"
    seconds = kind.seconds[named] + _SECONDS_OF_QUEUES * queued + _SECONDS_OF_NODES * named
    seconds += sum(_SECONDS_OF_PARTS[name] for name in parts)
    machine = "named nodes" if named else "counted processors"
    machine += " under caps" if capped else ""
    machine += " with domains" if domained else ""
    return {"slow": f"the engine for {rules} on {machine}", "seconds": seconds}


_parts: dict[tuple[str, bool, bool], Any] = {}


def parts_for(d: Any, nodes: Any) -> Parts:
    """Return the parts that a discipline needs on named nodes."""
    needed = () if nodes is None else DISCIPLINES[type(d)].parts
    beside = _beside(nodes)
    for k, name in enumerate(needed):
        if (name, *beside) not in _parts and not config.DISABLE_JIT:
            signature = _signatures(*beside)[name]
            kernel = compiled(signature, pointer=True, **_wait(d, nodes, needed[k:]))
            _parts[name, *beside] = kernel(_PARTS[name].py_func)
    if config.DISABLE_JIT:
        return Parts(*(_PARTS[name] if name in needed else None for name in Parts._fields))
    return Parts(*(_parts[name, *beside] if name in needed else None for name in Parts._fields))


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
    beside = _beside(nodes)
    which = (type(d), queued, nodes is not None, calendar is not None, *beside)
    if which not in _kernels:
        given = tuple(numba.typeof(each) for each in (d, *tables))
        parts = (
            types.none if part is None else types.FunctionType(_signatures(*beside)[name])
            for name, part in parts_for(d, nodes)._asdict().items()
        )
        keep = (KEEP_POINTER, _THETA)
        control = _CONTROLS if beside[1] else _CONTROL
        signature = types.int64(*given, *control, *_FUNCTIONS, *parts, *keep, types.int64)
        wait = _wait(d, nodes, ())
        _kernels[which] = compiled(signature, **wait)(loop)
    return _kernels[which]
