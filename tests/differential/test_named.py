"""The engine on named nodes equals the oracle: every discipline, placement and control.

Integer times and slownesses that are powers of two make all clocks exact at rates 1, 2 and 1/2.
"""

from __future__ import annotations

import math
import random
from fractions import Fraction

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from oracle import orders
from oracle.named import Scheduling
from oracle.named_strategies import Case, cases, constrained_by, node_of
from oracle.nodes import Node, Request

from sojourn.policy import Policy, parse_policy

from .cast import CONSTANT, aging, aging_exactly, switching
from .named_harness import CHOICES, NamedPair, apart, compare
from .test_differential import EXAMPLES, USUAL

PAIRS = {
    pair.name: pair
    for pair in (
        NamedPair("fcfs", parse_policy("fcfs"), Scheduling()),
        NamedPair("first-fit", parse_policy("first-fit"), Scheduling(backfill="first-fit")),
        NamedPair("sjf", parse_policy("sjf"), Scheduling(orders.sjf)),
        NamedPair("easy", parse_policy("easy"), Scheduling(backfill="easy")),
        NamedPair(
            "easy-sjbf", parse_policy("easy-sjbf"), Scheduling(orders.fcfs, "easy", 1, orders.sjf)
        ),
        NamedPair("saf+easy", parse_policy("saf+easy"), Scheduling(orders.saf, "easy")),
        NamedPair(
            "easy:2@largest",
            parse_policy("fcfs+easy:2@largest"),
            Scheduling(orders.fcfs, "easy", 2, orders.largest),
        ),
        NamedPair(
            "easy:inf", parse_policy("fcfs+easy:inf"), Scheduling(orders.fcfs, "easy", math.inf)
        ),
        NamedPair(
            "wfp3+easy", parse_policy("wfp3+easy"), Scheduling(orders.wfp3, "easy"), min_plan=1
        ),
        NamedPair("aging+easy", Policy(aging, "easy"), Scheduling(aging_exactly, "easy")),
        # A promise of length 0 holds nothing, and then who was promised what is a matter of taste.
        NamedPair(
            "conservative",
            parse_policy("conservative"),
            Scheduling(backfill="conservative"),
            min_plan=1,
        ),
        NamedPair(
            "sjf+conservative",
            parse_policy("sjf+conservative"),
            Scheduling(orders.sjf, "conservative"),
            min_plan=1,
        ),
        NamedPair(
            "expansion+conservative",
            parse_policy("expansion+conservative"),
            Scheduling(orders.expansion, "conservative"),
            min_plan=1,
        ),
    )
}
JOBS = 8


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("constrained", [False, True], ids=["plain", "constrained"])
def test_engine_equals_oracle(name, constrained):
    base = PAIRS[name]

    @settings(
        max_examples=max(EXAMPLES // 4, 25),
        derandomize=EXAMPLES <= USUAL,
        phases=(Phase.explicit, Phase.generate, Phase.shrink),
    )
    @given(
        cases(JOBS, constrained=constrained, min_plan=base.min_plan),
        st.sampled_from(CHOICES),
        st.integers(0, 2**20),
    )
    def agree(drawn: Case, choice, seed: int) -> None:
        rng = random.Random(seed)
        passes = rng.choice(("instant", "instant", "event"))
        pair = base.foreseeing(blind=rng.random() < 0.2)
        rate = rng.choice((1.0, 1.0, 0.5, 2.0))
        compare(pair, CONSTANT[rate], choice, drawn, passes=passes, exactly=True)
        if rng.random() < 0.3:
            speed = rng.choice(switching(rng))
            coins = [rng.random() for _ in range(2 * len(drawn.jobs))]
            compare(pair, speed, choice, apart(drawn, rng), coins, passes=passes, exactly=False)

    agree()


def crowd(
    rng: random.Random,
    pair: NamedPair,
    constrained: bool,
    numbers: tuple[int, ...] = (3, 12, 40),
) -> Case:
    """Many jobs in a short time: long queues, and more nodes than one word has bits."""
    number = rng.choice(numbers if pair.is_quick else (3, 8))
    nodes = tuple(node_of(rng.randrange(2**24)) for _ in range(number))
    servers = sum(node.procs for node in nodes)
    jobs, submit = [], 0
    for _ in range(rng.randrange(40, 60)):
        submit += rng.choice((0, 0, 0, 1, 2))
        work = rng.randrange(60)
        procs = max(1, int(servers ** rng.random()))
        plan = rng.choice((work, work, work + rng.randrange(20), 5 * work, work // 2))
        job = Request(
            submit, work, procs, max(plan, pair.min_plan), rng.choice((None, 2 * plan + 1))
        )
        jobs.append(constrained_by(job, rng.randrange(2**10)) if constrained else job)
    return Case(nodes, tuple(jobs))


@pytest.mark.parametrize("name", PAIRS)
def test_long_queues(name):
    pair = PAIRS[name]
    for seed in range(max(2, EXAMPLES // (100 if pair.is_quick else 1000))):
        rng = random.Random(seed)
        drawn = crowd(rng, pair, constrained=seed % 2 == 1)
        choice = rng.choice(CHOICES)
        passes = rng.choice(("instant", "event"))
        compare(pair, CONSTANT[1.0], choice, drawn, passes=passes, exactly=True)


@pytest.mark.parametrize("name", ["easy", "easy-sjbf", "saf+easy"])
def test_reservations_of_nodes_last_no_longer_than_they_may(name):
    pair = PAIRS[name]
    night = EXAMPLES > USUAL
    for seed in range(500 if night else 15):
        rng = random.Random(seed)
        drawn = crowd(rng, pair, constrained=True, numbers=(3, 12, 40) if night else (3, 12))
        if seed % 3:
            # All end as planned: a head waits long for what it was first reserved.
            exact = tuple(job._replace(plan=max(job.work, pair.min_plan)) for job in drawn.jobs)
            drawn = drawn._replace(jobs=exact)
        passes = rng.choice(("instant", "event"))
        choice = CHOICES[seed % len(CHOICES)]
        compare(pair, CONSTANT[1.0], choice, drawn, passes=passes, exactly=True)


def by_budget(rng: random.Random) -> Case:
    """Jobs that come one by one, and end as planned, to nodes among which a budget chooses."""
    nodes = []
    for _ in range(rng.choice((3, 4, 6))):
        procs, watts = rng.randint(1, 3), rng.randint(1, 6)
        slowness = rng.choice((1, 1, 1, 2, Fraction(1, 2)))
        nodes.append(Node(procs, slowness, (*(0,) * 10, procs * watts)))
    servers = sum(node.procs for node in nodes)
    jobs, submit = [], 0
    for _ in range(rng.randrange(6, 24)):
        submit += rng.choice((1, 1, 2, 3))
        work, procs = rng.randrange(1, 25), rng.randint(1, max(1, servers // 2))
        budget = None
        if rng.random() >= 0.4:
            budget = procs * rng.randint(1, 4) + rng.randint(0, 3)
        jobs.append(Request(submit, work, procs, work, power_budget=budget))
    return Case(tuple(nodes), tuple(jobs))


# Their order of visits is fixed; a head over its budget comes to other nodes after a backfill.
FIXED = ("first-fit", "fastest", "slowest", "lowest-power", "lowest-energy", "most processors")
MET = (600, 1171, 1507, 1592, 1831)
"""Seeds that meet this."""


@pytest.mark.parametrize("blind", [False, True], ids=["nodes", "log"])
@pytest.mark.parametrize("name", ["easy", "easy-sjbf", "saf+easy", "first-fit"])
def test_lone_arrivals_beside_a_head_with_a_budget(name, blind):
    pair = PAIRS[name].foreseeing(blind=blind)
    choices = [choice for choice in CHOICES if choice.name in FIXED]
    for seed in [*MET, *range(max(EXAMPLES // 4, 25))]:
        drawn, choice = by_budget(random.Random(seed)), choices[seed % len(choices)]
        compare(pair, CONSTANT[1.0], choice, drawn, exactly=True)


def test_neighbours_that_draw_too_much_give_way_to_faster_ones():
    """A stretch over the budget is left out where only faster nodes are looked at."""
    pair, rng = PAIRS["easy-sjbf"], random.Random(306)
    drawn = crowd(rng, pair, constrained=True)
    contiguous = next(choice for choice in CHOICES if choice.name == "contiguous")
    compare(pair, CONSTANT[1.0], contiguous, drawn, passes="event", exactly=True)


@pytest.mark.parametrize("name", ["first-fit", "easy", "aging+easy", "easy:2@largest"])
def test_who_keeps_to_a_budget_may_start_where_another_like_it_could_not(name):
    """The neighbours that come first draw too much, until somebody in between has taken them."""
    nodes = tuple(Node(2, 1, (*(0,) * 10, watts)) for watts in (4, 20, 4))
    thrifty, other = Request(0, 5, 2, 5, power_budget=4), Request(0, 5, 2, 5)
    contiguous = next(choice for choice in CHOICES if choice.name == "contiguous")
    drawn = Case(nodes, (other, thrifty, other, thrifty))
    compare(PAIRS[name], CONSTANT[1.0], contiguous, drawn, exactly=True)
