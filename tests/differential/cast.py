"""Every discipline and every control, each as the engine and as the oracle call it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from oracle import Job, controls, longest_remaining, ordered, orders, preempt, shortest_remaining
from oracle.strategies import Thresholds

import sojourn
from sojourn.policy import Policy, parse_policy

from .harness import Pair, Speed


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
        Pair(
            "easy@expansion",
            parse_policy("fcfs+easy@expansion"),
            ordered(orders.fcfs, "easy", 1, orders.expansion),
            min_plan=1,
        ),
        Pair("conservative", parse_policy("conservative"), ordered(orders.fcfs, "conservative")),
        Pair("sjf+easy", parse_policy("sjf+easy"), ordered(orders.sjf, "easy")),
        Pair(
            "sjf+conservative",
            parse_policy("sjf+conservative"),
            ordered(orders.sjf, "conservative"),
        ),
        Pair("saf", parse_policy("saf"), ordered(orders.saf)),
        Pair("laf+first-fit", parse_policy("laf+first-fit"), ordered(orders.laf, "first-fit")),
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


def switching(
    count_two: Thresholds, count_three: Thresholds, two: Thresholds, three: Thresholds
) -> Sequence[Speed]:
    """Every control that changes the rate; `two` and `three` are workload thresholds."""
    return (
        Speed(
            "randomized",
            sojourn.randomized(0.75, 1.25, 0.4, 0.6),
            controls.randomized(0.75, 1.25, 0.4, 0.6),
        ),
        Speed("count of 2", sojourn.count_hysteresis(*count_two), controls.count(*count_two)),
        Speed("count of 3", sojourn.count_hysteresis(*count_three), controls.count(*count_three)),
        Speed("workload of 2", _workload(two), controls.workload(*two)),
        Speed("workload of 3", _workload(three), controls.workload(*three)),
        Speed("threshold", sojourn.threshold(two.rates, _numbers(two.low)), _threshold(two)),
        Speed(
            "workload at events",
            _workload(three, timer=False),
            controls.workload(*three, timer=False),
        ),
    )


def _numbers(values: Sequence[Any]) -> list[float]:
    return [float(value) for value in values]


def _workload(k: Thresholds, timer: bool = True) -> sojourn.Control:
    return sojourn.workload_hysteresis(
        _numbers(k.rates), _numbers(k.low), _numbers(k.high), timer=timer
    )


def _threshold(k: Thresholds) -> controls.Control:
    return controls.threshold(k.rates[0], k.rates[1], k.low[0])
