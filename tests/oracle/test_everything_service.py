"""Preemption, queues and passes in the oracle of everything, worked out by hand."""

from __future__ import annotations

import math

import pytest

from . import orders
from .dispatcher import Scheduling
from .everything import Case, Everything, simulate
from .everything_strategies import SCHEDULINGS
from .external import Happening, Reservation
from .nodes import Node, Request, on_nodes
from .queues import Queue

FCFS, EASY, EASY_2 = SCHEDULINGS["fcfs"], SCHEDULINGS["easy"], SCHEDULINGS["easy:2"]
CONSERVATIVE, FIRST_FIT = SCHEDULINGS["conservative"], SCHEDULINGS["first-fit"]
LCFS_PR, LPF, SPF = SCHEDULINGS["lcfs-pr"], SCHEDULINGS["lpf"], SCHEDULINGS["spf"]


def job(submit, work, procs=1, plan=None, **more) -> Request:
    return Request(submit, work, procs, work if plan is None else plan, **more)


def stretches(outcome: Everything, j: int):
    return [tuple(s[1:]) for s in outcome.stretches if s.job == j]


class TestPreemptionOnCountedProcessors:
    def test_a_struck_job_has_all_before_it(self):
        # Job 1 is struck at 3 and is first again: job 0 gives way, and keeps what it has done.
        case = Case(
            (job(0, 10), job(1, 4)),
            servers=2,
            discipline=LCFS_PR,
            happenings=(Happening(3, "down", 1),),
            requeue=True,
        )
        outcome = simulate(case)
        assert outcome.end == [14, 7]
        assert outcome.lost == [(1, 1, 3)]
        assert stretches(outcome, 0) == [(0, 3, ()), (7, 14, ())]
        assert outcome.area == 2 + 4 + 10

    def test_the_present_stretch_of_service_decides_who_is_struck(self):
        # Job 0 came first, gave way to job 2 at 2 and is back since 4.
        case = Case(
            (job(0, 10), job(1, 10), job(2, 2)),
            servers=2,
            discipline=LCFS_PR,
            happenings=(Happening(5, "down", 1),),
        )
        outcome = simulate(case)
        assert outcome.states == ["killed", "completed", "completed"]
        assert outcome.end == [5, 11, 4]

    @pytest.mark.parametrize("announced", [0, 3, 9])
    def test_who_is_in_the_way_of_a_reservation_gives_way(self, announced):
        case = Case(
            (job(0, 4), job(0, 4)),
            servers=2,
            discipline=LCFS_PR,
            reservations=(Reservation(announced, 3, 5, 1),),
        )
        outcome = simulate(case)
        assert outcome.end == [5, 4]
        assert stretches(outcome, 0) == [(0, 3, ()), (4, 5, ())]

    @pytest.mark.parametrize(("discipline", "end"), [(SPF, [9, 7]), (LPF, [8, 9])])
    def test_selection_where_a_reservation_begins_and_ends(self, discipline, end):
        case = Case(
            (job(0, 4, 2), job(3, 1)),
            servers=2,
            discipline=discipline,
            reservations=(Reservation(0, 2, 6, 1),),
        )
        assert simulate(case).end == end

    @pytest.mark.parametrize("discipline", [SPF, LPF, LCFS_PR])
    def test_a_struck_job_is_selected_again(self, discipline):
        case = Case(
            (job(0, 5),),
            servers=1,
            discipline=discipline,
            happenings=(Happening(2, "strike", 0),),
            requeue=True,
        )
        assert simulate(case).end == [7]

    @pytest.mark.parametrize("discipline", [SPF, LPF, LCFS_PR])
    def test_nobody_is_served_while_the_manager_is_stopped(self, discipline):
        case = Case(
            (job(0, 1), job(1, 2)),
            servers=1,
            discipline=discipline,
            happenings=(Happening(0, "stop"), Happening(4, "resume")),
        )
        assert sorted(t for t in simulate(case).start if t is not None) in ([4, 5], [4, 6])

    @pytest.mark.parametrize("discipline", [SPF, LPF])
    def test_who_waits_behind_a_cancelled_job_is_selected(self, discipline):
        # The wide one is first in both orders, and does not fit into what is left.
        wide = job(1, 9, 2) if discipline is LPF else job(1, 1, 2)
        case = Case(
            (job(0, 3), wide, job(1, 5)),
            servers=2,
            discipline=discipline,
            happenings=(Happening(2, "down", 1), Happening(6, "withdraw", 1)),
            requeue=True,
        )
        outcome = simulate(case)
        assert outcome.states == ["completed", "cancelled", "completed"]
        assert outcome.start[2] == 6


class TestPreemptionOnNodes:
    NODES = (Node(1), Node(1, 2))

    def test_what_remains_is_kept_in_reference_seconds(self):
        # Job 1 takes node 0 at 2; job 0 goes on with 4 on node 1, which takes 8.
        outcome = simulate(Case((job(0, 6), job(2, 3)), self.NODES, discipline=LCFS_PR))
        assert outcome.end == [10, 5]
        assert stretches(outcome, 0) == [(0, 2, ((0, 1),)), (2, 10, ((1, 1),))]
        assert stretches(outcome, 1) == [(2, 5, ((0, 1),))]

    def test_back_to_the_fast_node(self):
        # Job 0 is stopped from 2 to 5 by two others; node 0 is free first.
        jobs = (job(0, 6), job(2, 3), job(2, 4))
        outcome = simulate(Case(jobs, self.NODES, discipline=LCFS_PR))
        # Job 2 has node 0 until 6, job 1 node 1 until 8: 4 remain of job 0 at 6.
        assert outcome.end == [10, 8, 6]
        assert stretches(outcome, 0) == [(0, 2, ((0, 1),)), (6, 10, ((0, 1),))]

    def test_a_job_in_its_place_does_not_move(self):
        # Job 0 on the slow node keeps it although the fast one is free.
        jobs = (job(0, 2), job(0, 5))
        outcome = simulate(Case(jobs, self.NODES, discipline=LCFS_PR))
        assert stretches(outcome, 0) == [(0, 4, ((1, 1),))]
        assert stretches(outcome, 1) == [(0, 5, ((0, 1),))]

    def test_a_failed_node_costs_the_work_and_a_reserved_one_does_not(self):
        case = Case((job(0, 6),), self.NODES, discipline=LCFS_PR, requeue=True)
        failed = simulate(case._replace(happenings=(Happening(2, "down", 0),)))
        assert failed.end == [2 + 12]
        assert failed.lost == [(0, 0, 2)]
        kept = simulate(case._replace(reservations=(Reservation(0, 2, 20, 0),)))
        assert kept.end == [2 + 8]
        assert kept.lost == []
        assert stretches(kept, 0) == [(0, 2, ((0, 1),)), (2, 10, ((1, 1),))]

    @pytest.mark.parametrize(("discipline", "end"), [(SPF, [12, 20]), (LPF, [20, 16])])
    def test_remaining_plans_are_compared_in_reference_seconds(self, discipline, end):
        # At 8 job 0 has done 2 of 3; job 2, which waits, is cancelled.
        jobs = (job(0, 3), job(1, 2), job(1, 9))
        case = Case(
            jobs, (Node(1, 4),), discipline=discipline, happenings=(Happening(8, "withdraw", 2),)
        )
        assert simulate(case).end[:2] == end

    def test_the_prefix_ends_with_the_first_that_finds_no_place(self):
        # The last is first; the second finds no GPU, and the first no turn.
        nodes = (Node(4, more=(1,)),)
        jobs = (on_nodes(0, 9, 1, (1,), 9), on_nodes(1, 2, 1, (1, 0, 1), 2))
        jobs = (*jobs, on_nodes(2, 3, 1, (1, 0, 1), 3))
        outcome = simulate(Case(jobs, nodes, discipline=LCFS_PR))
        assert stretches(outcome, 0) == [(0, 2, ((0, 1),)), (5, 12, ((0, 1),))]
        assert outcome.end == [12, 6, 5]

    def test_licences_are_claimed_too(self):
        jobs = (job(0, 4, licences=(1,)), job(1, 2, licences=(1,)))
        outcome = simulate(Case(jobs, (Node(4),), pools=(1,), discipline=LCFS_PR))
        assert outcome.end == [6, 3]

    def test_arrivals_start_between_departures_if_they_find_a_place(self):
        nodes = (Node(2, more=(1,)),)
        jobs = (on_nodes(0, 9, 1, (1, 0, 1), 9), on_nodes(1, 1, 1, (1,), 1))
        outcome = simulate(Case(jobs, nodes, discipline=LPF))
        assert outcome.start == [0, 1]
        second = (jobs[0], on_nodes(1, 1, 1, (1, 0, 1), 1), jobs[1]._replace(submit=2))
        assert simulate(Case(second, nodes, discipline=LPF)).start == [0, 9, 9]


class TestQueues:
    def test_priority(self):
        queues = (Queue(priority=1), Queue(orders.lcfs, priority=2), Queue(priority=1))
        jobs = tuple(job(0, 1, queue=q) for q in (2, 0, 1, 1, 0))
        assert simulate(Case(jobs, servers=1, queues=queues)).start == [4, 2, 1, 0, 3]

    def test_round_robin(self):
        jobs = tuple(job(0, 1, queue=q) for q in (0, 0, 1, 1))
        case = Case(jobs, servers=1, queues=(Queue(), Queue()), between="round-robin")
        assert simulate(case).start == [0, 2, 1, 3]

    def test_the_turn_is_kept_over_a_pause(self):
        # The last started was of queue 0: queue 1 is next, when both come again.
        jobs = (job(0, 1), job(5, 1), job(5, 1, queue=1))
        case = Case(jobs, servers=1, queues=(Queue(), Queue()), between="round-robin")
        assert simulate(case).start == [0, 6, 5]

    def test_weights(self):
        jobs = tuple(job(0, 2, queue=q) for q in (0, 0, 1, 1, 1))
        queues = (Queue(weight=1), Queue(weight=2))
        case = Case(jobs, servers=1, queues=queues, between="weights")
        assert simulate(case).start == [0, 6, 2, 4, 8]

    def test_who_is_listed_counts_as_served(self):
        # Of two processors each queue gets one, although queue 0 has been served nothing.
        jobs = tuple(job(0, 2, queue=q) for q in (0, 0, 1))
        case = Case(jobs, servers=2, queues=(Queue(), Queue()), between="weights")
        assert simulate(case).start == [0, 2, 0]

    def test_a_restarted_job_counts_again(self):
        # At 1 queue 0 has been served 8, with 4 of them lost: queue 1 is before job 1.
        jobs = (job(0, 4), job(0, 4), job(0, 6, queue=1))
        case = Case(
            jobs,
            servers=1,
            queues=(Queue(), Queue()),
            between="weights",
            happenings=(Happening(1, "strike", 0),),
            requeue=True,
        )
        assert simulate(case).start == [7, 11, 1]

    @pytest.mark.parametrize("discipline", [FCFS, FIRST_FIT, EASY, EASY_2, CONSERVATIVE])
    @pytest.mark.parametrize("on_nodes", [False, True])
    def test_limits(self, discipline, on_nodes):
        jobs = (job(0, 4), job(0, 4), job(0, 2, 2, queue=1))
        machine = {"nodes": (Node(2), Node(1))} if on_nodes else {"servers": 3}
        for queue in (Queue(max_running=1), Queue(max_used=1)):
            case = Case(jobs, queues=(queue, Queue()), discipline=discipline, **machine)
            assert simulate(case).start == [0, 4, 0]

    def test_used_is_not_held(self):
        jobs = (job(0, 4, whole_node=True), job(0, 4, whole_node=True))
        case = Case(jobs, (Node(4), Node(4)), queues=(Queue(max_used=2),))
        assert simulate(case).start == [0, 0]

    @pytest.mark.parametrize("on_nodes", [False, True])
    def test_a_promise_is_taken_back(self, on_nodes):
        # Job 2 starts beside the promise of job 1, at 4, which is taken back at 2. So job 3 is
        # promised 4.
        jobs = (job(0, 4, 2, queue=1), job(0, 5, 2), job(1, 10), job(2, 1, 2, queue=1))
        machine = {"nodes": (Node(2), Node(1))} if on_nodes else {"servers": 3}
        queues = (Queue(max_running=1), Queue(priority=1))
        case = Case(jobs, queues=queues, discipline=CONSERVATIVE, **machine)
        outcome = simulate(case)
        assert outcome.promises == [0, 4, 1, 4]
        assert outcome.start == [0, 11, 1, 4]

    @pytest.mark.parametrize("on_nodes", [False, True])
    def test_who_is_passed_over_when_its_promise_has_come_blocks_nobody(self, on_nodes):
        # Jobs 1 and 2 are both promised 4, job 3 comes after job 2 by its promise.
        jobs = (job(0, 4, 3, queue=1), job(1, 10), job(1, 5), job(1, 20, 2, queue=1))
        machine = {"nodes": (Node(2), Node(1))} if on_nodes else {"servers": 3}
        queues = (Queue(max_running=1), Queue())
        case = Case(jobs, queues=queues, discipline=CONSERVATIVE, **machine)
        outcome = simulate(case)
        assert outcome.promises == [0, 4, 4, 9]
        assert outcome.start == [0, 4, 14, 4]

    def test_a_backfill_order_is_of_all_queues(self):
        # Behind the head the shortest goes first, although its queue is the last.
        jobs = (job(0, 9, 2), job(1, 1, 4), job(1, 5), job(1, 5), job(1, 3, queue=1))
        queues = (Queue(priority=1), Queue())
        case = Case(jobs, servers=4, queues=queues, discipline=SCHEDULINGS["easy@sjf"])
        assert simulate(case).start == [0, 9, 1, 4, 1]
        assert simulate(case._replace(discipline=EASY)).start == [0, 9, 1, 1, 6]

    def test_several_queues_are_not_preempted(self):
        with pytest.raises(ValueError, match="queues"):
            simulate(Case((job(0, 1),), servers=1, queues=(Queue(),), discipline=LCFS_PR))


class TestPasses:
    def test_after_each_single_thing(self):
        # At 5 job 0 ends, job 1 comes, and the manager is stopped until 9.
        case = Case(
            (job(0, 5), job(5, 1)),
            servers=1,
            happenings=(Happening(5, "stop"), Happening(9, "resume")),
        )
        assert simulate(case).start == [0, 9]
        assert simulate(case._replace(passes="event")).start == [0, 5]

    def test_after_each_single_event_from_outside(self):
        case = Case(
            (job(0, 9), job(0, 1)),
            servers=1,
            happenings=(Happening(5, "withdraw", 0), Happening(5, "stop"), Happening(9, "resume")),
        )
        assert simulate(case).start == [0, 9]
        assert simulate(case._replace(passes="event")).start == [0, 5]

    def test_an_arrival_is_before_a_failure(self):
        case = Case((job(0, 5),), servers=1, happenings=(Happening(0, "down", 1),), requeue=True)
        outcome = simulate(case._replace(passes="event"))
        assert outcome.lost == [(0, 0, 0)]
        assert simulate(case).lost == []

    def test_nodes_that_fail_in_one_event_have_one_pass_after_them(self):
        # One by one, the job of the first node moves to the second, which fails then as well.
        down = (Happening(3, "down", 0), Happening(3, "down", 1))
        case = Case((job(0, 5),), (Node(1),) * 3, happenings=down, requeue=True, passes="event")
        assert simulate(case).lost == [(0, 0, 3), (0, 3, 3)]
        together = (down[0], down[1]._replace(joined=True))
        outcome = simulate(case._replace(happenings=together))
        assert outcome.lost == [(0, 0, 3)]
        assert [row.time for row in outcome.trajectory] == [0, 3, 8]

    def test_nodes_that_are_kept_in_one_event_have_one_pass_at_its_end(self):
        kept = (Reservation(0, 1, 4, 0), Reservation(0, 1, 4, 1))
        case = Case((job(0, 5),), (Node(1),) * 3, reservations=kept, passes="event")
        assert [row.time for row in simulate(case).trajectory] == [0, 4, 4, 5]
        together = (kept[0], kept[1]._replace(joined=True))
        outcome = simulate(case._replace(reservations=together))
        assert [row.time for row in outcome.trajectory] == [0, 4, 5]

    def test_service_that_was_lost_in_several_stretches(self):
        # Stopped for a reservation at 2, resumed at 4, struck at 4 after the pass.
        case = Case(
            (job(0, 5),),
            servers=1,
            discipline=Scheduling(backfill="preempt"),
            happenings=(Happening(4, "strike", 0),),
            reservations=(Reservation(0, 2, 4, 1),),
            requeue=True,
            passes="event",
        )
        assert [it[1:] for it in simulate(case).lost_service] == [(0, 2), (4, 4)]


def test_events_about_jobs_that_are_not_accepted_are_left_out():
    jobs = (job(0, 5, 9), job(0, 5), job(0, 5))
    case = Case(jobs, servers=2, happenings=(Happening(2, "withdraw", 0),))
    assert simulate(case).states == ["unaccepted", "completed", "completed"]
    case = case._replace(happenings=(Happening(2, "withdraw", 2),))
    assert simulate(case).states == ["unaccepted", "completed", "killed"]


def test_a_blind_scheduler_promises_anew_in_each_pass():
    scheduling = Scheduling(backfill="easy", reservations=math.inf)
    nodes = (Node(1), Node(1, 2))
    jobs = tuple(job(t, 3, 1 + t % 2) for t in range(5))
    case = Case(jobs, nodes, blind=True)
    found = simulate(case._replace(discipline=CONSERVATIVE))
    assert found == simulate(case._replace(discipline=scheduling))


@pytest.mark.parametrize("machine", [{"servers": 1}, {"nodes": (Node(1),)}])
def test_a_promise_ahead_is_kept_although_nobody_runs_until_then(machine):
    # At 9, a second early, job 2 is looked at first and cannot pass the promise of job 1, at 10;
    # that one is moved to 9, and job 2 keeps its own, at 14.
    jobs = (job(0, 9, plan=10), job(1, 4), job(2, 3))
    outcome = simulate(Case(jobs, discipline=SCHEDULINGS["sjf+conservative"], **machine))
    assert outcome.start == [0, 9, 14]
