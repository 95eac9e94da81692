"""Which files a command has read and written: no output may replace an input.

The command line opens a ledger for each command (`keeping_ledger`); the functions that read and
write files make entries in it. Without an open ledger, as in a Python session, nothing is noted
and nothing refused: there it is the caller who says what replaces what.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from ..errors import OptionError

__all__ = ["Ledger", "check_outputs", "keeping_ledger", "note_input", "note_outputs"]

PathName = str | os.PathLike[str]


@dataclass
class Ledger:
    """Files of one command.

    Parameters
    ----------
    inputs : names of the files that were read, by device and inode: other names of a file, symbolic
        and hard links among them, lead to the same entry.
    outputs : files that were put in place, in this order.
    """

    inputs: dict[tuple[int, int], str] = field(default_factory=dict)
    outputs: list[Path] = field(default_factory=list)


# One for the process, not one for each thread: files are read in several.
_open: list[Ledger] = []


@contextmanager
def keeping_ledger() -> Iterator[Ledger]:
    """Keep a ledger of the files that are read and written meanwhile."""
    ledger = Ledger()
    _open.append(ledger)
    try:
        yield ledger
    finally:
        _open.remove(ledger)


def note_input(path: PathName) -> None:
    """Note that a command reads a file; one that is not there, or no ordinary file, is not one."""
    if not _open:
        return
    try:
        if os.path.isfile(path):
            status = os.stat(path)
            _open[-1].inputs.setdefault((status.st_dev, status.st_ino), os.fspath(path))
    except (OSError, ValueError):
        return


def note_outputs(paths: Iterable[Path]) -> None:
    """Note that a command has put files in place."""
    if _open:
        _open[-1].outputs.extend(paths)


def check_outputs(paths: Iterable[PathName]) -> None:
    """Raise OptionError if a file that would be replaced or removed is one that was read."""
    if not _open:
        return
    for path in paths:
        try:
            status = os.stat(path)
        except (OSError, ValueError):
            continue
        read = _open[-1].inputs.get((status.st_dev, status.st_ino))
        if read is None:
            continue
        same = "" if os.path.abspath(read) == os.path.abspath(path) else f" as {read}"
        raise OptionError(
            f"{os.fspath(path)}: would be overwritten, but this command reads it{same}; "
            "write to another place"
        )
