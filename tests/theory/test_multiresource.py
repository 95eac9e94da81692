"""The stability constant of jobs that need several resources."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle import stability as oracle

from sojourn import theory
from sojourn.errors import OptionError
from sojourn.theory.stability import constant


def test_one_resource_is_the_servers():
    p = [0.4, 0.3, 0.2, 0.1]
    found = theory.multiresource_constant([[1], [2], [3], [4]], p, [23])
    assert found == pytest.approx(constant(np.array(p), 23), rel=1e-14)


@given(st.data(), st.integers(1, 3))
def test_several_resources_by_brute_force(data, resources):
    capacities = data.draw(st.lists(st.integers(1, 3), min_size=resources, max_size=resources))
    demand = st.tuples(*(st.integers(0, capacity) for capacity in capacities)).filter(any)
    demands = data.draw(st.lists(demand, min_size=1, max_size=3))
    weights = data.draw(st.lists(st.integers(1, 5), min_size=len(demands), max_size=len(demands)))
    p = [Fraction(weight, sum(weights)) for weight in weights]
    found = theory.multiresource_constant(demands, [float(x) for x in p], capacities)
    exact = oracle.multiresource(demands, p, capacities)
    assert found == pytest.approx(float(exact), rel=1e-13)


def test_a_plentiful_resource_does_not_matter():
    demands = [[1, 3], [2, 0], [4, 1]]
    p = [0.5, 0.3, 0.2]
    found = theory.multiresource_constant(demands, p, [8, 24])
    assert found == pytest.approx(constant(np.array([0.5, 0.3, 0, 0.2]), 8), rel=1e-14)


def test_units_do_not_matter():
    """Gigabytes or bytes: the grid is counted in what divides all demands."""
    demands, p = np.array([[1, 2], [2, 0], [0, 3]]), [0.5, 0.25, 0.25]
    small = theory.multiresource_constant(demands, p, [8, 12])
    large = theory.multiresource_constant(demands * [1, 2**30], p, [8, 12 * 2**30 + 5])
    assert large == small
    unused = np.column_stack([demands, np.zeros(3)])
    assert theory.multiresource_constant(unused, p, [8, 12, 10**9]) == small


@pytest.mark.parametrize(
    ("demands", "p", "capacities", "told"),
    [
        ([[1, 1], [0, 0]], [0.5, 0.5], [2, 2], r"demands\[1\] takes nothing"),
        ([[1, 1], [1, 3]], [0.5, 0.5], [2, 2], r"demands\[1\] = \[1, 3\] does not fit"),
        ([[1, 1]], [0.5, 0.5], [2, 2], "give a row for each of 2 probabilities"),
        ([[1, 1]], [0.9], [2, 2], "probabilities sums to 0.9"),
        ([[1, 0.5]], [1.0], [2, 2], "demands has 0.5"),
        ([[1, math.nan]], [1.0], [2, 2], "demands has nan"),
        ([[1, 1]], [1.0], [[2, 2]], "capacities: give a list"),
        ([1, 1], [1.0], [2, 2], "demands: give a row"),
        ([[3, 7], [7, 3]], [0.5, 0.5], [10**5, 10**5], "a grid of 1e.10 points"),
    ],
)
def test_bad_demands(demands, p, capacities, told):
    with pytest.raises(OptionError, match=told) as caught:
        theory.multiresource_constant(demands, p, capacities)
    assert "\n" not in str(caught.value)
