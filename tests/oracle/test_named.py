"""The oracle of named nodes against cases worked out by hand, and against the counted one."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from . import controls, placements
from .bill import bill, peas_energy, watts_at
from .disciplines import ordered
from .micro_cases import CONSTRAINED, HALF, PLACED, REFUSED, SCHEDULES, WAITS, Choice, flat
from .named import NamedOutcome, Scheduling, simulate, why_never
from .named_strategies import Case, cases, equal_nodes
from .nodes import Node, Request, average_ops, memory_of, slowness
from .orders import fcfs, sjf, smallest
from .pools import Machine
from .recursion import simulate as simulate_counted
from .strategies import Workload, workloads

POLICIES = {
    "fcfs": Scheduling(),
    "first-fit": Scheduling(backfill="first-fit"),
    "easy": Scheduling(backfill="easy"),
    "easy:2": Scheduling(fcfs, "easy", 2),
    "easy:2@sjf": Scheduling(fcfs, "easy", 2, sjf),
    "easy:inf": Scheduling(fcfs, "easy", math.inf),
    "sjf+easy": Scheduling(sjf, "easy"),
    "conservative": Scheduling(backfill="conservative"),
    "smallest+conservative": Scheduling(smallest, "conservative"),
}
AT_1 = controls.constant(1)


def run(
    nodes: tuple[Node, ...], jobs: tuple[Request, ...], policy: str = "fcfs", name: str = ""
) -> NamedOutcome:
    placement = placements.PLACEMENTS[name or "first-fit"]
    return simulate(jobs, nodes, POLICIES[policy], AT_1, placement)


class TestSpeed:
    # 4 and 1 operations per second and processor.
    OPS, PROCS = (8, 4), (2, 4)

    def test_average_processor(self):
        """Eq. (1): over processors, not over nodes."""
        assert average_ops(self.OPS, self.PROCS) == 2

    def test_simulated_runtime(self):
        """Eq. (2)."""
        assert slowness(self.OPS, self.PROCS) == [HALF, 2]
        nodes = (Node(2, HALF, flat(2)), Node(4, 2, flat(4)))
        fast, both, slow = Request(0, 10, 2, 10), Request(0, 10, 3, 10), Request(0, 10, 1, 10)
        assert run(nodes, (fast,)).run.end == [5]
        assert run(nodes, (both,)).run.end == [20]
        assert run(nodes, (fast, slow)).run.end == [5, 20]

    def test_average_cluster_does_its_recorded_runtimes(self):
        assert slowness((6, 6), (3, 3)) == [1, 1]

    def test_workload_grows_at_the_start_on_a_slow_node(self):
        outcome = run((Node(1, 2, flat(1)),), (Request(0, 3, 1, 3), Request(1, 4, 1, 4)))
        rows = [(row.time, row.workload) for row in outcome.run.trajectory]
        assert rows == [(0, 6), (1, 5 + 4), (6, 8), (14, 0)]


@pytest.mark.parametrize("name", PLACED | CONSTRAINED)
def test_choice_of_nodes(name: str):
    case: Choice = (PLACED | CONSTRAINED)[name]
    outcome = run(case.nodes, case.jobs, name=case.placement)
    assert not outcome.unaccepted
    if case.expected == WAITS:
        assert outcome.run.start[-1] > 0
    else:
        assert outcome.run.start[-1] == 0
        assert outcome.allocations[-1] == case.expected


def test_every_placement_has_cases():
    told = [case.placement for case in PLACED.values()]
    named = set(placements.PLACEMENTS) - {"random"}
    assert all(told.count(name) >= 2 for name in named)
    assert set(told) == named


class TestRandom:
    # The published outputs of SplitMix64 from the seed 0.
    OUTPUTS = (0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F)

    def test_numbers(self):
        for seed, output in enumerate(self.OUTPUTS):
            assert placements.pick(seed, 0, 0, 1000) == (output >> 11) % 1000

    def test_takes_the_nodes_drawn(self):
        nodes = tuple(Node(1, 1, flat(1)) for _ in range(7))
        for seed, output in enumerate(self.OUTPUTS):
            placement = placements.random(seed)
            outcome = simulate([Request(0, 1, 1, 1)], nodes, Scheduling(), AT_1, placement)
            assert outcome.allocations == [(((output >> 11) % 7, 1),)]

    def test_draws_without_replacement(self):
        nodes = tuple(Node(1, 1, flat(1)) for _ in range(4))
        outcome = run(nodes, (Request(0, 1, 4, 1),), name="random")
        assert outcome.allocations == [((0, 1), (1, 1), (2, 1), (3, 1))]


def test_users_scores():
    nodes = (Node(2, 1, flat(2)), Node(3, 2, flat(3)), Node(4, 1, flat(4)))
    largest = placements.in_order("largest", lambda site: -site.procs)
    jobs = [Request(0, 4, 5, 4), Request(0, 4, 1, 4)]
    outcome = simulate(jobs, nodes, Scheduling(), AT_1, largest)
    assert outcome.allocations == [((1, 1), (2, 4)), ((1, 1),)]
    # Node 1 for the first job, node 2 for the second.
    by_label = placements.scored("by label", lambda site, asked: -(site.index == asked.label + 1))
    outcome = simulate([Request(0, 4, 2, 4)] * 2, nodes, Scheduling(), AT_1, by_label)
    assert outcome.allocations == [((1, 2),), ((2, 2),)]


@pytest.mark.parametrize(("nodes", "job", "placement", "reason"), REFUSED)
def test_unaccepted(nodes, job, placement, reason):
    outcome = run(nodes, (Request(0, 1, 1, 1), job), name=placement)
    assert outcome.unaccepted == {1: reason}
    assert outcome.accepted == [0]


@pytest.mark.parametrize("case", SCHEDULES, ids=lambda case: case.name)
def test_schedules(case):
    outcome = run(case.nodes, case.jobs, case.policy, case.placement)
    assert outcome.run.start == list(case.start)
    assert outcome.run.end == list(case.end)
    assert outcome.allocations == list(case.allocations)


def test_conservative_promises_on_unlike_nodes():
    case = next(case for case in SCHEDULES if case.policy == "conservative")
    outcome = run(case.nodes, case.jobs, case.policy)
    assert outcome.run.promises == list(case.start)


class TestPools:
    NODES = tuple(Node(1, f, flat(1, w)) for f, w in ((1, 3), (2, 1), (2, 2), (1, 1), (1, 2)))
    PLAIN = (Request(0, 1, 1, 1),)

    @pytest.mark.parametrize(
        ("name", "pools"),
        [
            ("first-fit", [[0], [1, 2], [3, 4]]),
            ("fastest", [[0, 3, 4], [1, 2]]),
            ("slowest", [[0, 3, 4], [1, 2]]),
            # Watts 3, 1, 2, 1, 2: nodes 1, 3, 2, 4, 0.
            ("lowest-power", [[1], [3], [2], [4, 0]]),
            # Watts times slowness 3, 2, 4, 1, 2: nodes 3, 1, 4, 0, 2.
            ("lowest-energy", [[3], [1], [4, 0], [2]]),
            ("best-fit", [[0], [1], [2], [3], [4]]),
            ("contiguous", [[0], [1], [2], [3], [4]]),
        ],
    )
    def test_unlike_nodes(self, name, pools):
        assert Machine(self.NODES, placements.PLACEMENTS[name], self.PLAIN).pools == pools

    @pytest.mark.parametrize("name", placements.PLACEMENTS)
    def test_equal_nodes(self, name):
        nodes = (Node(2), Node(3))
        machine = Machine(nodes, placements.PLACEMENTS[name], self.PLAIN)
        assert machine.pinned == (name == "contiguous")
        demanding = (*self.PLAIN, Request(0, 1, 1, 1, whole_node=True))
        assert Machine(nodes, placements.PLACEMENTS[name], demanding).pinned


class TestEnergy:
    # Watts with 0 to 4 busy: 20, 53 (between 50 and 56), 70, 91 (between 86 and 96), 120.
    NODE = Node(4, 1, (20, 40, 50, 56, 64, 70, 76, 86, 96, 108, 120))
    JOBS = (Request(0, 4, 1, 4), Request(2, 4, 2, 4))

    def test_levels(self):
        assert [watts_at(self.NODE, b) for b in range(5)] == [20, 53, 70, 91, 120]
        ten = self.NODE._replace(procs=10)
        assert tuple(watts_at(ten, b) for b in range(11)) == ten.watts

    def test_shared_node(self):
        # An idle processor is billed 5 W. [0, 2): 53 = 3 * 5 + 38. [2, 4): 91 = 5 + 3 * 86/3.
        # [4, 6): 70 = 2 * 5 + 60.
        outcome = run((self.NODE,), self.JOBS)
        third = Fraction(1, 3)
        assert bill(outcome, [self.NODE]) == (
            [2 * 38 + 2 * 86 * third, 2 * 172 * third + 2 * 60],
            2 * 15 + 2 * 5 + 2 * 10,
            2 * 53 + 2 * 91 + 2 * 70,
        )

    def test_the_dynamic_part_goes_with_the_cube_of_the_rate(self):
        # At rate 2 job 0 runs on [0, 2), and alone: 20 + 8 * 33 = 284 = 15 + 269.
        outcome = simulate(self.JOBS, (self.NODE,), Scheduling(), controls.constant(2))
        assert outcome.run.end == [2, 4]
        # Then job 1 alone: 20 + 8 * 50 = 420 = 10 + 410.
        assert bill(outcome, [self.NODE]) == ([538, 820], 50, 568 + 840)

    def test_unused_processors_of_a_whole_node_are_idle(self):
        jobs = (self.JOBS[0]._replace(whole_node=True),)
        outcome = run((self.NODE,), jobs)
        assert bill(outcome, [self.NODE]) == ([4 * 38], 4 * 15, 4 * 53)

    def test_as_the_paper_has_it(self):
        """Eq. (5): two processors of 50 W and one of 20 W, for 10 times 2."""
        nodes = (Node(2, HALF, flat(2, 50)), Node(4, 2, flat(4, 20)))
        outcome = run(nodes, (Request(0, 10, 3, 10),))
        assert peas_energy(outcome, nodes) == [(2 * 50 + 20) * 20]


@pytest.mark.parametrize("policy", POLICIES)
@settings(max_examples=60)
@given(drawn=workloads(8), data=st.data(), seed=st.integers(0, 2**16))
def test_equal_nodes_are_counted_servers(policy, drawn: Workload, data, seed: int):
    nodes = data.draw(equal_nodes(drawn))
    rng = random.Random(seed)
    plain = [place for name, place in placements.PLACEMENTS.items() if name != "contiguous"]
    placement = rng.choice(plain)
    control = rng.choice(
        (
            AT_1,
            controls.randomized(1, 2, 0.4, 0.6),
            controls.count([1, 2], [1], [3]),
            controls.workload([1, 2], [3], [8]),
        )
    )
    passes = rng.choice(("instant", "event"))
    coins = [rng.random() for _ in range(16)]
    jobs = [Request(*job) for job in drawn.jobs]
    found = simulate(jobs, nodes, POLICIES[policy], control, placement, coins, passes)
    counted = ordered(*POLICIES[policy][:4])
    expected = simulate_counted(drawn.jobs, drawn.servers, counted, control, coins, passes)
    assert found.run == expected


@pytest.mark.parametrize("constrained", [False, True])
@settings(max_examples=100)
@given(data=st.data(), seed=st.integers(0, 2**16))
def test_nothing_is_given_twice(constrained, data, seed: int):
    drawn: Case = data.draw(cases(constrained=constrained))
    rng = random.Random(seed)
    policy = rng.choice(list(POLICIES.values()))
    placement = rng.choice(list(placements.PLACEMENTS.values()))
    outcome = simulate(drawn.jobs, drawn.nodes, policy, AT_1, placement)
    run, jobs = outcome.run, [drawn.jobs[i] for i in outcome.accepted]
    for job, allocation, f, start, end in zip(
        jobs, outcome.allocations, outcome.slowness, run.start, run.end, strict=True
    ):
        assert sum(taken for _, taken in allocation) == job.procs
        assert end - start == job.work * f
        if job.feature:
            assert all(job.feature in drawn.nodes[k].features for k, _ in allocation)
        if job.power_budget is not None:
            watts = sum(n * drawn.nodes[k].watts_per_proc for k, n in allocation)
            assert watts <= job.power_budget
    for time in run.start:
        for k, node in enumerate(drawn.nodes):
            present = [
                (jobs[j], dict(allocation)[k])
                for j, allocation in enumerate(outcome.allocations)
                if run.start[j] <= time < run.end[j] and k in dict(allocation)
            ]
            assert sum(taken for _, taken in present) <= node.procs
            assert sum(memory_of(job, taken) for job, taken in present) <= node.memory
            assert len(present) == 1 or not any(job.whole_node for job, _ in present)
    found = bill(outcome, drawn.nodes)
    assert sum(found.jobs) + found.idle == found.total


@settings(max_examples=60)
@given(cases(constrained=True), st.sampled_from(sorted(placements.PLACEMENTS)))
def test_who_is_refused_fits_on_no_empty_cluster(drawn: Case, name: str):
    placement = placements.PLACEMENTS[name]
    for job in drawn.jobs:
        alone = simulate([job], drawn.nodes, Scheduling(backfill="easy"), AT_1, placement)
        assert bool(alone.accepted) == (why_never(job, drawn.nodes, placement) is None)
        assert alone.run.start == [job.submit] * len(alone.accepted)
