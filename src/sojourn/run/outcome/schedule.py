"""The schedule that a run made: who was served when, at what rate, and its measures."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...__about__ import __version__
from ...engine.drive import Run
from ...errors import OptionError, RunError
from ...measures import formulas
from ...measures.recorded import recorded_beside
from ..build.deferring import Deferred
from ..build.machine import REASONS
from ..options import Prepared
from .aftermath import KILLED, STATUS, Aftermath, aftermath
from .caps import CapAccount
from .domains import DomainRates
from .energy import Allocation, Energy, Stretches, allocation, stretches_held, stretches_in_pieces
from .ledger import EnergyLedger
from .lost import costs_of_failures, rate_epochs
from .resources import Resources
from .states import NodeStates
from .unmodelled import not_acted_on

__all__ = ["Schedule", "summarise"]

Floats = NDArray[np.float64]
Chosen = slice | NDArray[np.bool_]

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
        killed = self.prepared.killed
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
        return allocation(self.run)

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


def summarise(schedule: Schedule) -> dict[str, Any]:
    """Return the measures of a run, ready for JSON; see `docs/reference/summary`."""
    prepared, jobs, ran = schedule.prepared, schedule.run.jobs, _counted(schedule)
    log, options, cluster = prepared.jobs, prepared.options, prepared.cluster
    submit, procs = schedule.submit[ran], jobs.procs[ran]
    ended = len(jobs.submit[schedule.ended])
    wait, sojourn = schedule.start[ran] - submit, schedule.end[ran] - submit
    service = schedule.service[ran]
    killed = int(np.count_nonzero(schedule.status == STATUS.index(KILLED)))
    unaccepted = log.job[~prepared.accepted]
    summary: dict[str, Any] = {
        "version": __version__,
        "procs": cluster.procs,
        "policy": str(prepared.policy),
        "rate": str(prepared.control),
        "estimates": options.estimates,
        "over_limit": options.over_limit,
        "passes": options.passes,
        "seed": options.seed,
        "jobs": len(log),
        "completed": ended - killed,
        "killed": killed,
        "unaccepted": len(unaccepted),
        "unaccepted_jobs": unaccepted[:100].tolist(),
        "unaccepted_reasons": _reasons(prepared),
        **formulas.describe_jobs(wait, sojourn, service, procs),
        **_system(schedule),
    }
    begun = _begin(schedule, ran)
    if begun is not None:
        summary["begin"] = begun
    if prepared.deferred is not None:
        summary |= _deferred(schedule, prepared.deferred, ran)
    recorded = _recorded(prepared, ran, wait, service)
    if recorded is not None:
        summary["recorded"] = recorded
    if options.warmup:
        summary["warmup"] = options.warmup
    if cluster.is_named:
        summary |= {
            "awt": formulas.average_wait(wait),
            "art": formulas.average_response(sojourn),
            "nodes": len(cluster.nodes),
            "processor": cluster.processor,
            "placement": str(options.placement),
            "constraints": str(options.constraints),
            "foresight": options.foresight,
        }
        if schedule.states is not None:
            summary["sleep"] = {"policy": str(options.sleep), **schedule.states.as_dict()}
        if cluster.has_speeds:
            slowness = schedule.slowness[ran]
            summary["mean_slowness"] = float(np.mean(slowness)) if len(submit) else np.nan
    if schedule.after is not None and prepared.external is not None:
        summary["events"] = _events(schedule, schedule.after)
    if options.failures is not None or options.checkpoint is not None:
        costs = costs_of_failures(schedule)
        if costs is not None:
            summary["failures"] = costs
    if schedule.caps is not None:
        summary["caps"] = schedule.caps.as_dict()
    summary |= _parts(schedule, ran)
    summary["not_modelled"] = [
        *not_acted_on(log, prepared.policy, options.constraints, cluster),
        *prepared.remarks,
    ]
    summary["cleaning"] = log.report.as_dict()
    return summary


def _parts(schedule: Schedule, ran: Chosen) -> dict[str, Any]:
    """What became of each resource of named nodes, of several partitions, and of domains."""
    parts: dict[str, Any] = {}
    if schedule.prepared.cluster.is_named and len(schedule.end):
        parts["resources"] = schedule.resources.as_dict()
    partitions = _partitions(schedule, ran)
    if partitions:
        parts["partitions"] = partitions
    if schedule.domains is not None and len(schedule.end):
        parts["domains"] = schedule.domains.as_dict()
    return parts


def _partitions(schedule: Schedule, ran: Chosen) -> dict[str, dict[str, Any]]:
    """Measures of the jobs of each partition that log or cluster know, and use of its nodes.

    Measures over jobs are of those that count, as those of the whole run are.
    """
    prepared = schedule.prepared
    log, accepted = prepared.jobs, prepared.accepted
    codes, names = log.coded("partition")
    places = {part.name: part.nodes for part in prepared.cluster.partitions}
    names = [*names, *(name for name in places if name not in names)]
    if len(names) < 2:
        return {}
    jobs = np.bincount(codes + 1, minlength=len(names) + 1)[1:]
    refused = np.bincount(codes[~accepted] + 1, minlength=len(names) + 1)[1:]
    mine = codes[accepted][ran]
    columns = schedule.run.jobs
    submit, service = schedule.submit[ran], schedule.service[ran]
    wait, sojourn = schedule.start[ran] - submit, schedule.end[ran] - submit
    area = columns.procs[ran] * service
    whole = float(area.sum())
    order = np.argsort(mine, kind="stable")
    bounds = np.searchsorted(mine[order], np.arange(len(names) + 1))
    measures = {}
    for k, name in enumerate(names):
        here = order[bounds[k] : bounds[k + 1]]
        measures[name] = {
            "jobs": int(jobs[k]),
            "unaccepted": int(refused[k]),
            "share": float(area[here].sum()) / whole if whole > 0 else float("nan"),
            "wait": formulas.describe(wait[here]),
            "slowdown": formulas.describe(formulas.slowdown(sojourn[here], service[here])),
            "bounded_slowdown": formulas.describe(
                formulas.bounded_slowdown(sojourn[here], service[here])
            ),
        }
        if name in places and len(schedule.end):
            measures[name] |= schedule.resources.of_nodes(places[name])
    return measures


def _begin(schedule: Schedule, ran: Chosen) -> dict[str, Any] | None:
    """What jobs that asked for a later begin waited for it; None where nobody did."""
    arrival, submit = schedule.run.jobs.submit[ran], schedule.submit[ran]
    deferred = schedule.prepared.deferred
    if deferred is not None:
        # Whoever is held did not ask for it.
        arrival = deferred.came[schedule.prepared.accepted][ran]
    later = arrival > submit
    if not later.any():
        return None
    return {
        "jobs": int(np.count_nonzero(later)),
        "before": formulas.describe((arrival - submit)[later]),
        "wait_since": formulas.describe(schedule.start[ran] - arrival),
    }


def _deferred(schedule: Schedule, deferred: Deferred, ran: Chosen) -> dict[str, dict[str, Any]]:
    """What jobs that may be held for cheap or clean electricity had of it, and all others."""
    prepared, energy = schedule.prepared, schedule.energy
    mine = prepared.accepted
    held = deferred.held[mine][ran]
    came, latest = (column[mine][ran] for column in (deferred.came, deferred.latest))
    start, submit = schedule.start[ran], schedule.submit[ran]
    hold = schedule.run.jobs.submit[ran] - came
    late = int(np.count_nonzero(start[held] > latest[held]))
    if deferred.until is not None:
        late = int(np.count_nonzero(schedule.end[ran][held] > deferred.until[mine][ran][held]))
    costs = {"joules": energy.jobs, **energy.job_costs}

    def of(which: NDArray[np.bool_]) -> dict[str, Any]:
        waits = formulas.describe((start - submit)[which])
        spent = {name: float(values[ran][which].sum()) for name, values in costs.items()}
        if "carbon" in spent:
            spent["carbon_kg"] = spent.pop("carbon") / 1000
        words = {f"wait_{name}": waits.get(name, np.nan) for name in ("mean", "p95")}
        return {"jobs": int(np.count_nonzero(which)), **words, **spent}

    times = formulas.describe(hold[held])
    return {
        "deferred": {
            "how": str(prepared.options.defer),
            "held": int(np.count_nonzero(hold[held] > 0)),
            "late": late,
            **{f"hold_{name}": times.get(name, np.nan) for name in ("mean", "max")},
            **of(held),
        },
        "others": of(~held),
    }


def _recorded(prepared: Prepared, ran: Chosen, wait: Any, service: Any) -> dict[str, Any] | None:
    """Recorded beside simulated waits of the jobs that count; None where the log knows none."""
    log, accepted = prepared.jobs, prepared.accepted
    if "wait" not in log.names:
        return None
    real, runtime = (column[accepted][ran] for column in (log.wait, log.runtime))
    return recorded_beside(real, runtime, wait, service)


def _counted(schedule: Schedule) -> Chosen:
    """Which accepted jobs the measures over jobs are of: those that ended, after the warm-up."""
    skipped, ended = schedule.prepared.options.warmup, schedule.ended
    if not skipped:
        return ended
    if isinstance(ended, slice):
        return slice(skipped, None)
    counted = ended.copy()
    counted[:skipped] = False
    return counted


def _events(schedule: Schedule, after: Aftermath) -> dict[str, Any]:
    """Counts of external events and of the jobs they struck; processor-seconds lost."""
    prepared, submit = schedule.prepared, schedule.run.jobs.submit
    external = prepared.external
    assert external is not None
    first = float(submit[0]) if len(submit) else 0.0
    return {
        "given": external.given_by(schedule.last),
        "unused": external.left_out(prepared.accepted),
        "node_failure": "resume" if prepared.every is not None else prepared.options.node_failure,
        **after.counts(),
        "down_processor_seconds": external.absence.area(first, max(schedule.last, first)),
    }


def _reasons(prepared: Prepared) -> dict[str, int]:
    """How many jobs were not accepted, by what there was not enough of."""
    count = np.bincount(prepared.reason, minlength=len(REASONS))
    return {word: int(count[i]) for i, word in enumerate(REASONS) if i and count[i]}


def _system(schedule: Schedule) -> dict[str, Any]:
    """Per-system measures, as exact time averages from first submit to last end [eq. 12]."""
    run, end, ended, last = schedule.run, schedule.end, schedule.ended, schedule.last
    if not len(end):
        return {"makespan": 0.0}
    span = float(last - run.jobs.submit[0])
    total = run.s

    def mean(integral: float) -> float:
        return float(integral / span) if span > 0 else float("nan")

    if schedule.in_pieces:
        _, began, stopped = schedule.stretches
        area = formulas.product_sum(stretches_held(run), stopped - began)
    else:
        area = formulas.product_sum(schedule.held[ended], schedule.service[ended])
    epochs, rates = schedule.epochs
    lasted = np.diff(np.append(epochs, max(last, epochs[-1])))
    shares = {f"{r:g}": mean(lasted[rates == r].sum()) for r in np.unique(rates)}
    switches = len(epochs) - 1
    if schedule.domains is not None:
        shares, switches = schedule.domains.shares, schedule.domains.switches
    return {
        "makespan": span,
        "throughput": mean(len(end[ended])),
        "utilisation": mean(area / schedule.prepared.cluster.procs),
        "mean_present": mean(total.queue_time + total.service_time),
        "mean_queue": mean(total.queue_time),
        "mean_busy": mean(area),
        "mean_workload": mean(total.workload),
        "mean_workload_at_epochs": mean(total.workload_left),
        "potential_load": mean(total.potential),
        "effective_load": mean(total.effective),
        "job_wasting": mean(total.waste),
        "rate_shares": shares,
        "rate_switches": switches,
        "energy": schedule.energy.bill(span),
    }
