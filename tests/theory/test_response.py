"""Approximate waits against exact ones."""

from __future__ import annotations

import numpy as np
import pytest

from sojourn.errors import OptionError
from sojourn.theory import max_throughput, response_time, small_system

_SYSTEMS = [
    ([0.5, 0.5], 1.0, 2),
    ([0.5, 0.5], [1.0, 0.5], 2),
    ([0.4, 0.3, 0.2, 0.1], 1.0, 4),
    (np.full(6, 1 / 6), 1.0, 6),
    ([0.9, 0, 0, 0, 0, 0.1], 1.0, 6),
]


@pytest.mark.parametrize("method", ["interpolated", "reset-marc"])
@pytest.mark.parametrize(("p", "rates", "servers"), _SYSTEMS)
def test_exact_in_the_limit(p, rates, servers, method):
    errors = []
    for load in (0.9, 0.99, 0.999):
        rate = load * max_throughput(p, rates, servers)
        exact = small_system(rate, p, rates, servers).mean_response
        told = response_time(rate, p, rates, servers, method=method).mean_response
        errors.append(abs(told / exact - 1))
    assert errors[0] < 0.04
    assert errors[1] < 0.005
    assert errors[2] < 0.0005


@pytest.mark.parametrize(("p", "rates", "servers"), _SYSTEMS[:4])
@pytest.mark.parametrize("load", [0.5, 0.7, 0.9])
def test_interpolation_is_near_below_saturation(p, rates, servers, load):
    rate = load * max_throughput(p, rates, servers)
    exact = small_system(rate, p, rates, servers)
    told = response_time(rate, p, rates, servers)
    assert told.mean_wait == pytest.approx(exact.mean_wait, rel=0.03)
    assert told.delay_probability == pytest.approx(exact.delay_probability, abs=0.03)
    assert told.load == pytest.approx(load)


@pytest.mark.parametrize("load", [0.5, 0.7, 0.9])
def test_a_few_wide_jobs_block_many_narrow_ones(load):
    # As logs are: with all jobs counted alike the wait would come out at half of this.
    p = np.zeros(8)
    p[[0, 7]] = 0.9, 0.1
    rate = load * max_throughput(p, servers=16)
    exact = small_system(rate, p, servers=16)
    assert response_time(rate, p, servers=16).mean_wait == pytest.approx(exact.mean_wait, rel=0.05)


def test_one_server_is_exact():
    told = response_time(0.8, [1.0])
    assert told.mean_wait == pytest.approx(4.0)
    assert told.mean_response == pytest.approx(5.0)
    assert told.wait_quantile(0.95) == pytest.approx(5 * np.log(0.8 / 0.05))
    assert told.wait_quantile(0.3) == pytest.approx(5 * np.log(0.8 / 0.7))
    assert told.wait_quantile(0.1) == 0
    assert told.wait_quantile(1) == np.inf


def test_bursts_wait_longer():
    calm, bursty = (response_time(0.8, [1.0], arrival_dispersion=i) for i in (1.0, 3.0))
    assert bursty.mean_wait == pytest.approx(2 * calm.mean_wait)


def test_too_many_phases_are_sampled():
    p = np.full(64, 1 / 64)
    told = response_time(1.0, p)
    assert told.saturated.states == 0
    assert 0 < told.saturated.error < 0.1 * told.saturated.dispersion
    assert told.mean_wait > 0
    assert response_time(1.0, p).mean_wait == told.mean_wait


def test_bad_parameters_are_named():
    with pytest.raises(OptionError, match="rho = 2: not below 1"):
        response_time(2.0, [1.0])
    with pytest.raises(OptionError, match="choose one of interpolated, reset-marc"):
        response_time(0.5, [1.0], method="magic")
