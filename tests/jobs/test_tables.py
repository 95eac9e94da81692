"""Tables of others: their names for columns, dates, lengths of time, states and amounts."""

from __future__ import annotations

import datetime as dt

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sojourn
from sojourn.errors import LogError, OptionError
from sojourn.jobs import SCHEMA, Jobs, read_csv, read_log, read_parquet
from sojourn.jobs.formats._columns import SYNONYMS, synonym_of
from sojourn.jobs.log import machine_size, read_jobs

CENTRE = """\
job_id,user,account,partition,qos,wallclock_req,nodes_req,processors_req,gpus_req,mem_req,\
submit_time,start_time,end_time,run_time,state,name
101,anna,phys,short,normal,1-00:00:00,1,36,0,90G,2021-03-01 10:00:00,2021-03-01 10:00:30,\
2021-03-01 11:00:30,3600,COMPLETED,a job
102,bo,chem,short,high,04:00:00,2,72,4,1000Mc,2021-03-01 10:00:10.5,2021-03-01 10:10:10.5,\
2021-03-01 10:20:10.5,600,FAILED,"b, c"
103,anna,phys,long,normal,UNLIMITED,1,1,,,2021-03-01 10:00:20,,2021-03-01 10:05:20,,\
CANCELLED by 1001,
"""


def written(tmp_path, text: str, name: str = "t.csv"):
    path = tmp_path / name
    path.write_text(text)
    return path


def test_the_table_of_a_centre_is_read_without_an_option(tmp_path) -> None:
    jobs = read_log(written(tmp_path, CENTRE))
    assert jobs.job.tolist() == [101, 102, 103]
    assert jobs.submit.tolist() == [0.0, 10.5, 20.0]
    assert jobs.header.get("UnixStartTime") == "1614592800"
    assert jobs.wait.tolist() == [30.0, 600.0, 300.0]
    assert jobs.runtime.tolist() == [3600.0, 600.0, -1.0]
    assert jobs.estimate.tolist() == [86400.0, 14400.0, -1.0]
    assert jobs.procs.tolist() == jobs.requested.tolist() == [36, 72, 1]
    assert jobs.nodes.tolist() == [1, 2, 1]
    assert jobs.gpus.tolist() == [0, 4, -1]
    assert jobs.memory.tolist() == [90 * 1024**2 / 36, 1000 * 1024, -1.0]
    assert jobs.status.tolist() == [1, 0, 5]
    for column, names in {
        "user": ["anna", "bo", "anna"],
        "account": ["phys", "chem", "phys"],
        "partition": ["short", "short", "long"],
        "qos": ["normal", "high", "normal"],
    }.items():
        assert jobs.labels(column).tolist() == names
    said, never = jobs.report.findings
    assert said.rule == "columns"
    assert "submit from submit_time, start from start_time" in said.what
    assert said.what.endswith("; not used: name")
    assert (never.rule, never.count, never.first) == ("never-started", 1, (103,))
    assert len(sojourn.simulate(jobs, 72).jobs) == 2


def test_dates_in_a_time_zone_and_with_one(tmp_path) -> None:
    text = "submit,start,end,procs\n{0},{0},2021-03-01T12:00:00Z,1\n"
    local = written(tmp_path, text.format("2021-03-01T12:00:00"))
    assert read_csv(local).runtime.tolist() == [0.0]
    berlin = read_csv(local, timezone="Europe/Berlin")
    assert berlin.runtime.tolist() == [3600.0]
    assert berlin.header.get("UnixStartTime") == "1614596400"
    moscow = read_csv(written(tmp_path, text.format("2021-03-01T12:00:00+03:00")))
    assert moscow.runtime.tolist() == [3 * 3600.0]
    with pytest.raises(OptionError, match="timezone 'Berlin' is unknown"):
        read_csv(local, timezone="Berlin")
    frame = pd.DataFrame({"submit": [dt.datetime(2021, 3, 1, 12)], "runtime": 5, "procs": 1})
    assert Jobs.from_pandas(frame, timezone="Europe/Berlin").header == berlin.header
    frame.to_parquet(tmp_path / "z.parquet")
    zoned = read_log(tmp_path / "z.parquet", timezone="Europe/Berlin")
    assert zoned.header == berlin.header


@pytest.mark.parametrize(
    "date", ["2021-02-11T23:36:19+01:00", "20210211T233619+0100", "2021-02-11T22:36:19Z"]
)
def test_a_date_that_names_its_zone_is_not_local(tmp_path, date: str) -> None:
    path = tmp_path / "zoned.csv"
    path.write_text(f"submit,runtime,procs\n{date},1,1\n")
    assert list(read_csv(path).header) == ["; UnixStartTime: 1613082979"]


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York", "Asia/Kolkata", "UTC"])
def test_dates_of_numpy_are_those_of_text_over_a_year(tmp_path, zone: str) -> None:
    stamps = pd.date_range("2021-01-01", "2022-01-01", freq="37min").to_numpy()
    table = pd.DataFrame({"submit": stamps, "runtime": 1, "procs": 1})
    table.to_csv(tmp_path / "t.csv", index=False)
    by_text = read_csv(tmp_path / "t.csv", timezone=zone)
    by_type = Jobs.from_pandas(table, timezone=zone)
    assert by_text.header == by_type.header
    assert by_text.submit.tolist() == by_type.submit.tolist()


@pytest.mark.parametrize(
    ("written_as", "seconds"),
    [
        ("90", 90),
        ("90.5", 90.5),
        ("1-02:03:04", 93784),
        ("02:03:04", 7384),
        ("100:00:00", 360000),
        ("1 day, 2:03:04", 93784),
        ("0 days 01:02:03.500000", 3723.5),
        ("01:07.402", 67.402),
        ("90 min", 5400),
        ("1.5h", 5400),
        ("2 days", 172800),
        ("", -1),
        ("NaN", -1),
        ("Unknown", -1),
        ("-1", -1),
    ],
)
def test_lengths_of_time(tmp_path, written_as: str, seconds: float) -> None:
    path = written(tmp_path, f'submit,runtime,procs,estimate\n0,"{written_as}",1,UNLIMITED\n')
    jobs = read_csv(path)
    assert (jobs.runtime.tolist(), jobs.estimate.tolist()) == ([seconds], [-1])


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("runtime", "12:34", "'12:34' is not a number of seconds or a length of time such as"),
        ("runtime", "90 parsecs", "'90 parsecs' is not"),
        ("runtime", "1,024", "'1,024' is not a number"),
        ("submit", "02/11/2021 10:00", "or a date such as 2021-02-11T22:36:19"),
        ("submit", "2021-13-01", "'2021-13-01' is not"),
        ("submit", "9" * 5000, "is not a number"),
        ("runtime", "9" * 5000, "is not a number"),
        ("procs", "9" * 5000, "is not a whole number"),
        ("procs", "4 cores", "'4 cores' is not a whole number"),
        ("memory", "1,024", "'1,024' is not an amount of memory such as 4G"),
    ],
)
def test_values_that_are_none_are_one_clear_line(tmp_path, field, value, words) -> None:
    good = {"submit": "0", "runtime": "1", "procs": "1", "memory": "4G"}
    rows = [good, {**good, field: value}]
    lines = ["submit,runtime,procs,memory"]
    lines += [",".join(f'"{cell}"' for cell in row.values()) for row in rows]
    with pytest.raises(LogError, match=words) as caught:
        read_csv(written(tmp_path, "\n".join(lines)))
    assert (caught.value.line, caught.value.field) == (3, field)
    assert len(str(caught.value)) < 300


def test_dates_and_numbers_do_not_mix(tmp_path) -> None:
    mixed = "submit,runtime,procs\n2021-01-01,1,1\n5,1,1\n"
    with pytest.raises(LogError, match="line 3, field 'submit': '5' is not"):
        read_csv(written(tmp_path, mixed))
    apart = "submit,start,end,procs\n2021-01-01,5,6,1\n"
    with pytest.raises(LogError, match="'start': holds numbers, and 'submit' does not"):
        read_csv(written(tmp_path, apart))


def test_start_and_end_as_numbers(tmp_path) -> None:
    text = "submit,start,end,cores\n10,15,40,2\n20,-1,30,2\n30,25,20,1\n40,,,1\n"
    jobs = read_csv(written(tmp_path, text))
    assert jobs.submit.tolist() == [10, 20, 30, 40]
    assert jobs.wait.tolist() == [5, 10, -1, -1]
    assert jobs.runtime.tolist() == [25, -1, -1, -1]
    rules = {finding.rule: finding.first for finding in jobs.report.findings}
    assert rules["never-started"] == (2,)
    assert rules["disordered-times"] == (3,)
    assert rules["unfinished"] == (4,)


def test_wait_and_runtime_of_their_own_come_first(tmp_path) -> None:
    text = "submit,start,end,wait,runtime,procs\n0,5,9,6,7,1\n0,5,9,,,1\n"
    jobs = read_csv(written(tmp_path, text))
    assert (jobs.wait.tolist(), jobs.runtime.tolist()) == ([6, 5], [7, 4])


@pytest.mark.parametrize("per_second", [1_000, 1_000_000, 1_000_000_000])
def test_fractions_of_a_second_are_not_taken_for_seconds(tmp_path, per_second: int) -> None:
    submit = [per_second * (1709251200 + 60 * k) for k in range(3)]
    table = pd.DataFrame({"submit_time": submit, "run_time": [60] * 3, "cores": [1] * 3})
    path = tmp_path / "t.csv"
    table.to_csv(path, index=False)
    with pytest.raises(LogError, match=r"field 'submit': 1709251200\d* is no time in seconds"):
        read_csv(path)
    with pytest.raises(OptionError, match="in milliseconds or less, divide all times"):
        Jobs.from_pandas(table)
    ours = Jobs.from_pandas(table.rename(columns={"submit_time": "submit"}))
    assert ours.report.count("late-submits") == 3  # kept: who writes our names knows our units
    jobs = Jobs.from_pandas(table.assign(submit_time=table.submit_time // per_second))
    assert jobs.submit.tolist() == [1709251200, 1709251260, 1709251320]


@pytest.mark.parametrize("column", ["run_time", "wait_time"])
def test_times_that_their_dates_contradict_are_said(column: str) -> None:
    start = pd.Timestamp("2024-03-01 10:10:00")
    table = pd.DataFrame(
        {
            "submit_time": ["2024-03-01 10:00:00"] * 4,
            "start_time": [start] * 4,
            "end_time": start + pd.to_timedelta([600] * 4, unit="s"),
            "cores": 1,
            column: [10, 600, 600.7, None],  # minutes, seconds, rounding, not known
        }
    )
    _, said = Jobs.from_pandas(table).report.findings
    assert (said.rule, said.count, said.first) == ("differing-times", 1, (1,))
    assert "seconds" in said.what


def test_a_mapping_that_is_not_complete_is_completed(tmp_path) -> None:
    path = written(tmp_path, "Submit,Elapsed (s),width,User\n0,5,3,anna\n1,6,4,bo\n")
    with pytest.raises(
        LogError, match="no column 'procs'; name it with columns, such as procs=NAME"
    ):
        read_csv(path)
    jobs = read_csv(path, {"procs": "width"})
    assert jobs.runtime.tolist() == [5, 6]
    assert jobs.labels("user").tolist() == ["anna", "bo"]
    whole = read_csv(path, {"procs": "width", "submit": "Submit", "runtime": "Elapsed (s)"})
    assert "user" not in whole.names
    assert whole.report.findings == ()


def test_nodes_taken_for_processors_are_not_counted_beside_cores() -> None:
    table = pd.DataFrame(
        {"submit_time": [0], "wait": [0], "run_time": [3600], "NODES_USED": [2], "CORES_USED": [64]}
    )
    by_nodes = Jobs.from_pandas(table, {"procs": "NODES_USED"})
    assert by_nodes.names == ("job", "submit", "wait", "runtime", "procs")
    assert sojourn.waits(by_nodes, "width")["processor_hours"].tolist() == [2.0]
    by_cores = Jobs.from_pandas(table)
    assert (by_cores.procs.tolist(), by_cores.nodes.tolist()) == ([64], [2])
    assert sojourn.waits(by_cores, "width")["processor_hours"].tolist() == [64.0]


@pytest.mark.parametrize("name", ["run_ms", "elapsed_hours", "Wall (min)", "runMinutes", "t [h]"])
def test_units_in_names_of_mapped_columns_are_said(name: str) -> None:
    table = pd.DataFrame({"submit": [0], name: [90], "procs": [1]})
    said = Jobs.from_pandas(table, {"runtime": name}).report.findings[-1]
    assert str(said) == (f"keep units: 1 column, {name}: plain numbers in it are taken as seconds")
    plain = table.rename(columns={name: "run_s"})
    assert Jobs.from_pandas(plain, {"runtime": "run_s"}).report.count("units") == 0


def test_empty_lines_before_the_names(tmp_path) -> None:
    text = "\n  \nsubmit,runtime,procs\n\n0,1,2\n"
    assert read_csv(written(tmp_path, text)).procs.tolist() == [2]


def test_other_separators_are_seen(tmp_path) -> None:
    for sep in ";\t|":
        text = "submit,runtime,procs\n0,1,2\n".replace(",", sep)
        assert read_csv(written(tmp_path, text)).procs.tolist() == [2]


def test_text_where_others_keep_lists_does_not_refuse_a_table(tmp_path) -> None:
    text = "job,submit,runtime,procs,nodes,executable,queue\n1_2,0,1,2,n[1-3],a.out,-1\n"
    jobs = read_csv(written(tmp_path, text))
    assert jobs.job.tolist() == [1]
    assert jobs.label.tolist() == ["1_2"]
    assert jobs.names == ("job", "submit", "runtime", "queue", "procs")
    assert "label from job; not used: executable, nodes" in jobs.report.lines()[1]
    with pytest.raises(LogError, match="field 'nodes'"):
        read_csv(tmp_path / "t.csv", {"nodes": "nodes"})


def test_steps_are_sent_to_their_own_reader(tmp_path) -> None:
    text = "JobID,Submit,Start,End,ReqCPUS\n7,{0},{0},{0},1\n7.batch,{0},{0},{0},1\n"
    path = written(tmp_path, text.format("2021-03-01T12:00:00"))
    with pytest.raises(LogError, match=r"line 3, field 'job': '7.batch' is a step"):
        read_csv(path)
    rows = [f"{k}_1,0,1,1" for k in range(20_000)]
    text = "\n".join(["job,submit,runtime,procs", *rows, "7_1.extern,0,1,1"])
    with pytest.raises(LogError, match=r"line 20002, field 'job': '7_1.extern' is a step"):
        read_csv(written(tmp_path, text))


def test_memory_without_a_unit_is_taken_in_ours_only(tmp_path) -> None:
    text = "submit,runtime,procs,{}\n0,1,2,2048\n0,1,2,2M\n"
    assert read_csv(written(tmp_path, text.format("memory"))).memory.tolist() == [2048, 1024]
    theirs = read_csv(written(tmp_path, text.format("mem_req")))
    assert theirs.memory.tolist() == [-1, 1024]
    assert (theirs.report.findings[-1].rule, theirs.report.findings[-1].first) == ("no-unit", (1,))


def test_numbers_of_users_stay_and_names_are_numbered(tmp_path) -> None:
    text = "submit,runtime,procs,user\n0,1,1,7\n0,1,1,-1\n0,1,1,{}\n"
    assert read_csv(written(tmp_path, text.format("3.0"))).user.tolist() == [7, -1, 3]
    named = read_csv(written(tmp_path, text.format('"an\nna"')))
    assert named.user.tolist() == [1, -1, 2]
    assert named.labels("user").tolist() == ["7", "", "an na"]


def test_every_synonym_stands_for_one_column() -> None:
    names = [name for group in SYNONYMS.values() for name in group]
    assert len(names) == len(set(names))
    ours = {name.replace("_", "") for name in (*SCHEMA, "start", "end", "interarrival")}
    assert not ours & set(names)
    assert set(SYNONYMS) <= {*SCHEMA, "start", "end"}
    for name, group in SYNONYMS.items():
        for other in group:
            assert synonym_of(name, ["x", other.upper()]) == other.upper()


UNITS = [
    ("timestamp[ns]", pa.timestamp("ns"), 10**9),
    ("timestamp[ms]", pa.timestamp("ms"), 10**3),
    ("timestamp[s, tz]", pa.timestamp("s", "Europe/Moscow"), 1),
]


@pytest.mark.parametrize(
    ("kind", "unit"), [(k, u) for _, k, u in UNITS], ids=[n for n, *_ in UNITS]
)
def test_parquet_dates_and_durations_keep_their_units(tmp_path, kind, unit) -> None:
    at = [1614592800, 1614592810]
    table = pa.table(
        {
            "submit": pa.array([t * unit for t in at], kind),
            "start": pa.array([(t + 810) * unit for t in at], kind),
            "runtime": pa.array([3600 * 10**6, None], pa.duration("us")),
            "procs": pa.array([4, None], pa.uint8()),
            "user": pa.array(["anna", "bo"]).dictionary_encode(),
            "estimate": pa.array([7200, 7200], pa.decimal128(10, 2)),
        }
    )
    pq.write_table(table, tmp_path / "t.parquet")
    jobs = read_parquet(tmp_path / "t.parquet")
    assert jobs.submit.tolist() == [0, 10]
    assert jobs.wait.tolist() == [810, 810]
    assert jobs.runtime.tolist() == [3600, -1]
    assert jobs.procs.tolist() == [4, -1]
    assert jobs.estimate.tolist() == [7200, 7200]
    assert jobs.labels("user").tolist() == ["anna", "bo"]
    assert jobs.header.get("UnixStartTime") == "1614592800"


@pytest.mark.parametrize(
    ("column", "values", "words"),
    [
        ("procs", pa.array([dt.date(2021, 1, 1)] * 2), "'procs': holds dates"),
        ("runtime", pa.array([dt.date(2021, 1, 1)] * 2), "'runtime': holds dates"),
        ("runtime", pa.array([dt.time(1)] * 2), "'runtime': holds values of the type time"),
        ("runtime", pa.array([[1], [2]]), "'runtime': holds values of the type list"),
        ("submit", pa.array([1.0, None]), "'submit': row 2: nothing is not a number"),
        ("runtime", pa.array([1.0, float("inf")]), "'runtime': row 2: inf is not a number"),
        ("procs", pa.array([1, 2**64 - 1], pa.uint64()), "'procs': row 2: 18446744073709551615"),
        ("procs", pa.array([1.5, 2.0]), "'procs': row 1: 1.5 is not a whole number"),
        ("procs", pa.array(["1", "many"]), "'procs': row 2: 'many' is not a whole number"),
    ],
)
def test_parquet_columns_that_do_not_fit_are_one_clear_line(tmp_path, column, values, words):
    columns = {"submit": pa.array([0, 1]), "runtime": pa.array([1, 1]), "procs": pa.array([1, 1])}
    pq.write_table(pa.table({**columns, column: values}), tmp_path / "t.parquet")
    with pytest.raises(LogError, match=words) as caught:
        read_parquet(tmp_path / "t.parquet")
    assert str(caught.value).isprintable()


def test_date32_is_a_day(tmp_path) -> None:
    days = pa.array([dt.date(2021, 1, 1), dt.date(2021, 1, 3)])
    table = pa.table({"submit": days, "runtime": [1, 1], "procs": [1, 1]})
    pq.write_table(table, tmp_path / "t.parquet")
    assert read_parquet(tmp_path / "t.parquet").submit.tolist() == [0, 172800]


def test_the_time_zone_reaches_tables(tmp_path) -> None:
    path = written(tmp_path, "submit,runtime,procs\n2021-03-01T12:00:00,1,1\n")
    jobs = read_jobs(path, timezone="Europe/Berlin")
    assert jobs.header.get("UnixStartTime") == "1614596400"
    assert jobs.header.get("TimeZoneString") == "Europe/Berlin"
    assert read_jobs(path).header.get("TimeZoneString") is None
    zoned = written(tmp_path, "submit,runtime,procs\n2021-03-01T12:00:00Z,1,1\n")
    assert list(read_jobs(zoned).header) == ["; UnixStartTime: 1614600000"]


def test_what_a_run_wrote_is_read_again(tmp_path) -> None:
    jobs = Jobs({"submit": [0, 5, 6], "runtime": [10, 20, 30], "procs": [4, 4, 9]})
    table = sojourn.simulate(jobs, 4).jobs
    table.to_csv(tmp_path / "jobs.csv", index=False)
    again = read_csv(tmp_path / "jobs.csv")
    assert again.job.tolist() == [1, 2, 3]
    assert again.submit.tolist() == [0, 5, 6]
    assert again.wait.tolist() == [0, 5, -1]
    assert again.runtime.tolist()[:2] == [10, 20]
    assert again.procs.tolist() == [4, 4, 9]


def test_jobs_with_names_keep_them(tmp_path) -> None:
    rows = [f"{k},0,1,1" for k in range(1, 20_001)] + ["7_1,0,1,1", "7_2,0,1,1"]
    jobs = read_csv(written(tmp_path, "\n".join(["JobID,submit,runtime,procs", *rows])))
    assert jobs.job[-2:].tolist() == [20_001, 20_002]
    assert jobs.label[[0, -2, -1]].tolist() == ["1", "7_1", "7_2"]
    jobs.to_parquet(tmp_path / "t.parquet")
    again = read_parquet(tmp_path / "t.parquet")
    assert again.label.tolist() == jobs.label.tolist()
    assert again.report.findings == ()
    long = written(tmp_path, f"JobID,submit,runtime,procs\n{'x' * 999},0,1,1\n")
    assert not read_csv(long).has_labels


@pytest.mark.parametrize("said", ["abc", "-5", "9" * 20])
def test_a_size_that_is_none_is_not_called_absent(said: str) -> None:
    jobs = Jobs({"submit": [0], "runtime": [1], "procs": [1]}, header=[f"MaxProcs: {said}"])
    with pytest.raises(OptionError, match=f"MaxProcs '{said}' is no size of a machine"):
        machine_size(jobs, None, "--procs")
    with pytest.raises(OptionError, match="no MaxProcs in its header; give --procs"):
        machine_size(jobs.replace(header=[]), None, "--procs")


def test_the_jobs_of_batsim_are_a_log(tmp_path):
    """What it calls allocated are numbers of hosts, not how many."""
    path = tmp_path / "out_jobs.csv"
    for hosts, wide in (("processors", "0-3"), ("resources", "20 19 7 8")):
        path.write_text(
            f"jobID,submission_time,requested_number_of_{hosts},requested_time,success,"
            f"starting_time,execution_time,finish_time,waiting_time,allocated_{hosts}\n"
            f"7,11.5,4,64,1,12.5,4.25,16.75,1.0,{wide}\n8,27.0,1,149,1,27.0,88.5,115.5,0.0,0\n"
        )
        jobs = sojourn.read_csv(path)
        assert jobs.procs.tolist() == [4, 1]
        assert jobs.wait.tolist() == [1.0, 0.0]
        assert jobs.runtime.tolist() == [4.25, 88.5]
        assert jobs.estimate.tolist() == [64, 149]
