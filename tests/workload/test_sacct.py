"""The output of sacct, in every shape it comes in."""

from __future__ import annotations

import contextlib
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sojourn.errors import LogError, OptionError
from sojourn.jobs.formats.clock import instant, zone_of
from sojourn.jobs.formats.sacct import read_sacct, sacct_accounting
from sojourn.jobs.formats.slurm_fields import (
    duration,
    expand_nodes,
    fold_nodes,
    job_number,
    kilobytes,
    limit,
    memory,
    tasks,
)

NAMES = "JobID|User|Partition|Submit|Start|End|State|Timelimit|ReqCPUS|AllocCPUS|NNodes|NodeList"
DAY = "2024-03-01T"
NOON = 1709294400.0


def row(job, submit="12:00:00", start="12:01:00", end="12:11:00", state="COMPLETED", **other):
    given = {
        "user": "ann",
        "partition": "batch",
        "limit": "00:30:00",
        "req": "4",
        "alloc": "4",
        "nodes": "1",
        "list": "n1",
        **other,
    }
    times = [text if not text[:1].isdigit() else DAY + text for text in (submit, start, end)]
    values = [str(job), given["user"], given["partition"], *times, state, given["limit"]]
    return "|".join([*values, given["req"], given["alloc"], given["nodes"], given["list"]])


@pytest.fixture
def write(tmp_path):
    def make(*rows, names=NAMES):
        path = tmp_path / "sacct.out"
        path.write_text("\n".join([names, *rows]) + "\n")
        return path

    return make


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1-02:03:04", 93784.0),
        ("02:03:04", 7384.0),
        ("03:04", 184.0),
        ("01:07.402", 67.402),
        ("2-12", 216000.0),
        ("2-12:30", 217800.0),
        ("UNLIMITED", math.inf),
        ("45", 45.0),
    ],
)
def test_durations(text, seconds):
    assert duration(text) == pytest.approx(seconds, abs=1e-12)


@pytest.mark.parametrize("text", ["", "Unknown", "None", "N/A", "Partition_Limit"])
def test_what_is_not_known(text):
    assert math.isnan(duration(text))
    assert math.isnan(limit(text))
    assert math.isnan(instant(text))


def test_limits_in_minutes():
    assert limit("90") == 5400.0
    assert limit("1-00:00:00") == 86400.0


@pytest.mark.parametrize(
    "text",
    [
        "2024-03-01T12:00:00",
        "2024-03-01 12:00:00",
        "2024-03-01T12:00:00Z",
        "2024-03-01T15:00:00+03:00",
        "2024-03-01T07:00:00-0500",
        "1709294400",
        "1709294400.0",
    ],
)
def test_instants(text):
    assert instant(text) == NOON


def test_instants_of_a_zone_follow_its_summer_time():
    berlin = zone_of("Europe/Berlin")
    assert instant("2024-03-01T13:00:00", berlin) == NOON
    night = [instant(f"2024-03-31T0{hour}:00:00", berlin) for hour in (1, 4)]
    assert night[1] - night[0] == 2 * 3600.0


def test_unknown_zone():
    with pytest.raises(OptionError, match="timezone 'Mars/Olympus' is unknown"):
        zone_of("Mars/Olympus")


@pytest.mark.parametrize(
    ("text", "nodes", "procs", "each"),
    [
        ("2800Mc", 1, 12, 2800 * 1024.0),
        ("4Gn", 2, 8, 1024**2),
        ("16G", 1, 16, 1024**2),
        ("4000", 1, 1, 4000 * 1024.0),
        ("0n", 1, 1, -1.0),
        ("", 1, 1, -1.0),
        ("4Gn", -1, 8, -1.0),
    ],
)
def test_memory_per_processor(text, nodes, procs, each):
    assert memory(text, nodes, procs) == each


def test_kilobytes():
    assert kilobytes("114944K") == 114944.0
    assert kilobytes("2048") == 2.0
    assert kilobytes("0.5G") == 512 * 1024.0


def test_folded_nodes_are_written_as_slurm_does():
    assert fold_nodes(("n1", "n2", "n3", "n7", "m01", "login")) == "n[1-3,7],m01,login"
    assert fold_nodes(("n9",)) == "n9"
    assert fold_nodes(()) == ""


@given(
    st.lists(
        st.sampled_from(
            [f"{p}{k}" for p in ("n", "r1-") for k in range(30)] + ["a07", "a08", "a10", "x"]
        ),
        unique=True,
        min_size=1,
    )
)
def test_folded_nodes_unfold_to_the_same(names):
    assert sorted(expand_nodes(fold_nodes(names))) == sorted(names)


def test_lists_of_nodes():
    assert expand_nodes("n[1-3,7],m01") == ("n1", "n2", "n3", "n7", "m01")
    assert expand_nodes("cpn-u23-[17,25],r[0-1]n[08-09]")[-1] == "r1n09"
    assert len(expand_nodes("cpn-q06-04-[01-02],cpn-q07-04-[01-02]")) == 4
    assert expand_nodes("None assigned") == ()
    with pytest.raises(ValueError, match=r"0-99999999"):
        expand_nodes("n[0-99999999]")


def test_numbers_of_jobs():
    assert job_number("12.batch").step == "batch"
    assert job_number("12_3.0").label == "12_3"
    assert job_number("12+1").label == "12+1"
    assert job_number("12_[4-7%2]").pending == "4-7%2"
    assert tasks("1,3,10-20:5%4") == [1, 3, 10, 15, 20]
    with pytest.raises(ValueError, match="batch"):
        job_number("batch")


def test_one_job(write):
    jobs = read_sacct(write(row(7)))
    assert jobs.job.tolist() == [7]
    assert jobs.submit.tolist() == [0.0]
    assert jobs.wait.tolist() == [60.0]
    assert jobs.runtime.tolist() == [600.0]
    assert jobs.estimate.tolist() == [1800.0]
    assert jobs.procs.tolist() == [4]
    assert jobs.status.tolist() == [1]
    assert jobs.header.get("UnixStartTime") == "1709294400"
    assert jobs.header.get("Queue") == "1 batch"
    assert jobs.report.findings == ()


def test_columns_in_any_order_and_small_letters(write):
    ours = read_sacct(write(row(7), row(8, "12:00:05")))
    values = [line.split("|") for line in (row(7), row(8, "12:00:05"))]
    order = [11, 4, 3, 0, 5, 6, 9, 8, 7, 2, 1, 10]
    names = "|".join(NAMES.split("|")[k].lower() for k in order)
    again = read_sacct(write(*("|".join(v[k] for k in order) for v in values), names=names))
    for name in ours.names:
        assert np.array_equal(ours[name], again[name]), name


@pytest.mark.parametrize("delimiter", [";", ",", "\t", "||", "^"])
def test_other_delimiters(write, delimiter):
    lines = [line.replace("|", delimiter) for line in (NAMES, row(7))]
    assert read_sacct(write(lines[1], names=lines[0])).runtime.tolist() == [600.0]


def test_parsable_output_ends_with_a_bar(write):
    jobs = read_sacct(write(row(7) + "|", row(8) + "|", names=NAMES + "|"))
    assert jobs.job.tolist() == [7, 8]
    assert jobs.report.findings == ()


def test_without_names(write, tmp_path):
    path = tmp_path / "bare.out"
    path.write_text(row(7) + "\n")
    with pytest.raises(LogError, match="line 1: has no line of column names with JobID"):
        read_sacct(path)
    assert read_sacct(path, columns=NAMES.split("|")).runtime.tolist() == [600.0]


def test_fixed_width_output_is_refused(write):
    with pytest.raises(LogError, match="run sacct -P"):
        read_sacct(write("7  ann", names="       JobID      User"))


def test_steps_belong_to_their_job(write):
    names = NAMES + "|MaxRSS"
    path = write(
        row(7) + "|",
        row("7.batch", state="FAILED") + "|100K",
        row("7.0") + "|3M",
        row("7.extern") + "|",
        row("8.batch") + "|7K",
        names=names,
    )
    told = sacct_accounting(path)
    assert told["label"].tolist() == ["7"]
    assert told["resident"].tolist() == [3072.0]
    assert told.report.count("orphan-step") == 1


def test_arrays(write):
    names = "JobIDRaw|" + NAMES
    jobs = read_sacct(
        write(
            "100|" + row("90_1"),
            "101|" + row("90_2", "12:00:00"),
            "90|" + row("90_[3-5,9%2]", start="Unknown", end="Unknown", state="PENDING"),
            names=names,
        )
    )
    # Tasks that wait have no numbers of their own yet: they get free ones.
    assert sorted(jobs.job.tolist()) == [100, 101, 102, 103, 104, 105]
    assert sorted(jobs.label.tolist()) == ["90_1", "90_2", "90_3", "90_4", "90_5", "90_9"]
    assert jobs.report.count("waiting-tasks") == 1
    assert jobs.report.count("unfinished") == 4
    assert jobs.runtime.tolist().count(-1.0) == 4


def test_heterogeneous_jobs(write):
    told = sacct_accounting(write(row("12+0"), row("12+1", req="8"), row("12+0.batch")))
    assert told["label"].tolist() == ["12+0", "12+1"]
    assert told["requested"].tolist() == [4, 8]
    assert told.report.count("component") == 2


def test_requeued_jobs_have_several_runs(write):
    told = sacct_accounting(
        write(
            row(7, state="NODE_FAIL"),
            row(7, "12:11:00", "12:20:00", "12:50:00"),
            row(7, "12:11:00", "12:20:00", "12:50:00"),
        )
    )
    assert told["attempt"].tolist() == [0, 1]
    assert told["state"].tolist() == ["NODE_FAIL", "COMPLETED"]
    assert told.report.count("requeued") == 1
    assert told.report.count("repeated-record") == 1


def test_a_job_seen_waiting_running_and_ended_is_one(write):
    told = sacct_accounting(
        write(
            row(7, start="Unknown", end="Unknown", state="PENDING"),
            row(7, end="Unknown", state="RUNNING"),
            row(7),
        )
    )
    assert told["state"].tolist() == ["COMPLETED"]
    assert told.report.count("repeated-record") == 2


@pytest.mark.parametrize(
    ("start", "nodes"), [("Unknown", "None assigned"), ("12:09:00", "None assigned"), ("None", "")]
)
def test_cancelled_before_start(write, start, nodes):
    path = write(row(7, start=start, end="12:09:00", state="CANCELLED by 1000", list=nodes))
    told = sacct_accounting(path)
    assert np.isnan(told["start"]).all()
    jobs = read_sacct(path)
    assert jobs.wait.tolist() == [540.0]
    assert jobs.runtime.tolist() == [-1.0]
    assert jobs.status.tolist() == [5]
    assert jobs.allocated.tolist() == [-1]
    assert jobs.report.count("never-started") == 1


def test_cancelled_while_running(write):
    jobs = read_sacct(write(row(7, end="12:02:00", state="CANCELLED by 1000")))
    assert (jobs.wait[0], jobs.runtime[0], jobs.status[0]) == (60.0, 60.0, 5)
    assert jobs.report.count("never-started") == 0


def test_cancelled_at_its_start_without_a_word_on_nodes(write):
    names = "JobID|Submit|Start|End|State"
    path = write(f"7|{DAY}12:00:00|{DAY}12:05:00|{DAY}12:05:00|CANCELLED by 0", names=names)
    jobs = read_sacct(path, width="requested")
    assert jobs.report.count("cancelled-at-start") == 1
    assert jobs.runtime.tolist() == [-1.0]


def test_clusters_number_their_jobs_each_for_itself(write):
    names = NAMES + "|Cluster|Suspended"
    told = sacct_accounting(
        write(row(7) + "|east|00:00:00", row(7) + "|west|00:01:00", names=names)
    )
    assert told["label"].tolist() == ["east:7", "west:7"]
    assert told["attempt"].tolist() == [0, 0]
    assert told.report.count("suspended") == 1


@pytest.mark.parametrize(("column", "value"), [("AllocTRES", ""), ("AllocNodes", "0")])
def test_never_started_by_what_was_allocated(write, column, value):
    names = f"JobID|Submit|Start|End|State|NNodes|{column}"
    times = f"{DAY}12:00:00|{DAY}12:05:00|{DAY}12:05:00"
    told = sacct_accounting(write(f"7|{times}|CANCELLED by 0|1|{value}", names=names))
    assert np.isnan(told["start"]).all()
    assert told.report.count("cancelled-at-start") == 0


def test_no_limit_and_that_of_the_partition(write):
    jobs = read_sacct(write(row(7, limit="UNLIMITED"), row(8, limit="Partition_Limit")))
    assert jobs.estimate.tolist() == [-1.0, -1.0]
    assert jobs.report.count("unlimited") == 1


def test_elapsed_for_a_missing_end_and_raw_limits(write):
    names = "JobID|Submit|Start|Elapsed|State|TimelimitRaw|ReqTRES|AllocTRES"
    jobs = read_sacct(
        write(
            f"7|{DAY}12:00:00|{DAY}12:01:00|1-00:00:00|TIMEOUT|1440"
            "|billing=8,cpu=8,mem=16G,node=2|cpu=16,node=2",
            names=names,
        ),
        width="max",
    )
    assert jobs.runtime.tolist() == [86400.0]
    assert jobs.estimate.tolist() == [86400.0]
    assert (jobs.requested[0], jobs.allocated[0], jobs.procs[0]) == (8, 16, 16)


def test_widths(write):
    path = write(row(7, req="16", alloc="576", nodes="16"))
    assert [
        int(read_sacct(path, width=w).procs[0]) for w in ("requested", "allocated", "nodes")
    ] == [
        16,
        576,
        16,
    ]
    with pytest.raises(OptionError, match="width 'node' is unknown; did you mean 'nodes'"):
        read_sacct(path, width="node")


def test_texts_with_delimiters(write):
    names = "JobID|JobName|Submit|Start|End|State|Constraints|NodeList"
    times = f"{DAY}12:00:00|{DAY}12:01:00|{DAY}12:02:00|COMPLETED"
    told = sacct_accounting(
        write(
            f"1|plain|{times}||n1",
            f"2|a|b||c|{times}|cpu-a|cpu-b|n2",
            f"3||{times}|x|n3",
            names=names,
        )
    )
    assert told["node_list"].tolist() == ["n1", "n2", "n3"]
    assert told["end"].tolist() == [NOON + 120.0] * 3
    assert told.report.count("joined-row") == 1


def test_lists_between_commas(write):
    names = "JobID,Partition,Submit,Start,End,State,NodeList,AllocTRES,JobName"
    times = f"{DAY}12:00:00,{DAY}12:01:00,{DAY}12:02:00,COMPLETED"
    told = sacct_accounting(
        write(
            f'1,a,{times},"n[1-2,5],m1",cpu=4,node=4,x'.replace('"', ""),
            f"2,a,b,{times},n1,billing=3,cpu=2,node=1,y",
            names=names,
        )
    )
    assert told["node_list"].tolist() == ["n[1-2,5],m1", "n1"]
    assert told["allocated"].tolist() == [4, 2]
    assert told["queue"].tolist() == ["a", "a,b"]


def test_files_put_together_repeat_their_names(write):
    jobs = read_sacct(write(row(7), NAMES, row(8)))
    assert jobs.job.tolist() == [7, 8]
    assert jobs.report.findings == ()


def test_memory_that_slurm_could_not_write(write):
    jobs = read_sacct(write(row(7) + "|16?", names=NAMES + "|ReqMem"))
    assert jobs.memory.tolist() == [-1.0]


@given(st.data())
def test_damaged_files_are_read_or_refused(tmp_path_factory, data):
    """Whatever becomes of some characters, the answer is jobs or a complaint."""
    text = "\n".join([NAMES, row(7), row("7.batch"), row("8_[1-3%2]"), row("9_4"), ""])
    damaged = list(text)
    for _ in range(data.draw(st.integers(1, 6))):
        place = data.draw(st.integers(0, len(damaged) - 1))
        damaged[place] = data.draw(st.sampled_from(["", "|", "\n", "9", "x", "-", "[", "9" * 30]))
    path = tmp_path_factory.mktemp("damaged") / "sacct.out"
    path.write_text("".join(damaged))
    with contextlib.suppress(LogError):
        assert len(read_sacct(path)) > 0


def test_texts_with_line_breaks(write):
    names = "JobID|Submit|SubmitLine|Start|End|State|JobName"
    first = f"1|{DAY}12:00:00|sbatch --wrap=if true\n then\n\n a | b\n fi"
    rest = f"|{DAY}12:01:00|{DAY}12:02:00|COMPLETED|one"
    second = f"2|{DAY}12:00:00|sbatch x|{DAY}12:01:00|{DAY}12:03:00|FAILED|two"
    told = sacct_accounting(write(first + rest, second, names=names))
    assert told["job"].tolist() == [1, 2]
    assert (told["end"] - told["start"]).tolist() == [60.0, 120.0]
    assert told["line"].tolist() == [2, 7]
    assert told.report.count("joined-row") == 1


def test_broken_rows_are_skipped_and_counted(write):
    path = write(row(7), "8|ann|batch", row(9, start="12:99"), row("x"), row(10), row(11) + "|y")
    jobs = read_sacct(path)
    assert jobs.job.tolist() == [7, 10]
    assert jobs.report.count("too-few-fields") == 1
    assert jobs.report.count("bad-field") == 2
    assert jobs.report.count("too-many-fields") == 1
    with pytest.raises(LogError, match=r"line 3: 3 fields for 12 columns"):
        read_sacct(path, strict=True)


def test_bad_fields_are_named(write):
    with pytest.raises(LogError, match=r"line 2, field 'start': '2024-03-01T25:00:00' is no value"):
        read_sacct(write(row(7, start="25:00:00")), strict=True)
    with pytest.raises(LogError, match=r"line 2, field 'reqcpus': 'many'"):
        read_sacct(write(row(7, req="many")))


@pytest.mark.parametrize("missing", ["Submit", "Start", "JobID"])
def test_missing_columns(write, missing):
    names = NAMES.split("|")
    values = row(7).split("|")
    keep = [k for k, name in enumerate(names) if name != missing]
    path = write("|".join(values[k] for k in keep), names="|".join(names[k] for k in keep))
    with pytest.raises(LogError, match="sacct -P"):
        read_sacct(path)


def test_times_out_of_order_are_not_made_up(write):
    jobs = read_sacct(write(row(7, start="11:00:00"), row(8, end="11:00:00")))
    assert jobs.wait.tolist() == [-1.0, 60.0]
    assert jobs.runtime.tolist()[1] == -1.0
    assert jobs.report.count("disordered-times") == 2


def test_jobs_submitted_together_are_in_the_order_of_their_numbers(write):
    jobs = read_sacct(write(row(9), row(7), row(8)))
    assert jobs.job.tolist() == [7, 8, 9]


@pytest.mark.parametrize("text", ["", "\n\n", "JobID|Submit|Start|End\n", "\0\0", "nothing here\n"])
def test_files_that_hold_no_job(tmp_path, text):
    path = tmp_path / "x.out"
    path.write_text(text)
    with pytest.raises(LogError):
        read_sacct(path)
