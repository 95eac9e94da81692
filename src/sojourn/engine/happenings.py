"""External events: what users, jobs and machines do to a run. A kind is one function below.

They come in their order, after the completions of an instant and before its arrivals. Whoever
leaves the queue or returns to it is noted, and the next pass brings the queue up to date.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload

from ..jit import called, inlined
from .calendar import LOOK, STEERS
from .checkpoints import go_back
from .domains import come_to_domains, leave_domains, worked_since
from .nodes import shift_node
from .service import depart, leave, present
from .sleeping import FAILED, go, stir
from .types import (
    CANCELLED,
    EXPECTED,
    FINISH,
    GONE,
    KILLED,
    NEW,
    RUNS,
    SWITCH,
    UNDECIDED,
    UNSEEN,
    WAITS,
)

__all__ = ["EARLY", "KINDS", "LOOK", "OF_JOBS", "RESERVE", "Kind", "change_states"]
__all__ += ["happen", "happens", "stop_job", "withdraw"]

# What happens: a job is withdrawn by hand, or struck by a failure of one of its nodes; processors
# go down and up; the manager stops and goes on; a reservation begins or ends, so that there is
# something to look at.
WITHDRAW, STRIKE, DOWN, UP, STOP, RESUME = range(6)


class Kind(NamedTuple):
    """A kind of external events, as they are given.

    Parameters
    ----------
    does : what happens (a place in `HANDLERS`), by the column that says what it is about: job,
        procs or nodes; "" where it is about nothing.
    takes : its other columns; needs: those of them that must be filled.
    then : what happens at ``until``; -1 for nothing.
    """

    does: dict[str, int]
    takes: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    then: int = -1

    @property
    def about(self) -> tuple[str, ...]:
        """The columns of which one says what it is about."""
        return tuple(filter(None, self.does))


EARLY, RESERVE = -1, -2
"""What befalls no run but is known before it: a job is shorter; something is kept free."""

KINDS: dict[str, Kind] = {
    "early": Kind({"job": EARLY}, ("runtime",), ("runtime",)),
    "reserve": Kind({"procs": RESERVE, "nodes": RESERVE}, ("until", "announced"), ("until",)),
}
"""Every kind by name; `happens` adds those with a handler."""

OF_JOBS: set[int] = set()
"""What happens to a job."""

HANDLERS: dict[int, Any] = {}
"""What an event does: of (s, jobs, run, recording, nodes, calendar, about); what the control sees
of it. One that has further steps sets `s.midway`, and puts `s.next` back to be asked again."""


def happens(
    *names: str, about: tuple[str, ...] = ("",), until: int = -1, code: int = -1
) -> Callable[[Any], Any]:
    """Register what events of some kinds do.

    Parameters
    ----------
    names : of the kinds; none where it only follows from others.
    about : columns of which one says what they are about.
    until : what happens then, if they take ``until``.
    code : what the engine calls it; by default the next number.
    """

    def register(function: Any) -> Any:
        number = len(HANDLERS) if code < 0 else code
        HANDLERS[number] = function
        if "job" in about:
            OF_JOBS.add(number)
        for name in names:
            known = KINDS.get(name, Kind({}))
            takes, then = (known.takes, known.then) if until < 0 else (("until",), until)
            KINDS[name] = Kind({**known.does, **dict.fromkeys(about, number)}, takes, (), then)
        return function

    return register


@called
def withdraw(s, calendar, j):
    """`j` is withdrawn while it waits, or before it comes; what the control sees."""
    job = calendar.job[j]
    if job.fate != UNDECIDED:
        return UNSEEN
    job.fate = CANCELLED
    if job.state == EXPECTED:
        return UNSEEN
    if job.state == WAITS:
        calendar.withdrawn[s.withdrawn] = j
        s.withdrawn += 1
    else:
        s.new -= 1
    job.state = GONE
    job.left = s.now
    s.load -= job.amount
    if present(s) == 0:
        s.load = 0.0
    return FINISH


@called
def stop_job(s, jobs, run, recording, nodes, calendar, j, returns):
    """The running job `j` is stopped: it waits again, or is killed.

    It begins anew, or where jobs have checkpoints, at the last of them.

    What the control sees of it: a departure, or that the workload has grown.
    """
    job = calendar.job[j]
    worked = s.work - job.began
    if nodes is not None:
        worked = worked_since(s, nodes.domains, j, worked)
    still = max(job.amount - worked, 0.0)
    leave(s, run, recording, nodes, calendar, j, 1 if returns else 0)
    s.load -= still
    if not returns:
        job.state = GONE
        job.fate = KILLED
        job.left = s.now
        job.worked = worked
        depart(s, run, j)
        if nodes is not None:
            leave_domains(nodes.domains, j, still)
        return FINISH
    if calendar.checkpoint.shape[0] > 0:
        # On slow nodes all takes longer.
        slowness = 1.0
        if nodes is not None:
            slowness = nodes.job[j].slowness
        # While its nodes boot, more is before it than its work.
        done = max(jobs.work[j] - still / slowness, 0.0)
        recording.segment[s.segments - 1].kept = go_back(jobs, calendar.checkpoint[j], j, done)
    if nodes is not None:
        nodes.job[j].rows = 0
        nodes.job[j].slowness = 0.0
        come_to_domains(nodes.domains, j, SWITCH, jobs.work[j] - still)
    job.restarts += 1
    job.state = NEW
    job.amount = jobs.work[j]
    calendar.returned[s.returned] = j
    s.returned += 1
    s.new += 1
    s.stale = 1
    run.start[j] = np.nan
    s.load += jobs.work[j]
    return SWITCH


@inlined
def _is_on(nodes, j, node):
    """Whether a running job has a part of a node."""
    first = nodes.job[j].row
    for i in range(first, first + nodes.job[j].rows):
        if nodes.given[0, i] == node:
            return True
    return False


@called
def _last_started(s, run, nodes, calendar, node):
    """The running job that goes first: the last to start, the last submitted; -1 for none.

    On named nodes, of those that have a part of the node.
    """
    chosen = np.int64(-1)
    for i in range(s.running):
        j = run.plan[i]
        if nodes is not None:
            if not _is_on(nodes, j, node):
                continue
        if (
            chosen < 0
            or calendar.job[j].since > calendar.job[chosen].since
            or (calendar.job[j].since == calendar.job[chosen].since and j > chosen)
        ):
            chosen = j
    return chosen


@happens("cancel", "kill", about=("job",), code=WITHDRAW)
@inlined
def _take_back(s, jobs, run, recording, nodes, calendar, j):
    """A job is withdrawn by hand, wherever it is."""
    if calendar.job[j].state == RUNS:
        return stop_job(s, jobs, run, recording, nodes, calendar, j, False)
    event = withdraw(s, calendar, j)
    if nodes is not None:
        if event == FINISH:
            leave_domains(nodes.domains, j, jobs.work[j])
    return event


@happens("down", about=("job",), code=STRIKE)
@inlined
def _strike(s, jobs, run, recording, nodes, calendar, j):
    """Some node of a job fails, and is back at once."""
    if calendar.job[j].state == RUNS:
        return stop_job(s, jobs, run, recording, nodes, calendar, j, s.requeue == 1)
    return UNSEEN


@inlined
def _shift(s, nodes, about, sign):
    """Processors or a node are there again (sign 1), or are not (-1)."""
    procs = about
    s.stale = 1
    if nodes is not None:
        if s.sleeps == 1:
            nodes.sleeper[about].downed = 1 if sign == -1 else 0
            if nodes.sleeper[about].broken == 1:
                # It is away already, until it is repaired.
                return
        procs = nodes.node[about].procs
        shift_node(s, nodes, about, sign)
        if s.sleeps == 1:
            go(s, nodes, about, sign, FAILED, np.inf)
    s.free += sign * procs
    s.gone -= sign * procs


@happens("down", about=("procs", "nodes"), until=UP, code=DOWN)
@inlined
def _go_down(s, jobs, run, recording, nodes, calendar, about):
    """Processors or a node go, after the jobs that must give way, one by one."""
    if nodes is not None or s.free < about:
        j = _last_started(s, run, nodes, calendar, about)
        if j >= 0:
            s.next -= 1
            s.midway = 1
            return stop_job(s, jobs, run, recording, nodes, calendar, j, s.requeue == 1)
    _shift(s, nodes, about, -1)
    return UNSEEN


@happens("up", about=("procs", "nodes"), code=UP)
@inlined
def _come_up(s, jobs, run, recording, nodes, calendar, about):
    """Processors or a node come back."""
    _shift(s, nodes, about, 1)
    return UNSEEN


@happens("stop", until=RESUME, code=STOP)
@inlined
def _stand_still(s, jobs, run, recording, nodes, calendar, about):
    """The manager starts nobody from now on."""
    s.stopped = 1
    return UNSEEN


@happens("resume", code=RESUME)
@inlined
def _go_on(s, jobs, run, recording, nodes, calendar, about):
    """The manager starts jobs again."""
    if s.stopped == 1:
        s.stale = 1
    s.stopped = 0
    return UNSEEN


@happens(code=LOOK)
@inlined
def _look(s, jobs, run, recording, nodes, calendar, about):
    """A reservation begins or ends, or a cap changes."""
    s.looked = 1
    return SWITCH if about == STEERS else UNSEEN


def _nothing(what, s, jobs, run, recording, nodes, calendar, about):
    return UNSEEN


def _before(number: int, handler: Any, others: Any) -> Any:
    """Return what handles one number, and all that `others` handle."""

    def handle(what, s, jobs, run, recording, nodes, calendar, about):
        if what == number:
            return handler(s, jobs, run, recording, nodes, calendar, about)
        return others(what, s, jobs, run, recording, nodes, calendar, about)

    return handle


def _handle(what, s, jobs, run, recording, nodes, calendar, about):
    """Do what an event does; this body serves where the JIT is disabled."""
    return HANDLERS[what](s, jobs, run, recording, nodes, calendar, about)


@overload(_handle, inline="always")
def _handle_any(what, s, jobs, run, recording, nodes, calendar, about):
    handle = _nothing
    for number, handler in HANDLERS.items():
        handle = _before(number, handler, inlined(handle))
    return handle


@called
def change_states(s, jobs, run, recording, nodes, calendar):
    """Changes of nodes' states end, up to the next job that must wait again; whether there was one.

    It has a node whose boot has failed.
    """
    node = s.failing if s.failing >= 0 else stir(s, nodes)
    while node >= 0:
        if nodes.sleeper[node].state == FAILED:
            nodes.sleeper[node].broken = 0
            if nodes.sleeper[node].downed == 0:
                _shift(s, nodes, node, 1)
        else:
            s.failing = node
            if calendar is not None:
                j = _last_started(s, run, nodes, calendar, node)
                if j >= 0:
                    stop_job(s, jobs, run, recording, nodes, calendar, j, True)
                    return True
            s.failing = -1
            shift_node(s, nodes, node, -1)
            s.free -= nodes.node[node].procs
            s.gone += nodes.node[node].procs
            s.stale = 1
            nodes.sleeper[node].broken = 1
            go(s, nodes, node, -1, FAILED, s.repair)
        node = stir(s, nodes)
    return False


@called
def happen(s, jobs, run, recording, nodes, calendar):
    """One step of the next external event; what the control sees of it.

    `s.midway` says whether the event has further steps.
    """
    event = calendar.event[s.next]
    kind, about = event.kind, event.about
    s.midway = event.more
    s.next += 1
    return _handle(kind, s, jobs, run, recording, nodes, calendar, about)
