"""The public names of a package, written once: in its stub, ``__init__.pyi``.

Type checkers and editors read stubs; here the same lines say where a name is fetched from when it
is first asked for, so that importing a package costs nothing. (The way of `lazy_loader`, SPEC 1.)
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

_EXPORT = re.compile(r"^from \.([\w.]*) import (\w+) as \2$", re.MULTILINE)


class _Package(ModuleType):
    """A package whose functions are not hidden by modules of the same name.

    Python puts each module that is imported into its package, and would replace a function.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        is_own_module = value is sys.modules.get(f"{self.__name__}.{name}")
        if not (is_own_module and name in self.__all__):
            super().__setattr__(name, value)


def attach(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], Any]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a package from its stub.

    Parameters
    ----------
    package, file : its ``__name__`` and ``__file__``.
    """
    stub = Path(file).with_suffix(".pyi").read_text(encoding="utf-8")
    home = {name: module for module, name in _EXPORT.findall(stub)}
    names = sorted(home)
    sys.modules[package].__class__ = _Package

    def fetch(name: str) -> Any:
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        # A stub has ``from . import theory as theory`` for a module that is a public name.
        module = importlib.import_module(f".{home[name] or name}", package)
        value = getattr(module, name) if home[name] else module
        vars(sys.modules[package])[name] = value
        return value

    return fetch, lambda: list(names), names
