"""Where a page takes its facts from: folders, logs, clocks and files."""

from __future__ import annotations

import hashlib
import json
import shutil
from datetime import UTC, datetime

import numpy as np
import pytest

from sojourn.errors import OptionError
from sojourn.jobs import write_log, write_swf
from sojourn.report.page import make_report
from sojourn.report.page.folder import read_folder
from sojourn.report.page.subjects import ComparisonFolder, RunFolder
from sojourn.study import read_scenario, run_scenario

from .conftest import made_jobs, study_rows, write_simulated, write_study
from .test_pages import facts_of, read


def retold(folder, change) -> None:
    path = folder / "summary.json"
    summary = json.loads(path.read_text())
    change(summary)
    path.write_text(json.dumps(summary))


def test_runs_side_by_side_are_a_comparison_if_they_are_alike(tmp_path):
    jobs, others = made_jobs(150, 16), made_jobs(150, 16, seed=6)
    made = {
        "alike": [(jobs, 16, "fcfs"), (jobs, 16, "easy")],
        "logs": [(jobs, 16, "fcfs"), (others, 16, "fcfs")],
        "processors": [(jobs, 16, "fcfs"), (jobs, 32, "fcfs")],
    }
    for name, runs in made.items():
        for i, (log, procs, policy) in enumerate(runs):
            write_simulated(tmp_path / name / f"run{i}", log, procs, policy)
    assert isinstance(read_folder(tmp_path / "alike"), ComparisonFolder)
    for name, told in (("logs", r"their logs \(by SHA-256\)"),
                       ("processors", r"their processors \(16 and 32\)")):  # fmt: skip
        with pytest.raises(OptionError, match=f"run0 and run1 cannot .* differ in {told}; report"):
            read_folder(tmp_path / name)
    # Without digests the jobs themselves tell.
    for name in ("alike", "logs"):
        for folder in (tmp_path / name).glob("run?"):
            retold(folder, lambda summary: summary.pop("provenance"))
    assert isinstance(read_folder(tmp_path / "alike"), ComparisonFolder)
    with pytest.raises(OptionError, match="when their jobs were submitted"):
        read_folder(tmp_path / "logs")
    # What compare wrote is a comparison, whatever it compared.
    (tmp_path / "logs" / "compare.json").write_text('{"folders": ["run0", "run1"]}')
    assert isinstance(read_folder(tmp_path / "logs"), ComparisonFolder)


def test_a_folder_called_runs_is_no_study(tmp_path, run_folder):
    shutil.copytree(run_folder, tmp_path / "here" / "runs")
    assert isinstance(read_folder(tmp_path / "here"), RunFolder)
    folder = write_study(tmp_path / "study", study_rows())
    (folder / "study.json").unlink()
    assert read_folder(folder).keys == ("control.k", "policy.order")


def test_a_run_of_a_scenario_knows_its_users(tmp_path):
    jobs = made_jobs(200, 16)
    write_log(jobs, tmp_path / "log.csv")
    lines = (tmp_path / "log.csv").read_text().replace("user", "who", 1)
    (tmp_path / "log.txt").write_text(lines)
    names = ("job", "submit", "runtime", "procs", "estimate")
    columns = ", ".join(f'{name} = "{name}"' for name in names)
    (tmp_path / "s.toml").write_text(
        f'[workload]\nlog = "log.txt"\nformat = "csv"\ncolumns = {{user = "who", {columns}}}\n'
        '[cluster]\nprocs = 16\n[power]\nstarts = "2011-05-01T09:00+09:00"\n'
    )
    run_scenario(read_scenario(tmp_path / "s.toml"), tmp_path / "run")
    run = read_folder(tmp_path / "run")
    assert run.who("user").tolist() == jobs.user.astype(str).tolist()
    assert run.unix_start == datetime(2011, 5, 1, tzinfo=UTC).timestamp()
    page = make_report(tmp_path / "run")
    clock = facts_of(page)["charts"]["timeline"]["clock"]
    assert (clock["type"], clock["offset"]) == ("date", 1000 * run.unix_start)


def test_why_users_are_not_known(tmp_path):
    write_swf(made_jobs(200, 16).replace(user=np.full(200, -1)), tmp_path / "nobody.swf")
    for name, workload, told in (
        ("model", 'model = "lublin"\njobs = 60\n', "those of a model, which has none."),
        ("draw", 'log = "nobody.swf"\nresample = "jobs"\n', "the jobs was drawn from anew."),
        ("nobody", 'log = "nobody.swf"\n', "does not record whose they are."),
    ):
        (tmp_path / f"{name}.toml").write_text(f"[workload]\n{workload}[cluster]\nprocs = 16\n")
        run_scenario(read_scenario(tmp_path / f"{name}.toml"), tmp_path / name)
        assert told in read(make_report(tmp_path / name)).words


def test_the_start_that_was_given_counts(run_folder, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(run_folder, copy)
    assert read_folder(copy).unix_start == 1e9
    starts = {"starts": "2020-02-03T04:05"}
    retold(copy, lambda summary: summary["provenance"]["options"].update(starts))
    assert read_folder(copy).unix_start == datetime(2020, 2, 3, 4, 5, tzinfo=UTC).timestamp()


@pytest.mark.parametrize("policy", ["sjf+preempt", "spf"])
def test_jobs_that_were_stopped_have_no_chart_of_servers(tmp_path, policy):
    folder = write_simulated(tmp_path / "stopped", made_jobs(300, 8, load=0.95), 8, policy)
    run = facts_of(make_report(folder))["charts"]["timeline"]["runs"][0]
    assert run["missing"].startswith("No chart of servers: jobs were preempted")


def test_every_file_has_its_digest(tmp_path, capsys):
    from sojourn.cli import main

    def call(*arguments: object) -> None:
        assert main([str(argument) for argument in arguments]) == 0, capsys.readouterr().err

    write_swf(made_jobs(60, 8), tmp_path / "log.swf")
    (tmp_path / "servers.csv").write_text("model,cores,ops,watts\nold,16,1e5,200\n")
    (tmp_path / "cluster.toml").write_text(
        'servers = "servers.csv"\n[[node]]\nserver = "old"\ncount = 2\n'
    )
    (tmp_path / "own.py").write_text(
        "import sojourn\n\n\n@sojourn.score\ndef mine(jobs, j, now, theta):\n"
        "    return jobs.estimate[j]\n\n\n@sojourn.score\n"
        "def cool(nodes, n, jobs, j, now, theta):\n    return nodes.watts[n]\n"
    )
    (tmp_path / "co2.csv").write_text("time,g_per_kwh\n0,300\n9e8,250\n")
    (tmp_path / "events.csv").write_text("time,kind,procs,until\n2e4,down,2,6e4\n")
    own, log = tmp_path / "own.py", tmp_path / "log.swf"
    both = ("--carbon", tmp_path / "co2.csv", "--starts", "2011-05-01", "--policy-file",
            f"{own}:mine")  # fmt: skip
    named = ("--cluster", tmp_path / "cluster.toml", *both)
    call("compare", log, *named, "--policies", "mine", "--placements", f"first-fit,{own}:cool",
         "--out", tmp_path / "compare")  # fmt: skip
    call("simulate", log, *named, "--placement", f"{own}:cool", "--out", tmp_path / "simulate")
    call("compare", log, *both, "--policies", "mine,easy", "--events", tmp_path / "events.csv",
         "--out", tmp_path / "events")  # fmt: skip
    files = {"input": "log.swf", "order": "own.py", "carbon": "co2.csv"}
    nodes = {"cluster": "cluster.toml", "servers": "servers.csv", "placement": "own.py"}
    for name, wanted in (
        ("compare", files | nodes),
        ("simulate", files | nodes),
        ("events", files | {"events": "events.csv"}),
    ):
        found = next((tmp_path / name).rglob("summary.json"))
        origin = json.loads(found.read_text())["provenance"]
        digests = {key: each["sha256"] for key, each in origin.items()
                   if isinstance(each, dict) and "sha256" in each}  # fmt: skip
        assert digests == {
            key: hashlib.sha256((tmp_path / file).read_bytes()).hexdigest()
            for key, file in wanted.items()
        }
        words = read(make_report(tmp_path / name)).words
        for key, digest in digests.items():
            assert f"{'log' if key == 'input' else key} {tmp_path / wanted[key]}, " in words
            assert digest in words
    assert "2 runs on 2 nodes" in read(make_report(tmp_path / "compare")).words
