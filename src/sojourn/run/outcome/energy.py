"""What a run spent: by job, by node, idle, and the power of the cluster over time."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import Floats, Ints
from ...engine.drive import Run
from ...engine.nodes import GIVEN_NODE, GIVEN_TASKS, PER_TASK
from ...measures import energy as billing
from ...measures import formulas
from ...measures.cost import (
    Carbon,
    Clock,
    Prices,
    Tariff,
    electricity_cost,
    emissions,
    parse_carbon,
    parse_price,
    steps_over,
)
from ._rows import gather

if TYPE_CHECKING:
    from .schedule import Schedule


_JOULES_PER_KWH = 3.6e6

_CACHED = (
    *("_bill", "other_states", "elsewhere", "nodes", "spent", "jobs"),
    *("idle", "peas", "steps", "peak", "job_costs"),
)
"""What is computed once and follows from the times of a bill."""


class Stretches(NamedTuple):
    """Uninterrupted stretches of service: of which job, from when to when (s)."""

    job: Ints
    start: Floats
    stop: Floats


class Allocation(NamedTuple):
    """Who had which nodes: the rows of job j are `first[j]:first[j + 1]`."""

    first: Ints
    node: Ints
    procs: Ints
    slowness: Floats

    def columns(self, job: Ints, start: Floats, end: Floats) -> dict[str, NDArray[Any]]:
        """One row per job and node, from the number, start and end (s) of each job."""
        count = np.diff(self.first)
        return {
            "job": np.repeat(job, count),
            "node": self.node,
            "procs": self.procs,
            "start": np.repeat(start, count),
            "end": np.repeat(end, count),
        }


class GivenNodes:
    """The nodes that a run gave its jobs, read from its tables once."""

    def __init__(self, run: Run) -> None:
        self._run = run

    @cached_property
    def of_jobs(self) -> Allocation:
        """Those of each accepted job in its last stretch of service, by submission."""
        return _allocation(self._run)


def _allocation(run: Run) -> Allocation:
    if run.nodes is None:
        # A discipline with nodes of its own.
        first, node, procs = run.allocated
        return Allocation(first, node, procs, np.ones(len(run.start)))
    jobs = run.nodes.job
    every = np.arange(len(jobs))
    return _rows_given(run, every, jobs["row"], jobs["rows"], jobs["slowness"].copy())


def _rows_given(run: Run, job: Ints, row: Ints, count: Ints, slowness: Floats) -> Allocation:
    """The nodes in so many rows from each `row` on, which were written in the order of starts."""
    assert run.nodes is not None
    first = np.concatenate([[0], np.cumsum(count)])
    given = np.empty((2, first[-1]), dtype=np.int64)
    gather(run.nodes.given, np.ascontiguousarray(row), np.ascontiguousarray(count), given)
    tasks = given[GIVEN_TASKS]
    # Where all jobs ask for processors only, a task is one.
    procs = tasks * run.nodes.ask[PER_TASK, 0, np.repeat(job, count)] if run.s.vectors else tasks
    return Allocation(first, given[GIVEN_NODE], procs, slowness)


def _pieces(run: Run) -> NDArray[Any]:
    """Stretches of service where jobs may be stopped.

    In the order in which they ended; where they are only stopped from outside, those of jobs in
    the order of submission, then those that were lost.
    """
    pieces = run.recording.segment[: run.s.segments]
    if run.rules.backfill.preempts:
        return pieces
    last = np.where(pieces["lost"] == 1, len(run.start), pieces["job"])
    return pieces[np.argsort(last, kind="stable")]


def stretches_in_pieces(run: Run) -> Stretches:
    """Stretches of service where jobs may be stopped."""
    pieces = _pieces(run)
    return Stretches(*(pieces[name].copy() for name in ("job", "start", "stop")))


def stretches_held(run: Run) -> Ints:
    """Processors that were held in each such stretch."""
    held: Ints = _pieces(run)["held"].copy()
    return held


def allocation_in_pieces(run: Run) -> Allocation:
    """The nodes of each such stretch."""
    pieces = _pieces(run)
    if run.nodes is None:
        first, node, procs = run.allocated_in(pieces)
        return Allocation(first, node, procs, np.ones(len(pieces)))
    return _rows_given(run, *(pieces[name].copy() for name in ("job", "row", "rows", "slowness")))


class Energy:
    """The energy bill of a run, from the first submit to the last end.

    Parameters
    ----------
    schedule : of the run, at its end.
    """

    def __init__(self, schedule: Schedule) -> None:
        prepared, self._run = schedule.prepared, schedule.run
        self._nodes = schedule.nodes
        self._cluster = prepared.cluster
        self._options, self._header = prepared.options, prepared.jobs.header
        self._absence = None if prepared.external is None else prepared.external.absence
        self._in_pieces, self._stretches = schedule.in_pieces, schedule.stretches
        self._states = schedule.states
        if self._states is not None:
            # Jobs use their nodes from when these are up.
            job, start, stop = self._stretches
            self._stretches = Stretches(job, np.minimum(np.maximum(start, self._up), stop), stop)
        self._epochs, self._rates = schedule.epochs
        self._domains = schedule.domains
        self._last = schedule.last

    @cached_property
    def given(self) -> Allocation:
        """The nodes of each stretch of service; named nodes only."""
        return allocation_in_pieces(self._run) if self._in_pieces else self._nodes.of_jobs

    @property
    def _up(self) -> Floats:
        """When the nodes of each stretch of service were up (s)."""
        up: Floats = np.nan_to_num(_pieces(self._run)["up"] if self._in_pieces else self._run.up)
        return up

    @cached_property
    def nodes(self) -> billing.Bill:
        """The bill of named nodes."""
        return self._bill[0]

    @cached_property
    def other_states(self) -> Floats:
        """Joules of each stretch in which a node was not on, where nodes sleep."""
        return self._bill[1]

    @cached_property
    def _bill(self) -> tuple[billing.Bill, Floats]:
        _, start, stop = self._stretches
        columns, given, curves = self._cluster.columns, self.given, self._cluster.curves
        rows = start, stop, given.first, given.node, given.procs, columns.procs, curves
        if self._domains is None:
            bill = billing.bill_nodes(*rows, self._epochs, self._rates, until=self._last)
        else:
            rates = [*self._domains.epochs, (self._epochs, self._rates)]
            bill = billing.bill_domains(*rows, self._domains.node, rates, until=self._last)
        states = self._states
        if states is not None:
            # Nodes that were switched off from outside are among them.
            return billing.with_states(bill, states.drawn, curves[:, 0])
        if self._absence is not None and len(self._absence.node):
            begin, end, node, _ = self._absence
            watts = self._failed_watts[node]
            return billing.in_other_states(bill, node, begin, end, watts, curves[:, 0])
        return bill, np.empty(0)

    @property
    def _failed_watts(self) -> Floats:
        """W of each node while it is down."""
        servers, kind = self._cluster.kinds
        return np.array([server.states.failed_watts for server in servers])[kind]

    @cached_property
    def elsewhere(self) -> dict[str, float]:
        """Joules of nodes that were not on, by state; empty where they drew nothing."""
        if self._states is not None:
            return self._states.sums(self.other_states)
        if not self._cluster.is_named or not self._failed_watts.any() or self._absence is None:
            return {}
        return {"failed_joules": float(self.other_states.sum()) if len(self._run.end) else 0.0}

    def of_nodes(self) -> dict[str, Floats]:
        """Joules of each node by cause: busy, idle, and where these occur those of other states."""
        bill = self.nodes
        spent = {"busy": bill.node_busy_joules, "idle": bill.node_idle_joules}
        count = len(bill.node_idle_joules)
        if self._states is not None:
            return spent | self._states.by_node(self.other_states, count)
        if not self.elsewhere:
            return spent
        assert self._absence is not None
        where, joules = self._absence.node, self.other_states
        return spent | {"failed": formulas.sum_by_job(where, joules, count)}

    def for_no_job(self) -> dict[str, float]:
        """Joules that no job used, by cause: idle, and where these occur those of other states."""
        others = {name.removesuffix("_joules"): value for name, value in self.elsewhere.items()}
        return {"idle": self.idle, **others}

    @property
    def bill_joules(self) -> float:
        """Joules of the whole run."""
        return float(self.jobs.sum()) + self.idle + sum(self.elsewhere.values())

    @property
    def worked(self) -> Stretches:
        """Stretches of service from when the nodes of each were up."""
        return self._stretches

    @cached_property
    def jobs(self) -> Floats:
        """Joules of each accepted job."""
        return self.by_job(self.spent)

    @cached_property
    def spent(self) -> Floats:
        """Joules of each stretch of service."""
        if self._cluster.is_named:
            return self.nodes.job_joules
        job, start, stop = self._stretches
        procs, watts = self._run.jobs.procs[job], self._watts[0]
        return formulas.busy_energy(start, stop, procs, self._epochs, watts)

    @cached_property
    def _watts(self) -> tuple[Floats, Floats]:
        """Watts of a busy and of an idle server from each epoch on; counted servers only."""
        power = self._cluster.power
        return power.busy(self._rates), power.idle(self._rates)

    def by_job(self, spent: Floats) -> Floats:
        """Return the joules of each accepted job, from those of its stretches of service."""
        if not self._in_pieces:
            return spent
        return formulas.sum_by_job(self._stretches.job, spent, len(self._run.end))

    @cached_property
    def idle(self) -> float:
        """Joules of idle processors."""
        if not len(self._run.jobs.submit):
            return 0.0
        if self._cluster.is_named:
            return float(self.nodes.node_idle_joules.sum())
        job, start, stop = self._stretches
        watts = self._watts[1]
        last = np.array([self._last])
        whole = self._cluster.procs * formulas.clock_at(last, self._epochs, watts)[0]
        procs = self._run.jobs.procs[job]
        taken = formulas.busy_energy(start, stop, procs, self._epochs, watts).sum()
        if self._absence is not None:
            # What is not there draws nothing.
            begin, end = (np.clip(x, self._epochs[0], last[0]) for x in self._absence[:2])
            off = formulas.busy_energy(begin, end, self._absence.procs, self._epochs, watts)
            taken += off.sum()
        return float(whole - taken)

    @cached_property
    def peas(self) -> Floats:
        """Joules of each accepted job as in [gomez2012, eq. 5]; named nodes only."""
        _, start, stop = self._stretches
        given, watts = self.given, self._cluster.columns.watts
        return self.by_job(
            billing.peas_energy(start, stop, given.first, given.node, given.procs, watts)
        )

    def node_columns(self) -> dict[str, Any]:
        """One row per node: what it is, and how much of the run it was busy."""
        _, start, stop = self._stretches
        given, columns = self.given, self._cluster.columns
        nodes, count = self._cluster.nodes, len(columns.procs)
        area = given.procs * np.repeat(stop - start, np.diff(given.first))
        busy = np.bincount(given.node, weights=area, minlength=count)
        span = max(self._last, self._epochs[0]) - self._epochs[0]
        return {
            "node": [node.name for node in nodes],
            "model": [node.server.model for node in nodes],
            "procs": columns.procs,
            "slowness": columns.slowness,
            "jobs": np.bincount(given.node, minlength=count),
            "busy": busy / np.maximum(span * columns.procs, np.finfo(float).tiny),
        }

    @cached_property
    def steps(self) -> tuple[Floats, Floats]:
        """Instants (s) and the watts of the whole cluster from each on."""
        if self._cluster.is_named:
            return self.nodes.step_time, self.nodes.step_watts
        job, start, stop = self._stretches
        return billing.counted_steps(
            start,
            stop,
            self._run.jobs.procs[job],
            self._cluster.procs,
            self._epochs,
            *self._watts,
            until=self._last,
            gone=((), ()) if self._absence is None else self._absence.steps(),
        )

    @cached_property
    def peak(self) -> float:
        """The most watts that the whole cluster draws."""
        cluster, rates = self._cluster, self._rates
        if not cluster.is_named and self._absence is None and len(rates) == 1:
            busy, idle = (float(watts[0]) for watts in self._watts)
            if busy >= idle:
                # One rate, and all servers there: the most power is that of the most busy servers.
                return cluster.procs * idle + self._most_busy() * (busy - idle)
        time, watts = self.steps
        # What lasts no time, as from the last instant on, is not billed.
        return float(watts[:-1][np.diff(time) > 0].max(initial=0.0))

    def _most_busy(self) -> int:
        """The most servers that are busy at once; none may have been away."""
        run = self._run
        if run.rules.record and not self._in_pieces:
            time = run.rows("time")
            # Only what holds after all that happens at an instant lasts.
            if bool((time[1:] > time[:-1]).all()):
                return int(run.rows("busy").max(initial=0))
        job, start, stop = self._stretches
        return billing.most_busy(start, stop, run.jobs.procs[job])

    def bill(self, span: float) -> dict[str, Any]:
        """The bill of a run of `span` seconds; its price and its carbon, where these are given."""
        busy, idle = float(self.jobs.sum()), self.idle
        others, total = self.elsewhere, self.bill_joules
        bill: dict[str, Any] = {
            "busy_joules": busy,
            "idle_joules": idle,
            **others,
            "total_joules": total,
            "total_kwh": total / _JOULES_PER_KWH,
            "mean_watts": total / span if span > 0 else float("nan"),
            "power_peak": self.peak,
            "energy_delay": float(formulas.energy_delay_product(total, span)),
            "power_model": self._cluster.power_model,
        }
        if self._cluster.is_named:
            bill["peas_kwh"] = float(self.peas.sum()) / _JOULES_PER_KWH
            # Of nodes without watts those of idle are assumed as well.
            servers, _ = self._cluster.kinds
            bill["idle_known"] = all(s.idle_known or not s.has_watts for s in servers)
        if self.price is not None:
            bill["cost"] = electricity_cost(*self.steps, self.price, self._clock)
            bill["currency"] = self.price.currency
        if self.carbon is not None:
            bill["carbon_kg"] = emissions(*self.steps, self.carbon) / 1000
        return bill

    @cached_property
    def _clock(self) -> Clock:
        return Clock.of(self._header, self._options.starts)

    @cached_property
    def price(self) -> Tariff | Prices | None:
        """The price of a kWh, where one is given."""
        given, repeats = self._options.price, self._options.series == "repeat"
        return None if given is None else parse_price(given, self._clock, repeats=repeats)

    @cached_property
    def carbon(self) -> Carbon | None:
        """The intensity of the electricity (g per kWh), where one is given."""
        given, repeats = self._options.carbon, self._options.series == "repeat"
        return None if given is None else parse_carbon(given, self._clock, repeats=repeats)

    @cached_property
    def job_costs(self) -> dict[str, Floats]:
        """Of each accepted job its ``cost`` and its ``carbon`` (g), where these are given."""
        given = {"cost": self.price, "carbon": self.carbon}
        return {name: self._of_jobs(what) for name, what in given.items() if what is not None}

    def series_steps(self, what: Carbon | Tariff | Prices) -> tuple[Floats, Floats]:
        """Times (s) and what a kWh costs or emits from each on, as long as the run lasts."""
        first = float(self._epochs[0])
        return steps_over(what, self._clock, first, max(first, self._last))

    def _of_jobs(self, what: Carbon | Tariff | Prices) -> Floats:
        """What the energy of each accepted job costs or emits, exactly."""
        return self.valued(what, lambda energy: energy.jobs)

    def valued(self, what: Carbon | Tariff | Prices, of: Callable[[Energy], Floats]) -> Floats:
        """Return what some parts of the energy cost or emit, exactly.

        Power and value are both constant between their changes. On a clock that runs as fast as
        the value is high, the bill of the energy is that of the cost. It must run forwards: for
        this all values are raised, and what that adds is taken off again.

        Parameters
        ----------
        what : price or intensity.
        of : says how many joules each part of a bill has.
        """
        time, value = self.series_steps(what)
        joules = of(self)
        if len(value) == 1:
            return joules * (float(value[0]) / _JOULES_PER_KWH)
        raised = float(np.abs(value).mean() or 1.0) - min(float(value.min()), 0.0)
        other = self._on_clock(lambda at: formulas.clock_at(at, time, value + raised))
        return (of(other) - raised * joules) / _JOULES_PER_KWH

    def _on_clock(self, clock: Callable[[Floats], Floats]) -> Energy:
        """The same bill with all instants on another clock, which runs forwards."""
        job, start, stop = self._stretches
        first, last = float(self._epochs[0]), max(self._last, float(self._epochs[0]))
        other = copy.copy(self)
        for name in _CACHED:
            other.__dict__.pop(name, None)
        if self._states is not None:
            other._states = self._states.on_clock(lambda at: clock(np.clip(at, first, last)))
        if self._cluster.is_named:
            other.__dict__["given"] = self.given
        if self._absence is not None:
            # What never returns is off to the end.
            begin, end = (clock(np.clip(x, first, last)) for x in self._absence[:2])
            other._absence = self._absence._replace(begin=begin, end=end)
        other._stretches = Stretches(job, clock(start), clock(stop))
        other._epochs = clock(self._epochs)
        other._last = float(clock(np.array([self._last]))[0])
        return other
