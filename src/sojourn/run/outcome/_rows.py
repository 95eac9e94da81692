"""The compiled gathering of the rows that say which nodes a job has."""

from __future__ import annotations

from typing import Any

from ...jit import compiled


@compiled()
def gather(rows: Any, first: Any, count: Any, out: Any) -> None:
    """Copy so many columns of a table of two rows, from each `first` on, one after the other."""
    made = 0
    for j in range(len(first)):
        for at in range(first[j], first[j] + count[j]):
            out[0, made] = rows[0, at]
            out[1, made] = rows[1, at]
            made += 1
