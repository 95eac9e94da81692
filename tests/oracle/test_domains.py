"""Domains by hand."""

from __future__ import annotations

from fractions import Fraction

from oracle import controls
from oracle.dispatcher import Scheduling
from oracle.domains import NOBODY, bill, epochs_of, simulate
from oracle.nodes import Node, Partition, Request

TWO = (Node(2, 1, (10,) * 10 + (18,)), Node(2, 1, (10,) * 10 + (18,)))


def ends(outcome):
    return outcome.named.run.end


def test_a_job_is_as_slow_as_the_slower_of_its_domains():
    rates = [controls.constant(2), controls.constant(0.5)]
    outcome = simulate([Request(0, 10, 4, 10)], TWO, (0, 1), rates, Scheduling())
    assert ends(outcome) == [20]


def test_nodes_in_no_domain_have_rate_1():
    jobs = [Request(0, 10, 2, 10), Request(0, 10, 2, 10)]
    outcome = simulate(jobs, TWO, (0, NOBODY), [controls.constant(4)], Scheduling())
    assert ends(outcome) == [Fraction(5, 2), 10]


def test_a_switch_stretches_work_and_plan():
    # The second job makes two: from 4 on twice as fast, until it ends at 4 + 6 / 2 = 7. The first
    # has done 4 + 6 of 20 by then.
    jobs = [Request(0, 20, 2, 20), Request(4, 6, 2, 6)]
    control = controls.count([1, 2], [1], [1])
    outcome = simulate(jobs, TWO, (0, 0), [control], Scheduling())
    assert ends(outcome) == [17, 7]
    assert epochs_of(outcome.rates[0]) == [(0, 1), (4, 2), (7, 1)]
    # 20 W of idle nodes all the time; 8 W more for each busy one, eight times as much at rate 2.
    assert bill(outcome, TWO, (0, 0)).total == 20 * 17 + 8 * 4 + 2 * 64 * 3 + 8 * 10


def test_jobs_belong_to_the_domains_in_which_they_may_run():
    parts = (Partition(frozenset({0})), Partition(frozenset({1})))
    jobs = [
        Request(0, 8, 1, 8, partitions=(0,)),
        Request(2, 8, 1, 8, partitions=(1,)),
        Request(4, 8, 1, 8),
    ]
    rates = [controls.count([1, 2], [1], [1]), controls.count([1, 2], [5], [5])]
    outcome = simulate(jobs, TWO, (0, 1), rates, Scheduling(), partitions=parts)
    # The last may run anywhere: it is the second of the first domain, which is faster from then on.
    assert epochs_of(outcome.rates[0]) == [(0, 1), (4, 2), (6, 1)]
    assert epochs_of(outcome.rates[1]) == [(0, 1)]
    # At 6 the first is done; of the last 4 seconds of work are left.
    assert ends(outcome) == [6, 10, 10]


def test_planning_is_with_the_rates_of_now():
    # The head needs both nodes at 10; a job of 12 s fits before it on the fast node only.
    jobs = [Request(0, 10, 2, 10), Request(1, 5, 4, 5), Request(1, 12, 2, 12)]
    easy = Scheduling(backfill="easy")
    slow = simulate(jobs, TWO, (NOBODY, 0), [controls.constant(1)], easy)
    assert ends(slow) == [10, 15, 27]
    fast = simulate(jobs, TWO, (NOBODY, 0), [controls.constant(2)], easy)
    assert ends(fast) == [10, 15, 7]
