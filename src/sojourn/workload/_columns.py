"""From the columns of somebody else's table to ours."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InputError, OptionError
from .jobs import SCHEMA, check_names, did_you_mean

__all__ = ["NEEDED", "WIDTHS", "assemble", "choose", "submits", "widths"]

WIDTHS = ("requested", "allocated", "max")
"""The ways to take a job's width from its requested and allocated processors."""

NEEDED: Mapping[str, tuple[str, ...]] = {
    "submit": ("interarrival",),
    "procs": ("requested", "allocated"),
    "runtime": ("work",),
}
"""What a table must have, and what may stand in for it."""


def choose(
    available: Sequence[str],
    mapping: Mapping[str, str] | None,
    table: str,
    error: Callable[[str], InputError] = OptionError,
) -> dict[str, str]:
    """Return which column of a table is which of ours.

    Parameters
    ----------
    available : the table's own column names.
    mapping : our name -> the table's; None takes equal names and leaves the others aside.
    table : what to call the table in a message.
    error : makes the error for what the table lacks, from its message.
    """
    valid = [*SCHEMA, "interarrival"]
    if mapping is None:
        chosen = {name: name for name in valid if name in available}
    else:
        check_names(mapping, valid)
        for ours, theirs in mapping.items():
            if theirs not in available:
                near = did_you_mean(theirs, available) or f"; it has: {_list(available)}"
                raise error(f"{table} has no column '{theirs}' (for '{ours}'){near}")
        chosen = dict(mapping)
    for name, substitutes in NEEDED.items():
        if not any(candidate in chosen for candidate in (name, *substitutes)):
            near = did_you_mean(name, [a for a in available if a not in chosen.values()])
            near = near or f"; it has: {_list(available)}"
            raise error(f"{table} has no column '{name}'; map one to it{near}")
    return chosen


def submits(gaps: ArrayLike) -> NDArray[np.float64]:
    """Return submit times (s) from interarrival times (s).

    The first job arrives at 0 and gap i lies between jobs i and i + 1, so that the last gap is
    not used [rumyantsev2014, T_i = t_{i+1} - t_i; rumyantsev2018, T_1 = t_1 = 0].
    """
    steps = np.asarray(gaps, np.float64)
    if steps.size == 0:
        return steps
    return np.concatenate(([0.0], np.cumsum(steps[:-1])))


def widths(
    requested: NDArray[np.int64], allocated: NDArray[np.int64], width: str = "requested"
) -> NDArray[np.int64]:
    """Return the processors a simulation uses: one of the two fields, the other if missing."""
    if width == "max":
        return np.maximum(requested, allocated)
    if width not in WIDTHS:
        raise OptionError(
            f"width '{width}' is unknown{did_you_mean(width, WIDTHS)}; use one of {_list(WIDTHS)}"
        )
    first, second = (requested, allocated) if width == "requested" else (allocated, requested)
    return np.where(first > 0, first, second)


def _list(names: Iterable[str]) -> str:
    return ", ".join(repr(name) for name in names)


def assemble(columns: Mapping[str, ArrayLike]) -> dict[str, Any]:
    """Return columns for `Jobs`: submit times from interarrivals, procs from either width."""
    made: dict[str, Any] = dict(columns)
    gaps = made.pop("interarrival", None)
    if "submit" not in made:
        made["submit"] = submits(gaps)
    if "procs" not in made:
        known = [np.asarray(made[name]) for name in ("requested", "allocated") if name in made]
        made["procs"] = widths(known[0], known[-1])
    return made
