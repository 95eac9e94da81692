"""The house decorator: how every kernel is compiled and where it is kept.

Compiled code is cached in a folder named after the package version and a digest of the sources of
the engine and of the kernel's own folder, so an edited callee can never leave a stale caller
behind, and a read-only installation caches in the user's own cache folder.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import importlib.util
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numba
from numba import config

from .__about__ import __version__

__all__ = ["cache_folder", "called", "compiled", "inlined", "is_cold", "notice_if_cold", "spliced"]


_HERE = Path(__file__).resolve()
_ENGINE_FOLDER = _HERE.parent / "engine"


@cache
def _source_digest(folder: Path) -> str:
    digest = hashlib.sha256(numba.__version__.encode())
    folders = {_ENGINE_FOLDER: None, folder: None}
    for path in [_HERE, *(path for each in folders for path in sorted(each.glob("*.py")))]:
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


@cache
def cache_folder(sources: Path = _ENGINE_FOLDER) -> Path:
    """Where compiled kernels are kept: ``SOJOURN_CACHE_DIR``, else the user's cache folder.

    Where that cannot be written, a folder of this user's among the temporary files.

    Parameters
    ----------
    sources : the folder of the package that holds the kernel and the parts it calls.
    """
    root = os.environ.get("SOJOURN_CACHE_DIR")
    if root is None:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        root = str(Path(base) / "sojourn")
    name = f"{__version__}-{_source_digest(sources)}"
    folder = Path(root) / name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if os.access(folder, os.W_OK):
            return folder
    except OSError:
        pass
    folder = Path(tempfile.gettempdir()) / f"sojourn-{os.getuid()}" / name
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return folder


@contextlib.contextmanager
def _house_cache(function: Callable[..., Any]) -> Iterator[None]:
    """Let Numba place a function's cache in our folder, and nobody else's functions."""
    before = config.CACHE_DIR
    sources = Path(function.__code__.co_filename).resolve().parent
    is_ours = _HERE.parent in sources.parents
    config.CACHE_DIR = str(cache_folder(sources if is_ours else _ENGINE_FOLDER))
    try:
        yield
    finally:
        config.CACHE_DIR = before


def _defer_linear_algebra() -> None:
    """Let Numba find out whether SciPy is there without importing it.

    Numba's array support imports all of SciPy's linear algebra to see whether there is a BLAS:
    0.3 s of each start, for functions that no kernel here uses. Code that does use them imports
    it when it is compiled, as ever.
    """
    if "numba.np.arraymath" in sys.modules or "scipy.linalg" in sys.modules:
        return
    try:
        from numba.np import linalg

        thorough = linalg.ensure_blas
    except (ImportError, AttributeError):
        return

    def is_installed() -> None:
        if importlib.util.find_spec("scipy") is None:
            raise ImportError("scipy is not installed")

    linalg.ensure_blas = is_installed
    try:
        importlib.import_module("numba.np.arraymath")
    finally:
        linalg.ensure_blas = thorough


_defer_linear_algebra()

_OPTIONS = {"nogil": True, "error_model": "numpy"}
_ENGINE = f"{__package__}.engine."
_announced: set[str] = set()


def compiled(
    signature: Any = None, *, allocates: bool = False, pointer: bool = False, slow: str = ""
) -> Callable[..., Any]:
    """Compile a kernel: cached, without the interpreter lock, NumPy's error model.

    Parameters
    ----------
    signature : an explicit Numba signature (compiled at decoration), or None (at first call).
    allocates : whether it makes arrays. One that does not is compiled without reference counts,
        which otherwise cost more than the work between them.
    pointer : whether it is handed to kernels as a function pointer.
    slow : what the user is told to wait for; the engine's kernels need not say it.
    """
    options = {**_OPTIONS, "_nrt": allocates, "no_cfunc_wrapper": not pointer}

    def decorate(function: Callable[..., Any]) -> Any:
        with _house_cache(function):
            kernel = numba.njit(cache=True, **options)(function)
        if signature is not None and not config.DISABLE_JIT:
            # As njit with a signature does, but with a word first where it takes long.
            what = "the engine" if function.__module__.startswith(_ENGINE) else slow
            if what:
                notice_if_cold(kernel, what)
            kernel.compile(signature)
            kernel.disable_compile()
        return kernel

    return decorate


# Parts of kernels are never called from Python: without wrappers they compile much faster.
_PART = {**_OPTIONS, "_nrt": False, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def inlined(function: Callable[..., Any]) -> Any:
    """Compile a small part of a kernel so that it always melts into its caller."""
    return numba.njit(forceinline=True, **_PART)(function)


def spliced(function: Callable[..., Any]) -> Any:
    """Paste a part of a kernel into its only caller, before that is compiled.

    For the machine as `inlined`; but a part that calls many others is not compiled twice.
    """
    return numba.njit(inline="always", **_PART)(function)


def called(function: Callable[..., Any]) -> Any:
    """Compile a larger part of a kernel as a function of its own, called with few arrays."""
    return numba.njit(**_PART)(function)


def is_cold(kernel: Any) -> bool:
    """Whether a kernel still has to be compiled on this machine."""
    if config.DISABLE_JIT or kernel.signatures:
        return False
    folder = Path(kernel.stats.cache_path)
    name = f"{kernel.py_func.__module__.rpartition('.')[2]}.{kernel.py_func.__name__}-"
    return not (folder.is_dir() and any(p.name.startswith(name) for p in folder.iterdir()))


def notice_if_cold(kernel: Any, what: str) -> None:
    """One line on standard error before a first compilation, instead of silence."""
    if what not in _announced and is_cold(kernel):
        _announced.add(what)
        print(f"sojourn: compiling {what}; this happens once ...", file=sys.stderr, flush=True)
