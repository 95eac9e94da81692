"""Columns as text, quickly: whole numbers plain, others in the shortest form that reads back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ..table import Jobs

__all__ = ["formatted"]

_ROWS = 1 << 15
_LONGEST = 21  # sign, 19 digits, separator


def formatted(
    jobs: Jobs,
    names: Sequence[str],
    separator: str,
) -> Iterator[bytes]:
    """Yield the chosen columns as lines of text, some thousand rows at a time.

    Parameters
    ----------
    jobs : what to write.
    names : columns, in writing order.
    separator : one ASCII character between two columns.
    """
    from ._formatting import format_rows

    whole = [name for name in names if jobs[name].dtype.kind == "i"]
    real = [name for name in names if jobs[name].dtype.kind == "f"]
    order = np.array(
        [whole.index(name) if name in whole else -real.index(name) - 1 for name in names]
    )
    for first in range(0, len(jobs), _ROWS):
        part = jobs[first : first + _ROWS]
        ints = np.empty((len(whole), len(part)), np.int64)
        floats = np.empty((len(real), len(part)), np.float64)
        for k, name in enumerate(whole):
            ints[k] = part[name]
        for k, name in enumerate(real):
            floats[k] = part[name]
        # In writing order: row by row, and the float columns as they come in `order`.
        across = floats.T
        odd = (across != np.floor(across)) | (np.abs(across) >= 2.0**63)
        texts = [repr(value) for value in across[odd].tolist()]
        ends = np.cumsum(np.fromiter(map(len, texts), np.int64, len(texts)))
        text = np.frombuffer("".join(texts).encode(), np.uint8)
        out = np.empty(len(part) * len(names) * _LONGEST + text.size, np.uint8)
        size = format_rows(ints, floats, order, text, ends, ord(separator), out)
        yield out[:size].tobytes()
