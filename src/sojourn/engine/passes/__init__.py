"""The disciplines: a named tuple class with its own tables, and the pass that it stands for.

A new one is a file of its own: its class, its pass, and `@discipline` above it.
"""

from __future__ import annotations

from collections.abc import Callable

from numba.extending import overload

from ...jit import PART

__all__ = [
    "CONSERVATIVE",
    "DECIDE",
    "EASY",
    "FIRST_FIT",
    "GO_ON",
    "NONE",
    "PASSES",
    "PREEMPT",
    "REMAINING",
    "RESERVE",
    "discipline",
    "schedule",
]

DECIDE, GO_ON = 3, 0
"""What a pass may say: that Python must decide, or nothing."""

NONE, FIRST_FIT, EASY, RESERVE, CONSERVATIVE, PREEMPT, REMAINING = range(7)
"""Who may start out of order (`s.backfill`)."""

PASSES: dict[type, Callable[..., int]] = {}
"""The pass of each discipline."""


def discipline(kind: type) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Register a function as the pass of a class; compiled code knows classes by their name."""
    if any(kind.__name__ == other.__name__ for other in PASSES):
        raise ValueError(f"a discipline is called {kind.__name__} already")

    def register(function: Callable[..., int]) -> Callable[..., int]:
        PASSES[kind] = function
        return function

    return register


def schedule(d, s, jobs, run, recording, nodes, calendar, laws):
    """Make the pass of `d`, by its type; this body serves where the JIT is disabled."""
    return PASSES[type(d)](d, s, jobs, run, recording, nodes, calendar, laws)


@overload(schedule, jit_options={"forceinline": True, **PART})
def _schedule(d, s, jobs, run, recording, nodes, calendar, laws):
    return PASSES[d.instance_class]
