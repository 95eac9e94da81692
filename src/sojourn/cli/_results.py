"""How a verb hands over what it found: files in a folder, and JSON or words on standard output."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Files = Mapping[str, Callable[[Path], object]]
"""What writes each file, by its name."""


def hand_over(
    numbers: Any, show: Callable[[], None], files: Files, *, json: bool, out: Path | None
) -> None:
    """Write files to a folder, all or none; print the numbers as JSON alone, or as `show` does."""
    from ..run.folder import staged

    if out is not None and files:
        with staged(out) as place:
            for name, write in files.items():
                write(place(name))
    if json:
        print_json(numbers)
        return
    show()
    if out is not None and files:
        print(f"\n{', '.join(files)} in {out}")


def print_json(numbers: Any) -> None:
    """Print JSON alone."""
    from ..run.folder import as_json

    print(as_json(numbers))


def picture(draw: Callable[[], Figure]) -> Callable[[Path], object]:
    """Return what writes a picture, which is drawn only then."""
    from ..report import save

    return lambda path: save(draw(), path)


def as_file(numbers: Any) -> Callable[[Path], object]:
    """Return what writes numbers as JSON."""
    from ..run.folder import as_json

    return lambda path: path.write_text(as_json(numbers) + "\n", encoding="utf-8")
