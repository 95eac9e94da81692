"""Bytes in and out: compression by content, atomic writes, errors that say what to do."""

from __future__ import annotations

import gzip
import lzma
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Protocol, cast

from ..errors import LogError, OptionError, RunError
from .ledger import note_input
from .staging import FULL, is_staged, staging

__all__ = ["atomic_path", "largest_log", "open_atomic", "read_bytes", "read_text"]

_GZIP = b"\x1f\x8b"
_XZ = b"\xfd7zXZ\x00"
_CHUNK = 1 << 24
_GIB = 1 << 30
_LARGEST = "SOJOURN_LARGEST_LOG"
_DEFAULT = "2"


class _Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


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


def read_bytes(path: str | os.PathLike[str]) -> bytes:
    """Return the content of a file, unpacked if its first bytes say gzip or xz.

    Raises
    ------
    LogError
        When the file is missing, unreadable, a directory, a damaged archive, or larger than
        `largest_log`.
    """
    most = largest_log()
    kind = ""
    try:
        with open(path, "rb") as file:
            note_input(path)
            first = file.peek(len(_XZ))
            if first.startswith(_GZIP):
                kind = "gzip"
                with gzip.GzipFile(fileobj=file) as unpacked:
                    return _bounded(path, unpacked, most)
            if first.startswith(_XZ):
                kind = "xz"
                with lzma.LZMAFile(file) as plain:
                    return _bounded(path, plain, most)
            # Of a file that is too large, as little as tells that.
            size = min(os.fstat(file.fileno()).st_size, most) + 1
            return _bounded(path, file, most, size)
    except FileNotFoundError:
        raise LogError(path, "no such file; check the path") from None
    except IsADirectoryError:
        raise LogError(path, "is a directory; name a file inside it") from None
    except PermissionError:
        raise LogError(path, "cannot be read; check the file's permissions") from None
    except MemoryError:
        raise LogError(path, "does not fit into memory; give a part of it") from None
    except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
        raise LogError(
            path, f"the {kind} archive is cut short or damaged ({error}); fetch the file again"
        ) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise LogError(path, f"cannot be read ({reason}); check the path") from None


def _bounded(path: str | os.PathLike[str], file: _Readable, most: int, size: int = 0) -> bytes:
    """Return the content of a file of probably `size` bytes, which is then read at once."""
    parts: list[bytes] = []
    left = most
    while part := file.read(max(_CHUNK, size) if not parts else _CHUNK):
        left -= len(part)
        if left < 0:
            raise LogError(
                path,
                f"holds more than {most / _GIB:g} GiB; give a part of it, or set {_LARGEST} to as"
                " many GiB as there is memory for",
            )
        parts.append(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def read_text(path: str | os.PathLike[str]) -> str:
    """Return the text of a file of options, unpacked as by `read_bytes`.

    Raises
    ------
    OptionError
        When it cannot be read, or is not UTF-8.
    """
    try:
        return read_bytes(path).decode("utf-8-sig")
    except LogError as error:
        raise OptionError(str(error), path=path) from None
    except UnicodeDecodeError:
        raise OptionError(f"{path}: not a text in UTF-8; save it as such", path=path) from None


@contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield another path of the same name; what was written there replaces `path` at the end.

    On any error it is removed, and `path` stays as it was.

    Raises
    ------
    OptionError
        If the command reads the file that would be replaced.
    LogError, RunError
        If it cannot be written; RunError where the disk is full.
    """
    target = Path(path)
    try:
        with staging(target.parent) as place:
            yield place(target.name)
    except OSError as error:
        if is_staged(target):  # Those who write a whole folder say which one.
            raise
        reason = error.strerror or error
        if error.errno in FULL:
            raise RunError(f"{path}: cannot be written ({reason}); check the folder") from None
        raise LogError(path, f"cannot be written ({reason}); check the folder") from None


@contextmanager
def open_atomic(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file for writing bytes, packed if its name ends in ``.gz`` or ``.xz``."""
    suffix = Path(path).suffix.lower()
    with atomic_path(path) as temporary, open(temporary, "wb") as plain:
        if suffix == ".gz":
            # Neither name nor time in the archive: equal jobs give equal files.
            with gzip.GzipFile(filename="", mode="wb", fileobj=plain, mtime=0) as packed:
                yield cast(BinaryIO, packed)
        elif suffix == ".xz":
            with lzma.LZMAFile(plain, "wb", preset=1) as xz:
                yield cast(BinaryIO, xz)
        else:
            yield plain
