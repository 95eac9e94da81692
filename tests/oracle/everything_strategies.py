"""Hypothesis strategies for small cases of everything at once.

Jobs, nodes and the like are drawn as integers and decoded, as in `strategies`: a code of zero is
the simplest that there is.
"""

from __future__ import annotations

import math
import random
from typing import Any, NamedTuple

from hypothesis import strategies as st

from . import controls, orders
from .dispatcher import Scheduling
from .everything import Case
from .external import Happening, Reservation
from .external_strategies import decode, reserved
from .named_strategies import SLOWNESS, _watts, constrained_by
from .nodes import Node, Partition, Request
from .placements import PLACEMENTS
from .preemption import DISCIPLINES
from .queues import Queue
from .strategies import GAPS, WORKS, _plan

FEATURES = (frozenset[str](), frozenset("a"), frozenset("b"), frozenset("ab"))
RESOURCES = 3
BETWEEN = ("priority", "round-robin", "weights")
MACHINES = ("counted", "plain", "constrained", "vectors", "partitions")
EVENTS = ("none", "down", "withdraw", "reserve", "any")
KINDS_OF = {
    "none": (),
    "down": ("down", "up", "strike"),
    "withdraw": ("withdraw",),
    "reserve": (),
    "any": ("withdraw", "down", "up", "strike", "stop", "resume"),
}
SCHEDULINGS = {
    "fcfs": Scheduling(),
    "sjf": Scheduling(orders.sjf),
    "first-fit": Scheduling(backfill="first-fit"),
    "easy": Scheduling(backfill="easy"),
    "sjf+easy": Scheduling(orders.sjf, "easy"),
    "easy@sjf": Scheduling(orders.fcfs, "easy", 1, orders.sjf),
    "easy:2": Scheduling(orders.fcfs, "easy", 2),
    "easy:2@largest": Scheduling(orders.fcfs, "easy", 2, orders.largest),
    "easy:inf": Scheduling(orders.fcfs, "easy", math.inf),
    "conservative": Scheduling(backfill="conservative"),
    "sjf+conservative": Scheduling(orders.sjf, "conservative"),
    "lcfs-pr": Scheduling(orders.lcfs, "preempt"),
    "lpf": Scheduling(backfill="longest-remaining"),
    "spf": Scheduling(backfill="shortest-remaining"),
}
PREEMPTIVE = tuple(n for n, s in SCHEDULINGS.items() if s.backfill in DISCIPLINES)
QUEUE_ORDERS = (orders.fcfs, orders.sjf, orders.lcfs, orders.largest)


class Axes(NamedTuple):
    """What kind of case: see the constants above; None for any."""

    machine: str | None = None
    scheduling: str | None = None
    placement: str | None = None
    events: str | None = None
    queued: bool | None = None
    passes: str | None = None


ANY = Axes()


def everything(
    axes: Axes = ANY,
    max_jobs: int = 12,
    max_nodes: int = 5,
    *,
    min_plan: int = 0,
) -> st.SearchStrategy[Case]:
    """Cases with integer times; slowness is a power of two, so that floats are exact."""
    code = st.integers(0, 2**32 - 1)
    return st.builds(
        lambda jobs, nodes, events, seed: case_of(
            axes, jobs, nodes, events, random.Random(seed), min_plan
        ),
        st.lists(code, min_size=1, max_size=max_jobs),
        st.lists(code, min_size=1, max_size=max_nodes),
        st.lists(st.integers(0, 2**16 - 1), max_size=6),
        st.integers(0, 2**16),
    )


def case_of(
    axes: Axes,
    job_codes: list[int],
    node_codes: list[int],
    event_codes: list[int],
    rng: random.Random,
    min_plan: int = 0,
) -> Case:
    """The case that codes stand for; what they leave open is drawn."""
    machine = axes.machine or rng.choice(MACHINES)
    name = axes.scheduling or rng.choice(list(SCHEDULINGS))
    events = axes.events or rng.choice(EVENTS)
    queued = rng.random() < 0.4 if axes.queued is None else axes.queued
    queued = queued and name not in PREEMPTIVE
    nodes = tuple(node_of(code, machine) for code in node_codes)
    servers = sum(node.procs for node in nodes)
    counted = machine == "counted"
    partitions = _partitions(rng, len(nodes)) if machine == "partitions" else ()
    pools = (rng.randint(1, 3), rng.randint(0, 2)) if machine in ("vectors", "partitions") else ()
    queues = _queues(rng, servers, len(partitions)) if queued else ()
    jobs = _jobs(job_codes, machine, nodes, len(partitions), len(queues), min_plan)
    happenings = _happenings(event_codes, events, len(jobs), servers, None if counted else nodes)
    kept: tuple[Reservation, ...] = ()
    if events in ("reserve", "any"):
        kept = reserved(event_codes[:2], servers, None if counted else len(nodes))
    return Case(
        jobs=jobs,
        nodes=None if counted else nodes,
        servers=servers if counted else 0,
        pools=pools,
        partitions=partitions,
        queues=queues,
        between=rng.choice(BETWEEN),
        discipline=SCHEDULINGS[name],
        placement=PLACEMENTS[axes.placement or rng.choice(list(PLACEMENTS))],
        control=controls.constant(rng.choice((1, 1, 1, 2))),
        happenings=happenings,
        reservations=kept,
        requeue=rng.random() < 0.5,
        passes=axes.passes or rng.choice(("instant", "instant", "event")),
        blind=not counted and rng.random() < 0.15,
    )


def node_of(code: int, machine: str) -> Node:
    """The node that a code stands for, with GPUs where machines have them."""
    code, procs = divmod(code, 6)
    code, slowness = divmod(code, len(SLOWNESS))
    code, features = divmod(code, len(FEATURES))
    code, memory = divmod(code, 10)
    code, gpus = divmod(code, 4)
    more = (gpus,) if machine in ("vectors", "partitions") else ()
    speed = 1 if machine == "counted" else SLOWNESS[slowness]
    return Node(procs + 1, speed, _watts(code, procs + 1), 1 + memory, FEATURES[features], more)


def _jobs(
    codes: list[int],
    machine: str,
    nodes: tuple[Node, ...],
    partitions: int,
    queues: int,
    min_plan: int,
) -> tuple[Request, ...]:
    jobs = []
    submit = 0
    for code in codes:
        code, gap = divmod(code, len(GAPS))
        submit += GAPS[gap]
        job, code = _sized(code, submit, sum(node.procs for node in nodes), min_plan)
        code, queue = divmod(code, max(queues, 1))
        job = job._replace(queue=queue)
        if machine in ("vectors", "partitions"):
            job, code = _asking(job, code, len(nodes))
        elif machine == "constrained":
            job = constrained_by(job, code)
        if partitions:
            job = job._replace(partitions=_choice_of_partitions(code, partitions))
        jobs.append(job)
    return tuple(jobs)


def _sized(code: int, submit: int, servers: int, min_plan: int) -> tuple[Request, int]:
    code, plan = divmod(code, 8)
    code, work = divmod(code, len(WORKS))
    code, width = divmod(code, 8)
    code, limited = divmod(code, 3)
    amount = WORKS[work]
    planned = max(min_plan, _plan(plan, amount, "any"))
    limit = (None, planned, 2 * planned + 1)[limited]
    # Mostly narrow; the widest of all is wider than the machine once in a while.
    widths = (1, 1 + servers // 8, 1 + servers // 4, 2, 1 + servers // 2, 1, servers, 3)
    procs = min(widths[width], servers + (plan == 7))
    return Request(submit, amount, procs, planned, limit), code


def _asking(job: Request, code: int, nodes: int) -> tuple[Request, int]:
    """One in four for processors anywhere, the others for vectors; some for licences."""
    code, kind = divmod(code, 4)
    code, tasks = divmod(code, nodes)
    code, cores = divmod(code, 3)
    code, memory = divmod(code, 4)
    code, gpus = divmod(code, 3)
    code, licences = divmod(code, 8)
    code, extra = divmod(code, 8)
    if kind:
        need = (1 + cores, memory, gpus)[: 1 + kind % RESOURCES + (kind == 1)]
        job = job._replace(
            procs=(1 + tasks) * need[0],
            tasks=1 + tasks,
            need=need,
            once=(0, 1) if extra == 3 else (),
            distinct=kind != 3,
        )
    if licences > 5:
        job = job._replace(licences=((1,), (0, 1))[licences - 6])
    if extra in (1, 2):
        job = job._replace(whole_node=True)
    elif extra == 4:
        job = job._replace(feature="ab"[cores % 2])
    elif extra == 5:
        job = job._replace(power_budget=job.procs * (2 + memory))
    return job, code


def _choice_of_partitions(code: int, partitions: int) -> tuple[int, ...] | None:
    """One, two in either order, a missing one, or none in particular."""
    first, kind = code // 4 % partitions, code % 4
    second = (first + 1 + code // 16 % 2) % (partitions + (code % 32 == 31))
    return (None, (first,), (first, second), (second, first))[kind]


def _partitions(rng: random.Random, nodes: int) -> tuple[Partition, ...]:
    made = []
    for _ in range(rng.randint(1, 3)):
        members = [k for k in range(nodes) if rng.random() < 0.6] or [rng.randrange(nodes)]
        made.append(Partition(frozenset(members), rng.choice((None, None, 4, 9))))
    return tuple(made)


def _queues(rng: random.Random, servers: int, partitions: int) -> tuple[Queue, ...]:
    return tuple(
        Queue(
            score=rng.choice(QUEUE_ORDERS),
            priority=rng.randint(0, 2),
            weight=rng.randint(1, 3),
            max_time=rng.choice((None, 5, 12)),
            max_procs=rng.choice((None, None, 1 + servers // 2)),
            max_running=rng.choice((None, 1, 2)),
            max_used=rng.choice((None, None, 1 + servers // 2)),
            partitions=_some(rng, partitions),
        )
        for _ in range(rng.randint(1, 3))
    )


def _some(rng: random.Random, partitions: int) -> tuple[int, ...] | None:
    if not partitions or rng.random() < 0.6:
        return None
    return tuple(rng.sample(range(partitions), rng.randint(1, partitions)))


def _happenings(
    codes: list[int], events: str, jobs: int, servers: int, nodes: Any
) -> tuple[Happening, ...]:
    # Downs and ups stay in step: both are kept, or neither is.
    drawn = decode(codes, jobs, servers, None if nodes is None else len(nodes))
    return tuple(h for h in drawn if h.kind in KINDS_OF[events])
