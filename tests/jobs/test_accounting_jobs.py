"""What becomes of accounting: names, numbers of jobs, GPUs, requeues, and clocks that change."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sojourn.errors import LogError, OptionError
from sojourn.jobs import Jobs, read_events, read_log
from sojourn.jobs.facts import daily_counts, facts
from sojourn.jobs.formats.jobcomp import read_jobcomp
from sojourn.jobs.formats.pbs import pbs_accounting, read_pbs
from sojourn.jobs.formats.sacct import read_sacct, sacct_accounting

DAY = "2024-03-01T"
BERLIN = "Europe/Berlin"


def given(**other):
    day = other.pop("day", DAY)
    fields = {
        "JobID": "7",
        "User": "ann",
        "UID": "1005",
        "Account": "phys",
        "Partition": "batch",
        "QOS": "normal",
        "Submit": "12:00:00",
        "Eligible": "12:00:00",
        "Start": "12:01:00",
        "End": "12:11:00",
        "Elapsed": "",
        "State": "COMPLETED",
        "Timelimit": "00:30:00",
        "NNodes": "2",
        "ReqTRES": "cpu=8,mem=16G,node=2",
        "NodeList": "n[1-2]",
        **{name: str(value) for name, value in other.items()},
    }
    for name in ("Submit", "Eligible", "Start", "End"):
        if fields[name][:1].isdigit() and len(fields[name]) == 8:
            fields[name] = day + fields[name]
    return fields


@pytest.fixture
def dump(tmp_path):
    def make(*rows, without=()):
        names = [name for name in given(**rows[0]) if name not in without]
        lines = ["|".join(given(**row)[name] for name in names) for row in rows]
        path = tmp_path / "sacct.out"
        path.write_text("\n".join(["|".join(names), *lines]) + "\n")
        return path

    return make


def test_names_stay_names(dump):
    jobs = read_sacct(
        dump(
            {"JobID": 7},
            {"JobID": 8, "User": "bo", "UID": "1007", "Account": "chem", "Partition": "gpu",
             "QOS": "long"},
        )
    )  # fmt: skip
    assert jobs.labels("user").tolist() == ["ann", "bo"]
    assert jobs.user.tolist() == [1005, 1007]
    assert jobs.labels("account").tolist() == ["phys", "chem"]
    assert jobs.labels("qos").tolist() == ["normal", "long"]
    assert jobs.labels("partition").tolist() == ["batch", "gpu"]
    assert jobs.queue.tolist() == jobs.partition.tolist() == [1, 2]
    assert jobs.nodes.tolist() == [2, 2]
    assert jobs.gpus.tolist() == [0, 0]
    assert not jobs.has_labels


@pytest.mark.parametrize(
    ("resources", "gpus"),
    [
        ("cpu=8,gres/gpu=4,node=2", 4),
        ("cpu=8,gres/gpu:a100=4,node=2", 4),
        ("cpu=8,gres/gpu=4,gres/gpu:a100=4,node=2", 4),
        ("cpu=8,gres/gpu:a100=3,gres/gpu:t4=1,node=2", 4),
        ("billing=8,cpu=8,gres/gpumem=80G,node=2", 0),
        ("", -1),
    ],
)
def test_gpus_with_and_without_their_type(dump, resources, gpus):
    assert read_sacct(dump({"ReqTRES": resources})).gpus.tolist() == [gpus]


def test_gpus_that_only_the_allocation_tells(dump):
    path = dump({"AllocTRES": "cpu=8,gres/gpu:a100=2,node=2"})
    assert read_sacct(path).gpus.tolist() == [2]
    path = dump({"ReqGRES": "gpu:2", "ReqTRES": ""})
    assert read_sacct(path).gpus.tolist() == [4]


@pytest.mark.parametrize("broken", ["node=x", "cpu=x,node=1", "cpu=8,gres/gpu=many"])
def test_broken_resources_are_counted(dump, broken):
    jobs = read_sacct(dump({"JobID": 7}, {"JobID": 8, "ReqTRES": broken}))
    assert jobs.job.tolist() == [7]
    assert jobs.report.count("bad-field") == 1
    with pytest.raises(LogError, match=r"line 3, field 'reqtres': '.*' is no value of it"):
        read_sacct(dump({"JobID": 7}, {"JobID": 8, "ReqTRES": broken}), strict=True)


def test_resources_without_a_value_are_not_known(dump):
    jobs = read_sacct(dump({"ReqTRES": "cpu=,node=,gres/gpu="}))
    assert (jobs.requested[0], jobs.gpus[0]) == (-1, 0)


def test_tasks_have_numbers_and_names_of_their_own(dump, tmp_path):
    rows = [{"JobID": f"90_{task}"} for task in range(20)]
    jobs = read_sacct(dump(*rows, {"JobID": "91+0"}, {"JobID": "91+1"}, {"JobID": 95}))
    assert len(set(jobs.job.tolist())) == 23
    assert jobs.label.tolist()[:2] == ["90_0", "90_1"]
    assert {"91+0", "91+1", "95"} <= set(jobs.label.tolist())
    assert jobs.job[jobs.label.tolist().index("95")] == 95
    part = jobs[::-1][:5]
    assert part.label.tolist() == jobs.label.tolist()[::-1][:5]
    part.to_parquet(tmp_path / "part.parquet")
    again = Jobs.from_parquet(tmp_path / "part.parquet")
    assert again.label.tolist() == part.label.tolist()
    assert again.only(["job", "submit", "procs", "runtime", "label"]).label.tolist() == (
        part.label.tolist()
    )
    assert again.sorted().label.tolist() == part.sorted().label.tolist()
    assert again.replace(job=np.arange(5)).label.tolist() == ["0", "1", "2", "3", "4"]


def test_labels_of_jobs_are_checked():
    columns = {"submit": [0, 5], "runtime": [1, 1], "procs": [1, 1]}
    with pytest.raises(OptionError, match="'label' has 1 values"):
        Jobs({**columns, "label": ["7_1"]})
    assert Jobs(columns).label.tolist() == ["1", "2"]


def test_raw_numbers_are_kept(dump):
    rows = [{"JobID": "90_1", "JobIDRaw": 101}, {"JobID": "90_2", "JobIDRaw": 90}]
    jobs = read_sacct(dump(*rows))
    assert dict(zip(jobs.label.tolist(), jobs.job.tolist(), strict=True)) == {
        "90_1": 101,
        "90_2": 90,
    }


def test_what_real_dumps_hold(dump):
    """Words for what is not known, states that are rare, numbers that are left out."""
    jobs = read_sacct(
        dump(
            {"JobID": 1, "JobIDRaw": "", "Timelimit": "INVALID", "Elapsed": "INVALID"},
            {"JobID": 2, "JobIDRaw": 2, "Timelimit": "UNLIMITED", "State": "RESIZING"},
            {"JobID": 3, "JobIDRaw": 3, "Timelimit": "Partition_Limit", "Eligible": "INVALID"},
            {"JobID": 4, "JobIDRaw": 4, "State": "CANCELLED by 123", "NodeList": "n[1-2,5],m1"},
            {"JobID": 5, "JobIDRaw": 5, "Partition": "batch,gpu", "State": "", "QOS": ""},
            {"JobID": 6, "JobIDRaw": 6, "ReqTRES": "billing=4,cpu=4,energy=,node=1", "UID": ""},
        )
    )
    assert jobs.job.tolist() == [1, 2, 3, 4, 5, 6]
    assert jobs.runtime.tolist() == [600.0] * 6
    assert jobs.estimate.tolist() == [-1.0, -1.0, -1.0, 1800.0, 1800.0, 1800.0]
    assert jobs.labels("partition")[4] == "batch,gpu"
    assert jobs.labels("qos")[4] == ""
    assert jobs.labels("user").tolist() == ["ann"] * 6
    assert jobs.requested[5] == 4


def test_a_requeued_job_is_submitted_again_when_it_was_requeued(dump):
    first = {"JobID": 7, "State": "NODE_FAIL"}
    told = sacct_accounting(
        dump(first, {"JobID": 7, "Submit": "12:11:00", "Start": "12:20:00", "End": "12:30:00"})
    )
    assert told["run"].tolist() == ["7", "7#2"]
    assert len(set(told["job"].tolist())) == 2
    # With the first submit in both records, the second wait is not that of the first run too.
    again = sacct_accounting(dump(first, {"JobID": 7, "Start": "12:20:00", "End": "12:30:00"}))
    assert (again["submit"] - again["submit"][0]).tolist() == [0.0, 660.0]
    jobs = again.jobs()
    assert jobs.wait.tolist() == [60.0, 540.0]
    assert jobs.label.tolist() == ["7", "7#2"]


def test_elapsed_wins_over_a_night_without_an_hour(dump):
    night = {"day": "2024-03-31T", "Submit": "00:30:00", "Eligible": "00:30:00"}
    row = {**night, "Start": "01:00:00", "End": "04:00:00", "Elapsed": "02:00:00"}
    jobs = read_sacct(dump(row))
    assert jobs.runtime.tolist() == [7200.0]
    assert jobs.report.count("elapsed") == 1
    there = read_sacct(dump(row), timezone=BERLIN)
    assert there.runtime.tolist() == [7200.0]
    assert there.report.count("elapsed") == 0


def test_elapsed_of_a_suspended_job_leaves_out_the_pause(dump):
    row = {"Elapsed": "00:08:00", "Suspended": "00:02:00"}
    jobs = read_sacct(dump(row))
    assert jobs.runtime.tolist() == [600.0]
    assert jobs.report.count("elapsed") == 0
    assert jobs.report.count("suspended") == 1


@pytest.mark.parametrize(
    ("times", "wait", "runtime"),
    [
        # Each of them is in the hour that occurs twice on the night of 2024-10-27.
        (("02:50:00", "02:10:00", "02:30:00", "00:20:00"), 1200.0, 1200.0),
        (("02:10:00", "02:20:00", "02:30:00", "01:10:00"), 600.0, 4200.0),
        (("02:10:00", "02:20:00", "02:30:00", ""), 600.0, 600.0),
        (("01:50:00", "02:30:00", "03:30:00", "01:00:00"), 6000.0, 3600.0),
    ],
)
def test_the_hour_that_occurs_twice(dump, times, wait, runtime):
    submit, start, end, elapsed = times
    row = {"day": "2024-10-27T", "Submit": submit, "Eligible": submit, "Start": start, "End": end,
           "Elapsed": elapsed}  # fmt: skip
    jobs = read_sacct(dump(row), timezone=BERLIN)
    assert (jobs.wait[0], jobs.runtime[0]) == (wait, runtime)
    assert jobs.report.count("changed-clock") == 1
    assert jobs.report.count("disordered-times") == 0


def test_the_hour_that_does_not_exist(dump):
    row = {"day": "2024-03-31T", "Submit": "01:50:00", "Eligible": "Unknown",
           "Start": "02:30:00", "End": "03:40:00", "Elapsed": "00:10:00"}  # fmt: skip
    jobs = read_sacct(dump(row), timezone=BERLIN)
    assert (jobs.wait[0], jobs.runtime[0]) == (2400.0, 600.0)
    assert jobs.report.count("changed-clock") == 1


def test_a_clock_without_a_zone_is_not_called_utc(dump):
    path = dump({})
    assert daily_counts(read_sacct(path))[1] == "local time of the log, zone not given"
    counts, clock = daily_counts(read_sacct(path, timezone=BERLIN))
    assert clock == BERLIN
    assert counts[12] == 1
    assert daily_counts(read_sacct(path, timezone="UTC"))[1] == "UTC"
    zoned = dump({"Submit": f"{DAY}12:00:00Z", "Start": "1709294460", "End": "1709295060",
                  "Eligible": "Unknown"})  # fmt: skip
    assert daily_counts(read_sacct(zoned))[1] == "UTC"


def test_hours_are_those_of_the_season_in_which_a_job_was_submitted(dump):
    summer = {"JobID": 8, "day": "2024-07-01T", "NNodes": 4, "ReqTRES": "cpu=16,node=4"}
    jobs = read_sacct(dump({}, summer), timezone=BERLIN)
    assert daily_counts(jobs)[0][12] == 2
    assert facts(jobs)["occupancy"]["peak_date"] == "2024-07-01 12:01:00"


def test_tasks_of_an_array_have_one_order_with_and_without_their_own_numbers(dump):
    rows = [
        {"JobID": "7_[4-5]", "JobIDRaw": 7, "State": "PENDING", "Start": "Unknown",
         "End": "Unknown", "Elapsed": "00:00:00", "NodeList": "None assigned"},
        {"JobID": "7_3", "JobIDRaw": 9, "Start": "12:03:00", "End": "12:13:00"},
        {"JobID": "7_1", "JobIDRaw": 8},
    ]  # fmt: skip
    order = ["7_1", "7_3", "7_4", "7_5"]
    assert read_sacct(dump(*rows)).label.tolist() == order
    assert read_sacct(dump(*rows, without=["JobIDRaw"])).label.tolist() == order


def test_waits_from_when_a_job_could_have_started(dump):
    rows = [
        {"JobID": 7, "Eligible": "12:00:40"},
        {"JobID": 8, "Submit": "12:00:30", "Eligible": "12:00:30"},
        {"JobID": 9, "Submit": "12:00:50", "Eligible": "Unknown", "Start": "Unknown",
         "End": "12:02:00", "State": "CANCELLED by 5", "NodeList": "None assigned"},
    ]  # fmt: skip
    jobs = read_sacct(dump(*rows))
    assert jobs.wait.tolist() == [60.0, 30.0, 70.0]
    assert "the wait counts from the submit" in str(jobs.report)
    later = read_sacct(dump(*rows), wait_from="eligible")
    assert later.job.tolist() == [8, 7, 9]
    assert later.wait.tolist() == [30.0, 20.0, 70.0]
    assert "taken as submitted when it became eligible" in str(later.report)
    with pytest.raises(OptionError, match="wait_from 'start' is unknown; use one of submit"):
        read_sacct(dump(*rows), wait_from="start")


def test_names_and_gpus_of_a_completion_log(tmp_path):
    path = tmp_path / "jobcomp.log"
    path.write_text(
        "JobId=7 UserId=ann(1005) GroupId=users(100) Name=run JobState=COMPLETED Partition=batch "
        "TimeLimit=30 StartTime=2024-10-27T02:10:00 EndTime=2024-10-27T02:30:00 NodeList=n[1-2] "
        "NodeCnt=2 ProcCnt=24 WorkDir=/ ReservationName= Gres=gpu:a100:2 Account=phys QOS=normal "
        "WcKey= Cluster=c SubmitTime=2024-10-27T02:50:00 EligibleTime=2024-10-27T02:50:00 "
        "DerivedExitCode=0:0 ExitCode=0:0 \n"
    )
    jobs = read_jobcomp(path, timezone=BERLIN)
    assert jobs.labels("user").tolist() == ["ann"]
    assert jobs.labels("account").tolist() == ["phys"]
    assert jobs.labels("qos").tolist() == ["normal"]
    assert jobs.labels("partition").tolist() == ["batch"]
    assert (jobs.nodes[0], jobs.gpus[0]) == (2, 4)
    assert (jobs.wait[0], jobs.runtime[0]) == (1200.0, 1200.0)
    assert jobs.report.count("changed-clock") == 1


T = 1709294400  # 2024-03-01 12:00:00 UTC


def pbs_line(stamp, kind, job, **told):
    text = " ".join(f"{key}={value}" for key, value in told.items())
    return f"03/01/2024 {stamp};{kind};{job};{text}"


def test_lines_of_pbs_before_the_zone_is_known(tmp_path):
    """The server is in Tokyo: its stamps are nine hours ahead of the Unix times."""
    path = tmp_path / "20240301"
    wanted = {"Resource_List.select": "2:ncpus=4:ngpus=1", "Resource_List.walltime": "01:00:00"}
    path.write_text(
        "\n".join(
            [
                pbs_line("21:00:00", "Q", "6.srv", queue="batch"),
                pbs_line("21:00:05", "Q", "7[3].srv", queue="batch"),
                pbs_line("21:00:10", "D", "6.srv", requestor="ann"),
                pbs_line("21:05:00", "S", "7[3].srv", user="ann", account="phys", queue="batch",
                         ctime=T + 5, qtime=T + 5, start=T + 300, **wanted),
                # Written a quarter of an hour late.
                pbs_line("21:26:40", "E", "7[3].srv", user="ann", account="phys", queue="batch",
                         ctime=T + 5, qtime=T + 5, start=T + 300, end=T + 600, Exit_status=0,
                         **wanted),
                pbs_line("21:30:00", "Q", "8.srv", queue="batch"),
            ]
        )
        + "\n"
    )  # fmt: skip
    told = pbs_accounting(path)
    when = dict(zip(told["run"].tolist(), (told["submit"] - T).tolist(), strict=True))
    assert when == {"6": 0.0, "7[3]": 5.0, "8": 1800.0}
    assert told["end"][0] == T + 10
    jobs = read_pbs(path)
    assert daily_counts(jobs)[1] == "UTC"
    task = jobs.label.tolist().index("7[3]")
    assert jobs.labels("account")[task] == "phys"
    assert (jobs.gpus[task], jobs.requested[task], jobs.nodes[task]) == (2, 8, 2)
    assert jobs.job[task] not in (6, 8)


def test_stamps_of_pbs_alone_are_local_times(tmp_path):
    path = tmp_path / "20240301"
    path.write_text(pbs_line("21:00:00", "Q", "6.srv", queue="batch") + "\n")
    assert "zone not given" in daily_counts(read_pbs(path))[1]
    there = read_pbs(path, timezone="Asia/Tokyo")
    assert there.header.get("UnixStartTime") == str(T)
    assert daily_counts(there)[1] == "Asia/Tokyo"


@pytest.mark.parametrize("format", ["sacct", "pbs"])
def test_events_of_accounting_take_its_options(dump, tmp_path, format):
    path = dump({"Eligible": "12:00:30"})
    if format == "pbs":
        path = tmp_path / "20240301"
        path.write_text(pbs_line("13:00:00", "Q", "6.srv", queue="batch") + "\n")
    options = {"timezone": BERLIN, "wait_from": "eligible"}
    events = read_events(path, format=format, **options)
    late = 30.0 if format == "sacct" else 3600.0
    offset = 3600.0
    assert events.time[0] == T - offset + late


def test_times_of_a_job_in_disorder_are_not_known_to_a_stream(dump):
    from sojourn.adequacy import read_stream

    stream = read_stream(dump({"JobID": 7, "Start": "11:00:00"}, {"JobID": 8}))
    assert np.isnan(stream.start).tolist() == [True, False]


def test_many_records_of_one_job_take_time_in_proportion(dump):
    rows = [
        {
            "JobID": 7,
            "Start": f"13:{k // 60:02d}:{k % 60:02d}",
            "End": "Unknown",
            "State": "REQUEUED",
        }
        for k in range(3_000)
    ]
    jobs = read_log(dump(*rows), format="sacct")
    assert len(jobs) == 3_000
    assert not math.isnan(jobs.submit.sum())
