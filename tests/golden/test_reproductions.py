"""``sojourn reproduce``: figures against their reference, and one line when it cannot."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from itertools import pairwise

import pytest

import sojourn
from sojourn.cli import main
from sojourn.errors import OptionError
from sojourn.papers import Reproduced, Request, catalogue, find, registry, reproduction, write

NAMES = [
    "rumyantsev2018-fig1",
    "rumyantsev2018-fig2",
    "rumyantsev2018-fig2-low-rate",
    "rumyantsev2018-fig3",
]


@pytest.fixture
def reference(data_dir):
    with open(data_dir / "hpcwld" / "fig3_reference.csv") as file:
        return list(csv.DictReader(file))


def test_all_are_listed(capsys):
    assert [name for name in catalogue() if name.startswith("rumyantsev2018")] == NAMES
    assert main(["reproduce"]) == 0
    listed = capsys.readouterr().out
    assert all(name in listed for name in NAMES)
    assert main(["reproduce", "--json"]) == 0
    assert {entry["name"] for entry in json.loads(capsys.readouterr().out)} >= set(NAMES)


@pytest.mark.parametrize(("options", "energy"), [([], "E_swapped"), (["--printed"], "E_printed")])
def test_figure_3_as_json(data_dir, reference, tmp_path, capsys, options, energy):
    folder = str(tmp_path / "figures")
    command = ["reproduce", "rumyantsev2018-fig3", "--data", str(data_dir), "--out", folder]
    assert main([*command, "--json", *options]) == 0
    told = json.loads(capsys.readouterr().out)
    assert list(told) == ["rows"]
    assert len(told["rows"]) == len(reference) == 31
    names = {"k": "k", "energy": energy, "workload": "W_mean", "time_at_high_rate": "frac_time_rH"}
    for ours, theirs in zip(told["rows"], reference, strict=True):
        assert ours == pytest.approx({a: float(theirs[b]) for a, b in names.items()}, rel=1e-9)
    assert (tmp_path / "figures" / "rumyantsev2018-fig3.png").read_bytes()[1:4] == b"PNG"
    assert len((tmp_path / "figures" / "rumyantsev2018-fig3.csv").read_text().splitlines()) == 32


def test_figure_3_trades_energy_for_workload_only_with_swapped_constants(data_dir):
    """Erratum 12: as printed, a higher threshold costs both energy and workload."""
    energy = {}
    for printed in (False, True):
        rows = find("rumyantsev2018-fig3")(data_dir, printed=printed).rows
        energy[printed] = [row["energy"] for row in rows]
        assert [row["workload"] for row in rows] == sorted(row["workload"] for row in rows)
    assert energy[False] == sorted(energy[False], reverse=True)
    assert min(energy[True]) == energy[True][0]
    assert max(energy[True]) == energy[True][-1]


def test_figure_1_shows_hysteresis(data_dir):
    """The rate rises where W is above k_H, and falls where W is at k_L or below."""
    rows = find("rumyantsev2018-fig1")(data_dir).rows
    rises, falls = [], []
    for before, after in pairwise(rows):
        if after["rate"] > before["rate"]:
            rises.append(after["workload"])
        if after["rate"] < before["rate"]:
            falls.append(after["workload"])
    assert len(rises) == len(falls) == 7
    assert min(rises) > 3e5
    assert falls == [1e5] * 7


def test_figure_2_as_described_needs_a_low_rate(data_dir):
    """Erratum 14: nobody waits; all do where services take 2.66 / 2 times as recorded."""
    waiting = {}
    for name in NAMES[1:3]:
        rows = find(name)(data_dir).rows
        assert [row["customer"] for row in rows] == list(range(7000, 7500))
        waiting[name] = sum(row["start"] > row["submit"] for row in rows)
    assert waiting == {"rumyantsev2018-fig2": 0, "rumyantsev2018-fig2-low-rate": 500}


@pytest.mark.parametrize("reference_rate", [1.0, 2.0, 2.66])
@pytest.mark.parametrize("rate", ["workload:2.0,2.66:1e5:3e5", 2.0, 2.66])
def test_figure_2_under_other_readings(data_dir, reference_rate, rate):
    """Of nine readings one lets more than two of these customers wait."""
    jobs = sojourn.read_hpcwld(data_dir / "hpcwld" / "HPC_KRC2.csv", clean=True)
    options = {"estimates": "exact", "clean": (), "reference_rate": reference_rate}
    wait = sojourn.simulate(jobs, 80, "fcfs", rate=rate, **options).jobs["wait"][6999:7499]
    slow = (reference_rate, rate) == (2.66, 2.0)
    assert (wait > 1).sum() == (500 if slow else 0 if reference_rate == 1 else 2)


@pytest.mark.parametrize("name", NAMES[:3])
def test_pictures_are_drawn(data_dir, tmp_path, name):
    files = write(find(name)(data_dir), name, tmp_path, kind="svg")
    assert files == [f"{name}.svg", f"{name}.csv"]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(files)
    assert "<svg" in (tmp_path / f"{name}.svg").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["rumyantsev2018-fig3", "--data", "{}"], "needs hpcwld/HPC_KRC2.csv"),
        (["rumyantsev2018-fig4"], "did you mean 'rumyantsev2018-fig"),
        (["rumyantsev2018-fig1", "--printed"], "leave out --printed"),
        (["rumyantsev2018-fig1", "--picture", "gif"], "choose png, svg or pdf"),
        (["rumyantsev2018-fig1", "--out", "{}/file/below"], "is a file"),
    ],
)
def test_one_clear_line_when_it_cannot(tmp_path, capsys, arguments, message):
    (tmp_path / "file").touch()
    assert main(["reproduce", *(a.format(tmp_path) for a in arguments)]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert len(told.err.splitlines()) == 1
    assert message in told.err


def test_data_may_lie_in_the_folder_itself(tmp_path):
    (tmp_path / "log.csv").touch()
    request = Request("some-figure", tmp_path)
    assert request.file("below/log.csv", "a log") == tmp_path / "log.csv"
    with pytest.raises(OptionError, match=r"some-figure needs below/other.csv \(a log\)"):
        request.file("below/other.csv", "a log")


def test_a_paper_adds_its_own(monkeypatch, tmp_path):
    monkeypatch.setattr(registry, "_REPRODUCTIONS", {})

    @reproduction("smith2031-table1", "Mean waits")
    def table(request: Request) -> Reproduced:
        return Reproduced([{"wait": 1.5}], "short")

    with pytest.raises(ValueError, match="smith2031-table1"):
        reproduction("smith2031-table1", "Again")(table.make)
    assert find("smith2031-table1") is table
    assert write(table(tmp_path), "table", tmp_path) == ["table.csv"]
    assert (tmp_path / "table.csv").read_text() == "wait\n1.5\n"


def test_listing_imports_nothing_heavy():
    code = (
        "import sys; from sojourn.cli import main; main(['reproduce'])\n"
        "sys.exit(any(name in sys.modules for name in ('numba', 'pandas', 'matplotlib')))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr) == (0, "")
