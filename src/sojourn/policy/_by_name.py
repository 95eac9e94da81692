"""Formulas as another process finds them: by the name that a module, or a file, has for them.

Of a decorated function that name is the name of what the decorator made, not of the function.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from functools import reduce
from typing import Any

from ..errors import PolicyError

__all__ = ["POLICY_FILE", "function_named", "name_of"]

POLICY_FILE = "sojourn_policy_"
"""How the module of a policy file is called, before the name of the file."""

Function = Callable[..., float]


def name_of(function: Function) -> tuple[str, str]:
    """Return the module, or the path of the policy file, and the name in it.

    Raises
    ------
    PolicyError
        Of a lambda, or a function within another: no other process could find it.
    """
    module, name = function.__module__, function.__qualname__
    if module.startswith(POLICY_FILE) and module not in sys.modules:
        return function.__code__.co_filename, name
    try:
        if _inside(sys.modules[module], name) is function:
            return module, name
    except (KeyError, AttributeError):
        pass
    raise PolicyError(
        f"'{name}' of {module} cannot be handed to another process; write it as a function with "
        "a name of its own, at the top level of a module"
    )


def function_named(where: str, name: str) -> Function:
    """Return the function of which `name_of` has told where it is."""
    if where.endswith(".py"):
        from .files import policy_module

        return _inside(policy_module(where), name)
    return _inside(importlib.import_module(where), name)


def _inside(module: Any, name: str) -> Function:
    found: Any = reduce(getattr, name.split("."), module)
    function: Function = getattr(found, "formula", None) or getattr(found, "law", found)
    return function
