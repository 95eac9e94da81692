"""A run as the engine is handed it, and the user's own functions in it: tried out, and watched."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...arrays import Floats
from ...cluster import Cluster
from ...engine.checkpoints import CHECKPOINT
from ...engine.drive import Orders, PolicyFunctions, Rules, Run
from ...engine.preloading import KernelKind, load_kernel
from ...engine.queues import CHANGING, QueueRules
from ...engine.types import JobView
from ...jobs import Jobs
from ...policy import Control, DomainControl, Placement, Policy, Score
from ...policy.checking import Scene, Watch
from ...policy.orders import ORDERS
from ...policy.slurm.policy import SlurmPolicy
from .domains import domain_facts
from .foreseen import with_foreseen
from .machine import empty_nodes
from .queues import queue_rules, queue_scores, queues_of, ranks_of, take_turns
from .sleep import refuse_staggered, sleep_facts

if TYPE_CHECKING:
    from ..options import Options, Prepared


_ANEW = Policy(backfill="easy", reservations=np.inf)
"""Every job has a reservation, made anew in each pass."""


def make_run(
    prepared: Prepared, taken: Jobs, view: JobView, *, stop_at_decisions: bool = False
) -> Run:
    """Return a run at time zero.

    Parameters
    ----------
    prepared : its input.
    taken, view : the jobs that can run, and their columns as the kernels see them.
    stop_at_decisions : hand every decision to the caller.
    """
    policy, control, options = prepared.policy, prepared.control, prepared.options
    cluster, accepted, named = prepared.cluster, prepared.accepted, prepared.machine
    scene = _scene(view, taken.job, cluster)
    if options.check_policy and len(view.submit):
        for order in (policy.score, policy.backfill_score):
            if order is not None and not order.house:
                scene.try_order(order)
        if named is not None and named.placement.score is not None:
            scene.try_placement(named.placement.score)
    calendar = None
    if prepared.external is not None:
        calendar = prepared.external.calendar(
            accepted, preemptive=policy.preemptive, checkpoints=_checkpoints(prepared)
        )
    nodes: Any = None
    domains = None
    if named is not None and isinstance(control, DomainControl):
        domains = domain_facts(control, named, accepted)
    resting = with_foreseen(options.sleep, prepared.jobs, cluster, options)
    sleep, caps = sleep_facts(cluster, policy, options, resting), prepared.caps
    # Where the rate keeps them, nobody waits for watts.
    waits = None if caps is None or caps.by_rate else caps
    if waits is not None:
        refuse_staggered(sleep)
    if named is not None:
        limit = np.where(taken.estimate > 0, taken.estimate, np.inf)
        if prepared.every is not None:
            # It has room for the dumps.
            limit = options.checkpoint.with_dumps(limit, prepared.every / options.reference_rate)
        blind, sleeps = options.foresight == "log", sleep is not None
        several = policy.rule.plans_ahead or policy.reservations > 1
        plans = several or (calendar is not None and len(calendar.reservation) > 0)
        # A reservation must name nodes that draw so much, too.
        names = (sleeps and plans) or (waits is not None and waits.names)
        facts = named.facts(
            accepted,
            options.seed,
            blind,
            names_nodes=names,
            by_node=sleeps or names,
            domain=None if domains is None else domains.node,
        )
        watts = None if waits is None else waits.of_task[accepted]
        nodes = facts, named.needs(accepted, limit, watts)
        nodes = nodes if sleep is None else (*nodes, sleep)
    placement = options.placement if cluster.is_named else None
    orders = orders_of(view, policy, scene.numbers, checked=options.check_policy)
    laws = laws_of(policy, control, placement, checked=options.check_policy)
    if sleep is not None and sleep.keeps:
        laws = replace(laws, keep=resting.pointer, keep_theta=resting.parameters)
    queues = None
    # Where Python decides whom to start, nobody has a turn.
    if cluster.queues and not stop_at_decisions:
        orders, laws, queues = _with_queues(orders, laws, scene, taken, cluster, policy, options)
    return Run(
        view,
        rules_of(view, cluster, policy, control, options, stop_at_decisions),
        orders,
        laws,
        control.initial,
        _coins(control, options.seed, len(view.submit)),
        nodes,
        calendar,
        queues,
        None
        if caps is None
        else caps.rules(
            named,
            accepted,
            float(view.submit[0]) if len(view.submit) else 0.0,
            looks=policy.preemptive,
        ),
        domains,
    )


def _checkpoints(prepared: Prepared) -> NDArray[np.void] | None:
    """What checkpoints cost each accepted job, as work; None where there are none."""
    if prepared.every is None:
        return None
    rule, rate = prepared.options.checkpoint, prepared.options.reference_rate
    costs = np.zeros(len(prepared.every), CHECKPOINT)
    costs["every"] = prepared.every
    costs["dump_time"], costs["restore_time"] = rule.dump * rate, rule.restore * rate
    return costs


def _scene(view: JobView, numbers: NDArray[np.int64], cluster: Cluster) -> Scene:
    """What the functions of a run are evaluated on; `numbers` are those of the jobs."""
    if not cluster.is_named:
        return Scene(view, numbers)
    names = tuple(node.name for node in cluster.nodes)
    return Scene(view, numbers, empty_nodes(cluster), names)


def finish(
    run: Run, prepared: Prepared, progress: Callable[[int, int], None] | None = None
) -> None:
    """Run to the end; PolicyError where a function of the user's makes a mistake on the way."""
    own = watch(run, prepared)
    if own.watched:
        own.around(run.to_the_end, progress)
    else:
        run.to_the_end(progress)


def watch(run: Run, prepared: Prepared) -> Watch:
    """Return the user's own functions in a run, to see what they do."""
    policy, control, laws = prepared.policy, prepared.control, run.laws
    orders = (
        (policy.score, laws.order_theta),
        (policy.backfill_score or policy.score, laws.backfill_theta),
    )
    watched: list[Any] = [
        (score, theta) for score, theta in orders if not score.house and score.depends_on_time
    ]
    placement = prepared.options.placement
    if placement.rule == "scored" and laws.placement_theta is not None:
        watched.append((placement.score, laws.placement_theta))
    if isinstance(control, DomainControl):
        places = zip(control.places[:-1], control.places[1:], strict=True)
        for part, (first, last) in zip(control.controls, places, strict=True):
            if not part.house:
                watched.append((part, laws.control_theta[first:last]))
    elif not control.house:
        watched.append((control, laws.control_theta))
    numbers = prepared.jobs.job[prepared.accepted]
    return Watch(_scene(run.jobs, numbers, prepared.cluster), tuple(watched))


def preload(
    policy: Policy,
    control: Control,
    *,
    named: bool = False,
    decisions: bool = False,
    events: bool = False,
    queues: bool = False,
    anew: bool = False,
) -> None:
    """Load the compiled code of a policy and a control, so that a run with them starts at once.

    Parameters
    ----------
    policy, control : of the run.
    named, decisions, events, queues : whether the cluster will have named nodes, decisions will be
        kept, external events will happen, and queues will take turns.
    anew : whether reservations on named nodes are made anew in each pass, see `rules_of`.
    """
    if isinstance(policy, SlurmPolicy):
        from ...policy.slurm.controller import load_kernel as load_controller

        return load_controller(eventful=events)
    laws_of(policy, control)
    own, rule = policy.backfill_score, policy.rule
    if rule.keeps_promises and anew and named:
        rule = _ANEW.rule
    rules = Rules(
        servers=1,
        backfill=rule,
        dynamic_order=policy.score.depends_on_time,
        dynamic_backfill=own is not None and own.depends_on_time,
        log=decisions,
    )
    load_kernel(KernelKind(rules, named, events, queues))


def rules_of(
    view: JobView,
    cluster: Cluster,
    policy: Policy,
    control: Control,
    options: Options,
    stop_at_decisions: bool,
) -> Rules:
    """Return what the engine must know of a policy, a control and the options of a run."""
    own = policy.backfill_score
    scores = queue_scores(cluster, policy) if cluster.queues else [policy.score]
    changes = not stop_at_decisions and any(score.depends_on_time for score in scores)
    rule, reservations = policy.rule, policy.reservations
    moves = options.foresight == "log" or not options.sleep.is_never
    if rule.keeps_promises and moves and cluster.is_named:
        # Jobs outlast such promises, and nodes that sleep are up sooner or later than was thought:
        # they are made anew in each pass.
        rule, reservations = _ANEW.rule, _ANEW.reservations
    exact = rule.plans and not rule.preempts and bool(np.array_equal(view.work, view.plan))
    return Rules(
        servers=int(cluster.procs),
        backfill=rule,
        reservations=int(min(reservations, max(len(view.submit), 1))),
        dynamic_order=changes,
        dynamic_backfill=own is not None and own.depends_on_time,
        own_backfill_order=own is not None,
        longest_first=policy.score.name == "ljf",
        per_event=options.passes == "event",
        controlled=not control.is_constant,
        timed_control=control.timed,
        exact=exact,
        may_overrun=bool(np.any(view.work > view.plan)) or options.passes == "event",
        record=bool(options.record),
        stop_at_decisions=stop_at_decisions,
        log=options.decisions,
        requeue=options.node_failure == "requeue" or options.checkpoint is not None,
    )


def _keys(score: Score | None, scene: Scene, checked: bool) -> Floats | None:
    """Scores of all jobs, once, where they do not depend on the time."""
    if score is None or score.depends_on_time:
        return None
    view, number = scene.jobs, len(scene.jobs.submit)
    if score is ORDERS["fcfs"]:
        return np.arange(number, dtype=np.float64)
    theta, scores = score.parameters, score.compiled(checked=checked)
    keys = np.empty(number)

    def evaluate(_: Any = None) -> None:
        scores(view, np.arange(number), 0, number, 0.0, theta, keys)

    if score.house:
        evaluate()
    else:
        Watch(scene, ((score, theta),)).around(evaluate, None)
    return keys


def orders_of(
    view: JobView,
    policy: Policy,
    numbers: NDArray[np.int64] | None = None,
    *,
    checked: bool = True,
) -> Orders:
    """Return fixed scores; `numbers` are those of the jobs, for what is said of mistakes."""
    scene = Scene(view, np.arange(len(view.submit)) if numbers is None else numbers)
    own = policy.backfill_score
    return Orders(_keys(policy.score, scene, checked), _keys(own, scene, checked))


def _with_queues(
    orders: Orders,
    laws: PolicyFunctions,
    scene: Scene,
    jobs: Jobs,
    cluster: Cluster,
    policy: Policy,
    options: Options,
) -> tuple[Orders, PolicyFunctions, QueueRules | None]:
    """Orders and laws where each queue has an order of its own; what the engine must know of them.

    Where they make one fixed ranking of all jobs, it need not know of queues.
    """
    scores, places = queue_scores(cluster, policy), queues_of(jobs, cluster)
    keys = [_keys(score, scene, options.check_policy) for score in scores]
    if not take_turns(cluster, policy):
        fixed = [key for key in keys if key is not None]
        return Orders(ranks_of(places, fixed, cluster.queues), orders.backfill), laws, None
    rules = queue_rules(cluster, policy, places, keys)
    if CHANGING in rules.law:
        from ...policy.changing import changing_order, codes_of

        laws = replace(laws, changing=changing_order, changing_theta=codes_of(scores, places))
    return Orders(None, orders.backfill), laws, rules


def laws_of(
    policy: Policy, control: Control, placement: Placement | None = None, *, checked: bool = True
) -> PolicyFunctions:
    """Return the compiled functions of a run; `checked` if their indices are to be checked."""
    order = policy.score
    backfill = policy.backfill_score or order
    unused = ORDERS["fcfs"]
    first = order if order.depends_on_time else unused
    second = backfill if backfill.depends_on_time else unused
    law, wake = control.pointers
    return PolicyFunctions(
        first.compiled(checked=checked),
        first.parameters,
        second.compiled(checked=checked),
        second.parameters,
        law,
        wake,
        control.parameters,
        *_placement_law(placement, checked),
    )


def _placement_law(placement: Placement | None, checked: bool) -> tuple[Any, Floats | None]:
    """The compiled score of a placement; where it has none, one that is never asked."""
    if placement is None:
        return None, None
    if placement.rule == "scored" and placement.score is not None:
        return placement.score.compiled(checked=checked), placement.score.parameters
    from ...engine.scores import no_node_score

    return no_node_score, np.zeros(1)


def _coins(control: Control, seed: int, jobs: int) -> Floats:
    """One uniform draw per arrival and departure (errata 8)."""
    if not control.draws:
        return np.empty(0)
    domains = len(control.parts) if isinstance(control, DomainControl) else 1
    return np.random.default_rng(seed).random(2 * jobs * domains)
