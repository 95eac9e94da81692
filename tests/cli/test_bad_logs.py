"""Logs with something wrong: a counted repair, or one line and nothing written."""

from __future__ import annotations

import gzip
import json
import lzma
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from .conftest import Run, swf_line

GOOD = swf_line(1, 0, 10, 2, 10)
OTHER = swf_line(9, 5, 10, 2, 10)
LONG = " ".join([OTHER, *["-1"] * 7])
SHORT = OTHER.rpartition(" ")[0]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b" \n\n", "is empty"),
        (b"; MaxProcs: 4\n", "no job"),
        (bytes(range(256)) * 20, "binary"),
        (gzip.compress((GOOD + "\n").encode() * 500)[:-20], "cut short or damaged"),
        (lzma.compress((GOOD + "\n").encode() * 500)[:-20], "cut short or damaged"),
        (b"\x1f\x8bnot really", "damaged"),
        (SHORT.encode(), "fewer than 18 fields"),
        (LONG.encode(), "more than 18 fields"),
        (b"submit,runtime,procs\n1,2,3\n", "none of 2 lines is a job"),
        (swf_line(1, 0, 0, 1).encode(), "no job is left after cleaning"),
        (swf_line(1, 0, -5, 1).encode(), "no job is left after cleaning"),
        (swf_line(1, 0, 5, 0).encode(), "no job is left after cleaning"),
        (swf_line(1, 0, 5, -1).encode(), "no job is left after cleaning"),
        (swf_line(1, -3, 5, 1).encode(), "no job is left after cleaning"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_logs_that_cannot_be_used(
    refused: Callable[..., str], tmp_path: Path, content: bytes, said: str
) -> None:
    log = tmp_path / "log.swf"
    log.write_bytes(content)
    line = refused("simulate", log, "--procs", 4, "--out", tmp_path / "run")
    assert said in line
    assert str(log) in line
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("bad", "rule", "jobs"),
    [
        (SHORT, "too-few-fields", 1),
        (LONG, "too-many-fields", 1),
        (OTHER.replace("10", "ten", 1), "not-a-number", 1),
        (OTHER.replace("10", "nan", 1), "not-finite", 1),
        (swf_line(9, 5, 0, 2), "zero-runtime", 1),
        (swf_line(9, 5, -1, 2), "no-runtime", 1),
        (swf_line(9, 5, 10, 0), "no-procs", 1),
        (swf_line(9, 5, 10, -1), "no-procs", 1),
        (swf_line(9, -5, 10, 1), "negative-submit", 1),
        (swf_line(9, 5, 10, 2, -1), "missing-estimate", 2),
    ],
)
def test_what_is_repaired_is_counted_and_strict_refuses_it(
    run: Run, refused: Callable[..., str], tmp_path: Path, bad: str, rule: str, jobs: int
) -> None:
    log = tmp_path / "log.swf"
    log.write_text(f"{GOOD}\n{bad}\n")
    told = run("simulate", log, "--procs", 4, "--out", tmp_path / "run")
    assert (told.code, told.err) == (0, "")
    assert f" {rule}: 1 " in told.out
    assert len(pd.read_parquet(tmp_path / "run/jobs.parquet")) == jobs
    line = refused("simulate", log, "--procs", 4, "--strict", "--out", tmp_path / "strict")
    assert "line 2" in line or "job 9" in line
    assert not (tmp_path / "strict").exists()


def test_unsorted_submits_are_sorted(run: Run, write_log, tmp_path: Path) -> None:
    log = write_log((1, 5, 10, 4, 10), (2, 0, 3, 4, 3))
    told = run("simulate", log, "--out", tmp_path / "run")
    assert " unsorted-submits: 1 job" in told.out
    jobs = pd.read_parquet(tmp_path / "run/jobs.parquet")
    assert jobs[["job", "start"]].to_numpy().tolist() == [[2, 0], [1, 5]]


def test_windows_line_ends(run: Run, tmp_path: Path) -> None:
    log = tmp_path / "log.swf"
    log.write_bytes(f"; MaxProcs: 4\r\n{GOOD}\r\n{OTHER}\r\n".encode())
    told = json.loads(run("simulate", log, "--strict", "--json").out)
    assert (told["procs"], told["jobs"], told["cleaning"]["findings"]) == (4, 2, [])


def test_a_name_that_is_not_text(run: Run, tmp_path: Path) -> None:
    log = tmp_path / "\udcff.swf"
    log.write_text(GOOD + "\n")
    for verb in (["inspect"], ["simulate"], ["simulate", "--json"]):
        told = run(*verb, log, "--procs", 4)
        assert told.code == 0, told
