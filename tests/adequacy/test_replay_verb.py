"""``sojourn replay`` on the command line."""

from __future__ import annotations

import csv
import json
import os

import pytest

from sojourn.cli import main

CONF = """
SchedulerType=sched/backfill
SchedulerParameters=defer
NodeName=n[1-4]
PartitionName=p Nodes=ALL Default=YES
"""
STREAM = "id,submit,nodes,run,limit_min\n1,0,3,100,2\n2,1,4,30,1\n3,2,1,20,1\n"
SACCT = """\
JobID|User|Account|Partition|Submit|Start|End|State|Timelimit|ReqCPUS|NNodes
1|a|x|p|2024-01-01T00:00:00|2024-01-01T00:00:01|2024-01-01T00:01:41|COMPLETED|00:02:00|3|3
2|a|x|p|2024-01-01T00:00:05|2024-01-01T00:01:42|2024-01-01T00:02:12|COMPLETED|00:01:00|4|4
3|a|x|p|2024-01-01T00:00:07|2024-01-01T00:00:30|2024-01-01T00:00:40|COMPLETED|00:01:00|9|9
"""
KEYS = [
    *(
        "jobs",
        "refused",
        "refused_why",
        "never_started",
        "wait_mean",
        "by_backfill",
        "members",
        "P_itself",
    ),
    *("within_60s", "adequacy", "calibration", "not_modelled", "said"),
]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A folder to work in, with a configuration, a stream and a log."""
    for name, text in (("slurm.conf", CONF), ("s.csv", STREAM), ("sacct.txt", SACCT)):
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(capsys):
    def call(*arguments):
        capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        said = [line for line in err.splitlines() if not line.startswith("sojourn: compiling ")]
        return code, out, said

    return call


@pytest.fixture
def replay(run):
    def call(*arguments):
        return run("replay", *arguments, "--members", 3)

    return call


def test_submit_commands_whose_jobs_are_called_jobid(replay, folder):
    (folder / "week.events").write_text(
        "-dt 1 -e submit_batch_job | -sim-walltime 9 --uid=a -J jobid_1 -N 1 -n 1 -t 1 x.job\n"
    )
    code, out, said = replay("week.events", "--slurm-conf", "slurm.conf")
    assert (code, said) == (0, [])
    assert "jobs would wait" in out


def test_a_stream_on_equal_nodes(run, replay, folder):
    code, out, said = replay("s.csv", "--slurm-conf", "slurm.conf", "--nodes", 16, "--out", "DIR")
    assert (code, said) == (0, [])
    assert sorted(path.name for path in (folder / "DIR").iterdir()) == ["jobs.csv", "replay.json"]
    assert "Try: sojourn adequacy REAL.csv DIR/jobs.csv" in out
    assert "defer: a submit may set off the main loop" in out
    with open("DIR/jobs.csv") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == [
        *("id", "submit", "start", "end", "nodes", "node_names", "state", "started_by"),
        *("run", "limit_min"),
    ]
    assert [row["node_names"] for row in rows] == ["n[1-3]", "n[4-7]", "n8"]
    assert all(float(row["start"]) < 5 for row in rows)
    told = json.loads((folder / "DIR" / "replay.json").read_text())
    assert list(told) == KEYS
    assert (told["jobs"], told["refused"], told["adequacy"]) == (3, [], None)
    # What it wrote can be compared, and sent through the model again.
    code, out, said = run("adequacy", "DIR/jobs.csv", "DIR/jobs.csv", "--json")
    assert (code, said, json.loads(out)["P"]) == (0, [], 0.0)
    code, out, _ = replay("DIR/jobs.csv", "--slurm-conf", "slurm.conf", "--nodes", 16, "--json")
    again = json.loads(out)
    assert code == 0
    assert again["adequacy"]["P"] < 1e-3
    assert again["files"] == []


def test_a_log(replay, folder):
    code, out, said = replay("sacct.txt", "--slurm-conf", "slurm.conf", "--out", "DIR")
    assert (code, said) == (0, [])
    names = ["differences.png", "jobs.csv", "replay.json", "streams.png"]
    assert sorted(path.name for path in (folder / "DIR").iterdir()) == names
    assert "refused      1 job of partition p that asks for more nodes than it has: 3" in out
    assert "over 2 jobs" in out
    assert "Try:" not in out
    told = json.loads((folder / "DIR" / "replay.json").read_text())
    assert list(told) == [*KEYS, "waits"]
    assert told["adequacy"]["n"] == 2
    # Both jobs of the log waited 1 and 97 s.
    assert told["waits"]["real"]["mean"] == 49.0
    shown = " ".join(out.split())
    assert "waits of the same 2 jobs" in shown
    assert "real: they waited 49 1 97" in shown
    assert "model: they would wait" in shown
    assert "P: the root mean square difference of times in the system" in shown
    assert told["within_60s"] == 1.0


def test_other_values(replay):
    def wait(*options):
        code, out, said = replay("s.csv", "--slurm-conf", "slurm.conf", "--json", *options)
        assert (code, said) == (0, [])
        told = json.loads(out)
        return told["wait_mean"], told["by_backfill"]

    usual = wait()
    assert usual[1] == 1
    assert wait("--set", "SchedulerType=sched/builtin")[1] == 0
    sooner = wait("--set", "bf_interval=5", "--set", "bf_resolution=1")
    assert sooner[0] < usual[0]
    assert wait("--set", "SchedulerParameters=bf_interval=5,bf_resolution=1") == sooner


def test_a_run_to_calibrate_from(replay, folder):
    rows = "".join(f"{k},0,9.5,9\n" for k in range(6))
    (folder / "run.csv").write_text(f"id,start,end,run\n{rows}")
    options = ("s.csv", "--slurm-conf", "slurm.conf", "--json", "--calibrate", "run.csv")
    told = json.loads(replay(*options)[1])["calibration"]
    assert (told["source"], told["jobs"]) == ("run.csv", 6)
    assert told["overheads"]["launch"]["parameters"] == [0.5]


HEAD = STREAM.splitlines()[0]
BAD = {
    "column.csv": "id,submit,nodes,run\n1,0,1,5\n",
    "number.csv": f"{HEAD}\n1,0,1,5,1\n2,0,two,5,1\n",
    "half.csv": f"{HEAD}\n1,0,2.5,5,1\n",
    "huge.csv": f"{HEAD}\n1,0,1,5,1e300\n",
    "nobody.swf": "1 0 -1 -1 -1 -1 -1 -1 -1 -1 1 1 1 1 1 1 -1 -1\n",
    "nothing.events": "-dt 3 -e cancel_job | 1\n",
    "below.csv": f"{HEAD}\n1,0,0,5,1\n",
    "missing.csv": f"{HEAD}\n1,0,1,5\n",
    "twice.csv": f"{HEAD}\n1,0,1,5,1\n1,1,1,5,1\n",
    "empty.csv": "",
    "nobody.csv": f"{HEAD}\n",
    "wide.csv": f"{HEAD}\n1,0,99,5,1\n",
    "times.csv": f"{HEAD},start,end\n1,0,1,5,1,soon,later\n",
    "line.conf": f"{CONF}Scheduler\n",
    "nodes.conf": "NodeName=n[1-x]\n",
    "unknown.conf": "NodeName=n1\nPartitionName=p Nodes=m1\n",
    "none.conf": "SchedulerType=sched/backfill\n",
    "weight.conf": "PriorityType=priority/multifactor\nPriorityWeightAge=much\n"
    f"AccountingStorageType=accounting_storage/slurmdbd\n{CONF}",
    "table.csv": "id,start,end,run\n1,0,5,4\n",
}


@pytest.mark.parametrize(
    ("stream", "conf", "options", "word"),
    [
        ("column.csv", "", (), "column.csv: has no column limit_min"),
        ("number.csv", "", (), "number.csv, line 3, field 'nodes': 'two' is no whole number"),
        ("below.csv", "", (), "below.csv, line 2, field 'nodes': '0' is no whole number"),
        ("half.csv", "", (), "half.csv, line 2, field 'nodes': '2.5' is no whole number"),
        ("huge.csv", "", (), "huge.csv, line 2, field 'limit_min': '1e300' is no number"),
        ("nobody.swf", "", (), "nobody.swf: "),
        ("nothing.events", "", (), "nothing.events: "),
        ("missing.csv", "", (), "missing.csv, line 2, field 'limit_min': nothing is no number"),
        ("twice.csv", "", (), "twice.csv, line 3, field 'id': 1 stands twice"),
        ("empty.csv", "", (), "empty.csv: has no column"),
        ("nobody.csv", "", (), "nobody.csv: has column names but no job"),
        ("wide.csv", "", (), "wide.csv: no nodes suit any of its jobs"),
        ("times.csv", "", (), "times.csv, line 2, field 'start'"),
        ("gone.csv", "", (), "gone.csv: no such file"),
        (".", "", (), "is a directory"),
        ("", "gone.conf", (), "gone.conf: cannot be read"),
        ("", "line.conf", (), "line.conf, line 6: 'Scheduler' is not Name=value"),
        ("", "nodes.conf", (), "nodes.conf, line 1, field 'NodeName'"),
        ("", "unknown.conf", (), "unknown.conf, line 2, field 'Nodes': no NodeName line has 'm1'"),
        ("", "none.conf", (), "none.conf: has no NodeName line"),
        ("", "weight.conf", (), "field 'PriorityWeightAge': 'much' is no number"),
        ("", "", ("--nodes", 0), "'--nodes'"),
        ("", "", ("--nodes", 100_001), "100001 nodes; give 1 to 100000"),
        ("", "", ("--nodes", "many"), "'--nodes'"),
        ("", "", ("--set", "nonsense"), "--set 'nonsense': write --set NAME=VALUE"),
        ("", "", ("--set", "bf_interval="), "write --set NAME=VALUE"),
        ("", "", ("--set", "bf_intervall=5"), "did you mean 'bf_interval'?"),
        ("", "", ("--set", "bf_interval=5s"), "bf_interval=5s: give a whole number"),
        ("", "", ("--set", "SchedulerType=fifo"), "choose sched/backfill or sched/builtin"),
        ("", "", ("--requests", "gone.csv"), "gone.csv: no such file"),
        ("", "", ("--calibrate", "gone.csv"), "gone.csv: no such file"),
        ("", "", ("--calibrate", "s.csv"), "s.csv: has no column start, end"),
        ("", "", ("--calibrate", "table.csv"), "5 are needed to calibrate"),
        ("", "", ("--format", "pbs"), "format 'pbs' tells no requests"),
        ("", "", ("--format", "sacct"), "s.csv"),
        ("", "", ("--seed", -1), "'--seed'"),
        ("", "", ("--members", 0), "'--members'"),
        ("", "", ("--out", "s.csv"), "s.csv: is a file"),
        ("", "", ("--out", "s.csv/x"), "s.csv is a file, not a folder"),
        ("sacct.txt", "", ("--timezone", "Mars/Crater"), "timezone 'Mars/Crater' is unknown"),
    ],
)
def test_bad_input_is_one_line_and_nothing_is_written(run, folder, stream, conf, options, word):
    for name, text in BAD.items():
        (folder / name).write_text(text)
    before = sorted(path.name for path in folder.rglob("*"))
    out = () if "--out" in options else ("--out", "DIR")
    given = (stream or "s.csv", "--slurm-conf", conf or "slurm.conf", *out)
    code, told, said = run("replay", *given, *options)
    assert (code, told) == (2, "")
    assert len(said) == 1
    assert word in said[0]
    assert sorted(path.name for path in folder.rglob("*")) == before


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs a folder nobody can write to")
def test_a_folder_that_cannot_be_written(replay):
    code, out, said = replay("s.csv", "--slurm-conf", "slurm.conf", "--out", "/proc/self/x")
    assert (code, out, len(said)) == (2, "", 1)
    assert "/proc/self cannot be written to; name another folder" in said[0]


def test_a_run_that_fails_leaves_what_was_there(replay, folder, monkeypatch):
    replay("s.csv", "--slurm-conf", "slurm.conf", "--out", "DIR")
    before = {path.name: path.read_bytes() for path in (folder / "DIR").iterdir()}

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("sojourn.report.save", fail)
    code, _, said = replay("sacct.txt", "--slurm-conf", "slurm.conf", "--out", "DIR")
    assert code == 1
    assert "No space left" in said[0]
    assert {path.name: path.read_bytes() for path in (folder / "DIR").iterdir()} == before
