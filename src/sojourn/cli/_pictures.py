"""Pictures of a run, as files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..result import Result

__all__ = ["overview_of"]


def overview_of(result: Result) -> dict[str, Callable[[Path], object]]:
    """Return the name of a run's overview and what draws it, as `write_run` takes them."""

    def draw(path: Path) -> None:
        from ..report import save

        save(result.plot(), path)

    return {"overview.png": draw}
