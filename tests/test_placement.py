"""Nodes, placements and constraints through the front door, on cases worked out by hand."""

from __future__ import annotations

import math

import numba
import numpy as np
import pytest
from differential.named_harness import WHY, cluster_of, constraints_of, jobs_of, most_processors
from oracle.micro_cases import CONSTRAINED, HALF, PLACED, REFUSED, SCHEDULES, WAITS, flat
from oracle.nodes import Allocation, Node, Request

import sojourn
from sojourn.cluster import Node as NamedNode
from sojourn.cluster import Server
from sojourn.policy import PLACEMENTS


def run(nodes, jobs, policy="fcfs", **options) -> sojourn.Result:
    options = {"placement": "first-fit", "estimates": "exact", "over_limit": "run", **options}
    return sojourn.simulate(
        jobs_of(jobs),
        cluster_of(nodes),
        policy,
        constraints=constraints_of(jobs),
        clean=(),
        record=True,
        **options,
    )


def allocation(result: sojourn.Result, job: int) -> Allocation:
    """(node, processors) of the job with this number, from 1 on."""
    table = result.allocations
    mine = table[table["job"] == job]
    names = [node.name for node in result.cluster.nodes]
    return tuple(
        sorted((names.index(n), int(c)) for n, c in zip(mine["node"], mine["procs"], strict=True))
    )


@pytest.mark.parametrize("name", PLACED | CONSTRAINED)
def test_choice_of_nodes(name):
    case = (PLACED | CONSTRAINED)[name]
    result = run(case.nodes, case.jobs, placement=case.placement)
    if case.expected == WAITS:
        assert result.start[-1] > 0
    else:
        assert result.start[-1] == 0
        assert allocation(result, len(case.jobs)) == case.expected


def test_every_placement_has_cases():
    assert {case.placement for case in PLACED.values()} | {"random"} == set(PLACEMENTS)


@pytest.mark.parametrize("case", SCHEDULES, ids=lambda case: case.name)
def test_schedules(case):
    policy = {"easy:2": "fcfs+easy:2"}.get(case.policy, case.policy)
    result = run(case.nodes, case.jobs, policy, placement=case.placement)
    assert result.start.tolist() == [float(x) for x in case.start]
    assert result.end.tolist() == [float(x) for x in case.end]
    assert [allocation(result, j + 1) for j in range(len(case.jobs))] == list(case.allocations)
    slowest = [max(case.nodes[k].slowness for k, _ in one) for one in case.allocations]
    assert result.slowness.tolist() == [float(x) for x in slowest]


@pytest.mark.parametrize(("nodes", "job", "placement", "reason"), REFUSED)
def test_unaccepted(nodes, job, placement, reason):
    result = run(nodes, [Request(0, 1, 1, 1), job], placement=placement)
    assert result.jobs["status"].tolist() == ["completed", "unaccepted"]
    assert result.jobs["reason"].tolist() == ["", WHY[reason]]
    assert len(result.start) == 1


class TestRandom:
    # The published outputs of SplitMix64 from the seed 0.
    OUTPUTS = (0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F)

    @pytest.mark.parametrize("seed", range(3))
    def test_takes_the_node_drawn(self, seed):
        nodes = [Node(1, 1, flat(1)) for _ in range(7)]
        result = run(nodes, [Request(0, 1, 1, 1)], placement="random", seed=seed)
        assert allocation(result, 1) == (((self.OUTPUTS[seed] >> 11) % 7, 1),)

    def test_every_node_once(self):
        nodes = [Node(1, 1, flat(1)) for _ in range(4)]
        result = run(nodes, [Request(0, 1, 4, 1)], placement="random")
        assert allocation(result, 1) == ((0, 1), (1, 1), (2, 1), (3, 1))


def test_users_score():
    nodes = [Node(2, 1, flat(2)), Node(3, 2, flat(3)), Node(4, 1, flat(4))]
    jobs = [Request(0, 4, 5, 4), Request(0, 4, 1, 4)]
    result = run(nodes, jobs, placement=most_processors)
    assert allocation(result, 1) == ((1, 1), (2, 4))
    assert allocation(result, 2) == ((1, 1),)

    @sojourn.score
    def one_node_on(nodes, n, jobs, j, now, theta):
        return -1.0 if n == j + 1 else 0.0

    result = run(nodes, [Request(0, 4, 2, 4)] * 2, placement=one_node_on)
    assert allocation(result, 1) == ((1, 2),)
    assert allocation(result, 2) == ((2, 2),)


@numba.njit
def free_on(nodes, n):
    return nodes.free[n]


class TestOwnScore:
    # Three equal nodes of two processors.
    NODES = (Node(2, 1, flat(2)), Node(2, 1, flat(2)), Node(2, 1, flat(2)))

    def test_a_helper_sees_what_is_free_now(self):
        @sojourn.score
        def emptiest(nodes, n, jobs, j, now, theta):
            return -free_on(nodes, n)

        result = run(self.NODES, [Request(0, 4, 1, 4)] * 3, placement=emptiest)
        assert [allocation(result, job) for job in (1, 2, 3)] == [((0, 1),), ((1, 1),), ((2, 1),)]

    @pytest.mark.parametrize("check", [True, False])
    def test_not_a_number_later(self, check):
        @sojourn.score
        def undefined(nodes, n, jobs, j, now, theta):
            return math.sqrt(nodes.free[n] - 2.0)

        said = r"score 'undefined' of node \S+ for job 2 at 0 s is not a number"
        with pytest.raises(sojourn.PolicyError, match=said):
            run(self.NODES, [Request(0, 4, 1, 4)] * 3, placement=undefined, check_policy=check)

    def test_not_a_number_in_a_fixed_order(self):
        @sojourn.score
        def undefined(nodes, n, jobs, j, now, theta):
            return math.sqrt(1.0 - n)

        for check in (True, False):
            with pytest.raises(sojourn.PolicyError, match="is not a number"):
                run(self.NODES, [Request(0, 4, 1, 4)], placement=undefined, check_policy=check)

    def test_an_index_outside_of_the_nodes(self):
        @sojourn.score
        def neighbour(nodes, n, jobs, j, now, theta):
            return nodes.free[n + 1]

        with pytest.raises(sojourn.PolicyError, match=r"fails: IndexError.*there are 3 nodes"):
            run(self.NODES, [Request(0, 4, 1, 4)], placement=neighbour)

    def test_nodes_cannot_be_written(self):
        @sojourn.score
        def grabs(nodes, n, jobs, j, now, theta):
            nodes.free[n] = 0
            return 0.0

        with pytest.raises(sojourn.PolicyError, match="writes into what it is handed"):
            run(self.NODES, [Request(0, 4, 1, 4)], placement=grabs)

    def test_an_unknown_column(self):
        @sojourn.score
        def gaudy(nodes, n, jobs, j, now, theta):
            return nodes.colour[n]

        with pytest.raises(sojourn.PolicyError, match="nodes has no column 'colour'; it has procs"):
            run(self.NODES, [Request(0, 4, 1, 4)], placement=gaudy)


class TestSpeed:
    # 4 and 1 operations per second and processor.
    CLUSTER = sojourn.Cluster.of(
        [
            NamedNode("fast", Server("a", 2, 8.0, (0.0, 100.0))),
            NamedNode("slow", Server("b", 4, 4.0, (0.0, 80.0))),
        ]
    )

    def test_average_processor(self):
        """[gomez2012, eq. 1]: over processors, not over servers."""
        assert self.CLUSTER.average_ops == 2
        assert self.CLUSTER.columns.slowness.tolist() == [0.5, 2.0]

    @pytest.mark.parametrize(("procs", "runtime"), [(2, 5.0), (3, 20.0)])
    def test_simulated_runtime(self, procs, runtime):
        """[gomez2012, eq. 2]: the slowest processor sets the pace."""
        jobs = sojourn.Jobs({"submit": [0], "runtime": [10], "procs": [procs]})
        result = sojourn.simulate(jobs, self.CLUSTER, "fcfs", placement="first-fit")
        assert result.end.tolist() == [runtime]

    def test_energy_of_the_paper(self):
        """[gomez2012, eq. 5]: two processors of 50 W and one of 20 W, for 20 s."""
        jobs = sojourn.Jobs({"submit": [0], "runtime": [10], "procs": [3]})
        result = sojourn.simulate(jobs, self.CLUSTER, "fcfs", placement="first-fit")
        assert result.jobs["peas_energy"].tolist() == [2400.0]


class TestEnergy:
    # Watts with 0 to 4 busy: 20, 53 (between 50 and 56), 70, 91 (between 86 and 96), 120.
    NODE = Node(4, 1, (20, 40, 50, 56, 64, 70, 76, 86, 96, 108, 120))

    def test_shared_node(self):
        # An idle processor is billed 5 W. [0, 2): 53 = 3 * 5 + 38. [2, 4): 91 = 5 + 3 * 86/3.
        # [4, 6): 70 = 2 * 5 + 60.
        result = run([self.NODE], [Request(0, 4, 1, 4), Request(2, 4, 2, 4)])
        expected = [2 * 38 + 2 * 86 / 3, 2 * 172 / 3 + 2 * 60]
        np.testing.assert_allclose(result.jobs["energy"], expected, rtol=1e-12)
        assert result.summary["energy"]["idle_joules"] == pytest.approx(60, rel=1e-12)

    def test_unused_processors_of_a_whole_node_are_idle(self):
        result = run([self.NODE], [Request(0, 4, 1, 4, whole_node=True)])
        assert result.jobs["energy"].tolist() == pytest.approx([4 * 38], rel=1e-12)
        assert result.summary["energy"]["idle_joules"] == pytest.approx(4 * 15, rel=1e-12)

    def test_dynamic_part_goes_with_the_cube_of_the_rate(self):
        # At rate 2 the jobs run on [0, 2) and [2, 4): 20 + 8 * 33 W, then 20 + 8 * 50 W.
        jobs = [Request(0, 4, 1, 4), Request(2, 4, 2, 4)]
        result = run([self.NODE], jobs, rate=2.0)
        assert result.jobs["energy"].tolist() == pytest.approx([538, 820], rel=1e-12)
        assert result.summary["energy"]["idle_joules"] == pytest.approx(50, rel=1e-12)


class TestConstraintsOfJobs:
    NODES = (Node(2, 1, flat(2)), Node(2, HALF, flat(2), 0, frozenset({"gpu"})))

    def test_one_value_for_all(self):
        jobs = jobs_of([Request(0, 4, 1, 4)] * 2)
        constraints = sojourn.Constraints(feature="gpu")
        result = sojourn.simulate(
            jobs, cluster_of(self.NODES), "fcfs", constraints=constraints, clean=()
        )
        assert [allocation(result, job) for job in (1, 2)] == [((1, 1),), ((1, 1),)]

    @pytest.mark.parametrize("submit", [[5, 0], [0, 5]])
    def test_they_belong_to_their_jobs(self, submit):
        """A log out of order would be sorted, and leave its constraints behind."""
        jobs = sojourn.Jobs({"submit": submit, "runtime": [4, 4], "procs": [1, 1]})
        constraints = sojourn.Constraints(feature=["gpu", None])
        if submit == [5, 0]:
            with pytest.raises(sojourn.OptionError, match="job by job"):
                sojourn.simulate(jobs, cluster_of(self.NODES), "fcfs", constraints=constraints)
        else:
            result = sojourn.simulate(jobs, cluster_of(self.NODES), "fcfs", constraints=constraints)
            assert [allocation(result, job) for job in (1, 2)] == [((1, 1),), ((0, 1),)]

    @pytest.mark.parametrize(
        ("asked", "said"),
        [
            ({"memory_per_node": "abc"}, "memory_per_node 'abc': give a number"),
            ({"memory_per_node": [1]}, "1 values for 2 jobs"),
            ({"memory_per_node": ["a", 1]}, "every value must be a number"),
            ({"memory_per_core": -1}, "a constraint is not negative"),
            ({"power_budget": 1j}, "power_budget 1j: give a number"),
            ({"whole_node": "no"}, "whole_node 'no': give true or false"),
            ({"whole_node": [0, 2]}, "every value must be true or false"),
            ({"feature": 5}, "feature 5: give a word"),
            ({"feature": ["gpu", 7]}, "feature 7: give a word"),
            ({"feature": ["gpu"]}, "1 values for 2 jobs"),
            ({"feature": {"queue": "gpu"}}, "feature by queue 'gpu': give words by the numbers"),
            ({"feature": {"queue": {"a": "gpu"}}}, "give words by the numbers"),
            ({"feature": {"queue": {1: 5}}}, "give words by the numbers"),
            ({"feature": {"colour": {1: "gpu"}}}, "feature by 'colour'"),
        ],
    )
    def test_nonsense_is_refused(self, asked, said):
        jobs = jobs_of([Request(0, 4, 1, 4)] * 2)
        constraints = sojourn.Constraints(**asked)
        with pytest.raises(sojourn.InputError, match=said):
            sojourn.simulate(jobs, cluster_of(self.NODES), "fcfs", constraints=constraints)

    def test_constraints_are_no_table(self):
        jobs = jobs_of([Request(0, 4, 1, 4)])
        with pytest.raises(sojourn.OptionError, match=r"give sojourn.Constraints"):
            sojourn.simulate(jobs, cluster_of(self.NODES), constraints={"feature": "gpu"})

    def test_nothing_asked_by_some(self):
        jobs = jobs_of([Request(0, 4, 1, 4)] * 2)
        constraints = sojourn.Constraints(whole_node=[True, None], memory_per_node=[None, 0.0])
        asked = constraints.of(jobs)
        assert asked.whole_node.tolist() == [True, False]
        assert asked.memory_per_node.tolist() == [0, 0]

    def test_memory_per_core_and_per_node_at_once(self):
        jobs = jobs_of([Request(0, 4, 1, 4)])
        both = sojourn.Constraints(memory_per_core=1.0, memory_per_node=1.0)
        with pytest.raises(sojourn.InputError, match="job 1, field 'memory'"):
            sojourn.simulate(jobs, cluster_of(self.NODES), "fcfs", constraints=both)

    def test_unknown_memory_is_no_memory(self):
        unknown = [Node(2, 1, flat(2))]
        result = run(unknown, [Request(0, 4, 1, 4, memory_per_core=1), Request(0, 4, 1, 4)])
        assert result.jobs["reason"].tolist() == ["memory", ""]


def test_a_stopped_job_keeps_its_work_on_another_node():
    """The second job takes the fast node; the first goes on where it takes twice as long."""
    nodes = [Node(1, 1, flat(2)), Node(1, 2, flat(2))]
    result = run(nodes, [Request(0, 4, 1, 4), Request(1, 2, 1, 2)], "lcfs-pr")
    assert result.start.tolist() == [0.0, 1.0]
    assert result.end.tolist() == [7.0, 3.0]


def test_placements_need_nodes():
    with pytest.raises(sojourn.OptionError, match="no named nodes"):
        sojourn.simulate(jobs_of([Request(0, 4, 1, 4)]), 4, placement="pack")
