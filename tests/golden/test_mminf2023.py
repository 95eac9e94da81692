"""Figures 3 and 4 of [mminf2023], against their closed forms in exact fractions."""

from __future__ import annotations

import json
from fractions import Fraction
from math import prod

import pytest

from sojourn.cli import main
from sojourn.papers import find, write

NAMES = ["mminf2023-fig3", "mminf2023-fig4"]


@pytest.fixture
def rows(tmp_path):
    """Rows of both figures; no data are needed."""
    return {name: find(name)(tmp_path).rows for name in NAMES}


def exactly(z: float, width: int, *, shared: bool = False) -> float:
    """P_serv for mean service 1: (48), and with one limit for all sub-requests (errata 4)."""
    limit = Fraction(z)
    if shared:
        return float(prod(limit * i / (limit * i + 1) for i in range(1, width + 1)))
    return float((limit / (limit + 1)) ** width)


def test_figure_3_is_equation_44(rows):
    for row in rows["mminf2023-fig3"]:
        z = row["mean_limit"]
        assert row["completion_probability"] == pytest.approx(exactly(z, 1), rel=1e-14, abs=0)
    at = {row["mean_limit"]: row["completion_probability"] for row in rows["mminf2023-fig3"]}
    assert min(at) == 0
    assert max(at) == 10
    # Completion and removal are equally likely where the mean limit is the mean service time.
    assert at[1.0] == pytest.approx(0.5, rel=1e-15)
    assert list(at.values()) == sorted(at.values())


def test_figure_4_is_equation_48(rows):
    for row in rows["mminf2023-fig4"]:
        z = row["mean_limit"]
        for k in (1, 3, 5):
            assert row[f"k_{k}"] == pytest.approx(exactly(z, k), rel=1e-13, abs=0)
        for k in (3, 5):
            shared = row[f"k_{k}_shared"]
            assert shared == pytest.approx(exactly(z, k, shared=True), rel=1e-13, abs=0)
            assert shared > row[f"k_{k}"] or z == 0
        if z > 0:
            assert row["k_1"] > row["k_3"] > row["k_5"]


def test_readings_of_erratum_4(rows):
    """Five sub-requests, mean limit = mean service: 0.031 with a limit each, 0.167 with one."""
    at = next(row for row in rows["mminf2023-fig4"] if row["mean_limit"] == 1)
    assert at["k_5"] == pytest.approx(1 / 32, rel=1e-14)
    assert at["k_5_shared"] == pytest.approx(1 / 6, rel=1e-14)


def test_what_is_said_of_the_critical_limit(tmp_path):
    """(45) for 0.9: z = 9 for one server; (45) with the k-th root for more."""
    assert find(NAMES[0])(tmp_path).says.endswith("0.9 needs z = 9")
    limits = [1 / (0.9 ** (-1 / k) - 1) for k in (1, 3, 5)]
    told = ", ".join(f"{z:.3g}" for z in limits)
    assert f"0.9 needs z = {told} for k = 1, 3, 5" in find(NAMES[1])(tmp_path).says


@pytest.mark.parametrize("name", NAMES)
def test_command_and_picture(tmp_path, capsys, rows, name):
    folder = tmp_path / "figures"
    assert main(["reproduce", name, "--out", str(folder), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"] == list(rows[name])
    assert (folder / f"{name}.png").read_bytes()[1:4] == b"PNG"
    assert len((folder / f"{name}.csv").read_text().splitlines()) == len(rows[name]) + 1
    assert main(["reproduce", name, "--printed"]) == 2
    assert "leave out --printed" in capsys.readouterr().err


@pytest.mark.parametrize(("name", "curves"), [(NAMES[0], 1), (NAMES[1], 5)])
def test_the_picture_has_every_curve(tmp_path, name, curves):
    outcome = find(name)(tmp_path)
    (ax,) = outcome.draw().axes
    drawn = [line for line in ax.lines if len(line.get_xdata()) == len(outcome.rows)]
    assert len(drawn) == curves
    last = sorted(line.get_ydata()[-1] for line in drawn)
    columns = [value for key, value in outcome.rows[-1].items() if key != "mean_limit"]
    assert last == pytest.approx(sorted(columns))
    assert write(outcome, name, tmp_path, kind="svg") == [f"{name}.svg", f"{name}.csv"]
