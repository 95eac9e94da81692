"""What is typed, or given to `sojourn.simulate`, as what keys hold.

ValueError says what is wrong with a word, OptionError with a keyword.
"""

from __future__ import annotations

import math
import re
from typing import Any

from ...errors import OptionError
from ...jobs.classes import listed_classes
from ...policy import Constraints
from ..classes import CLASSES

_BY_COLUMN = re.compile(r"\s*(\w+)\s*:\s*(-?\d{1,18})\s*=\s*(\S+)\s*")


def number_or_text(value: str) -> float | str:
    """Return a text as the number that it is; anything else as it is."""
    try:
        return float(value)
    except ValueError:
        return value


def one_or_list(texts: list[str]) -> str | list[str]:
    """Return what is typed once as it is, and what is typed several times as a list."""
    return texts[0] if len(texts) == 1 else texts


def names(text: str) -> list[str]:
    """Return ``a,b,c`` as a list."""
    return [name.strip() for name in text.split(",")]


def pairs(text: str) -> dict[str, str]:
    """Return ``a=b,c=d`` as a dictionary."""
    parts = [part.partition("=") for part in text.split(",")]
    if not all(ours.strip() and equals and theirs.strip() for ours, equals, theirs in parts):
        raise ValueError(f"'{text}': write NAME=COLUMN,NAME=COLUMN")
    named: dict[str, str] = {}
    for ours, _, theirs in parts:
        if ours.strip() in named:
            raise ValueError(f"'{text}': {ours.strip()} is given twice; leave one out")
        named[ours.strip()] = theirs.strip()
    return named


def cluster(text: str) -> str:
    """Return the file or the counts of a cluster."""
    if not text.strip():
        raise ValueError("'': give a file, or counts such as '64 x (16 cores, 32G, 2 gpu)'")
    return text


def columns(text: str) -> dict[str, str] | list[str]:
    """Return columns of a table, ours by theirs, or names of the columns of ``sacct -n``."""
    return pairs(text) if "=" in text else names(text)


def rules(text: str) -> list[str]:
    """Return the names of cleaning rules; ``none`` stands for none."""
    return [name for name in names(text) if name != "none"]


def classes(text: str) -> list[str]:
    """Return what jobs are classed by."""
    return listed_classes(text, CLASSES)


def score_file(text: str) -> str:
    """Return where an order of one's own is."""
    path, _, name = text.rpartition(":")
    if not path or not name:
        raise ValueError(f"'{text}': write FILE.py:name")
    if not path.endswith(".py"):
        raise ValueError(f"'{path}': not a Python file; its name must end in .py")
    return text


def placement(text: str) -> str:
    """Return the name of a placement, or where its file is."""
    return text if ".py:" in text else text.strip().lower()


def memory(text: str) -> float | str | None:
    """Return a number of GB, ``log``, or None."""
    word = text.strip().lower()
    if word in ("none", "log"):
        return None if word == "none" else word
    read = number_or_text(word)
    if isinstance(read, str):
        raise ValueError(f"'{text}': choose none, log or a number of GB")
    return read


def budget(watts: float) -> float | None:
    """Return a power; an infinite one asks for nothing."""
    return None if watts == math.inf else watts


def feature(asked: list[str]) -> str | dict[str, dict[str, str]] | None:
    """Return a word, or one for each value of a column such as ``queue:3=gpu``."""
    by_column: dict[str, dict[str, str]] = {}
    words = []
    for text in asked:
        match = _BY_COLUMN.fullmatch(text)
        if match is not None:
            by_column.setdefault(match[1].lower(), {})[str(int(match[2]))] = match[3]
        elif "=" in text or not text.strip():
            raise ValueError(f"'{text}': write a word, or for example queue:3=gpu")
        else:
            words.append(text.strip())
    if len(words) + bool(by_column) > 1:
        raise ValueError("a job asks for one; give one word, or one for each queue")
    return words[0] if words else by_column or None


def levels(per_rate: list[str]) -> list[dict[str, float]] | None:
    """Return the powers at each rate, from ``RATE:BUSY:IDLE``."""
    rows = []
    for text in per_rate:
        try:
            rate, busy, idle = map(float, text.split(":"))
        except ValueError:
            raise ValueError(f"'{text}': write RATE:BUSY:IDLE, such as 2.66:41:18") from None
        rows.append({"rate": rate, "busy": busy, "idle": idle})
    return rows or None


def control(text: str) -> dict[str, Any]:
    """Return the keys of a control, from a rate, ``KIND:RATES:THRESHOLDS`` or ``NODES=...``."""
    from ...policy import control_keys, domain_texts, parse_control

    parse_control(text)  # Which has words for whatever is wrong.
    if "=" in text:
        return {"domains": domain_texts(text)}
    keys = control_keys(text)
    return keys if keys["kind"] != "constant" else {"rate": keys["rate"]}


def constraints(given: Any) -> Constraints:
    """Return what jobs ask of their nodes, from Python."""
    if not isinstance(given, Constraints):
        raise OptionError(f"constraints {given!r}: give sojourn.Constraints(...)")
    return given


def jobs_left_out(given: Any) -> int:
    """Return a number of jobs, from Python."""
    if isinstance(given, bool) or not isinstance(given, int) or given < 0:
        raise OptionError(f"warmup {given!r}: give a number of jobs, 0 or more")
    return given
