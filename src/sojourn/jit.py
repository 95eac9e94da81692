"""The house decorator: how every kernel is compiled. Where it is kept is said by `_kept`."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numba
from llvmlite import binding as llvm
from numba import config, types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler

from ._kept import KernelCache, cache_folder

__all__ = ["PART", "cache_folder", "called", "compiled", "inlined", "spliced"]


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
    slow : what the user is told to wait for, where that is half a second or more.
    seconds : about how long, on a core of its own.
    """
    options = {
        **_OPTIONS,
        "_nrt": allocates,
        "no_cfunc_wrapper": not pointer,
        "pipeline_class": _KernelCompiler,
    }

    def decorate(function: Callable[..., Any]) -> Any:
        kernel = numba.njit(**options)(function)
        if config.DISABLE_JIT:
            return kernel
        kernel._cache = KernelCache(function, partial(_announce, slow, seconds))
        if signature is not None:
            kernel.compile(signature)
            kernel.disable_compile()
        return kernel

    return decorate


def _announce(what: str, seconds: float) -> None:
    """One line on standard error before a first compilation, instead of silence."""
    if what and what not in _announced:
        _announced.add(what)
        print(
            f"sojourn: compiling {what}; this takes about {seconds:.2g} s, and happens once ...",
            file=sys.stderr,
            flush=True,
        )


class _PartLibrary(JITCodeLibrary):  # type: ignore[misc]
    """The code of a part, which is only ever linked into that of kernels.

    It is optimised there, and becomes machine code there. Numba would do both for each part by
    itself as well, and so for each part of a part, over and over: half of all that compiling takes.
    """

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """There is none."""
        self._ensure_finalized()
        return 0

    @property
    def codegen(self) -> Any:
        """Stands for the engine that would have to know where to find Python's objects."""
        return self

    def set_env(self, name: str, environment: Any) -> None:
        """Without machine code nothing can be looked up."""


_OF_BUILTINS = "numba7cpython8builtins"
"""What Numba makes of `min` and `max`: a few words that melt into whoever asks."""


class _KernelLibrary(JITCodeLibrary):  # type: ignore[misc]
    """The code of a kernel, whose parts nobody else calls.

    Numba leaves them open to others, so that each call hands over all that a part takes: of the
    tables hundreds of words. Closed, what a part does not use is not handed over. They have no
    names then: by its name the linker would take one for the same part in code of others, which
    hands over everything.
    """

    def _optimize_final_module(self) -> None:
        for function in self._final_module.functions:
            if not function.is_declaration and function.linkage == llvm.Linkage.linkonce_odr:
                function.linkage = llvm.Linkage.private
                if _OF_BUILTINS in function.name:
                    function.add_function_attribute("alwaysinline")
        super()._optimize_final_module()


class _KernelCompiler(Compiler):  # type: ignore[misc]
    """As Numba's, but for where the code goes."""

    library: type[JITCodeLibrary] = _KernelLibrary
    is_kept = True

    def _compile_core(self) -> Any:
        if self.state.library is None:
            name = self.state.func_id.func_qualname
            self.state.library = self.library(self.state.targetctx.codegen(), name)
            if self.is_kept:
                self.state.library.enable_object_caching()
        return super()._compile_core()


class _PartCompiler(_KernelCompiler):
    """As that of kernels; the machine code of a part is not kept, as there is none."""

    library = _PartLibrary
    is_kept = False


PART = {
    **_OPTIONS,
    "_nrt": False,
    # Parts of kernels are never called from Python.
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
    "pipeline_class": _PartCompiler,
}
"""How parts of kernels are compiled."""


def _part(function: Callable[..., Any], **options: Any) -> Any:
    """Compile a part once for each type of its arguments, not for each constant it is handed."""
    part = numba.njit(**PART, **options)(function)
    if not config.DISABLE_JIT:
        fold = part._compiler.fold_argument_types

        def fold_and_forget(given: Any, named: Any) -> Any:
            signature, folded = fold(given, named)
            return signature, tuple(types.unliteral(each) for each in folded)

        part._compiler.fold_argument_types = fold_and_forget
    return part


def inlined(function: Callable[..., Any]) -> Any:
    """Compile a small part of a kernel so that it always melts into its caller."""
    return _part(function, forceinline=True)


def spliced(function: Callable[..., Any]) -> Any:
    """Paste a part of a kernel into its only caller, before that is compiled.

    For the machine as `inlined`; but a part that calls many others is not compiled twice.
    """
    return _part(function, inline="always")


def called(function: Callable[..., Any]) -> Any:
    """Compile a larger part of a kernel as a function of its own.

    Unless told otherwise, Numba lets it melt into a caller that does so itself.
    """
    return _part(function, forceinline=False)
