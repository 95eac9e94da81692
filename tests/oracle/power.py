"""Nodes that sleep: `docs/background/power-states.md`, for jobs on whole nodes at rate 1.

FCFS without backfilling and EASY, with the sleep policies `never` and `idle:T`. All numbers are
exact; nothing fails and nothing is capped.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from .model import Exact

# An instant, and how many infinitesimals after it: an overdue job ends right after now.
Moment = tuple[Exact, int]

ON, ENTERING, ASLEEP, LEAVING = "on", "entering", "asleep", "leaving"


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
class Node:
    """A node now: its state since when, who holds it, since when it has been idle."""

    sleep: Sleep | None
    state: str = ON
    since: Exact = 0
    holder: int | None = None
    idle_since: Exact = 0

    def up(self, at: Moment) -> Moment:
        """u(k, t) of a node that nobody holds until t, or that is on then."""
        if self.state == ON:
            return at
        assert self.sleep is not None
        time, later = at
        if self.state == ASLEEP:
            return time + self.sleep.leave, later
        if self.state == ENTERING:
            awake = max(at, (self.since + self.sleep.enter, 0))
            return awake[0] + self.sleep.leave, awake[1]
        return max(at, (self.since + self.sleep.leave, 0))

    def arrives(self) -> Exact | None:
        """When a change of state that is under way ends."""
        if self.state not in (ENTERING, LEAVING):
            return None
        assert self.sleep is not None
        return self.since + (self.sleep.enter if self.state == ENTERING else self.sleep.leave)


class Reservation(NamedTuple):
    """Of a head: its shadow, when it would claim, and the nodes that it counts on."""

    shadow: Moment
    claim: Moment
    nodes: tuple[int, ...]


@dataclass
class Outcome:
    """By job: claim, start, end and nodes; all changes of states; first shadows of heads."""

    claim: dict[int, Exact] = field(default_factory=dict)
    start: dict[int, Exact] = field(default_factory=dict)
    end: dict[int, Exact] = field(default_factory=dict)
    nodes: dict[int, tuple[int, ...]] = field(default_factory=dict)
    changes: list[Change] = field(default_factory=list)
    first_shadow: dict[int, Exact] = field(default_factory=dict)


def simulate(
    jobs: Sequence[Job], sleep: Sequence[Sleep | None], discipline: str, idle: Exact | None = None
) -> Outcome:
    """Run all jobs; `sleep`: the depth of each node; `idle`: the T of `idle:T`, None for never."""
    return _Run(jobs, sleep, discipline, idle).outcome()


class _Run:
    def __init__(
        self,
        jobs: Sequence[Job],
        sleep: Sequence[Sleep | None],
        discipline: str,
        idle: Exact | None,
    ) -> None:
        assert discipline in ("fcfs", "easy")
        assert all(1 <= job.nodes <= len(sleep) for job in jobs)
        assert [job.submit for job in jobs] == sorted(job.submit for job in jobs)
        self.jobs, self.discipline, self.idle = jobs, discipline, idle
        self.now: Exact = min((job.submit for job in jobs), default=0)
        self.nodes = [Node(each, since=self.now, idle_since=self.now) for each in sleep]
        self.coming = list(range(len(jobs)))
        self.waiting: list[int] = []
        self.claimed: list[int] = []
        self.running: list[int] = []
        self.counted_on: tuple[int, ...] = ()
        self.out = Outcome(changes=[Change(self.now, k, ON) for k in range(len(sleep))])

    def outcome(self) -> Outcome:
        while self.coming or self.waiting or self.claimed or self.running:
            self.instant()
            self.now = min(self.next_times(), default=self.now)
        return self.out

    def instant(self) -> None:
        """The phases of an instant, in order."""
        self.complete()
        self.arrive_at_states()
        while self.coming and self.jobs[self.coming[0]].submit <= self.now:
            self.waiting.append(self.coming.pop(0))
        self.counted_on = ()
        if self.discipline == "fcfs":
            self.first_come()
        else:
            self.easy()
        self.put_to_sleep()

    def next_times(self) -> Iterator[Exact]:
        """Instants ahead. A job of no work, and a change that takes no time, end now once more."""
        yield from (self.jobs[j].submit for j in self.coming[:1])
        yield from (self.out.end[j] for j in self.running)
        yield from (time for node in self.nodes if (time := node.arrives()) is not None)
        if self.idle is not None:
            for k, node in enumerate(self.nodes):
                due = node.idle_since + self.idle
                if self.may_sleep(k) and due > self.now:
                    yield due

    def complete(self) -> None:
        for j in sorted(j for j in self.running if self.out.end[j] <= self.now):
            self.running.remove(j)
            for k in self.out.nodes[j]:
                self.nodes[k].holder, self.nodes[k].idle_since = None, self.now

    def arrive_at_states(self) -> None:
        for k, node in enumerate(self.nodes):
            due = node.arrives()
            if due is not None and due <= self.now:
                if node.state == ENTERING:
                    self.change(k, ASLEEP)
                    if node.holder is not None:
                        self.wake(k)
                else:
                    self.come_up(k)
        self.start_claims()

    def start_claims(self) -> None:
        for j in sorted(self.claimed):
            if all(self.nodes[k].state == ON for k in self.out.nodes[j]):
                self.claimed.remove(j)
                self.running.append(j)
                self.out.start[j] = self.now
                self.out.end[j] = self.now + self.jobs[j].work

    def change(self, k: int, state: str) -> None:
        self.nodes[k].state, self.nodes[k].since = state, self.now
        self.out.changes.append(Change(self.now, k, state))

    def wake(self, k: int) -> None:
        node = self.nodes[k]
        assert node.sleep is not None
        self.change(k, LEAVING)
        if node.sleep.leave == 0:
            self.come_up(k)

    def come_up(self, k: int) -> None:
        self.change(k, ON)
        self.nodes[k].idle_since = self.now

    # Passes

    def free(self) -> list[int]:
        return [k for k, node in enumerate(self.nodes) if node.holder is None]

    def soonest(self, among: Sequence[int], at: Moment, count: int) -> list[int]:
        """The nodes with the least up times, by number where they are equal."""
        return sorted(among, key=lambda k: (self.nodes[k].up(at), k))[:count]

    def take(self, j: int, nodes: Sequence[int]) -> None:
        """Let a job claim nodes, and start if all of them are up."""
        self.out.claim[j], self.out.nodes[j] = self.now, tuple(sorted(nodes))
        self.claimed.append(j)
        self.waiting.remove(j)
        for k in self.out.nodes[j]:
            self.nodes[k].holder = j
            if self.nodes[k].state == ASLEEP:
                self.wake(k)
        self.start_claims()

    def first_come(self) -> None:
        while self.waiting:
            job = self.jobs[self.waiting[0]]
            nodes = self.soonest(self.free(), (self.now, 0), job.nodes)
            if len(nodes) < job.nodes:
                return
            self.take(self.waiting[0], nodes)

    def planned_ends(self) -> dict[int, Moment]:
        """By node that is held: when its job is planned to end."""
        ends: dict[int, Moment] = {}
        for j in (*self.running, *self.claimed):
            start = self.out.start.get(j)
            if start is None:
                start = max(self.nodes[k].up((self.now, 0)) for k in self.out.nodes[j])[0]
            end = start + self.jobs[j].plan
            ends |= dict.fromkeys(self.out.nodes[j], (end, 0) if end > self.now else (self.now, 1))
        return ends

    def reservation(self, count: int, held: dict[int, Moment]) -> Reservation:
        """The least S(t), for nodes held until planned ends."""
        best: Reservation | None = None
        for at in sorted({(self.now, 0), *held.values()}):
            there = [k for k in range(len(self.nodes)) if held.get(k, at) <= at]
            if len(there) < count:
                continue
            ups = {k: at if k in held else self.nodes[k].up(at) for k in there}
            nodes = sorted(there, key=lambda k: (ups[k], k))[:count]
            made = Reservation(max(ups[k] for k in nodes), at, tuple(nodes))
            if best is None or made.shadow < best.shadow:
                best = made
        assert best is not None, "all planned ends are known"
        return best

    def easy(self) -> None:
        here = (self.now, 0)
        while self.waiting:
            head = self.waiting[0]
            promised = self.reservation(self.jobs[head].nodes, self.planned_ends())
            free = self.free()
            if promised.claim != here or len(free) < self.jobs[head].nodes:
                break
            self.take(head, self.soonest(free, here, self.jobs[head].nodes))
        else:
            return
        self.out.first_shadow.setdefault(head, promised.shadow[0])
        for j in self.waiting[1:]:
            for among in (self.free(), [k for k in self.free() if k not in promised.nodes]):
                nodes = self.soonest(among, here, self.jobs[j].nodes)
                if len(nodes) < self.jobs[j].nodes:
                    continue
                start = max(self.nodes[k].up(here) for k in nodes)
                held = self.planned_ends() | dict.fromkeys(nodes, (start[0] + self.jobs[j].plan, 0))
                if self.reservation(self.jobs[head].nodes, held).shadow <= promised.shadow:
                    self.take(j, nodes)
                    promised = self.reservation(self.jobs[head].nodes, self.planned_ends())
                    break
        self.counted_on = promised.nodes

    # Sleep

    def may_sleep(self, k: int) -> bool:
        node = self.nodes[k]
        is_free = node.state == ON and node.holder is None and node.sleep is not None
        return is_free and k not in self.counted_on

    def put_to_sleep(self) -> None:
        if self.idle is None:
            return
        for k, node in enumerate(self.nodes):
            if self.may_sleep(k) and node.idle_since + self.idle <= self.now:
                assert node.sleep is not None
                self.change(k, ENTERING)
                if node.sleep.enter == 0:
                    self.change(k, ASLEEP)


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
