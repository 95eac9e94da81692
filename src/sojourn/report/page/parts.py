"""What a page is made of, before it is HTML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .answers import Answer

Cell = str | tuple[str, str]
"""Text, or a pair of which the second is set smaller below the first."""


@dataclass(frozen=True)
class Figure:
    """The place of the chart of the same id; `label` is for those who cannot see it."""

    id: str
    label: str
    caption: str = ""
    tall: bool = False


@dataclass(frozen=True)
class Table:
    """Rows of text; the cells `best` are highlighted, the first `keys` columns hold names."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    caption: str = ""
    note: str = ""
    best: frozenset[tuple[int, int]] = frozenset()
    keys: int = 1


@dataclass(frozen=True)
class Section:
    """A heading and what stands under it; `hint` is what a reader can do on a screen."""

    id: str
    heading: str
    texts: Sequence[str] = ()
    figures: Sequence[Figure] = ()
    tables: Sequence[Table] = ()
    hint: str = ""


@dataclass(frozen=True)
class Page:
    """A whole page.

    `tiles` are label, value and notes of the numbers on top, `charts` what the script draws, by
    place, `references` key and text of what is cited, `provenance` name and value of each fact.
    """

    answer: Answer
    tiles: Sequence[tuple[str, str, Sequence[str]]]
    sections: Sequence[Section]
    charts: Mapping[str, Any]
    methods: Sequence[str]
    references: Sequence[tuple[str, str]]
    provenance: Sequence[tuple[str, str]]
    scenario: str = ""
