"""How the caps of a run were kept: the power of each set of nodes beside its cap."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...arrays import Floats
from ...cluster import AssumedPower
from ...errors import RunError
from ...measures import energy as billing
from ..build.cap_plan import CapPlan
from ..build.caps import watts_of_jobs

if TYPE_CHECKING:
    from .schedule import Schedule


class CapAccount:
    """The caps of a run, at its end.

    Parameters
    ----------
    schedule : of the run.
    plan : its caps.
    """

    def __init__(self, schedule: Schedule, plan: CapPlan) -> None:
        self._schedule, self.plan = schedule, plan

    def steps(self, c: int) -> tuple[Floats, Floats]:
        """Instants (s), and the W of the nodes of a cap from each on.

        Where nodes have no watts of their own, those of the jobs: as recorded (``watts_used``), or
        as they were planned with.
        """
        schedule, nodes = self._schedule, self.plan.caps[c].nodes
        cluster = schedule.prepared.cluster
        if not cluster.is_named:
            return schedule.energy.steps
        if isinstance(cluster.power, AssumedPower) and not cluster.has_watts:
            return self._of_jobs(c)
        if nodes is None:
            return schedule.energy.steps
        return self._of_nodes(np.array(nodes))

    def _of_nodes(self, nodes: NDArray[np.int64]) -> tuple[Floats, Floats]:
        """Power of some nodes, billed as all of them are."""
        schedule, energy = self._schedule, self._schedule.energy
        cluster, given = schedule.prepared.cluster, energy.given
        place = np.full(len(cluster.nodes), -1)
        place[nodes] = np.arange(len(nodes))
        mine = place[given.node] >= 0
        first = np.concatenate([[0], np.cumsum(mine)])[given.first]
        _, start, stop = energy.worked
        curves = cluster.curves[nodes]
        used = start, stop, first, place[given.node[mine]], given.procs[mine]
        rows = *used, cluster.columns.procs[nodes], curves
        domains = schedule.domains
        if domains is None:
            bill = billing.bill_nodes(*rows, *schedule.epochs, until=schedule.last)
        else:
            rates = [*domains.epochs, schedule.epochs]
            bill = billing.bill_domains(*rows, domains.node[nodes], rates, until=schedule.last)
        states = schedule.states
        if states is not None:
            bill, _ = billing.with_states(bill, states.of_nodes(place), curves[:, 0])
            return bill.step_time, bill.step_watts
        external = schedule.prepared.external
        if external is not None and len(external.absence.node):
            begin, end, node, _ = external.absence
            here = place[node] >= 0
            gone = place[node[here]], begin[here], end[here]
            bill = billing.switched_off(bill, *gone, curves[:, 0])
        return bill.step_time, bill.step_watts

    def _of_jobs(self, c: int) -> tuple[Floats, Floats]:
        schedule, prepared = self._schedule, self._schedule.prepared
        job, start, stop = schedule.stretches
        procs = schedule.run.jobs.procs
        assert prepared.machine is not None
        planned = self.plan.of_task * prepared.machine.requests.tasks / 1000.0
        real = watts_of_jobs(prepared.jobs, "watts_used")
        watts = planned if real is None else np.where(np.isnan(real), planned, real)
        watts = watts[prepared.accepted][job]
        nodes = self.plan.caps[c].nodes
        if nodes is not None:
            given = schedule.energy.given
            mine = np.isin(given.node, nodes) * given.procs
            total = np.concatenate([[0], np.cumsum(mine)])
            watts = watts * np.diff(total[given.first]) / procs[job]
        lasting = stop > start
        first = float(schedule.epochs[0][0])
        last = max(schedule.last, first)
        idle = float(self.plan.idle[c])
        return billing.stretch_steps(
            start[lasting], stop[lasting], watts[lasting], first, last, idle
        )

    @cached_property
    def kept(self) -> tuple[billing.BesideCap, ...]:
        """How each cap was kept."""
        caps = self.steps_by_name().values()
        return tuple(billing.beside_cap(*power, *cap) for power, cap in caps)

    def steps_by_name(self) -> dict[str, tuple[tuple[Floats, Floats], tuple[Floats, Floats]]]:
        """Of each cap: instants (s) and the W of its nodes from each on; the same of the cap."""
        steps = {}
        for c, cap in enumerate(self.plan.caps):
            since = np.array([begin for begin, *_ in cap.cap.steps])
            most = np.array([watts for *_, watts in cap.cap.steps])
            steps[cap.name] = self.steps(c), (since, most)
        return steps

    def as_dict(self) -> dict[str, Any]:
        """The caps by name: watts, the peak beside them, and for how long they were exceeded."""
        caps = {}
        for cap, kept in zip(self.plan.caps, self.kept, strict=True):
            caps[cap.name] = {
                "watts": max(cap.cap.watts),
                "least_watts": min(cap.cap.watts),
                "peak_watts": kept.peak,
                "exceeded_seconds": kept.exceeded,
                "excess_watts": kept.excess,
                "kept_by": "rate" if self.plan.by_rate else "waiting",
            }
        first, stated = caps[self.plan.caps[0].name], int((self.plan.of_task >= 0).sum())
        if self.plan.assumed:
            first["assumed_watts_jobs"] = self.plan.assumed
        if stated > self.plan.assumed:
            first["stated_watts_jobs"] = stated - self.plan.assumed
        return caps

    @property
    def is_sure(self) -> bool:
        """Whether no cap can have been exceeded.

        Where jobs say themselves what they add, that is only as true as they are. A cap that falls
        needs jobs that end as planned, at the latest.
        """
        plan, prepared, run = self.plan, self._schedule.prepared, self._schedule.run
        if prepared.external is not None and self._schedule.states is not None:
            # A node that fails while it is asleep comes back awake, whatever is free.
            return False
        if plan.by_rate:
            return True
        if (plan.of_task >= 0).any():
            measured = prepared.cluster.has_watts or "watts_used" in prepared.jobs.names
            if measured:
                return False
        if all(len(steps) == 1 for steps in plan.levels):
            return True
        blind = prepared.options.foresight == "log" and prepared.cluster.is_named
        if not prepared.control.is_constant or blind:
            return False
        if prepared.policy.preemptive:
            return prepared.external is None
        return not bool(np.any(run.jobs.work > run.jobs.plan))

    def check(self) -> None:
        """Raise RunError if a cap was exceeded that cannot have been."""
        for cap, kept in zip(self.plan.caps, self.kept, strict=True):
            if kept.exceeded > 0 and self.is_sure:
                raise RunError(
                    f"the cap of {cap.name} was exceeded by {kept.excess!r} W for "
                    f"{kept.exceeded!r} s; please report this as a bug"
                )
