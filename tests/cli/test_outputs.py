"""What commands write: never over what they read, whole or not at all, and said truly."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Refused = Callable[..., str]

NODES = "name,model,cores,ops,watts\nn1,old,4,1e5,200\n"
CSV = "job,submit,runtime,procs,estimate\n1,0,10,3,10\n2,1,5,4,5\n"
SCENARIO = '[workload]\nlog = "jobs.csv"\n[cluster]\nprocs = 4\n[run]\nformat = "csv"\n'


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small: Path) -> Path:
    """A folder with inputs whose names are those of outputs, in which commands are run."""
    folder = tmp_path / "here"
    folder.mkdir()
    (folder / "nodes.csv").write_text(NODES)
    (folder / "jobs.csv").write_text(CSV)
    shutil.copy(small, folder / "jobs.swf")
    shutil.copy(small, folder / "real")
    (folder / "linked.swf").symlink_to("jobs.swf")
    (folder / "hard.swf").hardlink_to(folder / "jobs.swf")
    (folder / "s.toml").write_text(SCENARIO)
    (folder / "scenario.toml").write_text(f"# mine\n{SCENARIO}")
    (folder / "jobs.parquet").symlink_to("real")
    monkeypatch.chdir(folder)
    return folder


def files(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.mark.parametrize(
    ("command", "named"),
    [
        ("simulate jobs.swf --cluster nodes.csv --out .", "nodes.csv"),
        ("peas jobs.swf nodes.csv --out .", "nodes.csv"),
        ("simulate jobs.csv --procs 4 --format csv --out .", "jobs.csv"),
        ("simulate jobs.swf --format swf --out .", "jobs.swf"),
        ("simulate linked.swf --format swf --out .", "jobs.swf"),
        ("simulate hard.swf --format swf --out ../here", "jobs.swf"),
        ("simulate real --log-format swf --out .", "jobs.parquet"),
        ("run s.toml --out .", "jobs.csv"),
        ("compare jobs.swf --policies easy --csv hard.swf", "hard.swf"),
        ("convert jobs.swf linked.swf", "linked.swf"),
        ("convert jobs.csv jobs.csv --procs 4", "jobs.csv"),
        ("sweep scenario.toml --set policy.order=fcfs,sjf --out .", "scenario.toml"),
        ("simulate jobs.swf --save-scenario s.toml --policy-file s.toml:x", ""),
    ],
)
def test_no_command_overwrites_what_it_reads(
    refused: Refused, here: Path, command: str, named: str
) -> None:
    before = files(here)
    line = refused(*command.split())
    assert named in line
    if named:
        assert "would be overwritten" in line
    after = files(here)
    # A study has a lock and a folder of runs, which it takes away again.
    assert {name: after[name] for name in before} == before
    assert set(after) - set(before) <= {".lock"}


def test_a_log_that_a_former_run_wrote_is_not_removed(run, refused, here: Path) -> None:
    assert run("simulate", "jobs.swf", "--format", "swf", "--out", "out").code == 0
    assert "jobs.swf" in refused("simulate", "out/jobs.swf", "--out", "out")
    assert (here / "out" / "jobs.swf").exists()


def test_a_study_goes_on_from_its_own_copy_of_the_scenario(run, here: Path) -> None:
    options = ("--set", "policy.order=fcfs,sjf", "--out", "study")
    assert run("sweep", "s.toml", *options).code == 0
    again = run("sweep", "study/scenario.toml", *options)
    assert again.code == 0, again.err
    assert "2 of them known before" in again.out


@pytest.mark.parametrize(
    "options", [("--out", ""), ("--out=",), ("--save-scenario", ""), ("--save-scenario=",)]
)
def test_an_output_without_a_name(refused: Refused, here: Path, options: tuple[str, ...]) -> None:
    before = files(here)
    assert "the name is empty" in refused("simulate", "jobs.swf", *options)
    assert files(here) == before


def test_a_name_that_is_no_text(run, refused: Refused, here: Path) -> None:
    name = os.fsdecode(b"r\xe9sultats")
    assert run("simulate", "jobs.swf", "--out", name).code == 0
    assert (here / name / "summary.json").is_file()
    assert run("report", name).code == 0
    assert "r\\udce9" in refused("inspect", name + "/none.swf")


def test_tables_are_in_utf8_whatever_the_locale(tmp_path: Path) -> None:
    code = (
        "from sojourn.run.folder import write_rows; write_rows('t.csv', [{'user': '\\u0141ukasz'}])"
    )
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env={**os.environ, **plain}, check=True
    )
    assert (tmp_path / "t.csv").read_text(encoding="utf-8") == "user\nŁukasz\n"


def test_comparisons_are_kept_whole_or_not_at_all(
    run, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = ("compare", "jobs.swf", "--out", "out", "--policies")
    assert run(*options, "fcfs,easy").code == 0
    before, kept = files(here), {}

    def interrupt(result, *arguments: object, **options: object) -> object:
        if kept:
            raise KeyboardInterrupt
        kept.update(stage(result, *arguments, **options))
        return kept

    from sojourn.run.folder import write_run as stage

    monkeypatch.setattr("sojourn.run.folder.write_run", interrupt)
    told = run(*options, "sjf,easy")
    assert (told.code, told.err) == (
        130,
        "sojourn: error: interrupted; no results were written\n",
    )
    assert files(here) == before


def test_an_interrupt_says_what_is_there(run, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("sojourn.report.text.summary.show_summary", interrupt)
    told = run("simulate", "jobs.swf", "--out", "out")
    assert (told.code, told.err) == (
        130,
        "sojourn: error: interrupted; what was finished is in out\n",
    )
    assert run("simulate", "jobs.swf").err.endswith("interrupted; no results were written\n")


def test_an_interrupt_names_folders_once_and_only_those_that_are_there(here: Path) -> None:
    from sojourn.cli import _written
    from sojourn.files.access import Ledger

    (here / "study" / "runs").mkdir(parents=True)
    paths = [here / "study" / "study.json", here / "study" / "runs" / "part.parquet"]
    for path in paths:
        path.write_text("")
    outputs = [*paths, here / "gone" / "study.json"]
    assert _written(Ledger(outputs=outputs)) == f"what was finished is in {here / 'study'}"
    assert _written(Ledger(outputs=outputs[-1:])) == "no results were written"


KILLED = """
import os, sys
from sojourn.cli import main

count, replace = int(sys.argv[1]), os.replace
def failing(source, target):
    global count
    if str(target).startswith(("out/", "here/")) or "/old/" in str(target):
        if count == 0:
            os.kill(os.getpid(), 9)
        count -= 1
    replace(source, target)
os.replace = failing
main(sys.argv[2:])
"""


@pytest.mark.parametrize("renames", [1, 4])
def test_a_run_killed_between_renames_is_not_reported_on(
    run, refused: Refused, here: Path, renames: int
) -> None:
    command = ("simulate", "jobs.swf", "--out", "out")
    assert run(*command).code == 0
    killed = [sys.executable, "-c", KILLED, str(renames), *command, "--policy", "fcfs"]
    assert subprocess.run(killed, check=False).returncode == -signal.SIGKILL
    assert "out: was interrupted while results were put in place" in refused("report", "out")
    assert run(*command).code == 0
    assert run("report", "out").code == 0


@pytest.mark.parametrize(
    ("command", "target"),
    [("stability jobs.swf --out new", "new"), ("generate lublin --out new.swf.gz", "new.swf.gz")],
)
def test_a_full_disk_under_a_picture_or_a_log(
    refused: Refused, here: Path, monkeypatch: pytest.MonkeyPatch, command: str, target: str
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("matplotlib.figure.Figure.savefig", full)
    monkeypatch.setattr("sojourn.files.access.gzip.GzipFile", full)
    reason = "cannot be written (No space left on device); check the folder"
    assert refused(*command.split(), code=1) == f"sojourn: error: {target}: {reason}"
    assert not Path(target).exists()
