"""Jobs on whole nodes that sleep, at rate 1, and what the nodes use: from the oracle of everything.

A short way to schedules that can be worked out by hand: `docs/background/power-states.md`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from .dispatcher import Scheduling
from .everything import Case
from .everything import simulate as simulate_everything
from .model import Exact
from .nodes import Node, Request
from .sleep import Depth
from .sleep import Sleep as Rules

ON, ENTERING, ASLEEP, LEAVING = "on", "entering", "asleep", "leaving"
NEVER = 10**9


class Job(NamedTuple):
    """A job on whole nodes: submit, work and plan in seconds."""

    submit: Exact
    work: Exact
    nodes: int
    plan: Exact


class Sleep(NamedTuple):
    """A depth: seconds to enter and to leave."""

    enter: Exact
    leave: Exact


class Change(NamedTuple):
    """A node is in a state from a time on."""

    time: Exact
    node: int
    state: str


@dataclass
class Outcome:
    """By job: claim, start, end and nodes; all changes of states."""

    claim: dict[int, Exact] = field(default_factory=dict)
    start: dict[int, Exact] = field(default_factory=dict)
    end: dict[int, Exact] = field(default_factory=dict)
    nodes: dict[int, tuple[int, ...]] = field(default_factory=dict)
    changes: list[Change] = field(default_factory=list)


def simulate(
    jobs: Sequence[Job], sleep: Sequence[Sleep | None], discipline: str, idle: Exact | None = None
) -> Outcome:
    """Run all jobs; `sleep`: the depth of each node; `idle`: the T of `idle:T`, None for never."""
    backfill = {"fcfs": "none"}.get(discipline, discipline)
    depths = tuple(None if each is None else Depth(*each) for each in sleep)
    case = Case(
        jobs=tuple(Request(job.submit, job.work, job.nodes, job.plan) for job in jobs),
        nodes=tuple(Node(procs=1) for _ in sleep),
        discipline=Scheduling(backfill=backfill),
        sleep=Rules(depths, NEVER if idle is None else idle),
    )
    run = simulate_everything(case)
    first = min(job.submit for job in jobs)
    states = (ON, ENTERING, ASLEEP, LEAVING)
    out = Outcome(changes=[Change(first, k, ON) for k in range(len(sleep))])
    out.changes += [Change(it.time, it.node, states[it.state]) for it in run.changes]
    for j in range(len(jobs)):
        start, end = run.start[j], run.end[j]
        assert start is not None
        assert end is not None
        out.claim[j], out.start[j], out.end[j] = start, start + run.boots[j], end
    out.nodes = {it.job: tuple(k for k, _ in it.nodes) for it in run.stretches}
    return out


def joules(
    outcome: Outcome, watts: Sequence[dict[str, Exact]], until: Exact
) -> list[dict[str, Exact]]:
    """By node: the energy in each state; watts by state, with ``busy`` and ``idle`` for on."""
    bills: list[dict[str, Exact]] = []
    for k, power in enumerate(watts):
        own = [change for change in outcome.changes if change.node == k]
        spent = dict.fromkeys(power, 0)
        ends = [*(change.time for change in own[1:]), until]
        for change, end in zip(own, ends, strict=True):
            lapse = max(min(end, until) - change.time, 0)
            if change.state != ON:
                spent[change.state] += lapse * power[change.state]
                continue
            busy = sum(
                max(min(outcome.end[j], end, until) - max(outcome.start[j], change.time), 0)
                for j, nodes in outcome.nodes.items()
                if k in nodes
            )
            spent["busy"] += busy * power["busy"]
            spent["idle"] += (lapse - busy) * power["idle"]
        bills.append(spent)
    return bills
