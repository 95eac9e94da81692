"""Runs that fail, parts that come and go: what is known stays known, and is counted."""

from __future__ import annotations

import fcntl
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from studies import small_scenario

from sojourn.cli import main
from sojourn.errors import OptionError, RunError
from sojourn.study import execute as execution
from sojourn.study import optimise, read_runs, sweep
from sojourn.study import store as storing
from sojourn.study.front import comparable
from sojourn.study.outcome import Tally

VARY = ["control.k=0:3e5", "policy.name=fcfs,easy"]
AIMS = ["wait_mean", "energy_kwh"]
LITTLE: dict[str, Any] = {"population": 6, "generations": 2, "replications": 2, "workers": 1}


def failing(monkeypatch: pytest.MonkeyPatch, fails: Any) -> None:
    """Have the runs fail of which a function says so."""
    one = execution.Worker.run
    monkeypatch.setattr(
        execution.Worker,
        "run",
        lambda self, run: execution.failed_row(run, "no luck") if fails(run) else one(self, run),
    )


def test_which_replications_can_be_compared() -> None:
    def rows(*good: int) -> np.ndarray[Any, Any]:
        return np.array([[1.0, 2.0] if each else [np.nan, 1.0] for each in good])

    def found(*samples: np.ndarray[Any, Any]) -> tuple[list[int], list[int]]:
        left, common = comparable(samples)
        return left, common.tolist()

    assert found(rows(1, 1, 1), rows(1, 0, 1)) == ([0, 1], [0, 2])
    assert found(rows(1, 1), rows(0, 0), rows(0, 1)) == ([0, 2], [1])
    assert found(rows(1, 1, 0), rows(0, 0, 1)) == ([0], [0, 1])
    assert found(rows(0, 0), rows(0, 0)) == ([], [])
    assert found() == ([], [])


def test_a_failed_confirmation_costs_that_replication_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = optimise(small_scenario(), VARY, AIMS, **LITTLE, confirm=3)
    best = tuple(whole.points[0].values.values())
    failing(monkeypatch, lambda run: run.replication == 3 and run.values == best)
    front = optimise(small_scenario(), VARY, AIMS, **LITTLE, confirm=3)
    assert front.history == whole.history
    assert {point.objectives["wait_mean"].n for point in front.points} == {2}
    assert front.hypervolume is not None
    assert front.hypervolume.estimate > 0


def test_a_reference_that_cannot_be_confirmed(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = optimise(small_scenario(), VARY, AIMS, **LITTLE)
    found = {tuple(point.values.values()) for point in whole.points}
    failing(monkeypatch, lambda run: run.replication >= 2 and run.values not in found)
    front = optimise(small_scenario(), VARY, AIMS, **LITTLE)
    assert front.points
    assert np.isfinite(front.reference).all()
    assert front.hypervolume is not None
    assert front.hypervolume.estimate > 0


def test_a_search_of_which_nothing_can_be_confirmed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out, scenario = tmp_path / "study", tmp_path / "s.toml"
    scenario.write_text(small_scenario().as_toml())
    command = ["optimise", str(scenario), "--minimise", ",".join(AIMS), "--out", str(out)]
    command += [part for each in VARY for part in ("--vary", each)]
    command += ["--population", "6", "--generations", "2", "--replications", "2", "--workers", "1"]
    assert main([*command, "--confirm", "0"]) == 0
    assert (out / "front.json").exists()
    failing(monkeypatch, lambda run: run.replication >= 2)
    capsys.readouterr()
    assert main([*command, "--json"]) == 1
    told = capsys.readouterr()
    assert told.out == ""
    assert "the first error: no luck" in told.err
    assert not (out / "front.json").exists()
    with pytest.raises(RunError, match="the first error: no luck"):
        optimise(small_scenario(), VARY, AIMS, **LITTLE)


def test_an_interrupted_search_counts_what_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    one, left = execution.Worker.run, iter(range(17))

    def run(self: execution.Worker, run: Any) -> Any:
        if next(left, None) is None:
            raise KeyboardInterrupt
        return one(self, run)

    monkeypatch.setattr(execution.Worker, "run", run)
    out, scenario = tmp_path / "study", tmp_path / "s.toml"
    scenario.write_text(small_scenario().as_toml())
    command = ["optimise", str(scenario), "--minimise", "wait_mean", "--out", str(out)]
    command += ["--vary", "control.k=0:3e5", "--population", "6", "--generations", "2"]
    code = main([*command, "--replications", "2", "--workers", "1"])
    told = capsys.readouterr()
    assert code == 130
    assert f"17 of 24 runs are in {out}" in told.err
    assert "known before" not in told.out
    assert len(pd.read_parquet(out / "runs")) == 17
    front = json.loads((out / "front.json").read_text())
    assert (front["runs"], front["done"], front["new"]) == (24, 17, 17)


def test_parts_that_go_while_they_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sojourn.study.runners._TOGETHER", -1.0)
    copy = tmp_path / "copy"

    def keep(tally: Tally) -> None:
        if tally.done == tally.total:
            shutil.copytree(tmp_path / "study", copy)

    whole = sweep(
        small_scenario(), {"control.k": [0, 1, 2]}, out=tmp_path / "study", workers=1, progress=keep
    )
    parts = sorted((copy / "runs").glob("part-*"))
    assert len(parts) == 3
    read, one = [], storing._read

    def compacted(part: Path) -> Any:
        # As `compact` does: what is whole is there before the first part goes.
        if not read:
            pq.write_table(whole.rows, copy / "runs" / "part-whole.parquet")
            for each in parts[1:]:
                each.unlink()
        read.append(part)
        return one(part)

    monkeypatch.setattr(storing, "_read", compacted)
    found = read_runs(copy).to_pandas()
    assert sorted(found["run_id"]) == sorted(whole.table["run_id"])
    assert len(read) == 4


def test_anybody_sees_all_measures_as_soon_as_there_is_a_good_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sojourn.study.runners._TOGETHER", -1.0)
    out = tmp_path / "study"
    seen = []

    def look(tally: Tally) -> None:
        for part in (out / "runs").glob("part-*"):
            # Whichever part a reader goes by.
            seen.append((tally.done, set(pq.read_schema(part).names)))
        assert len(pd.read_parquet(out / "runs")) == tally.done

    # Two failures come first, then points whose measures have other names.
    rates = [[1.0, 0.6], [0.6, 1.0], [1.0, 0.7], [0.8, 1.0]]
    study = sweep(small_scenario(), {"control.rates": rates}, 2, out=out, workers=1, progress=look)
    assert study.failed == 4
    assert "wait_mean" not in seen[0][1]
    for done in range(3, 9):
        here = [names for count, names in seen if count == done]
        assert all(names == here[0] for names in here)
        assert "wait_mean" in here[0]
    assert {"rate_share_0.6", "rate_share_0.8"} <= seen[-1][1]


def test_parts_of_unlike_columns_are_made_alike_when_a_study_goes_on(tmp_path: Path) -> None:
    out = tmp_path / "study"
    study = sweep(small_scenario(), {"control.k": [0, 1]}, out=out, workers=1)
    failed = study.rows.slice(0, 1).select(["run_id", "control.k", "replication", "seed"])
    for name, value in (("status", "failed"), ("error", "no luck")):
        failed = failed.append_column(name, [[value]])
    pq.write_table(failed, out / "runs" / "part-.parquet")

    def look(tally: Tally) -> None:
        assert "wait_mean" in pd.read_parquet(out / "runs").columns

    wider = sweep(small_scenario(), {"control.k": [0, 1, 2]}, out=out, workers=1, progress=look)
    assert (wider.new, wider.done) == (1, 3)


def test_progress_counts_what_was_known_before(tmp_path: Path) -> None:
    grid = {"control.rates": [[0.6, 1.0], [1.0, 0.6]]}
    first = sweep(small_scenario(), grid, 2, out=tmp_path, workers=1)
    told: list[Tally] = []
    sweep(small_scenario(), grid, 3, out=tmp_path, workers=1, progress=told.append)
    assert (told[0].done, told[-1].done, told[-1].failed) == (6, 6, 3)
    table = sweep(small_scenario(), grid, 3, workers=1).table
    mean = table["wait_mean"].mean()
    assert told[-1].best == f"wait_mean {mean:.4g} at control.rates=[0.6, 1.0]"
    assert first.failed == 2
    # What is tried again is not known to fail.
    told.clear()
    again = {"workers": 1, "retry_failed": True, "progress": told.append}
    sweep(small_scenario(), grid, 3, out=tmp_path, **again)
    assert told[-1].failed == 3


def test_progress_of_a_search_counts_all_failures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing(monkeypatch, lambda run: run.values[0] > 2e5)
    told: list[Tally] = []
    front = optimise(
        small_scenario(), VARY, AIMS, **LITTLE, out=tmp_path / "study", progress=told.append
    )
    table = read_runs(tmp_path / "study").to_pandas()
    assert told[-1].failed == (table["status"] == "failed").sum() > 0
    assert told[-1].done == front.runs == front.done == len(table)


def test_a_folder_of_compiled_code_that_is_gone_holds_nobody_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sojourn.jit.cache_folder", lambda: tmp_path / "gone")
    worker = execution.Worker(execution.Bundle.of(small_scenario(), ()), shared=True)
    worker.get_ready()


def test_a_lock_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    """In a folder that others may write to, one of them could have put it there."""
    precious, out = tmp_path / "precious", tmp_path / "study"
    precious.write_text("precious")
    out.mkdir()
    (out / ".lock").symlink_to(precious)
    with pytest.raises(OptionError, match=r"study: cannot be written \(.lock is a link\)"):
        sweep(small_scenario(), {"control.k": [0]}, out=out, workers=1)
    assert precious.read_text() == "precious"


def test_the_holder_of_a_lock_is_quoted_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    with open(tmp_path / ".lock", "w") as lock:
        lock.write("process 1 on\n\x1b[31mhost\n" + 500 * "x")
        lock.flush()
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(RunError) as refused:
            sweep(small_scenario(), {"control.k": [0]}, out=tmp_path, workers=1)
    message = str(refused.value)
    assert message.isprintable()
    assert "process 1 on [31mhost xxx" in message
    assert len(message) < 400


def test_a_lock_is_not_for_everybody(tmp_path: Path) -> None:
    sweep(small_scenario(), {"control.k": [0]}, out=tmp_path / "study", workers=1)
    assert not (tmp_path / "study" / ".lock").stat().st_mode & 0o007
