"""The oracle of everything on cases small enough to work out by hand."""

from __future__ import annotations

import pytest

from . import placements
from .everything import Case, Everything, simulate
from .everything_strategies import SCHEDULINGS
from .external import Happening, Reservation
from .nodes import Node, Partition, Request, on_nodes
from .queues import Queue

FCFS, EASY, EASY_2 = SCHEDULINGS["fcfs"], SCHEDULINGS["easy"], SCHEDULINGS["easy:2"]
CONSERVATIVE, FIRST_FIT = SCHEDULINGS["conservative"], SCHEDULINGS["first-fit"]
LCFS_PR, LPF, SPF = SCHEDULINGS["lcfs-pr"], SCHEDULINGS["lpf"], SCHEDULINGS["spf"]


def job(submit, work, procs=1, plan=None, **more) -> Request:
    return Request(submit, work, procs, work if plan is None else plan, **more)


def stretches(outcome: Everything, j: int):
    return [tuple(s[1:]) for s in outcome.stretches if s.job == j]


class TestVectors:
    GPUS = Node(4, more=(2,))

    @pytest.mark.parametrize("discipline", [EASY, EASY_2, CONSERVATIVE])
    def test_a_reservation_holds_the_whole_vector(self, discipline):
        # The head needs both GPUs at 10. Who takes one beyond that waits; cores are left over.
        jobs = (
            on_nodes(0, 10, 1, (1, 0, 1), 10),
            on_nodes(0, 5, 1, (1, 0, 2), 5),
            on_nodes(0, 20, 1, (1, 0, 1), 20),
            on_nodes(0, 20, 1, (1,), 20),
            on_nodes(0, 10, 1, (1, 0, 1), 10),
        )
        outcome = simulate(Case(jobs, (self.GPUS,), discipline=discipline))
        assert outcome.start == [0, 10, 15, 0, 0]

    def test_tasks_on_distinct_nodes(self):
        nodes = (Node(4), Node(4))
        jobs = (
            on_nodes(0, 5, 2, (2,), 5),
            on_nodes(0, 2, 2, (3,), 2),
            on_nodes(0, 3, 1, (2,), 3),
        )
        outcome = simulate(Case(jobs, nodes, discipline=EASY))
        assert outcome.start == [0, 5, 0]
        assert stretches(outcome, 1) == [(5, 7, ((0, 3), (1, 3)))]

    def test_tasks_that_share_a_node_and_what_is_needed_once(self):
        # Three tasks of 1 KB and 1 KB for the node use up 4 KB; two are there for the second.
        nodes = (Node(8, memory=4), Node(8, memory=2))
        tasks = job(0, 2, 3, tasks=3, need=(1, 1), once=(0, 1))
        jobs = (tasks, job(0, 2, 2, memory_per_core=1), job(0, 1, 1, memory_per_node=1))
        outcome = simulate(Case(jobs, nodes, discipline=FIRST_FIT))
        assert [stretches(outcome, j)[0][2] for j in range(3)] == [
            ((0, 3),),
            ((1, 2),),
            ((0, 1),),
        ]
        assert outcome.start == [0, 0, 2]

    def test_best_fit_looks_at_all_that_is_left(self):
        # Room for 3, 2 and 4 tasks of 2 processors, of which 2 are wanted.
        nodes = (Node(6), Node(5), Node(8))
        jobs = (job(0, 1, 4, tasks=2, need=(2,)),)
        case = Case(jobs, nodes, placement=placements.best_fit)
        assert stretches(simulate(case), 0) == [(0, 1, ((1, 4),))]

    def test_a_power_budget_is_of_the_processors_of_all_tasks(self):
        # 2 tasks of 2 processors draw 4 x 3 W on the first node, 4 x 1 W on the second.
        nodes = (Node(4, watts=(12,) * 11), Node(4, watts=(4,) * 11))
        for budget, expected in ((12, 0), (11, 1)):
            jobs = (job(0, 1, 4, tasks=2, need=(2,), power_budget=budget),)
            assert stretches(simulate(Case(jobs, nodes)), 0) == [(0, 1, ((expected, 4),))]


class TestPartitions:
    NODES = (Node(1), Node(1), Node(1))
    PARTS = (Partition(frozenset({0})), Partition(frozenset({1, 2})))

    def test_the_first_that_has_room_is_taken(self):
        jobs = tuple(job(0, 4, partitions=both) for both in ((0, 1), (0, 1), (1, 0)))
        outcome = simulate(Case(jobs, self.NODES, partitions=self.PARTS))
        assert [stretches(outcome, j)[0][2] for j in range(3)] == [((k, 1),) for k in range(3)]

    @pytest.mark.parametrize("discipline", [FCFS, EASY, CONSERVATIVE])
    def test_an_allocation_lies_in_one(self, discipline):
        jobs = (job(0, 6, partitions=(1,)), job(0, 3, 2, partitions=(0, 1)))
        case = Case(jobs, self.NODES, partitions=self.PARTS, discipline=discipline)
        assert stretches(simulate(case), 1) == [(6, 9, ((1, 1), (2, 1)))]

    def test_a_queue_confines_its_jobs(self):
        queues = (Queue(partitions=(1,)), Queue())
        jobs = (job(0, 1), job(0, 1, queue=1), job(0, 1, partitions=(0, 1)))
        case = Case(jobs, self.NODES, partitions=self.PARTS, queues=queues)
        outcome = simulate(case)
        assert [stretches(outcome, j)[0][2] for j in range(3)] == [((1, 1),), ((0, 1),), ((2, 1),)]
        apart = case._replace(jobs=(job(0, 1, partitions=(0,)),))
        assert simulate(apart).reasons == {0: "partition"}


class TestLicences:
    def test_a_job_waits_for_its_licence_and_others_pass(self):
        jobs = (
            job(0, 4, licences=(1,)),
            job(0, 2, licences=(1,)),
            job(0, 9),
            job(1, 3, licences=(1,)),
        )
        case = Case(jobs, (Node(3),), pools=(1,), discipline=EASY)
        assert simulate(case).start == [0, 4, 0, 6]

    def test_a_licence_is_needed_for_all_of_the_plan(self):
        # The second holds it from 4 on: the third, which would fit now, would keep it.
        jobs = (
            job(0, 4, 2, licences=(1,)),
            job(0, 2, 2, licences=(2,)),
            job(0, 9, 1, licences=(1,)),
            job(0, 4, 1, licences=(1,)),
        )
        case = Case(jobs, (Node(4),), pools=(2,), discipline=EASY)
        assert simulate(case).start == [0, 4, 6, 0]


FAST = (Partition(frozenset({0}), max_time=10), Partition(frozenset({1})))
REASONS = {
    "wider than the cluster": (job(0, 1, 9), "processors"),
    "more nodes than there are": (on_nodes(0, 1, 3, (1,), 1), "processors"),
    "more processors than a node has": (on_nodes(0, 1, 1, (5,), 1), "processors"),
    "no such partition": (job(0, 1, partitions=(7,)), "partition"),
    "wider than its partition": (job(0, 1, 5, partitions=(0, 1)), "partition"),
    "longer than its partition": (job(0, 11, partitions=(0,)), "partition"),
    "asks for longer than its partition": (job(0, 1, limit=11, partitions=(0,)), "partition"),
    "longer than its queue": (job(0, 101), "queue"),
    "wider than its queue": (job(0, 1, 8), "queue"),
    "feature": (job(0, 1, 5, feature="a"), "feature"),
    "feature of another partition": (job(0, 1, partitions=(1,), feature="a"), "feature"),
    "memory": (job(0, 1, 3, memory_per_core=6), "memory"),
    "memory of a partition": (on_nodes(0, 1, 1, (1, 7), 1)._replace(partitions=(1,)), "memory"),
    "memory before GPUs": (on_nodes(0, 1, 1, (1, 11, 9), 1), "memory"),
    "another resource": (on_nodes(0, 1, 2, (1, 1, 1), 1), "resource 2"),
    "licences": (job(0, 1, licences=(0, 3)), "licence"),
    "power budget": (job(0, 1, 2, power_budget=1), "power budget"),
    "partition before memory": (job(0, 1, partitions=(7,), memory_per_core=99), "partition"),
}


@pytest.mark.parametrize("name", REASONS)
def test_reasons(name):
    asked, reason = REASONS[name]
    nodes = (
        Node(4, watts=(4,) * 11, memory=10, features=frozenset("a"), more=(2,)),
        Node(4, watts=(4,) * 11, memory=6),
    )
    queues = (Queue(max_time=100, max_procs=7),)
    case = Case((job(0, 1), asked), nodes, pools=(2, 2), partitions=FAST, queues=queues)
    outcome = simulate(case)
    assert outcome.reasons == {1: reason}
    assert outcome.states == ["completed", "unaccepted"]


def test_contiguous_is_a_reason():
    # The partition has no neighbours.
    nodes = (Node(1), Node(1), Node(1))
    ends = (Partition(frozenset({0, 2})),)
    jobs = (job(0, 1, 2, partitions=(0,)),)
    case = Case(jobs, nodes, partitions=ends, placement=placements.contiguous)
    assert simulate(case).reasons == {0: "contiguous"}


class TestReservedNodes:
    PAIR = (Node(2), Node(2))

    def test_who_would_be_in_the_way_takes_another_node(self):
        jobs = (job(0, 6, 2), job(0, 5, 2))
        case = Case(jobs, self.PAIR, reservations=(Reservation(0, 5, 8, 0),))
        outcome = simulate(case)
        assert stretches(outcome, 0) == [(0, 6, ((1, 2),))]
        assert stretches(outcome, 1) == [(0, 5, ((0, 2),))]

    def test_the_slowest_processor_decides_who_is_in_the_way(self):
        # On node 0 it would end at 3, before 5: but node 1 is twice as slow.
        nodes = (Node(1), Node(1, 2))
        case = Case((job(0, 3),), nodes, reservations=(Reservation(0, 5, 8, 0),))
        assert stretches(simulate(case), 0) == [(0, 6, ((1, 1),))]
        assert stretches(simulate(case._replace(blind=True)), 0) == [(0, 3, ((0, 1),))]
        # A promise of nodes is exact.
        for discipline in (FCFS, FIRST_FIT, EASY, EASY_2, CONSERVATIVE):
            pinned = case._replace(jobs=(on_nodes(0, 3, 1, (1,), 3),), discipline=discipline)
            assert stretches(simulate(pinned), 0) == [(0, 3, ((0, 1),))]
            pinned = case._replace(jobs=(on_nodes(0, 6, 1, (1,), 6),), discipline=discipline)
            assert stretches(simulate(pinned), 0) == [(0, 12, ((1, 1),))]

    def test_the_shadow_of_easy_can_be_the_end_of_a_reservation(self):
        # Job 0 is on node 1 until 6. Then node 0 is excluded for the head: both are free at 8.
        jobs = (job(0, 6), job(0, 3, 2), job(0, 5), job(5, 2), job(5, 3))
        case = Case(
            jobs, (Node(1), Node(1)), discipline=EASY, reservations=(Reservation(0, 5, 8, 0),)
        )
        outcome = simulate(case)
        assert outcome.start == [0, 8, 0, 6, 11]
        assert stretches(outcome, 2) == [(0, 5, ((0, 1),))]
        assert stretches(outcome, 3) == [(6, 8, ((1, 1),))]

    def test_what_is_left_over_at_the_shadow(self):
        # Node 0 is excluded for the head at 4, when nodes 1 and 2 are free: one is left over.
        nodes = (Node(1), Node(1), Node(1))
        jobs = (job(0, 4), job(0, 4), job(0, 4), job(0, 2, 1), job(0, 30, 1))
        kept = (Reservation(0, 5, 50, 0),)
        case = Case(jobs, nodes, discipline=EASY, reservations=kept)
        outcome = simulate(case)
        assert outcome.start == [0, 0, 0, 4, 4]
        # With a head of two nobody may go beyond its shadow.
        wide = case._replace(jobs=(*jobs[:2], job(1, 2, 2), job(1, 30), job(1, 3)))
        outcome = simulate(wide)
        assert outcome.start == [0, 0, 4, 6, 1]

    # Conservative backfilling promises job 2 the time after job 1, before it sees it wait.
    @pytest.mark.parametrize(("discipline", "last"), [(EASY_2, 0), (CONSERVATIVE, 8)])
    def test_so_many_not_which(self, discipline, last):
        # By count job 1 would fit now beside the reservation of node 1; but node 0 is full.
        jobs = (job(0, 4, 2), job(0, 10, 2), job(0, 4, 2))
        case = Case(jobs, self.PAIR, discipline=discipline, reservations=(Reservation(0, 5, 8, 1),))
        outcome = simulate(case)
        assert outcome.start == [0, 4, last]
        assert stretches(outcome, 1) == [(4, 14, ((0, 2),))]
        assert stretches(outcome, 2) == [(last, last + 4, ((1, 2),))]

    @pytest.mark.parametrize("discipline", [EASY_2, CONSERVATIVE])
    def test_a_promise_that_has_come_and_has_no_nodes_is_made_anew(self, discipline):
        # By count job 2 fits at 4, when node 1 becomes free; but that is reserved from 6 on, and
        # node 0 busy until 5.
        jobs = (job(0, 5, 2), job(0, 4, 2), job(0, 4, 2))
        case = Case(jobs, self.PAIR, discipline=discipline, reservations=(Reservation(0, 6, 9, 1),))
        outcome = simulate(case)
        assert stretches(outcome, 2) == [(5, 9, ((0, 2),))]
        assert discipline is EASY_2 or outcome.promises == [0, 0, 4]

    @pytest.mark.parametrize("pinned", [False, True])
    def test_promises_are_made_anew_when_a_reservation_becomes_known(self, pinned):
        # At 3, the first pass after the announcement, job 1 is promised 8 in place of 4.
        more = {"memory_per_node": 1} if pinned else {}
        jobs = (job(0, 4, **more), job(0, 5, **more), job(3, 1, **more))
        case = Case(
            jobs,
            (Node(1, memory=1),),
            discipline=CONSERVATIVE,
            reservations=(Reservation(2, 6, 8, 0),),
        )
        outcome = simulate(case)
        assert outcome.promises == [0, 4, 4]
        assert outcome.start == [0, 8, 4]

    def test_overlapping_reservations_of_a_node_are_one(self):
        kept = (Reservation(0, 5, 8, 0), Reservation(0, 6, 9, 0))
        jobs = (job(0, 20, 2), job(0, 1, 1))
        outcome = simulate(Case(jobs, self.PAIR, discipline=EASY_2, reservations=kept))
        assert outcome.start == [0, 0]

    def test_a_reservation_of_a_node_that_is_down_takes_nothing(self):
        kept = (Reservation(0, 5, 8, 0),)
        down = (Happening(0, "down", 0),)
        case = Case((job(0, 20, 2),), self.PAIR, discipline=EASY_2, reservations=kept)
        assert simulate(case._replace(happenings=down)).start == [0]

    def test_pinned_easy_plans_with_the_profile(self):
        # Node 0 is reserved over [5, 8), node 1 busy until 6: two nodes are free for 3 at 8.
        jobs = (
            on_nodes(0, 6, 1, (1,), 6),
            on_nodes(0, 3, 2, (1,), 3),
            on_nodes(0, 5, 1, (1,), 5),
            on_nodes(5, 2, 1, (1,), 2),
        )
        case = Case(
            jobs, (Node(1), Node(1)), discipline=EASY, reservations=(Reservation(0, 5, 8, 0),)
        )
        assert simulate(case).start == [0, 8, 0, 6]


class TestNodesDown:
    @pytest.mark.parametrize("pinned", [False, True])
    def test_conservative_makes_its_promises_anew(self, pinned):
        more = {"memory_per_node": 1} if pinned else {}
        jobs = (job(0, 4, **more), job(0, 10, **more), job(1, 5, **more))
        nodes = (Node(1, memory=1), Node(1, memory=1))
        events = (Happening(2, "down", 0), Happening(6, "up", 0))
        outcome = simulate(Case(jobs, nodes, discipline=CONSERVATIVE, happenings=events))
        assert outcome.promises == [0, 0, 4]
        assert outcome.start == [0, 0, 6]
        assert outcome.states == ["killed", "completed", "completed"]

    @pytest.mark.parametrize("pinned", [False, True])
    @pytest.mark.parametrize("discipline", [FIRST_FIT, EASY, EASY_2, CONSERVATIVE])
    def test_who_has_no_place_is_passed_over(self, discipline, pinned):
        more = {"memory_per_node": 1} if pinned else {}
        nodes = (Node(1, memory=1), Node(1, memory=1))
        jobs = (job(0, 3, 2, **more), job(0, 9, **more))
        events = (Happening(0, "down", 0), Happening(5, "up", 0))
        case = Case(jobs, nodes, discipline=discipline, happenings=events)
        assert simulate(case).start == [9, 0]
        assert simulate(case._replace(discipline=FCFS)).start == [5, 8]

    def test_who_has_no_place_is_no_head(self):
        # Job 1 waits for a node that is down; the head is job 2, at 4.
        nodes = (Node(1), Node(1), Node(1))
        jobs = (job(0, 4), job(0, 1, 3), job(0, 2, 2), job(0, 9), job(0, 4))
        events = (Happening(0, "down", 2),)
        case = Case(jobs, nodes, discipline=EASY, happenings=events)
        assert simulate(case).start == [0, None, 4, 6, 0]

    def test_a_whole_vector_is_gone(self):
        nodes = (Node(2, more=(1,)), Node(2, more=(1,)))
        jobs = (on_nodes(0, 5, 1, (1, 0, 1), 5), on_nodes(0, 5, 1, (1, 0, 1), 5))
        events = (Happening(0, "down", 0),)
        outcome = simulate(Case(jobs, nodes, discipline=EASY, happenings=events))
        assert outcome.start == [0, 5]
        assert {s.nodes for s in outcome.stretches} == {((1, 1),)}


@pytest.mark.parametrize("machine", [{"servers": 2}, {"nodes": (Node(1), Node(1))}])
def test_the_shadow_of_a_head_of_no_plan_is_kept_free(machine):
    jobs = (job(0, 4), job(0, 0, 2), job(0, 9))
    assert simulate(Case(jobs, discipline=EASY, **machine)).start == [0, 4, 4]
