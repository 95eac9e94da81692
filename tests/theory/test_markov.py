"""Small systems: published figures, an oracle that remembers every job, and the edges."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from sojourn import XEON_5430
from sojourn.errors import OptionError
from sojourn.theory import erlang_c, max_throughput, small_system, two_server
from tests.oracle import fcfs_chain

_CASES = [
    (0.1, [0.5, 0.5], [1.0, 1.0], 2),
    (0.1, [0.2, 0.8], [1.0, 2.0], 2),
    (0.2, [0.4, 0.3, 0.3], [1.0, 1.5, 2.0], 3),
    (0.2, [0.7, 0.0, 0.0, 0.3], [1.0, 1.0, 1.0, 2.5], 4),
    (0.5, [0.6, 0.4], [1.0, 1.0], 5),
]


def _check(system, chain, speeds=(1.0,)):
    number = fcfs_chain.mean(chain, lambda r, w, v: len(r) + len(w))
    assert system.mean_number == pytest.approx(number, rel=1e-6)
    assert system.mean_waiting == pytest.approx(
        fcfs_chain.mean(chain, lambda r, w, v: len(w)), rel=1e-5
    )
    assert system.mean_busy == pytest.approx(
        fcfs_chain.mean(chain, lambda r, w, v: sum(r)), rel=1e-6
    )
    for n in range(5):
        level = fcfs_chain.mean(chain, lambda r, w, v, n=n: len(r) + len(w) == n)
        assert system.pmf(n) == pytest.approx(level, rel=1e-6)
    for i, pace in enumerate(speeds):
        share = fcfs_chain.mean(chain, lambda r, w, v, i=i: v == i)
        assert system.speed_shares[pace] == pytest.approx(share, rel=1e-6)


@pytest.mark.parametrize(("arrival_rate", "p", "rates", "servers"), _CASES)
def test_drawing_the_head_late_changes_nothing(arrival_rate, p, rates, servers):
    system = small_system(arrival_rate, p, rates, servers)
    _check(system, fcfs_chain.solve(arrival_rate, p, rates, servers))


@pytest.mark.parametrize("switch", [(0.3, 0.7), (1.0, 1.0), (0.0, 0.4), (0.5, 0.0)])
def test_random_switching(switch):
    down, up = switch

    def law(event, before, speed):
        to, chance = (1, up) if event == "arrival" else (0, down)
        return {speed: 1.0} if speed == to else {to: chance, speed: 1 - chance}

    p, rates, speeds = [0.6, 0.4], [1.0, 1.5], (1.0, 1.7)
    system = small_system(0.12, p, rates, speeds=speeds, switch=switch)
    chain = fcfs_chain.solve(0.12, p, rates, 2, speeds=speeds, law=law)
    _check(system, chain)
    high = fcfs_chain.mean(chain, lambda r, w, v: v == 1)
    assert system.speed_shares[1.7] == pytest.approx(high, rel=1e-6, abs=1e-12)


@pytest.mark.parametrize(("low", "high"), [((1, 2), (2, 4)), ((0, 0), (1, 2))])
def test_thresholds_with_three_speeds(low, high):
    speeds = (1.0, 1.4, 2.0)

    def law(event, before, speed):
        for i in range(2):
            if event == "departure" and before == low[i] + 1:
                speed = min(speed, i)
            if event == "arrival" and before == high[i]:
                speed = max(speed, i + 1)
        return {speed: 1.0}

    p, rates = [0.5, 0.3, 0.2], [1.0, 1.0, 2.0]
    system = small_system(0.25, p, rates, speeds=speeds, thresholds=(low, high))
    _check(system, fcfs_chain.solve(0.25, p, rates, 3, speeds=speeds, law=law), speeds)


@pytest.mark.parametrize(
    ("arrival_rate", "rates", "number", "wait", "empty"),
    [
        (0.8, 1.0, 2.5227019, 2.1533773, 0.2719824),
        (1.0, 1.0, 7.5575001, 6.5575001, 0.1106250),
        (0.5, (1.0, 0.5), 2.6169365, 3.7338730, 0.2913293),
    ],
)
def test_published_two_server_figures(arrival_rate, rates, number, wait, empty):
    system = two_server(arrival_rate, 0.5, rates)
    assert round(system.mean_number, 7) == number
    assert round(system.mean_wait, 7) == wait
    assert round(system.empty, 7) == empty


@pytest.mark.parametrize("servers", [1, 2, 4, 6])
@pytest.mark.parametrize("load", [1e-6, 0.1, 0.75, 0.99, 0.9999])
def test_single_servers_are_erlangs(servers, load):
    system = small_system(load * servers, [1.0], servers=servers)
    delayed = erlang_c(servers, load * servers)
    assert system.delay_probability == pytest.approx(delayed, rel=1e-9, abs=1e-15)
    assert system.mean_wait == pytest.approx(delayed / (servers * (1 - load)), rel=1e-9)
    assert system.utilisation == pytest.approx(load, rel=1e-9)


@pytest.mark.parametrize("load", [1e-6, 1e-3, 0.5, 0.99, 0.9999])
def test_no_mass_is_lost_and_nothing_is_negative(load):
    p = np.full(6, 1 / 6)
    limit = max_throughput(p, np.linspace(1, 2, 6))
    system = small_system(load * limit, p, np.linspace(1, 2, 6))
    assert all(pi.min() >= 0 for pi in system.levels.boundary)
    total = sum(pi.sum() for pi in system.levels.boundary[:-1]) + system.levels.above.sum()
    assert total == pytest.approx(1, abs=1e-12)
    assert system.load == pytest.approx(load, rel=1e-12)
    # What comes in is served: the mean number in service is that offered.
    offered = load * limit * float(np.sum(p / np.linspace(1, 2, 6)))
    assert system.mean_running == pytest.approx(offered, rel=1e-9)


def test_moments_and_tail_agree_with_the_distribution():
    system = small_system(0.9, [0.5, 0.3, 0.2], [1.0, 1.5, 1.0])
    n = np.arange(600)
    pmf = system.pmf(n)
    assert pmf.sum() == pytest.approx(1, abs=1e-12)
    assert (n * pmf).sum() == pytest.approx(system.mean_number, rel=1e-10)
    assert (n**2 * pmf).sum() - system.mean_number**2 == pytest.approx(system.var_number, rel=1e-9)
    assert pmf[80] / pmf[79] == pytest.approx(system.levels.decay, rel=1e-9)
    assert system.pmf(-1) == 0


def test_energy_of_one_server_by_hand():
    # M/M/1 that is at the high speed while anybody is there: k_L = k_H = 0.
    system = small_system(1.0, [1.0], servers=1, speeds=(2.0, 2.66), thresholds=(0, 0))
    busy = 1 / 2.66
    assert system.speed_shares[2.66] == pytest.approx(busy)
    assert system.mean_power(XEON_5430) == pytest.approx(41 * busy + 14 * (1 - busy))
    assert system.energy_per_job(XEON_5430) == pytest.approx(41 * busy + 14 * (1 - busy))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: two_server(1.2, 0.5), r"rho = 1\.05: not below 1.*lower arrival_rate below 1\.14"),
        (lambda: two_server(float("nan"), 0.5), "arrival_rate = nan"),
        (lambda: two_server(0.5, 1.5), r"p1 = 1\.5: a probability lies in"),
        (lambda: two_server(0.5, 0.5, 0.0), "service_rate = 0: must be above 0"),
        (lambda: two_server(0.5, 0.5, [1.0, 1.0, 1.0]), "3 rates for 2 widths"),
        (lambda: small_system(0.1, [0.5, 0.5], servers=1), "jobs of 2 servers on a machine of 1"),
        (lambda: small_system(0.1, np.full(60, 1 / 60)), "too many servers or widths"),
        (lambda: two_server(0.5, 0.5, speeds=(1, 2)), "neither switch nor thresholds"),
        (lambda: two_server(0.5, 0.5, speeds=(2, 1), switch=(0.1, 0.1)), "give them increasing"),
        (lambda: two_server(0.5, 0.5, speeds=(1, 2), switch=(0.1, 2)), r"switch\[1\] = 2"),
        (lambda: two_server(0.5, 0.5, speeds=(1, 2), thresholds=(3, 2)), "a k_L above its k_H"),
        (lambda: two_server(0.5, 0.5, speeds=(1, 2), thresholds=(-1, 2)), "k_L = -1"),
        (lambda: two_server(0.5, 0.5, speeds=(1, 2), thresholds=(1, np.nan)), "k_H = nan"),
        (lambda: two_server(0.5, 0.5, speeds=(1, 2), thresholds=(1, 10**9)), "at most 10,000"),
        (lambda: two_server(0.5, 0.5, speeds=(1, 2), thresholds=3), "thresholds = 3: give two"),
        (lambda: two_server(0.5, 0.5, speeds=(1, 2), switch=0.5), "switch = 0.5: give two"),
        (lambda: two_server(0.5, None), "p1 = None: give a number"),
        (lambda: two_server(0.5, 0.5, "fast"), "service_rates: holds what is not a number"),
        (lambda: two_server(0.5, 0.5, np.array([1, 1j])), "service_rates: holds what is not"),
        (lambda: two_server(0.5, 0.5, speeds=None), r"speeds\[0\] = nan"),
        (lambda: small_system(0.1, [1.0], servers=1e300), r"servers = 1e\+300: give at most"),
        (lambda: two_server(0.5, 0.5, speeds=(1, 2, 3), switch=(0.1, 0.1)), "speeds has 3"),
        (lambda: two_server(0.5, 0.5, speeds=(1, 2), thresholds=([1, 2], [3, 4])), "need 1 of"),
    ],
)
def test_bad_parameters_are_named(call, message):
    with pytest.raises(OptionError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_more_speed_never_hurts():
    waits = [two_server(0.9, 0.5, speeds=(1.0, 2.0), thresholds=(k, k)).mean_wait for k in range(6)]
    assert all(a < b for a, b in itertools.pairwise(waits))


def test_rare_wide_jobs_leave_no_negative_probability():
    # An empty system has some 1e-46; only sums of positive terms see that.
    p = np.zeros(100)
    p[[0, 99]] = 1 - 1e-12, 1e-12
    system = small_system(0.9999 * max_throughput(p), p)
    alone = small_system(99.99, [1.0], servers=100)
    assert system.empty == pytest.approx(alone.empty, rel=1e-3, abs=0)
    assert alone.empty == pytest.approx(_empty_erlang(100, 99.99), rel=1e-9, abs=0)


def _empty_erlang(servers, load):
    terms = np.cumprod(np.append(1.0, load / np.arange(1, servers + 1)))
    return 1 / (terms[:-1].sum() + terms[-1] * servers / (servers - load))


@pytest.mark.parametrize("load", [1e-6, 1e-12])
def test_waits_of_light_traffic_keep_their_digits(load):
    system = small_system(3 * load, [1.0], servers=3)
    assert system.delay_probability == pytest.approx(erlang_c(3, 3 * load), rel=1e-12, abs=0)


@pytest.mark.parametrize("low", [1.0, 1e-6, 1e-12])
def test_a_speed_that_is_never_left_makes_the_others_no_matter(low):
    system = small_system(0.9, [0.5, 0.5], speeds=(low, 2.0), switch=(0.0, 1e-12))
    fast = small_system(0.9, [0.5, 0.5], speeds=2.0)
    assert system.mean_number == pytest.approx(fast.mean_number, rel=1e-12)
    assert system.speed_shares == {low: 0.0, 2.0: pytest.approx(1.0)}


def test_rare_switches_mix_two_systems():
    # As many switches up as down, so half the time at each speed, for very long each.
    system = small_system(0.9, [0.5, 0.5], speeds=(1.0, 2.0), switch=(1e-12, 1e-12))
    slow, fast = (small_system(0.9, [0.5, 0.5], speeds=v).mean_number for v in (1.0, 2.0))
    assert system.mean_number == pytest.approx((slow + fast) / 2, rel=1e-9)


def test_a_low_speed_that_cannot_keep_up():
    # One server, a birth-death chain: 900 times as likely from number to number up to k = 150.
    system = small_system(0.9, [1.0], speeds=(1e-3, 2.0), thresholds=(150, 150))
    top = 1 / (900 / 899 + 0.45 / 0.55)
    assert system.pmf(150) == pytest.approx(top, rel=1e-10)
    assert system.pmf(154) == pytest.approx(top * 0.45**4, rel=1e-10)
    assert system.pmf(80) == pytest.approx(top * 900.0**-70, rel=1e-10, abs=0)
    assert system.speed_shares[2.0] == pytest.approx(top * 0.45 / 0.55, rel=1e-10)


def test_the_widest_jobs_alone_are_one_queue():
    p = np.zeros(10**6)
    p[-1] = 1.0
    assert small_system(0.5, p).mean_wait == pytest.approx(1.0, rel=1e-12)


def test_too_many_states_are_refused_at_once():
    p = np.zeros(100)
    p[50:] = 1 / 50
    with pytest.raises(OptionError, match="too many servers or widths"):
        small_system(0.1, p)
