"""The engine on named nodes with external events equals the oracle."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from oracle import orders
from oracle.external_strategies import Troubles, decode, reserved, troubles
from oracle.named import Scheduling
from oracle.named_external import simulate_around_nodes
from oracle.named_strategies import Case, cases

from sojourn.engine.drive import DONE, Run
from sojourn.policy import Policy, parse_placement, parse_policy
from sojourn.run.build.engine import orders_of, rules_of
from sojourn.run.build.machine import build_machine
from sojourn.run.options import Options
from sojourn.run.outcome.aftermath import aftermath

from .cast import CONSTANT, aging, aging_exactly, switching
from .harness import MOST_INSTANTS, Speed, view_of
from .named_harness import (
    CHOICES,
    Choice,
    NamedPair,
    _allocations,
    _laws_at_rate_1,
    apart,
    told,
)
from .test_differential import EXAMPLES, USUAL
from .test_events import calendar_of, must_agree, scattered
from .test_named import crowd

PAIRS = {
    pair.name: pair
    for pair in (
        NamedPair("fcfs", parse_policy("fcfs"), Scheduling()),
        NamedPair("first-fit", parse_policy("first-fit"), Scheduling(backfill="first-fit")),
        NamedPair("easy", parse_policy("easy"), Scheduling(backfill="easy")),
        NamedPair(
            "easy:2@largest",
            parse_policy("fcfs+easy:2@largest"),
            Scheduling(orders.fcfs, "easy", 2, orders.largest),
        ),
        NamedPair("sjf+easy", parse_policy("sjf+easy"), Scheduling(orders.sjf, "easy")),
        NamedPair(
            "easy:inf", parse_policy("fcfs+easy:inf"), Scheduling(orders.fcfs, "easy", math.inf)
        ),
        NamedPair(
            "conservative", parse_policy("conservative"), Scheduling(backfill="conservative")
        ),
        NamedPair("aging+easy", Policy(aging, "easy"), Scheduling(aging_exactly, "easy")),
    )
}
JOBS = 7


def run_engine(
    pair: NamedPair,
    speed: Speed,
    choice: Choice,
    drawn: Case,
    accepted: Sequence[int],
    troubled: Troubles,
    coins: Sequence[float],
) -> Run:
    cluster, jobs, constraints = told(drawn)
    placement = parse_placement(choice.placement)
    policy, control, blind = pair.policy, speed.control, pair.scheduling.blind
    foresight = "log" if blind else "nodes"
    options = Options(record=True, placement=placement, seed=choice.seed, foresight=foresight)
    machine = build_machine(jobs, cluster, placement, constraints)
    good = machine.reason == 0
    assert np.flatnonzero(good).tolist() == list(accepted)
    taken = [drawn.jobs[i] for i in accepted]
    view = view_of(taken)
    limits = np.array([np.inf if job.limit is None else float(job.limit) for job in taken])
    facts = machine.facts(good, choice.seed, blind)
    law, wake = control.pointers
    run = Run(
        view,
        replace(rules_of(view, cluster, policy, control, options, False), requeue=troubled.requeue),
        orders_of(view, policy),
        replace(
            _laws_at_rate_1(policy, placement),
            control=law,
            wake=wake,
            control_theta=control.parameters,
        ),
        control.initial,
        np.array(coins, dtype=np.float64),
        (facts, machine.needs(good, limits)),
        calendar_of(troubled, taken[0].submit, len(taken)),
    )
    status = run.advance(MOST_INSTANTS)
    assert status == DONE, f"{MOST_INSTANTS} instants and no end: {drawn} {troubled}"
    run.check()
    return run


def compare(
    pair: NamedPair,
    speed: Speed,
    choice: Choice,
    drawn: Case,
    troubled: Troubles,
    coins: Sequence[float] = (),
    *,
    exactly: bool,
) -> None:
    """Run both; everything they tell must agree, exactly or to 1e-9."""
    expected = simulate_around_nodes(
        drawn.jobs, drawn.nodes, pair.scheduling, speed.exact, choice.exact, *troubled[:2], coins,
        requeue=troubled.requeue,
    )  # fmt: skip
    run = run_engine(pair, speed, choice, drawn, expected.accepted, troubled, coins)
    about = f"{pair.name}, {choice.name}, {speed.name}, {drawn}, {troubled}"
    assert _allocations(run) == expected.allocations, f"allocations; {about}"
    assert _lost_allocations(run) == expected.lost_allocations, f"lost allocations; {about}"
    must_agree(run, expected.run, about, exactly=exactly)


def _lost_allocations(run: Run) -> list[tuple[tuple[int, int], ...]]:
    after, rows = aftermath(run), run.nodes.given.T.tolist()
    spans = zip(after.lost["row"].tolist(), after.lost["rows"].tolist(), strict=True)
    return [tuple(sorted((k, n) for k, n in rows[a : a + b])) for a, b in spans]


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("constrained", [False, True], ids=["plain", "constrained"])
def test_engine_equals_oracle(name, constrained):
    base = PAIRS[name]

    @settings(
        max_examples=max(EXAMPLES // 20, 25),
        derandomize=EXAMPLES <= USUAL,
        phases=(Phase.explicit, Phase.generate, Phase.shrink),
    )
    @given(
        st.data(),
        cases(JOBS, max_nodes=4, constrained=constrained),
        st.sampled_from(CHOICES),
        st.integers(0, 2**20),
    )
    def agree(data: st.DataObject, drawn: Case, choice: Choice, seed: int) -> None:
        rng = random.Random(seed)
        some = accepted_of(drawn, choice)
        if some is None:
            return
        troubled = data.draw(troubles(len(some.jobs), 0, nodes=len(some.nodes)))
        pair = base.foreseeing(blind=rng.random() < 0.2)
        rate = rng.choice((1.0, 1.0, 0.5, 2.0))
        compare(pair, CONSTANT[rate], choice, some, troubled, exactly=True)
        if rng.random() < 0.3:
            speed = rng.choice(switching(rng))
            coins = [rng.random() for _ in range(2 * len(some.jobs))]
            late = scattered(troubled, rng)
            compare(pair, speed, choice, apart(some, rng), late, coins, exactly=False)

    agree()


def accepted_of(drawn: Case, choice: Choice) -> Case | None:
    """The jobs that can ever run, so that events can be about them; None if there are none."""
    cluster, jobs, constraints = told(drawn)
    machine = build_machine(jobs, cluster, parse_placement(choice.placement), constraints)
    jobs_left = [job for job, code in zip(drawn.jobs, machine.reason, strict=True) if code == 0]
    return drawn._replace(jobs=tuple(jobs_left)) if jobs_left else None


@pytest.mark.parametrize("name", PAIRS)
def test_long_queues(name):
    pair = PAIRS[name]
    for seed in range(max(1, EXAMPLES // (400 if pair.is_quick else 1000))):
        rng = random.Random(seed)
        choice = rng.choice(CHOICES)
        drawn = crowd(rng, pair, constrained=seed % 2 == 1)
        codes = [rng.randrange(2**16) for _ in range(16)]
        some = accepted_of(drawn, choice)
        assert some is not None
        troubled = Troubles(
            decode(codes, len(some.jobs), 0, len(some.nodes)),
            reserved(codes[:2], 0, len(some.nodes)),
            seed % 2 == 0,
        )
        compare(pair, CONSTANT[1.0], choice, some, troubled, exactly=True)
