"""The measures of a run as one flat row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..compare import MEASURES

__all__ = ["flat_summary"]

_SHORTER = {measure.path: measure.name for measure in MEASURES}
_NO_MEASURES = ("seed", "warmup", "recorded", "cleaning", "unaccepted_reasons", "rate_shares")


def flat_summary(told: Mapping[str, Any], rates: Sequence[float] = ()) -> dict[str, float]:
    """Return every number of a summary under a name of its own, such as ``wait_mean``.

    Names are those of a comparison where it has them, and of the energy bill without a prefix.

    Parameters
    ----------
    told : the summary of a run.
    rates : of the control: each has its share of the time, be it 0.
    """
    flat = {name: float(value) for name, value in _numbers(told)}
    shares = told.get("rate_shares", {})
    known = dict.fromkeys([*(f"{rate:g}" for rate in rates), *shares]) if shares else {}
    return flat | {f"rate_share_{rate}": float(shares.get(rate, 0.0)) for rate in known}


def _numbers(told: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """The numbers of a summary by flat names."""
    for name, value in told.items():
        if name in _NO_MEASURES:
            continue
        inner = value.items() if isinstance(value, Mapping) else [("", value)]
        for part, number in inner:
            if isinstance(number, bool) or not isinstance(number, int | float):
                continue
            path = (name, part) if part else (name,)
            plain = part if name == "energy" else "_".join(path)
            yield _SHORTER.get(path, plain), number
