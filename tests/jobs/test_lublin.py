"""The Lublin-Feitelson model against its definition and against the authors' program."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from sojourn.errors import OptionError
from sojourn.jobs.models.lublin import (
    BATCH,
    INTERACTIVE,
    LUBLIN_TYPES,
    LublinParameters,
    _Arrivals,
    daily_cycle,
    lublin,
)

ALL = LublinParameters()
DAY = 86400.0


def offered_load(jobs, procs):
    return float(jobs.procs @ jobs.runtime) / (procs * (jobs.submit[-1] - jobs.submit[0]))


@pytest.fixture(scope="module")
def many():
    return lublin(200_000, 256, seed=1)


# Published values, in the order of NAMES; UMED and UHI are for 128 processors.
NAMES = (
    *("serial_prob", "pow2_prob", "ulow", "uprob"),
    *("a1", "b1", "a2", "b2", "pa", "pb"),
    *("aarr", "barr", "arar", "anum", "bnum", "queue"),
)
PUBLISHED = {
    "all": (
        *(0.244, 0.576, 0.8, 0.86),
        *(4.2, 0.94, 312, 0.03, -0.0054, 0.78),
        *(10.2303, 0.4871, 1.0225, 8.1737, 3.9631, 0),
    ),
    "interactive": (
        *(0.1541, 0.625, 1, 0.705),
        *(3.8351, 0.6605, 7.073, 0.6856, -0.0118, 0.9156),
        *(6.5510, 0.6621, 0.9797, 8.9186, 3.6680, 0),
    ),
    "batch": (
        *(0.2927, 0.6686, 1.2, 0.875),
        *(6.57, 0.823, 639.1, 0.0156, -0.003, 0.6986),
        *(6.0415, 0.8531, 1.0519, 6.1271, 5.2740, 1),
    ),
}
UMED_UHI = {"all": (4.5, 7), "interactive": (3, 5.5), "batch": (5, 7)}


@pytest.mark.parametrize("name", PUBLISHED)
def test_parameters_are_the_published_ones(name):
    (kind,) = LUBLIN_TYPES[name]
    assert tuple(getattr(kind, field) for field in NAMES) == PUBLISHED[name]
    high = 7 - kind.hi_below
    assert (high - kind.med_below, high) == UMED_UHI[name]


@pytest.mark.parametrize("kind", [ALL, INTERACTIVE, BATCH], ids=["all", "interactive", "batch"])
def test_daily_cycle_is_the_gamma_of_its_slots(kind):
    gamma = stats.gamma(kind.anum, scale=kind.bnum)
    # Slot k = 1 is the half hour from midnight; slots 1..10 are the gamma's 49..58.
    share = [gamma.cdf(k + 0.5) - gamma.cdf(k - 0.5) for k in [*range(49, 59), *range(11, 49)]]
    np.testing.assert_allclose(daily_cycle(kind), np.array(share) / np.mean(share), rtol=1e-9)


def test_clock_equals_a_walk_through_the_half_hours():
    weights = daily_cycle(ALL)
    gaps = np.random.default_rng(2).exponential(0.9, 500)
    slot, spent, walked = 0, 0.0, []
    for gap in gaps:
        spent += gap
        while spent > weights[slot % 48]:
            spent -= weights[slot % 48]
            slot += 1
        walked.append(1800.0 * (slot + spent / weights[slot % 48]))
    points = np.cumsum(gaps)
    clock = _Arrivals(points, np.append(0.0, np.cumsum(weights)))
    np.testing.assert_allclose(clock.seconds(1.0, points), walked, rtol=1e-9)


def test_widths_follow_the_two_stage_uniform(many):
    # P(width) worked out from the definition at 256 processors: log2 width is uniform on
    # [0.8, 5.5] w.p. 0.86 and on [5.5, 8] otherwise; w.p. 0.576 it is rounded to a whole number.
    def log2_cdf(x):
        low = np.clip((x - 0.8) / 4.7, 0, 1)
        return 0.86 * low + 0.14 * np.clip((x - 5.5) / 2.5, 0, 1)

    expected = {1: 0.244}
    for k in range(1, 9):
        width = 2**k
        rounded = log2_cdf(k + 0.5) - log2_cdf(k - 0.5)
        plain = log2_cdf(math.log2(width + 0.5)) - log2_cdf(math.log2(width - 0.5))
        expected[width] = 0.576 * rounded + 0.18 * plain
    for width, share in expected.items():
        bound = 4.5 * math.sqrt(share * (1 - share) / len(many))
        assert np.mean(many.procs == width) == pytest.approx(share, abs=bound), width


@pytest.mark.parametrize("width", [1, 32, 256])
def test_runtimes_are_hyper_gamma_mixed_by_width(many, width):
    p = np.clip(ALL.pa * width + ALL.pb, 0, 1)

    def cdf(x):
        short = stats.gamma(ALL.a1, scale=ALL.b1).cdf(x)
        long = stats.gamma(ALL.a2, scale=ALL.b2).cdf(x)
        return p * short + (1 - p) * long

    runtime = many.runtime[many.procs == width]
    # Runtimes are floors: compare at whole seconds, where no rounding shows. 1.95 / sqrt(n) is
    # the 0.1 % point of the Kolmogorov statistic.
    at = np.unique(runtime) + 1.0
    seen = np.searchsorted(np.sort(runtime), at, side="left") / len(runtime)
    expected = cdf(np.log(at)) / cdf(12.0)
    assert np.abs(seen - expected)[at < np.exp(12.0)].max() < 1.95 / math.sqrt(len(runtime))


def test_arrivals_are_gamma_in_the_clock_of_the_day(many):
    gaps = points_between(many.submit)
    gamma = stats.gamma(ALL.aarr * ALL.arar, scale=ALL.barr)
    # Whole seconds blur short gaps: compare above a minute.
    at = np.quantile(gaps[gaps > 60.0], np.linspace(0.01, 0.99, 50))
    seen = np.array([np.mean(gaps <= x) for x in at])
    expected = gamma.cdf(np.log(at)) / gamma.cdf(13.0)
    assert np.abs(seen - expected).max() < 1.95 / math.sqrt(len(gaps)) + 0.002


def points_between(submit):
    """Interarrival times with the daily cycle taken out, in seconds of the mean half hour."""
    cycle = np.append(0.0, np.cumsum(daily_cycle(ALL)))
    days, within = np.divmod(submit, DAY)
    return 1800.0 * np.diff(48 * days + np.interp(within / 1800.0, np.arange(49), cycle))


def test_against_the_original_program(data_dir):
    """10,000 jobs printed by the authors' program: all jobs in one type, 256 nodes.

    Its widths break at 2^5.5, so it was compiled with UHI 8 and UMED 5.5: ours at 256.
    Two-sample Kolmogorov statistics of 10,000 against 200,000 draws of one law stay below
    1.95 * sqrt(1/10,000 + 1/200,000) = 0.020 in 99.9 % of cases.
    """
    path = data_dir / "swf" / "lublin_256.swf"
    rows = np.loadtxt(path, comments=";")
    submit, runtime, procs = rows[:, 1], rows[:, 3], rows[:, 4]
    ours = lublin(200_000, 256, seed=1)
    assert stats.ks_2samp(runtime, ours.runtime).statistic < 0.02
    assert stats.ks_2samp(procs, ours.procs).statistic < 0.02
    assert stats.ks_2samp(np.diff(submit), np.diff(ours.submit)).statistic < 0.02
    # Long jobs are the wide ones in both, alike.
    wide = np.mean(runtime[procs > 64]) / np.mean(runtime[procs <= 64])
    mine = np.mean(ours.runtime[ours.procs > 64]) / np.mean(ours.runtime[ours.procs <= 64])
    assert wide == pytest.approx(mine, rel=0.15)
    # The program truncates its clock at every job, so its days come early by half a second a
    # job, 1.4 h in the end. With that given back, the hours of the day agree: arrivals within
    # a day depend on each other, hence 0.03 rather than 0.02.
    kept = submit + 0.5 * np.arange(1, len(submit) + 1)
    assert stats.ks_2samp(kept % DAY, ours.submit % DAY).statistic < 0.03
    assert stats.ks_2samp(submit % DAY, ours.submit % DAY).statistic > 0.03
    # The mean gap hangs on rare gaps of days: over 10,000 jobs it has a standard deviation of
    # 68 s around 914 s (100 samples of ours); the program's 771 s is the low end of that.
    assert 914 - 3 * 68 < np.diff(submit).mean() < 914 + 3 * 68


def test_day_and_night(many):
    hours = np.histogram(many.submit % DAY, 24, (0, DAY))[0] / len(many)
    assert 12 <= np.argmax(hours) <= 16
    assert 3 <= np.argmin(hours) <= 6
    assert hours.max() > 8 * hours.min()


def test_both_types_merge_and_keep_their_marks():
    jobs = lublin(50_000, 128, seed=4, parameters="both")
    assert (np.diff(jobs.submit) >= 0).all()
    batch, interactive = jobs.queue == 1, jobs.queue == 0
    assert (batch | interactive).all()
    assert 0.05 < batch.mean() < 0.3
    assert jobs.procs[interactive].max() <= 45
    assert jobs.runtime[batch].mean() > 10 * jobs.runtime[interactive].mean()
    # 4.5 standard errors of a binomial share.
    for mask, kind in ((batch, BATCH), (interactive, INTERACTIVE)):
        p = kind.serial_prob
        bound = 4.5 * math.sqrt(p * (1 - p) / mask.sum())
        assert np.mean(jobs.procs[mask] == 1) == pytest.approx(p, abs=bound)


@settings(max_examples=40, deadline=None)
@given(
    jobs=st.integers(50, 400),
    procs=st.integers(1, 3000),
    load=st.one_of(st.none(), st.floats(0.05, 2.0)),
    seed=st.integers(0, 1000),
    name=st.sampled_from(sorted(LUBLIN_TYPES)),
)
def test_every_stream_is_sound(jobs, procs, load, seed, name):
    stream = lublin(jobs, procs, load=load, seed=seed, parameters=name)
    assert len(stream) == jobs
    assert stream.max_procs == procs
    assert stream.procs.min() >= 1
    assert stream.procs.max() <= procs
    assert stream.submit.min() >= 0
    assert (np.diff(stream.submit) >= 0).all()
    assert stream.runtime.min() >= 1
    assert stream.runtime.max() <= math.exp(12)
    for column in ("submit", "runtime"):
        assert (stream[column] == np.floor(stream[column])).all()
    np.testing.assert_array_equal(stream.estimate, stream.runtime)
    if load is not None:
        span = stream.submit[-1] - stream.submit[0]
        # The span is the wanted one, rounded to a second.
        assert offered_load(stream, procs) == pytest.approx(load, rel=0.51 / span)


@pytest.mark.parametrize("load", [0.3, 0.9, 1.5])
def test_load_moves_arrivals_and_nothing_else(load):
    plain, loaded = lublin(5000, 100, seed=3), lublin(5000, 100, seed=3, load=load)
    np.testing.assert_array_equal(plain.procs, loaded.procs)
    np.testing.assert_array_equal(plain.runtime, loaded.runtime)
    assert offered_load(loaded, 100) == pytest.approx(load, rel=1e-5)
    # A day stays a day: the quiet hours stay where they are.
    hours = np.histogram(loaded.submit % DAY, 24, (0, DAY))[0]
    assert hours[3:7].sum() < 0.25 * hours[12:16].sum()


def test_same_seed_same_jobs_other_seed_other_jobs():
    a, b, c = lublin(300, seed=8), lublin(300, seed=8), lublin(300, seed=9)
    for name in ("submit", "runtime", "procs", "estimate"):
        np.testing.assert_array_equal(a[name], b[name])
    assert (a.submit != c.submit).all()


def test_common_random_numbers():
    base = lublin(2000, 256, seed=5)
    later = lublin(2000, 256, seed=5, parameters=replace(ALL, barr=0.5))
    np.testing.assert_array_equal(base.procs, later.procs)
    np.testing.assert_array_equal(base.runtime, later.runtime)
    longer = lublin(2000, 256, seed=5, parameters=replace(ALL, b1=0.9))
    np.testing.assert_array_equal(base.submit, longer.submit)
    np.testing.assert_array_equal(base.procs, longer.procs)
    modal = lublin(2000, 256, seed=5, estimates="tsafrir")
    np.testing.assert_array_equal(base.runtime, modal.runtime)


def test_power_of_two_jobs_fit_an_odd_machine():
    jobs = lublin(20_000, 100, seed=2, parameters=replace(ALL, serial_prob=0.0, pow2_prob=1.0))
    assert set(np.unique(jobs.procs)) == {2, 4, 8, 16, 32, 64}


def test_estimates_by_name_and_factor():
    assert (lublin(200, estimates=3).estimate == 3 * lublin(200).runtime).all()
    modal = lublin(5000, estimates="tsafrir")
    assert (modal.estimate >= modal.runtime).all()
    assert len(np.unique(modal.estimate)) <= 21


def test_header_says_how_the_jobs_were_made():
    header = lublin(10, 64, seed=42, load=0.5).header
    assert header.get("MaxProcs") == "64"
    assert header.get("MaxJobs") == "10"
    notes = " ".join(header.get_all("Note"))
    for part in ("Lublin", "seed 42", "load 0.5", "aarr=10.2303", "sojourn"):
        assert part in notes


def test_one_job():
    assert len(lublin(1, 1)) == 1


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: lublin(0), "jobs is 0"),
        (lambda: lublin(2.5), "jobs is 2.5"),
        (lambda: lublin(10, 0), "procs is 0"),
        (lambda: lublin(10, load=0.0), "load is 0.0"),
        (lambda: lublin(10, load=-1.0), "load is -1.0"),
        (lambda: lublin(10, load=math.nan), "load is nan"),
        (lambda: lublin(1, load=0.5), "two jobs or more"),
        (lambda: lublin(10, load=1e30), "another load"),
        (lambda: lublin(10, load=1e-300), "another load"),
        (lambda: lublin(10, seed=-3), "seed is -3"),
        (lambda: lublin(10, parameters="serial"), "'serial' are unknown"),
        (lambda: lublin(10, parameters=()), "give one or several"),
        (lambda: lublin(10, estimates="guess"), "'guess' is unknown"),
        (lambda: LublinParameters(serial_prob=1.2), "serial_prob is 1.2"),
        (lambda: LublinParameters(serial_prob=0.6, pow2_prob=0.6), "sum at most 1"),
        (lambda: LublinParameters(a1=0.0), "a1 is 0.0"),
        (lambda: LublinParameters(barr=math.inf), "barr is not finite"),
        (lambda: LublinParameters(med_below=-1.0), "med_below is -1.0"),
        (lambda: lublin(10, parameters=replace(ALL, max_log_runtime=1e-9)), "nearly every draw"),
        (lambda: lublin(10, parameters=replace(ALL, anum=1000.0, bnum=0.02)), "wider daily cycle"),
    ],
)
def test_bad_options_say_so_in_one_line(make, says):
    with pytest.raises(OptionError, match=says) as caught:
        make()
    assert "\n" not in str(caught.value)
