"""Streams of jobs from every file that tells what became of them."""

from __future__ import annotations

import numpy as np
import pytest

from sojourn import simulate
from sojourn.adequacy import JobStream, compare_streams, read_stream
from sojourn.errors import LogError, OptionError
from sojourn.jobs import Jobs, write_log
from sojourn.run.folder import write_run

CSV = "id,submit,start,end,nodes,limit_min\n1,0,0,20,1,2\n2,10,20,40,2,2\n3,15,,30,4,2\n"


@pytest.fixture
def write(tmp_path):
    def make(text, name="stream.csv"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return make


def test_table(write):
    stream = read_stream(write(CSV))
    assert stream.label.tolist() == ["1", "2", "3"]
    assert stream.nodes.tolist() == [1, 2, 4]
    assert stream.procs.tolist() == [-1, -1, -1]
    assert stream.limit.tolist() == [120.0] * 3
    assert stream.wait[:2].tolist() == [0.0, 10.0]
    assert np.isnan(stream.start[2])
    assert stream.residence.tolist() == [20.0, 30.0, 15.0]


def test_chosen_columns(write):
    text = CSV.replace("start,end", "start_ms,end_ms")
    with pytest.raises(LogError, match="has no column 'start'"):
        read_stream(write(text))
    columns = {"start": "start_ms", "end": "end_ms"}
    assert read_stream(write(text), columns=columns).end.tolist() == [20.0, 40.0, 30.0]
    with pytest.raises(LogError, match="has no column 'begin'"):
        read_stream(write(CSV), columns={"start": "begin"})
    with pytest.raises(OptionError, match="a stream has no column 'begin'"):
        read_stream(write(CSV), columns={"begin": "start"})


def test_an_option_that_a_table_has_not_is_refused(write):
    with pytest.raises(OptionError, match="timezone: a table of a stream has no such option"):
        read_stream(write(CSV), timezone="Europe/Berlin")


@pytest.mark.parametrize("between", ["T", " "])
def test_times_as_dates(write, between):
    text = (
        "job,submit,start,end,procs\n"
        "1,2024-03-01T12:00:00,2024-03-01T12:00:30,2024-03-01T12:01:30,4\n"
    )
    stream = read_stream(write(text.replace("T", between)))
    assert (stream.wait[0], stream.residence[0], stream.procs[0]) == (30.0, 90.0, 4)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("id,submit,start,end,nodes\n1,0,soon,20,1\n", r"line 2, field 'start': 'soon'"),
        ("id,submit,start,end,nodes\n1,,0,20,1\n", r"line 2, field 'submit': is not known"),
        ("id,submit,start,end\n1,0,0,20\n", "has no column 'nodes' or 'procs'"),
        ("id,submit,start,end,nodes\n1,0\n", r"line 2: 2 columns where the first line names 5"),
        ("id,submit,start,end,nodes\n", "no job"),
    ],
)
def test_tables_that_are_wrong(write, text, told):
    with pytest.raises(LogError, match=told):
        read_stream(write(text))


@pytest.fixture(scope="module")
def result():
    jobs = Jobs(
        {
            "submit": [0, 1, 2, 3],
            "runtime": [10, 10, 5, 1],
            "procs": [3, 4, 1, 9],
            "estimate": [10, 10, 5, 1],
        }
    )
    return simulate(jobs, 4, "easy")


@pytest.mark.parametrize("format", ["parquet", "csv"])
def test_a_run_on_disk(tmp_path, result, format):
    write_run(result, tmp_path / "run", format=format, trajectory=False)
    stream = read_stream(tmp_path / "run" / f"jobs.{format}")
    assert stream.procs.tolist() == [3, 4, 1, 9]
    assert stream.start[:3].tolist() == [0.0, 10.0, 2.0]
    assert np.isnan(stream.start[3])
    assert compare_streams(stream, JobStream.of_result(result)).P == 0.0


def test_a_log_with_waits(tmp_path, result):
    """The log of a run in SWF, CSV or Parquet tells the same stream."""
    log = result.as_log()[:3]
    for name in ("log.swf", "log.csv", "log.parquet"):
        write_log(log, tmp_path / name)
        stream = read_stream(tmp_path / name)
        assert stream.start.tolist() == [0.0, 10.0, 2.0]
        assert stream.end.tolist() == [10.0, 20.0, 7.0]
        assert stream.limit.tolist() == [10.0, 10.0, 5.0]


def test_cancelled_jobs_of_a_log():
    jobs = Jobs(
        {
            "submit": [0, 5],
            "wait": [2, 7],
            "runtime": [3, -1],
            "status": [1, 5],
            "procs": [1, 1],
        }
    )
    stream = JobStream.of_jobs(jobs)
    assert np.isnan(stream.start).tolist() == [False, True]
    assert stream.end.tolist() == [5.0, 12.0]


def test_accounting(write):
    text = (
        "JobID|Submit|Start|End|State|ReqCPUS|NNodes|NodeList|User|Partition\n"
        "7|0|5|9|REQUEUED|8|2|n[1-2]|ann|batch\n7|9|12|20|COMPLETED|8|2|n[1-2]|ann|batch\n"
    )
    stream = read_stream(write(text, "acct.out"))
    assert stream.label.tolist() == ["7", "7#2"]
    assert stream.procs.tolist() == [8, 8]
    assert stream.nodes.tolist() == [2, 2]
    assert (stream.user[0], stream.queue[0]) == ("ann", "batch")


def test_jobs_submitted_together_stay_in_order(write):
    text = "id,submit,start,end,nodes\n9,5,5,6,1\n4,5,5,6,1\n7,0,0,1,1\n"
    assert read_stream(write(text)).label.tolist() == ["7", "9", "4"]


def test_the_jobs_of_batsim(write):
    text = (
        "job_id,submission_time,requested_number_of_resources,requested_time,starting_time,"
        "finish_time,allocated_resources\n7,1,4,60,2.5,9.5,0-3\n"
    )
    stream = read_stream(write(text, "out_jobs.csv"))
    assert stream.label.tolist() == ["7"]
    assert (stream.procs.tolist(), stream.limit.tolist()) == ([4], [60.0])
    assert (stream.wait.tolist(), stream.residence.tolist()) == ([1.5], [8.5])
