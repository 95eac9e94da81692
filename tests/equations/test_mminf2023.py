"""One test per numbered equation of [mminf2023], and per erratum.

Most use lambda = 3, mu = 1, nu = 1/2 and widths 1, 2, 4 with probabilities 1/2, 1/4, 1/4.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from oracle import infinite_servers as oracle
from scipy import integrate, linalg, stats

from sojourn import theory
from sojourn.errors import OptionError
from sojourn.theory.widths import width_probabilities

LAM, MU, NU = 3.0, 1.0, 0.5
ALPHA = [0.5, 0.25, 0.0, 0.25]
MEAN_WIDTH = 2.0
Z = np.array([-0.9, -0.3, 0.0, 0.2, 0.7, 0.95])


@pytest.fixture(scope="module")
def model():
    return theory.infinite_servers(LAM, MU, NU, ALPHA)


def series(p, z):
    """Sum of p_n z**n."""
    return np.array([np.dot(p, x ** np.arange(len(p))) for x in z])


def q_of(z):
    """Q(z) of ALPHA, written out [eq. 18]."""
    return 0.5 * z + 0.25 * z**2 + 0.25 * z**4


def slope(model, z):
    """G'(z) from the series."""
    p = model.distribution
    return series(p[1:] * np.arange(1, len(p)), z)


def test_eq_1_intervals_are_exponential():
    """With times of exactly D, nobody is there if nobody came for D: exp(-lambda D)."""
    for duration in (0.1, 1.0, 4.0):
        model = theory.batch_infinite_servers(LAM, duration, None, 1)
        assert model.pmf(0) == pytest.approx(np.exp(-LAM * duration), rel=1e-12)


def test_eq_2_mean_interval_is_one_over_the_rate():
    """Little: D over the mean interval are there."""
    assert theory.batch_infinite_servers(1 / 0.25, 2.0, None, 1).mean == pytest.approx(2 / 0.25)


def test_eq_3_widths_have_any_distribution():
    assert width_probabilities(ALPHA).tolist() == ALPHA
    assert width_probabilities(3).tolist() == [0, 0, 1]
    binomial = stats.binom(2, 0.5, loc=1)
    assert width_probabilities(binomial) == pytest.approx([0.25, 0.5, 0.25], rel=1e-14)


@pytest.mark.parametrize("reading", [{}, {"siblings": "killed-together"}, {"limits": "shared"}])
def test_eq_4_service_times_are_exponential(reading, model):
    """The closed form is the integral over time with this density."""
    x, z = stats.expon(scale=1 / MU), stats.expon(scale=1 / NU)
    exact = theory.infinite_servers(LAM, MU, NU, ALPHA, **reading)
    general = theory.batch_infinite_servers(LAM, x, z, ALPHA, **reading)
    n = np.arange(40)
    assert general.pmf(n) == pytest.approx(exact.pmf(n), rel=1e-11, abs=1e-18)
    other = theory.batch_infinite_servers(LAM, stats.expon(scale=2 / MU), z, ALPHA, **reading)
    assert np.abs(other.pmf(n) - exact.pmf(n)).max() > 1e-3


def test_eq_5_mean_service_time():
    """Without limits each server of a request is busy for 1 / mu."""
    assert theory.infinite_servers(LAM, 0.2, 0, 1).mean == pytest.approx(LAM * 5)


def test_eq_6_limits_are_exponential():
    """A part of exactly x is completed with probability exp(-nu x)."""
    part = theory.batch_completion_probability(2.0, stats.expon(scale=1 / NU), 1)
    assert part == pytest.approx(np.exp(-NU * 2), rel=1e-13)


def test_eq_7_mean_limit():
    """Parts that would never end are struck after 1 / nu on average."""
    assert theory.infinite_servers(LAM, 1e-12, NU, 1).mean == pytest.approx(LAM / NU, rel=1e-9)


@pytest.fixture(scope="module")
def generator():
    """Rates of the state graph, cut at 80 servers; 1 -> 0 at mu + nu (errata 1)."""
    states = 81
    rates = np.zeros((states, states))
    for n in range(states):
        for k, share in enumerate(ALPHA, start=1):
            if n + k < states:
                rates[n, n + k] += LAM * share
        if n:
            rates[n, n - 1] = (MU + NU) * n
    return rates - np.diag(rates.sum(axis=1))


def test_eq_8_state_probabilities_in_time(model, generator):
    """From the steady state nothing changes."""
    p = model.pmf(np.arange(len(generator)))
    assert p @ linalg.expm(0.7 * generator) == pytest.approx(p, abs=1e-14)


@pytest.mark.parametrize("begin", [0, 25])
def test_eq_9_the_limit_does_not_depend_on_the_beginning(model, generator, begin):
    after = linalg.expm(30 * generator)[begin]
    assert after == pytest.approx(model.pmf(np.arange(len(generator))), abs=1e-13)


def test_eq_10_widths_sum_to_one():
    with pytest.raises(OptionError, match=r"width sums to 0\.9"):
        theory.infinite_servers(LAM, MU, NU, [0.5, 0.4])


def balance(model, n, rate=MU + NU):
    """Left side of (12) over the flow through state n."""
    p = model.distribution
    inflow = sum(LAM * ALPHA[n - i - 1] * p[i] for i in range(max(n - len(ALPHA), 0), n))
    out = (LAM + rate * n) * p[n]
    return (rate * (n + 1) * p[n + 1] + inflow - out) / out


def test_eq_11_state_zero_is_balanced(model):
    """The return from 1 has the rate mu + nu (errata 1), not mu."""
    assert balance(model, 0) == pytest.approx(0, abs=1e-14)
    assert abs(balance(model, 0, rate=MU)) > 0.1


def test_eq_12_all_states_are_balanced(model):
    for n in range(len(model.distribution) - 1):
        assert balance(model, n) == pytest.approx(0, abs=1e-12)


def test_eq_12_in_exact_arithmetic(model):
    """Forward use is exact in fractions; the recursion of errata 5 agrees in floats."""
    alpha = [Fraction(1, 2), Fraction(1, 4), Fraction(0), Fraction(1, 4)]
    exact = oracle.forward(3, Fraction(3, 2), alpha, 50)
    p = model.distribution
    assert p[:50] / p[0] == pytest.approx([float(x) for x in exact], rel=1e-13, abs=1e-18)


def test_eq_13_generating_function_is_the_series(model):
    assert model.pgf(Z) == pytest.approx(series(model.distribution, Z), rel=1e-12)


def test_eq_14_probabilities_sum_to_one(model):
    assert model.distribution.sum() == pytest.approx(1, abs=1e-15)


def quotient(model, z, h=1e-5):
    """G'(z) from the closed form."""
    return (model.pgf(z + h) - model.pgf(z - h)) / (2 * h)


def test_eq_15_the_sum_of_n_times_p(model):
    p, z = model.distribution, Z[1:-1]
    assert series(np.arange(len(p)) * p, z) == pytest.approx(z * quotient(model, z), rel=1e-7)


def test_eq_16_the_same_one_state_down(model):
    z = Z[1:-1]
    assert slope(model, z) == pytest.approx(quotient(model, z), rel=1e-7)


def test_eq_17_the_double_sum_is_a_product(model):
    p = model.distribution
    double = np.convolve(p, [0.0, *ALPHA])
    assert series(double, Z) == pytest.approx(model.pgf(Z) * q_of(Z), rel=1e-12)


def test_eq_18_generating_function_of_widths():
    assert series([0.0, *width_probabilities(ALPHA)], Z) == pytest.approx(q_of(Z), rel=1e-15)


def test_eq_19_the_equation_for_g(model):
    g, dg = model.pgf(Z), slope(model, Z)
    left = -LAM * g - (MU + NU) * Z * dg + (MU + NU) * dg + LAM * g * q_of(Z)
    assert left == pytest.approx(np.zeros(len(Z)), abs=1e-12)


def test_eq_20_the_slope_of_g(model):
    right = LAM / (MU + NU) * (1 - q_of(Z)) / (1 - Z) * model.pgf(Z)
    assert slope(model, Z) == pytest.approx(right, rel=1e-11)


def test_eq_21_g_of_one_is_one(model):
    assert model.pgf(1.0) == 1.0


def test_eq_22_the_solution_for_g(model):
    for z in Z:
        area, _ = integrate.quad(lambda s: (1 - q_of(s)) / (1 - s), z, 1, epsabs=1e-13)
        assert model.pgf(z) == pytest.approx(np.exp(-LAM / (MU + NU) * area), rel=1e-11)


def test_eq_23_one_server_per_request():
    assert width_probabilities(1).tolist() == [1]
    assert width_probabilities(theory.geometric(0)).tolist() == [1]


def test_eq_24_generating_function_of_one_server():
    assert theory.geometric(0).pgf(0.3) == 0.3


def test_eq_25_g_of_one_server_per_request():
    model = theory.infinite_servers(LAM, MU, NU, 1)
    assert model.pgf(Z) == pytest.approx(np.exp(LAM / (MU + NU) * (Z - 1)), rel=1e-14)


@pytest.mark.parametrize("width", [1, [1.0], theory.geometric(0)])
def test_eq_26_poisson(width):
    model = theory.infinite_servers(LAM, MU, NU, width)
    n = np.arange(30)
    assert model.pmf(n) == pytest.approx(stats.poisson(2).pmf(n), rel=1e-13, abs=1e-18)


A = 0.6


def test_eq_27_geometric_widths():
    i = np.arange(1, 30)
    p = width_probabilities(theory.geometric(A))
    assert p[:29] == pytest.approx((1 - A) * A ** (i - 1), rel=1e-13, abs=1e-18)


def test_eq_28_generating_function_of_geometric_widths():
    p = width_probabilities(theory.geometric(A))
    q = [theory.geometric(A).pgf(z) for z in Z]
    assert q == pytest.approx(series([0.0, *p], Z), rel=1e-13)


def test_eq_29_what_it_lacks_to_one():
    for z in Z:
        assert 1 - theory.geometric(A).pgf(z) == pytest.approx((1 - z) / (1 - A * z), rel=1e-13)


def test_eq_30_g_of_geometric_widths_as_an_integral():
    model = theory.infinite_servers(LAM, MU, NU, theory.geometric(A))
    for z in Z:
        area, _ = integrate.quad(lambda s: 1 / (1 - A * s), z, 1, epsabs=1e-13)
        assert model.pgf(z) == pytest.approx(np.exp(-LAM / (MU + NU) * area), rel=1e-12)


def test_eq_31_negative_binomial():
    """Errata 2: the exponent is lambda / (a (mu + nu)), the base (1 - a) / (1 - a z)."""
    model = theory.infinite_servers(LAM, MU, NU, theory.geometric(A))
    power = LAM / (A * (MU + NU))
    assert model.pgf(Z) == pytest.approx(((1 - A) / (1 - A * Z)) ** power, rel=1e-13)
    n = np.arange(60)
    assert model.pmf(n) == pytest.approx(stats.nbinom(power, 1 - A).pmf(n), rel=1e-12, abs=1e-18)
    recursion = theory.infinite_servers(LAM, MU, NU, width_probabilities(theory.geometric(A)))
    assert model.pmf(n) == pytest.approx(recursion.pmf(n), rel=1e-12, abs=1e-18)


def test_eq_32_the_mean_is_the_slope_at_one(model):
    h = 1e-6
    assert model.mean == pytest.approx((1 - model.pgf(1 - h)) / h, rel=1e-5)
    assert model.mean == pytest.approx(np.dot(model.distribution, range(len(model.distribution))))


def test_eq_33_the_limit_is_the_mean_width():
    h = 1e-7
    assert (1 - q_of(1 - h)) / h == pytest.approx(MEAN_WIDTH, rel=1e-6)
    assert theory.geometric(A).mean == pytest.approx(1 / (1 - A))


def test_eq_34_mean_number_of_busy_servers(model):
    assert model.mean == pytest.approx(LAM / (MU + NU) * MEAN_WIDTH, rel=1e-15)


@pytest.mark.parametrize("limits", ["each", "shared"])
def test_eq_35_total_probability(limits):
    by_width = [theory.completion_probability(MU, NU, k, limits) for k in (1, 2, 3, 4)]
    whole = theory.completion_probability(MU, NU, ALPHA, limits)
    assert whole == pytest.approx(np.dot(ALPHA, by_width), rel=1e-14)


def test_eq_36_one_part_by_counting():
    """P{X < Z} of two laws that are not exponential, against draws."""
    x, z = stats.gamma(2.5, scale=3), stats.lognorm(0.8, scale=9)
    rng = np.random.default_rng(8)
    share = np.mean(x.rvs(200_000, random_state=rng) < z.rvs(200_000, random_state=rng))
    p = theory.batch_completion_probability(x, z, 1)
    assert p == pytest.approx(share, abs=4 * np.sqrt(p * (1 - p) / 200_000))


def test_eq_37_all_parts_are_completed():
    x, z = stats.gamma(2.5, scale=3), stats.lognorm(0.8, scale=9)
    p = theory.batch_completion_probability(x, z, 1)
    assert theory.batch_completion_probability(x, z, ALPHA) == pytest.approx(q_of(p), rel=1e-12)


def test_eq_38_time_and_limit_are_independent():
    """A limit of exactly z: p is the distribution function of X at z, and averages over z."""
    x, low, high = stats.expon(scale=1 / MU), 1.0, 4.0
    even = theory.batch_completion_probability(x, stats.uniform(low, high - low), 1)
    at = [theory.batch_completion_probability(x, z, 1) for z in np.linspace(low, high, 2001)]
    assert at[0] == pytest.approx(1 - np.exp(-MU * low))
    assert even == pytest.approx(integrate.simpson(at, dx=1 / 2000), rel=1e-9)


def test_eq_39_one_part_as_a_double_integral():
    whole, _ = integrate.dblquad(
        lambda z, x: MU * NU * np.exp(-MU * x - NU * z), 0, 40, lambda x: x, lambda x: x + 80
    )
    x, z = stats.expon(scale=1 / MU), stats.expon(scale=1 / NU)
    assert theory.batch_completion_probability(x, z, 1) == pytest.approx(whole, rel=1e-9)


def test_eq_40_one_part():
    assert theory.completion_probability(3, 1, 1) == 0.75


@pytest.mark.parametrize("limits", ["each", "shared"])
def test_eq_41_probability_of_completion(limits):
    alpha = [Fraction(1, 2), Fraction(1, 4), Fraction(0), Fraction(1, 4)]
    exact = oracle.completion(1, Fraction(1, 2), alpha, limits)
    assert theory.completion_probability(MU, NU, ALPHA, limits) == pytest.approx(float(exact))
    if limits == "each":
        assert float(exact) == pytest.approx(q_of(MU / (MU + NU)))


def test_eq_42_one_part_in_mean_times():
    x, z = 4.0, np.array([1.0, 4.0, 12.0])
    rates = [theory.completion_probability(1 / x, 1 / at, 1) for at in z]
    assert rates == pytest.approx(z / (z + x), rel=1e-14)


def test_eq_43_completion_in_mean_times():
    x, z = 4.0, np.array([1.0, 4.0, 12.0])
    assert theory.completion_curve(z, x, ALPHA) == pytest.approx(q_of(z / (z + x)), rel=1e-14)


def test_eq_44_width_one():
    """Half of the requests are completed where the mean limit is the mean service time."""
    assert theory.completion_curve([1.0], 1.0, 1) == pytest.approx([0.5])
    assert theory.completion_curve([1.0], 1.0, 1, "shared") == pytest.approx([0.5])


def test_eq_45_critical_limit():
    assert theory.critical_limit(0.9, 10.0, 1) == pytest.approx(90.0, rel=1e-13)
    assert theory.critical_limit(0.9, 10.0, 1, "shared") == pytest.approx(90.0, rel=1e-13)


def test_eq_46_a_fixed_width_is_a_delta():
    assert width_probabilities(5).tolist() == [0, 0, 0, 0, 1]


def test_eq_47_generating_function_of_a_fixed_width():
    assert theory.completion_probability(MU, NU, 5) == pytest.approx((MU / (MU + NU)) ** 5)
    fixed = theory.infinite_servers(LAM, MU, NU, 5)
    listed = theory.infinite_servers(LAM, MU, NU, [0, 0, 0, 0, 1])
    assert np.array_equal(fixed.distribution, listed.distribution)


def test_eq_48_completion_of_a_fixed_width():
    z = np.linspace(0, 10, 21)
    for k in (1, 3, 5):
        assert theory.completion_curve(z, 1.0, k) == pytest.approx((z / (z + 1)) ** k, rel=1e-13)


def test_erratum_3_release_is_independent_unless_asked():
    """Of one request in 1,000 s, 4 servers that work 1 s on average: 1, 2, 3 are seen too."""
    alone = theory.infinite_servers(1e-3, 1, 0, 4)
    assert alone.pmf([1, 2, 3, 4]) * 1e3 == pytest.approx([1, 1 / 2, 1 / 3, 1 / 4], rel=1e-2)
    together = theory.infinite_servers(1e-3, 1, 0, 4, release="concurrent")
    assert together.pmf([1, 2, 3, 4]) * 1e3 == pytest.approx([0, 0, 0, 1], rel=1e-2)


def test_erratum_4_readings_of_limits_and_siblings():
    assert theory.completion_probability(1, 1, 5) == pytest.approx(1 / 32)
    assert theory.completion_probability(1, 1, 5, "shared") == pytest.approx(1 / 6)
    assert theory.infinite_servers(1, 1, 1, 5).mean == pytest.approx(2.5)
    together = theory.infinite_servers(1, 1, 1, 5, siblings="killed-together")
    assert together.mean == pytest.approx(0.96875)


def test_erratum_5_variance(model):
    second = 0.5 + 0.25 * 4 + 0.25 * 16
    assert model.var == pytest.approx(LAM / (MU + NU) * (second + MEAN_WIDTH) / 2, rel=1e-14)
    n = np.arange(len(model.distribution))
    assert model.var == pytest.approx(np.dot(model.distribution, (n - model.mean) ** 2), rel=1e-12)
