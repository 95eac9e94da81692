"""Studies that cannot be: one line, exit code 2, and no folder left behind."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from studies import small_scenario

from sojourn import Cluster, Node, Server, lublin, parse_cluster, simulate, write_swf
from sojourn.cli import main
from sojourn.cluster.states import PowerStates, SleepState
from sojourn.errors import InputError, OptionError
from sojourn.measures.registry import all_measures, flat_summary
from sojourn.study import Grid, Range, optimise, sweep
from sojourn.study import execute as execution
from sojourn.study.plan import plan_runs

Verb = Callable[..., tuple[int, str, str]]
AIM = ("--minimise", "wait_mean")
K = ("--vary", "control.k=0:1e5", *AIM)


@pytest.fixture
def verb(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Verb:
    """Runs a command in a folder with scenarios of a model, of a log and of a missing one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sojourn.study.dask_runner._CONNECT", 0.5)
    write_swf(small_scenario(jobs=2000).workload(3), tmp_path / "log.swf")
    logs = {name: small_scenario(workload={"log": f"{name}.swf"}) for name in ("log", "none")}
    for name, scenario in {"model": small_scenario(), **logs}.items():
        (tmp_path / f"{name}.toml").write_text(scenario.as_toml())

    def call(name: str, *arguments: object) -> tuple[int, str, str]:
        capsys.readouterr()
        code = main([name, *map(str, arguments)])
        return code, *capsys.readouterr()

    return call


@pytest.mark.parametrize(
    ("command", "part"),
    [
        (("sweep", "model.toml", "--set", "cluster.procs=0:1e9999999:1e-9999999"), "too large or"),
        (("sweep", "model.toml", "--set", "control.k=1,9223372036854775808"), "of 64 bits"),
        (("sweep", "model.toml", "--set", "policy.name=easy,\udcff"), r"\udcff' is no text"),
        (("optimise", "model.toml", "--vary", "policy.name=easy,\udcff", *AIM), "is no text"),
        (("sweep", "model.toml", "--replications", "99999999999"), "at most 10,000,000"),
        (("optimise", "model.toml", *K, "--generations", "9999999999"), "at most 10,000,000"),
        (("optimise", "model.toml", *K, "--confirm", "9999999999"), "at most 10,000,000"),
        (("sweep", "model.toml", "--dask", "tls://127.0.0.1:1"), "no scheduler answers (TLS"),
        (("sweep", "model.toml", "--dask", "tcp://127.0.0.1:1"), "no scheduler answers"),
        (("optimise", "model.toml", *K, "--dask", "tcp://127.0.0.1:1"), "no scheduler answers"),
        (("sweep", "model.toml", "--dask", "tcp://a:1", "--workers", "2"), "or a Dask cluster"),
        (("optimise", "model.toml", *K, "--dask", "tcp://a:1", "--workers", "2"), "or a Dask"),
        (("optimise", "model.toml", *K, "--seed", "99999999999999999999"), "seed 99999999999999"),
        (("sweep", "model.toml", "--seed", "99999999999999999999"), "seed 99999999999999"),
        (("optimise", "model.toml", "--vary", "workload.load=0.1:1e400", *AIM), "finite"),
        (("optimise", "model.toml", "--vary", "control.k=1e-300:1e300:log", *AIM), "too far"),
        (("optimise", "model.toml", *K, "--reference", "nan"), "reference nan: give finite"),
        (("optimise", "model.toml", "--vary", "policy.placement=random,fastest", *AIM), "counted"),
        (("sweep", "none.toml", "--set", "workload.growth=1,2"), "none.swf: no such file"),
        (("sweep", "none.toml", "--set", "policy.name=fcfs,easy"), "none.swf: no such file"),
        (("sweep", "log.toml", "--set", "policy.order=no.py:f,not.py:g"), "no.py: no such file"),
        (("optimise", "none.toml", *K), "none.swf: no such file"),
        (("optimise", "log.toml", "--vary", "policy.order=no.py:f,not.py:g", *AIM), "no.py: no"),
        (("optimise", "log.toml", *K, "--confirm", "3"), "confirm = 3: nothing in the scenario"),
        (("sweep", "model.toml", "--set", "control.k=0,1", "--against", "control.j=0"), "did you"),
        (("sweep", "model.toml", "--set", "control.k=0,1", "--against", "control.k=2"), "no point"),
    ],
)
def test_nothing_is_left_of_what_cannot_be(
    verb: Verb, tmp_path: Path, command: tuple[str, ...], part: str
) -> None:
    out = tmp_path / "deep" / "study"
    code, told, err = verb(*command, "--out", out)
    assert (code, told) == (2, "")
    assert len(err.splitlines()) == 1
    assert part in err
    assert not (tmp_path / "deep").exists()


@pytest.mark.parametrize(
    ("options", "part"),
    [
        ({"grid": ["control.k"]}, r"a grid of \['control.k'\]: give values by key"),
        ({"grid": 5}, "a grid of 5"),
        ({"grid": {5: [1]}}, "a key of the study is 5"),
        ({"grid": {"control.k": [2**63]}}, "control.k: a number of 64 bits"),
        ({"grid": [{"control.rates": [1, -(2**70)]}]}, "control.rates: a number of 71 bits"),
        ({"seed": "a"}, "seed a: give a whole number"),
        ({"client": object()}, "client is a object; give a Dask client"),
    ],
)
def test_what_python_may_ask_for(options: dict[str, Any], part: str, tmp_path: Path) -> None:
    given: dict[str, Any] = {"scenario": small_scenario(), "grid": {"control.k": [0]}, **options}
    with pytest.raises(OptionError, match=part):
        sweep(**given, out=tmp_path / "study")
    assert not (tmp_path / "study").exists()


def test_ranges_made_in_python() -> None:
    for low, high in ((1.0, 1.0), (0.0, float("inf")), (0.0, float("nan"))):
        with pytest.raises(OptionError, match=r"^control\.k: "):
            Range("control.k", low, high)
    with pytest.raises(OptionError, match="whole numbers"):
        Range("cluster.procs", 0.0, 1e19, whole=True)


def test_a_folder_that_was_there_stays_as_it_was(verb: Verb, tmp_path: Path) -> None:
    (tmp_path / "study").mkdir()
    (tmp_path / "study" / "mine").write_text("")
    command = ("optimise", "model.toml", "--vary", "policy.placement=random,fastest", *AIM)
    assert verb(*command, "--out", tmp_path / "study")[0] == 2
    assert os.listdir(tmp_path / "study") == ["mine"]


def test_lists_can_be_sampled(verb: Verb, tmp_path: Path) -> None:
    options = ("--sample", "lhs:4", "--set", "control.rates=[0.5,1.0],[0.6,1.0]", "--workers", 1)
    assert verb("sweep", "model.toml", *options, "--out", tmp_path / "study")[0] == 0
    table = pd.read_parquet(tmp_path / "study" / "runs")
    assert sorted(table["control.rates"]) == ["[0.5, 1.0]", "[0.6, 1.0]"]


def test_a_file_that_only_some_points_miss_fails_there(verb: Verb, tmp_path: Path) -> None:
    options = ("--set", "policy.order=no.py:f,fcfs", "--workers", 1, "--out", tmp_path / "study")
    code, told, _ = verb("sweep", "model.toml", *options)
    assert code == 0
    assert "1 of 2 runs failed" in told
    vary = ["policy.order=fcfs,no.py:f", "policy.backfill_order=no.py:f,sjf"]
    few = {"population": 4, "generations": 1, "replications": 1, "confirm": 0, "workers": 1}
    front = optimise("model.toml", vary, "wait_mean", **few)
    assert front.points[0].values == {"policy.order": "fcfs", "policy.backfill_order": "sjf"}


def test_a_generation_of_which_each_run_fails_tells_why(
    verb: Verb, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("by 0")

    monkeypatch.setattr("sojourn.run.simulate.simulate", broken)
    code, _, err = verb("optimise", "model.toml", *K, "--population", 4, "--workers", 1)
    assert code == 1
    assert err.endswith("could be run; the first error: ZeroDivisionError: by 0\n")


@pytest.mark.parametrize(
    "command",
    [
        ("sweep", "model.toml", "--replications", "50", "--measures", "wait_men"),
        ("sweep", "model.toml", "--replications", "50", "--precision", "wait_men=0.01"),
        ("optimise", "model.toml", "--vary", "control.k=0:1e5", "--minimise", "wait_men"),
    ],
)
def test_a_name_that_no_measure_has_costs_no_run(
    verb: Verb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    monkeypatch.setattr(execution.Worker, "run", lambda self, run: pytest.fail("it was run"))
    out = tmp_path / "study"
    code, told, err = verb(*command, "--workers", 1, "--out", out)
    assert (code, told) == (2, "")
    assert "no measure is called 'wait_men'; did you mean 'wait_mean'?" in err
    assert not out.exists()


def test_every_measure_of_a_run_is_known_before_it() -> None:
    jobs = lublin(30, 12, load=0.8, seed=1)
    bill = {"price": 0.2, "carbon": 100.0}
    down = {"kind": "down", "time": 5, "until": 9, "procs": 1}
    server = Server("made", 12, ops=1.0, watts=(90, 190), states=PowerStates(failed_watts=20))
    failing = Cluster.of([Node(f"n{i}", server) for i in range(4)])
    nap = SleepState("nap", 5.0, enter=1.0, leave=30.0)
    sleepy = Cluster.of([Server("s", 12, ops=1.0, watts=(90, 190), states=PowerStates((nap,)))] * 2)
    runs = (
        simulate(jobs, 12, events=[down], **bill),
        simulate(jobs, parse_cluster("2 x X5670"), **bill),
        simulate(jobs.replace(begin=jobs.submit + 9.0), parse_cluster("2 x (8 cores, 1 gpu)")),
        simulate(jobs, 12, defer="window:9h", **{**bill, "price": "0.1, 8:0.2"}),
        simulate(jobs, failing, failures="mtbf=9d,repair=1d", checkpoint="daly"),
        simulate(jobs, sleepy, sleep="idle:60"),
    )
    names = {name for run in runs for name in flat_summary(run.summary)}
    assert {name for name in names if not name.startswith("rate_share_")} == {
        measure.name for measure in all_measures()
    }


@pytest.mark.parametrize(
    "command",
    [
        ("sweep", "model.toml", "--replications", "50", "--measures", "carbon_kg"),
        ("sweep", "model.toml", "--replications", "50", "--precision", "carbon_kg=0.01"),
        ("optimise", "model.toml", "--vary", "control.k=0:1e5", "--minimise", "carbon_kg"),
    ],
)
def test_a_measure_that_these_runs_have_not_costs_one_run(
    verb: Verb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    monkeypatch.setattr("sojourn.study.runners._TOGETHER", -1.0)
    ran, one = [], execution.Worker.run
    monkeypatch.setattr(
        execution.Worker, "run", lambda self, run: ran.append(run.run_id) or one(self, run)
    )
    out = tmp_path / "study"
    code, told, err = verb(*command, "--workers", 1, "--out", out)
    assert (code, told) == (2, "")
    assert "no measure is called 'carbon_kg'" in err
    assert len(ran) == 1
    assert pd.read_parquet(out / "runs")["run_id"].tolist() == ran
    assert verb(*command, "--workers", 1, "--out", out)[0] == 2
    assert len(ran) == 1  # What is there tells as well.


def test_measures_that_only_some_points_have_can_be_asked_for() -> None:
    grid = {"control.rates": [[0.6, 1.0], [0.7, 1.0]]}
    study = sweep(small_scenario(), grid, 2, workers=1, measures=["rate_share_0.7"])
    assert "rate_share_0.7" in study.measures


def test_replications_of_a_log_in_a_folder_of_one(verb: Verb, tmp_path: Path) -> None:
    options = ("--set", "policy.name=fcfs,easy", "--workers", 1, "--out", tmp_path / "study")
    assert verb("sweep", "log.toml", *options)[0] == 0
    code, _, err = verb("sweep", "log.toml", *options, "--replications", 3)
    assert code == 2
    assert 'holds runs of this scenario as it is; now it is run with workload.resample = "' in err
    assert err.endswith("name another folder\n")
    other = (*options[:-1], tmp_path / "other")
    assert verb("sweep", "log.toml", *other, "--replications", 3)[0] == 0
    code, _, err = verb("sweep", "log.toml", *other)
    assert code == 2
    assert "added to it; now it is run as it is" in err


def test_a_precision_that_was_not_reached_is_told(verb: Verb) -> None:
    options = ("--set", "control.k=0,1e5", "--replications", 3, "--most", 4, "--workers", 1)
    told = verb("sweep", "model.toml", *options, "--precision", "wait_mean=0.001")[1]
    assert "wait_mean is not known to 0.1 % at 2 of 2 points; allow more" in told
    told = verb("sweep", "model.toml", *options, "--precision", "jobs=0.1")[1]
    assert "not known" not in told


def test_points_where_nothing_is_random_may_be_among_others(tmp_path: Path) -> None:
    write_swf(small_scenario().workload(3), tmp_path / "log.swf")
    scenario = small_scenario(workload={"log": str(tmp_path / "log.swf")})
    grid = Grid.of({"control.k": [0.0]})
    with pytest.raises(InputError, match="nothing in the scenario is random"):
        plan_runs(scenario, grid, 2)
    assert len(plan_runs(scenario, grid, 2, alike=True)) == 2


def test_a_search_among_random_and_other_points(tmp_path: Path) -> None:
    write_swf(small_scenario(jobs=400).workload(3), tmp_path / "log.swf")
    scenario = {
        "workload": {"log": str(tmp_path / "log.swf")},
        "cluster": {"nodes": "8 x X5670"},
    }
    few: dict[str, Any] = {"population": 6, "generations": 3, "workers": 1}
    vary = ["policy.placement=random,first-fit,fastest"]
    for options in ({"noisy": True, "replications": 4}, {"reference": [1e9]}):
        front = optimise(scenario, vary, "wait_mean", **few, **options)
        assert front.evaluated == 3
        assert front.points


def test_what_is_varied_may_be_what_is_random(tmp_path: Path) -> None:
    write_swf(small_scenario(jobs=2000).workload(3), tmp_path / "log.swf")
    scenario = small_scenario(workload={"log": str(tmp_path / "log.swf")})
    few: dict[str, Any] = {"population": 4, "generations": 1, "workers": 1}
    vary = ["workload.resample=day,week"]
    front = optimise(scenario, vary, "wait_mean", **few, replications=2, confirm=4)
    assert front.points[0].objectives["wait_mean"].n == 4
    assert optimise(scenario, vary, "wait_mean", **few).runs > front.evaluated * 5
