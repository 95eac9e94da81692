"""Equations (1) and (2) of [rumyantsev2014], worked out by hand, s = 3.

====  ==  ==  ==  ===========  ===  ================================
 i    T   S   N   W_i           D   before sorting and ( )^+
====  ==  ==  ==  ===========  ===  ================================
 1    1   4   2   (0, 0, 0)     0   0+4-1, 0+4-1, 0-1
 2    2   5   1   (0, 3, 3)     0   0+5-2, 3-2, 3-2
 3    1   2   3   (1, 1, 3)     3   3+2-1, 3+2-1, 3+2-1
 4    6   1   2   (4, 4, 4)     4   4+1-6, 4+1-6, 4-6
 5    1   2   1   (0, 0, 0)     0
====  ==  ==  ==  ===========  ===  ================================
"""

from __future__ import annotations

import numpy as np
import pytest

from sojourn.theory import Recursion, kiefer_wolfowitz

T = [1, 2, 1, 6, 1]
S = [4, 5, 2, 1, 2]
N = [2, 1, 3, 2, 1]
W = [[0, 0, 0], [0, 3, 3], [1, 1, 3], [4, 4, 4], [0, 0, 0]]
D = [0, 0, 3, 4, 0]


# Whole numbers and others go different ways; halves are as exact as whole numbers are.
@pytest.mark.parametrize("unit", [1, 0.5])
def test_equation_1_workload_vectors(unit):
    scaled = np.multiply(unit, T), np.multiply(unit, S)
    _, seen = kiefer_wolfowitz(*scaled, N, 3, vectors=True)
    assert seen.tolist() == np.multiply(unit, W).tolist()
    queue = Recursion(3)
    for i, vector in enumerate(W):
        assert queue.workload.tolist() == np.multiply(unit, vector).tolist()
        queue.step(*(column[i : i + 1] for column in scaled), N[i : i + 1])
    assert queue.workload.tolist() == [0, 0, unit]


@pytest.mark.parametrize("unit", [1, 0.5])
def test_equation_2_delay_is_the_component_of_the_width(unit):
    scaled = np.multiply(unit, T), np.multiply(unit, S)
    assert kiefer_wolfowitz(*scaled, N, 3).tolist() == np.multiply(unit, D).tolist()


def test_equation_1_with_service_times_of_their_own():
    """The second customer's servers both start at 1, though one of them was idle from 0 on."""
    service = [[4, 2, 9], [5, 1, 9], [1, 1, 1]]
    delays, seen = kiefer_wolfowitz([1, 1, 1], service, [2, 2, 3], 3, "independent", vectors=True)
    assert seen.tolist() == [[0, 0, 0], [0, 1, 3], [1, 2, 5]]
    assert delays.tolist() == [0, 1, 5]
