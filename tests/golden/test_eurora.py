"""Four logs of the Eurora supercomputer (2014): 64 nodes of cores, GPUs, MICs and memory."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

import sojourn
from sojourn.run.outcome.recorded_nodes import recorded_excess

ROOT = Path(__file__).resolve().parents[2]
LOGS = ("20140331_093036", "20140401_000244", "20140403_020506", "20140403_115948")
POLICIES = (
    "fcfs",
    "first-fit",
    "easy",
    "easy:4",
    "easy:inf",
    "conservative",
    "lcfs-pr",
    "spf",
    "lpf",
)
RESOURCES = ("cores", "gpus", "mics", "memory_kib")
# The job that is recorded twice on one node of 16 cores, beside 8 cores of another.
TWICE = ("20140403_020506", "8", "cores", 16, 24, 35277.0, 1149.0, 508073)


@pytest.fixture(scope="module")
def eurora(data_dir) -> Path:
    return data_dir / "eurora"


@pytest.fixture(scope="module")
def cluster(eurora) -> sojourn.Cluster:
    return sojourn.read_cluster(eurora / "nodes.csv")


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def _capacity(eurora: Path) -> np.ndarray:
    """What the file itself says, by node and resource."""
    return np.array([[int(row[name]) for name in RESOURCES] for row in _rows(eurora / "nodes.csv")])


def _most(node: np.ndarray, start: np.ndarray, end: np.ndarray, held: np.ndarray) -> np.ndarray:
    """The most that is held at once of every resource of every node; ends before starts."""
    count = len(node)
    place = np.concatenate((node, node))
    time = np.concatenate((start, end))
    begins = np.repeat([True, False], count)
    change = np.concatenate((held, -held))
    order = np.lexsort((begins, time, place))
    most = np.zeros((64, held.shape[1]), dtype=np.int64)
    for n in range(64):
        mine = order[place[order] == n]
        if len(mine):
            most[n] = np.cumsum(change[mine], axis=0).max(axis=0)
    return most


def test_the_nodes_are_as_published(cluster):
    assert cluster.resource_names == ("cores", "memory", "gpu", "mic")
    assert len(cluster.nodes) == 64
    assert cluster.capacity.sum(axis=1).tolist() == [1024, 64 * 32 * 2**20, 64, 64]


@pytest.mark.parametrize("log", LOGS)
def test_what_the_recorded_schedule_exceeds_is_reported(eurora, cluster, log):
    found = [
        (log, *(getattr(each, name) for name in each.__dataclass_fields__))
        for each in recorded_excess(sojourn.read_log(eurora / f"{log}.csv"), cluster)
    ]
    assert found == [TWICE] * (log == TWICE[0])


@pytest.mark.parametrize("log", LOGS)
def test_the_report_of_the_recorded_schedule_is_that_of_a_plain_sweep(eurora, log):
    rows = _rows(eurora / f"{log}.csv")
    held = [
        (int(cells[0]) - 1, float(row["start"]), float(row["end"]), *map(int, cells[1:]))
        for row in rows
        for cells in (part.split(":") for part in row["used"].split())
    ]
    table = np.array(held)
    most = _most(table[:, 0].astype(int), table[:, 1], table[:, 2], table[:, 3:].astype(np.int64))
    over = np.argwhere(most > _capacity(eurora)).tolist()
    # Nodes of the logs count from 1, those of the file from 0.
    assert over == ([[7, 0]] if log == TWICE[0] else [])
    if over:
        assert most[7, 0] == 24


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("log", LOGS)
def test_no_node_is_ever_exceeded(eurora, cluster, log, policy):
    """Swept from the allocations and the totals in the file, by nothing of the engine."""
    result = sojourn.simulate(sojourn.read_log(eurora / f"{log}.csv"), cluster, policy=policy)
    asked = {int(row["job"]): row for row in _rows(eurora / f"{log}.csv")}
    given = result.allocations
    job, start, end = (given[name].to_numpy() for name in ("job", "start", "end"))
    node = given["node"].astype(str).astype(int).to_numpy()
    of_node = {
        number: [-(-int(row[name]) // int(row["nodes"])) for name in RESOURCES]
        for number, row in asked.items()
    }
    held = np.array([of_node[number] for number in job.tolist()])
    assert np.all(given["procs"].to_numpy() == held[:, 0])
    most = _most(node, start, end, held)
    assert np.all(most <= _capacity(eurora)), np.argwhere(most > _capacity(eurora))

    # Every job, on as many different nodes as it asked for, in each stretch of its service.
    assert result.summary["unaccepted"] == 0
    assert set(job.tolist()) == set(asked)
    assert set(result.jobs["reason"]) == {""}
    stretches = given.groupby(["job", "start"])["node"].agg(["size", "nunique"])
    wanted = [int(asked[number]["nodes"]) for number, _ in stretches.index]
    assert stretches["size"].tolist() == stretches["nunique"].tolist() == wanted


ALTERED = """\
[[node]]
name = "g[1-20]"
cores = 16
memory = 32
gpu = 2

[[node]]
name = "m[1-12]"
cores = 24
memory = 48
mic = 1

[[partition]]
name = "all"
nodes = "all"
default = true

[[partition]]
name = "mics"
nodes = "m[1-12]"
max_time = "4:00:00"
"""


@pytest.mark.parametrize("policy", POLICIES)
def test_no_node_of_another_machine_is_ever_exceeded(eurora, tmp_path, policy):
    """Half the nodes, with other cores, memory and fewer MICs; some jobs ask for a partition."""
    path = tmp_path / "altered.toml"
    path.write_text(ALTERED, encoding="utf-8")
    log = eurora / f"{LOGS[0]}.csv"
    jobs = sojourn.read_log(log)
    part = np.where(np.arange(len(jobs)) % 3 == 0, "mics,all", "all")
    jobs = jobs.replace(partition=part.tolist())
    cluster = sojourn.read_cluster(path)
    result = sojourn.simulate(jobs, cluster, policy=policy)
    given = result.allocations
    asked = {int(row["job"]): row for row in _rows(log)}
    names = {node.name: k for k, node in enumerate(cluster.nodes)}
    node = np.array([names[name] for name in given["node"].astype(str)])
    held = np.array(
        [
            [-(-int(asked[number][name]) // int(asked[number]["nodes"])) for name in RESOURCES]
            for number in given["job"].tolist()
        ]
    )
    most = _most(node, given["start"].to_numpy(), given["end"].to_numpy(), held)
    capacity = np.repeat([[16, 2, 0, 32 * 2**20], [24, 0, 1, 48 * 2**20]], [20, 12], axis=0)
    assert np.all(most[:32] <= capacity), np.argwhere(most[:32] > capacity)
    # Cores that no node of Eurora has are used, and every job is served.
    assert most[:32, 0].max() > 16
    assert set(given["job"].tolist()) == set(asked)


def test_what_eurora_never_had_is_not_accepted_and_why(eurora, cluster):
    jobs = sojourn.read_log(eurora / f"{LOGS[0]}.csv")
    gpus, mics = jobs.gpus.copy(), jobs["mics"].copy()
    gpus[0], mics[0] = 1, 1
    gpus[1] = 3
    memory = jobs["memory_per_node"].copy()
    memory[2] = 33_554_433
    odd = jobs.replace(gpus=gpus, mics=mics, memory_per_node=memory)
    result = sojourn.simulate(odd, cluster, policy="easy", clean=())
    table = result.jobs[result.jobs["reason"] != ""]
    # One node with both a GPU and a MIC; three GPUs on one node; a KiB more than a node has.
    assert dict(zip(table["job"], table["reason"].astype(str), strict=True)) == {
        498521: "resource",
        498522: "resource",
        498523: "memory",
    }
    assert result.summary["unaccepted"] == 3


def _waits(eurora: Path, cluster: sojourn.Cluster, log: str) -> list[str]:
    """Mean and median wait of each queue, as the page has them: recorded, and of three runs."""
    rows = _rows(eurora / f"{log}.csv")
    recorded = {row["job"]: float(row["start"]) - float(row["submit"]) for row in rows}
    waits = [recorded]
    for policy in ("fcfs", "easy", "conservative"):
        jobs = sojourn.read_log(eurora / f"{log}.csv")
        table = sojourn.simulate(jobs, cluster, policy=policy).jobs
        waits.append(dict(zip(table["job"].astype(str), table["wait"], strict=True)))
    lines = []
    for queue in sorted({row["queue"] for row in rows}):
        mine = [row["job"] for row in rows if row["queue"] == queue]
        columns = [[run[job] for job in mine] for run in waits]
        cells = [f"{np.mean(column):,.0f} / {np.median(column):,.0f}" for column in columns]
        lines.append(f"| {log} | {queue} | {len(mine)} | {' | '.join(cells)} |")
    return lines


@pytest.mark.parametrize("log", LOGS)
def test_waits_by_queue_are_those_of_the_page(eurora, cluster, log):
    page = (ROOT / "docs" / "background" / "eurora.md").read_text(encoding="utf-8")
    # Another table of the page has the waits under caps.
    waits = page.partition("## Under")[0]
    printed = [line for line in waits.splitlines() if line.startswith(f"| {log}")]
    assert printed == _waits(eurora, cluster, log)


@pytest.mark.parametrize("log", LOGS)
def test_jobs_wait_less_when_gaps_are_filled(eurora, cluster, log):
    jobs = sojourn.read_log(eurora / f"{log}.csv")
    mean = {
        policy: sojourn.simulate(jobs, cluster, policy=policy).summary["wait"]["mean"]
        for policy in ("fcfs", "easy", "conservative")
    }
    assert mean["easy"] < mean["fcfs"]
    assert mean["conservative"] < mean["fcfs"]
