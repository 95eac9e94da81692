"""Estimate models."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sojourn.errors import OptionError
from sojourn.jobs.estimates import (
    MODELS,
    POPULAR,
    apply_estimates,
    estimate_runtimes,
    exact,
    factor,
    tsafrir,
    uniform,
)
from sojourn.jobs.models.stream import streams
from sojourn.jobs.table import Jobs

RUNTIMES = np.exp(np.random.default_rng(4).uniform(0, np.log(100_000), 20_000))
ROUND = np.array([value for value, _ in POPULAR])


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def jobs_of(runtime: np.ndarray) -> Jobs:
    n = len(runtime)
    return Jobs({"submit": np.arange(n), "runtime": runtime, "procs": np.ones(n, dtype=int)})


def test_exact_is_a_copy_of_the_runtime():
    estimate = exact(RUNTIMES, rng())
    np.testing.assert_array_equal(estimate, RUNTIMES)
    assert estimate is not RUNTIMES


def test_factor_multiplies():
    np.testing.assert_array_equal(factor(RUNTIMES, rng(), f=3.0), RUNTIMES * 3.0)


def test_uniform_stretches_by_up_to_f():
    extra = uniform(RUNTIMES, rng(), f=4.0) / RUNTIMES - 1.0
    assert extra.min() >= 0.0
    assert extra.max() < 4.0
    # Mean 2, standard deviation 4 / sqrt(12), 20,000 draws: 4.5 standard errors are 0.037.
    assert extra.mean() == pytest.approx(2.0, abs=0.037)


@settings(max_examples=60)
@given(
    runtime=st.lists(st.floats(0.0, 1e7), min_size=1, max_size=60),
    model=st.sampled_from(sorted(MODELS)),
    seed=st.integers(0, 10),
)
def test_no_estimate_is_below_its_runtime(runtime, model, seed):
    estimate = estimate_runtimes(runtime, model, rng(seed))
    assert (estimate >= np.array(runtime)).all()
    assert np.isfinite(estimate).all()


def test_tsafrir_uses_round_values_and_the_maximum_most():
    estimate = tsafrir(RUNTIMES, rng())
    values, counts = np.unique(estimate, return_counts=True)
    # The longest runtime, just under 27.8 h, is rounded up to 36 h.
    assert values.tolist() == ROUND[ROUND <= 36 * 3600].tolist()
    assert values[np.argmax(counts)] == 36 * 3600.0


def test_tsafrir_popularity_is_as_given_when_runtimes_allow():
    runtime = np.full(50_000, 60.0)
    estimate = tsafrir(runtime, rng(), maximum=3600.0)
    weight = {value: w for value, w in POPULAR if value < 3600.0} | {3600.0: 0.12}
    total = sum(weight.values())
    for value, w in weight.items():
        share = w / total
        # Binomial counts: 4.5 standard deviations.
        bound = 4.5 * np.sqrt(share * (1 - share) / len(runtime))
        assert np.mean(estimate == value) == pytest.approx(share, abs=bound)


def test_tsafrir_accuracy_is_about_uniform_for_jobs_longer_than_the_shortest_value():
    estimate = tsafrir(RUNTIMES, rng())
    accuracy = (RUNTIMES / estimate)[RUNTIMES > 300.0]
    tenths = np.histogram(accuracy, 10, (0.0, 1.0))[0] / len(accuracy)
    # Uniform is 0.1 each. Rounding up empties the last tenth, dealing out of the pool fills the
    # first: within a factor of two and a bit in between.
    assert (tenths[1:9] > 0.04).all()
    assert (tenths[1:9] < 0.2).all()
    assert tenths[0] < 0.3


def test_tsafrir_rounds_up_when_popular_values_run_out():
    runtime = np.full(1000, 47 * 3600.0)
    assert (tsafrir(runtime, rng()) == 48 * 3600.0).all()


def test_tsafrir_beyond_two_days_goes_by_days():
    estimate = tsafrir(np.array([60.0, 5.2 * 86400.0]), rng())
    assert estimate[1] == 6 * 86400.0


def test_apply_estimates_changes_only_estimates():
    jobs = jobs_of(RUNTIMES[:500])
    after = apply_estimates(jobs, "tsafrir", seed=3)
    assert (after.estimate >= jobs.runtime).all()
    assert (jobs.estimate == -1).all()
    for name in ("submit", "runtime", "procs", "job"):
        np.testing.assert_array_equal(after[name], jobs[name])
    np.testing.assert_array_equal(after.estimate, apply_estimates(jobs, "tsafrir", seed=3).estimate)
    assert (after.estimate != apply_estimates(jobs, "tsafrir", seed=4).estimate).any()


def test_estimates_do_not_use_the_numbers_that_jobs_are_drawn_with():
    seen = []

    def look(runtime, rng):
        seen.append(rng.random())
        return runtime

    apply_estimates(Jobs({"submit": [0.0], "runtime": [1.0], "procs": [1]}), look, seed=3)
    assert seen[0] not in [rng.random() for rng in streams(3, 50)]


def test_apply_estimates_takes_a_number_and_a_function():
    jobs = jobs_of(np.array([10.0, 20.0]))
    assert apply_estimates(jobs, 1.5).estimate.tolist() == [15.0, 30.0]
    assert apply_estimates(jobs, lambda r, rng: r + 1.0).estimate.tolist() == [11.0, 21.0]
    assert apply_estimates(jobs, "factor", f=4).estimate.tolist() == [40.0, 80.0]


def test_unknown_runtimes_stay_without_estimate():
    jobs = jobs_of(np.array([10.0, -1.0, 20.0]))
    assert apply_estimates(jobs, 2.0).estimate.tolist() == [20.0, -1.0, 40.0]


@pytest.mark.parametrize(
    ("model", "parameters", "says"),
    [
        ("guess", {}, "'guess' is unknown"),
        ("factor", {"f": 0.5}, "f is 0.5"),
        (0.9, {}, "f is 0.9"),
        ("uniform", {"f": -1.0}, "f is -1.0"),
        ("tsafrir", {"maximum": 10.0}, "longest runtime"),
        ("tsafrir", {"f": 2.0}, "no parameter 'f'"),
        (lambda r, rng: r * 0.5, {}, "below the runtime"),
        (lambda r, rng: r[:1], {}, "another number"),
    ],
)
def test_bad_models_say_so_in_one_line(model, parameters, says):
    with pytest.raises(OptionError, match=says) as caught:
        apply_estimates(jobs_of(np.array([10.0, 20.0])), model, **parameters)
    assert "\n" not in str(caught.value)
