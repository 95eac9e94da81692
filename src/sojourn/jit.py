"""The house decorator: how every kernel is compiled. Where it is kept is said by `_kept`."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable
from typing import Any

import numba
from numba import config

from ._kept import KernelCache, cache_folder

__all__ = ["cache_folder", "called", "compiled", "inlined", "is_cold", "notice_if_cold", "spliced"]


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
    signature: Any = None,
    *,
    allocates: bool = False,
    pointer: bool = False,
    slow: str = "",
    seconds: float = 0.0,
) -> Callable[..., Any]:
    """Compile a kernel: cached, without the interpreter lock, NumPy's error model.

    Parameters
    ----------
    signature : an explicit Numba signature (compiled at decoration), or None (at first call).
    allocates : whether it makes arrays. One that does not is compiled without reference counts,
        which otherwise cost more than the work between them.
    pointer : whether it is handed to kernels as a function pointer.
    slow : what the user is told to wait for; the engine's kernels need not say it.
    seconds : about how long, on a core of its own; 0 if not known.
    """
    options = {**_OPTIONS, "_nrt": allocates, "no_cfunc_wrapper": not pointer}

    def decorate(function: Callable[..., Any]) -> Any:
        kernel = numba.njit(**options)(function)
        if not config.DISABLE_JIT:
            kernel._cache = KernelCache(function)
        if signature is not None and not config.DISABLE_JIT:
            # As njit with a signature does, but with a word first where it takes long.
            engine = function.__module__.startswith(_ENGINE)
            what = slow or ("the engine" if engine else "")
            if what and not kernel._cache.holds(signature, kernel.targetctx):
                notice_if_cold(kernel, what, seconds, surely=True)
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
    return not kernel._cache.holds_any


def notice_if_cold(kernel: Any, what: str, seconds: float = 0.0, *, surely: bool = False) -> None:
    """One line on standard error before a first compilation, instead of silence.

    `surely` where it is known that it is one, though others of that name have been compiled.
    """
    if what not in _announced and (surely or is_cold(kernel)):
        _announced.add(what)
        long = f"takes about {seconds:.0f} s" if seconds else "may take a minute or two"
        print(
            f"sojourn: compiling {what}; this {long}, and happens once ...",
            file=sys.stderr,
            flush=True,
        )
