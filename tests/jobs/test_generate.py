"""Distributions and the streams made of them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from sojourn.errors import OptionError
from sojourn.jobs.models import (
    Deterministic,
    Discrete,
    Empirical,
    Erlang,
    Exponential,
    GeometricWidths,
    Hyperexponential,
    PoissonProcess,
    UniformWidths,
    generate,
    streams,
)

N = 200_000
# A sample mean lies within 4.5 standard errors of the mean but for 7 runs in a million; the seeds
# are fixed, so a failure means the distribution changed.
SIGMAS = 4.5

# name, distribution, mean, variance: the right-hand sides are worked out by hand.
CASES = [
    ("exponential", Exponential(3.0), 3.0, 9.0),
    ("poisson", PoissonProcess(0.25), 4.0, 16.0),
    ("hyperexponential", Hyperexponential((0.25, 0.75), (6.0, 2.0)), 3.0, 2 * 12.0 - 9.0),
    ("hyperexponential cv2", Hyperexponential.with_cv2(5.0, 8.0), 5.0, 8.0 * 25.0),
    ("deterministic", Deterministic(7.0), 7.0, 0.0),
    ("erlang", Erlang(4, 10.0), 10.0, 25.0),
    ("uniform widths", UniformWidths(3, 10), 6.5, (8**2 - 1) / 12),
    (
        "geometric widths",
        GeometricWidths(0.5, 3),
        11 / 7,
        4 / 7 + 2 / 7 * 4 + 9 / 7 - (11 / 7) ** 2,
    ),
    ("discrete", Discrete((1, 2, 8), (0.5, 0.25, 0.25)), 3.0, 0.5 + 1 + 16 - 9),
    ("bootstrap", Empirical([1.0, 2.0, 6.0]), 3.0, 14 / 3),
]


@pytest.mark.parametrize(("name", "law", "mean", "variance"), CASES, ids=[c[0] for c in CASES])
def test_moments(name, law, mean, variance):
    drawn = law.sample(np.random.default_rng(7), N).astype(float)
    assert drawn.shape == (N,)
    assert law.mean == pytest.approx(mean, rel=1e-12)
    assert abs(drawn.mean() - mean) <= SIGMAS * math.sqrt(variance / N)
    # Fourth moments of all cases keep the sample variance within 10 %.
    assert drawn.var() == pytest.approx(variance, rel=0.1)


@pytest.mark.parametrize(
    ("law", "cdf"),
    [
        (Exponential(3.0), stats.expon(scale=3.0).cdf),
        (Erlang(4, 10.0), stats.gamma(4, scale=2.5).cdf),
        (
            Hyperexponential((0.3, 0.7), (10.0, 1.0)),
            lambda x: 1 - 0.3 * np.exp(-x / 10) - 0.7 * np.exp(-x),
        ),
    ],
)
def test_whole_distribution(law, cdf):
    assert stats.kstest(law.sample(np.random.default_rng(3), 20_000), cdf).pvalue > 0.001


def test_geometric_widths_have_the_truncated_probabilities():
    widths = GeometricWidths(0.3, 6).sample(np.random.default_rng(1), N)
    weight = 0.7 ** np.arange(6)
    expected = N * weight / weight.sum()
    assert stats.chisquare(np.bincount(widths, minlength=7)[1:], expected).pvalue > 0.001


@given(mean=st.floats(1e-3, 1e6), cv2=st.floats(1.0, 1e4))
def test_with_cv2_has_the_cv2_and_balanced_means(mean, cv2):
    law = Hyperexponential.with_cv2(mean, cv2)
    (p1, p2), (m1, m2) = law.probs, law.means
    assert law.mean == pytest.approx(mean, rel=1e-9)
    assert law.cv2 == pytest.approx(cv2, rel=1e-6)
    assert p1 * m1 == pytest.approx(p2 * m2, rel=1e-9)


@given(p=st.floats(1e-6, 1 - 1e-6), high=st.integers(1, 5000), seed=st.integers(0, 99))
def test_geometric_widths_stay_in_range(p, high, seed):
    law = GeometricWidths(p, high)
    widths = law.sample(np.random.default_rng(seed), 200)
    assert widths.min() >= 1
    assert widths.max() <= high
    assert 1.0 <= law.mean <= high


def test_replay_keeps_the_order_and_refuses_to_invent():
    law = Empirical([5, 1, 3], how="replay")
    assert law.sample(np.random.default_rng(0), 2).tolist() == [5, 1]
    with pytest.raises(OptionError, match="3 to replay"):
        law.sample(np.random.default_rng(0), 4)


def test_empirical_keeps_its_own_copy():
    mine = np.array([1.0, 2.0])
    law = Empirical(mine)
    mine[0] = 100.0
    assert law.mean == 1.5


def stream(**changes):
    laws = {
        "interarrival": PoissonProcess(0.1),
        "work": Exponential(30.0),
        "width": UniformWidths(1, 8),
        **changes,
    }
    return generate(500, seed=11, **laws)


def test_same_seed_same_jobs():
    a, b = stream(), stream()
    for name in ("submit", "runtime", "procs", "estimate"):
        np.testing.assert_array_equal(a[name], b[name])
    other = generate(500, PoissonProcess(0.1), Exponential(30.0), UniformWidths(1, 8), seed=12)
    assert (other.submit[1:] != a.submit[1:]).all()


@pytest.mark.parametrize(
    ("changed", "law", "kept"),
    [
        ("interarrival", Hyperexponential.with_cv2(10.0, 5.0), ["runtime", "procs"]),
        ("work", Erlang(3, 9.0), ["submit", "procs"]),
        ("width", GeometricWidths(0.4, 8), ["submit", "runtime"]),
    ],
)
def test_common_random_numbers(changed, law, kept):
    column = {"interarrival": "submit", "work": "runtime", "width": "procs"}[changed]
    before, after = stream(), stream(**{changed: law})
    for name in kept:
        np.testing.assert_array_equal(before[name], after[name])
    assert (before[column] != after[column]).any()


def test_scaling_a_mean_scales_every_draw():
    fast, slow = stream(), stream(interarrival=PoissonProcess(0.05))
    np.testing.assert_allclose(slow.submit, 2 * fast.submit, rtol=1e-12)


def test_first_job_arrives_at_zero_and_the_gaps_follow():
    gaps = [9.0, 1.0, 2.0, 4.0]
    jobs = generate(
        4, Empirical(gaps, "replay"), Deterministic(5.0), Deterministic(2), seed=0, servers=4
    )
    assert jobs.submit.tolist() == [0.0, 1.0, 3.0, 7.0]
    assert jobs.runtime.tolist() == jobs.estimate.tolist() == jobs.work.tolist() == [5.0] * 4
    assert jobs.procs.tolist() == [2] * 4
    assert jobs.max_procs == 4


def test_streams_are_different_and_repeatable():
    a, b = streams(5, 2)
    c, _ = streams(5, 2)
    first = a.random(4)
    assert (first == c.random(4)).all()
    assert (first != b.random(4)).all()


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Exponential(0.0), "mean is 0.0"),
        (lambda: Exponential(math.nan), "mean is nan"),
        (lambda: PoissonProcess(-1.0), "rate is -1.0"),
        (lambda: Hyperexponential((0.5, 0.6), (1.0, 2.0)), "sum to 1.1"),
        (lambda: Hyperexponential((1.5, -0.5), (1.0, 2.0)), r"outside \[0, 1\]"),
        (lambda: Hyperexponential((1.0,), (1.0, 2.0)), "1 probabilities for 2"),
        (lambda: Hyperexponential((0.5, 0.5), (1.0, -2.0)), "means is -2.0"),
        (lambda: Hyperexponential.with_cv2(1.0, 0.5), "cv2 is 0.5"),
        (lambda: Deterministic(-1.0), "value is -1.0"),
        (lambda: Erlang(0, 1.0), "k is 0"),
        (lambda: Erlang(2, -1.0), "mean is -1.0"),
        (lambda: UniformWidths(0, 4), "low is 0"),
        (lambda: UniformWidths(5, 4), "high is 4"),
        (lambda: GeometricWidths(1.0, 4), "p is 1.0"),
        (lambda: GeometricWidths(0.5, 0), "high is 0"),
        (lambda: Discrete((1, 2), (0.5, 0.4)), "sum to 0.9"),
        (lambda: Discrete((), ()), "0 probabilities"),
        (lambda: Discrete((1, -2), (0.5, 0.5)), "negative"),
        (lambda: Empirical([]), "at least one"),
        (lambda: Empirical([1.0, math.inf]), "finite"),
        (lambda: Empirical([1.0], how="shuffle"), "shuffle"),
        (lambda: generate(0, *[Deterministic(1)] * 3), "n is 0"),
        (lambda: generate(3, *[Deterministic(1)] * 3, seed=-1), "seed is -1"),
        (lambda: generate(3, *[Deterministic(1)] * 3, servers=0), "servers is 0"),
        (lambda: generate(3, *[Deterministic(1.5)] * 3), "width of 1.5"),
        (lambda: generate(3, *[Deterministic(0)] * 3), "width of 0"),
        (lambda: generate(3, *[Deterministic(9)] * 3, servers=8), "8 servers"),
    ],
)
def test_bad_parameters_say_so_in_one_line(make, says):
    with pytest.raises(OptionError, match=says) as caught:
        make()
    assert "\n" not in str(caught.value)
