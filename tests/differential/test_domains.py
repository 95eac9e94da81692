"""The engine with rates by domain equals the oracle: disciplines x placements x controls.

Integer times, slownesses and rates that are powers of two make all times exact where no rate
changes; where some do, events are kept apart and times are compared to 1e-9.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from oracle import domains as exact_domains
from oracle import orders
from oracle.named import Scheduling
from oracle.named_strategies import Case, cases

from sojourn.engine.drive import DONE, Run
from sojourn.engine.types import empty_jobs
from sojourn.policy import by_domain, parse_placement, parse_policy
from sojourn.run.build.domains import domain_facts
from sojourn.run.build.engine import laws_of, orders_of, rules_of
from sojourn.run.build.machine import REASONS, build_machine
from sojourn.run.options import Options, Prepared
from sojourn.run.result import Result

from .cast import CONSTANT, switching
from .harness import MOST_INSTANTS, TOLERANCE, Speed, _columns, _same, view_of
from .named_harness import CHOICES, WHY, Choice, NamedPair, _allocations, apart, told
from .test_differential import EXAMPLES, USUAL

PAIRS = {
    pair.name: pair
    for pair in (
        NamedPair("fcfs", parse_policy("fcfs"), Scheduling()),
        NamedPair("first-fit", parse_policy("first-fit"), Scheduling(backfill="first-fit")),
        NamedPair("easy", parse_policy("easy"), Scheduling(backfill="easy")),
        NamedPair("saf+easy", parse_policy("saf+easy"), Scheduling(orders.saf, "easy")),
        NamedPair(
            "wfp3+easy", parse_policy("wfp3+easy"), Scheduling(orders.wfp3, "easy"), min_plan=1
        ),
        NamedPair("easy:2", parse_policy("fcfs+easy:2"), Scheduling(orders.fcfs, "easy", 2)),
        NamedPair(
            "easy:inf", parse_policy("fcfs+easy:inf"), Scheduling(orders.fcfs, "easy", math.inf)
        ),
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
    )
}
JOBS = 9


def split(nodes: int, rng: random.Random) -> list[int]:
    """The domain of each node; some are in none."""
    most = rng.choice((1, 2, 2, 3))
    drawn = [rng.choice((*range(most), *range(most), exact_domains.NOBODY)) for _ in range(nodes)]
    used = sorted(set(drawn) - {exact_domains.NOBODY})
    return [used.index(d) if d in used else d for d in drawn]


def run_engine(
    pair: NamedPair,
    speeds: Sequence[Speed],
    choice: Choice,
    drawn: Case,
    domains: Sequence[int],
    coins: Sequence[float] = (),
    passes: str = "instant",
) -> tuple[Run, Prepared]:
    """Run the engine to the end, set up as `simulate` does it; plans are taken as they are."""
    cluster, jobs, constraints = told(drawn)
    nodes = zip(domains, cluster.nodes, strict=True)
    cluster = replace(cluster, nodes=tuple(replace(n, name=f"{d}.{n.name}") for d, n in nodes))
    control = by_domain({f"{d}.*": speed.control for d, speed in enumerate(speeds)})
    placement, policy, blind = parse_placement(choice.placement), pair.policy, pair.scheduling.blind
    options = Options(
        passes=passes,
        record=True,
        placement=placement,
        constraints=constraints,
        seed=choice.seed,
        foresight="log" if blind else "nodes",
    )
    machine = build_machine(jobs, cluster, placement, constraints)
    accepted = machine.reason == 0
    taken = [job for job, good in zip(drawn.jobs, accepted, strict=True) if good]
    view = view_of(taken) if taken else empty_jobs()
    limits = np.array([np.inf if job.limit is None else float(job.limit) for job in taken])
    facts = domain_facts(control, machine, accepted)
    nodes = (
        machine.facts(accepted, choice.seed, blind, domain=facts.node),
        machine.needs(accepted, limits),
    )
    prepared = Prepared(
        jobs, machine.reason, np.zeros(len(taken), bool), cluster, policy, control, options, machine
    )
    run = Run(
        view,
        rules_of(view, cluster, policy, control, options, False),
        orders_of(view, policy),
        laws_of(policy, control, placement),
        control.initial,
        np.array(coins, dtype=np.float64),
        nodes,
        domains=facts,
    )
    status = run.advance(MOST_INSTANTS)
    assert status == DONE, f"{MOST_INSTANTS} instants and no end: {drawn}"
    run.check()
    return run, prepared


def compare(
    pair: NamedPair,
    speeds: Sequence[Speed],
    choice: Choice,
    drawn: Case,
    domains: Sequence[int],
    coins: Sequence[float] = (),
    *,
    passes: str = "instant",
    exactly: bool,
) -> None:
    """Run both; everything they tell must agree, exactly or to 1e-9, energies to 1e-9."""
    expected = exact_domains.simulate(
        drawn.jobs,
        drawn.nodes,
        domains,
        [speed.exact for speed in speeds],
        pair.scheduling,
        choice.exact,
        coins,
        passes,
    )
    run, prepared = run_engine(pair, speeds, choice, drawn, domains, coins, passes)
    names = [speed.name for speed in speeds]
    about = f"{pair.name}, {choice.name}, {names} of {domains}, passes={passes!r}, {drawn}"
    reasons = {i: REASONS[code] for i, code in enumerate(prepared.reason) if code}
    assert reasons == {i: WHY[why] for i, why in expected.named.unaccepted.items()}, about
    found = _allocations(run)
    assert found == expected.named.allocations, f"{found} not {expected.named.allocations}; {about}"
    if not expected.named.accepted:
        return
    result = Result(prepared, run)
    owed = exact_domains.bill(expected, drawn.nodes, domains)
    energy = result.jobs["energy"].to_numpy()[prepared.accepted].tolist()
    tolerance, whole = 0.0 if exactly else TOLERANCE, float(owed.total)
    columns = [
        # The mean pace of several jobs is rounded.
        *(
            (*row, TOLERANCE if row[0] == "rate" else tolerance)
            for row in _columns(run, expected.named.run)
        ),
        ("energy", energy, owed.jobs, whole, TOLERANCE),
        ("idle", [result.summary["energy"]["idle_joules"]], [owed.idle], whole, TOLERANCE),
    ]
    rates = result.rates
    for d, switches in enumerate(expected.rates):
        mine = rates[rates["domain"] == f"{d}.*"]
        times, levels = zip(*exact_domains.epochs_of(switches), strict=True)
        columns.append((f"switches {d}", mine["time"].tolist(), times, 0.0, tolerance))
        columns.append((f"rates {d}", mine["rate"].tolist(), levels, 0.0, 0.0))
    for name, got, wanted, scale, near in columns:
        if not _same(got, wanted, near, 4 * scale):
            raise AssertionError(f"{name}: {got} is not {[float(x) for x in wanted]}; {about}")
    result._schedule.check()


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
        domains = split(len(drawn.nodes), rng)
        number = max(domains) + 1
        if number == 0:
            return
        speeds = [CONSTANT[rng.choice((0.5, 1.0, 2.0))] for _ in range(number)]
        compare(pair, speeds, choice, drawn, domains, passes=passes, exactly=True)
        speeds = [rng.choice((CONSTANT[2.0], *switching(rng))) for _ in range(number)]
        coins = [rng.random() for _ in range(2 * number * len(drawn.jobs))]
        moved = apart(drawn, rng)
        compare(pair, speeds, choice, moved, domains, coins, passes=passes, exactly=False)

    agree()
