"""Policies as text and as functions, and what is said of those that cannot be used."""

from __future__ import annotations

import math

import numpy as np
import pytest

import sojourn
from sojourn.errors import InputError, OptionError, PolicyError
from sojourn.policy import ORDERS, POLICIES, load_score, parse_control, parse_policy


@pytest.mark.parametrize(
    "text",
    ["fcfs", "easy", "sjf+easy", "fcfs+easy:4", "wfp3+easy:inf@sjf", "lcfs-pr", "spf", "easy-sjbf"],
)
def test_text_and_back(text):
    assert str(parse_policy(text)) == text
    assert parse_policy(str(parse_policy(text))) == parse_policy(text)


def test_every_alias_is_what_it_says():
    for short, long in POLICIES.items():
        assert str(parse_policy(long)) == short


def test_an_alias_takes_what_its_rule_takes():
    assert parse_policy("easy:4@sjf") == parse_policy("fcfs+easy:4@sjf")
    assert parse_policy(" EASY:inf ").reservations == math.inf
    with pytest.raises(PolicyError, match="only easy takes reservations"):
        parse_policy("conservative:2")


def test_parts():
    policy = parse_policy("saf+easy:inf@sjf")
    assert policy.reservations == math.inf
    assert policy.backfill_score is ORDERS["sjf"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("esay", "did you mean 'easy'"),
        ("fcfs+esay", "did you mean 'easy'"),
        ("fcsf+easy", "did you mean 'fcfs'"),
        ("fcfs+easy:0", "reservations"),
        ("fcfs+conservative:3", "only easy takes reservations"),
        ("fcfs+conservative@sjf", "no backfill order"),
        ("wfp3+preempt", "fixed in time"),
        ("fcfs+remaining", "spf or lpf"),
        ("fcfs + easy ! 3", "cannot be read"),
        ("", "cannot be read"),
    ],
)
def test_unusable_policies(text, told):
    with pytest.raises(PolicyError, match=told):
        parse_policy(text)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: parse_policy(5), "give a name, a sojourn.Policy"),
        (lambda: parse_policy(None), "give a name, a sojourn.Policy"),
        (lambda: parse_policy(lambda jobs, j, now, theta: 0.0), "decorated with @sojourn.score"),
        (lambda: sojourn.Policy(backfill=None), "unknown backfill 'None'"),
        (lambda: sojourn.Policy(backfill="easy", reservations="2"), "give a number, or inf"),
        (lambda: sojourn.Policy(order=None), "an order is a name or a function"),
        (lambda: parse_control([1.0]), "give a rate, a text or a sojourn.control"),
        (lambda: sojourn.score(theta="ab")(lambda jobs, j, now, theta: 0.0), "list of numbers"),
        (lambda: sojourn.score(theta=3.0)(lambda jobs, j, now, theta: 0.0), "list of numbers"),
        (lambda: sojourn.control(initial="x")(lambda state, now, theta: 1.0), "give a number"),
        (lambda: sojourn.control(rates=[None])(lambda state, now, theta: 1.0), "list of numbers"),
    ],
)
def test_what_is_no_policy_at_all(make, said):
    with pytest.raises(InputError, match=said):
        make()


def test_time_dependence_is_seen():
    assert {name for name, s in ORDERS.items() if s.depends_on_time} == {
        "expansion",
        "wfp3",
        "unicef",
    }


def test_a_score_of_ones_own_equals_the_named_one():
    @sojourn.score
    def mine(jobs, j, now, theta):
        return jobs.estimate[j]

    jobs = sojourn.lublin(500, 64, load=0.9, seed=1)
    own = sojourn.simulate(jobs, 64, sojourn.Policy(order=mine, backfill="easy"))
    np.testing.assert_array_equal(own.start, sojourn.simulate(jobs, 64, "sjf+easy").start)


def test_theta_reaches_the_formula():
    @sojourn.score(theta=(1.0, 0.0))
    def weighted(jobs, j, now, theta):
        return theta[0] * jobs.estimate[j] + theta[1] * jobs.procs[j]

    jobs = sojourn.lublin(500, 64, load=0.9, seed=1)
    short = sojourn.simulate(jobs, 64, weighted)
    narrow = sojourn.simulate(jobs, 64, weighted.with_theta(0.0, 1.0))
    np.testing.assert_array_equal(short.start, sojourn.simulate(jobs, 64, "sjf").start)
    np.testing.assert_array_equal(narrow.start, sojourn.simulate(jobs, 64, "smallest").start)


def test_a_score_that_cannot_be_compiled():
    @sojourn.score
    def wild(jobs, j, now, theta):
        return {"a": open}[j]

    with pytest.raises(PolicyError, match="'wild' does not compile") as error:
        sojourn.simulate(sojourn.lublin(10, 8, seed=1), 8, wild)
    assert "\n" not in str(error.value)


def test_a_score_of_the_wrong_shape():
    with pytest.raises(PolicyError, match=r"\(jobs, j, now, theta\)"):
        sojourn.score(lambda jobs: 0.0)


def test_a_score_that_is_not_a_number():
    @sojourn.score
    def nan(jobs, j, now, theta):
        return jobs.estimate[j] * 0.0 / 0.0 if j > 2 else 0.0

    with pytest.raises(InputError, match="not a number"):
        sojourn.simulate(sojourn.lublin(10, 8, seed=1), 8, nan)


def test_policy_files(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(
        "import sojourn\n"
        "@sojourn.score\n"
        "def wide(jobs, j, now, theta):\n"
        "    return -jobs.procs[j]\n"
    )
    assert load_score(f"{file}:wide").name == "wide"
    for where, told in [
        (f"{file}:narrow", "no score named 'narrow'; it has wide"),
        (f"{tmp_path / 'none.py'}:x", "no such file"),
        (str(file), "FILE.py:name"),
    ]:
        with pytest.raises(InputError, match=told):
            load_score(where)
    file.write_text(
        "from __future__ import annotations\n"
        "import dataclasses, sojourn\n"
        "@dataclasses.dataclass\n"
        "class Weights:\n"
        "    width: float = 2.0\n"
        "WIDTH = Weights().width\n"
        "@sojourn.score\n"
        "def wide(jobs, j, now, theta):\n"
        "    return -jobs.procs[j] * WIDTH\n"
    )
    assert load_score(f"{file}:wide").name == "wide"
    file.write_text("1/0")
    with pytest.raises(PolicyError, match="ZeroDivisionError"):
        load_score(f"{file}:wide")


@pytest.mark.parametrize(
    ("text", "rates"),
    [
        ("1.5", (1.5,)),
        ("constant:2", (2.0,)),
        ("random:1,2:0.3,0.7", (1.0, 2.0)),
        ("count:1,2:3:5", (1.0, 2.0)),
        ("workload:1,2,3:10,20:15,30", (1.0, 2.0, 3.0)),
        ("threshold:1,2:1e5", (1.0, 2.0)),
    ],
)
def test_controls_as_text(text, rates):
    assert parse_control(text).rates == rates


@pytest.mark.parametrize(
    "text",
    ["fast", "workload:1:2:3", "workload:2,1:1:2", "count:1,2:5:3", "random:1,2:3,4", "0", "-1",
     "threshold:1,2", "workload:1,2:1,2:3", "constant:inf", "nan"],
)  # fmt: skip
def test_unusable_controls(text):
    with pytest.raises(OptionError, match="rate"):
        parse_control(text)


def test_a_control_of_ones_own():
    @sojourn.control(initial=1.0)
    def hurry(state, now, theta):
        return 2.0 if state.waiting > 0 else 1.0

    jobs = sojourn.lublin(300, 32, load=0.9, seed=4)
    result = sojourn.simulate(jobs, 32, "easy", rate=hurry, record=True)
    assert set(result.trajectory["rate"]) == {1.0, 2.0}


def test_randomized_control_is_seeded():
    jobs = sojourn.lublin(300, 32, load=0.9, seed=4)
    control = sojourn.randomized(1.0, 2.0, 0.3, 0.6)
    ends = [sojourn.simulate(jobs, 32, rate=control, seed=seed).end for seed in (1, 1, 2)]
    np.testing.assert_array_equal(ends[0], ends[1])
    assert not np.array_equal(ends[0], ends[2])


def test_estimates_and_limits():
    jobs = sojourn.Jobs(
        {"submit": [0, 0, 0], "runtime": [10, 10, 4], "estimate": [6, 20, 4], "procs": [1, 1, 1]}
    )
    killed = sojourn.simulate(jobs, 3)
    assert killed.jobs["service"].tolist() == [6, 10, 4]
    assert killed.jobs["status"].tolist() == ["killed", "completed", "completed"]
    assert sojourn.simulate(jobs, 3, over_limit="run").jobs["service"].tolist() == [10, 10, 4]
    for options, told in [
        ({"over_limit": "nag"}, "kill or run"),
        ({"passes": "often"}, "instant or event"),
        ({"estimates": "wild"}, "user, exact or a factor"),
        ({"estimates": 0}, "user, exact or a factor"),
        ({"reference_rate": 0}, "above 0"),
        ({"colour": 1}, "unknown option 'colour'; it takes clean"),
        ({"slep": "never"}, "unknown option 'slep'; did you mean 'sleep'"),
    ]:
        with pytest.raises(OptionError, match=told):
            sojourn.simulate(jobs, 3, **options)


def test_bad_jobs_are_named():
    for columns, told in [
        ({"runtime": [-1.0, 2.0]}, "job 1, field 'runtime'"),
        ({"procs": [1, 0]}, "job 2, field 'procs'"),
        ({"submit": [-5.0, 0.0]}, "job 1, field 'submit'"),
    ]:
        jobs = sojourn.Jobs(
            {"submit": [0.0, 0.0], "runtime": [1.0, 1.0], "procs": [1, 1], **columns}
        )
        with pytest.raises(InputError, match=told):
            sojourn.simulate(jobs, 3, clean=())


def test_ties_of_a_backfill_order_go_by_submission():
    # Three of four servers are held and two full-width jobs have reservations; the last two are
    # equally wide and fit one at a time. By estimate the second is first, by submission the first.
    jobs = sojourn.Jobs(
        {
            "submit": [0, 1, 1, 1, 1],
            "runtime": [100, 1, 1, 50, 20],
            "estimate": [100, 1, 1, 50, 20],
            "procs": [3, 4, 4, 1, 1],
        }
    )
    result = sojourn.simulate(jobs, 4, "sjf+easy:2@largest")
    assert result.start.tolist() == [0, 100, 101, 1, 51]
