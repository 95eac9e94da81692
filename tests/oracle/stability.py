"""The stability constant in exact arithmetic, by ways other than the package's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product
from math import factorial, lcm, prod


def together(phase: Sequence[int], servers: int) -> int:
    """||m||: how many jobs of a phase, in order, fit at once."""
    used = 0
    for jobs, width in enumerate(phase):
        used += width
        if used > servers:
            return jobs
    return len(phase)


def over_phases(p: Sequence[Fraction]) -> Fraction:
    """C as the sum over all of {1, ..., s}^s [rumyantsev2014, eq. 4]."""
    s = len(p)
    return sum(
        (prod(p[k - 1] for k in phase) / together(phase, s) for phase in phases(s)),
        Fraction(0),
    )


def phases(servers: int) -> Iterator[tuple[int, ...]]:
    """The phase space: classes of the first s customers."""
    return product(range(1, servers + 1), repeat=servers)


def partitions(total: int, widest: int | None = None) -> Iterator[dict[int, int]]:
    """Partitions of a number, as how often each width occurs."""
    if total == 0:
        yield {}
        return
    for width in range(min(total, widest or total), 0, -1):
        for rest in partitions(total - width, width):
            yield {**rest, width: rest.get(width, 0) + 1}


def orders(partition: dict[int, int]) -> int:
    """How many sequences of jobs make a partition [rumyantsev2014, eq. 7]."""
    ways = factorial(sum(partition.values()))
    for repeats in partition.values():
        ways //= factorial(repeats)
    return ways


def group_sizes(p: Sequence[Fraction], servers: int) -> list[Fraction]:
    """P{K >= i} of i = 0, 1, ...: that the first i widths add up to no more than the servers."""
    scale = lcm(*(x.denominator for x in p))
    weight = [int(x * scale) for x in p]
    sums = [1] + [0] * servers
    reached = []
    while any(sums):
        reached.append(Fraction(sum(sums), scale ** len(reached)))
        folded = [0] * (servers + 1)
        for n, ways in enumerate(sums):
            if ways:
                for k, share in enumerate(weight[: servers - n], 1):
                    folded[n + k] += ways * share
        sums = folded
    return reached


def by_group_sizes(p: Sequence[Fraction], servers: int | None = None) -> Fraction:
    """C = E[1/K] from the distribution of K."""
    reached = [*group_sizes(p, servers or len(p)), Fraction(0)]
    return sum(((reached[i] - reached[i + 1]) / i for i in range(1, len(reached) - 1)), Fraction(0))


def multiresource(
    demands: Sequence[Sequence[int]], p: Sequence[Fraction], left: Sequence[int], jobs: int = 0
) -> Fraction:
    """E[1/K] by following every sequence of jobs until one does not fit."""
    total = Fraction(0)
    for demand, chance in zip(demands, p, strict=True):
        after = [there - taken for there, taken in zip(left, demand, strict=True)]
        if min(after) < 0:
            total += chance / jobs
        else:
            total += chance * multiresource(demands, p, after, jobs + 1)
    return total
