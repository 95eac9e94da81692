"""Functions of decorated objects and of policy files, as another process finds them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

POLICY_FILE = "sojourn_policy_"
"""How the module of a policy file is called, before the name of the file."""

Function = Callable[..., float]


def portable(function: Function, attribute: str) -> Any:
    """Return what pickle is to keep of a function: itself, or the policy file and its name there.

    Pickle keeps a function as its name. After ``@score`` the name ``hurry`` is that of a score, and
    the function is ``hurry.formula``: it is named so here. A function that has no way to it is left
    as it is: pickle says so, and picklers that keep functions by value can do without.

    Parameters
    ----------
    function : of a score or a control.
    attribute : under which what the decorator made has it.
    """
    module, path = function.__module__, function.__qualname__
    if module.startswith(POLICY_FILE) and module not in sys.modules:
        return function.__code__.co_filename, path
    try:
        there: Any = sys.modules[module]
        for name in path.split("."):
            there = getattr(there, name)
    except (AttributeError, KeyError):
        return function
    if there is not function and getattr(there, attribute, None) is function:
        function.__qualname__ = f"{path}.{attribute}"
    return function


def restored(kept: Any) -> Function:
    """Return the function of which `portable` has said what to keep."""
    if not isinstance(kept, tuple):
        function: Function = kept
        return function
    from .files import policy_module

    path, name = kept
    made = getattr(policy_module(path), name)
    function = getattr(made, "formula", None) or getattr(made, "law", made)
    return function
