"""Estimators against their definitions, and what they refuse."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle import confidence as oracle
from scipy import stats

import sojourn
from sojourn import OptionError
from sojourn.measures.warmup import mser
from sojourn.study.batches import batch_means, batch_quantile, correlation_test, split
from sojourn.study.intervals import (
    Interval,
    bootstrap_interval,
    mean_interval,
    quantile_interval,
    sectioned_quantile,
)
from sojourn.study.paired import compare_pairs, holm, paired_difference, relative_change
from sojourn.study.ratios import ratio_interval, regeneration_points, regenerative_interval
from sojourn.study.sequential import (
    further_replications,
    is_precise,
    replicate,
    replications_needed,
)

VALUES = st.lists(st.integers(-1000, 1000), min_size=3, max_size=40)
RNG = np.random.default_rng


def correlated(n, memory, seed=0):
    """A sequence whose neighbours are alike: x_i = memory x_{i-1} + noise."""
    noise = RNG(seed).normal(size=n)
    found = np.empty(n)
    found[0] = noise[0] / math.sqrt(1 - memory**2)
    for i in range(1, n):
        found[i] = memory * found[i - 1] + noise[i]
    return found


class TestIntervals:
    @given(VALUES)
    def test_mean(self, values):
        found = mean_interval(values, level=0.9)
        error = math.sqrt(oracle.covariance(values, values) / len(values))
        half = stats.t.ppf(0.95, len(values) - 1) * error
        assert found.estimate == pytest.approx(oracle.mean(values))
        assert found.half_width == pytest.approx(half)
        assert (found.level, found.n, found.method) == (0.9, len(values), "Student t")

    def test_one_replication_has_no_interval(self):
        found = mean_interval([5.0])
        assert found.estimate == 5
        assert math.isnan(found.low)
        assert math.isnan(found.high)
        assert 5.0 not in found

    def test_half_widths(self):
        found = Interval(-4.0, -5.0, -3.0, 0.95, 7, "")
        assert (found.half_width, found.relative_half_width) == (1.0, 0.25)
        assert replace(found, estimate=0.0).relative_half_width == math.inf
        assert replace(found, estimate=0.0, low=0.0, high=0.0).relative_half_width == 0
        assert found.as_dict()["low"] == -5

    @pytest.mark.parametrize("n", [1, 5, 20, 59, 200])
    @pytest.mark.parametrize("q", [Fraction(1, 2), Fraction(19, 20)])
    def test_quantile_has_at_least_its_level_and_no_shorter_tail(self, n, q):
        found = quantile_interval(np.arange(1.0, n + 1), float(q))
        first = 0 if found.low == -math.inf else int(found.low)
        last = n + 1 if found.high == math.inf else int(found.high)
        assert oracle.between_order_statistics(n, q, first, last) >= Fraction(95, 100)
        tail = Fraction(25, 1000)
        # One value further in, either end would be too short.
        assert oracle.between_order_statistics(n, q, 0, first + 1) > tail
        if last <= n:
            assert oracle.between_order_statistics(n, q, last - 1, n + 1) > tail
        assert found.estimate == oracle.quantile(range(1, n + 1), q)

    @given(VALUES)
    def test_sectioned_quantile(self, values):
        sections = [values, values[1:], values[::2]]
        found = sectioned_quantile(sections, 0.75)
        q = Fraction(3, 4)
        whole = oracle.quantile([x for part in sections for x in part], q)
        spread = sum((oracle.quantile(part, q) - whole) ** 2 for part in sections) / 2
        assert found.estimate == whole
        assert found.half_width == pytest.approx(stats.t.ppf(0.975, 2) * math.sqrt(spread / 3))

    @pytest.mark.parametrize("statistic", [np.mean, np.std, partial(np.quantile, q=0.3)])
    def test_bootstrap_is_bca_at_a_wider_level(self, statistic):
        values = RNG(5).exponential(size=20)
        found = bootstrap_interval(values, statistic, draws=3000, seed=8)
        drawn = [statistic(values[rows]) for rows in RNG(8).integers(0, 20, (3000, 20))]
        left = [statistic(np.delete(values, k)) for k in range(20)]
        reach = stats.t.ppf(0.975, 19) * math.sqrt(20 / 19)
        levels = oracle.bca_levels(statistic(values), drawn, left, reach)
        assert found.estimate == pytest.approx(statistic(values))
        assert (found.low, found.high) == pytest.approx(tuple(np.quantile(drawn, levels)))
        # Wider than without the correction for the size of the sample.
        plain = oracle.bca_levels(statistic(values), drawn, left, stats.norm.ppf(0.975))
        assert levels[0] < plain[0] < plain[1] < levels[1]

    def test_bootstrap_of_what_does_not_vary(self):
        found = bootstrap_interval([3.0] * 8)
        assert (found.estimate, found.low, found.high) == (3, 3, 3)
        assert math.isnan(bootstrap_interval([3.0]).low)
        values = RNG(0).random(9)
        most = bootstrap_interval(values, np.max, draws=500)
        assert most.low <= most.estimate == most.high == values.max()

    def test_bootstrap_repeats_itself(self):
        values = RNG(1).random(12)
        once, again = (bootstrap_interval(values, seed=4) for _ in range(2))
        assert once == again
        assert once != bootstrap_interval(values, seed=5)


class TestWarmUp:
    @given(st.lists(st.integers(-99, 99), min_size=10, max_size=80), st.sampled_from([1, 2, 5]))
    def test_mser(self, values, batch):
        values = values * batch
        count = len(values) // batch
        assert mser(values, batch=batch).cut == oracle.mser(values, batch, count // 2)

    def test_what_is_high_at_first_is_cut(self):
        values = RNG(2).normal(10.0, 1.0, 1000)
        values[:100] += np.linspace(50, 0, 100)
        found = mser(values)
        assert 80 <= found.cut <= 110
        assert found.settled
        assert found.n == 1000
        assert found.cut % 5 == 0

    def test_a_run_that_never_settles_is_told(self):
        found = mser(np.arange(500.0))
        assert (found.cut, found.settled) == (250, False)

    def test_replications_are_averaged(self):
        table = RNG(3).normal(size=(7, 200))
        table[:, :20] += 9
        assert mser(table) == mser(table.mean(axis=0))
        assert 20 <= mser(table).cut <= 40
        assert {mser(row).cut for row in table} != {mser(table).cut}

    def test_large_offsets_do_not_cancel(self):
        """Where squares of values have no digits left for their spread."""
        values = RNG(4).integers(0, 100, 300)
        values[:50] += 200
        assert mser(values + 1e9).cut == mser(values).cut == 50

    def test_too_few(self):
        with pytest.raises(OptionError, match=r"49 are too few .* at least 50"):
            mser(np.zeros(49))
        with pytest.raises(OptionError, match="one row for each replication"):
            mser(np.zeros((2, 2, 2)))


class TestBatches:
    @given(st.lists(st.integers(-99, 99), min_size=12, max_size=60), st.integers(2, 6))
    def test_batch_means(self, values, count):
        found = batch_means(values, batches=count)
        size = len(values) // count
        kept = values[len(values) - size * count :]
        means = [oracle.mean(kept[k * size : (k + 1) * size]) for k in range(count)]
        error = math.sqrt(oracle.covariance(means, means) / count)
        assert found.estimate == pytest.approx(oracle.mean(means))
        assert found.half_width == pytest.approx(stats.t.ppf(0.975, count - 1) * error)
        assert found.n == count

    def test_correlation_test(self):
        means = RNG(6).normal(size=25)
        z = oracle.von_neumann(means.tolist())
        assert correlation_test(means) == pytest.approx(stats.norm.sf(z))
        assert correlation_test(np.arange(20.0)) < 1e-4
        assert correlation_test([1.0, -1.0] * 10) > 0.999
        assert correlation_test([2.0] * 5) == 1

    def test_independent_values_get_many_batches(self):
        counts = [batch_means(RNG(k).normal(size=3000)).n for k in range(20)]
        assert np.median(counts) >= 29

    def test_the_fewer_the_longer_the_memory(self):
        assert batch_means(correlated(3000, 0.2, seed=1)).n > 20
        short = batch_means(correlated(3000, 0.9995, seed=1))
        assert (short.n, short.method) == (10, "batch means, correlated")
        plain = batch_means(correlated(3000, 0.9995, seed=1), batches=10)
        assert short.estimate == plain.estimate
        assert plain.half_width < short.half_width < 5 * plain.half_width
        assert batch_quantile(correlated(3000, 0.9995, seed=1), 0.5).method.endswith("correlated")

    def test_quantile_by_sections(self):
        values = RNG(7).exponential(size=4003)
        found = batch_quantile(values, 0.9, batches=8)
        assert replace(found, method="sectioning") == sectioned_quantile(split(values, 8), 0.9)
        # A high quantile needs long batches: 4003 * 0.05 / 50 is below 10.
        assert batch_quantile(values, 0.95).n == 10
        assert batch_quantile(values, 0.5).n > 10

    def test_a_quantile_needs_values_beyond_it(self):
        values = RNG(3).exponential(size=1000)
        assert batch_quantile(values, 0.99).n == 10
        with pytest.raises(OptionError, match=r"999 are too few .* give at least 1000"):
            batch_quantile(values[1:], 0.99)

    def test_what_does_not_vary(self):
        found = batch_means(np.full(100, 2.0))
        assert (found.estimate, found.half_width, found.n) == (2, 0, 30)

    def test_refusals(self):
        with pytest.raises(OptionError, match="19 are too few for 10 batches"):
            batch_means(np.zeros(19))
        with pytest.raises(OptionError, match="batches = 21: there are 20 values"):
            batch_means(np.zeros(20), batches=21)
        with pytest.raises(OptionError, match="at least 2"):
            batch_means(np.zeros(20), batches=1)


class TestRegeneration:
    @given(
        st.lists(st.tuples(st.integers(0, 9), st.integers(0, 12)), min_size=1, max_size=40),
    )
    def test_points(self, jobs):
        submit = np.cumsum([gap for gap, _ in jobs]).tolist()
        end = [t + stay for t, (_, stay) in zip(submit, jobs, strict=True)]
        assert regeneration_points(submit, end).tolist() == oracle.finds_empty(submit, end)

    @pytest.mark.parametrize("method", ["delta", "jackknife"])
    def test_interval(self, method):
        rng = RNG(8)
        lengths = rng.geometric(0.2, 60)
        points = np.concatenate([[0], np.cumsum(lengths)])
        values = rng.exponential(size=points[-1] + 4)
        found = regenerative_interval(values, points, method=method)
        sums = [values[a:b].sum() for a, b in pairwise(points)]
        estimate, error = (oracle.ratio if method == "delta" else oracle.jackknife)(
            sums, lengths.tolist()
        )
        assert found.estimate == pytest.approx(estimate)
        assert found.half_width == pytest.approx(stats.t.ppf(0.975, 59) * error)
        assert (found.n, found.method) == (60, f"regenerative, {method}")

    def test_a_job_before_the_first_point_is_left_out(self):
        points = np.arange(0, 70, 2)
        values = np.ones(70)
        values[:2] = 100
        assert regenerative_interval(values, points[1:]).estimate == 1

    def test_refusals(self):
        with pytest.raises(OptionError, match=r"3 complete cycles, of at least 30.* batch_means"):
            regenerative_interval(np.ones(9), [0, 2, 4, 6])
        with pytest.raises(OptionError, match="ascending places from 0 to 8"):
            regenerative_interval(np.ones(9), [0, 2, 12])
        with pytest.raises(OptionError, match="give places of jobs"):
            regenerative_interval(np.ones(9), [0.5, 2])
        with pytest.raises(OptionError, match="goes back in time"):
            regeneration_points([1, 0], [2, 2])


PAIRS = st.lists(
    st.tuples(st.integers(-50, 50), st.integers(20, 60)), min_size=3, max_size=20
).filter(lambda rows: len(set(rows)) > 2)


class TestRatios:
    @given(PAIRS)
    def test_fieller_has_all_ratios_that_are_not_told_from_the_true_one(self, rows):
        x, y = (np.array(column, float) for column in zip(*rows, strict=True))
        found = ratio_interval(x, y)

        def told_apart(r):
            gap = x - r * y
            error = math.sqrt(oracle.covariance(gap.tolist(), gap.tolist()) / len(gap))
            return abs(gap.mean()) / error - stats.t.ppf(0.975, len(gap) - 1)

        if found.method == "fieller, unbounded":
            assert (found.low, found.high) == (-math.inf, math.inf)
            assert y.mean() / (y.std(ddof=1) / math.sqrt(len(y))) <= stats.t.ppf(0.975, len(y) - 1)
        elif found.half_width > 1e-6:
            for end, outside in ((found.low, -1), (found.high, 1)):
                assert told_apart(end + outside * 1e-3 * found.half_width) > 0
                assert told_apart(end - outside * 1e-3 * found.half_width) < 0

    @given(PAIRS)
    def test_delta_and_jackknife(self, rows):
        x, y = (list(map(float, column)) for column in zip(*rows, strict=True))
        reach = stats.t.ppf(0.975, len(x) - 1)
        for method, definition in (("delta", oracle.ratio), ("jackknife", oracle.jackknife)):
            found = ratio_interval(x, y, method=method)
            estimate, error = definition(x, y)
            assert found.estimate == pytest.approx(estimate, abs=1e-12)
            assert found.half_width == pytest.approx(reach * error, abs=1e-9)

    def test_geometric_mean_of_pairs_that_differ_by_factors(self):
        luck = RNG(21).lognormal(0.0, 2.0, 12)
        ratios = RNG(22).lognormal(-0.4, 0.05, 12)
        found = ratio_interval(luck * ratios, luck, method="geometric")
        assert found.estimate == pytest.approx(stats.gmean(ratios))
        logs = mean_interval(np.log(ratios))
        assert (found.low, found.high) == pytest.approx((math.exp(logs.low), math.exp(logs.high)))
        assert found.half_width < 0.2 * ratio_interval(luck * ratios, luck).half_width
        with pytest.raises(OptionError, match="some values are not above 0"):
            ratio_interval([1.0, 0.0], [1.0, 1.0], method="geometric")

    def test_a_denominator_that_may_be_zero(self):
        found = ratio_interval([1.0, 2.0, 3.0], [0.1, -0.1, 0.2])
        assert (found.low, found.high) == (-math.inf, math.inf)
        with pytest.raises(OptionError, match="its mean is 0"):
            ratio_interval([1.0, 2.0], [1.0, -1.0])
        with pytest.raises(OptionError, match="all but one are 0"):
            ratio_interval([1.0, 2.0], [1.0, 0.0], method="jackknife")


class TestPairs:
    def test_difference_of_pairs_is_what_scipy_says(self):
        base = RNG(9).exponential(size=15)
        other = base * 0.8 + RNG(10).normal(0, 0.01, 15)
        found = paired_difference(other, base)
        theirs = stats.ttest_rel(other, base)
        ends = theirs.confidence_interval(0.95)
        assert (found.low, found.high) == pytest.approx((ends.low, ends.high))
        (compared,) = compare_pairs({"base": base, "other": other}, "base")
        assert compared.p == compared.adjusted == pytest.approx(theirs.pvalue)
        assert compared.difference == found
        assert compared.change == relative_change(other, base)

    def test_pairs_tell_apart_what_single_intervals_do_not(self):
        luck = 100 + RNG(11).exponential(100.0, 10)
        easy, fcfs = 0.69 * luck + RNG(12).normal(0, 2, 10), luck
        assert mean_interval(easy).high > mean_interval(fcfs).low
        (found,) = compare_pairs({"fcfs": fcfs, "easy": easy}, "fcfs")
        assert found.is_significant
        assert found.change.estimate == pytest.approx(-0.31, abs=0.03)
        change = found.change
        even = replace(change, low=change.estimate - 0.04, high=change.estimate + 0.04)
        words = replace(found, change=even).in_words("mean wait")
        assert words == f"easy: {-change.estimate:.1%} ± 4.0% less mean wait than fcfs"
        (back,) = compare_pairs({"easy": easy, "fcfs": fcfs}, "easy")
        uneven = replace(back.change, estimate=0.45, low=0.4, high=0.52)
        words = replace(back, change=uneven).in_words()
        assert words == "fcfs: 45.0% (40.0% to 52.0%) more than easy"

    def test_words_without_a_ratio(self):
        """A baseline that may be 0 has no share: the difference is told."""
        base = [0.1, -0.1, 0.2, -0.1]
        (found,) = compare_pairs({"a": base, "b": [5.0, 5.1, 4.9, 5.2]}, "a")
        assert found.change.half_width == math.inf
        assert found.in_words() == f"b: 5.025 ± {found.difference.half_width:.4g} more than a"

    def test_no_difference_is_said_so(self):
        base = RNG(13).exponential(size=20)
        (found,) = compare_pairs({"a": base, "b": base + RNG(14).normal(0, 0.1, 20)}, "a")
        assert not found.is_significant
        assert found.in_words("wait").startswith("b and a: no significant difference in wait")
        (same,) = compare_pairs({"a": base, "b": base}, "a")
        assert (same.p, same.difference.estimate) == (1, 0)
        (shifted,) = compare_pairs({"a": [1.0, 2.0], "b": [2.0, 3.0]}, "a")
        assert shifted.p == 0

    @given(st.lists(st.floats(0, 1), max_size=8), st.floats(0.001, 0.999))
    def test_holm(self, p, alpha):
        adjusted = holm(p)
        if not np.any(np.isclose(adjusted, alpha, rtol=1e-9)):
            assert set(np.flatnonzero(adjusted <= alpha)) == oracle.holm(p, alpha)
        assert np.all(adjusted >= p)

    def test_several_at_once(self):
        base = RNG(15).exponential(size=12)
        samples = {f"p{k}": base + RNG(16 + k).normal(0.05 * k, 0.1, 12) for k in range(6)}
        found = compare_pairs({"base": base, **samples}, "base")
        assert [each.name for each in found] == list(samples)
        assert [each.adjusted for each in found] == holm([each.p for each in found]).tolist()

    def test_refusals(self):
        with pytest.raises(OptionError, match="values has 2 numbers, baseline has 3"):
            paired_difference([1, 2], [1, 2, 3])
        with pytest.raises(OptionError, match=r"baseline 'fcsf': .*did you mean 'fcfs'"):
            compare_pairs({"fcfs": [1.0], "easy": [2.0]}, "fcsf")
        with pytest.raises(OptionError, match=r"p\[1\] = 2"):
            holm([0.5, 2.0])


class TestFurtherReplications:
    @pytest.mark.parametrize(
        ("n", "spread", "relative"), [(5, 0.3, 0.1), (10, 1, 0.05), (3, 2, 0.2)]
    )
    def test_against_trying_each(self, n, spread, relative):
        found = replace(mean_interval([1.0] * n), low=1 - spread, high=1 + spread)
        deviation = spread * math.sqrt(n) / stats.t(n - 1).ppf(0.975)
        goal = relative / (1 + relative)
        needed = n
        while stats.t(needed - 1).ppf(0.975) * deviation / math.sqrt(needed) > goal:
            needed += 1
        told = further_replications(found, relative=relative)
        assert needed <= told <= 1.02 * needed + 1

    def test_nothing_to_add(self):
        assert further_replications(mean_interval([1.0, 1.0]), relative=0.1) == 2
        assert further_replications(mean_interval([1.0, -1.0]), relative=0.1) == 2**53


class TestPrecision:
    def test_replications_needed(self):
        values = RNG(17).normal(100.0, 20.0, 12)
        error = stats.t.ppf(0.975, 11) * values.std(ddof=1)
        assert replications_needed(values, absolute=5.0) == math.ceil((error / 5) ** 2)
        goal = 0.05 / 1.05 * values.mean()
        assert replications_needed(values, relative=0.05) == math.ceil((error / goal) ** 2)
        either = replications_needed(values, relative=0.05, absolute=5.0)
        assert either == math.ceil((error / max(goal, 5.0)) ** 2)
        assert replications_needed(values, absolute=1000.0) == 12
        assert replications_needed([3.0, 3.0], relative=0.01) == 2
        assert replications_needed([-1.0, 1.0], relative=0.01) == 2**53

    def test_two_stages(self):
        values = RNG(18).normal(100.0, 20.0, 1000)
        found = replicate(values.__getitem__, absolute=4.0, method="two-stage")
        n = replications_needed(values[:10], absolute=4.0)
        assert found.n == n > 10
        assert found.estimate == pytest.approx(values[:n].mean())
        half = stats.t.ppf(0.975, 9) * values[:10].std(ddof=1) / math.sqrt(n)
        assert found.half_width == pytest.approx(half)
        assert found.half_width <= 4.0

    def test_one_by_one(self):
        values = RNG(19).normal(100.0, 20.0, 1000)
        found = replicate(values.__getitem__, relative=0.05)
        assert replace(found, method="Student t") == mean_interval(values[: found.n])
        assert is_precise(found, relative=0.05)
        for n in range(10, found.n):
            assert not is_precise(mean_interval(values[:n]), relative=0.05)

    def test_not_reached(self):
        values = RNG(20).normal(100.0, 20.0, 30)
        for method in ("sequential", "two-stage"):
            found = replicate(values.__getitem__, absolute=0.5, most=30, method=method)
            assert (found.n, found.method) == (30, f"{method}, not reached")
            assert found.half_width > 0.5

    def test_refusals(self):
        with pytest.raises(OptionError, match="give relative, absolute or both"):
            replications_needed([1.0, 2.0])
        with pytest.raises(OptionError, match="relative = -1: must be above 0"):
            replicate(float, relative=-1)
        with pytest.raises(OptionError, match="least = 1"):
            replicate(float, relative=0.1, least=1)
        with pytest.raises(OptionError, match="choose one of sequential, two-stage"):
            replicate(float, relative=0.1, method="three-stage")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: mean_interval([]), "values: has 0 numbers"),
        (lambda: mean_interval([1.0, math.nan]), r"values\[1\] = nan: not a finite number"),
        (lambda: mean_interval([[1.0]]), "in 2 dimensions; give a column"),
        (lambda: mean_interval([1.0], level=1.0), "level = 1: give a number between 0 and 1"),
        (lambda: mean_interval([1.0], level=95), "level = 95"),
        (lambda: quantile_interval([1.0], 0.0), "q = 0: give a number between 0 and 1"),
        (lambda: sectioned_quantile([[1.0]], 0.5), "sections: there is 1; give at least two"),
        (lambda: sectioned_quantile([[1.0], []], 0.5), r"sections\[1\]: has 0 numbers"),
        (lambda: bootstrap_interval([1.0, 2.0], draws=0), "draws = 0"),
        (lambda: bootstrap_interval([1.0, 2.0], seed=-1), "seed = -1"),
        (lambda: ratio_interval([1.0], [2.0], method="feller"), "choose one of fieller"),
    ],
)
def test_refusals_are_one_line(call, message):
    with pytest.raises(OptionError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_a_run_by_all_methods():
    """Waits of one run, from the engine to each interval."""
    jobs = sojourn.lublin(4000, 64, load=0.5, seed=1)
    result = sojourn.simulate(jobs, 64, "easy", estimates="exact")
    wait = result.start - jobs.submit
    found = batch_means(wait[mser(wait).cut :])
    assert found.low < found.estimate < found.high
    cycles = regeneration_points(jobs.submit, result.end)
    assert cycles[0] == 0
    assert np.all(wait[cycles] == 0)
