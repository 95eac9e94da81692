"""Small tables of HTML, as notebooks show them."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Sequence

_WIDTH, _HEIGHT = 240, 32


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


def sparkline(values: Sequence[float], title: str) -> str:
    """Return a small line of values from left to right, from 0 at the bottom, with a title.

    Examples
    --------
    >>> "0.0,32.0 120.0,0.0 240.0,16.0" in sparkline([0, 2, 1], "jobs")
    True
    """
    known = [value if math.isfinite(value) else 0.0 for value in values]
    if len(known) < 2:
        return ""
    top = max(*known, 0.0) or 1.0
    step = _WIDTH / (len(known) - 1)
    points = " ".join(
        f"{i * step:.1f},{_HEIGHT * (1 - value / top):.1f}" for i, value in enumerate(known)
    )
    text = html.escape(title)
    return (
        f'<figure><figcaption>{text}</figcaption><svg width="{_WIDTH}" height="{_HEIGHT}" '
        f'role="img" aria-label="{text}"><polyline points="{points}" fill="none" '
        'stroke="currentColor"/></svg></figure>'
    )
