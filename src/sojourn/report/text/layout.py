"""How tables and numbers look."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Console, ConsoleOptions, RenderHook
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from .streams import visible

HOUR = 3600.0
_PAPER = 112  # columns a table may take
_WIDEST = 300


def new_console() -> Console:
    """Return the terminal, wide enough for tables, showing control characters as text."""
    console = Console(file=sys.stdout, highlight=False, markup=False, emoji=False)
    # A table cut to a narrow terminal says less than one whose lines wrap.
    console.width = max(console.width, _PAPER)
    console.push_render_hook(_Hook())
    return console


class _Hook(RenderHook):
    """Has names and headers of files shown as they are, not obeyed by the terminal."""

    def process_renderables(self, renderables: list[Any]) -> list[Any]:
        return [_Visible(shown) for shown in renderables]


class _Visible:
    def __init__(self, shown: Any) -> None:
        self._shown = shown

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        for segment in console.render(self._shown, options):
            yield segment if segment.control else Segment(visible(segment.text), segment.style)


def as_number(value: float | None, digits: int = 4) -> str:
    """Return a number with thousands and about so many digits."""
    if value is None or not math.isfinite(value):
        return "-"
    if value == int(value) and abs(value) < 1e15:
        return f"{value:,.0f}"
    whole = len(str(int(abs(value)))) if abs(value) >= 1 else 0
    return f"{value:,.{max(digits - whole, 0)}f}"


def as_seconds(value: float | None) -> str:
    """Return a time in seconds and in hours."""
    if value is None or not math.isfinite(value):
        return "-"
    return f"{as_number(value)} s ({as_number(value / HOUR)} h)"


def new_table(*headings: str) -> Table:
    """Return an empty table: words to the left, numbers to the right."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for place, heading in enumerate(headings):
        table.add_column(heading, justify="left" if place == 0 else "right", no_wrap=True)
    return table


def print_whole(console: Console, table: Table) -> None:
    """Print a table as wide as it is: columns cut short say nothing, lines that wrap still do."""
    wide = console.options.update(width=_WIDEST, max_width=_WIDEST)
    console.width = max(console.width, table.__rich_measure__(console, wide).maximum)
    console.print(table)


def facts_table(rows: Sequence[tuple[str, str]]) -> Table:
    """Return a table of two columns: what, and how much."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows:
        table.add_row(name, Text(value))
    return table
