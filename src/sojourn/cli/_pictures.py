"""Pictures of a run, as files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..run.result import Result

__all__ = ["overview_of"]


def overview_of(result: Result) -> dict[str, Callable[[Path], object]]:
    """Return the names of a run's pictures and what draws each, as `write_run` takes them."""

    def draw(path: Path) -> None:
        from ..report import save

        save(result.plot(), path)

    def draw_resources(path: Path) -> None:
        from ..report import save

        save(result.plot.fragmentation(), path)

    pictures: dict[str, Callable[[Path], object]] = {"overview.png": draw}
    if result.cluster.is_named and result.summary["makespan"] > 0:
        pictures["fragmentation.png"] = draw_resources
    return pictures
