"""What a page claims, against the same numbers computed another way."""

from __future__ import annotations

import base64
import gzip
import json
import re
import shutil
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from sojourn.measures.registry import get as measure
from sojourn.report.page import make_report
from sojourn.report.page.collect import intervals_of_run, points_of_runs, points_of_study
from sojourn.report.page.folder import read_folder
from sojourn.report.page.pack import Packer
from sojourn.report.page.sections import page_of
from sojourn.report.page.words import between, bounded, value_text
from sojourn.study.batches import batch_means, batch_quantile
from sojourn.study.intervals import Interval

from .conftest import study_rows, write_study
from .test_aggregate import unpacked
from .test_pages import facts_of, read


def cells(page, section: str, table: int = 0) -> list[list[str]]:
    found = next(each for each in page.sections if each.id == section).tables[table]
    plain = [[" | ".join(cell) if isinstance(cell, tuple) else cell for cell in row]
             for row in found.rows]  # fmt: skip
    return [list(found.columns), *plain]


def student(values, level=0.95) -> tuple[float, float]:
    half = stats.t.ppf(0.5 + level / 2, len(values) - 1) * np.std(values, ddof=1)
    return np.mean(values), half / np.sqrt(len(values))


def arrays_of(page: str) -> bytes:
    found = re.search(r'id="arrays">([^<]*)<', page)
    return gzip.decompress(base64.b64decode(found[1]))


def test_the_chart_holds_means_and_intervals_in_the_unit_of_its_axis(study_folder):
    page = make_report(study_folder)
    block, chart = arrays_of(page), facts_of(page)["charts"]["tradeoff"]
    assert (chart["x"], chart["y"]) == ("wait_mean", "energy_kwh")
    rows = read_folder(study_folder).runs
    rows = rows[rows["status"] == "done"]
    for name, unit, size in (("wait_mean", "h", 3600.0), ("energy_kwh", "MWh", 1000.0)):
        column = chart["columns"][name]
        assert column["unit"] == unit
        grouped = rows.groupby(["control.k", "policy.order"], sort=True)[name]
        wanted = [student(values.to_numpy()) for _, values in grouped]
        means, halves = (np.array(side) / size for side in zip(*wanted, strict=True))
        for side, values in (("values", means), ("low", means - halves), ("high", means + halves)):
            np.testing.assert_allclose(unpacked(block, column[side]), values, rtol=1e-5)
    curves = facts_of(page)["charts"]["curves"]
    assert (curves["x"], curves["y"]) == ("control.k", "wait_mean")
    assert curves["across"] == ["control.k", "policy.order"]


def test_tables_and_tiles_have_intervals(study_folder):
    study = read_folder(study_folder)
    page = page_of(study, Packer())
    heads, first, *_ = cells(page, "points")
    assert heads[:4] == ["control.k", "policy.order", "mean wait", "energy"]
    rows = study.runs[(study.runs["control.k"] == 0) & (study.runs["policy.order"] == "fcfs")]
    rows = rows[rows["status"] == "done"]
    mean, half = student(rows["wait_mean"].to_numpy() / 3600)
    assert first[:2] == ["0", "fcfs"]
    told = re.fullmatch(r"([\d.]+) h \| ([\d.]+) to ([\d.]+) h", first[2])
    assert [float(v) for v in told.groups()] == pytest.approx(
        [mean, mean - half, mean + half], rel=6e-3
    )
    assert all("95 % interval" in notes[0] for _, _, notes in page.tiles)
    assert [label for label, _, _ in page.tiles] == ["lowest mean wait", "lowest energy"]
    assert cells(page, "failed")[1][:3] == ["0", "fcfs", "1 replication"]


def test_draws_of_one_log_spread_as_wide_as_they_do(tmp_path):
    rows = study_rows(thresholds=(0.0,), replications=12)
    folder = write_study(tmp_path / "study", rows)
    (folder / "scenario.toml").write_text('[workload]\nresample = "week"\n')
    points = points_of_study(read_folder(folder))
    found = points.intervals["wait_mean"][0]
    values = np.array(rows["wait_mean"][:12])
    half = stats.t.ppf(0.975, 11) * values.std(ddof=1)
    assert found.half_width == pytest.approx(half)
    change = points.change("wait_mean", 1, 0)
    others = np.array(rows["wait_mean"][12:])
    ratio = others.mean() / values.mean()
    left = (others - ratio * values) / values.mean()
    assert change.estimate == pytest.approx(ratio - 1)
    assert change.half_width == pytest.approx(stats.t.ppf(0.975, 11) * left.std(ddof=1))
    words = read(make_report(folder)).words
    assert "does not become narrower with more of them" in words
    assert "[kuensch1989" in words


def searched(tmp_path, searching: int = 4, confirming: int = 5):
    """A search whose points were lucky in its own replications, and its front."""
    rows = study_rows(replications=searching + confirming)
    table = pd.DataFrame(rows)
    lucky = table["replication"] < searching
    on_front = table["policy.order"] == "sjf"
    table.loc[lucky, ["wait_mean", "energy_kwh"]] *= 0.5
    table = table[lucky | on_front]
    folder = write_study(
        tmp_path / "search",
        {name: table[name].tolist() for name in table},
        objectives=["wait_mean", "energy_kwh"],
        replications=searching,
    )
    front = [
        {"values": {"control.k": k, "policy.order": "sjf"}, "share": share}
        for k, share in ((0.0, 1.0), (1e5, 0.6), (2e5, 0.9), (3e5, 1.0))
    ]
    volume = {"estimate": 1234.5, "low": 1000.0, "high": 1500.0, "level": 0.95, "n": 5}
    told = {"points": front, "hypervolume_interval": volume, "reference": [9000.0, 9500.0]}
    (folder / "front.json").write_text(json.dumps(told))
    return folder, table


def test_a_front_is_told_by_what_the_search_has_not_seen(tmp_path):
    folder, table = searched(tmp_path)
    study = read_folder(folder)
    points = points_of_study(study)
    assert points.names[min(points.front)] == "control.k = 0, policy.order = sjf"
    for i in range(len(points)):
        assert points.replications[i].tolist() == ([4, 5, 6, 7, 8] if i in points.front
                                                   else [0, 1, 2, 3])  # fmt: skip
    # By the luck of the search other points would be best.
    assert points.best("wait_mean") in points.front
    fresh = table[(table["replication"] >= 4) & (table["control.k"] == 0)]["wait_mean"]
    mean, half = student(fresh.to_numpy() / 60)
    page = page_of(study, Packer())
    told = page.answer.sentences[0]
    assert told.startswith("4 points are worth choosing from: between them the mean wait goes from")
    got = re.search(r"goes from ([\d.]+) min \(95 % interval ([\d.]+) to ([\d.]+) min\)", told)
    assert [float(v) for v in got.groups()] == pytest.approx(
        [mean, mean - half, mean + half], rel=6e-3
    )
    heads, *rows = cells(page, "points")
    assert heads[-1] == "on the front"
    assert [row[-1] for row in rows] == ["100 %", "60 %", "90 %", "100 %"]
    assert len(cells(page, "points", 1)) == 5
    words = read(make_report(folder)).words
    assert "up to 2.5 h and 9.5 MWh is 1,234 (95 % interval 1,000 to 1,500)" in words
    chart = facts_of(make_report(folder))["charts"]["tradeoff"]
    assert [chart["names"][i] for i in chart["marked"]] == [points.names[i] for i in points.front]
    assert len(chart["names"]) == 4  # Points that only the search has run are not drawn.
    assert chart["left"] == 4


def test_a_front_that_was_not_confirmed_has_what_there_is(tmp_path):
    folder, table = searched(tmp_path)
    kept = table[(table["replication"] < 4) | (table["control.k"] == 0)]
    shutil.rmtree(folder)
    write_study(folder, {name: kept[name].tolist() for name in kept}, replications=4)
    (folder / "front.json").write_text(
        json.dumps({"points": [{"values": {"control.k": k, "policy.order": "sjf"}, "share": 1.0}
                               for k in (0.0, 1e5)]})
    )  # fmt: skip
    points = points_of_study(read_folder(folder))
    assert {tuple(each.tolist()) for each in points.replications} == {(0, 1, 2, 3)}
    words = read(make_report(folder)).words
    assert "were not run again" in words
    assert "has not seen" not in words


def test_the_best_is_told_with_its_rivals(tmp_path):
    rng = np.random.default_rng(8)
    shared = rng.normal(0.0, 50.0, 8)
    rows = study_rows(thresholds=(0.0,), orders=("a", "b", "c", "d"), replications=8)
    noise = rng.normal(0.0, 1.0, (4, 8))
    level = np.array([2000.0, 1000.0, 1000.5, 1500.0])
    rows["wait_mean"] = (level[:, None] + shared + noise).ravel().tolist()
    rows["energy_kwh"] = (level[::-1, None] + shared + noise).ravel().tolist()
    folder = write_study(tmp_path / "study", rows)
    points = points_of_study(read_folder(folder))
    best = points.best("wait_mean")
    values = np.array(rows["wait_mean"]).reshape(4, 8)
    by_hand = []
    for i in range(4):
        gap = values[i] - values[best]
        if i != best:
            mean, half = student(gap, 1 - 0.05 / 3)
            by_hand += [i] if abs(mean) <= half else []
    assert points.rivals("wait_mean", best) == (by_hand, True)
    assert by_hand == [3 - best]
    sentences = page_of(read_folder(folder), Packer()).answer.sentences
    assert sentences[0].endswith(
        f"%, all comparisons together). {points.names[by_hand[0]]} cannot be distinguished from it."
    )
    # A gap that would be told from chance alone, but not as one of three.
    gap = stats.zscore(noise[0], ddof=1) / np.sqrt(8)
    twice = values.copy()
    twice[3 - best] = twice[best] + 2.8 / np.sqrt(8) + gap * np.sqrt(8)
    rows["wait_mean"] = twice.ravel().tolist()
    close = points_of_study(read_folder(write_study(tmp_path / "close", rows)))
    assert stats.ttest_rel(twice[3 - best], twice[best]).pvalue < 0.05
    assert close.rivals("wait_mean", best) == ([3 - best], True)
    rows["wait_mean"] = (2 * level[:, None] + [[0], [0], [30], [0]] + shared + noise).ravel()
    rows["wait_mean"] = rows["wait_mean"].tolist()
    clear = write_study(tmp_path / "clear", rows)
    sentences = page_of(read_folder(clear), Packer()).answer.sentences
    assert sentences[0].endswith("It is the best of all 4 with 95 % confidence.")


def test_what_was_not_varied_is_not_told_of_every_point(tmp_path):
    rows = study_rows(thresholds=(5e4,))
    words = read(make_report(write_study(tmp_path / "study", rows))).words
    assert "sjf has the lowest mean wait: " in words
    assert "control.k =" not in words


def test_a_study_that_was_cut_short_says_so(tmp_path):
    rows = study_rows(replications=1)
    options = {"set": ["control.k=0:4e5:1e5", "policy.order=fcfs,sjf"], "replications": 1}
    page = make_report(write_study(tmp_path / "study", rows, options=options, replications=1))
    words = read(page).words
    assert "8 runs at 8 points, 1 replication each." in words
    assert "The study is not finished: 2 of 10 runs are missing." in words
    assert "Nothing is known of the spread" in words
    assert "95 % interval" not in words
    assert "one replication each and so without intervals" in words
    assert "low" not in facts_of(page)["charts"]["tradeoff"]["columns"]["wait_mean"]
    options["replications"] = 3
    more = write_study(tmp_path / "more", rows, options=options, replications=3)
    assert "The study is not finished: 22 of 30 runs are missing." in read(make_report(more)).words


def test_failures_of_a_point_are_one_row(tmp_path):
    rows = study_rows()
    for i in range(6):
        rows["status"][i], rows["error"][i] = "failed", "too wide"
    page = page_of(read_folder(write_study(tmp_path / "study", rows)), Packer())
    assert cells(page, "failed")[1:] == [["0", "fcfs", "6 replications", "too wide"]]


def test_one_run_has_intervals_of_batches(run_folder):
    run = read_folder(run_folder)
    found = intervals_of_run(run)
    summary = json.loads((run_folder / "summary.json").read_text())
    assert found["wait_mean"].estimate == summary["wait"]["mean"]
    assert found["energy_kwh"].estimate == summary["energy"]["total_kwh"]
    assert found["utilisation"].estimate == summary["utilisation"]
    wait = run.jobs["wait"][np.argsort(run.jobs["submit"], kind="stable")]
    assert found["wait_mean"].half_width == pytest.approx(batch_means(wait).half_width)
    p95 = batch_quantile(wait, 0.95)
    assert found["wait_p95"].half_width == pytest.approx(p95.half_width)
    # Busy time by windows of the job table itself.
    edges = np.linspace(run.jobs["submit"].min(), run.jobs["end"].max(), 513)
    start, end, procs = (run.jobs[name] for name in ("start", "end", "procs"))
    inside = [np.clip(np.minimum(end, b) - np.maximum(start, a), 0, None) @ procs
              for a, b in pairwise(edges)]  # fmt: skip
    share = np.array(inside) / np.diff(edges) / run.procs
    assert share.mean() == pytest.approx(summary["utilisation"], rel=1e-6)
    busy = batch_means(share)
    assert found["utilisation"].half_width == pytest.approx(busy.half_width, rel=1e-6)
    # Power is that of busy processors above that of idle ones.
    power = share * (41 - 18) + 18
    relative = found["energy_kwh"].half_width / found["energy_kwh"].estimate
    assert relative == pytest.approx(batch_means(power).half_width / power.mean(), rel=1e-6)
    page = page_of(run, Packer())
    notes = {label: notes for label, _, notes in page.tiles}
    for label in ("mean wait", "95th percentile of wait", "utilisation", "energy"):
        assert any("95 % interval" in note for note in notes[label]), label
    heads, wait_row, *_ = cells(page, "distributions")
    assert heads[1:] == ["mean", "median", "90 %", "95 %", "99 %", "max"]
    for cell, key in zip(wait_row[1:], ("mean", "median", "p90", "p95", "p99"), strict=False):
        value, _, ends = cell.partition(" | ")
        assert value == value_text(measure("wait_mean"), summary["wait"][key])
        assert " to " in ends


def test_classes_have_the_measures_of_their_own_jobs(run_folder):
    run = read_folder(run_folder)
    heads, *rows = cells(page_of(run, Packer()), "fairness", 1)
    assert heads[:2] == ["processors", "jobs"]
    jobs = pd.DataFrame({name: run.jobs[name] for name in ("submit", "wait", "procs")})
    row = next(row for row in rows if row[0] == "3-4")
    mine = jobs[(jobs["procs"] >= 3) & (jobs["procs"] <= 4)].sort_values("submit", kind="stable")
    assert row[1] == f"{len(mine):,}"
    found = batch_means(mine["wait"].to_numpy())
    shift = mine["wait"].mean() - found.estimate
    moved = Interval(mine["wait"].mean(), max(found.low + shift, 0.0), found.high + shift,
                     0.95, found.n, "")  # fmt: skip
    what = measure("wait_mean")
    assert row[3] == f"{value_text(what, moved.estimate)} | {between(what, moved)}"


def test_runs_of_a_comparison_have_their_own_intervals(comparison_folder):
    comparison = read_folder(comparison_folder)
    points = points_of_runs(comparison)
    for i, run in enumerate(comparison.runs):
        alone = intervals_of_run(run)
        for name in ("wait_mean", "energy_kwh", "utilisation", "wait_p95"):
            assert points.intervals[name][i] == alone[name]


def test_no_interval_reaches_what_cannot_be():
    wide = Interval(0.9, -2.0, 3.0, 0.95, 4, "Student t")
    assert bounded(measure("wait_mean"), wide).low == 0.0
    assert bounded(measure("bounded_slowdown_mean"), wide).low == 1.0
    assert bounded(measure("utilisation"), wide).high == 1.0
    assert bounded(measure("cost"), wide) == wide
    assert bounded(measure("my_own"), wide) == wide
    assert (
        between(measure("wait_mean"), Interval(5400.0, 3600.0, 7200.0, 0.95, 4, "")) == "1 to 2 h"
    )
    assert between(measure("wait_mean"), Interval(0.0, 0.0, 7200.0, 0.95, 4, "")) == "0 to 2 h"
    assert between(measure("energy_kwh"), Interval(2e3, 1e3, 3e3, 0.95, 4, "")) == "1 to 3 MWh"
