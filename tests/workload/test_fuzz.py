"""Damaged logs: every one gives jobs or a one-line error that names what to do.

`STAGES` is what a log goes through; append a stage to carry the surviving jobs further.
"""

from __future__ import annotations

import gzip
import lzma
import random
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from sojourn.errors import InputError
from sojourn.workload import RULES, Jobs, clean, read_swf

Stage = Callable[[Jobs, random.Random], Jobs]


def clean_by_chance(jobs: Jobs, rng: random.Random) -> Jobs:
    if rng.random() < 0.5:
        return clean(jobs, strict=rng.random() < 0.2)
    rules = rng.sample(list(RULES), rng.randint(0, len(RULES)))
    return clean(jobs, rules=rules, procs=rng.choice([1, 100]))


def look_at(jobs: Jobs, rng: random.Random) -> Jobs:
    assert all(np.isfinite(jobs[name]).all() for name in jobs.names)
    assert len({jobs[name].size for name in jobs.names}) == 1
    assert jobs.report.kept == len(jobs)
    assert jobs.max_procs >= min(0, jobs.procs.max(initial=0))
    str(jobs.report)
    return jobs


STAGES: list[Stage] = [look_at, clean_by_chance, look_at]


def good_log(rng: random.Random) -> bytes:
    lines = ["; Version: 2.2", "; MaxProcs: 100", ";"]
    now = 0.0
    for job in range(1, rng.randint(2, 12)):
        now += rng.choice([0, 1, 60, rng.random() * 100])
        runtime = rng.choice([-1, 0, 1, 3600, rng.random() * 1000])
        procs = rng.choice([-1, 0, 1, 4, 100])
        fields = [job, now, -1, runtime, procs, -1, -1, procs, rng.choice([-1, 60, 7200])]
        lines.append(" ".join(map(str, [*fields, -1, 1, 1, 1, -1, -1, -1, -1, -1])))
    return ("\n".join(lines) + "\n").encode()


SPLINTERS = [
    b"\0",
    b"\n",
    b"\r",
    b";",
    b" ",
    b"-",
    b".",
    b"e",
    b"e999 ",
    b"nan ",
    b"-inf ",
    b"9" * 25,
    b" " + b"9" * 5000 + b" ",
    b" 9223372036854775807 ",
    b" -9223372036854775808 ",
    b" 1e18 ",
    b" 1e308 ",
    b" 1e-320 ",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    "٣".encode(),
    b"\x1f\x8b",
    b" 1" * 30,
]


def flip(data: bytearray, rng: random.Random) -> None:
    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def overwrite(data: bytearray, rng: random.Random) -> None:
    data[rng.randrange(len(data))] = rng.randrange(256)


def insert(data: bytearray, rng: random.Random) -> None:
    place = rng.randrange(len(data) + 1)
    data[place:place] = rng.choice(SPLINTERS)


def delete(data: bytearray, rng: random.Random) -> None:
    place = rng.randrange(len(data))
    del data[place : place + rng.choice([1, 2, 10, 100])]


def cut(data: bytearray, rng: random.Random) -> None:
    del data[rng.randrange(len(data) + 1) :]


def repeat_line(data: bytearray, rng: random.Random) -> None:
    lines = bytes(data).split(b"\n")
    lines.insert(rng.randrange(len(lines)), rng.choice(lines))
    data[:] = b"\n".join(lines)


def swap_number(data: bytearray, rng: random.Random) -> None:
    words = bytes(data).split(b" ")
    words[rng.randrange(len(words))] = rng.choice(SPLINTERS).strip()
    data[:] = b" ".join(words)


MUTATIONS = [flip, overwrite, insert, delete, cut, repeat_line, swap_number]


def damaged_log(rng: random.Random) -> bytes:
    data = bytearray(good_log(rng))
    for _ in range(rng.choice([0, 1, 1, 2, 5])):
        if data:
            rng.choice(MUTATIONS)(data, rng)
    wrap = rng.random()
    if wrap < 0.15:
        packed = bytearray((gzip.compress if wrap < 0.1 else lzma.compress)(bytes(data)))
        if rng.random() < 0.7:
            rng.choice([flip, cut, delete])(packed, rng)
        return bytes(packed)
    return bytes(data)


def run_one(path: Path, rng: random.Random) -> str:
    """Write one damaged log and carry it through all stages; return how far it came."""
    path.write_bytes(damaged_log(rng))
    try:
        jobs = read_swf(path, strict=rng.random() < 0.2, width=rng.choice(["requested", "max"]))
        for stage in STAGES:
            jobs = stage(jobs, rng)
    except InputError as error:
        message = str(error)
        assert message
        assert message.isprintable()
        return type(error).__name__
    return "Jobs"


@pytest.mark.parametrize("count", [2_000, pytest.param(100_000, marks=pytest.mark.nightly)])
def test_damaged_logs(tmp_path, count: int) -> None:
    ends: Counter[str] = Counter()
    slowest = 0.0
    for seed in range(count):
        began = time.perf_counter()
        try:
            ends[run_one(tmp_path / "damaged.swf", random.Random(seed))] += 1
        except Exception as error:
            raise AssertionError(f"seed {seed}: {type(error).__name__}: {error}") from error
        slowest = max(slowest, time.perf_counter() - began)
    # Both outcomes must be common, or the fuzzer tests nothing.
    assert ends["Jobs"] > count // 4
    assert ends["LogError"] > count // 20
    assert ends["JobError"] > 0
    assert slowest < 20
