"""Decisions are made in Python: the pass starts the jobs it is told to start, one by one."""

from __future__ import annotations

from typing import NamedTuple

from ..calendar import look_ahead
from ..decided import STARTED
from ..profile import Profile
from ..starting import note_reserved
from ..verbs import may_start, note, start
from ..waiting import Waiting, admit, list_remove
from . import DECIDE, GO_ON, Setting, discipline
from .listed import list_and_profile


class Ask(NamedTuple):
    """The waiting jobs; the first of `waiting.chosen` is the one to start next."""

    waiting: Waiting
    profile: Profile


def _make(given: Setting) -> Ask:
    return Ask(*list_and_profile(given))


@discipline(Ask, "stepping", _make, ("try_to_start", "earliest", "take_now"), (4.5, 8.0))
def asking_pass(d, s, jobs, run, recording, nodes, calendar, laws):
    """Ask whom to start while somebody waits, until nobody is named (`s.chosen`)."""
    if s.pending == 0:
        admit(s, d.waiting, calendar)
        look_ahead(s, calendar)
        if nodes is not None:
            if s.reserving == 1:
                note_reserved(s, nodes, calendar)
        if s.stopped == 1 or s.waiting == 0:
            return GO_ON
        s.pending = 1
        return DECIDE
    if s.chosen == 0:
        s.pending = 0
        return GO_ON
    s.chosen = 0
    j = d.waiting.chosen[0]
    free = s.free
    s.refused = 0 if may_start(s, jobs, run, d.profile, nodes, calendar, j, laws) else 1
    if s.refused == 0:
        note(s, recording, j, STARTED, -1, free)
        list_remove(s, d.waiting, j)
        start(s, jobs, run, nodes, calendar, j)
    return DECIDE
