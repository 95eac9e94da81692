"""Where results are from."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from ...__about__ import __version__
from ...files.access import note_input

__all__ = ["Digest", "provenance"]


class Digest:
    """SHA-256 of a file, computed beside other work.

    Parameters
    ----------
    path : the file; one that cannot be read, or only once, has the digest None.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        note_input(path)
        self._path = path
        self._digest: str | None = None
        self._thread = threading.Thread(target=self._compute, daemon=True)
        self._thread.start()

    def _compute(self) -> None:
        import hashlib

        with contextlib.suppress(OSError, ValueError):
            if os.path.isfile(self._path):
                with open(self._path, "rb") as file:
                    self._digest = hashlib.file_digest(file, "sha256").hexdigest()

    def hexdigest(self) -> str | None:
        """Return the digest, waiting for it if need be."""
        self._thread.join()
        return self._digest


def provenance(command: str, options: Mapping[str, Any], seed: int | None = None) -> dict[str, Any]:
    """Return what is needed to make a run again: version, options, seed, time, libraries."""
    modules = ("numpy", "numba")
    versions = {name: getattr(sys.modules.get(name), "__version__", None) for name in modules}
    return {
        "version": __version__,
        "command": command,
        "options": dict(options),
        "seed": seed,
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": ".".join(map(str, sys.version_info[:3])),
        **versions,
    }
