"""What holds in every run: nothing is given twice, and all work is done."""

from __future__ import annotations

from itertools import pairwise

from .everything import Case, Everything
from .model import Exact, ratio
from .named_external import Stretch
from .nodes import Request, amount, held_on
from .preemption import DISCIPLINES


def check_all(case: Case, outcome: Everything) -> None:
    """Assert all of it."""
    for i, job in enumerate(case.jobs):
        _check_job(case, outcome, i, job)
    if not _is_lame(case):
        assert "waiting" not in outcome.states, "somebody waits for nothing"
    times = sorted({s.start for s in outcome.stretches})
    for time in times:
        running = [s for s in outcome.stretches if s.start <= time < s.stop]
        _check_machine(case, running, time)
        _check_queues(case, running)


def _is_lame(case: Case) -> bool:
    """Whether in the end something is down, or the manager stopped."""
    manager = [h.kind for h in case.happenings if h.kind in ("stop", "resume")]
    last = max((h.time for h in case.happenings), default=0)
    down = _down_now(case, max(last, case.jobs[0].submit))
    gone = sum(down) if case.nodes is None else len(down)
    return gone > 0 or manager[-1:] == ["stop"]


def _check_job(case: Case, outcome: Everything, i: int, job: Request) -> None:
    fate, mine = outcome.fates[i], [s for s in outcome.stretches if s.job == i]
    if fate.state == "unaccepted":
        assert not mine
        assert i in outcome.reasons
        return
    for before, after in pairwise(mine):
        assert before.stop <= after.start
    if fate.state == "completed":
        start, end = outcome.start[i], outcome.end[i]
        assert start is not None
        assert end is not None
        assert job.submit <= start <= end
        # An attempt that was lost in the instant of its start is of no length, and sorts first.
        lost_at_once = outcome.lost.count((i, start, start))
        last = [s for s in mine if s.start >= start][lost_at_once:]
        done = sum(_work(case, s) for s in last)
        assert done == job.work, f"job {i} has done {done} of {job.work}"
        assert last[-1].stop == end
        if case.discipline.backfill not in DISCIPLINES:
            assert len(last) == 1
    if case.nodes is not None:
        for stretch in mine:
            _check_allocation(case, job, stretch)
            _check_reserved(case, job, stretch)


def _work(case: Case, stretch: Stretch) -> Exact:
    """Work on the reference processor, at a constant rate."""
    slowness: Exact = 1
    if case.nodes is not None:
        slowness = max(case.nodes[k].slowness for k, _ in stretch.nodes)
    return ratio((stretch.stop - stretch.start) * case.control.initial, slowness)


def _check_allocation(case: Case, job: Request, stretch: Stretch) -> None:
    assert case.nodes is not None
    assert sum(procs for _, procs in stretch.nodes) == job.procs
    if job.distinct:
        assert len(stretch.nodes) == job.tasks
    nodes = {k for k, _ in stretch.nodes}
    if job.feature:
        assert all(job.feature in case.nodes[k].features for k in nodes)
    if job.partitions is not None:
        there = [i for i in job.partitions if i < len(case.partitions)]
        assert any(nodes <= case.partitions[i].nodes for i in there)
    if case.queues and case.queues[job.queue].partitions is not None:
        allowed = case.queues[job.queue].partitions
        assert any(nodes <= case.partitions[i].nodes for i in allowed or ())
    if job.power_budget is not None:
        assert sum(n * case.nodes[k].watts_per_proc for k, n in stretch.nodes) <= job.power_budget


def _check_reserved(case: Case, job: Request, stretch: Stretch) -> None:
    """Who started when a reservation was known is planned to be out of its way."""
    assert case.nodes is not None
    preemptive = case.discipline.backfill in DISCIPLINES
    if preemptive and any(h.kind == "stop" for h in case.happenings):
        return
    slowness = max(case.nodes[k].slowness for k, _ in stretch.nodes)
    plan = job.plan if case.blind else job.plan * slowness
    planned = stretch.start + ratio(plan, case.control.initial)
    for announced, begin, end, node, _ in case.reservations:
        if node not in dict(stretch.nodes):
            continue
        if preemptive:
            assert stretch.stop <= begin or stretch.start >= end or stretch.start == stretch.stop
        elif announced <= stretch.start < end:
            assert planned <= begin, f"{stretch} is planned to end at {planned}"


def _check_machine(case: Case, running: list[Stretch], time: Exact) -> None:
    jobs = case.jobs
    if case.nodes is None:
        down = _down_now(case, time)
        assert sum(jobs[s.job].procs for s in running) <= case.servers - sum(down)
        return
    down = _down_now(case, time)
    for k, node in enumerate(case.nodes):
        here = [(jobs[s.job], dict(s.nodes)[k]) for s in running if k in dict(s.nodes)]
        assert not (here and k in down), f"node {k} is down at {time}"
        assert len(here) <= 1 or not any(job.whole_node for job, _ in here)
        for r, capacity in enumerate(node.capacity):
            held = [amount(held_on(node, job, n // job.of_task[0]), r) for job, n in here]
            assert sum(held) <= capacity, f"resource {r} of node {k} at {time}"
    for r, capacity in enumerate(case.pools):
        assert sum(amount(jobs[s.job].licences, r) for s in running) <= capacity


def _down_now(case: Case, time: Exact) -> list[int]:
    """Numbers of processors that went down (negative: came back), or nodes that are down."""
    first = min(job.submit for job in case.jobs)
    past = [h for h in case.happenings if max(h.time, first) <= time]
    if case.nodes is None:
        signs = {"down": 1, "up": -1}
        return [signs[h.kind] * h.about for h in past if h.kind in signs]
    down: set[int] = set()
    for happening in past:
        if happening.kind in ("down", "up"):
            down ^= {happening.about}
    return sorted(down)


def _check_queues(case: Case, running: list[Stretch]) -> None:
    for q, queue in enumerate(case.queues):
        mine = [case.jobs[s.job].procs for s in running if case.jobs[s.job].queue == q]
        assert queue.max_running is None or len(mine) <= queue.max_running
        assert queue.max_used is None or sum(mine) <= queue.max_used
