"""Sleepers lend watts: schedules worked out by hand from docs/background/caps.md."""

from __future__ import annotations

import math

from .caps import Cap, draws_of
from .dispatcher import Scheduling
from .everything import Case, simulate
from .nodes import Node, Request
from .orders import fcfs
from .sleep import Depth, Sleep

IDLE, BUSY = 10, 20
NODE = Node(1, 1, tuple(IDLE + level for level in range(11)))
OFF = Depth(0, 5, watts=2, leave_watts=10)


def case(cap, jobs, depth=OFF, nodes=3, backfill="easy", idle=0):
    """Jobs of (submit, work, procs) on nodes of one processor under a cap."""
    return Case(
        tuple(Request(submit, work, procs, work) for submit, work, procs in jobs),
        (NODE,) * nodes,
        discipline=Scheduling(fcfs, backfill),
        sleep=Sleep((depth,) * nodes, idle),
        caps=(Cap(((-math.inf, cap),)),),
    )


def test_what_nodes_lend_and_hold():
    depths = (OFF, None, Depth(1, 1, watts=12, enter_watts=13, leave_watts=15))
    draws = draws_of((Cap(((-math.inf, 50),)),), (NODE,) * 3, 1, [None], depths)
    # The last draws more asleep than idle: 12 W are its idle power.
    assert draws.room == ((50 - 10 - 10 - 12) * 1000,)
    assert draws.lent == (8000, 0, 0)
    assert draws.changing == (0, 0, 3000)
    assert draws.named


def test_two_sleepers_lend_what_a_third_node_needs():
    # 42 W leave 12 beside 30 idle ones. The first job adds 10, and two sleepers lend 16: the
    # second job needs 8 to wake its node, and 10.
    jobs = ((0, 100, 1), (1, 20, 1))
    assert simulate(case(42, jobs)).start == [0, 1]
    assert simulate(case(42, jobs)).end == [100, 26]
    assert simulate(case(41.999, jobs)).start == [0, 100]
    # Without sleep it waits.
    assert simulate(case(42, jobs, idle=1000)).start == [0, 100]


def test_who_is_awake_lends_nothing():
    # The second job wakes its node at 1 and ends at 26; that goes to sleep at once. Then the third
    # finds 18 W again, which it could not before.
    jobs = ((0, 100, 1), (1, 20, 1), (2, 20, 1))
    assert simulate(case(42, jobs)).start == [0, 1, 26]
    # If it stays on for 10 s, the third finds it awake, and needs no more than 10 W.
    assert simulate(case(42, jobs, idle=10)).start[2] == 100


def test_a_boot_that_draws_more_than_the_job_adds():
    # It takes 25 W: 15 beside idle power, 5 more than the job adds. 8 + 15 are needed.
    dear = OFF._replace(leave_watts=25)
    jobs = ((0, 100, 1), (1, 20, 1))
    assert simulate(case(47, jobs, dear)).start == [0, 1]
    assert simulate(case(46.999, jobs, dear)).start == [0, 100]
    # On three nodes all asleep it needs 15 beside 30; with less it is not accepted.
    assert simulate(case(44.999, jobs, dear)).reasons == {0: "cap", 1: "cap"}


def test_a_job_that_ends_in_time_leaves_the_head_its_watts():
    # 70 W leave 30 beside four idle nodes, and three sleepers lend 24. Job 0 runs on node 0 to 100.
    # The head needs three nodes: 30 and 24 W now, when 44 are free; at 100, with node 0, 30 and 16
    # of 54, so that 8 are left over. A short job of two would end in time, and finds its 36 W now;
    # but what it wakes takes 16 W for ever.
    jobs = ((0, 100, 1), (1, 50, 3), (2, 10, 2))
    outcome = simulate(case(70, jobs, nodes=4))
    assert outcome.start[:2] == [0, 100]
    assert outcome.start[2] > 100
    # With 78 W there are as many.
    assert simulate(case(78, jobs, nodes=4)).start == [0, 100, 2]


def test_a_node_sleeps_only_if_there_are_watts_on_the_way():
    # Entering draws 3 W more than idle: 32 W leave 2, and nobody sleeps; 33 leave 3, for one of the
    # two that are idle.
    slow = Depth(4, 5, watts=2, enter_watts=13, leave_watts=13)
    jobs = ((0, 0, 1), (30, 0, 1))
    zero = tuple(Request(submit, 1, 1, 1, watts=0) for submit, _, _ in jobs)
    for cap, slept in ((32, 0), (33, 1), (36, 2)):
        outcome = simulate(case(cap, jobs, slow, 3)._replace(jobs=zero))
        entered = [change for change in outcome.changes if change.state == 1 and change.time == 0]
        assert len(entered) == slept
