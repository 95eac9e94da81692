"""What is to happen long after the last job has left changes nothing, to the bit."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import sojourn

from .everything_axes import AXES, BACKFILLS, MACHINES, PLACEMENTS, policy_of
from .everything_cases import Drawn, draw
from .everything_input import cluster_of, jobs_of
from .pairwise import Row
from .test_differential import EXAMPLES

LATE = 1e9
ORDER_OF = {"spf": "sjf", "lpf": "ljf", "preempt": "lcfs"}
WORKLOADS = max(EXAMPLES // 50, 4)


def rows_after(end: float, drawn: Drawn) -> dict[str, list[dict[str, Any]]]:
    """Late events of each kind, and all of them."""
    about = {"procs": 1} if drawn.case.nodes is None else {"nodes": ["node-0"]}
    at = end + LATE
    rows: dict[str, list[dict[str, Any]]] = {
        "down": [
            {"time": at, "kind": "down", **about},
            {"time": at + 5, "kind": "up", **about},
        ],
        "cancel": [{"time": at, "kind": "cancel", "job": 1}],
        "reserve": [
            {"time": at, "kind": "reserve", "until": at + 9, "announced": at - 1, **about},
        ],
    }
    return {**rows, "all": [row for some in rows.values() for row in some]}


@pytest.mark.parametrize("backfill", BACKFILLS)
@pytest.mark.parametrize("machine", MACHINES)
def test_nothing_changes(backfill: str, machine: str) -> None:
    for seed in range(WORKLOADS):
        rng = random.Random(f"{backfill} {machine} {seed}")
        order = ORDER_OF.get(backfill, ("fcfs", "sjf", "wfp3", "own")[seed % 4])
        placement = "first-fit" if machine == "counted" else rng.choice(list(PLACEMENTS))
        row = {axis: values[0] for axis, values in AXES.items()} | {
            "backfill": backfill,
            "order": order,
            "machine": machine,
            "placement": placement,
            "passes": rng.choice(AXES["passes"]),
            "foresight": rng.choice(AXES["foresight"]),
            "events": "none",
        }
        drawn = draw(row, rng)
        plain = run(row, drawn, None)
        end = max([0.0, *plain.jobs["end"].dropna()])
        for kind, events in rows_after(end, drawn).items():
            late = run(row, drawn, events)
            about = f"{kind}; {row}; {drawn}"
            for name in ("start", "end"):
                np.testing.assert_array_equal(late.jobs[name], plain.jobs[name], err_msg=about)
            assert late.jobs["status"].tolist() == plain.jobs["status"].tolist(), about
            if machine != "counted":
                assert nodes_of(late) == nodes_of(plain), about


def run(row: Row, drawn: Drawn, events: list[dict[str, Any]] | None) -> sojourn.Result:
    jobs, constraints = jobs_of(drawn.case)
    return sojourn.simulate(
        jobs,
        cluster_of(drawn.case),
        policy_of(row),
        over_limit="run",
        passes=row["passes"],
        seed=drawn.seed,
        clean=(),
        placement=PLACEMENTS[row["placement"]].placement,
        constraints=constraints,
        foresight=row["foresight"],
        events=events,
    )


def nodes_of(result: sojourn.Result) -> list[tuple[Any, ...]]:
    table = result.allocations
    return sorted(table[["job", "node", "procs", "start", "end"]].itertuples(index=False))
