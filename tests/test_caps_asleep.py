"""Caps over nodes that sleep: never exceeded in any state, and what sleepers lend is used."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import numpy as np
import pytest

import sojourn
from sojourn.cluster import PowerCap
from sojourn.cluster.states import PowerSaving, PowerStates, SleepState
from sojourn.errors import OptionError

DEEP = SleepState("off", 9.0, enter=60.0, enter_watts=104.0, leave=240.0, leave_watts=150.0)
LIGHT = SleepState("nap", 20.0, enter=0.0, leave=10.0, leave_watts=45.0)
EVEN = sojourn.Server("even", 8, 8e6, (95.0, 190.0), states=PowerStates((DEEP,)))
ALIKE = sojourn.Cluster.of([EVEN] * 8)
THIN = sojourn.Server("thin", 8, 8e6, (50.0, 168.0), states=PowerStates((LIGHT,)))
FAT = sojourn.Server(
    "fat",
    16,
    16e6,
    (100, 110, 125, 145, 170, 200, 235, 275, 320, 370, 425),
    states=PowerStates((DEEP,)),
)
AWAKE = sojourn.Server("awake", 16, 16e6, (100.0, 300.0))
MIXED = replace(
    sojourn.Cluster.of([THIN] * 2 + [FAT] * 2 + [AWAKE]),
    caps=(PowerCap("rack", (0, 1, 2)), PowerCap("room", (0, 1, 2, 3))),
)
STEPS = sojourn.Cap((1250.0, 1000.0, 1350.0, 1100.0), time=(0.0, 20_000.0, 60_000.0, 150_000.0))
POLICIES = ("fcfs", "first-fit", "easy", "easy:3", "conservative", "sjf+easy")


def work(seed: int = 1, load: float = 0.7, jobs: int = 150) -> sojourn.Jobs:
    return sojourn.lublin(jobs, 64, load=load, seed=seed, estimates="tsafrir")


def watts_at(result: sojourn.Result, cluster: sojourn.Cluster, nodes, times) -> np.ndarray:
    """Watts of some nodes at instants, from who ran where and who was in which state."""
    rows, jobs = result.allocation_columns(), result.jobs
    start = jobs.set_index("job")["start"].loc[rows["job"]].to_numpy()
    states = result.node_states
    total = np.zeros(len(times))
    for k in nodes:
        node = cluster.nodes[k]
        mine = rows["node"] == k
        busy = sum(
            np.where((a <= times) & (times < b), procs, 0)
            for a, b, procs in zip(start[mine], rows["end"][mine], rows["procs"][mine], strict=True)
        )
        levels = np.linspace(0, node.server.cores, len(node.server.watts))
        drawn = np.interp(busy, levels, node.server.watts)
        for _, it in states[states["node"] == node.name].iterrows():
            drawn = np.where((it["begin"] <= times) & (times < it["end"]), it["watts"], drawn)
        total += drawn
    return total


def instants_of(result: sojourn.Result, *others) -> np.ndarray:
    states = result.node_states
    return np.unique(np.concatenate([result.jobs["start"].dropna(), states["begin"], *others]))


def cap_at(cap: sojourn.Cap, times) -> np.ndarray:
    place = np.searchsorted(cap.time, times, side="right") - 1
    return np.where(place < 0, np.inf, np.array(cap.watts)[place])


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("cap", [sojourn.Cap((1050.0,)), STEPS], ids=["constant", "steps"])
@pytest.mark.parametrize("cluster", [ALIKE, MIXED], ids=["alike", "mixed"])
def test_no_instant_is_above_the_cap(cluster, cap, policy):
    jobs = work()
    result = sojourn.simulate(jobs, cluster, policy, cap=cap, sleep="idle:300")
    times = instants_of(result, np.maximum(cap.time, 0.0))
    nodes = range(len(cluster.nodes))
    drawn = watts_at(result, cluster, nodes, times)
    assert (drawn - cap_at(cap, times)).max() <= 1e-6
    told = result.summary["caps"]["cluster"]
    assert told["exceeded_seconds"] == 0
    inside = times < np.nanmax(result.jobs["end"])
    assert told["peak_watts"] == pytest.approx(drawn[inside].max(), rel=1e-9)
    assert (result.node_states["state"] == "sleep").any()
    free = sojourn.simulate(jobs, cluster, policy, sleep="idle:300")
    above = watts_at(free, cluster, nodes, instants_of(free))
    assert above.max() > 1150, "the cap was not needed"


def test_every_set_of_a_tree_is_kept():
    caps = {"": 1050.0, "room": 620.0, "rack": 350.0}
    text = ", ".join(f"{name}={watts}" if name else f"{watts}" for name, watts in caps.items())
    sets = {"": range(5), "room": range(4), "rack": range(3)}
    for policy in POLICIES:
        result = sojourn.simulate(work(), MIXED, policy, cap=text, sleep="keep:1:300")
        times = instants_of(result)
        for name, nodes in sets.items():
            drawn = watts_at(result, MIXED, nodes, times)
            assert drawn.max() <= caps[name] + 1e-6
            told = result.summary["caps"][name or "cluster"]
            assert told["exceeded_seconds"] == 0
            assert told["peak_watts"] <= caps[name] + 1e-6


@pytest.mark.parametrize("policy", ["fcfs", "easy", "easy:3"])
def test_sleepers_make_room_for_others(policy):
    """The same cap costs less waiting where idle nodes sleep, and more jobs run at once."""
    jobs = work()
    jobs = jobs[jobs.procs <= 24]
    awake = sojourn.simulate(jobs, ALIKE, policy, cap=1080.0)
    asleep = sojourn.simulate(jobs, ALIKE, policy, cap=1080.0, sleep="idle:300")
    assert asleep.summary["wait"]["mean"] < 0.7 * awake.summary["wait"]["mean"]
    assert asleep.summary["unaccepted"] == awake.summary["unaccepted"] == 0

    def most_busy(result):
        rows = result.trajectory
        return rows["busy"].max()

    # Beside 760 W of idle power, 320 W are 26 busy processors of 11.875 W more each.
    runs = [
        sojourn.simulate(jobs, ALIKE, policy, cap=1080.0, sleep=sleep, record=True)
        for sleep in ("never", "idle:300")
    ]
    assert most_busy(runs[0]) <= 26 < most_busy(runs[1])


@pytest.mark.parametrize("policy", ["fcfs", "first-fit", "easy"])
def test_a_cap_that_is_never_reached_changes_nothing(policy):
    free = sojourn.simulate(work(), ALIKE, policy, sleep="idle:300")
    capped = sojourn.simulate(work(), ALIKE, policy, sleep="idle:300", cap="1MW")
    np.testing.assert_array_equal(free.jobs["start"], capped.jobs["start"])
    assert free.node_states.equals(capped.node_states)


def test_sleep_that_saves_nothing_lends_nothing():
    """Asleep as dear as idle, in no time: the cap is kept as if all were awake."""
    same = SleepState("nap", 95.0)
    useless = sojourn.Cluster.of([replace(EVEN, states=PowerStates((same,)))] * 8)
    awake = sojourn.simulate(work(), ALIKE, "easy", cap=1080.0)
    asleep = sojourn.simulate(work(), useless, "easy", cap=1080.0, sleep="idle:300")
    np.testing.assert_array_equal(awake.jobs["start"], asleep.jobs["start"])


def test_the_rate_keeps_a_cap():
    cap = sojourn.Cap((1500.0, 1350.0), time=(0.0, 30_000.0))
    rate = "cap:0.25,0.5,0.8,1"
    result = sojourn.simulate(work(), ALIKE, "easy", rate=rate, cap=cap, sleep="idle:300")
    kept = result.summary["caps"]["cluster"]
    assert kept["exceeded_seconds"] == 0
    assert kept["kept_by"] == "rate"
    assert result.summary["rate_switches"] > 0
    time, watts = result.power_steps
    lasting = np.diff(time) > 0
    assert (watts[:-1] <= cap_at(cap, time[:-1]) * (1 + 1e-9))[lasting].all()
    # Awake 760 W are the least; nodes that sleep may draw 150 W each on their way.
    awake = sojourn.simulate(work(), ALIKE, "easy", rate=rate, cap=900)
    assert awake.summary["caps"]["cluster"]["exceeded_seconds"] == 0
    with pytest.raises(OptionError, match="all processors together draw 1211") as raised:
        sojourn.simulate(work(), ALIKE, "easy", rate=rate, cap=900, sleep="idle:300")
    assert "\n" not in str(raised.value)


def test_caps_below_idle_power_are_one_line():
    with pytest.raises(
        OptionError, match=r"below its idle power of 760 W \(8 nodes\); give more"
    ) as raised:
        sojourn.simulate(work(), ALIKE, cap=700, sleep="idle:300")
    assert "\n" not in str(raised.value)
    hot = SleepState("hot", 99.0, enter=1.0, leave=1.0)
    dear = sojourn.Cluster.of([replace(EVEN, states=PowerStates((hot,)))] * 8)
    words = "below its idle power of 792 W (8 nodes, asleep where that is more); give more"
    with pytest.raises(OptionError, match=re.escape(words)):
        sojourn.simulate(work(), dear, cap=780, sleep="idle:300")


def test_jobs_whose_nodes_may_not_all_be_woken_are_not_accepted():
    """A boot draws 55 W more than an idle node, a job of one processor 11.875 W."""
    jobs = sojourn.Jobs({"submit": [0.0, 1.0], "runtime": [10.0, 10.0], "procs": [1, 8]})
    for cap, refused in ((814.9, 2), (815.0, 1), (855.0, 0)):
        result = sojourn.simulate(jobs, ALIKE, "easy", cap=cap, sleep="idle:5")
        assert result.summary["unaccepted"] == refused
    # Awake both may run.
    assert sojourn.simulate(jobs, ALIKE, "easy", cap=855.0).summary["unaccepted"] == 0


def test_nodes_that_stay_on_need_no_watts_for_waking():
    # One of 95 W idle and 190 W busy, of which waking would take 150 W.
    cluster = sojourn.Cluster.of([EVEN])
    names = (cluster.nodes[0].name,)
    stays = PowerSaving(math.inf, enter_rate=math.inf, leave_rate=math.inf)
    stays = replace(stays, excluded_nodes=((names, None),))
    jobs = sojourn.Jobs({"submit": [0.0], "runtime": [60.0], "procs": [1], "estimate": [60.0]})
    given = {"cap": 110.0, "sleep": "idle:60"}
    assert sojourn.simulate(jobs, cluster, "easy", **given).summary["unaccepted"] == 1
    staying = replace(cluster, power_saving=stays)
    result = sojourn.simulate(jobs, staying, "easy", **given)
    assert result.start.tolist() == [0.0]
    assert result.summary["energy"]["power_peak"] <= 110.0


def test_nodes_that_fail_are_measured():
    """What comes back from a failure is awake, whatever is free: then nothing is promised."""
    jobs = work()
    failures = {"failures": "mtbf=2d,repair=1h", "node_failure": "requeue", "seed": 3}
    result = sojourn.simulate(jobs, ALIKE, "easy", cap=1050.0, sleep="idle:300", **failures)
    assert np.isfinite(result.jobs["end"]).sum() + result.summary["unaccepted"] == len(jobs)
    assert result.summary["caps"]["cluster"]["exceeded_seconds"] >= 0
