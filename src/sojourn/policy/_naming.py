"""Functions inside decorated objects, as pickle finds them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

__all__ = ["let_pickle_find"]


def let_pickle_find(function: Callable[..., Any], attribute: str) -> None:
    """Name a function by the way to it, where its own name stands for what was made of it.

    Pickle keeps a function as its name. After ``@score`` the name ``hurry`` is that of a score, and
    the function is ``hurry.formula``. A function that has no way to it is left as it is: pickle
    says so, and picklers that keep functions by value can do without.
    """
    path = function.__qualname__
    try:
        there: Any = sys.modules[function.__module__]
        for name in path.split("."):
            there = getattr(there, name)
    except (AttributeError, KeyError):
        return
    if there is not function and getattr(there, attribute, None) is function:
        function.__qualname__ = f"{path}.{attribute}"
