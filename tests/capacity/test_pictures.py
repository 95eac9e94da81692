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


def boxes(figure, ax):
    figure.draw_without_rendering()
    return {text.get_text(): text.get_window_extent() for text in ax.texts}


def test_words_of_a_quiet_log_stay_apart() -> None:
    figure = report.stability_curves({"fcfs": ([16, 32], [0.03, 0.05])}, 0.0005, 16)
    (ax,) = figure.axes
    log, today = boxes(figure, ax).values()
    line = ax.transData.transform((16, 1.8))[1]
    assert log.y0 > line
    assert today.y0 > line


@pytest.mark.parametrize("today", [20, 21, 40])
def test_the_answer_and_the_machine_of_today_stay_apart(today: int) -> None:
    measures = {"p95": ([7200.0, 600.0, 5.0], 3600.0)}
    figure = report.size_curves([10, 20, 40], measures, [0.9, 0.5, 0.2], chosen=20, today=today)
    told = boxes(figure, figure.axes[1])
    assert ("20 meet the target (today)" in told) == (today == 20)
    first, *others = told.values()
    assert not any(first.overlaps(other) for other in others)


def test_the_legend_leaves_points_alone_where_nobody_waits() -> None:
    figure = report.size_curves([10, 20, 40], {"p95": ([0.0] * 3, 60.0)}, [0.9, 0.5, 0.2])
    top, _ = figure.axes
    figure.draw_without_rendering()
    points = top.transData.transform([(size, 1.0) for size in (10, 20, 40)])
    assert not top.get_legend().get_window_extent().count_contains(points)
