"""The compiled kernel from columns of numbers to text."""

from __future__ import annotations

import math

import numpy as np

from ...jit import compiled, inlined

__all__ = ["format_rows"]

_NEWLINE, _MINUS, _ZERO = 10, 45, 48


@inlined
def _put_integer(out, pos, magnitude, negative):  # type: ignore[no-untyped-def]
    if negative:
        out[pos] = _MINUS
        pos += 1
    ten = np.uint64(10)
    width = 1
    rest = magnitude // ten
    while rest > 0:
        width += 1
        rest //= ten
    for k in range(width):
        out[pos + width - 1 - k] = _ZERO + magnitude % ten
        magnitude //= ten
    return pos + width


@compiled()
def format_rows(ints, floats, order, texts, ends, separator, out):  # type: ignore[no-untyped-def]
    """Write rows of numbers as text; whole numbers are written without a fraction.

    Parameters
    ----------
    ints, floats : columns, one row of each array per column.
    order : the columns in writing order: k >= 0 is ints[k], k < 0 is floats[-k - 1].
    texts, ends : the text of every float that is not a 64-bit integer, in writing order, and
        where each ends.
    separator : byte between two numbers.
    out : room for the text.

    Returns
    -------
    Bytes written.
    """
    pos = 0
    text = 0
    used = 0
    for row in range(ints.shape[1]):
        for k in order:
            if k >= 0:
                integer = ints[k, row]
                magnitude = np.uint64(integer if integer >= 0 else -(integer + 1))
                if integer < 0:
                    magnitude += np.uint64(1)
                pos = _put_integer(out, pos, magnitude, integer < 0)
            else:
                value = floats[-k - 1, row]
                size = abs(value)
                if size < 2.0**63 and size == np.floor(size):
                    negative = math.copysign(1.0, value) < 0
                    pos = _put_integer(out, pos, np.uint64(size), negative)
                else:
                    while used < ends[text]:
                        out[pos] = texts[used]
                        pos += 1
                        used += 1
                    text += 1
            out[pos] = separator
            pos += 1
        out[pos - 1] = _NEWLINE
    return pos
