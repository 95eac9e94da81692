"""Files that get their names together: errors, interrupts, killed processes, other users."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from sojourn.errors import LogError, OptionError
from sojourn.files.access import keeping_ledger, note_input
from sojourn.files.staging import atomic_path, interrupted, staging
from sojourn.run.folder import staged

FILES = ("jobs.csv", "extra/jobs.csv", "summary.json")


def write(folder: Path, word: str, *, without: tuple[str, ...] = ()) -> None:
    with staging(folder) as stage:
        for name in FILES:
            stage(name).write_text(word)
        for name in without:
            stage.remove(name)


def contents(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): path.read_text()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.mark.parametrize("former", [False, True])
@pytest.mark.parametrize("error", [OSError(28, "No space"), KeyboardInterrupt()])
@pytest.mark.parametrize("call", range(6))
def test_an_error_at_any_rename_leaves_all_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, former: bool, error, call: int
) -> None:
    if former:
        write(tmp_path, "former")
        (tmp_path / "old.csv").write_text("former")
    before, calls, replace = contents(tmp_path), [], os.replace

    def failing(source: Path, target: Path) -> None:
        calls.append(target)
        if len(calls) == call + 1:
            raise error
        replace(source, target)

    monkeypatch.setattr("os.replace", failing)
    if call >= 3 and not former:
        write(tmp_path, "new")
        assert set(contents(tmp_path).values()) == {"new"}
        return
    with pytest.raises(type(error)):
        write(tmp_path, "new", without=("old.csv",))
    assert contents(tmp_path) == before
    assert [path for path in tmp_path.iterdir() if path.name.startswith(".")] == []
    assert (tmp_path / "extra").exists() == former


KILLED = """
import os, sys
from pathlib import Path
from sojourn.files.staging import staging

count, replace = int(sys.argv[2]), os.replace
def failing(source, target):
    global count
    if count == 0:
        os._exit(9)
    count -= 1
    replace(source, target)
os.replace = failing
with staging(Path(sys.argv[1])) as stage:
    for name in ("a.csv", "b.csv", "summary.json"):
        stage(name).write_text("new")
"""


@pytest.mark.parametrize("renames", [0, 1, 3, 4, 5])
def test_a_process_killed_between_renames_leaves_no_mixture(tmp_path: Path, renames: int) -> None:
    for name in ("a.csv", "b.csv", "summary.json"):
        (tmp_path / name).write_text("former")
    done = subprocess.run([sys.executable, "-c", KILLED, tmp_path, str(renames)], check=False)
    assert done.returncode == 9
    if renames:
        assert not (tmp_path / "summary.json").exists()
    assert interrupted(tmp_path) == "placing"
    with staging(tmp_path) as stage:
        stage("summary.json").write_text("again")
    assert interrupted(tmp_path) == ""
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_what_is_written_now_is_not_taken_for_left(tmp_path: Path) -> None:
    with staging(tmp_path) as stage:
        stage("a").write_text("a")
        assert interrupted(tmp_path) == ""
        with staging(tmp_path) as other:
            other("b").write_text("b")
    assert contents(tmp_path) == {"a": "a", "b": "b"}


def test_modes_follow_the_umask_and_the_hidden_folder_lets_nobody_in(tmp_path: Path) -> None:
    former = os.umask(0o027)
    try:
        with staging(tmp_path) as stage:
            path = stage("x")
            path.write_text("x")
            assert stat.S_IMODE(path.parents[1].stat().st_mode) == 0o700
    finally:
        os.umask(former)
    assert stat.S_IMODE((tmp_path / "x").stat().st_mode) == 0o640


def test_a_link_at_a_name_that_was_foreseen_is_not_followed(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("precious")
    shared = tmp_path / "shared"
    shared.mkdir()
    (shared / f".x.csv.{os.getpid()}.tmp").symlink_to(precious)
    with atomic_path(shared / "x.csv") as path:
        path.write_text("x")
    assert precious.read_text() == "precious"
    names = set()
    for _ in range(3):
        with atomic_path(shared / "x.csv") as path:
            names.add(path)
            path.write_text("x")
    assert len(names) == 3


@pytest.mark.parametrize("kind", ["folder", "pipe"])
def test_what_is_no_file_is_not_replaced(tmp_path: Path, kind: str) -> None:
    target = tmp_path / "x.csv"
    target.mkdir() if kind == "folder" else os.mkfifo(target)
    with pytest.raises(LogError, match=r"x\.csv: cannot be written"), atomic_path(target) as path:
        path.write_text("x")
    with (
        staged(tmp_path) as place,
        pytest.raises(IsADirectoryError if kind == "folder" else OSError),
    ):
        place("x.csv")
    with pytest.raises(OptionError, match="cannot be written"), staged(tmp_path) as place:
        [place(name).write_text(name) for name in ("y.csv", "x.csv")]
    assert [path.name for path in tmp_path.iterdir()] == ["x.csv"]


@pytest.mark.parametrize("link", ["itself", "symbolic", "hard"])
def test_an_input_is_not_replaced_while_a_ledger_is_kept(tmp_path: Path, link: str) -> None:
    log, target = tmp_path / "log.csv", tmp_path / "out.csv"
    log.write_text("log")
    if link == "itself":
        target = log
    elif link == "symbolic":
        target.symlink_to(log)
    else:
        target.hardlink_to(log)
    with keeping_ledger():
        note_input(log)
        with pytest.raises(OptionError, match="would be overwritten"), atomic_path(target) as path:
            path.write_text("new")
        with pytest.raises(OptionError, match="would be overwritten"), staged(tmp_path) as place:
            place.remove(target.name)
    assert target.read_text() == log.read_text() == "log"
    with atomic_path(log) as path:
        path.write_text("new")
    assert log.read_text() == "new"


@pytest.mark.parametrize("call", ["mkdtemp", "rmtree"])
def test_an_interrupt_while_the_hidden_folder_is_made_or_removed_leaves_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    where = {"mkdtemp": tempfile, "rmtree": shutil}[call]
    real = getattr(where, call)

    def disturbed(*given, **options):
        os.kill(os.getpid(), signal.SIGINT)
        return real(*given, **options)

    monkeypatch.setattr(where, call, disturbed)
    # Processes that run tests side by side do not listen to Ctrl-C.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt), staging(tmp_path) as place:
            place("table.csv").write_text("a")
    finally:
        signal.signal(signal.SIGINT, before)
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]
