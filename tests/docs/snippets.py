"""Fenced blocks of a page, and how they are run.

- ``python``: runs in one namespace per page; a ``text`` block right after it is what it prints.
  A block whose first line is a comment with a file's name is also saved as that file.
- ``console``: lines that begin with ``$`` are commands, the lines below them what they print.

In what is printed ``...`` stands for anything, ``~`` marks a number that was measured, such as a
time, and spaces may differ in number.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import re
import shlex
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sojourn.cli import main

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]

_FENCE = re.compile(r"\s*(`{3,}|:{3,})\s*(\S*)\s*$")
_FILE = re.compile(r"#\s+([\w./-]+\.py)$", re.MULTILINE)
_SHELL = set("|<>&;")
_MEASURED = re.compile(r"~\d[\d.,]*")
_LOOSE = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text, and the line on which the text begins."""

    page: Path
    line: int
    language: str
    text: str
    follows: int

    @property
    def where(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


@dataclass(frozen=True)
class Command:
    """A command of a console block and what it is said to print."""

    text: str
    printed: str


def blocks(page: Path) -> Iterator[Block]:
    """Yield the fenced blocks of a page; `follows` is the last line with text before the fence."""
    fence, language, begin, text = "", "", 0, []
    last = 0
    before = 0
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        match = _FENCE.match(line)
        if fence:
            if match and match[1] == fence and not match[2]:
                body = textwrap.dedent("\n".join(text) + "\n")
                yield Block(page, begin, language, body, before)
                fence, last = "", number
            else:
                text.append(line)
        elif match and match[1][0] == "`":
            fence, language, begin, text, before = match[1], match[2], number + 1, [], last
        elif line.strip():
            last = number


def commands(block: Block) -> Iterator[Command]:
    """Yield the commands of a console block; a backslash joins lines."""
    command, printed = "", []
    lines = iter(block.text.splitlines())
    for line in lines:
        if line.startswith("$ "):
            if command:
                yield Command(command, "\n".join(printed))
            command, printed = line[2:], []
            while command.endswith("\\"):
                command = command[:-1].rstrip() + " " + next(lines).strip()
        else:
            printed.append(line)
    if command:
        yield Command(command, "\n".join(printed))


def check_printed(want: str, got: str, where: str) -> None:
    """Fail unless what was printed is what the page says."""
    if not want.strip():
        return
    said = _MEASURED.sub("...", want).strip() + "\n"
    alike = doctest.OutputChecker().check_output(said, got.strip() + "\n", _LOOSE)
    assert alike, f"{where}: the page says\n{want}\nbut it prints\n{got}"


class Session:
    """A reader who types in everything that a page shows, from top to bottom."""

    def __init__(self, data: Path | None = None) -> None:
        self.namespace: dict[str, Any] = {"__name__": "__main__"}
        self.data = data
        self.printed: tuple[int, str] = (0, "")

    def run(self, block: Block) -> None:
        if block.language == "python":
            self._run_python(block)
        elif block.language == "console":
            for command in commands(block):
                self._run_command(command, block.where)
        elif block.language == "text" and block.follows == self.printed[0]:
            check_printed(block.text, self.printed[1], block.where)

    def _run_python(self, block: Block) -> None:
        named = _FILE.match(block.text)
        if named:
            Path(named[1]).write_text(block.text, encoding="utf-8")
        out = io.StringIO()
        # Blank lines in front make line numbers in a traceback those of the page.
        code = compile("\n" * (block.line - 1) + block.text, str(block.page), "exec")
        with contextlib.redirect_stdout(out):
            exec(code, self.namespace)
        end = block.line + block.text.count("\n")
        self.printed = (end, out.getvalue())

    def _run_command(self, command: Command, where: str) -> None:
        text = command.text
        if self.data is not None:
            text = text.replace("--data DIR", f"--data {shlex.quote(str(self.data))}")
        words = shlex.split(text)
        if words[0] == "make":
            targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
            assert words[1] in targets, f"{where}: the Makefile has no target {words[1]}"
            return
        if words[0] == "sojourn" and not _SHELL & set(text):
            code, out, err = _in_process(words[1:])
        else:
            code, out, err = _in_shell(text)
        fails = command.printed.startswith("sojourn: error:")
        assert code == (2 if fails else 0), f"{where}: $ {text}\nexit code {code}\n{out}{err}"
        check_printed(command.printed, err if fails else out, where)


def _in_process(arguments: list[str]) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(arguments)
    return code, out.getvalue(), err.getvalue()


def _in_shell(text: str) -> tuple[int, str, str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", text],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PATH": path},
        check=False,
    )
    return done.returncode, done.stdout, done.stderr
