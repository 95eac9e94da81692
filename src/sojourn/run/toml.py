"""TOML: which line each key stands on, which the standard library does not say, and writing it."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping
from typing import Any

import tomli_w

Path = tuple[str | int, ...]
"""Where a value is: names of tables and keys, and places in lists."""

_BLANKS = re.compile(r"[ \t]*")
_ASIDE = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_QUOTED = re.compile(r'"(?:[^"\\\n]|\\.)*"' + r"|'[^'\n]*'")
# Up to two quotation marks may stand right before the three that end a text.
_LONG = re.compile(
    r'"""(?:[^"\\]|\\.|"{1,2}(?!"))*"{3,5}' + r"|'''(?:[^']|'{1,2}(?!'))*'{3,5}", re.S
)
_WIDTH = 88
_LIST = re.compile(r"^\S.* = \[\n(?: .*\n)+\]$", re.MULTILINE)
_PLAIN = re.compile(r"[^,\]}#\n]*")


def key_lines(text: str) -> dict[Path, int]:
    """Return the line, counted from 1, of every table, key and list element.

    Parameters
    ----------
    text : valid TOML, as `tomllib` has read it before.

    Examples
    --------
    >>> key_lines("[control]\\nrates = [1,\\n  2]\\nk.low = 3\\n")[("control", "k", "low")]
    4
    """
    scan = _Scan(text.replace("\r\n", "\n"))
    scan.document()
    return scan.lines


def statements(text: str) -> list[tuple[Path, int]]:
    """Return the tables and keys in their order with their lines, those given twice twice.

    Parameters
    ----------
    text : TOML, which need not be right; what comes after a form that it does not have is left out.
    """
    scan = _Scan(text.replace("\r\n", "\n"))
    with contextlib.suppress(ValueError, LookupError):
        scan.document()
    return scan.stated


class _Scan:
    """A walk through a text that is known to be valid."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.lines: dict[Path, int] = {}
        self.stated: list[tuple[Path, int]] = []
        self._depth = 0  # of lists and tables within a value
        self._counted = (0, 1)
        self._lists: dict[Path, int] = {}  # tables in each list of tables

    def document(self) -> None:
        """Read tables and keys to the end."""
        table: Path = ()
        self._pass(_ASIDE)
        while self.at < len(self.text):
            if self.text[self.at] == "[":
                table = self._header()
            else:
                self._pair(table)
            self._pass(_ASIDE)

    def _header(self) -> Path:
        several = self.text.startswith("[[", self.at)
        self.at += 2 if several else 1
        line = self._line()
        names = self._names()
        self.at += 2 if several else 1
        path: Path = ()
        for name in names[:-1]:
            path = self._latest((*path, name))
        path = (*path, names[-1])
        if several:
            count = self._lists[path] = self._lists.get(path, 0) + 1
            self.lines.setdefault(path, line)
            path = (*path, count - 1)
        self._note(path, line)
        return path

    def _latest(self, path: Path) -> Path:
        """The table meant by a name within a header: of a list of tables, the last one."""
        return (*path, self._lists[path] - 1) if path in self._lists else path

    def _pair(self, table: Path) -> None:
        line = self._line()
        path = (*table, *self._names())
        self._note(path, line)
        self.at += 1  # the equals sign
        self._pass(_BLANKS)
        self._value(path)

    def _names(self) -> list[str]:
        """Read the parts of a key, up to the sign that ends it."""
        import tomllib

        names = []
        while True:
            self._pass(_BLANKS)
            quoted = _QUOTED.match(self.text, self.at)
            match = quoted or _BARE.match(self.text, self.at)
            if match is None:
                raise ValueError(f"no key at character {self.at}")
            self.at = match.end()
            names.append(tomllib.loads(f"k={match[0]}")["k"] if quoted else match[0])
            self._pass(_BLANKS)
            if not self.text.startswith(".", self.at):
                return names
            self.at += 1

    def _value(self, path: Path) -> None:
        for form in (_LONG, _QUOTED):
            match = form.match(self.text, self.at)
            if match is not None:
                self.at = match.end()
                return
        opened = self.text[self.at : self.at + 1]
        if opened == "[":
            self._elements(path, "]")
        elif opened == "{":
            self._elements(path, "}")
        else:
            self._pass(_PLAIN)

    def _elements(self, path: Path, closing: str) -> None:
        self.at += 1
        self._depth += 1
        place = 0
        self._pass(_ASIDE)
        while not self.text.startswith(closing, self.at):
            begin = self.at
            if closing == "}":
                self._pair(path)
            else:
                self._note((*path, place), self._line())
                self._value((*path, place))
                place += 1
            self._pass(_ASIDE)
            if self.text.startswith(",", self.at):
                self.at += 1
                self._pass(_ASIDE)
            if self.at == begin:
                raise ValueError(f"no value at character {self.at}")
        self.at += 1
        self._depth -= 1

    def _note(self, path: Path, line: int) -> None:
        """Remember the line of a value, and of the tables that its key implies."""
        for length in range(1, len(path)):
            self.lines.setdefault(path[:length], line)
        self.lines[path] = line
        if not self._depth:
            self.stated.append((path, line))

    def _line(self) -> int:
        at, line = self._counted
        self._counted = (self.at, line + self.text.count("\n", at, self.at))
        return self._counted[1]

    def _pass(self, form: re.Pattern[str]) -> None:
        match = form.match(self.text, self.at)
        self.at = match.end() if match is not None else self.at


def as_toml(mapping: Mapping[str, Any]) -> str:
    """Return a mapping as a document, its tables as sections; an empty table leaves nothing."""
    text = tomli_w.dumps({name: value for name, value in mapping.items() if value != {}})
    # The library gives each value of a list a line of its own, also where one would do.
    return _LIST.sub(lambda match: _shorter(match[0]), text)


def value_as_toml(value: Any) -> str:
    """Return one plain value as TOML has it, in one line."""
    # Inside of a list of lists nothing becomes a section.
    text = _in_one_line(tomli_w.dumps({"": [[value]]}).strip())
    return text.removeprefix('"" = [[').removesuffix("]]")


def _shorter(text: str) -> str:
    line = _in_one_line(text)
    return line if len(line) <= _WIDTH else text


def _in_one_line(text: str) -> str:
    """Join the lines of a list; no text has a line break of its own."""
    for pattern, instead in ((r",\n *\]", "]"), (r"\[\n *", "["), (r"\n *", " ")):
        text = re.sub(pattern, instead, text)
    return text
