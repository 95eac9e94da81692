"""The power series of the stability constant: l = -log(1 - P(z)), P(z) = sum of p_k z^k.

Written as h_n = n l_n it is a renewal equation, h_n = n p_n + sum of p_j h_{n-j}: every term is
positive, so nothing cancels [rumyantsev2014, errata 2].
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..arrays import Floats
from ..jit import compiled

DIRECT = 2_000_000_000
"""Products up to which sums are taken term by term; beyond, by Fourier transforms."""

_BLOCK = 2048
# C is at least 1/s: what is below this cannot change it, and slows the processor down.
_NOTHING = 1e-40


def logarithm(p: Floats, servers: int, direct: int = DIRECT) -> Floats:
    """l_0, ..., l_servers; O(servers * support), or O(servers * log(servers)^2) beyond `direct`.

    By transforms, each h_n has an absolute error of some 1e-15; term by term, a relative one.
    """
    count = min(len(p), servers)
    n = np.arange(servers + 1.0)
    h = np.zeros(servers + 1)
    h[1 : count + 1] = n[1 : count + 1] * p[:count]
    widths = np.flatnonzero(p[:count] > _NOTHING) + 1
    if servers * len(widths) > direct:
        _by_blocks(h, p[:count])
    elif 4 * len(widths) > count:
        _dense(h, p[:count], 1, servers + 1)
    else:
        _sparse(h, widths, p[widths - 1])
    h[1:] /= n[1:]
    return h


def tails(p: Floats) -> Floats:
    """P{N > m} of m = 0, ..., len(p) - 1."""
    sums = np.empty_like(p)
    _tails(p, sums)
    return sums


def curve(terms: Floats, tail: Floats, direct: int = DIRECT) -> Floats:
    """C for s = len(tail), ..., len(terms) - 1 servers at once: sum of l_n P{N > s-n}."""
    inner = terms[1:]
    if len(inner) * len(tail) <= direct:
        return np.convolve(inner, tail, mode="valid")
    size = 1 << (len(inner) - 1).bit_length()
    whole = np.fft.irfft(np.fft.rfft(inner, size) * np.fft.rfft(tail, size), size)
    return whole[len(tail) - 1 : len(inner)]


def _by_blocks(h: Floats, p: Floats) -> None:
    """Blocks of h one after another, each pushed into those that follow by a transform.

    After block i, as many blocks as the lowest set bit of i says are folded with p into as many
    ones behind them, so every pair of a source and a target meets once. Sums of a transform twice
    as long as the source wrap around only before the targets.
    """
    end = len(h)
    kernel = np.concatenate([[0.0], p])
    transforms: dict[int, NDArray[np.complex128]] = {}
    for done in range(_BLOCK, end + _BLOCK, _BLOCK):
        _dense(h, p, done - _BLOCK, min(done, end))
        if done >= end:
            return
        i = done // _BLOCK
        size = (i & -i) * _BLOCK
        if size not in transforms:
            transforms[size] = np.fft.rfft(kernel[: 2 * size], 2 * size)
        folded = np.fft.irfft(np.fft.rfft(h[done - size : done], 2 * size) * transforms[size])
        target = h[done : done + size]
        target += folded[size : size + len(target)]


@compiled("void(float64[:], float64[:], int64, int64)")
def _dense(h, p, first, end):  # type: ignore[no-untyped-def]
    """Push h_n of first <= n < end to those behind it, all widths in turn."""
    for n in range(first, end):
        here = h[n]
        if here > _NOTHING:
            for k in range(min(p.size, end - 1 - n)):
                h[n + 1 + k] += p[k] * here


@compiled("void(float64[:], int64[:], float64[:])")
def _sparse(h, widths, p):  # type: ignore[no-untyped-def]
    """Push every h_n to those behind it, only by widths that occur."""
    for n in range(1, h.size):
        here = h[n]
        if here > _NOTHING:
            for i in range(widths.size):
                m = n + widths[i]
                if m >= h.size:
                    break
                h[m] += p[i] * here


@compiled("void(float64[:], float64[:])")
def _tails(p, sums):  # type: ignore[no-untyped-def]
    """Sums of p from the end, each with what rounding dropped from it before."""
    total = 0.0
    dropped = 0.0
    for k in range(p.size - 1, -1, -1):
        grown = total + p[k]
        dropped += (total - grown) + p[k] if total >= p[k] else (p[k] - grown) + total
        total = grown
        sums[k] = total + dropped
