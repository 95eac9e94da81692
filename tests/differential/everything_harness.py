"""A case of everything as `sojourn.simulate` takes it, and what must equal the oracle."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from oracle import controls, orders
from oracle.dispatcher import Scheduling
from oracle.everything import Case, Everything
from oracle.everything import simulate as simulate_exactly
from oracle.everything_strategies import Axes, case_of
from oracle.external_strategies import Troubles
from oracle.named_external import Stretch
from oracle.nodes import Request
from oracle.strategies import Workload

import sojourn
from sojourn.aftermath import STATUS
from sojourn.cluster import Cluster, Server
from sojourn.cluster import Node as NamedNode
from sojourn.cluster import Partition as NamedPartition
from sojourn.decisions import Decisions
from sojourn.engine.drive import Run
from sojourn.machine import REASONS
from sojourn.options import Prepared
from sojourn.policy import Policy
from sojourn.schedule import Schedule
from sojourn.simulation import prepare
from sojourn.watching import finish
from sojourn.workload import Jobs

from .cast import aging, aging_exactly, switching
from .harness import TICKS, TOLERANCE, Speed, jittered
from .named_harness import CHOICES, KB, REFERENCE_OPS, constraints_of
from .pairwise import Row
from .queue_cases import in_queues, with_queues
from .test_events import scattered

ORDERS: dict[str, tuple[Any, Any]] = {
    "fcfs": ("fcfs", orders.fcfs),
    "sjf": ("sjf", orders.sjf),
    "ljf": ("ljf", orders.ljf),
    "lcfs": ("lcfs", orders.lcfs),
    "wfp3": ("wfp3", orders.wfp3),
    "own": (aging, aging_exactly),
}
BACKFILLS: dict[str, tuple[str, float, str]] = {
    "none": ("none", 1, "none"),
    "first-fit": ("first-fit", 1, "first-fit"),
    "easy": ("easy", 1, "easy"),
    "easy:2": ("easy", 2, "easy"),
    "easy:inf": ("easy", math.inf, "easy"),
    "conservative": ("conservative", 1, "conservative"),
    "preempt": ("preempt", 1, "preempt"),
    "spf": ("remaining", 1, "shortest-remaining"),
    "lpf": ("remaining", 1, "longest-remaining"),
}
# Jobs of the oracle's kinds of machine; what "nodes" may ask for is given as `Constraints`, what
# "resources" and "partitions" may as columns of the table of jobs.
MACHINES = {
    "counted": "counted",
    "plain nodes": "plain",
    "nodes": "constrained",
    "resources": "vectors",
    "partitions": "partitions",
}
EVENTS = {
    "none": "none",
    "down": "down",
    "cancel": "withdraw",
    "reserve": "reserve",
    "all": "any",
}
PLACEMENTS = {choice.name: choice for choice in CHOICES}
AXES: dict[str, tuple[str, ...]] = {
    "placement": tuple(PLACEMENTS),
    "backfill": tuple(BACKFILLS),
    "order": tuple(ORDERS),
    "machine": tuple(MACHINES),
    "events": tuple(EVENTS),
    "control": ("1", "2", "switching"),
    "passes": ("instant", "event"),
    "foresight": ("nodes", "log"),
    "log": ("kept", "not kept"),
}
JOBS, NODES, HAPPENINGS = 8, 4, 12
ROW_KINDS = {
    "withdraw": "cancel",
    "strike": "down",
    "down": "down",
    "up": "up",
    "stop": "stop",
    "resume": "resume",
}

ABOUT_JOBS = ("withdraw", "strike")
STARTS = ("started", "backfilled in time", "backfilled beside", "promise kept")


class Drawn(NamedTuple):
    """A case, and what the engine is given besides it."""

    case: Case
    speed: Speed
    seed: int
    exactly: bool


def policy_of(row: Row) -> Policy:
    """The policy of a row; an error of sojourn where there is none."""
    backfill, reservations, _ = BACKFILLS[row["backfill"]]
    second = row.get("backfill order")
    return Policy(ORDERS[row["order"]][0], backfill, reservations, second)


def draw(row: Row, rng: random.Random) -> Drawn:
    """A case of a row; with a rate that changes no two of its events meet."""
    axes = Axes(MACHINES[row["machine"]], "fcfs", "first-fit", EVENTS[row["events"]], False)
    case = case_of(
        axes,
        [rng.randrange(2**32) for _ in range(rng.randint(3, JOBS))],
        [rng.randrange(2**32) for _ in range(rng.randint(1, NODES))],
        [rng.randrange(2**16) for _ in range(rng.randint(2, HAPPENINGS))],
        rng,
    )
    no_zeros = row["order"] == "wfp3" or row["backfill"] == "conservative"
    choice = PLACEMENTS[row["placement"]]
    _, reservations, backfill = BACKFILLS[row["backfill"]]
    case = as_given(case, rng, min_plan=int(no_zeros))._replace(
        discipline=Scheduling(ORDERS[row["order"]][1], backfill, reservations),
        placement=choice.exact,
        passes=row["passes"],
        blind=row["machine"] != "counted" and row["foresight"] == "log",
    )
    if row["control"] != "switching":
        rate = float(row["control"])
        speed = Speed(row["control"], sojourn.constant(rate), controls.constant(rate))
        return Drawn(case._replace(control=speed.exact), speed, choice.seed, True)
    speed = rng.choice(switching(rng))
    coins = np.random.default_rng(choice.seed).random(2 * len(case.jobs)).tolist()
    case = apart(case, rng)._replace(control=speed.exact, coins=tuple(coins))
    return Drawn(case, speed, choice.seed, False)


def as_given(case: Case, rng: random.Random, *, min_plan: int) -> Case:
    """The case with what a table of jobs and a cluster can say.

    The plan is the estimate, or without one the work; tasks with a vector are on nodes of their
    own; who names no partition is in the first; some node has a GPU.
    """
    nodes = case.nodes
    if nodes is not None and nodes[0].more:
        nodes = (nodes[0]._replace(more=(max(1, *nodes[0].more),)), *nodes[1:])
    jobs = []
    for job in case.jobs:
        if job.limit is None and job.work >= min_plan and not case.partitions:
            job = job._replace(plan=job.work)
        else:
            plan = max(1, job.plan)
            job = job._replace(plan=plan, limit=plan)
        if job.tasks:
            job = job._replace(once=(), distinct=True)
        elif nodes is not None and nodes[0].more:
            memory = rng.choice(("memory_per_core", "memory_per_node", "feature"))
            if memory != "feature":
                job = job._replace(**{memory: rng.randint(1, 4)})
        if case.partitions and job.partitions is None:
            job = job._replace(partitions=(0,))
        jobs.append(job)
    return case._replace(jobs=tuple(jobs), nodes=nodes)


def apart(case: Case, rng: random.Random) -> Case:
    """The same case in ticks, with events that do not meet."""
    moved = jittered(Workload(0, case.jobs), rng).jobs
    jobs = (
        job._replace(
            submit=new.submit,
            work=new.work,
            plan=new.plan,
            limit=None if job.limit is None else new.plan,
        )
        for job, new in zip(case.jobs, moved, strict=True)
    )
    late = scattered(Troubles(case.happenings, case.reservations, case.requeue), rng)
    # What goes down and comes up at one time does so in that order.
    times = (h.time for h in late.happenings)
    happenings = tuple(h._replace(time=t) for h, t in zip(case.happenings, times, strict=True))
    partitions = (
        part._replace(max_time=None if part.max_time is None else part.max_time * TICKS)
        for part in case.partitions
    )
    return case._replace(
        jobs=tuple(jobs),
        partitions=tuple(partitions),
        happenings=happenings,
        reservations=late.reservations,
    )


def cluster_of(case: Case) -> Cluster:
    """The machine of a case; its third resource are GPUs, its pools are licences."""
    if case.nodes is None:
        return Cluster.homogeneous(case.servers)
    return Cluster.of(
        [
            NamedNode(
                f"node-{k}",
                Server(
                    model="made",
                    cores=node.procs,
                    ops=float(node.procs * REFERENCE_OPS / node.slowness),
                    watts=tuple(float(watts) for watts in node.watts),
                    memory=node.memory * KB,
                    features=node.features,
                    resources={"gpu": node.more[0]} if node.more else {},
                ),
            )
            for k, node in enumerate(case.nodes)
        ],
        reference_ops=REFERENCE_OPS,
        pools={f"licence-{i}": number for i, number in enumerate(case.pools)},
        partitions=[
            NamedPartition(
                f"part-{i}",
                tuple(part.nodes),
                max_time=math.inf if part.max_time is None else float(part.max_time),
                default=i == 0,
            )
            for i, part in enumerate(case.partitions)
        ],
    )


def jobs_of(case: Case) -> tuple[Jobs, sojourn.Constraints]:
    """The table of jobs, and what it has no column for."""
    jobs = case.jobs
    columns: dict[str, Any] = {
        "submit": [float(job.submit) for job in jobs],
        "runtime": [float(job.work) for job in jobs],
        "procs": [job.procs for job in jobs],
        "estimate": [-1.0 if job.limit is None else float(job.limit) for job in jobs],
    }
    if case.nodes is None:
        return Jobs(columns), sojourn.Constraints()
    if not case.nodes[0].more:
        return Jobs(columns), constraints_of(jobs)
    on_nodes = [job.distinct for job in jobs]
    columns |= {
        "nodes": [job.tasks if job.distinct else -1 for job in jobs],
        "cores_per_node": [job.need[0] if job.distinct else -1 for job in jobs],
        "gpus": [job.tasks * sum(job.need[2:3]) for job in jobs],
        "memory": [float(job.memory_per_core or -1) for job in jobs],
        "memory_per_node": [
            float((sum(job.need[1:2]) if own else job.memory_per_node) or -1)
            for job, own in zip(jobs, on_nodes, strict=True)
        ],
        "whole_node": [int(job.whole_node) for job in jobs],
        "features": [job.feature or "" for job in jobs],
        "licences": [
            ",".join(f"licence-{i}:{n}" for i, n in enumerate(job.licences) if n) for job in jobs
        ],
    }
    if case.partitions:
        columns["partition"] = [",".join(f"part-{i}" for i in _named(job)) for job in jobs]
    budgets = [np.inf if job.power_budget is None else float(job.power_budget) for job in jobs]
    return Jobs(columns), sojourn.Constraints(power_budget=budgets)


def _named(job: Request) -> tuple[int, ...]:
    assert job.partitions is not None
    return job.partitions


def rows_of(case: Case) -> list[dict[str, Any]]:
    """The events of a case, one by one."""
    counted = case.nodes is None
    rows = []
    for it in case.happenings:
        about: dict[str, Any] = {}
        if it.kind in ("withdraw", "strike"):
            about = {"job": it.about + 1}
        elif it.kind in ("down", "up"):
            about = {"procs": it.about} if counted else {"nodes": [f"node-{it.about}"]}
        rows.append({"time": float(it.time), "kind": ROW_KINDS[it.kind], **about})
    for kept in case.reservations:
        about = {"procs": kept.what} if counted else {"nodes": [f"node-{kept.what}"]}
        rows.append(
            {
                "time": float(kept.begin),
                "kind": "reserve",
                "until": float(kept.end),
                "announced": float(kept.announced),
                **about,
            }
        )
    return rows


def set_up(row: Row, drawn: Drawn) -> tuple[Run, Prepared]:
    """The run of a case at time zero, set up as `sojourn.simulate` does it."""
    case = drawn.case
    jobs, constraints = jobs_of(case)
    return prepare(
        in_queues(jobs, case),
        with_queues(cluster_of(case), case),
        policy_of(row),
        rate=drawn.speed.control,
        over_limit="run",
        passes=row["passes"],
        record=True,
        seed=drawn.seed,
        clean=(),
        placement=PLACEMENTS[row["placement"]].placement,
        constraints=constraints,
        foresight=row["foresight"],
        decisions=row["log"] == "kept",
        events=None if row["events"] == "none" else rows_of(case),
        node_failure="requeue" if case.requeue else "kill",
    )


def compare(row: Row, drawn: Drawn) -> None:
    """Run both; all that they say must agree, exactly or to 1e-9."""
    run, prepared = set_up(row, drawn)
    accepted = np.flatnonzero(prepared.accepted)
    case = drawn.case._replace(coins=drawn.case.coins[: 2 * len(accepted)])
    expected = simulate_exactly(case)
    reasons = {i: REASONS[code] for i, code in enumerate(prepared.reason) if code}
    wanted = {i: why.split(" 2")[0] for i, why in expected.reasons.items()}
    assert reasons == wanted, f"unaccepted: {reasons} are not {wanted}"
    finish(run, prepared)
    schedule = Schedule(prepared, run)
    states = [STATUS[code] for code in schedule.status]
    assert states == [expected.states[i] for i in accepted], f"fates: {states}"
    found = Found(schedule, accepted)
    slack = 0.0 if drawn.exactly else TOLERANCE
    for name, values, exact, scale in found.columns(expected):
        _must_be(name, values, exact, slack, scale)
    if case.nodes is not None:
        given, nodes = found.nodes, [stretch.nodes for stretch in sorted(expected.stretches)]
        assert given == nodes, f"nodes: {given} are not {nodes}"
    if row["log"] == "kept":
        found.must_be_logged()
    schedule.check()


class Found:
    """What the engine says of a run, by the places of the jobs in the case."""

    def __init__(self, schedule: Schedule, accepted: NDArray[np.int64]) -> None:
        self.schedule, self.run = schedule, schedule.run
        self.accepted = accepted
        job, start, stop = schedule.stretches
        nodes = self._given(len(job))
        ran = np.flatnonzero(np.isfinite(start)).tolist()
        order = sorted(ran, key=lambda i: (job[i], start[i], stop[i], nodes[i]))
        self.job, self.start, self.stop = (column[order] for column in (job, start, stop))
        self.nodes = [nodes[i] for i in order]

    def _given(self, stretches: int) -> list[tuple[tuple[int, int], ...]]:
        """Node and processors of each stretch of service; none where they are only counted."""
        if self.run.nodes is None:
            return [()] * stretches
        first, node, procs, _ = self.schedule.energy.given
        rows = list(zip(node.tolist(), procs.tolist(), strict=True))
        return [tuple(sorted(rows[first[i] : first[i + 1]])) for i in range(stretches)]

    def columns(
        self, expected: Everything
    ) -> Iterator[tuple[str, NDArray[Any], Sequence[Any], float]]:
        """Name, what the engine says, what the oracle says, and the size of what was summed up."""
        run, after = self.run, self.schedule.after
        mine = self.accepted.tolist()
        stretches = sorted(expected.stretches)
        yield "start", run.start, [expected.start[i] for i in mine], 0.0
        yield "end", run.end, [expected.end[i] for i in mine], 0.0
        yield "jobs served", self.accepted[self.job], [s.job for s in stretches], 0.0
        yield "starts of service", self.start, [s.start for s in stretches], 0.0
        yield "ends of service", self.stop, [s.stop for s in stretches], 0.0
        if after is not None:
            fates = [expected.fates[i] for i in mine]
            yield "left", after.left, [fate.left for fate in fates], 0.0
            yield "restarts", after.restarts, [fate.restarts for fate in fates], 0.0
            # Of an attempt in several stretches all are lost.
            lost = [s for s in stretches if any(_is_part(s, *whole) for whole in expected.lost)]
            rows = np.lexsort((after.lost_stop, after.lost_start, after.lost_job))
            yield "jobs lost", self.accepted[after.lost_job[rows]], [s.job for s in lost], 0.0
            yield "lost starts", after.lost_start[rows], [s.start for s in lost], 0.0
            yield "lost stops", after.lost_stop[rows], [s.stop for s in lost], 0.0
        if len(run.promises):
            exact = np.array([_number(expected.promises[i]) for i in mine])
            # A promise made beside an overdue job has an infinitesimal, which is one ulp here.
            above = run.promises == np.nextafter(exact, np.inf)
            yield "promise", np.where(above, exact, run.promises), exact.tolist(), 0.0
        path = expected.trajectory
        if path:
            size = 4 * float(run.jobs.work.sum())
            for name, wanted in zip(path[0]._fields, zip(*path, strict=True), strict=True):
                yield name, run.rows(name), wanted, size if name == "workload" else 0.0

    def must_be_logged(self) -> None:
        """Every stretch of service has begun by a decision, and no decision began another."""
        log = Decisions(self.schedule.prepared, self.run).table()
        starts = log[log["decision"].isin(STARTS)]
        numbers = self.schedule.prepared.jobs.job[self.accepted]
        decided = sorted(zip(starts["job"], starts["time"], strict=True))
        assert decided == sorted(zip(numbers[self.job], self.start, strict=True)), "decisions"


def _is_part(stretch: Stretch, job: int, start: Any, stop: Any) -> bool:
    # Who is struck may start again at that very instant, which is another attempt.
    begun = stretch.start == start or start < stretch.start < stop
    return stretch.job == job and begun and stretch.stop <= stop


def _number(x: Any) -> float:
    return math.nan if x is None else float(x)


def _must_be(
    name: str, found: NDArray[Any], wanted: Sequence[Any], slack: float, scale: float
) -> None:
    exact = np.array([_number(x) for x in wanted])
    assert len(found) == len(exact), f"{name}: {found.tolist()} is not {exact.tolist()}"
    near = np.abs(found - exact) <= slack * np.maximum(np.abs(exact), scale)
    same = near | (np.isnan(found) & np.isnan(exact))
    assert same.all(), f"{name}: {found.tolist()} is not {exact.tolist()}"


def smaller(drawn: Drawn, fails: Callable[[Drawn], bool]) -> Drawn:
    """A case that still fails, without the jobs and events that are not needed for it."""
    removed = True
    while removed:
        removed = False
        for field in ("happenings", "reservations", "jobs"):
            for i in reversed(range(len(getattr(drawn.case, field)))):
                less = without(drawn, field, i)
                if less is not None and fails(less):
                    drawn, removed = less, True
    return drawn


def without(drawn: Drawn, field: str, i: int) -> Drawn | None:
    """The case without one job, event or reservation; None if it would make no sense."""
    case = drawn.case
    left = getattr(case, field)
    case = case._replace(**{field: (*left[:i], *left[i + 1 :])})
    if field == "jobs":
        if not case.jobs:
            return None
        case = case._replace(
            happenings=tuple(
                h._replace(about=h.about - (h.about > i)) if h.kind in ABOUT_JOBS else h
                for h in case.happenings
                if not (h.kind in ABOUT_JOBS and h.about == i)
            )
        )
    return drawn._replace(case=case)
