"""Stretches of real logs on nodes that sleep, under caps and without: engine = oracle."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from oracle.caps import Cap
from oracle.dispatcher import Scheduling
from oracle.everything import Case
from oracle.everything import simulate as simulate_exactly
from oracle.model import exact
from oracle.nodes import Node, Request
from oracle.sleeping_nodes import Depth, Sleep

import sojourn
from sojourn.cluster import Cluster, Server
from sojourn.cluster.states import PowerStates, SleepState
from sojourn.run.build.engine import finish
from sojourn.run.simulate import prepare

LOGS = {"KTH-SP2-1996-2": (100, 1), "SDSC-SP2-1998-4.2-cln": (128, 1), "RICC-2010-2": (64, 8)}
"""Nodes, and processors of each; of RICC a part."""
RULES = {"fcfs": "none", "first-fit": "first-fit", "easy": "easy", "conservative": "conservative"}
IDLE, BUSY, ASLEEP, ENTER, LEAVE = 95.0, 190.738, 9.75, 100.997, 125.17


class Run(NamedTuple):
    """A stretch of a log, and how it is run; a cap is a share of what all busy nodes draw."""

    log: str
    first: int
    jobs: int
    policy: str = "easy"
    idle: float = 600.0
    cap: float = 0.0
    boot: float = 151.5


# Submit, runtime, processors and estimate. As some are backfilled the head would have to wake
# more sleepers, and its reservation is another one.
CROWD = (
    (0, 215953, 2, 216000),
    (13522, 10678, 16, 12000),
    (13861, 52147, 8, 52200),
    (13880, 47513, 16, 52200),
    (16160, 21135, 1, 72000),
    (16195, 58884, 1, 90000),
    (16478, 52706, 16, 52800),
    (16577, 52735, 16, 52800),
    (16822, 72000, 1, 72000),
    (17639, 11934, 15, 12000),
    (18178, 3945, 16, 4200),
    (22805, 25258, 1, 36000),
    (23736, 26922, 1, 36000),
    (28814, 7, 1, 29340),
)
QUICK = [
    Run("KTH-SP2-1996-2", 8280, 16, cap=0.8),
    Run("KTH-SP2-1996-2", 8280, 16, "fcfs", 0.0),
    Run("SDSC-SP2-1998-4.2-cln", 5000, 16, "first-fit", 60.0, 0.8),
]
LONG = [
    # The head's reservation moves as others take nodes that are up.
    Run("KTH-SP2-1996-2", 8250, 210, cap=0.8),
    *(
        Run(log, 3000, 250, policy, idle, cap, boot)
        for log in LOGS
        for policy in RULES
        for idle, cap, boot in ((0.0, 0.8, 151.5), (600.0, 0.0, 20.0))
    ),
]


def stretch(folder: Path, it: Run) -> sojourn.Jobs:
    """The jobs of a run."""
    return sojourn.read_swf(folder / "swf" / f"{it.log}.swf.gz")[it.first : it.first + it.jobs]


def both(jobs: sojourn.Jobs, it: Run) -> tuple[np.ndarray, np.ndarray]:
    """Starts and ends by the engine, and by the oracle."""
    count, cores = LOGS[it.log]
    off = SleepState("off", ASLEEP, 6.125, ENTER, it.boot, LEAVE)
    server = Server("node", cores, 1000.0 * cores, (IDLE, BUSY), states=PowerStates((off,)))
    watts = it.cap * count * BUSY
    options: dict[str, Any] = {"cap": watts} if it.cap else {}
    options |= {"estimates": "user", "sleep": f"idle:{it.idle}"}
    run, prepared = prepare(jobs, Cluster.of([server] * count), it.policy, **options)
    finish(run, prepared)
    view = run.jobs
    columns = (view.submit, view.work, view.procs, view.plan)
    asked = [
        Request(exact(submit), exact(work), int(procs), exact(plan), exact(plan))
        for submit, work, procs, plan in zip(*(x.tolist() for x in columns), strict=True)
    ]
    depth = Depth(
        exact(6.125),
        exact(it.boot),
        watts=exact(ASLEEP),
        enter_watts=exact(ENTER),
        leave_watts=exact(LEAVE),
    )
    case = Case(
        tuple(asked),
        (Node(cores, 1, tuple(map(exact, server.watts))),) * count,
        discipline=Scheduling(backfill=RULES[it.policy]),
        sleep=Sleep((depth,) * count, exact(it.idle)),
        caps=(Cap(((-math.inf, exact(watts)),)),) if it.cap else (),
    )
    outcome = simulate_exactly(case)
    times = [math.nan if x is None else float(x) for x in outcome.start + outcome.end]
    return np.concatenate([run.start, run.end]), np.array(times)


def test_the_reservation_of_the_head_moves_as_others_take_nodes_that_are_up():
    columns = zip(*CROWD, strict=True)
    jobs = sojourn.Jobs(dict(zip(("submit", "runtime", "procs", "estimate"), columns, strict=True)))
    engine, oracle = both(jobs, Run("KTH-SP2-1996-2", 0, 0, cap=0.8))
    assert np.array_equal(engine, oracle)


@pytest.mark.parametrize("it", QUICK, ids=lambda it: " ".join(map(str, it)))
def test_engine_equals_oracle(data_dir, it):
    engine, oracle = both(stretch(data_dir, it), it)
    assert np.array_equal(engine, oracle)


@pytest.mark.nightly
@pytest.mark.parametrize("it", LONG, ids=lambda it: " ".join(map(str, it)))
def test_engine_equals_oracle_for_longer(data_dir, it):
    engine, oracle = both(stretch(data_dir, it), it)
    assert np.array_equal(engine, oracle)
