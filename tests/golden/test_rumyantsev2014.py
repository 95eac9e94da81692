"""``rumyantsev2014-constants``: C and rho of the logs, exact constants, and general service."""

from __future__ import annotations

import csv
import json
from fractions import Fraction

import numpy as np
import pytest

from sojourn.cli import main
from sojourn.papers import find, write
from sojourn.papers.rumyantsev2014 import GENERAL, LOGS, SMALL, VARIATION, BalancedHyperexponential

NAME = "rumyantsev2014-constants"

# The digits that are published with the data.
PUBLISHED = {
    "HPC_KRC, cores used": 0.218991887784,
    "HPC_KRC, cores requested": 0.167769460370,
    "HPC_KRC2, cores used": 0.071910815247,
    "p = (1/2, 0, 0, 1/2)": 0.8489583,
    "p = (0.4, 0.3, 0.2, 0.1)": 0.6382,
    "uniform widths, s = 3": Fraction(67, 81),
}


@pytest.fixture(scope="module")
def outcome(data_dir):
    return find(NAME)(data_dir)


@pytest.fixture(scope="module")
def rows(outcome):
    return {row["what"]: row for row in outcome.rows}


def test_constants_have_the_published_digits(rows):
    for what, value in PUBLISHED.items():
        digits = 1e-12 if what in LOGS else 5e-8
        assert rows[what]["C"] == pytest.approx(float(value), abs=digits), what
    assert rows["uniform widths, s = 3"]["C"] == pytest.approx(67 / 81, rel=1e-15)


def test_loads_of_the_logs(data_dir, rows):
    reference = json.loads((data_dir / "hpcwld" / "rho_datasets.json").read_text())
    names = {"C": "C", "arrival_rate": "lam", "mean_service": "ES", "rho": "rho"}
    for what, key in LOGS.items():
        theirs = reference["|".join(key)]
        expected = {ours: theirs[name] for ours, name in names.items()}
        assert {name: rows[what][name] for name in names} == pytest.approx(expected, rel=1e-12)
        assert rows[what]["servers"] == 80


def test_exact_only_for_exponential_service(rows):
    """Erratum 4: 0.755 exponential, 0.700 deterministic, 0.819 hyperexponential; C = 0.7531."""
    found = {
        what.removeprefix(f"{GENERAL}, "): row for what, row in rows.items() if row["low"] != ""
    }
    exponential, deterministic, *hyper = found
    assert (exponential, deterministic, len(hyper)) == ("exponential", "deterministic", 2)
    for row in found.values():
        assert row["C"] == rows[GENERAL]["C"] == pytest.approx(0.7531, abs=5e-5)
        assert row["low"] < row["time_per_job"] < row["high"]
    exact = rows[GENERAL]["C"]
    assert found[exponential]["low"] < exact < found[exponential]["high"]
    assert found[deterministic]["high"] < exact < min(found[name]["low"] for name in hyper)
    times = [found[name]["time_per_job"] for name in (exponential, deterministic, hyper[-1])]
    assert times == pytest.approx([0.755, 0.700, 0.819], abs=0.003)


@pytest.mark.parametrize("variation", [1.0, *VARIATION])
def test_hyperexponential_times(variation):
    times = BalancedHyperexponential(variation).rvs(
        size=2_000_000, random_state=np.random.default_rng(1)
    )
    assert times.mean() == pytest.approx(BalancedHyperexponential(variation).mean(), rel=0.01)
    assert times.var() == pytest.approx(variation, rel=0.02)


def test_table_and_file_have_every_row(tmp_path, outcome):
    lines = outcome.table.splitlines()
    assert len(lines) == 1 + len(outcome.rows) == 1 + len(LOGS) + len(SMALL) + 2 + len(VARIATION)
    for line, row in zip(lines[1:], outcome.rows, strict=True):
        assert line.startswith(row["what"])
        assert f"{row['C']:.12f}" in line
    assert write(outcome, NAME, tmp_path) == [f"{NAME}.csv"]
    with open(tmp_path / f"{NAME}.csv") as file:
        assert [row["what"] for row in csv.DictReader(file)] == [r["what"] for r in outcome.rows]


def test_one_clear_line_without_the_data(tmp_path, capsys):
    assert main(["reproduce", NAME, "--data", str(tmp_path)]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert "needs hpcwld/HPC_KRC.csv" in told.err
    assert len(told.err.splitlines()) == 1
