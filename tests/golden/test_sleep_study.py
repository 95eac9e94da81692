"""What sleeping saves on KTH and on Eurora, as docs/background/power-states.md has it."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

import sojourn

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "background"


@pytest.fixture(scope="module")
def study(data_dir):
    spec = importlib.util.spec_from_file_location("make_sleep", FOLDER / "make_sleep.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.DATA = data_dir
    return module


def table_of(name: str) -> list[str]:
    """Lines of the table behind the picture of a study."""
    page = (FOLDER / "power-states.md").read_text(encoding="utf-8")
    after = page.partition(f"images/sleep-{name}.png")[2].splitlines()
    first = next(k for k, line in enumerate(after) if line.startswith("|"))
    return [line for line in after[first : first + 13] if line.startswith("|")]


@pytest.mark.parametrize(
    ("name", "times"),
    [("kth", ("never", "1,200")), ("eurora", ("never", "0", "120", "14,400"))],
)
def test_runs_on_the_logs_are_those_of_the_page(study, name, times):
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in table_of(name)]
    rows = {row[0].removesuffix(" (knee)"): row for row in cells[2:]}
    assert len(rows) == 11
    jobs, cluster = study.STUDIES[name]()
    for time in times:
        rule = "never" if time == "never" else f"idle:{time.replace(',', '')}"
        summary = sojourn.simulate(jobs, cluster, "easy", sleep=rule).summary
        boots = summary["sleep"]["boots"] if "sleep" in summary else 0
        told = [summary["energy"]["total_kwh"], summary["wait"]["mean"], boots]
        assert rows[time][1:4] == [f"{number:,.0f}" for number in told]


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["kth", "eurora"])
def test_whole_tables_are_those_of_the_page(study, name):
    assert list(study.lines(study.study(name))) == table_of(name)
