"""Sleep policies worked out by hand: forecasts, prices, rates of switching, and who stays on."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import sojourn
from sojourn.cluster import PowerSaving, PowerStates, Server, SleepState, read_cluster
from sojourn.run.build.foreseen import demand_by_hour, forecast

OFF = SleepState("off", 10.0, enter=5.0, enter_watts=50.0, leave=20.0, leave_watts=100.0)


def machine(nodes: int, **saving) -> sojourn.Cluster:
    server = Server("one", 1, ops=1e9, watts=(95.0, 190.0), states=PowerStates((OFF,)))
    cluster = sojourn.Cluster.of([server] * nodes, reference_ops=1e9)
    return replace(cluster, power_saving=PowerSaving(**saving)) if saving else cluster


def jobs_of(*rows) -> sojourn.Jobs:
    submit, runtime, procs = zip(*rows, strict=True)
    return sojourn.Jobs({"submit": submit, "runtime": runtime, "procs": procs})


def begins(result: sojourn.Result, state: str) -> list[float]:
    table = result.node_states
    return sorted(table.loc[table["state"] == state, "begin"].tolist())


TWO = jobs_of((0.0, 1.0, 1), (200.0, 10.0, 3), (400.0, 1.0, 1))


def test_nodes_go_to_sleep_one_after_the_other():
    run = sojourn.simulate(TWO, machine(3), "fcfs", sleep="idle:50", sleep_rate=6, clean=())
    # Two are idle since 0, the third since 1; six a minute are one in ten seconds.
    assert begins(run, "entering")[:3] == [50.0, 60.0, 70.0]
    at_once = sojourn.simulate(TWO, machine(3), "fcfs", sleep="idle:50", sleep_rate=0, clean=())
    assert begins(at_once, "entering")[:3] == [50.0, 50.0, 51.0]


def test_boots_begin_one_after_the_other():
    run = sojourn.simulate(TWO, machine(3), "fcfs", sleep="idle:50", wake_rate=4, clean=())
    assert begins(run, "leaving")[:3] == [200.0, 215.0, 230.0]
    # The last of its nodes is up 20 s later.
    assert run.start[1] == 250.0
    free = sojourn.simulate(TWO, machine(3), "fcfs", sleep="idle:50", clean=())
    assert free.start[1] == 220.0


def test_rates_of_a_slurm_conf_hold_unless_others_are_given():
    slow = machine(3, enter_rate=6.0, leave_rate=4.0)
    run = sojourn.simulate(TWO, slow, "fcfs", sleep="idle:50", clean=())
    assert begins(run, "entering")[:3] == [50.0, 60.0, 70.0]
    assert run.start[1] == 250.0
    run = sojourn.simulate(TWO, slow, "fcfs", sleep="idle:50", sleep_rate=0, wake_rate=0, clean=())
    assert run.start[1] == 220.0


@pytest.mark.parametrize(
    ("excluded", "asleep"), [(None, 1), (0, 3), (1, 2), (2, 1)], ids=["all", "0", "1", "2"]
)
def test_nodes_that_stay_on(excluded, asleep):
    names = tuple(node.name for node in machine(3).nodes)
    chosen = names[:2] if excluded is None else names
    cluster = machine(3, excluded_nodes=((chosen, excluded),))
    run = sojourn.simulate(TWO, cluster, "fcfs", sleep="idle:50", clean=())
    assert sum(time < 200 for time in begins(run, "entering")) == asleep


def test_a_cluster_file_says_who_stays_on(tmp_path):
    path = tmp_path / "staying.toml"
    node = '[[node]]\nname = "n[1-4]"\ncores = 1\nops = 1\nidle_watts = 9\nwatts = 19\n'
    sleep = '[[node.sleep]]\nname = "off"\nwatts = 1\n'
    part = '[[partition]]\nname = "debug"\nnodes = "n4"\n'
    stay = '[[stay_on]]\nnodes = "n[1-3]"\ncount = 2\n[[stay_on]]\npartitions = "debug"\n'
    path.write_text(node + sleep + part + stay)
    cluster = read_cluster(path)
    expected = ((("n1", "n2", "n3"), 2), (("n4",), None))
    assert cluster.power_saving.excluded_nodes == expected
    sojourn.write_cluster(cluster, tmp_path / "again.toml")
    assert read_cluster(tmp_path / "again.toml").power_saving == cluster.power_saving
    run = sojourn.simulate(TWO, cluster, "fcfs", sleep="idle:50", clean=())
    assert set(run.node_states["node"]) <= {"n1", "n2", "n3"}


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ('nodes = "n9"', "no node is called 'n9'"),
        ('nodes = "n[1-4]"\ncount = 5', "5 of 4 nodes"),
        ('nodes = "n1"\ncount = -1', "give a whole number, 0 or more"),
        ('partitions = "debug"', "debug"),
        ('node = "n1"', "unknown key 'node'"),
        ("count = 1", "is missing; name some"),
    ],
)
def test_bad_tables_are_one_line(tmp_path, table, words):
    path = tmp_path / "bad.toml"
    path.write_text(f'[[node]]\ncores = 1\nname = "n[1-4]"\n[[stay_on]]\n{table}\n')
    with pytest.raises(sojourn.errors.ClusterError, match="stay_on 1") as problem:
        read_cluster(path)
    assert words in str(problem.value)
    assert "\n" not in str(problem.value)


def test_demand_is_what_the_log_has_used():
    log = sojourn.Jobs(
        {
            "submit": [0.0, 1800.0, 7200.0],
            "wait": [-1.0, 1800.0, 0.0],
            "runtime": [5400.0, 3600.0, 900.0],
            "procs": [2, 3, 4],
        }
    )
    hour, procs = demand_by_hour(log)
    assert hour.tolist() == [0.0, 1.0, 2.0]
    assert procs.tolist() == [2.0, 4.0, 1.0]


def test_forecasts_look_at_the_past_alone():
    weeks = np.tile(np.arange(168.0), 3)
    weeks[2 * 168 + 5] = 99.0
    foreseen = forecast(weeks, 0.5)
    assert foreseen[:3].tolist() == [0.0, 0.0, 1.0]
    # On the second day the day before; from the second week on the same hour of past weeks.
    assert foreseen[24 + 7] == 7.0
    assert foreseen[168:].tolist() == [*range(168)] * 2
    changed = weeks.copy()
    changed[400:] = 7.0
    assert np.array_equal(forecast(changed, 0.5)[:401], foreseen[:401])


def test_a_quantile_is_one_of_the_values():
    demand = np.zeros(168 * 5)
    demand[10::168] = [1.0, 4.0, 2.0, 3.0, 0.0]
    at = 4 * 168 + 10
    assert [forecast(demand, q)[at] for q in (0.0, 0.25, 0.5, 0.9, 1.0)] == [1, 2, 3, 4, 4]


def test_nodes_are_kept_for_the_demand_of_the_day_before():
    """Each day 3 of 4 nodes are used from 10:10 to 11:10; from the second on they are awake."""
    log = jobs_of(*((day * 86400.0 + 36600.0, 3600.0, 3) for day in range(3)))
    run = sojourn.simulate(log, machine(4), "fcfs", sleep="forecast:1:60", clean=())
    assert (run.start - log.submit).tolist() == [0.0, 0.0, 0.0]
    idle = sojourn.simulate(log, machine(4), "fcfs", sleep="idle:60", clean=())
    assert (idle.start - log.submit).tolist() == [0.0, 20.0, 20.0]
    # They are woken at the full hour in which they are foreseen, not before.
    assert min(begins(run, "leaving")) == 86400.0 + 36000.0


def test_nodes_are_kept_while_power_is_cheap():
    """0.1 from midnight to six, then 0.3: three of four stay on, then none."""
    log = jobs_of((0.0, 1.0, 1), (86400.0, 1.0, 1))
    options = {"price": "0.1, 6:0.3", "starts": "2024-01-01T00:00+00:00", "clean": ()}
    run = sojourn.simulate(log, machine(4), "fcfs", sleep="price:0.2:3:60", **options)
    assert begins(run, "entering") == [60.0, 21600.0, 21600.0, 21600.0]
    assert begins(run, "leaving")[:3] == [86400.0] * 3


@pytest.mark.parametrize(
    ("sleep", "words"),
    [
        ("forecast:2", "from 0 to 1"),
        ("forecast:often", "is no quantile"),
        ("forecast", "write such as forecast:0.9:600"),
        ("price:cheap:8", "is no threshold"),
        ("price:0.2", "write such as price:0.25:8:600"),
        ("price:0.2:some", "is no number of nodes"),
        ("price:0.2:8", "give power.price"),
        ("carbon:nan:8", "is no threshold"),
        ("carbon:300:-1", "whole number"),
        ("carbon:300:8", "give power.carbon"),
    ],
)
def test_bad_policies_are_one_line(sleep, words):
    with pytest.raises(sojourn.OptionError, match=words) as problem:
        sojourn.simulate(TWO, machine(2), "fcfs", sleep=sleep)
    assert "\n" not in str(problem.value)


@pytest.mark.parametrize("name", ["sleep_rate", "wake_rate"])
def test_bad_rates_are_one_line(name):
    with pytest.raises(sojourn.OptionError, match=f"{name} -1"):
        sojourn.simulate(TWO, machine(2), "fcfs", sleep="idle:5", **{name: -1})


def test_numbers_of_sleep_are_measures():
    from sojourn.measures.registry import flat_summary, get

    run = sojourn.simulate(TWO, machine(3), "fcfs", sleep="idle:50", clean=())
    flat = flat_summary(run.summary)
    # Three nodes boot for the second job, which waits 20 s, and one for the last.
    assert (flat["boots"], flat["booted_jobs"], flat["boot_wait_mean"]) == (4, 2, 20.0)
    assert flat["leaving_node_seconds"] == 4 * 20.0
    assert flat["leaving_joules"] == 4 * 20.0 * 100.0
    assert flat["sleep_joules"] == pytest.approx(10.0 * flat["sleep_node_seconds"])
    for name in ("boots", "booted_jobs", "boot_wait_mean", "sleep_node_seconds", "sleep_joules"):
        assert get(name).of(run.summary) == flat[name]
