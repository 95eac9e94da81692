"""Data and reference results of the R package hpcwld, and the exact recursion run on them."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from oracle import kiefer_wolfowitz

import sojourn

RATES = (2.0, 2.66)
SWAPPED = sojourn.Cluster.homogeneous(80, power=sojourn.XEON_5430)
PRINTED = sojourn.Cluster.homogeneous(
    80, power=sojourn.RatePower({2.0: (41.0, 14.0), 2.66: (34.0, 18.0)})
)
SCALE = {"S": 1.0, "S*2.66": 2.66, "S*2.0": 2.0}
CONTROL = {
    "alwaysL": sojourn.constant(2.0),
    "alwaysH_k0": sojourn.threshold(RATES, 0.0),
    "hyst_1e5_3e5": sojourn.workload_hysteresis(RATES, 1e5, 3e5),
}


def read(path: Path) -> dict[str, list[str]]:
    """Columns of a table, as text."""
    with gzip.open(path, "rt") if path.suffix == ".gz" else open(path) as file:
        rows = list(csv.DictReader(file))
    return {name: [row[name].strip() for row in rows] for name in rows[0]}


def fcfs(jobs: sojourn.Jobs, cluster: sojourn.Cluster | int, **options) -> sojourn.Result:
    return sojourn.simulate(jobs, cluster, "fcfs", estimates="exact", clean=(), **options)


def measured(result: sojourn.Result) -> dict[str, float]:
    """Measures by the names of the reference; energy in the paper's unit, kW."""
    summary = result.summary
    return {
        "W_mean": summary["mean_workload"],
        "frac_rH": summary["rate_shares"].get("2.66", 0.0),
        "mean_delay": summary["wait"]["mean"],
        "max_delay": summary["wait"]["max"],
        "mean_sojourn": summary["sojourn"]["mean"],
        "nu_mean": summary["mean_present"],
        "Q_mean": summary["mean_queue"],
        "phi_mean": summary["mean_busy"],
        "waste_mean": summary["job_wasting"],
        "T": summary["makespan"],
        "energy": summary["energy"]["mean_watts"] / 1000,
    }


@pytest.mark.parametrize(
    ("cores", "mean", "delayed"), [("used", 926.9137, 615), ("requested", 176.0331, 153)]
)
def test_fcfs_delays_are_those_of_the_kiefer_wolfowitz_recursion(data_dir, cores, mean, delayed):
    folder = data_dir / "hpcwld"
    column = f"cores_{cores}"
    jobs = sojourn.read_hpcwld(folder / "HPC_KRC.csv", cores=column)
    wait = fcfs(jobs, 80).jobs["wait"].to_numpy()
    reference = read(folder / f"wld_KRC_{cores}_c80_rf-0.7.csv.gz")["delay"]
    assert np.abs(wait - np.array(reference, dtype=float)).max() <= 1e-9
    log = read(folder / "HPC_KRC.csv")
    recursion = kiefer_wolfowitz.delays(
        *([int(x) for x in log[name]] for name in ("interarrival", "service", column)), 80
    )
    assert np.abs(wait - np.array(recursion, dtype=float)).max() <= 1e-9
    assert wait.mean() == pytest.approx(mean, abs=5e-5)
    assert np.count_nonzero(wait) == delayed


def test_delays_of_the_synthetic_stream(data_dir):
    """1,000 customers, 10 servers, real-valued times."""
    table = {k: np.array(v, dtype=float) for k, v in read(_synthetic(data_dir)).items()}
    submit = np.concatenate([[0.0], np.cumsum(table["T"])[:-1]])
    jobs = sojourn.Jobs(
        {"submit": submit, "runtime": table["S"], "procs": table["N"].astype(np.int64)}
    )
    assert np.abs(fcfs(jobs, 10).jobs["wait"].to_numpy() - table["delay"]).max() <= 1e-9


def _synthetic(data_dir: Path) -> Path:
    return data_dir / "hpcwld" / "wld_synth_m10.csv.gz"


def test_cleaning_of_the_cluster_data(data_dir):
    """9,389 records, 87 without cores (errata 13)."""
    jobs = sojourn.read_hpcwld(data_dir / "hpcwld" / "HPC_KRC2.csv", clean=True)
    assert len(jobs) == 9302
    assert np.diff(jobs.submit).min() > 0


def test_figure_3_all_thresholds(data_dir):
    """The reference's W_mean is the exact time average of W, not the left sum of (12)."""
    folder = data_dir / "hpcwld"
    jobs = sojourn.read_hpcwld(folder / "HPC_KRC2.csv", clean=True)
    reference = {
        name: np.array(values, dtype=float)
        for name, values in read(folder / "fig3_reference.csv").items()
    }
    assert reference["k"].tolist() == [1e5 * i for i in range(31)]
    runs = [fcfs(jobs, SWAPPED, rate=sojourn.threshold(RATES, k)) for k in reference["k"]]
    ours = [measured(run) for run in runs]
    for name in ("W_mean", "mean_delay", "nu_mean", "phi_mean", "T"):
        assert [m[name] for m in ours] == pytest.approx(reference[name].tolist(), rel=1e-9), name
    energy = [m["energy"] for m in ours]
    assert energy == pytest.approx(reference["E_swapped"].tolist(), rel=1e-9)
    high = [m["frac_rH"] for m in ours]
    assert high == pytest.approx(reference["frac_time_rH"].tolist(), rel=1e-9)
    left = np.array([run.summary["mean_workload_at_epochs"] for run in runs])
    assert np.all(left > 1.2 * reference["W_mean"])


def test_figure_3_with_the_printed_constants(data_dir):
    folder = data_dir / "hpcwld"
    jobs = sojourn.read_hpcwld(folder / "HPC_KRC2.csv", clean=True)
    reference = read(folder / "fig3_reference.csv")
    for i in (0, 10, 30):
        control = sojourn.threshold(RATES, float(reference["k"][i]))
        energy = measured(fcfs(jobs, PRINTED, rate=control))["energy"]
        assert energy == pytest.approx(float(reference["E_printed"][i]), rel=1e-9)


@pytest.mark.parametrize("control", CONTROL)
@pytest.mark.parametrize("scale", SCALE)
@pytest.mark.parametrize("dataset", ["HPC_KRC2", "HPC_KRC"])
def test_measures_of_the_exact_recursion(data_dir, dataset, scale, control):
    folder = data_dir / "hpcwld"
    expected = json.loads((folder / "des000_summary.json").read_text())
    expected = expected[f"{dataset}|{scale}|{control}"]
    jobs = sojourn.read_hpcwld(folder / f"{dataset}.csv", clean=True)
    options = {"rate": CONTROL[control], "reference_rate": SCALE[scale], "record": True}
    swapped, printed = (fcfs(jobs, cluster, **options) for cluster in (SWAPPED, PRINTED))
    ours = measured(swapped)
    ours |= {"E_swapped": ours.pop("energy"), "E_printed": measured(printed)["energy"]}
    ours["W_max"] = swapped.trajectory["workload"].max()
    # A start that should meet a departure exactly may miss it by a rounding of the clock.
    ours["n_delayed"] = np.count_nonzero(swapped.jobs["wait"] > 1e-6)
    assert ours == pytest.approx({name: expected[name] for name in ours}, rel=1e-9)


def test_workload_control_at_arrivals_and_departures_only(data_dir):
    """The R code's own run: c = 10, rates 0.9 and 1.5, k_L = 3, k_H = 6, 500 customers."""
    folder = data_dir / "hpcwld"
    given, events, starts = (
        read(folder / f"hpc_{part}_c10_arr_and_dep.csv") for part in ("in", "ev", "start")
    )
    jobs = sojourn.Jobs(
        {
            "submit": np.array(given["t"], dtype=float),
            "runtime": np.array(given["S"], dtype=float),
            "procs": np.array(given["N"], dtype=np.int64),
        }
    )
    control = sojourn.workload_hysteresis((0.9, 1.5), 3, 6, timer=False)
    result = fcfs(jobs, 10, rate=control, record=True)
    assert starts["start"][0] == "NA"
    assert result.start[1:] == pytest.approx(np.array(starts["start"][1:], dtype=float), rel=1e-12)
    path = result.trajectory
    assert len(path) == len(events["time"]) == 1000
    assert path["time"].to_numpy() == pytest.approx(
        np.array(events["time"], dtype=float), rel=1e-12
    )
    assert path["workload"].to_numpy() == pytest.approx(
        np.array(events["W"], dtype=float), abs=1e-12
    )
    assert path["running"].tolist() == [int(x) for x in events["nserved"]]
    assert path["rate"].tolist() == [{"1": 0.9, "2": 1.5}[x] for x in events["speed"]]
