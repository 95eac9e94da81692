"""Pictures: what is computed for them, what is on them, and the files they make."""

from __future__ import annotations

import heapq
import os
import struct
import subprocess
import sys
import time
import tracemalloc
from pathlib import Path

import matplotlib as mpl
import numba
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure

from sojourn import report as plots
from sojourn.errors import OptionError, RunError
from sojourn.report.figures.binning import Path as StepPath
from sojourn.report.figures.binning import bin_path, counted
from sojourn.report.figures.boxes import Boxes, paint
from sojourn.report.figures.style import TimeAxis, duration, energy, number


def fcfs(submit, runtime, procs, servers):
    """First come, first served, with a heap of ends: starts of jobs in order of arrival."""
    start, running, free, now = np.empty(len(submit)), [], servers, 0.0
    for i in range(len(submit)):
        now = max(now, submit[i])
        while free < procs[i] or (running and running[0][0] <= now):
            end, width = heapq.heappop(running)
            now, free = max(now, end), free + width
        start[i], free = now, free - procs[i]
        heapq.heappush(running, (now + runtime[i], procs[i]))
    return start


def job_table(n, servers, seed=3, load=0.9):
    rng = np.random.default_rng(seed)
    procs = 2 ** rng.integers(0, int(np.log2(servers)) - 1, n)
    runtime = rng.lognormal(6.0, 1.5, n).round(3)
    submit = np.cumsum(rng.exponential(1.0, n))
    submit *= (procs * runtime).sum() / servers / load / submit[-1]
    start = fcfs(submit, runtime, procs, servers)
    sojourn = start + runtime - submit
    return pd.DataFrame(
        {
            "job": np.arange(1, n + 1),
            "submit": submit,
            "start": start,
            "end": start + runtime,
            "wait": start - submit,
            "service": runtime,
            "sojourn": sojourn,
            "slowdown": sojourn / runtime,
            "bounded_slowdown": np.maximum(1.0, sojourn / np.maximum(runtime, 10.0)),
            "procs": procs,
            "user": rng.integers(1, 30, n),
            "energy": 100.0 * procs * runtime,
        }
    )


def trajectory_table(jobs):
    """The state after each instant, straight from the definition."""
    instants = np.unique(jobs[["submit", "start", "end"]].to_numpy())

    def at(enter, leave, weight):
        level = np.zeros(instants.size)
        np.add.at(level, np.searchsorted(instants, enter), weight)
        np.add.at(level, np.searchsorted(instants, leave), -weight)
        return np.cumsum(level)

    one = np.ones(len(jobs))
    running = at(jobs.start, jobs.end, one)
    work = np.zeros(instants.size)
    np.add.at(work, np.searchsorted(instants, jobs.submit), jobs.service)
    fallen = np.append(0.0, np.cumsum(running[:-1] * np.diff(instants)))
    return pd.DataFrame(
        {
            "time": instants,
            "rate": 1.0,
            "present": at(jobs.submit, jobs.end, one),
            "queued": at(jobs.submit, jobs.start, one),
            "busy": at(jobs.start, jobs.end, jobs.procs.to_numpy(float)),
            "running": running,
            "workload": np.maximum(np.cumsum(work) - fallen, 0.0),
        }
    )


@pytest.fixture(scope="module")
def jobs():
    return job_table(300, 64)


@pytest.fixture(scope="module")
def trajectory(jobs):
    return trajectory_table(jobs)


@pytest.fixture(scope="module")
def many():
    if numba.config.DISABLE_JIT:
        pytest.skip("half a million jobs need compiled kernels")
    return job_table(500_000, 8192)


# Servers


def check_assignment(start, end, procs, servers, pieces):
    """Every server holds one job at a time, and every job all of its servers."""
    assert (pieces.first >= 0).all()
    assert (pieces.procs > 0).all()
    assert (pieces.first + pieces.procs <= servers).all()
    held = np.where((end > start) & (procs > 0), procs, 0)
    given_out = np.bincount(pieces.job, pieces.procs, minlength=len(start))
    np.testing.assert_array_equal(given_out, held)
    for server in range(servers):
        here = pieces.job[(pieces.first <= server) & (server < pieces.first + pieces.procs)]
        order = here[np.argsort(start[here], kind="stable")]
        assert (end[order[:-1]] <= start[order[1:]]).all()


@given(st.data())
@settings(max_examples=80, deadline=None)
def test_assigned_servers_never_overlap(data):
    servers = data.draw(st.integers(1, 12))
    job = st.tuples(st.integers(0, 6), st.integers(0, 5), st.integers(1, servers))
    drawn = np.array(data.draw(st.lists(job, min_size=1, max_size=40))).T
    submit, runtime, procs = np.sort(drawn[0]).astype(float), drawn[1].astype(float), drawn[2]
    start = fcfs(submit, runtime, procs, servers)
    pieces = plots.assign_servers(start, start + runtime, procs, servers)
    check_assignment(start, start + runtime, procs, servers, pieces)


def test_a_machine_far_wider_than_its_jobs_takes_no_more_room():
    start, end = np.array([0.0, 0.0, 2.0]), np.array([5.0, 3.0, 4.0])
    plots.assign_servers(start, end, [3, 4, 2], 9)  # Compiled now, if need be.
    tracemalloc.start()
    try:
        pieces = plots.assign_servers(start, end, [3, 4, 2], 2_000_000_000)
        assert tracemalloc.get_traced_memory()[1] < 1e6
    finally:
        tracemalloc.stop()
    assert pieces.first.tolist() == [0, 3, 7]


def test_pieces_grow_beyond_the_first_guess():
    # 64 jobs leave every other server free; wide jobs then need 32 pieces each.
    start = np.concatenate([np.zeros(64), np.arange(1.0, 41.0)])
    end = np.concatenate([np.tile([1.0, 100.0], 32), np.arange(2.0, 42.0)])
    procs = np.concatenate([np.ones(64, int), np.full(40, 32)])
    pieces = plots.assign_servers(start, end, procs, 64)
    assert len(pieces.job) == 64 + 40 * 32
    check_assignment(start, end, procs, 64, pieces)


def test_a_job_takes_the_lowest_gap_that_holds_it_whole():
    start = np.array([0.0, 0.0, 0.0, 1.0, 2.0])
    end = np.array([1.0, 9.0, 9.0, 9.0, 9.0])
    pieces = plots.assign_servers(start, end, [2, 1, 2, 3, 4], 12)
    assert pieces.first.tolist() == [0, 2, 3, 5, 8]
    split = plots.assign_servers(start[:4], end[:4], [2, 1, 2, 5], 8)
    assert split.job.tolist() == [0, 1, 2, 3, 3]
    assert split.first.tolist() == [0, 2, 3, 0, 5]
    assert split.procs.tolist() == [2, 1, 2, 2, 3]


def test_jobs_without_service_hold_nothing():
    pieces = plots.assign_servers([0.0, np.nan, 2.0], [5.0, np.nan, 2.0], [4, 9, 4], 4)
    assert pieces.job.tolist() == [0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.0, 1.0], [5.0, 5.0], [3, 2], 4), "row 1, field 'procs'"),
        (([0.0, 1.0], [5.0], [3, 2], 4), "differ in length"),
        (([0.0], [5.0], [3], 0), "at least 1"),
    ],
)
def test_impossible_assignments_say_why(arguments, message):
    with pytest.raises(OptionError, match=message):
        plots.assign_servers(*arguments)


# Bins


@given(st.data())
@settings(max_examples=80, deadline=None)
def test_bins_keep_area_and_extremes(data):
    number_of = st.floats(-50, 50).map(lambda x: round(x, 3))
    rows = data.draw(st.lists(st.tuples(st.integers(0, 30), number_of, number_of), min_size=2))
    rows.sort(key=lambda row: row[0])
    instants, value, slope = (np.array(c, dtype=float) for c in zip(*rows, strict=True))
    first, last = instants[0], instants[-1] + 1.0
    edges = np.linspace(first, last, data.draw(st.integers(2, 9)))
    bins = bin_path(StepPath.of(instants, value, slope), edges)
    lasting = np.append(np.diff(instants), 1.0)
    kept = np.append(slope[:-1], 0.0)
    area = np.sum(value * lasting + kept * lasting**2 / 2)
    scale = np.sum(np.abs(value) * lasting + np.abs(kept) * lasting**2) + 1.0
    assert np.sum(bins.mean * np.diff(edges)) == pytest.approx(area, abs=1e-12 * scale)
    assert (bins.low <= bins.mean + 1e-9 * scale).all()
    assert (bins.mean <= bins.high + 1e-9 * scale).all()
    ends = value + kept * lasting
    held = lasting > 0
    assert bins.high.max() == pytest.approx(np.maximum(value, ends)[held].max(), abs=1e-9 * scale)
    assert bins.low.min() == pytest.approx(np.minimum(value, ends)[held].min(), abs=1e-9 * scale)


def test_bins_by_hand():
    path = StepPath.of([0.0, 1.0, 1.0, 3.0], [2.0, 99.0, 4.0, 0.0])
    bins = bin_path(path, [-1.0, 0.5, 2.0, 5.0])
    np.testing.assert_allclose(bins.mean, [1.0 / 1.5, (0.5 * 2 + 4) / 1.5, 4.0 / 3.0])
    np.testing.assert_array_equal(bins.low, [0.0, 2.0, 0.0])
    np.testing.assert_array_equal(bins.high, [2.0, 4.0, 4.0])


def test_counted_equals_the_trajectory(jobs, trajectory):
    busy = counted(jobs.start.to_numpy(), jobs.end.to_numpy(), jobs.procs)
    at = np.searchsorted(busy.time, trajectory.time, side="right") - 1
    np.testing.assert_array_equal(np.where(at < 0, 0, busy.value[at]), trajectory.busy)


def test_time_must_not_run_backwards():
    with pytest.raises(OptionError, match="falls after row 1"):
        StepPath.of([0.0, 2.0, 1.0], [1, 1, 1])


def test_painted_cells_hold_what_the_boxes_cover():
    rng = np.random.default_rng(5)
    left, bottom = rng.uniform(0, 8, 50), rng.uniform(0, 4, 50)
    right, top = left + rng.uniform(0, 2, 50), bottom + rng.uniform(0, 1, 50)
    color = rng.random((50, 3))
    columns, rows = np.linspace(0, 10, 14), np.linspace(0, 5, 8)
    cells = paint(Boxes(left, right, bottom, top, color), columns, rows)

    def overlap(low, high, edges):
        return np.clip(
            np.minimum(high[:, None], edges[1:]) - np.maximum(low[:, None], edges[:-1]), 0, None
        ) / np.diff(edges)

    share = overlap(bottom, top, rows)[:, :, None] * overlap(left, right, columns)[:, None, :]
    np.testing.assert_allclose(cells[..., 3], share.sum(axis=0), atol=1e-12)
    expected = np.einsum("brc,bk->rck", share, color)
    np.testing.assert_allclose(cells[..., :3], expected, atol=1e-12)


# Figures


def text_of(figure):
    return " | ".join(t.get_text() for t in figure.findobj(mpl.text.Text))


def test_workload_shows_path_thresholds_and_rates(trajectory):
    rated = trajectory.assign(rate=np.where(trajectory.workload > 5e4, 2.66, 2.0))
    figure = plots.workload(rated, (1e4, 5e4))
    axes, count = figure.axes
    assert axes.get_ylabel() == "workload $W$ (s of work)"
    assert count.get_ylabel() == "customers in service"
    assert axes.get_xlabel().startswith("time (")
    shown = text_of(figure)
    for word in ("$k_L$ = 10,000", "$k_H$ = 50,000", "rate 2", "rate 2.66"):
        assert word in shown
    path = max(axes.lines, key=lambda line: len(line.get_xdata()))
    assert path.get_color() == "black"
    assert len(path.get_xdata()) == 2 * len(trajectory) - 1
    # The gray curve lies in the axes below, which the upper ones must not cover.
    assert axes.get_zorder() > count.get_zorder()
    assert not axes.patch.get_visible()


def test_the_workload_falls_along_the_line(jobs, trajectory):
    drawn = max(plots.workload(trajectory).axes[0].lines, key=lambda line: len(line.get_xdata()))
    x, y = drawn.get_xdata(), drawn.get_ydata()
    before_jump = y[1::2]
    arrives = np.isin(trajectory.time.to_numpy()[1:], jobs.submit)
    np.testing.assert_allclose(before_jump[~arrives], y[2::2][~arrives], atol=1e-6)
    assert (np.diff(x) >= 0).all()


def test_occupation_has_servers_and_states(jobs):
    upper, lower = plots.occupation(jobs, 64).axes
    assert upper.get_ylabel() == "servers"
    assert lower.get_ylabel() == "customer"
    assert len(lower.collections) == 2
    waiting, computing = (len(lines.get_segments()) for lines in lower.collections)
    assert computing == len(jobs)
    assert waiting == int((jobs.wait > 0).sum())


@pytest.mark.parametrize("plane", [False, True])
def test_trade_off(plane):
    k = np.arange(5) * 1e5
    energy_at, work = 1.4 + 0.1 / (1 + k / 1e5), 2e5 + k / 10
    figure = plots.trade_off(k, energy_at, work, plane=plane, unit="kW")
    axes = figure.axes[0]
    assert axes.get_ylabel() == "mean energy (kW)"
    drawn = axes.lines[0]
    np.testing.assert_array_equal(drawn.get_ydata(), energy_at)
    np.testing.assert_array_equal(drawn.get_xdata(), work if plane else k)
    if not plane:
        np.testing.assert_array_equal(figure.axes[1].lines[0].get_ydata(), work)


@pytest.mark.parametrize("color", ["wait", "width", "user", "job"])
def test_gantt_draws_every_piece(jobs, color):
    figure = plots.gantt(jobs, 64, color=color)
    boxes = figure.axes[0].findobj(PolyCollection)[0]
    pieces = plots.assign_servers(jobs.start, jobs.end, jobs.procs, 64)
    areas = [
        np.ptp(path.vertices[:, 0]) * np.ptp(path.vertices[:, 1]) for path in boxes.get_paths()
    ]
    assert len(areas) == len(pieces.job)
    length = {"min": 60.0, "h": 3600.0, "days": 86400.0}[
        figure.axes[0].get_xlabel().removeprefix("time (").removesuffix(")")
    ]
    assert sum(areas) * length == pytest.approx((jobs.procs * jobs.service).sum())
    assert "300 jobs on 64 servers" in text_of(figure)


def test_gantt_of_preempted_jobs(jobs):
    two = jobs.iloc[:2].assign(start=[0.0, 1.0], end=[9.0, 3.0], procs=[64, 64])
    with pytest.raises(OptionError, match="segments"):
        plots.gantt(two, 64)
    segments = pd.DataFrame({"job": [1, 2, 1], "start": [0.0, 1.0, 3.0], "end": [1.0, 3.0, 9.0]})
    figure = plots.gantt(two, 64, segments=segments, color="job")
    boxes = figure.axes[0].findobj(PolyCollection)[0]
    assert len(boxes.get_paths()) == 3
    colors = boxes.get_facecolor()
    assert (colors[0] == colors[2]).all()
    assert (colors[0] != colors[1]).any()
    with pytest.raises(OptionError, match="job 7"):
        plots.gantt(two, 64, segments=segments.assign(job=[1, 2, 7]))


def test_gantt_of_many_jobs_says_that_it_averages():
    figure = plots.gantt(job_table(6000, 64), 64)
    assert len(figure.axes[0].images) == 1
    assert "mean colour" in text_of(figure)


@pytest.mark.parametrize("source", ["trajectory", "jobs"])
def test_utilisation(jobs, trajectory, source):
    figure = plots.utilisation(trajectory if source == "trajectory" else jobs, 64)
    labels = [axes.get_ylabel() for axes in figure.axes]
    assert labels[:2] == ["busy processors", "jobs waiting"]
    assert len(labels) == (2 if source == "trajectory" else 3)
    begin = jobs.submit.min() if source == "trajectory" else jobs.start.min()
    share = (jobs.procs * jobs.service).sum() / 64 / (jobs.end.max() - begin)
    assert f"{100 * share:.1f} % of 64" in text_of(figure)


def test_calendar_dates(trajectory):
    figure = plots.utilisation(trajectory, 64, unix_start=1_300_000_000.0)
    assert figure.axes[-1].get_xlabel() == "date (UTC)"
    left = mpl.dates.num2date(figure.axes[-1].get_xlim()[0])
    assert (left.year, left.month, left.day) == (2011, 3, 13)


def test_distributions_state_the_zeros(jobs):
    figure = plots.distributions(jobs)
    assert [axes.get_xscale() for axes in figure.axes] == ["log"] * 3
    zero = 100 * (jobs.wait == 0).mean()
    assert 0 < zero < 100
    assert f"{zero:.1f} % did not wait" in text_of(figure)
    assert f"99 %: {duration(np.quantile(jobs.wait, 0.99))}" in text_of(figure)


def test_a_distribution_is_that_of_the_jobs(jobs):
    drawn = plots.distributions(jobs).axes[0].lines[0]
    x, y = drawn.get_xdata(), drawn.get_ydata()
    np.testing.assert_allclose(y, [(jobs.wait <= value).mean() for value in x], atol=1e-12)


def test_a_thinned_distribution_is_still_exact(many):
    drawn = plots.distributions(many).axes[0].lines[0]
    x, y = drawn.get_xdata(), drawn.get_ydata()
    assert 200 < len(x) < 1000
    ordered = np.sort(many.wait)
    np.testing.assert_allclose(y, np.searchsorted(ordered, x, side="right") / len(many))


def test_distributions_count_jobs_without_a_value(jobs):
    some = jobs.copy()
    some.loc[:9, ["wait", "slowdown", "bounded_slowdown"]] = np.nan
    assert "10 jobs without a value" in text_of(plots.distributions(some))


def test_compare_names_the_runs(jobs):
    figure = plots.compare({"first": jobs, "second": jobs.assign(wait=jobs.wait * 2)})
    shown = text_of(figure)
    assert f"first (mean wait {duration(jobs.wait.mean())})" in shown
    assert f"second (mean wait {duration(2 * jobs.wait.mean())})" in shown
    assert all(len(axes.lines) == 2 for axes in figure.axes)


def test_power_states_the_integral(trajectory):
    watts = {1.0: (50.0, 150.0)}
    figure = plots.power(trajectory, 64, watts)
    drawn = 64 * 50.0 + 100.0 * trajectory.busy
    joules = float((drawn[:-1].to_numpy() * np.diff(trajectory.time)).sum())
    assert energy(joules) in text_of(figure)
    assert figure.axes[0].get_ylabel() == "power (kW)"
    given_power = plots.power(trajectory.assign(power=drawn))
    assert energy(joules) in text_of(given_power)
    with pytest.raises(OptionError, match="column 'power'"):
        plots.power(trajectory)
    with pytest.raises(OptionError, match="rate 1"):
        plots.power(trajectory, 64, {2.0: (1.0, 2.0)})


@pytest.mark.parametrize("recorded", [True, False])
def test_overview(jobs, trajectory, recorded):
    figure = plots.overview(jobs, trajectory if recorded else None, 64, "A run")
    shown = text_of(figure)
    for word in ("A run", "300 jobs on 64 servers", "Busy processors", "Queue", "mean wait"):
        assert word in shown
    assert duration(jobs.wait.mean()) in shown


def test_jobs_that_were_not_accepted_are_left_out(jobs):
    wide = jobs.iloc[:1].assign(job=999, procs=10_000, start=np.nan, end=np.nan, wait=np.nan)
    some = pd.concat([jobs, wide], ignore_index=True)
    assert "300 jobs on 64 servers" in text_of(plots.gantt(some, 64, color="width"))
    assert "not accepted" in text_of(plots.overview(some, None, 64))
    plots.occupation(some, 64)
    plots.utilisation(some, 64)


def test_one_job_that_never_waits():
    one = job_table(300, 64).iloc[:1].assign(submit=5.0, start=5.0, end=8.0, wait=0.0, procs=1)
    one = one.assign(slowdown=1.0, bounded_slowdown=1.0)
    for figure in (
        plots.gantt(one, 1),
        plots.occupation(one, 1),
        plots.utilisation(one, 1),
        plots.distributions(one),
        plots.overview(one, None, 1),
        plots.workload(trajectory_table(one)),
    ):
        figure.canvas.draw()


@pytest.mark.parametrize(
    "draw",
    [
        lambda none: plots.gantt(none, 4),
        lambda none: plots.occupation(none, 4),
        lambda none: plots.utilisation(none, 4),
        lambda none: plots.distributions(none),
        lambda none: plots.compare({}),
        lambda none: plots.workload({"time": [], "rate": [], "running": [], "workload": []}),
        lambda none: plots.power({"time": [], "power": []}),
        lambda none: plots.trade_off([], [], []),
        lambda none: plots.gantt(none.drop(columns="start"), 4),
    ],
)
def test_nothing_to_draw_is_said(jobs, draw):
    with pytest.raises(OptionError):
        draw(jobs.iloc[:0])


def test_a_colour_must_be_known(jobs):
    with pytest.raises(OptionError, match="wait, width, user or job"):
        plots.gantt(jobs, 64, color="mood")


def test_axes_of_the_caller_are_used(jobs, trajectory):
    own = Figure(layout="constrained")
    axes = own.subplots(3, 1)
    before = dict(mpl.rcParams)
    assert plots.gantt(jobs, 64, ax=axes[0]) is own
    assert plots.workload(trajectory, ax=axes[1]) is own
    assert plots.trade_off([1, 2], [3, 4], [5, 6], ax=axes[2]) is own
    other = Figure(layout="constrained")
    assert plots.distributions(jobs, fig=other.subfigures(1, 2)[0]) is other
    assert dict(mpl.rcParams) == before


# Files and bounds


def png_size(path):
    data = path.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    return struct.unpack(">II", data[16:24])


def test_saved_files_are_what_their_suffix_says(jobs, tmp_path):
    figure = plots.gantt(jobs, 64)
    assert png_size(plots.save(figure, tmp_path / "a.png")) == (1600, 704)
    assert png_size(plots.save(figure, tmp_path / "b.PNG", dpi=50)) == (500, 220)
    assert plots.save(figure, tmp_path / "c.pdf").read_bytes().startswith(b"%PDF")
    assert b"<svg" in plots.save(figure, tmp_path / "d.svg").read_bytes()[:2000]
    assert sorted(os.listdir(tmp_path)) == ["a.png", "b.PNG", "c.pdf", "d.svg"]


def test_equal_figures_give_equal_files(jobs, tmp_path):
    for suffix in ("png", "svg", "pdf"):
        first, second = (
            plots.save(plots.gantt(jobs, 64), tmp_path / f"{i}.{suffix}").read_bytes()
            for i in range(2)
        )
        assert first == second


def test_a_failed_save_leaves_the_old_file(jobs, tmp_path, monkeypatch):
    figure = plots.gantt(jobs, 64)
    target = tmp_path / "a.png"
    target.write_bytes(b"old")

    def fail(path, **_):
        Path(path).write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(figure, "savefig", fail)
    with pytest.raises(RunError, match="No space left"):
        plots.save(figure, target)
    assert target.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a.png"]
    with pytest.raises(OptionError, match="suffix"):
        plots.save(figure, tmp_path / "a.bmp")


def test_half_a_million_jobs_stay_quick_and_small(many, tmp_path):
    trajectory = pd.DataFrame(
        {
            "time": np.sort(np.concatenate((many.submit, many.end))),
            "rate": np.tile([1.0, 2.0], len(many)),
            "running": 10.0,
            "workload": 1e6,
            "busy": 4000.0,
            "queued": 3.0,
        }
    )
    plots.gantt(many.iloc[:10], 8192)  # compiles
    for name, draw in {
        "gantt": lambda: plots.gantt(many, 8192, color="user"),
        "occupation": lambda: plots.occupation(many, 8192),
        "utilisation": lambda: plots.utilisation(many, 8192),
        "distributions": lambda: plots.distributions(many),
        "workload": lambda: plots.workload(trajectory, (1e5, 1e6)),
        "overview": lambda: plots.overview(many, trajectory, 8192, "Half a million"),
    }.items():
        begin = time.process_time()
        path = plots.save(draw(), tmp_path / f"{name}.png")
        # The target is 5 s; twice that leaves room for slow machines.
        assert time.process_time() - begin < 10.0, name
        assert path.stat().st_size < 1_000_000, name


def test_half_a_million_jobs_fit_their_servers(many):
    pieces = plots.assign_servers(many.start, many.end, many.procs, 8192)
    assert pieces.procs.sum() == many.procs.sum()
    assert (pieces.first + pieces.procs <= 8192).all()
    # Sampled servers hold one job at a time.
    for server in (0, 1, 777, 4096, 8191):
        here = pieces.job[(pieces.first <= server) & (server < pieces.first + pieces.procs)]
        begin, end = many.start.to_numpy()[here], many.end.to_numpy()[here]
        order = np.argsort(begin, kind="stable")
        assert (end[order[:-1]] <= begin[order[1:]]).all()


# Words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0, "0 s"), (0.05, "50 ms"), (59, "59 s"), (60, "1 min"), (5400, "1.5 h"), (86400, "1 d")],
)
def test_durations(seconds, words):
    assert duration(seconds) == words


def test_numbers_and_energies():
    assert [number(x) for x in (0, 1234567, 0.1234, float("nan"))] == [
        "0",
        "1,234,567",
        "0.123",
        "–",
    ]
    assert [energy(x) for x in (5.0, 7.2e6, 3.6e9, 7.2e12)] == ["5 J", "2 kWh", "1 MWh", "2 GWh"]


@pytest.mark.parametrize(
    ("span", "unit"), [(100, "s"), (7200, "min"), (2 * 86400, "h"), (30 * 86400, "days")]
)
def test_time_units(span, unit):
    assert TimeAxis.spanning(0.0, span).unit == unit


def test_importing_the_folder_imports_no_matplotlib():
    code = (
        "import sys, sojourn.report; assert 'matplotlib' not in sys.modules;"
        "[getattr(sojourn.report, name) for name in sojourn.report.__all__];"
        "assert 'matplotlib' in sys.modules and 'numba' not in sys.modules;"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
