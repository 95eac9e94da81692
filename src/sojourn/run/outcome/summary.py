"""The measures of a run as plain numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...__about__ import __version__
from ...measures import formulas
from ...measures.recorded import recorded_beside
from ..build.machine import REASONS
from ..options import Prepared
from .aftermath import KILLED, STATUS, Aftermath
from .energy import stretches_held
from .schedule import Schedule
from .unmodelled import not_acted_on

__all__ = ["summarise"]


def summarise(schedule: Schedule) -> dict[str, Any]:
    """Return the measures of a run, ready for JSON; see `docs/reference/summary`."""
    prepared, jobs, ran = schedule.prepared, schedule.run.jobs, _counted(schedule)
    log, options, cluster = prepared.jobs, prepared.options, prepared.cluster
    submit, procs = schedule.submit[ran], jobs.procs[ran]
    ended = len(jobs.submit[schedule.ended])
    wait, sojourn = schedule.start[ran] - submit, schedule.end[ran] - submit
    service = schedule.service[ran]
    slowdown = formulas.slowdown(sojourn, service)
    killed = int(np.count_nonzero(schedule.status == STATUS.index(KILLED)))
    unaccepted = log.job[~prepared.accepted]
    told: dict[str, Any] = {
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
        "wait": formulas.describe(wait),
        "sojourn": formulas.describe(sojourn),
        "service": formulas.describe(service),
        "slowdown": formulas.describe(slowdown),
        "bounded_slowdown": formulas.describe(formulas.bounded_slowdown(sojourn, service)),
        "weighted_response": formulas.weighted_response(sojourn, procs),
        "weighted_slowdown": formulas.weighted_slowdown(slowdown, procs * service),
        **_system(schedule),
    }
    begun = _begin(schedule, ran)
    if begun is not None:
        told["begin"] = begun
    recorded = _recorded(prepared, ran, wait, service)
    if recorded is not None:
        told["recorded"] = recorded
    if options.warmup:
        told["warmup"] = options.warmup
    if cluster.is_named:
        told |= {
            "awt": formulas.average_wait(wait),
            "art": formulas.average_response(sojourn),
            "nodes": len(cluster.nodes),
            "processor": cluster.processor,
            "placement": str(options.placement),
            "constraints": str(options.constraints),
            "foresight": options.foresight,
        }
        if cluster.has_speeds:
            slowness = schedule.slowness[ran]
            told["mean_slowness"] = float(np.mean(slowness)) if len(submit) else np.nan
    if schedule.after is not None and prepared.external is not None:
        told["events"] = _events(schedule, schedule.after)
    told |= _parts(schedule, ran)
    told["not_modelled"] = [
        *not_acted_on(log, prepared.policy, options.constraints, cluster),
        *prepared.remarks,
    ]
    told["cleaning"] = log.report.as_dict()
    return told


def _parts(schedule: Schedule, ran: slice | NDArray[np.bool_]) -> dict[str, Any]:
    """What became of each resource of named nodes, and of each of several partitions."""
    told: dict[str, Any] = {}
    if schedule.prepared.cluster.is_named and len(schedule.end):
        told["resources"] = schedule.resources.as_dict()
    partitions = _partitions(schedule, ran)
    return {**told, "partitions": partitions} if partitions else told


def _partitions(schedule: Schedule, ran: slice | NDArray[np.bool_]) -> dict[str, dict[str, Any]]:
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
    told = {}
    for k, name in enumerate(names):
        here = order[bounds[k] : bounds[k + 1]]
        told[name] = {
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
            told[name] |= schedule.resources.of_nodes(places[name])
    return told


def _begin(schedule: Schedule, ran: slice | NDArray[np.bool_]) -> dict[str, Any] | None:
    """What jobs that asked for a later begin waited for it; None where nobody did."""
    arrival, submit = schedule.run.jobs.submit[ran], schedule.submit[ran]
    later = arrival > submit
    if not later.any():
        return None
    return {
        "jobs": int(np.count_nonzero(later)),
        "before": formulas.describe((arrival - submit)[later]),
        "wait_since": formulas.describe(schedule.start[ran] - arrival),
    }


def _recorded(
    prepared: Prepared, ran: slice | NDArray[np.bool_], wait: Any, service: Any
) -> dict[str, Any] | None:
    """Recorded beside simulated waits of the jobs that count; None where the log knows none."""
    log, accepted = prepared.jobs, prepared.accepted
    if "wait" not in log.names:
        return None
    real, runtime = (column[accepted][ran] for column in (log.wait, log.runtime))
    return recorded_beside(real, runtime, wait, service)


def _counted(schedule: Schedule) -> slice | NDArray[np.bool_]:
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
        "given": external.given,
        "unused": external.left_out(prepared.accepted),
        "node_failure": prepared.options.node_failure,
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

    if run.in_pieces:
        _, began, stopped = schedule.stretches
        area = formulas.product_sum(stretches_held(run), stopped - began)
    else:
        area = formulas.product_sum(run.held[ended], schedule.service[ended])
    epochs, rates = schedule.epochs
    lasted = np.diff(np.append(epochs, max(last, epochs[-1])))
    shares = {f"{r:g}": mean(lasted[rates == r].sum()) for r in np.unique(rates)}
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
        "rate_switches": len(epochs) - 1,
        "energy": schedule.energy.bill(span),
    }
