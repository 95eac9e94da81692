"""Files that hold more than memory does, and numbers longer than any computer's."""

from __future__ import annotations

import gzip
import lzma
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sojourn.errors import LogError, OptionError
from sojourn.jobs import Header, Jobs, read_csv, read_log, read_swf
from sojourn.jobs.facts import header_fields

ROW = "1 0 -1 10 4 -1 -1 4 10 -1 1 1 1 -1 1 -1 -1 -1\n"


@pytest.mark.parametrize(
    ("value", "size"),
    [
        ("1,024", 1024),
        ("1'024 processors", 1024),
        ("12,345,678", 12345678),
        ("128", 128),
        ("128.0", 128),
        ("128, of which 2 are spare", 128),
        ("128 (of 130)", 128),
        ("1.024", 4),
        ("12,34", 4),
        ("1,0244", 4),
        ("0", 4),
        ("-5", 4),
        ("9" * 5000, 4),
        ("12x", 4),
    ],
)
def test_the_size_of_the_machine_is_read_as_a_whole(value: str, size: int) -> None:
    jobs = Jobs({"submit": [0], "runtime": [1], "procs": [4]}, header=[f"MaxProcs: {value}"])
    assert jobs.max_procs == size


def test_the_first_line_with_a_size_counts() -> None:
    header = Header(["MaxProcs: 1.5e3", "MaxNodes: 1,024"])
    assert header.number("MaxProcs") is None
    assert header.number("MaxNodes") == 1024


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress, bytes])
def test_a_file_beyond_the_bound_is_one_line(tmp_path, monkeypatch, pack) -> None:
    path = tmp_path / "bomb.swf"
    path.write_bytes(pack(b"; " + b" " * (1 << 24) + b"\n" + ROW.encode()))
    assert len(read_swf(path)) == 1
    monkeypatch.setenv("SOJOURN_LARGEST_LOG", "0.01")
    with pytest.raises(LogError, match=r"holds more than 0.01 GiB; .* SOJOURN_LARGEST_LOG"):
        read_swf(path)


def test_the_bound_stops_before_all_is_unpacked(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("SOJOURN_LARGEST_LOG", "0.02")
    path = tmp_path / "bomb.swf.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        for _ in range(64):
            file.write(bytes(1 << 22))
    import tracemalloc

    tracemalloc.start()
    with pytest.raises(LogError, match="holds more than"):
        read_log(path)
    assert tracemalloc.get_traced_memory()[1] < 1 << 27
    tracemalloc.stop()


@pytest.mark.parametrize("value", ["many", "0", "-1", "nan", "inf"])
def test_a_bound_that_is_none(tmp_path, monkeypatch, value: str) -> None:
    monkeypatch.setenv("SOJOURN_LARGEST_LOG", value)
    (tmp_path / "a.swf").write_text(ROW)
    with pytest.raises(OptionError, match=r"SOJOURN_LARGEST_LOG.*give a number of GiB above 0"):
        read_swf(tmp_path / "a.swf")


def test_rows_of_parquet_are_bounded(tmp_path, monkeypatch) -> None:
    same = np.zeros(100_000)
    table = pa.table({"submit": same, "runtime": same, "procs": same})
    pq.write_table(table, tmp_path / "a.parquet")
    assert len(read_log(tmp_path / "a.parquet")) == 100_000
    monkeypatch.setenv("SOJOURN_LARGEST_LOG", "0.002")
    with pytest.raises(LogError, match="holds 100000 rows, more than fit into memory"):
        read_log(tmp_path / "a.parquet")


@pytest.mark.parametrize("field", range(18))
def test_numbers_of_thousands_of_digits_in_swf(tmp_path, field: int) -> None:
    fields = ROW.split()
    fields[field] = "9" * 5000
    path = tmp_path / "a.swf"
    path.write_text(f"; MaxProcs: {'9' * 5000}\n{ROW}{' '.join(fields)}\n")
    jobs = read_swf(path)
    assert len(jobs) == 1
    assert jobs.report.findings[0].rule == "too-large"
    with pytest.raises(LogError, match="line 3") as caught:
        read_swf(path, strict=True)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("value", ["9" * 5000, "-" + "9" * 5000, "1-" * 999 + "1:1:1"])
@pytest.mark.parametrize("column", ["submit", "runtime", "procs", "memory"])
def test_numbers_of_thousands_of_digits_in_csv(tmp_path, column: str, value: str) -> None:
    row = {"submit": "0", "runtime": "1", "procs": "1", "memory": "1", column: value}
    path = tmp_path / "a.csv"
    path.write_text(",".join(row) + "\n" + ",".join(row.values()) + "\n")
    with pytest.raises(LogError, match=f"line 2, field '{column}'") as caught:
        read_csv(path)
    assert len(str(caught.value)) < 300


def test_names_of_thousands_of_digits_are_names(tmp_path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f"job,submit,runtime,procs,user\n{'9' * 5000},0,1,1,{'9' * 5000}\n")
    jobs = read_csv(path)
    assert (jobs.job.tolist(), jobs.user.tolist()) == ([1], [1])


def test_long_lines_take_no_long_time(tmp_path) -> None:
    """Blanks that one pattern looks at again and again would take minutes."""
    blanks = " " * 120_000
    began = time.process_time()
    assert header_fields(Header([f"; Note: a{blanks}b"]))["Note"].endswith("b")
    path = tmp_path / "a.csv"
    path.write_text(
        f"submit,runtime,procs,user,x{blanks}y\n0,1{blanks},1,a{blanks}b,1{blanks}days\n"
    )
    jobs = read_csv(path)
    assert jobs.labels("user").tolist() == ["a b"]
    path.write_text(f"submit,runtime,procs\n0,1{blanks}dayz,1\n")
    with pytest.raises(LogError, match="field 'runtime'"):
        read_csv(path)
    assert time.process_time() - began < 10


def test_reading_a_table_is_linear(tmp_path) -> None:
    """A hundred times as many names and dates take far less than ten thousand times as long."""

    def spent(count: int) -> float:
        path = tmp_path / "a.csv"
        rows = [f"2021-01-01 00:00:{k % 60:02},1,1,user{k},{k}G" for k in range(count)]
        path.write_text("\n".join(["submit,runtime,procs,user,memory", *rows]))
        began = time.process_time()
        assert len(read_csv(path)) == count
        return time.process_time() - began

    spent(10)
    assert spent(40_000) < 1000 * max(spent(400), 1e-3)
