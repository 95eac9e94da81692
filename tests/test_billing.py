"""The bill of shared nodes against exact arithmetic written from its rules."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sojourn
from sojourn import measures
from sojourn.errors import OptionError, RunError
from sojourn.measures import energy as billing


class Job(NamedTuple):
    start: float
    end: float
    rows: tuple[tuple[int, int], ...]  # node, processors in use


class Case(NamedTuple):
    jobs: list[Job]
    procs: list[int]
    curves: list[list[int]]
    epochs: list[float]
    rates: list[float]


def exact_watts(curve: list[int], load: Fraction) -> Fraction:
    """The curve at a load, on straight lines between the levels 0, 1/10, ..., 1."""
    if load == 1:
        return Fraction(curve[10])
    below = math.floor(load * 10)
    return curve[below] + (curve[below + 1] - curve[below]) * (load * 10 - below)


def exact_bill(case: Case):
    """Interval by interval: who is busy where, what the node draws, and who pays for it."""
    job_joules = [Fraction(0)] * len(case.jobs)
    busy_joules = [Fraction(0)] * len(case.procs)
    idle_joules = [Fraction(0)] * len(case.procs)
    last = max([job.end for job in case.jobs], default=case.epochs[0])
    cuts = {case.epochs[0], last, *(e for e in case.epochs if e < last)}
    cuts |= {t for job in case.jobs if job.end > job.start for t in (job.start, job.end)}
    times = sorted(cuts)
    power = []
    for begin, until in zip(times, [*times[1:], times[-1] + 1], strict=True):
        rate = Fraction([r for e, r in zip(case.epochs, case.rates, strict=True) if e <= begin][-1])
        lapse = Fraction(until) - Fraction(begin)
        total = Fraction(0)
        for k, procs in enumerate(case.procs):
            users = [
                (j, taken)
                for j, job in enumerate(case.jobs)
                if job.start <= begin < job.end
                for node, taken in job.rows
                if node == k
            ]
            busy = sum(taken for _, taken in users)
            measured = exact_watts(case.curves[k], Fraction(busy, procs))
            idle = min(Fraction(case.curves[k][0]), measured)
            drawn = idle + (measured - idle) * rate**3
            total += drawn
            if begin == times[-1]:
                continue
            unused = (procs - busy) * idle / procs
            idle_joules[k] += unused * lapse
            for j, taken in users:
                share = (drawn - unused) * taken / busy * lapse
                job_joules[j] += share
                busy_joules[k] += share
        power.append(total)
    return job_joules, busy_joules, idle_joules, times, power


def bill(case: Case, exponent: float = 3.0) -> billing.Bill:
    rows = [row for job in case.jobs for row in job.rows]
    return billing.bill_nodes(
        [job.start for job in case.jobs],
        [job.end for job in case.jobs],
        np.cumsum([0, *(len(job.rows) for job in case.jobs)]),
        [node for node, _ in rows],
        [taken for _, taken in rows],
        case.procs,
        case.curves,
        case.epochs,
        case.rates,
        exponent,
    )


@st.composite
def cases(draw: st.DrawFn) -> Case:
    count = draw(st.integers(1, 4))
    procs = draw(st.lists(st.integers(1, 13), min_size=count, max_size=count))
    # Bent at will, below idle too.
    curve = st.lists(st.integers(0, 400), min_size=11, max_size=11)
    curves = draw(st.lists(curve, min_size=count, max_size=count))
    origin = draw(st.integers(-5, 5))
    jobs: list[Job] = []
    for start in sorted(draw(st.lists(st.integers(0, 40), max_size=10))):
        begin = origin + start / 2
        end = begin + draw(st.integers(0, 24)) / 4
        rows = []
        for k in range(count):
            held = sum(
                taken for job in jobs if job.end > begin for node, taken in job.rows if node == k
            )
            taken = draw(st.integers(0, procs[k] - held))
            if taken:
                rows.append((k, taken))
        jobs.append(Job(begin, end, tuple(rows)))
    changes = sorted(draw(st.sets(st.integers(1, 60), max_size=4)))
    epochs = [float(origin), *(origin + change / 2 for change in changes)]
    rates = draw(
        st.lists(st.sampled_from((1.0, 0.5, 1.25, 2.0)), min_size=len(epochs), max_size=len(epochs))
    )
    return Case(draw(st.permutations(jobs)), procs, curves, epochs, rates)


def near(exact: list[Fraction], scale: Fraction):
    # Rounding is relative to what is added up, of which a share may be a small difference.
    return pytest.approx([float(x) for x in exact], rel=1e-12, abs=1e-13 * float(scale))


@settings(max_examples=400)
@given(cases())
def test_bill_is_that_of_exact_arithmetic(case: Case):
    job, busy, idle, times, power = exact_bill(case)
    made = bill(case)
    total = sum(busy) + sum(idle) + 1
    assert made.job_joules.tolist() == near(job, total)
    assert made.node_busy_joules.tolist() == near(busy, total)
    assert made.node_idle_joules.tolist() == near(idle, total)
    assert made.step_time.tolist() == times
    assert made.step_watts.tolist() == near(power, max(power))
    for joules in (made.job_joules, made.node_busy_joules, made.node_idle_joules, made.step_watts):
        assert (joules >= -1e-13 * float(total)).all()


@settings(max_examples=200)
@given(cases())
def test_jobs_and_idle_processors_pay_for_the_power(case: Case):
    made = bill(case, exponent=2.4)
    total = math.fsum(made.job_joules) + math.fsum(made.node_idle_joules)
    integral = measures.step_integral(made.step_time, made.step_watts)
    assert total == pytest.approx(integral, rel=1e-12, abs=1e-9)
    assert made.node_busy_joules.sum() == pytest.approx(made.job_joules.sum(), rel=1e-12, abs=1e-9)
    assert made.step_watts[-1] == pytest.approx(sum(curve[0] for curve in case.curves), rel=1e-12)


STRAIGHT = [100, 120, 140, 160, 180, 200, 220, 240, 260, 280, 300]


def test_two_jobs_share_a_node_by_hand():
    # 4 processors, 100 W idle, 300 W full: 150, 200, 250 W with 1, 2, 3 in use.
    jobs = [Job(0.0, 10.0, ((0, 1),)), Job(4.0, 8.0, ((0, 2),))]
    made = bill(Case(jobs, [4], [STRAIGHT], [0.0], [1.0]))
    # Each processor in use costs 25 W, and 50 W of the dynamic part.
    assert made.job_joules.tolist() == [750.0, 600.0]
    assert made.node_idle_joules.tolist() == [25.0 * (3 * 6 + 1 * 4)]
    assert made.step_time.tolist() == [0.0, 4.0, 8.0, 10.0]
    assert made.step_watts.tolist() == [150.0, 250.0, 150.0, 100.0]


def test_a_bent_curve_makes_company_cheaper_by_hand():
    # 2 processors: 100 W idle, 220 W with one in use (50 %), 280 W with both.
    curve = [100, 130, 160, 190, 210, 220, 230, 240, 250, 260, 280]
    jobs = [Job(0.0, 3.0, ((0, 1),)), Job(1.0, 3.0, ((0, 1),))]
    made = bill(Case(jobs, [2], [curve], [0.0], [1.0]))
    # Alone: 50 + 120 W; together: 50 + 180 / 2 W each.
    assert made.job_joules.tolist() == [170.0 + 2 * 140.0, 2 * 140.0]
    assert made.node_idle_joules.tolist() == [50.0]


def test_rate_scales_the_dynamic_part_only_by_hand():
    jobs = [Job(0.0, 4.0, ((0, 2),))]
    made = bill(Case(jobs, [4], [STRAIGHT], [0.0, 1.0, 3.0, 9.0], [1.0, 2.0, 0.5, 7.0]))
    # 50 W of idle share for the two; 100 W of dynamic part, times 1, 8 and 1/8.
    assert made.job_joules.tolist() == [50.0 * 4 + 100.0 * (1 + 2 * 8 + 0.125)]
    assert made.node_idle_joules.tolist() == [200.0]
    assert made.step_time.tolist() == [0.0, 1.0, 3.0, 4.0]
    assert made.step_watts.tolist() == [200.0, 900.0, 112.5, 100.0]


def test_a_node_that_draws_less_when_busy_by_hand():
    # 4 processors: 100 W idle, 60 W with two in use, 20 W full; nothing of it grows with the rate.
    curve = [100 - 8 * i for i in range(11)]
    jobs = [Job(0.0, 4.0, ((0, 2),)), Job(2.0, 4.0, ((0, 2),))]
    made = bill(Case(jobs, [4], [curve], [0.0, 1.0], [1.0, 3.0]))
    # Each processor costs a quarter of what the node draws.
    assert made.job_joules.tolist() == [2 * 15.0 * 2 + 2 * 5.0 * 2, 2 * 5.0 * 2]
    assert made.node_idle_joules.tolist() == [2 * 15.0 * 2]
    assert made.step_watts.tolist() == [60.0, 60.0, 20.0, 100.0]


def test_a_job_that_takes_no_time_costs_nothing_but_may_come_last():
    jobs = [Job(2.0, 2.0, ((0, 4),)), Job(1.0, 2.0, ((0, 4),)), Job(6.0, 6.0, ((0, 1),))]
    made = bill(Case(jobs, [4], [STRAIGHT], [0.0], [1.0]))
    assert made.job_joules.tolist() == [0.0, 300.0, 0.0]
    assert made.node_idle_joules.tolist() == [500.0]
    assert made.step_time.tolist() == [0.0, 1.0, 2.0, 6.0]


def test_no_jobs():
    made = bill(Case([], [4], [STRAIGHT], [3.0], [1.0]))
    assert made.node_idle_joules.tolist() == [0.0]
    assert (made.step_time.tolist(), made.step_watts.tolist()) == ([3.0], [100.0])


@pytest.mark.parametrize("procs", [10, 20, 70, 640])
def test_watts_are_those_of_the_curve_at_its_eleven_levels(procs: int):
    curve = np.array([[0.1 * 3**i for i in range(11)]])
    watts, first = billing.watts_by_busy(np.array([procs]), curve)
    assert first.tolist() == [0]
    assert watts[:: procs // 10].tolist() == curve[0].tolist()


def test_watts_between_the_levels():
    curves = np.array([STRAIGHT, [i * i for i in range(11)]], dtype=float)
    watts, first = billing.watts_by_busy(np.array([3, 7]), curves)
    assert first.tolist() == [0, 4]
    straight = [100.0, 100 + 200 / 3, 100 + 400 / 3, 300.0]
    square = [exact_watts([i * i for i in range(11)], Fraction(b, 7)) for b in range(8)]
    assert watts.tolist() == pytest.approx(straight + [float(x) for x in square], rel=1e-15)


def test_many_short_jobs_far_from_zero_do_not_drift():
    n, begin = 60_000, 1.3e9
    rng = np.random.default_rng(5)
    start = begin + np.cumsum(rng.integers(0, 3, n) / 8)
    end = start + rng.integers(1, 9, n) / 8
    curves = np.cumsum(rng.uniform(1, 30, (3, 11)), axis=1)
    epochs = np.concatenate([[begin], begin + np.cumsum(rng.uniform(0.5, 9, 3000))])
    made = billing.bill_nodes(
        start, end, np.arange(n + 1), np.arange(n) % 3, np.ones(n, int), [64, 64, 64], curves,
        epochs, rng.choice([0.7, 1.0, 1.3], len(epochs)),
    )  # fmt: skip
    assert len(epochs[epochs < end.max()]) > 1000
    integral = math.fsum(np.diff(made.step_time) * made.step_watts[:-1])
    total = math.fsum(made.job_joules) + math.fsum(made.node_idle_joules)
    assert total == pytest.approx(integral, rel=1e-14)
    assert made.step_watts[-1] == pytest.approx(curves[:, 0].sum(), rel=1e-15)


def test_the_last_of_many_jobs_is_billed_as_finely_as_the_first():
    n = 40_000
    start = np.arange(n) / 8
    curve = np.linspace(0.1, 0.7, 11)
    made = billing.bill_nodes(
        start, start + 0.125, np.arange(n + 1), np.zeros(n, int), np.ones(n, int), [1], [curve],
        [0.0], [1.0],
    )  # fmt: skip
    np.testing.assert_allclose(made.job_joules, 0.7 / 8, rtol=1e-15)


def test_power_is_back_at_idle_exactly():
    rng = np.random.default_rng(2)
    n = 2000
    start, end = rng.uniform(1, 2, n), rng.uniform(2, 3, n)
    curves = 10 ** rng.uniform(-12, 6, (5, 11))
    curves[:, 0] = 0
    made = billing.bill_nodes(
        start, end, np.arange(n + 1), np.arange(n) % 5, np.ones(n, int), [400] * 5, curves,
        [0.0], [1.1],
    )  # fmt: skip
    assert made.step_watts[0] == made.step_watts[-1] == 0


def test_read_only_columns_of_other_types_will_do():
    start = np.array([0, 1], dtype=np.int32)
    start.flags.writeable = False
    made = billing.bill_nodes(
        start, [2, 3], [0, 1, 2], np.zeros(2, np.int8), [1, 1], [2], [STRAIGHT], [0], [1]
    )
    # On a straight line each of the two processors costs 50 W, and 100 W more in use.
    assert made.job_joules.tolist() == [300.0, 300.0]


def test_more_processors_in_use_than_there_are():
    jobs = [Job(0.0, 9.0, ((1, 3),)), Job(5.0, 6.0, ((0, 1), (1, 2)))]
    with pytest.raises(RunError, match="with job 1 more than the 4 processors of node 1"):
        bill(Case(jobs, [4, 4], [STRAIGHT, STRAIGHT], [0.0], [1.0]))


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"end": [3.0]}, "2 starts but 1 ends"),
        ({"end": [-1.0, 3.0]}, "an end not before it"),
        ({"start": [math.nan, 0.0]}, "every job needs a start"),
        ({"epochs": [0.5], "start": [0.0, 0.0]}, "before the first epoch, 0.5 s"),
        ({"epochs": [0.0, 0.0], "rates": [1.0, 2.0]}, "epochs must increase"),
        ({"rates": []}, "1 epochs but 0 rates"),
        ({"rates": [-1.0]}, "rates must be numbers of at least 0"),
        ({"first_row": [0, 1]}, "one entry more than jobs"),
        ({"first_row": [0, 1, 3]}, "must lead from 0"),
        ({"row_node": [0, 1]}, "a row names node 1"),
        ({"row_node": [-1, 0]}, "a row names node -1"),
        ({"row_procs": [1, -1]}, "a negative number"),
        ({"procs": [0]}, "a node without processors"),
        ({"curves": [[1.0, 2.0]]}, "curves of shape"),
        ({"curves": [[math.nan] * 11]}, "watts must be numbers"),
    ],
)
def test_bad_arguments(change: dict[str, object], problem: str):
    good: dict[str, object] = {
        "start": [0.0, 0.0],
        "end": [3.0, 3.0],
        "first_row": [0, 1, 2],
        "row_node": [0, 0],
        "row_procs": [1, 1],
        "procs": [4],
        "curves": [STRAIGHT],
        "epochs": [0.0],
        "rates": [1.0],
    }
    billing.bill_nodes(**good)
    with pytest.raises(OptionError, match=problem):
        billing.bill_nodes(**{**good, **change})


def test_energy_as_the_paper_counts_it():
    # Two jobs, the first on 2 and 3 processors of nodes of 10 W and 20 W each for 5 s.
    made = billing.peas_energy([1.0, 2.0], [6.0, 4.0], [0, 2, 3], [0, 1, 1], [2, 3, 1], [10, 20])
    assert made.tolist() == [(2 * 10 + 3 * 20) * 5.0, 20 * 2.0]


@pytest.mark.parametrize("policy", ["easy", "lcfs-pr"])
def test_counted_servers_draw_what_the_run_says(policy: str):
    jobs = sojourn.lublin(400, 32, load=0.9, seed=8)
    power = sojourn.RatePower({1.0: (30.0, 10.0), 1.5: (60.0, 12.0)})
    cluster = sojourn.Cluster.homogeneous(32, power=power)
    control = sojourn.workload_hysteresis((1.0, 1.5), 1e4, 1e5)
    result = sojourn.simulate(jobs, cluster, policy, rate=control, record=True)
    served, rates = result.segments, result.rates
    width = result.jobs.set_index("job")["procs"]
    rate = rates["rate"].to_numpy()
    assert len(np.unique(rate)) == 2
    time, watts = billing.counted_steps(
        served["start"], served["end"], width[served["job"]], 32, rates["time"],
        power.busy(rate), power.idle(rate),
    )  # fmt: skip
    total = result.summary["energy"]["total_joules"]
    assert measures.step_integral(time, watts) == pytest.approx(total, rel=1e-12)
    rows = result.trajectory.drop_duplicates("time", keep="last")
    lasting = np.searchsorted(time, rows["time"], side="right") - 1
    np.testing.assert_array_equal(watts[lasting], rows["power"])


def test_counted_steps_by_hand():
    time, watts = billing.counted_steps(
        [2.0, 3.0, 5.0], [5.0, 3.0, 6.0], [3, 4, 1], 4, [0.0, 4.0, 8.0], [10, 20, 99], [1, 2, 99]
    )
    assert time.tolist() == [0.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    assert watts.tolist() == [4.0, 31.0, 31.0, 62.0, 26.0, 8.0]
    with pytest.raises(RunError, match="5 of 4 servers are in use at 1 s"):
        billing.counted_steps([0.0, 1.0], [2.0, 2.0], [3, 2], 4, [0.0], [10], [1])
    with pytest.raises(OptionError, match="1 epochs but 2 idle watts"):
        billing.counted_steps([0.0], [2.0], [3], 4, [0.0], [10], [1, 2])


@pytest.mark.parametrize("seed", range(20))
def test_other_states_are_in_the_power(seed):
    """Stretches in any order, some beyond the bill, against the power at every instant."""
    rng = np.random.default_rng(seed)
    idle = rng.integers(50, 99, 4).astype(float)
    begin = rng.integers(-3, 40, 25).astype(float)
    end = begin + rng.integers(0, 9, 25)
    node, watts = rng.integers(0, 4, 25), rng.integers(0, 200, 25).astype(float)
    on = rng.integers(100, 900, 6).astype(float)
    time = np.array([0.0, 5.0, 11.0, 12.0, 20.0, 30.0])
    bill = billing.Bill(np.zeros(0), np.zeros(0), np.zeros(4), idle * 30.0, time, on)
    after, joules = billing.in_other_states(bill, node, begin, end, watts, idle)
    inside = [np.clip(x, 0.0, 30.0) for x in (begin, end)]
    instants = np.unique(np.concatenate([time, *inside]))
    assert after.step_time.tolist() == instants.tolist()
    for at, drawn in zip(instants[:-1], after.step_watts[:-1], strict=True):
        here = (begin <= at) & (at < end)
        less = (watts - idle[node])[here].sum()
        assert drawn == on[np.flatnonzero(time <= at)[-1]] + less
    lapse = inside[1] - inside[0]
    assert joules.tolist() == (watts * lapse).tolist()
    kept = idle * 30.0 - np.bincount(node, idle[node] * lapse, 4)
    assert after.node_idle_joules.tolist() == kept.tolist()
    # The same, from places among instants that nobody sorted.
    places = rng.permutation(50)
    columns = np.empty(50)
    columns[places] = np.concatenate([begin, end])
    states = billing.OtherStates(node, columns, places[:25], places[25:], watts)
    again, same = billing.with_states(bill, states, idle)
    assert again.step_watts.tolist() == after.step_watts.tolist()
    assert same.tolist() == joules.tolist()


def test_other_states_of_a_node_that_is_not_there():
    bill = billing.Bill(*[np.zeros(1)] * 6)
    with pytest.raises(OptionError, match="names a node that is not there"):
        billing.in_other_states(bill, [1], [0.0], [1.0], 0.0, [9.0])
