"""Runs on named nodes: what a `Result` tells of them, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sojourn
from sojourn import Cluster, Constraints, Jobs, Node, OptionError, PolicyError, Server

CURVE = tuple(20.0 + 8.0 * i for i in range(11))


def server(name: str, cores: int, ops_per_core: float, **facts: Any) -> Node:
    """A node of `cores` cores; 20 W idle and 100 W busy, on a straight line."""
    return Node(name, Server(name, cores, cores * ops_per_core, CURVE, **facts))


@pytest.fixture
def pair() -> Cluster:
    """A slow node of four cores and a fast one of two; runtimes were recorded in between."""
    return Cluster.of([server("slow", 4, 50.0), server("fast", 2, 200.0)], reference_ops=100.0)


def stream(*rows: tuple[float, float, int]) -> Jobs:
    """Jobs of (submit, runtime, procs) with exact estimates."""
    submit, runtime, procs = zip(*rows, strict=True)
    return Jobs({"submit": submit, "runtime": runtime, "procs": procs, "estimate": runtime})


@pytest.fixture(scope="module")
def crowd() -> Jobs:
    """Enough jobs to share nodes and to wait."""
    return sojourn.lublin(400, 48, load=0.9, seed=3)


@pytest.fixture(scope="module")
def mixed() -> Cluster:
    """Library servers of five models, 64 cores."""
    return sojourn.parse_cluster("2 x X5670, 3 x L5420, X3470, 2 x E3-1260L, X3360")


def test_the_slowest_processor_sets_the_pace(pair: Cluster) -> None:
    result = sojourn.simulate(stream((0, 10, 5), (0, 10, 1)), pair, "fcfs", clean=())
    # Five cores are the slow node and half the fast one: 10 s x 100/50. The last one is fast.
    assert result.end.tolist() == [20.0, 5.0]
    assert result.slowness.tolist() == [2.0, 0.5]
    rows = result.allocations
    assert rows["node"].tolist() == ["slow", "fast", "fast"]
    assert rows["procs"].tolist() == [4, 1, 1]
    assert rows["job"].tolist() == [1, 1, 2]


def test_equation_5_and_the_whole_bill(pair: Cluster) -> None:
    result = sojourn.simulate(stream((0, 10, 2)), pair, "fcfs", clean=(), record=True)
    # Two of four slow cores for 20 s. (5): 25 W each. The node draws 60 W at half load.
    energy = result.summary["energy"]
    assert energy["peas_kwh"] * 3.6e6 == pytest.approx(2 * 25 * 20)
    assert energy["total_joules"] == pytest.approx((60 + 20) * 20)
    assert energy["busy_joules"] == pytest.approx((60 - 2 * 5) * 20)
    assert result.trajectory["power"].tolist() == pytest.approx([80.0, 40.0])
    assert energy["energy_delay"] == pytest.approx((60 + 20) * 20 * 20)
    table = result.nodes.set_index("node")
    assert table.loc["slow", "busy"] == pytest.approx(0.5)
    assert table["busy_energy"].sum() + table["idle_energy"].sum() == pytest.approx(80 * 20)


@pytest.mark.parametrize("placement", sorted(sojourn.PLACEMENTS))
@pytest.mark.parametrize("policy", ["easy", "conservative", "sjf+easy:3"])
def test_a_schedule_is_possible_and_paid_for(
    crowd: Jobs, mixed: Cluster, policy: str, placement: str
) -> None:
    result = sojourn.simulate(crowd, mixed, policy, placement=placement, record=True)
    rows = result.allocations
    assert rows.groupby("job")["procs"].sum().tolist() == crowd.procs.tolist()
    procs = dict(zip([node.name for node in mixed.nodes], mixed.columns.procs, strict=True))
    for name, mine in rows.groupby("node", observed=True):
        edges = np.concatenate([mine["start"], mine["end"]])
        change = np.concatenate([mine["procs"], -mine["procs"]])
        # Ends come before starts at one instant.
        order = np.lexsort((change, edges))
        assert np.cumsum(change[order]).max() <= procs[name]
    slowness = dict(zip(procs, mixed.columns.slowness, strict=True))
    worst = rows["node"].map(slowness).astype(float).groupby(rows["job"]).max()
    assert result.slowness.tolist() == worst.tolist()
    assert result.end - result.start == pytest.approx(crowd.work * result.slowness, rel=1e-9)
    time, watts = result.power_steps
    energy = result.summary["energy"]
    integral = float(np.dot(np.diff(time), watts[:-1]))
    assert energy["busy_joules"] + energy["idle_joules"] == pytest.approx(integral, rel=1e-9)
    assert result.jobs["energy"].sum() == pytest.approx(energy["busy_joules"], rel=1e-12)


def test_contiguous_jobs_have_neighbours(crowd: Jobs, mixed: Cluster) -> None:
    rows = sojourn.simulate(crowd, mixed, "easy", placement="contiguous").allocation_columns()
    for job in np.unique(rows["job"]):
        nodes = np.sort(rows["node"][rows["job"] == job])
        assert np.all(np.diff(nodes) == 1)


def test_random_placement_goes_by_the_seed(crowd: Jobs, mixed: Cluster) -> None:
    def nodes(seed: int) -> list[int]:
        run = sojourn.simulate(crowd, mixed, "easy", placement="random", seed=seed)
        return run.allocation_columns()["node"].tolist()

    assert nodes(1) == nodes(1)
    assert nodes(1) != nodes(2)


def test_a_score_over_nodes(pair: Cluster) -> None:
    @sojourn.score
    def fast_first(nodes, n, jobs, j, now, theta):  # type: ignore[no-untyped-def]
        return -nodes.ops[n]

    @sojourn.score
    def narrow_jobs_on_slow_nodes(nodes, n, jobs, j, now, theta):  # type: ignore[no-untyped-def]
        return nodes.slowness[n] if jobs.procs[j] > 1 else -nodes.slowness[n]

    jobs = stream((0, 10, 1), (0, 10, 2))
    assert fast_first.is_fixed
    assert not narrow_jobs_on_slow_nodes.is_fixed
    fixed = sojourn.simulate(jobs, pair, "fcfs", placement=fast_first, clean=())
    assert fixed.allocations["node"].tolist() == ["fast", "fast", "slow"]
    by_width = sojourn.simulate(jobs, pair, "fcfs", placement=narrow_jobs_on_slow_nodes, clean=())
    assert by_width.allocations["node"].tolist() == ["slow", "fast"]


def test_who_can_never_run_and_why() -> None:
    cluster = Cluster.of(
        [
            server("a", 2, 1.0, memory=4.0),
            server("b", 2, 1.0, memory=8.0, features=frozenset({"gpu"})),
        ]
    )
    jobs = stream((0, 1, 5), (1, 1, 3), (2, 1, 2), (3, 1, 2), (4, 1, 1))
    asked = Constraints(
        feature=[None, "gpu", None, None, "gpu"],
        memory_per_core=[0, 0, 5, 0, 0],
        power_budget=[np.inf, np.inf, np.inf, 99.0, np.inf],
    )
    result = sojourn.simulate(jobs, cluster, "easy", constraints=asked, clean=())
    assert result.jobs["reason"].tolist() == [
        "processors",
        "feature",
        "memory",
        "power budget",
        "",
    ]
    assert result.summary["unaccepted_reasons"]["feature"] == 1
    assert result.summary["unaccepted"] == 4


def test_whole_nodes_are_held_but_not_all_used(pair: Cluster) -> None:
    result = sojourn.simulate(
        stream((0, 10, 1), (0, 10, 1), (0, 10, 1)),
        pair,
        "fcfs",
        constraints=Constraints(whole_node=True),
        clean=(),
        record=True,
    )
    # One core of each node; the third job waits for the fast node, which is free after 5 s.
    assert result.start.tolist() == [0.0, 0.0, 5.0]
    assert result.trajectory["busy"].tolist()[0] == 6
    assert result.trajectory["power"].tolist()[0] == pytest.approx(40 + 60)


def test_memory_is_shared_out() -> None:
    cluster = Cluster.of([server("a", 4, 1.0, memory=4.0)])
    jobs = stream((0, 10, 1), (0, 10, 2), (0, 10, 1))
    asked = Constraints(memory_per_core=[3, 0.5, 1])
    starts = sojourn.simulate(jobs, cluster, "fcfs", constraints=asked, clean=()).start
    assert starts.tolist() == [0.0, 0.0, 10.0]


def test_what_the_scheduler_expects_of_slow_nodes() -> None:
    cluster = Cluster.of([server("slow", 1, 50.0), server("fast", 1, 100.0)], reference_ops=100.0)
    # Job 1 has the fast core until 10, job 2 needs both; job 3 could have the slow one, where it
    # takes 12 s instead of 6.
    jobs = stream((0, 10, 1), (1, 5, 2), (2, 6, 1))
    fast_first = {"placement": "fastest", "clean": ()}
    honest = sojourn.simulate(jobs, cluster, "easy", **fast_first)
    assert honest.start.tolist() == [0.0, 10.0, 20.0]
    blind = sojourn.simulate(jobs, cluster, "easy", foresight="log", **fast_first)
    assert blind.start.tolist() == [0.0, 14.0, 2.0]


def test_decisions_say_why(pair: Cluster) -> None:
    jobs = stream((0, 10, 5), (1, 10, 4), (2, 2, 1), (3, 50, 1), (4, 1, 9))
    run = sojourn.simulate(jobs, pair, "easy", clean=(), decisions=True)
    lines = list(run.decisions.lines())
    assert len(lines) == len(run.decisions) + 1
    assert "job 5: not accepted" in lines[0]
    assert "job 1 starts, 5 of 6 free processors; first-fit gives slow:4, fast:1" in lines[1]
    told = run.decisions.table()
    first = told.drop_duplicates("job").set_index("job")["decision"].astype(str).to_dict()
    assert first == {
        1: "started",
        2: "too wide",
        3: "backfilled in time",
        4: "backfilled beside",
    }
    # Keeping them changes nothing.
    plain = sojourn.simulate(jobs, pair, "easy", clean=())
    assert plain.start.tolist() == run.start.tolist()


@pytest.mark.parametrize("policy", ["fcfs", "first-fit", "easy", "easy-sjbf", "conservative"])
def test_keeping_decisions_changes_nothing(crowd: Jobs, mixed: Cluster, policy: str) -> None:
    plain = sojourn.simulate(crowd, mixed, policy, placement="best-fit")
    kept = sojourn.simulate(crowd, mixed, policy, placement="best-fit", decisions=True)
    assert plain.start.tolist() == kept.start.tolist()
    table = kept.decisions.table()
    starts = table[table["decision"].isin(["started", "promise kept"])]
    backfilled = table[table["decision"].astype(str).str.startswith("backfilled")]
    assert len(starts) + len(backfilled) == len(crowd)


def test_a_rate_control_on_named_nodes(pair: Cluster) -> None:
    result = sojourn.simulate(stream((0, 10, 4)), pair, "fcfs", rate=2.0, clean=(), record=True)
    assert result.end.tolist() == [10.0]
    # The dynamic part grows with the cube of the rate.
    assert result.summary["energy"]["busy_joules"] == pytest.approx((20 + 80 * 8) * 10)


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        ({"placement": "bestfit"}, PolicyError, "did you mean 'best-fit'"),
        ({"placement": 3}, PolicyError, "give a name or a function"),
        ({"foresight": "none"}, OptionError, "choose nodes or log"),
        ({"constraints": Constraints(whole_node=[True])}, OptionError, "1 values for 2 jobs"),
        ({"constraints": Constraints(memory_per_core="all")}, OptionError, "GB, or log"),
        ({"constraints": Constraints(feature={"color": {1: "x"}})}, OptionError, "feature by"),
        (
            {"constraints": Constraints(memory_per_core=1, memory_per_node=1)},
            sojourn.JobError,
            "per core and per node at once",
        ),
        ({"constraints": Constraints(power_budget=-1)}, sojourn.JobError, "not negative"),
    ],
)
def test_what_is_refused(
    pair: Cluster, options: dict[str, Any], error: type[Exception], says: str
) -> None:
    policy = options.pop("policy", "easy")
    with pytest.raises(error, match=says) as raised:
        sojourn.simulate(stream((0, 1, 1), (1, 1, 1)), pair, policy, clean=(), **options)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    "options",
    [
        {"placement": "fastest"},
        {"constraints": Constraints(whole_node=True)},
    ],
)
def test_counted_processors_have_no_nodes(options: dict[str, Any]) -> None:
    with pytest.raises(OptionError, match="no named nodes"):
        sojourn.simulate(stream((0, 1, 1)), 4, "easy", clean=(), **options)
    with pytest.raises(OptionError, match="only counted"):
        _ = sojourn.simulate(stream((0, 1, 1)), 4, "easy", clean=()).allocations


def test_decisions_on_counted_processors() -> None:
    jobs = stream((0, 9, 3), (1, 2, 2), (2, 1, 1))
    table = sojourn.simulate(jobs, 4, "easy", clean=(), decisions=True).decisions.table()
    assert table["decision"].tolist() == [
        "started",
        "too wide",
        "too wide",
        "reserved",
        "backfilled in time",
        "too wide",
        "started",
    ]
    assert table["says"].iloc[0] == "job 1 starts, 3 of 4 free processors"


def test_constraints_by_job_do_not_survive_cleaning(pair: Cluster) -> None:
    jobs = stream((5, 1, 1), (0, 1, 1))
    with pytest.raises(OptionError, match="clean and sort the jobs first"):
        sojourn.simulate(jobs, pair, "easy", constraints=Constraints(whole_node=[True, False]))


def test_limits_of_numbers(pair: Cluster) -> None:
    jobs = stream((0, 1, 1))
    with pytest.raises(sojourn.JobError, match=r"more than 1e\+09 GB"):
        sojourn.simulate(jobs, pair, constraints=Constraints(memory_per_node=1e13), clean=())
    with pytest.raises(OptionError, match="seed"):
        sojourn.simulate(jobs, pair, placement="random", seed=2**63, clean=())
    huge = jobs.replace(memory=[1e30])
    asked = Constraints(memory_per_core="log")
    result = sojourn.simulate(huge, pair, constraints=asked, clean=())
    assert result.jobs["reason"].tolist() == ["memory"]


def test_a_placement_from_a_file(pair: Cluster, tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(
        "import sojourn\n\n\n@sojourn.score\n"
        "def Fast(nodes, n, jobs, j, now, theta):\n    return -nodes.ops[n]\n"
    )
    result = sojourn.simulate(stream((0, 1, 1)), pair, placement=f"{file}:Fast", clean=())
    assert result.allocations["node"].tolist() == ["fast"]
    with pytest.raises(PolicyError, match="no score named 'slow'; it has Fast"):
        sojourn.simulate(stream((0, 1, 1)), pair, placement=f"{file}:slow", clean=())
