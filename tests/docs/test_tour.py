"""The tour in examples/ runs from top to bottom in a kernel of its own, and shows what it says."""

from __future__ import annotations

import base64
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from snippets import ROOT

import sojourn

TOUR = ROOT / "examples" / "tour.ipynb"
PNG = b"\x89PNG\r\n\x1a\n"

# In a process of its own: its event loop and sockets are not those of the other tests.
CARRY_OUT = """
import sys
import nbformat
from nbclient import NotebookClient

notebook = nbformat.read(sys.argv[1], as_version=4)
NotebookClient(notebook, timeout=900, startup_timeout=300).execute()
nbformat.write(notebook, sys.argv[2])
"""


def code_cells(path: Path) -> list[dict[str, Any]]:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [cell for cell in cells if cell["cell_type"] == "code"]


@pytest.fixture(scope="module")
def cells(tmp_path_factory) -> list[dict[str, Any]]:
    for name in ("nbclient", "nbformat", "ipykernel"):
        pytest.importorskip(name, reason="pip install 'sojourn[test]'")
    folder = tmp_path_factory.mktemp("tour")
    homes = {name: str(folder / name) for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR")}
    source = str(Path(sojourn.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", CARRY_OUT, str(TOUR), "done.ipynb"],
        cwd=folder,
        env={**os.environ, **homes, "JUPYTER_PLATFORM_DIRS": "1", "PYTHONPATH": source},
        capture_output=True,
        text=True,
        timeout=1200,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return code_cells(folder / "done.ipynb")


def outputs_of(cells: list[dict[str, Any]], source: str) -> list[dict[str, Any]]:
    (found,) = [cell for cell in cells if source in "".join(cell["source"])]
    return found["outputs"]


def printed(cells: list[dict[str, Any]], source: str) -> str:
    outputs = outputs_of(cells, source)
    return "".join("".join(out["text"]) for out in outputs if out.get("name") == "stdout")


def table(cells: list[dict[str, Any]], source: str) -> str:
    return "".join(outputs_of(cells, source)[-1]["data"]["text/html"])


def numbers(text: str) -> list[float]:
    return [float(number) for number in re.findall(r"[+-]?\d+\.\d+", text)]


def test_the_tour_is_kept_without_outputs():
    for cell in code_cells(TOUR):
        clear = not cell["outputs"] and cell["execution_count"] is None
        assert clear, f"clear the outputs of {TOUR.name} before it is kept"


def test_every_cell_shows_something_and_nothing_warns(cells):
    assert 12 <= len(cells) <= 15
    for cell in cells:
        source = "".join(cell["source"])
        assert cell["outputs"], source
        for out in cell["outputs"]:
            assert "Warning" not in "".join(out.get("text", "")), source


def test_pictures_are_shown_without_pyplot(cells):
    drawn = [cell for cell in cells if ".plot" in "".join(cell["source"])]
    assert len(drawn) >= 3
    for cell in drawn:
        shown = cell["outputs"][-1]
        assert base64.b64decode(shown["data"]["image/png"]).startswith(PNG)
        assert shown["metadata"]["image/png"]["width"] == 800


def test_the_run_of_the_tour(cells):
    jobs = sojourn.lublin(1500, 128, load=0.75, seed=1, estimates="tsafrir")
    hours = sojourn.simulate(jobs, 128, "easy").summary["wait"]["mean"] / 3600
    said = table(cells, 'result = sojourn.simulate(jobs, 128, "easy")')
    assert f">{hours:.4g} h<" in said
    assert "<polyline" in said


def test_policies_of_the_tour(cells):
    for source, names in (
        ('jobs, 128, ["fcfs"', ("fcfs", "easy", "conservative", "sjf+easy")),
        ("def hurry", ("easy", "saf+easy", "hurry+easy")),
    ):
        for name in names:
            assert f">{name}</td>" in table(cells, source)


def test_differences_are_sure(cells):
    lines = printed(cells, "study.changes").splitlines()
    change = {line.split()[0]: numbers(line) for line in lines}
    assert change["easy"] == [0.0, 0.0, 0.0]
    mean, low, high = change["sjf+easy"]
    assert low < mean < high < 0


def test_gpus_and_energy(cells):
    assert re.search(r"<th[^>]*>gpu</th>", table(cells, "parse_cluster"))
    saved, longer = numbers(printed(cells, "saved ="))
    assert saved > 5
    assert longer > 0
    assert "cost of energy" in table(cells, "saved =")


def test_theory_is_inside_the_interval(cells):
    theory, mean, low, high = numbers(printed(cells, "multiserver_wait("))
    assert theory == pytest.approx(sojourn.theory.multiserver_wait(1 / 60, 1 / 510, 10), abs=0.05)
    assert low < theory < high
    assert low < mean < high
    (share,) = numbers(printed(cells, "stability_constant(shares)"))
    assert 50 < share < 100
