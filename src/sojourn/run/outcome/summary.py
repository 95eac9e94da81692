"""The measures of a schedule, by name."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...__about__ import __version__
from ...measures import formulas
from ...measures.recorded import recorded_beside
from ..build.deferring import Deferred
from ..build.machine import REASONS
from ..options import Prepared
from .aftermath import KILLED, STATUS, Aftermath
from .energy import stretches_held
from .lost import costs_of_failures
from .schedule import Schedule
from .unmodelled import not_acted_on

Chosen = slice | NDArray[np.bool_]


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
    external, options = prepared.external, prepared.options
    assert external is not None
    first = float(submit[0]) if len(submit) else 0.0
    return {
        "given": external.given_by(schedule.last),
        "unused": external.left_out(prepared.accepted),
        "node_failure": "resume" if prepared.every is not None else options.node_failure or "kill",
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
