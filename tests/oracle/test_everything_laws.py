"""What holds of every case, drawn at random: the oracle of everything against itself."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from . import placements
from .disciplines import longest_remaining, ordered, preempt, shortest_remaining
from .everything import Case, Everything, simulate
from .everything_strategies import MACHINES, PREEMPTIVE, SCHEDULINGS, Axes, everything
from .external import Happening, Reservation
from .laws import check_all
from .model import Job
from .named import simulate as simulate_named
from .nodes import Partition
from .queues import Queue
from .recursion import simulate as simulate_counted

NON_PREEMPTIVE = [name for name in SCHEDULINGS if name not in PREEMPTIVE]
LATE = 10**6


def same(one: Everything, other: Everything, *, rows: bool = True) -> None:
    assert one.reasons == other.reasons
    assert one.start == other.start
    assert one.end == other.end
    assert one.stretches == other.stretches
    assert one.promises == other.promises
    if rows:
        assert one.trajectory == other.trajectory


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("scheduling", SCHEDULINGS)
def test_nothing_is_given_twice_and_all_work_is_done(scheduling, machine):
    @settings(max_examples=20)
    @given(everything(Axes(machine, scheduling)))
    def holds(case: Case) -> None:
        check_all(case, simulate(case))

    holds()


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("scheduling", SCHEDULINGS)
def test_late_events_change_nothing(scheduling, machine):
    @settings(max_examples=12)
    @given(everything(Axes(machine, scheduling, events="none")), st.booleans())
    def holds(case: Case, announced: bool) -> None:
        kinds = ("withdraw", "strike", "down", "up", "stop", "resume")
        about = {"down": 1, "up": 1} if case.nodes is None else {}
        late = case._replace(
            happenings=tuple(Happening(LATE, kind, about.get(kind, 0)) for kind in kinds),
            # One that is known all the time is out of reach of all plans.
            reservations=(Reservation(0 if announced else LATE, LATE, LATE + 1, 0),),
        )
        same(simulate(case), simulate(late))

    holds()


@pytest.mark.parametrize("scheduling", SCHEDULINGS)
@settings(max_examples=25)
@given(data=st.data())
def test_counted_without_events_is_the_recursion(scheduling, data):
    case = data.draw(everything(Axes("counted", scheduling, events="none", queued=False)))
    jobs = [
        Job(job.submit, job.work, job.procs, job.plan)
        for job in case.jobs
        if job.procs <= case.servers
    ]
    if not jobs:
        return
    discipline = {
        "lcfs-pr": preempt(case.discipline.score),
        "lpf": longest_remaining(),
        "spf": shortest_remaining(),
    }.get(scheduling)
    if discipline is None:
        discipline = ordered(*case.discipline[:4])
    expected = simulate_counted(jobs, case.servers, discipline, case.control, (), case.passes)
    found = simulate(case)
    assert [t for t in found.start if t is not None] == expected.start
    assert [t for t in found.end if t is not None] == expected.end
    assert [s[1:3] for s in found.stretches] == [s[1:] for s in expected.segments]
    assert found.trajectory == expected.trajectory
    promised = [p for i, p in enumerate(found.promises) if i not in found.reasons]
    assert promised == expected.promises


@pytest.mark.parametrize("machine", ["plain", "constrained"])
@pytest.mark.parametrize("scheduling", NON_PREEMPTIVE)
def test_nodes_without_events_are_as_without_the_outside(scheduling, machine):
    @settings(max_examples=15)
    @given(everything(Axes(machine, scheduling, events="none", queued=False)))
    def holds(case: Case) -> None:
        scheduled = case.discipline._replace(blind=case.blind)
        expected = simulate_named(
            case.jobs, case.nodes, scheduled, case.control, case.placement, (), case.passes
        )
        found = simulate(case)
        accepted = [i for i in range(len(case.jobs)) if i not in found.reasons]
        assert accepted == expected.accepted
        assert [found.start[i] for i in accepted] == expected.run.start
        assert [found.end[i] for i in accepted] == expected.run.end
        places = {s.job: s.nodes for s in found.stretches}
        assert [places[i] for i in accepted] == expected.allocations

    holds()


@pytest.mark.parametrize("events", ["none", "withdraw"])
@pytest.mark.parametrize("scheduling", SCHEDULINGS)
def test_equal_nodes_are_counted_processors(scheduling, events):
    @settings(max_examples=20)
    @given(everything(Axes("plain", scheduling, events=events)))
    def holds(case: Case) -> None:
        if case.placement.name == "contiguous":
            case = case._replace(placement=placements.best_fit)
        equal = case._replace(nodes=tuple(node._replace(slowness=1) for node in case.nodes))
        servers = sum(node.procs for node in equal.nodes)
        counted = case._replace(nodes=None, servers=servers, blind=False)
        found, expected = simulate(equal), simulate(counted)
        assert found.reasons == expected.reasons
        assert found.start == expected.start
        assert found.end == expected.end
        assert found.trajectory == expected.trajectory
        if not (case.blind and case.discipline.backfill == "conservative"):
            assert found.promises == expected.promises

    holds()


@pytest.mark.parametrize("scheduling", ["fcfs", "first-fit", *PREEMPTIVE])
@settings(max_examples=20)
@given(data=st.data())
def test_tasks_of_one_processor_are_processors_anywhere(scheduling, data):
    """Where nothing is promised it does not matter whether a promise would name nodes."""
    case = data.draw(everything(Axes("plain", scheduling, events="any")))
    case = case._replace(reservations=())
    tasks = tuple(job._replace(tasks=job.procs, need=(1,)) for job in case.jobs)
    same(simulate(case), simulate(case._replace(jobs=tasks)))


@pytest.mark.parametrize("scheduling", SCHEDULINGS)
@settings(max_examples=20)
@given(data=st.data())
def test_a_partition_of_all_nodes_changes_nothing(scheduling, data):
    case = data.draw(everything(Axes("plain", scheduling)))
    everywhere = Partition(frozenset(range(len(case.nodes))))
    bound = tuple(job._replace(partitions=(0,)) for job in case.jobs)
    same(simulate(case), simulate(case._replace(jobs=bound, partitions=(everywhere,))))


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("scheduling", NON_PREEMPTIVE)
def test_one_queue_without_limits_changes_nothing(scheduling, machine):
    @settings(max_examples=12)
    @given(
        everything(Axes(machine, scheduling, queued=False)),
        st.sampled_from(["priority", "round-robin", "weights"]),
    )
    def holds(case: Case, between: str) -> None:
        queues = (Queue(case.discipline.score),)
        same(simulate(case), simulate(case._replace(queues=queues, between=between)))

    holds()


@pytest.mark.parametrize("scheduling", NON_PREEMPTIVE)
@settings(max_examples=20)
@given(data=st.data())
def test_queues_by_priority_are_one_order(scheduling, data):
    """Strict priority is the order of (priority, place of the queue), then of the queue."""
    case = data.draw(everything(Axes(scheduling=scheduling, queued=True)))
    queues = tuple(Queue(queue.score, queue.priority) for queue in case.queues)
    queued = case._replace(queues=queues, between="priority")
    found = simulate(queued)
    labels = [job.queue for i, job in enumerate(case.jobs) if i not in found.reasons]
    rank = sorted(range(len(queues)), key=lambda q: (-queues[q].priority, q))

    def score(job, label, now):
        queue = labels[label]
        return rank.index(queue), queues[queue].score(job, label, now)

    single = queued._replace(queues=(), discipline=case.discipline._replace(score=score))
    same(found, simulate(single))
