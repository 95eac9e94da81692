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
from sacct_month import COLUMNS, ZONE, Month

from sojourn.errors import InputError
from sojourn.jobs import RULES, Jobs, clean, read_log, read_swf

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


def sacct_log(rng: random.Random) -> tuple[bytes, dict[str, object]]:
    """Return a few days of a cluster, with or without names, and options for its reader."""
    text = Month(seed=rng.randrange(50), jobs=12, days=3.0).text()
    options: dict[str, object] = {}
    if rng.random() < 0.3:
        names = list(COLUMNS)
        if rng.random() < 0.6:
            # One name too many or too few, or at a wrong place.
            rng.choice([
                lambda: names.insert(rng.randrange(len(names)), rng.choice(["Comment", "Extra"])),
                lambda: names.append("SubmitLine"),
                lambda: names.pop(rng.randrange(len(names))),
                lambda: rng.shuffle(names),
            ])()  # fmt: skip
        text = text.partition("\n")[2]
        options["columns"] = names
    if rng.random() < 0.2:
        text = text.replace("|", ";")
        options["delimiter"] = rng.choice([";", ";", "|", ","])
    return text.encode(), options


def jobcomp_log(rng: random.Random) -> tuple[bytes, dict[str, object]]:
    lines = []
    for job in range(1, rng.randint(2, 9)):
        hour = rng.randrange(10)
        lines.append(
            f"JobId={job} UserId=ann(1005) GroupId=users(100) Name=a b JobState=COMPLETED "
            f"Partition=batch TimeLimit=30 StartTime=2024-10-27T0{hour}:10:00 "
            f"EndTime=2024-10-27T0{hour}:30:00 NodeList=n[1-2] NodeCnt=2 ProcCnt=24 WorkDir=/ "
            "ReservationName= Gres=gpu:a100:2 Account=phys QOS=normal WcKey= Cluster=c "
            f"SubmitTime=2024-10-27T0{hour}:00:00 EligibleTime=2024-10-27T0{hour}:05:00 "
        )
    return "\n".join(lines).encode(), {}


def pbs_log(rng: random.Random) -> tuple[bytes, dict[str, object]]:
    lines = []
    for job in range(1, rng.randint(2, 9)):
        begin = 1709294400 + 60 * job
        name = rng.choice([f"{job}.srv", f"{job}[3].srv"])
        asked = (
            f"user=ann account=phys queue=batch ctime={begin} qtime={begin} etime={begin + 9} "
            f"start={begin + 30} exec_host=n1/0*4 Resource_List.select=2:ncpus=4:ngpus=1 "
            "Resource_List.walltime=01:00:00"
        )
        lines += [
            f"03/01/2024 21:{job:02d}:00;Q;{name};queue=batch",
            f"03/01/2024 21:{job:02d}:30;S;{name};{asked}",
            f"03/01/2024 22:{job:02d}:30;{rng.choice('ERD')};{name};{asked} end={begin + 3630} "
            "Exit_status=0 resources_used.walltime=01:00:00",
        ]
    return "\n".join(lines).encode(), {}


ACCOUNTING = {"sacct": sacct_log, "jobcomp": jobcomp_log, "pbs": pbs_log}
_WORDS = [b"Unknown", b"None", b"INVALID", b"UNLIMITED", b"Partition_Limit", b"RESIZING", b"4000Mc",
          b"CANCELLED by 123", b"gres/gpu:a100=", b"node=x", b"12_[3-9%2]", b"12_[", b"n[1-",
          b"|||", b"2024-10-27T02:30:00", b"2024-03-31T02:30:00", b"9999-99-99T99:99:99",
          b"1-00:00:00", b"gpu:" + b"9" * 5000, b"0001-01-01T00:00:00", b"-1", b"[]",
          b"9" * 17, b"inf"]  # fmt: skip


def replace_field(data: bytearray, rng: random.Random) -> None:
    mark = rng.choice([b"|", b" ", b";", b"="])
    words = bytes(data).split(mark)
    words[rng.randrange(len(words))] = rng.choice(_WORDS)
    data[:] = mark.join(words)


def run_accounting(path: Path, format: str, rng: random.Random) -> str:
    """Write damaged accounting, and read it with options by chance; return how far it came."""
    text, options = ACCOUNTING[format](rng)
    data = bytearray(text)
    for _ in range(rng.choice([0, 1, 2, 5, 20])):
        if data:
            rng.choice([*MUTATIONS, replace_field, replace_field, replace_field])(data, rng)
    path.write_bytes(bytes(data))
    options |= rng.choice([{}, {"timezone": ZONE}, {"wait_from": "eligible"}])
    try:
        jobs = read_log(path, format=format, strict=rng.random() < 0.1, **options)
        assert len(set(jobs.job.tolist())) == len(jobs)
        assert len(set(jobs.label.tolist())) == len(jobs)
        for stage in STAGES:
            jobs = stage(jobs, rng)
    except InputError as error:
        message = str(error)
        assert message
        assert message.isprintable()
        return type(error).__name__
    return "Jobs"


@pytest.mark.parametrize("format", ACCOUNTING)
@pytest.mark.parametrize("count", [300, pytest.param(30_000, marks=pytest.mark.nightly)])
def test_damaged_accounting(tmp_path, format: str, count: int) -> None:
    ends: Counter[str] = Counter()
    slowest = 0.0
    for seed in range(count):
        began = time.process_time()
        try:
            ends[run_accounting(tmp_path / "damaged.log", format, random.Random(seed))] += 1
        except Exception as error:
            raise AssertionError(f"seed {seed}: {type(error).__name__}: {error}") from error
        slowest = max(slowest, time.process_time() - began)
    assert ends["Jobs"] > count // 4
    assert ends["LogError"] > count // 50
    # Each of these files is read in milliseconds.
    assert slowest < 5


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
