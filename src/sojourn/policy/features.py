"""Expressions over features of nodes: ``gpu & (ib | opa) & !old``."""

from __future__ import annotations

import re
from collections.abc import Collection

from ..errors import OptionError

_TOKEN = re.compile(r"\s*([&|,!()]|[^\s&|,!()\[\]*]+)")
_COUNT = re.compile(r"\*\d+")
_DEEPEST = 100
"""Parentheses and negations of an expression."""
_SHOWN = 60


def has_features(expression: str, features: Collection[str]) -> bool:
    """Whether a node with such features is what an expression asks for.

    ``&`` or ``,`` is and, ``|`` is or, ``!`` is not; and binds closer than or. Brackets, by which
    Slurm asks for nodes that are alike, are taken for parentheses, and numbers of nodes (``ib*4``)
    are passed over.

    Examples
    --------
    >>> has_features("gpu & !old", {"gpu", "ib"}), has_features("a&(b|c)", {"a"})
    (True, False)
    >>> has_features("[rack1*2|rack2*2]", {"rack2"})
    True
    """
    given = expression
    expression = _COUNT.sub("", given.replace("[", "(").replace("]", ")"))
    tokens = _TOKEN.findall(expression)
    deep = expression.count("(") + expression.count("!") > _DEEPEST
    if deep or "".join(tokens) != re.sub(r"\s+", "", expression):
        raise _unreadable(given)
    value, rest = _any(tokens, features, given)
    if rest:
        raise _unreadable(given)
    return value


def _unreadable(expression: str) -> OptionError:
    return OptionError(
        f"features '{expression[:_SHOWN]}': cannot be read; write words with &, |, ! and "
        "parentheses, such as gpu&(ib|opa)"
    )


def _any(tokens: list[str], has: Collection[str], text: str) -> tuple[bool, list[str]]:
    value, tokens = _all(tokens, has, text)
    while tokens[:1] == ["|"]:
        other, tokens = _all(tokens[1:], has, text)
        value = value or other
    return value, tokens


def _all(tokens: list[str], has: Collection[str], text: str) -> tuple[bool, list[str]]:
    value, tokens = _one(tokens, has, text)
    while tokens[:1] in (["&"], [","]):
        other, tokens = _one(tokens[1:], has, text)
        value = value and other
    return value, tokens


def _one(tokens: list[str], has: Collection[str], text: str) -> tuple[bool, list[str]]:
    if not tokens or tokens[0] in "&|,)":
        raise _unreadable(text)
    first, rest = tokens[0], tokens[1:]
    if first == "!":
        value, rest = _one(rest, has, text)
        return not value, rest
    if first == "(":
        value, rest = _any(rest, has, text)
        if rest[:1] != [")"]:
            raise _unreadable(text)
        return value, rest[1:]
    return first in has, rest
