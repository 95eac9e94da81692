"""Waits, energy and CO2 together, as docs/background/wait-energy-carbon.md has them."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "background"


@pytest.fixture(scope="module")
def study(data_dir):
    spec = importlib.util.spec_from_file_location("make_front", FOLDER / "make_front.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.DATA = data_dir
    return module


def rows_of(name: str) -> dict[str, str]:
    """Lines of the table behind the picture of a study, by their first words."""
    page = (FOLDER / "wait-energy-carbon.md").read_text(encoding="utf-8")
    after = page.partition(f"images/front-{name}.png")[2].partition("\n## ")[0]
    lines = [line for line in after.splitlines() if line.startswith("| ")][1:]
    return {line.split("|")[1].strip(): line for line in lines}


def point_of(study, line: str) -> dict[str, object]:
    """The settings of a line."""
    sleep, threshold, slack = (cell.strip().replace(",", "") for cell in line.split("|")[2:5])
    idle = sleep if sleep == "never" else f"idle:{sleep}"
    return {study.SLEEP: idle, study.THRESHOLD: float(threshold), study.SLACK: int(slack)}


def check(study, name: str, folder: Path, chosen: tuple[str, ...] | None = None) -> None:
    changes, rows = study.Changes(name, folder), rows_of(name)
    for words in chosen or rows:
        point = point_of(study, rows[words])
        assert study.row(words, point, changes.of(point)) == rows[words]


def test_points_on_eurora_are_those_of_the_page(study, tmp_path):
    check(study, "eurora", tmp_path, ("sleep alone", "within about 3,600 s"))


def test_a_point_on_kth_is_that_of_the_page(study, tmp_path):
    check(study, "kth", tmp_path, ("within about 900 s",))


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["kth", "eurora"])
def test_whole_tables_are_those_of_the_page(study, name, tmp_path):
    check(study, name, tmp_path)
