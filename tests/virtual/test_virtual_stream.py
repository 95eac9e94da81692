"""Streams for virtual nodes: what is read, and what is refused."""

from __future__ import annotations

import pytest

from sojourn.adequacy.virtual import Job, check_plan, read_stream
from sojourn.errors import LogError, OptionError

HEAD = "id,submit,nodes,run,limit_min\n"


def _stream(tmp_path, text):
    path = tmp_path / "stream.csv"
    path.write_text(text)
    return path


def test_jobs_come_in_the_order_of_submission(tmp_path):
    path = _stream(tmp_path, "run,id,submit,nodes,limit_min,user\n5,2,9.5,1,1,a\n7.25,1,3,4,2,b\n")
    assert read_stream(path) == [Job(1, 3.0, 4, 7.25, 2), Job(2, 9.5, 1, 5.0, 1)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("id,submit,nodes,run\n1,0,1,1\n", "no column limit_min"),
        (HEAD, "no job"),
        (HEAD + "1,0,1,5,1\n1,2,1,5,1\n", "line 3, field 'id': 1 stands twice"),
        (HEAD + "1,0,0,5,1\n", "line 2, field 'nodes': 0 is less than 1"),
        (HEAD + "1,-1,1,5,1\n", "field 'submit'"),
        (HEAD + "1,0,1,0,1\n", "field 'run'"),
        (HEAD + "1,0,1,5,1.5\n", "field 'limit_min': '1.5' is not a whole number"),
        (HEAD + "1,0,1,nan,1\n", "field 'run': 'nan' is not a number"),
        (HEAD + "1,0,1\n", "field 'run': nothing"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, text, words):
    with pytest.raises(LogError) as caught:
        read_stream(_stream(tmp_path, text))
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"nodes": 3}, "job 7 needs 4 nodes, the cluster has 3"),
        ({"nodes": 0}, "between 1 and"),
        ({"mode": "fast"}, "mode 'fast' is unknown"),
        ({"auth": "trust"}, "auth 'trust' is unknown"),
        ({"jobs": []}, "no job"),
    ],
)
def test_a_plan_is_checked_before_anything_is_started(change, words):
    plan = {"jobs": [Job(7, 0.0, 4, 1.0, 1)], "nodes": 4, "mode": "real", "auth": "none"}
    with pytest.raises(OptionError, match=words):
        check_plan(**{**plan, **change})
