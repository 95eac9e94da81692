"""Draw the pictures of the documentation from generated jobs: ``python docs/images/make.py``."""

from __future__ import annotations

import contextlib
import re
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import sojourn
from sojourn.cli import main as command
from sojourn.report import (
    cluster,
    compare,
    energy_by_cause,
    failure_costs,
    node_gantt,
    save,
    workload,
)

HERE = Path(__file__).parent
DOTS_PER_INCH = 100


def main() -> None:
    jobs = sojourn.lublin(2000, 128, load=0.7, seed=1, estimates="tsafrir")
    policies = ("fcfs", "easy", "sjf+easy")
    runs = {policy: sojourn.simulate(jobs, 128, policy, record=True) for policy in policies}
    title = "2,000 generated jobs on 128 processors, EASY backfilling"
    save(runs["easy"].plot(title), HERE / "overview.png", dpi=DOTS_PER_INCH)
    tables = {policy: run.jobs for policy, run in runs.items()}
    save(compare(tables), HERE / "compare.png", dpi=DOTS_PER_INCH)
    control = sojourn.workload_hysteresis((0.8, 1.0), 1e5, 3e5)
    run = sojourn.simulate(jobs, 128, "easy", rate=control, record=True)
    week = run.trajectory[run.trajectory["time"].between(5 * 86400, 12 * 86400)]
    save(workload(week, (1e5, 3e5)), HERE / "workload.png", dpi=DOTS_PER_INCH)
    draw_cap(jobs)
    draw_cluster(jobs)
    draw_decisions()
    draw_by_command(jobs, "stability")
    draw_by_command(jobs, "plan", "--growth=1.3", "--target-wait=p95=4h", "--step=16")
    limited = cut_at_limits(sojourn.lublin(5000, 128, load=0.7, seed=2))
    draw_by_command(limited, "limits", "--target=0.95")
    draw_by_command(limited, "fit")
    draw_streams()
    draw_clean_hours()
    draw_failures(jobs)
    draw_sleep()
    draw_domains(jobs)


def draw_cap(jobs: sojourn.Jobs) -> None:
    """Draw the evenings of the guide "Under a power cap", for a few days."""
    machine = sojourn.Cluster.homogeneous(128, power=sojourn.ConstantPower(40, 10))
    hours = [(0, 4.5e3)]
    hours += [
        (24 * day + hour, watts) for day in range(30) for hour, watts in ((18, 3e3), (22, 4.5e3))
    ]
    cap = sojourn.Cap(tuple(w for _, w in hours), tuple(3600.0 * h for h, _ in hours))
    # Jobs that may take longer than from one evening to the next would wait for ever.
    some = jobs[(jobs.procs <= 64) & (jobs.submit < 5 * 86400) & (jobs.estimate < 12 * 3600)]
    run = sojourn.simulate(some, machine, "easy", cap=cap)
    save(run.plot.power(), HERE / "cap.png", dpi=DOTS_PER_INCH)


@sojourn.score
def narrow_to_eco(nodes, n, jobs, j, now, theta):
    return nodes.watts[n] if jobs.procs[j] <= 8 else nodes.slowness[n]


def draw_failures(jobs: sojourn.Jobs) -> None:
    """Draw what the guide "Failures and maintenance" prints."""
    rows = {}
    for every in ("none", "5 min", "20 min", "1 h", "5 h", "daly"):
        rule = {} if every == "none" else {"checkpoint": {"every": every, "dump": 30}}
        costs = [
            sojourn.simulate(
                jobs, 128, "easy", failures="mtbf=5d,repair=4h,procs=8", node_failure="requeue",
                seed=seed, **rule,
            ).summary["failures"]
            for seed in range(10)
        ]  # fmt: skip
        numbers = [key for key, value in costs[0].items() if not isinstance(value, str)]
        rows[every] = {key: float(np.mean([cost[key] for cost in costs])) for key in numbers}
    save(failure_costs(rows), HERE / "failures.png", dpi=DOTS_PER_INCH)


def draw_cluster(jobs: sojourn.Jobs) -> None:
    """Draw what the guide "Your cluster in sojourn" describes."""
    eco = sojourn.Server("eco", cores=16, ops=640_000, watts=(40, 128))
    known = {node.name: node.server for node in sojourn.library().nodes}
    kinds = {"thin": (6, known["X5670"]), "gpu": (4, known["E5-2670"]), "eco": (2, eco)}
    machine = sojourn.Cluster.of(
        sojourn.Node(f"{name}-{i + 1}", server)
        for name, (count, server) in kinds.items()
        for i in range(count)
    )
    save(cluster(machine), HERE / "cluster.png", dpi=DOTS_PER_INCH)
    run = sojourn.simulate(jobs, machine, "easy", placement=narrow_to_eco)
    first = run.jobs[run.jobs["start"] < 4 * 86400]
    schedule = run.allocations[run.allocations["job"].isin(first["job"])]
    save(node_gantt(first, schedule, run.nodes), HERE / "nodes.png", dpi=DOTS_PER_INCH)


def draw_decisions() -> None:
    """Draw the ten jobs of the guide to the log of decisions."""
    fast = sojourn.Server("fast", cores=4, ops=8_000, watts=(60, 140))
    old = sojourn.Server("old", cores=2, ops=2_000, watts=(40, 100))
    machine = sojourn.Cluster.of([fast, old, old], reference_ops=2_000)
    ten = sojourn.Jobs(
        {
            "submit": [0, 0, 10, 15, 20, 25, 30, 125, 145, 150],
            "runtime": [60, 60, 40, 20, 30, 10, 10, 30, 30, 20],
            "procs": [4, 2, 6, 1, 1, 2, 9, 1, 4, 2],
        }
    )
    run = sojourn.simulate(ten, machine, "easy")
    picture = node_gantt(run.jobs, run.allocations, run.nodes, color="job")
    save(picture, HERE / "decisions.png", dpi=DOTS_PER_INCH)


def draw_by_command(jobs: sojourn.Jobs, verb: str, *options: str) -> None:
    """Draw what the guides for planners show, by the commands that they show."""
    with TemporaryDirectory() as folder:
        log = Path(folder) / "log.swf.gz"
        sojourn.write_swf(jobs, log)
        command([verb, str(log), *options, f"--out={folder}"])
        shutil.copy(Path(folder) / f"{verb}.png", HERE)


def draw_streams() -> None:
    """Draw the two streams of the guide to trust, by its own commands and snippets."""
    guide = (HERE.parent / "guides" / "trust.md").read_text(encoding="utf-8")
    make_stream, make_log = re.findall(r"^```python\n(.*?)^```", guide, re.DOTALL | re.MULTILINE)
    names: dict[str, object] = {}
    conf = "--slurm-conf=slurm.conf"
    with TemporaryDirectory() as folder, contextlib.chdir(folder):
        exec(make_stream, names)
        command(["replay", "stream.csv", conf, "--set=bf_interval=300", "--out=real"])
        exec(make_log, names)
        command(["replay", "sacct.txt", conf, "--out=replay"])
        seconds = ["--max=60", "--within=1", "--submit-tolerance=1"]
        command(["adequacy", "sacct.txt", "replay/jobs.csv", *seconds, "--out=verdict"])
        for name in ("streams.png", "differences.png"):
            shutil.copy(Path("verdict") / name, HERE)


def draw_clean_hours() -> None:
    """Draw jobs that are held for clean hours, by the commands and snippets of their guide."""
    guide = (HERE.parent / "guides" / "clean-hours.md").read_text(encoding="utf-8")
    make_grid, _, make_log = re.findall(r"^```python\n(.*?)^```", guide, re.DOTALL | re.MULTILINE)[
        :3
    ]
    run = re.search(r"^\$ sojourn (simulate (?:.*\\\n)*.*)$", guide, re.MULTILINE)
    assert run is not None
    names: dict[str, object] = {}
    with TemporaryDirectory() as folder, contextlib.chdir(folder):
        exec(make_grid, names)
        exec(make_log, names)
        command(run[1].replace("\\\n", " ").split())
        shutil.copy(Path("held") / "clean-hours.png", HERE)


def draw_sleep() -> None:
    """Draw what the guide "Let idle nodes sleep" shows, on its own cluster and log."""
    guide = (HERE.parent / "guides" / "sleep.md").read_text(encoding="utf-8")
    make_cluster = re.findall(r"^```python\n(.*?)^```", guide, re.DOTALL | re.MULTILINE)[0]
    jobs = sojourn.lublin(2000, 128, load=0.5, seed=1, estimates="tsafrir")
    names: dict[str, object] = {}
    with TemporaryDirectory() as folder, contextlib.chdir(folder):
        exec(make_cluster, names)
        machine = sojourn.read_cluster("sleepy.toml")
        sojourn.write_swf(jobs, "log.swf.gz")
        log = sojourn.read_swf("log.swf.gz")
        command(["energy", "log.swf.gz", "--cluster=sleepy.toml", "--out=energy"])
        shutil.copy(Path("energy") / "energy.png", HERE / "sleep-savings.png")
    runs = {
        rule: sojourn.simulate(log, machine, "easy", sleep=rule)
        for rule in ("never", "idle:60", "idle:600", "keep:8:600")
    }
    picture = energy_by_cause({name: run.summary for name, run in runs.items()})
    save(picture, HERE / "energy-by-cause.png", dpi=DOTS_PER_INCH)
    day = log[(log.submit > 30 * 3600) & (log.submit < 46 * 3600)]
    few = sojourn.simulate(day, machine, "easy", sleep="idle:600")
    save(few.plot.node_states(), HERE / "node-states.png", dpi=DOTS_PER_INCH)


def draw_domains(jobs: sojourn.Jobs) -> None:
    """Draw the rates of the domains in the guide "Rate control and energy"."""
    guide = (HERE.parent / "guides" / "rates.md").read_text(encoding="utf-8")
    part = guide[guide.index("## A rate for each domain") : guide.index("## Your own control")]
    names: dict[str, object] = {"sojourn": sojourn, "jobs": jobs}
    for snippet in re.findall(r"^```python\n(.*?)^```", part, re.DOTALL | re.MULTILINE):
        exec(snippet, names)
    run = names["result"]
    assert isinstance(run, sojourn.Result)
    save(run.plot.rates(), HERE / "domain-rates.png", dpi=DOTS_PER_INCH)


def cut_at_limits(jobs: sojourn.Jobs) -> sojourn.Jobs:
    """Kill jobs at the limits that users of the guide to time limits ask for."""
    rng = np.random.default_rng(2)
    offered = np.array([1.0, 4.0, 12.0, 24.0]) * 3600
    guess = jobs.runtime * rng.lognormal(0.5, 1.0, len(jobs))
    limit = offered[np.searchsorted(offered, guess).clip(max=3)]
    status = np.where(jobs.runtime > limit, 5, 1)
    runtime = np.minimum(jobs.runtime, limit)
    return jobs.replace(runtime=runtime, estimate=limit, status=status)


if __name__ == "__main__":
    main()
