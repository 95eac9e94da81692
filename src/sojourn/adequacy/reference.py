"""How far a system is from itself, and whether a model is near enough [baranov2019, VIII]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from ..errors import OptionError
from .measure import Adequacy, compare_streams
from .stream import JobStream


@dataclass(frozen=True)
class Reference:
    """The reference value of the measure.

    Parameters
    ----------
    pairs : P (s) of each two repetitions, with their places.
    ideal : P_ideal (s): the median over the pairs.
    highest : s, the largest P over any prefix of any pair, which is how [baranov2019] reads a
        reference value of 12 from its table I.
    """

    pairs: tuple[tuple[int, int, float], ...]
    ideal: float
    highest: float

    def as_dict(self) -> dict[str, Any]:
        """Return the reference as plain values, ready for JSON."""
        return {
            "P_ideal": self.ideal,
            "highest": self.highest,
            "pairs": [{"first": a, "second": b, "P": value} for a, b, value in self.pairs],
        }


@dataclass(frozen=True)
class Verdict:
    """Whether a model is adequate.

    Parameters
    ----------
    adequate : P <= P_max; None if there is nothing to hold it against.
    limit : P_max (s), nan if there is none.
    because : in words.
    """

    adequate: bool | None
    limit: float
    because: str

    def as_dict(self) -> dict[str, Any]:
        """Return the verdict as plain values, ready for JSON."""
        return {"adequate": self.adequate, "P_max": self.limit, "because": self.because}


def reference_value(repetitions: Sequence[JobStream], **options: Any) -> Reference:
    """Return the reference value: how far repetitions of one experiment are from each other.

    Parameters
    ----------
    repetitions : two or more runs of the same jobs through the same system.
    options : of `compare_streams`.

    Notes
    -----
    P is heavy-tailed: one near-tie that falls the other way moves many jobs. Two repetitions say
    little; the median over the pairs of several is steadier.
    """
    if len(repetitions) < 2:
        raise OptionError(
            f"{len(repetitions)} repetition: a system is compared with itself; give two or more"
        )
    measured = [
        (a, b, compare_streams(repetitions[a], repetitions[b], **options))
        for a, b in combinations(range(len(repetitions)), 2)
    ]
    return Reference(
        tuple((a, b, adequacy.P) for a, b, adequacy in measured),
        float(np.median([adequacy.P for _, _, adequacy in measured])),
        max(prefix.P for _, _, adequacy in measured for prefix in adequacy.prefixes),
    )


def judge(
    measured: Adequacy, reference: Reference | None = None, limit: float | None = None
) -> Verdict:
    """Say whether a model is adequate.

    Parameters
    ----------
    measured : the measure between the system and the model.
    reference : P_ideal is the limit where none is given: a model that is no farther from the
        system than the system is from itself behaves as it does.
    limit : P_max (s).
    """
    if limit is not None and not limit >= 0:
        raise OptionError(f"P_max {limit}: give seconds, 0 or more")
    if limit is None and reference is None:
        return Verdict(None, float("nan"), "nothing to hold P against: give P_max or repetitions")
    bound = limit if limit is not None else reference.ideal if reference is not None else 0.0
    adequate = bound >= measured.P
    sign = "<=" if adequate else ">"
    name = "P_max" if limit is not None else "P_ideal"
    because = f"P = {_seconds(measured.P)} {sign} {name} = {_seconds(bound)}"
    if limit is not None and reference is not None and limit < reference.ideal:
        because += f"; the system itself is {_seconds(reference.ideal)} from itself"
    return Verdict(adequate, bound, because)


def _seconds(seconds: float) -> str:
    return f"{seconds:.4g} s" if seconds < 1e4 else f"{seconds:,.0f} s"
