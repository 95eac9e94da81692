"""Texts with a number in them that varies: ``idle:{60:7200:log}``, ``easy:{1,2,4}``.

Some keys hold a text with a number inside, such as the idle time of a sleep policy. What varies
stands in braces, as a range or a list, and the text around it stays.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_ONE = re.compile(r"(?P<before>[^\[\]{}]*)\{(?P<inside>[^{}]*)\}(?P<after>[^\[\]{}]*)")


class Around(NamedTuple):
    """The text around a number that varies."""

    before: str
    after: str

    def filled(self, value: float | int | str) -> str:
        """Return the text with a value in its place; numbers to six digits."""
        if isinstance(value, float):
            value = int(value) if value.is_integer() else f"{value:.6g}"
        return f"{self.before}{value}{self.after}"


def split_braces(listed: str) -> tuple[Around, str] | None:
    """Return the text around braces and what is in them; None where the text has none.

    A table of TOML, with nothing around its braces or with brackets, is none, and so is a list:
    commas stand in the braces, or the whole text in quotes.

    Examples
    --------
    >>> split_braces("idle:{60:7200}")
    (Around(before='idle:', after=''), '60:7200')
    >>> split_braces("{rate = 1}") is None
    True
    """
    text = listed.strip()
    quoted = len(text) > 1 and text[0] == text[-1] and text[0] in "\"'"
    found = _ONE.fullmatch(text[1:-1] if quoted else text)
    if found is None:
        return None
    outside = found["before"] + found["after"]
    if not outside.strip() or ("," in outside and not quoted):
        return None
    return Around(found["before"], found["after"]), found["inside"].strip()
