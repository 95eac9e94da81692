"""Validate, run the kernel, return the result."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import Floats
from ..cluster import Cluster
from ..engine.drive import Run
from ..engine.types import JobView
from ..errors import JobError, OptionError
from ..jobs import ExternalEvents, Jobs
from ..jobs import clean as clean_jobs
from ..jobs.arrivals import arrivals_of, order_of_arrival
from ..jobs.schema import MISSING
from ..jobs.table import check_jobs
from ..measures.cost.clock import Clock
from ..policy import (
    Control,
    DomainControl,
    Policy,
    Score,
    nodes_of_domains,
    parse_caps,
    parse_control,
    parse_policy,
)
from ..policy.control import with_power
from ..policy.slurm.policy import SlurmPolicy
from .build.caps import plan_caps, rate_watts
from .build.deferring import defer
from .build.domains import check_domains
from .build.engine import finish, make_run
from .build.events import before_cleaning, load_events, take_events
from .build.failing import beside_of, nodes_of
from .build.machine import REASONS, NamedMachine, build_machine
from .build.queues import (
    check_queues,
    forbidden_by_queues,
)
from .build.sleep import depths_in_use
from .options import Options, Prepared, with_keywords
from .result import Result

__all__ = ["Options", "machine_of", "outlasting", "prepare", "simulate", "validated"]


_LONGEST = 1e15
_TIMES = 8
"""How often a run may be done again because it is longer than its failures go."""

_ASKED = ("account", "qos", "nodes", "gpus")
"""Columns that scores see besides those of the Standard Workload Format."""


@with_keywords
def simulate(
    jobs: Jobs,
    cluster: Cluster | int | None,
    policy: str | Policy | Score = "easy",
    *,
    rate: Control | float | str | Mapping[str, Any] | None = None,
    progress: Callable[[int, int], None] | None = None,
    **options: Any,
) -> Result:
    """Schedule jobs on a cluster.

    Parameters
    ----------
    jobs : the job stream.
    cluster : the machine, or its number of processors; None for that of a policy which has one,
        as `sojourn.slurm` has.
    policy : a name, ``ORDER[+BACKFILL[:K][@ORDER]]``, ``slurm:FILE``, a `Policy` or a `Score`.
    rate : service-rate control; default: always 1. By partition or names of nodes, as
        ``{"gpu": "count:0.8,1:2:5"}``, where these have rates of their own.
    progress : called with (jobs arrived, jobs) from time to time.
    **options : the keywords of `Options`.

    Examples
    --------
    >>> import sojourn
    >>> jobs = sojourn.lublin(100, 64, load=0.7, seed=1)
    >>> result = sojourn.simulate(jobs, 64, "easy", estimates="exact")
    >>> len(result.jobs)
    100
    """
    held = options.get("defer")
    deferral = None if held is None else Options(**options).defer
    if deferral is not None and deferral.kind == "pieces":
        control = parse_control(rate)
        if isinstance(control, DomainControl):
            raise OptionError(
                "defer 'pieces': jobs run in pieces only where all servers have one rate; give "
                "rate without domains, or another defer",
                key="defer.kind",
            )
        from .pieces import simulate_in_pieces

        return simulate_in_pieces(jobs, cluster, policy, control, progress, options)
    run, prepared = outlasting(
        lambda horizon: prepare(jobs, cluster, policy, rate=rate, horizon=horizon, **options),
        lambda run, prepared: finish(run, prepared, progress),
    )
    return Result(prepared, run)


def outlasting(
    make: Callable[[float | None], tuple[Run, Prepared]], finish: Callable[[Run, Prepared], None]
) -> tuple[Run, Prepared]:
    """Run to the end, again with failures to twice the horizon while the run is longer than that.

    Parameters
    ----------
    make : returns a run at time zero with failures to a horizon (s); None: the usual one.
    finish : takes a run to its end.
    """
    horizon: float | None = None
    for _ in range(_TIMES):
        run, prepared = make(horizon)
        finish(run, prepared)
        if not prepared.is_outlived(float(run.s.now)):
            return run, prepared
        assert prepared.external is not None
        assert prepared.external.beside is not None
        begin = float(run.jobs.submit[0])
        horizon = begin + 2 * (prepared.external.beside.horizon - begin)
    raise OptionError(
        f"failures: at {run.s.now:g} s jobs still fail and begin again, or wait for nodes that are "
        "never all up; give checkpoint, a larger mtbf or a shorter repair",
        key="failures.mtbf",
    )


@with_keywords
def prepare(
    jobs: Jobs,
    cluster: Cluster | int | None,
    policy: str | Policy | Score = "easy",
    *,
    rate: Control | float | str | Mapping[str, Any] | None = None,
    stop_at_decisions: bool = False,
    horizon: float | None = None,
    **options: Any,
) -> tuple[Run, Prepared]:
    """Validate everything and set up a run at time zero.

    Parameters
    ----------
    jobs, cluster, policy, rate : as for `simulate`.
    stop_at_decisions : hand every decision to the caller.
    horizon : to which failures are drawn (s); default: twice what the jobs should need.
    **options : the keywords of `Options`.
    """
    check_jobs(jobs)
    chosen = Options(**options)
    scheduling = parse_policy(policy)
    control = parse_control(rate)
    if isinstance(scheduling, SlurmPolicy):
        if stop_at_decisions:
            raise OptionError("policy 'slurm' cannot be stepped: its loops decide; give another")
        if chosen.cap is not None:
            raise OptionError("policy 'slurm' keeps no cap; leave it out, or give another policy")
        from .slurm import prepare_slurm

        return prepare_slurm(jobs, cluster, scheduling, control, chosen, horizon)
    machine = machine_of(cluster, [scheduling])
    if isinstance(control, DomainControl):
        check_domains(control, scheduling, chosen)
        nodes_of_domains(control, machine)
    events = None
    if chosen.events is not None:
        events = load_events(chosen.events)
        jobs = before_cleaning(jobs, events)
    given = jobs
    if chosen.clean:
        jobs = clean_jobs(jobs, procs=machine.procs, rules=chosen.clean)
    jobs = validated(jobs)
    deferred = None
    if chosen.defer is not None:
        jobs, deferred = defer(jobs, chosen)
    order = order_of_arrival(jobs)
    if deferred is not None and order is not None:
        deferred = deferred.at(order)
    if chosen.constraints.are_by_job:
        if not np.array_equal(jobs.job, given.job):
            raise OptionError(
                "constraints are given job by job, but cleaning drops jobs or puts them in order; "
                "clean and sort the jobs first, and give those of the jobs that are left"
            )
        if order is not None:
            raise OptionError(
                "constraints are given job by job, but some jobs begin later than others that "
                "were submitted after them; sort the jobs by submit or begin, whichever is later"
            )
    external = None
    beside = beside_of(jobs, machine, chosen, horizon, stepped=stop_at_decisions)
    if events is not None or beside is not None:
        external = take_events(events or ExternalEvents(()), jobs, machine, beside)
        if order is not None:
            external = external.reordered(order)
        jobs = external.jobs
    elif order is not None:
        jobs = jobs[order]
    if machine.queues:
        check_queues(machine, scheduling)
    named = _named(jobs, machine, chosen)
    reason = _reasons(jobs, machine, named, chosen)
    depths = () if chosen.sleep.is_never else depths_in_use(machine, chosen.sleep.depth)
    clock = None if chosen.cap is None else Clock.of(jobs.header, chosen.starts)
    limits = parse_caps(chosen.cap, clock=clock)
    caps = plan_caps(limits, jobs, machine, control, named, depths)
    if caps is not None:
        caps.refuse(reason, jobs, named)
        if caps.by_rate:
            powers = rate_watts(machine, np.array(control.rates), depths)
            idle, more = (column.tolist() for column in powers)
            control = with_power(
                control, idle, more, [step[::2] for step in caps.caps[0].cap.steps]
            )
    accepted = reason == 0
    taken = jobs if accepted.all() else jobs[accepted]
    if chosen.warmup and chosen.warmup >= len(taken):
        raise OptionError(
            f"warmup {chosen.warmup}: there are {len(taken)} jobs, and none would be left; "
            "give less",
            key="workload.warmup",
        )
    every = None
    if chosen.checkpoint is not None:
        units = 1 if chosen.failures is None else chosen.failures.procs
        mtbf = None if beside is None else beside.mtbf
        every = chosen.checkpoint.intervals(nodes_of(taken, machine, units), mtbf)
        every = every * chosen.reference_rate
    view, killed = _view(taken, chosen, every)
    prepared = Prepared(
        *(jobs, reason, killed, machine, scheduling, control, chosen, named, external, every),
        caps=caps,
        deferred=deferred,
    )
    return make_run(prepared, taken, view, stop_at_decisions=stop_at_decisions), prepared


def _reasons(
    jobs: Jobs, cluster: Cluster, named: NamedMachine | None, options: Options
) -> NDArray[np.int8]:
    """Why each job can never run, as a place in `REASONS`; 0 if it can."""
    if named is None:
        too_wide = jobs.procs > cluster.procs
        reason = np.where(too_wide, REASONS.index("processors"), 0).astype(np.int8)
    else:
        reason = named.reason.copy()
    if cluster.queues:
        # What a queue lets in is asked before what nodes have besides processors.
        first = [REASONS.index(name) for name in ("processors", "partition")]
        refused = forbidden_by_queues(jobs, cluster, options.factor) & ~np.isin(reason, first)
        reason[refused] = REASONS.index("queue")
    return reason


def _named(jobs: Jobs, cluster: Cluster, options: Options) -> NamedMachine | None:
    """The named nodes of a run, or None where processors are only counted."""
    placement = options.placement
    if cluster.is_named:
        return build_machine(jobs, cluster, placement, options.constraints, options.factor)
    for what, given in (
        (f"placement '{placement.name}'", placement.name != "first-fit"),
        ("constraints", not options.constraints.are_none),
    ):
        if given:
            raise OptionError(
                f"{what}: the cluster has no named nodes; give it some with Cluster.of, "
                "read_cluster or --cluster"
            )
    return None


def machine_of(cluster: Cluster | int | None, policies: Sequence[Policy]) -> Cluster:
    """Return the machine that is given, else that of the first policy which has one."""
    if isinstance(cluster, Cluster):
        return cluster
    if cluster is not None:
        return Cluster.homogeneous(cluster)
    own = next((policy.cluster for policy in policies if isinstance(policy, SlurmPolicy)), None)
    if own is None:
        raise OptionError("cluster: none is given; give one, or its number of processors")
    return own


def validated(jobs: Jobs) -> Jobs:
    """Return jobs that can be run, by submit; else an error names the first bad one."""
    too_long = f"more than {_LONGEST:g} s, beyond which seconds are not told apart"
    for field_name, bad, problem in (
        ("procs", jobs.procs < 1, "at least 1 processor is needed"),
        ("runtime", jobs.work < 0, "a runtime is not negative"),
        ("submit", jobs.submit < 0, "a submit time is not negative"),
        ("submit", ~(jobs.submit <= _LONGEST), too_long),
        ("runtime", ~(jobs.work <= _LONGEST), too_long),
        ("estimate", ~(jobs.estimate <= _LONGEST), too_long),
        ("begin", ~(arrivals_of(jobs) <= _LONGEST), too_long),
    ):
        if bad.any():
            job = int(jobs.job[np.argmax(bad)])
            raise JobError(job, field_name, f"{problem}; correct the job or clean the log")
    if np.any(jobs.submit[1:] < jobs.submit[:-1]):
        return jobs.sorted()
    return jobs


def _view(jobs: Jobs, options: Options, every: Floats | None) -> tuple[JobView, NDArray[np.bool_]]:
    """The columns the kernels see, and which jobs are killed at their limit.

    With work between dumps of each job, work and plan have their dumps in them.
    """
    f = partial(np.require, requirements=["C", "W"])  # What the kernels' signatures ask for.
    work = jobs.work * options.reference_rate
    limit = np.where(jobs.estimate > 0, jobs.estimate, np.inf) * options.reference_rate
    killed = work > limit if options.over_limit == "kill" else np.zeros(len(jobs), dtype=np.bool_)
    work = np.where(killed, limit, work)
    if options.factor is None:
        plan = np.where(np.isfinite(limit), limit, work)
    elif options.factor == 1.0:
        plan = work
    else:
        plan = work * options.factor
    if every is not None:
        at_rate = replace(options.checkpoint, dump=options.checkpoint.dump * options.reference_rate)
        work, plan = (at_rate.with_dumps(amount, every) for amount in (work, plan))
    plan = f(plan)
    nothing = np.full(len(jobs), MISSING, dtype=np.int64)
    view = JobView(
        submit=f(arrivals_of(jobs)),
        work=f(work),
        plan=plan,
        estimate=plan,
        procs=f(jobs.procs),
        user=f(jobs.user),
        group=f(jobs.group),
        queue=f(jobs.queue),
        partition=f(jobs.partition),
        memory=f(jobs.memory),
        **{name: f(jobs[name]) if name in jobs.names else nothing for name in _ASKED},
    )
    return view, killed
