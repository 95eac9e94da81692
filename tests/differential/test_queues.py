"""Several queues: engine = oracle, for all turns, disciplines, machines and events."""

from __future__ import annotations

import random
from datetime import date

import pytest
from oracle import controls, orders
from oracle.dispatcher import Scheduling
from oracle.everything_strategies import BETWEEN, Axes, case_of

import sojourn

from .everything_axes import BACKFILLS, EVENTS, MACHINES, ORDERS, PLACEMENTS
from .everything_cases import HAPPENINGS, JOBS, NODES, Drawn, as_given, joined, smaller
from .everything_harness import compare
from .harness import Speed
from .pairwise import Row
from .queue_cases import in_order
from .test_differential import EXAMPLES, USUAL

DISCIPLINES = tuple(name for name in BACKFILLS if name not in ("preempt", "spf", "lpf"))
SECOND = {"sjf": orders.sjf, "largest": orders.largest}
SPEED = Speed("1", sojourn.constant(1.0), controls.constant(1.0))
WORKLOADS = max(EXAMPLES // 20, 5)


def draw(
    between: str, backfill: str, machine: str, events: str, rng: random.Random
) -> tuple[Row, Drawn]:
    """A case of queues, and as a row what is drawn besides."""
    named = machine != "counted"
    row = {
        "placement": rng.choice(list(PLACEMENTS)) if named else "first-fit",
        "backfill": backfill,
        "order": rng.choice(list(ORDERS)),
        "machine": machine,
        "events": events,
        "control": "1",
        "passes": rng.choice(("instant", "instant", "event")),
        "foresight": rng.choice(("nodes", "nodes", "log")) if named else "nodes",
        "log": rng.choice(("kept", "not kept")),
        "stepping": "no",
        "sleep": "never",
        "checkpoints": "no",
        "cap": "none",
    }
    if backfill.startswith("easy") and rng.random() < 0.3:
        row["backfill order"] = rng.choice(list(SECOND))
    axes = Axes(MACHINES[machine], "fcfs", "first-fit", EVENTS[events], True)
    case = case_of(
        axes,
        [rng.randrange(2**32) for _ in range(rng.randint(3, JOBS + 4))],
        [rng.randrange(2**32) for _ in range(rng.randint(1, NODES))],
        [rng.randrange(2**16) for _ in range(rng.randint(2, HAPPENINGS))],
        rng,
    )
    _, reservations, exact = BACKFILLS[backfill]
    score = ORDERS[row["order"]][1]
    choice = PLACEMENTS[row["placement"]]
    # Scores that divide by the plan, and promises of no length, are left out.
    case = as_given(case, rng, min_plan=1)._replace(
        queues=tuple(in_order(case.queues, rng, score)),
        between=between,
        discipline=Scheduling(score, exact, reservations, SECOND.get(row.get("backfill order"))),
        placement=choice.exact,
        control=SPEED.exact,
        passes=row["passes"],
        blind=named and row["foresight"] == "log",
    )
    return row, Drawn(joined(case, rng), SPEED, choice.seed, True)


def fails(row: Row, drawn: Drawn) -> bool:
    try:
        compare(row, drawn)
    except Exception:
        return True
    return False


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("backfill", DISCIPLINES)
@pytest.mark.parametrize("between", BETWEEN)
def test_engine_equals_oracle(between, backfill, machine):
    night = "" if EXAMPLES <= USUAL else str(date.today())
    for events in EVENTS:
        for seed in range(WORKLOADS):
            rng = random.Random(f"{between} {backfill} {machine} {events} {seed} {night}")
            row, drawn = draw(between, backfill, machine, events, rng)
            if fails(row, drawn):
                least = smaller(drawn, lambda less, row=row: fails(row, less))
                try:
                    compare(row, least)
                except Exception as error:
                    raise AssertionError(f"{error}\n{row}\n{least}") from error
