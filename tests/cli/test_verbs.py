"""The other verbs: compare, inspect, generate, convert, demo."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import sojourn

from .conftest import Run

Refused = Callable[..., str]


def test_compare_prints_one_table(run: Run, small: Path, tmp_path: Path) -> None:
    told = run("compare", small, "--policies", "fcfs,easy", "--csv", tmp_path / "table.csv")
    assert (told.code, told.err) == (0, "")
    lines = {line.split()[0]: line for line in told.out.splitlines() if line.strip()}
    # Waits 0, 9, 13 under FCFS; 0, 9, 0 under EASY.
    assert "7.333" in lines["fcfs"]
    assert "3*" in lines["easy"]
    assert "-59.1 %" in lines["easy"]
    rows = list(csv.DictReader((tmp_path / "table.csv").read_text().splitlines()))
    assert [row["policy"] for row in rows] == ["fcfs", "easy"]
    assert float(rows[1]["wait_mean"]) == 3.0


def test_compare_as_json_equals_single_runs(run: Run, small: Path) -> None:
    policies = "fcfs,easy,conservative,sjf+easy,lcfs-pr,spf"
    told = json.loads(run("compare", small, "--policies", policies, "--json").out)
    assert [row["policy"] for row in told["rows"]] == policies.split(",")
    for row in told["rows"]:
        alone = json.loads(run("simulate", small, "--policy", row["policy"], "--json").out)
        assert row["wait_mean"] == alone["wait"]["mean"]
        assert row["wait_p95"] == alone["wait"]["p95"]
        assert row["utilisation"] == alone["utilisation"]
        assert row["energy_kwh"] == alone["energy"]["total_kwh"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--policies", ""], "--policies"),
        (["--policies", "fcfs,esay"], "easy"),
        (["--csv", "/dev/null/table.csv"], "/dev/null"),
    ],
)
def test_compare_refuses(refused: Refused, small: Path, options: list[str], said: str) -> None:
    assert said in refused("compare", small, *options)


def test_inspect_knows_the_log(run: Run, write_log) -> None:
    header = "; Computer: toy\n; MaxProcs: 4\n; UnixStartTime: 7200\n"
    log = write_log((1, 0, 10, 2, 20), (2, 3600, 30, 4, 30), (3, 7200, 0, 1, 5), header=header)
    told = json.loads(run("inspect", log, "--json").out)
    assert (told["jobs"], told["procs"], told["span"]) == (3, 4, 7200.0)
    assert (told["cleaning"]["read"], told["cleaning"]["kept"]) == (3, 2)
    assert told["load"] == (2 * 10 + 4 * 30) / (4 * 7200)
    assert told["distributions"]["runtime"]["mean"] == 40 / 3
    assert told["distributions"]["procs"]["max"] == 4.0
    assert told["estimates"]["accuracy"]["median"] == 0.5
    assert told["header"]["Computer"] == "toy"
    assert [hour for hour, n in enumerate(told["submits_by_hour"]["counts"]) if n] == [2, 3, 4]
    assert told["submits_by_hour"]["clock"] == "clock of the log"
    assert told["cleaning"]["findings"][0]["rule"] == "zero-runtime"
    assert told["power_of_two_share"] == 1.0
    wide = json.loads(run("inspect", log, "--procs", 3, "--json").out)
    assert wide["wider_than_machine"] == 1
    text = run("inspect", log).out
    assert "toy" in text
    assert "zero-runtime: 1 job" in text


def test_inspect_a_real_log(run: Run, data_dir: Path) -> None:
    log = data_dir / "swf" / "KTH-SP2-1996-2.swf.gz"
    told = json.loads(run("inspect", log, "--json").out)
    assert (told["jobs"], told["procs"], told["cleaning"]["kept"]) == (28_489, 100, 28_481)
    # The log's own jobs need more than the machine has, at one time.
    assert (told["occupancy"]["peak"], told["occupancy"]["overlap"]) == (104, True)
    assert told["estimates"]["over_limit"] == 475
    assert told["estimates"]["accuracy"]["max"] == pytest.approx(65.75)
    assert told["submits_by_hour"]["clock"] == "Europe/Stockholm"
    by_hour = told["submits_by_hour"]["counts"]
    assert sum(by_hour[9:18]) > 4 * sum(by_hour[0:9])


@pytest.mark.parametrize("suffix", ["swf", "swf.gz", "csv", "parquet"])
def test_generate_lublin(run: Run, tmp_path: Path, suffix: str) -> None:
    log = tmp_path / f"log.{suffix}"
    command = ["generate", "lublin", "--jobs", 300, "--procs", 64, "--load", 0.7, "--seed", 3]
    assert run(*command, "--out", log).code == 0
    jobs = sojourn.read_log(log)
    expected = sojourn.lublin(300, 64, load=0.7, seed=3)
    assert jobs.submit.tolist() == expected.submit.tolist()
    assert jobs.procs.tolist() == expected.procs.tolist()
    told = json.loads(run("inspect", log, "--procs", 64, "--json").out)
    assert told["load"] == pytest.approx(0.7, rel=1e-3)


def test_generate_lublin_is_reproducible(run: Run, tmp_path: Path) -> None:
    options = ["--jobs", 50, "--estimates", "tsafrir", "--type", "both"]
    for name in ("a.swf.gz", "b.swf.gz"):
        run("generate", "lublin", *options, "--seed", 3, "--out", tmp_path / name)
    run("generate", "lublin", *options, "--seed", 4, "--out", tmp_path / "c.swf.gz")
    a, b, c = ((tmp_path / f"{name}.swf.gz").read_bytes() for name in "abc")
    assert a == b
    assert a != c
    jobs = sojourn.read_swf(tmp_path / "a.swf.gz")
    assert (jobs.estimate >= jobs.runtime).all()
    assert (jobs.estimate > jobs.runtime).any()


def test_generate_poisson(run: Run, tmp_path: Path) -> None:
    log = tmp_path / "log.swf"
    command = ["generate", "poisson", "--jobs", 20_000, "--procs", 4, "--out", log, "--seed", 1]
    assert (
        run(*command, "--load", 0.5, "--work", "erlang:100:4", "--width", "1=0.5,2=0.5").code == 0
    )
    jobs = sojourn.read_swf(log)
    gaps = np.diff(jobs.submit)
    # E[work] E[width] / (procs load) = 100 * 1.5 / 2.
    assert gaps.mean() == pytest.approx(75, rel=0.03)
    assert gaps.std() == pytest.approx(75, rel=0.05)
    assert jobs.runtime.std() == pytest.approx(50, rel=0.05)
    assert set(jobs.procs.tolist()) == {1, 2}
    told = run(*command, "--interarrival", "deterministic:7", "--width", "uniform:2-3")
    assert told.code == 0
    jobs = sojourn.read_swf(log)
    assert set(np.diff(jobs.submit).tolist()) == {7.0}
    assert set(jobs.procs.tolist()) == {2, 3}
    assert run(*command, "--load", 0.9, "--interarrival", "hyperexponential::9").code == 0
    gaps = np.diff(sojourn.read_swf(log).submit)
    assert gaps.var() / gaps.mean() ** 2 == pytest.approx(9, rel=0.2)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["lublin", "--jobs", "0"], "jobs"),
        (["lublin", "--load", "-1"], "load"),
        (["lublin", "--load", "nan"], "load"),
        (["lublin", "--procs", "0"], "procs"),
        (["lublin", "--type", "other"], "other"),
        (["lublin", "--estimates", "wild"], "wild"),
        (["lublin", "--estimates", "0.5"], "0.5"),
        (["poisson"], "--load"),
        (["poisson", "--load", "0"], "load"),
        (["poisson", "--load", "0.5", "--work", "gauss:3"], "gauss"),
        (["poisson", "--load", "0.5", "--work", "exponential"], "exponential:MEAN"),
        (["poisson", "--load", "0.5", "--work", "erlang:3"], "erlang:MEAN:K"),
        (["poisson", "--load", "0.5", "--width", "some"], "some"),
        (["poisson", "--load", "0.5", "--width", "1=0.5,2=0.4"], "sum"),
        (["poisson", "--load", "0.5", "--width", "500"], "500"),
    ],
)
def test_generate_refuses(refused: Refused, tmp_path: Path, options: list[str], said: str) -> None:
    assert said in refused("generate", *options, "--out", tmp_path / "log.swf")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("out", ["missing/log.swf", "log.xyz"])
def test_generate_where_it_cannot_write(refused: Refused, tmp_path: Path, out: str) -> None:
    assert out in refused("generate", "lublin", "--jobs", 5, "--out", tmp_path / out)


def test_convert_there_and_back(run: Run, small: Path, tmp_path: Path) -> None:
    for step, (source, target) in enumerate(
        [(small, "a.parquet"), ("a.parquet", "b.csv.gz"), ("b.csv.gz", "c.swf.xz")]
    ):
        source = source if step == 0 else tmp_path / source
        assert run("convert", source, tmp_path / target).code == 0
    first, last = sojourn.read_swf(small), sojourn.read_swf(tmp_path / "c.swf.xz")
    for name in ("job", "submit", "runtime", "procs", "estimate", "user"):
        assert first[name].tolist() == last[name].tolist()


def test_convert_says_what_a_format_does_not_keep(run: Run, tmp_path: Path) -> None:
    log = tmp_path / "sacct.txt"
    log.write_text(
        "JobID|User|Account|Submit|Start|End|ReqCPUS\n"
        "1|anna|phys|2025-03-04T10:00:00|2025-03-04T10:01:00|2025-03-04T11:00:00|4\n"
    )
    table, swf = tmp_path / "log.csv.gz", tmp_path / "log.swf"
    assert "the date of second 0 is lost" in run("convert", log, table).out
    assert "SWF has no field for account:" in run("convert", log, swf).out
    assert "lost" not in run("convert", log, tmp_path / "log.parquet").out
    for name in ("user", "account"):
        kept = sojourn.read_log(table).labels(name).tolist()
        assert kept == sojourn.read_log(log).labels(name).tolist() != [""]


def test_names_of_columns_for_a_file_that_does_not_look_like_sacct(
    refused: Refused, tmp_path: Path
) -> None:
    (tmp_path / "log").write_text("1^2025-03-04T10:00:00^2025-03-04T10:01:00^2025-03-04T11:00:00\n")
    asked = ("inspect", tmp_path / "log", "--columns", "JobID,Submit,Start,End", "--delimiter", "^")
    assert "--columns 'JobID,Submit,Start,End': write" in refused(*asked)
    assert "give --log-format sacct" in refused(*asked)


def test_convert_cleans_and_maps(run: Run, tmp_path: Path) -> None:
    table = tmp_path / "log.csv"
    table.write_text("when,took,n\n0,10,3\n1,0,4\n2,8,1\n")
    told = run(
        "convert", table, tmp_path / "log.swf", "--columns", "submit=when,runtime=took,procs=n"
    )
    assert told.code == 0
    assert sojourn.read_swf(tmp_path / "log.swf").runtime.tolist() == [10, 0, 8]
    told = run("convert", tmp_path / "log.swf", tmp_path / "clean.swf", "--clean")
    assert "zero-runtime: 1 job" in told.out
    assert sojourn.read_swf(tmp_path / "clean.swf").runtime.tolist() == [10, 8]


def test_convert_refuses(refused: Refused, small: Path, tmp_path: Path) -> None:
    assert "xyz" in refused("convert", small, tmp_path / "log.xyz")
    assert "none.swf" in refused("convert", tmp_path / "none.swf", tmp_path / "b.swf")
    assert "when" in refused(
        "convert", small, tmp_path / "b.csv", "--columns", "when=x", "--log-format", "csv"
    )


def test_demo(run: Run, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    out = tmp_path / "demo"
    told = run("demo", "--out", out)
    assert (told.code, told.err) == (0, "")
    for policy in ("fcfs", "easy", "conservative", "easy-sjbf"):
        assert policy in told.out
        assert len(pd.read_parquet(out / policy / "jobs.parquet")) == 5000
        assert (out / policy / "overview.png").stat().st_size > 10_000
    assert (out / "comparison.png").exists()
    page = (out / "report.md").read_text()
    assert "Shortest mean wait: **conservative**" in page
    linked = re.findall(r"\]\((.*?)\)", page)
    assert len(linked) == 5
    assert all((out / file).is_file() for file in linked)
    assert str(out) in told.out
    assert "sojourn simulate" in told.out
    assert run("inspect", out / "log.swf.gz").code == 0
