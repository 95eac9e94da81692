"""Where results are from."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from ...__about__ import __version__

__all__ = ["provenance"]


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
