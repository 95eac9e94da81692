"""Hypothesis strategies for external events that meet each other, arrivals and ends."""

from __future__ import annotations

from typing import NamedTuple

from hypothesis import strategies as st

from .external import Happening, Reservation

KINDS = ("withdraw", "down", "up", "strike", "stop", "resume", "strike", "down")
TIMES = 16
LENGTHS = (1, 2, 3, 5, 8, 13, 4, 6)


class Troubles(NamedTuple):
    """External events in the order of time, reservations, and what a failure does to a job."""

    happenings: tuple[Happening, ...]
    reservations: tuple[Reservation, ...]
    requeue: bool


def troubles(
    jobs: int, servers: int, *, nodes: int | None = None, most: int = 6
) -> st.SearchStrategy[Troubles]:
    """Events about so many jobs; never more processors down than there are, nor more up than down.

    With `nodes` processors are not counted: nodes go down and up, and are reserved.
    """
    code = st.integers(0, 2**16 - 1)
    return st.builds(
        lambda events, kept, requeue: Troubles(
            decode(events, jobs, servers, nodes), reserved(kept, servers, nodes), requeue
        ),
        st.lists(code, max_size=most),
        st.lists(code, max_size=2),
        st.booleans(),
    )


def decode(codes: list[int], jobs: int, servers: int, nodes: int | None) -> tuple[Happening, ...]:
    """Events from integers; one that cannot be is left out."""
    drawn = sorted((code % TIMES, i, code // TIMES) for i, code in enumerate(codes))
    gone = 0
    down: set[int] = set()
    made = []
    for time, _, code in drawn:
        rest, kind_code = divmod(code, len(KINDS))
        kind = KINDS[kind_code]
        about = 0
        if kind in ("withdraw", "strike"):
            about = rest % jobs
        elif kind in ("down", "up") and nodes is not None:
            about = rest % nodes
            if (kind == "down") == (about in down):
                continue
            down ^= {about}
        elif kind in ("down", "up"):
            room = servers - gone if kind == "down" else gone
            if room == 0:
                continue
            about = 1 + rest % room
            gone += about if kind == "down" else -about
        made.append(Happening(time, kind, about))
    return tuple(made)


def reserved(codes: list[int], servers: int, nodes: int | None) -> tuple[Reservation, ...]:
    """Reservations from integers: some are announced late, some after they have begun."""
    made = []
    for code in codes:
        code, begin = divmod(code, TIMES)
        code, length = divmod(code, len(LENGTHS))
        code, width = divmod(code, 8)
        announced = (0, 0, begin // 2, begin + 1)[code % 4]
        what = 1 + width * servers // 8 if nodes is None else width % nodes
        made.append(Reservation(announced, begin, begin + LENGTHS[length], what))
    return tuple(made)
