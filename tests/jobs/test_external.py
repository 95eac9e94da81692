"""Tables of external events."""

from __future__ import annotations

import pytest

from sojourn.errors import LogError, OptionError
from sojourn.jobs import ExternalEvents, read_external
from sojourn.jobs.external import is_external

GOOD = """\
# what happened last week
time,kind,job,procs,nodes,until,announced,runtime
10,cancel,3,,,,,
20.5,KILL,4,,,,,
,early,5,,,,,60
30,down,,4,,90,,
95,up,,4,,,,

40,stop,,,,50,,
60,reserve,,,rack1-*;n7,70,5,
"""


def test_a_table_is_read(tmp_path):
    path = tmp_path / "events.csv"
    path.write_text(GOOD)
    events = read_external(path)
    assert [event.kind for event in events.rows] == [
        *("cancel", "kill", "early", "down", "up", "stop", "reserve")
    ]
    assert [event.line for event in events.rows] == [3, 4, 5, 6, 7, 9, 10]
    assert events.rows[1].time == 20.5
    assert events.rows[2].runtime == 60
    assert events.rows[3][3:6] == (4, (), 90.0)
    assert events.rows[6].nodes == ("rack1-*", "n7")
    assert events.rows[6].announced == 5
    assert is_external(path)


@pytest.mark.parametrize(
    ("row", "field", "says"),
    [
        ("x,cancel,3,,,,,", "time", "'x' is not a number"),
        ("nan,cancel,3,,,,,", "time", "is not a number"),
        (",cancel,3,,,,,", "time", "needs it"),
        ("1,cancel,,,,,,", "job", "needs it"),
        ("1,cancel,2.5,,,,,", "job", "is not a whole number"),
        ("1,cancl,2,,,,,", "kind", "did you mean 'cancel'?"),
        ("1,,2,,,,,", "kind", "is no event"),
        ("1,cancel,2,3,,,,", "procs", "takes no procs"),
        ("1,early,2,,,,,", "runtime", "needs it"),
        ("1,early,2,,,,,-5", "runtime", "not negative"),
        ("1,down,,,,,,", "procs", "needs one of procs, nodes, job"),
        ("1,down,,2,n1,,,", "nodes", "needs one of"),
        ("1,down,,0,,,,", "procs", "at least 1"),
        ("5,down,,1,,5,,", "until", "is not after"),
        ("5,down,7,,,9,,", "until", "not known beforehand"),
        ("5,reserve,,1,,,,", "until", "needs it"),
        ("5,resume,,,,9,,", "until", "takes no until"),
    ],
)
def test_a_bad_row_is_named(tmp_path, row, field, says):
    path = tmp_path / "events.csv"
    path.write_text(GOOD + row + "\n")
    with pytest.raises(LogError) as told:
        read_external(path)
    assert told.value.line == 11
    assert told.value.field == field
    assert says in str(told.value)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "is empty"),
        ("kind,job\n", "no column 'time'"),
        ("time,kind,jobs\n", "did you mean 'job'"),
        ("time,kind,time\n", "is there twice"),
        ("time,kind,job\n1,cancel\n", "2 columns where the first line names 3"),
        ('time,kind\n1,"stop\n', "is not a table"),
    ],
)
def test_a_bad_table_is_named(tmp_path, text, says):
    path = tmp_path / "events.csv"
    path.write_text(text)
    with pytest.raises(LogError, match=says):
        read_external(path)


def test_rows_of_a_program():
    events = ExternalEvents.of(
        [
            {"time": 1, "kind": "reserve", "nodes": ["a", "b"], "until": 2},
            {"time": 1, "kind": "stop", "until": None},
        ]
    )
    assert events.rows[0].nodes == ("a", "b")
    assert events.rows[1].until is None
    with pytest.raises(OptionError, match="events, row 2, field 'untl': is unknown; did you mean"):
        ExternalEvents.of([{"time": 1, "kind": "stop"}, {"time": 1, "kind": "stop", "untl": 4}])


def test_logs_are_no_tables_of_events(tmp_path):
    log = tmp_path / "log.swf"
    log.write_text("1 0 -1 10 1 -1 -1 1 10 -1 1 1 1 -1 1 -1 -1 -1\n")
    table = tmp_path / "jobs.csv"
    table.write_text("submit,runtime,procs\n0,1,1\n")
    assert not is_external(log)
    assert not is_external(table)
