"""Rows in which every two values of different axes meet at least once."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations, product

Row = dict[str, str]
Pair = frozenset[tuple[str, str]]
TRIES = 30


def pairs_of(row: Mapping[str, str]) -> set[Pair]:
    """All pairs of values in a row."""
    return {frozenset(two) for two in combinations(row.items(), 2)}


def all_pairs(axes: Mapping[str, Sequence[str]]) -> set[Pair]:
    """All pairs of values of two axes."""
    return {
        frozenset([(a, x), (b, y)])
        for a, b in combinations(axes, 2)
        for x, y in product(axes[a], axes[b])
    }


def covering(
    axes: Mapping[str, Sequence[str]], is_possible: Callable[[Row], bool], seed: int = 0
) -> tuple[list[Row], set[Pair]]:
    """Rows that cover all pairs which some possible row has, and the pairs that none has.

    Greedy: each row begins with a pair that is not covered yet; the other axes follow in a random
    order, each with the value that adds most. Of several such rows the best is kept.

    Parameters
    ----------
    axes : the values of each.
    is_possible : whether a row can be; it is also asked about rows that lack some axes.
    seed : of the orders that are tried.
    """
    rng = random.Random(seed)
    left = all_pairs(axes)
    rows: list[Row] = []
    impossible: set[Pair] = set()
    while left:
        first = min(left, key=sorted)
        tries = [_row_with(first, axes, left, is_possible, rng) for _ in range(TRIES)]
        made = [row for row in tries if row is not None]
        if not made:
            impossible.add(first)
            left.discard(first)
            continue
        best = max(made, key=lambda row: len(pairs_of(row) & left))
        rows.append({axis: best[axis] for axis in axes})
        left -= pairs_of(best)
    return rows, impossible


def _row_with(
    pair: Pair,
    axes: Mapping[str, Sequence[str]],
    left: set[Pair],
    is_possible: Callable[[Row], bool],
    rng: random.Random,
) -> Row | None:
    row = dict(sorted(pair))
    if not is_possible(row):
        return None
    others = [axis for axis in axes if axis not in row]
    for axis in rng.sample(others, len(others)):
        values = [v for v in axes[axis] if is_possible({**row, axis: v})]
        if not values:
            return None
        rng.shuffle(values)
        row[axis] = max(values, key=lambda v: _gain(row, (axis, v), left))
    return row


def _gain(row: Row, value: tuple[str, str], left: set[Pair]) -> int:
    return sum(frozenset([value, other]) in left for other in row.items())
