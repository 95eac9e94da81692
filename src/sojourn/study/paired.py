"""Comparisons under common random numbers: what a policy changes, replication by replication.

Two policies that serve the same jobs do well and badly together. The difference of a pair is free
of that, so pairs distinguish policies that their intervals do not.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Floats
from ..errors import OptionError, did_you_mean
from .intervals import Interval, around, level_of, mean_interval, pairs, sample
from .ratios import ratio_interval


@dataclass(frozen=True)
class PairedComparison:
    """What changes from a baseline to something else.

    Parameters
    ----------
    name, baseline : what was compared.
    difference : its mean less that of the baseline, in the unit of the measure.
    change : the same as a share of the baseline's mean; -0.31 is 31 % less.
    p : how often pairs without a difference would differ so much.
    adjusted : the same if several comparisons are looked at together [holm1979].
    """

    name: str
    baseline: str
    difference: Interval
    change: Interval
    p: float
    adjusted: float

    @property
    def is_significant(self) -> bool:
        """Whether there is a difference beyond chance, all comparisons together."""
        return self.adjusted < 1 - self.difference.level

    def in_words(self, measure: str = "") -> str:
        """Return the change in a sentence.

        Parameters
        ----------
        measure : what is compared, such as ``mean wait``.
        """
        interval, form = self.change, ".1%"
        if not math.isfinite(interval.half_width):
            interval, form = self.difference, ".4g"
        what = f" {measure}" if measure else ""
        if not self.is_significant:
            ends = f"{interval.low:+{form}} to {interval.high:+{form}}"
            where = f" in{what}" if measure else ""
            return f"{self.name} and {self.baseline}: no significant difference{where} ({ends})"
        least, most = sorted(abs(end) for end in (interval.low, interval.high))
        reach = f"({least:{form}} to {most:{form}})"
        if interval.is_even:
            reach = f"± {interval.half_width:{form}}"
        size = f"{abs(interval.estimate):{form}} {reach}"
        more = "more" if interval.estimate > 0 else "less"
        return f"{self.name}: {size} {more}{what} than {self.baseline}"

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return asdict(self)


def paired_difference(values: ArrayLike, baseline: ArrayLike, *, level: float = 0.95) -> Interval:
    """Estimate the mean difference of pairs, by Student's t.

    Parameters
    ----------
    values, baseline : one number of each replication; row by row under the same random numbers.
    level : of confidence.
    """
    these, those = pairs(values, baseline, ("values", "baseline"))
    return replace(mean_interval(these - those, level=level), method="paired Student t")


def relative_change(
    values: ArrayLike, baseline: ArrayLike, *, level: float = 0.95, method: str = "fieller"
) -> Interval:
    """Estimate the change of a mean as a share of the baseline's: -0.31 is 31 % less.

    Parameters
    ----------
    values, baseline, level : as in `paired_difference`.
    method : of the ratio; see `ratio_interval`. Of values that are all at least 0 the interval
        ends at -1, nothing left.

    Examples
    --------
    >>> change = relative_change([7.0, 6.2, 7.9, 6.9], [10.0, 9.1, 11.2, 9.9])
    >>> f"{change.estimate:.1%} ± {change.half_width:.1%}"
    '-30.3% ± 1.6%'
    """
    these, those = pairs(values, baseline, ("values", "baseline"))
    ratio = ratio_interval(these, those, level=level, method=method)
    change = replace(
        ratio,
        estimate=ratio.estimate - 1,
        low=ratio.low - 1,
        high=ratio.high - 1,
        method=f"paired ratio, {ratio.method}",
    )
    return _possible_change(change, these, those)


def _possible_change(change: Interval, values: Floats, baseline: Floats) -> Interval:
    """Return the interval of a change without what it can never be: less than nothing left.

    A mean of values that are never below 0 is at least 0, and so is the ratio of two of them: what
    is cut off below -1 never held the true change.
    """
    if min(np.min(values), np.min(baseline)) < 0:
        return change
    return replace(change, low=max(change.low, -1.0))


def resampled_change(values: ArrayLike, baseline: ArrayLike, *, level: float = 0.95) -> Interval:
    """Estimate how far the relative change of two policies on one log is from the true one.

    The change is that of the means over draws of `resample_blocks`, in the same order; its error is
    the spread of what is left of each draw, by the delta method.
    """
    confidence = level_of(level)
    these, those = pairs(values, baseline, ("values", "baseline"), 2)
    middle = float(those.mean())
    if middle == 0:
        raise OptionError("baseline: its mean is 0, so there is no change relative to it")
    ratio = float(these.mean()) / middle
    spread = float(np.std(these - ratio * those, ddof=1)) / abs(middle)
    change = around(ratio - 1, spread, these.size, confidence, "resampled ratio")
    return _possible_change(change, these, those)


def holm(p: ArrayLike) -> Floats:
    """Return p-values of comparisons that are looked at together [holm1979].

    Calling those below alpha significant is wrong about any of them with probability alpha at the
    most, however they depend on each other.

    Parameters
    ----------
    p : p-value of each comparison alone.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    given = sample(p, "p", 0)
    wrong = np.flatnonzero((given < 0) | (given > 1))
    if wrong.size:
        raise OptionError(f"p[{wrong[0]}] = {given[wrong[0]]:g}: a p-value lies in [0, 1]")
    order = np.argsort(given, kind="stable")
    weighted = given[order] * np.arange(given.size, 0, -1)
    adjusted = np.empty_like(given)
    adjusted[order] = np.minimum(np.maximum.accumulate(weighted), 1.0)
    return adjusted


def compare_pairs(
    samples: Mapping[str, ArrayLike], baseline: str, *, level: float = 0.95
) -> tuple[PairedComparison, ...]:
    """Compare several policies with one of them.

    Parameters
    ----------
    samples : by name, one number of each replication, all under the same random numbers.
    baseline : name of the one that the others are compared with.
    level : of confidence of each interval; the adjusted p-values hold for all together.
    """
    confidence = level_of(level)
    if baseline not in samples:
        near = did_you_mean(baseline, samples) or f"; there are {', '.join(samples)}"
        raise OptionError(f"baseline '{baseline}': not among the samples{near}")
    those = samples[baseline]
    names = [name for name in samples if name != baseline]
    differences = [paired_difference(samples[name], those, level=confidence) for name in names]
    p = [_p_value(samples[name], those) for name in names]
    return tuple(
        PairedComparison(
            name,
            baseline,
            difference,
            relative_change(samples[name], those, level=confidence),
            alone,
            float(together),
        )
        for name, difference, alone, together in zip(names, differences, p, holm(p), strict=True)
    )


def _p_value(values: ArrayLike, baseline: ArrayLike) -> float:
    """Two-sided p-value of Student's t for pairs."""
    from scipy.special import stdtr

    these, those = pairs(values, baseline, ("values", "baseline"))
    gaps = these - those
    n, mean = gaps.size, float(gaps.mean())
    spread = float(gaps.std(ddof=1)) if n > 1 else math.nan
    if n == 1 or mean == 0:
        return 1.0
    return 2 * float(stdtr(n - 1, -abs(mean) * math.sqrt(n) / spread)) if spread > 0 else 0.0
