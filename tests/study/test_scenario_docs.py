"""The page of scenario files has every key, the examples run, and nothing heavy is imported."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer.main

from sojourn.cli import app
from sojourn.run.keys import ConstraintKeys, ScenarioKeys, described_by_flag
from sojourn.study import read_scenario, run_scenario

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "reference" / "scenario.md").read_text(encoding="utf-8")
EXAMPLES = sorted((ROOT / "examples").glob("*.toml"))


def rows(section: str) -> list[list[str]]:
    """Cells of the tables below a heading."""
    text = PAGE.partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    return [
        [cell.strip() for cell in line.strip("|").split(" | ")]
        for line in text.splitlines()
        if line.startswith("| `")
    ]


@pytest.mark.parametrize(
    "section", ["workload", "cluster", "policy", "slurm", "control", "power", "defer", "run"]
)
def test_every_key_is_on_the_page(section):
    table = ScenarioKeys.model_fields[section].annotation
    names = [cells[0].strip("` ") for cells in rows(section)]
    wanted = list(table.model_fields)
    if section == "policy":
        wanted += ConstraintKeys.model_fields
    assert sorted(names) == sorted(wanted)
    assert all(f"`{name}`" in PAGE for name in ScenarioKeys.model_fields if name in names)


def test_every_option_of_simulate_has_its_key():
    named = set(re.findall(r"`(--[a-z-]+)`", PAGE))
    command = typer.main.get_command(app).commands["simulate"]
    flags = {flag for each in command.params for flag in (*each.opts, *each.secondary_opts)}
    without = {"--out", "--json", "--save-scenario", "--trajectory", "--no-whole-nodes", "--help"}
    without |= {"--check-policy", "--set"}
    assert {flag for flag in flags if flag.startswith("--")} - without <= named


@pytest.mark.parametrize("key", [key for key in described_by_flag().values() if not key.is_table])
def test_an_option_is_beside_its_key(key):
    cells = next(cells for cells in rows(key.path[0]) if cells[0].strip("` ") == key.path[-1])
    assert cells[-1].strip("` |") in key.flag.split("/")


def test_the_tables_are_written_from_the_keys():
    place = ROOT / "docs" / "reference" / "make_scenario.py"
    spec = importlib.util.spec_from_file_location("make_scenario", place)
    make_scenario = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(make_scenario)
    assert make_scenario.text() == PAGE, "run python docs/reference/make_scenario.py"


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example(path):
    scenario = read_scenario(path)
    few = scenario.with_value("workload.jobs", 100)
    assert run_scenario(few)["jobs"] == 100
    assert scenario.keys.question


def test_there_are_examples():
    assert len(EXAMPLES) >= 2


def test_the_command_line_stays_light():
    code = (
        "import sys, sojourn.cli, sojourn.study;"
        "heavy = {'numba', 'pandas', 'pyarrow', 'scipy', 'pydantic', 'numpy'} & set(sys.modules);"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
