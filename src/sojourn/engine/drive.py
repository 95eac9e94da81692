"""Choosing the kernel for a policy, and driving it to the end of the run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import RunError
from .grid import events_in_seconds, events_in_ticks, in_ticks, state_in_seconds, ticks_in
from .pacing import asked_to_pause
from .profile import make_profile
from .state import (
    ARRIVED,
    CONSERVATIVE,
    EASY,
    EPOCHS,
    FIRST_FIT,
    INSTANTS,
    NONE,
    NOW,
    PAUSE,
    PREEMPT,
    RECORDED,
    REMAINING,
    RESERVE,
    RUNNING,
    SEGMENTS,
    WAITING,
    Orders,
    Recording,
    Rules,
    State,
    is_indexed,
    make_recording,
    make_state,
)
from .types import JobView

__all__ = ["Laws", "Run", "backfill_code", "load_kernel"]

DONE, PAUSED, FULL, DECIDE = range(4)

_FIRST_STEPS = 200_000
"""That a kernel takes before anybody asks it to pause: short runs need no second thread."""

_MOST_AT_ONCE = 8
"""Instants at one time, per job or event: each comes, starts, ends and is struck there once."""

_CODES = {
    "none": NONE,
    "first-fit": FIRST_FIT,
    "conservative": CONSERVATIVE,
    "preempt": PREEMPT,
    "remaining": REMAINING,
}


_TIMES = ("time", "workload", "segment_start", "segment_stop", "epoch_time")
"""Rows of a recording that are in seconds."""


def _is_plain(rules: Rules, rate: float) -> bool:
    """Whether a run adds and compares times, and does nothing else with them."""
    scored = rules.dynamic_order or rules.dynamic_backfill
    return rate == 1.0 and not (
        rules.controlled or scored or rules.named or rules.stop_at_decisions
    )


def backfill_code(backfill: str, reservations: float) -> int:
    """Return the kernel's number for a backfilling rule."""
    if backfill == "easy":
        return EASY if reservations == 1 else RESERVE
    return _CODES[backfill]


def load_kernel(rules: Rules, eventful: bool = False) -> Any:
    """Return the kernel that runs such rules, with or without external events; only that one."""
    if eventful:
        if rules.named:
            from .named_eventful import run_named_eventful

            return run_named_eventful
        from .eventful import run_eventful

        return run_eventful
    if rules.stop_at_decisions:
        from .stepped import run_stepped

        return run_stepped
    if rules.backfill >= PREEMPT:
        from .preemptive import run_preemptive

        return run_preemptive
    if rules.named:
        if is_indexed(rules):
            from .named import run_named

            return run_named
        from .named_planned import run_named_planned

        return run_named_planned
    if is_indexed(rules):
        from .ordered import run_ordered

        return run_ordered
    from .planned import run_planned

    return run_planned


@dataclass(frozen=True)
class Laws:
    """The compiled functions of a policy with their parameters, in the kernel's order."""

    order: Any
    order_theta: NDArray[np.float64]
    backfill: Any
    backfill_theta: NDArray[np.float64]
    control: Any
    wake: Any
    control_theta: NDArray[np.float64]
    placement: Any = None
    placement_theta: NDArray[np.float64] | None = None


class Run:
    """One run: state, rows, and the kernel that advances them."""

    def __init__(
        self,
        jobs: JobView,
        rules: Rules,
        orders: Orders,
        laws: Laws,
        rate: float,
        coins: NDArray[np.float64],
        nodes: Any = None,
        outside: Any = None,
    ) -> None:
        self.jobs = jobs
        self.rules = rules
        self.laws = laws
        self.initial_rate = rate
        self.nodes = nodes
        self.outside = outside
        self._ticks = 1
        if _is_plain(rules, rate):
            self._ticks = ticks_in(jobs, outside)
        # What the kernel sees of the jobs: their times may be in ticks.
        self._seen = jobs
        if self._ticks > 1:
            self._seen = in_ticks(jobs, self._ticks)
            self.outside = None if outside is None else events_in_ticks(outside, self._ticks)
        self.state: State = make_state(self._seen, rules, orders, rate, coins)
        if outside is not None:
            room = len(self.state.profile.at) + 2 * len(outside.what) + 2
            self.state = self.state._replace(profile=make_profile(room, rules.servers))
        self.recording: Recording = make_recording(len(jobs.submit), rules)
        self._kernel = load_kernel(rules, outside is not None)
        self._moved = (-np.inf, 0)

    def advance(self, budget: int = 2**62) -> int:
        """Run on for so many steps; rows are enlarged as needed.

        A step is an instant, or a waiting job that a pass may have looked at there.
        """
        laws = self.laws
        scores = (laws.order, laws.order_theta, laws.backfill, laws.backfill_theta)
        controls = (laws.control, laws.wake, laws.control_theta)
        named = self.nodes is not None
        placement = (laws.placement, laws.placement_theta) if named else ()
        while True:
            nodes = (self.nodes,) if named else ()
            outside = () if self.outside is None else (self.outside,)
            things = (self.state, *nodes, *outside, self.recording, self._seen, self.rules)
            status = int(self._kernel(*things, *scores, *controls, *placement, budget))
            if status == DONE:
                self._back_to_seconds()
            if status != FULL:
                return status
            self._enlarge()

    def _back_to_seconds(self) -> None:
        if self._ticks == 1:
            return
        state_in_seconds(self.state, self._ticks)
        for name in _TIMES:
            self.rows(name)[:] /= self._ticks
        if self.outside is not None:
            self.outside = events_in_seconds(self.outside, self._ticks)
        self._ticks = 1

    def to_the_end(self, progress: Callable[[int, int], None] | None = None) -> None:
        """Run to the end, reporting (jobs arrived, jobs) from time to time.

        The kernel comes back several times a second, so that an interrupt is heard.
        """
        total = len(self.jobs.submit)
        first = _FIRST_STEPS // (1 if self.nodes is None else self.nodes.i.shape[1])
        if self.advance(max(first, 1)) == PAUSED:
            with asked_to_pause(self.state.count, PAUSE):
                while self.advance() == PAUSED:
                    self._must_move()
                    if progress is not None:
                        progress(int(self.state.count[ARRIVED]), total)
        self.check()

    def _must_move(self) -> None:
        """Raise if time stands still for more instants than jobs and events can bring about."""
        now, instants = float(self.state.clock[NOW]), int(self.state.count[INSTANTS])
        if now != self._moved[0]:
            self._moved = (now, instants)
        events = 0 if self.outside is None else len(self.outside.time)
        if instants - self._moved[1] > _MOST_AT_ONCE * (len(self.jobs.submit) + events + 1000):
            raise RunError(f"the run stands still at {now:g} s; please report this as a bug")

    def check(self) -> None:
        """Every accepted job has ended once, and nothing is left.

        External events may cancel jobs, or leave some waiting for what never comes back.
        """
        count = self.state.count
        if self.outside is not None:
            from .outside import CANCELLED, FATE, UNDECIDED

            may_not_end = np.isin(self.outside.fate[FATE], (CANCELLED, UNDECIDED))
            if count[RUNNING] or not np.array_equal(np.isnan(self.state.end), may_not_end):
                raise RunError("the run stopped with jobs running; please report this as a bug")
            return
        if count[RUNNING] or count[WAITING] or np.isnan(self.state.end).any():
            raise RunError("the run stopped with jobs unfinished; please report this as a bug")

    def rows(self, name: str) -> NDArray[Any]:
        """The filled part of a recorded column."""
        length = {"segment": SEGMENTS, "epoch": EPOCHS}.get(name.partition("_")[0], RECORDED)
        column: NDArray[Any] = getattr(self.recording, name)
        return column[: self.state.count[length]]

    def _enlarge(self) -> None:
        count = self.state.count
        more = {"segment": count[SEGMENTS], "epoch": count[EPOCHS]}
        grown = {}
        for name, column in self.recording._asdict().items():
            used = more.get(name.partition("_")[0], count[RECORDED])
            wanted = 2 * used + 4 * len(self.state.finish_job) + len(self.jobs.submit) + 1024
            if self.outside is not None:
                wanted += len(self.outside.time)
            grown[name] = (
                np.concatenate([column[:used], np.empty(wanted - used, column.dtype)])
                if len(column)
                else column
            )
        self.recording = Recording(**grown)
        if self.outside is not None:
            from .outside import enlarge_losses

            self.outside = enlarge_losses(self.outside, len(self.state.finish_job))
        if self.nodes is not None:
            from .nodes import enlarge

            self.nodes = enlarge(self.nodes, self.rules.servers, self.rules.log)
