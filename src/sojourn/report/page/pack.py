"""Arrays inside a page: one compressed block, and where each array lies in it."""

from __future__ import annotations

import base64
import gzip
from typing import Any

import numpy as np
from numpy.typing import ArrayLike


def compress(data: bytes) -> str:
    """Return bytes as gzip in base64; equal bytes give equal text."""
    return base64.b64encode(gzip.compress(data, 9, mtime=0)).decode("ascii")


class Packer:
    """Collects arrays and gives each a reference that the page's script understands.

    The bytes of an array are laid out place by place (all lowest bytes first), as numbers of like
    size then compress well; ``unpack`` in ``templates/page.js`` undoes it.
    """

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0

    def add(self, values: ArrayLike, kind: str, *, delta: bool = False) -> dict[str, Any]:
        """Add numbers that a kind can hold and return their reference.

        Kinds are ``u1``, ``u2``, ``i4``, ``f4`` and ``f8``. With `delta` the differences are
        stored: for whole numbers that rise slowly.
        """
        array = np.ascontiguousarray(values, dtype=f"<{kind}").ravel()
        if delta:
            # Differences may leave the type's range; they come back modulo the same power of two.
            array = np.diff(array.astype(np.int64), prepend=0).astype(array.dtype)
        data = array.view(np.uint8).reshape(array.size, array.itemsize).T.tobytes()
        reference = {"at": self._size, "n": array.size, "kind": kind, "delta": delta}
        self._parts.append(data)
        self._size += len(data)
        return reference

    def block(self) -> str:
        """Return all arrays as text."""
        return compress(b"".join(self._parts))
