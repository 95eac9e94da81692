"""Constants of the R package hpcwld and of exact arithmetic, and the loads of its data."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest
from oracle import stability as oracle

import sojourn
from sojourn import theory

WEIGHTS = {
    "uniform": lambda k, s: Fraction(1),
    "geom0.5": lambda k, s: Fraction(1, 2) ** k,
    "geom0.9": lambda k, s: Fraction(9, 10) ** k,
    "harmonic": lambda k, s: Fraction(1, k),
    "pow2": lambda k, s: Fraction(k & (k - 1) == 0),
    "ones": lambda k, s: Fraction(k == 1),
    "full": lambda k, s: Fraction(k == s),
    "half": lambda k, s: Fraction((k == 1) + (k == s)),
}


def widths(name: str, servers: int) -> list[Fraction]:
    weights = [WEIGHTS[name](k, servers) for k in range(1, servers + 1)]
    return [weight / sum(weights) for weight in weights]


def log_shares(cores: np.ndarray, servers: int = 80) -> np.ndarray:
    return np.bincount(cores, minlength=servers + 1)[1:] / len(cores)


def test_exact_rationals(data_dir):
    cases = json.loads((data_dir / "hpcwld" / "stab_exact_python.json").read_text())
    assert len(cases) == 102
    assert sum(bool(case["C"]) for case in cases) > 80
    for case in cases:
        p = widths(case["dist"], case["s"])
        exact = oracle.by_group_sizes(p)
        if case["C"]:
            assert exact == Fraction(case["C"]), case
        assert float(exact) == pytest.approx(case["C_float"], rel=1e-14), case
        for method in ("series", "partitions"):
            found = theory.stability_constant([float(x) for x in p], method)
            assert found == pytest.approx(float(exact), rel=2e-15), (case, method)


@pytest.mark.parametrize(
    ("file", "column", "expected"),
    [
        ("HPC_KRC", "cores_used", 0.218991887784),
        ("HPC_KRC", "cores_requested", 0.167769460370),
        ("HPC_KRC2", "cores_used", 0.071910815247),
    ],
)
def test_cluster_data(data_dir, file, column, expected):
    """lambda is the mean rate between the first arrival and the last."""
    folder = data_dir / "hpcwld"
    jobs = sojourn.read_hpcwld(folder / f"{file}.csv", cores=column, clean=file == "HPC_KRC2")
    reference = json.loads((folder / "rho_datasets.json").read_text())[f"{file}|{column}"]
    assert len(jobs) == reference["n"]
    p = log_shares(jobs.procs)
    constant = theory.stability_constant(p)
    assert constant == pytest.approx(expected, abs=5e-13)
    assert constant == pytest.approx(reference["C"], rel=1e-13)
    rate = (len(jobs) - 1) / (jobs.submit[-1] - jobs.submit[0])
    mean = float(jobs.runtime.mean())
    assert theory.stability_load(rate, mean, p) == pytest.approx(reference["rho"], rel=1e-12)
    limit = theory.max_arrival_rate(p, mean)
    assert limit == pytest.approx(reference["lam"] / reference["rho"], rel=1e-12)


@pytest.mark.parametrize(
    ("p", "expected"),
    [((0.5, 0, 0, 0.5), 163 / 192), ((0.4, 0.3, 0.2, 0.1), 0.6382), ((1 / 3,) * 3, 67 / 81)],
)
def test_small_figures(p, expected):
    assert theory.stability_constant(p) == pytest.approx(expected, rel=1e-15)


def test_uniform_widths_on_ten_servers():
    """Erratum 4 compares service times on this system."""
    assert theory.stability_constant([0.1] * 10) == pytest.approx(0.7531, abs=5e-5)


@pytest.mark.parametrize(("name", "capacities"), [("P2x2", (2, 2)), ("P3x3", (3, 3))])
def test_several_resources(data_dir, name, capacities):
    """The array of the original, indexed from 0, is one longer than the capacities."""
    case = json.loads((data_dir / "hpcwld" / "multiresource_C.json").read_text())[name]
    demands = [entry[:2] for entry in case["entries"]]
    shares = [entry[2] for entry in case["entries"]]
    found = theory.multiresource_constant(demands, shares, capacities)
    assert found == pytest.approx(case["C"], rel=1e-15)
    exact = oracle.multiresource(demands, [Fraction(str(x)) for x in shares], capacities)
    assert found == pytest.approx(float(exact), rel=1e-15)
