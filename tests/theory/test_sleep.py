"""Servers that sleep: closed forms, a chain written out in full, and a plain walk of events."""

import math
import random

import numpy as np
import pytest

from sojourn import OptionError
from sojourn.theory import multiserver_wait, sleeping_servers

SETS = [
    (rate, count, setup, delay)
    for rate, count in ((0.3, 1), (1.4, 2), (2.0, 4), (4.5, 8))
    for setup in (0.2, 8.0)
    for delay in (0.0, 0.5, 20.0)
]


def _chain(rate: float, count: int, setup: float, delay: float, most: int) -> dict[str, float]:
    """The chain cut at `most` jobs, solved as one system of linear equations; service rate 1."""
    states = [(on, jobs) for jobs in range(most + 1) for on in range(count + 1)]
    if not delay:
        states = [(on, jobs) for on, jobs in states if on <= jobs]
    place = {state: i for i, state in enumerate(states)}
    q = np.zeros((len(states), len(states)))
    for (on, jobs), i in place.items():
        busy, idle = min(on, jobs), max(on - jobs, 0)
        waking = min(count - on, max(jobs - on, 0))
        moves = []
        if jobs < most:
            moves.append(((on, jobs + 1), rate))
        if busy:
            left = on if delay else min(on, jobs - 1)
            moves.append(((left, jobs - 1), float(busy)))
        if waking:
            moves.append(((on + 1, jobs), waking / setup))
        if idle and delay:
            moves.append(((on - 1, jobs), idle / delay))
        for state, speed in moves:
            q[i, place[state]] += speed
            q[i, i] -= speed
    q[:, 0] = 1.0
    pi = np.linalg.solve(q.T, np.eye(len(states))[0])
    on, jobs = np.array(states).T
    return {
        "number": pi @ jobs,
        "idle": pi @ np.maximum(on - jobs, 0),
        "waking": pi @ np.minimum(count - on, np.maximum(jobs - on, 0)),
    }


@pytest.mark.parametrize(("rate", "count", "setup", "delay"), SETS)
def test_the_chain_in_full(rate, count, setup, delay):
    system = sleeping_servers(rate, 1.0, count, setup=setup, delay=delay)
    full = _chain(rate, count, setup, delay, most=200)
    assert system.mean_number == pytest.approx(full["number"], rel=1e-8)
    assert system.mean_idle == pytest.approx(full["idle"], rel=1e-8, abs=1e-12)
    assert system.mean_waking == pytest.approx(full["waking"], rel=1e-8)
    parts = system.mean_busy + system.mean_idle + system.mean_waking + system.mean_off
    assert parts == pytest.approx(count, rel=1e-12)


@pytest.mark.parametrize("load", [0.05, 0.5, 0.95])
@pytest.mark.parametrize("setup", [0.1, 1.0, 50.0])
def test_one_server_waits_a_setup_longer(load, setup):
    # E[T] of M/M/1/setup is that of M/M/1 and the mean setup; the chance of being off is
    # (1 - rho) / (1 + lambda setup), since a cycle begins off for 1/lambda [gandhi2014].
    system = sleeping_servers(load, setup=setup)
    assert system.mean_response == pytest.approx(1 / (1 - load) + setup, rel=1e-9)
    assert system.mean_off == pytest.approx((1 - load) / (1 + load * setup), rel=1e-9)


@pytest.mark.parametrize(("rate", "count"), [(0.9, 1), (3.6, 4), (45.0, 50)])
def test_servers_that_never_sleep_are_plain_servers(rate, count):
    system = sleeping_servers(rate, 1.0, count, setup=7.0, delay=math.inf)
    assert system.mean_wait == pytest.approx(multiserver_wait(rate, 1.0, count), rel=1e-9)
    assert (system.mean_waking, system.mean_off) == pytest.approx((0.0, 0.0), abs=1e-9)


def test_a_walk_of_events_agrees():
    rate, count, setup, delay, end = 1.2, 3, 4.0, 2.0, 200_000.0
    draw = random.Random(5)
    now, on, jobs = 0.0, 0, 0
    area = 0.0
    while now < end:
        busy, idle, waking = min(on, jobs), max(on - jobs, 0), min(count - on, max(jobs - on, 0))
        speeds = (rate, float(busy), waking / setup, idle / delay)
        step = draw.expovariate(sum(speeds))
        area += jobs * step
        now += step
        kind = draw.choices(range(4), speeds)[0]
        jobs += (1, -1, 0, 0)[kind]
        on += (0, 0, 1, -1)[kind]
    system = sleeping_servers(rate, 1.0, count, setup=setup, delay=delay)
    assert area / now == pytest.approx(system.mean_number, rel=0.03)
    # A theory that is a fifth off would be seen.
    assert area / now != pytest.approx(1.2 * system.mean_number, rel=0.03)


def test_sleep_saves_where_the_load_is_low_and_the_setup_short():
    watts = {"busy": 200.0, "idle": 140.0, "waking": 200.0, "off": 10.0}
    asleep = sleeping_servers(1.0, 1.0, 10, setup=1.0).mean_power(**watts)
    awake = sleeping_servers(1.0, 1.0, 10, setup=1.0, delay=math.inf).mean_power(**watts)
    assert awake == pytest.approx(200 + 9 * 140)
    assert asleep < 0.5 * awake


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"arrival_rate": -1.0}, "arrival_rate"),
        ({"service_rate": 0.0}, "service_rate"),
        ({"count": 0}, "count"),
        ({"count": 501}, "too many"),
        ({"setup": 0.0}, "setup"),
        ({"setup": math.nan}, "setup"),
        ({"delay": -1.0}, "delay"),
        ({"arrival_rate": 2.0}, "load"),
    ],
)
def test_bad_values_are_one_line(changed, words):
    good = {"arrival_rate": 0.5, "service_rate": 1.0, "count": 2, "setup": 1.0, "delay": 0.0}
    with pytest.raises(OptionError, match=words) as problem:
        sleeping_servers(**{**good, **changed})
    assert "\n" not in str(problem.value)
