"""Tables: generic CSV, the datasets of hpcwld, and reading by suffix."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sojourn.errors import InputError, LogError, OptionError
from sojourn.jobs import Jobs, read_csv, read_hpcwld, read_log, read_swf, write_csv, write_log


def table(tmp_path, text: str, name: str = "t.csv"):
    path = tmp_path / name
    path.write_bytes(text.encode())
    return path


def test_equal_names_and_extra_columns(tmp_path) -> None:
    path = table(tmp_path, '"submit",runtime, procs,color\n0,1.5,2,red\n\n1, 2,"3",blue\n')
    jobs = read_csv(path)
    assert jobs.submit.tolist() == [0, 1]
    assert jobs.runtime.tolist() == [1.5, 2]
    assert jobs.procs.tolist() == [2, 3]
    assert jobs.source == str(path)


def test_no_job_is_lost_behind_empty_lines(tmp_path) -> None:
    path = tmp_path / "gap.csv"
    path.write_text("submit,runtime,procs\n0,1,1\n" + "\n" * 40_000 + "5,1,1\n6,x,1\n")
    with pytest.raises(LogError, match="line 40004"):
        read_csv(path)
    path.write_text(path.read_text().replace("x", "1"))
    assert read_csv(path).submit.tolist() == [0, 5, 6]


def test_mapping_and_separator(tmp_path) -> None:
    path = table(tmp_path, "\ufeffgap;t;n\r\n3;10;4\r\n5;20;8.0\r\n7;0;1")
    jobs = read_csv(path, {"interarrival": "gap", "work": "t", "procs": "n"}, sep=";")
    assert jobs.submit.tolist() == [0, 3, 8]
    assert jobs.work.tolist() == [10, 20, 0]
    assert jobs.procs.tolist() == [4, 8, 1]
    assert "runtime" not in jobs.names


@pytest.mark.parametrize(
    ("row", "field", "words"),
    [
        ("0,x,1", "runtime", "'x' is not a number"),
        (",1,1", "submit", "nothing is not a number"),
        ("nan,1,1", "submit", "nothing is not a number"),
        ("0,inf,1", "runtime", "not a number"),
        ('0,"1,024",1', "runtime", "'1,024' is not a number"),
        ('0,1,"1,024"', "procs", "'1,024' is not a whole number"),
        ("0,1_000,1", "runtime", "'1_000' is not a number"),
        ("0,1,1.5", "procs", "not a whole number"),
        ("0,1,1e30", "procs", "not a whole number"),
        ("0,1,99999999999999999999", "procs", "not a whole number"),
        ("1e999,1,1", "submit", "not a number"),
    ],
)
def test_bad_values(tmp_path, row: str, field: str, words: str) -> None:
    path = table(tmp_path, f"submit,runtime,procs\n0,1,1\n\n{row}\n0,1,1\n")
    with pytest.raises(LogError, match=words) as caught:
        read_csv(path)
    assert (caught.value.line, caught.value.field) == (4, field)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("submit,runtime,procs\n", "no job"),
        ("submit,runtime,procs\n1,2\n", "line 2: 2 columns"),
        ("submit,runtime,proc\n1,2,3\n", "no column 'procs'.*did you mean 'proc'"),
        ("a,b\n1,2\n", "no column 'submit'.*it has: 'a', 'b'"),
        ("submit,runtime\0,procs\n", "binary file"),
        ('submit,runtime,procs\n1,2,"3\n', "line 2: is not a table"),
        ('"submit\nx",runtime,procs\n1,2,3\n', "no column 'submit'"),
    ],
)
def test_bad_tables(tmp_path, text: str, message: str) -> None:
    with pytest.raises(LogError, match=message) as caught:
        read_csv(table(tmp_path, text))
    assert "\n" not in str(caught.value)


def test_bad_options(tmp_path) -> None:
    path = table(tmp_path, "submit,runtime,procs\n0,1,1\n")
    with pytest.raises(OptionError, match="did you mean 'runtime'"):
        read_csv(path, {"runtimes": "runtime"})
    with pytest.raises(LogError, match=r"no column 'procz'.*did you mean 'procs'"):
        read_csv(path, {"submit": "submit", "runtime": "runtime", "procs": "procz"})
    with pytest.raises(OptionError, match="sep"):
        read_csv(path, sep="::")


@settings(max_examples=80, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.floats(allow_nan=False, allow_infinity=False),
            st.floats(allow_nan=False, allow_infinity=False),
            st.integers(-(2**63), 2**63 - 1),
        ),
        min_size=1,
        max_size=5,
    )
)
def test_every_value_survives(tmp_path_factory, rows: list) -> None:
    submit, work, procs = zip(*rows, strict=True)
    jobs = Jobs({"submit": submit, "work": work, "procs": procs})
    path = tmp_path_factory.mktemp("csv") / "x.csv.gz"
    write_csv(jobs, path)
    twin = read_csv(path)
    assert twin.names == jobs.names
    for name in jobs.names:
        assert twin[name].tobytes() == jobs[name].tobytes()


def test_reading_and_writing_by_suffix(tmp_path) -> None:
    jobs = Jobs({"submit": [0, 1], "runtime": [2, 3.5], "procs": [4, 5], "estimate": [9, 9]})
    for name in ("a.swf", "a.SWF.gz", "a.swf.xz", "a.csv", "a.csv.gz", "a.parquet"):
        write_log(jobs, tmp_path / name)
        twin = read_log(tmp_path / name)
        assert twin.runtime.tolist() == [2, 3.5], name
        assert twin.procs.tolist() == [4, 5], name
    assert gzip.decompress((tmp_path / "a.csv.gz").read_bytes()).startswith(b"job,submit,")
    plain = tmp_path / "noname"
    write_log(jobs, plain, format="swf", header=["MaxProcs: 7"])
    assert read_log(plain, format="swf", width="max").max_procs == 7


def test_formats_and_options_that_do_not_exist(tmp_path) -> None:
    jobs = Jobs({"submit": [0], "runtime": [2], "procs": [4]})
    with pytest.raises(
        LogError, match=r"suffix '.txt' is that of no format; use one of .swf, .csv"
    ):
        read_log(tmp_path / "a.txt")
    with pytest.raises(LogError, match="suffix '' is that of no format"):
        write_log(jobs, tmp_path / "a.gz")
    with pytest.raises(OptionError, match="did you mean 'parquet'"):
        read_log(tmp_path / "a.swf", format="parket")
    with pytest.raises(OptionError, match="read_swf has no option 'strickt'; did you mean"):
        read_log(tmp_path / "a.swf", strickt=True)
    with pytest.raises(OptionError, match="'hpcwld' can be read but not written"):
        write_log(jobs, tmp_path / "a", format="hpcwld")
    assert issubclass(LogError, InputError)


def test_hpcwld_cleaning(tmp_path) -> None:
    text = (
        '"interarrival","delays","service","cores_used"\n'
        "4,0,9,1\n0,0,9,2\n3,1,0,0\n-5,0,9,3\n0,0,7,1\n0,0,7,4\n1,0,7,5\n"
    )
    path = table(tmp_path, text)
    raw = read_hpcwld(path)
    assert raw.submit.tolist() == [0, 4, 4, 7, 2, 2, 2]
    jobs = read_log(path, format="hpcwld", clean=True)
    assert jobs.job.tolist() == [1, 5, 6, 7, 2, 4]
    assert jobs.submit.tolist() == pytest.approx([0, 2, 2.001, 2.002, 4, 7], abs=1e-12)
    assert jobs.runtime.tolist() == [9, 7, 7, 7, 9, 9]
    assert jobs.wait.tolist() == [0] * 6
    assert [f.rule for f in jobs.report.findings] == [
        "no-procs",
        "unsorted-submits",
        "tied-submits",
    ]
    with pytest.raises(OptionError, match="cores_used, cores_requested"):
        read_hpcwld(path, cores="cores")
    with pytest.raises(LogError, match="no column 'cores_requested'"):
        read_hpcwld(path, cores="cores_requested")


def test_hpcwld_time_begins_with_the_first_customer(data_dir) -> None:
    folder = data_dir / "hpcwld"
    summary = json.loads((folder / "des000_summary.json").read_text())
    for name, count in (("HPC_KRC2", 9_302), ("HPC_KRC", 8_281)):
        jobs = read_hpcwld(folder / f"{name}.csv", clean=True)
        assert len(jobs) == count
        assert jobs.submit[0] == 0
        assert (np.diff(jobs.submit) > 0).all()
        # The last departure at rate 2 is that of a job which did not wait.
        assert (jobs.submit + jobs.runtime / 2).max() == summary[f"{name}|S|alwaysL"]["T"]
    rho = json.loads((folder / "rho_datasets.json").read_text())["HPC_KRC2|cores_used"]
    jobs = read_hpcwld(folder / "HPC_KRC2.csv", clean=True)
    assert (len(jobs) - 1) / jobs.submit[-1] == pytest.approx(rho["lam"], rel=1e-12)
    assert jobs.runtime.mean() == pytest.approx(rho["ES"], rel=1e-12)
    assert (jobs.runtime == 0).any()


def test_hpcwld_interarrivals_agree_with_the_raw_epochs(data_dir) -> None:
    epochs = np.loadtxt(data_dir / "hpcwld" / "X.csv", delimiter=",", skiprows=1)
    served = epochs[epochs[:, 1] > 0][:, 0]
    jobs = read_hpcwld(data_dir / "hpcwld" / "HPC_KRC.csv", cores="cores_requested")
    assert np.array_equal(jobs.submit[:4], served[:4] - served[0])


def test_swf_and_csv_agree(tmp_path, data_dir) -> None:
    jobs = read_swf(data_dir / "swf" / "RICC-2010-2.first100.swf")
    write_csv(jobs, tmp_path / "x.csv")
    twin = read_csv(tmp_path / "x.csv")
    assert twin.names == jobs.names
    assert all(np.array_equal(twin[name], jobs[name]) for name in jobs.names)


def test_names_of_every_column_survive_a_round_trip(tmp_path):
    words = ["anna", "bo, jr", 'the "boss"', "", "7", "-1", "=x", "1-02:03:04", "4G", "été"]
    names = ("user", "group", "account", "queue", "partition", "qos", "features", "after", "site")
    count = len(words)
    columns = {"submit": range(count), "runtime": [1] * count, "procs": [1] * count}
    jobs = Jobs({**columns, **{name: words[k:] + words[:k] for k, name in enumerate(names)}})
    for file in ("x.csv", "x.csv.gz", "x.parquet"):
        write_log(jobs, tmp_path / file)
        again = read_log(tmp_path / file)
        for name in names:
            # A table says with -1 that a value is not known.
            told = [w if w != "-1" else "" for w in jobs.labels(name).tolist()]
            found = [w if w != "-1" else "" for w in again.labels(name).tolist()]
            assert found == told, (file, name)
