"""Fitting: the parameters that made the data come back, with errors that are right."""

from __future__ import annotations

import math

import numpy as np
import pytest

import sojourn
from sojourn.errors import OptionError
from sojourn.theory import fit_model
from sojourn.theory.fit import classify, fit_arrivals, fit_rates, fit_widths, kaplan_meier
from sojourn.theory.fit.goodness import dispersion_test, exponential_test, stitched

MU, NU = 1 / 3000, 1 / 9000
DAY = 86_400.0


def pairs(rng, jobs, *, reading="job", limits="each", widths=(1, 2, 8)):
    """Durations, who is served, and widths, drawn pair by pair from the definition."""
    k = rng.choice(widths, jobs)
    served, lasted = np.empty(jobs, dtype=bool), np.empty(jobs)
    for i in range(jobs):
        n = 1 if reading == "job" else k[i]
        x = rng.exponential(1 / MU, n)
        z = rng.exponential(1 / NU, n if limits == "each" else 1)
        served[i] = (x < z).all()
        if limits == "each":
            lasted[i] = np.minimum(x, z).max()
        else:
            lasted[i] = min(x.max(), z[0])
    return lasted, served, k


READINGS = [("job", "each"), ("sub-request", "each"), ("sub-request", "shared")]


@pytest.mark.parametrize(("reading", "limits"), READINGS)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_rates_come_back(reading, limits, seed):
    rng = np.random.default_rng(seed)
    lasted, served, k = pairs(rng, 3000, reading=reading, limits=limits)
    rates = fit_rates(lasted, served, ~served, k, reading=reading, limits=limits)
    assert abs(rates.service_rate - MU) < 3 * rates.service_se
    assert abs(rates.limit_rate - NU) < 3 * rates.limit_se
    # And the errors are those of thousands of jobs, not large enough to hide anything.
    assert rates.service_se < 0.05 * MU
    assert rates.limit_se < 0.06 * NU


@pytest.mark.parametrize(("reading", "limits"), READINGS)
def test_intervals_cover_at_their_level(reading, limits):
    """In 200 replications 95 % +- 4.6 % (three standard errors) of the intervals cover."""
    rng = np.random.default_rng(7)
    covered = np.zeros(2)
    for _ in range(200):
        lasted, served, k = pairs(rng, 150, reading=reading, limits=limits)
        # A log that was closed at some time cuts jobs short.
        cut = rng.exponential(3 / MU, 150)
        seen = lasted <= cut
        found = fit_rates(
            np.minimum(lasted, cut),
            served & seen,
            ~served & seen,
            k,
            reading=reading,
            limits="shared" if limits == "shared" else "each",
        )
        covered += [
            abs(found.service_rate - MU) < 1.96 * found.service_se,
            abs(found.limit_rate - NU) < 1.96 * found.limit_se,
        ]
    assert (np.abs(covered / 200 - 0.95) < 0.046).all(), covered / 200


@pytest.mark.parametrize(("reading", "limits"), READINGS)
def test_censored_jobs_count_for_what_they_were_seen(reading, limits):
    """Half the jobs are cut short; leaving them out, or counting them as ends, is far off."""
    rng = np.random.default_rng(11)
    lasted, served, k = pairs(rng, 4000, reading=reading, limits=limits)
    cut = rng.exponential(np.median(lasted), 4000)
    seen = lasted <= cut
    duration = np.minimum(lasted, cut)
    options = {"reading": reading, "limits": limits}
    ours = fit_rates(duration, served & seen, ~served & seen, k, **options)
    assert abs(ours.service_rate - MU) < 3 * ours.service_se
    naive = fit_rates(duration[seen], served[seen], ~served[seen], k[seen], **options)
    assert abs(naive.service_rate - MU) > 8 * naive.service_se
    hasty = fit_rates(duration, served | ~seen, ~served & seen, k, **options)
    assert abs(hasty.service_rate - MU) > 8 * hasty.service_se


def test_one_pair_per_job_in_closed_form():
    rates = fit_rates([10, 20, 30, 40], [1, 1, 0, 0], [0, 0, 1, 0])
    assert rates.service_rate == pytest.approx(2 / 100)
    assert rates.limit_rate == pytest.approx(1 / 100)
    assert rates.service_se == pytest.approx(math.sqrt(2) / 100)
    assert (rates.served, rates.removed, rates.censored, rates.exposure) == (2, 1, 1, 100)
    # Sandwich: the scores are 1 - mu t of those served, -mu t of the others.
    scores = [0.8, 0.6, -0.6, -0.8]
    assert rates.service_robust_se == pytest.approx(np.linalg.norm(scores) / 100)


def test_sub_requests_of_one_processor_are_jobs():
    rng = np.random.default_rng(5)
    lasted, served, _ = pairs(rng, 400)
    one = np.ones(400)
    plain = fit_rates(lasted, served, ~served)
    for limits in ("each", "shared"):
        split = fit_rates(lasted, served, ~served, one, reading="sub-request", limits=limits)
        assert split[:2] == pytest.approx(plain[:2], rel=1e-9)
        assert split[2:4] == pytest.approx(plain[2:4], rel=1e-5)


def test_the_maximum_of_the_likelihood_is_one():
    """The printed likelihood of k pairs, at our estimate and around it."""
    rng = np.random.default_rng(3)
    lasted, served, k = pairs(rng, 300, reading="sub-request")

    def likelihood(mu, nu):
        both, p = mu + nu, mu / (mu + nu)
        gone = -np.expm1(-both * lasted)
        density = np.log(k * both) - both * lasted + (k - 1) * np.log(gone)
        return np.sum(density + np.where(served, k * np.log(p), np.log1p(-(p**k))))

    best = fit_rates(lasted, served, ~served, k, reading="sub-request")
    at = likelihood(best.service_rate, best.limit_rate)
    for step in (-0.01, 0.01):
        assert likelihood(best.service_rate * (1 + step), best.limit_rate) < at
        assert likelihood(best.service_rate, best.limit_rate * (1 + step)) < at


@pytest.mark.parametrize("limits", ["each", "shared"])
def test_extremes_of_widths_and_times(limits):
    """Durations of 0 and of a year, widths of 1 and of a million, nobody removed, all removed."""
    t = np.array([0.0, 1e-3, 1.0, 1e4, 3e7])
    k = np.array([1_000_000, 1, 3, 64, 1])
    ended, none = np.ones(5, dtype=bool), np.zeros(5, dtype=bool)
    kept = fit_rates(t, ended, none, k, reading="sub-request", limits=limits)
    assert np.isfinite(kept.service_rate)
    assert kept.service_rate > 0
    assert (kept.limit_rate, kept.limit_se) == (0.0, 0.0)
    lost = fit_rates(t, none, ended, k, reading="sub-request", limits=limits)
    assert lost.service_rate == 0.0
    assert lost.limit_rate > 0


def swf(rows, **header):
    names = ("submit", "runtime", "procs", "estimate", "status")
    columns = dict(zip(names, zip(*rows, strict=True), strict=True))
    return sojourn.Jobs(columns, header=[f"; {k}: {v}" for k, v in header.items()])


def test_every_end_has_its_class():
    jobs = swf(
        [
            (0, 50, 2, 100, 1),  # completed
            (1, 50, 2, 100, 0),  # failed
            (2, 100, 2, 100, 1),  # killed: at its limit, whatever the status
            (3, 130, 2, 100, 5),  # killed
            (4, 70, 2, 100, 5),  # cancelled
            (5, 0, 2, 100, 5),  # cancelled in the queue
            (6, 0, 2, 100, 1),  # completed within a tick
            (7, -1, 2, 100, 5),  # nothing known
            (8, 60, 2, 100, -1),  # end not known
            (9, 500, 2, -1, 1),  # completed, no limit
            (10, 95, 2, 100, 0),  # failed just before its limit
            (11, 95, 2, 100, 1),  # completed just before its limit
        ]
    )
    found = classify(jobs)
    assert found.counts == {
        "completed": 4,
        "failed": 2,
        "killed": 2,
        "cancelled": 1,
        "censored": 1,
        "not started": 1,
        "unknown": 1,
    }
    assert found.duration.size == 10
    assert found.processor_seconds()["killed"] == 2 * 230
    near = classify(jobs, tolerance=10)
    assert (near.counts["killed"], near.counts["failed"], near.counts["completed"]) == (3, 1, 4)
    assert "1 jobs failed" in found.notes[0]
    assert not near.notes


def test_a_log_closed_early_cuts_its_jobs_short():
    jobs = swf([(0, 50, 1, 100, 1), (10, 50, 1, 100, 1), (45, 100, 1, 100, 1), (70, 1, 1, 9, 1)])
    found = classify(jobs, end=55)
    assert found.counts["completed"] == 1
    assert found.counts["censored"] == 2
    assert found.counts["not started"] == 1
    assert found.duration.tolist() == [50, 45, 10]


def test_copied_estimates_and_missing_statuses_are_no_limits():
    jobs = sojourn.Jobs(
        {"submit": [0, 1, 2], "runtime": [5, 6, 7], "procs": [1, 1, 1], "estimate": [5, 6, 7]}
    )
    found = classify(jobs)
    assert found.counts["completed"] == 3
    assert ["a copy" in note or "no job's status" in note for note in found.notes] == [True, True]


def model_log(seed, jobs=3000, *, widths=(1, 2, 8), reading="job", days=60):
    """A log whose arrivals, widths, services and limits are those of the model."""
    rng = np.random.default_rng(seed)
    lasted, served, k = pairs(rng, jobs, reading=reading, widths=widths)
    submit = np.sort(rng.uniform(0, days * DAY, jobs))
    # A removed job is at its limit; that of a served one lies further, by no memory.
    limit = lasted + np.where(served, rng.exponential(1 / NU, jobs), 0.0)
    return sojourn.Jobs(
        {
            "submit": submit,
            "runtime": lasted,
            "procs": k,
            "estimate": limit,
            "status": np.where(served, 1, 0),
        },
        header=["; UnixStartTime: 1000000000", "; TimeZoneString: UTC"],
    )


@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_a_log_of_the_model_is_fitted_without_a_warning(seed):
    fit = fit_model(model_log(seed))
    error = fit.standard_errors
    assert abs(fit.arrival_rate - 3000 / (60 * DAY)) < 3 * error["arrival_rate"]
    assert abs(fit.service_rate - MU) < 3 * error["service_rate"]
    assert abs(fit.limit_rate - NU) < 3 * error["limit_rate"]
    assert abs(fit.widths.mean - 11 / 3) < 3 * error["mean_width"]
    assert error["service_rate_robust"] == pytest.approx(error["service_rate"], rel=0.1)
    assert error["arrival_rate_robust"] == pytest.approx(error["arrival_rate"], rel=0.3)
    assert fit.warnings == ()
    assert fit.duration_scv == pytest.approx(1, abs=0.2)


def test_limits_from_estimates_agree_with_those_from_ends():
    log = model_log(9)
    fit = fit_model(log, limits_from="estimates")
    assert abs(fit.limit_rate - NU) < 3 * fit.standard_errors["limit_rate"]
    # Every job shows its limit, not only those it ended: the error is smaller.
    assert fit.standard_errors["limit_rate"] < 0.6 * fit_model(log).standard_errors["limit_rate"]
    assert fit.limit_rate == fit.requested.rate == pytest.approx(1 / log.estimate.mean())
    assert fit.service_rate == fit_model(log).service_rate
    assert fit.limits_from == "estimates"


def test_sub_requests_of_a_log():
    fit = fit_model(model_log(2, reading="sub-request"), reading="sub-request")
    assert abs(fit.service_rate - MU) < 3 * fit.standard_errors["service_rate"]
    assert abs(fit.limit_rate - NU) < 3 * fit.standard_errors["limit_rate"]
    assert fit.warnings == ()
    # Read as jobs, wide ones take longer and are lost more often.
    wrong = fit_model(model_log(2, reading="sub-request"))
    assert any("width and duration" in line for line in wrong.warnings)
    assert any("not exponential" in line for line in wrong.warnings)


def test_what_counts_as_service_can_be_chosen():
    jobs = swf([(0, 10, 1, 99, 1), (5, 20, 1, 99, 0), (9, 30, 1, 99, 5), (12, 40, 1, 40, 1)])
    assert fit_model(jobs).service_rate == pytest.approx(2 / 100)
    strict = fit_model(jobs, served=["completed"], removed=["killed"])
    assert strict.service_rate == pytest.approx(1 / 100)
    assert strict.limit_rate == pytest.approx(1 / 100)
    assert strict.rates.censored == 2
    everything = fit_model(jobs, served=["completed"], removed=["failed", "killed", "cancelled"])
    assert everything.limit_rate == pytest.approx(3 / 100)


def test_the_model_behind_a_fit():
    fit = fit_model(model_log(1))
    busy = fit.infinite_servers()
    both = fit.service_rate + fit.limit_rate
    assert busy.mean == pytest.approx(fit.arrival_rate / both * fit.widths.mean)
    assert busy.completion_probability == pytest.approx(fit.service_rate / both)
    measured = fit.busy_as_measured()
    area = np.mean(fit.outcomes.width * fit.outcomes.duration)
    assert measured.mean == pytest.approx(fit.arrival_rate * area)
    # In a log of the model both say the same.
    assert measured.mean == pytest.approx(busy.mean, rel=0.05)
    assert measured.var == pytest.approx(busy.var, rel=0.1)


def test_a_fit_is_plain_numbers():
    told = fit_model(model_log(1, jobs=200)).as_dict()
    assert set(told["standard_errors"]) >= {"arrival_rate", "service_rate", "limit_rate"}
    assert sum(told["width"]["distribution"].values()) == pytest.approx(1)
    assert sum(told["outcomes"].values()) == 200
    assert len(told["arrivals"]["daily"]) == 24
    assert told["tests"]["durations_ad"]["size"] == 200


def test_jobs_that_only_a_fit_may_leave_out():
    rows = [(0, 10, 1, 99, 1), (1, 10, 9, 99, 1), (2, 4, 1, 99, 2), (3, 6, 1, 99, 3)]
    rows += [(2, 10, 2, 99, 1)]
    fit = fit_model(swf(rows), servers=4)
    assert fit.widths.p.tolist() == [0.5, 0.5]
    assert "2 lines of partial" in fit.warnings[0]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"reading": "jobs"}, "reading"),
        ({"limits": "all"}, "limits"),
        ({"limits_from": "logs"}, "limits_from"),
        ({"served": ["complete"]}, "did you mean 'completed'"),
        ({"served": []}, "served"),
        ({"served": ["completed"], "removed": ["completed"]}, "both"),
        ({"tolerance": -1}, "tolerance"),
        ({"tolerance": math.nan}, "tolerance"),
    ],
)
def test_bad_options_are_named(options, said):
    with pytest.raises(OptionError, match=said):
        fit_model(model_log(1, jobs=50), **options)


def test_too_little_to_fit():
    with pytest.raises(OptionError, match="at least 2 jobs"):
        fit_model(swf([(0, 10, 1, 99, 1)]))
    with pytest.raises(OptionError, match="the same instant, which is no arrival rate"):
        fit_model(swf([(0, 10, 1, 99, 1), (0, 10, 1, 99, 1)]))
    with pytest.raises(OptionError, match="no job with a runtime ends"):
        fit_model(swf([(0, 0, 1, 99, 5), (1, 10, 1, 99, -1), (2, 10, 1, 99, -1)]))
    with pytest.raises(OptionError, match="'estimates'"):
        fit_model(swf([(0, 10, 1, -1, 1), (1, 9, 1, -1, 1)]), limits_from="estimates")


def test_widths():
    found = fit_widths([1, 1, 4, 6])
    assert found.p.tolist() == [0.5, 0, 0, 0.25, 0, 0.25]
    assert (found.mean, found.powers_of_two) == (3.0, 0.75)
    assert found.mean_se == pytest.approx(np.std([1, 1, 4, 6], ddof=1) / 2)
    assert [found.quantile(q) for q in (0.5, 0.51, 0.75, 0.76, 1.0)] == [1, 4, 4, 6, 6]
    with pytest.raises(OptionError, match="at least 1"):
        fit_widths([0, 1])
    with pytest.raises(OptionError, match="wider than the machine"):
        fit_widths([1, 2**40])


def test_kaplan_meier_by_hand():
    """Ends at 1, 3 (twice) and 6; looks away at 3 and 5."""
    found = kaplan_meier([1, 3, 3, 3, 5, 6], [1, 1, 1, 0, 0, 1])
    assert found.time.tolist() == [1, 3, 6]
    assert found.share.tolist() == pytest.approx([5 / 6, 5 / 6 * 3 / 5, 0])
    greenwood = 1 / (6 * 5) + 2 / (5 * 3)
    assert found.se[1] == pytest.approx(0.5 * math.sqrt(greenwood))
    assert found.at([0, 1, 2.9, 3, 7]).tolist() == pytest.approx([1, 5 / 6, 5 / 6, 0.5, 0])
    assert (found.time_of(0.5), found.time_of(0.6)) == (3, 6)
    assert kaplan_meier([1, 2], [1, 0]).time_of(0.9) == math.inf


def test_kaplan_meier_sees_through_limits():
    rng = np.random.default_rng(1)
    lasted, served, _ = pairs(rng, 20_000)
    found = kaplan_meier(lasted, served)
    for z in (500, 3000, 9000):
        assert found.at(z) == pytest.approx(math.exp(-MU * z), abs=0.015)


def test_tests_keep_their_level_and_have_power():
    rng = np.random.default_rng(2)
    kept = [exponential_test(rng.exponential(70, 60)) for _ in range(400)]
    for place in (0, 1):
        rejected = np.mean([pair[place].p_value < 0.05 for pair in kept])
        assert 0.02 < rejected < 0.085
    for shape in (0.7, 1.5):
        ks, ad = exponential_test(rng.weibull(shape, 1000))
        assert ks.p_value < 0.01
        assert ad.p_value < 0.01


def test_stitched_exposures_are_exponential_whatever_was_cut():
    rng = np.random.default_rng(4)
    lasted = rng.exponential(100, 6000)
    cut = rng.choice([20.0, 60.0, 500.0], 6000)
    between = stitched(np.minimum(lasted, cut), lasted <= cut)
    assert between.mean() == pytest.approx(100, rel=0.05)
    assert exponential_test(between)[1].p_value > 0.01
    # The durations that were seen to their end are not.
    assert exponential_test(lasted[lasted <= cut])[1].p_value < 0.01


def test_dispersion_of_counts():
    rng = np.random.default_rng(6)
    poisson = np.sort(rng.uniform(0, 1000, 5000))
    assert dispersion_test(poisson, 10.0).p_value > 0.01
    assert dispersion_test(poisson, 10.0).value == pytest.approx(1, abs=0.3)
    pairs_of_arrivals = np.repeat(np.sort(rng.uniform(0, 1000, 2500)), 2)
    assert dispersion_test(pairs_of_arrivals, 10.0).value == pytest.approx(2, abs=0.6)
    regular = np.linspace(0, 1000, 5000)
    assert dispersion_test(regular, 10.0).p_value < 1e-6


def cyclic(rng, days, depth, growth):
    """Arrivals by thinning: a sine over the day, and a rate that grows e-fold by `growth`."""
    t = np.sort(rng.uniform(0, days * DAY, 400 * days))
    height = (1 + depth * np.sin(2 * np.pi * t / DAY)) * np.exp(growth * t / (days * DAY))
    return t[rng.random(t.size) < height / height.max()]


def test_the_cycle_is_found_and_explains_the_arrivals():
    at = cyclic(np.random.default_rng(3), 100, 0.8, 0.0)
    # Second 0 is 6 in the morning of a Monday.
    found = fit_arrivals(at, offset=4 * DAY + 6 * 3600, clock="UTC")
    expected = 1 + 0.8 * np.sin(2 * np.pi * (np.arange(24) + 0.5 - 6) / 24)
    assert np.abs(found.daily - expected).max() < 0.12
    assert found.daily.mean() == pytest.approx(1)
    assert np.abs(found.weekly - 1).max() < 0.06
    assert found.tests["interarrivals_ad"].p_value < 0.01
    assert found.tests["dispersion_hour"].p_value < 0.01
    assert found.tests["rescaled_interarrivals_ad"].p_value > 0.01
    assert found.tests["rescaled_dispersion_hour"].p_value > 0.001


def test_days_of_the_week():
    """Ten weeks in which nothing comes on Saturdays and twice as much on Tuesdays."""
    hours = np.arange(10 * 7 * 24)
    day = (hours // 24) % 7
    at = np.repeat(hours * 3600.0 + 1800, np.select([day == 5, day == 1], [0, 4], 2))
    # Second 0 is the midnight before a Monday: 5 January 1970.
    found = fit_arrivals(at, offset=4 * DAY)
    assert found.weekly == pytest.approx(np.array([1, 2, 1, 1, 1, 0, 1]), abs=0.02)
    assert found.daily == pytest.approx(np.ones(24), abs=0.02)
    assert np.isnan(fit_arrivals(at).weekly).all()


@pytest.mark.parametrize("growth", [-1.5, 0.0, 0.7])
def test_the_trend_is_found(growth):
    at = cyclic(np.random.default_rng(5), 60, 0.0, growth)
    found = fit_arrivals(at)
    b, error = found.trend * found.span, found.trend_se * found.span
    assert abs(b - growth) < 3 * error
    assert error < 0.05
    assert found.growth(found.span) == pytest.approx(math.expm1(b))


def test_a_short_or_endless_log_has_no_cycle_to_speak_of():
    short = fit_arrivals([0.0, 5.0, 9.0])
    assert short.rate == pytest.approx(2 / 9)
    assert short.rate_se == pytest.approx(2 / 9 / math.sqrt(2))
    long = fit_arrivals(np.linspace(0, 1e15, 100))
    assert long.rate == pytest.approx(99 / 1e15)


def test_a_real_log(data_dir):
    """Counts of the Swedish machine, from its file by hand."""
    jobs = sojourn.read_log(data_dir / "swf" / "KTH-SP2-1996-2.swf.gz")
    fit = fit_model(jobs)
    assert fit.outcomes.counts["killed"] == 40 + 473
    assert fit.outcomes.counts["completed"] == 20_541 - 40
    assert fit.rates.exposure == jobs.runtime.sum()
    assert fit.service_rate == pytest.approx((28_489 - 513) / jobs.runtime.sum())
    assert fit.arrivals.clock == "Europe/Stockholm"
    assert 9 <= int(np.argmax(fit.arrivals.daily)) <= 17
    assert int(np.argmin(fit.arrivals.weekly)) == 5
    told = " ".join(fit.warnings)
    for trouble in ("not Poisson", "not exponential", "removed jobs last longer", "tolerance"):
        assert trouble in told


def test_hours_that_the_log_saw_in_part_count_in_part():
    """One arrival a minute from 0:24 on day 1 to 6:15 on day 2."""
    daily = fit_arrivals(np.arange(24 * 60.0, 30.25 * 3600, 60)).daily
    assert daily == pytest.approx(np.ones(24), abs=0.03)


def test_a_steep_trend_is_better_known_than_a_flat_one():
    """Given their number, the information on b is the variance of the instants."""
    u = np.sort(np.log1p(np.random.default_rng(6).random(5000) * np.expm1(5.0)) / 5.0)
    found = fit_arrivals(1e6 * u)
    assert found.trend * found.span == pytest.approx(5.0, abs=4 * found.trend_se * found.span)
    told = 1 / (found.span * np.sqrt(4998 * u.var()))
    assert found.trend_se == pytest.approx(told, rel=0.05, abs=0)


def test_anderson_and_darlings_statistic_is_its_integral():
    """Of n (F_n - F)**2 / (F (1 - F)) over F from 0 to 1."""
    sample = np.array([0.2, 0.7, 0.9, 2.5])
    _, found = exponential_test(sample)
    at = -np.expm1(-sample / sample.mean())
    f = (np.arange(2_000_000) + 0.5) / 2_000_000
    share = np.searchsorted(at, f, side="right") / 4
    assert found.value == pytest.approx(4 * np.mean((share - f) ** 2 / (f * (1 - f))), rel=1e-5)
