"""Infinitely many servers with times and limits of any law."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, stats

from sojourn import theory
from sojourn.errors import OptionError

READINGS = {
    "run-on": {},
    "killed-together": {"siblings": "killed-together"},
    "shared": {"limits": "shared"},
    "concurrent": {"release": "concurrent"},
}
LAWS = {
    "gamma of shape 0.1": stats.gamma(0.1),
    "gamma of shape 10,000": stats.gamma(1e4),
    "lognormal": stats.lognorm(2.5),
    "Pareto": stats.pareto(1.2),
    "Weibull": stats.weibull_min(0.3),
    "uniform": stats.uniform(5, 5),
    "triangular": stats.triang(0.3),
}


def exponential(rate):
    return stats.expon(scale=1 / rate)


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("width", [1, 5, [0.3, 0, 0.2, 0.5], theory.geometric(0.6), 1000])
def test_exponential_laws_give_the_closed_form(reading, width):
    closed = theory.infinite_servers(2, 1, 0.3, width, **READINGS[reading])
    general = theory.batch_infinite_servers(
        2, exponential(1), exponential(0.3), width, **READINGS[reading]
    )
    n = np.arange(200)
    assert general.pmf(n) == pytest.approx(closed.pmf(n), rel=1e-10, abs=1e-17)
    done = closed.completion_probability
    assert general.completion_probability == pytest.approx(done, rel=1e-11)


@pytest.mark.parametrize("name", LAWS)
def test_without_a_limit_the_mean_is_that_of_the_law(name):
    """Tails as heavy as x**-1.2, densities without bound at 0, and narrow ones."""
    model = theory.batch_infinite_servers(2, LAWS[name], None, 5)
    assert model.mean == pytest.approx(10 * LAWS[name].mean(), rel=1e-12)
    assert model.completion_probability == 1


@pytest.mark.parametrize("limits", ["each", "shared"])
def test_servers_of_one_request_against_adaptive_integrals(limits):
    """m_j of 3 servers, lognormal times and a gamma limit, term by term."""
    x, z = stats.lognorm(1.2, scale=4), stats.gamma(0.7, scale=10)
    model = theory.batch_infinite_servers(1, x, z, 3, limits=limits)
    for j in (1, 2, 3):

        def busy(t, j=j):
            if limits == "shared":
                return z.sf(t) * stats.binom.pmf(j, 3, x.sf(t))
            return stats.binom.pmf(j, 3, x.sf(t) * z.sf(t))

        m, _ = integrate.quad(busy, 0, 20, epsabs=1e-12, epsrel=1e-11, limit=200)
        rest, _ = integrate.quad(busy, 20, np.inf, epsabs=1e-12, epsrel=1e-11, limit=200)
        assert model.count.loads[j - 1] == pytest.approx(j * (m + rest), rel=1e-8)


def test_killed_together_with_uniform_times_by_hand():
    """X, Z uniform on [0, 1], 2 servers: r = (1-t)**2, c = t - t**2/2."""
    model = theory.batch_infinite_servers(
        1, stats.uniform(), stats.uniform(), 2, siblings="killed-together"
    )
    # m_2: integral of (1-t)**4; m_1: of 2 (1-t)**2 (1 - (1-t)**2) / 2.
    assert model.count.loads == pytest.approx([1 / 3 - 1 / 5, 2 / 5], rel=1e-13)
    assert model.completion_probability == pytest.approx(1 / 4)


@pytest.mark.parametrize("siblings", ["run-on", "killed-together"])
def test_a_fixed_walltime_strikes_all_parts_at_once(siblings):
    """With Z = 2 for all, each and shared, run-on and killed-together are the same."""
    x = stats.gamma(2.0)
    each = theory.batch_infinite_servers(3, x, 2.0, [0.2, 0.3, 0.5], siblings=siblings)
    shared = theory.batch_infinite_servers(3, x, 2.0, [0.2, 0.3, 0.5], limits="shared")
    assert each.distribution == pytest.approx(shared.distribution, rel=1e-11)
    mean_busy, _ = integrate.quad(x.sf, 0, 2, epsabs=1e-13)
    assert each.mean == pytest.approx(3 * 2.3 * mean_busy, rel=1e-12)
    p = x.cdf(2)
    for model in (each, shared):
        done = 0.2 * p + 0.3 * p**2 + 0.5 * p**3
        assert model.completion_probability == pytest.approx(done, rel=1e-13)


def test_times_that_are_always_the_same():
    """X = 3 for all parts: a request is whole or gone; completed at the limit still counts."""
    short = theory.batch_infinite_servers(2, 3.0, 2.0, 4)
    assert (short.mean, short.completion_probability) == pytest.approx((16, 0))
    enough = theory.batch_infinite_servers(2, 3.0, 3.0, 4)
    assert (enough.mean, enough.completion_probability) == pytest.approx((24, 1))
    assert enough.pmf([0, 4, 8]) == pytest.approx(stats.poisson(6).pmf([0, 1, 2]), rel=1e-12)
    assert enough.pmf([1, 2, 3]).tolist() == [0, 0, 0]
    random = theory.batch_infinite_servers(2, 3.0, exponential(0.2), 4, limits="shared")
    assert random.completion_probability == pytest.approx(np.exp(-0.6))
    each = theory.batch_completion_probability(3.0, exponential(0.2), 4)
    assert each == pytest.approx(np.exp(-2.4))


def test_completion_with_a_shared_limit_by_hand():
    """X, Z uniform on [0, 1]: k times below Z is E[Z**k] = 1 / (k + 1)."""
    for k in (1, 2, 7):
        done = theory.batch_completion_probability(stats.uniform(), stats.uniform(), k, "shared")
        assert done == pytest.approx(1 / (k + 1), rel=1e-12)


@pytest.mark.parametrize("limits", ["each", "shared"])
def test_completion_counted(limits):
    """Weibull times and lognormal limits, 40,000 requests of 3 servers."""
    x, z = stats.weibull_min(0.6, scale=2), stats.lognorm(1.0, scale=6)
    rng = np.random.default_rng(31)
    size = (40_000, 3)
    struck = z.rvs(size if limits == "each" else (size[0], 1), random_state=rng)
    share = np.mean((x.rvs(size, random_state=rng) <= struck).all(axis=1))
    p = theory.batch_completion_probability(x, z, 3, limits)
    assert p == pytest.approx(share, abs=4 * np.sqrt(p * (1 - p) / size[0]))


def test_pareto_limits_without_a_mean():
    """E[min(X, Z)] is finite though E[Z] is not."""
    model = theory.batch_infinite_servers(1, exponential(1), stats.lomax(0.4), 1)
    exact, _ = integrate.quad(lambda t: np.exp(-t) * (1 + t) ** -0.4, 0, np.inf, epsabs=1e-13)
    assert model.mean == pytest.approx(exact, rel=1e-11)


@pytest.mark.parametrize(
    ("service", "limit", "width", "complaint"),
    [
        (stats.norm(10), None, 1, "service: the law starts at -inf"),
        (1.0, stats.poisson(3), 1, "limit: a discrete law"),
        (-1.0, None, 1, "service = -1: must be above 0"),
        ("long", None, 1, "service = 'long': give a number"),
        (None, 1.0, 1, "service = None: give a number"),
        (stats.pareto(0.9), None, 1, "infinite or nearly so; give a limit"),
        (1.0, 0.0, 1, "limit = 0: must be above 0"),
        (stats.gamma(2), None, np.full(10**5, 1e-5), "too many; group them"),
    ],
)
def test_bad_laws_are_named(service, limit, width, complaint):
    with pytest.raises(OptionError, match=complaint) as error:
        theory.batch_infinite_servers(1, service, limit, width)
    assert "\n" not in str(error.value)
