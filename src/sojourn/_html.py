"""Small tables of HTML, as notebooks show them."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Sequence

__all__ = ["html_table", "plain"]


def html_table(
    caption: str, heads: Sequence[str], rows: Iterable[Sequence[object]], note: str = ""
) -> str:
    """Return a table with a caption and, below it, a note; every text is escaped.

    Examples
    --------
    >>> html_table("Run", ["a"], [["<b>"]])
    '<table><caption>Run</caption><thead><tr><th>a</th></tr></thead><tbody><tr><td>&lt;b&gt;</td></tr></tbody></table>'
    """
    head = "".join(f"<th>{html.escape(text)}</th>" for text in heads)
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(plain(cell))}</td>" for cell in row) + "</tr>"
        for row in rows
    )
    below = f"<p>{html.escape(note)}</p>" if note else ""
    top = f"<thead><tr>{head}</tr></thead>" if heads else ""
    title = f"<caption>{html.escape(caption)}</caption>"
    return f"<table>{title}{top}<tbody>{body}</tbody></table>{below}"


def plain(value: object) -> str:
    """Return a number with thousands and about four digits, and anything else as text."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if not math.isfinite(value):
        return "–"
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
