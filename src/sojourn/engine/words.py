"""Bits of a word, by instructions of the processor: how many are set, and which is the first."""

from __future__ import annotations

from numba import types
from numba.extending import intrinsic, overload


def count(word):
    """How many bits of a word are set."""
    return int(word).bit_count()


def first_in(word):
    """The place of the first bit of a word that has one."""
    return (int(word) & -int(word)).bit_length() - 1


@intrinsic
def _count(typing, word):
    def generate(context, builder, signature, arguments):
        return builder.ctpop(arguments[0])

    return types.int64(types.int64), generate


@intrinsic
def _first_in(typing, word):
    def generate(context, builder, signature, arguments):
        return builder.cttz(arguments[0], context.get_constant(types.boolean, False))

    return types.int64(types.int64), generate


@overload(count, inline="always")
def _count_of(word):
    return lambda word: _count(word)


@overload(first_in, inline="always")
def _first_of(word):
    return lambda word: _first_in(word)
