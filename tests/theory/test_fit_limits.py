"""What time limits do: the models and the measured curve, on logs made for it."""

from __future__ import annotations

import math

import numpy as np
import pytest

import sojourn
from sojourn.capacity.limits import picture, time_limits
from sojourn.errors import OptionError

X, Z = 3000.0, 9000.0


def log(jobs=6000, seed=1, widths=(1, 2, 8), common=None):
    """Services of mean X under limits of mean Z, or under one common limit (s)."""
    rng = np.random.default_rng(seed)
    service = rng.exponential(X, jobs)
    limit = np.full(jobs, common) if common is not None else rng.exponential(Z, jobs)
    return sojourn.Jobs(
        {
            "submit": np.sort(rng.uniform(0, 100 * jobs, jobs)),
            "runtime": np.minimum(service, limit),
            "procs": rng.choice(widths, jobs),
            "estimate": limit,
            "status": np.where(service < limit, 1, 0),
        }
    )


@pytest.fixture(scope="module")
def study():
    return time_limits(log(), target=0.9)


def test_one_limit_per_job_is_the_width_one_formula(study):
    one = study.readings["job"]
    assert one.mean_service == pytest.approx(X, rel=0.05)
    assert one.mean_limit == pytest.approx(Z, rel=0.08)
    # [mminf2023, eqs. 44 and 45] whatever the width.
    assert one.completion_probability == pytest.approx(
        one.mean_limit / (one.mean_limit + one.mean_service)
    )
    assert one.critical_limit == pytest.approx(9 * one.mean_service)
    assert study.completed_share == pytest.approx(one.completion_probability)
    assert study.model_curve([one.critical_limit])[0] == pytest.approx(0.9)


def test_readings_of_sub_requests_reach_the_target_at_their_critical_limit(study):
    for name in ("each", "shared"):
        found = study.readings[name]
        assert study.model_curve([found.critical_limit], name)[0] == pytest.approx(0.9)
        assert study.model_curve([found.mean_limit], name)[0] == pytest.approx(
            found.completion_probability
        )
    # Wider jobs finish less often [mminf2023, fig. 4]; a shared limit is kinder (errata 4).
    z = study.readings["each"].mean_service
    curve = [study.model_curve([z], "each", k)[0] for k in (1, 3, 5)]
    assert curve == pytest.approx([0.5, 0.125, 0.03125])
    z = study.readings["shared"].mean_service
    assert study.model_curve([z], "shared", 5)[0] == pytest.approx(1 / 6)


def test_the_measured_curve_sees_services_behind_the_limits(study):
    z = np.array([500.0, 3000.0, 9000.0])
    assert study.measured_curve(z) == pytest.approx(-np.expm1(-z / X), abs=0.02)
    assert study.measured_limit == pytest.approx(X * math.log(10), rel=0.08)
    assert study.warnings == ()


def test_a_target_beyond_the_common_limit_is_not_reached():
    found = time_limits(log(common=2000.0), target=0.9)
    assert found.measured_limit == math.inf
    assert found.killed_share == pytest.approx(math.exp(-2000 / X), abs=0.02)
    assert found.as_dict()["measured"]["critical_limit"] == math.inf


def test_what_killed_jobs_cost():
    columns = {
        "submit": [0, 1, 2, 3],
        "runtime": [3600, 7200, 1800, 900],
        "procs": [1, 2, 4, 8],
        "estimate": [4000, 7200, 1800, 4000],
        "status": [1, 0, 5, 5],
    }
    found = time_limits(sojourn.Jobs(columns))
    told = found.as_dict()
    assert told["processor_hours"] == {
        "completed": 1.0,
        "failed": 0.0,
        "killed": 6.0,
        "cancelled": 2.0,
        "censored": 0.0,
    }
    assert found.killed_share == 0.5
    assert found.burnt_share == pytest.approx(6 / 9)


def test_enough_processors(study):
    """Jobs that free their processors together: theory and measurement agree on such a log."""
    job = study.readings["job"]
    assert study.measured_servers == pytest.approx(job.servers, rel=0.05)
    fit = study.fit
    busy = fit.infinite_servers()
    assert busy.cdf(job.servers) >= 0.999 > busy.cdf(job.servers - 1)


def test_nobody_removed_and_everybody_removed():
    unlimited = time_limits(log(200, common=1e9))
    assert unlimited.readings["each"].mean_limit == math.inf
    assert unlimited.readings["each"].completion_probability == 1.0
    columns = {"submit": [0, 1], "runtime": [5, 6], "procs": [1, 1]}
    with pytest.raises(OptionError, match="no service ends"):
        time_limits(sojourn.Jobs({**columns, "estimate": [5, 5], "status": [0, 0]}))
    with pytest.raises(OptionError, match="no job has an estimate"):
        time_limits(sojourn.Jobs(columns))


@pytest.mark.parametrize("options", [{"target": 0}, {"target": 1}, {"enough": 1.5}])
def test_probabilities_are_inside_the_interval(options):
    with pytest.raises(OptionError, match=next(iter(options))):
        time_limits(log(50), **options)


@pytest.mark.parametrize("limits", ["each", "shared"])
def test_the_picture_has_figures_3_and_4(study, limits):
    first, second = picture(study, limits).axes
    assert [line.get_label() for line in second.get_lines() if len(line.get_xdata()) > 2][:1] == [
        second.get_legend().get_texts()[0].get_text()
    ]
    told = [text.get_text() for text in first.get_legend().get_texts()]
    assert told[0].startswith("model, mean of random limits: 7.")
    assert told[2].startswith("as measured, common limit: 1.")
    names = [text.get_text().partition(":")[0] for text in second.get_legend().get_texts()]
    assert names == ["1 processor", "2 processors", "8 processors", "jobs of the log"]
