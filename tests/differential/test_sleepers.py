"""Nodes that sleep, and nothing else that happens: long queues, few nodes, watts that are short.

Passes that can start nobody are skipped there, and reservations are kept from pass to pass; engine
and oracle agree all the same.
"""

from __future__ import annotations

import math
import random
from fractions import Fraction
from typing import Any

import pytest
from oracle import controls
from oracle.caps import Cap, added, idle_power
from oracle.dispatcher import Scheduling
from oracle.everything import Case
from oracle.nodes import Node, Request
from oracle.sleeping_nodes import Depth, Sleep

import sojourn

from .everything_axes import BACKFILLS, ORDERS, PLACEMENTS
from .everything_cases import Drawn
from .everything_harness import compare
from .harness import Speed
from .pairwise import Row
from .sleep_cases import drawing, failing, varying
from .test_differential import EXAMPLES

USUAL = {
    "placement": "first-fit",
    "backfill": "easy",
    "order": "fcfs",
    "machine": "plain nodes",
    "events": "none",
    "control": "1",
    "passes": "instant",
    "foresight": "nodes",
    "log": "not kept",
    "queues": "none",
    "stepping": "no",
    "sleep": "idle",
    "checkpoints": "no",
    "cap": "none",
}


def case_of(
    row: Row, jobs: list[Request], nodes: list[Node], sleep: Sleep, cap: int | None = None
) -> Drawn:
    """Jobs on nodes as a row says, at a constant rate; a cap in watts, if there is one."""
    placement, rate = PLACEMENTS[row["placement"]], int(row["control"])
    _, reservations, backfill = BACKFILLS[row["backfill"]]
    second = ORDERS[row["backfill order"]][1] if "backfill order" in row else None
    case = Case(
        tuple(jobs),
        tuple(nodes),
        discipline=Scheduling(ORDERS[row["order"]][1], backfill, reservations, second),
        placement=placement.exact,
        control=controls.constant(rate),
        passes=row["passes"],
        blind=row["foresight"] == "log",
        sleep=sleep,
        caps=() if cap is None else (Cap(((-math.inf, cap),)),),
        fastest=rate,
    )
    speed = Speed(row["control"], sojourn.constant(rate), controls.constant(rate))
    return Drawn(case, speed, placement.seed, True)


def asked(*jobs: tuple[int, int, int, int]) -> list[Request]:
    """Jobs of (submit, work, processors, plan)."""
    return [Request(*job, limit=job[3]) for job in jobs]


def node(procs: int, idle: int, more: int, slowness: Any = 1) -> Node:
    """A node whose power grows by so many watts for each processor in use."""
    watts = tuple(Fraction(idle * 10 + more * procs * level, 10) for level in range(11))
    return Node(procs, slowness, watts, memory=2**20)


def draw_row(rng: random.Random) -> Row:
    """How a case is run: mostly EASY, first fit or in order on nodes that are visited in order."""
    common = ("easy", "easy", "first-fit", "none")
    row = USUAL | {
        "placement": rng.choice(("first-fit",) * 6 + tuple(PLACEMENTS)),
        "backfill": rng.choice(common if rng.random() < 0.7 else tuple(BACKFILLS)[:6]),
        "order": rng.choice(("fcfs", "fcfs", "sjf", "ljf", "lcfs", "wfp3")),
        "control": rng.choice(("1",) * 9 + ("2",)),
        "passes": rng.choice(("instant",) * 9 + ("event",)),
        "foresight": rng.choice(("nodes",) * 9 + ("log",)),
        "sleep": rng.choice(("idle",) * 7 + ("keep",)),
        "cap": rng.choice(("none", "constant", "constant")),
    }
    if row["backfill"].startswith("easy") and rng.random() < 0.25:
        row["backfill order"] = rng.choice(("sjf", "ljf", "lcfs", "fcfs"))
    return row


def draw_nodes(rng: random.Random, most: int) -> list[Node]:
    """Nodes that are mostly alike, and mostly equally fast."""
    alike, slow, size = rng.random() < 0.75, rng.random() < 0.1, rng.choice((1, 1, 2, 3, 4, 8))
    idle, more = 10 * rng.randint(0, 10), rng.choice((10, 20, 50, 100))
    half = Fraction(1, 2)
    return [
        node(
            size if alike else rng.choice((1, 2, 4)),
            idle,
            more,
            rng.choice((1, 2, half)) if slow else 1,
        )
        for _ in range(rng.randint(1, most))
    ]


def draw_sleep(rng: random.Random, row: Row, nodes: list[Node]) -> Sleep:
    """Changes of state that take no time, or long; some boots fail, some times are drawn."""
    enter, leave = rng.choice((3, 10, 30)), rng.choice((1, 5, 20, 60))
    one = Depth(rng.choice((0, 0, enter)), rng.choice((0, leave, leave)))
    others = (None, one, Depth(rng.choice((0, 1, enter)), rng.choice((0, 2, leave))))
    depths = [one, *(rng.choice(others) for _ in nodes[1:])]
    if rng.random() < 0.8:
        depths = [one] * len(nodes)
    keep = rng.randint(1, 2) if row["sleep"] == "keep" else 0
    sleep = Sleep(tuple(depths), rng.choice((0, 0, 0, 1, 5, 20, 100)), keep)
    seed = PLACEMENTS[row["placement"]].seed
    if rng.random() < 0.08:
        sleep = failing(sleep, seed, rng.choice((0, 2, 30)))
    if rng.random() < 0.1:
        sleep = varying(sleep, seed, rng)
    return sleep


def draw_jobs(rng: random.Random, total: int, number: int) -> list[Request]:
    """Jobs that come in bursts, with estimates that are right, too long or too short."""
    jobs, submit = [], 0
    gap, longest = rng.choice((0, 1, 2, 5, 20)), rng.choice((5, 20, 100, 400))
    late, wide = rng.choice((0, 0, 0, 0.2, 0.5)), total * rng.choice((1, 0.5, 0.25))
    for _ in range(number):
        submit += rng.choice((0, 0, rng.randint(0, gap), rng.randint(0, 3 * gap)))
        work = max(1, int(longest ** rng.random()))
        plan = max(work, int(work * rng.choice((1, 1, 1.5, 3, 10))))
        if rng.random() < late:
            plan = max(1, work // 2)
        procs = total if rng.random() < 0.08 else max(1, int(max(wide, 1) ** rng.random()))
        jobs.append(Request(submit, work, procs, plan, plan))
    return jobs


def draw(rng: random.Random, jobs: int, nodes: int) -> tuple[Row, Drawn]:
    """A case with so many jobs and nodes at most, and how it is run."""
    row, some = draw_row(rng), draw_nodes(rng, nodes)
    total = sum(it.procs for it in some)
    drawn = case_of(
        row,
        draw_jobs(rng, total, rng.randint(2, jobs)),
        some,
        draw_sleep(rng, row, some),
    )
    if row["cap"] != "none":
        case = drawing(drawn.case, rng)
        assert case.sleep is not None
        idle = sum(map(idle_power, some, case.sleep.depths))
        full = sum(it.procs * added(it, case.fastest) for it in some) // 1000
        share = rng.choice((0, 0.1, 0.25, 0.4, 0.6, 0.8, 1))
        watts = math.ceil(idle) + int(full * share) + rng.randint(0, 10)
        drawn = drawn._replace(case=case._replace(caps=(Cap(((-math.inf, watts),)),)))
    return row, drawn


@pytest.mark.parametrize(
    ("jobs", "nodes", "share"),
    [(12, 5, 10), (24, 8, 20), (60, 8, 400)],
    ids=["few", "some", "many"],
)
def test_engine_equals_oracle(jobs, nodes, share):
    for seed in range(max(EXAMPLES // share, 5)):
        row, drawn = draw(random.Random(f"sleepers {jobs} {seed}"), jobs, nodes)
        try:
            compare(row, drawn)
        except Exception as error:
            raise AssertionError(f"{error}\n{row}\n{drawn}") from error


def test_a_head_that_is_too_wide_while_a_node_is_repaired_counts_on_nobody():
    """It waits alone: its reservation was made when all nodes were there."""
    row = USUAL | {"placement": "worst-fit", "control": "2"}
    sleep = failing(Sleep((Depth(30, 0),) * 4, 0), PLACEMENTS["worst-fit"].seed, 2)
    jobs = asked((28, 13, 1, 13), (62, 1, 32, 10), (62, 14, 1, 14))
    compare(row, case_of(row, jobs, [node(8, 90, 50)] * 4, sleep))


def test_who_waits_alone_is_not_taken_for_an_earlier_head():
    """In an order that changes with time another job was the head; nobody sleeps for its sake."""
    row = USUAL | {"placement": "best-fit", "order": "wfp3", "backfill order": "sjf"}
    row["cap"] = "constant"
    depth = Depth(10, 20, watts=6, enter_watts=19, leave_watts=37)
    jobs = asked((8, 1, 1, 10), (13, 1, 2, 3), (13, 1, 1, 10), (15, 1, 1, 3), (15, 3, 1, 3))
    compare(row, case_of(row, jobs, [node(1, 20, 50)] * 6, Sleep((depth,) * 6, 1), 361))


def test_an_overdue_job_is_expected_right_after_now_for_who_waits_alone():
    """What was reserved before it was overdue leaves the head too many of the free processors."""
    row = USUAL | {"control": "2", "backfill order": "sjf"}
    jobs = asked(
        (54, 7, 15, 10),
        (58, 13, 8, 130),
        (58, 5, 23, 2),
        (58, 10, 22, 15),
        (69, 2, 7, 1),
        (69, 11, 10, 5),
        (76, 1, 1, 3),
        (77, 1, 13, 3),
        (77, 1, 1, 1),
    )
    nodes = [node(procs, 100, 10) for procs in (4, 2, 1, 2, 4, 4, 4, 2)]
    compare(row, case_of(row, jobs, nodes, Sleep((Depth(3, 0),) * 8, 0)))
