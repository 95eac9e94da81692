"""Small random runs through the public door, for the laws they must obey."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
from hypothesis import strategies as st
from oracle.strategies import Workload

import sojourn

POLICIES = (
    "fcfs", "first-fit", "easy", "fcfs+easy:2", "fcfs+easy:inf", "easy-sjbf", "conservative",
    "sjf+easy", "sjf+conservative", "saf", "wfp3+easy", "expansion+conservative", "unicef",
    "lcfs-pr", "sjf+preempt", "lpf", "spf",
)  # fmt: skip
STARTED_ONCE = tuple(p for p in POLICIES if p not in ("lcfs-pr", "sjf+preempt", "lpf", "spf"))
RATES = (0.8, 1.0, 1.7)

policies = st.sampled_from(POLICIES)
seeds = st.integers(0, 2**20)


def jobs_of(drawn: Workload) -> sojourn.Jobs:
    """A log of the drawn jobs; works are runtimes, plans the users' estimates."""
    submit, work, procs, plan = zip(*drawn.jobs, strict=True)
    return sojourn.Jobs({"submit": submit, "runtime": work, "procs": procs, "estimate": plan})


def run(
    drawn: Workload, policy: str, rate: Any = None, power: Any = None, **options: Any
) -> sojourn.Result:
    """Simulate all jobs as drawn; nothing is cleaned away."""
    cluster = sojourn.Cluster.homogeneous(drawn.servers, power=power)
    settled = {"clean": (), "record": True, "over_limit": "run", **options}
    return sojourn.simulate(jobs_of(drawn), cluster, policy, rate=rate, **settled)


def any_control(seed: int) -> sojourn.Control:
    """A rate control over the three rates, or two of them, or one."""
    rng = random.Random(seed)
    few = sorted(rng.sample(range(8), 4))
    return rng.choice(
        (
            sojourn.constant(rng.choice(RATES)),
            sojourn.randomized(*RATES[1:], rng.random(), rng.random()),
            sojourn.count_hysteresis(RATES, few[0::2], few[1::2]),
            sojourn.workload_hysteresis(RATES, few[0::2], few[1::2]),
            sojourn.threshold(RATES[:2], [few[1]]),
        )
    )


def any_power(seed: int) -> sojourn.RatePower:
    """Watts that have nothing to do with each other."""
    rng = random.Random(seed)
    return sojourn.RatePower({r: (rng.uniform(0, 99), rng.uniform(0, 99)) for r in RATES})


def integral(result: sojourn.Result, start: float, stop: float, speed: dict[float, float]) -> float:
    """Integral over [start, stop) of a function of the rate, by adding up the trajectory."""
    rows = result.trajectory
    begin, rates = rows["time"].to_numpy(), rows["rate"].to_numpy()
    until = np.append(begin[1:], begin[-1])
    lapse = np.minimum(until, stop) - np.maximum(begin, start)
    return float(np.sum(np.maximum(lapse, 0) * [speed[r] for r in rates]))
