"""Choosing the kernel for a policy, and driving it to the end of the run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import RunError
from .profile import make_profile
from .state import (
    ARRIVED,
    CONSERVATIVE,
    EASY,
    EPOCHS,
    FIRST_FIT,
    NONE,
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

_CODES = {
    "none": NONE,
    "first-fit": FIRST_FIT,
    "conservative": CONSERVATIVE,
    "preempt": PREEMPT,
    "remaining": REMAINING,
}


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
        self.state: State = make_state(jobs, rules, orders, rate, coins)
        if outside is not None:
            room = len(self.state.profile.at) + 2 * len(outside.what) + 2
            self.state = self.state._replace(profile=make_profile(room, rules.servers))
        self.recording: Recording = make_recording(len(jobs.submit), rules)
        self._kernel = load_kernel(rules, outside is not None)

    def advance(self, instants: int = 2**62) -> int:
        """Run on for at most so many instants; rows are enlarged as needed."""
        laws = self.laws
        scores = (laws.order, laws.order_theta, laws.backfill, laws.backfill_theta)
        controls = (laws.control, laws.wake, laws.control_theta)
        named = self.nodes is not None
        placement = (laws.placement, laws.placement_theta) if named else ()
        while True:
            nodes = (self.nodes,) if named else ()
            outside = () if self.outside is None else (self.outside,)
            things = (self.state, *nodes, *outside, self.recording, self.jobs, self.rules)
            status = int(self._kernel(*things, *scores, *controls, *placement, instants))
            if status != FULL:
                return status
            self._enlarge()

    def to_the_end(self, progress: Callable[[int, int], None] | None = None) -> None:
        """Run to the end, reporting (jobs arrived, jobs) from time to time."""
        total = len(self.jobs.submit)
        step = 2**62 if progress is None else max(50_000, total // 50)
        while self.advance(step) == PAUSED:
            if progress is not None:
                progress(int(self.state.count[ARRIVED]), total)
        self.check()

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
