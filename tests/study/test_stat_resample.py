"""Logs drawn from a log: what is kept, what varies, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import sojourn
from sojourn import Jobs, OptionError
from sojourn.jobs.facts import daily_counts
from sojourn.jobs.models.resample import BLOCKS, fitting_block, resample_blocks
from sojourn.study.intervals import resampled_interval
from sojourn.study.paired import resampled_change

DAY = 86_400
WEEK = 7 * DAY
HEADER = ["; MaxProcs: 64", f"; UnixStartTime: {1_000_000_000}", "; TimeZoneString: Europe/Berlin"]


def log(weeks=8, users=30, seed=0, first=0):
    """Jobs that come by day more often than by night, and on Sundays hardly ever.

    `requested` is the second of submission, so that every job can be known again.
    """
    rng = np.random.default_rng(seed)
    submit = np.sort(rng.integers(first, weeks * WEEK, weeks * 1200))
    hour, day = submit // 3600 % 24, submit // DAY % 7
    busy = np.where((hour >= 8) & (hour < 18), 1.0, 0.25) * np.where(day == 6, 0.1, 1.0)
    submit = submit[rng.random(submit.size) < busy]
    n = submit.size
    return Jobs(
        {
            "job": np.arange(n) + 500,
            "submit": submit,
            "runtime": rng.integers(1, 5000, n),
            "procs": rng.integers(1, 65, n),
            "user": rng.integers(0, users, n) ** 2,
            "requested": submit,
            "preceding": np.full(n, 7),
        },
        header=HEADER,
        source="a log",
    )


@pytest.fixture(scope="module")
def jobs():
    return log()


@pytest.mark.parametrize("by", [by for by in BLOCKS if by != "jobs"])
class TestEveryBlock:
    def test_jobs_are_those_of_the_log_at_the_same_time_of_day(self, jobs, by):
        drawn = resample_blocks(jobs, by, 1)
        moved = drawn.submit - drawn.requested
        assert np.all(moved % (DAY if by == "day" else WEEK) == 0)
        assert np.any(moved != 0)
        mine, theirs = (
            {tuple(row) for row in np.transpose([each.requested, each.runtime, each.procs])}
            for each in (drawn, jobs)
        )
        assert mine < theirs

    def test_what_a_log_needs_to_be_run(self, jobs, by):
        drawn = resample_blocks(jobs, by, 2)
        assert drawn.header == jobs.header
        assert drawn.source == "a log"
        assert drawn.names == jobs.names
        assert drawn.job.tolist() == list(range(1, len(drawn) + 1))
        assert np.all(np.diff(drawn.submit) >= 0)
        assert jobs.submit[0] <= drawn.submit[0]
        assert drawn.submit[-1] <= jobs.submit[-1]
        assert np.all(drawn.preceding == -1)
        assert np.all(jobs.preceding == 7)
        assert len(sojourn.simulate(drawn, 64, "easy", estimates="exact")) == len(drawn)

    def test_the_seed_is_all_that_matters(self, jobs, by):
        once, again = (resample_blocks(jobs, by, 3) for _ in range(2))
        assert np.array_equal(once.submit, again.submit)
        assert np.array_equal(once.requested, again.requested)
        assert not np.array_equal(resample_blocks(jobs, by, 4).submit, once.submit)

    def test_the_order_of_a_log_does_not_matter(self, jobs, by):
        shuffled = jobs[np.random.default_rng(1).permutation(len(jobs))]
        once, again = resample_blocks(jobs, by, 5), resample_blocks(shuffled.sorted(), by, 5)
        assert np.array_equal(once.submit, again.submit)

    def test_load_and_daily_cycle_are_those_of_the_log_on_average(self, jobs, by):
        drawn = [resample_blocks(jobs, by, seed) for seed in range(60)]
        area = np.array([np.dot(each.procs, each.runtime) for each in drawn])
        truth = np.dot(jobs.procs, jobs.runtime)
        assert area.mean() == pytest.approx(truth, rel=0.02)
        assert 0.005 * truth < area.std() < 0.2 * truth
        hours = np.mean([daily_counts(each)[0] for each in drawn], axis=0)
        assert hours == pytest.approx(np.array(daily_counts(jobs)[0]), rel=0.1)
        sundays = np.mean([np.mean(each.submit // DAY % 7 == 6) for each in drawn])
        assert sundays == pytest.approx(np.mean(jobs.submit // DAY % 7 == 6), rel=0.1)

    def test_only_some_columns(self, jobs, by):
        few = jobs.only(["job", "submit", "runtime", "procs", "user"])
        drawn = resample_blocks(few, by, 6)
        assert drawn.names == few.names
        assert np.array_equal(drawn.submit, resample_blocks(jobs, by, 6).submit)


def test_spread_of_the_number_of_jobs_is_that_of_the_blocks():
    """The variance over draws is the sum of the variances over the blocks of each place."""
    jobs = log(weeks=20, seed=3).replace(header=[])
    week = (jobs.submit // WEEK).astype(int)
    counts = np.bincount(week)[1:-1]
    drawn = np.array([len(resample_blocks(jobs, "week", seed)) for seed in range(400)])
    assert drawn.std() == pytest.approx(np.sqrt(20 * counts.var()), rel=0.15)


def test_days_go_to_the_same_weekday_from_midnight_to_midnight(jobs):
    # 2001-09-09 03:46:40 in Berlin, a Sunday: the first midnight is 20:13:20 later.
    shift = 3 * 3600 + 46 * 60 + 40
    drawn = resample_blocks(jobs, "day", 7)
    place, origin = ((t + shift) // DAY for t in (drawn.submit, drawn.requested))
    assert np.all((place - origin) % 7 == 0)
    for day in np.unique(place):
        blocks = np.unique(origin[place == day])
        assert blocks.size == 1
        assert np.count_nonzero(place == day) == np.count_nonzero(
            (jobs.submit + shift) // DAY == blocks[0]
        ) or day in (place[0], place[-1])


def test_weeks_begin_on_monday(jobs):
    shift = 3 * 3600 + 46 * 60 + 40 + 6 * DAY
    drawn = resample_blocks(jobs, "week", 8)
    place, origin = ((t + shift) // WEEK for t in (drawn.submit, drawn.requested))
    assert all(np.unique(origin[place == week]).size == 1 for week in np.unique(place))


def test_a_day_that_is_known_in_part_is_drawn_for_its_own_place_alone():
    jobs = log(weeks=3, first=10 * 3600, seed=4)
    first = jobs.submit < DAY
    assert first.any()
    bare = jobs.replace(header=[])
    for seed in range(20):
        drawn = resample_blocks(bare, "day", seed)
        from_first = drawn.requested < DAY
        assert np.all(drawn.submit[from_first] < DAY)
        assert np.all(drawn.submit >= jobs.submit[0])


def test_a_short_log_draws_any_day():
    jobs = log(weeks=1, seed=5).replace(header=[])
    drawn = resample_blocks(jobs, "day", 1)
    moved = (drawn.submit - drawn.requested) / DAY
    assert np.any(moved % 7 != 0)
    assert np.all(moved == np.rint(moved))


def test_a_user_is_drawn_whole_and_never_twice_at_the_same_time(jobs):
    drawn = resample_blocks(jobs, "user", 9)
    users, count = np.unique(jobs.user, return_counts=True)
    whole = dict(zip(users.tolist(), count.tolist(), strict=True))
    copies = 0
    for user, n in zip(*np.unique(drawn.user, return_counts=True), strict=True):
        assert n % whole[int(user)] == 0
        copies += n // whole[int(user)]
        mine = drawn.user == user
        together = np.transpose([drawn.submit[mine], drawn.requested[mine], drawn.runtime[mine]])
        assert len(np.unique(together, axis=0)) == len(together)
        if n == whole[int(user)]:
            assert np.array_equal(drawn.submit[mine], drawn.requested[mine])
    assert copies == users.size


def test_users_of_a_short_log_are_moved_by_days():
    jobs = log(weeks=1, seed=6)
    drawn = resample_blocks(jobs, "user", 1)
    moved = (drawn.submit - drawn.requested) / DAY
    assert set(np.unique(moved)) > {0.0}
    assert np.all(moved == np.rint(moved))


def test_stretches_of_jobs_keep_the_times_between_them():
    jobs = log(weeks=1, seed=7)[:343]
    jobs = jobs.replace(requested=np.arange(343))
    drawn = resample_blocks(jobs, "jobs", 1)
    assert len(drawn) == 343
    assert drawn.job.tolist() == list(range(1, 344))
    assert drawn.submit[0] == jobs.submit[0]
    assert np.all(drawn.preceding == -1)
    # 49 stretches of 7 jobs, the cube root of 343: within them all is as in the log.
    row = drawn.requested.astype(int).reshape(49, 7)
    inside = row[:, 1:] > 0  # a stretch goes on at the beginning of the log where it ends
    assert np.all(np.diff(row) % 343 == 1)
    gaps, own = np.diff(drawn.submit.reshape(49, 7)), np.diff(jobs.submit[row])
    assert np.allclose(gaps[inside], own[inside])
    assert np.unique(row[:, 0]).size > 20
    again = resample_blocks(jobs, "jobs", 1)
    assert np.array_equal(drawn.submit, again.submit)
    assert not np.array_equal(drawn.submit, resample_blocks(jobs, "jobs", 2).submit)


def test_stretches_have_the_load_of_the_log_on_average():
    jobs = log(weeks=1, seed=8)
    drawn = [resample_blocks(jobs, "jobs", seed) for seed in range(200)]
    lengths = [np.ptp(each.submit) for each in drawn]
    assert np.mean(lengths) == pytest.approx(np.ptp(jobs.submit), rel=0.02)
    area = [np.dot(each.procs, each.runtime) for each in drawn]
    assert np.mean(area) == pytest.approx(np.dot(jobs.procs, jobs.runtime), rel=0.02)


@pytest.mark.parametrize(
    ("jobs", "by"),
    [
        (log(weeks=11), "week"),
        (log(weeks=8), "day"),
        (log(weeks=1), "day"),
        (log(weeks=1)[:50], "jobs"),
        (log(weeks=1)[:0], "jobs"),
    ],
)
def test_blocks_that_suit_a_log(jobs, by):
    assert fitting_block(jobs) == by
    if len(jobs):
        assert len(resample_blocks(jobs, by, 1))


@pytest.mark.parametrize(
    ("jobs", "by", "message"),
    [
        (log(weeks=2), "month", "by = 'month': choose one of user, day, week, jobs"),
        (log(weeks=2)[:0], "day", "jobs: there are none"),
        (log(weeks=1), "week", "0 whole weeks, of at least two .* draw days, users or jobs"),
        (log(weeks=1)[:50], "day", "whole days, of at least two .* draw users or jobs"),
        (log(users=1), "user", "one user alone, or of none; draw days or weeks"),
        (log(weeks=1)[:50], "user", "shorter than two days; draw jobs"),
        (log(weeks=1)[:1], "jobs", "the log has one job"),
    ],
)
def test_refusals(jobs, by, message):
    with pytest.raises(OptionError, match=message):
        resample_blocks(jobs, by, 1)


def test_seed_is_checked(jobs):
    with pytest.raises(OptionError, match="seed = -1"):
        resample_blocks(jobs, "day", -1)


def test_the_error_of_a_log_does_not_shrink_with_the_draws():
    draws = np.random.default_rng(1).normal(10.0, 2.0, 400)
    for n in (20, 400):
        found = resampled_interval(draws[:n])
        assert found.estimate == pytest.approx(draws[:n].mean())
        reach = stats.t.ppf(0.975, n - 1) * draws[:n].std(ddof=1)
        assert found.half_width == pytest.approx(reach)
        assert (found.n, found.method) == (n, "resampled")
    around_log = resampled_interval(draws, estimate=11.0, level=0.9)
    assert (around_log.low + around_log.high) / 2 == pytest.approx(11.0)
    quantiles = resampled_interval(draws, estimate=11.0, method="percentile")
    assert (quantiles.low, quantiles.high) == pytest.approx(
        tuple(np.quantile(draws, [0.025, 0.975]))
    )
    assert quantiles.estimate == 11
    with pytest.raises(OptionError, match="choose one of standard, percentile"):
        resampled_interval(draws, method="normal")
    with pytest.raises(OptionError, match="draws: has 1 numbers"):
        resampled_interval([1.0])


class TestChange:
    """Of the means over draws, as far off as draws are from their common ratio."""

    def test_by_hand(self):
        found = resampled_change([3.0, 5.0, 4.0], [6.0, 9.0, 9.0])
        # The means are 4 and 8; left of each draw are 0, 0.5 and -0.5, over 8.
        assert found.estimate == pytest.approx(-0.5)
        spread = np.std([0.0, 0.5, -0.5], ddof=1) / 8
        assert found.half_width == pytest.approx(stats.t(2).ppf(0.975) * spread)

    def test_where_the_baseline_is_sometimes_0(self):
        found = resampled_change([0.0, 1.0, 2.0], [0.0, 2.0, 4.0])
        assert (found.estimate, found.half_width) == (-0.5, 0.0)
        with pytest.raises(OptionError, match="its mean is 0"):
            resampled_change([1.0, 1.0], [0.0, 0.0])

    def test_its_error_does_not_shrink_with_the_draws(self):
        rng = np.random.default_rng(1)
        base = rng.gamma(4, size=4000)
        other = 0.7 * base + rng.normal(0, 0.1, 4000)
        few, many = (resampled_change(other[:n], base[:n]).half_width for n in (40, 4000))
        assert many == pytest.approx(few, rel=0.3)
        # As the spread of the statistic itself, for draws that differ little.
        assert many == pytest.approx(1.96 * 0.1 / base.mean(), rel=0.1)


def test_a_real_log(data_dir):
    """KTH: other waits in each draw, and the log's own among them."""
    jobs = sojourn.clean(sojourn.read_log(next((data_dir / "swf").glob("KTH*"))), procs=100)
    waits = [
        sojourn.simulate(resample_blocks(jobs, "week", seed), 100, "easy").summary["wait"]["mean"]
        for seed in range(10)
    ]
    own = sojourn.simulate(jobs, 100, "easy").summary["wait"]["mean"]
    assert min(waits) < own < max(waits)
