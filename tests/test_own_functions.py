"""Formulas and controls of one's own: what they may see, and what is said of their mistakes."""

from __future__ import annotations

import copy
import math
import pickle

import numba
import numpy as np
import pytest

import sojourn
from sojourn.errors import PolicyError
from sojourn.policy import ORDERS, PLACEMENTS, parse_policy
from sojourn.policy.score import NodeScore, Score

JOBS = sojourn.lublin(60, 16, load=0.9, seed=1)
TABLE = np.arange(3.0)
WEIGHT = 2.0


@numba.njit
def plus_one(x):
    return x + 1


@numba.njit
def at(column, place):
    return column[place]


@numba.njit
def drawn(x):
    return x + np.random.random()  # noqa: NPY002


@numba.njit
def free_of(nodes, n):
    return nodes.free[n]


@sojourn.score(theta=[2.0])
def by_area(jobs, j, now, theta):
    return jobs.procs[j] * jobs.estimate[j] ** theta[0]


@sojourn.control(initial=1.0, theta=[3])
def in_a_hurry(state, now, theta):
    return 2.0 if state.waiting > theta[0] else 1.0


def simulate(order: Score, **options):
    return sojourn.simulate(JOBS, 16, sojourn.Policy(order=order, backfill="easy"), **options)


def complaint(order: Score, **options) -> str:
    with pytest.raises(PolicyError) as error:
        simulate(order, **options)
    assert "\n" not in str(error.value)
    return str(error.value)


def reads_now(jobs, j, now, theta):
    return now


def aliases_now(jobs, j, now, theta):
    instant = now
    return instant


def hands_now_on(jobs, j, now, theta):
    return plus_one(now)


def closes_over_now(jobs, j, now, theta):
    def later():
        return now

    return later()


def draws(jobs, j, now, theta):
    return np.random.random()  # noqa: NPY002


def lets_draw(jobs, j, now, theta):
    return drawn(jobs.procs[j])


def calls_mathematics(jobs, j, now, theta):
    return max(math.sqrt(jobs.procs[j]), np.log(WEIGHT)) + TABLE[0]


def calls_a_helper(jobs, j, now, theta):
    return plus_one(jobs.procs[j])


class TestWhatChanges:
    @pytest.mark.parametrize(
        "formula",
        [reads_now, aliases_now, hands_now_on, closes_over_now, draws, lets_draw],
        ids=lambda formula: formula.__name__,
    )
    def test_an_order_that_may_change_with_time(self, formula):
        assert Score(formula).depends_on_time

    @pytest.mark.parametrize(
        "formula", [calls_mathematics, calls_a_helper], ids=lambda formula: formula.__name__
    )
    def test_an_order_that_cannot(self, formula):
        assert not Score(formula).depends_on_time

    @pytest.mark.parametrize(
        ("formula", "fixed"),
        [
            (lambda nodes, n, jobs, j, now, theta: nodes.watts[n] / nodes.ops[n], True),
            (lambda nodes, n, jobs, j, now, theta: plus_one(nodes.watts[n]) + theta[0], True),
            (lambda nodes, n, jobs, j, now, theta: max(float(n), TABLE[1]), True),
            (lambda nodes, n, jobs, j, now, theta: nodes.free[n], False),
            (lambda nodes, n, jobs, j, now, theta: nodes.free_memory[n], False),
            (lambda nodes, n, jobs, j, now, theta: free_of(nodes, n), False),
            (lambda nodes, n, jobs, j, now, theta: getattr(nodes, "fr" + "ee")[n], False),
            (lambda nodes, n, jobs, j, now, theta: (nodes, n)[0].watts[n], False),
            (lambda nodes, n, jobs, j, now, theta: nodes[1][n], False),
            (lambda nodes, n, jobs, j, now, theta: jobs.procs[j] * n, False),
            (lambda nodes, n, jobs, j, now, theta: n * now, False),
            (lambda nodes, n, jobs, j, now, theta: float((n + j) % 3), False),
            (lambda nodes, n, jobs, j, now, theta: (lambda: nodes)().free[n], False),
            (lambda nodes, n, jobs, j, now, theta: drawn(nodes.watts[n]), False),
        ],
    )
    def test_a_placement(self, formula, fixed):
        assert NodeScore(formula).is_fixed is fixed

    def test_an_alias_of_the_nodes_is_followed_no_further(self):
        def through_an_alias(nodes, n, jobs, j, now, theta):
            machines = nodes
            return machines.free[n]

        assert not NodeScore(through_an_alias).is_fixed

    def test_preemption_refuses_what_it_cannot_see_to_be_fixed(self):
        with pytest.raises(PolicyError, match="fixed in time"):
            sojourn.Policy(order=Score(lets_draw), backfill="preempt")


class TestWhatIsHanded:
    def test_the_truth_is_not(self):
        @sojourn.score
        def oracle(jobs, j, now, theta):
            return jobs.work[j]

        said = complaint(oracle)
        assert "score 'oracle' does not compile: jobs.work would be the true runtime" in said
        assert "clairvoyant=True" in said

    def test_the_truth_on_demand(self):
        @sojourn.score(clairvoyant=True)
        def oracle(jobs, j, now, theta):
            return jobs.work[j]

        # With double the truth as estimates, the order by one is that by the other.
        np.testing.assert_array_equal(
            simulate(oracle, estimates=2.0).start,
            sojourn.simulate(JOBS, 16, "sjf+easy", estimates=2.0).start,
        )

    @pytest.mark.parametrize("clairvoyant", [False, True])
    def test_nothing_can_be_written(self, clairvoyant):
        def writes(jobs, j, now, theta):
            jobs.submit[j] = 0.0
            return now

        said = complaint(sojourn.score(clairvoyant=clairvoyant)(writes))
        assert "score 'writes' does not compile: it writes into what it is handed" in said

    def test_parameters_cannot_be_written(self):
        @sojourn.score(theta=[1.0])
        def learns(jobs, j, now, theta):
            theta[0] += 1.0
            return theta[0]

        assert "writes into what it is handed" in complaint(learns)

    def test_parameters_are_all_there_is(self):
        @sojourn.score(theta=[1.0, 2.0, 3.0])
        def counts(jobs, j, now, theta):
            return float(len(theta)) - 3.0 + theta[-1] - 3.0 + j

        np.testing.assert_array_equal(simulate(counts).start, sojourn.simulate(JOBS, 16).start)

    def test_an_unknown_column(self):
        @sojourn.score
        def gaudy(jobs, j, now, theta):
            return jobs.colour[j]

        assert "jobs has no column 'colour'; it has submit, estimate" in complaint(gaudy)


class TestAnswers:
    @pytest.mark.parametrize(
        ("formula", "answer"),
        [
            (lambda jobs, j, now, theta: None, "nothing"),
            (lambda jobs, j, now, theta: 1j * j, "a complex number"),
            (lambda jobs, j, now, theta: (1.0, 2.0), "a tuple"),
            (lambda jobs, j, now, theta: "text", "text"),
            (lambda jobs, j, now, theta: jobs.submit, "an array"),
        ],
    )
    def test_of_the_wrong_type(self, formula, answer):
        assert f"it returns {answer}; it must return a number" in complaint(Score(formula))

    def test_missing_in_some_cases(self):
        @sojourn.score
        def forgetful(jobs, j, now, theta):
            if j > 3:
                return 1.0

        assert "returns nothing in some cases" in complaint(forgetful)

    def test_whole_numbers_and_truth_values_are_numbers(self):
        @sojourn.score
        def wide(jobs, j, now, theta):
            return jobs.procs[j] > 4

        @sojourn.score
        def twice(jobs, j, now, theta):
            return 1 if jobs.procs[j] > 4 else 0

        np.testing.assert_array_equal(simulate(wide).start, simulate(twice).start)


def test_functions_that_are_compiled_already():
    @sojourn.score
    @numba.njit
    def wide(jobs, j, now, theta):
        return jobs.procs[j] * 1.0

    @sojourn.control
    @numba.njit
    def steady(state, now, theta):
        return 1.0

    np.testing.assert_array_equal(
        simulate(wide, rate=steady).start, sojourn.simulate(JOBS, 16, "smallest+easy").start
    )


class TestMistakes:
    def test_not_a_number_later_in_the_run(self):
        """At its submission a job has a score; only waiting makes it undefined."""

        @sojourn.score
        def fades(jobs, j, now, theta):
            return math.sqrt(100.0 - (now - jobs.submit[j]))

        for options in ({}, {"check_policy": False}):
            said = complaint(fades, **options)
            assert "score 'fades' of job " in said
            assert "is not a number (nan); return a number in every case" in said

    def test_not_a_number_in_a_fixed_order_names_the_job(self):
        @sojourn.score
        def undefined(jobs, j, now, theta):
            return math.log(-1.0) if j == 7 else 0.0

        columns = {name: JOBS[name] for name in ("submit", "runtime", "procs")}
        jobs = sojourn.Jobs({"job": np.arange(101, 161), **columns})
        with pytest.raises(PolicyError, match="of job 108 is not a number"):
            sojourn.simulate(jobs, 16, undefined)

    def test_infinities_are_numbers(self):
        @sojourn.score
        def last(jobs, j, now, theta):
            return math.inf if jobs.procs[j] > 4 else -math.inf

        simulate(last)

    @pytest.mark.parametrize("changing", [False, True])
    def test_an_index_outside_of_the_columns(self, changing):
        @sojourn.score
        def fixed(jobs, j, now, theta):
            return jobs.procs[j + 1]

        @sojourn.score
        def by_time(jobs, j, now, theta):
            return jobs.procs[j + 1] + 0.0 * now

        said = complaint(by_time if changing else fixed)
        assert "of job 60 at " in said if changing else "of job 60 fails" in said
        assert "fails: IndexError" in said
        assert "there are 60 jobs and 0 parameters" in said

    def test_an_index_inside_of_a_helper(self):
        @sojourn.score
        def lets_look(jobs, j, now, theta):
            return at(jobs.procs, j + 1)

        assert "of job 60 fails: IndexError" in complaint(lets_look)

    def test_parameters_that_were_not_given(self):
        @sojourn.score
        def tuned(jobs, j, now, theta):
            return jobs.procs[j] * theta[0]

        assert "there are 60 jobs and 0 parameters" in complaint(tuned)
        simulate(tuned.with_theta(2.0))

    @pytest.mark.parametrize("check", [True, False])
    def test_an_exception_of_its_own(self, check):
        @sojourn.score
        def picky(jobs, j, now, theta):
            if j == 40:
                raise ValueError("no such thing")
            return now

        said = complaint(picky, check_policy=check)
        assert "score 'picky' of job 41 at " in said
        assert "fails: ValueError: no such thing" in said

    def test_of_a_backfill_order(self):
        @sojourn.score
        def fades(jobs, j, now, theta):
            return math.sqrt(100.0 - (now - jobs.submit[j]))

        policy = sojourn.Policy(order="fcfs", backfill="easy", backfill_order=fades)
        with pytest.raises(PolicyError, match="score 'fades' of job"):
            sojourn.simulate(JOBS, 16, policy)

    def test_a_variable_that_has_changed_since(self, monkeypatch):
        @sojourn.score
        def weighted(jobs, j, now, theta):
            return jobs.procs[j] * WEIGHT

        simulate(weighted)
        monkeypatch.setitem(globals(), "WEIGHT", 3.0)
        assert "compiled, but" in complaint(weighted)
        simulate(weighted, check_policy=False)

    def test_checks_change_no_schedule(self):
        @sojourn.score
        def patient(jobs, j, now, theta):
            neighbour = (j + 1) % len(jobs.procs)
            return jobs.procs[neighbour] * (1.0 - (now - jobs.submit[j]) / 86400.0)

        with_checks = simulate(patient).start
        np.testing.assert_array_equal(with_checks, simulate(patient, check_policy=False).start)


class TestControls:
    def refused(self, control) -> str:
        with pytest.raises(PolicyError) as error:
            sojourn.simulate(JOBS, 16, "easy", rate=control)
        assert "\n" not in str(error.value)
        return str(error.value)

    @pytest.mark.parametrize("rate", [-1.0, 0.0, math.nan, math.inf])
    def test_an_impossible_rate(self, rate):
        @sojourn.control(initial=1.0, theta=[rate])
        def wild(state, now, theta):
            return theta[0] if state.waiting > 2 else 1.0

        said = self.refused(wild)
        assert "control 'wild' at " in said
        assert f"asks for a rate of {rate:g}; rates must be above 0 and finite" in said

    def test_parameters_that_were_not_given(self):
        @sojourn.control(initial=1.0)
        def tuned(state, now, theta):
            return theta[1]

        assert "control 'tuned' at " in (said := self.refused(tuned))
        assert "IndexError" in said
        assert "it has 0 parameters" in said

    def test_a_wake_up_that_is_not_a_number(self):
        def never(state, now, theta):
            return math.nan

        @sojourn.control(initial=1.0, wake=never)
        def steady(state, now, theta):
            return 1.0

        assert "its wake-up is not a number; return a workload, or -inf" in self.refused(steady)

    def test_a_wake_up_that_never_lets_time_pass(self):
        def at_once(state, now, theta):
            return state.workload - 1e-9

        @sojourn.control(initial=1.0, wake=at_once)
        def restless(state, now, theta):
            return 1.0

        said = self.refused(restless)
        assert "control 'restless' at " in said
        assert "wakes up more than 100,000 times between two arrivals or departures" in said

    def test_what_does_not_compile(self):
        @sojourn.control
        def curious(state, now, theta):
            return state.colour

        @sojourn.control
        def silent(state, now, theta):
            return None

        assert "state has no 'colour'; it has event, before" in self.refused(curious)
        assert "control 'silent' does not compile: it returns nothing" in self.refused(silent)

    def test_functions_of_other_arguments(self):
        with pytest.raises(PolicyError, match=r"must be a function of \(state, now, theta\)"):
            sojourn.control(lambda state: 1.0)
        with pytest.raises(PolicyError, match=r"must be a function of \(state, now, theta\)"):
            sojourn.control(lambda state, now, theta: 1.0, wake=lambda state: 1.0)

    def test_while_stepping(self):
        @sojourn.control(initial=1.0)
        def backwards(state, now, theta):
            return -1.0

        run = sojourn.Simulation(JOBS, 16, rate=backwards)
        with pytest.raises(PolicyError, match="asks for a rate of -1"):
            run.step()


class TestPickling:
    @pytest.mark.parametrize(
        "whole",
        [
            by_area,
            by_area.with_theta(3.0),
            in_a_hurry,
            sojourn.Policy(order=by_area, backfill="easy"),
            parse_policy("wfp3+easy:2@sjf"),
            sojourn.threshold((1.0, 2.0), 5.0),
            ORDERS["saf"],
            *PLACEMENTS.values(),
        ],
        ids=lambda whole: getattr(whole, "name", str(whole)),
    )
    def test_there_and_back(self, whole):
        again = pickle.loads(pickle.dumps(whole))
        assert again == whole
        assert copy.deepcopy(whole) == whole

    def test_after_use(self):
        simulate(by_area)
        again = pickle.loads(pickle.dumps(by_area))
        np.testing.assert_array_equal(simulate(again).start, simulate(by_area).start)

    def test_a_function_kept_under_another_name(self):
        assert pickle.loads(pickle.dumps(Score(reads_now))).formula is reads_now

    def test_a_function_that_pickle_cannot_find(self):
        local = sojourn.score(lambda jobs, j, now, theta: 1.0)
        with pytest.raises((pickle.PicklingError, AttributeError), match="pickle"):
            pickle.dumps(local)
        assert copy.deepcopy(local) == local


def test_a_score_sees_accounts_qos_nodes_and_gpus() -> None:
    @sojourn.score
    def preferred(jobs, j, now, theta):
        return jobs.qos[j] * 1000 + jobs.account[j] * 100 + jobs.nodes[j] * 10 + jobs.gpus[j]

    jobs = sojourn.Jobs(
        {
            "submit": [0, 1, 1, 1, 1, 1, 1],
            "runtime": [10] * 7,
            "procs": [4] * 7,
            "qos": ["low", "low", "high", "high", "high", "high", "high"],
            "account": ["b", "b", "b", "a", "b", "b", "b"],
            "nodes": [1, 1, 2, 2, 1, 1, 1],
            "gpus": [0, 0, 0, 0, 2, 1, 0],
        },
        header=["QOS: 1 high", "QOS: 2 low", "Account: 1 a", "Account: 2 b"],
    )
    table = sojourn.simulate(jobs, 4, preferred).jobs
    assert table.sort_values("start")["job"].tolist() == [1, 4, 7, 6, 5, 3, 2]
    plain = sojourn.Jobs({name: jobs[name] for name in ("submit", "runtime", "procs")})
    assert sojourn.simulate(plain, 4, preferred).jobs["job"].tolist() == [1, 2, 3, 4, 5, 6, 7]
    run = sojourn.Simulation(jobs, 4)
    decision = run.step()
    assert decision.jobs.gpus.tolist() == jobs.gpus.tolist()
    assert decision.jobs.account.tolist() == jobs.account.tolist()
