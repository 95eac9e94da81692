"""The disciplines: a named tuple class with its own tables, and the pass that it stands for.

A new one is a file of its own: its class, how its tables are made, its pass, and `@discipline`
above it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from numba.extending import overload

from ...jit import PART

__all__ = [
    "CONSERVATIVE",
    "DECIDE",
    "DISCIPLINES",
    "EASY",
    "FIRST_FIT",
    "GO_ON",
    "NONE",
    "PREEMPT",
    "REMAINING",
    "RESERVE",
    "Discipline",
    "Setting",
    "discipline",
    "schedule",
]

DECIDE, GO_ON = 3, 0
"""What a pass may say: that Python must decide, or nothing."""

NONE, FIRST_FIT, EASY, RESERVE, CONSERVATIVE, PREEMPT, REMAINING = range(7)
"""Who may start out of order (`s.backfill`)."""


class Setting(NamedTuple):
    """What a discipline makes its tables of.

    Parameters
    ----------
    jobs : as the kernel sees them.
    rules, orders : of the run (`drive`).
    queues : None where there is one.
    reserved : how many reservations come from outside.
    """

    jobs: Any
    rules: Any
    orders: Any
    queues: Any
    reserved: int


class Discipline(NamedTuple):
    """What belongs to a class of tables.

    Parameters
    ----------
    run_pass : one scheduling pass.
    says : what is compiled, in words.
    make : makes the tables, where a run does.
    parts : the fields of `types.Parts` that its pass calls on named nodes.
    seconds : what compiling takes on a core of its own, on counted processors and on named nodes.
    """

    run_pass: Callable[..., int]
    says: str
    make: Callable[[Setting], Any] | None = None
    parts: tuple[str, ...] = ()
    seconds: tuple[float, float] = (6.0, 10.0)


DISCIPLINES: dict[type, Discipline] = {}
"""Every discipline by the class of its tables."""


def discipline(kind: type, says: str, *more: Any, **named: Any) -> Callable[[Any], Any]:
    """Register a function as the pass of a class; compiled code knows classes by their name.

    The further parameters are those of `Discipline`.
    """
    if any(kind.__name__ == other.__name__ for other in DISCIPLINES):
        raise ValueError(f"a discipline is called {kind.__name__} already")

    def register(function: Callable[..., int]) -> Callable[..., int]:
        DISCIPLINES[kind] = Discipline(function, says, *more, **named)
        return function

    return register


def schedule(d, s, jobs, run, recording, nodes, calendar, laws):
    """Make the pass of `d`, by its type; this body serves where the JIT is disabled."""
    return DISCIPLINES[type(d)].run_pass(d, s, jobs, run, recording, nodes, calendar, laws)


@overload(schedule, jit_options={"forceinline": True, **PART})
def _schedule(d, s, jobs, run, recording, nodes, calendar, laws):
    return DISCIPLINES[d.of.instance_class].run_pass
