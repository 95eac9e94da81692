"""Files read: unpacked by content and within bounds; which ones a command reads and writes."""

from __future__ import annotations

import gzip
import lzma
import os
import re
import tomllib
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, TypeVar, cast

from ..errors import ClusterError, LogError, OptionError

_GZIP = b"\x1f\x8b"
_XZ = b"\xfd7zXZ\x00"
_CHUNK = 1 << 24
_GIB = 1 << 30
_LARGEST = "SOJOURN_LARGEST_LOG"
_DEFAULT = "2"

PathName = str | os.PathLike[str]

T = TypeVar("T")
_PARTS = 100
# The library takes time that grows with the square of the parts of a key.
_LONG_KEY = re.compile(rf"(?<![\w\"'-])(?:[\w\"'-]++[ \t]*+\.[ \t]*+){{{_PARTS}}}")
_DIGITS = re.compile(r"(?<!\d)\d[\d_]{4000,}+")


@dataclass
class Ledger:
    """Files of one command: those read, by device and inode, and those put in place, in order.

    Other names of a file, symbolic and hard links among them, lead to the same entry. The command
    line keeps one for each command, so that no output replaces an input; without one, as in a
    Python session, nothing is noted and nothing refused.
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


def largest_log() -> int:
    """Return how many bytes of a file are read at most, after unpacking.

    Few bytes of an archive may stand for more than there is memory. The environment variable
    ``SOJOURN_LARGEST_LOG``, in GiB, moves the bound.
    """
    text = os.environ.get(_LARGEST, "").strip() or _DEFAULT
    try:
        size = float(text) * _GIB
        if 0 < size < float("inf"):
            return int(size)
    except ValueError:
        pass
    raise OptionError(f"{_LARGEST}='{text[:40]}': give a number of GiB above 0, such as {_DEFAULT}")


MISSING = "no such file; check the path"


@contextmanager
def opened(
    path: PathName, error: type[LogError] | type[ClusterError] = LogError
) -> Iterator[BinaryIO]:
    """Open a file, unpacked if its first bytes say gzip or xz; an error says what to do."""
    kind = ""
    try:
        with ExitStack() as stack:
            file = stack.enter_context(open(path, "rb"))
            note_input(path)
            first = file.peek(len(_XZ))
            if first.startswith(_GZIP):
                kind, unpacked = "gzip", gzip.GzipFile(fileobj=file)
                yield cast(BinaryIO, stack.enter_context(unpacked))
            elif first.startswith(_XZ):
                kind = "xz"
                yield cast(BinaryIO, stack.enter_context(lzma.LZMAFile(file)))
            else:
                yield file
    except FileNotFoundError:
        raise error(path, MISSING) from None
    except IsADirectoryError:
        raise error(path, "is a directory; name a file inside it") from None
    except PermissionError:
        raise error(path, "cannot be read; check the file's permissions") from None
    except MemoryError:
        raise error(path, "does not fit into memory; give a part of it") from None
    except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as damage:
        problem = f"the {kind} archive is cut short or damaged ({damage}); fetch the file again"
        raise error(path, problem) from None
    except (OSError, ValueError) as failure:
        reason = getattr(failure, "strerror", None) or failure
        raise error(path, f"cannot be read ({reason}); check the path") from None


_SUFFIX = re.compile(r"\.[A-Za-z]\w*$")


def is_no_file(text: str) -> bool:
    """Whether a text neither names a file that is there nor looks as if it were to name one."""
    return _SUFFIX.search(text.strip()) is None and not os.path.exists(text)


def read_bytes(path: PathName) -> bytes:
    """Return the content of a file, unpacked, of at most `largest_log` bytes."""
    most = left = largest_log()
    parts: list[bytes] = []
    with opened(path) as file:
        # A plain file is read at once; of one that is too large, as little as shows that.
        size = min(os.fstat(file.fileno()).st_size, most) + 1
        while part := file.read(_CHUNK if parts else max(_CHUNK, size)):
            left -= len(part)
            if left < 0:
                raise LogError(
                    path,
                    f"holds more than {most / _GIB:g} GiB; give a part of it, or set {_LARGEST} to"
                    " as many GiB as there is memory for",
                )
            parts.append(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def read_text(path: PathName) -> str:
    """Return the text of a file of options, unpacked; OptionError where it is not UTF-8."""
    try:
        return read_bytes(path).decode("utf-8-sig")
    except LogError as error:
        raise OptionError(str(error), path=path) from None
    except UnicodeDecodeError:
        raise OptionError(f"{path}: not a text in UTF-8; save it as such", path=path) from None


def read_raw(
    path: PathName,
    *,
    kind: str = "text log",
    wanted: str = "a log with at least one job",
) -> bytes:
    """Return the bytes of a text file that is neither empty nor binary.

    `kind` and `wanted` are what it should be, and hold, for the message when it does not.
    """
    data = read_bytes(path)
    if not data or data.isspace():
        raise LogError(path, f"is empty; give {wanted}")
    if b"\0" in data:
        raise LogError(path, f"is a binary file, not a {kind}; check the file's format")
    return data


def read_log_text(path: PathName, **said: str) -> str:
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
    path: PathName, parse: Callable[[str, int], T], kind: str, *, strict: bool
) -> tuple[list[T], list[int]]:
    """Return what the lines of a log say, and the numbers of malformed ones.

    Parameters
    ----------
    path : the log; empty lines are passed over.
    parse : (line, number) -> what it says; raises LogError for a malformed line.
    kind : what such a log is called in a message.
    strict : raise at the first malformed line.
    """
    made: list[T] = []
    bad: list[int] = []
    for number, line in enumerate(read_log_text(path).split("\n"), 1):
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


def load_toml(text: str) -> dict[str, Any]:
    """Return the values of a text; ValueError where it is not TOML, or too large or deep.

    The message is of one line, with ``(at line N, column M)`` at its end where there is a place.
    """
    key = _LONG_KEY.search(text)
    if key is not None:
        raise ValueError(f"A key of more than {_PARTS} parts {_place(text, key)}")
    digits = _DIGITS.search(text)
    if digits is not None:
        raise ValueError(f"A number of so many digits {_place(text, digits)}")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("Too many lists or tables inside each other") from None


def _place(text: str, match: re.Match[str]) -> str:
    at = match.start()
    return f"(at line {text.count(chr(10), 0, at) + 1}, column {at - text.rfind(chr(10), 0, at)})"
