"""Queues with their parameters: what the theory says, and one run of the engine for each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.random import Generator

import sojourn
from sojourn import theory
from sojourn.cluster import PowerStates, Server, SleepState

from .replications import (
    JOBS,
    WARM_UP,
    Case,
    Floats,
    Measures,
    present,
    serve,
    stream,
    time_average,
    widths,
    window,
)

WAIT = "mean wait (s)"
FAST = "time at the highest speed"
POWER = "mean power (W)"
NUMBER = "mean number present"
TIME_PER_JOB = "saturated time per job (s)"
BUSY_SATURATED = "busy servers, saturated"
THROUGHPUT = "largest arrival rate (1/s)"

BOOTED = "share of jobs that wake a node"
STATE_WATTS = {"busy": 200.0, "idle": 95.0, "waking": 125.0, "off": 10.0}

BACKLOG = 4_000
"""Jobs at time 0 where a queue must not run empty while others arrive as fast as they go."""


def in_words(values: Sequence[float]) -> str:
    """Return numbers with commas between them."""
    return ", ".join(f"{value:g}" for value in values)


def watts(speeds: Sequence[float]) -> sojourn.RatePower:
    """Busy and idle watts of a server at each speed: the dynamic part grows with its cube."""
    return sojourn.RatePower({speed: (20 + 30 * speed**3, 15 + speed) for speed in speeds})


def open_run(
    rng: Generator,
    arrival_rate: float,
    p: Sequence[float],
    rates: Sequence[float],
    servers: int,
    control: sojourn.Control | None = None,
) -> Measures:
    """Poisson arrivals to an empty system."""
    rows = stream(rng, arrival_rate, np.array(p), np.array(rates), JOBS)
    submit = rows[0]
    speeds = control.rates if control else (1.0,)
    machine = sojourn.Cluster.homogeneous(servers, power=watts(speeds))
    result = serve(rows, machine, rate=control, seed=int(rng.integers(2**62)))
    first, last = window(submit)
    mine = (submit >= first) & (submit < last)
    found = {
        WAIT: float((result.start - submit)[mine].mean()),
        NUMBER: time_average(*present(submit, result.end), first, last),
    }
    if control:
        time, rate = (result.rates[name].to_numpy() for name in ("time", "rate"))
        found[FAST] = time_average(time, rate == speeds[-1], first, last)
        found[POWER] = time_average(*result.power_steps, first, last)
    return found


def many_servers(servers: int, load: float) -> Case:
    """M/M/s."""
    arrival_rate = load * servers

    def solve() -> Measures:
        return {WAIT: theory.multiserver_wait(arrival_rate, 1.0, servers)}

    run = partial(open_run, arrival_rate=arrival_rate, p=[1.0], rates=[1.0], servers=servers)
    return Case("M/M/s", f"s = {servers}, λ = {arrival_rate:g}, μ = 1", solve, run)


def sleeping(servers: int, load: float, setup: float, delay: float) -> Case:
    """Nodes that sleep, each boot of which belongs to a job; boots and idle times are drawn."""
    rate = load * servers
    text = f"c = {servers}, λ = {rate:g}, μ = 1; boot {setup:g} s, off after {delay:g} s"

    def solve() -> Measures:
        system = theory.sleeping_nodes(rate, 1.0, servers, setup=setup, delay=delay)
        return {
            WAIT: system.mean_wait,
            POWER: system.mean_power(**STATE_WATTS),
            BOOTED: system.boot_share,
        }

    run = partial(asleep_run, arrival_rate=rate, servers=servers, setup=setup, delay=delay)
    return Case("nodes that sleep", text, solve, run)


def asleep_run(
    rng: Generator, arrival_rate: float, servers: int, setup: float, delay: float
) -> Measures:
    """Poisson arrivals to nodes that are idle at first."""
    submit, work, _ = stream(rng, arrival_rate, np.ones(1), np.ones(1), JOBS)
    depth = SleepState("off", 10.0, leave=setup, leave_watts=125.0, leave_varies="exponential")
    server = Server("one", 1, ops=1e9, watts=(95.0, 200.0), states=PowerStates((depth,)))
    result = serve(
        np.array([submit, work, np.ones(JOBS)]),
        sojourn.Cluster.of([server] * servers, reference_ops=1e9),
        sleep=f"idle:exp({delay})" if delay else "idle:0",
        seed=int(rng.integers(2**62)),
    )
    first, last = window(submit)
    mine = (submit >= first) & (submit < last)
    table = result.nodes_by_state
    names = {"busy": "busy", "idle": "idle", "waking": "leaving", "off": "sleep"}
    drawn = sum(STATE_WATTS[of] * table[name].to_numpy() for of, name in names.items())
    return {
        WAIT: float((result.start - submit)[mine].mean()),
        POWER: time_average(table["time"].to_numpy(), drawn, first, last),
        BOOTED: result.summary["sleep"]["boots"] / JOBS,
    }


def small(
    arrival_rate: float,
    p: Sequence[float],
    rates: Sequence[float],
    servers: int,
    *,
    speeds: Sequence[float] = (),
    **law: Any,
) -> Case:
    """A small FCFS system; `law` is switch or thresholds where there are speeds."""

    def solve() -> Measures:
        given = {"speeds": speeds, **law} if speeds else {}
        if servers == 2:
            solved = theory.two_server(arrival_rate, p[0], rates, **given)
        else:
            solved = theory.small_system(arrival_rate, p, rates, servers, **given)
        found = {WAIT: solved.mean_wait, NUMBER: solved.mean_number}
        if speeds:
            found[FAST] = solved.speed_shares[speeds[-1]]
            found[POWER] = solved.mean_power(watts(speeds))
        return found

    control, told = None, ""
    if "switch" in law:
        control = sojourn.randomized(*speeds, *law["switch"])
        told = "; speeds {}, down {:g}, up {:g}".format(in_words(speeds), *law["switch"])
    elif "thresholds" in law:
        low, high = law["thresholds"]
        control = sojourn.count_hysteresis(speeds, low, high)
        told = f"; speeds {in_words(speeds)}, k_L = {in_words(low)}, k_H = {in_words(high)}"
    run = partial(
        open_run, arrival_rate=arrival_rate, p=p, rates=rates, servers=servers, control=control
    )
    parameters = (
        f"s = {servers}, λ = {arrival_rate:g}, p = ({in_words(p)}), μ = ({in_words(rates)})"
    )
    model = "two servers" if servers == 2 else "small system"
    return Case(f"{model}, {_control_name(law)}" if law else model, parameters + told, solve, run)


def _control_name(law: dict[str, Any]) -> str:
    return "random switching" if "switch" in law else "count hysteresis"


def saturated_run(
    rng: Generator, p: Floats, draw: Callable[[Generator, Floats], Floats], servers: int
) -> Measures:
    """All jobs are there at time 0; `draw` gives the service times of jobs of given widths."""
    width = widths(rng, p, JOBS)
    result = serve(np.array([np.zeros(JOBS), draw(rng, width), width]), servers)
    first, last = result.start[[int(WARM_UP * JOBS), -1]]
    counted = np.count_nonzero((result.start > first) & (result.start <= last))
    return {
        TIME_PER_JOB: float((last - first) / counted),
        BUSY_SATURATED: time_average(*present(result.start, result.end, width), first, last),
    }


def exponential(rates: Sequence[float] | float) -> Callable[[Generator, Floats], Floats]:
    """Service times whose rate depends on the width."""
    by_width = np.atleast_1d(np.array(rates, dtype=float))

    def draw(rng: Generator, width: Floats) -> Floats:
        return rng.exponential(1.0, len(width)) / by_width[np.minimum(width, len(by_width)) - 1]

    return draw


def saturated(name: str, p: Sequence[float], servers: int | None = None) -> Case:
    """Equal rates: time per job is C E[S]."""
    shares = np.array(p) / np.sum(p)
    count = servers or len(shares)

    def solve() -> Measures:
        padded = np.pad(shares, (0, count - len(shares)))
        return {TIME_PER_JOB: theory.stability_constant(padded)}

    run = partial(saturated_run, p=shares, draw=exponential(1.0), servers=count)
    return Case("stability constant", f"s = {count}, {name}, μ = 1", solve, run)


def saturated_classes(p: Sequence[float], rates: Sequence[float], servers: int) -> Case:
    """Rates by width: the chain of the saturated system."""

    def solve() -> Measures:
        solved = theory.saturated_system(p, rates, servers)
        return {TIME_PER_JOB: 1 / solved.throughput, BUSY_SATURATED: solved.busy}

    run = partial(saturated_run, p=np.array(p), draw=exponential(rates), servers=servers)
    parameters = f"s = {servers}, p = ({in_words(p)}), μ = ({in_words(rates)})"
    return Case("saturated, rates by class", parameters, solve, run)


def scaled(
    p: Sequence[float],
    rates: Sequence[float],
    speeds: tuple[float, float],
    switch: tuple[float, float],
) -> Case:
    """Random switching: jobs arrive at the rate found, beside a backlog, and leave at it too."""
    servers = len(p)

    @cache
    def largest() -> float:
        return theory.max_throughput(p, rates, speeds=speeds, switch=switch)

    def run(rng: Generator) -> Measures:
        rows = stream(rng, largest(), np.array(p), np.array(rates), JOBS)
        rows[0, :BACKLOG] = 0.0
        rows[0, BACKLOG:] -= rows[0, BACKLOG]
        control = sojourn.randomized(*speeds, *switch)
        result = serve(rows, servers, rate=control, seed=int(rng.integers(2**62)))
        begin, end = rows[0, BACKLOG + int(WARM_UP * JOBS)], rows[0, -1]
        assert (result.start > rows[0])[BACKLOG:].all(), "the backlog ran out"
        counted = np.count_nonzero((result.start > begin) & (result.start <= end))
        return {THROUGHPUT: counted / (end - begin)}

    parameters = (
        f"s = {servers}, p = ({in_words(p)}), μ = ({in_words(rates)}), speeds {in_words(speeds)}, "
        f"down {switch[0]:g}, up {switch[1]:g}"
    )
    return Case("random speed scaling", parameters, lambda: {THROUGHPUT: largest()}, run)
