"""Schedules on nodes that sleep, worked out by hand, and what must hold for all of them."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from .controls import constant
from .disciplines import ordered
from .model import Job as Counted
from .orders import fcfs
from .power import ASLEEP, ENTERING, LEAVING, ON, Change, Job, Sleep, joules, simulate
from .recursion import simulate as simulate_counted

DEPTH = Sleep(enter=10, leave=100)
TWO = [DEPTH, DEPTH]


def exact(work, nodes, submit=0):
    return Job(submit, work, nodes, work)


def test_both_nodes_are_asleep_when_the_job_comes():
    """Node 1 sleeps after 50 s; node 0, free at 20 s, after 70 s. At 100 s both wake: 200 s."""
    out = simulate([exact(20, 1), exact(10, 2, 100)], TWO, "fcfs", idle=50)
    assert (out.start, out.claim) == ({0: 0, 1: 200}, {0: 0, 1: 100})
    assert out.end[1] == 210
    assert out.changes == [
        Change(0, 0, ON), Change(0, 1, ON), Change(50, 1, ENTERING), Change(60, 1, ASLEEP),
        Change(70, 0, ENTERING), Change(80, 0, ASLEEP), Change(100, 0, LEAVING),
        Change(100, 1, LEAVING), Change(200, 0, ON), Change(200, 1, ON),
    ]  # fmt: skip


def test_a_node_on_its_way_to_sleep_must_arrive_before_it_wakes():
    """Claimed at 55 s, five seconds after it began to enter: asleep at 60 s, up at 160 s."""
    out = simulate([exact(52, 1), exact(10, 2, 55)], TWO, "fcfs", idle=50)
    assert (out.claim[1], out.start[1]) == (55, 160)
    own = [change for change in out.changes if change.node == 1]
    assert own == [Change(0, 1, ON), Change(50, 1, ENTERING), Change(60, 1, ASLEEP),
                   Change(60, 1, LEAVING), Change(160, 1, ON)]  # fmt: skip
    # Node 0 was free at 52 s, and is held from the claim on: it does not go to sleep at 102 s.
    assert [change for change in out.changes if change.node == 0] == [Change(0, 0, ON)]


def test_nodes_that_are_up_come_first():
    """At 70 s node 0 is idle and node 1 asleep: a job of one node starts at once, on node 0."""
    out = simulate([exact(30, 1), exact(5, 1, 70)], TWO, "fcfs", idle=50)
    assert (out.start[1], out.nodes[1]) == (70, (0,))


def test_whoever_fits_on_sleepers_wakes_them():
    """Node 1 is asleep at 60 s; no job waits for node 0, which is planned to be free at 100 s."""
    jobs = [exact(100, 1), exact(10, 1, 60)]
    for discipline in ("fcfs", "easy", "conservative"):
        out = simulate(jobs, TWO, discipline, idle=20)
        assert (out.claim[1], out.start[1], out.nodes[1]) == (60, 160, (1,))


def test_a_reservation_counts_boots_and_wakes_its_nodes_in_time():
    """Node 0 runs to 200, nodes 1 and 2 are asleep; at 50 comes a job of all three.

    It is to have them at 200, so both sleepers leave at 100. A job of one node would have it up at
    150. If it takes 90 s, it would end at 240: it may not. If it takes 50 s it ends at 200: it may,
    and its node is up then.
    """
    three = [DEPTH] * 3
    long = [exact(200, 1), exact(10, 3, 50), exact(90, 1, 50)]
    for discipline in ("easy", "conservative"):
        out = simulate(long, three, discipline, idle=20)
        assert out.start == {0: 0, 1: 200, 2: 210}
        woken = [change for change in out.changes if change.state == LEAVING]
        assert woken[:2] == [Change(100, 1, LEAVING), Change(100, 2, LEAVING)]
        short = [*long[:2], exact(50, 1, 50)]
        out = simulate(short, three, discipline, idle=20)
        assert (out.claim[2], out.start) == (50, {0: 0, 2: 150, 1: 200})


def test_nodes_that_a_reservation_counts_on_sleep_only_if_there_is_time():
    """Node 1 is idle from 0, T = 30, but at 20 a job of both nodes is to have them at 100."""
    jobs = [exact(100, 1), exact(10, 2, 20)]
    out = simulate(jobs, TWO, "easy", idle=30)
    assert out.start[1] == 100
    assert out.changes == [Change(0, 0, ON), Change(0, 1, ON)]
    # Without a reservation it goes to sleep at 30, is asleep at 40, and is woken at 100.
    assert simulate(jobs, TWO, "fcfs", idle=30).start[1] == 200
    # If it is to have them at 300, there is time: asleep from 40 to 200.
    out = simulate([exact(300, 1), exact(10, 2, 20)], TWO, "easy", idle=30)
    assert out.start[1] == 300
    assert out.changes[2:] == [
        Change(30, 1, ENTERING), Change(40, 1, ASLEEP), Change(200, 1, LEAVING), Change(300, 1, ON),
    ]  # fmt: skip


def test_a_node_without_depths_never_sleeps():
    out = simulate([exact(5, 1), exact(5, 1, 1000)], [None, DEPTH], "fcfs", idle=10)
    assert [change.node for change in out.changes[2:]] == [1, 1]
    assert out.start[1] == 1000


def test_no_time_to_sleep_and_none_to_wake():
    """With T = 0, E = 0 and L = 0 nodes are asleep whenever no job is on them, and nobody waits."""
    jobs = [exact(5, 1), exact(5, 2, 3), exact(0, 1, 20)]
    at_once = simulate(jobs, [Sleep(0, 0)] * 2, "fcfs", idle=0)
    assert at_once.start == simulate(jobs, [None] * 2, "fcfs").start == {0: 0, 1: 5, 2: 20}
    assert Change(5, 0, LEAVING) not in at_once.changes  # taken over before it could sleep
    assert Change(10, 0, ASLEEP) in at_once.changes


def test_energy_by_hand():
    """The first schedule: busy 20 + 2 x 10 s, idle 50 + 50 s, both asleep 40 and 20 s."""
    out = simulate([exact(20, 1), exact(10, 2, 100)], TWO, "fcfs", idle=50)
    watts = [{"busy": 200, "idle": 100, ENTERING: 110, ASLEEP: 10, LEAVING: 120}] * 2
    assert joules(out, watts, 210) == [
        {"busy": 30 * 200, "idle": 50 * 100, ENTERING: 1100, ASLEEP: 200, LEAVING: 12_000},
        {"busy": 10 * 200, "idle": 50 * 100, ENTERING: 1100, ASLEEP: 400, LEAVING: 12_000},
    ]


times = st.one_of(st.integers(0, 12), st.builds(Fraction, st.integers(0, 24), st.just(2)))


@st.composite
def workloads(draw, *, killed):
    nodes = draw(st.integers(1, 4))
    submit, jobs = 0, []
    for _ in range(draw(st.integers(1, 8))):
        submit += draw(times)
        work, plan = draw(times), draw(times)
        jobs.append(
            Job(submit, min(work, plan) if killed else work, draw(st.integers(1, nodes)), plan)
        )
    depths = st.one_of(st.none(), st.builds(Sleep, times, times))
    return jobs, draw(st.lists(depths, min_size=nodes, max_size=nodes))


@given(workloads(killed=False), st.sampled_from(["fcfs", "easy"]), times)
def test_what_always_holds(workload, discipline, idle):
    jobs, sleep = workload
    out = simulate(jobs, sleep, discipline, idle)
    assert set(out.start) == set(range(len(jobs)))
    history = defaultdict(list)
    for change in out.changes:
        history[change.node].append(change)
    follows = {ON: {ENTERING}, ENTERING: {ASLEEP}, ASLEEP: {LEAVING}, LEAVING: {ON}}
    for k, own in history.items():
        for before, after in pairwise(own):
            assert after.state in follows[before.state]
            lapse = after.time - before.time
            if before.state == ENTERING:
                assert lapse == sleep[k].enter
            if before.state == LEAVING:
                assert lapse == sleep[k].leave
            if before.state == ON:
                assert lapse >= idle
        held = sorted((out.claim[j], out.end[j]) for j, nodes in out.nodes.items() if k in nodes)
        for (_, end), (claim, _) in pairwise(held):
            assert claim >= end
    for j, job in enumerate(jobs):
        assert len(out.nodes[j]) == job.nodes
        assert job.submit <= out.claim[j] <= out.start[j]
        assert out.end[j] == out.start[j] + job.work
        for k in out.nodes[j]:
            state = [c for c in history[k] if c.time <= out.start[j]][-1].state
            assert state == ON or job.work == 0
    watts = [{"busy": 5, "idle": 3, ENTERING: 4, ASLEEP: 1, LEAVING: 6}] * len(sleep)
    begin, last = jobs[0].submit, max(out.end.values())
    seconds = joules(out, [dict.fromkeys(each, 1) for each in watts], last)
    assert all(sum(each.values()) == last - begin for each in seconds)
    if discipline == "fcfs":
        assert list(out.claim.values()) == sorted(out.claim.values())


@given(workloads(killed=False), st.sampled_from(["fcfs", "easy"]))
def test_without_sleep_it_is_the_recursion(workload, discipline):
    """On nodes that never sleep the oracle of counted processors gives the same starts."""
    jobs, _ = workload
    nodes = max(job.nodes for job in jobs)
    ours = simulate(jobs, [None] * nodes, discipline)
    counted = [Counted(job.submit, job.work, job.nodes, job.plan) for job in jobs]
    backfill = ordered(fcfs) if discipline == "fcfs" else ordered(fcfs, "easy")
    theirs = simulate_counted(counted, nodes, backfill, constant(1))
    assert [ours.start[j] for j in range(len(jobs))] == theirs.start
