"""Accounting logs of PBS and Torque."""

from __future__ import annotations

import numpy as np
import pytest

from sojourn.errors import LogError
from sojourn.jobs.formats.pbs import pbs_accounting, read_pbs

T = 1709294400  # 2024-03-01 12:00:00 UTC


def stamp(seconds):
    minutes, second = divmod(int(seconds), 60)
    hour, minute = divmod(minutes, 60)
    return f"03/01/2024 {12 + hour:02d}:{minute:02d}:{second:02d}"


def queued(job, at):
    return f"{stamp(at)};Q;{job}.srv;queue=batch"


def started(job, at, submit=0, more=""):
    told = f"user=ann group=users jobname=x queue=batch ctime={T + submit} qtime={T + submit}"
    return (
        f"{stamp(at)};S;{job}.srv;{told} etime={T + submit} start={T + at} exec_host=n1/0+n1/1+n2/0"
        f" Resource_List.nodes=2:ppn=2 Resource_List.nodect=2"
        f" Resource_List.walltime=00:10:00{more}"
    )


def ended(job, at, start, submit=0, status=0, more=""):
    return (
        started(job, start, submit).replace(";S;", ";E;", 1).replace(stamp(start), stamp(at), 1)
        + f" end={T + at} Exit_status={status} resources_used.cput=00:01:30"
        f" resources_used.walltime=00:00:{min(at - start, 59):02d}{more}"
    )


@pytest.fixture
def write(tmp_path):
    def make(*lines):
        path = tmp_path / "20240301"
        path.write_text("\n".join(lines) + "\n")
        return path

    return make


def test_one_job(write):
    jobs = read_pbs(write(queued(7, 0), started(7, 30), ended(7, 90, 30)))
    assert (jobs.job[0], jobs.submit[0], jobs.wait[0], jobs.runtime[0]) == (7, 0, 30, 60)
    assert (jobs.requested[0], jobs.allocated[0], jobs.estimate[0]) == (4, 3, 600)
    assert (jobs.status[0], jobs.cpu_time[0]) == (1, 30.0)
    assert read_pbs(write(ended(7, 90, 30)), width="nodes").procs.tolist() == [2]


def test_deleted_while_waiting_and_while_running(write):
    told = pbs_accounting(
        write(
            queued(1, 0),
            queued(2, 1),
            started(2, 5, 1),
            f"{stamp(20)};D;1.srv;requestor=ann@host",
            f"{stamp(25)};D;2.srv;requestor=ann@host",
            ended(2, 26, 5, 1, status=271),
        )
    )
    assert told["state"].tolist() == ["CANCELLED", "CANCELLED"]
    assert np.isnan(told["start"]).tolist() == [True, False]
    assert (told["end"] - T).tolist() == [20.0, 26.0]


def test_ended_at_the_limit(write):
    path = write(ended(7, 700, 90, status=271).replace("walltime=00:00:59", "walltime=00:10:10"))
    assert pbs_accounting(path)["state"].tolist() == ["TIMEOUT"]


def test_aborted(write):
    told = pbs_accounting(write(queued(7, 0), f"{stamp(9)};A;7.srv;"))
    assert told["state"].tolist() == ["FAILED"]
    assert np.isnan(told["start"]).all()


def test_run_again(write):
    told = pbs_accounting(
        write(
            queued(7, 0),
            started(7, 10),
            f"{stamp(40)};R;7.srv;",
            started(7, 60),
            ended(7, 90, 60),
        )
    )
    assert told["attempt"].tolist() == [0, 1]
    assert told["state"].tolist() == ["REQUEUED", "COMPLETED"]
    assert (told["submit"] - T).tolist() == [0.0, 40.0]
    assert (told["end"] - T).tolist() == [40.0, 90.0]


def test_clock_of_the_server_is_told_by_unix_times(write):
    """Stamps of a server three hours ahead of UTC; only `start` and `end` are Unix times."""
    lines = [queued(7, 10800), started(7, 30), f"{stamp(10840)};D;8.srv;", queued(9, 10850)]
    lines[1] = lines[1].replace(stamp(30), stamp(10830), 1)
    told = pbs_accounting(write(lines[1], lines[3]))
    by_label = dict(zip(told["label"].tolist(), (told["submit"] - T).tolist(), strict=True))
    assert by_label == {"7": 0.0, "9": 50.0}


@pytest.mark.parametrize(
    ("more", "procs"),
    [
        ("Resource_List.ncpus=16", 16),
        ("Resource_List.select=2:ncpus=8:mpiprocs=8", 16),
        ("Resource_List.nodes=n1:ppn=4+3:ppn=2", 10),
        ("Resource_List.procs=12", 12),
        ("Resource_List.nodes=2:ppn=8 Resource_List.ncpus=1", 16),
    ],
)
def test_requests(write, more, procs):
    line = ended(7, 90, 30).replace("Resource_List.nodes=2:ppn=2", more)
    assert read_pbs(write(line)).requested.tolist() == [procs]


def test_bad_lines(write):
    path = write("hello", ended(7, 90, 30), ended(8, 90, 30).replace(f"end={T + 90}", "end=soon"))
    assert read_pbs(path).report.count("bad-line") == 2
    with pytest.raises(LogError, match=r"line 1: 1 fields of 4"):
        read_pbs(path, strict=True)
    with pytest.raises(LogError, match=r"line 1, field 'end': 'soon'"):
        read_pbs(write(ended(8, 90, 30).replace(f"end={T + 90}", "end=soon")), strict=True)
    with pytest.raises(LogError, match="none of its lines"):
        read_pbs(write("hello"))
    with pytest.raises(LogError, match="no record of a job"):
        read_pbs(write(f"{stamp(0)};L;license;floating license"))
