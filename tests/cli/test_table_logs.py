"""Tables and Parquet files on the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from .conftest import Run

TABLE = """\
job_id,user,wallclock_req,processors_req,submit_time,start_time,end_time,state
1,anna,04:00:00,3,2021-03-01 10:00:00,2021-03-01 10:00:30,2021-03-01 11:00:30,COMPLETED
2,bo,1-00:00:00,4,2021-03-01 10:05:00,2021-03-01 11:00:30,2021-03-01 12:00:30,TIMEOUT
3,bo,04:00:00,1,2021-03-01 10:06:00,,2021-03-01 11:00:30,CANCELLED by 100
"""


def test_the_table_of_a_centre_is_simulated(run: Run, tmp_path: Path) -> None:
    log = tmp_path / "centre.csv"
    log.write_text(TABLE)
    told = run("simulate", log, "--procs", 4, "--out", tmp_path / "out")
    assert told.code == 0
    assert "submit from submit_time" in told.out.replace("\n", " ")
    assert "keep never-started: 1 job" in told.out
    assert "(first: column" not in told.out
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["jobs"] == 2
    assert summary["wait"]["mean"] == (3600 - 300) / 2


@pytest.mark.parametrize("verb", ["simulate", "compare", "plan", "inspect"])
def test_a_log_that_went_through_parquet(run: Run, small: Path, tmp_path: Path, verb: str) -> None:
    assert run("convert", small, tmp_path / "log.parquet").code == 0
    by_swf, by_parquet = (run(verb, log) for log in (small, tmp_path / "log.parquet"))
    assert by_parquet.code == by_swf.code, by_parquet.err
    assert by_parquet.err.replace(".parquet", ".swf") == by_swf.err


def test_durations_of_parquet_are_seconds(run: Run, tmp_path: Path) -> None:
    stamps = pd.to_datetime(["2021-03-01 10:00", "2021-03-01 10:01"])
    hour = pd.to_timedelta([900, 900], unit="s")
    table = pd.DataFrame({"submit": stamps, "runtime": hour, "procs": [4, 4]})
    table.to_parquet(tmp_path / "log.parquet")
    told = run("simulate", tmp_path / "log.parquet", "--procs", 4, "--out", tmp_path / "out")
    assert told.code == 0
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["wait"]["max"] == 840


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("10:05:00", "25:05:00", "line 3, field 'submit': '2021-03-01 25:05:00' is not"),
        ("1-00:00:00", "24:00", "line 3, field 'estimate': '24:00' is not"),
        ("bo,04:00:00,1,", 'bo,04:00:00,"1,024",', "line 4, field 'requested': '1,024' is not"),
    ],
)
def test_values_that_are_none(
    refused: Callable[..., str], tmp_path: Path, old: str, new: str, said: str
) -> None:
    log = tmp_path / "centre.csv"
    log.write_text(TABLE.replace(old, new))
    assert said in refused("simulate", log, "--procs", 4, "--out", tmp_path / "out")
    assert not (tmp_path / "out").exists()


QUEUED = """\
job,queue,submit,start,end,limit,nodes,cores,gpus,mics,memory_kib
1,long,0,5,65,100,1,4,0,2,4194304
2,short,1,6,66,100,1,2,1,0,2097152
"""


def test_a_column_is_the_partition_on_every_command_that_reads_a_log(
    run: Run, tmp_path: Path
) -> None:
    log = tmp_path / "site.csv"
    log.write_text(QUEUED)
    by_partition = ("--by", "partition", "--partition-column", "queue")
    told = run("waits", log, *by_partition)
    assert told.code == 0, told.err
    assert "long" in told.out
    assert "short" in told.out
    facts = run("inspect", log, "--partition-column", "queue", "--json")
    assert json.loads(facts.out)["partitions"]["count"] == 2
    told = run(
        "simulate", log, "--procs", 8, "--partition-column", "queue", "--out", tmp_path / "out"
    )
    assert told.code == 0, told.err
    table = pd.read_parquet(tmp_path / "out" / "jobs.parquet")
    assert table["partition"].tolist() == table["queue"].tolist() == ["long", "short"]
    bad = run("waits", log, "--by", "partition", "--partition-column", "quue")
    assert (bad.code, bad.err.count("\n")) == (2, 1)
    assert "no column 'quue' (for 'partition'); did you mean 'queue'?" in bad.err


def test_a_scenario_keeps_the_column_of_the_partition(run: Run, tmp_path: Path) -> None:
    log, scenario = tmp_path / "site.csv", tmp_path / "s.toml"
    log.write_text(QUEUED)
    given = ("--procs", 8, "--partition-column", "queue")
    assert run("simulate", log, *given, "--save-scenario", scenario).code == 0
    assert 'partition_column = "queue"' in scenario.read_text()
    told = run("run", scenario, "--out", tmp_path / "out")
    assert told.code == 0, told.err
    table = pd.read_parquet(tmp_path / "out" / "jobs.parquet")
    assert table["partition"].tolist() == ["long", "short"]
    text = scenario.read_text().replace('partition_column = "queue"', 'partition_column = "quue"')
    scenario.write_text(text)
    bad = run("run", scenario, "--out", tmp_path / "other")
    assert (bad.code, bad.err.count("\n")) == (2, 1)
    assert "'quue'" in bad.err
    assert not (tmp_path / "other").exists()


def test_converting_keeps_every_column(run: Run, tmp_path: Path) -> None:
    log = tmp_path / "site.csv"
    log.write_text(QUEUED.replace("mics", "mics,rack").replace(",2,4194304", ",2,a,4194304")
                   .replace(",0,2097152", ",0,b,2097152"))  # fmt: skip
    assert run("convert", log, tmp_path / "b.parquet").code == 0
    assert run("convert", tmp_path / "b.parquet", tmp_path / "c.csv").code == 0
    table = pd.read_csv(tmp_path / "c.csv")
    assert table["mics"].tolist() == [2, 0]
    assert table["rack"].tolist() == ["a", "b"]
    assert table["memory_per_node"].tolist() == [4194304, 2097152]
