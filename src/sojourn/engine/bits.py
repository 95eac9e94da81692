"""Rows of bits with a summary: the next member of a large set in a few steps.

A row holds one set of small integers, in words of 32 bits; bit b of its summary tells whether
word b has a member, so that a search skips 1,024 absent ones at a time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..jit import inlined

# 2**i mod 37 is different for each i < 32: a perfect hash of single bits.
BIT = np.full(37, -1, dtype=np.int64)
for _i in range(32):
    BIT[(1 << _i) % 37] = _i


class Bits(NamedTuple):
    """Words and summaries, one row per set."""

    word: np.ndarray
    summary: np.ndarray


def make_bits(rows: int, size: int) -> Bits:
    """Return `rows` empty sets of integers below `size`."""
    words = (size + 31) >> 5
    return Bits(
        word=np.zeros((rows, max(words, 1)), dtype=np.int64),
        summary=np.zeros((rows, max((words + 31) >> 5, 1)), dtype=np.int64),
    )


@inlined
def bit_set(bits, row, i):
    """Put `i` into the set."""
    bits.word[row, i >> 5] |= np.int64(1) << (i & 31)
    bits.summary[row, i >> 10] |= np.int64(1) << ((i >> 5) & 31)


@inlined
def bit_clear(bits, row, i):
    """Take `i` out of the set."""
    block = i >> 5
    bits.word[row, block] &= ~(np.int64(1) << (i & 31))
    if bits.word[row, block] == 0:
        bits.summary[row, i >> 10] &= ~(np.int64(1) << (block & 31))


@inlined
def bit_next(bits, row, at):
    """The first member >= `at`, or -1."""
    block = at >> 5
    if block >= bits.word.shape[1]:
        return -1
    word = bits.word[row, block] & ~((np.int64(1) << (at & 31)) - 1)
    if word == 0:
        block += 1
        group = block >> 5
        if group >= bits.summary.shape[1]:
            return -1
        words = bits.summary[row, group] & ~((np.int64(1) << (block & 31)) - 1)
        while words == 0:
            group += 1
            if group >= bits.summary.shape[1]:
                return -1
            words = bits.summary[row, group]
        block = (group << 5) + BIT[(words & -words) % 37]
        word = bits.word[row, block]
    return (block << 5) + BIT[(word & -word) % 37]


@inlined
def bit_last(bits, row):
    """The largest member, or -1."""
    group = bits.summary.shape[1] - 1
    while group >= 0 and bits.summary[row, group] == 0:
        group -= 1
    if group < 0:
        return -1
    block = group << 5
    words = bits.summary[row, group]
    while words > 1:
        words >>= 1
        block += 1
    at = block << 5
    word = bits.word[row, block]
    while word > 1:
        word >>= 1
        at += 1
    return at
