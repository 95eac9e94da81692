"""Who finishes in time, and the limit at which enough do."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import infinite_servers as oracle
from scipy import stats

from sojourn import theory
from sojourn.errors import OptionError
from sojourn.theory.widths import width_probabilities

LIMITS = ["each", "shared"]
WIDTHS = {
    "1": 1,
    "5": 5,
    "1000": 1000,
    "mixed": [0.1, 0.2, 0.0, 0.7],
    "geometric": theory.geometric(0.7),
    "binomial": stats.binom(20, 0.3, loc=1),
}

shares = st.lists(st.integers(0, 5), min_size=1, max_size=8).filter(any)
rates = st.fractions(Fraction(1, 8), 8, max_denominator=8)


@pytest.mark.parametrize("limits", LIMITS)
@settings(max_examples=50)
@given(mu=rates, nu=rates, weights=shares)
def test_completion_is_that_of_the_oracle(limits, mu, nu, weights):
    alpha = [Fraction(w, sum(weights)) for w in weights]
    p = theory.completion_probability(float(mu), float(nu), [float(x) for x in alpha], limits)
    assert p == pytest.approx(float(oracle.completion(mu, nu, alpha, limits)), rel=1e-13)


def test_known_values():
    """k = 5, mu = nu (errata 4)."""
    assert theory.completion_probability(1, 1, 5) == pytest.approx(0.031, abs=5e-4)
    assert theory.completion_probability(1, 1, 5, "shared") == pytest.approx(0.167, abs=5e-4)


@pytest.mark.parametrize("limits", LIMITS)
def test_geometric_widths_by_closed_form_and_by_table(limits):
    law = theory.geometric(0.9)
    table = width_probabilities(law)
    for nu in (1e-9, 0.1, 3.0):
        closed = theory.completion_probability(1, nu, law, limits)
        listed = theory.completion_probability(1, nu, table, limits)
        assert closed == pytest.approx(listed, rel=1e-13)
        assert 1 - closed == pytest.approx(1 - listed, rel=1e-6)


@pytest.mark.parametrize("limits", LIMITS)
def test_no_limit_strikes_nobody(limits):
    for width in WIDTHS.values():
        assert theory.completion_probability(2, 0, width, limits) == 1


def test_a_shared_limit_is_kinder():
    """Of several limits the least counts."""
    z = np.geomspace(0.01, 100, 9)
    for width in (2, 5, [0.1, 0.2, 0.7]):
        each = theory.completion_curve(z, 1.0, width)
        assert (theory.completion_curve(z, 1.0, width, "shared") > each).all()


@pytest.mark.parametrize("limits", LIMITS)
@pytest.mark.parametrize("width", WIDTHS.values(), ids=WIDTHS)
@pytest.mark.parametrize("target", [1e-12, 1e-3, 0.3, 0.5, 0.9, 0.999, 1 - 1e-12])
def test_the_critical_limit_reaches_the_target(target, width, limits):
    z = theory.critical_limit(target, 60.0, width, limits)
    reached = theory.completion_probability(1 / 60, 1 / z, width, limits)
    assert reached == pytest.approx(target, rel=1e-11)
    assert 1 - reached == pytest.approx(1 - target, rel=1e-3)


@pytest.mark.parametrize("limits", LIMITS)
def test_nearly_certain_completion_of_a_fixed_width(limits):
    """1 - P = 10**-12 or so: to first order k x / z, or x / z times 1 + 1/2 + ... + 1/k."""
    lost = 2.0**-40
    parts = 4 if limits == "each" else 1 + 1 / 2 + 1 / 3 + 1 / 4
    z = theory.critical_limit(1 - lost, 10.0, 4, limits)
    assert z == pytest.approx(10.0 * parts / lost, rel=1e-11)


def test_the_critical_limit_of_width_k_in_closed_form():
    """z = x p / (1 - p) with p = P**(1/k)."""
    p = 0.8 ** (1 / 3)
    assert theory.critical_limit(0.8, 7.0, 3) == pytest.approx(7 * p / (1 - p), rel=1e-13)


def test_limits_for_hardly_any_completion():
    """To first order P = P{N = 1} z / x."""
    for limits in LIMITS:
        z = theory.critical_limit(1e-300, 1.0, [0.5, 0.5], limits)
        assert z == pytest.approx(2e-300, rel=1e-11, abs=0)
        assert theory.completion_probability(1e-300, 1e300, [0.5, 0.5], limits) < 1e-299


def test_curves_rise_from_nothing_to_one():
    z = np.array([0, 1e-9, 0.1, 1, 10, 1e9, np.inf])
    for limits in LIMITS:
        curve = theory.completion_curve(z, 1.0, [0.5, 0.5], limits)
        assert curve[0] == 0
        assert (np.diff(curve) > 0).all()
        assert curve[-1] == 1
    assert theory.completion_curve(np.ones((2, 3)), 1.0, 1).shape == (2, 3)


@pytest.mark.parametrize("limits", LIMITS)
def test_extreme_rates_stay_probabilities(limits):
    for nu in (1e-300, 1e-12, 1e12, 1e300):
        for width in (1, 1000, [0.5] + [0.0] * 98 + [0.5], 10**6):
            p = theory.completion_probability(1, nu, width, limits)
            assert 0 <= p <= 1


@pytest.mark.parametrize("target", [0, 1, -0.5, 1.5, float("nan"), "much"])
def test_targets_that_no_limit_reaches(target):
    with pytest.raises(OptionError, match="target = "):
        theory.critical_limit(target, 1.0, 1)


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (lambda: theory.completion_probability(0, 1, 1), "service_rate = 0: must be above 0"),
        (lambda: theory.completion_probability(1, -1, 1), "limit_rate = -1: must not be negative"),
        (lambda: theory.completion_probability(1, 1, 0), "width = 0"),
        (lambda: theory.completion_probability(1, 1, 1, "both"), "limits = 'both': choose one of"),
        (lambda: theory.completion_curve([1, -2], 1, 1), "mean_limits has -2"),
        (lambda: theory.completion_curve([np.nan], 1, 1), "mean_limits has nan"),
        (lambda: theory.completion_curve([1], np.inf, 1), "mean_service = inf"),
        (lambda: theory.critical_limit(0.5, 0, 1), "mean_service = 0: must be above 0"),
    ],
)
def test_bad_parameters_are_named(call, complaint):
    with pytest.raises(OptionError, match=complaint) as error:
        call()
    assert "\n" not in str(error.value)
