"""Theory: the stability constant, the recursion for delays, infinitely many servers.

    python bench/theory.py [quick]

Times of the R package hpcwld 0.7 were measured elsewhere and stand here as numbers. Beside them,
in the same run: its method, an enumeration of partitions, compiled; and a plain recursion.
"""

from __future__ import annotations

import math
import sys
import time
from fractions import Fraction

import numpy as np
from measure import console, note, rows

import sojourn
from sojourn import theory
from sojourn.theory.stability import constant

MILLION = 1_000_000
ENUMERATION_60 = 645.0
"""Seconds that hpcwld's enumeration takes for s = 60."""
CONVOLUTION_1000 = 8.7
"""Seconds that hpcwld's convolution takes for s = 1,000."""
RECURSION_SPEED = 1270
"""Jobs per second of hpcwld's recursion on 1,000 servers."""


def measure(quick: bool) -> None:
    """Everything about theory."""
    constants(quick)
    recursion(quick)
    infinitely_many()


def best(function, *arguments, repeat: int = 3, **options):
    """Best time of a call after a first one, and what it returns."""
    found = function(*arguments, **options)
    times = []
    for _ in range(repeat):
        began = time.perf_counter()
        found = function(*arguments, **options)
        times.append(time.perf_counter() - began)
    return min(times), found


def constants(quick: bool) -> None:
    console.print("\n[bold]Stability constant[/], exact; widths equally likely unless told")
    exact = exact_uniform(60)
    taken, found = best(theory.stability_constant, uniform(60))
    off = abs(found / float(exact) - 1)
    note("s = 60 against exact fractions", f"off by {off:.1e}", "<= 1e-14", off <= 1e-14)
    note("s = 60: series, against hpcwld's enumeration", f"{ENUMERATION_60 / taken:,.0f} x")
    for servers in (40, 50, 60) if quick else (40, 50, 60, 70, 80):
        taken, listed = best(theory.stability_constant, uniform(servers), "partitions", repeat=1)
        series = theory.stability_constant(uniform(servers))
        assert abs(listed / series - 1) <= 1e-13, (servers, listed, series)
        told = f", hpcwld {ENUMERATION_60:.0f} s" if servers == 60 else ""
        note(f"  s = {servers}: enumeration, compiled{told}", f"{taken:.3f} s")
    for servers in (100, 1_000, 10_000, MILLION):
        taken, found = best(theory.stability_constant, uniform(servers), repeat=1)
        # The limit of uniform widths is e - 2, from above.
        assert 0 < found - (math.e - 2) < 0.5 / servers, (servers, found)
        told = f", hpcwld {CONVOLUTION_1000} s" if servers == 1_000 else ""
        wanted = ("<= 0.5 s", taken <= 0.5) if servers == 10_000 else ()
        note(f"s = {servers:,}, all widths: series{told}", f"{taken:.4f} s", *wanted)
    few = hundred_widths()
    taken, found = best(theory.stability_constant, few)
    # Widths drawn again: an estimate has to cover it.
    drawn = theory.estimate_stability_constant(few, 20_000, seed=1, confidence=0.9999)
    assert found in drawn, (found, drawn)
    note("s = 1,000,000, 100 widths: series", f"{taken:.2f} s", "<= 1 s", taken <= 1)
    narrow = np.full(100, 0.01)
    taken, found = best(constant, narrow, MILLION)
    assert abs(found * MILLION / 50.5 - 1) < 1e-4, found
    note("s = 1,000,000, widths 1 to 100: series", f"{taken:.2f} s", "<= 1 s", taken <= 1)
    taken, curve = best(theory.stability_constants, narrow, 100_000)
    assert abs(curve[-1] / constant(narrow, 100_000) - 1) <= 1e-12
    note("  every s from 100 to 100,000 at once", f"{taken:.2f} s")
    demands, shares = [[1, 0], [8, 1], [16, 2], [64, 4], [3, 3]], [0.4, 0.3, 0.1, 0.1, 0.1]
    taken, _ = best(theory.multiresource_constant, demands, shares, [10_000, 1_000])
    note("10,000 cores and 1,000 GPUs, 5 classes", f"{taken:.2f} s")


def recursion(quick: bool) -> None:
    n = 100_000 if quick else MILLION
    console.print(
        f"\n[bold]Kiefer-Wolfowitz recursion[/], {n:,} jobs, FCFS load 0.9; "
        f"hpcwld: {RECURSION_SPEED:,} jobs/s on 1,000 servers"
    )
    for kind in ("narrow", "mixed", "wide"):
        for servers in (10, 100, 1_000, 10_000):
            stream = customers(n, servers, kind)
            check(stream, servers)
            taken, _ = best(theory.kiefer_wolfowitz, *stream, servers, repeat=1)
            speed = n / taken
            goal = 100 * RECURSION_SPEED
            wanted = (f">= {goal:,} jobs/s", speed >= goal) if servers == 1_000 else ()
            note(f"{kind} jobs on {servers:,} servers", f"{speed:,.0f} jobs/s", *wanted)
    gaps, service, width = (column[:2_000] for column in customers(n, 1_000, "mixed"))
    began = time.perf_counter()
    printed = plain(gaps, service, width, 1_000)
    note(
        "  mixed, 1,000 servers: a plain loop",
        f"{2_000 / (time.perf_counter() - began):,.0f} jobs/s",
    )
    assert printed == theory.kiefer_wolfowitz(gaps, service, width, 1_000).tolist()


def infinitely_many() -> None:
    console.print(
        "\n[bold]Infinitely many servers[/], 100,000 busy on average, p_n to 1e-12 of mass"
    )
    for name, width, mean in (
        ("all of width 8", 8, 8.0),
        ("widths 1 to 1,000", np.full(1_000, 1e-3), 500.5),
        ("widths by the geometric law of mean 10", theory.geometric(0.9), 10.0),
    ):
        # Half of the time until a server is free is cut off by the limit.
        taken, (model, p) = best(busy_servers, 200_000 / mean, width, repeat=1)
        n = np.arange(len(p))
        average = float(np.dot(n, p))
        variance = float(np.dot((n - average) ** 2, p))
        assert p.min() >= 0
        assert abs(1 - math.fsum(p)) <= 1e-12, math.fsum(p)
        assert abs(average / 100_000 - 1) <= 1e-9, average
        assert abs(variance / model.var - 1) <= 1e-7, (variance, model.var)
        note(f"{name}: all {len(p):,} of them", f"{taken:.2f} s", "<= 2 s", taken <= 2)


def busy_servers(rate: float, width):
    model = theory.infinite_servers(rate, 1.0, 1.0, width)
    return model, model.distribution


def uniform(servers: int) -> np.ndarray:
    return np.full(servers, 1 / servers)


def exact_uniform(servers: int) -> Fraction:
    """E[1/K] in fractions: sums of i widths that do not exceed s are binomial coefficients."""
    reached = [Fraction(math.comb(servers, i), servers**i) for i in range(servers + 1)] + [
        Fraction(0)
    ]
    return sum((reached[i] - reached[i + 1]) / i for i in range(1, servers + 1))


def hundred_widths() -> np.ndarray:
    random = np.random.default_rng(1)
    p = np.zeros(MILLION)
    p[random.choice(MILLION // 10, 100, replace=False)] = random.random(100)
    return p / p.sum()


def customers(n: int, servers: int, kind: str):
    """Interarrivals and service in whole seconds, and widths; exactly 0.9 of what FCFS can take."""
    random = np.random.default_rng(1)
    if kind == "narrow":
        widths = np.array([1])
    elif kind == "wide":
        widths = np.arange(1, servers + 1)
    else:
        widths = 2 ** np.arange(int(math.log2(servers)))
    p = np.zeros(servers)
    p[widths - 1] = 1 / len(widths)
    gap = theory.stability_constant(p) * 1e6 / 0.9
    gaps = np.rint(random.exponential(gap, n))
    service = np.rint(random.exponential(1e6, n))
    return gaps, service, random.choice(widths, n)


def check(stream, servers: int) -> None:
    """The delays are the waits of the engine's FCFS."""
    gaps, service, width = (column[:5_000] for column in stream)
    submit = np.append(0.0, np.cumsum(gaps[:-1]))
    jobs = sojourn.Jobs({"submit": submit, "runtime": service, "procs": width})
    run = sojourn.simulate(jobs, servers, "fcfs", estimates="exact", clean=())
    delays = theory.kiefer_wolfowitz(gaps, service, width, servers)
    assert np.array_equal(delays, run.jobs["wait"].to_numpy())


def plain(gaps, service, width, servers: int) -> list[float]:
    """The recursion as printed: one sorted vector per job."""
    vector = np.zeros(servers)
    delays = []
    for gap, work, need in zip(gaps, service, width, strict=True):
        delays.append(vector[need - 1])
        vector[:need] = vector[need - 1] + work
        vector = np.sort(np.maximum(vector - gap, 0.0))
    return delays


if __name__ == "__main__":
    measure("quick" in sys.argv[1:])
    sys.exit(any(row["ok"] is False for row in rows))
