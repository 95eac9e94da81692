"""The loop, compiled for what it is handed: one kernel for each discipline and machine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numba
from numba import config, types

from ..jit import compiled
from .loop import loop
from .nodes import NODE_SCORE_POINTER
from .parts import PARTS, signatures
from .passes import DISCIPLINES
from .sleeping import KEEP_POINTER
from .types import CONTROL_POINTER, CONTROLS_POINTER, SCORES_POINTER, Parts

_THETA = types.float64[::1]
_CONTROL = (CONTROL_POINTER, CONTROL_POINTER, _THETA)
_CONTROLS = (CONTROLS_POINTER, CONTROLS_POINTER, _THETA)
"""Of all servers, and of each domain."""
_FUNCTIONS = (
    *(SCORES_POINTER, _THETA, SCORES_POINTER, _THETA, SCORES_POINTER, _THETA),
    *(NODE_SCORE_POINTER, _THETA),
)
_SECONDS_OF_QUEUES = 2.0
_SECONDS_OF_NODES = 2.5
"""That queues take beside, and what any part on named nodes has in common."""


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
    seconds += sum(PARTS[name].seconds for name in parts)
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
            signature = signatures(*beside)[name]
            kernel = compiled(signature, pointer=True, **_wait(d, nodes, needed[k:]))
            _parts[name, *beside] = kernel(PARTS[name].function)
    if config.DISABLE_JIT:
        return Parts(*(PARTS[name].function if name in needed else None for name in Parts._fields))
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
            types.none if part is None else types.FunctionType(signatures(*beside)[name])
            for name, part in parts_for(d, nodes)._asdict().items()
        )
        keep = (KEEP_POINTER, _THETA)
        control = _CONTROLS if beside[1] else _CONTROL
        signature = types.int64(*given, *control, *_FUNCTIONS, *parts, *keep, types.int64)
        wait = _wait(d, nodes, ())
        _kernels[which] = compiled(signature, **wait)(loop)
    return _kernels[which]
