"""What a page says of the best: whether it differs, by how much, and how sure that is."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from sojourn.measures.registry import get as measure
from sojourn.report.figures.style import number
from sojourn.report.page import make_report
from sojourn.report.page.answers import _best_sentences
from sojourn.report.page.collect import points_of_study
from sojourn.report.page.folder import read_folder
from sojourn.report.page.pack import Packer
from sojourn.report.page.points import Points, in_words
from sojourn.report.page.sections import page_of
from sojourn.report.page.tables import table_of_points
from sojourn.report.page.words import between, confidence
from sojourn.study.intervals import Interval

from .conftest import made_jobs, study_rows, write_simulated, write_study
from .test_numbers import cells, searched
from .test_pages import facts_of, read


def points_of(name: str, table, keys=None, **more) -> Points:
    """Points with one measure, one row of the table each."""
    table = np.asarray(table, np.float64)
    return Points(
        keys or {"policy": [f"p{i}" for i in range(len(table))]},
        {name: list(table)},
        [np.arange(table.shape[1])] * len(table),
        (name,),
        **more,
    )


def test_little_knowledge_does_not_tell_points_apart():
    # The last one is not even told from 0, so that no ratio to it has ends.
    points = points_of(
        "wait_mean",
        [[100.0, 101, 99, 100], [150.0, 151, 149, 150], [0.0, 900, 10, 30]],
    )
    assert not np.isfinite(points.change("wait_mean", 0, 2).high)
    assert stats.ttest_rel(*points.samples["wait_mean"][::2]).pvalue > 0.05
    assert points.rivals("wait_mean", 0) == ([2], True)
    (told,) = _best_sentences(points)
    # Both are told by the difference: with p2 as the baseline, and as a rival.
    assert "which cannot be distinguished from that of p2 (95 % interval of the difference " in told
    assert ", all comparisons together)" in told
    assert "best of all" not in told


def test_a_difference_without_a_ratio():
    luck = np.array([12.0, -11.0, 3.0, -2.0, 5.0, -4.0])
    gap = np.array([5.0, 5.2, 4.9, 5.1, 4.8, 5.0])
    points = points_of("cost", [1 + luck, 1 + luck - gap])
    assert not np.isfinite(points.change("cost", 1, 0).high)
    (told,) = _best_sentences(points)
    assert "% less than p0 (how much is not known: that of p0 may be near 0)." in told


def test_a_change_is_as_sure_as_the_choice_of_the_best():
    rng = np.random.default_rng(12)
    claims = 0
    for _ in range(150):
        points = points_of("wait_mean", rng.normal(100.0, 5.0, (20, 10)))
        (told,) = _best_sentences(points)
        certain = "cannot be distinguished from that of" not in told
        claims += certain
        assert not (certain and "None of the other" in told)
        assert "(95 % interval" in told
        assert ", all comparisons together)" in told
        assert "99.74" not in told
    # Twenty policies that are all the same: 5 % of studies may claim a change.
    assert claims <= stats.binom.ppf(0.999, 150, 0.05)


def test_the_level_of_a_change_counts_the_comparisons():
    rng = np.random.default_rng(5)
    table = rng.normal(0.0, 1.0, (5, 8)) + np.array([[120.0], [110], [100], [130], [125]])
    points = points_of("wait_mean", table)
    gap = table[2] - table[0]
    found = points.difference("wait_mean", 2, 0, level=points.together)
    half = stats.t.ppf(1 - 0.05 / 4 / 2, 7) * gap.std(ddof=1) / np.sqrt(8)
    assert (found.estimate, found.half_width) == pytest.approx((gap.mean(), half))
    (told,) = _best_sentences(points)
    shown = points.change("wait_mean", 2, 0, level=points.together)
    ends = sorted(abs(100 * end) for end in (shown.low, shown.high))
    text = f"(95 % interval {number(ends[0])} to {number(ends[1])} %, all comparisons together)"
    assert text in told
    # One level stands in a sentence; of a single comparison there is nothing to add.
    assert set(re.findall(r"([\d.]+) % interval", told)) == {"95"}
    assert "together" not in _best_sentences(points_of("wait_mean", table[:2]))[0]
    # Best and worst of a front are both chosen: all pairs count.
    front = points_of("wait_mean", table, front=dict.fromkeys(range(5), 1.0))
    assert front.together == pytest.approx(1 - 0.05 / 10)
    assert [confidence(level) for level in (0.95, 0.9875, 1 - 0.05 / 1000)] == [
        "95 %", "98.8 %", "99.995 %",
    ]  # fmt: skip


def test_draws_with_a_zero_in_the_baseline():
    draws = np.array([0.0, 40.0, 25.0, 60.0, 35.0])
    other = np.array([0.0, 30.0, 21.0, 44.0, 24.0])
    points = points_of("wait_mean", [draws, other], resampled=True)
    found = points.change("wait_mean", 1, 0)
    ratio = other.sum() / draws.sum()
    spread = np.std(other - ratio * draws, ddof=1) / draws.mean()
    assert found.half_width == pytest.approx(stats.t.ppf(0.975, 4) * spread)
    gap = points.difference("wait_mean", 1, 0)
    assert gap.estimate == pytest.approx((other - draws).mean())
    assert gap.half_width == pytest.approx(stats.t.ppf(0.975, 4) * spread * draws.mean())
    same = points_of("wait_mean", [draws * 0, draws * 0], resampled=True)
    assert same.change("wait_mean", 1, 0).half_width == 0


def test_draws_are_known_by_the_key_that_was_varied(tmp_path):
    rows = study_rows(thresholds=(0.0,))
    rows["workload.resample"] = ["day" if order == "fcfs" else "week"
                                 for order in rows.pop("policy.order")]  # fmt: skip
    folder = write_study(tmp_path / "study", rows, keys=["control.k", "workload.resample"])
    assert read_folder(folder).is_resampled
    assert points_of_study(read_folder(folder)).resampled


def test_nothing_falls_by_more_than_all_of_it():
    above, below = np.array([0.0, 10.0, 260.0, 40.0]), np.array([90.0, 120.0, 100.0, 105.0])
    for name in ("wait_mean", "cost"):
        assert points_of(name, [below, above]).change(name, 1, 0).low == -1
    # Who is paid for taking electricity may save more than all of what it cost.
    paid = points_of("cost", [below, above - 50.0])
    assert paid.change("cost", 1, 0).low < -1


def test_numbers_of_a_run_have_their_intervals(run_folder):
    page = page_of(read_folder(run_folder), Packer())
    told = page.answer.sentences[0]
    assert re.search(r"half of them at most [^:]+ \(95 % interval [^)]+\), 95 % of them at most "
                     r"[\d.]+ \w+ \(95 % interval [^)]+\)\.$", told)  # fmt: skip


def test_a_run_that_is_too_short_says_so(tmp_path):
    assert between(measure("wait_mean"), Interval(60.0, 0.0, 120.0, 0.95, 10,
                                                  "batch means, correlated")) \
        == "0 to 2 min, run too short"  # fmt: skip
    folder = write_simulated(tmp_path / "short", made_jobs(40, 8, load=0.9), 8, "easy")
    page = page_of(read_folder(folder), Packer())
    assert re.search(r"95 % of them at most [\d.]+ \w+\.$", page.answer.sentences[0])
    heads, row, *_ = cells(page, "distributions")
    assert "|" not in row[heads.index("99 %")].rstrip("| ")


def test_changes_of_single_runs_have_their_ends():
    rng = np.random.default_rng(2)
    first = rng.exponential(100.0, 3000)
    second = 0.7 * first + rng.exponential(10.0, 3000)
    points = points_of(
        "wait_mean", [[first.mean()], [second.mean()]], jobs={"wait_mean": [first, second]}
    )
    _, (_, cell) = table_of_points(points, range(2), "").rows
    got = re.fullmatch(r"−([\d.]+) % \(−([\d.]+) to −([\d.]+) %\)", cell[1])
    estimate, *ends = (float(each) for each in got.groups())
    assert estimate == pytest.approx(100 - 100 * second.mean() / first.mean(), rel=6e-3)
    # Batches of independent jobs tell what the jobs themselves do, by the delta method.
    left = second - second.mean() / first.mean() * first
    half = 196 * left.std() / np.sqrt(3000) / first.mean()
    assert np.ptp(ends) / 2 == pytest.approx(half, rel=0.3)


def test_quantiles_of_studies_are_means_of_quantiles(tmp_path):
    rows = study_rows()
    assert (
        "averaged over replications"
        not in read(make_report(write_study(tmp_path / "means", rows))).words
    )
    rows["wait_p95"] = [3 * wait for wait in rows["wait_mean"]]
    words = read(make_report(write_study(tmp_path / "quantiles", rows))).words
    assert "those of each replication, averaged over replications" in words


def test_a_tie_is_no_win(tmp_path):
    same = points_of("wait_mean", [[5.0, 6.0, 7.0]] * 3)
    (told,) = _best_sentences(same)
    assert told.startswith("The mean wait is the same at all points: 6 s")
    some = points_of("wait_mean", [[9.0, 9.5, 9.2], [5.0, 6.0, 7.0], [5.0, 6.0, 7.0]])
    (told,) = _best_sentences(some)
    assert told.startswith("p1 and p2 have the lowest mean wait: 6 s")
    assert not re.search(r"p[12] cannot be told", told)
    first = points_of("wait_mean", [[5.0, 6.0, 7.0], [5.0, 6.0, 7.0], [9.0, 9.9, 11.0]])
    assert "less than p2" in _best_sentences(first)[0]
    jobs = made_jobs(200, 16)
    for name in ("a", "b"):
        write_simulated(tmp_path / "both" / name, jobs, 16, "easy")
    page = page_of(read_folder(tmp_path / "both"), Packer())
    assert page.answer.sentences[0].startswith("The mean wait is the same in all runs: ")
    assert page.answer.title == "2 runs on 16 processors"
    assert not page.sections[0].tables[0].best


def test_points_that_were_run_again_are_told_by_that(tmp_path):
    folder, table = searched(tmp_path)
    again = (table["policy.order"] == "fcfs") & (table["control.k"] == 3e5)
    extra = table[again].assign(replication=lambda part: part["replication"] + 4)
    extra = extra.assign(wait_mean=extra["wait_mean"] * 2, run_id=extra["run_id"] + "again")
    both = pd.concat([table, extra])
    rows = {name: both[name].tolist() for name in both}
    kept = (folder / "front.json").read_text()
    other = write_study(tmp_path / "again", rows, objectives=["wait_mean", "energy_kwh"],
                        replications=4)  # fmt: skip
    (other / "front.json").write_text(kept)
    points = points_of_study(read_folder(other))
    at = points.names.index("control.k = 300,000, policy.order = fcfs")
    assert points.replications[at].tolist() == [4, 5, 6, 7]
    assert points.fresh == {*points.front, at}
    chart = facts_of(make_report(other))["charts"]["tradeoff"]
    assert chart["names"] == [points.names[i] for i in sorted(points.fresh)]
    page = page_of(read_folder(other), Packer())
    captions = [table.caption for table in page.sections[2].tables]
    assert [len(cells(page, "points", i)) - 1 for i in range(3)] == [4, 1, 3]
    assert "run again" in captions[1]
    assert "not to be compared" in captions[2]


def test_names_of_points_say_what_they_are_values_of():
    def named(*values):
        return points_of("wait_mean", np.ones((len(values), 2)), {"policy.x": values}).names

    assert named("fcfs", "sjf") == ["fcfs", "sjf"]
    assert named(True, False) == ["policy.x = yes", "policy.x = no"]
    assert named("none", 3.0) == ["policy.x = none", "policy.x = 3"]
    assert named(2.0, np.inf) == ["policy.x = 2", "policy.x = ∞"]
    assert in_words(-np.inf) == "−∞"
