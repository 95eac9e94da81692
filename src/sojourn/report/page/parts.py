"""What a page is made of, before it is HTML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .answers import Answer

__all__ = ["Cell", "Figure", "Page", "Section", "Table"]

Cell = str | tuple[str, str]
"""Text, or a pair of which the second is set smaller below the first."""


@dataclass(frozen=True)
class Figure:
    """A chart's place.

    Parameters
    ----------
    id : of its node; the chart of the same name is drawn there.
    label : what it shows, for those who cannot see it.
    caption : what stands under it.
    tall : whether it has several panels.
    """

    id: str
    label: str
    caption: str = ""
    tall: bool = False


@dataclass(frozen=True)
class Table:
    """Rows of text.

    Parameters
    ----------
    columns, rows : headings and cells.
    caption, note : what stands above it and under it.
    best : row and column of cells to highlight.
    keys : how many columns from the left are words or names, and set to the left.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    caption: str = ""
    note: str = ""
    best: frozenset[tuple[int, int]] = frozenset()
    keys: int = 1


@dataclass(frozen=True)
class Section:
    """A heading and what stands under it.

    Parameters
    ----------
    id, heading : of the section.
    texts : paragraphs.
    figures, tables : in order; two figures stand side by side.
    hint : what a reader can do on a screen.
    """

    id: str
    heading: str
    texts: Sequence[str] = ()
    figures: Sequence[Figure] = ()
    tables: Sequence[Table] = ()
    hint: str = ""


@dataclass(frozen=True)
class Page:
    """A whole page.

    Parameters
    ----------
    answer : title, question and answer.
    tiles : label, value and notes of the numbers on top.
    sections : in order.
    charts : by the name of their place, as the page's script takes them.
    methods, references : paragraphs; key and text of each.
    provenance : name and value of each fact.
    scenario : text of the scenario; empty without one.
    """

    answer: Answer
    tiles: Sequence[tuple[str, str, Sequence[str]]]
    sections: Sequence[Section]
    charts: Mapping[str, Any]
    methods: Sequence[str]
    references: Sequence[tuple[str, str]]
    provenance: Sequence[tuple[str, str]]
    scenario: str = ""
