"""The controls and measures of the oracle against trajectories worked out by hand."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings

from . import controls, measures
from .disciplines import longest_remaining, ordered, preempt
from .model import Control, Job, Outcome
from .orders import fcfs, lcfs
from .recursion import simulate
from .strategies import (
    Thresholds,
    Workload,
    coins,
    count_thresholds,
    jittered,
    workload_thresholds,
    workloads,
)

HALF, QUARTER = Fraction(1, 2), Fraction(1, 4)


def one_wide(*rows: tuple[float, float]) -> list[Job]:
    return [Job(submit, work, 1, work) for submit, work in rows]


def run(jobs: list[Job], servers: int, control: Control, flips: tuple[float, ...] = ()) -> Outcome:
    return simulate(jobs, servers, ordered(fcfs), control, flips)


class TestRandomized:
    CONTROL = controls.randomized(1, 2, p_low=0.5, p_high=0.5)
    JOBS = one_wide((0, 4), (1, 4))

    def test_one_coin_for_each_event(self):
        # A at 0: 0.9 keeps 1. A at 1: 0.1 gives 2, 3 left of job 0, which ends at 2.5.
        # D: 0.2 gives 1; job 1 ends at 6.5. D: 0.7 keeps 1.
        outcome = run(self.JOBS, 1, self.CONTROL, (0.9, 0.1, 0.2, 0.7))
        assert outcome.end == [2 + HALF, 6 + HALF]
        assert outcome.rates == [(0, 1), (1, 2), (2 + HALF, 1)]

    def test_a_coin_equal_to_the_probability_fails(self):
        assert run(self.JOBS, 1, self.CONTROL, (0.5,) * 4).rates == [(0, 1)]

    def test_first_arrival_flips_too(self):
        # At rate 2 from the start: job 0 ends at 2, and D with 0.6 keeps 2.
        outcome = run(self.JOBS, 1, self.CONTROL, (0.4, 0.9, 0.6, 0.6))
        assert outcome.end == [2, 4]
        assert outcome.rates == [(0, 2)]

    def test_coins_of_one_instant_go_by_event(self):
        # At 4: D of job 0 takes 0.9 (keeps 1), then A of job 1 takes 0.1 (gives 2).
        outcome = run(one_wide((0, 4), (4, 4)), 1, self.CONTROL, (0.9, 0.9, 0.1, 0.9))
        assert outcome.end == [4, 6]


class TestCount:
    def test_hysteresis_looks_before_the_event(self):
        # A at 2 finds 2: rate 2, job 0 (2 left) ends at 3 and leaves 3 -> 2: no switch.
        # Job 1 ends at 4 and is one of 2 = k_L + 1: rate 1, job 2 ends at 6.
        outcome = run(one_wide((0, 4), (1, 2), (2, 2)), 1, controls.count([1, 2], [1], [2]))
        assert outcome.end == [3, 4, 6]
        assert outcome.rates == [(0, 1), (2, 2), (4, 1)]

    def test_three_rates(self):
        # A at 1 finds 1: rate 2. A at 2 finds 2: rate 4, 1 left of job 0: ends at 2.25.
        # Job 1 ends at 3.25, one of 2: rate 2. Job 2 ends at 5.25, one of 1: rate 1.
        control = controls.count([1, 2, 4], [0, 1], [1, 2])
        outcome = run(one_wide((0, 4), (1, 4), (2, 4)), 1, control)
        assert outcome.end == [2 + QUARTER, 3 + QUARTER, 5 + QUARTER]
        assert outcome.rates == [
            (0, 1), (1, 2), (2, 4), (3 + QUARTER, 2), (5 + QUARTER, 1),
        ]  # fmt: skip

    def test_a_departure_never_raises_and_an_arrival_never_lowers(self):
        # One of 2 = k_L1 + 1 leaves at 1: at most the middle rate, and it is the lowest.
        control = controls.count([1, 2, 4], [0, 1], [3, 4])
        assert run(one_wide((0, 1), (0, 1)), 1, control).rates == [(0, 1)]
        # Three at 0: rate 4. The arrival at 2.5 finds 1 = k_H0: at least the middle rate.
        control = controls.count([1, 2, 4], [0, 0], [1, 2])
        outcome = run(one_wide((0, 4), (0, 4), (0, 4), (2.5, 4)), 1, control)
        assert outcome.rates == [(0, 4), (4, 1)]


class TestWorkload:
    CONTROL = controls.workload([1, 2], [2], [5])

    def test_switch_timer(self):
        # 1: W = 3 + 3 > 5: rate 2 on two jobs, slope 4, down to 2 at 2. Each has 1 left.
        outcome = run(one_wide((0, 4), (1, 3)), 2, self.CONTROL)
        assert outcome.end == [3, 3]
        assert outcome.rates == [(0, 1), (1, 2), (2, 1)]
        assert [(row.time, row.workload) for row in outcome.trajectory] == [
            (0, 4), (1, 6), (2, 2), (3, 0),
        ]  # fmt: skip

    def test_without_the_timer(self):
        # Rate 2 lasts until both jobs end at 2.5.
        control = controls.workload([1, 2], [2], [5], timer=False)
        outcome = run(one_wide((0, 4), (1, 3)), 2, control)
        assert outcome.end == [2 + HALF, 2 + HALF]
        assert outcome.rates == [(0, 1), (1, 2), (2 + HALF, 1)]

    def test_timer_is_set_anew_after_every_instant(self):
        # 1: W = 7, rate 2. 1.5: 2 + 3 left and job 2 waits: W = 7, timer 2.75.
        # 2.5: job 0 ends, job 2 starts: W = 1 + 2, timer 2.5 + 1/4. 2.75: 0.5 + 1.5 left.
        outcome = run(one_wide((0, 4), (1, 4), (1.5, 2)), 2, self.CONTROL)
        assert outcome.start == [0, 1, 2 + HALF]
        assert outcome.end == [2 + HALF, 3 + QUARTER, 4 + QUARTER]
        assert outcome.rates == [(0, 1), (1, 2), (3 - QUARTER, 1)]

    def test_workload_at_the_upper_threshold_is_not_above_it(self):
        assert run(one_wide((0, 5)), 1, self.CONTROL).rates == [(0, 1)]

    def test_slope_counts_jobs_not_servers(self):
        # One job on three servers: W falls from 6 by 2 per second, to 2 at 2.
        outcome = run([Job(0, 6, 3, 6)], 3, self.CONTROL)
        assert outcome.rates == [(0, 2), (2, 1)]
        assert outcome.end == [4]

    def test_arrival_at_the_switch_keeps_the_rate(self):
        # W reaches 2 at 2, when a job of 1 arrives: W = 3 is above k_L, so rate 2 stays.
        # The new timer is 2 + 1 / 4: jobs 0 and 1 then have 2 - 1/2 and 1 - 1/2 left.
        outcome = run(one_wide((0, 6), (2, 1)), 2, self.CONTROL)
        assert outcome.rates == [(0, 2), (2 + QUARTER, 1)]
        assert outcome.end == [4 - QUARTER, 3 - QUARTER]

    def test_three_rates(self):
        # W = 9: rate 4 down to 4 at 5/4, rate 2 down to 2 at 9/4, then rate 1.
        outcome = run(one_wide((0, 9)), 1, controls.workload([1, 2, 4], [2, 4], [3, 8]))
        assert outcome.rates == [(0, 4), (1 + QUARTER, 2), (2 + QUARTER, 1)]
        assert outcome.end == [4 + QUARTER]

    def test_single_threshold(self):
        # W = 3 is not above 3. The arrival at 1 makes it 4: slope 2, back to 3 at 1.5.
        outcome = run(one_wide((0, 3), (1, 2)), 1, controls.threshold(1, 2, 3))
        assert outcome.rates == [(0, 1), (1, 2), (1 + HALF, 1)]
        assert outcome.end == [2 + HALF, 4 + HALF]

    @settings(max_examples=100, deadline=None)
    @given(jittered(8), workload_thresholds((1, 2, 4)))
    def test_rate_obeys_the_thresholds_everywhere(self, drawn: Workload, k: Thresholds):
        outcome = simulate(drawn.jobs, drawn.servers, longest_remaining(), controls.workload(*k))
        for row in outcome.trajectory:
            at = k.rates.index(row.rate)
            assert at == 0 or row.workload > k.low[at - 1]
            assert at == len(k.rates) - 1 or row.workload <= k.high[at]


@settings(max_examples=100, deadline=None)
@given(workloads(8), count_thresholds(), coins(8))
def test_work_is_conserved(drawn: Workload, k: Thresholds, flips: list[float]):
    """Every job gets its work, whatever the rate does: the integral of R over its segments."""
    for control in (controls.count(*k), controls.randomized(1, 2, 0.4, 0.6)):
        outcome = simulate(drawn.jobs, drawn.servers, preempt(lcfs), control, flips)
        received = measures.job_energies(drawn.jobs, outcome, busy=lambda rate: rate)
        assert received == [job.work * job.procs for job in drawn.jobs]


class TestMeasures:
    # FCFS on two servers: job 0 on [0, 3), job 1 on [3, 5), job 2 on [5, 6).
    JOBS = (Job(0, 3, 1, 3), Job(0, 2, 2, 2), Job(1, 1, 1, 1))
    OUTCOME = simulate(JOBS, 2, ordered(fcfs), controls.constant(1))

    def test_per_customer(self):
        assert measures.delays(self.JOBS, self.OUTCOME) == [0, 3, 4]
        assert measures.sojourns(self.JOBS, self.OUTCOME) == [3, 5, 5]
        assert measures.services(self.OUTCOME) == [3, 2, 1]
        assert measures.slowdowns(self.JOBS, self.OUTCOME) == [1, Fraction(5, 2), 5]
        bounded = measures.bounded_slowdowns(self.JOBS, self.OUTCOME, bound=2)
        assert bounded == [1, Fraction(5, 2), Fraction(5, 2)]
        assert measures.bounded_slowdowns(self.JOBS, self.OUTCOME) == [1, 1, 1]

    def test_slowdown_of_zero_service(self):
        jobs = one_wide((0, 0), (0, 2), (1, 0))
        outcome = run(jobs, 1, controls.constant(1))
        assert measures.slowdowns(jobs, outcome) == [1, 1, math.inf]

    def test_energy(self):
        assert measures.job_energies(self.JOBS, self.OUTCOME, lambda rate: 2) == [6, 8, 2]
        rows = self.OUTCOME.trajectory
        powers = [measures.power(row, 2, lambda rate: 2, lambda rate: 1) for row in rows]
        assert powers == [3, 3, 4, 3, 2]

    def test_energy_follows_the_rate(self):
        # Job 0 runs at 1 on [0, 1) and at 2 on [1, 2.5); job 1 at 1 on [2.5, 6.5).
        jobs = TestRandomized.JOBS
        outcome = run(jobs, 1, TestRandomized.CONTROL, (0.9, 0.1, 0.2, 0.7))
        energies = measures.job_energies(jobs, outcome, {1: 1, 2: 3}.__getitem__)
        assert energies == [1 + 3 * Fraction(3, 2), 4]

    def test_preempted_job_consumes_only_in_service(self):
        jobs = [Job(0, 4, 1, 4), Job(1, 2, 2, 2), Job(2, 1, 1, 1)]
        outcome = simulate(jobs, 2, preempt(lcfs), controls.constant(1))
        assert measures.job_energies(jobs, outcome, lambda rate: 1) == [4, 4, 1]

    def test_loads_and_wasting(self):
        rows = self.OUTCOME.trajectory
        assert [measures.potential_load(row, 2) for row in rows] == [2, 2, 2, 1, 0]
        assert [measures.effective_load(row) for row in rows] == [1, 1, 2, 1, 0]
        assert measures.job_wasting(self.OUTCOME, 2) == [1, 2, 0, 0, 0]

    @pytest.mark.parametrize(
        ("horizon", "customers", "energy"),
        [
            (None, Fraction(2 + 6 + 4 + 1, 6), Fraction(3 + 6 + 8 + 3, 6)),
            (4, Fraction(2 + 6 + 2, 4), Fraction(3 + 6 + 4, 4)),  # cut inside [3, 5)
            (8, Fraction(13, 8), Fraction(20 + 4, 8)),  # idle on [6, 8)
        ],
    )
    def test_time_averages(self, horizon, customers, energy):
        def power(row):
            return measures.power(row, 2, lambda rate: 2, lambda rate: 1)

        assert measures.time_average(self.OUTCOME, lambda row: row.present, horizon) == customers
        assert measures.time_average(self.OUTCOME, power, horizon) == energy
