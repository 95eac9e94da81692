"""The stability constant: numbers of servers to 10^6, degenerate widths, bad arguments."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle import stability as oracle

from sojourn import theory
from sojourn.errors import OptionError
from sojourn.theory import _series
from sojourn.theory._groups import sizes_to_depth
from sojourn.theory._series import tails
from sojourn.theory.stability import constant

MANY = 1_000_000


@st.composite
def distributions(draw, most: int = 12) -> list[Fraction]:
    """Widths to at most so many servers, in exact fractions; some widths do not occur."""
    weights = draw(st.lists(st.integers(0, 9), min_size=1, max_size=most).filter(any))
    return [Fraction(weight, sum(weights)) for weight in weights]


def floats(p):
    return np.array([float(x) for x in p])


def peaked(size: int, **shares: float) -> np.ndarray:
    """Mass at few widths: w3=0.5 is P{N = 3} = 0.5."""
    p = np.zeros(size)
    for width, share in shares.items():
        p[int(width[1:]) - 1] = share
    return p


@given(distributions(), st.integers(0, 20))
def test_series_equals_exact_arithmetic(p, spare):
    servers = len(p) + spare
    exact = oracle.by_group_sizes(p, servers)
    assert constant(floats(p), servers) == pytest.approx(float(exact), rel=1e-14)
    if spare == 0:
        enumerated = theory.stability_constant(floats(p), "partitions")
        assert enumerated == pytest.approx(float(exact), rel=1e-14)


@given(distributions(), st.integers(0, 30))
def test_constants_of_all_numbers_of_servers(p, spare):
    found = theory.stability_constants(floats(p), len(p) + spare)
    single = [constant(floats(p), s) for s in range(len(p), len(p) + spare + 1)]
    assert found.tolist() == pytest.approx(single, rel=1e-14)
    # K never falls when a server is added.
    assert np.all(np.diff(found) <= 1e-15)
    # Servers are never more than busy.
    mean = float(sum(k * x for k, x in enumerate(p, 1)))
    assert np.all(found * np.arange(len(p), len(p) + spare + 1) >= mean * (1 - 1e-14))


@given(distributions(), st.integers(1, 14))
def test_bounds_hold_and_close(p, depth):
    low, high = theory.stability_bounds(floats(p), depth)
    exact = float(oracle.by_group_sizes(p))
    assert low <= exact * (1 + 1e-14)
    assert exact <= high * (1 + 1e-14)
    deeper = theory.stability_bounds(floats(p), depth + 1)
    assert low <= deeper.low * (1 + 1e-14)
    assert deeper.high <= high * (1 + 1e-14)
    if depth >= len(p):
        assert low == high
    assert theory.stability_constant(floats(p), "depth", depth=depth) <= low * (1 + 1e-14)


@given(distributions(8), st.floats(0.01, 40.0))
def test_smallest_stable_is_the_first(p, offered):
    found = theory.smallest_stable(offered / 7, 7.0, floats(p))
    widest = max(k for k, share in enumerate(p, 1) if share)
    used = floats(p)[:widest]
    loads = offered * theory.stability_constants(used, found)
    assert loads[-1] < 1
    assert np.all(loads[:-1] >= 1)


def test_smallest_stable_on_a_large_machine():
    """12,000 servers would be busy all the time; what waits costs one more."""
    p = [0.4, 0.3, 0.2, 0.1]
    found = theory.smallest_stable(3000.0, 2.0, p)
    loads = 6000 * theory.stability_constants(p, found)[-2:]
    assert loads[1] < 1 <= loads[0]
    assert 12_000 < found < 12_010


@pytest.mark.parametrize("servers", [1, 2, 3, 10, 999, MANY])
def test_narrowest_and_widest(servers):
    ones = peaked(servers, w1=1.0)
    full = np.zeros(servers)
    full[-1] = 1.0
    assert theory.stability_constant(ones) == pytest.approx(1 / servers, rel=1e-15)
    assert theory.stability_constant(full) == 1.0


@pytest.mark.parametrize("power", range(7))
@pytest.mark.parametrize("shape", ["uniform", "geometric", "rare", "steep"])
def test_every_number_of_servers_gives_a_number_in_range(power, shape):
    servers = 10**power
    k = np.arange(1.0, servers + 1)
    with np.errstate(under="ignore"):
        p = {
            "uniform": np.ones(servers),
            "geometric": 0.5 ** np.minimum(k, 2000),
            "rare": np.where(k == 1, 1e-300, k == servers),
            "steep": k**-4.0,
        }[shape]
    found = theory.stability_constant(p / p.sum())
    assert 1 / servers <= found <= 1
    mean = float(np.dot(k, p) / p.sum())
    assert found * servers >= mean * (1 - 1e-9)


def test_uniform_widths_tend_to_a_limit():
    """With s large the widths are uniform on (0, s): P{K >= i} = 1/i!, so E[1/K] = e - 2."""
    p = np.full(100_000, 1e-5)
    assert theory.stability_constant(p) == pytest.approx(math.e - 2, abs=1e-5)


def test_few_widths_on_a_million_servers():
    """K is nearly normal, so E[1/K] is 1/E[K] to the order of its relative variance."""
    p = [0.3, 0.7]
    found = constant(np.array(p), MANY)
    assert found == pytest.approx(1.7 / MANY, rel=1e-6)
    wide = theory.stability_constant(np.append(p, np.zeros(MANY - 2)))
    assert wide == pytest.approx(found, rel=1e-14)


@pytest.mark.parametrize("shape", ["uniform", "harmonic", "steep", "two"])
def test_transforms_agree_with_sums(shape):
    """Error in proportion to 1e-16 / C."""
    servers = 20_000
    k = np.arange(1.0, 3001.0)
    p = {"uniform": k**0, "harmonic": 1 / k, "steep": k**-4.0, "two": 0.0 + (k < 3)}[shape]
    p = p / p.sum()
    direct = _series.logarithm(p, servers)
    quick = _series.logarithm(p, servers, direct=0)
    tail = _series.tails(p)
    one_by_one = _series.curve(direct, tail)
    at_once = _series.curve(quick, tail, direct=0)
    assert len(one_by_one) == len(at_once) == servers - len(p) + 1
    assert np.abs(quick - direct).max() <= 1e-14
    assert at_once == pytest.approx(one_by_one, rel=1e-10)


def test_tails_keep_what_rounding_drops():
    """A plain running sum is off by 1e-11 here."""
    expected = np.arange(MANY, 0, -1) * (1 / MANY)
    found = _series.tails(np.full(MANY, 1 / MANY))
    assert np.abs(found / expected - 1).max() <= 3e-16


def test_a_width_that_hardly_occurs_changes_nothing():
    assert theory.stability_constant([1e-300, 0, 0, 1.0]) == 1.0
    almost = theory.stability_constant([1.0, 0, 0, 1e-300])
    assert almost == pytest.approx(0.25, rel=1e-15)
    for method in ("partitions", "depth", "monte-carlo"):
        assert theory.stability_constant([1e-300, 0, 0, 1.0], method) == pytest.approx(1.0)


def test_estimates_cover_the_constant_as_often_as_they_say():
    """Of 200 intervals of 90 %, 180 are expected to cover; 165 to 194 do with 99.9 %."""
    p = [0.4, 0.3, 0.2, 0.1]
    covered = sum(0.6382 in theory.estimate_stability_constant(p, 500, i, 0.9) for i in range(200))
    assert 165 <= covered <= 194


def test_estimates_repeat_with_the_seed():
    first, again, other = (
        theory.stability_constant([0.1] * 10, "monte-carlo", samples=1000, seed=seed)
        for seed in (1, 1, 2)
    )
    assert first == again != other


@pytest.mark.parametrize(
    ("p", "told"),
    [
        ([], "give a list of probabilities"),
        ([[0.5, 0.5]], "give a list of probabilities"),
        ([0.5, math.nan], r"p\[1\] = nan"),
        ([1.5, -0.5], r"p\[1\] = -0.5"),
        ([0.5, 0.4], "p sums to 0.9, not to 1"),
        ([math.inf], r"p\[0\] = inf"),
    ],
)
def test_bad_widths_are_named_in_one_line(p, told):
    for ask in (
        theory.stability_constant,
        theory.stability_bounds,
        theory.estimate_stability_constant,
        lambda p: theory.stability_constants(p, 10),
        lambda p: theory.smallest_stable(1.0, 1.0, p),
        lambda p: theory.max_arrival_rate(p, 1.0),
    ):
        with pytest.raises(OptionError, match=told) as caught:
            ask(p)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("ask", "told"),
    [
        (lambda: theory.stability_constant([1.0], "guess"), "method = 'guess': use 'series'"),
        (lambda: theory.stability_constant([1.0], "depth", depth=0), "depth = 0"),
        (lambda: theory.stability_constants([0.5, 0.5], 1), "servers = 1: p has widths to 2"),
        (lambda: theory.stability_load(-1.0, 1.0, [1.0]), "arrival_rate = -1"),
        (lambda: theory.stability_load(1.0, 0.0, [1.0]), "mean_service = 0"),
        (lambda: theory.max_arrival_rate([1.0], math.nan), "mean_service = nan"),
        (lambda: theory.smallest_stable(1e6, 3600.0, [1.0]), "look at the units"),
        (lambda: theory.estimate_stability_constant([1.0], 1), "samples = 1"),
        (lambda: theory.estimate_stability_constant([1.0], confidence=1.0), "confidence = 1"),
        (
            lambda: theory.estimate_stability_constant(peaked(MANY, w1=1.0)),
            "would draw some 1e.11 jobs",
        ),
    ],
)
def test_other_bad_arguments(ask, told):
    with pytest.raises(OptionError, match=told) as caught:
        ask()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("servers", "count"), [(100, "has 1.64e.09"), (1000, "has 6.13e.32"), (MANY, "has more than")]
)
def test_enumeration_refuses_what_would_never_end(servers, count):
    with pytest.raises(OptionError, match=count):
        theory.stability_constant(np.full(servers, 1 / servers), "partitions")


def test_enumeration_counts_only_widths_that_occur():
    p = peaked(1000, w100=0.5, w250=0.25, w1000=0.25)
    assert theory.stability_constant(p, "partitions") == pytest.approx(
        theory.stability_constant(p), rel=1e-14
    )


def test_bounds_of_many_widths_by_transforms():
    p = np.random.default_rng(4).dirichlet(np.ones(60))
    given = np.arange(1, 61), p, np.append(tails(p), 0.0), 60, 5
    for ours, direct in zip(sizes_to_depth(*given, direct=0), sizes_to_depth(*given), strict=True):
        assert ours == pytest.approx(direct, abs=1e-15)


def test_an_interval_holds_its_value_when_all_groups_are_alike():
    found = theory.estimate_stability_constant([1.0, 0.0, 0.0], 1000)
    assert found.low == found.value == found.high == 1 / 3
