"""Two servers that sleep and one with times of any law: full chains, limits, and a plain walk."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from oracle.sleep_walk import Sleep, share_inside, walk

from sojourn import OptionError
from sojourn.theory import (
    sleeping_server,
    sleeping_servers,
    sleeping_two_server,
    two_server,
)

WATTS = {"busy": 200.0, "idle": 95.0, "waking": 125.0, "off": 10.0}

SINGLE = [
    Sleep(rate, setup=setup, delay=delay, shutdown=shutdown, constant=constant)
    for rate, setup in ((0.2, 0.5), (0.4, 6.0), (0.7, 2.0))
    for delay in (0.0, 3.0)
    for shutdown, constant in ((0.0, True), (0.0, False), (4.0, True))
]
SEVERAL = [
    Sleep(rate, servers, setup=setup, delay=delay)
    for rate, servers in ((0.5, 2), (1.2, 3), (2.4, 4), (6.0, 10))
    for setup in (0.5, 2.0, 5.0)
    for delay in (0.0, 2.0)
]
TWO = [
    Sleep(rate, 2, p1, setup, delay)
    for rate, p1 in ((0.3, 0.2), (0.4, 0.5), (0.8, 0.9))
    for setup in (0.5, 5.0)
    for delay in (0.0, 2.0)
]


def _chain(rate: float, p1: float, rates: tuple[float, float], setup: float, delay: float):
    """States are all jobs in their order, and how many servers are on; at most 8 jobs."""
    most = 8
    lines = [line for n in range(most + 1) for line in product((1, 2), repeat=n)]
    states = [(line, on) for line in lines for on in range(3)]
    place = {state: i for i, state in enumerate(states)}
    q = np.zeros((len(states), len(states)))
    numbers = np.zeros((len(states), 3))
    for (line, on), i in place.items():
        wanted = min(2, sum(line))
        served: list[int] = []
        for at, width in enumerate(line):
            if sum(line[k] for k in served) + width > on:
                break
            served.append(at)
        busy = sum(line[k] for k in served)
        numbers[i] = len(line), on - busy, max(wanted - on, 0)
        moves = []
        if len(line) < most:
            moves += [(((*line, 1), on), rate * p1), (((*line, 2), on), rate * (1 - p1))]
        for at in served:
            left = (*line[:at], *line[at + 1 :])
            still = on if delay else min(on, sum(left))
            moves.append(((left, still), rates[line[at] - 1]))
        if wanted > on:
            moves.append(((line, on + 1), (wanted - on) / setup))
        if on > wanted:
            moves.append(((line, on - 1), (on - wanted) / (delay or 1.0)))
        for state, speed in moves:
            q[i, place[state]] += speed
            q[i, i] -= speed
    q[:, 0] = 1.0
    return np.linalg.solve(q.T, np.eye(len(states))[0]) @ numbers


@pytest.mark.parametrize("delay", [0.0, 3.0])
@pytest.mark.parametrize(("p1", "rates"), [(0.5, (1.0, 1.0)), (0.2, (1.0, 2.0)), (0.9, (2.0, 1.0))])
def test_the_chain_in_full(p1, rates, delay):
    system = sleeping_two_server(0.08, p1, rates, setup=0.7, delay=delay)
    number, idle, waking = _chain(0.08, p1, rates, 0.7, delay)
    assert system.mean_number == pytest.approx(number, rel=1e-6)
    assert system.mean_idle == pytest.approx(idle, rel=1e-6)
    assert system.mean_waking == pytest.approx(waking, rel=1e-6)
    parts = system.mean_busy + system.mean_idle + system.mean_waking + system.mean_off
    assert parts == pytest.approx(2)


@pytest.mark.parametrize(("rate", "p1"), [(0.1, 0.5), (0.9, 0.5), (1.2, 0.8), (0.5, 0.0)])
def test_servers_that_never_sleep_are_the_two_server_model(rate, p1):
    system = sleeping_two_server(rate, p1, (1.0, 1.5), setup=3.0, delay=math.inf)
    plain = two_server(rate, p1, (1.0, 1.5))
    assert system.mean_wait == pytest.approx(plain.mean_wait, rel=1e-9)
    # A setup of no time is no sleep; a delay without end none either.
    for setup, delay in ((1e-9, 0.0), (3.0, 1e11)):
        near = sleeping_two_server(rate, p1, (1.0, 1.5), setup=setup, delay=delay)
        assert near.mean_wait == pytest.approx(plain.mean_wait, rel=1e-6)


@pytest.mark.parametrize("delay", [0.0, 4.0])
@pytest.mark.parametrize(("rate", "setup"), [(0.2, 1.0), (1.5, 6.0)])
def test_narrow_jobs_alone_and_wide_jobs_alone(rate, setup, delay):
    narrow = sleeping_two_server(rate, 1.0, setup=setup, delay=delay)
    several = sleeping_servers(rate, 1.0, 2, setup=setup, delay=delay)
    assert narrow.mean_wait == pytest.approx(several.mean_wait, rel=1e-9)
    assert narrow.mean_power(**WATTS) == pytest.approx(several.mean_power(**WATTS), rel=1e-9)
    if delay == 0:
        # Both servers are woken together: the setup is the larger of two exponential ones.
        wide = sleeping_two_server(rate / 2, 0.0, setup=setup)
        both = sleeping_server(rate / 2, setup=1.5 * setup, setup_scv=5 / 9)
        assert wide.mean_wait == pytest.approx(both.mean_wait, rel=1e-9)


@pytest.mark.parametrize("delay", [0.0, 2.5, math.inf])
@pytest.mark.parametrize("rate", [0.1, 0.8])
def test_one_server_of_exponential_times(rate, delay):
    chain = sleeping_servers(rate, setup=4.0, delay=delay)
    formula = sleeping_server(rate, setup=4.0, delay=delay, setup_scv=1, delay_scv=1)
    for name in ("mean_wait", "mean_idle", "mean_waking", "mean_off"):
        exact = getattr(chain, name)
        assert getattr(formula, name) == pytest.approx(exact, rel=1e-9, abs=1e-12), name
    assert formula.mean_power(**WATTS) == pytest.approx(chain.mean_power(**WATTS), rel=1e-9)


def test_states_of_one_server_are_all_of_its_time():
    for shutdown in (0.0, 1e-7, 1e-3, 0.01, 7.0):
        system = sleeping_server(0.3, setup=5.0, delay=2.0, shutdown=shutdown)
        shares = (getattr(system, f"mean_{s}") for s in ("busy", "idle", "waking", "off"))
        assert sum(shares) + system.mean_shutting == pytest.approx(1.0, rel=1e-12)
    # The series for short shutdowns meets the formula.
    below, above = (
        sleeping_server(1.0, 2.0, setup=1.0, shutdown=x) for x in (0.99999e-3, 1.00001e-3)
    )
    assert below.mean_wait == pytest.approx(above.mean_wait, rel=1e-7)


def exact_single(system: Sleep) -> tuple[float, float]:
    scv = 0.0 if system.constant else 1.0
    made = sleeping_server(
        system.rate, setup=system.setup, delay=system.delay, shutdown=system.shutdown,
        setup_scv=scv, delay_scv=scv,
    )  # fmt: skip
    return made.mean_wait, made.mean_power(**WATTS, shutting=100.0)


def exact_several(system: Sleep) -> tuple[float, float]:
    made = sleeping_servers(
        system.rate, 1.0, system.servers, setup=system.setup, delay=system.delay
    )
    return made.mean_wait, made.mean_power(**WATTS)


def exact_two(system: Sleep) -> tuple[float, float]:
    made = sleeping_two_server(system.rate, system.p1, setup=system.setup, delay=system.delay)
    return made.mean_wait, made.mean_power(**WATTS)


@pytest.mark.parametrize("each", [4, pytest.param(1, marks=pytest.mark.nightly)])
def test_a_plain_walk_agrees(each):
    assert (len(SINGLE) + len(SEVERAL) + len(TWO), len(SEVERAL)) == (54, 24)
    of_each = ((SINGLE, exact_single), (SEVERAL, exact_several), (TWO, exact_two))
    ways = [(sets[::each], exact) for sets, exact in of_each]
    inside = sum(len(sets) * share_inside(sets, exact, walk) for sets, exact in ways)
    count = sum(len(sets) for sets, _ in ways)
    assert inside / count >= 0.97


def test_a_theory_that_is_off_would_be_seen():
    def wrong(system: Sleep) -> tuple[float, float]:
        wait, power = exact_two(system)
        return 1.1 * wait, 1.1 * power

    assert share_inside(TWO, wrong, walk) < 0.6


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"arrival_rate": -1.0}, "arrival_rate"),
        ({"p1": 1.5}, "p1"),
        ({"service_rates": (1.0, 0.0)}, "service_rates"),
        ({"service_rates": (1.0, 1.0, 1.0)}, "3 rates"),
        ({"setup": 0.0}, "setup"),
        ({"delay": -1.0}, "delay"),
        ({"arrival_rate": 2.0}, "load"),
    ],
)
def test_bad_values_are_one_line(changed, words):
    good = {"arrival_rate": 0.5, "p1": 0.5, "service_rates": 1.0, "setup": 1.0, "delay": 0.0}
    with pytest.raises(OptionError, match=words) as problem:
        sleeping_two_server(**{**good, **changed})
    assert "\n" not in str(problem.value)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"arrival_rate": 1.5}, "load"),
        ({"setup": -1.0}, "setup"),
        ({"shutdown": math.inf}, "shutdown"),
        ({"delay_scv": 0.5}, "delay_scv"),
        ({"setup_scv": -1.0}, "setup_scv"),
    ],
)
def test_bad_values_of_one_server_are_one_line(changed, words):
    with pytest.raises(OptionError, match=words) as problem:
        sleeping_server(**{"arrival_rate": 0.5, "setup": 1.0, **changed})
    assert "\n" not in str(problem.value)
