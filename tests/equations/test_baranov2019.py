"""Measure of adequacy, equation by equation [baranov2019]."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sojourn.adequacy import JobStream, compare_streams, distance, judge, reference_value

SUBMIT = [0, 10, 20, 30]
REAL = {"start": [0, 10, 40, 60], "end": [30, 40, 60, 100]}
MODEL = {"start": [0, 12, 40, 52], "end": [30, 42, 66, 90]}


def stream(times, **other):
    given = {"nodes": [1, 2, 4, 1], "label": [1, 2, 3, 4], **other}
    return JobStream.of(SUBMIT, times["start"], times["end"], **given)


def test_residence_times():
    """v_i = s_i - r_i + w_i: here 30, 30, 40, 70 and 30, 32, 46, 60."""
    assert stream(REAL).residence.tolist() == [30, 30, 40, 70]
    assert stream(MODEL).residence.tolist() == [30, 32, 46, 60]
    assert stream(REAL).wait.tolist() == [0, 0, 20, 30]


def test_equations_1_and_2():
    """Differences 0, 2, 6, -10: E = sqrt(140), P = sqrt(140 / 4)."""
    found = compare_streams(stream(REAL), stream(MODEL))
    assert found.n == 4
    assert found.euclidean == pytest.approx(math.sqrt(140), rel=1e-15)
    assert pytest.approx(math.sqrt(35), rel=1e-15) == found.P
    assert found.differences.tolist() == [0, 2, 6, -10]


def test_what_stands_beside_it():
    """Mean residence 170/4; absolute differences 0, 2, 6, 10; one job makes 100 of 140."""
    found = compare_streams(stream(REAL), stream(MODEL))
    assert found.relative == pytest.approx(math.sqrt(35) / 42.5, rel=1e-15)
    assert found.median_abs == 4.0
    assert found.half == 1
    assert [job["job"] for job in found.worst(2)] == ["4", "3"]
    assert found.worst(1)[0]["share"] == pytest.approx(100 / 140)


def test_different_jobs_are_those_that_waited_another_time():
    """[errata 1] Job 3 ran 6 s longer but waited the same; jobs 2 and 4 waited another time."""
    assert compare_streams(stream(REAL), stream(MODEL)).different == 2
    assert compare_streams(stream(REAL), stream(MODEL), within=2.0).different == 1
    assert compare_streams(stream(REAL), stream(MODEL), within=8.0).different == 0


def test_a_stream_is_no_different_from_itself():
    found = compare_streams(stream(REAL), stream(REAL))
    assert (found.P, found.different, found.median_abs, found.half) == (0.0, 0, 0.0, 0)
    assert found.interval == (0.0, 0.0)
    assert found.divergence is None
    assert found.worst() == []


def test_prefixes_of_table_1():
    n = 1000
    submit = np.arange(n, dtype=float)
    real = JobStream.of(submit, submit, submit + 5, nodes=np.ones(n, int))
    late = np.where(np.arange(n) == 60, 30.0, 0.0)
    model = JobStream.of(submit, submit + late, submit + 5 + late, nodes=np.ones(n, int))
    table = compare_streams(real, model).prefixes
    assert [row.n for row in table] == [50, 100, 250, 500, 750, 1000]
    assert [row.different for row in table] == [0, 1, 1, 1, 1, 1]
    assert [row.P for row in table] == pytest.approx(
        [0.0, *(30 / math.sqrt(k) for k in (100, 250, 500, 750, 1000))], rel=1e-12
    )


@pytest.mark.parametrize(
    ("n", "sizes"),
    [
        (1200, [50, 100, 250, 500, 750, 1000, 1200]),
        (200, [10, 20, 50, 100, 150, 200]),
        (4, [1, 2, 3, 4]),
        (1, [1]),
    ],
)
def test_prefixes_of_other_streams(n, sizes):
    submit = np.arange(n, dtype=float)
    one = JobStream.of(submit, submit, submit + 5, nodes=np.ones(n, int))
    assert [row.n for row in compare_streams(one, one).prefixes] == sizes


def test_reference_value_of_the_paper():
    """Repetitions that give its table I: the largest entry, 12, is what it calls the reference."""
    n = 1000
    table = {50: (0.0, 0), 100: (12.0, 4), 250: (11.4, 13), 500: (12.0, 20), 750: (11.6, 28)}
    table[1000] = (11.2, 35)
    gap = np.zeros(n)
    done, jobs = 0.0, 0
    for size, (measure, different) in table.items():
        added, more = size * measure**2 - done, different - jobs
        if more:
            gap[size - more : size] = math.sqrt(added / more)
        done, jobs = size * measure**2, different
    submit = np.arange(n, dtype=float)
    first = JobStream.of(submit, submit, submit + 5, nodes=np.ones(n, int))
    second = JobStream.of(submit, submit + gap, submit + 5 + gap, nodes=np.ones(n, int))
    found = compare_streams(first, second)
    assert [(row.P, row.different) for row in found.prefixes] == [
        (pytest.approx(measure, abs=1e-9), count) for measure, count in table.values()
    ]
    reference = reference_value([first, second])
    assert reference.highest == pytest.approx(12.0)
    assert reference.ideal == pytest.approx(11.2)


def test_verdict():
    """P <= P_max is adequate; P_ideal stands in for P_max."""
    found = compare_streams(stream(REAL), stream(MODEL))
    assert judge(found, limit=6.0).adequate is True
    assert judge(found, limit=5.9).adequate is False
    assert judge(found).adequate is None
    again = reference_value([stream(REAL), stream(MODEL)])
    assert judge(found, again).adequate is True
    assert judge(found, reference_value([stream(REAL), stream(REAL)])).adequate is False


times = st.lists(st.integers(0, 10**6), min_size=1, max_size=40)


@given(times, st.data())
def test_distance_is_that_of_exact_arithmetic(v, data):
    w = data.draw(st.lists(st.integers(0, 10**6), min_size=len(v), max_size=len(v)))
    exact = Fraction(sum((a - b) ** 2 for a, b in zip(v, w, strict=True)), len(v))
    assert distance(v, w) ** 2 == pytest.approx(float(exact), rel=1e-12, abs=1e-12)
    assert distance(v, w) == distance(w, v)


@given(times)
def test_distance_does_not_grow_with_the_number_of_jobs(v):
    w = [value + 7 for value in v]
    assert distance(v, w) == pytest.approx(7.0)
    assert distance(v * 3, w * 3) == pytest.approx(7.0)
