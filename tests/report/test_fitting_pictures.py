"""Pictures of a fit and of time limits: what is on them."""

from __future__ import annotations

import numpy as np
import pytest

import sojourn
from sojourn import report
from sojourn.errors import OptionError
from sojourn.theory import fit_model


def jobs(n=800, seed=1, header=("; UnixStartTime: 1000000000", "; TimeZoneString: UTC")):
    rng = np.random.default_rng(seed)
    service, limit = rng.exponential(3000, n), rng.exponential(9000, n)
    return sojourn.Jobs(
        {
            "submit": np.cumsum(rng.exponential(900, n)),
            "runtime": np.minimum(service, limit),
            "procs": rng.choice([1, 2, 8], n),
            "estimate": limit,
            "status": np.where(service < limit, 1, 0),
        },
        header=header,
    )


def curve(ax, label):
    line = next(line for line in ax.get_lines() if line.get_label() == label)
    return np.asarray(line.get_xdata()), np.asarray(line.get_ydata())


@pytest.mark.parametrize("reading", ["job", "sub-request"])
def test_a_fit_is_drawn_from_its_numbers(reading):
    log = jobs()
    fit = fit_model(log, reading=reading)
    hours, days, widths, gaps, lasted, quantiles = report.fitted(fit, log.submit).axes
    assert [bar.get_height() for bar in hours.patches] == pytest.approx(fit.arrivals.daily)
    assert [bar.get_height() for bar in days.patches] == pytest.approx(fit.arrivals.weekly)
    assert widths.get_lines()[0].get_xdata().tolist() == [1, 2, 8]
    assert "(min)" in lasted.get_xlabel()
    # The model's curves, at the times on the axis, in minutes.
    time, share = curve(lasted, "model")
    assert share == pytest.approx(fit.duration_survival(time * 60))
    time, share = curve(gaps, "model")
    assert share == pytest.approx(np.exp(-time * fit.arrival_rate * 60))
    assert "(min)" in gaps.get_xlabel()
    time, share = curve(lasted, "measured")
    assert share[0] == 1
    middle = np.searchsorted(-share, -0.5)
    assert time[middle] * 60 == pytest.approx(np.median(log.runtime), rel=0.02)
    expected, measured = (np.asarray(v) for v in quantiles.get_lines()[0].get_data())
    at = expected.size // 2
    beyond = fit.duration_survival(expected[[at]])[0]
    assert np.mean(log.runtime > measured[at]) == pytest.approx(beyond, abs=0.01)


def test_a_log_of_the_model_lies_on_the_diagonal():
    log = jobs(4000)
    axes = report.fitted(fit_model(log), log.submit).axes
    expected, measured = (np.asarray(v) for v in axes[5].get_lines()[0].get_data())
    inner = slice(50, -50)
    assert measured[inner] == pytest.approx(expected[inner], rel=0.12)


def test_without_a_calendar_the_days_of_the_log_stand_for_weekdays():
    log = jobs(header=())
    axes = report.fitted(fit_model(log), log.submit).axes
    assert axes[1].get_xlabel() == "day of the log"
    days = axes[1].patches[0].get_data().values
    per_day = np.bincount(((log.submit - log.submit.min()) // 86400).astype(int))
    assert days == pytest.approx(per_day / per_day.mean())


def test_the_smallest_logs_can_be_drawn(tmp_path):
    log = jobs(2)
    path = report.save(report.fitted(fit_model(log), log.submit), tmp_path / "two.png")
    assert path.stat().st_size > 0
    with pytest.raises(OptionError, match="submit"):
        report.fitted(fit_model(log), [3.0, 3.0])


def test_limit_curves_mark_the_target():
    z = np.geomspace(1, 1e5, 2000)
    panels = {"one": {"model": z / (z + 100), "as measured": np.minimum(z / 1e5, 0.5)}}
    (ax,) = report.limit_curves(z, panels, target=0.75).axes
    told = [text.get_text() for text in ax.get_legend().get_texts()]
    # z / (z + 100) = 3/4 at 300 s; the other curve never gets there.
    assert told == ["model: 5 min", "as measured"]
    assert ax.get_legend().get_title().get_text() == "75 % finish at"


@pytest.mark.parametrize(
    ("limits", "panels", "said"),
    [
        ([1, 1], {"a": {"b": [0, 1]}}, "rising"),
        ([0, 1], {"a": {"b": [0, 1]}}, "rising"),
        ([1, 2], {"a": {"b": [0, 1, 1]}}, "curve 'b'"),
        ([1, 2], {}, "panel"),
    ],
)
def test_curves_that_cannot_be_drawn(limits, panels, said):
    with pytest.raises(OptionError, match=said):
        report.limit_curves(limits, panels)
