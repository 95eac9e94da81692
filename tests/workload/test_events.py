"""Events of a stream: what a manager met, and what it did."""

from __future__ import annotations

import numpy as np
import pytest

from sojourn.errors import OptionError
from sojourn.jobs import Jobs
from sojourn.jobs.events import EXTERNAL, INTERNAL, KINDS, events_of, read_accounting, read_events
from sojourn.jobs.log import format_of

HEAD = "JobID|Submit|Start|End|State|Timelimit|NNodes|NodeList\n"


def told(stream):
    table = stream.to_pandas()
    return [(float(t), str(k), str(j)) for t, k, j in table[["time", "kind", "job"]].to_numpy()]


@pytest.fixture
def write(tmp_path):
    def make(text, name="log.out"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return make


def test_what_became_of_jobs(write):
    """Limits of a minute: ended early, at the limit, killed, cancelled, lost, and still waiting."""
    rows = [
        "1|0|1|31|COMPLETED|1|2|n[1-2]",
        "2|0|1|61|TIMEOUT|1|1|n3",
        "3|2|3|20|CANCELLED by 7|1|1|n4",
        "4|2|Unknown|9|CANCELLED by 7|1|1|None assigned",
        "5|3|31|40|NODE_FAIL|1|2|n[1-2]",
        "6|50|Unknown|Unknown|PENDING|1|1|None assigned",
    ]
    stream = read_events(write(HEAD + "\n".join(rows) + "\n"))
    assert stream.counts() == {
        "SUBMIT": 6,
        "CANCEL": 1,
        "KILL": 1,
        "EARLY": 1,
        "DOWN": 1,
        "START": 4,
        "END": 4,
    }
    assert told(stream.only(["KILL", "CANCEL", "EARLY", "DOWN"])) == [
        (9.0, "CANCEL", "4"),
        (20.0, "KILL", "3"),
        (31.0, "EARLY", "1"),
        (40.0, "DOWN", "5"),
    ]
    assert told(stream)[-4:] == [
        (40.0, "DOWN", "5"),
        (40.0, "END", "5"),
        (50.0, "SUBMIT", "6"),
        (61.0, "END", "2"),
    ]
    assert len(stream.external()) + len(stream.internal()) == len(stream)
    assert "nodes going down and up" in stream.lacks
    assert stream.only(["DOWN"]).nodes.tolist() == [-1]
    assert stream.only(["START"]).nodes.tolist() == [2, 1, 1, 2]


def test_order_at_one_instant():
    """Nodes are freed, then jobs arrive, then jobs start."""
    jobs = Jobs(
        {
            "submit": [0.0, 10.0],
            "wait": [0.0, 0.0],
            "runtime": [10.0, 5.0],
            "estimate": [20.0, 20.0],
            "procs": [1, 1],
        }
    )
    assert told(events_of(jobs)) == [
        (0.0, "SUBMIT", "1"),
        (0.0, "START", "1"),
        (10.0, "EARLY", "1"),
        (10.0, "END", "1"),
        (10.0, "SUBMIT", "2"),
        (10.0, "START", "2"),
        (15.0, "EARLY", "2"),
        (15.0, "END", "2"),
    ]


def test_a_job_of_no_length_starts_before_it_ends():
    jobs = Jobs({"submit": [3.0], "wait": [0.0], "runtime": [0.0], "procs": [1]})
    assert [kind for _, kind, _ in told(events_of(jobs))] == ["SUBMIT", "START", "EARLY", "END"]


def test_swf_tells_less(write):
    lines = [
        "1 0 5 10 4 -1 -1 4 20 -1 1 1 1 -1 1 -1 -1 -1",
        "2 1 9 0 -1 -1 -1 4 20 -1 5 1 1 -1 1 -1 -1 -1",
        "3 2 4 7 4 -1 -1 4 20 -1 5 1 1 -1 1 -1 -1 -1",
        "4 3 -1 7 4 -1 -1 4 20 -1 1 1 1 -1 1 -1 -1 -1",
    ]
    stream = read_events(write("\n".join(lines) + "\n", "log.swf"))
    assert stream.counts() == {
        "SUBMIT": 4,
        "CANCEL": 1,
        "KILL": 1,
        "EARLY": 1,
        "START": 2,
        "END": 2,
    }
    assert len(stream.lacks) == 6


def test_reservations_of_pbs(write):
    text = (
        "03/01/2024 12:00:00;Q;1.srv;queue=batch\n"
        "03/01/2024 12:05:00;B;R9.srv;owner=root Resource_List.nodect=4\n"
        "03/01/2024 12:06:00;D;1.srv;requestor=a\n"
    )
    stream = read_events(write(text))
    assert stream.counts() == {"SUBMIT": 1, "CANCEL": 1, "RESERVE": 1}
    assert stream.only(["RESERVE"]).nodes.tolist() == [4]
    assert stream.only(["RESERVE"]).job.tolist() == [-1]


def test_kinds():
    assert (*EXTERNAL, *INTERNAL) == KINDS
    jobs = Jobs({"submit": [3.0], "wait": [0.0], "runtime": [0.0], "procs": [1]})
    with pytest.raises(OptionError, match="no event is called 'START!'; did you mean 'START'"):
        events_of(jobs).only(["START!"])
    assert np.diff(events_of(jobs).time).min() >= 0


@pytest.mark.parametrize(
    ("name", "text", "format"),
    [
        ("a.swf", "anything", "swf"),
        ("a.csv.gz", "anything", "csv"),
        ("a.log", "JobId=7 UserId=a(1)\n", "jobcomp"),
        ("a.log", "\nJobID|Submit\n", "sacct"),
        ("a.txt", "FAILED|12|1|||\n", "sacct"),
        ("20240301", "03/01/2024 12:00:00;Q;1.srv;queue=x\n", "pbs"),
        ("a.log", "; MaxProcs: 4\n1 2 3\n", "swf"),
    ],
)
def test_formats_by_content(write, name, text, format):
    assert format_of(write(text, name)) == format


def test_unknown_accounting(write):
    with pytest.raises(OptionError, match="'swf' is no accounting; use sacct, jobcomp or pbs"):
        read_accounting(write("x"), "swf")
