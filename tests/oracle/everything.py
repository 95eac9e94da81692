"""One way in: a case of any kind, and what becomes of its jobs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from . import controls, placements
from .caps import Cap, Draws, Fall, draws_of, limits_of
from .checkpoints import Checkpoint, Lives, with_dumps
from .disciplines import longest_remaining, preempt, shortest_remaining
from .dispatcher import Scheduling
from .external import ExternalOutcome, Fate, Happening, simulate_around
from .model import Control, Discipline, Exact, Job, Row, Segment, exact
from .named import bound, why_never
from .named_external import (
    NamedExternalOutcome,
    Outside,
    Stretch,
    dispatcher_of,
    run_on_nodes,
)
from .nodes import Node, Partition, Request, Vector, usable
from .placements import Asked, Placement, Site
from .pools import Machine
from .preemption import DISCIPLINES, Preemptive
from .queues import Queue, Queues
from .sleep import Change, Sleep
from .surroundings import Reservation, around, unless_stopped

REASONS = {"procs": "processors", "power": "power budget"}


class Case(NamedTuple):
    """Jobs in the order of submit, the machine, and how it is run.

    The machine is `nodes`, or if there are none `servers` that are only counted. `pools` are the
    licences of the whole cluster. Without `queues` all jobs are in one, in the order of the
    discipline's score. Events are about jobs by their place in `jobs`, whether accepted or not.
    `watts` are those of a counted processor, busy and idle, `fastest` is the highest rate.
    """

    jobs: tuple[Request, ...]
    nodes: tuple[Node, ...] | None = None
    servers: int = 0
    pools: Vector = ()
    partitions: tuple[Partition, ...] = ()
    queues: tuple[Queue, ...] = ()
    between: str = "priority"
    discipline: Scheduling = Scheduling()
    placement: Placement = placements.first_fit
    control: Control = controls.constant(1)
    coins: tuple[float, ...] = ()
    happenings: tuple[Happening, ...] = ()
    reservations: tuple[Reservation, ...] = ()
    requeue: bool = False
    passes: str = "instant"
    blind: bool = False
    sleep: Sleep | None = None
    checkpoints: tuple[Checkpoint, ...] = ()
    caps: tuple[Cap, ...] = ()
    watts: tuple[Exact, Exact] = (0, 0)
    fastest: Exact = 1


@dataclass
class Everything:
    """Per job, by its place in the case: None where there is none.

    `start` is the first of the last attempt, `promises` are the first ones. A stretch has the
    processors in use on each node; none on counted processors. `lost` are attempts that were begun
    and have to be done again, `lost_service` their stretches. `fates` have "unaccepted" too, and
    `reasons` why.
    """

    start: list[Exact | None]
    end: list[Exact | None]
    fates: list[Fate]
    reasons: dict[int, str]
    stretches: list[Stretch]
    lost: list[tuple[int, Exact, Exact]] = field(default_factory=list)
    lost_service: list[Segment] = field(default_factory=list)
    promises: list[Exact | None] = field(default_factory=list)
    trajectory: list[Row] = field(default_factory=list)
    area: Exact = 0  # processors held times work, of all attempts
    changes: list[Change] = field(default_factory=list)  # of nodes that sleep
    boots: list[Exact] = field(default_factory=list)  # of jobs, as work

    @property
    def states(self) -> list[str]:
        """What became of each job."""
        return [fate.state for fate in self.fates]


def simulate(case: Case) -> Everything:
    """Run all jobs of a case that can ever run."""
    _check(case)
    bounded = [_bounded(case, job) for job in case.jobs]
    reasons = {}
    draws = _draws(case)
    for i, job in enumerate(bounded):
        reason = _why_never(case, job) or _why_capped(case, job, draws)
        if reason is not None:
            reasons[i] = REASONS.get(reason, reason)
    accepted = [i for i in range(len(bounded)) if i not in reasons]
    plain = [bounded[i] for i in accepted]
    marks = [case.checkpoints[i] for i in accepted] if case.checkpoints else []
    asked = _in_full(plain, marks)
    lives = Lives(_sizes(plain), marks)
    happenings = _about(case.happenings, accepted)
    stretches: list[Stretch]
    if not asked:
        return _by_place(case, accepted, reasons, None, [])
    if case.nodes is None:
        limits = _limits(case)
        edges = _edges(case, limits, asked[0].submit)
        run = _counted(case, asked, edges + happenings, lives, limits)
        stretches = [Stretch(*segment, ()) for segment in run.run.segments]
        return _by_place(case, accepted, reasons, run, stretches)
    edges = _edges(case, draws.falls if draws else (), asked[0].submit)
    run, stretches, outcome = _on_nodes(case, asked, edges + happenings, lives, draws)
    everything = _by_place(case, accepted, reasons, run, stretches)
    everything.changes = outcome.changes
    everything.boots = [outcome.boots.get(label, 0) for label in range(len(accepted))]
    return everything


def _in_full(plain: Sequence[Request], marks: Sequence[Checkpoint]) -> list[Request]:
    """Jobs with their dumps; a limit has room for those that it asks for."""
    if not marks:
        return list(plain)
    return [
        job._replace(
            work=with_dumps(job.work, it),
            plan=with_dumps(job.plan, it),
            limit=None if job.limit is None else with_dumps(job.limit, it),
        )
        for job, it in zip(plain, marks, strict=True)
    ]


def _check(case: Case) -> None:
    if case.checkpoints and not case.requeue:
        raise ValueError("jobs with checkpoints come back")
    if case.passes not in ("instant", "event"):
        raise ValueError(f"unknown passes {case.passes!r}")
    if case.discipline.backfill in DISCIPLINES and case.queues:
        raise ValueError("jobs of several queues are not stopped for each other")
    if case.nodes is None and (case.pools or case.partitions):
        raise ValueError("counted processors have neither licences nor partitions")


def _bounded(case: Case, job: Request) -> Request:
    job = job._replace(submit=exact(job.submit), work=exact(job.work), plan=exact(job.plan))
    return bound(job, case.partitions, case.queues[job.queue] if case.queues else None)


def _why_never(case: Case, job: Request) -> str | None:
    queue = case.queues[job.queue] if case.queues else None
    if case.nodes is not None:
        return why_never(job, case.nodes, case.placement, case.partitions, case.pools, queue)
    if job.procs > case.servers:
        return "procs"
    return "queue" if queue is not None and queue.forbids(job.asked_time, job.procs) else None


def _draws(case: Case) -> Draws | None:
    if not case.caps or case.nodes is None:
        return None
    own = [job.milliwatts for job in case.jobs]
    depths = case.sleep.depths if case.sleep else ()
    return draws_of(case.caps, case.nodes, case.fastest, own, depths)


def _limits(case: Case) -> list[Fall]:
    every = limits_of(case.caps, case.servers, *case.watts)
    return [fall for fall in every if fall.amount < case.servers]


def _edges(case: Case, falls: Sequence[Fall], first: Exact) -> list[Happening]:
    """There is a pass where a cap rises again, and if jobs may be stopped where it falls.

    Nothing happens before the first job comes.
    """
    times = [fall.end for fall in falls if fall.end < math.inf]
    if case.discipline.backfill in DISCIPLINES:
        times += [fall.begin for fall in falls if fall.begin > -math.inf]
    return [Happening(time, "edge") for time in sorted(times) if time > first]


def _why_capped(case: Case, job: Request, draws: Draws | None) -> str | None:
    """Whether a job adds more than some cap leaves from its last step on, wherever it runs.

    Where nodes sleep, if all of its nodes had to be woken while all others are on.
    """
    if case.nodes is None:
        last = [fall.amount for fall in _limits(case) if fall.end == math.inf]
        return "cap" if any(job.procs > most for most in last) else None
    if draws is None:
        return None
    machine = Machine(
        case.nodes, case.placement, [job], True, True, case.partitions, case.pools, draws
    )
    machine.draws = draws = draws._replace(lent=(0,) * len(case.nodes))
    machine.asleep = lambda k: True
    rooms = [*machine.capacities[:-1], draws.last]
    asked = Asked(job, 0, job.submit)
    if not draws.varied:
        drawn = machine.drawn(job, ((0, job.width),))
        return None if all(a <= b for a, b in zip(drawn, draws.last, strict=True)) else "cap"
    if case.placement.name == placements.contiguous.name:
        return None if machine.place(asked, rooms) else "cap"
    sites = [
        Site(
            k,
            node.procs,
            node.procs,
            usable(node, node.capacity, job),
            node.slowness,
            node.watts_per_proc,
        )
        for k, node in enumerate(case.nodes)
    ]
    groups = [range(len(sites))]
    if job.partitions is not None:
        groups = [case.partitions[i].nodes for i in job.partitions]
    for group in groups:
        within = [s if s.index in group else s._replace(usable=0) for s in sites]
        if machine.cheapest(job, within, draws.last):
            return None
    return "cap"


def _about(happenings: Sequence[Happening], accepted: list[int]) -> list[Happening]:
    """Events about jobs by label; those about a job that is not accepted are left out."""
    kept = []
    for happening in happenings:
        if happening.kind in ("withdraw", "strike"):
            if happening.about not in accepted:
                continue
            happening = happening._replace(about=accepted.index(happening.about))
        kept.append(happening)
    return kept


def _sizes(asked: Sequence[Request]) -> list[Job]:
    return [Job(job.submit, job.work, job.procs, job.plan) for job in asked]


def _queues(case: Case, asked: Sequence[Request]) -> Queues | None:
    members = [job.queue for job in asked]
    return Queues(case.queues, members, _sizes(asked), case.between) if case.queues else None


def _counted(
    case: Case,
    asked: Sequence[Request],
    happenings: Sequence[Happening],
    lives: Lives,
    limits: Sequence[Fall],
) -> ExternalOutcome:
    score, backfill, reservations, backfill_score, _ = case.discipline
    discipline: Discipline
    if backfill == "preempt":
        discipline = unless_stopped(preempt(score))
    elif backfill == "longest-remaining":
        discipline = unless_stopped(longest_remaining())
    elif backfill == "shortest-remaining":
        discipline = unless_stopped(shortest_remaining())
    else:
        queues = _queues(case, asked)
        discipline = around(score, backfill, reservations, backfill_score, queues=queues)
    return simulate_around(
        lives.asked,
        case.servers,
        discipline,
        case.control,
        happenings,
        case.reservations,
        case.coins,
        requeue=case.requeue,
        passes=case.passes,
        checkpoints=lives.checkpoints,
        limits=limits,
    )


def _on_nodes(
    case: Case,
    asked: Sequence[Request],
    happenings: Sequence[Happening],
    lives: Lives,
    draws: Draws | None,
) -> tuple[ExternalOutcome, list[Stretch], NamedExternalOutcome]:
    assert case.nodes is not None
    scheduling = case.discipline._replace(blind=case.blind or case.discipline.blind)
    preemptive = scheduling.backfill in DISCIPLINES
    machine = Machine(
        case.nodes,
        case.placement,
        asked,
        scheduling.blind,
        preemptive or case.sleep is not None,
        case.partitions,
        case.pools,
        draws,
    )
    outcome = run_on_nodes(
        Preemptive(machine, scheduling, _sizes(asked))
        if preemptive
        else dispatcher_of(
            machine, scheduling, _queues(case, asked), case.sleep, bool(case.reservations)
        ),
        case.control,
        case.coins,
        Outside(happenings, case.reservations, case.requeue, lives),
        case.passes,
    )
    in_use = [
        stretch._replace(
            nodes=tuple((k, tasks * asked[stretch.job].of_task[0]) for k, tasks in stretch.nodes)
        )
        for stretch in outcome.stretches
    ]
    return outcome.run, in_use, outcome


def _by_place(
    case: Case,
    accepted: list[int],
    reasons: dict[int, str],
    run: ExternalOutcome | None,
    stretches: Sequence[Stretch],
) -> Everything:
    number = len(case.jobs)
    outcome = Everything(
        [None] * number,
        [None] * number,
        [Fate("unaccepted") for _ in case.jobs],
        reasons,
        [stretch._replace(job=accepted[stretch.job]) for stretch in stretches],
        promises=[None] * number,
    )
    if run is None:
        return outcome
    for label, i in enumerate(accepted):
        outcome.start[i] = run.start[label]
        outcome.end[i] = run.end[label]
        outcome.fates[i] = run.fates[label]
        outcome.promises[i] = run.run.promises[label]
    outcome.lost = [(accepted[label], start, stop) for label, start, stop in run.lost]
    outcome.lost_service = [it._replace(job=accepted[it.job]) for it in run.lost_service]
    outcome.trajectory, outcome.area = run.run.trajectory, run.area
    return outcome
