"""What the scanner of logs can find in a line that it cannot simply store."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = [
    "COMMENT",
    "EXACT",
    "GOOD",
    "MALFORMED",
    "NOT_A_NUMBER",
    "NOT_FINITE",
    "NOT_INTEGER",
    "TOO_FEW",
    "TOO_LARGE",
    "TOO_MANY",
]

GOOD = 0
COMMENT = 1
EXACT = 2  # a number that takes more than 64 bits to round correctly
TOO_FEW = 3
TOO_MANY = 4
NOT_A_NUMBER = 5
NOT_INTEGER = 6
NOT_FINITE = 7
TOO_LARGE = 8

MALFORMED: Mapping[int, tuple[str, str]] = {
    TOO_FEW: ("too-few-fields", "fewer than 18 fields"),
    TOO_MANY: ("too-many-fields", "more than 18 fields"),
    NOT_A_NUMBER: ("not-a-number", "a field that is not a number"),
    NOT_INTEGER: ("not-an-integer", "a fraction where a whole number belongs"),
    NOT_FINITE: ("not-finite", "nan or inf in a field"),
    TOO_LARGE: ("too-large", "a number too large for its field"),
}
"""Kinds of malformed lines: name in reports, and what it means."""
