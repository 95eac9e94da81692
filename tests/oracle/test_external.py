"""The oracle of external events on cases small enough to work out by hand."""

from __future__ import annotations

from oracle import Job, controls, orders
from oracle.external import Happening, Reservation, around, simulate_around

FCFS = around(orders.fcfs)
EASY = around(orders.fcfs, "easy")
RATE_1 = controls.constant(1)


def states(outcome):
    return [fate.state for fate in outcome.fates]


def test_withdrawn_before_while_and_after():
    # Job 0 runs, 1 waits, 2 has not come yet; all are withdrawn at 5, and 0 once more.
    jobs = [Job(0, 10, 2, 10), Job(1, 10, 2, 10), Job(9, 1, 1, 1)]
    asked = [Happening(5, "withdraw", j) for j in (0, 1, 2, 0)]
    outcome = simulate_around(jobs, 2, FCFS, RATE_1, asked)
    assert states(outcome) == ["killed", "cancelled", "cancelled"]
    assert outcome.start == [0, None, None]
    assert outcome.end == [5, None, None]
    assert [fate.left for fate in outcome.fates] == [5, 5, 9]
    assert outcome.area == 10


def test_a_job_that_ends_now_is_not_killed_now():
    outcome = simulate_around([Job(0, 5, 1, 5)], 1, FCFS, RATE_1, [Happening(5, "withdraw", 0)])
    assert states(outcome) == ["completed"]


def test_the_last_started_goes_first():
    # 0 and 1 start together at 0, 2 at 1; two processors of four fail at 3.
    jobs = [Job(0, 9, 1, 9), Job(0, 9, 1, 9), Job(1, 9, 1, 9)]
    outcome = simulate_around(jobs, 4, FCFS, RATE_1, [Happening(3, "down", 2)])
    assert states(outcome) == ["completed", "completed", "killed"]
    outcome = simulate_around(jobs, 4, FCFS, RATE_1, [Happening(3, "down", 3)])
    assert states(outcome) == ["completed", "killed", "killed"]


def test_requeued_work_is_done_again():
    jobs = [Job(0, 10, 2, 10)]
    events = [Happening(4, "down", 1), Happening(6, "up", 1)]
    outcome = simulate_around(jobs, 2, FCFS, RATE_1, events, requeue=True)
    assert outcome.start == [6]
    assert outcome.end == [16]
    assert outcome.lost == [(0, 0, 4)]
    assert outcome.fates[0].restarts == 1
    assert outcome.area == 2 * 4 + 2 * 10


def test_who_is_requeued_has_its_old_place():
    # 1 waits behind 0; when 0 is struck it is again before 1.
    jobs = [Job(0, 10, 2, 10), Job(1, 5, 2, 5)]
    outcome = simulate_around(jobs, 2, FCFS, RATE_1, [Happening(3, "strike", 0)], requeue=True)
    assert outcome.start == [3, 13]


def test_nobody_starts_while_the_manager_is_stopped():
    jobs = [Job(0, 2, 1, 2), Job(1, 2, 1, 2), Job(3, 2, 1, 2)]
    events = [Happening(1, "stop"), Happening(7, "resume")]
    outcome = simulate_around(jobs, 1, FCFS, RATE_1, events)
    assert outcome.end == [2, 9, 11]


def test_who_would_overlap_a_reservation_waits_until_it_is_over():
    kept = [Reservation(0, 5, 8, 2)]
    jobs = [Job(0, 6, 2, 6), Job(1, 4, 2, 4), Job(2, 1, 1, 1)]
    assert simulate_around(jobs, 2, FCFS, RATE_1, [], kept).start == [8, 14, 18]
    # With backfilling the second fits before it, and then the third too.
    outcome = simulate_around(jobs, 2, EASY, RATE_1, [], kept)
    assert outcome.start == [8, 1, 14]
    assert simulate_around(jobs[:1], 2, EASY, RATE_1, [], [Reservation(1, 5, 8, 2)]).start == [0]


def test_what_overruns_into_a_reservation_is_not_killed():
    outcome = simulate_around(
        [Job(0, 9, 1, 3), Job(1, 2, 1, 2)], 1, EASY, RATE_1, [], [Reservation(0, 4, 6, 1)]
    )
    assert outcome.end == [9, 11]


def test_a_job_wider_than_what_is_left_is_passed_over_or_blocks():
    jobs = [Job(0, 2, 2, 2), Job(1, 5, 3, 5), Job(2, 5, 2, 5)]
    down = [Happening(1, "down", 1)]
    assert simulate_around(jobs, 3, EASY, RATE_1, down).start == [0, None, 2]
    outcome = simulate_around(jobs, 3, FCFS, RATE_1, down)
    assert outcome.start == [0, None, None]
    assert states(outcome) == ["completed", "waiting", "waiting"]


def test_the_workload_falls_by_what_a_killed_job_still_needed():
    jobs = [Job(0, 10, 1, 10), Job(0, 8, 1, 8)]
    events = [Happening(4, "withdraw", 0), Happening(5, "strike", 1)]
    rows = simulate_around(jobs, 2, FCFS, RATE_1, events, requeue=True).run.trajectory
    assert [(row.time, row.workload) for row in rows] == [(0, 18), (4, 4), (5, 8), (13, 0)]
