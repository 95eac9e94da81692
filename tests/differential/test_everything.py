"""The matrix: every two capabilities meet in a row, and in each row engine = oracle.

A row runs through `sojourn.simulate`'s own preparation: what jobs ask for are columns of their
table, partitions and licences are the cluster's, events are rows.
"""

from __future__ import annotations

import random
from datetime import date

import pytest

from sojourn.errors import OptionError, PolicyError

from .everything_harness import AXES, PLACEMENTS, Drawn, compare, draw, set_up, smaller
from .pairwise import Pair, Row, all_pairs, covering, pairs_of
from .test_differential import EXAMPLES, USUAL

TIMED = ("wfp3", "own")
UNDEFINED: dict[Pair, tuple[type[Exception], str]] = {
    **{
        frozenset({("backfill", "preempt"), ("order", order)}): (
            PolicyError,
            "preempt needs an order that is fixed in time",
        )
        for order in TIMED
    },
    **{
        frozenset({("backfill", rule), ("order", order)}): (
            PolicyError,
            "remaining goes by remaining estimate",
        )
        for rule in ("spf", "lpf")
        for order in AXES["order"]
        if order not in ("sjf", "ljf")
    },
    **{
        frozenset({("machine", "counted"), ("placement", placement)}): (
            OptionError,
            "the cluster has no named nodes",
        )
        for placement in PLACEMENTS
        if placement != "first-fit"
    },
}
"""Two capabilities that cannot go together, the error, and the reason that it gives."""

# A failure stops several jobs, which is one event and needs one pass.
REFUSED = {
    frozenset({("passes", "event"), ("events", events)}): (
        OptionError,
        "external events need one pass per instant",
    )
    for events in AXES["events"]
    if events != "none"
}
"""Likewise, of rows that cover other pairs as well."""

# The order is what tells SPF and LPF apart.
SAME = {
    frozenset({("backfill", "spf"), ("order", "ljf")}),
    frozenset({("backfill", "lpf"), ("order", "sjf")}),
}


def is_possible(row: Row) -> bool:
    return not any(pair in UNDEFINED or pair in SAME for pair in pairs_of(row))


ROWS, IMPOSSIBLE = covering(AXES, is_possible)
WORKLOADS = max(EXAMPLES // 5, 50)


def name_of(row: Row) -> str:
    return ", ".join(row.values())


def test_the_rows_cover_all_pairs():
    # SPF and LPF have one order each, so that a pair may be impossible through a third value only.
    covered = {pair for row in ROWS for pair in pairs_of(row)}
    assert covered | IMPOSSIBLE == all_pairs(AXES)
    assert set(UNDEFINED) | SAME == IMPOSSIBLE


def is_refused(row: Row) -> bool:
    return any(pair in REFUSED for pair in pairs_of(row))


@pytest.mark.parametrize("row", [row for row in ROWS if not is_refused(row)], ids=name_of)
def test_engine_equals_oracle(row):
    night = "" if EXAMPLES <= USUAL else str(date.today())
    for seed in range(WORKLOADS):
        drawn = draw(row, random.Random(f"{name_of(row)} {seed} {night}"))
        if fails(row, drawn):
            least = smaller(drawn, lambda less: fails(row, less))
            try:
                compare(row, least)
            except Exception as error:
                raise AssertionError(f"{error}\n{row}\n{least}") from error


def fails(row: Row, drawn: Drawn) -> bool:
    try:
        compare(row, drawn)
    except Exception:
        return True
    return False


@pytest.mark.parametrize(
    "pair", [*UNDEFINED, *REFUSED], ids=lambda pair: name_of(dict(sorted(pair)))
)
def test_what_cannot_be_is_one_clear_error(pair):
    error, reason = {**UNDEFINED, **REFUSED}[pair]
    row = {axis: values[0] for axis, values in AXES.items()}
    row |= {"placement": "first-fit", "machine": "nodes", "backfill": "none", "order": "fcfs"}
    drawn = draw({**row, **{k: v for k, v in pair if k == "machine"}}, random.Random(1))
    with pytest.raises(error, match=reason) as raised:
        set_up({**row, **dict(pair)}, drawn)
    assert "\n" not in str(raised.value)
