"""Estimators of simulation output, each as its definition is written; no sums are shared."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from statistics import NormalDist


def mean(values: Sequence[float]) -> float:
    """Arithmetic mean."""
    return math.fsum(values) / len(values)


def covariance(x: Sequence[float], y: Sequence[float]) -> float:
    """Sample covariance, with n - 1."""
    a, b = mean(x), mean(y)
    return math.fsum((u - a) * (v - b) for u, v in zip(x, y, strict=True)) / (len(x) - 1)


def mser(values: Sequence[int], batch: int, most: int) -> int:
    """MSER: the number of values to leave out, exactly, for whole numbers.

    Of means of batches Z_1..Z_k it is the d <= most, the smallest if there are several, with the
    least sum_{i>d} (Z_i - mean of those)^2 / (k - d)^2.
    """
    count = len(values) // batch
    z = [Fraction(sum(values[i * batch : (i + 1) * batch]), batch) for i in range(count)]
    marks = []
    for d in range(most + 1):
        rest = z[d:]
        middle = sum(rest, Fraction(0)) / len(rest)
        marks.append(sum(((x - middle) ** 2 for x in rest), Fraction(0)) / len(rest) ** 2)
    return batch * marks.index(min(marks))


def von_neumann(means: Sequence[float]) -> float:
    """1 - sum of squared steps over twice the sum of squares, over its standard deviation."""
    n, middle = len(means), mean(means)
    steps = math.fsum((b - a) ** 2 for a, b in pairwise(means))
    spread = math.fsum((x - middle) ** 2 for x in means)
    return (1 - steps / (2 * spread)) / math.sqrt((n - 2) / (n * n - 1))


def finds_empty(submit: Sequence[float], end: Sequence[float]) -> list[int]:
    """Jobs at whose arrival nobody else has come and not left."""
    jobs = range(len(submit))
    return [
        i for i in jobs if all(end[j] <= submit[i] and submit[j] < submit[i] for j in jobs if j < i)
    ]


def ratio(sums: Sequence[float], lengths: Sequence[float]) -> tuple[float, float]:
    """Ratio of means and its standard error: s^2 = s11 - 2 r s12 + r^2 s22."""
    r = mean(sums) / mean(lengths)
    variance = (
        covariance(sums, sums)
        - 2 * r * covariance(sums, lengths)
        + r * r * covariance(lengths, lengths)
    )
    return r, math.sqrt(max(variance, 0.0) / len(sums)) / abs(mean(lengths))


def jackknife(sums: Sequence[float], lengths: Sequence[float]) -> tuple[float, float]:
    """The same from n r - (n - 1) r_i, r_i the ratio without row i."""
    n, r = len(sums), mean(sums) / mean(lengths)
    pseudo = []
    for i in range(n):
        above = [x for j, x in enumerate(sums) if j != i]
        below = [x for j, x in enumerate(lengths) if j != i]
        pseudo.append(n * r - (n - 1) * mean(above) / mean(below))
    return mean(pseudo), math.sqrt(covariance(pseudo, pseudo) / n)


def quantile(values: Sequence[float], q: Fraction) -> float:
    """The smallest value that a share q does not exceed."""
    ordered = sorted(values)
    return next(x for k, x in enumerate(ordered, 1) if Fraction(k, len(ordered)) >= q)


def between_order_statistics(n: int, q: Fraction, first: int, last: int) -> Fraction:
    """Probability that the q-quantile of a continuous law lies between two of n values in order.

    first = 0 and last = n + 1 stand for minus and plus infinity.
    """
    return sum(
        (math.comb(n, k) * q**k * (1 - q) ** (n - k) for k in range(first, last)), Fraction(0)
    )


def bca_levels(
    estimate: float, drawn: Sequence[float], left: Sequence[float], reach: float
) -> tuple[float, float]:
    """Quantiles of the draws that are the ends of a BCa interval.

    `left` are the estimates without each value in turn; `reach` is how many standard errors the
    interval would have to either side if nothing needed correction.
    """
    law = NormalDist()
    below = sum(1.0 if x < estimate else 0.5 if x == estimate else 0.0 for x in drawn)
    z = law.inv_cdf(below / len(drawn))
    middle = mean(left)
    a = math.fsum((middle - x) ** 3 for x in left)
    a /= 6 * math.fsum((middle - x) ** 2 for x in left) ** 1.5
    low, high = (law.cdf(z + (z + r) / (1 - a * (z + r))) for r in (-reach, reach))
    return low, high


def holm(p: Sequence[float], alpha: float) -> set[int]:
    """Hypotheses rejected at alpha: in order of p, as long as p <= alpha / (those left)."""
    rejected: set[int] = set()
    for k in sorted(range(len(p)), key=lambda i: p[i]):
        if p[k] * (len(p) - len(rejected)) > alpha:
            break
        rejected.add(k)
    return rejected
