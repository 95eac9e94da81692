"""Numbers that a user hands in."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..errors import PolicyError

__all__ = ["numbers"]


def numbers(values: Iterable[Any], what: str) -> tuple[float, ...]:
    """Return a sequence of numbers as floats; PolicyError if it is none.

    Parameters
    ----------
    values : the sequence.
    what : it is, for the message.
    """
    try:
        if not isinstance(values, str):
            return tuple(float(value) for value in values)
    except (TypeError, ValueError):
        pass
    raise PolicyError(f"{what} {values!r}: give a list of numbers, such as [1.0, 2.5]")
