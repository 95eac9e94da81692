"""The engine with external events equals the oracle: every discipline, failures of both kinds."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from oracle import orders
from oracle.external import ExternalOutcome, Happening, Reservation, around, simulate_around
from oracle.external_strategies import TIMES, Troubles, decode, reserved, troubles
from oracle.strategies import Workload, workloads

from sojourn.cluster import Cluster
from sojourn.engine import calendar as o
from sojourn.engine import happenings as h
from sojourn.engine import types as t
from sojourn.engine.drive import DONE, Run
from sojourn.policy import Policy, parse_policy
from sojourn.run.build.engine import orders_of, rules_of
from sojourn.run.options import Options
from sojourn.run.outcome.aftermath import aftermath

from .cast import CONSTANT, aging, aging_exactly, switching
from .harness import MOST_INSTANTS, TICKS, TOLERANCE, Pair, Speed, jittered, laws_of, view_of
from .test_differential import EXAMPLES, USUAL, crowd

KINDS = {
    "withdraw": h.WITHDRAW,
    "strike": h.STRIKE,
    "down": h.DOWN,
    "up": h.UP,
    "stop": h.STOP,
    "resume": h.RESUME,
    "look": h.LOOK,
}
FATES = {
    t.UNDECIDED: "waiting",
    t.COMPLETED: "completed",
    t.KILLED: "killed",
    t.CANCELLED: "cancelled",
}
PAIRS = {
    pair.name: pair
    for pair in (
        Pair("fcfs", parse_policy("fcfs"), around(orders.fcfs)),
        Pair("first-fit", parse_policy("first-fit"), around(orders.fcfs, "first-fit")),
        Pair("easy", parse_policy("easy"), around(orders.fcfs, "easy")),
        Pair("easy:2", parse_policy("fcfs+easy:2"), around(orders.fcfs, "easy", 2)),
        Pair("easy:inf", parse_policy("fcfs+easy:inf"), around(orders.fcfs, "easy", math.inf)),
        Pair("sjf+easy", parse_policy("sjf+easy"), around(orders.sjf, "easy")),
        Pair(
            "easy-sjbf",
            parse_policy("easy-sjbf"),
            around(orders.fcfs, "easy", 1, orders.sjf),
        ),
        Pair(
            "conservative",
            parse_policy("conservative"),
            around(orders.fcfs, "conservative"),
            1,  # Who has a plan of 0 reserves nothing: see the page.
        ),
        Pair("aging+easy", Policy(aging, "easy"), around(aging_exactly, "easy")),
    )
}
JOBS = 8


def calendar_of(drawn: Troubles, first: Any, jobs: int, *, begins: bool = False) -> o.Calendar:
    """Events of the oracle as the kernels see them."""
    looks = [Happening(r.end, "look") for r in drawn.reservations]
    if begins:
        looks += [Happening(r.begin, "look") for r in drawn.reservations]
    happenings = sorted([*looks, *drawn.happenings], key=lambda h: h.time)
    events = np.zeros(len(happenings), o.EVENT)
    for i, each in enumerate(happenings):
        events[i] = (max(each.time, first), KINDS[each.kind], each.about, each.joined)
    reserved = np.zeros(len(drawn.reservations), o.RESERVATION)
    for i, it in enumerate(drawn.reservations):
        reserved[i] = (*it[:3], it.what)
    return o.make_calendar(events, reserved, jobs)


def run_engine(
    pair: Pair, speed: Speed, drawn: Workload, troubled: Troubles, coins: Sequence[float] = ()
) -> Run:
    view = view_of(drawn.jobs)
    policy, control = pair.policy, speed.control
    cluster = Cluster.homogeneous(drawn.servers)
    rules = rules_of(view, cluster, policy, control, Options(record=True), False)
    run = Run(
        view,
        replace(rules, requeue=troubled.requeue),
        orders_of(view, policy),
        laws_of(policy, control),
        control.initial,
        np.array(coins, dtype=np.float64),
        calendar=calendar_of(troubled, drawn.jobs[0].submit, len(drawn.jobs)),
    )
    status = run.advance(MOST_INSTANTS)
    assert status == DONE, f"{MOST_INSTANTS} instants and no end: {drawn} {troubled}"
    run.check()
    return run


def compare(
    pair: Pair,
    speed: Speed,
    drawn: Workload,
    troubled: Troubles,
    coins: Sequence[float] = (),
    *,
    exactly: bool,
) -> None:
    """Run both; everything they tell must agree, exactly or to 1e-9."""
    expected = simulate_around(
        drawn.jobs, drawn.servers, pair.discipline, speed.exact, *troubled[:2], coins,
        requeue=troubled.requeue,
    )  # fmt: skip
    run = run_engine(pair, speed, drawn, troubled, coins)
    must_agree(run, expected, f"{pair.name}, {speed.name}, {drawn}, {troubled}", exactly=exactly)


def must_agree(run: Run, expected: ExternalOutcome, about: str, *, exactly: bool) -> None:
    after = aftermath(run)
    fates = [FATES[code] for code in run.calendar.job["fate"].tolist()]
    assert fates == [fate.state for fate in expected.fates], f"fates {fates}; {about}"
    restarts = after.restarts.tolist()
    assert restarts == [fate.restarts for fate in expected.fates], f"restarts; {about}"
    assert after.lost["job"].tolist() == [j for j, *_ in expected.lost]
    scale = float(run.jobs.work.sum())
    done = np.dot(run.rows("segment_held"), run.rows("segment_work"))
    rows = expected.run.trajectory
    columns = [
        ("start", run.start, expected.start, 0.0),
        ("end", run.end, expected.end, 0.0),
        ("left", after.left, [fate.left for fate in expected.fates], 0.0),
        ("lost starts", after.lost["start"], [start for _, start, _ in expected.lost], 0.0),
        ("lost stops", after.lost["stop"], [stop for *_, stop in expected.lost], 0.0),
        ("work done", np.array([done]), [expected.area], scale),
        *(
            (name, run.rows(name), wanted, scale if name == "workload" else 0.0)
            for name, wanted in zip(rows[0]._fields, zip(*rows, strict=True), strict=True)
        ),
    ]
    for name, found, wanted, size in columns:
        exact = np.array([math.nan if x is None else float(x) for x in wanted])
        slack = 0.0 if exactly else TOLERANCE * np.maximum(np.abs(exact), size)
        same = len(found) == len(exact) and bool(
            np.all((np.abs(found - exact) <= slack) | (np.isnan(found) & np.isnan(exact)))
        )
        assert same, f"{name}: {found.tolist()} is not {exact.tolist()}; {about}"


def scattered(drawn: Troubles, rng: random.Random) -> Troubles:
    """The same events in ticks, none of which meets another or a job's."""

    def tick(time: Any) -> int:
        return int(time * TICKS) + rng.randrange(TICKS // 2) * 2 + 1

    happenings = sorted(h._replace(time=tick(h.time)) for h in drawn.happenings)
    kept = [
        Reservation(r.announced * TICKS, tick(r.begin), tick(r.end), r.what)
        for r in drawn.reservations
    ]
    return Troubles(tuple(happenings), tuple(kept), drawn.requeue)


@pytest.mark.parametrize("name", PAIRS)
def test_engine_equals_oracle(name):
    pair = PAIRS[name]

    @settings(
        max_examples=max(EXAMPLES // 8, 25),
        derandomize=EXAMPLES <= USUAL,
        phases=(Phase.explicit, Phase.generate, Phase.shrink),
    )
    @given(st.data(), workloads(JOBS, min_plan=pair.min_plan), st.integers(0, 2**20))
    def agree(data: st.DataObject, drawn: Workload, seed: int) -> None:
        troubled = data.draw(troubles(len(drawn.jobs), drawn.servers))
        rng = random.Random(seed)
        for rate in (1.0, rng.choice((0.5, 2.0))):
            compare(pair, CONSTANT[rate], drawn, troubled, exactly=True)
        if rng.random() < 0.5:
            coins = [rng.random() for _ in range(2 * len(drawn.jobs))]
            apart, late = jittered(drawn, rng), scattered(troubled, rng)
            compare(pair, rng.choice(switching(rng)), apart, late, coins, exactly=False)

    agree()


@pytest.mark.parametrize("name", PAIRS)
def test_long_queues(name):
    pair = PAIRS[name]
    for seed in range(max(1, EXAMPLES // 500)):
        rng = random.Random(seed)
        drawn = crowd(rng, pair.min_plan)
        codes = [rng.randrange(2**16) for _ in range(24)]
        troubled = Troubles(
            decode(codes, len(drawn.jobs), drawn.servers, None),
            reserved(codes[:3], drawn.servers, None),
            seed % 2 == 0,
        )
        compare(pair, CONSTANT[1.0], drawn, troubled, exactly=True)


def test_the_events_drawn_are_of_all_kinds():
    codes = [37 * i % 2**16 for i in range(0, 2**16, 7)]
    made = decode(codes, 5, 8, None)
    assert {h.kind for h in made} == set(KINDS) - {"look"}
    assert {h.time for h in made} == set(range(TIMES))
