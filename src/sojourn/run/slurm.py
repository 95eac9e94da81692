"""A run under Slurm's controller: from jobs and a `SlurmPolicy` to the engine's loop."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..cluster import Cluster
from ..errors import JobError, OptionError
from ..jobs import Jobs
from ..jobs import clean as clean_jobs
from ..jobs.arrivals import arrivals_of, order_of_arrival
from ..policy import Control, DomainControl, Placement, parse_placement
from ..policy.sleep import SleepPolicy
from ..policy.slurm.controller import Controller, Pace
from ..policy.slurm.model import make_run
from ..policy.slurm.nodes import NodeTable, node_table
from ..policy.slurm.objections import kind_of_objection
from ..policy.slurm.policy import SlurmPolicy
from ..policy.slurm.requests import Requests, requests_of
from ..policy.slurm.site import SlurmConf
from ..policy.slurm.site_cluster import conf_on
from .build.deferring import defer
from .build.events import before_cleaning, load_events
from .build.machine import REASONS, NamedMachine
from .build.requests import NodeRequests
from .build.slurm_events import (
    external_of,
    happening_of,
    in_the_controllers_clock,
    requests_with_dumps,
)
from .options import Options, Prepared

TIGHTEST = Placement(
    "tightest", "the tightest run of neighbours, or the tightest switch, that is enough", "ordered"
)
"""How Slurm chooses nodes."""

_LONGEST = 1e15
_KB_PER_MB = 1024


def prepare_slurm(
    jobs: Jobs,
    cluster: Cluster | int | None,
    policy: SlurmPolicy,
    control: Control,
    options: Options,
    horizon: float | None = None,
) -> tuple[Controller, Prepared]:
    """Validate everything and set up a run under Slurm at time zero.

    Parameters
    ----------
    jobs : the job stream.
    cluster : the machine, or its number of nodes with one job each; None for that of the
        configuration.
    policy : Slurm, as a site has it.
    control : of the service rate, which must be 1.
    options : of the run.
    horizon : to which failures are drawn (s); default: twice what the jobs should need.
    """
    _check_options(control, options)
    if options.checkpoint is not None and (np.any(policy.launch) or np.any(policy.completion)):
        raise OptionError("checkpoint: does not go with a launch or completion of policy slurm")
    conf, machine = policy.conf, policy.cluster
    if cluster is not None and cluster is not machine:
        given = cluster if isinstance(cluster, Cluster) else Cluster.homogeneous(cluster)
        # That of the file may have been given watts.
        if replace(given, power=machine.power) != machine:
            conf = conf_on(given, conf)
        machine = given if given.is_named else replace(policy, conf=conf).cluster
    if options.over_limit == "run":
        conf = conf.with_parameters({"OverTimeLimit": "UNLIMITED"})
    events = None
    if options.events is not None:
        events = load_events(options.events)
        jobs = before_cleaning(jobs, events)
    if options.clean:
        jobs = clean_jobs(jobs, procs=machine.procs, rules=options.clean)
    jobs = _in_order(_with_estimates(jobs, options))
    deferred = None
    if options.defer is not None:
        jobs, deferred = defer(jobs, options)
        order = order_of_arrival(jobs)
        if order is not None:
            jobs, deferred = jobs[order], deferred.at(order)
    # A job that is held is submitted to Slurm when it is let go.
    known = jobs if deferred is None else jobs.replace(submit=arrivals_of(jobs))
    external = external_of(known, events, machine, options, horizon)
    if external is not None:
        jobs, known = (each.replace(work=external.jobs.work) for each in (jobs, known))
    table = node_table(conf)
    asked = requests_of(known, conf, table)
    saves = None
    if options.checkpoint is not None:
        drawn = None if external is None else external.beside
        mtbf = None if drawn is None else drawn.mtbf
        saves = options.checkpoint, options.checkpoint.intervals(asked.nodes, mtbf)
        asked = requests_with_dumps(asked, *saves)
    place_of = {node.name: at for at, node in enumerate(machine.nodes)}
    place = np.array([place_of[name] for name in table.names], np.int64)
    pace = Pace(epoch=int(asked.origin)) if policy.pace is None else policy.pace
    happening = None
    if external is not None or saves is not None:
        returns = saves is not None or _returns(options, conf)
        happening = happening_of(external, conf, pace, place, saves, returns)
    run = make_run(
        conf,
        table,
        asked,
        pace=pace,
        launch=policy.launch,
        completion=policy.completion,
        record=bool(options.record),
        cluster=machine,
        happening=happening,
    )
    reason = np.array([REASONS.index(kind_of_objection(text)) for text in run.why], np.int8)
    accepted = reason == 0
    if options.warmup and options.warmup >= np.count_nonzero(accepted):
        raise OptionError(
            f"warmup {options.warmup}: there are {np.count_nonzero(accepted)} jobs, and none would "
            "be left; give less"
        )
    run.places = place
    named = NamedMachine(machine, TIGHTEST, reason, _held_by(asked, table, machine))
    remarks = [*conf.not_modelled, *asked.said]
    if machine.has_speeds:
        remarks.append("speeds of nodes: jobs run as long as recorded")
    plan, sleep = run.power_plan, options.sleep
    if plan is not None:
        remarks += [*plan.said, *_passed_over(machine, policy)]
        # For what is said of the run: its own loop decides.
        sleep = SleepPolicy(plan.idle_time, text=plan.text)
    return run, Prepared(
        jobs,
        reason,
        np.zeros(np.count_nonzero(accepted), np.bool_),
        machine,
        policy,
        control,
        options.changed(
            placement=TIGHTEST,
            sleep=sleep,
            node_failure="requeue" if _returns(options, conf) else "kill",
        ),
        named,
        None if external is None else in_the_controllers_clock(external, pace.zero),
        None if saves is None else saves[1][accepted],
        remarks=tuple(remarks),
        deferred=deferred,
    )


def _passed_over(machine: Cluster, policy: SlurmPolicy) -> Iterator[str]:
    """Say what the cluster's own file has of sleep that Slurm does not act on."""
    saving = None if machine is policy.cluster else machine.power_saving
    if saving is not None and (saving.excluded_nodes or saving.excluded_partitions):
        yield "nodes that stay on: SuspendExcNodes and SuspendExcParts say which"
    if any(state.leave_varies for node in machine.nodes for state in node.server.states.sleep[:1]):
        yield "leave_varies: each boot takes the mean, leave"


def _returns(options: Options, conf: SlurmConf) -> bool:
    """Whether jobs of failed nodes wait again."""
    return conf.brings_back if options.node_failure is None else options.node_failure == "requeue"


def _check_options(control: Control, options: Options) -> None:
    """Refuse what Slurm decides itself, or what its model has no place for."""
    placement = parse_placement(options.placement)
    refused = (
        ("rate", isinstance(control, DomainControl), "the service rate is 1"),
        ("rate", not control.is_constant or control.initial != 1.0, "the service rate is 1"),
        ("reference_rate", options.reference_rate != 1.0, "the service rate is 1"),
        ("passes", options.passes != "instant", "its loops look when it is their turn"),
        ("placement", placement.name != "first-fit", "it chooses nodes itself"),
        ("constraints", not options.constraints.are_none, "jobs ask for what their table says"),
        ("foresight", options.foresight != "nodes", "it plans by limits"),
        ("sleep", not options.sleep.is_never, "its nodes sleep as slurm.SuspendTime says"),
        ("sleep_rate", options.sleep_rate is not None, "slurm.SuspendRate says it"),
        ("wake_rate", options.wake_rate is not None, "slurm.ResumeRate says it"),
        ("boot_failure", options.boot_failure > 0, "its nodes always come up"),
        (
            "decisions",
            options.decisions,
            "the column started_by of the jobs says which loop started each",
        ),
    )
    for name, given, why in refused:
        if given:
            raise OptionError(f"{name}: has no meaning with policy slurm: {why}; leave it out")


def _with_estimates(jobs: Jobs, options: Options) -> Jobs:
    """Return jobs with the limits that the options ask for."""
    if options.factor is None:
        return jobs
    return jobs.replace(estimate=np.where(jobs.work >= 0, jobs.work * options.factor, -1.0))


def _in_order(jobs: Jobs) -> Jobs:
    """Return jobs by submit; an error names the first that comes before time or too late."""
    bad = ~((jobs.submit >= 0) & (jobs.submit <= _LONGEST))
    if bad.any():
        job = int(jobs.job[np.argmax(bad)])
        problem = f"a submit time is from 0 to {_LONGEST:g} s; correct the job or clean the log"
        raise JobError(job, "submit", problem)
    return jobs.sorted() if np.any(jobs.submit[1:] < jobs.submit[:-1]) else jobs


def _held_by(asked: Requests, table: NodeTable, cluster: Cluster) -> NodeRequests:
    """What jobs hold of the cluster's resources, as measures of nodes want it."""
    count = asked.submit.size
    names = cluster.resource_names
    need = np.zeros((len(names), count), np.int64)
    need[0] = asked.cpus
    if cluster.capacity[1].any():
        need[1] = asked.memory * _KB_PER_MB
    if table.gres in names:
        need[names.index(table.gres)] = asked.gpus
    none = np.zeros(count, np.bool_)
    everywhere: NDArray[np.bool_] = np.ones((1, len(cluster.nodes)), np.bool_)
    return NodeRequests(
        resources=names,
        capacity=cluster.capacity,
        pools=np.zeros(len(names), np.int64),
        tasks=asked.nodes,
        need=need,
        per_node=np.zeros_like(need),
        licence=np.zeros_like(need),
        whole=asked.whole,
        distinct=~none,
        choice=np.zeros(count, np.int64),
        choices=np.ones(count, np.int64),
        eligible=everywhere,
        budget=np.full(count, np.inf),
        refused=none,
        unlicensed=none,
        in_partition=everywhere,
    )
