"""``sojourn report``: a page to hand over."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def report(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="DIR",
            help="What sweep, optimise, run, simulate or compare wrote with --out.",
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="FILE.html", help="File to write; default: DIR/report.html."
        ),
    ] = None,
) -> None:
    """Make one self-contained HTML page of a study, a run or a comparison.

    The question, the answer with its interval, the trade-off, then tables and charts to zoom into,
    methods and provenance. The page needs no network and prints well.

    Example: sojourn report study -o report.html
    """
    from ..report.page import write_report

    path = write_report(folder, out if out is not None else folder / "report.html")
    print(f"{path}: {path.stat().st_size / 1e6:.1f} MB")
