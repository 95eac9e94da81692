"""Every discipline and every control, each as the engine and as the oracle call it."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Any

from oracle import (
    Job,
    controls,
    longest_remaining,
    ordered,
    orders,
    preempt,
    shortest_remaining,
)
from oracle.strategies import Thresholds

import sojourn
from sojourn.policy import Policy, parse_policy

from .harness import TICKS, Pair, Speed


@sojourn.score(theta=[0.25])
def aging(jobs: Any, j: int, now: float, theta: Any) -> float:
    """A user's order: short jobs first, but waiting makes a job look shorter."""
    return jobs.estimate[j] - theta[0] * (now - jobs.submit[j])


def aging_exactly(job: Job, index: int, now: Any) -> Any:
    """The same, of rationals."""
    return 4 * job.plan - (now - job.submit)


PAIRS = {
    pair.name: pair
    for pair in (
        Pair("fcfs", parse_policy("fcfs"), ordered(orders.fcfs)),
        Pair("first-fit", parse_policy("first-fit"), ordered(orders.fcfs, "first-fit")),
        Pair("easy", parse_policy("easy"), ordered(orders.fcfs, "easy")),
        Pair("easy:2", parse_policy("fcfs+easy:2"), ordered(orders.fcfs, "easy", 2)),
        Pair("easy:3", parse_policy("fcfs+easy:3"), ordered(orders.fcfs, "easy", 3)),
        Pair("easy:inf", parse_policy("fcfs+easy:inf"), ordered(orders.fcfs, "easy", math.inf)),
        Pair("easy-sjbf", parse_policy("easy-sjbf"), ordered(orders.fcfs, "easy", 1, orders.sjf)),
        Pair(
            "easy:2@sjf",
            parse_policy("fcfs+easy:2@sjf"),
            ordered(orders.fcfs, "easy", 2, orders.sjf),
        ),
        # The candidates come by estimate, and have to be put in order by width and then job.
        Pair(
            "sjf+easy:2@largest",
            parse_policy("sjf+easy:2@largest"),
            ordered(orders.sjf, "easy", 2, orders.largest),
        ),
        Pair(
            "easy@expansion",
            parse_policy("fcfs+easy@expansion"),
            ordered(orders.fcfs, "easy", 1, orders.expansion),
            min_plan=1,
        ),
        # A promise of length 0 holds nothing, and then who was promised what is a matter of taste.
        Pair(
            "conservative",
            parse_policy("conservative"),
            ordered(orders.fcfs, "conservative"),
            min_plan=1,
        ),
        Pair("sjf+easy", parse_policy("sjf+easy"), ordered(orders.sjf, "easy")),
        Pair(
            "sjf+conservative",
            parse_policy("sjf+conservative"),
            ordered(orders.sjf, "conservative"),
            min_plan=1,
        ),
        Pair("saf", parse_policy("saf"), ordered(orders.saf)),
        Pair("wfp3+easy", parse_policy("wfp3+easy"), ordered(orders.wfp3, "easy"), min_plan=1),
        Pair(
            "expansion+conservative",
            parse_policy("expansion+conservative"),
            ordered(orders.expansion, "conservative"),
            min_plan=1,
        ),
        Pair("unicef", parse_policy("unicef"), ordered(orders.unicef), min_plan=1),
        Pair("aging+easy", Policy(aging, "easy"), ordered(aging_exactly, "easy")),
        Pair("lcfs-pr", parse_policy("lcfs-pr"), preempt(orders.lcfs)),
        Pair("sjf+preempt", parse_policy("sjf+preempt"), preempt(orders.sjf)),
        Pair("lpf", parse_policy("lpf"), longest_remaining()),
        Pair("spf", parse_policy("spf"), shortest_remaining()),
    )
}

CONSTANT = {
    rate: Speed(f"constant {rate}", sojourn.constant(rate), controls.constant(rate))
    for rate in (0.5, 1.0, 2.0)
}


# Powers of two keep the oracle's numbers short; the others make the engine round.
TWO, THREE, AWKWARD = (1, 2), (1, 2, 4), (0.75, 1.25, 2.5)


def switching(rng: random.Random) -> Sequence[Speed]:
    """Every control that changes the rate, with thresholds drawn."""
    coin = (0.75, 1.25, 0.4, 0.6)
    few, many = _counts(TWO, rng), _counts(THREE, rng)
    two, three = _levels(TWO, rng), _levels(AWKWARD, rng)
    return (
        Speed("randomized", sojourn.randomized(*coin), controls.randomized(*coin)),
        Speed("count of 2", sojourn.count_hysteresis(*few), controls.count(*few)),
        Speed("count of 3", sojourn.count_hysteresis(*many), controls.count(*many)),
        Speed("workload of 2", sojourn.workload_hysteresis(*two), controls.workload(*two)),
        Speed("workload of 3", sojourn.workload_hysteresis(*three), controls.workload(*three)),
        Speed(
            "threshold",
            sojourn.threshold(two.rates, two.low),
            controls.threshold(*two.rates, *two.low),
        ),
        Speed(
            "workload at events",
            sojourn.workload_hysteresis(*three, timer=False),
            controls.workload(*three, timer=False),
        ),
    )


def _counts(rates: tuple[float, ...], rng: random.Random) -> Thresholds:
    ks = sorted(rng.randrange(6) for _ in range(2 * len(rates) - 2))
    return Thresholds(rates, tuple(ks[0::2]), tuple(ks[1::2]))


def _levels(rates: tuple[float, ...], rng: random.Random) -> Thresholds:
    """Workload thresholds off the grid of the jittered works and submits, in ticks."""
    ks = sorted(rng.randrange(12 * TICKS) | 1 for _ in range(2 * len(rates) - 2))
    return Thresholds(rates, tuple(ks[0::2]), tuple(ks[1::2]))
