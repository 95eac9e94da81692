"""Classes, intervals and references of the measure."""

from __future__ import annotations

import numpy as np
import pytest

from sojourn.adequacy import JobStream, compare_streams, judge, reference_value
from sojourn.errors import OptionError


def pair_of(gap, width=None, **other):
    n = len(gap)
    submit = np.arange(n, dtype=float)
    nodes = np.ones(n, int) if width is None else width
    real = JobStream.of(submit, submit + 20, submit + 30, nodes=nodes, **other)
    late = np.asarray(gap, float)
    return real, JobStream.of(submit, submit + 20 + late, submit + 30 + late, nodes=nodes, **other)


def test_classes():
    real, model = pair_of(
        [0, 3, 4, 0, 10], [1, 1, 2, 3, 4], queue=["a", "b", "a", "b", "b"], user=["x"] * 5
    )
    found = {(c.by, c.name): c for c in compare_streams(real, model).classes}
    assert set(found) == {("width", "1"), ("width", "2"), ("width", "3-4"), ("queue", "a"),
                          ("queue", "b")}  # fmt: skip
    assert pytest.approx(np.sqrt(9 / 2)) == found["width", "1"].P
    assert pytest.approx(np.sqrt(50)) == found["width", "3-4"].P
    assert pytest.approx(np.sqrt(8)) == found["queue", "a"].P
    assert (found["queue", "b"].n, found["queue", "b"].different) == (3, 2)
    assert found["queue", "b"].residence == 30.0


def test_interval_holds_the_measure_of_many_streams():
    """Independent differences: about 95 of 100 intervals hold the true P."""
    rng = np.random.default_rng(7)
    hits = 0
    for seed in range(100):
        real, model = pair_of(np.abs(rng.normal(0, 5, 300)))
        low, high = compare_streams(real, model, seed=seed).interval
        hits += low <= 5.0 <= high
    assert 85 <= hits <= 100


def test_interval_is_wider_where_differences_come_in_runs():
    rng = np.random.default_rng(3)
    single = np.abs(rng.normal(0, 5, 343))
    runs = np.repeat(np.abs(rng.normal(0, 5, 49)), 7)
    width = [np.ptp(compare_streams(*pair_of(gap)).interval) for gap in (single, runs)]
    assert width[1] > 1.5 * width[0]


def test_interval_is_the_same_for_the_same_seed():
    real, model = pair_of([0, 3, 4, 0, 10])
    first = compare_streams(real, model, seed=4).interval
    assert compare_streams(real, model, seed=4).interval == first
    assert first[0] <= compare_streams(real, model).P <= first[1]


def test_plain_values():
    real, model = pair_of([0, 3, 4, 0, 10])
    told = compare_streams(real, model).as_dict()
    needed = {"n", "P", "relative", "median_abs", "different", "prefixes", "first_divergence"}
    assert needed <= set(told)
    assert told["prefixes"][-1] == {"n": 5, "P": told["P"], "different": 3}


def test_residence_of_nothing():
    zero = JobStream.of([0.0], [0.0], [0.0], nodes=[1])
    late = JobStream.of([0.0], [1.0], [1.0], nodes=[1])
    assert compare_streams(zero, zero).relative == 0.0
    assert compare_streams(zero, late).relative == float("inf")


def test_reference_of_several_repetitions():
    runs = [pair_of(np.full(4, gap))[1] for gap in (0.0, 1.0, 5.0)]
    found = reference_value(runs)
    assert found.pairs == ((0, 1, 1.0), (0, 2, 5.0), (1, 2, 4.0))
    assert found.ideal == 4.0
    with pytest.raises(OptionError, match="give two or more"):
        reference_value(runs[:1])


def test_a_limit_below_the_reference_is_told():
    runs = [pair_of(np.full(4, gap))[1] for gap in (0.0, 5.0)]
    found = compare_streams(*runs)
    verdict = judge(found, reference_value(runs), limit=2.0)
    assert verdict.adequate is False
    assert verdict.because.endswith("the system itself is 5 s from itself")
    with pytest.raises(OptionError, match="P_max"):
        judge(found, limit=float("nan"))
