"""The open job table: requests, further columns of numbers and names, on every way they take."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sojourn
from sojourn.capacity import planning
from sojourn.errors import InputError, JobError, LogError, OptionError
from sojourn.jobs import SCHEMA, Jobs, clean, read_csv, read_log, read_parquet, write_log
from sojourn.jobs.formats._further import MOST_NAMES
from sojourn.jobs.log import SIMULATED, read_jobs, simulated
from sojourn.jobs.models.resample import resample_blocks
from sojourn.jobs.schema import NAMED

PLAIN = {"submit": [0, 1, 2], "runtime": [1, 2, 3], "procs": [1, 2, 3]}
RICH = {
    **PLAIN,
    "mics": [0, 1, -1],
    "share": [0.25, -1.0, 2.0],
    "rack": ["a,b", 'x "y"', ""],
    "features": ["a&(b|!c)", "", "d"],
    "licences": ["matlab:2,ansys", "", ""],
    "gpu_type": ["a100", "t4", ""],
    "after": ["", "afterok:1", ""],
    "partition": ["short,long", "gpu", ""],
    "begin": [10, -1, -1],
    "whole_node": [1, 0, -1],
    "memory_per_node": [1024.5, -1, -1],
    "cores_per_node": [1, 2, -1],
}
SUFFIXES = [".csv", ".csv.gz", ".parquet"]


@pytest.fixture
def rich() -> Jobs:
    return Jobs(RICH)


def written(tmp_path, text: str, name: str = "t.csv"):
    path = tmp_path / name
    path.write_text(text)
    return path


def same(one: Jobs, other: Jobs) -> None:
    assert one.names == other.names
    for name in one.names:
        assert one[name].tolist() == other[name].tolist(), name
        if name in NAMED or name in one.further:
            continue
        assert one[name].dtype == SCHEMA[name]


def test_further_columns_are_kept_as_they_are(rich: Jobs) -> None:
    assert rich.further == ("mics", "share", "rack")
    assert rich["mics"].dtype == np.int64
    assert rich["share"].dtype == np.float64
    assert rich.mics.tolist() == [0, 1, -1]
    assert "mics" in dir(rich)
    for name in ("rack", "features", "licences", "gpu_type", "after", "partition"):
        assert rich.labels(name).tolist() == RICH[name]
        assert name in rich.named
    assert rich.labels("mics").tolist() == ["0", "1", ""]
    with pytest.raises(OptionError, match="'share' holds fractions"):
        rich.labels("share")
    with pytest.raises(OptionError, match="no column is called 'fpgas'"):
        rich["fpgas"]


def test_slices_sorting_pickles_and_cleaning_keep_all(rich: Jobs) -> None:
    for part, rows in ((rich[1:], [1, 2]), (rich[rich.procs == 2], [1]), (rich[[2, 0]], [2, 0])):
        assert part.names == rich.names
        assert part.labels("rack").tolist() == [RICH["rack"][k] for k in rows]
        assert part["mics"].tolist() == [RICH["mics"][k] for k in rows]
    turned = rich.replace(submit=[5, 4, 3]).sorted()
    assert turned.labels("features").tolist() == RICH["features"][::-1]
    same(pickle.loads(pickle.dumps(rich)), rich)
    cleaned = clean(rich.replace(runtime=[1, 0, 3]))
    assert cleaned["mics"].tolist() == [0, -1]
    assert cleaned.labels("licences").tolist() == ["matlab:2,ansys", ""]


def test_a_run_keeps_what_it_may_look_at(rich: Jobs) -> None:
    few = simulated(rich.replace(status=[1, 1, 1]))
    assert set(rich.names) - set(few.names) == set()
    assert "status" not in few.names
    assert {"nodes", "cores_per_node", "begin"} <= set(SIMULATED)


def test_replacing_names_keeps_the_numbers_of_those_that_are_known(rich: Jobs) -> None:
    other = rich.replace(rack=["new", "a,b", ""], colour=["red", "red", "blue"])
    assert other.labels("rack").tolist() == ["new", "a,b", ""]
    assert other["rack"][1] == rich["rack"][0]
    assert other.labels("colour").tolist() == ["red", "red", "blue"]
    assert rich.labels("rack").tolist() == RICH["rack"]
    counted = rich.replace(rack=[7, 8, 9], header=[])
    assert counted.labels("rack").tolist() == ["7", "8", "9"]


def test_rebasing_moves_the_earliest_starts_too() -> None:
    jobs = Jobs({**PLAIN, "submit": [100, 101, 102], "begin": [150.0, -1, 20]})
    assert clean(jobs, rules=["rebase"]).begin.tolist() == [50, -1, 0]
    assert jobs.moved([0, 1, 1000]).begin.tolist() == [50, -1, 918]
    assert "begin" not in Jobs(PLAIN).moved([3, 4, 5]).names


def test_jobs_drawn_anew_wait_for_their_begin_as_long() -> None:
    count = 200
    submit = np.arange(count) * 3600.0
    jobs = Jobs(
        {"submit": submit, "runtime": np.ones(count), "procs": np.ones(count), "begin": submit + 50}
    )
    for by in ("day", "jobs"):
        drawn = resample_blocks(jobs, by, 1)
        assert (drawn.begin - drawn.submit == 50).all()
    grown = planning.grown(jobs, 2.0)
    assert (grown.begin - grown.submit == 50).all()


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_files_there_and_back(tmp_path, rich: Jobs, suffix: str) -> None:
    jobs = rich.replace(label=["1_1", "1_2", "9"])
    write_log(jobs, tmp_path / f"a{suffix}")
    back = read_log(tmp_path / f"a{suffix}")
    same(back, jobs)
    assert back.label.tolist() == ["1_1", "1_2", "9"]
    for name in ("rack", "features", "licences", "gpu_type", "after"):
        assert back.labels(name).tolist() == RICH[name]
    if suffix == ".parquet":
        assert back.labels("partition").tolist() == RICH["partition"]


def test_frames_there_and_back(rich: Jobs) -> None:
    frame = rich.to_pandas()
    assert frame["rack"].tolist()[:2] == ["a,b", 'x "y"']
    assert frame["rack"].isna().tolist() == [False, False, True]
    back = Jobs.from_pandas(frame)
    same(back, rich)
    for name in rich.named:
        assert back.labels(name).tolist() == rich.labels(name).tolist()
    # Names that somebody changed in the frame are not those of the old header.
    frame["partition"] = ["x", "y", "z"]
    assert Jobs.from_pandas(frame).labels("partition").tolist() == ["x", "y", "z"]
    assert Jobs.from_pandas(frame[frame.procs > 1]).labels("features").tolist() == ["", "d"]


def test_swf_has_no_field_for_them_and_no_lines(tmp_path, rich: Jobs) -> None:
    write_log(rich, tmp_path / "a.swf")
    text = (tmp_path / "a.swf").read_text()
    assert "; Partition: 1 short,long" in text
    assert "Name of" not in text
    assert "Features" not in text
    assert read_log(tmp_path / "a.swf").labels("partition").tolist() == RICH["partition"]


WORDS = st.text(
    st.characters(codec="utf-8", exclude_categories=("C", "Z")), min_size=1, max_size=8
).filter(lambda word: word.strip("0123456789+-.eE_") != "" and word.lower() not in UNKNOWN)
UNKNOWN = {"nan", "na", "n/a", "<na>", "nat", "none", "null", "(null)", "unknown", "invalid"}
UNKNOWN |= {"inf", "infinity", "-inf", "+inf", "-infinity", "+infinity", "-nan", "+nan"}


@settings(max_examples=60, deadline=None)
@given(
    names=st.lists(st.one_of(st.just(""), WORDS), min_size=1, max_size=6),
    numbers=st.data(),
    suffix=st.sampled_from(SUFFIXES),
)
def test_any_names_and_numbers_survive(tmp_path_factory, names, numbers, suffix) -> None:
    count = len(names)
    whole = st.lists(st.integers(-(2**63), 2**63 - 1), min_size=count, max_size=count)
    real = st.lists(
        st.floats(allow_nan=False, allow_infinity=False), min_size=count, max_size=count
    )
    columns = {
        "submit": [0.0] * count,
        "runtime": [1.0] * count,
        "procs": [1] * count,
        "whole": numbers.draw(whole),
        "real": numbers.draw(real),
        "kind": np.array(names, dtype=object),
        "features": np.array(names[::-1], dtype=object),
    }
    jobs = Jobs(columns)
    path = tmp_path_factory.mktemp("open") / f"a{suffix}"
    write_log(jobs, path)
    back = read_log(path)
    assert back.names == jobs.names
    assert back["whole"].tolist() == jobs["whole"].tolist()
    assert back["real"].tolist() == jobs["real"].tolist()
    assert back.labels("kind").tolist() == jobs.labels("kind").tolist() == names
    assert back.labels("features").tolist() == names[::-1]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"runtme": [1, 1, 1]}, "did you mean 'runtime'"),
        ({"GPUs": [1, 1, 1]}, "did you mean 'gpus'"),
        ({"licenses": [1, 1, 1]}, "did you mean 'licences'"),
        ({"memory_node": [1, 1, 1]}, "did you mean 'memory_per_node'"),
        ({"end": [1, 1, 1]}, "no column is called 'end'"),
        ({"header": [1, 1, 1]}, "no column is called 'header'"),
        ({"a\nb": [1, 1, 1]}, "on one line"),
        ({"": [1, 1, 1]}, "on one line"),
        ({"x" * 81: [1, 1, 1]}, "at most 80 letters"),
        ({7: [1, 1, 1]}, "give names as texts"),
        ({"mics": [1, 1]}, "'mics' has 2 values"),
        ({"mics": [[1], [1], [1]]}, "'mics' has 2 dimensions"),
        ({"mics": [1j, 1, 1]}, "'mics' holds values that are not numbers"),
        ({"mics": [1.5, np.nan, 1]}, "job 2, field 'mics': nan is not a finite"),
        ({"whole_node": [0, 2, 1]}, "job 2, field 'whole_node': 2 is neither 0 nor 1"),
    ],
)
def test_bad_columns_are_one_line(columns: dict, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        Jobs({**PLAIN, **columns})
    assert "\n" not in str(caught.value)
    assert isinstance(caught.value, OptionError | JobError)


def test_names_that_are_near_to_none_are_taken() -> None:
    for name in ("mics", "watts", "fpga", "Tasks", "job name", "licence server"):
        assert Jobs({**PLAIN, name: [1, 2, 3]})[name].tolist() == [1, 2, 3]


def test_requests_of_a_table(tmp_path) -> None:
    text = """\
submit,elapsed,cores,nodes,Cores Per Node,gpu_model,mem_per_node,exclusive,Constraint,licenses,\
begin time,dependency,fpgas,site
2021-03-01 10:00:00,1:00:00,8,2,4,a100,4G,yes,a&b,"matlab:2,ansys",2021-03-01 11:00:00,\
afterok:3,1,north
2021-03-01 10:00:10,1-02:03:04,8,2,,,512M,no,,,2021-03-01 10:00:05,,,south
2021-03-01 10:00:20,60,8,2,,,,,,,,,0.5,
"""
    jobs = read_csv(written(tmp_path, text))
    assert jobs.runtime.tolist() == [3600, 93784, 60]
    assert jobs.nodes.tolist() == [2, 2, 2]
    assert jobs.cores_per_node.tolist() == [4, -1, -1]
    assert jobs.labels("gpu_type").tolist() == ["a100", "", ""]
    assert jobs.memory_per_node.tolist() == [4 * 1024**2, 512 * 1024, -1]
    assert jobs.whole_node.tolist() == [1, 0, -1]
    assert jobs.labels("features").tolist() == ["a&b", "", ""]
    assert jobs.labels("licences").tolist() == ["matlab:2,ansys", "", ""]
    # The second could start before it was submitted: nothing held it back.
    assert jobs.begin.tolist() == [3600, -1, -1]
    assert jobs.labels("after").tolist() == ["afterok:3", "", ""]
    assert jobs["fpgas"].tolist() == [1, -1, 0.5]
    assert jobs.labels("site").tolist() == ["north", "south", ""]
    assert "as they are: fpgas, site" in str(jobs.report)


@pytest.mark.parametrize(
    ("name", "cell", "memory", "per_node"),
    [
        ("memory_kib", "8388608", 1024**2, 4 * 1024**2),
        ("Memory (GB)", "8", 1024**2, 4 * 1024**2),
        ("reqmem_mb", "8192", 1024**2, 4 * 1024**2),
        ("mem_per_cpu_mb", "1024", 1024**2, None),
        ("mem_req", "4Gn", 1024**2, 4 * 1024**2),
        ("mem_req", "1Gc", 1024**2, None),
        ("mem_req", "8G", 1024**2, 4 * 1024**2),
        ("memory", "5", 5, None),
    ],
)
def test_memory_by_the_unit_in_its_name_or_value(tmp_path, name, cell, memory, per_node) -> None:
    text = f"submit,runtime,procs,nodes,{name}\n0,1,8,2,{cell}\n"
    jobs = read_csv(written(tmp_path, text))
    assert jobs.memory.tolist() == [memory]
    assert ("memory_per_node" in jobs.names) == (per_node is not None)
    if per_node is not None:
        assert jobs.memory_per_node.tolist() == [per_node]


def test_memory_of_a_job_on_uneven_nodes_is_told_per_processor_only(tmp_path) -> None:
    jobs = read_csv(written(tmp_path, "submit,runtime,procs,nodes,memory_gb\n0,1,3,2,6\n"))
    assert jobs.memory.tolist() == [2 * 1024**2]
    assert "memory_per_node" not in jobs.names


def test_numbers_that_turn_out_to_be_names(tmp_path) -> None:
    rows = [f"{k},1,1,{k % 7},{k % 3}" for k in range(20_000)] + ["1,1,1,x,2", "1,1,1,,0.5"]
    path = written(tmp_path, "\n".join(["submit,runtime,procs,code,weight", *rows]))
    jobs = read_csv(path)
    assert jobs.labels("code").tolist() == [*(str(k % 7) for k in range(20_000)), "x", ""]
    assert jobs["weight"].tolist()[-3:] == [(19_999 % 3), 2, 0.5]


def test_texts_about_single_jobs_are_left_aside_unless_asked_for(tmp_path) -> None:
    rows = [f"{k},1,1,t{k}" for k in range(MOST_NAMES + 1)]
    path = written(tmp_path, "\n".join(["submit,runtime,procs,remark", *rows]))
    jobs = read_csv(path)
    assert jobs.further == ()
    assert "not used: remark" in str(jobs.report)
    asked = read_csv(path, {"remark": "remark"})
    assert asked.labels("remark")[-1] == f"t{MOST_NAMES}"
    names = written(tmp_path, "submit,runtime,procs,Job Name,comment\n0,1,1,a,b\n", "n.csv")
    assert read_csv(names).further == ()
    kept = read_csv(names, {"note": "comment"})
    assert kept.labels("note").tolist() == ["b"]


def test_a_whole_mapping_takes_no_further_columns(tmp_path) -> None:
    path = written(tmp_path, "t,s,n,mics\n0,1,1,2\n")
    need = {"submit": "t", "runtime": "s", "procs": "n"}
    assert read_csv(path, need).further == ()
    assert read_csv(path, {**need, "cards": "mics"})["cards"].tolist() == [2]
    with pytest.raises(OptionError, match="no column is called 'gpuss'; did you mean 'gpus'"):
        read_csv(path, {**need, "gpuss": "mics"})
    with pytest.raises(LogError, match="no column 'mic'"):
        read_csv(path, {**need, "cards": "mic"})


def test_columns_of_parquet_and_frames_keep_their_types(tmp_path) -> None:
    table = pa.table(
        {
            **{name: pa.array(values) for name, values in PLAIN.items()},
            "big": pa.array([2**62 + 1, None, 3]),
            "part": pa.array([0.5, None, 1.0]),
            "flag": pa.array([True, False, None]),
            "span": pa.array([1, 2, None], pa.duration("ms")),
            "day": pa.array([0, 1, 2], pa.date32()),
            "nested": pa.array([[1], [2], []]),
            "kind": pa.array(["a", None, "b"]).dictionary_encode(),
        }
    )
    pq.write_table(table, tmp_path / "t.parquet")
    frame = table.drop_columns(["nested"]).to_pandas()
    for jobs in (read_parquet(tmp_path / "t.parquet"), Jobs.from_pandas(frame)):
        assert jobs["part"].tolist() == [0.5, -1, 1]
        assert jobs["flag"].tolist() == [1, 0, -1]
        assert jobs["span"].tolist() == [0.001, 0.002, -1]
        assert jobs.labels("kind").tolist() == ["a", "", "b"]
        assert not {"day", "nested"} & set(jobs.names)
    assert read_parquet(tmp_path / "t.parquet")["big"].tolist() == [2**62 + 1, -1, 3]
    with pytest.raises(LogError, match="field 'day': holds dates"):
        read_parquet(tmp_path / "t.parquet", {"day": "day"})


def test_begin_in_seconds_and_in_dates(tmp_path) -> None:
    numbers = "submit,runtime,procs,begin\n5,1,1,5\n6,1,1,-1\n7,1,1,30\n"
    assert read_csv(written(tmp_path, numbers)).begin.tolist() == [5, -1, 30]
    mixed = "submit,runtime,procs,eligible\n5,1,1,2021-01-01T00:00:00\n"
    jobs = read_csv(written(tmp_path, mixed))
    assert "begin" not in jobs.names
    assert "not used: eligible" in str(jobs.report)
    with pytest.raises(LogError, match="field 'begin': holds dates, and 'submit' does not"):
        read_csv(tmp_path / "t.csv", {"begin": "eligible"})


def test_a_column_as_the_partition(tmp_path) -> None:
    table = written(tmp_path, "submit,runtime,procs,queue,site\n0,1,1,long,n\n0,1,1,short,s\n")
    jobs = read_jobs(table, partition_column="queue")
    assert jobs.labels("partition").tolist() == jobs.labels("queue").tolist() == ["long", "short"]
    assert read_jobs(table, partition_column="site").labels("partition").tolist() == ["n", "s"]
    with pytest.raises(LogError, match=r"no column 'quue'.*did you mean 'queue'"):
        read_jobs(table, partition_column="quue")
    with pytest.raises(OptionError, match="columns name 'queue' as the partition"):
        read_jobs(table, columns={"partition": "queue"}, partition_column="site")
    log = tmp_path / "a.swf"
    write_log(Jobs({**PLAIN, "queue": ["x", "y", "x"], "partition": ["p", "p", ""]}), log)
    moved = read_jobs(log, partition_column="queue")
    assert moved.labels("partition").tolist() == ["x", "y", "x"]
    assert read_jobs(log, partition_column="partition").labels("partition").tolist()[2] == ""
    with pytest.raises(OptionError, match=r"partition-column 'quue': .*did you mean 'queue'"):
        read_jobs(log, partition_column="quue")


def test_a_run_of_open_jobs_is_that_of_plain_ones(rich: Jobs) -> None:
    plain = Jobs({**PLAIN, "begin": rich.begin})
    pd.testing.assert_series_equal(
        sojourn.simulate(rich, 4).jobs["start"], sojourn.simulate(plain, 4).jobs["start"]
    )
