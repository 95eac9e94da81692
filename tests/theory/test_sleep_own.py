"""Nodes whose boots belong to jobs: the chain in full, limits, and a walk job by job."""

from __future__ import annotations

import math

import numpy as np
import pytest
from oracle.sleep_walk import Sleep, share_inside, walk_own

from sojourn import OptionError
from sojourn.theory import multiserver_wait, sleeping_nodes, sleeping_servers

SETS = [
    (rate, count, setup, delay)
    for rate, count in ((0.3, 1), (1.2, 2), (1.5, 3), (2.5, 5))
    for setup in (0.2, 6.0)
    for delay in (0.0, 0.5, 20.0)
]
WALKED = [
    Sleep(load * servers, servers, setup=setup, delay=delay)
    for servers, load in ((2, 0.5), (3, 0.3), (3, 0.7), (5, 0.6), (10, 0.5))
    for setup in (0.5, 5.0)
    for delay in (0.0, 0.7, 3.0)
]


def _chain(rate: float, count: int, setup: float, delay: float, most: int = 120):
    """States: how many servers boot, serve and are idle, and how many jobs wait."""
    states = [
        (boots, served, idle, 0)
        for boots in range(count + 1)
        for served in range(count + 1 - boots)
        for idle in range(count + 1 - boots - served if delay else 1)
    ]
    states += [(b, count - b, 0, queue) for b in range(count + 1) for queue in range(1, most)]
    place = {state: i for i, state in enumerate(states)}
    q = np.zeros((len(states), len(states)))
    for (boots, served, idle, queue), i in place.items():
        moves = []
        if idle:
            moves.append(((boots, served + 1, idle - 1, 0), rate))
            moves.append(((boots, served, idle - 1, 0), idle / (delay or 1)))
        elif boots + served < count:
            moves.append(((boots + 1, served, 0, 0), rate))
        elif queue + 1 < most:
            moves.append(((boots, served, 0, queue + 1), rate))
        if boots:
            moves.append(((boots - 1, served + 1, idle, queue), boots / setup))
        if served:
            left = (boots, served - 1, idle + (delay > 0), 0)
            moves.append(((boots, served, idle, queue - 1) if queue else left, float(served)))
        for state, speed in moves:
            q[i, place[state]] += speed
            q[i, i] -= speed
    q[:, 0] = 1.0
    pi = np.linalg.solve(q.T, np.eye(len(states))[0])
    boots, served, idle, queue = np.array(states).T
    wakes = (idle == 0) & (boots + served < count)
    return pi @ (boots + served + queue), pi @ idle, pi @ boots, pi @ wakes


@pytest.mark.parametrize(("rate", "count", "setup", "delay"), SETS)
def test_the_chain_in_full(rate, count, setup, delay):
    system = sleeping_nodes(rate, 1.0, count, setup=setup, delay=delay)
    number, idle, waking, wakes = _chain(rate, count, setup, delay)
    assert system.mean_number == pytest.approx(number, rel=1e-8)
    assert system.mean_idle == pytest.approx(idle, rel=1e-8, abs=1e-12)
    assert system.mean_waking == pytest.approx(waking, rel=1e-8)
    assert system.boot_share == pytest.approx(wakes, rel=1e-8)
    # Little's law of boots: how often, times how long.
    assert system.mean_waking == pytest.approx(system.wake_rate * setup, rel=1e-9)
    parts = system.mean_busy + system.mean_idle + system.mean_waking + system.mean_off
    assert parts == pytest.approx(count, rel=1e-12)


@pytest.mark.parametrize("delay", [0.0, 2.5, math.inf])
@pytest.mark.parametrize("rate", [0.1, 0.8])
def test_of_one_server_the_boot_belongs_to_the_first_job(rate, delay):
    one, other = (f(rate, setup=4.0, delay=delay) for f in (sleeping_nodes, sleeping_servers))
    for name in ("mean_wait", "mean_idle", "mean_waking", "mean_off"):
        assert getattr(one, name) == pytest.approx(getattr(other, name), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(("rate", "count"), [(0.9, 1), (3.6, 4), (18.0, 20)])
def test_nodes_that_never_sleep_are_plain_servers(rate, count):
    system = sleeping_nodes(rate, 1.0, count, setup=7.0, delay=math.inf)
    assert system.mean_wait == pytest.approx(multiserver_wait(rate, 1.0, count), rel=1e-9)
    assert (system.mean_waking, system.boot_share) == (0.0, 0.0)


def test_infinitely_many_nodes_boot_for_each_job():
    """Without a delay, and with more nodes than jobs, each job waits for one boot."""
    system = sleeping_nodes(1.0, 1.0, 40, setup=3.0)
    assert system.boot_share == pytest.approx(1.0, abs=1e-9)
    assert system.mean_wait == pytest.approx(3.0, rel=1e-9)


def exact_own(system: Sleep) -> tuple[float, float]:
    made = sleeping_nodes(system.rate, 1.0, system.servers, setup=system.setup, delay=system.delay)
    return made.mean_wait, made.mean_power(200.0, 95.0, 125.0, 10.0)


def test_a_walk_job_by_job_agrees():
    assert len(WALKED) == 30
    assert share_inside(WALKED, exact_own, walk_own) >= 0.97


def test_a_theory_that_is_off_would_be_seen():
    def wrong(system: Sleep) -> tuple[float, float]:
        wait, power = exact_own(system)
        return 1.1 * wait, 1.05 * power

    assert share_inside(WALKED[::3], wrong, walk_own) < 0.6


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"arrival_rate": -1.0}, "arrival_rate"),
        ({"service_rate": 0.0}, "service_rate"),
        ({"count": 0}, "count"),
        ({"count": 51}, "too many"),
        ({"setup": 0.0}, "setup"),
        ({"delay": -1.0}, "delay"),
        ({"arrival_rate": 2.0}, "load"),
    ],
)
def test_bad_values_are_one_line(changed, words):
    good = {"arrival_rate": 0.5, "service_rate": 1.0, "count": 2, "setup": 1.0, "delay": 0.0}
    with pytest.raises(OptionError, match=words) as problem:
        sleeping_nodes(**{**good, **changed})
    assert "\n" not in str(problem.value)
