"""Setting up a run, and driving it to the end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import RunError
from .calendar import Calendar, make_calendar
from .grid import in_seconds, in_ticks, ticks_in
from .kernels import kernel_for, parts_for
from .nodes import Facts, Needs, enlarge, example, make_nodes
from .pacing import asked_to_pause
from .passes import CONSERVATIVE, EASY, FIRST_FIT, NONE, PREEMPT, REMAINING, RESERVE
from .profile import make_profile
from .queue import QueueIndex, make_queue_index
from .queues import BETWEEN, QueueRules, Queues, make_queues, no_queues
from .scores import no_node_score
from .state import SCALARS, Recording, make_recording, make_running, make_scalars
from .types import CANCELLED, UNDECIDED, JobView, empty_jobs
from .waiting import make_waiting

__all__ = ["ALL_KERNELS", "Laws", "Orders", "Rules", "Run", "backfill_code", "load_kernel"]

DONE, PAUSED, FULL = range(3)

Floats = NDArray[np.float64]

_FIRST_STEPS = 200_000
"""That a kernel takes before anybody asks it to pause: short runs need no second thread."""

_MOST_AT_ONCE = 8
"""Instants at one time, per job or event: each comes, starts, ends and is struck there once."""

_COMPILED = ("_functions", "_kernel")
"""What a run that is pickled loads anew."""

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


@dataclass(frozen=True)
class Rules:
    """What a run must know of the policy besides its functions."""

    servers: int
    backfill: int = NONE
    reservations: int = 1
    dynamic_order: bool = False
    dynamic_backfill: bool = False
    own_backfill_order: bool = False
    longest_first: bool = False
    per_event: bool = False
    controlled: bool = False
    timed_control: bool = False
    may_overrun: bool = False
    exact: bool = False
    record: bool = False
    stop_at_decisions: bool = False
    log: bool = False
    requeue: bool = False


class Orders(NamedTuple):
    """Static keys of the order and the backfill order: smaller first; None where dynamic."""

    order: Floats | None
    backfill: Floats | None


@dataclass(frozen=True)
class Laws:
    """The compiled functions of a policy with their parameters, in the kernel's order."""

    order: Any
    order_theta: Floats
    backfill: Any
    backfill_theta: Floats
    control: Any
    wake: Any
    control_theta: Floats
    placement: Any = None
    placement_theta: Floats | None = None
    changing: Any = None
    changing_theta: Floats | None = None

    def in_a_row(self) -> tuple[Any, ...]:
        """Return them as the loop takes them."""
        score, theta = self.placement, self.placement_theta
        if score is None:
            score, theta = no_node_score, np.zeros(1)
        changing, codes = self.changing, self.changing_theta
        if changing is None:
            # Never asked.
            changing, codes = self.order, self.order_theta
        return (
            *(self.control, self.wake, self.control_theta),
            *(self.order, self.order_theta, self.backfill, self.backfill_theta),
            *(changing, codes, score, theta),
        )


def _is_indexed(rules: Rules, calendar: Calendar | None, queues: QueueRules | None) -> bool:
    """Whether the waiting jobs live in a queue index: one fixed order, and no look-ahead."""
    listed = rules.dynamic_order or rules.dynamic_backfill or rules.stop_at_decisions or rules.log
    return rules.backfill <= EASY and not listed and calendar is None and queues is None


def _index(key: Floats | None, servers: int) -> QueueIndex:
    if key is None:
        return make_queue_index(np.empty(0, dtype=np.int64), 1)
    in_place = bool(np.all(key[1:] >= key[:-1]))
    order = np.arange(len(key)) if in_place else np.argsort(key, kind="stable")
    return make_queue_index(order, servers)


class Run:
    """One run: scalars `s`, tables, and the kernel that advances them."""

    def __init__(
        self,
        jobs: JobView,
        rules: Rules,
        orders: Orders,
        laws: Laws,
        rate: float,
        coins: Floats,
        machine: tuple[Facts, Needs] | None = None,
        calendar: Calendar | None = None,
        queues: QueueRules | None = None,
    ) -> None:
        n = len(jobs.submit)
        facts = None if machine is None else machine[0]
        if facts is not None and facts.pinned and facts.blind and rules.backfill == EASY:
            # Jobs end at other times than was expected when they started: what they leave to the
            # head is in the plan.
            rules = replace(rules, backfill=RESERVE)
        self.jobs, self.rules, self.laws = jobs, rules, laws
        # What the kernel sees of the jobs: their times may be in ticks.
        self._ticks = ticks_in(jobs, calendar) if self._is_plain(rate, machine) else 1
        self._seen = jobs if self._ticks == 1 else in_ticks(jobs, calendar, self._ticks)
        self.initial_rate = rate
        self.events = calendar
        indexed = _is_indexed(rules, calendar, queues)
        if not indexed and calendar is None:
            calendar = make_calendar(None, None, n)
        self.calendar = calendar
        s = self.s = make_scalars(rules.servers, rate)
        s.backfill, s.reservations = rules.backfill, rules.reservations
        s.dynamic_order, s.dynamic_backfill = rules.dynamic_order, rules.dynamic_backfill
        if queues is not None:
            # In a pass, the order of all queues is a fixed one.
            s.dynamic_order = False
            s.between, s.limited, s.turn = BETWEEN[queues.between], queues.limited, -1
        s.own_order, s.longest_first = rules.own_backfill_order, rules.longest_first
        s.per_event, s.may_overrun = rules.per_event, rules.may_overrun
        s.controlled, s.timed = rules.controlled, rules.timed_control
        s.records, s.logs, s.requeue = rules.record, rules.log, rules.requeue
        s.exact = rules.exact and self.events is None
        s.plans = rules.backfill >= EASY or not indexed
        s.lists, s.in_pieces = not indexed, calendar is not None
        s.planning = rules.backfill in (RESERVE, CONSERVATIVE) or self._reserves
        s.written = bool(
            s.records or s.controlled or s.logs or calendar is not None or machine is not None
        )
        self.nodes = None if machine is None else make_nodes(s, *machine, n)
        self.running = make_running(self._seen, s, named=machine is not None)
        self.recording: Recording = make_recording(n, s, coins)
        several = None if queues is None else make_queues(queues, self._seen)
        self.discipline = self._make_discipline(orders, indexed, several)
        self._moved = (-np.inf, 0)
        self._load()

    def _is_plain(self, rate: float, machine: Any) -> bool:
        """Whether a run adds and compares times, and does nothing else with them."""
        rules = self.rules
        scored = rules.dynamic_order or rules.dynamic_backfill
        steered = rate != 1.0 or rules.controlled or rules.stop_at_decisions
        return not (steered or scored or machine is not None)

    @property
    def in_pieces(self) -> bool:
        """Whether jobs may be stopped, so that stretches of service are what there is to add up."""
        return self.events is not None or self.rules.backfill >= PREEMPT

    @property
    def always_ends(self) -> bool:
        """Whether every accepted job runs to an end of its own."""
        return self.events is None

    @property
    def entered(self) -> Floats:
        """When each job came into the queue (s)."""
        return self.jobs.submit

    @property
    def allocated(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """First rows of each job's nodes, the nodes and processors; of a discipline that has own.

        All others have theirs in `nodes`.
        """
        raise RunError("processors were only counted; please report this as a bug")

    @property
    def remarks(self) -> dict[str, tuple[NDArray[np.int8], tuple[str, ...]]]:
        """Further columns of words about the jobs: places, and the words."""
        return {}

    @property
    def start(self) -> Floats:
        """Start of each job (s); nan if it did not."""
        return self.running.start

    @property
    def end(self) -> Floats:
        """End of each job (s); nan if it did not."""
        return self.running.end

    @property
    def held(self) -> NDArray[np.int64]:
        """Processors that each job holds, or held last."""
        return self.running.held

    @property
    def promises(self) -> Floats:
        """The first start that each job was promised (s); of conservative backfilling alone."""
        return getattr(self.discipline, "first", np.empty(0))

    @property
    def _reserves(self) -> bool:
        """Whether something is reserved from outside at some time."""
        return self.events is not None and len(self.events.reservation) > 0

    def __getstate__(self) -> dict[str, Any]:
        # A record that was pickled by itself cannot be written to; an array of one can.
        kept = {name: value for name, value in vars(self).items() if name not in _COMPILED}
        return {**kept, "s": np.array([self.s], dtype=SCALARS)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self.s = state["s"].view(np.recarray)[0]
        self._load()

    def _load(self) -> None:
        """Load what is compiled."""
        self._functions = (*self.laws.in_a_row(), *parts_for(self.discipline, self.nodes))
        self._kernel = kernel_for(*self._tables)

    def _make_discipline(self, orders: Orders, indexed: bool, queues: Queues | None) -> Any:
        """Return the discipline with its tables."""
        rules, n = self.rules, len(self.jobs.submit)
        if indexed:
            from .passes.ordered import Ordered

            own = orders.backfill if rules.own_backfill_order else None
            return Ordered(_index(orders.order, rules.servers), _index(own, rules.servers))
        if rules.backfill >= PREEMPT:
            from .passes.preempt import Preempt

            key = np.zeros(n) if orders.order is None else orders.order.copy()
            return Preempt(
                *(np.empty(n), np.empty(n, np.int64), key),
                *(self._seen.work.copy(), self._seen.plan.copy()),
                *(np.empty(n), np.empty(n, np.int64), np.empty(n, np.int64)),
            )
        waiting = make_waiting(n, orders.order, orders.backfill)
        most = min(n, rules.servers) + 1
        steps = {CONSERVATIVE: 2 * n + 16}.get(rules.backfill, 4 * most + 64)
        if rules.backfill == RESERVE:
            steps += 2 * min(n, rules.reservations)
        if self._reserves and self.events is not None:
            steps += 2 * len(self.events.reservation) + 2 * min(n, rules.reservations)
        profile = make_profile(steps, rules.servers)
        if rules.stop_at_decisions:
            from .passes.ask import Ask

            return Ask(waiting, profile)
        if rules.backfill == CONSERVATIVE:
            from .passes.conservative import Conservative

            return Conservative(
                *(waiting, profile, np.full(n, np.inf), np.full(n, np.nan)),
                np.zeros(n, np.int64),
                *(np.empty(2 * n + 16), np.empty(2 * n + 16, np.int64), queues),
            )
        from .passes.listed import Listed

        return Listed(waiting, profile, queues)

    @property
    def _tables(self) -> tuple[Any, ...]:
        return (
            self.discipline,
            self.s,
            self._seen,
            self.running,
            self.recording,
            self.nodes,
            self.calendar,
        )

    def advance(self, budget: int = 2**62) -> int:
        """Run on for so many steps; tables are enlarged as needed.

        A step is an instant, or a waiting job that a pass may have looked at there.
        """
        while True:
            tables = self._tables
            status = int(self._kernel(*tables, *self._functions, budget))
            if status == DONE and self._ticks > 1:
                in_seconds(self, self._ticks)
                self._ticks = 1
            if status != FULL:
                return status
            self._enlarge()

    def to_the_end(self, progress: Callable[[int, int], None] | None = None) -> None:
        """Run to the end, reporting (jobs arrived, jobs) from time to time.

        The kernel comes back several times a second, so that an interrupt is heard.
        """
        total = len(self.jobs.submit)
        first = _FIRST_STEPS // (1 if self.nodes is None else len(self.nodes.node))
        if self.advance(max(first, 1)) == PAUSED:
            with asked_to_pause(self.s, "pause"):
                while self.advance() == PAUSED:
                    self._must_move()
                    if progress is not None:
                        progress(int(self.s.arrived), total)
        self.check()

    def _must_move(self) -> None:
        """Raise if time stands still for more instants than jobs and events can bring about."""
        now, instants = float(self.s.now), int(self.s.instants)
        if now != self._moved[0]:
            self._moved = (now, instants)
        events = 0 if self.events is None else len(self.events.event)
        if instants - self._moved[1] > _MOST_AT_ONCE * (len(self.jobs.submit) + events + 1000):
            raise RunError(f"the run stands still at {now:g} s; please report this as a bug")

    def check(self) -> None:
        """Every accepted job has ended once, and nothing is left.

        External events may cancel jobs, or leave some waiting for what never comes back.
        """
        end = self.running.end
        if self.events is not None:
            may_not_end = np.isin(self.events.job["fate"], (CANCELLED, UNDECIDED))
            if self.s.running or not np.array_equal(np.isnan(end), may_not_end):
                raise RunError("the run stopped with jobs running; please report this as a bug")
            return
        if self.s.running or self.s.waiting or np.isnan(end).any():
            raise RunError("the run stopped with jobs unfinished; please report this as a bug")

    def rows(self, name: str) -> NDArray[Any]:
        """The filled part of a recorded column: of rows, ``segment_*`` or ``epoch_*``."""
        s, recording = self.s, self.recording
        if name.startswith("segment_"):
            return recording.segment[name.removeprefix("segment_")][: s.segments]
        if name.startswith("epoch_"):
            return recording.epoch[name.removeprefix("epoch_")][: s.epochs]
        return recording.row[name][: s.recorded]

    def _enlarge(self) -> None:
        s = self.s
        jobs, most = len(self.jobs.submit), len(self.running.departed)
        events = 0 if self.events is None else len(self.events.event)
        more = 4 * most + jobs + events + 1024

        def grown(rows: NDArray[Any], used: int, least: int) -> NDArray[Any]:
            if not len(rows):
                return rows
            wanted = 2 * used + least
            wider = np.zeros(max(wanted, len(rows)), rows.dtype).view(np.recarray)
            wider[:used] = rows[:used]
            return wider

        recording = self.recording
        self.recording = Recording(
            grown(recording.row, int(s.recorded), more),
            grown(recording.epoch, int(s.epochs), more),
            grown(recording.segment, int(s.segments), more),
            grown(recording.line, int(s.logged), 4 * jobs + more),
            recording.coins,
        )
        if self.nodes is not None:
            self.nodes = enlarge(s, self.nodes)


ALL_KERNELS = tuple(
    (rules, named, eventful, queued)
    for rules, eventful, queued in (
        (Rules(1, EASY), False, False),
        (Rules(1, EASY), True, False),
        (Rules(1, EASY), True, True),
        (Rules(1, CONSERVATIVE), True, False),
        (Rules(1, CONSERVATIVE), True, True),
        (Rules(1, PREEMPT), True, False),
        (Rules(1, stop_at_decisions=True), True, False),
    )
    # In turns, so that of two halves only one compiles the parts that named nodes share.
    for named in (True, False)
)
"""Rules, whether on named nodes, with external events and with queues: one of each kernel."""


def load_kernel(
    rules: Rules, *, named: bool = False, eventful: bool = False, queued: bool = False
) -> None:
    """Load the compiled code of a run by such rules, or compile it."""
    calendar = make_calendar(None, None, 0) if eventful else None
    nothing = Laws(*(None, np.zeros(1)) * 2, None, None, np.zeros(1))
    keys = Orders(np.zeros(0), np.zeros(0))
    machine = example() if named else None
    queues = no_queues() if queued else None
    Run(empty_jobs(), rules, keys, nothing, 1.0, np.zeros(0), machine, calendar, queues)
