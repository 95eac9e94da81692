"""A measure is registered in one place; whatever shows measures then has it."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import sojourn
from sojourn.cli import main
from sojourn.cluster import PowerStates, SleepState
from sojourn.errors import OptionError, RunError
from sojourn.measures import registry
from sojourn.measures.catalogue import CATALOGUE, DISTRIBUTIONS, STATISTICS
from sojourn.measures.entry import KINDS, TABLES, Measure
from sojourn.measures.registry import flat_summary
from sojourn.report.page.writing import make_report
from sojourn.run.scenario import scenario_of
from sojourn.study import optimise, sweep
from sojourn.study.execute import Bundle
from sojourn.study.grid import Grid
from sojourn.study.plan import plan_runs
from sojourn.study.processes import Processes

SCENARIO = {
    "workload": {"model": "lublin", "jobs": 120, "load": 0.9},
    "cluster": {"procs": 16},
}
TOML = """
[workload]
model = "lublin"
jobs = 120
load = 0.9

[cluster]
procs = 16
"""
LABEL = "half of the maximum wait"


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    """The one place."""

    @sojourn.measure(label="half of the maximum wait", unit="s", better="lower", low=0.0)
    def half_max_wait(result: sojourn.Result) -> float:
        return result.summary["wait"]["max"] / 2

    try:
        yield
    finally:
        registry.replace_own(())


@pytest.fixture
def log(tmp_path: Path) -> str:
    path = tmp_path / "log.swf"
    sojourn.write_swf(sojourn.lublin(120, 16, load=0.9, seed=3), path)
    return str(path)


def test_in_the_summary_and_its_file(log: str, tmp_path: Path) -> None:
    result = sojourn.simulate(sojourn.read_swf(log), 16, "easy")
    assert result.summary["half_max_wait"] == result.summary["wait"]["max"] / 2 > 0
    hours = result.summary["half_max_wait"] / 3600
    assert f">half of the maximum wait</td><td>{hours:.4g} h<" in result._repr_html_()
    assert main(["simulate", log, "--out", str(tmp_path / "run")]) == 0
    written = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert written["half_max_wait"] == result.summary["half_max_wait"]
    assert written["measures"] == {
        "half_max_wait": {
            "label": "half of the maximum wait",
            "unit": "s",
            "better": "lower",
            "low": 0.0,
        }
    }


def test_in_the_table_of_simulate(log: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", log]) == 0
    (row,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith(LABEL)]
    value = sojourn.simulate(sojourn.read_swf(log), 16, "easy").summary["half_max_wait"]
    assert row.removeprefix(LABEL).strip() == f"{value:,.0f} s ({value / 3600:.3f} h)"


def test_in_the_table_of_compare(log: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", log, "--policies", "fcfs,easy", "--json"]) == 0
    values = [row["half_max_wait"] for row in json.loads(capsys.readouterr().out)["rows"]]
    assert main(["compare", log, "--policies", "fcfs,easy"]) == 0
    first, second, *lines = capsys.readouterr().out.splitlines()
    # In hours, as the other times of jobs; the smaller one is marked as the best.
    assert first.rstrip().endswith("half of the  time")
    assert second.rstrip().endswith("maximum wait h     s")
    assert values[1] < values[0]
    assert lines[0].split()[-2] == f"{values[0] / 3600:.3f}"
    assert lines[1].split()[-2] == f"{values[1] / 3600:.3f}*"
    compared = sojourn.compare(sojourn.read_swf(log), 16, ["fcfs", "easy"])
    assert compared.table["half_max_wait"].tolist() == values
    assert f"{LABEL} (h)" in compared._repr_html_()
    assert f"<b>{values[1] / 3600:.4g}</b>" in compared._repr_html_()


def test_as_a_column_of_a_sweep(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study = sweep(SCENARIO, {"policy.name": ["fcfs", "easy"]}, 3, workers=1)
    assert study.table["half_max_wait"].tolist() == (study.table["wait_max"] / 2).tolist()
    file = tmp_path / "s.toml"
    file.write_text('[workload]\nmodel = "lublin"\njobs = 120\nload = 0.9\n[cluster]\nprocs = 16\n')
    folder = str(tmp_path / "study")
    command = ["sweep", str(file), "--set", "policy.name=fcfs,easy", "--replications", "3"]
    assert main([*command, "--workers", "1", "--out", folder]) == 0
    first, second = (line.split() for line in capsys.readouterr().out.splitlines()[:2])
    assert " ".join(first).count("half of the") == 1
    assert " ".join(second).count("maximum wait s") == 1
    page = make_report(folder)
    assert "half of the maximum wait" in page
    facts = json.loads((tmp_path / "study" / "study.json").read_text())
    assert facts["measures"]["half_max_wait"]["unit"] == "s"


def test_as_an_objective_of_a_search(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    front = optimise(
        SCENARIO, {"policy.name": "fcfs,easy"}, ["half_max_wait"], population=4, generations=1,
        replications=2, workers=1, out=tmp_path / "search",
    )  # fmt: skip
    assert front.points[0].values == {"policy.name": "easy"}
    assert front.points[0].objectives["half_max_wait"].estimate > 0
    assert LABEL in make_report(tmp_path / "search")
    file = tmp_path / "s.toml"
    file.write_text('[workload]\nmodel = "lublin"\njobs = 120\nload = 0.9\n[cluster]\nprocs = 16\n')
    command = ["optimise", str(file), "--vary", "policy.name=fcfs,easy", "--workers", "1"]
    command += ["--minimise", "half_max_wait", "--population", "4", "--generations", "1"]
    assert main([*command, "--replications", "2"]) == 0
    first, second = (line.split() for line in capsys.readouterr().out.splitlines()[:2])
    assert " ".join(first).count("half of the") == 1
    assert " ".join(second).count("maximum wait s") == 1


def test_on_the_page_of_a_run_and_of_a_comparison(log: str, tmp_path: Path) -> None:
    assert main(["simulate", log, "--out", str(tmp_path / "run")]) == 0
    assert main(["compare", log, "--policies", "fcfs,easy", "--out", str(tmp_path / "two")]) == 0
    pages = [make_report(tmp_path / name) for name in ("run", "two")]
    # Who reads the folder need not have the function.
    registry.replace_own(())
    assert [make_report(tmp_path / name) for name in ("run", "two")] == pages
    value = json.loads((tmp_path / "run" / "summary.json").read_text())["half_max_wait"]
    for page in pages:
        assert "half of the maximum wait" in page
    assert f"{value / 3600:.3g} h" in pages[0]


def test_a_folder_whose_measure_is_damaged(log: str, tmp_path: Path) -> None:
    assert main(["simulate", log, "--out", str(tmp_path / "run")]) == 0
    path = tmp_path / "run" / "summary.json"
    summary = json.loads(path.read_text())
    path.write_text(json.dumps({**summary, "half_max_wait": "long"}))
    with pytest.raises(OptionError, match="field 'half_max_wait': must be a number"):
        make_report(tmp_path / "run")
    path.write_text(json.dumps({**summary, "measures": {"half_max_wait": "s"}}))
    with pytest.raises(OptionError, match="field 'measures': must be an object of measures"):
        make_report(tmp_path / "run")


def test_in_processes_that_have_not_seen_its_code() -> None:
    scenario = scenario_of(SCENARIO)
    grid = Grid.of({"policy.name": ["fcfs", "easy"]})
    plan = plan_runs(scenario, grid, 2, 1)
    with Processes(Bundle.of(scenario, plan.keys), 1) as runner:
        rows = [row for part in runner.run(plan.runs) for row in part]
    assert [row["error"] for row in rows] == [None] * 4
    assert all(row["measures"]["half_max_wait"] == row["measures"]["wait_max"] / 2 for row in rows)


def test_a_run_without_it_is_another_run(tmp_path: Path) -> None:
    with_it = sweep(SCENARIO, {"policy.name": ["easy"]}, 2, workers=1, out=tmp_path / "study")
    registry.replace_own(())
    without = sweep(SCENARIO, {"policy.name": ["easy"]}, 2, workers=1, out=tmp_path / "study")
    assert with_it.new == without.new == 2


def test_a_script_of_a_user(tmp_path: Path) -> None:
    """What `__main__` defines reaches the processes of a sweep."""
    script = tmp_path / "own.py"
    script.write_text(
        "import sojourn\n"
        "@sojourn.measure(label='jobs that wait', unit='share')\n"
        "def waiting(result):\n"
        "    return (result.start > result.submit).mean()\n"
        "if __name__ == '__main__':\n"
        "    from sojourn.study import sweep\n"
        f"    study = sweep({SCENARIO!r}, {{'policy.name': ['fcfs']}}, 60, workers=2)\n"
        "    print(study.failed, bool((study.table['waiting'] > 0).all()))\n"
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["0", "True"]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"name": "two words"}, "letters, digits and _"),
        ({"name": "wait"}, "something else of this name"),
        ({"name": "energy_kwh"}, "something else of this name"),
        ({"label": " "}, "has no label"),
        ({"better": "less"}, "choose lower, higher"),
        ({"kind": "odd"}, "choose from job, system"),
        ({"tables": ["all"]}, "choose from simulate"),
        ({"low": 2.0, "high": 1.0}, "low 2 is not below high 1"),
    ],
)
def test_what_cannot_be_registered(changes: dict, says: str) -> None:
    with pytest.raises(OptionError, match=says):
        sojourn.measure(**{"label": "a", "name": "own", **changes})(lambda result: 0.0)


@pytest.mark.parametrize("wrong", [lambda result: "many", lambda result: result.nothing])
def test_a_function_that_fails_is_named(wrong) -> None:
    sojourn.measure(label="wrong", name="wrong_one")(wrong)
    jobs = sojourn.Jobs({"submit": [0], "runtime": [5], "procs": [1]})
    result = sojourn.simulate(jobs, 1)
    for _ in range(2):  # nothing of it is kept
        with pytest.raises(RunError, match="measure 'wrong_one': "):
            _ = result.summary


def test_every_number_of_a_summary_is_in_the_table() -> None:
    """Ours: no measure without label, and none in the table that no run has."""
    registry.replace_own(())
    jobs = sojourn.lublin(60, 8, load=0.9, seed=3)
    nodes = sojourn.parse_cluster("6 x X5670, 8 x L5420")
    events = [{"time": 10.0, "kind": "cancel", "job": int(jobs.job[-1])}]
    later = jobs.replace(begin=jobs.submit + 60.0)
    states = PowerStates((SleepState("off", 5.0, 10.0, 50.0, 60.0, 90.0),), (), 0, 9)
    server = sojourn.Server("made", cores=4, ops=1e5, watts=(40, 128), states=states)
    failing = sojourn.Cluster.of([sojourn.Node(f"n{i}", server) for i in range(4)])
    runs = [
        sojourn.simulate(later, 8, "easy", events=events),
        sojourn.simulate(jobs, nodes, "easy", price=0.2, carbon=300),
        sojourn.simulate(jobs, 8, price="0.1, 8:0.2", carbon=300, defer="window:9h"),
        sojourn.simulate(jobs, failing, "easy", failures="mtbf=9d,repair=1d", checkpoint="daly"),
        sojourn.simulate(jobs, failing, "easy", failures="mtbf=9d,repair=1d", sleep="idle:60"),
    ]
    flat = {name: value for run in runs for name, value in flat_summary(run.summary).items()}
    named = {each.name for each in CATALOGUE}
    assert {name for name in flat if not name.startswith("rate_share_")} == named


def test_the_table_itself() -> None:
    names = [each.name for each in CATALOGUE]
    paths = [each.path for each in CATALOGUE]
    assert len(set(names)) == len(names)
    assert len(set(paths)) == len(paths)
    for each in CATALOGUE:
        assert each.label
        assert each.kind in KINDS
        assert each.better in ("", "lower", "higher")
        assert set(each.tables) <= set(TABLES)
        assert each.low < each.high
        assert len(each.column("h").splitlines()) <= 2
    for name in DISTRIBUTIONS:
        assert {f"{name}_{statistic}" for statistic in STATISTICS} <= set(names)


def test_units_titles_and_bounds() -> None:
    known = registry.find
    assert known("wait_mean").title == "mean wait (s)"
    assert known("energy_kwh").title == "energy (kWh)"
    assert known("bounded_slowdown_mean").title == "mean bounded slowdown"
    assert known("utilisation").title == "utilisation (%)"
    assert known("utilisation").shown(0.5) == 50.0
    assert known("energy.total_kwh") is known("energy_kwh")
    assert (known("slowdown_max").low, known("cost").low) == (1.0, -math.inf)
    assert known("wait_mean").unit_for([7200.0]).name == "h"
    assert known("nothing") is None
    one = Measure("one", "a fine long label")
    assert (
        one.column("kg") == "a fine\nlong label kg" or one.column("kg") == "a fine long\nlabel kg"
    )


def test_one_of_ours_may_have_a_function_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """A new entry of the catalogue is all that it takes."""
    new = Measure("twice", "twice the makespan", "s", "lower", function=_twice, tables=TABLES)
    monkeypatch.setitem(registry._OURS, "twice", new)
    summary = sojourn.simulate(sojourn.lublin(20, 8, seed=1), 8).summary
    assert summary["twice"] == 2 * summary["makespan"]
    assert list(summary["measures"]) == ["half_max_wait"]
    assert flat_summary(summary)["twice"] == summary["twice"]


def _twice(result: sojourn.Result) -> float:
    return 2 * result.summary["makespan"]


def test_registry_is_light() -> None:
    heavy = "[name for name in ('numpy', 'pandas', 'numba') if name in sys.modules]"
    code = f"import sys, sojourn.measures.registry; print({heavy})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_formulas_are_found_where_they_were() -> None:
    from sojourn import measures

    assert measures.slowdown(np.array([4.0]), np.array([2.0])).tolist() == [2.0]
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = measures.nothing
