"""Validate, run the kernel, return the result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .cluster import Cluster
from .engine.drive import Laws, Run, backfill_code, load_kernel
from .engine.state import CONSERVATIVE, EASY, Orders, Rules
from .engine.types import JobView, empty_jobs
from .errors import JobError, OptionError
from .options import Options, Prepared
from .policy import Control, Policy, Score, parse_control, parse_policy
from .policy.orders import ORDERS
from .result import Result
from .workload import Jobs
from .workload import clean as clean_jobs

__all__ = ["Options", "preload", "prepare", "simulate"]

Floats = NDArray[np.float64]

_LONGEST = 1e15


def simulate(
    jobs: Jobs,
    cluster: Cluster | int,
    policy: str | Policy | Score = "easy",
    *,
    rate: Control | float | str | None = None,
    progress: Callable[[int, int], None] | None = None,
    **options: Any,
) -> Result:
    """Schedule jobs on a cluster.

    Parameters
    ----------
    jobs : the job stream.
    cluster : the machine, or its number of processors.
    policy : a name, ``ORDER[+BACKFILL[:K][@ORDER]]``, a `Policy` or a `Score`.
    rate : service-rate control; default: always 1.
    progress : called with (jobs arrived, jobs) from time to time.
    **options : see `Options`: estimates, over_limit, passes, reference_rate, record, seed, clean.

    Examples
    --------
    >>> import sojourn
    >>> jobs = sojourn.lublin(100, 64, load=0.7, seed=1)
    >>> result = sojourn.simulate(jobs, 64, "easy", estimates="exact")
    >>> len(result.jobs)
    100
    """
    run, prepared = prepare(jobs, cluster, policy, rate=rate, **options)
    run.to_the_end(progress)
    return Result(prepared, run)


def prepare(
    jobs: Jobs,
    cluster: Cluster | int,
    policy: str | Policy | Score = "easy",
    *,
    rate: Control | float | str | None = None,
    stop_at_decisions: bool = False,
    **options: Any,
) -> tuple[Run, Prepared]:
    """Validate everything and set up a run at time zero."""
    chosen = _options(options)
    machine = cluster if isinstance(cluster, Cluster) else Cluster.homogeneous(cluster)
    scheduling = parse_policy(policy)
    control = parse_control(rate)
    if chosen.clean:
        jobs = clean_jobs(jobs, procs=machine.procs, rules=chosen.clean)
    jobs = _validated(jobs)
    accepted = jobs.procs <= machine.procs
    view, killed = _view(jobs[accepted] if not accepted.all() else jobs, chosen)
    rules = _rules(view, machine, scheduling, control, chosen, stop_at_decisions)
    run = Run(
        view,
        rules,
        _orders(view, scheduling),
        _laws(scheduling, control),
        control.initial,
        _coins(control, chosen.seed, len(view.submit)),
    )
    return run, Prepared(jobs, accepted, killed, machine, scheduling, control, chosen)


def preload(
    policy: str | Policy | Score = "easy", rate: Control | float | str | None = None
) -> None:
    """Load the compiled code of a policy and a control, so that a run with them starts at once."""
    scheduling, control = parse_policy(policy), parse_control(rate)
    _laws(scheduling, control)
    load_kernel(_rules(empty_jobs(), Cluster(1), scheduling, control, Options(), False))


def _options(given: dict[str, Any]) -> Options:
    known = Options.__dataclass_fields__
    for name in given:
        if name not in known:
            raise OptionError(f"simulate: unknown option '{name}'; it takes {', '.join(known)}")
    if isinstance(given.get("clean"), (list, Sequence)) and not isinstance(given["clean"], str):
        given = {**given, "clean": tuple(given["clean"])}
    return Options(**given)


def _validated(jobs: Jobs) -> Jobs:
    """Jobs a kernel can run, in submission order; else an error that names the first bad one."""
    too_long = f"more than {_LONGEST:g} s, beyond which seconds are not told apart"
    for field_name, bad, problem in (
        ("procs", jobs.procs < 1, "at least 1 processor is needed"),
        ("runtime", jobs.work < 0, "a runtime is not negative"),
        ("submit", jobs.submit < 0, "a submit time is not negative"),
        ("submit", ~(jobs.submit <= _LONGEST), too_long),
        ("runtime", ~(jobs.work <= _LONGEST), too_long),
        ("estimate", ~(jobs.estimate <= _LONGEST), too_long),
    ):
        if bad.any():
            job = int(jobs.job[np.argmax(bad)])
            raise JobError(job, field_name, f"{problem}; correct the job or clean the log")
    if np.any(jobs.submit[1:] < jobs.submit[:-1]):
        return jobs.sorted()
    return jobs


def _view(jobs: Jobs, options: Options) -> tuple[JobView, NDArray[np.bool_]]:
    """The columns the kernels see, and which jobs are killed at their limit."""
    f = np.ascontiguousarray
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
    plan = f(plan)
    view = JobView(
        submit=f(jobs.submit),
        work=f(work),
        plan=plan,
        estimate=plan,
        procs=f(jobs.procs),
        user=f(jobs.user),
        group=f(jobs.group),
        queue=f(jobs.queue),
        partition=f(jobs.partition),
        memory=f(jobs.memory),
    )
    return view, killed


def _rules(
    view: JobView,
    cluster: Cluster,
    policy: Policy,
    control: Control,
    options: Options,
    stop_at_decisions: bool,
) -> Rules:
    own = policy.backfill_score
    code = backfill_code(policy.backfill, policy.reservations)
    return Rules(
        servers=int(cluster.procs),
        backfill=code,
        reservations=int(min(policy.reservations, max(len(view.submit), 1))),
        dynamic_order=policy.score.depends_on_time,
        dynamic_backfill=own is not None and own.depends_on_time,
        own_backfill_order=own is not None,
        longest_first=policy.score.name == "ljf",
        per_event=options.passes == "event",
        controlled=not control.is_constant,
        timed_control=control.timed,
        exact=bool(np.array_equal(view.work, view.plan)) and EASY <= code <= CONSERVATIVE,
        may_overrun=bool(np.any(view.work > view.plan)) or options.passes == "event",
        record=bool(options.record),
        stop_at_decisions=stop_at_decisions,
    )


def _keys(score: Score | None, view: JobView) -> Floats | None:
    """Scores of all jobs, once, where they do not depend on the time."""
    if score is None or score.depends_on_time:
        return None
    if score is ORDERS["fcfs"]:
        return np.arange(len(view.submit), dtype=np.float64)
    from .engine.scores import score_all

    keys: Floats = score_all(view, score.pointer, score.parameters)
    if np.isnan(keys).any():
        raise JobError(int(np.argmax(np.isnan(keys))), score.name, "the score is not a number")
    return keys


def _orders(view: JobView, policy: Policy) -> Orders:
    return Orders(_keys(policy.score, view), _keys(policy.backfill_score, view))


def _laws(policy: Policy, control: Control) -> Laws:
    order = policy.score
    backfill = policy.backfill_score or order
    unused = ORDERS["fcfs"]
    first = order if order.depends_on_time else unused
    second = backfill if backfill.depends_on_time else unused
    law, wake = control.pointers
    return Laws(
        first.pointer,
        first.parameters,
        second.pointer,
        second.parameters,
        law,
        wake,
        control.parameters,
    )


def _coins(control: Control, seed: int, jobs: int) -> Floats:
    """One uniform draw per arrival and departure (errata 8)."""
    if not control.draws:
        return np.empty(0)
    return np.random.default_rng(seed).random(2 * jobs)
