"""One test per numbered equation (3)-(10) of [rumyantsev2014] and per erratum on them.

Equations (1) and (2), the recursion, have a file of their own. By hand, s = 3 and all widths
equally likely: two jobs fit unless the first is as wide as s or the two are wider together; three
fit if all are of width 1. Of 27 phases 1 has K = 3, 8 have K = 2 and 18 have K = 1.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from fractions import Fraction

import numpy as np
import pytest
from oracle import stability as oracle

from sojourn import theory
from sojourn.theory._groups import count_partitions

THIRD = Fraction(1, 3)
SKEWED = [Fraction(n, 10) for n in (4, 3, 2, 1)]
FIVE = [Fraction(n, 20) for n in (7, 1, 5, 3, 4)]
SMALL = [
    [Fraction(1)],
    [THIRD, 1 - THIRD],
    [THIRD] * 3,
    SKEWED,
    [Fraction(1, 2), Fraction(0), Fraction(0), Fraction(1, 2)],
    FIVE,
]


def floats(p):
    return [float(x) for x in p]


def test_eq_3_stability_criterion():
    """By hand: C = 67/81, so a server of 3 with E[S] = 2 s takes 81/134 jobs a second."""
    p = floats([THIRD] * 3)
    assert theory.stability_load(0.3, 2.0, p) == pytest.approx(0.3 * 2 * 67 / 81, rel=1e-15)
    limit = theory.max_arrival_rate(p, 2.0)
    assert limit == pytest.approx(81 / 134, rel=1e-15)
    assert theory.stability_load(limit, 2.0, p) == pytest.approx(1, rel=1e-15)
    assert theory.smallest_stable(0.99 * limit, 2.0, p) == 3
    assert theory.smallest_stable(1.01 * limit, 2.0, p) == 4


def test_eq_3_is_the_criterion_of_the_ordinary_queue_where_all_jobs_are_narrow():
    """M/M/s: rho = lambda E[S] / s."""
    p = [1.0] + [0.0] * 6
    assert theory.stability_load(3.0, 2.0, p) == pytest.approx(6 / 7, rel=1e-15)


@pytest.mark.parametrize("p", SMALL)
def test_eq_4_sum_over_the_phase_space(p):
    exact = oracle.over_phases(p)
    assert exact == oracle.by_group_sizes(p)
    assert theory.stability_constant(floats(p)) == pytest.approx(float(exact), rel=1e-15)


def test_eq_4_by_hand():
    assert oracle.over_phases([THIRD] * 3) == Fraction(18 + 4 + THIRD) / 27 == Fraction(67, 81)


@pytest.mark.parametrize("s", [1, 2, 3, 4, 5])
def test_eq_5_phases_map_onto_the_partitions_of_1_to_s(s):
    reached = {tuple(sorted(m[: oracle.together(m, s)])) for m in oracle.phases(s)}
    expected = {
        tuple(sorted(Counter(n).elements())) for k in range(1, s + 1) for n in oracle.partitions(k)
    }
    assert reached == expected
    assert count_partitions(np.arange(1, s + 1), s) == len(expected)


def test_eq_6_a_group_has_as_many_jobs_as_its_partition():
    """P{K = i} from partitions is what the depth method adds at each depth."""
    sizes = defaultdict(Fraction)
    for m in oracle.phases(5):
        sizes[oracle.together(m, 5)] += math.prod(FIVE[k - 1] for k in m)
    known = Fraction(0)
    for jobs in range(1, 6):
        known += sizes[jobs] / jobs
        found = theory.stability_constant(floats(FIVE), "depth", depth=jobs)
        assert found == pytest.approx(float(known), rel=1e-14)


def test_eq_7_number_of_orders_of_a_group():
    counted = Counter(tuple(sorted(m[: oracle.together(m, 4)])) for m in oracle.phases(4))
    for k in range(1, 5):
        for n in oracle.partitions(k):
            group = tuple(sorted(Counter(n).elements()))
            # Each order, then a job wider than what is left, then any jobs at all.
            behind = [(k, 4)] + [(4, 4)] * 3
            free = math.prod(ways for ways, _ in behind[: 4 - len(group)])
            assert counted[group] == oracle.orders(n) * free, group


def test_eq_8_share_of_a_partition():
    """The right side needs the 1/||m|| of the left one (errata 1)."""
    s = len(SKEWED)
    tail = [sum(SKEWED[m:], Fraction(0)) for m in range(s)]
    for k in range(1, s + 1):
        for n in oracle.partitions(k):
            jobs = sum(n.values())
            left = sum(
                math.prod(SKEWED[i - 1] for i in m) / oracle.together(m, s)
                for m in oracle.phases(s)
                if Counter(m[: oracle.together(m, s)]) == Counter(n)
            )
            chance = math.prod(SKEWED[i - 1] ** repeats for i, repeats in n.items())
            printed = oracle.orders(n) * chance * tail[s - k]
            assert left == printed / jobs


@pytest.mark.parametrize("p", SMALL)
def test_eq_9_sum_over_partitions(p):
    found = theory.stability_constant(floats(p), "partitions")
    assert found == pytest.approx(float(oracle.over_phases(p)), rel=1e-15)


def test_eq_9_where_the_phase_space_is_out_of_reach():
    s = 40
    p = [Fraction(2 * (s + 1 - k), s * (s + 1)) for k in range(1, s + 1)]
    found = theory.stability_constant(floats(p), "partitions")
    assert found == pytest.approx(float(oracle.by_group_sizes(p)), rel=1e-14)


def test_eq_10_monte_carlo():
    exact = float(oracle.by_group_sizes(SKEWED))
    found = theory.estimate_stability_constant(floats(SKEWED), 200_000, seed=1, confidence=0.999)
    assert exact in found
    assert found.high - found.low < 0.01
    same = theory.stability_constant(floats(SKEWED), "monte-carlo", samples=200_000, seed=1)
    assert same == found.value


def test_erratum_2_number_of_partitions():
    """Of 60 there are 966,467; exp(sqrt s)/s would say 38."""
    widths = np.arange(1, 61)
    found = count_partitions(widths, 60) - count_partitions(widths, 59)
    assert found == 966_467
    asymptotic = math.exp(math.pi * math.sqrt(2 * 60 / 3)) / (4 * 60 * math.sqrt(3))
    assert found == pytest.approx(asymptotic, rel=0.07)


def test_erratum_3_phases_are_drawn_from_p():
    """Uniform phases would give 821/1024 whatever p is."""
    uniform = float(oracle.by_group_sizes([Fraction(1, 4)] * 4))
    assert uniform == pytest.approx(821 / 1024, rel=1e-15)
    assert uniform not in theory.estimate_stability_constant(floats(SKEWED), confidence=0.999)
