"""A month of a cluster through every verb that reads a log, in bounded time."""

from __future__ import annotations

import json
import time

import numpy as np
import pytest
from sacct_month import COLUMNS, CONF, PROCS, ZONE, Month

from sojourn.cli import main
from sojourn.jobs.formats.sacct import read_sacct, sacct_accounting

SECONDS = 20.0
"""Of processor time for one verb, many times what it takes, compiling apart."""

# One line per verb that reads a log; {log}, {conf} and {out} are filled in.
VERBS = [
    "inspect {log} --procs {procs}",
    "simulate {log} --procs {procs} --out {out}",
    "compare {log} --procs {procs} --policies fcfs,easy",
    "plan {log} --procs {procs} --growth 1.1",
    "stability {log} --procs {procs} --policy fcfs",
    "fit {log}",
    "limits {log}",
    "waits {log} --by partition,account,user,qos,width",
    "convert {log} {out}.parquet",
    "replay {log} --slurm-conf {conf} --members 1 --out {out}",
    "adequacy {log} {log} --leave-out-unstarted",
]


@pytest.fixture(scope="module")
def month(tmp_path_factory):
    folder = tmp_path_factory.mktemp("month")
    (folder / "slurm.conf").write_text(CONF)
    return Month().write(folder / "sacct.txt")


def test_what_the_month_holds(month):
    jobs = read_sacct(month, timezone=ZONE)
    report = jobs.report
    for rule in ("waiting-tasks", "component", "requeued", "never-started", "unfinished",
                 "held-back", "changed-clock", "joined-row"):  # fmt: skip
        assert report.count(rule) > 0, rule
    for rule in ("bad-field", "too-few-fields", "disordered-times", "elapsed", "orphan-step"):
        assert report.count(rule) == 0, rule
    assert len(set(jobs.job.tolist())) == len(jobs) == len(set(jobs.label.tolist()))
    assert set(jobs.labels("partition").tolist()) == {"cpu", "gpu", "fat"}
    assert set(jobs.labels("account").tolist()) == {"phys", "chem", "bio"}
    assert set(jobs.labels("qos").tolist()) == {"normal", "long"}
    assert ((jobs.gpus > 0) == (jobs.labels("partition") == "gpu")).all()
    assert (jobs.wait[jobs.runtime >= 0] >= 0).all()


def test_elapsed_and_the_zone_agree_with_what_was_made(month):
    """Without the zone only Elapsed gives the runtimes over the night on which clocks change."""
    there, bare = read_sacct(month, timezone=ZONE), read_sacct(month)
    assert bare.report.count("elapsed") > 0
    runtime = dict(zip(there.label.tolist(), there.runtime.tolist(), strict=True))
    assert runtime == dict(zip(bare.label.tolist(), bare.runtime.tolist(), strict=True))
    assert "zone not given" in (bare.header.get("Clock") or "")


def test_a_month_without_names(month, tmp_path):
    text = month.read_text().split("\n", 1)[1].replace("|", ";")
    path = tmp_path / "bare.txt"
    path.write_text(text)
    told = sacct_accounting(path, columns=COLUMNS, delimiter=";", timezone=ZONE)
    known = sacct_accounting(month, timezone=ZONE)
    assert told["run"].tolist() == known["run"].tolist()
    assert np.array_equal(told["submit"], known["submit"])


@pytest.mark.parametrize("verb", VERBS, ids=[verb.partition(" ")[0] for verb in VERBS])
def test_every_verb_reads_a_month(month, tmp_path, capsys, verb):
    places = {"log": month, "conf": month.parent / "slurm.conf", "out": tmp_path / "out"}
    words = verb.format(procs=PROCS, **places).split()
    began = time.process_time()
    code = main([*words, "--timezone", ZONE])
    spent = time.process_time() - began
    out, err = capsys.readouterr()
    assert code == 0, err
    assert out
    if "compiling" not in err:
        assert spent < SECONDS


@pytest.mark.parametrize(
    "verb",
    [
        "inspect {log} --log-format sacct",
        "simulate {log} --procs {procs} --log-format sacct",
        "fit {log} --log-format sacct",
        "convert {log} {out}.csv --log-format sacct",
        "replay {log} --slurm-conf {conf} --members 1 --format sacct",
        "adequacy {log} {log} --leave-out-unstarted --real-format sacct --model-format sacct",
    ],
)
def test_verbs_read_a_month_without_names(month, tmp_path, capsys, verb):
    bare = tmp_path / "bare.txt"
    bare.write_text(month.read_text().partition("\n")[2].replace("|", ";"))
    places = {"log": bare, "conf": month.parent / "slurm.conf", "out": tmp_path / "out"}
    words = verb.format(procs=PROCS, **places).split()
    told = ["--columns", ",".join(COLUMNS), "--delimiter", ";", "--wait-from", "eligible"]
    assert main([*words, *told]) == 0, capsys.readouterr().err
    assert main([*words, "--columns", ",".join([*COLUMNS, "Comment"]), "--delimiter", ";"]) == 2
    said = capsys.readouterr().err.splitlines()[-1]
    assert "rows fit the 25 columns given" in said


def test_a_clock_without_a_zone_is_called_so(month, capsys):
    assert main(["inspect", str(month), "--procs", str(PROCS)]) == 0
    assert "local time of the log, zone not given" in capsys.readouterr().out
    assert main(["inspect", str(month), "--procs", str(PROCS), "--timezone", ZONE]) == 0
    assert f"submits by hour of the day, {ZONE}" in capsys.readouterr().out


def test_a_scenario_has_the_options_too(month, tmp_path, capsys):
    scenario = tmp_path / "s.toml"
    text = (
        f'[workload]\nlog = "{month}"\ntimezone = "{ZONE}"\nwait_from = "eligible"\n'
        f'[cluster]\nprocs = {PROCS}\n[policy]\nname = "easy"\n'
    )
    scenario.write_text(text)
    assert main(["run", str(scenario), "--out", str(tmp_path / "run")]) == 0
    capsys.readouterr()
    (tmp_path / "log.swf").write_text("1 0 0 9 1 -1 -1 1 9 -1 1 1 1 1 1 1 -1 -1\n")
    scenario.write_text(text.replace(str(month), str(tmp_path / "log.swf")))
    assert main(["run", str(scenario), "--out", str(tmp_path / "again")]) == 2
    said = capsys.readouterr().err
    assert "workload.timezone" in said
    assert "timezone: only for logs of csv, parquet, jobcomp, pbs, sacct" in said
    assert "not swf; leave it out" in said


def test_replay_takes_every_job_that_ended(month, tmp_path):
    out = tmp_path / "out"
    words = ["replay", str(month), "--slurm-conf", str(month.parent / "slurm.conf"), "--members"]
    assert main([*words, "1", "--timezone", ZONE, "--out", str(out)]) == 0
    told = json.loads((out / "replay.json").read_text())
    assert told["refused"] == []
    ended = sacct_accounting(month, timezone=ZONE)
    ran = np.isfinite(ended["end"] - ended["start"])
    assert told["adequacy"]["n"] == np.count_nonzero(ran)
