"""Completion logs of Slurm."""

from __future__ import annotations

import numpy as np
import pytest

from sojourn.errors import LogError
from sojourn.jobs.formats.jobcomp import jobcomp_accounting, read_jobcomp

LINE = (
    "JobId={job} UserId=ann(1001) GroupId=users(100) Name={name} JobState={state} Partition=batch "
    "TimeLimit={limit} StartTime={start} EndTime={end} NodeList={nodes} NodeCnt=2 ProcCnt=24 "
    "WorkDir=/home/ann ReservationName= Gres= Account=a QOS=normal WcKey= Cluster=c "
    "SubmitTime=2024-03-01T12:00:00 EligibleTime=2024-03-01T12:00:00{more} DerivedExitCode=0:0 "
    "ExitCode=0:0 "
)


def line(job=7, **other):
    given = {
        "name": "run",
        "state": "COMPLETED",
        "limit": "30",
        "start": "2024-03-01T12:01:00",
        "end": "2024-03-01T12:11:00",
        "nodes": "n[1-2]",
        "more": "",
        **other,
    }
    return LINE.format(job=job, **given)


@pytest.fixture
def write(tmp_path):
    def make(*lines):
        path = tmp_path / "jobcomp.log"
        path.write_text("\n".join(lines) + "\n")
        return path

    return make


def test_one_job(write):
    jobs = read_jobcomp(write(line()))
    assert (jobs.job[0], jobs.wait[0], jobs.runtime[0], jobs.estimate[0]) == (7, 60, 600, 1800)
    assert (jobs.procs[0], jobs.requested[0], jobs.user[0], jobs.group[0]) == (24, -1, 1001, 100)
    assert read_jobcomp(write(line()), width="nodes").procs.tolist() == [2]


def test_names_and_folders_with_blanks(write):
    told = jobcomp_accounting(write(line(name="my job JobState=FAILED x=1")))
    assert told["state"].tolist() == ["COMPLETED"]
    assert told["node_list"].tolist() == ["n[1-2]"]


@pytest.mark.parametrize("start", ["Unknown", "2024-03-01T12:05:00"])
def test_cancelled_before_start(write, start):
    told = jobcomp_accounting(
        write(line(state="CANCELLED", start=start, end="2024-03-01T12:05:00", nodes="(null)"))
    )
    assert np.isnan(told["start"]).all()
    assert told.report.count("never-started") == 1


@pytest.mark.parametrize("limit", ["UNLIMITED", "Partition_Limit"])
def test_limits_that_are_none(write, limit):
    assert read_jobcomp(write(line(limit=limit))).estimate.tolist() == [-1.0]


def test_arrays_and_heterogeneous_jobs(write):
    told = jobcomp_accounting(
        write(
            line(100, more=" ArrayJobId=90 ArrayTaskId=4"),
            line(101, more=" HetJobId=101 HetJobOffset=1"),
            line(102, more=" ArrayJobId=0 ArrayTaskId=4294967294"),
        )
    )
    assert told["label"].tolist() == ["90_4", "101+1", "102"]
    assert told["job"].tolist() == [100, 101, 102]


def test_bad_lines(write):
    path = write(line(), "hello", line(8, start="yesterday"))
    assert read_jobcomp(path).report.count("bad-line") == 2
    with pytest.raises(LogError, match=r"line 2: has no JobId="):
        read_jobcomp(path, strict=True)
    with pytest.raises(LogError, match=r"line 1, field 'StartTime': 'yesterday' is no value"):
        read_jobcomp(write(line(8, start="yesterday")), strict=True)
    with pytest.raises(LogError, match="none of its lines"):
        read_jobcomp(write("hello"))


def test_zone(write):
    told = jobcomp_accounting(write(line()), timezone="Asia/Tokyo")
    assert told["submit"].tolist() == [1709294400.0 - 9 * 3600]
