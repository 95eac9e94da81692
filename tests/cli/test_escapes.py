"""Names and headers of files: shown by a terminal, not obeyed; no formulas in spreadsheets."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from sojourn.report.text.streams import visible
from sojourn.run.folder import as_cell, write_rows

from .conftest import SMALL

Refused = Callable[..., str]

EVIL = "\x1b]0;pwned\x07\x1b[2J\x1b[31mred\x9b1m\x7f\u202e[bold]:fire:[/nothing]"


@pytest.fixture
def evil_log(write_log: Callable[..., Path]) -> Path:
    header = f"; Computer: {EVIL}\n; MaxProcs: 4\n; Note: {EVIL}\n; Queue: 1 {EVIL}\n"
    return write_log(*SMALL, header=header, name="evil\x1b[2J.swf")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def is_plain(text: str) -> bool:
    return all(sign.isprintable() or sign == "\n" for sign in text)


@pytest.mark.parametrize("verb", ["inspect", "simulate", "compare", "stability"])
def test_headers_and_file_names_are_shown(run, evil_log: Path, tmp_path: Path, verb: str) -> None:
    out = tmp_path / "out\x1b[31m"
    told = run(verb, evil_log, "--out", out) if verb != "inspect" else run(verb, evil_log)
    assert told.code == 0, told.err
    assert is_plain(told.out)
    assert is_plain(told.err)
    if verb == "inspect":
        assert "\\x1b]0;pwned" in told.out
        assert "[bold]:fire:[/nothing]" in told.out


def test_errors_are_shown(refused: Refused, tmp_path: Path) -> None:
    assert "none\\x1b[2J.swf: no such file" in refused("inspect", tmp_path / "none\x1b[2J.swf")


def test_on_a_terminal_only_our_own_colours_are_left(
    evil_log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sojourn.cli import main

    screen = Terminal()
    monkeypatch.setattr(sys, "stdout", screen)
    monkeypatch.setenv("TERM", "xterm-256color")
    assert main(["inspect", str(evil_log)]) == 0
    shown = screen.getvalue()
    assert "\x1b[1m" in shown
    assert "\\x1b[31mred" in shown
    assert "\x1b[31m" not in shown
    assert "\x1b]" not in shown
    assert "\x1b[2J" not in shown


def test_what_is_made_visible() -> None:
    assert visible("a\tb\nc é 漢") == "a\tb\nc é 漢"
    assert visible("\x1b\r\x00\x9b\u202e") == "\\x1b\\x0d\\x00\\x9b\\u202e"


def test_a_progress_bar_shows_names_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    from sojourn.cli._run import Progress

    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr("sojourn.cli._run._PATIENCE", -1.0)
    bar = Progress(EVIL, shown=True)
    bar(1, 2)
    bar.close()
    assert "\\x1b]0;pwned" in screen.getvalue()
    assert "\x1b]0" not in screen.getvalue()


@pytest.mark.parametrize("name", ["=cmd|calc", "+1", "-x", "@x", "a\x1b[2J"])
@pytest.mark.parametrize("column", ["name", "model"])
def test_nodes_have_no_names_that_are_formulas(
    refused: Refused, tmp_path: Path, name: str, column: str
) -> None:
    row = {"name": "n1", "model": "old", column: name}
    path = tmp_path / "nodes.csv"
    path.write_text(f"name,model,cores,ops,watts\n{row['name']},{row['model']},4,1e5,200\n")
    line = refused("cluster", "inspect", path)
    assert f"line 2, field '{column}'" in line
    assert "choose another" in line


def test_texts_that_look_like_formulas_are_quoted_in_tables(tmp_path: Path) -> None:
    names = ["=1+1", "+x", "-x", "@x", "\tx", "anna", "-1.5", "+2e3", "", "a=b"]
    write_rows(tmp_path / "x.csv", [{"user": name, "wait": -1.5} for name in names])
    with open(tmp_path / "x.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["user"] for row in rows] == [
        *("'=1+1", "'+x", "'-x", "'@x", "'\tx"),
        *("anna", "-1.5", "+2e3", "", "a=b"),
    ]
    assert {row["wait"] for row in rows} == {"-1.5"}
    assert as_cell("-") == "'-"
