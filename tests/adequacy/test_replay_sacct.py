"""Logs of sacct through the model of Slurm: requeued jobs, typed GPUs, what is refused and why."""

from __future__ import annotations

import json

import pytest

from sojourn.adequacy import replay
from sojourn.cli import main
from sojourn.policy.slurm import node_table, read_requests, read_slurm_conf

CONF = """
SchedulerType=sched/backfill
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
GresTypes=gpu
NodeName=c[1-4] CPUs=8
NodeName=g1 CPUs=8 Gres=gpu:a100:4
PartitionName=cpu Nodes=c[1-4] Default=YES MaxNodes=3
PartitionName=gpu Nodes=g1
PartitionName=old Nodes=c1 State=DOWN
"""
NAMES = "JobID|User|Account|Partition|Submit|Start|End|State|Timelimit|ReqCPUS|NNodes|ReqTRES"
DAY = "2024-01-01T"


def row(job, submit="00:00:00", start="00:00:01", end="00:01:41", **other):
    given = {"partition": "cpu", "state": "COMPLETED", "cpus": 8, "nodes": 1, **other}
    tres = given.get("tres", f"cpu={given['cpus']},node={given['nodes']}")
    times = "|".join(DAY + time for time in (submit, start, end))
    return (
        f"{job}|anna|x|{given['partition']}|{times}|{given['state']}|00:02:00|{given['cpus']}"
        f"|{given['nodes']}|{tres}"
    )


@pytest.fixture
def files(tmp_path):
    def make(*rows, names=NAMES):
        conf, log = tmp_path / "slurm.conf", tmp_path / "sacct.txt"
        conf.write_text(CONF)
        log.write_text("\n".join([*([names] if names else []), *rows]) + "\n")
        return log, conf

    return make


def requests(log, conf, **options):
    site = read_slurm_conf(conf)
    return read_requests(log, site, node_table(site), **options)


def test_a_requeued_job_is_a_request_for_each_run(files):
    log, conf = files(
        row(5),
        row(7, state="NODE_FAIL", end="00:00:31"),
        row(7, "00:00:31", "00:00:40", "00:01:40"),
        row(8, "00:00:50", "00:00:51", "00:01:00"),
    )
    asked = requests(log, conf)
    assert asked.label.tolist() == ["5", "7", "7#2", "8"]
    assert asked.submit.tolist() == [0.0, 0.0, 31.0, 50.0]
    assert asked.run.tolist() == [100.0, 30.0, 60.0, 9.0]
    done = replay(log, conf, members=1)
    assert done.adequacy.n == 4
    assert [row["id"] for row in done.rows()] == ["5", "7", "7#2", "8"]


@pytest.mark.parametrize(
    ("tres", "gpus"),
    [("cpu=8,node=1,gres/gpu:a100=4", 4), ("cpu=8,node=1,gres/gpu=2", 2), ("cpu=8,node=1", 0)],
)
def test_gpus_by_their_type_alone(files, tres, gpus):
    log, conf = files(row(5, partition="gpu", tres=tres))
    assert requests(log, conf).gpus.tolist() == [gpus]


def test_reasons_of_what_is_refused(files, capsys):
    log, conf = files(
        row(1),
        row(2, partition="gpu", tres="cpu=8,node=1,gres/gpu:a100=8"),
        row(3, cpus=16),
        row(4, cpus=16),
        row(5, cpus=32, nodes=4),
        row(6, cpus=80, nodes=10),
        row(7, partition="old"),
        row(8, partition="gpu", cpus=16, nodes=2),
    )
    told = replay(log, conf, members=1).as_dict()
    assert told["refused"] == ["2", "3", "4", "5", "6", "7", "8"]
    assert told["refused_why"] == {
        "of partition gpu that ask for more nodes with so many GPUs than it has": ["2"],
        "of partition cpu that ask for more nodes with so many processors than it has": ["3", "4"],
        "of partition cpu that ask for more nodes than it allows": ["5", "6"],
        "of partition old, which is not up": ["7"],
        "of partition gpu that ask for more nodes than it has": ["8"],
    }
    assert main(["replay", str(log), "--slurm-conf", str(conf), "--members", "1"]) == 0
    out = capsys.readouterr().out
    assert "refused      1 job of partition old, which is not up: 7" in out


@pytest.mark.parametrize("broken", ["node=x", "cpu=8,node=1,gres/gpu=x"])
def test_broken_resources_are_told(files, capsys, broken):
    log, conf = files(row(1), row(2, tres=broken), row(3, tres="cpu=,node="))
    assert main(["replay", str(log), "--slurm-conf", str(conf), "--members", "1", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["jobs"] == 2
    assert (
        "skip bad-field: 1 line, a field that its column cannot hold (first: line 3)"
        in (told["said"])
    )
    log, conf = files(row(2, tres=broken))
    assert main(["replay", str(log), "--slurm-conf", str(conf), "--members", "1"]) == 2
    said = capsys.readouterr().err
    assert "line 2, field 'reqtres'" in said
    assert "report" not in said


def test_a_log_without_names_and_with_another_delimiter(files):
    rows = [
        row(k, f"00:00:{10 * k:02d}", f"00:00:{10 * k + 2:02d}").replace("|", ";")
        for k in range(1, 4)
    ]
    log, conf = files(*rows, names="")
    options = {"columns": NAMES.split("|"), "delimiter": ";", "timezone": "Europe/Berlin"}
    with_names, _ = files(*(line.replace(";", "|") for line in rows))
    here = requests(with_names, conf)
    log, conf = files(*rows, names="")
    there = requests(log, conf, format="sacct", **options)
    assert there.submit.tolist() == here.submit.tolist()
    assert there.origin == here.origin - 3600.0
    command = ["replay", str(log), "--slurm-conf", str(conf), "--members", "1"]
    command += ["--format", "sacct", "--columns", NAMES.replace("|", ","), "--delimiter", ";"]
    assert main([*command, "--timezone", "Europe/Berlin", "--wait-from", "eligible"]) == 0


def test_options_of_accounting_are_none_of_a_stream(files, tmp_path, capsys):
    _, conf = files(row(1))
    stream = tmp_path / "s.csv"
    stream.write_text("id,submit,nodes,run,limit_min\n1,0,3,100,2\n")
    command = ["replay", str(stream), "--slurm-conf", str(conf), "--timezone", "Europe/Berlin"]
    assert main(command) == 2
    said = capsys.readouterr().err
    assert "timezone: only for logs of csv, parquet, jobcomp, pbs, sacct" in said
    assert "not stream; leave it out" in said
