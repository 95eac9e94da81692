"""Recorded waits beside simulated ones, and what a log tells that a run does not act on."""

from __future__ import annotations

import numpy as np
import pytest

import sojourn
from sojourn.measures.recorded import gap_in_words, recorded_beside
from sojourn.policy import Constraints, parse_policy
from sojourn.run.outcome.unmodelled import not_acted_on

JOBS = {
    "submit": [0.0, 0.0, 0.0, 0.0],
    "runtime": [100.0, 100.0, 100.0, 100.0],
    "estimate": [100.0, 100.0, 100.0, 100.0],
    "procs": [1, 1, 1, 9],
}


def test_both_are_of_the_jobs_that_have_both() -> None:
    # On one processor jobs would wait 0, 100 and 200 s; the wait of the second is not known, and
    # the fourth is too wide to run.
    jobs = sojourn.Jobs({**JOBS, "wait": [1000.0, -1.0, 3000.0, 7.0]})
    found = sojourn.simulate(jobs, 1, "fcfs", clean=()).summary["recorded"]
    assert found["jobs"] == 2
    assert (found["wait"]["mean"], found["simulated"]["wait"]["mean"]) == (2000.0, 100.0)
    assert (found["wait"]["median"], found["wait"]["p95"]) == (1000.0, 3000.0)
    assert found["bounded_slowdown"]["mean"] == (11 + 31) / 2
    assert found["simulated"]["bounded_slowdown"]["mean"] == (1 + 3) / 2


def test_a_warm_up_leaves_out_the_same_jobs_on_both_sides() -> None:
    jobs = sojourn.Jobs({**JOBS, "wait": [1000.0, 10.0, 3000.0, 7.0]})
    found = sojourn.simulate(jobs, 1, "fcfs", clean=(), warmup=2).summary["recorded"]
    assert found["jobs"] == 1
    assert (found["wait"]["mean"], found["simulated"]["wait"]["mean"]) == (3000.0, 200.0)


@pytest.mark.parametrize("columns", [{}, {"wait": [-1.0] * 4}])
def test_a_log_without_waits_has_no_such_section(columns: dict[str, list[float]]) -> None:
    summary = sojourn.simulate(sojourn.Jobs({**JOBS, **columns}), 1, "fcfs", clean=()).summary
    assert "recorded" not in summary


def section(real: float, model: float) -> dict:
    found = recorded_beside([real], [10.0], [model], [10.0])
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("real", "model", "said"),
    [
        (25_911.0, 4_783.0, "the recorded one is 5.4 times the simulated one under easy:"),
        (1_000.0, 2_000.0, "the simulated one under easy is 2 times the recorded one:"),
        (1_000.0, 0.0, "the recorded one is far more than the simulated one under easy:"),
        (9_970.0, 100.0, "the recorded one is far more than the simulated one under easy:"),
    ],
)
def test_a_large_gap_is_said_to_be_one_of_the_model(real: float, model: float, said: str) -> None:
    words = gap_in_words(section(real, model), "easy")
    assert said in words
    assert "sojourn replay" in words
    assert "simulated machine" in words


@pytest.mark.parametrize(("real", "model"), [(1_000.0, 900.0), (59.0, 1.0), (0.0, 0.0)])
def test_a_small_gap_needs_no_word(real: float, model: float) -> None:
    assert gap_in_words(section(real, model)) == ""


RICH = sojourn.Jobs(
    {
        **JOBS,
        "gpus": [0, 2, -1, 1],
        "memory": [-1.0, 1024.0, 0.0, -1.0],
        "partition": [1, 2, 3, -1],
        "queue": [4, 4, 4, -1],
        "account": [1, 1, 2, 2],
        "qos": [-1, -1, -1, -1],
    }
)


def test_what_a_run_takes_no_notice_of() -> None:
    found = ["GPUs of 2 jobs", "memory of 1 job", "3 partitions", "2 accounts"]
    assert not_acted_on(RICH) == found
    assert sojourn.simulate(RICH, 4, clean=()).summary["not_modelled"] == found


def test_plain_jobs_leave_nothing_out() -> None:
    assert not_acted_on(sojourn.Jobs(JOBS)) == []


def test_constraints_act_on_memory_and_on_what_features_go_by() -> None:
    wishes = Constraints(memory_per_core="log", feature={"partition": {3: "big"}})
    assert not_acted_on(RICH, None, wishes) == ["GPUs of 2 jobs", "2 accounts"]


def test_an_order_of_ones_own_may_look_at_it() -> None:
    @sojourn.score
    def by_partition(jobs, j, now, theta):
        return float(jobs.partition[j])

    left = not_acted_on(RICH, parse_policy(by_partition))
    assert left == ["GPUs of 2 jobs", "memory of 1 job", "2 accounts"]


def test_names_of_columns_that_are_simulated_keep_what_is_needed() -> None:
    from sojourn.jobs.log import SIMULATED

    few = RICH.only(SIMULATED)
    assert not_acted_on(few) == not_acted_on(RICH)
    assert np.array_equal(RICH.replace(wait=np.arange(4.0)).only(SIMULATED).wait, np.arange(4.0))


PARTS = """\
[[node]]
name = "n[1-4]"
cores = 8
{node}
[[partition]]
name = "2"
nodes = "n[1-4]"
{partition}
"""


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("4 x (8 cores, 2 gpu)", ["memory of 1 job", "3 partitions", "2 accounts"]),
        ("4 x (8 cores, 32G)", ["GPUs of 2 jobs", "3 partitions", "2 accounts"]),
        ("4 x (8 cores, 32G, 2 gpu)", ["3 partitions", "2 accounts"]),
        # Nodes that are known by a benchmark: processors only, as ever.
        ("4 x X5670", ["GPUs of 2 jobs", "memory of 1 job", "3 partitions", "2 accounts"]),
    ],
)
def test_what_the_nodes_have_is_acted_on(text: str, left: list[str]) -> None:
    cluster = sojourn.parse_cluster(text)
    assert not_acted_on(RICH, cluster=cluster) == left
    assert sojourn.simulate(RICH, cluster, clean=()).summary["not_modelled"] == left


def test_partitions_are_acted_on_where_jobs_name_one_of_them(tmp_path) -> None:
    path = tmp_path / "c.toml"
    path.write_text(PARTS.format(node="gpu = 2", partition="max_cpus_per_node = 4"))
    cluster = sojourn.read_cluster(path)
    limit = "max_cpus_per_node of partition '2'"
    assert not_acted_on(RICH, cluster=cluster) == ["memory of 1 job", "2 accounts", limit]
    others = RICH.replace(partition=np.array([7, 8, 9, -1]))
    left = not_acted_on(others, cluster=cluster)
    assert left == ["memory of 1 job", "3 partitions", "2 accounts", limit]


def test_licences_features_and_dependencies() -> None:
    jobs = sojourn.Jobs(
        {
            **JOBS,
            "licences": ["matlab", "", "matlab:2", ""],
            "features": ["ib", "", "", ""],
            "after": ["", "1", "", ""],
        }
    )
    found = [
        "licences of 2 jobs",
        "features of 1 job",
        "dependencies of 1 job",
    ]
    assert not_acted_on(jobs) == found
    assert sojourn.simulate(jobs, 4, clean=()).summary["not_modelled"] == found
    assert not_acted_on(jobs, cluster=sojourn.parse_cluster("4 x (8 cores)")) == [
        found[0],
        *found[2:],
    ]


def test_queues_are_acted_on_where_the_cluster_has_them(tmp_path) -> None:
    path = tmp_path / "c.toml"
    path.write_text("[[node]]\nname = 'n'\ncores = 8\n[[queue]]\nname = '4'\n")
    cluster = sojourn.read_cluster(path)
    jobs = sojourn.Jobs({**JOBS, "queue": [4, 4, 5, 5]})
    assert not_acted_on(jobs) == ["2 queues"]
    assert not_acted_on(jobs, cluster=cluster) == []
    assert not_acted_on(jobs.replace(queue=[6, 6, 7, 7]), cluster=cluster) == ["2 queues"]
