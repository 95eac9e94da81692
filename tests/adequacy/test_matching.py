"""When the measure is defined, and which job is to blame when it is not."""

from __future__ import annotations

import numpy as np
import pytest

from sojourn.adequacy import JobStream, compare_streams, match_streams
from sojourn.adequacy.matching import StreamError
from sojourn.errors import OptionError

COLUMNS = {
    "submit": [0.0, 10.0, 20.0],
    "start": [0.0, 15.0, 30.0],
    "end": [20.0, 40.0, 35.0],
    "nodes": [1, 2, 3],
    "label": ["a", "b", "c"],
    "limit": [60.0, 60.0, 60.0],
}


def stream(**changes):
    return JobStream.of(**{**COLUMNS, **changes})


@pytest.mark.parametrize(
    ("condition", "job", "changes", "told"),
    [
        ("submit", "b", {"submit": [0, 11, 20]}, "submitted at 10 s in the real stream and at 11"),
        ("submit", "a", {"submit": [-1, 10, 20]}, "at 0 s in the real stream and at -1 s"),
        ("resources", "c", {"nodes": [1, 2, 4]}, "3 nodes in the real stream and 4 nodes"),
        ("limit", "b", {"limit": [60, 90, 60]}, "ordered 60 s in the real stream and 90 s"),
        ("limit", "c", {"limit": [60, 60, np.inf]}, "ordered 60 s in the real stream and inf s"),
        ("times", "b", {"start": [0, 9, 30]}, "starts before it is submitted in the model"),
        ("times", "c", {"end": [20, 40, 29]}, "ends before it starts in the model"),
        ("times", "a", {"end": [np.nan, 40, 35]}, "has started but not ended in the model"),
        ("times", "a", {"start": [np.nan, 15, 30], "end": [-1, 40, 35]}, "is cancelled before"),
        ("events", "b", {"start": [0, np.nan, 30]}, "started in the real stream and never in"),
    ],
)
def test_each_condition_names_the_first_job(condition, job, changes, told):
    with pytest.raises(StreamError, match=told) as caught:
        compare_streams(stream(), stream(**changes))
    assert (caught.value.condition, caught.value.job) == (condition, job)
    assert str(caught.value).startswith(f"job {job}: ")
    assert "\n" not in str(caught.value)


def test_conditions_hold_for_the_real_stream_too():
    with pytest.raises(StreamError, match="ends before it starts in the real stream"):
        compare_streams(stream(end=[20.0, 14.0, 35.0]), stream())


def test_another_number_of_jobs():
    fewer = JobStream.of([0, 10], [0, 15], [20, 40], label=["a", "b"], nodes=[1, 2])
    with pytest.raises(StreamError, match=r"job c: is not in the model stream \(3 jobs in") as told:
        compare_streams(stream(), fewer)
    assert told.value.condition == "n"
    with pytest.raises(StreamError, match="job c: is not in the real stream"):
        compare_streams(fewer, stream())


def test_jobs_that_both_streams_have():
    fewer = JobStream.of([0, 10, 30], [0, 15, 30], [20, 40, 35], label=["a", "b", "z"],
                         nodes=[1, 2, 1])  # fmt: skip
    pair = match_streams(stream(), fewer, common=True)
    assert pair.real.label.tolist() == ["a", "b"]
    assert pair.alone.tolist() == ["c", "z"]
    with pytest.raises(OptionError, match="no job has the same name"):
        match_streams(stream(), stream(label=[1, 2, 3]), common=True)


def test_jobs_are_matched_by_name_whatever_their_order():
    rows = np.array([2, 0, 1])
    changed = {name: np.asarray(values)[rows] for name, values in COLUMNS.items()}
    pair = match_streams(stream(), JobStream.of(**changed))
    assert pair.matched == "id"
    assert pair.model.label.tolist() == ["a", "b", "c"]
    assert pair.model.start.tolist() == COLUMNS["start"]


def test_jobs_with_other_names_are_matched_by_order():
    pair = match_streams(stream(), stream(label=[7, 8, 9]))
    assert pair.matched == "order"
    with pytest.raises(StreamError, match="job a: is not in the model stream"):
        match_streams(stream(), stream(label=[7, 8, 9]), match="id")
    with pytest.raises(StreamError, match=r"job b: .*\(job 8 of the model, matched by order\)"):
        match_streams(stream(), stream(label=[7, 8, 9], submit=[0, 11, 20]))


def test_submits_may_be_tolerated():
    model = stream(submit=[0.2, 10.9, 20.0], start=[0.2, 15.0, 30.0])
    with pytest.raises(StreamError, match="job a"):
        compare_streams(stream(), model, submit_tolerance=0.0)
    with pytest.raises(StreamError, match="job b"):
        compare_streams(stream(), model, submit_tolerance=0.5)
    found = compare_streams(stream(), model, submit_tolerance=1.0)
    # Each residence counts from the stream's own submit.
    assert found.differences.tolist() == pytest.approx([-0.2, -0.9, 0.0])


def test_clocks_that_tell_fractions_are_never_equal():
    model = stream(submit=[0.2, 10.9, 20.0], start=[0.2, 15.0, 30.0])
    found = compare_streams(stream(), model)
    assert found.differences.tolist() == pytest.approx([-0.2, -0.9, 0.0])
    with pytest.raises(StreamError, match="job b"):
        compare_streams(stream(), stream(submit=[0.2, 11.1, 20.0], start=[0.2, 15.0, 30.0]))
    with pytest.raises(StreamError, match="job b"):
        compare_streams(stream(), stream(submit=[0.0, 11.0, 20.0], start=[0.0, 15.0, 30.0]))


def test_clocks_that_count_from_1970():
    """A log in Unix time beside a model that counts from 0, or from another day."""
    epoch = 1.6e9
    shift = {name: np.asarray(COLUMNS[name]) + epoch for name in ("submit", "start", "end")}
    for first, second in ((stream(**shift), stream()), (stream(), stream(**shift))):
        found = compare_streams(first, second)
        assert found.P == 0.0
        assert abs(found.pair.shift) == epoch
    late = stream(**{**shift, "submit": shift["submit"] + np.array([0, 1, 0])})
    with pytest.raises(StreamError, match="job b"):
        compare_streams(stream(), late)


def test_clocks_that_count_from_the_first_job_are_not_moved():
    moved = {name: np.asarray(COLUMNS[name]) + 5 for name in ("submit", "start", "end")}
    with pytest.raises(StreamError, match="job a: submitted at 0 s"):
        compare_streams(stream(), stream(**moved))


def test_nodes_of_one_stream_may_be_processors_of_the_other():
    model = stream(nodes=None, procs=[1, 2, 3])
    assert compare_streams(stream(), model).P == 0.0
    with pytest.raises(StreamError, match="2 nodes in the real stream and 4 procs in the model"):
        compare_streams(stream(), stream(nodes=None, procs=[1, 4, 3]))


def test_processors_are_what_was_ordered():
    """Slurm may spread a job over other nodes: that is its own doing."""
    one = stream(procs=[4, 8, 12])
    assert match_streams(one, stream(procs=[4, 8, 12], nodes=[1, 1, 1])).resource == "procs"


def test_jobs_that_never_started():
    gone = stream(start=[0, np.nan, 30], end=[20, 12, 35])
    found = compare_streams(gone, gone)
    assert found.n == 2
    assert found.pair.unstarted.tolist() == ["b"]
    left = compare_streams(stream(), gone, unstarted="leave-out")
    assert left.n == 2
    running = stream(end=[20, 40, np.nan])
    assert compare_streams(stream(), running, unstarted="leave-out").n == 2
    nobody = stream(start=[np.nan] * 3)
    with pytest.raises(OptionError, match="nothing to compare"):
        compare_streams(nobody, nobody)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"match": "name"}, "use auto, id or order"),
        ({"unstarted": "drop"}, "use error or leave-out"),
        ({"submit_tolerance": -1.0}, "give seconds"),
        ({"within": float("nan")}, "give seconds"),
        ({"prefixes": [0]}, "from 1 to 3"),
        ({"nodes": 0}, "give at least one"),
    ],
)
def test_options(options, told):
    with pytest.raises(OptionError, match=told):
        compare_streams(stream(), stream(), **options)


def test_streams_need_jobs_and_equal_columns():
    with pytest.raises(OptionError, match="at least one job"):
        JobStream.of([], [], [])
    with pytest.raises(OptionError, match="start: 1 values for 2 jobs"):
        JobStream.of([0, 1], [0], [1, 2])
