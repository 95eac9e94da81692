"""The engine on named nodes and its slow twin, and what must be equal afterwards."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from oracle import placements as exact_placements
from oracle.bill import bill
from oracle.named import NamedOutcome, Scheduling
from oracle.named import simulate as simulate_exactly
from oracle.named_strategies import Case
from oracle.nodes import Allocation, Node, Request
from oracle.strategies import Workload

import sojourn
from sojourn.cluster import Cluster, Server
from sojourn.cluster import Node as NamedNode
from sojourn.engine.drive import DONE, PolicyFunctions, Run
from sojourn.engine.types import empty_jobs
from sojourn.jobs import Jobs
from sojourn.policy import Constraints, Policy, constant, parse_placement
from sojourn.run.build.engine import laws_of, orders_of, rules_of
from sojourn.run.build.machine import REASONS, build_machine
from sojourn.run.options import Options, Prepared
from sojourn.run.result import Result

from .harness import MOST_INSTANTS, TICKS, TOLERANCE, Speed, _columns, _same, jittered, view_of

# Operations per second of the processor on which runtimes were recorded: with slownesses that
# are powers of two, all are exact.
REFERENCE_OPS = 1024.0
KB = 2.0**-20  # in GB
WHY = {
    "procs": "processors",
    "feature": "feature",
    "memory": "memory",
    "contiguous": "contiguous",
    "power": "power budget",
}


class NamedPair(NamedTuple):
    """One discipline, as the engine and as the oracle call it."""

    name: str
    policy: Policy
    scheduling: Scheduling
    min_plan: int = 0  # scores that divide by the plan need one

    def foreseeing(self, *, blind: bool) -> NamedPair:
        """The same, with or without knowledge of the speeds of nodes."""
        return self._replace(scheduling=self.scheduling._replace(blind=blind))

    @property
    def is_quick(self) -> bool:
        """Whether the oracle is: it plans for one job at most."""
        return self.scheduling.backfill != "conservative" and self.scheduling.reservations == 1


class Choice(NamedTuple):
    """One placement, as the engine and as the oracle call it."""

    name: str
    placement: Any
    exact: exact_placements.Placement
    seed: int = 0


class Told(NamedTuple):
    """What the engine is told of a case."""

    cluster: Cluster
    jobs: Jobs
    constraints: Constraints


def told(drawn: Case) -> Told:
    """The cluster, jobs and constraints of a case; what is not asked for is left out."""
    return Told(cluster_of(drawn.nodes), jobs_of(drawn.jobs), constraints_of(drawn.jobs))


def cluster_of(nodes: Sequence[Node]) -> Cluster:
    """The nodes of the oracle as a cluster; memory 0 stands for not known."""
    return Cluster.of(
        [
            NamedNode(
                f"node-{k}",
                Server(
                    model="made",
                    cores=node.procs,
                    ops=float(node.procs * REFERENCE_OPS / node.slowness),
                    watts=tuple(float(watts) for watts in node.watts),
                    memory=node.memory * KB if node.memory else float("nan"),
                    features=node.features,
                ),
            )
            for k, node in enumerate(nodes)
        ],
        reference_ops=REFERENCE_OPS,
    )


def jobs_of(jobs: Sequence[Request]) -> Jobs:
    """Jobs whose estimate is the limit, or not known."""
    return Jobs(
        {
            "submit": [float(job.submit) for job in jobs],
            "runtime": [float(job.work) for job in jobs],
            "procs": [job.procs for job in jobs],
            "estimate": [-1.0 if job.limit is None else float(job.limit) for job in jobs],
        }
    )


def constraints_of(jobs: Sequence[Request]) -> Constraints:
    """Each constraint as one value per job, if any job has it."""
    columns: dict[str, list[Any]] = {
        "memory_per_core": [job.memory_per_core * KB for job in jobs],
        "memory_per_node": [job.memory_per_node * KB for job in jobs],
        "whole_node": [job.whole_node for job in jobs],
        "feature": [job.feature for job in jobs],
        "power_budget": [
            np.inf if job.power_budget is None else float(job.power_budget) for job in jobs
        ],
    }
    empty = {"power_budget": np.inf}
    return Constraints(
        **{
            name: values
            for name, values in columns.items()
            if any(value and value != empty.get(name) for value in values)
        }
    )


def apart(drawn: Case, rng: random.Random) -> Case:
    """The same case with events that do not meet, in integer ticks."""
    moved = jittered(Workload(0, drawn.jobs), rng).jobs
    jobs = (
        job._replace(
            submit=new.submit,
            work=new.work,
            plan=new.plan,
            limit=None if job.limit is None else job.limit * TICKS,
        )
        for job, new in zip(drawn.jobs, moved, strict=True)
    )
    return Case(drawn.nodes, tuple(jobs))


@cache
def _laws_at_rate_1(policy: Policy, placement: Any) -> PolicyFunctions:
    return laws_of(policy, constant(), placement)


def run_engine(
    pair: NamedPair,
    speed: Speed,
    choice: Choice,
    drawn: Case,
    coins: Sequence[float] = (),
    passes: str = "instant",
) -> tuple[Run, Prepared]:
    """Run the engine to the end, or raise if it does not get there.

    The kernel is set up as `simulate` does it; only the plans are taken as they are.
    """
    cluster, jobs, constraints = told(drawn)
    placement = parse_placement(choice.placement)
    policy, control, blind = pair.policy, speed.control, pair.scheduling.blind
    options = Options(
        passes=passes,
        record=True,
        placement=placement,
        constraints=constraints,
        seed=choice.seed,
        foresight="log" if blind else "nodes",
    )
    machine = build_machine(jobs, cluster, placement, constraints)
    accepted = machine.reason == 0
    taken = [job for job, good in zip(drawn.jobs, accepted, strict=True) if good]
    view = view_of(taken) if taken else empty_jobs()
    limits = np.array([np.inf if job.limit is None else float(job.limit) for job in taken])
    nodes = machine.facts(accepted, choice.seed, blind), machine.needs(accepted, limits)
    law, wake = control.pointers
    laws = replace(
        _laws_at_rate_1(policy, placement),
        control=law,
        wake=wake,
        control_theta=control.parameters,
    )
    prepared = Prepared(
        jobs, machine.reason, np.zeros(len(taken), bool), cluster, policy, control, options, machine
    )
    run = Run(
        view,
        rules_of(view, cluster, policy, control, options, False),
        orders_of(view, policy),
        laws,
        control.initial,
        np.array(coins, dtype=np.float64),
        nodes,
    )
    status = run.advance(MOST_INSTANTS)
    assert status == DONE, f"{MOST_INSTANTS} instants and no end: {drawn}"
    run.check()
    return run, prepared


def compare(
    pair: NamedPair,
    speed: Speed,
    choice: Choice,
    drawn: Case,
    coins: Sequence[float] = (),
    *,
    passes: str = "instant",
    exactly: bool,
) -> None:
    """Run both; everything they tell must agree, exactly or to 1e-9, energies to 1e-9."""
    expected = simulate_exactly(
        drawn.jobs, drawn.nodes, pair.scheduling, speed.exact, choice.exact, coins, passes
    )
    run, prepared = run_engine(pair, speed, choice, drawn, coins, passes)
    about = f"{pair.name}, {choice.name}, {speed.name}, passes={passes!r}, {drawn}"
    reasons = {i: REASONS[code] for i, code in enumerate(prepared.reason) if code}
    wanted_reasons = {i: WHY[reason] for i, reason in expected.unaccepted.items()}
    assert reasons == wanted_reasons, f"unaccepted: {about}"
    allocations = _allocations(run)
    assert allocations == expected.allocations, (
        f"allocations: {allocations} are not {expected.allocations}; {about}"
    )
    if not expected.accepted:
        return
    tolerance = 0.0 if exactly else TOLERANCE
    columns = [
        *_columns(run, expected.run),
        ("slowness", run.nodes.job["slowness"].tolist(), expected.slowness, 0.0),
    ]
    for name, found, wanted, scale in columns:
        # On slow nodes the workload is larger than the sum of works.
        if not _same(found, wanted, tolerance, 4 * scale):
            raise AssertionError(f"{name}: {found} is not {[float(x) for x in wanted]}; {about}")
    for name, found, wanted, scale in _energies(run, prepared, expected, drawn.nodes):
        if not _same(found, wanted, TOLERANCE, scale):
            raise AssertionError(f"{name}: {found} is not {[float(x) for x in wanted]}; {about}")


def _energies(
    run: Run, prepared: Prepared, expected: NamedOutcome, nodes: Sequence[Node]
) -> Iterator[tuple[str, list[float], Sequence[Any], float]]:
    """As `_columns`: joules of jobs and of idle processors."""
    result = Result(prepared, run)
    owed = bill(expected, nodes)
    energy = result.jobs["energy"].to_numpy()[prepared.accepted]
    idle = result.summary["energy"]["idle_joules"]
    yield "energy", energy.tolist(), owed.jobs, float(owed.total)
    yield "idle energy", [idle], [owed.idle], float(owed.total)


def _allocations(run: Run) -> list[Allocation]:
    """Nodes and processors of each job, by node."""
    rows = list(zip(*run.nodes.given.tolist(), strict=True))
    spans = zip(run.nodes.job["row"].tolist(), run.nodes.job["rows"].tolist(), strict=True)
    return [tuple(sorted(rows[first : first + number])) for first, number in spans]


@sojourn.score
def most_processors(nodes: Any, n: int, jobs: Any, j: int, now: float, theta: Any) -> float:
    """A user's order of nodes that never changes: the largest first."""
    return -nodes.procs[n]


@sojourn.score
def near_the_job(nodes: Any, n: int, jobs: Any, j: int, now: float, theta: Any) -> float:
    """A user's order of nodes that depends on the job, on the time and on what is free."""
    return abs(nodes.free[n] - jobs.procs[j]) + nodes.slowness[n] * (1.0 + (now > 6.0))


def _near_exactly(site: exact_placements.Site, asked: exact_placements.Asked) -> Any:
    return abs(site.free - asked.job.procs) + site.slowness * (1 + (asked.now > 6))


CHOICES = (
    *(
        Choice(name, name, placement)
        for name, placement in exact_placements.PLACEMENTS.items()
        if name != "random"
    ),
    Choice("random", "random", exact_placements.random(7), 7),
    Choice(
        "most processors",
        most_processors,
        exact_placements.in_order("most processors", lambda site: -site.procs),
    ),
    Choice("near the job", near_the_job, exact_placements.scored("near the job", _near_exactly)),
)
