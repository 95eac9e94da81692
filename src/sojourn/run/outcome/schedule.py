"""The schedule that a run made: who was served when, and at what rate."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...arrays import Floats
from ...engine.drive import Run
from ...errors import OptionError, RunError
from ...measures import formulas
from ..options import Prepared
from .aftermath import Aftermath, aftermath
from .caps import CapAccount
from .domains import DomainRates
from .energy import Allocation, Energy, GivenNodes, Stretches, stretches_in_pieces
from .ledger import EnergyLedger
from .lost import rate_epochs
from .resources import Resources
from .states import NodeStates

_TOLERANCE = 1e-9
_ROWS = 1 << 15


class Schedule:
    """What follows from the arrays of a run; made when first asked for.

    Parameters
    ----------
    prepared : the run's input.
    run : the run, at its end.
    """

    def __init__(self, prepared: Prepared, run: Run) -> None:
        self.prepared, self.run = prepared, run
        # Of each accepted job: s, nan if it never ran; processors. It gets its nodes at the claim,
        # and starts when they are up.
        self.claim: Floats = run.running.start
        self.start: Floats = self.claim
        if run.s.sleeps:
            self.start = np.maximum(self.claim, run.up)
        self.end: Floats = run.running.end
        self.held: NDArray[np.int64] = run.running.held
        self.in_pieces = run.in_pieces
        self.nodes = GivenNodes(run)

    @cached_property
    def submit(self) -> Floats:
        """Submit of each accepted job (s), which may be before it comes to the scheduler."""
        prepared = self.prepared
        if "begin" not in prepared.jobs.names:
            return self.run.jobs.submit
        return prepared.jobs.submit[prepared.accepted]

    @cached_property
    def after(self) -> Aftermath | None:
        """What became of the accepted jobs, where not all of them run to an end."""
        return None if self.run.always_ends else aftermath(self.run)

    @cached_property
    def ended(self) -> slice | NDArray[np.bool_]:
        """Which accepted jobs ran to an end."""
        return slice(None) if self.after is None else np.isfinite(self.end)

    @cached_property
    def last(self) -> float:
        """When the last accepted job had left (s)."""
        if self.after is None:
            return float(self.end.max(initial=-np.inf))
        return float(self.run.s.now)

    @cached_property
    def status(self) -> NDArray[np.int8]:
        """What became of each accepted job, as a place in `STATUS`."""
        killed = self.prepared.killed | self.run.ended_by_manager
        return killed.astype(np.int8) if self.after is None else self.after.status(killed)

    @cached_property
    def stretches(self) -> Stretches:
        """Stretches of service."""
        if self.in_pieces:
            return stretches_in_pieces(self.run)
        start, end = self.claim, self.end
        if self.after is not None:
            # Whoever never ran has a stretch without length.
            start, end = (np.where(np.isnan(x), self.after.left, x) for x in (start, end))
        return Stretches(np.arange(len(start)), start, end)

    @cached_property
    def service(self) -> Floats:
        """Time in service of each accepted job (s)."""
        if not (self.prepared.policy.preemptive or self.prepared.suspends):
            return self.end - self.start
        job, start, stop = self.stretches
        return formulas.sum_by_job(job, stop - start, len(self.end))

    @cached_property
    def epochs(self) -> tuple[Floats, Floats]:
        """Epochs (s) and rates, the first at the first submit."""
        return rate_epochs(self.run)

    @cached_property
    def domains(self) -> DomainRates | None:
        """Rates of domains; None where all servers have one."""
        return DomainRates(self) if self.run.s.domains else None

    @property
    def _fastest(self) -> float:
        """The highest rate that some server had."""
        own = [self.epochs] if self.domains is None else [self.epochs, *self.domains.epochs]
        return max(float(rates.max()) for _, rates in own)

    @cached_property
    def _rates_used(self) -> Floats:
        return np.unique(np.append(self.run.rows("epoch_rate"), self.run.initial_rate))

    @cached_property
    def allocation(self) -> Allocation:
        """The nodes of each accepted job; an error where processors were only counted."""
        if not self.prepared.cluster.is_named:
            raise OptionError("processors were only counted; give the cluster named nodes")
        return self.nodes.of_jobs

    @property
    def slowness(self) -> Floats:
        """How much longer than recorded each accepted job ran [gomez2012, eq. 2]."""
        slowness = self.allocation.slowness
        return slowness if self.after is None else np.where(slowness > 0, slowness, np.nan)

    @cached_property
    def states(self) -> NodeStates | None:
        """States of nodes other than on; None where no node sleeps."""
        return NodeStates(self) if self.run.s.sleeps else None

    @cached_property
    def energy(self) -> Energy:
        """What the run spent."""
        return Energy(self)

    @cached_property
    def ledger(self) -> EnergyLedger:
        """What it spent, by node, partition, job or class of jobs."""
        return EnergyLedger(self)

    @cached_property
    def caps(self) -> CapAccount | None:
        """How its caps were kept; None where there are none."""
        plan = self.prepared.caps
        return None if plan is None or not len(self.end) else CapAccount(self, plan)

    @cached_property
    def resources(self) -> Resources:
        """What was held of each resource; an error where processors were only counted."""
        self.allocation  # noqa: B018  (raises there)
        first = float(self.epochs[0][0])
        return Resources(self.prepared, self.stretches, self.energy.given, first, self.last)

    def power(self, time: Floats, rate: Floats, busy: NDArray[Any]) -> Floats:
        """Watts of the whole system at some instants (s) [rumyantsev2018, eq. 11]."""
        cluster, external = self.prepared.cluster, self.prepared.external
        if cluster.is_named:
            instants, watts = self.energy.steps
            return watts[np.searchsorted(instants, time, side="right") - 1]
        known = self._rates_used
        busy_watts, idle_watts = cluster.power.busy(known), cluster.power.idle(known)
        if len(known) > 1:
            at = np.searchsorted(known, rate)
            busy_watts, idle_watts = busy_watts[at], idle_watts[at]
        there: int | NDArray[np.int64] = cluster.procs
        if external is not None:
            instants, gone = external.absence.steps()
            there = there - np.append(gone, 0)[np.searchsorted(instants, time, side="right") - 1]
        return formulas.energy_rate(busy, busy_watts, idle_watts, there)

    def check(self) -> None:
        """Raise RunError unless areas, loads and the energy bill are right, to 1e-9."""
        run = self.run
        if not len(self.end) or self.prepared.suspends:
            # A run of pieces has been checked as such.
            return
        slowness = self.slowness if self.prepared.cluster.is_named else 1.0
        held: NDArray[Any] = self.held
        work = run.jobs.work * slowness
        if run.s.sleeps:
            work = work + run.boot
        if self.in_pieces:
            held, work = run.rows("segment_held"), run.rows("segment_work")
        left = self.end
        if self.after is not None:
            left = np.where(self.after.waiting, run.s.now, self.after.left)
        total, grain = run.s, self._grain
        coarse = grain * self._fastest * float(held.sum())
        done = formulas.product_sum(held, work)
        _must_equal("work done and the sum of job areas", total.effective, done, coarse)
        lapse = float(np.sum(left - run.entered))
        present = total.queue_time + total.service_time
        _must_equal("Little's law", present, lapse, grain * len(left))
        wasted = total.potential - total.effective
        slack = coarse + _TOLERANCE * total.potential
        _must_equal("potential less effective load", wasted, total.waste, slack)
        if self.caps is not None:
            self.caps.check()
        if self.prepared.options.record:
            self._check_bill()

    @property
    def _grain(self) -> float:
        """Times are only as fine as their floats; a log of tiny jobs far from zero is coarse."""
        submit = self.run.jobs.submit
        largest = max(abs(self.run.s.now), abs(submit.min()), abs(submit.max()))
        return 8 * float(np.spacing(largest))

    def _check_bill(self) -> None:
        """Check the energy bill (J) against the integral of the power at each recorded instant."""
        time, rate, busy = (self.run.rows(name) for name in ("time", "rate", "busy"))
        integral = watts = 0.0
        # In pieces that stay in the cache.
        for first in range(0, len(time), _ROWS):
            rows = slice(first, first + _ROWS)
            piece = self.power(time[rows], rate[rows], busy[rows])
            lapse = np.diff(time[first : first + _ROWS + 1])
            integral += formulas.product_sum(lapse, piece[: len(lapse)])
            watts += float(np.abs(piece).sum())
        bill, slack = self.energy.bill_joules, self._grain * watts
        _must_equal("the energy bill", bill, integral, slack)
        if self.prepared.cluster.is_named:
            of_nodes = float(sum(joules.sum() for joules in self.energy.of_nodes().values()))
            _must_equal("the energy of nodes and the bill", of_nodes, bill, slack)


def _must_equal(what: str, left: float, right: float, slack: float) -> None:
    if not abs(left - right) <= _TOLERANCE * max(abs(left), abs(right)) + slack:
        raise RunError(
            f"{what}: {float(left)!r} is not {float(right)!r}; please report this as a bug"
        )
