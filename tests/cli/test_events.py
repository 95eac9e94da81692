"""External events from the command line."""

from __future__ import annotations

import json

import pytest

EVENTS = """\
time,kind,job,procs,until
5,cancel,2,,
12,down,,3,20
30,stop,,,40
"""


@pytest.fixture
def log(tmp_path):
    from .conftest import swf_line

    path = tmp_path / "log.swf"
    rows = [(1, 0, 10, 4), (2, 1, 10, 4), (3, 2, 10, 2), (4, 25, 10, 2), (5, 32, 5, 2)]
    path.write_text("".join(f"{swf_line(*row, row[2])}\n" for row in rows))
    return path


@pytest.fixture
def events(tmp_path):
    path = tmp_path / "events.csv"
    path.write_text(EVENTS)
    return path


def test_simulate(run, log, events, tmp_path):
    out = tmp_path / "run"
    told = run(
        *("simulate", log, "--procs", 4, "--events", events, "--node-failure", "requeue"),
        *("--out", out, "--format", "csv", "--json"),
    )
    assert told.code == 0, told.err
    summary = json.loads(told.out)
    counts = summary["events"]
    assert (counts["given"], counts["cancelled"], counts["restarts"]) == (3, 1, 1)
    assert summary["provenance"]["events"]["path"] == str(events)
    assert len(summary["provenance"]["events"]["sha256"]) == 64
    table = (out / "jobs.csv").read_text().splitlines()
    starts = [line.split(",")[2] for line in table[1:]]
    assert starts == ["0", "", "20", "25", "40"]


def test_the_table_says_what_events_did(run, log, events):
    told = run("simulate", log, "--procs", 4, "--events", events)
    assert told.code == 0, told.err
    assert "3: 1 cancelled, 1 killed" in told.out
    assert "0 killed at their limit" in told.out


def test_compare(run, log, events):
    told = run(
        "compare", log, "--procs", 4, "--events", events, "--policies", "fcfs,easy", "--json"
    )
    assert told.code == 0, told.err
    assert [row["cancelled"] for row in json.loads(told.out)["rows"]] == [1, 1]


def test_a_log_of_the_same_jobs(run, log):
    told = run("simulate", log, "--procs", 4, "--events", log, "--json")
    assert told.code == 0, told.err
    assert json.loads(told.out)["events"]["unused"] == {}


def test_bad_events_are_one_line_and_leave_nothing(refused, log, events, tmp_path):
    events.write_text(EVENTS + "50,down,,9,\n")
    out = tmp_path / "run"
    said = refused("simulate", log, "--procs", 4, "--events", events, "--out", out)
    assert "events.csv, line 5, field 'procs': at 50 s 9 processors go down" in said
    assert not out.exists()
    events.write_text("time,kind,job\n1,cancel,x\n")
    assert "line 2, field 'job'" in refused("compare", log, "--procs", 4, "--events", events)
    assert "no such file" in refused(
        "simulate", log, "--procs", 4, "--events", tmp_path / "none.csv"
    ).lower()  # fmt: skip


def test_what_is_refused(refused, log, events):
    given = ("simulate", log, "--procs", 4, "--events", events)
    assert "choose kill or requeue" in refused(*given, "--node-failure", "retry")
