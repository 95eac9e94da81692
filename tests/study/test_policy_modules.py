"""Modules beside a policy file: they can be imported, and count for the name of a run."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from studies import small_scenario

from sojourn.cli import main
from sojourn.errors import OptionError, PolicyError
from sojourn.policy import load_score
from sojourn.policy.modules import local_modules
from sojourn.study import Scenario, sweep

OWN = """\
import numpy
import sojourn
from helpers.signs import sign


@sojourn.score
def mine(jobs, j, now, theta):
    return sign() * jobs.procs[j]
"""
SIGNS = """\
import numba
from . import depths


@numba.njit
def sign():
    return {sign}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "helpers").mkdir()
    (tmp_path / "own.py").write_text(OWN)
    (tmp_path / "helpers" / "__init__.py").write_text("")
    (tmp_path / "helpers" / "depths.py").write_text("from sojourn import score\n")
    (tmp_path / "helpers" / "unused.py").write_text("")
    set_sign(tmp_path, 1)
    return tmp_path


def set_sign(folder: Path, sign: int) -> None:
    # Of another length: bytecode is that of the file's second and size.
    text = SIGNS.format(sign=f"{sign} + 0" if sign > 0 else sign)
    (folder / "helpers" / "signs.py").write_text(text)


def scenario_of(folder: Path) -> Scenario:
    return small_scenario(policy={"order": f"{folder / 'own.py'}:mine"})


def test_the_modules_of_a_policy_file(folder: Path) -> None:
    inside = ["helpers/__init__.py", "helpers/depths.py", "helpers/signs.py"]
    assert local_modules(folder / "own.py") == inside
    files = scenario_of(folder).files
    assert {name: Path(path) for name, path in files.items()} == {
        "order": folder / "own.py",
        **{f"order/{name}": folder / name for name in inside},
    }
    (folder / "helpers" / "depths.py").write_text("this is no Python")
    assert local_modules(folder / "own.py") == inside
    assert local_modules(folder / "gone.py") == []


def test_a_run_goes_by_the_modules_of_its_policy_file(folder: Path) -> None:
    """Its name and its schedule change with a module, in one process too."""
    scenario = scenario_of(folder)
    before = scenario.digest, scenario.run(scenario.workload()).start.tolist()
    (folder / "helpers" / "unused.py").write_text("x = 1\n")
    assert scenario.digest == before[0]
    set_sign(folder, -1)
    after = scenario.digest, scenario.run(scenario.workload()).start.tolist()
    assert after[0] != before[0]
    assert after[1] != before[1]
    assert scenario_of(folder).run(scenario.workload()).start.tolist() == after[1]


def test_modules_stay_with_their_policy_file(folder: Path, monkeypatch) -> None:
    """Nobody else finds them, and a module of that name is what it was."""
    paths = list(sys.path)
    load_score(f"{folder / 'own.py'}:mine")
    assert sys.path == paths
    assert "helpers.signs" not in sys.modules
    (folder / "numpy.py").write_text("raise ImportError('not this one')\n")
    load_score(f"{folder / 'own.py'}:mine")
    monkeypatch.syspath_prepend(folder)
    import helpers.signs

    load_score(f"{folder / 'own.py'}:mine")
    assert sys.modules["helpers.signs"] is helpers.signs
    for name in ("helpers.signs", "helpers.depths", "helpers"):
        del sys.modules[name]


def test_an_error_in_a_module_is_one_line(folder: Path) -> None:
    set_sign(folder, 1)
    (folder / "helpers" / "depths.py").write_text("1 / 0\n")
    with pytest.raises(PolicyError, match=r"own.py: the file fails when it is loaded: ZeroDiv"):
        load_score(f"{folder / 'own.py'}:mine")


def test_provenance_has_the_modules(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "log.swf").write_text("; MaxProcs: 4\n1 0 -1 5 1 -1 -1 1 5 -1 1 1 1 1 1 1 -1 -1\n")
    (folder / "s.toml").write_text(
        '[workload]\nlog = "log.swf"\n[policy]\norder = "own.py:mine"\n[cluster]\nprocs = 4\n'
    )
    asked = ["simulate", str(folder / "log.swf"), "--policy-file", f"{folder / 'own.py'}:mine"]
    for command in (asked, ["run", str(folder / "s.toml")]):
        assert main([*command, "--json"]) == 0
        told = json.loads(capsys.readouterr().out)["provenance"]
        assert Path(told["order/helpers/signs.py"]["path"]) == folder / "helpers" / "signs.py"
        assert len(told["order/helpers/signs.py"]["sha256"]) == 64


@pytest.mark.parametrize(
    ("name", "section", "line", "key"),
    [
        ("gone.swf", '[workload]\nlog = "{}"\n', 2, "workload.log"),
        (
            "gone.py",
            '[workload]\nmodel = "lublin"\n[cluster]\nprocs = 8\n[policy]\norder = "{}:f"\n',
            6,
            "policy.order",
        ),
        (
            "gone.toml",
            '[workload]\nmodel = "lublin"\n[cluster]\nnodes = "{}"\n',
            4,
            "cluster.nodes",
        ),
    ],
)
def test_a_sweep_names_the_line_of_a_missing_file(
    tmp_path: Path, capsys, name: str, section: str, line: int, key: str
) -> None:
    path = tmp_path / "s.toml"
    path.write_text(section.format(name))
    place = tmp_path / name
    for command in (["run", str(path)], ["sweep", str(path), "--set", "run.seed=1,2"]):
        assert (
            main([*command, *([] if command[0] == "run" else ["--out", str(tmp_path / "o")])]) == 2
        )
        said = capsys.readouterr().err
        assert f"s.toml, line {line}, key '{key}': {place}: no such file" in said
        assert said.count("\n") == 1


def test_a_missing_file_of_a_varied_key_is_named_with_the_key(tmp_path: Path) -> None:
    gone = [str(tmp_path / name) for name in ("a.toml", "b.toml")]
    with pytest.raises(OptionError, match=rf"^cluster.nodes: {gone[0]}: no such file; check"):
        sweep(
            small_scenario(cluster={"nodes": "given.toml"}, power={}, control={}),
            {"cluster.nodes": gone},
            out=tmp_path / "o",
            workers=1,
        )
