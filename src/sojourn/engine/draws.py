"""Random numbers that depend on what they are drawn for alone: no schedule changes them."""

from __future__ import annotations

import numpy as np

from ..jit import inlined


@inlined
def mixed(seed, about, turn, salt):
    """64 bits of (seed, about, turn): SplitMix64; `salt` tells apart what is drawn."""
    z = (
        np.uint64(seed) * np.uint64(0x9E3779B97F4A7C15)
        + np.uint64(about) * np.uint64(0xBF58476D1CE4E5B9)
        + np.uint64(turn) * np.uint64(0x94D049BB133111EB)
        + np.uint64(salt)
    )
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@inlined
def uniform(seed, about, turn, salt):
    """A number in [0, 1) of the same."""
    return np.float64(mixed(seed, about, turn, salt) >> np.uint64(11)) * (1.0 / 9007199254740992.0)
