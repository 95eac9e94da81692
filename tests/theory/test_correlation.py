"""The distributional measure of correlation."""

from __future__ import annotations

import numpy as np
import pytest

from sojourn.errors import OptionError
from sojourn.theory import distributional_correlation


def by_definition(x, y, chance):
    """Votes one by one; `chance(i, F)` is what the i-th smallest y may differ by."""
    low = [b for a, b in zip(x, y, strict=True) if a < np.median(x)]
    high = [b for a, b in zip(x, y, strict=True) if a >= np.median(x)]
    votes = 0
    for i, point in enumerate(sorted(y), 1):
        share_low = sum(value <= point for value in low) / len(low)
        share_high = sum(value <= point for value in high) / len(high)
        share = sum(value <= point for value in y) / len(y)
        if abs(share_low - share_high) > chance(i, share):
            votes += 1 if share_low > share_high else -1
    return votes / len(y)


def sample(seed, slope, count=200):
    rng = np.random.default_rng(seed)
    x = rng.random(count)
    return x, np.round(np.exp(slope * x + rng.normal(size=count)), 1)


@pytest.mark.parametrize("slope", [-3, -1, 0, 1, 3])
def test_votes_by_definition(slope):
    x, y = sample(1, slope)
    count = len(x)
    expected = by_definition(x, y, lambda i, f: 2 * np.sqrt(f * (1 - f) * 4 / count))
    assert distributional_correlation(x, y) == pytest.approx(expected, abs=1e-12)
    expected = by_definition(x, y, lambda i, f: 2 * np.sqrt(i) / count)
    assert distributional_correlation(x, y, band="rank") == pytest.approx(expected, abs=1e-12)
    expected = by_definition(x, y, lambda i, f: 0)
    assert distributional_correlation(x, y, width=0) == pytest.approx(expected, abs=1e-12)


def test_by_hand():
    """Low x have y = 1, 2, high ones 3, 4: F differs by 1/2, 1, 1/2, and at last by nothing."""
    assert distributional_correlation([1, 2, 3, 4], [1, 2, 3, 4], width=0) == 0.75
    assert distributional_correlation([1, 2, 3, 4], [4, 3, 2, 1], width=0) == -0.75


def test_sign_tells_the_direction():
    x, y = sample(2, 2.0, 2000)
    measured = distributional_correlation(x, y)
    assert measured > 0.8
    # Nothing in it is a straight line: any growing function of y gives the same.
    assert distributional_correlation(x, y**3) == measured
    assert distributional_correlation(-x, y) == pytest.approx(-measured, abs=0.02)


def test_dependence_that_prediction_misses():
    """Large x only make large y possible: the classical coefficient sees a tenth of it."""
    rng = np.random.default_rng(3)
    x = rng.random(2000)
    y = np.exp(3 * rng.normal(size=2000)) * np.where(x > 0.5, 3, 1)
    assert abs(np.corrcoef(x, y)[0, 1]) < 0.1
    assert distributional_correlation(x, y) > 0.8


def test_independent_columns_get_few_votes():
    rng = np.random.default_rng(4)
    measured = [distributional_correlation(*rng.random((2, 1000))) for _ in range(200)]
    assert np.mean(np.abs(measured)) == pytest.approx(0.05, abs=0.02)
    assert abs(np.mean(measured)) < 0.02


def test_half_of_the_jobs_may_have_the_same_width():
    """No width is below the median: the smallest ones are the low half."""
    rng = np.random.default_rng(5)
    widths = np.where(rng.random(1000) < 0.7, 1, rng.integers(2, 64, 1000))
    service = np.exp(rng.normal(size=1000)) * widths
    assert np.median(widths) == widths.min()
    assert distributional_correlation(widths, service) > 0.9


@pytest.mark.parametrize(
    ("x", "y", "options", "message"),
    [
        ([1, 2], [1, 2, 3], {}, "y has 3 values, x has 2; give one of each per job"),
        ([1, np.nan], [1, 2], {}, "x[1] = nan: give finite numbers"),
        ([5, 5], [1, 2], {}, "x is 5 throughout; there are no halves to compare"),
        ([1], [1], {}, "x: give a column of at least two numbers"),
        ([1, 2], [1, 2], {"band": "wide"}, "band = 'wide': choose one of standard-error"),
        ([1, 2], [1, 2], {"width": -1}, "width = -1: must not be negative"),
    ],
)
def test_bad_columns_are_named_in_one_line(x, y, options, message):
    with pytest.raises(OptionError) as error:
        distributional_correlation(x, y, **options)
    assert str(error.value).startswith(message)
