"""Named nodes: speed of each placement, cost against the number of nodes, the bill, memory.

    python bench/placements.py [quick]

What is asked for is asked of RICC's log on all SPECpower servers. That machine is fourteen times
the one that the log comes from, and hardly any job waits on it; so each placement is also
measured where jobs do wait.
"""

from __future__ import annotations

import math
import sys
import time

import numpy as np
from measure import DATA, console, fresh, kernel_time, note, rows

import sojourn
from sojourn.cluster import Cluster
from sojourn.measures.energy import bill_nodes
from sojourn.policy.placement import PLACEMENTS
from sojourn.run.outcome.energy import allocation
from sojourn.run.simulate import prepare

RICC = DATA / "swf" / "RICC-2010-2.swf.gz"
SERVERS = DATA / "specpower" / "ssj2008-1092.csv"
SIZES = (100, 1_000, 10_000)
# Allowed above the ratio of logarithms, for the noise of a shared machine.
LEEWAY = 1.3


def measure(quick: bool) -> None:
    """Everything about named nodes."""
    if not (RICC.exists() and SERVERS.exists()):
        console.print("\n[bold]Named nodes[/]: left out, no data")
        return
    cluster = sojourn.read_specpower(SERVERS)
    jobs = sojourn.read_swf(RICC)
    if quick:
        jobs = jobs[: len(jobs) // 10]
    each_placement(jobs, cluster, quick)
    where_jobs_wait(jobs, cluster, quick)
    bill(jobs, cluster)
    if not quick:
        memory()
    growth(cluster, quick)


def each_placement(jobs, cluster: Cluster, quick: bool) -> None:
    console.print(
        f"\n[bold]Placements[/]: RICC, EASY, {len(jobs):,} jobs, all SPECpower servers: "
        f"{len(cluster.nodes):,} nodes, {cluster.procs:,} cores"
    )
    for name in PLACEMENTS:
        for estimates in ("exact", "user"):
            taken, run = kernel_time(
                jobs, cluster, repeat=1 if quick else 3, estimates=estimates, placement=name
            )
            check(run, cluster)
            speed = len(run.end) / taken
            wanted = 100_000 if name == "first-fit" else 20_000
            note(
                f"{name}, {estimates} estimates ({told(run, cluster)})",
                f"{speed:,.0f} jobs/s",
                f">= {wanted:,} jobs/s",
                speed >= wanted,
            )


def where_jobs_wait(jobs, cluster: Cluster, quick: bool) -> None:
    """Every 14th server: a machine of the size that the log comes from."""
    few = cluster.with_nodes(cluster.nodes[::14])
    some = jobs[: 10_000 if quick else 50_000]
    console.print(
        f"\n[bold]Placements where jobs wait[/]: RICC, EASY, exact estimates, {len(some):,} jobs, "
        f"every 14th server: {len(few.nodes):,} nodes, {few.procs:,} cores"
    )
    for name in PLACEMENTS:
        taken, run = kernel_time(some, few, repeat=1, estimates="exact", placement=name)
        check(run, few)
        note(f"{name} ({told(run, few)})", f"{len(run.end) / taken:,.0f} jobs/s")


def growth(cluster: Cluster, quick: bool) -> None:
    """Cost per allocated node: a hundred servers, repeated; the same jobs, coming faster."""
    hundred = cluster.select("cores <= 16 and published >= 2009-01").nodes[::7][:100]
    wanted = LEEWAY * math.log(SIZES[-1]) / math.log(SIZES[0])
    for load in (0.5, 1.1):
        console.print(
            f"\n[bold]Cost per allocated node[/] at 100, 1,000, 10,000 nodes: EASY, load {load}, "
            "jobs that come to a busy machine"
        )
        # What the same jobs cost without nodes: the rest is due to those.
        plain = []
        for size in SIZES:
            procs = repeated(hundred, size // len(hundred)).procs
            stream = arrivals(10_000 if quick else 100_000, procs, load)
            taken, _ = kernel_time(stream, procs, clock=time.process_time, estimates="exact")
            plain.append(f"{taken / len(stream) * 1e9:,.0f}")
        note("counted processors, per job", ", ".join(plain) + " ns")
        for name in PLACEMENTS:
            # Reservations of neighbours look at all nodes: a hundredth takes long enough.
            count = 1_000 if name == "contiguous" and load > 1 else 100_000
            count = count // 10 if quick else count
            costs, shares = [], []
            for size in SIZES:
                machine = repeated(hundred, size // len(hundred))
                stream = arrivals(count, machine.procs, load)
                # Time of this process: others would show up in the ratios.
                taken, run = kernel_time(
                    stream,
                    machine,
                    repeat=1 if quick else 3,
                    clock=time.process_time,
                    estimates="exact",
                    placement=name,
                )
                check(run, machine)
                costs.append(taken / len(allocation(run).node))
                shares.append(f"{waited(run, count):.0%}")
            ratio = costs[-1] / costs[0]
            note(
                f"{name}, {count:,} jobs (wait: {', '.join(shares)})",
                ", ".join(f"{cost * 1e9:,.0f}" for cost in costs) + " ns",
                f"{ratio:.2f} <= {wanted:.1f} x",
                None if quick else ratio <= wanted,
            )


def repeated(nodes, times: int) -> Cluster:
    return Cluster.of([node.server for _ in range(times) for node in nodes])


def arrivals(count: int, procs: int, load: float):
    """Jobs that offer `load` to a machine which runs as many from the first second on.

    Widths are Lublin's. Runtimes are exponential: what is left of them is so too, and the machine
    need not first come to its steady state, which would take the longer the larger it is.
    """
    random = np.random.default_rng(1)
    width = sojourn.lublin(count, 256, load=0.8, seed=1).procs
    runtime = random.exponential(3600.0, count)
    gap = float(np.mean(width) * np.mean(runtime)) / (load * procs)
    submit = np.cumsum(random.exponential(gap, count))
    there = np.resize(width, procs)
    there = there[: np.searchsorted(np.cumsum(there), min(load, 1.0) * procs)]
    columns = {
        "submit": (np.zeros(len(there)), submit),
        "runtime": (random.exponential(3600.0, len(there)), runtime),
        "procs": (there, width),
    }
    return sojourn.Jobs({name: np.concatenate(parts) for name, parts in columns.items()})


def bill(jobs, cluster: Cluster) -> None:
    console.print("\n[bold]The bill[/] of RICC, all SPECpower servers")
    for name in ("first-fit", "spread"):
        run, _ = prepare(jobs, cluster, estimates="exact", placement=name)
        began = time.perf_counter()
        run.to_the_end()
        kernel = time.perf_counter() - began
        began = time.perf_counter()
        check(run, cluster)
        taken = time.perf_counter() - began
        rows_of = len(allocation(run).node)
        note(f"{name}: {rows_of:,} allocated nodes", f"{taken:.2f} s = {taken / kernel:.2f} x run")


def memory() -> None:
    console.print("\n[bold]A whole run[/]: reading, cleaning, the kernel, the bill, the summary")
    for name in ("first-fit", "spread"):
        code = f"""
import sojourn
cluster = sojourn.read_specpower({str(SERVERS)!r})
jobs = sojourn.read_swf({str(RICC)!r})
sojourn.simulate(jobs, cluster, "easy", estimates="exact", placement={name!r}).summary
"""
        taken, peak = fresh([sys.executable, "-c", code], 1)
        note(f"RICC, {name}: time and peak memory", f"{taken:.1f} s, {peak:,.0f} MB")


def check(run, cluster: Cluster) -> None:
    """All jobs ended (the run says so itself), no node overfull, and the energy adds up."""
    state, given = run.state, allocation(run)
    assert np.array_equal(np.add.reduceat(given.procs, given.first[:-1]), run.jobs.procs)
    found = bill_nodes(
        state.start,
        state.end,
        given.first,
        given.node,
        given.procs,
        cluster.columns.procs,
        np.array([node.server.watts for node in cluster.nodes]),
        run.jobs.submit[:1],
        np.ones(1),
    )
    spent = found.job_joules.sum() + found.node_idle_joules.sum()
    drawn = np.dot(np.diff(found.step_time), found.step_watts[:-1])
    assert abs(spent - drawn) <= 1e-9 * drawn, (spent, drawn)


def waited(run, last: int = 0) -> float:
    """The share of jobs that do not start at once; of the last so many, or of all."""
    return float(np.mean((run.start > run.jobs.submit)[-last:]))


def told(run, cluster: Cluster) -> str:
    state = run.state
    used = np.dot(state.end - state.start, run.jobs.procs)
    share = used / (cluster.procs * (state.end.max() - run.jobs.submit[0]))
    return f"{share:.0%} busy, {waited(run):.1%} wait"


if __name__ == "__main__":
    measure("quick" in sys.argv[1:])
    sys.exit(any(row["ok"] is False for row in rows))
