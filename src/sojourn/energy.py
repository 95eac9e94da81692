"""What a run spent: by job, by node, idle, and the power of the cluster over time."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import billing, measures
from .cost import Clock, electricity_cost, emissions, parse_carbon, parse_tariff
from .engine.drive import Run
from .engine.nodes import FIRST_ROW, GIVEN_NODE, GIVEN_PROCS, JOB_SLOWNESS, ROW_COUNT
from .options import Prepared

__all__ = ["Allocation", "Energy", "Stretches", "allocation"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_JOULES_PER_KWH = 3.6e6


class Stretches(NamedTuple):
    """Uninterrupted stretches of service: of which job, from when to when (s)."""

    job: Integers
    start: Floats
    stop: Floats


class Allocation(NamedTuple):
    """Who had which nodes: the rows of job j are `first[j]:first[j + 1]`."""

    first: Integers
    node: Integers
    procs: Integers
    slowness: Floats

    def columns(self, job: Integers, start: Floats, end: Floats) -> dict[str, NDArray[Any]]:
        """One row per job and node, from the number, start and end (s) of each job."""
        count = np.diff(self.first)
        return {
            "job": np.repeat(job, count),
            "node": self.node,
            "procs": self.procs,
            "start": np.repeat(start, count),
            "end": np.repeat(end, count),
        }


def allocation(run: Run) -> Allocation:
    """The nodes of each accepted job, in the order of submission."""
    nodes = run.nodes
    count = nodes.job[ROW_COUNT]
    first = np.concatenate([[0], np.cumsum(count)])
    # Rows were written in the order of starts.
    at = np.repeat(nodes.job[FIRST_ROW] - first[:-1], count) + np.arange(first[-1])
    return Allocation(
        first, nodes.given[GIVEN_NODE, at], nodes.given[GIVEN_PROCS, at], nodes.real[JOB_SLOWNESS]
    )


class Energy:
    """The energy bill of a run, from the first submit to the last end.

    Parameters
    ----------
    prepared : the run's input.
    run : the run, at its end.
    stretches : of service.
    epochs, rates : the service rate from each epoch (s) on.
    """

    def __init__(
        self, prepared: Prepared, run: Run, stretches: Stretches, epochs: Floats, rates: Floats
    ) -> None:
        self._cluster = prepared.cluster
        self._options, self._header = prepared.options, prepared.jobs.header
        self._preemptive = prepared.policy.preemptive
        self._run = run
        self._stretches = stretches
        self._epochs, self._rates = epochs, rates

    @cached_property
    def nodes(self) -> billing.Bill:
        """The bill of named nodes."""
        state, columns = self._run.state, self._cluster.columns
        given = allocation(self._run)
        return billing.bill_nodes(
            state.start,
            state.end,
            given.first,
            given.node,
            given.procs,
            columns.procs,
            np.array([node.server.watts for node in self._cluster.nodes]),
            self._epochs,
            self._rates,
        )

    @cached_property
    def jobs(self) -> Floats:
        """Joules of each accepted job."""
        if self._cluster.is_named:
            return self.nodes.job_joules
        job, start, stop = self._stretches
        watts = self._cluster.power.busy(self._rates)
        procs = self._run.jobs.procs[job]
        spent = measures.busy_energy(start, stop, procs, self._epochs, watts)
        if not self._preemptive:
            return spent
        return measures.sum_by_job(job, spent, len(self._run.state.end))

    @cached_property
    def idle(self) -> float:
        """Joules of idle processors."""
        end = self._run.state.end
        if not len(end):
            return 0.0
        if self._cluster.is_named:
            return float(self.nodes.node_idle_joules.sum())
        job, start, stop = self._stretches
        watts = self._cluster.power.idle(self._rates)
        last = np.array([end.max()])
        whole = self._cluster.procs * measures.clock_at(last, self._epochs, watts)[0]
        procs = self._run.jobs.procs[job]
        taken = measures.busy_energy(start, stop, procs, self._epochs, watts).sum()
        return float(whole - taken)

    @cached_property
    def peas(self) -> Floats:
        """Joules of each accepted job as in [gomez2012, eq. 5]; named nodes only."""
        state, given = self._run.state, allocation(self._run)
        watts = self._cluster.columns.watts
        return billing.peas_energy(
            state.start, state.end, given.first, given.node, given.procs, watts
        )

    def node_columns(self, given: Allocation) -> dict[str, Any]:
        """One row per node: what it is, how much of the run it was busy, and its joules."""
        state, columns = self._run.state, self._cluster.columns
        nodes, count = self._cluster.nodes, len(columns.procs)
        area = given.procs * np.repeat(state.end - state.start, np.diff(given.first))
        busy = np.bincount(given.node, weights=area, minlength=count)
        span = state.end.max(initial=self._epochs[0]) - self._epochs[0]
        return {
            "node": [node.name for node in nodes],
            "model": [node.server.model for node in nodes],
            "procs": columns.procs,
            "slowness": columns.slowness,
            "jobs": np.bincount(given.node, minlength=count),
            "busy": busy / np.maximum(span * columns.procs, np.finfo(float).tiny),
            "busy_energy": self.nodes.node_busy_joules,
            "idle_energy": self.nodes.node_idle_joules,
        }

    @cached_property
    def steps(self) -> tuple[Floats, Floats]:
        """Instants (s) and the watts of the whole cluster from each on."""
        if self._cluster.is_named:
            return self.nodes.step_time, self.nodes.step_watts
        power = self._cluster.power
        job, start, stop = self._stretches
        return billing.counted_steps(
            start,
            stop,
            self._run.jobs.procs[job],
            self._cluster.procs,
            self._epochs,
            power.busy(self._rates),
            power.idle(self._rates),
        )

    def bill(self, span: float) -> dict[str, Any]:
        """The bill of a run of `span` seconds; its price and its carbon, where these are given."""
        busy, idle = float(self.jobs.sum()), self.idle
        total = busy + idle
        told: dict[str, Any] = {
            "busy_joules": busy,
            "idle_joules": idle,
            "total_joules": total,
            "total_kwh": total / _JOULES_PER_KWH,
            "mean_watts": total / span if span > 0 else float("nan"),
            "energy_delay": float(measures.energy_delay_product(total, span)),
        }
        if self._cluster.is_named:
            told["peas_kwh"] = float(self.peas.sum()) / _JOULES_PER_KWH
            told["idle_known"] = all(node.server.idle_known for node in self._cluster.nodes)
        options, header = self._options, self._header
        if options.price is not None or options.carbon is not None:
            clock = Clock.of(header, options.starts)
            if options.price is not None:
                tariff = parse_tariff(options.price)
                told["cost"] = electricity_cost(*self.steps, tariff, clock)
                told["currency"] = tariff.currency
            if options.carbon is not None:
                carbon = parse_carbon(options.carbon, clock)
                told["carbon_kg"] = emissions(*self.steps, carbon) / 1000
        return told
