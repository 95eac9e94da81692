"""Names that are fetched when first asked for, so that importing a package costs nothing."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

__all__ = ["attach"]


def attach(package: str, home: Mapping[str, Sequence[str]]) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a package whose public names live in its modules.

    Parameters
    ----------
    package : its ``__name__``.
    home : the names of each module; a module without names is itself a public name.
    """
    modules = {name: module for module, names in home.items() for name in names or [module]}

    def fetch(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = importlib.import_module(f".{modules[name]}", package)
        value = module if not home[modules[name]] else getattr(module, name)
        setattr(importlib.import_module(package), name, value)
        return value

    return fetch
