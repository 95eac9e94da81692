"""Logs of lines: a file as text, and its lines read one by one."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TypeVar

from ..errors import LogError
from .access import read_bytes

__all__ = ["as_text", "parse_lines", "read_raw", "read_text"]

T = TypeVar("T")


def read_raw(
    path: str | os.PathLike[str],
    *,
    kind: str = "text log",
    wanted: str = "a log with at least one job",
) -> bytes:
    """Return the bytes of a text file that is neither empty nor binary.

    Parameters
    ----------
    path : the file, plain or packed.
    kind, wanted : what it should be, and hold, for the message when it does not.
    """
    data = read_bytes(path)
    if not data or data.isspace():
        raise LogError(path, f"is empty; give {wanted}")
    if b"\0" in data:
        raise LogError(path, f"is a binary file, not a {kind}; check the file's format")
    return data


def read_text(path: str | os.PathLike[str], **said: str) -> str:
    """Return a text file as text, whatever its line ends; `said` as in `read_raw`."""
    return as_text(read_raw(path, **said))


def as_text(data: bytes) -> str:
    """Return the bytes of a text file as text, whatever its line ends."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    return text.replace("\r\n", "\n")


def parse_lines(
    path: str | os.PathLike[str], parse: Callable[[str, int], T], kind: str, *, strict: bool
) -> tuple[list[T], list[int]]:
    """Return what the lines of a log say, and the numbers of those that say nothing.

    Parameters
    ----------
    path : the log; empty lines are passed over.
    parse : (line, number) -> what it says; raises LogError for a malformed line.
    kind : what such a log is called in a message.
    strict : raise at the first malformed line.
    """
    made: list[T] = []
    bad: list[int] = []
    for number, line in enumerate(read_text(path).split("\n"), 1):
        if not line.strip():
            continue
        try:
            made.append(parse(line, number))
        except LogError:
            if strict:
                raise
            bad.append(number)
    if not made:
        raise LogError(path, f"none of its lines is of {kind}; check the file's format", line=1)
    return made, bad
