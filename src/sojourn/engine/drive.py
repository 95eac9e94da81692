"""Setting up a run, and driving it to the end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Floats
from ..errors import RunError
from .backfills import Backfill, load_backfill
from .calendar import EVENT, Calendar, make_calendar, with_falls
from .caps import CapFacts
from .domains import DomainFacts
from .grid import in_seconds, in_ticks, ticks_in
from .kernels import kernel_for, parts_for
from .nodes import Facts, Needs, SleepFacts, enlarge, make_nodes
from .pacing import asked_to_pause
from .passes import DISCIPLINES, Setting
from .queues import BETWEEN, QueueRules, Queues, make_queues
from .scores import keep_some, no_node_score
from .sleeping import set_up_sleep
from .state import SCALARS, Recording, make_recording, make_running, make_scalars, table
from .types import CANCELLED, UNDECIDED, JobView

DONE, PAUSED, FULL = range(3)


_FIRST_STEPS = 200_000
"""That a kernel takes before anybody asks it to pause: short runs need no second thread."""

_MOST_AT_ONCE = 8
"""Instants at one time, per job or event: each comes, starts, ends and is struck there once."""

_COMPILED = ("_functions", "_kernel")
"""What a run that is pickled loads anew."""


@dataclass(frozen=True)
class Rules:
    """What a run must know of the policy besides its functions."""

    servers: int
    backfill: Backfill = field(default_factory=lambda: load_backfill("none"))
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


class CapRules(NamedTuple):
    """What a run must know of its caps.

    Parameters
    ----------
    nodes : of named nodes; None where processors are counted.
    falls : stretches in which caps leave less (`calendar.FALL`).
    looks : times (s) at which there is something to look at.
    by_rate : whether the rate control keeps them: it is asked then.
    """

    nodes: CapFacts | None
    falls: NDArray[Any]
    looks: Floats
    by_rate: bool = False


class Orders(NamedTuple):
    """Static keys of the order and the backfill order: smaller first; None where dynamic."""

    order: Floats | None
    backfill: Floats | None


@dataclass(frozen=True)
class PolicyFunctions:
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
    keep: Any = None
    keep_theta: Floats | None = None

    @property
    def of_sleep(self) -> tuple[Any, Floats]:
        """How many idle nodes stay on: none where nobody says."""
        if self.keep is None or self.keep_theta is None:
            return keep_some, np.zeros(1)
        return self.keep, self.keep_theta

    def in_a_row(self) -> tuple[Any, ...]:
        """Return them as the loop takes them, but for the last."""
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
    served = rules.backfill.indexed is not None
    return served and not listed and calendar is None and queues is None


class Run:
    """One run: scalars `s`, tables, and the kernel that advances them."""

    def __init__(
        self,
        jobs: JobView,
        rules: Rules,
        orders: Orders,
        laws: PolicyFunctions,
        rate: float,
        coins: Floats,
        machine: tuple[Facts, Needs] | tuple[Facts, Needs, SleepFacts] | None = None,
        calendar: Calendar | None = None,
        queues: QueueRules | None = None,
        caps: CapRules | None = None,
        domains: DomainFacts | None = None,
    ) -> None:
        n = len(jobs.submit)
        self.events = calendar
        sleep = machine[2] if machine is not None and len(machine) == 3 else None
        # Jobs whose nodes fail to boot wait again.
        fails = sleep is not None and sleep.boot_failure > 0
        if caps is not None and len(caps.falls):
            calendar = calendar or make_calendar(table(0, EVENT) if fails else None, None, n)
            falls = caps.falls[:0] if caps.by_rate else caps.falls
            calendar = with_falls(calendar, falls, caps.looks, caps.by_rate)
        facts = None if machine is None else machine[0]
        planned = rules.backfill.several
        if facts is not None and facts.pinned and facts.blind and planned is not None:
            # Jobs end at other times than was expected when they started: what they leave to the
            # head is in the plan.
            rules = replace(rules, backfill=planned)
        self.jobs, self.rules, self.laws = jobs, rules, laws
        self.domain_rates = np.ones(0) if domains is None else domains.rates
        # What the kernel sees of the jobs: their times may be in ticks.
        self._ticks = ticks_in(jobs, calendar) if self._is_plain(rate, machine) else 1
        self._seen = jobs if self._ticks == 1 else in_ticks(jobs, calendar, self._ticks)
        self.initial_rate = rate
        self.events = calendar
        if calendar is not None and len(calendar.checkpoint):
            # What is before a job changes when it goes back to a checkpoint.
            work, plan = self._seen.work.copy(), self._seen.plan.copy()
            self._seen = self._seen._replace(work=work, plan=plan)
        capped = None if caps is None else caps.nodes
        # A head that must name its nodes may find none under the caps.
        lends = capped is not None and capped.lends and facts is not None and facts.pinned
        indexed = _is_indexed(rules, calendar, queues) and not fails and not lends
        if not indexed and calendar is None:
            calendar = make_calendar(table(0, EVENT) if fails else None, None, n)
        self.calendar = calendar
        s = self.s = make_scalars(rules.servers, rate)
        s.backfill, s.reservations = rules.backfill.code, rules.reservations
        s.dynamic_order, s.dynamic_backfill = rules.dynamic_order, rules.dynamic_backfill
        if queues is not None:
            # In a pass, the order of all queues is a fixed one.
            s.dynamic_order = False
            s.between, s.limited, s.turn = BETWEEN[queues.between], queues.limited, -1
        s.own_order, s.longest_first = rules.own_backfill_order, rules.longest_first
        s.per_event, s.may_overrun = rules.per_event, rules.may_overrun
        s.controlled, s.timed = rules.controlled, rules.timed_control
        s.records, s.logs, s.requeue = rules.record, rules.log, rules.requeue
        s.exact = rules.exact and self.events is None and not fails
        if sleep is not None and sleep.varies.any():
            # Boots take longer or shorter than is planned.
            s.exact, s.may_overrun = False, True
        # Boots of those who run last longer on the clock of work when the rate changes.
        shifts = sleep is not None and rules.controlled
        s.plans = rules.backfill.plans or not indexed or shifts
        s.lists, s.in_pieces = not indexed, calendar is not None
        s.planning = rules.backfill.plans_ahead or self._reserves
        s.written = bool(
            s.records or s.controlled or s.logs or calendar is not None or machine is not None
        )
        self.nodes = None
        if machine is not None:
            self.nodes = make_nodes(s, machine[0], machine[1], n, sleep, capped, domains)
        s.domains = 0 if domains is None else len(domains.rates)
        set_up_sleep(s, sleep)
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
        stopped = self.events is not None or self.rules.backfill.preempts
        return stopped or self.s.boot_failure > 0

    @property
    def always_ends(self) -> bool:
        """Whether every accepted job runs to an end of its own."""
        return self.events is None

    @property
    def entered(self) -> Floats:
        """When each job came into the queue (s)."""
        return self.jobs.submit

    @property
    def up(self) -> Floats:
        """When the nodes of each job were up (s), in a run whose nodes sleep."""
        assert self.nodes is not None
        up: Floats = self.nodes.job["up"]
        return up

    @property
    def boot(self) -> Floats:
        """The work of each job that was its boot, in a run whose nodes sleep."""
        assert self.nodes is not None
        boot: Floats = self.nodes.job["boot"]
        return boot

    @property
    def state_changes(self) -> NDArray[Any]:
        """Nodes that changed their state, the new state, and when; in order of time (`CHANGE`)."""
        assert self.nodes is not None
        changes: NDArray[Any] = self.nodes.change[: self.s.changes]
        return changes

    @property
    def ended_by_manager(self) -> NDArray[np.bool_]:
        """Which jobs a manager ended by itself, of a discipline that does so."""
        return np.zeros(len(self.running.start), np.bool_)

    @property
    def allocated(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """First rows of each job's nodes, the nodes and processors; of a discipline that has own.

        All others have theirs in `nodes`.
        """
        raise RunError("processors were only counted; please report this as a bug")

    def allocated_in(
        self, pieces: NDArray[Any]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """As `allocated`, of stretches of service."""
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
        """Whether something is reserved from outside at some time, or a cap falls."""
        calendar = self.calendar
        return calendar is not None and len(calendar.reservation) + len(calendar.fall) > 0

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
        parts = parts_for(self.discipline, self.nodes)
        self._functions = (*self.laws.in_a_row(), *parts, *self.laws.of_sleep)
        self._kernel = kernel_for(*self._tables)

    def _make_discipline(self, orders: Orders, indexed: bool, queues: Queues | None) -> Any:
        """Return the discipline with its tables."""
        rules = self.rules
        kind = rules.backfill.indexed if indexed else rules.backfill.discipline
        if rules.stop_at_decisions and not rules.backfill.preempts:
            from .passes.ask import Ask

            kind = Ask
        reserved = 0
        if self.calendar is not None:
            reserved = len(self.calendar.reservation) + len(self.calendar.fall)
        make = DISCIPLINES[kind].make
        assert make is not None
        return make(Setting(self._seen, rules, orders, queues, reserved))

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
        if now - self._moved[0] > 1e-12 * max(abs(now), 1.0):
            self._moved = (now, instants)
        events = 0 if self.calendar is None else len(self.calendar.event)
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
            np.resize(recording.node, 2 * len(recording.node)),
        )
        if self.nodes is not None:
            self.nodes = enlarge(s, self.nodes)
