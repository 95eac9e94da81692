"""The controller's log and its job completions, as rows."""

from __future__ import annotations

import gzip
from datetime import UTC, datetime

import pytest

from sojourn.adequacy.virtual import COLUMNS, ControllerLog, Job, collect, read_controller_log
from sojourn.errors import LogError

LOG = """\
[2026-01-02T03:04:05.000] slurmctld version 22.05.8 started on cluster virtual
[2026-01-02T03:04:05.100] Running as primary controller
[2026-01-02T03:04:06.213] _slurm_rpc_submit_batch_job: JobId=1 InitPrio=4294901759 usec=869
[2026-01-02T03:04:06.500] debug:  sched: Running job scheduler for full queue.
[2026-01-02T03:04:06.501] sched: Allocate JobId=1 NodeList=n[1-6] #CPUs=6 Partition=main
[2026-01-02T03:04:07.100] _slurm_rpc_submit_batch_job: JobId=2 InitPrio=4294901758 usec=8
[2026-01-02T03:04:07.200] debug:  sched/backfill: _attempt_backfill: beginning
[2026-01-02T03:04:07.201] sched/backfill: _start_job: Started JobId=2 in main on n[7,9]
[2026-01-02T03:04:09.300] _slurm_rpc_submit_batch_job: JobId=3 InitPrio=4294901757 usec=8
[2026-01-02T03:04:36.600] _job_complete: JobId=1 WEXITSTATUS 0
[2026-01-02T03:04:36.601] _job_complete: JobId=1 done
[2026-01-02T03:05:37.000] Time limit exhausted for JobId=2
"""
COMPLETIONS = """\
JobId=1 UserId=a(1) Name=j10 JobState=COMPLETED TimeLimit=1 StartTime=2026-01-02T03:04:06 \
EndTime=2026-01-02T03:04:36 NodeList=n[1-6] NodeCnt=6 \
SubmitTime=2026-01-02T03:04:06 EligibleTime=2026-01-02T03:04:06
JobId=2 UserId=a(1) Name=j11 JobState=TIMEOUT TimeLimit=1 StartTime=2026-01-02T03:04:07 \
EndTime=2026-01-02T03:05:37 NodeList=n[7,9] NodeCnt=2 \
SubmitTime=2026-01-02T03:04:07 EligibleTime=2026-01-02T03:04:08
"""
JOBS = {
    1: Job(10, 0.0, 6, 30.0, 1),
    2: Job(11, 1.0, 2, 100.0, 1),
    3: Job(12, 3.0, 1, 5.0, 2),
}
ZERO = datetime(2026, 1, 2, 3, 4, 6, 200_000, tzinfo=UTC).timestamp()


def _written(tmp_path):
    (tmp_path / "log").write_text(LOG)
    (tmp_path / "completions").write_text(COMPLETIONS)
    return ControllerLog(tmp_path / "log"), tmp_path / "completions"


def test_rows_have_milliseconds_nodes_and_the_loop_that_started_them(tmp_path):
    log, completions = _written(tmp_path)
    first, second, third = collect(log, completions, JOBS, ZERO)
    assert tuple(first) == COLUMNS
    assert list(first.values()) == [
        *(10, 0.013, 0.013, 0.301, 30.401),
        *(6, "n[1-6]", "COMPLETED", "main", 30.0, 1),
    ]
    # Eligible later than submitted is known in whole seconds only.
    assert list(second.values()) == [
        *(11, 0.9, 1.8, 1.001, 90.8),
        *(2, "n[7,9]", "TIMEOUT", "backfill", 100.0, 1),
    ]
    assert (third["start"], third["end"], third["state"]) == ("", "", "UNKNOWN")


def test_nothing_has_completed_yet(tmp_path):
    log, completions = _written(tmp_path)
    completions.write_text("")
    states = [row["state"] for row in collect(log, completions, JOBS, ZERO)]
    assert states == ["UNKNOWN"] * 3


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_whole_log(tmp_path, pack):
    path = tmp_path / "slurmctld.log"
    path.write_bytes(pack(LOG.encode()))
    events = read_controller_log(path)
    assert [event.kind for event in events] == [
        *("begin", "submit", "main pass", "main", "submit", "backfill pass", "backfill"),
        *("submit", "end", "limit"),
    ]
    assert [event.job for event in events] == [0, 1, 0, 1, 2, 0, 2, 3, 1, 2]
    assert [round(event.time - ZERO, 3) for event in events[:3]] == [-1.1, 0.013, 0.3]
    assert events[3].nodes == "n[1-6]"
    path.write_text("something else\n")
    with pytest.raises(LogError, match="has no job"):
        read_controller_log(path)


def test_a_log_is_read_as_it_grows_also_by_half_lines(tmp_path):
    path = tmp_path / "log"
    log = ControllerLog(path)
    log.read()
    assert log.waiting == 0
    for cut in range(0, len(LOG) + 7, 7):
        path.write_text(LOG[:cut])
        log.read()
    assert set(log.submits) == {1, 2, 3}
    assert {job: event.kind for job, event in log.starts.items()} == {1: "main", 2: "backfill"}
    assert set(log.ends) == {1, 2}
    assert log.waiting == 1
    assert log.changed - ZERO > 90
    assert round(log.last_pass - ZERO, 3) == 0.3
    assert round(log.began - ZERO, 3) == -1.1


def test_which_loops_have_looked_since_anything_changed(tmp_path):
    path = tmp_path / "log"
    log = ControllerLog(path)
    told = []
    lines = [
        *LOG.splitlines()[:9],
        "[2026-01-02T03:04:10.000] debug:  sched/backfill: _attempt_backfill: beginning",
        "[2026-01-02T03:04:10.500] debug:  sched: Running job scheduler for default depth.",
        "[2026-01-02T03:04:11.000] _job_complete: JobId=2 done",
        # So soon that the nodes may not have been free.
        "[2026-01-02T03:04:11.100] debug:  sched: Running job scheduler for full queue.",
        "[2026-01-02T03:04:12.100] debug:  sched: Running job scheduler for full queue.",
    ]
    for line in lines:
        with open(path, "a") as file:
            file.write(f"{line}\n")
        log.read()
        told.append((sorted(log.passes), log.is_called))
    assert told[2:] == [
        ([], True),  # submitted
        (["main pass"], False),
        ([], False),  # started
        ([], True),
        (["backfill pass"], True),
        ([], True),
        ([], True),
        (["backfill pass"], True),
        (["backfill pass", "short pass"], False),
        ([], True),
        (["main pass"], True),
        (["main pass"], False),
    ]
    assert log.last_full_pass == log.last_pass
