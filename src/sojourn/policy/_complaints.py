"""What is said of a user's function that does not compile: one line, and what to do."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import PurePath
from typing import Any

from .columns import ClairvoyantColumns, JobColumns

_TRUTH = frozenset({"work", "runtime"})
_INSTEAD = {
    "score": "use numbers, arithmetic, the math module and the columns of jobs (of nodes, for a "
    "placement) only, or step the simulation from Python with sojourn.Simulation",
    "control": "use numbers, arithmetic, the math module, theta and what state has",
    "sleep": "use numbers, arithmetic, the math module, theta and what view has",
}


def why_not_compiled(
    kind: str, function: Callable[..., Any], error: Exception, *, clairvoyant: bool = False
) -> str:
    """Return the line.

    Parameters
    ----------
    kind : of function: ``score`` or ``control``.
    function : the user's.
    error : what its compilation ended with.
    clairvoyant : whether it was offered the true runtimes.
    """
    text = str(error)
    begin = f"{kind} '{function.__name__}' does not compile"
    where = _line(text, function)
    if isinstance(error, TypeError) and type(error) is TypeError:
        return f"{begin}: it returns {_in_words(text)}; it must return a number"
    unknown = re.search(r"Unknown attribute '(\w+)' of type (\w+)\(", text)
    if unknown is not None:
        return f"{begin}: {_unknown_column(unknown[1], unknown[2], clairvoyant)}"
    if "Cannot modify readonly array" in text:
        return (
            f"{begin}: it writes into what it is handed{where}; a {kind} can read its "
            "arguments only: keep what you compute in variables of its own"
        )
    return f"{begin}: {_first_line(text) or type(error).__name__}{where}; {_INSTEAD[kind]}"


def _unknown_column(column: str, table: str, clairvoyant: bool) -> str:
    if table in (JobColumns.__name__, ClairvoyantColumns.__name__):
        if column in _TRUTH and not clairvoyant:
            return (
                f"jobs.{column} would be the true runtime, which no scheduler knows; use "
                "jobs.estimate (exact with --estimates exact), or ask for jobs.work with "
                "@sojourn.score(clairvoyant=True)"
            )
        known = ClairvoyantColumns if clairvoyant else JobColumns
        return f"jobs has no column '{column}'; it has {', '.join(known._fields)}"
    if table == "NodeView":
        from ..engine.nodes import NodeView

        return f"nodes has no column '{column}'; it has {', '.join(NodeView._fields)}"
    if table == "SystemView":
        from ..engine.types import SystemView

        return f"state has no '{column}'; it has {', '.join(SystemView._fields)}"
    return f"there is no '{column}' in {table}"


def _in_words(answer: str) -> str:
    """A type of Numba's as a reader would say it."""
    if answer == "none":
        return "nothing"
    if answer.startswith("Optional"):
        return "nothing in some cases"
    for begin, words in (
        ("complex", "a complex number"),
        ("unicode", "text"),
        ("Literal[str]", "text"),
        ("UniTuple", "a tuple"),
        ("Tuple", "a tuple"),
        ("readonly array", "an array"),
        ("array", "an array"),
        ("list", "a list"),
        ("reflected list", "a list"),
    ):
        if answer.startswith(begin):
            return words
    return "a generator" if " generator(" in answer else answer[:60]


def _first_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = [line for line in lines if not line.startswith(("Failed in", "During:", "File "))]
    return (telling or lines or [""])[0][:200]


def _line(text: str, function: Callable[..., Any]) -> str:
    """Where in the user's file, if the compiler says so."""
    file = PurePath(function.__code__.co_filename).name
    place = re.search(rf'File "(?:[^"]*/)?{re.escape(file)}", line (\d+)', text)
    return "" if place is None else f" (line {place[1]})"
