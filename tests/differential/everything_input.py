"""A case of everything as `sojourn.simulate` and `sojourn.Simulation` take it."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from oracle.everything import Case
from oracle.external import in_full
from oracle.model import Job
from oracle.nodes import Request
from oracle.queues import Queues

import sojourn
from sojourn.cluster import Cluster, PowerCap, Server
from sojourn.cluster import Node as NamedNode
from sojourn.cluster import Partition as NamedPartition
from sojourn.engine.drive import Run
from sojourn.errors import OptionError
from sojourn.jobs import Jobs
from sojourn.policy import Checkpoint
from sojourn.run.build.engine import finish
from sojourn.run.options import Prepared
from sojourn.run.simulate import prepare

from .everything_axes import BY_HAND, PLACEMENTS, policy_of
from .everything_cases import ABOUT_JOBS, Drawn
from .named_harness import KB, REFERENCE_OPS, constraints_of
from .pairwise import Row
from .queue_cases import in_queues, with_queues
from .sleep_cases import options_of, with_states

ROW_KINDS = {
    "withdraw": "cancel",
    "strike": "down",
    "down": "down",
    "up": "up",
    "stop": "stop",
    "resume": "resume",
}


def cluster_of(case: Case) -> Cluster:
    """The machine of a case; its third resource are GPUs, its pools are licences."""
    if case.nodes is None:
        busy, idle = map(float, case.watts)
        power = sojourn.ConstantPower(busy, idle) if case.caps else None
        return Cluster.homogeneous(case.servers, power=power)
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
        caps=[
            PowerCap(f"set-{i}", tuple(cap.nodes))
            for i, cap in enumerate(case.caps)
            if cap.nodes is not None
        ],
    )


def caps_of(case: Case, kind: str) -> list[sojourn.Cap]:
    """The caps of a case; where it was drawn without, one that is as good for an error."""
    if kind != "none" and not case.caps:
        return [sojourn.Cap((1e6,), of="set-0" if kind == "sets" else "")]
    return [
        sojourn.Cap(
            tuple(float(watts) for _, watts in cap.steps),
            tuple(float(time) for time, _ in cap.steps),
            "" if cap.nodes is None else f"set-{i}",
        )
        for i, cap in enumerate(case.caps)
    ]


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
    if any(job.watts is not None for job in jobs):
        columns["watts"] = [-1.0 if job.watts is None else float(job.watts) for job in jobs]
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
    rows: list[dict[str, Any]] = []
    for it in case.happenings:
        about: dict[str, Any] = {}
        if it.joined:
            rows[-1]["nodes"].append(f"node-{it.about}")
            continue
        if it.kind in ABOUT_JOBS:
            about = {"job": it.about + 1}
        elif it.kind in ("down", "up"):
            about = {"procs": it.about} if counted else {"nodes": [f"node-{it.about}"]}
        rows.append({"time": float(it.time), "kind": ROW_KINDS[it.kind], **about})
    for kept in case.reservations:
        if kept.joined:
            rows[-1]["nodes"].append(f"node-{kept.what}")
            continue
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


class Prepare(NamedTuple):
    """A run of a case at time zero, and what drives it to its end."""

    run: Run
    prepared: Prepared
    drive: Callable[[], None]


def set_up(row: Row, drawn: Drawn) -> Prepare:
    """The run of a case, set up as `sojourn.simulate` or `sojourn.Simulation` does it."""
    case = drawn.case
    jobs, constraints = jobs_of(case)
    jobs, cluster = in_queues(jobs, case), with_queues(cluster_of(case), case)
    cluster = with_states(cluster, case)
    policy = policy_of(row)
    options: dict[str, Any] = {
        "rate": drawn.speed.control,
        "over_limit": "run",
        "passes": row["passes"],
        "record": True,
        "seed": drawn.seed,
        "clean": (),
        "placement": PLACEMENTS[row["placement"]].placement,
        "constraints": constraints,
        "foresight": row["foresight"],
        "decisions": row["log"] == "kept",
        "events": None if row["events"] == "none" else rows_of(case),
        "node_failure": "requeue" if case.requeue else "kill",
        "cap": caps_of(case, row["cap"]) or None,
        **options_of(case, row["sleep"]),
    }
    if case.checkpoints:
        every, dump, restore, at_end = case.checkpoints[0]
        options["checkpoint"] = Checkpoint(float(every), float(dump), float(restore), at_end)
    if row["stepping"] == "no":
        run, prepared = prepare(jobs, cluster, policy, **options)
        return Prepare(run, prepared, partial(finish, run, prepared))
    if row["backfill"] not in BY_HAND:
        options["policy"] = policy
    simulation = sojourn.Simulation(jobs, cluster, **options)
    run, prepared = simulation._run, simulation._prepared
    by_hand = Rule(case, np.flatnonzero(prepared.accepted).tolist())
    return Prepare(run, prepared, partial(by_hand.drive, simulation))


class Rule:
    """Whom the discipline of a case starts, decided in Python, job by job.

    Without backfilling the first who does not fit is the last to be tried.
    """

    def __init__(self, case: Case, accepted: list[int]) -> None:
        asked = [
            Job(job.submit, job.work, job.procs, job.plan)
            for job in (case.jobs[i] for i in accepted)
        ]
        self.jobs = in_full(asked, case.checkpoints[: len(asked)])
        self.score, self.goes_on = case.discipline.score, case.discipline.backfill == "first-fit"
        members = [case.jobs[i].queue for i in accepted]
        self.queues = Queues(case.queues, members, self.jobs, case.between) if case.queues else None

    def drive(self, simulation: sojourn.Simulation) -> None:
        for decision in simulation:
            self._decide(decision)
        simulation._run.check()

    def _decide(self, decision: Any) -> None:
        running, starts = decision.running.tolist(), []
        for j in self._order(decision):
            if self.queues and self.queues.passes_over(j, running + starts):
                continue
            try:
                decision.start(j)
            except OptionError:
                if not self.goes_on:
                    break
            else:
                starts.append(j)
        if self.queues:
            self.queues.started(starts)

    def _order(self, decision: Any) -> list[int]:
        waiting, now = decision.waiting.tolist(), Fraction(decision.now)
        if self.queues:
            state = SimpleNamespace(waiting=waiting, now=now, rated=self.jobs.__getitem__)
            return self.queues.order(state)  # type: ignore[arg-type]
        return sorted(waiting, key=lambda j: (self.score(self.jobs[j], j, now), j))
