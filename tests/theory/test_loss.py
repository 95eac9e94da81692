"""Loss systems, and Erlang's formulas."""

from __future__ import annotations

from fractions import Fraction
from math import factorial

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from oracle import infinite_servers as oracle

from sojourn import theory
from sojourn.errors import OptionError

loads = st.fractions(Fraction(1, 100), 20, max_denominator=100)
classes = st.lists(st.tuples(loads, st.integers(1, 6)), min_size=1, max_size=3)


@settings(max_examples=60)
@example(servers=9, offered=[(Fraction(10**9), 2), (Fraction(1, 1000), 3)])
@example(servers=8, offered=[(Fraction(10**9), 5), (Fraction(10**6), 1)])
@given(servers=st.integers(1, 9), offered=classes)
def test_kaufman_roberts_is_the_product_form(servers, offered):
    """Also with two classes of one width, and with one wider than the machine."""
    a, b = zip(*offered, strict=True)
    q, blocking = oracle.loss_system(servers, a, b)
    system = theory.kaufman_roberts(servers, [float(x) for x in a], b)
    assert system.distribution == pytest.approx([float(x) for x in q], rel=1e-12)
    assert system.blocking == pytest.approx([float(x) for x in blocking], rel=1e-12)


def test_reference_values():
    system = theory.kaufman_roberts(10, (2, 1), (1, 4))
    assert system.blocking == pytest.approx([0.0631603, 0.2835096], abs=5e-8)
    assert theory.multiserver_wait(1.4, 1.0, 2) == pytest.approx(0.9607843, abs=5e-8)
    assert theory.erlang_c(4, 3) == pytest.approx(0.5094340, abs=5e-8)


def test_carried_requests_keep_their_servers_busy():
    system = theory.kaufman_roberts(12, (2.0, 1.5, 0.4), (1, 3, 5))
    assert np.dot(system.carried, system.widths) == pytest.approx(system.mean, rel=1e-13)
    assert system.utilisation == system.mean / 12
    assert system.carried == pytest.approx(system.loads * (1 - system.blocking))


def test_one_class_of_width_one_is_erlangs():
    for servers, load in ((1, 0.5), (10, 7.0), (100, 200.0)):
        lost = theory.kaufman_roberts(servers, load, 1).blocking[0]
        assert lost == pytest.approx(theory.erlang_b(servers, load), rel=1e-12)


@pytest.mark.parametrize(("servers", "load"), [(1, 3), (5, 2), (12, 20)])
def test_erlang_b_in_fractions(servers, load):
    terms = [Fraction(load) ** n / factorial(n) for n in range(servers + 1)]
    exact = float(terms[-1] / sum(terms))
    assert theory.erlang_b(servers, load) == pytest.approx(exact, rel=1e-14)


@pytest.mark.parametrize(("servers", "load"), [(1, 0.3), (5, 4.5), (50, 30.0)])
def test_erlang_c_by_its_sum(servers, load):
    below = sum(load**n / factorial(n) for n in range(servers))
    waiting = load**servers / factorial(servers) * servers / (servers - load)
    exact = waiting / (below + waiting)
    assert theory.erlang_c(servers, load) == pytest.approx(exact, rel=1e-13)


def test_one_server_waits_as_in_a_textbook():
    """M/M/1: rho / (mu - lambda)."""
    assert theory.multiserver_wait(3.0, 4.0, 1) == pytest.approx(0.75, rel=1e-15)


@pytest.mark.parametrize("servers", [1, 1000, 10**6])
@pytest.mark.parametrize("load", [1e-6, 0.5, 0.9999, 1.0, 1.5, 1e9])
def test_loss_systems_of_any_size_and_load(servers, load):
    """`load` is that of one server; overload fills the machine."""
    widths = np.unique([1, max(servers // 100, 1), max(servers // 3, 1)])
    offered = load * servers / widths / len(widths)
    system = theory.kaufman_roberts(servers, offered, widths)
    q = system.distribution
    assert np.isfinite(q).all()
    assert q.min() >= 0
    assert q.sum() == pytest.approx(1, abs=1e-13)
    assert ((system.blocking >= 0) & (system.blocking <= 1)).all()
    assert (np.diff(system.blocking) >= 0).all()
    assert np.dot(system.carried, widths) == pytest.approx(system.mean, rel=1e-11)
    if load == 1e9:
        assert system.utilisation > 0.999


@pytest.mark.parametrize("servers", [1000, 10**6])
@pytest.mark.parametrize("rho", [0.9, 0.99, 1.0, 1.2])
def test_erlang_on_large_machines(servers, rho):
    """1 / B is the sum of s (s-1) ... (s-k+1) / a**k."""
    steps = np.log((servers - np.arange(servers)) / (rho * servers))
    logs = np.concatenate([[0.0], np.cumsum(steps)])
    exact = np.exp(-logs.max()) / np.exp(logs - logs.max()).sum()
    assert theory.erlang_b(servers, rho * servers) == pytest.approx(exact, rel=1e-8)


def test_nearly_all_wait_before_a_full_machine():
    """C rises to 1 as the load reaches the servers."""
    waiting = [theory.erlang_c(1000, 1000 * rho) for rho in (0.9, 0.99, 0.9999, 1 - 1e-9)]
    assert (np.diff(waiting) > 0).all()
    assert waiting[-1] == pytest.approx(1, abs=1e-6)


def test_nothing_offered_is_nothing_lost():
    system = theory.kaufman_roberts(4, (0.0, 0.0), (1, 9))
    assert system.distribution.tolist() == [1, 0, 0, 0, 0]
    assert system.blocking.tolist() == [0, 1]
    assert theory.erlang_b(4, 0) == theory.erlang_c(4, 0) == 0


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (lambda: theory.kaufman_roberts(0, 1, 1), "servers = 0: give a whole number"),
        (lambda: theory.kaufman_roberts(5, (1, 2), 1), "2 loads and 1 widths"),
        (lambda: theory.kaufman_roberts(5, (1, -2), (1, 1)), "loads = -2: must not be negative"),
        (lambda: theory.kaufman_roberts(5, np.nan, 1), "loads = nan: give a finite number"),
        (lambda: theory.kaufman_roberts(5, 1e200, 1), "loads = 1e\\+200: give at most"),
        (lambda: theory.kaufman_roberts(5, 1, 1.5), "widths = 1.5: give a whole number"),
        (lambda: theory.kaufman_roberts(5, 1, np.nan), "widths = nan: give a finite number"),
        (lambda: theory.erlang_b(2.5, 1), "servers = 2.5: give a whole number"),
        (lambda: theory.erlang_b(2, -1), "load = -1: must not be negative"),
        (lambda: theory.erlang_c(3, 3), "load = 3 on 3 servers: the queue grows without bound"),
        (lambda: theory.multiserver_wait(4, 1, 4), "rho = 1: not below 1"),
        (lambda: theory.multiserver_wait(1, 0, 4), "service_rate = 0: must be above 0"),
    ],
)
def test_bad_parameters_are_named(call, complaint):
    with pytest.raises(OptionError, match=complaint) as error:
        call()
    assert "\n" not in str(error.value)
