"""Folders of runs, comparisons and studies to report on."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sojourn
from sojourn.jobs import Jobs, write_swf
from sojourn.run.folder import provenance, write_run

EVIL = "</script><script>alert('x')</script><img src=x onerror=alert(1)>\"'&{{ 7 * 7 }}"


def made_jobs(count: int, procs: int, load: float = 0.8, seed: int = 5, users: int = 12) -> Jobs:
    """Whole seconds, widths of powers of two, users of different appetite."""
    rng = np.random.default_rng(seed)
    width = 2 ** rng.integers(0, int(np.log2(procs)), count)
    runtime = np.ceil(rng.lognormal(6.0, 1.4, count))
    submit = np.cumsum(rng.exponential(1.0, count))
    submit = np.floor(submit * (width * runtime).sum() / procs / load / submit[-1])
    return Jobs(
        {
            "submit": submit,
            "runtime": runtime,
            "procs": width,
            "estimate": np.ceil(runtime * rng.uniform(1.0, 3.0, count)),
            "user": np.minimum(rng.geometric(0.3, count), users),
        },
        header=[f"; MaxProcs: {procs}", "; UnixStartTime: 1000000000"],
    )


def write_simulated(folder: Path, jobs: Jobs, machine: object, policy: str, **more: object) -> Path:
    """Write a run as the command does, its log beside it; counted processors draw 41 and 18 W."""
    import hashlib

    log = folder.parent / f"{folder.name}.swf"
    log.parent.mkdir(parents=True, exist_ok=True)
    write_swf(jobs, log)
    if isinstance(machine, int):
        machine = sojourn.Cluster.homogeneous(machine, power=sojourn.ConstantPower(41, 18))
    result = sojourn.simulate(jobs, machine, policy, record=True, clean=(), **more)
    origin = provenance("simulate", {"policy": policy, "log": str(log)}, 0)
    digest = hashlib.sha256(log.read_bytes()).hexdigest()
    origin["input"] = {"path": str(log), "sha256": digest, "jobs": len(jobs)}
    write_run(result, folder, origin=origin)
    return folder


@pytest.fixture(scope="session")
def run_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run") / "easy"
    return write_simulated(folder, made_jobs(3000, 64), 64, "easy")


@pytest.fixture(scope="session")
def comparison_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("comparison") / "compare"
    jobs = made_jobs(2500, 64)
    for policy in ("fcfs", "easy", "conservative"):
        write_simulated(folder / policy, jobs, 64, policy)
    for log in folder.glob("*.swf"):
        log.rename(folder.parent / log.name)
    folders = {"folders": ["fcfs", "easy", "conservative"]}
    (folder / "compare.json").write_text(json.dumps(folders))
    return folder


def study_rows(
    thresholds: tuple[float, ...] = (0.0, 1e5, 2e5, 3e5),
    orders: tuple[str, ...] = ("fcfs", "sjf"),
    replications: int = 6,
) -> dict[str, list[object]]:
    """Runs of a made-up study in which waits rise, and energy falls, with the threshold."""
    rng = np.random.default_rng(1)
    luck = rng.normal(0.0, 1.0, replications)
    rows: dict[str, list[object]] = {}

    def put(**cells: object) -> None:
        for name, value in cells.items():
            rows.setdefault(name, []).append(value)

    for k in thresholds:
        for order in orders:
            for r in range(replications):
                wait = (3600 + k / 100) * (0.7 if order == "sjf" else 1.0) * (1 + 0.05 * luck[r])
                noise = 1 + 0.002 * rng.normal()
                put(
                    **{"run_id": f"{k:g}-{order}-{r}", "control.k": k, "policy.order": order},
                    replication=r,
                    seed=100 + r,
                    wait_mean=wait * noise,
                    bounded_slowdown_mean=2 + wait / 5000,
                    utilisation=0.8,
                    energy_kwh=(9000 - k / 100) * (1 + 0.01 * luck[r]),
                    status="done",
                    error=None,
                )
    return rows


def write_study(folder: Path, rows: dict[str, list[object]], **facts: object) -> Path:
    (folder / "runs").mkdir(parents=True)
    pq.write_table(pa.table(rows), folder / "runs" / "part-0.parquet")
    told = {
        "version": "0.1.0",
        "time": "2026-01-02T03:04:05+00:00",
        "command": "sweep",
        "seed": 7,
        "replications": 6,
        "keys": ["control.k", "policy.order"],
        "scenario": "ab" * 32,
        "inputs": {"input": {"path": "kth.swf", "sha256": "cd" * 32}},
        **facts,
    }
    (folder / "study.json").write_text(json.dumps(told))
    scenario = 'title = "Thresholds"\n[policy]\norder = "fcfs"\nbackfill = "easy"\n'
    (folder / "scenario.toml").write_text(scenario)
    return folder


@pytest.fixture(scope="session")
def study_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rows = study_rows()
    rows["status"][5], rows["error"][5] = "failed", f"job 7: {EVIL}"
    return write_study(tmp_path_factory.mktemp("study") / "study", rows)
