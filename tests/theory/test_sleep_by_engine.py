"""Nodes that sleep, in the engine, against the exact theory: 99 % intervals.

One node with constant boots and idle times, which the theory of one server can do, at 24 parameter
sets. Several nodes with exponential ones, which the engine draws, are among `cases`.
"""

from __future__ import annotations

import numpy as np
from oracle.sleep_walk import Sleep, Walked, share_inside

import sojourn
from sojourn.cluster import PowerStates, Server, SleepState

from .test_sleep_two import exact_several, exact_single

SETS = [
    Sleep(rate, setup=setup, delay=delay, shutdown=shutdown, constant=True)
    for rate in (0.1, 0.3, 0.5, 0.7)
    for setup, shutdown in ((0.5, 0.0), (3.0, 1.0), (8.0, 4.0))
    for delay in (0.5, 4.0)
]
JOBS, SKIPPED = 4000, 400


def by_engine(system: Sleep, seed: int) -> Walked:
    """One run; the states of the nodes are those of its whole time."""
    summary, wait = run_of(system, seed)
    lasted, states, energy = summary["makespan"], summary["sleep"], summary["energy"]
    return Walked(
        wait,
        energy["busy_joules"] / 200.0 / lasted,
        energy["idle_joules"] / 95.0 / lasted,
        states["leaving_node_seconds"] / lasted,
        states["sleep_node_seconds"] / lasted,
        states["entering_node_seconds"] / lasted,
    )


def run_of(system: Sleep, seed: int) -> tuple[dict, float]:
    """Summary of a run, and the mean wait (s) after the first jobs."""
    draw = np.random.default_rng(seed)
    submit = np.cumsum(draw.exponential(1 / system.rate, JOBS))
    runtime = draw.exponential(1.0, JOBS)
    going = {"enter": system.shutdown, "enter_watts": 100.0} if system.shutdown else {}
    law = "" if system.constant else "exponential"
    depth = SleepState(
        "off", 10.0, **going, leave=system.setup, leave_watts=125.0, leave_varies=law
    )
    server = Server("one", 1, ops=1e9, watts=(95.0, 200.0), states=PowerStates((depth,)))
    machine = sojourn.Cluster.of([server] * system.servers, reference_ops=1e9)
    jobs = sojourn.Jobs({"submit": submit, "runtime": runtime, "procs": np.ones(JOBS, dtype=int)})
    idle = f"{system.delay}" if system.constant or not system.delay else f"exp({system.delay})"
    result = sojourn.simulate(
        jobs, machine, "fcfs", sleep=f"idle:{idle}", clean=(), seed=seed % 2**31
    )
    return result.summary, float(result.jobs["wait"].to_numpy()[SKIPPED:].mean())


def test_the_engine_agrees():
    assert len(SETS) == 24
    assert share_inside(SETS, exact_single, by_engine) >= 0.97


def test_another_theory_would_be_seen():
    """Exponential setup times and delays of the same means are not what the engine has."""
    others = [system for system in SETS if system.setup > 1][::3]

    def exponential(system: Sleep) -> tuple[float, float]:
        return exact_single(system._replace(constant=False))

    assert share_inside(others, exponential, by_engine) < 0.6


def test_boots_that_belong_to_nobody_would_be_seen():
    """Where a job may take whichever server is up first, it waits less."""
    systems = [Sleep(c * load, c, setup=5.0) for c in (2, 5, 10) for load in (0.3, 0.6)]
    assert share_inside(systems, exact_several, by_engine) < 0.6
