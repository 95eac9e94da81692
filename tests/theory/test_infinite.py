"""Infinitely many servers: readings, laws, and the numbers at the edges."""

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
from sojourn.theory import _compound
from sojourn.theory._compound import CompoundPoisson
from sojourn.theory.widths import width_probabilities

READINGS = {
    "run-on": {},
    "killed-together": {"siblings": "killed-together"},
    "shared": {"limits": "shared"},
    "concurrent": {"release": "concurrent"},
}

shares = st.lists(st.integers(0, 5), min_size=1, max_size=5).filter(any)
rates = st.fractions(Fraction(1, 8), 8, max_denominator=8)


def moments(p):
    """Mean and variance of p."""
    n = np.arange(len(p))
    mean = np.dot(p, n)
    return mean, np.dot(p, (n - mean) ** 2)


@pytest.mark.parametrize("reading", READINGS)
@settings(max_examples=30)
@given(lam=rates, mu=rates, nu=st.one_of(st.just(Fraction(0)), rates), weights=shares)
def test_all_readings_are_those_of_the_oracle(reading, lam, mu, nu, weights):
    """The mean numbers of requests by their servers, and p_n over all ways to make n."""
    alpha = [Fraction(w, sum(weights)) for w in weights]
    groups = oracle.groups(lam, mu, nu, alpha, reading)
    model = theory.infinite_servers(
        float(lam), float(mu), float(nu), [float(x) for x in alpha], **READINGS[reading]
    )
    mean = sum(j * m for j, m in enumerate(groups, 1))
    var = sum(j * j * m for j, m in enumerate(groups, 1))
    assert model.mean == pytest.approx(float(mean), rel=1e-13)
    assert model.var == pytest.approx(float(var), rel=1e-13)
    p = model.pmf(np.arange(13))
    exact = [float(x) for x in oracle.by_partitions(groups, 13)]
    assert p / p[0] == pytest.approx(exact, rel=1e-12)
    assert p[0] == pytest.approx(np.exp(-float(sum(groups))), rel=1e-12)
    limits = "shared" if reading == "shared" else "each"
    done = oracle.completion(mu, nu, [1] if reading == "concurrent" else alpha, limits)
    assert model.completion_probability == pytest.approx(float(done), rel=1e-13)


def test_the_oracle_agrees_with_equation_12():
    """By partitions and by the balance of states: two exact ways to the same numbers."""
    alpha = [Fraction(1, 3), Fraction(0), Fraction(2, 3)]
    groups = oracle.groups(2, 1, Fraction(1, 4), alpha, "run-on")
    assert oracle.by_partitions(groups, 12) == oracle.forward(2, Fraction(5, 4), alpha, 12)


def test_with_a_shared_limit_siblings_are_moot():
    one = theory.infinite_servers(2, 1, 0.5, 4, limits="shared")
    other = theory.infinite_servers(2, 1, 0.5, 4, limits="shared", siblings="killed-together")
    assert np.array_equal(one.distribution, other.distribution)


def test_without_limits_readings_agree():
    first = theory.infinite_servers(2, 1, 0, [0.2, 0.3, 0.5])
    assert first.completion_probability == 1
    for reading in ("killed-together", "shared"):
        other = theory.infinite_servers(2, 1, 0, [0.2, 0.3, 0.5], **READINGS[reading])
        assert other.distribution == pytest.approx(first.distribution, rel=1e-13, abs=1e-18)


@pytest.mark.parametrize("reading", READINGS)
def test_geometric_widths_by_closed_form_and_by_recursion(reading):
    law = theory.geometric(0.7)
    closed = theory.infinite_servers(2, 1, 0.4, law, **READINGS[reading])
    listed = theory.infinite_servers(2, 1, 0.4, width_probabilities(law), **READINGS[reading])
    own = theory.infinite_servers(2, 1, 0.4, stats.geom(0.3), **READINGS[reading])
    n = np.arange(80)
    for other in (listed, own):
        assert other.pmf(n) == pytest.approx(closed.pmf(n), rel=1e-12, abs=1e-18)
        assert other.completion_probability == pytest.approx(closed.completion_probability)
        assert other.skewness == pytest.approx(closed.skewness, rel=1e-12)


def test_geometric_widths_beyond_any_table():
    """Mean width 10**9: closed forms need no table of widths."""
    model = theory.infinite_servers(1e-4, 1, 0, theory.geometric(1 - 1e-9))
    assert model.mean == pytest.approx(1e5, rel=1e-6)
    with pytest.raises(OptionError, match="too wide"):
        theory.infinite_servers(1e-4, 1, 0, theory.geometric(1 - 1e-9), limits="shared")


MEANS = [1e-6, 1e-3, 0.5, 30.0, 1e3, 1e5, 2e6]
WIDTHS = [1, 2, 64, theory.geometric(0.9), theory.geometric(0.999), np.full(1000, 1e-3)]


@pytest.mark.parametrize("width", WIDTHS, ids=["1", "2", "64", "g.9", "g.999", "uniform"])
@pytest.mark.parametrize("mean", MEANS)
def test_nothing_is_lost_however_many_are_busy(mean, width):
    """Mass, sign and moments from a millionth of a server to millions."""
    p = width_probabilities(width)
    wide = np.dot(p, np.arange(1, len(p) + 1))
    model = theory.infinite_servers(mean / wide, 0.75, 0.25, width)
    p = model.distribution
    assert np.isfinite(p).all()
    assert p.min() >= 0
    assert p.sum() == pytest.approx(1, abs=1e-14)
    assert model.mean == pytest.approx(mean, rel=1e-12)
    assert moments(p) == pytest.approx((model.mean, model.var), rel=1e-10)


@pytest.mark.parametrize("mean", [40.0, 1e4, 1e5])
def test_poisson_far_from_zero(mean):
    """p_0 is below the smallest number, the neighbours' ratios are still mean / n."""
    model = theory.infinite_servers(mean, 1, 0, 1)
    n = np.arange(int(mean - 5 * mean**0.5), int(mean + 8 * mean**0.5))
    p = model.pmf(n)
    assert p[1:] / p[:-1] == pytest.approx(mean / n[1:], rel=1e-13)
    assert model.cdf(n[::50]) == pytest.approx(stats.poisson(mean).cdf(n[::50]), rel=1e-9)
    assert model.quantile(0.999) == stats.poisson(mean).ppf(0.999)


def test_the_transform_agrees_with_the_recursion(monkeypatch):
    loads = np.concatenate([[5e4], np.linspace(40, 0, 2000, endpoint=False)])
    count = CompoundPoisson(loads)
    exact = count.probabilities()
    monkeypatch.setattr(_compound, "_LONG", 0.0)
    quick = count.probabilities()
    assert np.abs(quick - exact).sum() < 1e-12
    assert quick.min() >= 0
    assert not np.array_equal(quick, exact)


def test_very_wide_requests_take_the_transform():
    """Widths to 60,000 at 100,000 busy servers: 10**10 products by recursion."""
    model = theory.infinite_servers(10.0 / 3, 1, 0, np.full(60_000, 1 / 60_000))
    assert len(model.distribution) * 60_000.0 > _compound._LONG
    assert moments(model.distribution) == pytest.approx((model.mean, model.var), rel=1e-9)


def test_quantiles_are_the_least_that_are_enough():
    model = theory.infinite_servers(3, 1, 0.5, [0.5, 0.25, 0, 0.25])
    for q in (1e-9, 0.02, 0.3, 0.5, 0.9, 0.999, 1 - 1e-9):
        n = model.quantile(q)
        assert model.cdf(n) >= q
        assert n == 0 or model.cdf(n - 1) < q
    assert model.quantile(np.nextafter(1, 0)) < len(model.distribution)


def test_rare_states_keep_their_digits():
    """P{N > n} of one server in a million seconds: the Poisson tail, not 1 - cdf."""
    model = theory.infinite_servers(1e-6, 1, 0, 1)
    assert model.sf(1) == pytest.approx(0.5e-12, rel=1e-5)
    assert model.sf(-1) == model.sf(-0.5) == 1
    assert model.sf(10**6) == 0


def test_arrays_and_numbers_both_work():
    model = theory.infinite_servers(3, 1, 0.5, 2)
    assert isinstance(model.pmf(2), float)
    assert isinstance(model.cdf(2.5), float)
    assert isinstance(model.pgf(0.5), float)
    assert model.pmf([-1, 0.5, 10**9]).tolist() == [0, 0, 0]
    assert model.cdf([-1, 10**9]).tolist() == [0, 1]
    assert model.cdf(2.5) == model.cdf(2)
    assert model.pmf([[0, 1], [2, 3]]).shape == (2, 2)
    assert model.cdf(4) + model.sf(4) == pytest.approx(1, abs=1e-15)


def test_the_distribution_cannot_be_changed():
    model = theory.infinite_servers(3, 1, 0.5, 2)
    with pytest.raises(ValueError, match="read-only"):
        model.distribution[0] = 1
    with pytest.raises(AttributeError):
        model.count = None


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"arrival_rate": 0}, "arrival_rate = 0: must be above 0"),
        ({"service_rate": float("nan")}, "service_rate = nan: give a finite number"),
        ({"limit_rate": -1}, "limit_rate = -1: must not be negative"),
        ({"width": 0}, "width = 0: give a whole number of at least 1"),
        ({"width": 2.5}, "width = 2.5: give a whole number"),
        ({"width": float("inf")}, "width = inf: give a finite number"),
        ({"width": 10**12}, "width = 1000000000000: give at most"),
        ({"width": "wide"}, "width = 'wide': give a number"),
        ({"width": [0.5, 0.6]}, "width sums to 1.1, not to 1"),
        ({"width": [0.5, -0.5, 1]}, r"width\[1\] = -0.5"),
        ({"width": stats.poisson(2)}, "width: the law starts at 0"),
        ({"width": stats.zipf(2.0)}, "is too much; cut the law"),
        ({"limits": "all"}, "limits = 'all': choose one of each, shared"),
        ({"siblings": "x"}, "siblings = 'x': choose one of run-on, killed-together"),
        ({"release": "x"}, "release = 'x': choose one of independent, concurrent"),
    ],
)
def test_bad_parameters_are_named(change, complaint):
    given = {"arrival_rate": 1, "service_rate": 1, "limit_rate": 1, "width": 1, **change}
    with pytest.raises(OptionError, match=complaint) as error:
        theory.infinite_servers(**given)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("q", [0, 1, -0.1, float("nan")])
def test_quantiles_that_no_number_reaches(q):
    with pytest.raises(OptionError, match="q = "):
        theory.infinite_servers(1, 1, 0, 1).quantile(q)


@pytest.mark.parametrize("a", [1, 1.5, -0.1, float("nan")])
def test_geometric_refuses(a):
    with pytest.raises(OptionError, match="a = "):
        theory.geometric(a)


def test_too_many_states_are_refused():
    model = theory.infinite_servers(1e12, 1, 0, 1)
    assert model.mean == 1e12
    with pytest.raises(OptionError, match="use mean and var"):
        model.pmf(0)


@pytest.mark.parametrize("z", [1.5, -2, float("nan")])
def test_pgf_is_asked_inside_the_unit_circle(z):
    with pytest.raises(OptionError, match="pgf"):
        theory.infinite_servers(1, 1, 0, 1).pgf(z)


def test_hardly_any_requests_have_a_skewness():
    model = theory.infinite_servers(1e-250, 1.0, 0.0, 1)
    assert model.skewness == pytest.approx(1e125, rel=1e-12)
