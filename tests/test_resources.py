"""Resources of named nodes in the results of a run: totals, their course, summary, files."""

from __future__ import annotations

import json
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

import sojourn
from sojourn.errors import OptionError
from sojourn.measures.fragmentation import STATES
from sojourn.run.folder import write_run

KB_PER_GB = 1024 * 1024
CLUSTER = sojourn.parse_cluster("3 x X5670, 4 x L5420")  # 12 cores and 12 GB; 8 cores and 8 GB


@pytest.fixture(scope="module")
def jobs():
    return sojourn.lublin(250, 60, load=0.9, seed=11, estimates="tsafrir")


def expected(result, memory, whole):
    """Resource-seconds from the schedule, instant by instant; memory in KB per core of each job."""
    given = result.allocations
    first, last = float(result.submit.min()), float(result.jobs["end"].max())
    size = np.array([[n.server.cores for n in CLUSTER.nodes], CLUSTER.columns.memory])
    place = {node.name: k for k, node in enumerate(CLUSTER.nodes)}
    node = np.array([place[name] for name in given["node"]])
    wish = dict(zip(result.jobs["job"], memory, strict=True))
    cores = size[0, node] if whole else given["procs"].to_numpy()
    kilobytes = given["procs"].to_numpy() * np.array([wish[job] for job in given["job"]])
    start, end = given["start"].to_numpy(), given["end"].to_numpy()
    sums = np.zeros((2, len(STATES)))
    instants = np.unique([first, last, *start, *end])
    for now, then in pairwise(instants):
        here = (start <= now) & (now < end)
        held = np.array([np.bincount(node[here], x[here], minlength=7) for x in (cores, kilobytes)])
        left = size - held
        for r in range(2):
            out = left[1 - r] == 0
            sums[r] += (then - now) * np.array(
                [held[r].sum(), left[r, out].sum(), left[r, ~out].sum(), 0.0]
            )
    return sums


@pytest.mark.parametrize("whole", [False, True])
def test_totals_are_those_of_the_schedule(jobs, whole):
    memory = np.random.default_rng(2).choice([0.25, 0.5, 1.0, 2.0, 4.0], len(jobs))
    wishes = sojourn.Constraints(memory_per_core=memory, whole_node=whole)
    result = sojourn.simulate(jobs, CLUSTER, "easy", constraints=wishes, clean=())
    sums = expected(result, memory * KB_PER_GB, whole)
    table = result.resources
    assert table.index.tolist() == ["cores", "memory"]
    np.testing.assert_allclose(table[list(STATES)].to_numpy(), sums, rtol=1e-9, atol=1e-6)
    assert (sums[0, 1] > 0) or whole  # Memory is used up before the cores are.
    assert sums[1, 1] > 0 or not whole
    span = result.summary["makespan"]
    np.testing.assert_allclose(table[list(STATES)].sum(axis=1), table["capacity"] * span, rtol=1e-9)
    assert table.loc["cores", "used_share"] == pytest.approx(result.summary["utilisation"])
    accepted = int(np.isfinite(result.jobs["start"]).sum())
    assert table["jobs"].tolist() == [accepted, accepted]


def test_the_course_adds_up_to_the_totals(jobs):
    wishes = sojourn.Constraints(memory_per_core=1.5)
    result = sojourn.simulate(jobs, CLUSTER, "easy", constraints=wishes, record=True)
    course, totals = result.fragmentation, result.resources
    lapse = np.diff(course["time"])
    for name in totals.index:
        whole = sum(course[f"{name}_{state}"] for state in STATES)
        assert (whole == totals.loc[name, "capacity"]).all()
        for state in STATES:
            area = float(np.sum(lapse * course[f"{name}_{state}"].to_numpy()[:-1]))
            assert area == pytest.approx(totals.loc[name, state], rel=1e-9)
    path = result.trajectory
    np.testing.assert_array_equal(path["cores_used"], path["busy"])
    at = np.searchsorted(course["time"], path["time"], side="right") - 1
    np.testing.assert_array_equal(path["memory_stranded"], course["memory_stranded"].to_numpy()[at])
    assert path["cores_stranded"].max() > 0
    assert "cores_down" not in path


def test_nodes_that_are_down_are_neither_free_nor_stranded(jobs):
    name, day = CLUSTER.nodes[0].name, 86_400.0
    begin = float(jobs.submit[0]) + day
    events = [
        {"kind": "down", "time": begin, "nodes": name},
        {"kind": "up", "time": begin + day, "nodes": name},
    ]
    result = sojourn.simulate(
        jobs, CLUSTER, "easy", events=events, node_failure="requeue", record=True
    )
    table = result.resources
    assert table.loc["cores", "down"] == pytest.approx(12 * day)
    assert table.loc["memory", "down"] == pytest.approx(12 * KB_PER_GB * day)
    assert table.loc["cores", "down"] == result.summary["events"]["down_processor_seconds"]
    shares = table[[f"{state}_share" for state in STATES]].sum(axis=1)
    np.testing.assert_allclose(shares, 1.0, rtol=1e-9)
    path = result.trajectory
    away = (path["time"] >= begin) & (path["time"] < begin + day)
    assert (path["cores_down"] == np.where(away, 12, 0)).all()


def test_summary_and_files(jobs, tmp_path):
    wishes = sojourn.Constraints(memory_per_node=3.0)
    result = sojourn.simulate(jobs, CLUSTER, "easy", constraints=wishes, record=True)
    write_run(result, tmp_path / "run")
    told = json.loads((tmp_path / "run" / "summary.json").read_text())["resources"]
    for name, row in result.resources.iterrows():
        assert told[name]["stranded"] == row["stranded"]
        assert told[name]["share"]["free"] == row["free_share"]
        assert sum(told[name]["share"].values()) == pytest.approx(1, rel=1e-9)
    path = pd.read_parquet(tmp_path / "run" / "trajectory.parquet")
    pd.testing.assert_frame_equal(path, result.trajectory)


def test_some_of_the_nodes(jobs):
    wishes = sojourn.Constraints(memory_per_core=1.5)
    result = sojourn.simulate(jobs, CLUSTER, "easy", constraints=wishes)
    resources = result._schedule.resources
    whole, parts = resources.as_dict(), [resources.of_nodes(k) for k in ([0, 1, 2], range(3, 7))]
    assert [part["nodes"] for part in parts] == [3, 4]
    for name in ("cores", "memory"):
        for state in STATES:
            total = sum(part["resources"][name][state] for part in parts)
            assert total == pytest.approx(whole[name][state], rel=1e-12)
    busy = result.nodes["busy"].to_numpy()
    assert parts[0]["utilisation"] == pytest.approx(busy[:3].mean())
    assert parts[1]["utilisation"] == pytest.approx(busy[3:].mean())


def test_a_resource_that_nobody_asks_for_says_so(jobs):
    told = sojourn.simulate(jobs, CLUSTER).summary["resources"]
    assert told["memory"]["jobs"] == 0
    assert told["memory"]["used"] == 0
    assert told["cores"]["stranded"] == 0


def test_counted_processors_have_no_resources(jobs):
    result = sojourn.simulate(jobs, 64)
    assert "resources" not in result.summary
    for name in ("resources", "fragmentation"):
        with pytest.raises(OptionError, match="only counted"):
            getattr(result, name)
    with pytest.raises(OptionError, match="only counted"):
        result.plot.fragmentation()


def test_a_run_of_nobody_has_none(jobs):
    assert "resources" not in sojourn.simulate(jobs[:0], CLUSTER).summary


def test_the_picture(jobs):
    wishes = sojourn.Constraints(memory_per_core=1.5)
    result = sojourn.simulate(jobs, CLUSTER, "easy", constraints=wishes)
    figure = result.plot.fragmentation()
    titles = [ax.get_title(loc="left") for ax in figure.axes]
    table = result.resources
    for name, title in zip(("cores", "memory"), titles, strict=True):
        used, stranded = (100 * table.loc[name, f"{s}_share"] for s in ("used", "stranded"))
        assert title == f"{name}: {used:.1f} % used, {stranded:.1f} % stranded"
    assert [ax.get_ylabel() for ax in figure.axes] == ["of 68 cores", "of 68 GB"]
    with pytest.raises(OptionError, match="no column such as 'cores_used'"):
        sojourn.report.fragmentation({"time": [0.0, 1.0]})


def test_partitions_in_the_summary(jobs):
    half = np.where(np.arange(len(jobs)) % 3 == 0, 7, 2)
    named = jobs.replace(partition=half, header=["Partition: 2 big", "Partition: 7 small"])
    summary = sojourn.simulate(named, 30, "easy", warmup=20, clean=()).summary
    result = sojourn.simulate(named, 30, "easy", clean=())
    assert list(summary["partitions"]) == ["big", "small"]
    late = result.jobs[np.cumsum(np.isfinite(result.jobs["start"])) > 20]
    for name, told in summary["partitions"].items():
        mine = result.jobs[result.jobs["partition"] == name]
        assert told["jobs"] == len(mine)
        assert told["unaccepted"] == (mine["status"] == "unaccepted").sum()
        waits = late[late["partition"] == name]["wait"].dropna()
        assert told["wait"]["mean"] == pytest.approx(waits.mean())
        assert told["wait"]["max"] == waits.max()
    assert sum(told["unaccepted"] for told in summary["partitions"].values()) > 0
    assert sum(told["share"] for told in summary["partitions"].values()) == pytest.approx(1)
    alone = jobs.replace(partition=np.full(len(jobs), 2))
    assert "partitions" not in sojourn.simulate(alone, 40).summary


def test_partitions_of_the_cluster_have_the_use_of_their_nodes(jobs):
    parts = [
        sojourn.cluster.Partition("all", tuple(range(7)), default=True),
        sojourn.cluster.Partition("fast", (0, 1, 2)),
    ]
    machine = sojourn.Cluster.of(CLUSTER.nodes, partitions=parts)
    named = jobs.replace(
        partition=np.arange(len(jobs)) % 2 + 1, header=["Partition: 1 fast", "Partition: 2 gone"]
    )
    result = sojourn.simulate(named, machine, "easy")
    told, busy = result.summary["partitions"], result.nodes["busy"].to_numpy()
    size = result.nodes["procs"].to_numpy()
    assert list(told) == ["fast", "gone", "all"]
    assert told["fast"]["utilisation"] == pytest.approx(busy[:3].mean())
    assert told["all"]["utilisation"] == pytest.approx(np.average(busy, weights=size))
    assert told["all"]["utilisation"] == pytest.approx(result.summary["utilisation"])
    assert (told["all"]["jobs"], told["all"]["nodes"]) == (0, 7)
    assert "utilisation" not in told["gone"]
    assert told["fast"]["resources"]["cores"]["capacity"] == 36


def test_resources_that_nodes_have_besides_cores_and_memory(jobs):
    machine = sojourn.parse_cluster("2 x (16 cores, 32G, 2 gpu), 2 x (16 cores, 64G)")
    told = sojourn.simulate(jobs, machine, record=True)
    assert told.resources["capacity"].to_dict() == {
        "cores": 64, "memory": 192 * KB_PER_GB, "gpu": 4
    }  # fmt: skip
    assert told.summary["resources"]["gpu"]["used"] == 0
    shares = told.resources[[f"{state}_share" for state in STATES]].sum(axis=1)
    np.testing.assert_allclose(shares, 1.0, rtol=1e-9)
    assert {"gpu_used", "gpu_stranded"} <= set(told.trajectory)


def test_what_jobs_ask_for_is_in_the_job_table(jobs):
    count = len(jobs)
    nodes = np.where(np.arange(count) % 2, 3, -1)
    asked = jobs.replace(nodes=nodes, gpus=np.zeros(count, int))
    table = sojourn.simulate(asked, 64).jobs
    np.testing.assert_array_equal(table["nodes"], np.where(nodes > 0, nodes, np.nan))
    assert "gpus" not in table  # nobody asks for one
    mics = np.where(np.arange(count) % 5, 0, 2)
    table = sojourn.simulate(asked.replace(mics=mics, cores_per_node=nodes), 64).jobs
    np.testing.assert_array_equal(table["mics"], mics)
    assert table["cores_per_node"].max() == 3
    table = sojourn.simulate(asked.replace(gpus=np.arange(count) % 3 - 1), 64).jobs
    np.testing.assert_array_equal(table["gpus"][:4], [np.nan, 0, 1, np.nan])
