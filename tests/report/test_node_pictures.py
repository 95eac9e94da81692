"""Pictures of named nodes: who ran on which, what they are, and what they drew."""

from __future__ import annotations

import matplotlib as mpl
import numba
import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import LineCollection, PathCollection, PolyCollection
from matplotlib.figure import Figure

import sojourn
from sojourn import report as plots
from sojourn.errors import OptionError
from sojourn.report.figures.style import energy

NODES = pd.DataFrame(
    {"node": ["fast", "old-1", "old-2"], "model": ["A", "B", "B"], "procs": [4, 2, 2]}
)
JOBS = pd.DataFrame(
    {
        "job": [11, 12, 13, 14],
        "submit": [0.0, 0.0, 0.0, 0.0],
        "start": [0.0, 0.0, 100.0, np.nan],
        "end": [100.0, 200.0, 180.0, np.nan],
        "procs": [3, 4, 4, 99],
    }
)
SCHEDULE = pd.DataFrame(
    {
        "job": [11, 12, 12, 12, 13, 13],
        "node": ["fast", "fast", "old-1", "old-2", "fast", "old-2"],
        "procs": [3, 1, 2, 1, 3, 1],
        "start": [0.0, 0.0, 0.0, 0.0, 100.0, 100.0],
        "end": [100.0, 200.0, 200.0, 200.0, 180.0, 180.0],
    }
)


def text_of(figure):
    return " | ".join(t.get_text() for t in figure.findobj(mpl.text.Text))


def boxes_of(figure):
    """Left, right, bottom and top of every box of a chart."""
    paths = figure.axes[0].findobj(PolyCollection)[0].get_paths()
    return np.array([(*p.vertices[:, 0][[0, 2]], *p.vertices[:, 1][[0, 1]]) for p in paths])


@pytest.fixture(scope="module")
def run():
    cluster = sojourn.parse_cluster("X5670, 2 x L5420")
    jobs = sojourn.lublin(40, 40, load=0.9, seed=4)
    return sojourn.simulate(jobs, cluster, "easy", record=True)


def test_boxes_lie_on_the_nodes_of_their_jobs():
    boxes = boxes_of(plots.node_gantt(JOBS, SCHEDULE, NODES, color="job"))
    # Eight rows; `fast` is on top, from 8 down to 4, then `old-1`, then `old-2` at the bottom.
    expected = {
        (0.0, 100.0, 5.0, 8.0),
        (0.0, 200.0, 4.0, 5.0),
        (0.0, 200.0, 2.0, 4.0),
        (0.0, 200.0, 1.0, 2.0),
        (100.0, 180.0, 5.0, 8.0),
        (100.0, 180.0, 0.0, 1.0),
    }
    assert {tuple(box) for box in boxes} == expected


def test_a_chart_of_few_jobs_is_labelled():
    figure = plots.node_gantt(JOBS, SCHEDULE, NODES, color="job")
    assert [t.get_text() for t in figure.axes[0].get_yticklabels()] == ["fast", "old-1", "old-2"]
    assert list(figure.axes[0].get_yticks()) == [6.0, 3.0, 1.0]
    written = sorted(t.get_text() for t in figure.axes[0].texts)
    assert written == ["11", "12", "12", "12", "13", "13"]
    assert "3 jobs on 3 nodes" in text_of(figure)
    colors = figure.axes[0].findobj(PolyCollection)[0].get_facecolor()
    assert len({tuple(color) for color in colors}) == 3


def test_node_chart_of_a_run(run):
    figure = plots.node_gantt(run.jobs, run.allocations, run.nodes)
    boxes = boxes_of(figure)
    unit = {"min": 60.0, "h": 3600.0}[
        figure.axes[0].get_xlabel().removeprefix("time (").removesuffix(")")
    ]
    area = ((boxes[:, 1] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 2])).sum() * unit
    ran = run.jobs[run.jobs["start"].notna()]
    assert area == pytest.approx((ran["procs"] * ran["service"]).sum())
    # Of each node as much is covered as its share of the time says.
    top, span = run.cluster.procs, run.summary["makespan"]
    for procs, busy in zip(run.nodes["procs"], run.nodes["busy"], strict=True):
        mine = boxes[(boxes[:, 2] >= top - procs) & (boxes[:, 3] <= top)]
        covered = ((mine[:, 1] - mine[:, 0]) * (mine[:, 3] - mine[:, 2])).sum() * unit
        assert covered == pytest.approx(busy * span * procs)
        top -= procs
    assert top == 0


def test_tables_read_back_from_files_make_the_same_chart(run, tmp_path):
    run.allocations.to_csv(tmp_path / "schedule.csv", index=False)
    run.nodes.to_csv(tmp_path / "nodes.csv", index=False)
    again = plots.node_gantt(
        run.jobs, pd.read_csv(tmp_path / "schedule.csv"), pd.read_csv(tmp_path / "nodes.csv")
    )
    first = plots.node_gantt(run.jobs, run.allocations, run.nodes)
    np.testing.assert_allclose(boxes_of(again), boxes_of(first))


def test_many_jobs_on_many_nodes_are_averaged_and_grouped():
    if numba.config.DISABLE_JIT:
        pytest.skip("ten thousand boxes need compiled kernels")
    cluster = sojourn.parse_cluster("70 x X5670, 30 x L5420")
    jobs = sojourn.lublin(3000, cluster.procs, load=0.7, seed=1)
    run = sojourn.simulate(jobs, cluster, "easy")
    figure = plots.node_gantt(run.jobs, run.allocations, run.nodes)
    assert len(figure.axes[0].images) == 1
    assert "mean colour" in text_of(figure)
    labels = [t.get_text() for t in figure.axes[0].get_yticklabels()]
    assert labels == ["70 × X5670", "30 × L5420"]


def test_a_schedule_that_cannot_be_is_told():
    with pytest.raises(OptionError, match="node 'nova', which is not among the nodes"):
        plots.node_gantt(JOBS, SCHEDULE.replace({"node": {"fast": "nova"}}), NODES)
    with pytest.raises(OptionError, match="job 13, which is not among the jobs"):
        plots.node_gantt(JOBS.iloc[:2], SCHEDULE, NODES)
    with pytest.raises(OptionError, match=r"node old-2: .* not free among 1"):
        plots.node_gantt(JOBS, SCHEDULE, NODES.assign(procs=[4, 2, 1]))
    with pytest.raises(OptionError, match="nothing to draw"):
        plots.node_gantt(JOBS, SCHEDULE.iloc[:0], NODES)
    with pytest.raises(OptionError, match="no column 'procs'"):
        plots.node_gantt(JOBS, SCHEDULE.drop(columns="procs"), NODES)


def test_power_of_named_nodes(run):
    joules = energy(run.summary["energy"]["total_joules"])
    assert joules in text_of(plots.power(run.power_steps))
    assert joules in text_of(plots.power(run.trajectory))
    time, watts = run.power_steps
    idle = sum(node.server.watts[0] for node in run.cluster.nodes)
    assert watts.min() == pytest.approx(idle)
    drawn = plots.power((time, watts)).axes[0].lines[0]
    np.testing.assert_allclose(drawn.get_ydata()[0::2], watts)


def test_overview_of_named_nodes(run):
    on_nodes = (run.allocations, run.nodes)
    procs = run.cluster.procs
    figure = plots.overview(run.jobs, run.trajectory, procs, "A run", on_nodes=on_nodes)
    shown = text_of(figure)
    for word in ("A run", "jobs on 3 nodes", "X5670", "L5420-2", "mean slowness", "energy in all"):
        assert word in shown
    assert "peak power" in shown
    assert energy(run.summary["energy"]["total_joules"]) in shown
    # Without a trajectory idle power is not known.
    bare = text_of(plots.overview(run.jobs, None, procs, on_nodes=on_nodes))
    assert "energy of jobs" in bare
    assert "energy in all" not in bare


def test_cluster_has_dots_and_curves():
    cluster = sojourn.parse_cluster("3 x X5670, 8 x L5420")
    left, right = plots.cluster(cluster).axes
    dots = left.findobj(PathCollection)[0]
    fast, old = (cluster.columns.ops[i] for i in (0, 3))
    found = {tuple(map(float, place)) for place in dots.get_offsets()}
    assert found == {(fast, cluster.columns.watts[0]), (old, cluster.columns.watts[3])}
    sizes = dots.get_sizes()
    assert sizes[0] / sizes[1] == pytest.approx(12 / 8)
    curves = right.findobj(LineCollection)[0].get_segments()
    np.testing.assert_allclose([c[:, 1] for c in curves], [
        cluster.nodes[i].server.watts for i in (0, 3)
    ])  # fmt: skip
    assert [round(x) for x in curves[0][:, 0]] == list(range(0, 101, 10))
    shown = text_of(left.figure)
    for word in ("11 nodes", "3 × X5670, 12 cores", "8 × L5420, 8 cores", "average"):
        assert word in shown


def test_a_cluster_of_many_kinds_is_coloured_by_efficiency():
    figure = plots.cluster(sojourn.library())
    assert "operations/s per W" in text_of(figure)
    assert len(figure.axes) == 3
    shown = [t.get_text() for t in figure.axes[2].get_yticklabels()]
    per_watt = [n.server.ops / n.server.watts[-1] for n in sojourn.library().nodes]
    assert shown[0] == f"{min(per_watt):,.0f}"
    assert shown[-1] == f"{max(per_watt):,.0f}"


def test_odd_clusters_can_be_drawn():
    silent = sojourn.Server("silent", 4, 1e5, (0.0, 0.0), idle_known=False)
    one = sojourn.Cluster.of([silent], reference_ops=5e4)
    figure = plots.cluster(one, fig=Figure(layout="constrained"))
    figure.canvas.draw()
    assert "idle power not known" in text_of(figure)
    assert "reference" in text_of(figure)
    apart = sojourn.Cluster.of([sojourn.Server("a", 1, 1.0, (1, 2)), sojourn.library().nodes[-1]])
    assert plots.cluster(apart).axes[0].get_xscale() == "log"
    with pytest.raises(OptionError, match="only counted"):
        plots.cluster(sojourn.Cluster.homogeneous(8))
