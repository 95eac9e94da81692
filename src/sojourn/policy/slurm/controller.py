"""A run of Slurm's controller: its tables, and the engine's loop that advances them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...engine.calendar import Calendar, make_calendar
from ...engine.drive import PAUSED, Orders, PolicyFunctions, Rules, Run
from ...engine.nodes import CHANGE
from ...engine.pacing import asked_to_pause
from ...engine.passes.slurm import Slurm
from ...engine.passes.slurm_power import NEVER, Saving
from ...engine.passes.slurm_priority import Associations, Rule
from ...engine.passes.slurm_tables import (
    CONSUMABLE,
    LINEAR,
    Loops,
    Machine,
    Outside,
    Pace,
    Wants,
    example,
    make_slurm,
    nothing_outside,
)
from ...engine.queues import Queues
from ...engine.sleeping import ASLEEP, ENTERING, LEAVING, UP
from ...engine.state import Running, table
from ...engine.types import KILLED, JobView
from ...errors import RunError
from ..control import constant
from ..orders import ORDERS

if TYPE_CHECKING:
    from .power import PowerPlan

__all__ = [
    "CONSUMABLE",
    "LINEAR",
    "LOOPS",
    "NEVER",
    "Controller",
    "Happening",
    "Loops",
    "Machine",
    "Outside",
    "Pace",
    "Saving",
    "Wants",
    "load_kernel",
]

LOOPS = ("", "main", "backfill")
"""Which loop started a job, by its number in `Slurm.by`."""

_FIRST_STEPS = 1_000  # that the loops take before anybody asks them to pause


class Happening(NamedTuple):
    """What comes from outside of a run.

    Parameters
    ----------
    calendar : external events, in the controller's clock and about its nodes.
    outside : advance reservations, and what else the controller must know of events.
    requeue : whether jobs of failed nodes come back.
    """

    calendar: Calendar
    outside: Outside
    requeue: bool


class Controller(Run):
    """A machine under Slurm before the first submit, and what becomes of the jobs.

    Until `to_the_end` has come to the end, times are those of the controller's clock; then they are
    those of the stream, whose zero is `Pace.zero` later.

    Parameters
    ----------
    wants : what the jobs ask for.
    machine : the nodes.
    loops, pace : the numbers of the two loops, and how long the controller takes.
    rule, tree : how priorities are counted, and the accounts.
    saving : when nodes are powered down; None if they are always up.
    record : keep the trajectory.
    happening : what comes from outside; None for nothing.
    """

    def __init__(
        self,
        wants: Wants,
        machine: Machine,
        loops: Loops,
        pace: Pace,
        rule: Rule,
        tree: Associations,
        *,
        saving: Saving | None = None,
        record: bool = False,
        happening: Happening | None = None,
    ) -> None:
        calendar, outside, requeue = (None, None, False) if happening is None else happening
        self._tables_of_slurm: Slurm = make_slurm(
            wants, machine, loops, pace, rule, tree, saving, outside
        )
        rules = Rules(servers=int(machine.cpus.sum()), record=record, requeue=requeue)
        order, theta = ORDERS["fcfs"].compiled(checked=False), ORDERS["fcfs"].parameters
        law, wake = constant(1.0).pointers
        # The controller has an order and a placement of its own: these are never asked.
        laws = PolicyFunctions(order, theta, order, theta, law, wake, constant(1.0).parameters)
        saves = calendar is not None and len(calendar.checkpoint) > 0
        view = _job_view(wants, loops, saves)
        super().__init__(view, rules, Orders(None, None), laws, 1.0, np.zeros(0), calendar=calendar)
        s = self.s
        s.plans, s.lists = 1, 0
        s.own_events = int(calendar is not None)
        if calendar is not None:
            room = 2 * s.servers + 2 * len(self._tables_of_slurm.given) + 1024
            self.recording = self.recording._replace(node=np.empty(int(room), np.int64))
        s.sleeps = int(self._tables_of_slurm.power.saving.on)
        self.running = _make_running(self._seen)
        # The first instant: nothing is before the controller's start, unless somebody comes then.
        first = min(wants.submit.min(initial=np.inf), wants.cancel.min(initial=np.inf))
        s.now = s.work = s.due = s.due_work = min(pace.started, first)
        s.anchor_time = s.anchor_work = 0.0
        self._left: NDArray[np.float64] | None = None
        self._shift = 0.0
        self.requests: Any = None
        self.why: tuple[str, ...] = ("",) * len(wants.submit)
        """What was asked for, and what is wrong with each job; those that are refused included."""
        self.power_plan: PowerPlan | None = None
        """When nodes are powered down; None if they are always up."""
        self.places = np.arange(len(machine.cpus))
        """Where the nodes, which are in Slurm's order, stand in the cluster."""

    def _is_plain(self, rate: float, machine: Any) -> bool:
        # Whole seconds matter to the controller: its clock is no grid of ticks.
        return False

    def _make_discipline(self, orders: Orders, indexed: bool, queues: Queues | None) -> Slurm:
        return self._tables_of_slurm

    @property
    def always_ends(self) -> bool:
        """Whether every accepted job runs to an end of its own."""
        return False

    @property
    def left(self) -> NDArray[np.float64]:
        """When each job left the system (s): its end, or when it was taken back."""
        return self.running.end if self._left is None else self._left

    @property
    def entered(self) -> NDArray[np.float64]:
        """When each job came into the queue (s)."""
        return np.asarray(self.jobs.submit + self.discipline.pace.latency)

    @property
    def stopped(self) -> NDArray[np.bool_]:
        """Which jobs the controller ended: at their limit, or because they were taken back."""
        cancelled = (self.left >= self.discipline.wants.cancel - self.discipline.pace.zero) & (
            np.isfinite(self.start)
        )
        return np.asarray(self.discipline.timed_out | cancelled)

    @property
    def ended_by_manager(self) -> NDArray[np.bool_]:
        """Which jobs the controller ended, of a run with external events."""
        if self.calendar is None:
            return super().ended_by_manager
        return np.asarray(self.stopped & (self.calendar.job["fate"] == KILLED))

    @property
    def up(self) -> NDArray[np.float64]:
        """When all nodes of each job were up (s): its start, unless it waited for them."""
        if not self.s.sleeps:
            return self.start
        up = self.discipline.power.up - self._shift
        return np.asarray(np.where(np.isnan(up), self.start, up))

    @property
    def boot(self) -> NDArray[np.float64]:
        """Work of a job that is its boot: none, since times of jobs are those they had nodes."""
        return np.zeros(len(self.start))

    @property
    def state_changes(self) -> NDArray[Any]:
        """Nodes that changed their state, the new state, and when; in order of time (`CHANGE`)."""
        power, naps = self.discipline.power, int(self.discipline.controller[0].naps)
        node, begin = power.nap_node[:naps], power.nap_begin[:naps]
        over, up = power.nap_over[:naps], power.nap_up[:naps]
        asleep = begin + power.saving.enter[node]
        time = np.concatenate([begin, asleep, over, up]) - self._shift
        state = np.repeat([ENTERING, ASLEEP, LEAVING, UP], naps)
        # A nap may be without end; what was before the first submit is no part of the run.
        first = self.jobs.submit.min(initial=np.inf)
        order = np.argsort(time, kind="stable")
        order = order[~np.isnan(time[order])]
        changes = table(len(order), CHANGE)
        changes["node"] = self.places[np.tile(node, 4)[order]]
        changes["state"], changes["time"] = state[order], np.maximum(time, first)[order]
        return changes

    @property
    def allocated(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """First rows of each job's nodes, the nodes in Slurm's order, and processors on each."""
        tables, started = self.discipline, np.isfinite(self.start)
        count = np.where(started, np.diff(tables.first), 0)
        job = np.repeat(np.arange(len(started)), np.diff(tables.first))
        there = started[job]
        order = np.lexsort((tables.given[there], job[there]))
        first = np.concatenate([[0], np.cumsum(count)])
        procs = np.repeat(tables.wants.cpus, count)
        return first, self.places[tables.given[there][order]], procs

    def allocated_in(
        self, pieces: NDArray[Any]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """As `allocated`, of stretches of service."""
        first, given = self.discipline.first, self.discipline.given
        cut = pieces["rows"] > 0
        begin = np.where(cut, pieces["row"], first[pieces["job"]])
        wants = self.discipline.wants
        count = wants.nodes[pieces["job"]]
        rows = np.concatenate([[0], np.cumsum(count)])
        at = np.repeat(begin - rows[:-1], count) + np.arange(rows[-1])
        past = np.repeat(cut, count)
        node = np.empty(rows[-1], np.int64)
        node[past], node[~past] = self.recording.node[at[past]], given[at[~past]]
        return rows, self.places[node], np.repeat(wants.cpus[pieces["job"]], count)

    @property
    def remarks(self) -> dict[str, tuple[NDArray[np.int8], tuple[str, ...]]]:
        """Further columns of words about the jobs: places, and the words."""
        by = self.discipline.by
        return {"started_by": (np.where(by > 0, by - 1, -1).astype(np.int8), LOOPS[1:])}

    def to_the_end(self, progress: Callable[[int, int], None] | None = None) -> None:
        """Run to the end; the kernel comes back several times a second, to hear an interrupt."""
        if self.advance(_FIRST_STEPS) == PAUSED:
            with asked_to_pause(self.s, "pause"):
                while self.advance() == PAUSED:
                    self._must_move()
                    if progress is not None:
                        jobs = len(self.jobs.submit)
                        progress(jobs - int(self.discipline.controller[0].left), jobs)
        self._in_the_streams_clock()

    def _must_move(self) -> None:
        """Raise if jobs wait on an empty machine, where the next full pass starts somebody."""
        controller, loops = self.discipline.controller[0], self.discipline.loops
        only_waits = (
            self.s.waiting > 0
            and self.s.running == controller.ending == 0
            and self.s.arrived == len(self.start)
            and controller.cancelled == len(self.discipline.cancels)
        )
        now, patience = float(self.s.now), 100.0 * (loops.main_period + loops.backfill_period)
        patience += 10.0 * self.discipline.power.saving.timeout
        if not only_waits:
            self._moved = (np.inf, 0)
        elif self._moved[0] == np.inf:
            self._moved = (now, 0)
        elif now - self._moved[0] > patience:
            raise RunError("the model starts nobody on an empty machine; please report this")

    def _in_the_streams_clock(self) -> None:
        """Turn times of the controller's clock into those of the stream."""
        pace, running, recording = self.discipline.pace, self.running, self.recording
        start, left = running.start - pace.zero, running.end - pace.zero
        self._left, self._shift = left, pace.zero
        never = np.isnan(start)
        self.running = running._replace(start=start, end=np.where(never, np.nan, left))
        submit = self.discipline.wants.submit - (pace.zero + pace.latency)
        work = np.where(never, 0.0, left - start)
        self.jobs = self.jobs._replace(submit=submit, work=work)
        if self.calendar is not None:
            self.calendar.job["left"] -= pace.zero
            for name in ("start", "stop"):
                recording.segment[name][: self.s.segments] -= pace.zero
        self.s.now -= pace.zero
        if self.rules.record and len(submit):
            row = recording.row[: self.s.recorded]
            row["time"] -= pace.zero
            # The machine was there before; a run begins with its first submit.
            first = max(int(np.searchsorted(row["time"], submit[0], side="right")) - 1, 0)
            row["time"][first] = max(row["time"][first], submit[0])
            recording.row[: len(row) - first] = row[first:].copy()
            self.s.recorded -= first


def _job_view(wants: Wants, loops: Loops, saves: bool) -> JobView:
    """The jobs as the engine sees them: processors, and work that is cut at the limit.

    What a job does until its limit it need not do again where it `saves` its work.
    """
    limit = 60.0 * wants.limit
    work = wants.launch + wants.run + wants.finish
    if not saves:
        work = np.minimum(work, limit + loops.over_limit)
    none = np.zeros(len(limit), np.int64)
    return JobView(
        submit=wants.submit,
        work=work,
        plan=limit,
        estimate=limit,
        procs=wants.cpus * wants.nodes,
        user=wants.user,
        group=none,
        queue=none,
        partition=wants.partition,
        memory=wants.memory.astype(np.float64),
        account=none,
        qos=none,
        nodes=none,
        gpus=none,
    )


def _make_running(jobs: JobView) -> Running:
    """Nobody is in service yet; all may be at once, since jobs may share processors."""
    n = len(jobs.submit)
    return Running(
        plan=np.empty(n, np.int64),
        planned=np.empty(n),
        start=np.full(n, np.nan),
        end=np.full(n, np.nan),
        held=jobs.procs.copy(),
        finish_key=np.empty(n),
        finish_job=np.empty(n, np.int64),
        departed=np.empty(n, np.int64),
    )


def load_kernel(*, eventful: bool = False) -> None:
    """Load the compiled code of the controller, or compile it; `eventful`: with external events."""
    nothing = Happening(make_calendar(None, None, 0), nothing_outside(1), False)
    Controller(*example(), happening=nothing if eventful else None)
