"""One node that sleeps, in the engine, against the exact theory: 24 parameter sets, 99 % intervals.

Boots and idle times of the engine are constant, which the theory of one server can do. Several
servers it knows with exponential setup times alone: these need boots drawn from a distribution.
"""

from __future__ import annotations

import numpy as np
from oracle.sleep_walk import Sleep, Walked, share_inside

import sojourn
from sojourn.cluster import PowerStates, Server, SleepState

from .test_sleep_two import exact_single

SETS = [
    Sleep(rate, setup=setup, delay=delay, shutdown=shutdown, constant=True)
    for rate in (0.1, 0.3, 0.5, 0.7)
    for setup, shutdown in ((0.5, 0.0), (3.0, 1.0), (8.0, 4.0))
    for delay in (0.5, 4.0)
]
JOBS, SKIPPED = 4000, 400


def by_engine(system: Sleep, seed: int) -> Walked:
    """One run; the states of the node are those of its whole time."""
    draw = np.random.default_rng(seed)
    submit = np.cumsum(draw.exponential(1 / system.rate, JOBS))
    runtime = draw.exponential(1.0, JOBS)
    going = {"enter": system.shutdown, "enter_watts": 100.0} if system.shutdown else {}
    depth = SleepState("off", 10.0, **going, leave=system.setup, leave_watts=125.0)
    server = Server("one", 1, ops=1e9, watts=(95.0, 200.0), states=PowerStates((depth,)))
    machine = sojourn.Cluster.of([server], reference_ops=1e9)
    jobs = sojourn.Jobs({"submit": submit, "runtime": runtime, "procs": np.ones(JOBS, dtype=int)})
    result = sojourn.simulate(jobs, machine, "fcfs", sleep=f"idle:{system.delay}", clean=())
    summary, energy = result.summary, result.summary["energy"]
    lasted, states = summary["makespan"], summary["sleep"]
    return Walked(
        float(result.jobs["wait"].to_numpy()[SKIPPED:].mean()),
        energy["busy_joules"] / 200.0 / lasted,
        energy["idle_joules"] / 95.0 / lasted,
        states["leaving_node_seconds"] / lasted,
        states["sleep_node_seconds"] / lasted,
        states["entering_node_seconds"] / lasted,
    )


def test_the_engine_agrees():
    assert len(SETS) == 24
    assert share_inside(SETS, exact_single, by_engine) >= 0.97


def test_another_theory_would_be_seen():
    """Exponential setup times and delays of the same means are not what the engine has."""
    others = [system for system in SETS if system.setup > 1][::3]

    def exponential(system: Sleep) -> tuple[float, float]:
        return exact_single(system._replace(constant=False))

    assert share_inside(others, exponential, by_engine) < 0.6
