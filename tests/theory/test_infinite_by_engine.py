"""The distribution of busy servers as the engine has it, by chi-square.

Each server of a request is a job of its own, submitted with its siblings, on a machine where
nobody waits. N is looked at so seldom that its values are independent.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scipy import stats

import sojourn
from sojourn import theory

LOOKS = 15_000
WRONG = 1e-3
"""Probability with which a right law is rejected: once, for fixed seeds."""

EXPONENTIAL = (stats.expon(scale=1.0), stats.expon(scale=2.0))
CASES = {
    "paper": (3.0, *EXPONENTIAL, (0.5, 0.25, 0.0, 0.25), {}),
    "width 1": (4.0, *EXPONENTIAL, (1.0,), {}),
    "killed together": (2.0, *EXPONENTIAL, (0.2,) * 5, {"siblings": "killed-together"}),
    "shared": (2.0, *EXPONENTIAL, (0.0, 0.0, 0.0, 0.0, 1.0), {"limits": "shared"}),
    "concurrent": (2.0, *EXPONENTIAL, (0.4, 0.0, 0.6), {"release": "concurrent"}),
    "gamma, lognormal": (
        *(2.0, stats.gamma(3.0, scale=0.5), stats.lognorm(0.7), (0.25, 0.25, 0.5)),
        {"siblings": "killed-together"},
    ),
    "fixed walltime": (2.0, stats.weibull_min(0.7), 1.5, (0.5, 0.0, 0.0, 0.5), {}),
}


def looks(rng, lam, service, limit, p, reading):
    """N at instants far apart."""
    apart = 12.0
    end = apart * (LOOKS + 1)
    requests = rng.poisson(lam * end)
    width = rng.choice(np.arange(1, len(p) + 1), requests, p=p)
    concurrent = reading.get("release") == "concurrent"
    servers = np.ones_like(width) if concurrent else width
    request = np.repeat(np.arange(requests), servers)
    shared = reading.get("limits") == "shared"
    x = service.rvs(len(request), random_state=rng)
    if isinstance(limit, float):
        z = np.full(len(request), limit)
    else:
        z = limit.rvs(requests if shared else len(request), random_state=rng)
        z = z[request] if shared else z
    if reading.get("siblings") == "killed-together":
        strike = np.full(requests, np.inf)
        np.minimum.at(strike, request, np.where(z < x, z, np.inf))
        z = strike[request]
    jobs = sojourn.Jobs(
        {
            "submit": np.sort(rng.uniform(0, end, requests))[request],
            "runtime": np.minimum(x, z),
            "procs": width if concurrent else np.ones_like(request),
        }
    )
    result = sojourn.simulate(jobs, 1000, "fcfs", estimates="exact", clean=())
    assert np.array_equal(result.start, jobs.submit)
    at = apart * np.arange(1, LOOKS + 1)
    started = np.concatenate([[0], np.cumsum(jobs.procs)])
    order = np.argsort(result.end)
    ended = np.concatenate([[0], np.cumsum(jobs.procs[order])])
    came = np.searchsorted(jobs.submit, at, side="right")
    went = np.searchsorted(result.end[order], at, side="right")
    return started[came] - ended[went]


def p_value(seen, p):
    """Chi-square of counts against p, states pooled until at least 10 looks are due to each."""
    due = LOOKS * p
    cell = np.floor(np.cumsum(due) / 10).astype(np.int64)
    cell = np.unique(np.minimum(cell, cell[-1] - 1), return_inverse=True)[1]
    counts = np.bincount(np.minimum(seen, len(p) - 1), minlength=len(p))
    expected = np.bincount(cell, due)
    observed = np.bincount(cell, counts)
    kept = expected > 0
    return stats.chisquare(observed[kept], expected[kept] * (LOOKS / expected.sum())).pvalue


def law(lam, service, limit, p, reading):
    if service is EXPONENTIAL[0]:
        return theory.infinite_servers(lam, 1.0, 0.5, p, **reading)
    return theory.batch_infinite_servers(lam, service, limit, p, **reading)


@cache
def seen(name):
    return looks(np.random.default_rng([4, list(CASES).index(name)]), *CASES[name])


@pytest.mark.parametrize("name", CASES)
def test_the_engine_sees_p_n(name):
    assert p_value(seen(name), law(*CASES[name]).distribution) > WRONG


@pytest.mark.parametrize("name", CASES)
def test_more_requests_are_rejected(name):
    lam, *rest = CASES[name]
    assert p_value(seen(name), law(1.1 * lam, *rest).distribution) < WRONG


@pytest.mark.parametrize("name", [name for name in CASES if name != "width 1"])
def test_poisson_with_the_right_mean_is_rejected(name):
    poisson = theory.infinite_servers(law(*CASES[name]).mean, 1, 0, 1)
    assert p_value(seen(name), poisson.distribution) < WRONG


@pytest.mark.parametrize("other", [{}, {"siblings": "killed-together"}, {"limits": "shared"}])
@pytest.mark.parametrize("name", ["paper", "killed together", "shared", "gamma, lognormal"])
def test_other_readings_are_rejected(name, other):
    """The engine tells the readings apart."""
    *given, reading = CASES[name]
    told = p_value(seen(name), law(*given, other).distribution)
    assert (told > WRONG) == (other == reading)
