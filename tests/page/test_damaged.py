"""Folders that are damaged: a page, or one line that names the file."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import sojourn
from sojourn.errors import InputError, OptionError
from sojourn.report.page import make_report
from sojourn.run.folder import write_run

from .conftest import made_jobs, study_rows, write_simulated, write_study
from .damage import damages

_EACH = 30


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A folder of each kind, with few jobs."""
    top = tmp_path_factory.mktemp("folders")
    jobs = made_jobs(40, 8)
    nodes = top / "nodes.csv"
    nodes.write_text("name,model,cores,ops,watts\na,old,4,1e5,200\nb,old,4,1e5,200\n")
    write_simulated(top / "run", jobs, 8, "easy")
    rule = {"rule": "zero", "action": "removed", "what": "no time", "unit": "job", "count": 1}
    path = top / "run" / "summary.json"
    summary = json.loads(path.read_text())
    summary["cleaning"] = {"source": "log", "read": 41, "kept": 40, "findings": [rule]}
    waited = {"wait": dict.fromkeys(("mean", "median", "p95"), 9.0), "bounded_slowdown": {}}
    summary["recorded"] = {"jobs": 40, **waited, "simulated": waited}
    path.write_text(json.dumps(summary))
    named = sojourn.simulate(jobs, sojourn.read_cluster(nodes), "easy", record=True, clean=())
    write_run(named, top / "named", format="csv")
    for policy in ("fcfs", "easy"):
        write_simulated(top / "comparison" / policy, jobs, 8, policy)
    (top / "comparison" / "compare.json").write_text('{"folders": ["fcfs", "easy"]}')
    points = [{"values": {"control.k": 0.0, "policy.order": "sjf"}, "share": 0.9}]
    study = write_study(top / "study", study_rows(replications=3), objectives=["wait_mean"])
    (study / "front.json").write_text(json.dumps({"objectives": ["wait_mean"], "points": points}))
    (study / "scenario.toml").write_text('[policy]\norder = "fcfs"\n')
    return {name: top / name for name in ("run", "named", "comparison", "study")}


@pytest.fixture(autouse=True)
def quick_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the library of charts out: it is the same in every page."""
    monkeypatch.setattr("sojourn.report.page.writing.compress", lambda data: "")


@pytest.mark.parametrize("kind", ["run", "named", "comparison", "study"])
def test_a_damaged_folder_is_a_page_or_one_line(folders: dict[str, Path], kind: str) -> None:
    folder = folders[kind]
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix != ".swf")
    every = [(path, *damage) for path in files for damage in damages(path)]
    refused = 0
    for i in np.random.default_rng(13).choice(len(every), _EACH, replace=False):
        path, what, content = every[i]
        before = path.read_bytes()
        path.unlink() if content is None else path.write_bytes(content)
        line = ""
        try:
            make_report(folder)
        except InputError as error:
            line = str(error)
        except Exception as error:
            raise AssertionError(f"{path}, {what}") from error
        finally:
            path.write_bytes(before)
        if line:
            refused += 1
            assert line.startswith(str(folder)), what
            assert "\n" not in line
    assert 0 < refused < _EACH


@pytest.mark.parametrize(
    ("kind", "file", "change", "message"),
    [
        ("run", "summary.json", {"procs": "8"}, "field 'procs': must be a whole number"),
        ("run", "summary.json", {"wait": [1]}, "field 'wait': must be an object of numbers"),
        ("run", "summary.json", {"recorded": [1]}, "field 'recorded': must be an object"),
        ("run", "summary.json", {"jobs": 41}, "has 40 jobs, summary.json says 41"),
        ("run", "summary.json", {"provenance": {"input": 3}}, "field 'provenance.input': must be"),
        ("run", "summary.json", {"procs": 10**400}, "field 'procs': must be a whole number"),
        ("run", "summary.json", {"energy": {"power_peak": {}}}, "field 'energy.power_peak'"),
        ("run", "summary.json", {"not_modelled": 0}, "field 'not_modelled': must be a list of"),
        ("run", "summary.json", {"recorded": {"jobs": 1}}, "field 'recorded.wait': is missing"),
        (
            "comparison",
            "easy/summary.json",
            {"recorded": {"jobs": 1, "wait": {}}},
            "field 'recorded.wait.mean': is missing",
        ),
        ("study", "study.json", {"keys": "control.k"}, "field 'keys': must be a list of texts"),
        ("study", "front.json", {"points": [1]}, "field 'points': must be a list of points"),
        ("comparison", "compare.json", {"folders": [1]}, "field 'folders': must be a list"),
    ],
)
def test_what_is_wrong_is_named(
    folders: dict[str, Path], kind: str, file: str, change: dict[str, object], message: str
) -> None:
    path = folders[kind] / file
    before = path.read_text()
    path.write_text(json.dumps(json.loads(before) | change))
    try:
        with pytest.raises(OptionError, match=message):
            make_report(folders[kind])
    finally:
        path.write_text(before)


def test_a_scenario_that_is_a_folder(folders: dict[str, Path]) -> None:
    path = folders["study"] / "scenario.toml"
    before = path.read_text()
    path.unlink()
    path.mkdir()
    try:
        with pytest.raises(OptionError, match=r"scenario\.toml: cannot be read"):
            make_report(folders["study"])
    finally:
        path.rmdir()
        path.write_text(before)


def test_the_widest_machine_has_a_page(tmp_path: Path) -> None:
    write_simulated(tmp_path / "run", made_jobs(5, 8), 2**31 - 1, "easy")
    make_report(tmp_path / "run")
