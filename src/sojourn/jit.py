"""The house decorator: how every kernel is compiled and where it is kept.

Compiled code is cached in a folder named after the package version and a digest of the engine's
sources, so an edited callee can never leave a stale caller behind, and a read-only installation
caches in the user's own cache folder.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numba
from numba import config

from .__about__ import __version__

__all__ = ["cache_folder", "called", "compiled", "inlined", "is_cold", "notice_if_cold"]


def _source_digest() -> str:
    digest = hashlib.sha256(numba.__version__.encode())
    here = Path(__file__).resolve()
    for path in [here, *sorted((here.parent / "engine").glob("*.py"))]:
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


@cache
def cache_folder() -> Path:
    """Where compiled kernels are kept: ``SOJOURN_CACHE_DIR``, else the user's cache folder."""
    root = os.environ.get("SOJOURN_CACHE_DIR")
    if root is None:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        root = str(Path(base) / "sojourn")
    return Path(root) / f"{__version__}-{_source_digest()}"


@contextlib.contextmanager
def _house_cache() -> Iterator[None]:
    """Let Numba place a function's cache in our folder, and nobody else's functions."""
    before = config.CACHE_DIR
    config.CACHE_DIR = str(cache_folder())
    try:
        yield
    finally:
        config.CACHE_DIR = before


_OPTIONS = {"nogil": True, "error_model": "numpy"}


def compiled(signature: Any = None, *, allocates: bool = False) -> Callable[..., Any]:
    """Compile a kernel: cached, without the interpreter lock, NumPy's error model.

    Parameters
    ----------
    signature : an explicit Numba signature (compiled at decoration), or None (at first call).
    allocates : whether it makes arrays. One that does not is compiled without reference counts,
        which otherwise cost more than the work between them.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        arguments = () if signature is None else (signature,)
        with _house_cache():
            return numba.njit(*arguments, cache=True, _nrt=allocates, **_OPTIONS)(function)

    return decorate


def inlined(function: Callable[..., Any]) -> Any:
    """Compile a small part of a kernel so that it always melts into its caller."""
    return numba.njit(_nrt=False, forceinline=True, **_OPTIONS)(function)


def called(function: Callable[..., Any]) -> Any:
    """Compile a larger part of a kernel as a function of its own, called with few arrays."""
    return numba.njit(_nrt=False, **_OPTIONS)(function)


def is_cold(kernel: Any) -> bool:
    """Whether a kernel still has to be compiled on this machine."""
    if config.DISABLE_JIT or kernel.signatures:
        return False
    folder = Path(kernel.stats.cache_path)
    name = f"{kernel.py_func.__module__.rpartition('.')[2]}.{kernel.py_func.__name__}-"
    return not (folder.is_dir() and any(p.name.startswith(name) for p in folder.iterdir()))


def notice_if_cold(kernel: Any, what: str) -> None:
    """One line on standard error before a first compilation, instead of silence."""
    if is_cold(kernel):
        print(f"sojourn: compiling {what}; this happens once ...", file=sys.stderr, flush=True)
