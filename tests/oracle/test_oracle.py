"""The disciplines of the oracle against schedules worked out by hand.

Jobs are written (submit, work, procs) with an exact plan, or (submit, work, procs, plan).
"""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings

from . import kiefer_wolfowitz
from .controls import constant
from .disciplines import longest_remaining, ordered, preempt, reserving, shortest_remaining
from .measures import delays
from .model import Discipline, Job, Outcome, Row
from .orders import expansion, fcfs, lcfs, ljf, saf, sjf, smallest, unicef, wfp3
from .recursion import simulate
from .strategies import Workload, jittered, workloads


def jobs_of(*rows: tuple[int, ...]) -> list[Job]:
    return [Job(*row) if len(row) == 4 else Job(*row, row[1]) for row in rows]


def run(
    rows: list[tuple[int, ...]], servers: int, discipline: Discipline, passes: str = "instant"
) -> Outcome:
    return simulate(jobs_of(*rows), servers, discipline, constant(1), passes=passes)


# Job 1 needs both servers and blocks job 2, which would fit beside job 0.
BLOCKED = [(0, 3, 1), (0, 2, 2), (1, 1, 1)]


def test_fcfs_blocks_behind_the_first_that_does_not_fit():
    outcome = run(BLOCKED, 2, ordered(fcfs))
    assert outcome.start == [0, 3, 5]
    assert outcome.end == [3, 5, 6]
    assert all(type(x) is Fraction for x in outcome.start + outcome.end)
    assert outcome.segments == [(0, 0, 3), (1, 3, 5), (2, 5, 6)]
    assert outcome.trajectory == [
        Row(time=0, rate=1, present=2, queued=1, busy=1, running=1, workload=5),
        Row(time=1, rate=1, present=3, queued=2, busy=1, running=1, workload=5),
        Row(time=3, rate=1, present=2, queued=1, busy=2, running=1, workload=3),
        Row(time=5, rate=1, present=1, queued=0, busy=1, running=1, workload=1),
        Row(time=6, rate=1, present=0, queued=0, busy=0, running=0, workload=0),
    ]
    assert outcome.rates == [(0, 1)]


def test_first_fit_overtakes():
    assert run(BLOCKED, 2, ordered(fcfs, "first-fit")).start == [0, 3, 1]


def test_rate_scales_the_clock():
    outcome = simulate(jobs_of(*BLOCKED), 2, ordered(fcfs), constant(2))
    assert outcome.start == [0, Fraction(3, 2), Fraction(5, 2)]
    assert outcome.end == [Fraction(3, 2), Fraction(5, 2), 3]


# One server, busy with job 0 until 4, when jobs 1, 2 and 3 wait.
@pytest.mark.parametrize(
    ("score", "start"),
    [
        (fcfs, [0, 4, 7, 8]),
        (lcfs, [0, 6, 5, 4]),
        (sjf, [0, 6, 4, 5]),  # 2 and 3 tie: the earlier label
        (ljf, [0, 4, 7, 8]),
        (smallest, [0, 4, 7, 8]),  # all tie
        # At 4 the waits are 3, 3, 2 and the plans 3, 1, 1: relative waits 1, 3, 2.
        # At 5: job 1 has 4/3, job 3 has 3.
        (wfp3, [0, 6, 4, 5]),
        (unicef, [0, 6, 4, 5]),
        (expansion, [0, 6, 4, 5]),
    ],
)
def test_orders(score, start):
    assert run([(0, 4, 1), (1, 3, 1), (1, 1, 1), (2, 1, 1)], 1, ordered(score)).start == start


def test_the_order_may_change_with_time():
    # At 2, wfp3: job 1 has (2/4)^3 = 1/8 and job 2 has (1/1)^3 = 1: job 2 goes first, until 3.
    # Job 3, submitted at 2, has (1/2)^3 = 1/8 at 3, when job 1 has (3/4)^3.
    rows = [(0, 2, 1), (0, 4, 1), (1, 1, 1), (2, 2, 1)]
    assert run(rows, 1, ordered(wfp3)).start == [0, 3, 2, 7]


def test_smallest_area_and_width():
    # Areas at 1: 6, 4, 5; widths 2, 4, 1, on four servers that are busy until 1.
    rows = [(0, 1, 4), (1, 3, 2), (1, 1, 4), (1, 5, 1)]
    assert run(rows, 4, ordered(saf)).start == [0, 2, 1, 2]
    # Jobs 3 and 1 start at 1 and hold job 2 until job 3 ends at 6.
    assert run(rows, 4, ordered(smallest)).start == [0, 1, 6, 1]


class TestEasy:
    def test_backfills_what_ends_by_the_shadow(self):
        # At 1: shadow 4, extra 0. Job 2 would end at 5: no. Job 3 ends at 4: yes.
        rows = [(0, 4, 3), (0, 2, 4), (1, 4, 1), (1, 3, 1)]
        assert run(rows, 4, ordered(fcfs, "easy")).start == [0, 4, 6, 1]

    def test_backfills_beside_the_head(self):
        # At 1: shadow 4, extra 1. Job 2 ends at 6 and takes the extra server.
        # Job 3 finds no server free until 6.
        rows = [(0, 4, 3), (0, 2, 3), (1, 5, 1), (1, 1, 1)]
        assert run(rows, 4, ordered(fcfs, "easy")).start == [0, 4, 1, 6]

    def test_extra_is_used_up(self):
        # At 1: free 2, shadow 4, extra 1. Job 2 takes the extra; job 3 would delay the head.
        rows = [(0, 4, 3), (0, 2, 4), (1, 9, 1), (1, 9, 1)]
        assert run(rows, 5, ordered(fcfs, "easy")).start == [0, 4, 1, 6]

    def test_all_jobs_that_end_at_the_shadow_count(self):
        # At 1: free 1, both running jobs end at 4: extra 1 + 4 - 3 = 2, so job 3 starts.
        rows = [(0, 4, 2), (0, 4, 2), (1, 1, 3), (1, 10, 1)]
        assert run(rows, 5, ordered(fcfs, "easy")).start == [0, 0, 4, 1]

    def test_backfill_order(self):
        # At 1 one server is free until the shadow at 4.
        rows = [(0, 4, 1), (0, 1, 2), (1, 3, 1), (1, 2, 1)]
        assert run(rows, 2, ordered(fcfs, "easy")).start == [0, 4, 1, 5]
        # Job 3 runs from 1 to 3; then job 2 would end at 6, past the shadow.
        assert run(rows, 2, ordered(fcfs, "easy", backfill_score=sjf)).start == [0, 4, 5, 1]

    def test_overdue_job_is_expected_to_end_right_after_now(self):
        # Job 0 is planned until 2 and runs until 5. At 1 job 2 ends by the shadow 2.
        # At 3 the shadow is right after 3: job 3 would end past it; job 4 (no plan) would not.
        rows = [(0, 5, 1, 2), (0, 1, 2), (1, 1, 1), (3, 1, 1), (3, 0, 1)]
        outcome = run(rows, 2, ordered(fcfs, "easy"))
        assert outcome.start == [0, 5, 1, 6, 3]
        assert outcome.end == [5, 6, 2, 7, 3]

    def test_early_end_moves_the_head_up(self):
        # Job 0 is planned until 9: job 2 (until 7) may start at 1. Job 0 ends at 2.
        rows = [(0, 2, 1, 9), (0, 1, 2), (1, 6, 1)]
        assert run(rows, 2, ordered(fcfs, "easy")).start == [0, 7, 1]

    # EASY lets job 3 in beside job 1's reservation (extra 2), which delays job 2 to 30.
    # A second reservation, for job 2 on [20, 30), keeps job 3 out until 30.
    TWO = ((0, 10, 7), (1, 10, 8), (2, 10, 9), (5, 25, 2))

    @pytest.mark.parametrize("reservations", [2, 3, math.inf])
    def test_reservations(self, reservations):
        assert run(list(self.TWO), 10, ordered(fcfs, "easy")).start == [0, 10, 30, 5]
        several = ordered(fcfs, "easy", reservations)
        assert run(list(self.TWO), 10, several).start == [0, 10, 20, 30]

    def test_backfill_order_against_two_reservations(self):
        # Reserved at 1: job 1 on [4, 5) and job 2 on [5, 6), both on all servers.
        rows = [(0, 4, 1), (0, 1, 2), (0, 1, 2), (1, 3, 1), (1, 2, 1)]
        assert run(rows, 2, ordered(fcfs, "easy", 2)).start == [0, 4, 5, 1, 6]
        second = ordered(fcfs, "easy", 2, backfill_score=sjf)
        assert run(rows, 2, second).start == [0, 4, 5, 6, 1]

    @settings(max_examples=300, deadline=None)
    @given(workloads(min_plan=1))
    def test_shadow_and_profile_agree_on_one_reservation(self, drawn: Workload):
        def select(state):
            return state.running + reserving(state, state.waiting, state.waiting, 1)

        by_shadow = simulate(drawn.jobs, drawn.servers, ordered(fcfs, "easy"), constant(1))
        by_profile = simulate(drawn.jobs, drawn.servers, Discipline(select), constant(1))
        assert by_shadow == by_profile


class TestConservative:
    def test_no_job_is_delayed_by_a_later_one(self):
        outcome = run(list(TestEasy.TWO), 10, ordered(fcfs, "conservative"))
        assert outcome.start == outcome.promises == [0, 10, 20, 30]

    def test_backfills_into_a_hole(self):
        # Promises: job 1 on [4, 6), job 2 behind it on [6, 7), job 3 at once, on [1, 4).
        rows = [(0, 4, 3), (0, 2, 4), (0, 1, 4), (1, 3, 1)]
        outcome = run(rows, 4, ordered(fcfs, "conservative"))
        assert outcome.start == outcome.promises == [0, 4, 6, 1]

    def test_early_end_compresses_the_promises(self):
        # Job 0 is planned until 5 and ends at 2: the promises 5 and 7 become 2 and 4.
        outcome = run([(0, 2, 2, 5), (0, 2, 1), (1, 3, 2)], 2, ordered(fcfs, "conservative"))
        assert outcome.promises == [0, 5, 7]
        assert outcome.start == [0, 2, 4]

    def test_compression_goes_once_through_the_order(self):
        # Job 0 is planned until 6: promises 6 (job 1), 8 (job 2, both servers), 6 (job 3).
        # It ends at 1: job 1 moves to [1, 3); job 2 finds [3, 7) cut by job 3's [6, 8) and
        # stays at 8; job 3 moves to [1, 3). Nothing ends early afterwards: the timer fires at 8.
        rows = [(0, 1, 2, 6), (0, 2, 1), (0, 4, 2), (0, 2, 1)]
        outcome = run(rows, 2, ordered(fcfs, "conservative"))
        assert outcome.promises == [0, 6, 8, 6]
        assert outcome.start == [0, 1, 8, 1]
        assert [row.time for row in outcome.trajectory] == [0, 1, 3, 8, 12]

    def test_overdue_job_renews_all_promises(self):
        # Job 1 is promised 2, where job 0 should end: at that instant it is overdue, and the
        # promise becomes "right after now" at 2 and again at 3. Job 2 would need a server on
        # [3, 4), across it: promised 5 (and an infinitesimal). Job 0 ends at 5.
        rows = [(0, 5, 1, 2), (0, 2, 2), (3, 1, 1)]
        outcome = run(rows, 2, ordered(fcfs, "conservative"))
        assert outcome.promises == [0, 2, 5]
        assert outcome.start == [0, 5, 7]
        assert [row.time for row in outcome.trajectory] == [0, 2, 3, 5, 7, 8]
        # Event passes: one more for the second arrival at 0, and the timer's own at 2.
        by_event = run(rows, 2, ordered(fcfs, "conservative"), passes="event")
        assert by_event.start == [0, 5, 7]
        assert [row.time for row in by_event.trajectory] == [0, 0, 2, 3, 5, 7, 8]

    def test_promises_are_renewed_at_the_first_overdue_pass(self):
        # As in the compression above, but job 1 is planned until 3 and runs until 4. At 3 it is
        # overdue: job 2 moves from 8 to right after 3, which keeps job 4 out.
        rows = [(0, 1, 2, 6), (0, 3, 1, 2), (0, 4, 2), (0, 2, 1), (3, 5, 1)]
        outcome = run(rows, 2, ordered(fcfs, "conservative"))
        assert outcome.promises == [0, 6, 8, 6, 7]
        assert outcome.start == [0, 1, 4, 1, 8]

    def test_promises_live_on_the_work_clock(self):
        jobs = jobs_of((0, 4, 1), (0, 2, 1))
        outcome = simulate(jobs, 1, ordered(fcfs, "conservative"), constant(2))
        assert outcome.promises == [0, 4]
        assert outcome.start == [0, 2]

    def test_other_orders(self):
        # At 0 shortest first: job 1 starts; job 2 is promised 1 and job 0 is promised 3.
        outcome = run([(0, 4, 1), (0, 1, 1), (0, 2, 1)], 1, ordered(sjf, "conservative"))
        assert outcome.start == outcome.promises == [3, 0, 1]

    @settings(max_examples=300, deadline=None)
    @given(workloads(plans="exact", min_work=1))  # a plan of 0 holds nothing, and may be delayed
    def test_exact_plans_keep_every_first_promise(self, drawn: Workload):
        outcome = simulate(drawn.jobs, drawn.servers, ordered(fcfs, "conservative"), constant(1))
        assert all(s <= p for s, p in zip(outcome.start, outcome.promises, strict=True))


class TestPreemption:
    def test_lcfs_serves_the_latest_that_fit(self):
        # 1: job 1 takes both servers. 2: job 2 takes one; job 1 does not fit and ends the
        # prefix, so job 0 stays out. 3: job 1 resumes (1 left). 4: job 0 resumes (3 left).
        outcome = run([(0, 4, 1), (1, 2, 2), (2, 1, 1)], 2, preempt(lcfs))
        assert outcome.start == [0, 1, 2]
        assert outcome.end == [7, 4, 3]
        assert outcome.segments == [(0, 0, 1), (0, 4, 7), (1, 1, 2), (1, 3, 4), (2, 2, 3)]
        assert [row.workload for row in outcome.trajectory] == [4, 5, 5, 4, 3, 0]

    def test_preemption_by_a_static_score(self):
        # Job 1 (plan 2) displaces job 0 (plan 5) from 1 to 3; job 2 (plan 5) waits.
        outcome = run([(0, 5, 1), (1, 2, 1), (1, 5, 1)], 1, preempt(sjf))
        assert outcome.start == [0, 1, 7]
        assert outcome.end == [7, 3, 12]

    # 0: jobs 0 and 1 enter; 1: jobs 2 and 3 wait; 2: job 0 departs, 3, 4 and 6 remain.
    FOUR = ((0, 2, 1), (0, 5, 1), (1, 4, 1), (1, 6, 1))

    def test_longest_remaining(self):
        # 2: jobs 3 and 2 run, job 1 is preempted. 6: job 2 ends; jobs 1 (3) and 3 (2) run.
        outcome = run(list(self.FOUR), 2, longest_remaining())
        assert outcome.start == [0, 0, 2, 2]
        assert outcome.end == [2, 9, 6, 8]
        assert outcome.segments[1:3] == [(1, 0, 2), (1, 6, 9)]

    def test_shortest_remaining(self):
        # 2: jobs 1 (3) and 2 (4) run. 5: job 1 ends, job 3 starts.
        outcome = run(list(self.FOUR), 2, shortest_remaining())
        assert outcome.start == [0, 0, 2, 5]
        assert outcome.end == [2, 5, 6, 11]

    @pytest.mark.parametrize("discipline", [longest_remaining(), shortest_remaining()])
    def test_arrival_waits_behind_the_waiting(self, discipline):
        # Job 2 fits at 2, but job 1 waits. 4: both tie at 1 left and run.
        assert run([(0, 4, 2), (1, 1, 2), (2, 1, 1)], 3, discipline).start == [0, 4, 4]

    @pytest.mark.parametrize("discipline", [longest_remaining(), shortest_remaining()])
    def test_arrivals_of_one_instant_queue_up(self, discipline):
        # Job 1 does not fit beside job 0; job 2 would, but job 1 came first.
        assert run([(0, 4, 2), (0, 1, 2), (0, 1, 1)], 3, discipline).start == [0, 4, 4]

    def test_remaining_plan_not_work(self):
        # At 1 the plans 9 and 5 decide, not the works 1 and 5.
        rows = [(0, 1, 1), (0, 1, 1, 9), (0, 5, 1)]
        assert run(rows, 1, longest_remaining()).start == [0, 1, 2]
        assert run(rows, 1, shortest_remaining()).start == [0, 6, 1]


class TestInstants:
    def test_zero_work_ends_in_a_further_iteration_of_its_instant(self):
        # All on two servers: jobs 0 and 1 come and go at 0, in passes of their own.
        outcome = run([(0, 0, 2), (0, 0, 2), (0, 3, 2), (0, 0, 1)], 2, ordered(fcfs))
        assert outcome.start == [0, 0, 0, 3]
        assert outcome.end == [0, 0, 3, 3]
        assert [row.time for row in outcome.trajectory] == [0, 0, 0, 3, 3]
        assert [row.present for row in outcome.trajectory] == [4, 3, 2, 1, 0]

    def test_departures_come_before_arrivals(self):
        outcome = run([(0, 2, 1), (2, 1, 1)], 1, ordered(fcfs))
        assert [(row.time, row.present) for row in outcome.trajectory] == [(0, 1), (2, 1), (3, 0)]

    def test_event_passes_let_arrivals_in_first(self):
        outcome = run([(0, 2, 1), (2, 1, 1)], 1, ordered(fcfs), passes="event")
        assert [(row.time, row.present) for row in outcome.trajectory] == [
            (0, 1), (2, 2), (2, 1), (3, 0),
        ]  # fmt: skip
        assert outcome.start == [0, 2]

    def test_event_passes_see_departures_one_by_one(self):
        # At 2 both running jobs end. One pass for both starts job 2 on both servers; a pass
        # after the first lets job 3 take its server, and job 2 waits until 7.
        rows = [(0, 2, 1), (0, 2, 1), (1, 1, 2), (1, 5, 1)]
        assert run(rows, 2, ordered(fcfs, "first-fit")).start == [0, 0, 2, 3]
        assert run(rows, 2, ordered(fcfs, "first-fit"), passes="event").start == [0, 0, 7, 2]

    def test_event_passes_with_easy(self):
        # As above; the job that is about to end is overdue, and the shadow keeps job 3 out.
        rows = [(0, 2, 1), (0, 2, 1), (1, 1, 2), (1, 5, 1)]
        assert run(rows, 2, ordered(fcfs, "easy"), passes="event").start == [0, 0, 2, 3]

    @pytest.mark.parametrize(
        ("rows", "servers"), [([(1, 1, 1), (0, 1, 1)], 1), ([(0, 1, 3)], 2), ([(0, 1, 0)], 2)]
    )
    def test_bad_jobs_are_refused(self, rows, servers):
        with pytest.raises(ValueError, match="must be in"):
            run(rows, servers, ordered(fcfs))

    def test_no_jobs(self):
        assert run([], 1, ordered(fcfs)).trajectory == []


class TestKieferWolfowitz:
    def test_by_hand(self):
        # The vectors seen: (0, 0); (0, 3); both servers at 3 + 2 - 1 = 4.
        seen = kiefer_wolfowitz.vectors([0, 1, 7], [3, 2, 1], [1, 2, 1], 2)
        assert list(seen) == [[0, 0], [0, 3], [4, 4]]
        assert kiefer_wolfowitz.delays([0, 1, 7], [3, 2, 1], [1, 2, 1], 2) == [0, 3, 4]

    @settings(max_examples=300, deadline=None)
    @given(jittered() | workloads())
    def test_equals_the_recursion_for_fcfs(self, drawn: Workload):
        submits = [job.submit for job in drawn.jobs]
        gaps = [b - a for a, b in zip(submits, [*submits[1:], submits[-1]], strict=True)]
        expected = kiefer_wolfowitz.delays(
            gaps, [job.work for job in drawn.jobs], [job.procs for job in drawn.jobs], drawn.servers
        )
        outcome = simulate(drawn.jobs, drawn.servers, ordered(fcfs), constant(1))
        assert delays(drawn.jobs, outcome) == expected
