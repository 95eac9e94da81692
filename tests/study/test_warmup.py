"""Jobs at the beginning that measures over jobs leave out: runs, scenarios, sweeps, the verb."""

from __future__ import annotations

import json

import numpy as np
import pytest
from studies import small_scenario

import sojourn
from sojourn.cli import main
from sojourn.errors import OptionError
from sojourn.study import Scenario, mser, optimise, read_scenario, sweep
from sojourn.study.plan import replication_seed

OVER_JOBS = {"wait", "sojourn", "service", "slowdown", "bounded_slowdown"}


def queue(**workload: object) -> dict[str, dict[str, object]]:
    """M/M/2 at a load of 0.8."""
    jobs = {"model": "poisson", "jobs": 1000, "load": 0.8, "work": "exponential:60"}
    return {"workload": jobs | workload, "cluster": {"procs": 2}, "policy": {"name": "fcfs"}}


def waits(scenario: Scenario, seed: int) -> np.ndarray:
    jobs = scenario.workload(seed)
    result = sojourn.simulate(jobs, 2, "fcfs", clean=())
    return result.jobs["wait"].to_numpy()


def test_measures_over_jobs_leave_out_the_first() -> None:
    jobs = sojourn.lublin(300, 64, load=0.9, seed=1)
    whole, rest = (sojourn.simulate(jobs, 64, "easy", warmup=n) for n in (0, 100))
    left = whole.jobs.iloc[100:]
    assert rest.summary["wait"]["mean"] == pytest.approx(left["wait"].mean(), rel=1e-12)
    assert rest.summary["slowdown"]["max"] == left["slowdown"].max()
    weights = left["procs"]
    assert rest.summary["weighted_response"] == pytest.approx(
        (left["sojourn"] * weights).sum() / weights.sum(), rel=1e-12
    )
    assert rest.summary["warmup"] == 100
    over_jobs = {*OVER_JOBS, "weighted_response", "weighted_slowdown", "warmup"}
    for name in whole.summary.keys() - over_jobs:
        assert rest.summary[name] == whole.summary[name], name
    assert whole.after_warmup(100).summary == rest.summary
    assert "warmup" not in whole.summary


def test_jobs_that_never_ran_are_counted_as_before() -> None:
    jobs = sojourn.lublin(50, 64, load=0.9, seed=1)
    cancel = [{"time": float(jobs.submit[k]), "kind": "cancel", "job": int(jobs.job[k])}
              for k in (3, 30)]  # fmt: skip
    whole, rest = (sojourn.simulate(jobs, 64, "easy", events=cancel, warmup=n) for n in (0, 10))
    known = whole.jobs["wait"].iloc[10:].dropna()
    assert rest.summary["wait"]["mean"] == pytest.approx(known.mean(), rel=1e-12)
    assert rest.summary["completed"] == whole.summary["completed"]


@pytest.mark.parametrize("wrong", [-1, 1.5, "10", True])
def test_what_is_no_number_of_jobs(wrong: object) -> None:
    jobs = sojourn.lublin(20, 64, seed=1)
    with pytest.raises(OptionError, match="give a number of jobs, 0 or more"):
        sojourn.simulate(jobs, 64, warmup=wrong)


def test_some_jobs_must_be_left() -> None:
    jobs = sojourn.lublin(20, 64, seed=1)
    with pytest.raises(OptionError, match="warmup 20: there are 20 jobs, and none would be left"):
        sojourn.simulate(jobs, 64, warmup=20)


def test_a_share_of_the_jobs() -> None:
    by_share, by_number = (Scenario.from_mapping(queue(warmup=n)) for n in (0.25, 250))
    seed = 3
    told = [each.summary(each.run(each.workload(seed), seed)) for each in (by_share, by_number)]
    assert told[0] == told[1]
    assert told[0]["wait_mean"] == pytest.approx(waits(by_share, seed)[250:].mean(), rel=1e-12)


def test_a_sweep_cuts_all_runs_alike() -> None:
    """By the waits of the first ten replications of its first point."""
    scenario = Scenario.from_mapping(queue(warmup="mser"))
    study = sweep(scenario, {"policy.name": ["fcfs", "ljf"]}, 12, workers=1, seed=7)
    plain = Scenario.from_mapping(queue())
    first = np.array([waits(plain, replication_seed(7, k)) for k in range(10)])
    cut = mser(first).cut
    assert cut > 0
    assert study.plan.scenario.keys.workload.warmup == cut
    last = study.table[study.table["policy.name"] == "fcfs"].iloc[-1]
    expected = waits(plain, int(last["seed"]))[cut:].mean()
    assert last["wait_mean"] == pytest.approx(expected, rel=1e-12)
    again = sweep(scenario, {"policy.name": ["fcfs", "ljf"]}, 12, workers=1, seed=7)
    assert again.table.equals(study.table)


def test_a_search_cuts_all_runs_alike(tmp_path) -> None:
    optimise(
        small_scenario(workload={"model": "lublin", "jobs": 200, "load": 0.7, "warmup": "mser"}),
        {"control.k": "0:1e6"},
        ["wait_mean", "energy_kwh"],
        population=4,
        generations=1,
        replications=2,
        workers=1,
        out=tmp_path / "search",
    )
    kept = read_scenario(tmp_path / "search" / "scenario.toml").keys.workload.warmup
    assert isinstance(kept, int)


def test_a_single_run_is_cut_by_itself() -> None:
    scenario = Scenario.from_mapping(queue(warmup="mser"))
    result = scenario.run(scenario.workload(5), 5)
    assert result.options.warmup == mser(waits(scenario, 5)).cut


def test_too_short_for_mser() -> None:
    with pytest.raises(OptionError, match="too few to find a warm-up in"):
        sweep(queue(warmup="mser", jobs=40), {}, 3, workers=1)


def test_the_option_is_saved(tmp_path, capsys) -> None:
    log, saved = tmp_path / "log.swf", tmp_path / "s.toml"
    main(["generate", "lublin", "--jobs", "60", "--procs", "64", "--out", str(log)])
    capsys.readouterr()
    main(["simulate", str(log), "--warmup", "20", "--save-scenario", str(saved), "--json"])
    told = json.loads(capsys.readouterr().out)
    main(["run", str(saved), "--json"])
    again = json.loads(capsys.readouterr().out)
    assert told["warmup"] == 20
    assert again["wait"] == told["wait"]
