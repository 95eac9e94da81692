"""Amounts of memory in tables: of a processor, of a node or of a whole job."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import _values as values
from ._cells import is_number, is_positive
from ._synonyms import is_per_processor, size_unit
from .slurm_fields import kilobytes

__all__ = ["A_SIZE", "SIZES", "Sizes", "is_size", "sizes_of"]

SIZES = ("memory", "used_memory", "memory_per_node")
"""Columns that hold amounts of memory."""

A_SIZE = "an amount of memory such as 4G"

_SIZE = re.compile(r"\d{1,18}(\.\d{0,18})?\s?[kmgtp]i?b?[nc]?", re.IGNORECASE | re.ASCII)
_JOB, _NODE, _PROCESSOR = 0, 1, 2

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def is_size(word: str) -> bool:
    """Whether a text is an amount of memory, a number, or says that it is not known."""
    return _SIZE.fullmatch(word) is not None or is_number(word)


class Sizes(NamedTuple):
    """Amounts of memory, one per job.

    Parameters
    ----------
    size : KB, nan if not known.
    of : whose memory it is.
    bare : whether it stands there without a unit, so that it is not known.
    """

    size: Floats
    of: Ints
    bare: NDArray[np.bool_]

    def per_processor(self, nodes: Ints, procs: Ints) -> Floats:
        """Return KB per processor, nan where not known."""
        width = np.where(procs > 0, procs, np.nan)
        count = np.where(nodes > 0, nodes, np.nan)
        shares = np.where(self.of == _NODE, count, 1.0) / width
        known: Floats = np.where(self.of == _PROCESSOR, self.size, self.size * shares)
        return known

    def per_node(self, nodes: Ints, procs: Ints) -> Floats:
        """Return KB per node, nan where not known.

        What is told of a whole job is so much on each node only if its processors are shared out
        evenly.
        """
        count = np.where((nodes > 0) & (procs > 0), nodes, 1)
        even = (nodes > 0) & (procs > 0) & (procs % count == 0)
        of_job = np.where(even & (self.of == _JOB), self.size / count, np.nan)
        known: Floats = np.where(self.of == _NODE, self.size, of_job)
        return np.where(known > 0, known, np.nan)


def sizes_of(name: str, words: Sequence[str], code: Ints, *, theirs: str, in_ours: bool) -> Sizes:
    """Return the amounts of a column.

    Parameters
    ----------
    name : one of `SIZES`.
    words : the different texts in it.
    code : place of each job's among them.
    theirs : what the table calls the column; it may name a unit.
    in_ours : whether plain numbers are in our unit: KB per processor, or per node.
    """
    count = len(words)
    size, of, bare = np.full(count, np.nan), np.zeros(count, np.int64), np.zeros(count, np.bool_)
    ours = _NODE if name == "memory_per_node" else _PROCESSOR
    of[:] = _JOB if name == "memory" and not is_per_processor(theirs) else ours
    unit = size_unit(theirs)
    for k, word in enumerate(words):
        if _SIZE.fullmatch(word):
            plain = re.sub(r"[\si]", "", word.lower())
            size[k] = kilobytes(plain)
            of[k] = {"n": _NODE, "c": _PROCESSOR}.get(plain[-1], of[k])
        elif in_ours:
            size[k], of[k] = values.number(word), ours
        elif is_positive(word):
            bare[k] = not unit
            size[k] = kilobytes(f"{values.number(word):f}{unit}") if unit else np.nan
    return Sizes(size[code], of[code], bare[code])
