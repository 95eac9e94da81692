"""Published and recorded figures for servers without end, limits and losses."""

from __future__ import annotations

import json

import numpy as np
import pytest

from sojourn import theory


def test_geometric_widths_as_recorded(data_dir):
    """60 probabilities, computed elsewhere to 16 places after the point."""
    with open(data_dir / "hpcwld" / "seed003_geometric_pn.json") as file:
        recorded = json.load(file)
    given = recorded["params"]
    rates = given["lam"], given["mu"], given["nu"]
    n = np.arange(len(recorded["p"]))
    for reading in ({}, {"siblings": "run-on", "limits": "each", "release": "independent"}):
        model = theory.infinite_servers(*rates, theory.geometric(given["a"]), **reading)
        assert np.abs(model.pmf(n) - recorded["p"]).max() < 1e-15
    other = theory.infinite_servers(
        *rates, theory.geometric(given["a"]), siblings="killed-together"
    )
    assert np.abs(other.pmf(n) - recorded["p"]).max() > 0.01


def test_mean_busy_servers_in_both_readings():
    """k = 5, all rates 1 (errata 4)."""
    assert theory.infinite_servers(1, 1, 1, 5).mean == pytest.approx(2.5, abs=1e-14)
    together = theory.infinite_servers(1, 1, 1, 5, siblings="killed-together")
    assert round(together.mean, 2) == 0.97


def test_figure_3():
    """Mean service time 1: half at z = 1, 0.8 at z = 4, rising and concave."""
    curve = theory.completion_curve([0, 1, 4, 9], 1.0, 1)
    assert curve == pytest.approx([0, 0.5, 0.8, 0.9], rel=1e-14)
    fine = theory.completion_curve(np.linspace(0, 10, 101), 1.0, 1)
    assert (np.diff(fine) > 0).all()
    assert (np.diff(fine, 2) < 0).all()


def test_figure_4():
    """Widths 1, 3 and 5 in this order, at each limit."""
    z = np.linspace(0.1, 10, 100)
    one, three, five = (theory.completion_curve(z, 1.0, k) for k in (1, 3, 5))
    assert ((one > three) & (three > five)).all()
    assert (three[9], five[9]) == pytest.approx((1 / 8, 1 / 32))


def test_loss_system_as_recorded():
    blocking = theory.kaufman_roberts(10, (2, 1), (1, 4)).blocking
    assert blocking == pytest.approx([0.0631603, 0.2835096], abs=5e-8)


def test_waiting_systems_as_recorded():
    assert theory.multiserver_wait(1.4, 1.0, 2) == pytest.approx(0.9607843, abs=5e-8)
    assert theory.erlang_c(4, 3.0) == pytest.approx(0.5094340, abs=5e-8)
