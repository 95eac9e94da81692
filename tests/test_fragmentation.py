"""Used, stranded, free and down: the compiled walk against plain Python with exact fractions."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sojourn.errors import OptionError, RunError
from sojourn.measures.fragmentation import (
    STATES,
    Absences,
    Holdings,
    measure_fragmentation,
    over_time,
)


def plain(rows, capacity, absences, begin, end):
    """Resource-seconds by resource, state and node, and the cluster's state over time.

    Parameters
    ----------
    rows : (node, start, stop, amounts) of each allocation.
    capacity : amounts of each node.
    absences : (node, from, until).
    """
    instants = {begin, end}
    instants |= {x for _, start, stop, _ in rows for x in (start, stop)}
    instants |= {min(max(x, begin), end) for _, a, b in absences for x in (a, b)}
    sums = [[[Fraction(0)] * len(capacity) for _ in STATES] for _ in capacity[0]]
    course = []
    for now, then in pairwise([*sorted(instants), None]):
        level = [[0] * len(STATES) for _ in capacity[0]]
        for k, has in enumerate(capacity):
            mine = [row for row in rows if row[0] == k and row[1] <= now < row[2]]
            left = [c - sum(row[3][r] for row in mine) for r, c in enumerate(has)]
            down = any(node == k and a <= now < b for node, a, b in absences)
            for r, c in enumerate(has):
                others = [q for q, size in enumerate(has) if size > 0 and q != r]
                idle = "free"
                if down:
                    idle = "down"
                elif any(left[q] == 0 for q in others):
                    idle = "stranded"
                for state, amount in (("used", c - left[r]), (idle, left[r])):
                    s = STATES.index(state)
                    level[r][s] += amount
                    if then is not None:
                        sums[r][s][k] += amount * (Fraction(then) - Fraction(now))
        course.append((now, level))
    return sums, course


def holdings(rows, resources):
    held = [[row[3][r] for row in rows] for r in range(resources)]
    node, start, stop = ([row[i] for row in rows] for i in range(3))
    return Holdings(range(len(rows)), np.array(node, int), start, stop, held)


def columns_of(absences):
    return Absences(*([row[i] for row in absences] for i in range(3)))


@st.composite
def cases(draw):
    """Allocations that fit, on few nodes with up to three resources, some of which a node lacks."""
    resources = draw(st.integers(1, 3))
    capacity = draw(
        st.lists(
            st.lists(st.integers(0, 4), min_size=resources, max_size=resources),
            min_size=1,
            max_size=3,
        )
    )
    moments = st.integers(0, 12).map(lambda n: n / 4)
    rows = []
    for _ in range(draw(st.integers(0, 8))):
        node = draw(st.integers(0, len(capacity) - 1))
        start, stop = sorted((draw(moments), draw(moments)))
        taken = [
            max(
                (
                    sum(row[3][r] for row in rows if row[0] == node and row[1] <= at < row[2])
                    for at in np.arange(start, stop, 0.25).tolist()
                ),
                default=0,
            )
            for r in range(resources)
        ]
        amounts = [
            draw(st.integers(0, size - most))
            for size, most in zip(capacity[node], taken, strict=True)
        ]
        rows.append((node, start, stop, amounts))
    absences = []
    for _ in range(draw(st.integers(0, 3))):
        since, until = sorted((draw(moments), draw(st.one_of(moments, st.just(np.inf)))))
        absences.append((draw(st.integers(0, len(capacity) - 1)), since, until))
    return rows, capacity, absences


@given(cases())
@settings(max_examples=300, deadline=None)
def test_the_walk_is_the_definition(case):
    rows, capacity, absences = case
    resources = len(capacity[0])
    names = ("cores", "memory", "gpu")[:resources]
    size = np.array(capacity).T
    wanted, course = plain(rows, capacity, absences, 0.0, 3.0)
    arguments = (holdings(rows, resources), size, names)
    span = {"begin": 0.0, "end": 3.0, "absences": columns_of(absences)}
    found = measure_fragmentation(*arguments, **span)
    # Quarters of seconds: exact in floating point too.
    assert found.seconds.tolist() == [[[float(x) for x in s] for s in r] for r in wanted]
    np.testing.assert_array_equal(found.seconds.sum(axis=1), 3.0 * size)
    table = over_time(*arguments, **span)
    assert table["time"].iloc[[0, -1]].tolist() == [0.0, 3.0]
    at = np.searchsorted(table["time"], [now for now, _ in course], side="right") - 1
    for r, name in enumerate(names):
        for s, state in enumerate(STATES):
            if size[r].sum():
                told = table[f"{name}_{state}"].to_numpy()[at]
                assert told.tolist() == [level[r][s] for _, level in course]
            else:
                assert f"{name}_{state}" not in table


def random_holdings(seed, jobs, nodes):
    """Many short jobs, one after the other on each node, that hold up to all of a resource."""
    rng = np.random.default_rng(seed)
    size = np.stack([np.full(nodes, 16), np.full(nodes, 64_000_000), np.arange(nodes) % 3])
    node = rng.integers(0, nodes, jobs)
    start, stop = np.empty(jobs), np.empty(jobs)
    for k in range(nodes):
        mine = np.flatnonzero(node == k)
        edges = np.cumsum(rng.exponential(1.0, 2 * len(mine)) + 1e-3)
        start[mine], stop[mine] = edges[::2], edges[1::2]
    held = rng.integers(0, size[:, node] + 1)
    return Holdings(np.arange(jobs), node, start, stop, held), size


def test_the_four_states_add_up_to_the_capacity_after_many_jobs():
    given_rows, size = random_holdings(1, 200_000, 7)
    end = float(given_rows.stop.max()) + 1 / 3
    away = Absences([0, 0, 3], [-5.0, 20.0, 100.0], [7.0, 90.0, np.inf])
    found = measure_fragmentation(
        given_rows, size, ("cores", "memory", "gpu"), begin=0.0, end=end, absences=away
    )
    whole = size * found.span
    np.testing.assert_allclose(found.seconds.sum(axis=1), whole, rtol=1e-12)
    used = given_rows.held * (given_rows.stop - given_rows.start)
    for r in range(3):
        by_node = np.bincount(given_rows.node, used[r], minlength=7)
        np.testing.assert_allclose(found.seconds[r, 0], by_node, rtol=1e-12)
    assert (found.seconds[:, :3] > 0).any(axis=2).all()
    table = over_time(
        given_rows, size, ("cores", "memory", "gpu"), begin=0.0, end=end, absences=away
    )
    lapse = np.diff(table["time"])
    for r, name in enumerate(found.resources):
        for state in STATES:
            area = float(np.sum(lapse * table[f"{name}_{state}"].to_numpy()[:-1]))
            told = found.as_dict()[name][state]
            assert area == pytest.approx(told, rel=1e-9), (r, state)


def test_a_resource_that_the_node_lacks_strands_nothing():
    job = Holdings([1], [0], [0.0], [4.0], [[2], [0]])
    found = measure_fragmentation(job, [[4], [0]], ("cores", "gpu"), begin=0, end=4).as_dict()
    assert list(found) == ["cores"]
    assert found["cores"] == {
        "capacity": 4,
        "used": 8.0,
        "stranded": 0.0,
        "free": 8.0,
        "down": 0.0,
        "share": {"used": 0.5, "stranded": 0.0, "free": 0.5, "down": 0.0},
    }


def test_memory_is_stranded_where_all_cores_are_in_use_and_only_there():
    job = Holdings([1], [1], [2.0], [8.0], [[4], [1]])
    size = [[4, 4], [8, 8]]
    found = measure_fragmentation(job, size, ("cores", "memory"), begin=0, end=10)
    assert found.as_dict()["memory"]["stranded"] == 7 * 6
    assert found.as_dict([0])["memory"]["stranded"] == 0
    assert found.share(1, "stranded", [1]) == 7 * 6 / 80
    table = over_time(job, size, ("cores", "memory"), begin=0, end=10)
    assert table["time"].tolist() == [0, 2, 8, 10]
    assert table["memory_stranded"].tolist() == [0, 7, 0, 0]
    assert table["cores_used"].tolist() == [0, 4, 0, 0]


def test_jobs_that_still_hold_a_node_that_is_down_use_it():
    job = Holdings([1], [0], [0.0], [4.0], [[1]])
    found = measure_fragmentation(
        job, [[4]], ("cores",), begin=0, end=4, absences=Absences([0], [2.0], [np.inf])
    )
    assert found.seconds[0, :, 0].tolist() == [4.0, 0.0, 6.0, 6.0]


def test_nobody_and_no_time():
    nobody = Holdings([], [], [], [], [])
    found = measure_fragmentation(nobody, [[3]], ("cores",), begin=5, end=5)
    assert found.as_dict()["cores"]["free"] == 0
    assert np.isnan(found.share(0, "used"))
    table = over_time(nobody, [[3]], ("cores",), begin=5, end=9)
    assert table["cores_free"].tolist() == [3, 3]


def test_more_than_a_node_has_is_an_error():
    two = Holdings([7, 8], [0, 0], [0.0, 1.0], [4.0, 2.0], [[3, 2]])
    with pytest.raises(RunError, match=r"with job 8 more is held of node 0 .* at 1 s"):
        measure_fragmentation(two, [[4]], ("cores",), begin=0, end=4)


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        (Holdings([1], [3], [0.0], [1.0], [[1]]), "beyond the 2"),
        (Holdings([1], [-1], [0.0], [1.0], [[1]]), "beyond the 2"),
        (Holdings([1], [0], [-1.0], [1.0], [[1]]), "between 0 and 4 s"),
        (Holdings([1], [0], [0.0], [5.0], [[1]]), "between 0 and 4 s"),
        (Holdings([1], [0], [0.0], [np.nan], [[1]]), "between 0 and 4 s"),
        (Holdings([1], [0], [0.0], [1.0], [[-1]]), "less than 0"),
        (Holdings([1], [0], [0.0], [1.0], [[1], [1]]), "shape"),
        (Holdings([1], [0], [0.0, 1.0], [1.0, 2.0], [[1]]), "one node, start and stop"),
    ],
)
def test_arrays_that_do_not_fit_together(rows, problem):
    with pytest.raises(OptionError, match=problem):
        measure_fragmentation(rows, [[4, 4]], ("cores",), begin=0, end=4)
