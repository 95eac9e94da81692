"""Jobs: columns, views, checks, tables."""

from __future__ import annotations

import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from sojourn.errors import InputError, JobError, LogError, OptionError
from sojourn.jobs import SCHEMA, Header, Jobs


@pytest.fixture
def jobs() -> Jobs:
    return Jobs(
        {"submit": [0, 5, 5, 9], "runtime": [10.5, 20, 30, 40], "procs": [1, 4, 2, 8]},
        header=["; MaxProcs: 16", "; Note: first", "; Note: second"],
        source="four",
    )


def test_columns_have_the_types_of_the_schema(jobs: Jobs) -> None:
    for name, dtype in SCHEMA.items():
        assert jobs[name].dtype == dtype
        assert jobs[name].shape == (4,)
        assert getattr(jobs, name) is jobs[name]
    assert jobs.job.tolist() == [1, 2, 3, 4]
    assert jobs.estimate.tolist() == [-1.0] * 4
    assert jobs.names == ("job", "submit", "runtime", "procs")


def test_work_and_runtime_stand_in_for_each_other(jobs: Jobs) -> None:
    assert jobs.work is jobs.runtime
    only_work = Jobs({"submit": [0], "work": [7], "procs": [1]})
    assert only_work.runtime.tolist() == [7.0]
    both = jobs.replace(work=[1, 2, 3, 4])
    assert both.work.tolist() == [1, 2, 3, 4]
    assert both.runtime.tolist() == jobs.runtime.tolist()


def test_slices_are_views_and_keep_ids(jobs: Jobs) -> None:
    part = jobs[1:3]
    assert np.shares_memory(part.submit, jobs.submit)
    assert part.job.tolist() == [2, 3]
    assert part.status.tolist() == [-1, -1]
    assert part.header is jobs.header
    assert part.source == "four"
    assert jobs[::2].procs.flags.c_contiguous
    assert len(jobs[4:]) == 0


def test_masks_and_indices_are_copies(jobs: Jobs) -> None:
    wide = jobs[jobs.procs > 2]
    assert wide.job.tolist() == [2, 4]
    assert not np.shares_memory(wide.submit, jobs.submit)
    assert jobs[[3, 0]].job.tolist() == [4, 1]
    assert len(jobs[[]]) == 0
    with pytest.raises(TypeError, match="column name, slice, mask"):
        jobs[2]  # type: ignore[call-overload]


def test_sorting_is_stable() -> None:
    jobs = Jobs({"submit": [5, 0, 5, 0], "runtime": [1] * 4, "procs": [1] * 4})
    assert jobs.sorted().job.tolist() == [2, 4, 1, 3]
    assert jobs.sorted().sorted().job.tolist() == [2, 4, 1, 3]


def test_replace_leaves_the_original(jobs: Jobs) -> None:
    other = jobs.replace(estimate=[60] * 4, source="changed", header=["; MaxNodes: 3"])
    assert other.names == ("job", "submit", "runtime", "estimate", "procs")
    assert other.source == "changed"
    assert other.max_procs == 3
    assert jobs.estimate.tolist() == [-1.0] * 4
    with pytest.raises(OptionError, match="'estimate' has 1 values for 4 jobs"):
        jobs.replace(estimate=[1])


def test_size_of_the_machine(jobs: Jobs) -> None:
    assert jobs.max_procs == 16
    assert jobs.replace(header=["; MaxNodes: 12", "; MaxProcs: -1"]).max_procs == 12
    assert jobs.replace(header=["; MaxProcs: many"]).max_procs == 8
    assert jobs[[]].replace(header=[]).max_procs == 0


def test_header_keeps_lines_and_reads_fields(jobs: Jobs) -> None:
    assert list(jobs.header) == ["; MaxProcs: 16", "; Note: first", "; Note: second"]
    assert jobs.header.get("maxprocs") == "16"
    assert jobs.header.get_all("Note") == ("first", "second")
    assert jobs.header.get("Absent", "x") == "x"
    assert Header(["plain", ";bare", "two\nlines\r"]) == ("; plain", ";bare", "; two", "; lines")


@pytest.mark.parametrize(
    ("columns", "error", "message"),
    [
        ({"submit": [0], "runtime": [1]}, OptionError, "need a column 'procs'"),
        ({"submit": [0], "procs": [1]}, OptionError, "'runtime' or 'work'"),
        ({"sumbit": [0], "procs": [1]}, OptionError, "did you mean 'submit'"),
        ({"submit": [0, 1], "procs": [1], "runtime": [1, 1]}, OptionError, "'procs' has 1 values"),
        ({"submit": [[0]], "procs": [1], "runtime": [1]}, OptionError, "2 dimensions"),
        ({"submit": [0], "procs": [1.5], "runtime": [1]}, OptionError, "whole numbers"),
        ({"submit": [0], "procs": [1e30], "runtime": [1]}, OptionError, "whole numbers"),
        ({"submit": ["x"], "procs": [1], "runtime": [1]}, OptionError, "not numbers"),
        ({"submit": [0], "procs": [1], "runtime": [None]}, InputError, "'runtime'"),
        (
            {"job": [7, 9], "submit": [0, np.nan], "procs": [1, 1], "runtime": [1, 1]},
            JobError,
            "job 9, field 'submit'",
        ),
        (
            {"submit": [0, 0], "procs": [1, np.inf], "runtime": [1, 1]},
            JobError,
            "job 2, field 'procs'",
        ),
    ],
)
def test_bad_columns_say_which(columns: dict, error: type, message: str) -> None:
    with pytest.raises(error, match=message) as caught:
        Jobs(columns)
    assert "\n" not in str(caught.value)


def test_unknown_names(jobs: Jobs) -> None:
    with pytest.raises(AttributeError, match="'proc'"):
        jobs.proc  # noqa: B018
    with pytest.raises(OptionError, match="did you mean 'procs'"):
        jobs["proc"]


def test_pickling(jobs: Jobs) -> None:
    twin = pickle.loads(pickle.dumps(jobs[1:]))
    assert twin.submit.tolist() == jobs[1:].submit.tolist()
    assert twin.header.get("MaxProcs") == "16"
    assert twin.status.tolist() == [-1] * 3


def test_pandas_there_and_back(jobs: Jobs) -> None:
    frame = jobs.to_pandas()
    assert list(frame.columns) == list(jobs.names)
    assert Jobs.from_pandas(frame).runtime.tolist() == jobs.runtime.tolist()
    other = pd.DataFrame({"gap": [3.0, 4.0], "t": [1, 2], "n": [2, 3]})
    mapped = Jobs.from_pandas(other, {"interarrival": "gap", "work": "t", "requested": "n"})
    assert mapped.submit.tolist() == [0.0, 3.0]
    assert mapped.procs.tolist() == [2, 3]
    with pytest.raises(OptionError, match=r"no column 'tt'.*did you mean 't'"):
        Jobs.from_pandas(other, {"interarrival": "gap", "work": "tt", "requested": "n"})
    with pytest.raises(OptionError, match="no column 'submit'"):
        Jobs.from_pandas(other)


def test_parquet_there_and_back(jobs: Jobs, tmp_path) -> None:
    path = tmp_path / "jobs.parquet"
    jobs.replace(work=[0.1, 0.2, 0.3, 1e300]).to_parquet(path)
    twin = Jobs.from_parquet(path)
    assert twin.names == ("job", "submit", "runtime", "procs", "work")
    assert twin.work.tolist() == [0.1, 0.2, 0.3, 1e300]
    assert twin.header == jobs.header
    assert twin.source == "four"
    assert [p.name for p in tmp_path.iterdir()] == ["jobs.parquet"]


def test_bad_parquet(tmp_path) -> None:
    path = tmp_path / "jobs.parquet"
    path.write_bytes(b"PAR1 nothing PAR1")
    with pytest.raises(LogError, match="not a Parquet file") as caught:
        Jobs.from_parquet(path)
    assert "\n" not in str(caught.value)
    pd.DataFrame({"submit": [1.0], "procs": [1]}).to_parquet(path)
    with pytest.raises(LogError, match="no column 'runtime'"):
        Jobs.from_parquet(path)
    pd.DataFrame({"submit": [None, 1.0], "procs": [1, 1], "runtime": [1, 1]}).to_parquet(path)
    with pytest.raises(LogError, match="field 'submit'"):
        Jobs.from_parquet(path)


def test_import_needs_neither_numba_nor_pandas() -> None:
    heavy = "{'numba', 'pandas', 'pyarrow'}"
    code = f"import sys, sojourn.jobs; print(sorted({heavy} & {{*sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_only_keeps_copies_of_what_is_asked_for() -> None:
    jobs = Jobs({"submit": [0, 1], "runtime": [5, 6], "procs": [1, 2], "user": [7, 8]})
    few = jobs.only(["job", "submit", "runtime", "procs", "work"])
    assert "user" not in few.names
    assert few.user.tolist() == [-1, -1]
    assert not np.shares_memory(few.submit, jobs.submit)
    with pytest.raises(OptionError):
        jobs.only(["colour"])


def test_only_without_copies_keeps_no_large_memory_alive() -> None:
    block = np.arange(40.0).reshape(4, 10)
    columns = dict(zip(("submit", "runtime", "estimate", "wait"), block, strict=True))
    jobs = Jobs({**columns, "procs": np.ones(10, np.int64)})
    lean = jobs.only(["job", "submit", "runtime", "estimate", "procs"], copy=False)
    assert np.shares_memory(lean.submit, block)
    assert np.shares_memory(lean.procs, jobs.procs)
    thin = jobs.only(["job", "submit", "runtime", "procs"], copy=False)
    assert not np.shares_memory(thin.submit, block)
    assert thin.submit.tolist() == jobs.submit.tolist()
    assert "wait" not in thin.names
