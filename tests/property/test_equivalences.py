"""Different questions with the same answer."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from differential.cast import CONSTANT, PAIRS
from differential.harness import MOST_INSTANTS, run_engine, view_of
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import Job
from oracle.strategies import Workload, workloads

import sojourn
from sojourn.engine.drive import DONE, Run
from sojourn.engine.passes import RESERVE
from sojourn.run.build.engine import laws_of, orders_of, rules_of
from sojourn.run.options import Options
from sojourn.run.simulate import prepare

from .runs import any_control, jobs_of, policies, run, seeds

EXAMPLES = 300


def in_batches(drawn: Workload) -> Workload:
    """All jobs of one submit made equal to the first of them."""
    first: dict[object, Job] = {}
    return Workload(drawn.servers, tuple(first.setdefault(j.submit, j) for j in drawn.jobs))


@settings(max_examples=EXAMPLES)
@given(workloads(20), policies, seeds)
def test_permuting_equal_jobs(drawn: Workload, policy: str, seed: int):
    """The order of the log does not matter where it does not tell different jobs apart."""
    batches = in_batches(drawn)
    shuffled = random.Random(seed).sample(batches.jobs, len(batches.jobs))
    control = any_control(seed)
    tables = [
        run(Workload(drawn.servers, tuple(jobs)), policy, control).jobs.drop(columns="job")
        for jobs in (batches.jobs, shuffled)
    ]
    rows = [sorted(table.astype(str).itertuples(index=False)) for table in tables]
    assert rows[0] == rows[1]


@settings(max_examples=EXAMPLES)
@given(workloads(20, min_plan=1), policies)
def test_twice_the_rate_halves_everything(drawn: Workload, policy: str):
    """The same works, submitted twice as densely, at rate 2."""
    denser = tuple(job._replace(submit=job.submit / 2) for job in drawn.jobs)
    once = run(drawn, policy)
    twice = run(Workload(drawn.servers, denser), policy, 2.0)
    assert (twice.start * 2).tolist() == once.start.tolist()
    assert (twice.end * 2).tolist() == once.end.tolist()
    assert twice.summary["utilisation"] == once.summary["utilisation"] or np.isnan(
        once.summary["utilisation"]
    )


@settings(max_examples=EXAMPLES)
@given(workloads(20, min_plan=1))
def test_one_reservation_is_easy(drawn: Workload):
    """EASY's shortcut, and the plan with k reservations for k = 1.

    Plans of 0 are left out: a reservation of length 0 holds nothing, where EASY holds a place.
    """
    easy = PAIRS["easy"]
    expected = run_engine(easy, CONSTANT[1.0], drawn)
    assert run(drawn, "fcfs+easy:1").policy == run(drawn, "easy").policy

    view = view_of(drawn.jobs)
    control = CONSTANT[1.0].control
    cluster = sojourn.Cluster.homogeneous(drawn.servers)
    rules = rules_of(view, cluster, PAIRS["easy:2"].policy, control, Options(), False)
    assert rules.backfill.code == RESERVE
    other = Run(
        view,
        replace(rules, reservations=1),
        orders_of(view, easy.policy),
        laws_of(easy.policy, control),
        control.initial,
        np.empty(0),
    )
    assert other.advance(MOST_INSTANTS) == DONE
    assert other.start.tolist() == expected.start.tolist()


@settings(max_examples=EXAMPLES)
@given(
    workloads(20, plans="exact"), st.sampled_from(("easy", "fcfs+easy:3", "conservative", "spf"))
)
def test_exact_estimates_are_a_factor_of_one(drawn: Workload, policy: str):
    """What the user knows exactly need not be looked up."""
    user = run(drawn, policy)
    assert run(drawn, policy, estimates="exact").start.tolist() == user.start.tolist()
    assert run(drawn, policy, estimates=1).start.tolist() == user.start.tolist()


@settings(max_examples=EXAMPLES)
@given(workloads(20), policies, seeds)
def test_a_run_in_pieces(drawn: Workload, policy: str, seed: int):
    """Stopping after every few instants changes nothing."""
    whole = run(drawn, policy, any_control(seed))
    pieces, _ = prepare(
        jobs_of(drawn),
        drawn.servers,
        policy,
        rate=any_control(seed),
        clean=(),
        record=True,
        over_limit="run",
    )
    step = random.Random(seed).randrange(1, 4)
    for _ in range(MOST_INSTANTS):
        if pieces.advance(step) == DONE:
            break
    assert pieces.start.tolist() == whole.start.tolist()
    assert pieces.end.tolist() == whole.end.tolist()
    assert pieces.rows("time").tolist() == whole.trajectory["time"].tolist()


@pytest.mark.parametrize("policy", ["conservative", "sjf+conservative", "expansion+conservative"])
def test_sooner_starts_are_where_something_became_free(policy):
    """Who remembers when there was no sooner start finds the same one as who looks everywhere."""
    rng = np.random.default_rng(len(policy))
    n = 1200
    runtime = np.ceil(rng.exponential(1000.0, n))
    columns = {
        "submit": np.sort(rng.integers(0, 20_000, n)) * (np.arange(n) > n // 2),
        "runtime": runtime,
        "procs": np.ceil(64 ** rng.random(n)).astype(np.int64),
        "estimate": runtime * rng.choice([1.0, 1.3, 2.0, 5.0], n),
    }
    jobs = sojourn.Jobs({name: np.asarray(values) for name, values in columns.items()})
    remembering, forgetting, knowing = (
        prepare(jobs, 64, policy, estimates="user")[0] for _ in range(3)
    )
    remembering.to_the_end()
    assert np.max(remembering.start - jobs.submit) > 20_000
    for other, seen in ((forgetting, -(2**40)), (knowing, 2**40)):
        while other.advance(1) != DONE:
            other.discipline.seen[:] = seen
    assert np.array_equal(remembering.start, forgetting.start)
    assert not np.array_equal(remembering.start, knowing.start)
