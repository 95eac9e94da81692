"""Runs of the engine that are measured: streams of jobs, machines and policies, by name.

    python bench/cases.py         answers names on standard input, one JSON line each

As a process of its own it can be started with the sources of another version before ours, so that
two versions take turns on one machine (`bench/engine.py --against`). So nothing here may need more
than both versions have; a version that cannot run a case says why.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from measure import DATA, prepare

import sojourn
from sojourn.cluster import Cluster, Server

RICC = DATA / "swf" / "RICC-2010-2.swf.gz"
PROCS, RICC_PROCS, CORES = 256, 8192, 16
GB = 1024 * 1024  # KB
DEPTHS = (10, 100, 1_000, 10_000, 100_000)
DEEP = {"easy": 5, "fcfs+easy:4": 5, "wfp3+easy": 5, "conservative": 5}
"""Policies, and how many of the depths an instant is measured at."""
SIZES = (100, 1_000, 10_000)


class Case(NamedTuple):
    """What is run: jobs and a machine, made when they are asked for."""

    jobs: Callable[[], Any]
    machine: Callable[[], Any]
    policy: str = "easy"
    estimates: str = "exact"
    steps: int = 0
    """If not 0: the cost of an instant is measured, after the first one, for so many steps; if -1,
    that of the first one alone."""


@cache
def lublin(count: int, procs: int = PROCS) -> Any:
    """A stream of the Lublin-Feitelson model with load 0.8."""
    return sojourn.lublin(count, procs, load=0.8, seed=1)


@cache
def ricc(count: int | None = None) -> Any:
    """The first jobs of RICC's log, or all."""
    return sojourn.read_swf(RICC) if count is None else ricc()[:count]


@cache
def nodes(count: int, *, three: bool = False) -> Cluster:
    """Nodes of 16 cores with equal speed; with three resources, 64 GB and 4 GPUs each."""
    more = {"resources": {"gpu": 4}} if three else {}
    server = Server("node", CORES, 1000.0, (100.0, 300.0), memory=64.0, **more)
    return Cluster.of([server] * count)


def steady(count: int, procs: int, load: float = 0.8) -> Any:
    """Jobs that offer `load` to a machine which runs as many from the first second on.

    Widths are Lublin's for 256 processors. Runtimes are exponential: what is left of them is so
    too, and the machine need not first come to its steady state.
    """
    random = np.random.default_rng(1)
    width = lublin(count).procs
    runtime = np.ceil(random.exponential(3600.0, count))
    gap = float(np.mean(width) * np.mean(runtime)) / (load * procs)
    submit = np.cumsum(random.exponential(gap, count))
    there = np.resize(width, procs)
    there = there[: np.searchsorted(np.cumsum(there), min(load, 1.0) * procs)]
    columns = {
        "submit": (np.zeros(len(there)), np.ceil(submit)),
        "runtime": (np.ceil(random.exponential(3600.0, len(there))), runtime),
        "procs": (there, width),
    }
    return sojourn.Jobs({name: np.concatenate(parts) for name, parts in columns.items()})


def with_resources(jobs: Any) -> Any:
    """Jobs that also ask for memory, and one in ten for GPUs.

    On average 2 of the 4 GB that a node has for each core; some ask for more than their share.
    """
    random = np.random.default_rng(2)
    memory = random.choice([0.5, 1.0, 2.0, 4.0, 6.0], len(jobs), p=[0.3, 0.25, 0.25, 0.15, 0.05])
    gpus = random.integers(1, 5, len(jobs)) * (random.random(len(jobs)) < 0.1)
    columns = {name: jobs[name] for name in ("submit", "runtime", "procs")}
    return sojourn.Jobs({**columns, "memory": memory * GB, "gpus": gpus.astype(np.int64)})


@cache
def deep(depth: int, count: int = 20_000) -> Any:
    """A queue of `depth` jobs from the first second on, and then as many as can be served."""
    jobs = lublin(depth + count)
    random = np.random.default_rng(3)
    runtime = np.ceil(random.exponential(3600.0, depth + count))
    work = runtime * jobs.procs
    submit = np.zeros(depth + count)
    # Whatever has been served is replaced, at the use that backfilling reaches.
    submit[depth:] = np.ceil(np.cumsum(work[depth:]) / (0.9 * PROCS))
    estimate = runtime * random.choice([1.0, 1.5, 2.0, 5.0], depth + count)
    return sojourn.Jobs(
        {"submit": submit, "runtime": runtime, "procs": jobs.procs, "estimate": estimate}
    )


def cases(quick: bool) -> dict[str, Case]:
    """All cases by name; with a tenth of the jobs if `quick`."""
    part = 10 if quick else 1
    million, some, few = 1_000_000 // part, 200_000 // part, 100_000 // part
    found = {
        "counted": Case(lambda: lublin(million), lambda: PROCS),
        "named 16": Case(lambda: lublin(some), lambda: nodes(16)),
        "named 1000": Case(lambda: lublin(few, 1000 * CORES), lambda: nodes(1000)),
        "three": Case(
            lambda: with_resources(lublin(few, 1000 * CORES)), lambda: nodes(1000, three=True)
        ),
    }
    count = few // 2
    for size in SIZES:
        found[f"nodes {size}"] = Case(
            lambda size=size: steady(count, size * CORES, 1.1), lambda size=size: nodes(size)
        )
        found[f"three {size}"] = Case(
            lambda size=size: with_resources(steady(count, size * CORES)),
            lambda size=size: nodes(size, three=True),
        )
    for policy, depths in DEEP.items():
        for depth in DEPTHS[:depths]:
            found[f"depth {depth} {policy}"] = Case(
                lambda depth=depth: deep(depth),
                lambda: PROCS,
                policy,
                "user",
                max(20_000, 50 * depth),
            )
    found["burst"] = Case(lambda: deep(few, 0), lambda: PROCS, "conservative", "user", -1)
    if RICC.exists():
        first = 100_000 // part
        for policy in ("conservative", "sjf+conservative", "fcfs+easy:4", "wfp3+easy"):
            found[f"ricc {policy}"] = Case(lambda: ricc(first), lambda: RICC_PROCS, policy, "user")
        found["ricc named"] = Case(lambda: ricc(first), lambda: nodes(512), "easy", "user")
        found["ricc all"] = Case(
            lambda: ricc(None if not quick else first), lambda: RICC_PROCS, "conservative", "user"
        )
    return found


def run_once(case: Case, jobs: Any, machine: Any) -> dict[str, Any]:
    """Run a case: jobs, seconds of this thread in the kernel, and a digest of the schedule.

    If a number of steps is given: instants instead of jobs, and the seconds of the first one.
    """
    run, _ = prepare(jobs, machine, case.policy, estimates=case.estimates)
    began = time.thread_time()
    if case.steps:
        run.advance(1)
        first, instants = time.thread_time() - began, int(run.s.instants)
        began = time.thread_time()
        if case.steps > 0:
            run.advance(case.steps)
        taken = time.thread_time() - began
        return {"jobs": int(run.s.instants) - instants, "seconds": taken, "first": first}
    run.to_the_end()
    taken = time.thread_time() - began
    start = np.ascontiguousarray(run.start if hasattr(run, "start") else run.state.start)
    return {
        "jobs": len(start),
        "seconds": taken,
        "waited": float(np.mean(start > run.jobs.submit)),
        "digest": hashlib.sha256(start.tobytes()).hexdigest(),
    }


def answer(quick: bool) -> None:
    """Read names of cases, run each once, and write what was measured."""
    known, held = cases(quick), ("", None, None)
    for line in sys.stdin:
        name = line.strip()
        try:
            if held[0] != name:
                held = (name, known[name].jobs(), known[name].machine())
                run_once(known[name], held[1][:100], held[2])
            found = run_once(known[name], *held[1:])
        except Exception as error:
            found = {"problem": f"{type(error).__name__}: {error}"}
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    answer("quick" in sys.argv[1:])
