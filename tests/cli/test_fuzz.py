"""Damaged logs through the whole command: a complete result, or one line and nothing."""

from __future__ import annotations

import random
import shutil
from collections import Counter
from pathlib import Path

import pytest

from .conftest import Run, swf_line

TOKENS = [
    "-1",
    "0",
    "-5",
    "1e308",
    "-1e308",
    "9999999999999999999999999",
    "nan",
    "inf",
    "x",
    "1.5",
    "9223372036854775807",
    "1e-320",
    "1e15",
    "4294967296",
    "16",
    "17",
]
POLICIES = [
    "fcfs",
    "easy",
    "conservative",
    "sjf+easy",
    "lcfs-pr",
    "spf",
    "lpf",
    "first-fit",
    "easy-sjbf",
    "wfp3+easy",
    "unicef",
    "expansion+conservative",
    "fcfs+easy:3",
    "fcfs+easy:inf",
    "saf+conservative",
    "largest+first-fit",
]
RATES = ("1", "2", "workload:1,2:1e3:1e4", "count:1,2:2:5", "random:1,2:.5,.5", "threshold:1,3:1e3")
FILES = {"jobs.parquet", "trajectory.parquet", "summary.json"}


def damaged_log(rng: random.Random) -> bytes:
    now, lines = 0, []
    for job in range(1, rng.randint(2, 30)):
        now += rng.choice([0, 0, 1, 7, 100])
        runtime, procs = rng.choice([1, 2, 60, 600.5]), rng.choice([1, 1, 2, 3, 8, 16])
        estimate = rng.choice([runtime, 2 * runtime, runtime / 2, -1])
        lines.append(swf_line(job, now, runtime, procs, estimate).split())
    for _ in range(rng.choice([0, 1, 2, 10])):
        line = rng.choice(lines)
        if line and rng.random() < 0.9:
            line[rng.randrange(len(line))] = rng.choice(TOKENS)
        elif line:
            line.pop()
    data = bytearray("\n".join(["; MaxProcs: 16", *map(" ".join, lines), ""]).encode())
    if rng.random() < 0.2:
        for _ in range(rng.randint(1, 10)):
            data[rng.randrange(len(data))] = rng.randrange(256)
    if rng.random() < 0.05:
        del data[rng.randrange(len(data)) :]
    return bytes(data)


def options(rng: random.Random) -> list[str]:
    chosen = ["--policy", rng.choice(POLICIES), "--rate", rng.choice(RATES)]
    chosen += ["--estimates", rng.choice(["user", "exact", "2"])]
    for option in (
        ["--keep-zero"],
        ["--strict"],
        ["--rules", "none"],
        ["--over-limit", "run"],
        ["--passes", "event"],
        ["--procs", rng.choice(["1", "5", "100000"])],
    ):
        if rng.random() < 0.15:
            chosen += option
    return chosen


def fuzz(run: Run, folder: Path, seeds: range) -> None:
    codes: Counter[int] = Counter()
    for seed in seeds:
        rng = random.Random(seed)
        log, out = folder / "log.swf", folder / "run"
        log.write_bytes(damaged_log(rng))
        told = run("simulate", log, *options(rng), "--out", out)
        codes[told.code] += 1
        if told.code == 0:
            assert told.err == "", seed
            assert {path.name for path in out.iterdir()} == FILES, seed
            shutil.rmtree(out)
        else:
            assert told.code == 2, (seed, told.err)
            assert told.err.startswith("sojourn: error: "), seed
            assert told.err.count("\n") == 1, seed
            assert told.out == "", seed
            assert not out.exists(), seed
    assert min(codes[0], codes[2]) > len(seeds) // 20


def test_damaged_logs(run: Run, tmp_path: Path) -> None:
    fuzz(run, tmp_path, range(150))


@pytest.mark.nightly
def test_many_damaged_logs(run: Run, tmp_path: Path) -> None:
    fuzz(run, tmp_path, range(1_000_000, 1_100_000))
