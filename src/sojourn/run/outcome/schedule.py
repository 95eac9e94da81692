"""The schedule that a run made: who was served when, at what rate, and what it took."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...engine.drive import Run
from ...errors import OptionError
from ...measures import formulas
from ..options import Prepared
from .aftermath import Aftermath, aftermath
from .energy import Allocation, Energy, Stretches, allocation, stretches_in_pieces
from .invariants import check_bill, check_run
from .resources import Resources

__all__ = ["Schedule"]

Floats = NDArray[np.float64]


class Schedule:
    """What follows from the arrays of a run; made when first asked for.

    Parameters
    ----------
    prepared : the run's input.
    run : the run, at its end.
    """

    def __init__(self, prepared: Prepared, run: Run) -> None:
        self.prepared = prepared
        self.run = run

    @cached_property
    def submit(self) -> Floats:
        """Submit of each accepted job (s), which may be before it comes to the scheduler."""
        prepared = self.prepared
        if "begin" not in prepared.jobs.names:
            return self.run.jobs.submit
        return prepared.jobs.submit[prepared.accepted]

    @property
    def start(self) -> Floats:
        """Start of each accepted job (s); nan if it never ran."""
        return self.run.start

    @property
    def end(self) -> Floats:
        """End of each accepted job (s); nan if it never ran."""
        return self.run.end

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
        killed = self.prepared.killed
        return killed.astype(np.int8) if self.after is None else self.after.status(killed)

    @cached_property
    def stretches(self) -> Stretches:
        """Stretches of service."""
        if self.run.in_pieces:
            return stretches_in_pieces(self.run)
        start, end = self.start, self.end
        if self.after is not None:
            # Whoever never ran has a stretch without length.
            start, end = (np.where(np.isnan(x), self.after.left, x) for x in (start, end))
        return Stretches(np.arange(len(start)), start, end)

    @cached_property
    def service(self) -> Floats:
        """Time in service of each accepted job (s)."""
        if not self.prepared.policy.preemptive:
            return self.end - self.start
        job, start, stop = self.stretches
        return formulas.sum_by_job(job, stop - start, len(self.end))

    @cached_property
    def epochs(self) -> tuple[Floats, Floats]:
        """Epochs (s) and rates, the first at the first submit."""
        submit = self.run.jobs.submit
        first = submit[0] if len(submit) else 0.0
        time = np.concatenate([[first], self.run.rows("epoch_time")])
        rate = np.concatenate([[self.run.initial_rate], self.run.rows("epoch_rate")])
        # Several changes at one instant: only the last one lasts.
        lasting = np.append(time[1:] > time[:-1], True)
        return time[lasting], rate[lasting]

    @cached_property
    def _rates_used(self) -> Floats:
        return np.unique(np.append(self.run.rows("epoch_rate"), self.run.initial_rate))

    @cached_property
    def allocation(self) -> Allocation:
        """The nodes of each accepted job; an error where processors were only counted."""
        if not self.prepared.cluster.is_named:
            raise OptionError("processors were only counted; give the cluster named nodes")
        return allocation(self.run)

    @property
    def slowness(self) -> Floats:
        """How much longer than recorded each accepted job ran [gomez2012, eq. 2]."""
        slowness = self.allocation.slowness
        return slowness if self.after is None else np.where(slowness > 0, slowness, np.nan)

    @cached_property
    def energy(self) -> Energy:
        """What the run spent."""
        return Energy(self.prepared, self.run, self.stretches, *self.epochs, self.last)

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
        """Raise RunError unless it has what every run must have."""
        run = self.run
        if not len(self.end):
            return
        slowness = self.slowness if self.prepared.cluster.is_named else 1.0
        check_run(run, float(self.epochs[1].max()), slowness, self.after)
        if self.prepared.options.record:
            columns = [run.rows(name) for name in ("time", "rate", "busy")]
            bill = float(self.energy.jobs.sum()) + self.energy.idle
            check_bill(run, bill, lambda rows: self.power(*(c[rows] for c in columns)))
