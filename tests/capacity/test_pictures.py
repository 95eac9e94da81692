"""Pictures of capacity: what is on them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sojourn import OptionError, report


def lines(ax):
    return {line.get_label(): line for line in ax.get_lines()}


def words(ax):
    return " ".join(text.get_text() for text in ax.texts)


def test_stability_curves(tmp_path: Path) -> None:
    curves = {
        "exponential": ([10, 20, 30], [0.01, 0.02, 0.03]),
        "fcfs": (np.array([10, 30]), np.array([0.009, 0.025])),
    }
    figure = report.stability_curves(curves, 0.015, 20, busy=12.0)
    (ax,) = figure.axes
    drawn = lines(ax)
    assert drawn["fcfs, exponential service (exact)"].get_ydata().tolist() == pytest.approx(
        [36.0, 72.0, 108.0]
    )
    assert drawn["fcfs, the log's own jobs (simulated)"].get_xdata().tolist() == [10, 30]
    # At 12 processors, all of them busy, the log's rate is reached.
    ideal = drawn["own jobs, no processor idle"]
    assert np.interp(12.0, ideal.get_xdata(), ideal.get_ydata()) == pytest.approx(54.0)
    assert "the log: 54 jobs/h" in words(ax)
    assert "today: 20" in words(ax)
    assert report.save(figure, tmp_path / "a.png").stat().st_size > 10_000


def test_size_curves(tmp_path: Path) -> None:
    figure = report.size_curves(
        [10, 20, 40],
        {"p95": ([7200.0, 600.0, 0.0], 3600.0), "mean": ([900.0, 60.0, 2.0], 600.0)},
        [0.9, 0.5, 0.2],
        theory={"p95": ([10, 15, 40], [np.inf, 3000.0, 0.0])},
        chosen=20,
        today=10,
        caption="easy",
    )
    top, bottom = figure.axes
    drawn = lines(top)
    assert drawn["p95, simulated"].get_ydata().tolist() == [7200.0, 600.0, 1.0]
    assert np.isnan(drawn["p95, theory"].get_ydata()).tolist() == [True, False, True]
    assert "mean, theory" not in drawn
    assert "p95 within 1 h" in words(top)
    assert "mean within 10 min" in words(top)
    assert "20 meet the target" in words(bottom)
    assert "0 drawn as 1 s" in top.get_title(loc="right")
    assert bottom.get_lines()[0].get_ydata().tolist() == [90.0, 50.0, 20.0]
    assert report.save(figure, tmp_path / "a.svg").stat().st_size > 10_000


def test_nothing_to_draw() -> None:
    with pytest.raises(OptionError, match="no curves"):
        report.stability_curves({}, 1.0, 1)
    with pytest.raises(OptionError, match="no sizes"):
        report.size_curves([], {"mean": ([], 1.0)}, [])
