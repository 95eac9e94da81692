"""Tables with dates, durations and names, damaged: jobs, or a one-line error, in little time."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sojourn.errors import InputError
from sojourn.jobs import Jobs, clean, read_csv, read_parquet

SECONDS = 2.0
"""Processor time that a file of a few rows may take."""

DATES = ["2021-03-01 10:00:0{}", "2021-03-01T10:00:0{}.25", "2021-03-01T10:00:0{}+03:00"]
ODD_DATES = ["", "Unknown", "NaT", "0001-01-01", "9999-12-31T23:59:59-23:59", "10:00", "1e9", "{}"]
SPANS = ["1-02:03:0{}", "02:03:0{}", "{}", "{}0 min", "0 days 00:00:0{}", "", "UNLIMITED"]
ODD_SPANS = ["{}:00", "99999999999-00:00:00", "-1", "1e400", "nan", "1e308 d", "0x1{}", "٣"]
SIZES = ["{}G", "4096M", "1.5Gc", "2Gn", "", "0"]
ODD_SIZES = ["{}Z", "1,024M", "-4G", "9" * 400 + "P"]
NAMES = ["anna", "bo", "{}", "", "-1", "ä ö", "a;b", "; User: 1 x", "9" * 30, "\u2028"]
STATES = ["COMPLETED", "FAILED", "CANCELLED by 7", "RUNNING", "1", "", "weird {}"]
COUNTS = ["{}", "3", "3.0", "", "-1"]
ODD_COUNTS = ["1.5", "9" * 25, "1_000", "many"]


def cell(rng: random.Random, good: list[str], odd: list[str], share: float) -> str:
    return rng.choice(odd if rng.random() < share else good).format(rng.randrange(10))


def random_rows(rng: random.Random) -> list[dict[str, str]]:
    share = rng.choice([0, 0, 0, 0.02, 0.3])
    dates = [rng.choice(DATES)] if rng.random() < 0.9 else DATES
    makers: dict[str, Callable[[], str]] = {
        rng.choice(["job_id", "JobID", "job"]): lambda: cell(rng, COUNTS, ODD_COUNTS, share),
        rng.choice(["submit", "Submit Time"]): lambda: cell(rng, dates, ODD_DATES, share),
        rng.choice(["start", "start_time"]): lambda: cell(rng, [*dates, ""], ODD_DATES, share),
        rng.choice(["end", "EndTime"]): lambda: cell(rng, dates, ODD_DATES, share),
        rng.choice(["runtime", "elapsed"]): lambda: cell(rng, SPANS, ODD_SPANS, share),
        rng.choice(["procs", "cores"]): lambda: cell(rng, COUNTS, ODD_COUNTS, share),
        rng.choice(["estimate", "timelimit"]): lambda: cell(rng, SPANS, ODD_SPANS, share),
        rng.choice(["memory", "ReqMem"]): lambda: cell(rng, SIZES, ODD_SIZES, share),
        rng.choice(["user", "UID"]): lambda: cell(rng, NAMES, NAMES, 0),
        rng.choice(["state", "status"]): lambda: cell(rng, STATES, STATES, 0),
        "comment": lambda: cell(rng, NAMES, ODD_SPANS, 0.5),
    }
    if rng.random() < 0.2:
        del makers[rng.choice(list(makers))]
    return [{name: make() for name, make in makers.items()} for _ in range(rng.randint(1, 8))]


def flip(data: bytearray, rng: random.Random) -> None:
    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def cut(data: bytearray, rng: random.Random) -> None:
    del data[rng.randrange(len(data)) :]


def insert(data: bytearray, rng: random.Random) -> None:
    place = rng.randrange(len(data))
    splinters = [b"\0", b"\n", b'"', b",", b";", b"-", b":", b"9" * 5000, b"\xff", b"T", b"."]
    data[place:place] = rng.choice(splinters)


def damaged_csv(path: Path, rng: random.Random) -> None:
    rows = random_rows(rng)
    text = pd.DataFrame(rows).to_csv(index=False, sep=rng.choice(",,,;\t"))
    data = bytearray(text.encode("utf-8", "surrogatepass"))
    for _ in range(rng.choice([0, 0, 1, 2])):
        if data:
            rng.choice([flip, cut, insert])(data, rng)
    path.write_bytes(bytes(data))


TYPES: list[Callable[[random.Random, int], pa.Array]] = [
    lambda rng, n: pa.array([rng.randrange(-1, 9) for _ in range(n)], pa.int64()),
    lambda rng, n: pa.array([rng.choice([None, 1, 2**64 - 1]) for _ in range(n)], pa.uint64()),
    lambda rng, n: pa.array([rng.choice([None, 0.5, 4.0, np.inf]) for _ in range(n)]),
    lambda rng, n: pa.array([rng.choice([None, 1, 2**62]) for _ in range(n)], pa.timestamp("ns")),
    lambda rng, n: pa.array(
        [rng.randrange(10**9, 2 * 10**9) for _ in range(n)],
        pa.timestamp("s", rng.choice([None, "UTC", "Asia/Tokyo"])),
    ),
    lambda rng, n: pa.array(
        [rng.choice([1, -(2**62), 2**62]) for _ in range(n)], pa.timestamp("ms")
    ),
    lambda rng, n: pa.array([rng.choice([None, 60, 2**62]) for _ in range(n)], pa.duration("ms")),
    lambda rng, n: pa.array([rng.choice([None, 18000]) for _ in range(n)], pa.date32()),
    lambda rng, n: pa.array([cell(rng, SPANS, DATES, 0.3) for _ in range(n)]).dictionary_encode(),
    lambda rng, n: pa.array([rng.choice(NAMES) for _ in range(n)], pa.large_string()),
    lambda rng, n: pa.array([rng.choice([True, None]) for _ in range(n)]),
    lambda rng, n: pa.array([[1]] * n),
    lambda rng, n: pa.nulls(n),
    lambda rng, n: pa.array([b"x"] * n),
]


def damaged_parquet(path: Path, rng: random.Random) -> None:
    count = rng.randint(1, 6)
    names = ["submit", "start", "end", "runtime", "procs", "estimate", "user", "memory", "nodes"]
    names += ["job", "status", "interarrival", "account"]
    plain = TYPES[0]
    table = {
        name: (rng.choice(TYPES) if rng.random() < 0.1 else plain)(rng, count)
        for name in names
        if rng.random() < 0.9
    }
    pq.write_table(pa.table(table), path)
    if rng.random() < 0.3:
        data = bytearray(path.read_bytes())
        for _ in range(rng.choice([1, 3])):
            flip(data, rng)
        path.write_bytes(bytes(data))


def look_at(jobs: Jobs) -> None:
    for name in jobs.names:
        assert np.isfinite(jobs[name]).all(), name
        assert jobs[name].flags.writeable
    for column in ("user", "account"):
        assert len(jobs.labels(column)) == len(jobs)
    assert all(line.isprintable() for line in jobs.report.lines())
    clean(jobs)


def run_one(path: Path, rng: random.Random) -> str:
    zone = rng.choice(["UTC", "UTC", "Europe/Berlin"])
    try:
        if path.suffix == ".csv":
            damaged_csv(path, rng)
            look_at(read_csv(path, timezone=zone))
        else:
            damaged_parquet(path, rng)
            look_at(read_parquet(path, timezone=zone))
    except InputError as error:
        message = str(error)
        assert message.isprintable(), message
        assert len(message) < 1000
        return "refused"
    return "read"


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
@pytest.mark.parametrize("count", [300, pytest.param(20_000, marks=pytest.mark.nightly)])
def test_damaged_tables(tmp_path, name: str, count: int) -> None:
    ends: Counter[str] = Counter()
    for seed in range(count):
        began = time.process_time()
        try:
            ends[run_one(tmp_path / name, random.Random(seed))] += 1
        except Exception as error:
            raise AssertionError(f"seed {seed}: {type(error).__name__}: {error}") from error
        assert time.process_time() - began < SECONDS, seed
    # Both outcomes must be common, or the fuzzer tests nothing.
    assert ends["read"] > count // 10
    assert ends["refused"] > count // 10
