"""The search for trade-offs: fronts, volumes, seeds, resumption."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from studies import small_scenario

from sojourn.cli import main
from sojourn.errors import OptionError
from sojourn.study import Front, hypervolume, nondominated, optimise, read_runs
from sojourn.study import execute as execution
from sojourn.study.plan import replication_seed

VARY = ["control.k=0:3e5", "policy.name=fcfs,easy"]
AIMS = ["wait_mean", "energy_kwh"]
LITTLE: dict[str, Any] = {"population": 8, "generations": 3, "replications": 3, "workers": 1}


def tables(columns: int) -> st.SearchStrategy[list[tuple[int, ...]]]:
    row = st.tuples(*[st.integers(0, 6)] * columns)
    return st.lists(row, min_size=1, max_size=12)


@given(st.integers(1, 3).flatmap(tables))
def test_a_front_by_its_definition(rows: list[tuple[int, ...]]) -> None:
    def beaten(one: tuple[int, ...]) -> bool:
        return any(
            all(a <= b for a, b in zip(other, one, strict=True)) and other != one for other in rows
        )

    assert nondominated(rows).tolist() == [not beaten(row) for row in rows]


@given(st.integers(1, 4).flatmap(tables))
def test_a_volume_by_counting_cells(rows: list[tuple[int, ...]]) -> None:
    size, columns = 5, len(rows[0])
    cells = itertools.product(range(size), repeat=columns)
    dominated = sum(
        any(all(a <= b for a, b in zip(row, cell, strict=True)) for row in rows) for cell in cells
    )
    assert hypervolume(rows, [size] * columns) == pytest.approx(dominated)


def test_what_is_not_known_is_not_on_the_front() -> None:
    assert nondominated([[1, np.nan], [2, 2], [3, 1]]).tolist() == [False, True, True]
    with pytest.raises(OptionError, match="3 values for 2 objectives"):
        hypervolume([[1, 1]], [2, 2, 2])
    with pytest.raises(OptionError, match="as a table"):
        nondominated([1, 2])


def told(front: Front) -> dict[str, Any]:
    """A front without what differs between calls."""
    return {k: v for k, v in front.as_dict().items() if k not in ("new", "interrupted")}


@pytest.fixture(scope="module")
def search(tmp_path_factory: pytest.TempPathFactory) -> Front:
    folder = tmp_path_factory.mktemp("search")
    return optimise(small_scenario(), VARY, AIMS, out=folder, **LITTLE)


def test_a_search_is_reproducible_by_its_seed(search: Front) -> None:
    again = optimise(small_scenario(), VARY, AIMS, **LITTLE)
    assert told(again) == told(search)
    other = optimise(small_scenario(), VARY, AIMS, **LITTLE, seed=1)
    assert told(other)["points"] != told(search)["points"]


def test_no_point_of_the_front_beats_another(search: Front) -> None:
    means = np.array([[p.objectives[name].estimate for name in AIMS] for p in search.points])
    assert len(means) > 1
    assert nondominated(means).all()
    assert (np.diff(means[:, 0]) > 0).all()
    assert search.hypervolume is not None
    assert search.hypervolume.estimate == hypervolume(means, search.reference)
    assert search.hypervolume.low <= search.hypervolume.estimate <= search.hypervolume.high
    assert (np.diff(search.history) >= 0).all()
    assert all(0 < point.share <= 1 for point in search.points)


def test_what_is_told_is_from_replications_that_the_search_has_not_seen(search: Front) -> None:
    assert search.folder is not None
    table = read_runs(search.folder).to_pandas()
    best = search.points[0]
    mine = table[
        (table["control.k"] == best.values["control.k"])
        & (table["policy.name"] == best.values["policy.name"])
    ]
    assert sorted(mine["replication"]) == list(range(6))
    assert set(mine["seed"]) == {replication_seed(0, r) for r in range(6)}
    fresh = mine[mine["replication"] >= 3]["wait_mean"].to_numpy()
    found = best.objectives["wait_mean"]
    assert found.estimate == pytest.approx(fresh.mean(), rel=1e-12)
    assert found.n == 3
    assert (table["replication"] < 3).sum() == 3 * search.evaluated


def test_the_first_generation_spreads_over_the_ranges(search: Front) -> None:
    assert search.folder is not None
    table = read_runs(search.folder).to_pandas().iloc[: 8 * 3 : 3]
    assert sorted(np.floor(table["control.k"] / 3e5 * 8)) == list(range(8))
    assert table["policy.name"].value_counts().to_dict() == {"fcfs": 4, "easy": 4}


def test_a_search_goes_on_from_what_it_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = optimise(small_scenario(), VARY, AIMS, **LITTLE)
    one, ran = execution.Worker.run, []

    def run(self: execution.Worker, run: Any) -> Any:
        if len(ran) == 40:
            raise KeyboardInterrupt
        ran.append(run.run_id)
        return one(self, run)

    monkeypatch.setattr(execution.Worker, "run", run)
    cut = optimise(small_scenario(), VARY, AIMS, out=tmp_path, **LITTLE)
    assert cut.interrupted
    assert cut.points  # of the first generation, by the replications of the search
    monkeypatch.setattr(execution.Worker, "run", one)
    rest = optimise(small_scenario(), VARY, AIMS, out=tmp_path, **LITTLE)
    assert told(rest) == told(whole)
    assert rest.new == whole.runs - 40
    assert json.loads((tmp_path / "front.json").read_text()) == rest.as_dict()
    longer = optimise(small_scenario(), VARY, AIMS, out=tmp_path, **{**LITTLE, "generations": 4})
    assert longer.history[:3] == whole.history
    assert 0 < longer.new <= 8 * 3 + 3 * (len(longer.points) + 2 + 8)


def test_points_that_cannot_be_run_are_avoided() -> None:
    control = {"kind": "workload", "rates": [0.6, 1.0], "low": 1e4, "high": 1e5}
    vary = {"control.low": "0:3e5", "control.high": "0:3e5"}
    front = optimise(small_scenario(control=control), vary, AIMS, **LITTLE)
    assert front.points
    for point in front.points:
        assert point.values["control.low"] <= point.values["control.high"]


def test_noisy_begins_with_few_replications_and_adds_to_the_front(tmp_path: Path) -> None:
    given_to = {**LITTLE, "replications": 8, "noisy": True}
    front = optimise(small_scenario(), VARY, AIMS, out=tmp_path, **given_to)
    table = read_runs(tmp_path).to_pandas()
    counts = table.groupby(["control.k", "policy.name"]).size()
    assert counts.min() == 2
    for point in front.points:
        assert counts[tuple(point.values.values())] == 16
    assert told(optimise(small_scenario(), VARY, AIMS, **given_to)) == told(front)
    patient = optimise(small_scenario(), VARY, AIMS, **{**given_to, "noisy": False})
    assert front.runs < patient.runs


def test_large_can_be_good(tmp_path: Path) -> None:
    vary = ["control.k=0:3e5"]
    front = optimise(small_scenario(), vary, ["wait_mean"], maximise=["utilisation"], **LITTLE)
    assert front.as_dict()["maximised"] == ["utilisation"]
    wait, busy = (
        [point.objectives[name].estimate for point in front.points]
        for name in ("wait_mean", "utilisation")
    )
    # More to the one is more to the other: slower servers are busier, and jobs wait longer.
    assert wait == sorted(wait)
    assert busy == sorted(busy)
    assert front.reference[1] <= min(busy)


def test_a_log_without_chance_needs_one_replication(tmp_path: Path) -> None:
    jobs = small_scenario().workload(3)
    from sojourn import write_swf

    write_swf(jobs, tmp_path / "log.swf")
    workload = {"log": str(tmp_path / "log.swf")}
    scenario = small_scenario(workload=workload)
    front = optimise(scenario, VARY, AIMS, population=8, generations=2, workers=1)
    assert front.runs == front.evaluated
    assert front.points[0].objectives["wait_mean"].n == 1
    several = optimise(scenario, VARY, AIMS, out=tmp_path / "study", **LITTLE)
    assert several.points[0].objectives["wait_mean"].method == "resampled"
    assert "resample = " in (tmp_path / "study" / "scenario.toml").read_text()
    volume = several.hypervolume
    assert volume is not None
    assert volume.low < volume.estimate < volume.high


def test_measures_with_commas_between_them() -> None:
    few = {"population": 4, "generations": 1, "replications": 2, "workers": 1}
    front = optimise(small_scenario(), VARY, "wait_mean, energy_kwh", maximise="", **few)
    assert [each.measure for each in front.objectives] == AIMS


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"vary": []}, "nothing is varied"),
        ({"vary": ["control.k=0:1", "control.k=0:2"]}, "varied twice"),
        ({"vary": ["contrl.k=0:1e5"]}, "did you mean 'control.k'"),
        ({"vary": ["run.seed=0:9"]}, "'run.seed' changes no measure"),
        ({"minimise": []}, "no measure to minimise"),
        ({"minimise": ["wait_mean", "wait_mean"]}, "named twice"),
        ({"minimise": ["wait_men"]}, "did you mean 'wait_mean'"),
        ({"population": 3}, "population = 3: at least 4"),
        ({"reference": [1.0]}, "1 values for 2 measures"),
        ({"replications": 1, "noisy": True}, "nothing to add"),
        ({"confirm": -1}, "confirm = -1"),
    ],
)
def test_what_cannot_be_asked_for(change: dict[str, Any], part: str, tmp_path: Path) -> None:
    asked = {"scenario": small_scenario(), "vary": VARY, "minimise": AIMS, **LITTLE, **change}
    out = tmp_path / "study"
    with pytest.raises(OptionError, match=part):
        optimise(**asked, out=out)
    assert not out.exists() or "minimise" in change  # what is measured is known from a run


def test_the_verb(tmp_path: Path, capsys: pytest.CaptureFixture[str], search: Front) -> None:
    scenario, out = tmp_path / "s.toml", tmp_path / "study"
    scenario.write_text(small_scenario().as_toml())
    command = ["optimise", str(scenario), "--minimise", ",".join(AIMS), "--out", str(out)]
    command += [part for each in VARY for part in ("--vary", each)]
    command += ["--population", "8", "--generations", "3", "--replications", "3", "--workers", "1"]
    assert main([*command, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["points"] == search.as_dict()["points"]
    kept = json.loads((out / "front.json").read_text())
    assert answer == {**kept, "power_model": None, "not_modelled": []}
    assert json.loads((out / "study.json").read_text())["objectives"] == AIMS
    assert len(pd.read_parquet(out / "runs")) == search.runs
    assert main(command) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["mean", "energy"]
    assert lines[1].split()[:5] == ["control.k", "policy.name", "wait", "s", "kWh"]
    assert " ± " in lines[2]
    assert f"{search.runs:,} of them known before" in lines[-1]
    assert main([*command[:2], "--vary", "control.k=0:1e5"]) == 2
    assert "no measure to minimise" in capsys.readouterr().err
