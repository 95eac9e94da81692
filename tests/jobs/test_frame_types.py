"""Data frames and arrays of every type: numbers, names, times, gaps and masks."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sojourn
from sojourn.errors import InputError, LogError, OptionError
from sojourn.jobs import Jobs, read_parquet


def frame(**columns: object) -> pd.DataFrame:
    return pd.DataFrame({"submit": [0, 5], "runtime": [10, 20], "procs": [1, 2], **columns})


@pytest.mark.parametrize(
    "dtype",
    [
        *("int8", "uint8", "int32", "uint64", "float16", "float32", "float64", "Int64", "UInt8"),
        *("Float32", "int64[pyarrow]", "double[pyarrow]", "object", "str", "category", "bool"),
    ],
)
def test_any_type_of_number(dtype: str) -> None:
    values = pd.Series([1, 0] if dtype == "bool" else [3, 4]).astype(dtype)
    jobs = Jobs.from_pandas(frame(runtime=values, procs=values, user=values))
    assert jobs.runtime.tolist() == jobs.procs.tolist() == jobs.user.tolist()
    assert jobs.procs.tolist() == ([1, 0] if dtype == "bool" else [3, 4])
    assert sojourn.simulate(jobs, 8, clean=()) if dtype != "bool" else True


@pytest.mark.parametrize("dtype", ["Int64", "Float64", "int64[pyarrow]", "float64", "object"])
def test_missing_values_are_unknown(dtype: str) -> None:
    gaps = pd.Series([7, None], dtype=dtype)
    jobs = Jobs.from_pandas(frame(estimate=gaps, requested=gaps, user=gaps))
    assert jobs.estimate.tolist() == [7, -1]
    assert jobs.requested.tolist() == [7, -1]
    assert jobs.user.tolist() == [7, -1]


@pytest.mark.parametrize("dtype", ["object", "str", "category", "string[pyarrow]"])
@pytest.mark.parametrize("column", ["user", "group", "account", "queue", "partition", "qos"])
def test_names_in_frames(dtype: str, column: str) -> None:
    names = pd.Series(["anna", None]).astype(dtype)
    jobs = Jobs.from_pandas(frame(**{column: names}))
    assert jobs.labels(column).tolist() == ["anna", ""]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("arrow", [False, True])
def test_times_in_frames(unit: str, arrow: bool) -> None:
    submit = pd.Series(pd.to_datetime(["2021-03-01 10:00:00", "2021-03-01 10:01:00"]))
    submit = submit.astype(f"datetime64[{unit}]")
    runtime = pd.Series([pd.Timedelta("1h"), pd.NaT]).astype(f"timedelta64[{unit}]")
    if arrow:
        submit = submit.astype(pd.ArrowDtype(pa.timestamp(unit)))
        runtime = runtime.astype(pd.ArrowDtype(pa.duration(unit)))
    for dates in (submit, submit.dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo")):
        jobs = Jobs.from_pandas(frame(submit=dates, runtime=runtime))
        assert jobs.submit.tolist() == [0, 60]
        assert jobs.runtime.tolist() == [3600, -1]
        assert jobs.header.get("UnixStartTime") == "1614592800"


def test_index_and_names_of_frames() -> None:
    odd = frame().set_index(pd.MultiIndex.from_tuples([("a", 1), ("b", 2)]))
    assert Jobs.from_pandas(odd).submit.tolist() == [0, 5]
    assert Jobs.from_pandas(frame()[::-1]).submit.tolist() == [5, 0]
    twice = pd.concat([frame(), frame()[["runtime"]]], axis=1)
    with pytest.raises(OptionError, match="several columns called 'runtime'; keep one"):
        Jobs.from_pandas(twice)
    levels = frame()
    levels.columns = pd.MultiIndex.from_product([["x"], levels.columns])
    with pytest.raises(OptionError, match="several levels; give it plain ones"):
        Jobs.from_pandas(levels)
    with pytest.raises(OptionError, match="a dict is no data frame"):
        Jobs.from_pandas({"submit": [0]})
    periods = frame(submit=pd.period_range("2021-01", periods=2, freq="M"))
    with pytest.raises(OptionError, match="field 'submit': holds values of the type"):
        Jobs.from_pandas(periods)
    with pytest.raises(OptionError, match="field 'runtime', row 1: 'x' is not"):
        Jobs.from_pandas(frame(runtime=[1, "x"]))


def test_a_table_of_arrow_is_a_frame() -> None:
    assert Jobs.from_pandas(pa.Table.from_pandas(frame())).submit.tolist() == [0, 5]


@pytest.mark.parametrize("dtype", ["int64", "uint8", "float32"])
def test_masked_values_are_unknown(dtype: str) -> None:
    masked = np.ma.masked_array(np.array([7, 9], dtype), mask=[False, True])
    jobs = Jobs({"submit": [0, 1], "runtime": masked, "procs": masked, "user": masked})
    assert jobs.runtime.tolist() == jobs.procs.tolist() == jobs.user.tolist() == [7, -1]
    jobs = jobs.replace(estimate=np.ma.masked_all(2))
    assert jobs.estimate.tolist() == [-1, -1]


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (np.array(["2021-01-01"], "M8[s]"), "holds dates; .* use Jobs.from_pandas"),
        (np.array([1], "m8[M]"), "no fixed length"),
        (np.array([1j]), "not numbers"),
        ([[1], [1, 2]], "one value per job"),
        ([{}], "not numbers"),
    ],
)
def test_columns_of_jobs_that_are_no_numbers(values, words: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        Jobs({"submit": [0], "runtime": values, "procs": [1]})
    assert str(caught.value).isprintable()


def test_lengths_of_time_of_numpy_are_seconds() -> None:
    spans = np.array([1500, 2500, "NaT"], "m8[ms]")
    assert Jobs({"submit": [0] * 3, "runtime": spans, "procs": [1] * 3}).runtime.tolist() == [
        1.5,
        2.5,
        -1,
    ]


def test_a_table_without_rows_has_no_jobs(tmp_path) -> None:
    none = frame(submit=pd.to_datetime(["2021-01-01"] * 2), user=["a", "b"], state=["DONE"] * 2)[:0]
    none.to_parquet(tmp_path / "t.parquet")
    for jobs in (Jobs.from_pandas(none), read_parquet(tmp_path / "t.parquet")):
        assert len(jobs) == 0
        assert "user" in jobs.names


def test_a_column_of_starts_that_is_empty(tmp_path) -> None:
    stamps = pd.to_datetime(["2021-01-01", "2021-01-02"])
    for empty in ([None, None], [np.nan, np.nan], [pd.NaT, pd.NaT]):
        jobs = Jobs.from_pandas(frame(submit=stamps, start=empty, end=stamps))
        assert jobs.submit.tolist() == [0, 86400]
        assert jobs.wait.tolist() == [0, 0]
        assert jobs.report.count("never-started") == 2


@pytest.mark.parametrize("column", ["user", "memory", "status", "nodes", "cpu_time"])
@pytest.mark.parametrize("values", [[[1], [2]], [b"a", b"b"], [{"a": 1}, {"a": 2}]])
def test_types_that_hold_neither_numbers_nor_texts_are_left_aside(tmp_path, column, values) -> None:
    pq.write_table(pa.table({**frame(), column: pa.array(values)}), tmp_path / "t.parquet")
    jobs = read_parquet(tmp_path / "t.parquet")
    assert column not in jobs.names
    assert f"not used: {column}" in str(jobs.report)
    with pytest.raises(LogError, match=f"field '{column}': holds values of the type"):
        read_parquet(tmp_path / "t.parquet", {column: column})


@pytest.mark.parametrize("column", ["submit", "interarrival"])
@pytest.mark.parametrize("dtype", ["float64", "Int64", "int64[pyarrow]", "object"])
def test_a_submit_that_is_missing_is_one_clear_line(column: str, dtype: str) -> None:
    times = pd.Series([5, None, 20], dtype=dtype)
    table = pd.DataFrame({column: times, "runtime": [1, 2, 3], "procs": [1, 1, 1]})
    with pytest.raises(sojourn.OptionError, match=f"field '{column}', row 1: nothing is not"):
        Jobs.from_pandas(table)


def test_columns_called_by_numbers_are_mapped() -> None:
    table = pd.DataFrame({0: [0, 5], 1: [10, 20], 2: [1, 2]})
    jobs = Jobs.from_pandas(table, {"submit": 0, "runtime": 1, "procs": 2})
    assert (jobs.submit.tolist(), jobs.procs.tolist()) == ([0, 5], [1, 2])


def test_what_is_no_frame_or_mapping_is_one_clear_line() -> None:
    with pytest.raises(OptionError, match="a Series is no data frame"):
        Jobs.from_pandas(pd.Series([1, 2]))
    with pytest.raises(OptionError, match="columns: give a mapping of our names"):
        Jobs.from_pandas(frame(), ["submit", "runtime", "procs"])
