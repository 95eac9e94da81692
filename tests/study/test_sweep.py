"""Sweeps: plans, the store, the verb, and the same rows wherever runs are carried out."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from studies import small_scenario

from sojourn.cli import main
from sojourn.errors import InputError, OptionError, RunError
from sojourn.study import Grid, Precision, read_runs, sweep
from sojourn.study import execute as execution
from sojourn.study import store as storing
from sojourn.study.plan import StudyPlan, plan_runs, replication_seed, spelt

TWO = {"policy.name": ["fcfs", "easy"]}


def test_a_run_is_that_of_the_scenario() -> None:
    scenario = small_scenario()
    study = sweep(scenario, {**TWO, "control.k": [1e4, 1e5]}, 2, workers=1, seed=5)
    row = study.table.iloc[5]
    assert (row["policy.name"], row["control.k"], row["replication"]) == ("easy", 1e4, 1)
    assert row["seed"] == replication_seed(5, 1)
    alone = scenario.with_values({"policy.name": "easy", "control.k": 1e4})
    seed = int(row["seed"])
    told = alone.summary(alone.run(alone.workload(seed), seed))
    assert {name: row[name] for name in told} == told
    assert list(study.table.columns) == [
        *("run_id", "policy.name", "control.k", "replication", "seed"),
        *told,
        *("status", "error"),
    ]


def test_replications_differ_and_points_share_their_jobs() -> None:
    table = sweep(small_scenario(), TWO, 3, workers=1).table
    by_point = table.groupby("policy.name")["service_mean"].apply(list)
    assert len(set(table["seed"])) == 3
    assert len(set(table["mean_workload"])) == 6
    assert table["jobs"].unique() == [200]
    assert by_point["fcfs"] != by_point["easy"]  # they run at other rates
    plain = sweep(small_scenario(control={"kind": "constant"}), TWO, 3, workers=1).table
    by_point = plain.groupby("policy.name")["service_mean"].apply(list)
    assert by_point["fcfs"] == by_point["easy"]


def test_names_depend_on_what_is_computed_and_on_nothing_else() -> None:
    scenario, grid = small_scenario(), Grid.of(TWO)
    names = [run.run_id for run in plan_runs(scenario, grid, 2).runs]
    assert len(set(names)) == 4
    titled = scenario.with_values({"title": "another", "run.seed": 9})
    assert [run.run_id for run in plan_runs(titled, grid, 2).runs] == names
    assert [run.run_id for run in plan_runs(scenario, grid, 3).runs][:2] == names[:2]
    listed = Grid.of([{"policy.name": "easy"}, {"policy.name": "fcfs"}])
    assert [run.run_id for run in plan_runs(scenario, listed, 2).runs] == names[2:] + names[:2]
    for other in (
        plan_runs(scenario, grid, 2, seed=1),
        plan_runs(scenario.with_value("workload.load", 0.6), grid, 2),
    ):
        assert not {run.run_id for run in other.runs} & set(names)


def test_points_get_their_first_replication_first_and_share_jobs() -> None:
    grid = Grid.of({"workload.load": [0.5, 0.6], "policy.name": ["fcfs", "easy"]})
    plan = plan_runs(small_scenario(), grid, 2)
    runs = plan.ordered()
    assert [run.replication for run in runs] == [0] * 4 + [1] * 4
    assert [run.draw for run in runs[:2]] == [runs[0].draw] * 2
    assert len({run.draw for run in runs}) == 4
    assert plan.ordered({runs[0].run_id}) == runs[1:]


def test_what_is_there_is_not_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran = []
    one = execution.Worker.run
    monkeypatch.setattr(
        execution.Worker, "run", lambda self, run: ran.append(run.run_id) or one(self, run)
    )
    first = sweep(small_scenario(), TWO, 2, out=tmp_path, workers=1)
    before = sorted((tmp_path / "runs").iterdir())
    again = sweep(small_scenario(), TWO, 2, out=tmp_path, workers=1)
    assert (len(ran), first.new, again.new) == (4, 4, 0)
    assert sorted((tmp_path / "runs").iterdir()) == before
    pd.testing.assert_frame_equal(first.table, again.table)
    more = {"policy.name": ["fcfs", "easy", "sjf"]}
    wider = sweep(small_scenario(), more, 3, out=tmp_path, workers=1)
    assert (wider.new, len(wider.table), len(set(ran))) == (5, 9, 9)
    assert list(wider.table["policy.name"]) == ["fcfs"] * 3 + ["easy"] * 3 + ["sjf"] * 3
    narrow = sweep(small_scenario(), TWO, 1, out=tmp_path, workers=1)
    # What was asked for comes first; nothing that is known is thrown away.
    assert (narrow.done, len(narrow.table), len(list(narrow.points()))) == (2, 9, 2)


def test_a_run_that_fails_is_told_and_stops_nothing(tmp_path: Path) -> None:
    grid = {"control.rates": [[0.6, 1.0], [1.0, 0.6]]}
    study = sweep(small_scenario(), grid, 2, out=tmp_path, workers=1)
    assert (study.done, study.failed) == (2, 2)
    table = read_runs(tmp_path).to_pandas()
    assert list(table["status"]) == ["done", "done", "failed", "failed"]
    assert list(table["control.rates"]) == ["[0.6, 1.0]"] * 2 + ["[1.0, 0.6]"] * 2
    assert table["error"].iloc[2] == study.errors[0]
    assert "\n" not in study.errors[0]
    assert table["wait_mean"].isna().tolist() == [False, False, True, True]
    assert sweep(small_scenario(), grid, 2, out=tmp_path, workers=1).new == 0
    assert sweep(small_scenario(), grid, 2, out=tmp_path, workers=1, retry_failed=True).new == 2
    good, bad = study.points(["wait_mean"])
    assert (good.n, good.failed, bad.n, bad.failed) == (2, 0, 0, 2)
    assert bad.measures == {}


def test_an_unforeseen_error_is_told_with_its_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("in the\nmiddle")

    monkeypatch.setattr("sojourn.run.simulate.simulate", broken)
    assert sweep(small_scenario(), TWO, 1, workers=1).errors == ["ZeroDivisionError: in the middle"]


def test_a_failed_run_that_succeeds_later_counts_as_done(tmp_path: Path) -> None:
    plan = plan_runs(small_scenario(), Grid.of({}), 1)
    (run,) = plan.runs
    good = {"run_id": run.run_id, "status": "done", "error": None, "measures": {"wait_mean": 1.0}}
    bad = execution.failed_row(run, "no luck")
    for rows in ([good, bad], [bad, good]):
        with storing.Store(tmp_path / str(id(rows))) as store:
            for row in rows:
                store.add(plan, [row])
            assert store.finished(failed=False) == {run.run_id}
            assert store.compact([]).to_pylist() == [
                {
                    "run_id": run.run_id,
                    "replication": 0,
                    "seed": run.seed,
                    "wait_mean": 1.0,
                    "status": "done",
                    "error": None,
                }
            ]


def test_columns_of_other_types_are_put_together(tmp_path: Path) -> None:
    scenario = small_scenario()
    (run,) = plan_runs(scenario, Grid.of({}), 1).runs
    with storing.Store(tmp_path) as store:

        def add(*values: object) -> list[object]:
            runs = tuple(run._replace(run_id=spelt(each), values=(each,)) for each in values)
            plan = StudyPlan(scenario, ("k",), runs)
            for each in runs:
                store.add(plan, [execution.failed_row(each, "")])
            return store.table(None).column("k").to_pylist()

        assert add(1, 2) == [1, 2]
        assert add(2.5, 3) == [1.0, 2.0, 2.5, 3.0]
        assert add("inf", 4, True) == ["1", "2", "2.5", "3.0", "inf", "4", "true"]
        assert add([0.6, 1.0])[-1] == "[0.6, 1.0]"


def test_no_half_written_part_is_read_and_none_is_left(tmp_path: Path) -> None:
    sweep(small_scenario(), TWO, 1, out=tmp_path, workers=1)
    left = tmp_path / "runs" / ".sojourn-killed" / "new" / "part-0.parquet"
    left.parent.mkdir(parents=True)
    left.write_bytes(b"PAR1 half")
    assert read_runs(tmp_path).num_rows == 2
    assert sweep(small_scenario(), TWO, 1, out=tmp_path, workers=1).done == 2
    assert not left.parents[1].exists()


def test_a_broken_part_is_named(tmp_path: Path) -> None:
    sweep(small_scenario(), TWO, 1, out=tmp_path, workers=1)
    (part,) = (tmp_path / "runs").iterdir()
    part.write_bytes(part.read_bytes()[:100])
    with pytest.raises(
        OptionError, match=f"{part.name}: cannot be read .* its runs are done again"
    ):
        sweep(small_scenario(), TWO, 1, out=tmp_path, workers=1)
    pq.write_table(pa.table({"a": [1]}), part)
    with pytest.raises(OptionError, match="not the runs of a study"):
        read_runs(tmp_path)
    # The folder was let go of each time.
    part.unlink()
    assert sweep(small_scenario(), TWO, 1, out=tmp_path, workers=1).new == 2


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"scenario": small_scenario(jobs=300)}, "holds a study with another scenario"),
        ({"seed": 1}, "holds a study with seed 0, not 1"),
        ({"grid": {"control.k": [1]}}, "holds a study with keys policy.name, not control.k"),
    ],
)
def test_a_folder_holds_one_study(change: dict[str, Any], part: str, tmp_path: Path) -> None:
    first: dict[str, Any] = {"scenario": small_scenario(), "grid": TWO, "seed": 0}
    sweep(**first, out=tmp_path, workers=1)
    with pytest.raises(OptionError, match=part):
        sweep(**{**first, **change}, out=tmp_path, workers=1)


def test_a_folder_of_another_version(tmp_path: Path) -> None:
    sweep(small_scenario(), TWO, out=tmp_path, workers=1)
    path = tmp_path / "study.json"
    told = json.loads(path.read_text())
    path.write_text(json.dumps({**told, "version": "0.0.1"}))
    with pytest.raises(OptionError, match=r"holds a study with version 0\.0\.1"):
        sweep(small_scenario(), TWO, out=tmp_path, workers=1)
    path.write_text("{}")
    with pytest.raises(OptionError, match="not written by sojourn"):
        sweep(small_scenario(), TWO, out=tmp_path, workers=1)


def test_a_full_disk_is_told_and_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sojourn.study.runners._TOGETHER", -1.0)
    whole = pq.write_table
    left = iter([True, True, False])

    def write(*arguments: Any, **options: Any) -> None:
        if not next(left):
            raise OSError(28, os.strerror(28))
        whole(*arguments, **options)

    monkeypatch.setattr(pq, "write_table", write)
    with pytest.raises(RunError, match=r"runs: cannot be written .No space left on device"):
        sweep(small_scenario(), TWO, 2, out=tmp_path, workers=1)
    monkeypatch.setattr(pq, "write_table", whole)
    assert read_runs(tmp_path).num_rows == 2
    assert sweep(small_scenario(), TWO, 2, out=tmp_path, workers=1).new == 2


def test_replications_until_the_interval_is_narrow_enough(tmp_path: Path) -> None:
    precision = Precision("utilisation", 0.04, most=60)
    study = sweep(small_scenario(), TWO, 5, out=tmp_path, workers=1, precision=precision)
    counts = [point.n for point in study.points()]
    assert max(counts) > 5
    for point in study.points(["utilisation"]):
        found = point.measures["utilisation"]
        assert found.relative_half_width <= 0.04 or point.n == 60
    assert sweep(
        small_scenario(), TWO, 5, out=tmp_path, workers=1, precision=precision
    ).table.equals(study.table)
    with pytest.raises(OptionError, match="precision"):
        Precision("wait_mean", 0.0)
    with pytest.raises(OptionError, match="no measure is called 'wait_men'; did you mean"):
        sweep(small_scenario(), TWO, 5, workers=1, precision=Precision("wait_men", 0.1))


def test_intervals_of_the_points() -> None:
    study = sweep(small_scenario(), TWO, 4, workers=1)
    fcfs = study.table[study.table["policy.name"] == "fcfs"]["wait_mean"].to_numpy()
    found = next(study.points()).measures["wait_mean"]
    assert found.estimate == pytest.approx(fcfs.mean())
    # t of 3 degrees of freedom at 97.5 %: 3.182446
    assert found.half_width == pytest.approx(3.182446 * fcfs.std(ddof=1) / 2, rel=1e-6)


def test_draws_of_one_log_spread_as_they_do(tmp_path: Path, verb: Verb) -> None:
    from sojourn import write_swf

    write_swf(small_scenario(jobs=2000).workload(3), tmp_path / "log.swf")
    workload = {"log": "log.swf", "resample": "day"}
    scenario = small_scenario(workload=workload)
    (tmp_path / "scenario.toml").write_text(scenario.as_toml())
    study = sweep(tmp_path / "scenario.toml", TWO, 8, workers=1)
    assert study.errors == []
    waits = {
        name: rows["wait_mean"].to_numpy() for name, rows in study.table.groupby("policy.name")
    }
    fcfs = next(study.points(["wait_mean"]))
    # t of 7 degrees of freedom at 97.5 %: 2.364624; no root of 8 in it.
    width = 2.364624 * waits["fcfs"].std(ddof=1)
    assert fcfs.measures["wait_mean"].half_width == pytest.approx(width, rel=1e-6)
    assert fcfs.measures["wait_mean"].method == "resampled"
    *_, change = study.changes({"policy.name": "fcfs"}, ["wait_mean"])
    share = waits["easy"].mean() / waits["fcfs"].mean()
    left = (waits["easy"] - share * waits["fcfs"]) / waits["fcfs"].mean()
    found, half = change.measures["wait_mean"], 2.364624 * left.std(ddof=1)
    assert found.estimate == pytest.approx(share - 1)
    assert found.high == pytest.approx(share - 1 + half, rel=1e-6)
    # Waits fall by all of it at the most.
    assert found.low == pytest.approx(max(share - 1 - half, -1.0), rel=1e-6)
    with pytest.raises(OptionError, match="all draws are of one log"):
        sweep(tmp_path / "scenario.toml", TWO, 8, precision=Precision("wait_mean", 0.1))
    code, told, _ = verb("sweep", "--replications", 3, "--workers", 1)
    assert code == 0
    assert "draws of one log (by day): more of them do not narrow it" in told


def test_a_measure_that_is_infinite_is_left_out() -> None:
    study = sweep(small_scenario(), TWO, 2, workers=1)
    column = study.rows.column_names.index("slowdown_mean")
    values = pa.array([float("inf")] * study.rows.num_rows)
    rows = study.rows.set_column(column, "slowdown_mean", values)
    point = next(replace(study, rows=rows).points())
    assert "slowdown_mean" not in point.measures
    assert "wait_mean" in point.measures


def test_changes_are_of_pairs_that_share_their_jobs(verb: Verb, tmp_path: Path) -> None:
    grid = {"policy.name": ["fcfs", "easy"], "control.k": [0, 1e5]}
    study = sweep(small_scenario(), grid, 6, workers=1, out=tmp_path / "study")
    same, _, other, _ = study.changes({"policy.name": "fcfs"}, ["wait_mean"])
    assert (same.measures["wait_mean"].estimate, same.measures["wait_mean"].half_width) == (0, 0)
    table = study.table.set_index(["policy.name", "control.k", "replication"]).sort_index()
    table = table["wait_mean"]
    expected = table["easy", 0].mean() / table["fcfs", 0].mean() - 1
    assert other.values == {"policy.name": "easy", "control.k": 0}
    assert other.measures["wait_mean"].estimate == pytest.approx(expected)
    alone = next(study.points(["wait_mean"])).measures["wait_mean"]
    assert other.measures["wait_mean"].half_width < alone.relative_half_width
    with pytest.raises(OptionError, match=r"'policy\.nam' is not varied; did you mean"):
        next(study.changes({"policy.nam": "fcfs"}))
    with pytest.raises(OptionError, match=r"no point has policy\.name=sjf"):
        next(study.changes({"policy.name": "sjf"}))
    sets = ("--set", "policy.name=fcfs,easy", "--set", "control.k=0,1e5", "--replications", 6)
    out = ("--out", tmp_path / "study", "--against", "policy.name=fcfs")
    code, told, _ = verb("sweep", *sets, *out, "--measures", "wait_mean")
    assert code == 0
    found = other.measures["wait_mean"]
    assert f"{100 * found.estimate:+.1f} % ± {100 * found.half_width:.1f}" in told.splitlines()[4]
    answer = json.loads(verb("sweep", *sets, *out, "--json")[1])
    assert answer["points"][2]["changes"]["wait_mean"]["estimate"] == found.estimate


@pytest.mark.parametrize(
    ("options", "part"),
    [
        ({"replications": 0}, "replications = 0: at least 1"),
        ({"replications": 2.5}, "replications = 2.5: give a whole number"),
        ({"replications": "2"}, "replications = '2': give a whole number"),
        ({"workers": 0}, "workers = 0: at least 1"),
        ({"workers": 2, "client": "tcp://127.0.0.1:1"}, "give them or a Dask cluster"),
        ({"grid": {"polcy.name": ["fcfs"]}}, "did you mean 'policy"),
        ({"grid": {"run.seed": [1, 2]}}, "'run.seed' changes no measure; .* give replications"),
        ({"grid": {"title": ["one", "two"]}}, "'title' changes no measure"),
        ({"seed": -1}, "seed -1: give a whole number"),
        ({"scenario": small_scenario(workload={"log": "x.swf"}), "replications": 2}, "no such"),
        ({"precision": Precision("wait_mean", 0.1), "replications": 1}, "one replication says"),
    ],
)
def test_what_cannot_be_asked_for(options: dict[str, Any], part: str) -> None:
    given: dict[str, Any] = {"scenario": small_scenario(), "grid": TWO, "workers": 1, **options}
    if "client" in options or "workers" in options:
        given |= options
    with pytest.raises(InputError, match=part):
        sweep(**given)


def test_progress_tells_failures_and_the_best(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sojourn.study.runners._TOGETHER", -1.0)
    told = []
    grid = {"control.rates": [[0.6, 1.0], [1.0, 0.6]], "control.k": [0.0, 1e5]}
    study = sweep(small_scenario(), grid, workers=1, progress=told.append)
    assert [(t.done, t.total, t.failed, t.new) for t in told] == [
        *((1, 4, 0, 1), (2, 4, 0, 1)),
        *((3, 4, 1, 1), (4, 4, 2, 1)),
    ]
    best = study.table["wait_mean"].min()
    assert told[-1].best == f"wait_mean {best:.4g} at control.rates=[0.6, 1.0] control.k=0"


def test_interrupted_it_keeps_what_is_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = execution.Worker.run
    ran = []

    def run(self: execution.Worker, run: Any) -> Any:
        if len(ran) == 3:
            raise KeyboardInterrupt
        ran.append(run)
        return one(self, run)

    monkeypatch.setattr(execution.Worker, "run", run)
    study = sweep(small_scenario(), TWO, 4, out=tmp_path, workers=1)
    assert study.interrupted
    assert (study.new, len(study.table), read_runs(tmp_path).num_rows) == (3, 3, 3)


Verb = Callable[..., tuple[int, str, str]]


@pytest.fixture
def verb(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Verb:
    scenario = tmp_path / "scenario.toml"
    scenario.write_text(small_scenario().as_toml())

    def call(name: str, *arguments: object) -> tuple[int, str, str]:
        capsys.readouterr()
        code = main([name, str(scenario), *map(str, arguments)])
        return code, *capsys.readouterr()

    return call


def test_the_verb_writes_the_dataset_and_tells_intervals(verb: Verb, tmp_path: Path) -> None:
    out = tmp_path / "study"
    options = ("--set", "control.k=0:2e5:1e5", "--set", "policy.name=fcfs,easy")
    code, told, err = verb("sweep", *options, "--replications", 3, "--out", out, "--workers", 1)
    assert (code, err) == (0, "")
    lines = told.splitlines()
    assert lines[1].split()[:3] == ["control.k", "policy.name", "n"]
    assert lines[2].split()[:3] == ["0", "fcfs", "3"]
    assert " ± " in lines[2]
    assert lines[-1] == f"18 runs, in {out / 'runs'}"
    table = pd.read_parquet(out / "runs")
    assert len(table) == 18
    study = json.loads((out / "study.json").read_text())
    assert study["keys"] == ["control.k", "policy.name"]
    assert study["options"]["set"] == ["control.k=0:2e5:1e5", "policy.name=fcfs,easy"]
    assert (study["command"], study["replications"], study["seed"]) == ("sweep", 3, 0)
    code, told, _ = verb("sweep", *options, "--replications", 3, "--out", out, "--json")
    answer = json.loads(told)
    assert (answer["new"], answer["runs"], answer["done"]) == (0, 18, 18)
    mean = table[(table["control.k"] == 1e5) & (table["policy.name"] == "easy")]["wait_mean"].mean()
    point = answer["points"][3]
    assert point["values"] == {"control.k": 1e5, "policy.name": "easy"}
    assert point["measures"]["wait_mean"]["estimate"] == pytest.approx(mean)
    assert verb("run", "--seed", table["seed"][0], "--json")[0] == 0


def test_a_saved_study_can_be_read_where_it_is(verb: Verb, tmp_path: Path) -> None:
    out = tmp_path / "a" / "study"
    assert verb("sweep", "--out", out, "--workers", 1)[0] == 0
    assert main(["run", str(out / "scenario.toml"), "--json"]) == 0


def test_replications_of_a_log_are_draws_of_it(tmp_path: Path, verb: Verb) -> None:
    from sojourn import write_swf

    plain = small_scenario(workload={"log": "log.swf"})
    for jobs, by in ((2000, "day"), (40, "jobs")):
        write_swf(small_scenario(jobs=jobs).workload(3), tmp_path / "log.swf")
        (tmp_path / "scenario.toml").write_text(plain.as_toml())
        study = sweep(tmp_path / "scenario.toml", TWO, 3, workers=1)
        assert study.plan.scenario.keys.workload.resample == by
        out = tmp_path / by
        options = ("--set", "policy.name=fcfs,easy", "--out", out, "--workers", 1)
        code, told, _ = verb("sweep", *options, "--replications", 3)
        assert code == 0
        assert f"draws of one log (by {by})" in told
        assert f'resample = "{by}"' in (out / "scenario.toml").read_text()
        table = pd.read_parquet(out / "runs")
        assert table["status"].tolist() == ["done"] * 6
        assert table.groupby("policy.name")["wait_mean"].nunique().tolist() == [3, 3]
        more = json.loads(verb("sweep", *options, "--replications", 4, "--json")[1])
        assert (more["runs"], more["new"]) == (8, 2)
        # One run of each point is of the log as it is.
        once = json.loads(verb("sweep", *options[:2], "--workers", 1, "--json")[1])
        alone = json.loads(verb("run", "--json")[1])
        found = once["points"][1]["measures"]["wait_mean"]["estimate"]
        assert found == alone["wait"]["mean"]


def test_replications_of_what_is_random_leave_the_log_as_it_is(tmp_path: Path, verb: Verb) -> None:
    from sojourn import write_swf

    write_swf(small_scenario().workload(3), tmp_path / "log.swf")
    plain = small_scenario(workload={"log": "log.swf"})
    (tmp_path / "scenario.toml").write_text(plain.as_toml())
    options = ("--set", "workload.estimates=uniform,tsafrir", "--replications", 2, "--workers", 1)
    code, told, _ = verb("sweep", *options, "--out", tmp_path / "study")
    assert code == 0
    assert "draws of one log" not in told
    assert "resample" not in (tmp_path / "study" / "scenario.toml").read_text()


def test_the_order_of_keys_does_not_matter(tmp_path: Path) -> None:
    axes = {"policy.name": ["fcfs", "easy"], "control.k": [0.0, 1e5]}
    one = sweep(small_scenario(), axes, np.int64(2), out=tmp_path / "study", workers=1)
    turned = dict(reversed(axes.items()))
    other = sweep(small_scenario(), turned, 2, out=tmp_path / "study", workers=1)
    assert (one.new, other.new) == (8, 0)
    columns = ["control.k", "policy.name", "replication", "wait_mean"]
    assert set(map(tuple, one.table[columns].to_numpy())) == set(
        map(tuple, other.table[columns].to_numpy())
    )


def test_one_point_in_two_spellings_is_run_once() -> None:
    axes = {"control.k": [108000, "30 h"]}
    study = sweep(small_scenario(), axes, 3, workers=1, precision=Precision("wait_mean", 0.9))
    (point,) = study.points(["wait_mean"])
    assert point.n == len(study.table) >= 3


def test_precision_begins_with_ten(verb: Verb) -> None:
    options = ("--precision", "wait_mean=0.9", "--workers", 1, "--json")
    told = json.loads(verb("sweep", *options)[1])
    assert told["points"][0]["n"] >= 10


def test_a_folder_without_runs_holds_no_study(tmp_path: Path, verb: Verb) -> None:
    from sojourn import write_swf

    out = tmp_path / "study"
    plain = small_scenario(workload={"log": "log.swf"})
    (tmp_path / "scenario.toml").write_text(plain.as_toml())
    options = ("--set", "policy.name=fcfs,easy", "--out", out, "--workers", 1)
    code, _, err = verb("sweep", *options)
    assert code == 2
    assert "log.swf: no such file" in err
    write_swf(small_scenario().workload(3), tmp_path / "log.swf")
    assert verb("sweep", *options)[0] == 0
    assert len(pd.read_parquet(out / "runs")) == 2


def test_samples(verb: Verb, tmp_path: Path) -> None:
    for kind in ("lhs", "sobol"):
        out = tmp_path / kind
        options = ("--set", "control.k=0:2e5", "--set", "policy.name=fcfs,easy", "--workers", 1)
        code, *_ = verb("sweep", *options, "--sample", f"{kind}:8", "--seed", 3, "--out", out)
        table = pd.read_parquet(out / "runs")
        assert code == 0
        assert len(table) == 8
        assert np.sort(np.floor(table["control.k"] / 2e5 * 8)).tolist() == list(range(8))
        assert table["policy.name"].value_counts().to_dict() == {"fcfs": 4, "easy": 4}


@pytest.mark.parametrize(
    ("options", "part"),
    [
        (("--set", "control.k"), "--set control.k: write --set KEY=VALUES"),
        (("--set", "contrl.k=1"), "did you mean 'control.k'?"),
        (("--set", "contrl.x=1"), "did you mean 'control'?"),
        (("--set", "control.k=1", "--set", "control.k=2"), "is set twice"),
        (("--sample", "lhs"), "write lhs:N or sobol:N"),
        (("--sample", "lhs:4"), "--sample needs --set"),
        (("--set", "control.k=0:3:1", "--sample", "lhs:4"), "write control.k=LOW:HIGH"),
        (("--precision", "wait_mean"), "write MEASURE=SHARE"),
        (("--precision", "wait_mean=2"), "a precision of 2"),
        (("--measures", "wait_men", "--workers", "1"), "did you mean 'wait_mean'"),
        (("--dask", "tcp://127.0.0.1:9", "--workers", "2"), "give them or a Dask cluster"),
        (("--out", "/dev/null/x"), "/dev/null is a file"),
    ],
)
def test_one_line_for_what_is_wrong(verb: Verb, options: tuple[str, ...], part: str) -> None:
    code, told, err = verb("sweep", *options)
    assert (code, told) == (2, "")
    assert len(err.splitlines()) == 1
    assert part in err


def test_the_verb_tells_what_an_interrupt_leaves(
    verb: Verb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = execution.Worker.run

    def run(self: execution.Worker, run: Any) -> Any:
        if run.replication == 2:
            raise KeyboardInterrupt
        return one(self, run)

    monkeypatch.setattr(execution.Worker, "run", run)
    out = tmp_path / "study"
    code, told, err = verb("sweep", "--replications", 4, "--workers", 1, "--out", out)
    assert (code, told) == (130, "")
    assert f"2 of 4 runs are in {out}; the same command goes on from there" in err


def test_all_runs_failed(verb: Verb, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("by 0")

    monkeypatch.setattr("sojourn.run.simulate.simulate", broken)
    code, told, err = verb("sweep", "--set", "control.k=0,1", "--workers", 1)
    assert (code, told) == (1, "")
    assert err == "sojourn: error: all 2 runs failed; the first: ZeroDivisionError: by 0\n"


def test_a_scenario_as_plain_values_or_a_file(tmp_path: Path) -> None:
    scenario = small_scenario()
    (tmp_path / "s.toml").write_text(scenario.as_toml())
    tables = [
        sweep(each, TWO, 2, workers=1).table
        for each in (scenario, dict(scenario.given), tmp_path / "s.toml", str(tmp_path / "s.toml"))
    ]
    for table in tables[1:]:
        pd.testing.assert_frame_equal(table, tables[0], check_exact=True)
