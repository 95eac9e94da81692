"""The measures of a run as one flat row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..measures.registry import name_of

__all__ = ["flat_summary"]

_NO_MEASURES = ("seed", "warmup", "recorded", "cleaning", "unaccepted_reasons", "rate_shares")


def flat_summary(summary: Mapping[str, Any], rates: Sequence[float] = ()) -> dict[str, float]:
    """Return every number of a summary under the name of its measure, such as ``wait_mean``.

    Parameters
    ----------
    summary : of a run.
    rates : of the control: each has its share of the time, be it 0.
    """
    flat = {name: float(value) for name, value in _numbers(summary)}
    shares = summary.get("rate_shares", {})
    known = dict.fromkeys([*(f"{rate:g}" for rate in rates), *shares]) if shares else {}
    return flat | {f"rate_share_{rate}": float(shares.get(rate, 0.0)) for rate in known}


def _numbers(summary: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """The numbers of a summary by the names of their measures."""
    for name, value in summary.items():
        if name in _NO_MEASURES:
            continue
        inner = value.items() if isinstance(value, Mapping) else [("", value)]
        for part, number in inner:
            if not isinstance(number, bool) and isinstance(number, int | float):
                yield name_of((name, part) if part else (name,)), number
