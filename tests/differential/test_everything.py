"""The matrix: every two capabilities meet in a row, and in each row engine = oracle.

A row runs through `sojourn.simulate`'s own preparation: what jobs ask for are columns of their
table, partitions and licences are the cluster's, events are rows.
"""

from __future__ import annotations

import random
from datetime import date

import pytest

from sojourn.errors import OptionError, PolicyError

from .everything_axes import AXES, BACKFILLS, BY_HAND, ORDERS, PLACEMENTS
from .everything_cases import Drawn, draw, smaller
from .everything_harness import compare
from .everything_input import set_up
from .pairwise import Pair, Row, all_pairs, covering, pairs_of
from .test_differential import EXAMPLES, USUAL

TIMED = ("wfp3", "own")
QUEUES = tuple(value for value in AXES["queues"] if value != "none")
SLEEPS = tuple(value for value in AXES["sleep"] if value != "never")
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
            "remaining goes by an order of its own",
        )
        for rule in ("spf", "lpf")
        for order in ORDERS
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
    **{
        frozenset({("stepping", "yes"), ("backfill", backfill)}): (
            OptionError,
            "whoever steps decides who starts",
        )
        for backfill in BACKFILLS
        if backfill not in BY_HAND
    },
    **{
        frozenset({("queues", between), ("backfill", rule)}): (
            PolicyError,
            "stops jobs, which is not defined between queues",
        )
        for between in QUEUES
        for rule in ("preempt", "spf", "lpf")
    },
    **{
        frozenset({("sleep", sleep), ("machine", "counted")}): (
            OptionError,
            "processors are only counted; describe nodes that sleep",
        )
        for sleep in SLEEPS
    },
    **{
        frozenset({("sleep", sleep), ("backfill", rule)}): (
            PolicyError,
            "stops jobs, which is not defined for nodes that sleep",
        )
        for sleep in SLEEPS
        for rule in ("preempt", "spf", "lpf")
    },
    frozenset({("machine", "counted"), ("cap", "sets")}): (
        OptionError,
        "processors are only counted",
    ),
}
"""Two capabilities that cannot go together, the error, and the reason that it gives."""

ALONE = {"spf": "sjf", "lpf": "ljf"}
# The order is what tells SPF and LPF apart.
SAME = {
    frozenset({("backfill", "spf"), ("order", "ljf")}),
    frozenset({("backfill", "lpf"), ("order", "sjf")}),
}


def is_possible(row: Row) -> bool:
    return not any(pair in UNDEFINED or pair in SAME for pair in pairs_of(row))


ROWS, IMPOSSIBLE = covering(AXES, is_possible)
WORKLOADS = max(EXAMPLES // 4, 25)


def name_of(row: Row) -> str:
    return ", ".join(row.values())


def test_the_rows_cover_all_pairs():
    # SPF and LPF have one order each, so that a pair may be impossible through a third value only.
    covered = {pair for row in ROWS for pair in pairs_of(row)}
    assert covered | IMPOSSIBLE == all_pairs(AXES)
    assert set(UNDEFINED) | SAME == IMPOSSIBLE


@pytest.mark.parametrize("row", ROWS, ids=name_of)
def test_engine_equals_oracle(row):
    night = "" if EXAMPLES <= USUAL else str(date.today())
    for seed in range(WORKLOADS):
        drawn = draw(row, random.Random(f"{name_of(row)} {seed} {night}"))
        problem = error_in(row, drawn)
        if problem is not None:
            least = smaller(drawn, lambda less, like=problem: error_in(row, less) is like)
            try:
                compare(row, least)
            except Exception as error:
                raise AssertionError(f"{error}\n{row}\n{least}") from error


def test_pools_whose_nodes_are_reserved_do_not_give_way_to_faster_ones():
    """By number there is room in the pools that the placement chooses; the job waits for it."""
    text = "lowest-power, easy:inf, lcfs, plain nodes, all, switching, instant, nodes, not kept, "
    text += "round-robin, no"
    rest = {"sleep": "never", "checkpoints": "no", "cap": "none"}
    row = dict(zip(AXES, text.split(", "), strict=False)) | rest
    for seed in (129, 213):
        compare(row, draw(row, random.Random(f"{text} {seed} ")))


def test_a_feature_that_all_nodes_have_pins_nobody():
    text = "spread, easy, wfp3, resources, reserve, 2, event, nodes, not kept, priority, no"
    rest = {"sleep": "never", "checkpoints": "no", "cap": "none"}
    row = dict(zip(AXES, text.split(", "), strict=False)) | rest
    compare(row, draw(row, random.Random(f"{text} 325 2026-11-18")))


def test_who_is_counted_on_now_does_not_sleep_even_if_that_takes_no_time():
    """It would go to sleep and wake without end, in one instant."""
    text = "random, easy, ljf, plain nodes, reserve, 1, event, nodes, kept, round-robin, no, idle, "
    text += "no, steps"
    row = dict(zip(AXES, text.split(", "), strict=True))
    compare(row, draw(row, random.Random(f"{text} 224 2026-11-18")))


def test_a_boot_that_takes_no_time_holds_no_watts_even_now():
    """Who comes next in the same pass finds what it may draw on its way."""
    text = "random, easy, ljf, plain nodes, reserve, 1, event, nodes, kept, round-robin, no, idle, "
    text += "no, steps"
    row = dict(zip(AXES, text.split(", "), strict=True))
    compare(row, draw(row, random.Random(f"{text} 550 2026-11-18")))


@pytest.mark.parametrize("seed", [418, 654])
def test_who_is_woken_just_in_time_is_up_by_then(seed):
    """At times near 10^10 s an instant is known to 2e-6 s: rounding makes no node too late."""
    text = "lowest-power, easy:2, lcfs, plain nodes, none, switching, instant, nodes, not kept, "
    text += "round-robin, no, idle, no, sets"
    row = dict(zip(AXES, text.split(", "), strict=True))
    compare(row, draw(row, random.Random(f"{text} {seed} 2026-11-18")))


def test_who_is_wanted_right_after_time_zero_wakes_now():
    """Near zero the next number is 5e-324 s away: time would go from one to the next for ever."""
    text = (
        "fastest, conservative, own, plain nodes, none, 1, event, nodes, kept, priority, no, idle, "
    )
    text += "yes, constant"
    row = dict(zip(AXES, text.split(", "), strict=True))
    compare(row, draw(row, random.Random(f"{text} 1612 2026-11-19")))


def test_who_is_kept_out_now_is_so_at_once_and_not_after_a_rounding():
    """At a completion the work clock is that of its end; a reservation begins there too."""
    text = "first-fit, conservative, fcfs, counted, reserve, switching, instant, log, kept, "
    text += "weights, no, never, yes, steps"
    row = dict(zip(AXES, text.split(", "), strict=True))
    compare(row, draw(row, random.Random(f"{text} 824 2026-11-19")))


def test_a_reserved_node_is_not_chosen_for_a_rounding():
    """For so long the placement would prefer it, and then look for fast nodes without need."""
    text = "spread, easy, sjf, plain nodes, all, switching, instant, log, not kept, none, no, "
    text += "never, no, sets"
    row = dict(zip(AXES, text.split(", "), strict=True))
    compare(row, draw(row, random.Random(f"{text} 629 2026-11-19")))


def test_nodes_of_a_reservation_wake_by_number():
    """Where boots begin some time apart, the placement does not say who is first."""
    text = "lowest-energy, conservative, sjf, partitions, reserve, 2, event, nodes, kept, "
    text += "round-robin, no, keep, yes, none"
    row = dict(zip(AXES, text.split(", "), strict=True))
    compare(row, draw(row, random.Random(f"{text} 1700 2026-11-19")))


def test_a_boot_that_ends_a_rounding_late_ends_with_what_it_was_for():
    """Else who gets the node in between is stopped when the boot fails, 2e-6 s after its start."""
    text = "worst-fit, easy, lcfs, plain nodes, reserve, switching, event, nodes, not kept, "
    text += "priority, no, keep, yes, sets"
    row = dict(zip(AXES, text.split(", "), strict=True))
    compare(row, draw(row, random.Random(f"{text} 1531 2026-11-19")))


def crowded(row: Row, rng: random.Random) -> Drawn:
    """Many jobs in a short time that ask for one of few things, for a longer or shorter time."""
    drawn = draw(row, rng)
    *narrow, wide = sorted(drawn.case.jobs, key=lambda job: job.procs)
    if rng.random() < 0.3:
        narrow[0] = narrow[0]._replace(power_budget=narrow[0].procs * rng.randint(1, 4))
    jobs, submit = [], 0
    for _ in range(40):
        submit += rng.choice((0, 0, 0, 1, 2))
        work, kind = int(40 ** rng.random()), rng.choice((*narrow[:2], *narrow[:2], wide))
        plan = max(1, rng.choice((work, work, work // 2, 2 * work)))
        jobs.append(kind._replace(submit=submit, work=work, plan=plan, limit=plan))
    return drawn._replace(case=drawn.case._replace(jobs=tuple(jobs)))


@pytest.mark.parametrize("backfill", ["first-fit", "easy", "easy:2"])
@pytest.mark.parametrize("order", ["fcfs", "sjf", "wfp3"])
def test_long_queues_of_few_requests(backfill, order):
    """Who asks for what another was refused may be passed over, but only then."""
    for seed in range(max(EXAMPLES // 20, 100)):
        rng = random.Random(f"{backfill} {order} {seed}")
        row = {
            **{axis: rng.choice(AXES[axis]) for axis in ("placement", "passes", "foresight")},
            "backfill": backfill,
            "order": order,
            "machine": "partitions",
            "events": rng.choice(("none", "none", "reserve")),
            "control": "1",
            "log": "not kept",
            "queues": "none",
            "stepping": "no",
            "sleep": "never",
            "checkpoints": "no",
            "cap": rng.choice(("none", "none", "constant", "sets")),
        }
        drawn = crowded(row, rng)
        try:
            compare(row, drawn)
        except Exception as error:
            raise AssertionError(f"{error}\n{row}\n{drawn}") from error


def error_in(row: Row, drawn: Drawn) -> type[Exception] | None:
    """What a comparison raises, if anything."""
    try:
        compare(row, drawn)
    except Exception as error:
        return type(error)
    return None


@pytest.mark.parametrize("pair", UNDEFINED, ids=lambda pair: name_of(dict(sorted(pair))))
def test_what_cannot_be_is_one_clear_error(pair):
    error, reason = UNDEFINED[pair]
    row = {axis: values[0] for axis, values in AXES.items()}
    row |= {"placement": "first-fit", "machine": "nodes", "backfill": "none"}
    # SPF and LPF have an order of their own.
    row["order"] = ALONE.get(dict(pair).get("backfill"), "fcfs")
    of_case = {k: v for k, v in pair if k in ("machine", "queues", "sleep")}
    drawn = draw({**row, **of_case}, random.Random(1))
    with pytest.raises(error, match=reason) as raised:
        set_up({**row, **dict(pair)}, drawn)
    assert "\n" not in str(raised.value)
