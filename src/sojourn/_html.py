"""Small tables of HTML, as notebooks show them."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Container, Iterable, Sequence

_WIDTH, _HEIGHT = 240, 32
_LEFT = ' style="text-align:left"'
_CAPTION = "text-align:left;font-weight:bold;white-space:nowrap"
_SMALL = "margin:0.3em 0;font-size:smaller"
_NUMBER = re.compile(r"[\d–+-]")


def html_table(
    caption: str,
    heads: Sequence[str],
    rows: Iterable[Sequence[object]],
    note: str = "",
    *,
    bold: Container[tuple[int, int]] = (),
) -> str:
    """Return a table with a caption and, below it, a note; every text is escaped.

    Numbers stay to the right, as notebooks have them; columns of words are set to the left.

    Parameters
    ----------
    caption, heads, rows, note : its parts; without heads there is no head.
    bold : cells in bold, by row and column.

    Examples
    --------
    >>> "<tr><td>1,000</td></tr>" in html_table("Run", ["jobs"], [[1000]])
    True
    >>> '<td style="text-align:left">&lt;b&gt;</td>' in html_table("Run", ["user"], [["<b>"]])
    True
    """
    cells = [[plain(cell) for cell in row] for row in rows]
    columns = zip(*cells, strict=True)
    sides = ["" if all(map(_NUMBER.match, column)) else _LEFT for column in columns]
    sides = sides or [""] * len(heads)

    def line(tag: str, texts: Sequence[str], row: int = -1) -> str:
        parts = [
            f"<b>{html.escape(text)}</b>" if (row, place) in bold else html.escape(text)
            for place, text in enumerate(texts)
        ]
        placed = zip(parts, sides, strict=True)
        return f"<tr>{''.join(f'<{tag}{side}>{part}</{tag}>' for part, side in placed)}</tr>"

    body = "".join(line("td", texts, row) for row, texts in enumerate(cells))
    below = f'<p style="{_SMALL}">{html.escape(note)}</p>' if note else ""
    top = f"<thead>{line('th', heads)}</thead>" if heads else ""
    title = f'<caption style="{_CAPTION}">{html.escape(caption)}</caption>'
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
        f'<figure style="{_SMALL}"><figcaption>{text}</figcaption>'
        f'<svg width="{_WIDTH}" height="{_HEIGHT}" '
        f'role="img" aria-label="{text}"><polyline points="{points}" fill="none" '
        'stroke="currentColor"/></svg></figure>'
    )
