"""Files that belong together get their names together, or not at all.

They are written to a hidden folder beside their places, which has a name nobody can foresee and
lets nobody else in. Then they are moved in: the last one, which says what the others are
(``summary.json``), goes first where it is replaced, and comes last. So a process that is killed
meanwhile leaves a folder without it, never one with files of two runs; after any error the files
are as they were before.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import gzip
import lzma
import os
import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from types import FrameType
from typing import BinaryIO, cast

from ..errors import LogError, OptionError, RunError
from .access import PathName, check_outputs, note_outputs

# What is wrong with the place, not with its name.
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)

_HIDDEN = ".sojourn-"
_NEW, _OLD = "new", "old"
_PATIENCE, _PAUSE = 10.0, 0.02  # seconds


class Stage:
    """Where files are written before they get their names."""

    def __init__(self, folder: Path, hidden: Path) -> None:
        self.folder = folder
        self._hidden = hidden
        self._placed: dict[str, None] = {}
        self._removed: dict[str, None] = {}

    def __call__(self, name: str) -> Path:
        """Return where to write the file of a name, such as ``easy/jobs.csv``."""
        self._check(name)
        self._removed.pop(name, None)
        self._placed[name] = None
        path = self._hidden / _NEW / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def remove(self, name: str) -> None:
        """Have a file removed when the others get their names, if it is there."""
        self._check(name)
        if name not in self._placed:
            self._removed[name] = None

    def _check(self, name: str) -> None:
        target = self.folder / name
        check_outputs([target])
        if target.is_dir():
            raise IsADirectoryError(errno.EISDIR, "there is a folder of this name", str(target))
        if target.exists() and not target.is_file():
            raise OSError(errno.EINVAL, "no ordinary file", str(target))

    def put_in_place(self) -> None:
        """Give all files their names; on any error, none, and what was there is there again."""
        placed = list(self._placed)
        names = (*reversed(placed), *self._removed)
        moved = [name for name in names if os.path.lexists(self.folder / name)]
        made: list[Path] = []
        with _held(self.folder):
            try:
                self._make_folders(placed, made)
                # One file alone takes the place of another in one step.
                if len(placed) + len(self._removed) > 1:
                    (self._hidden / _OLD).mkdir()
                    for name in moved:
                        target = self._hidden / _OLD / name
                        target.parent.mkdir(parents=True, exist_ok=True)
                        os.replace(self.folder / name, target)
                for name in placed:
                    os.replace(self._hidden / _NEW / name, self.folder / name)
            except BaseException:
                self._take_back(placed, moved, made)
                raise
        # What is written inside of another stage is not in its place yet.
        if not is_staged(self.folder):
            note_outputs([self.folder / name for name in placed])

    def _make_folders(self, names: list[str], made: list[Path]) -> None:
        for name in names:
            for part in reversed(PurePosixPath(name).parents[:-1]):
                folder = self.folder / part
                if not folder.is_dir():
                    made.append(folder)
                    folder.mkdir()

    def _take_back(self, placed: list[str], moved: list[str], made: list[Path]) -> None:
        """Undo what was done, by what is on disk: an interrupt may come between any two steps."""
        for name in placed:
            is_placed = not os.path.lexists(self._hidden / _NEW / name)
            if is_placed and not os.path.lexists(self._hidden / _OLD / name):
                (self.folder / name).unlink(missing_ok=True)
        for name in reversed(moved):
            if os.path.lexists(self._hidden / _OLD / name):
                os.replace(self._hidden / _OLD / name, self.folder / name)
        for folder in reversed(made):
            with contextlib.suppress(OSError):
                folder.rmdir()


@contextlib.contextmanager
def staging(folder: Path) -> Iterator[Stage]:
    """Yield a stage for the files of a folder that is there; they are put in place at the end."""
    clear(folder)
    hidden: Path | None = None
    held = contextlib.ExitStack()
    try:
        with _interrupts_later():
            hidden = Path(tempfile.mkdtemp(prefix=_HIDDEN, dir=folder))
            held.enter_context(_held(hidden))
            (hidden / _NEW).mkdir(parents=True, exist_ok=True)
        stage = Stage(folder, hidden)
        yield stage
        stage.put_in_place()
    finally:
        with _interrupts_later():
            held.close()
            if hidden is not None:
                shutil.rmtree(hidden, ignore_errors=True)


def check_folder(folder: PathName) -> None:
    """Raise OptionError if results could not be written to a folder, before the work is done."""
    path = Path(folder)
    try:
        if path.exists() and not path.is_dir():
            raise OptionError(f"{folder}: is a file, results go to a folder; name another")
        while not path.exists():
            path = path.parent
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise OptionError(f"{folder}: cannot be a folder ({reason}); name another") from None
    if not path.is_dir():
        raise OptionError(f"{folder}: {path} is a file, not a folder; name another")
    if not os.access(path, os.W_OK | os.X_OK):
        raise OptionError(f"{folder}: {path} cannot be written to; name another folder")


def check_file(path: PathName) -> None:
    """Raise OptionError if a file could not be written, or is one that the command reads."""
    target = Path(path)
    if target.is_dir():
        raise OptionError(f"{path}: is a folder; name a file")
    check_folder(target.parent)
    check_outputs([target])


@contextlib.contextmanager
def staged(folder: PathName) -> Iterator[Stage]:
    """Yield a function from a file's name to a path of the same name where it is to be written.

    At the end all files get their places, the last one last; on any error none does, and folders
    made for them go.
    """
    target = Path(folder)
    check_folder(target)
    made: list[Path] = []
    done = False
    try:
        for part in [*reversed(target.parents), target]:
            if not part.exists():
                made.append(part)
                part.mkdir(exist_ok=True)
        with staging(target) as stage:
            yield stage
        done = True
    except OSError as error:
        reason = error.strerror or error
        kind = RunError if error.errno in FULL else OptionError
        raise kind(f"{folder}: cannot be written ({reason}); check the folder") from None
    finally:
        if not done:
            for part in reversed(made):
                with contextlib.suppress(OSError):
                    part.rmdir()


@contextlib.contextmanager
def _interrupts_later() -> Iterator[None]:
    """Put Ctrl-C off for a moment, so that nothing is made without being cleaned up."""
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield
        return
    came: list[tuple[int, FrameType | None]] = []
    signal.signal(signal.SIGINT, lambda number, frame: came.append((number, frame)))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if came:
            handler(*came[0])


def is_staged(path: Path) -> bool:
    """Whether a path is inside of a stage, whose name nobody has given."""
    return any(part.startswith(_HIDDEN) for part in path.parts)


def clear(folder: Path) -> None:
    """Remove what processes have left in a folder that were killed while they wrote to it."""
    for left in _left(folder):
        shutil.rmtree(left, ignore_errors=True)


def interrupted(folder: Path) -> str:
    """Return what a process was doing here when it was killed: placing, writing, or nothing."""
    doing = ""
    for left in _left(folder):
        is_placing = (left / _OLD).is_dir() and any(p.is_file() for p in (left / _NEW).rglob("*"))
        doing = "placing" if is_placing else doing or "writing"
    return doing


def _left(folder: Path) -> Iterator[Path]:
    """Yield hidden folders of processes that have ended; nobody can take hold of them meanwhile."""
    with contextlib.suppress(OSError):
        for hidden in list(folder.glob(f"{_HIDDEN}*")):
            if hidden.is_symlink() or hidden.stat().st_uid != os.geteuid():
                continue
            with _held(hidden, patience=0.0) as is_ours:
                if is_ours:
                    yield hidden


@contextlib.contextmanager
def _held(folder: Path, *, patience: float = _PATIENCE) -> Iterator[bool]:
    """Hold the lock of a folder; yield whether it was to be had.

    It is a courtesy among our own processes: who cannot have it after a while, since somebody
    does not let go or the file system has no locks, goes on without. It ends with its process.
    """
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield _lock(handle, patience)
    finally:
        os.close(handle)


def _lock(handle: int, patience: float) -> bool:
    end = time.monotonic() + patience
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() >= end:
                return False
            time.sleep(_PAUSE)
        except OSError:
            return False


@contextlib.contextmanager
def atomic_path(path: PathName) -> Iterator[Path]:
    """Yield another path of the same name; what was written there replaces `path` at the end.

    On any error it is removed, and `path` stays as it was: OptionError if the command reads it,
    RunError where the disk is full, else LogError.
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


@contextlib.contextmanager
def open_atomic(path: PathName) -> Iterator[BinaryIO]:
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
