"""Compiled kernels between processes: one checked file each, in a folder of the user's own.

The folder is named after the package version and a digest of the sources of the engine and of the
kernel's own folder, so that an edited callee never leaves a stale caller behind, and every
installation of the same sources finds the same kernels. Loading one runs what the file holds: the
folder must be the user's, and nobody else may write to it. A file that is missing, damaged or
cannot be written costs a compilation, and nothing else. What no process has used for a month goes
when a new folder is made.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import os
import pickle
import re
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numba
import platformdirs
from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator
from numba.core.serialize import dumps

from .__about__ import __version__

_PACKAGE = Path(__file__).resolve().parent
_ENGINE = _PACKAGE / "engine"
_COMPILING = (_PACKAGE / "jit.py", _PACKAGE / "_kept.py")
_FOLDER = re.compile(r"\d[\w.+!]*-[0-9a-f]{16}")
"""How folders of compiled code are called: a version and a digest of sources."""
_GOING = ".going-"
_DAY, _MONTH = 86400.0, 30 * 86400.0  # s
_WRITE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH


@cache
def _source_digest(folder: Path) -> str:
    digest = hashlib.sha256(numba.__version__.encode())
    sources = sorted(_ENGINE.rglob("*.py"))
    if folder != _ENGINE:
        sources += sorted(folder.glob("*.py"))
    for path in [*_COMPILING, *sources]:
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _roots() -> Iterator[Path]:
    """Where kernels may be kept, best first; what users choose themselves may be a link."""
    chosen = os.environ.get("SOJOURN_CACHE_DIR")
    # There may be neither HOME nor an entry for this user, nor a folder for what is temporary.
    with contextlib.suppress(RuntimeError, OSError):
        root = Path(chosen) if chosen else platformdirs.user_cache_path("sojourn", False)
        # Without a home the library leaves the tilde in its place.
        if chosen or root.is_absolute():
            yield root.resolve()
    with contextlib.suppress(OSError):
        yield Path(tempfile.gettempdir()) / f"sojourn-{_user()}"


def _user() -> int:
    return os.geteuid() if hasattr(os, "geteuid") else 0


def _is_private(folder: Path) -> bool:
    """Whether nobody but this user can put a file into a folder, or another in its place."""
    if os.name != "posix":
        return True
    here, above = os.lstat(folder), os.stat(folder.parent)
    if not stat.S_ISDIR(here.st_mode) or here.st_uid != _user() or here.st_mode & _WRITE_BY_OTHERS:
        return False
    if above.st_uid not in (_user(), 0):
        return False
    # In a sticky folder, as that of temporary files is, only the owner may rename.
    return not above.st_mode & _WRITE_BY_OTHERS or bool(above.st_mode & stat.S_ISVTX)


def _made(root: Path, name: str) -> Path | None:
    """A folder `name` below `root`, made if need be; None if it is not ours alone to write."""
    try:
        root.mkdir(parents=True, exist_ok=True, mode=0o700)
        folder = root / name
        is_new = not folder.is_dir()
        folder.mkdir(exist_ok=True, mode=0o700)
        usable = _is_private(root) and _is_private(folder) and os.access(folder, os.W_OK)
    except OSError:
        return None
    if not usable:
        return None
    with contextlib.suppress(OSError):
        if is_new:
            _clear(root, folder)
        elif time.time() - folder.stat().st_mtime > _DAY:
            os.utime(folder)
    return folder


def _clear(root: Path, current: Path) -> None:
    """Remove folders of other versions and sources that nobody has used for a month.

    One process at a time does so. A folder that holds anything but files of this user stays, and
    one that goes has another name before its files do: nobody finds half of it.
    """
    if not any(_is_old(folder) for folder in root.iterdir() if folder != current):
        return
    from filelock import FileLock, Timeout

    with (
        contextlib.suppress(Timeout),
        FileLock(root / ".clearing.lock", blocking=False, mode=0o600),
    ):
        for folder in list(root.iterdir()):
            if folder != current and _is_old(folder) and _is_private(folder) and _is_ours(folder):
                going = root / f"{_GOING}{folder.name.removeprefix(_GOING)}"
                folder.rename(going)
                shutil.rmtree(going, ignore_errors=True)


def _is_old(folder: Path) -> bool:
    """Whether a folder of compiled code was not used for a month, or half removed."""
    if folder.name.startswith(_GOING):
        return True
    is_one = _FOLDER.fullmatch(folder.name) is not None
    return is_one and time.time() - os.lstat(folder).st_mtime > _MONTH


def _is_ours(folder: Path) -> bool:
    inside = [entry.stat(follow_symlinks=False) for entry in os.scandir(folder)]
    return all(stat.S_ISREG(each.st_mode) and each.st_uid == _user() for each in inside)


@cache
def cache_folder(sources: Path = _ENGINE) -> Path:
    """Where compiled kernels are kept: ``SOJOURN_CACHE_DIR``, else the user's cache folder.

    Where that cannot be written, or others may write to it, a folder of this user's among the
    temporary files; where not even that can be trusted, a fresh one for this process. Where
    nothing can be written it is a folder that cannot exist, and nothing is kept.

    Parameters
    ----------
    sources : the folder of the package that holds the kernel and the parts it calls.
    """
    name = f"{__version__}-{_source_digest(sources)}"
    for root in _roots():
        folder = _made(root, name)
        if folder is not None:
            return folder
    try:
        fresh = Path(tempfile.mkdtemp(prefix="sojourn-"))
    except OSError:
        return Path(os.devnull) / name
    atexit.register(shutil.rmtree, fresh, ignore_errors=True)
    return fresh


class _Locator(_CacheLocator):  # type: ignore[misc]
    """Tells Numba that a kernel lives in our folder, wherever its source is installed."""

    def __init__(self, function: Callable[..., Any], file: str) -> None:
        self._py_file = file
        self._line = function.__code__.co_firstlineno
        sources = Path(file).resolve().parent
        self._folder = cache_folder(sources if _PACKAGE in sources.parents else _ENGINE)

    @classmethod
    def from_function(cls, py_func: Callable[..., Any], py_file: str) -> _Locator:
        return cls(py_func, py_file)

    def get_cache_path(self) -> str:
        return str(self._folder)

    def ensure_cache_path(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)

    def get_source_stamp(self) -> str:
        return self._folder.name

    def get_disambiguator(self) -> str:
        return str(self._line)


class _Implementation(CompileResultCacheImpl):  # type: ignore[misc]
    _locator_classes = (_Locator,)


class _Files:
    """One file per kernel, signature and processor: a digest, then what it is the digest of."""

    def __init__(self, folder: Path, base: str) -> None:
        self.folder = folder
        self.base = base

    def _path(self, key: Any) -> Path:
        return self.folder / f"{self.base}.{hashlib.sha256(repr(key).encode()).hexdigest()[:16]}"

    def load(self, key: Any) -> Any:
        with open(self._path(key), "rb") as file:
            # The folder was looked at once; others may have exchanged it since.
            if os.fstat(file.fileno()).st_uid != _user():
                raise PermissionError("the file belongs to somebody else")
            content = file.read()
        digest, data = content[:32], content[32:]
        if hashlib.sha256(data).digest() != digest:
            raise ValueError("the file is damaged")
        return pickle.loads(data)

    def save(self, key: Any, compiled: Any) -> None:
        data = dumps(compiled)
        handle, temporary = tempfile.mkstemp(dir=self.folder, prefix=".")
        try:
            with open(handle, "wb") as file:
                file.write(hashlib.sha256(data).digest() + data)
            os.replace(temporary, self._path(key))
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise


class KernelCache(FunctionCache):  # type: ignore[misc]
    """Numba's cache of one function, for which a bad file is a missing one."""

    _impl_class = _Implementation

    def __init__(self, function: Callable[..., Any], announce: Callable[[], None]) -> None:
        super().__init__(function)
        self._cache_file = _Files(Path(self._cache_path), self._impl.filename_base)
        self._announce = announce

    def _index_key(self, sig: Any, codegen: Any) -> Any:
        """By signature and processor: the folder stands for the sources, the file for the name.

        Numba would add what a function closes over, as bytes; of a compiled part they are never
        the same in two processes.
        """
        return sig, codegen.magic_tuple()

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return what was kept, or None; whatever is wrong with it, it can be compiled again."""
        found = None
        with contextlib.suppress(Exception):
            found = super().load_overload(sig, target_context)
        if found is None:
            self._announce()
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep a compiled kernel, where there is room for it."""
        with contextlib.suppress(OSError):
            super().save_overload(sig, data)
