"""Jobs that ask to begin later: engine and oracle, and the same log submitted later."""

from __future__ import annotations

import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import simulate as simulate_exactly
from oracle.begin import as_they_come
from oracle.strategies import Workload, workloads

import sojourn

from .cast import CONSTANT, PAIRS

EXAMPLES = max(1, int(os.environ.get("SOJOURN_EXAMPLES", 2000)) // 10)
JOBS = 8
RUN = {"clean": (), "over_limit": "run", "record": True}
CLUSTER = "3 x (2 cores, 4G, 1 gpu), 2 x (4 cores, 2G)"

wishes = st.lists(st.sampled_from((None, 0, 1, 2, 3, 7, 15)), min_size=JOBS, max_size=JOBS)
"""How much later than its submit each job asks to begin; 0 and None ask for nothing."""


def begins(drawn: Workload, wished: list[int | None]) -> list[int | None]:
    return [
        None if later is None else job.submit + later
        for job, later in zip(drawn.jobs, wished, strict=False)
    ]


def log_of(drawn: Workload, begin: list[int | None] | None = None) -> sojourn.Jobs:
    submit, work, procs, plan = zip(*drawn.jobs, strict=True)
    columns = {"submit": submit, "runtime": work, "procs": procs, "estimate": plan}
    if begin is not None:
        columns["begin"] = [-1 if wish is None else wish for wish in begin]
    return sojourn.Jobs(columns)


def later_log(drawn: Workload, begin: list[int | None]) -> tuple[list[int], sojourn.Jobs]:
    order, jobs = as_they_come(drawn.jobs, begin)
    return order, log_of(Workload(drawn.servers, tuple(jobs)))


@pytest.mark.parametrize("name", PAIRS)
def test_engine_equals_oracle(name):
    pair = PAIRS[name]

    @settings(max_examples=EXAMPLES, derandomize=True)
    @given(workloads(JOBS, min_plan=1), wishes)
    def agree(drawn: Workload, wished: list[int | None]) -> None:
        begin = begins(drawn, wished)
        order, jobs = as_they_come(drawn.jobs, begin)
        wanted = simulate_exactly(jobs, drawn.servers, pair.discipline, CONSTANT[1.0].exact)
        result = sojourn.simulate(log_of(drawn, begin), drawn.servers, pair.policy, **RUN)
        table = result.jobs
        assert table["job"].tolist() == [place + 1 for place in order]
        assert table["start"].tolist() == list(wanted.start)
        assert table["end"].tolist() == list(wanted.end)
        submit = [drawn.jobs[place].submit for place in order]
        assert table["wait"].tolist() == [x - y for x, y in zip(wanted.start, submit, strict=True)]
        for column in ("time", "queued", "busy"):
            found = result.trajectory[column].tolist()
            assert found == [getattr(row, column) for row in wanted.trajectory], column

    agree()


def outcome(result: sojourn.Result) -> list[list[float]]:
    table = result.jobs
    columns = ("start", "end", "service", "energy", "nodes", "restarts")
    return [table[name].fillna(-1).tolist() for name in columns if name in table]


@pytest.mark.parametrize(
    "policy", ["fcfs", "easy", "easy-sjbf", "fcfs+easy:2", "wfp3+easy", "conservative", "lcfs-pr"]
)
@pytest.mark.parametrize("named", [False, True])
def test_as_if_submitted_at_begin(policy, named):
    """With events, promises and nodes: the schedule of the log in which they are submitted then."""

    @settings(max_examples=max(5, EXAMPLES // 4), derandomize=True)
    @given(workloads(JOBS, min_plan=1), wishes, st.integers(0, 20), st.integers(0, JOBS - 1))
    def agree(drawn: Workload, wished: list[int | None], when: int, who: int) -> None:
        begin = begins(drawn, wished)
        order, later = later_log(drawn, begin)
        who %= len(order)
        cluster = sojourn.parse_cluster(CLUSTER) if named else drawn.servers
        where = {"nodes": "*1"} if named else {"procs": 1}
        down = {"kind": "down", "time": when, "until": when + 4, **where}
        cancel = {"kind": "cancel", "time": when}
        options = {**RUN, "node_failure": "requeue"}
        asked = sojourn.simulate(
            log_of(drawn, begin), cluster, policy, events=[down, {**cancel, "job": who + 1}],
            **options,
        )  # fmt: skip
        twin = sojourn.simulate(
            later, cluster, policy, events=[down, {**cancel, "job": order.index(who) + 1}],
            **options,
        )  # fmt: skip
        assert outcome(asked) == outcome(twin)
        assert asked.promises.tolist() == pytest.approx(twin.promises.tolist(), abs=0, nan_ok=True)
        assert asked.summary["mean_queue"] == pytest.approx(
            twin.summary["mean_queue"], abs=0, nan_ok=True
        )

    agree()
