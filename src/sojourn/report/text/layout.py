"""How tables and numbers look."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Console, ConsoleOptions, RenderHook
from rich.segment import Segment
from rich.table import Table

from .streams import visible

HOUR = 3600.0
_PAPER = 112  # columns a table may take
_WIDEST = 300


class Terminal(Console):
    """Standard output, wide enough for tables, showing control characters as text."""

    def __init__(self) -> None:
        super().__init__(file=sys.stdout, highlight=False, markup=False, emoji=False)
        # A table cut to a narrow terminal says less than one whose lines wrap.
        self.width = max(self.width, _PAPER)
        self.push_render_hook(_Hook())

    def facts(self, rows: Sequence[tuple[str, str]]) -> None:
        """Print two columns: what, and how much."""
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
        table.add_column(style="bold", no_wrap=True)
        table.add_column(overflow="fold")
        for row in rows:
            table.add_row(*row)
        self.print(table)

    def below(self, table: Table) -> None:
        """Print a table after an empty line."""
        self.print()
        self.print(table)

    def whole(self, table: Table) -> None:
        """Print a table as wide as it is: lines that wrap say more than columns cut short."""
        wide = self.options.update(width=_WIDEST, max_width=_WIDEST)
        self.width = max(self.width, table.__rich_measure__(self, wide).maximum)
        self.print(table)

    def note(self, words: str) -> None:
        """Print what explains the numbers above."""
        self.print(words, style="dim", soft_wrap=True)

    def warn(self, words: str) -> None:
        """Print what to know before the numbers are believed."""
        self.print(words, style="yellow", soft_wrap=True)


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
    text = f"{value:,.{max(digits - whole, 0)}f}"
    return text if text.strip("-0.") else text.removeprefix("-")


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
