"""Workload vectors and delays computed with hpcwld 0.7, job by job, to 0.0."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import sojourn
from sojourn.theory import Recursion, driving_sequence, kiefer_wolfowitz


def table(path):
    return pd.read_csv(path, skipinitialspace=True)


@pytest.mark.parametrize(
    ("cores", "mean", "delayed"), [("used", 926.9137, 615), ("requested", 176.0331, 153)]
)
def test_cluster_data(data_dir, cores, mean, delayed):
    folder = data_dir / "hpcwld"
    jobs = sojourn.read_hpcwld(folder / "HPC_KRC.csv", cores=f"cores_{cores}")
    expected = table(folder / f"wld_KRC_{cores}_c80_rf-0.7.csv.gz")
    delays, seen = kiefer_wolfowitz(*driving_sequence(jobs), 80, vectors=True)
    assert delays.tolist() == expected["delay"].tolist()
    assert kiefer_wolfowitz(*driving_sequence(jobs), 80).tolist() == delays.tolist()
    assert seen[:, 0].tolist() == expected["w_min"].tolist()
    assert seen[:, 39].tolist() == expected["w_mid"].tolist()
    assert seen[:, -1].tolist() == expected["w_max"].tolist()
    assert seen.sum(axis=1).tolist() == expected["w_sum"].tolist()
    assert np.count_nonzero(seen, axis=1).tolist() == expected["total_cores"].tolist()
    assert delays.mean() == pytest.approx(mean, abs=5e-5)
    assert np.count_nonzero(delays) == delayed
    if cores == "used":
        assert delays.max() == 228549


def test_real_numbers(data_dir):
    given = table(data_dir / "hpcwld" / "wld_synth_m10.csv.gz")
    delays, seen = kiefer_wolfowitz(given["T"], given["S"], given["N"], 10, vectors=True)
    assert delays.tolist() == given["delay"].tolist()
    assert seen.tolist() == given[[f"W{j}" for j in range(1, 11)]].to_numpy().tolist()
    assert np.count_nonzero(seen, axis=1).tolist() == given["total_cores"].tolist()
    queue = Recursion(10)
    blocks = [given[i : i + 300] for i in range(0, len(given), 300)]
    parts = [queue.step(block["T"], block["S"], block["N"]) for block in blocks]
    assert np.concatenate(parts).tolist() == delays.tolist()


def test_independent_release(data_dir):
    given = table(data_dir / "hpcwld" / "wld_indep_m10.csv.gz")
    service = given[[f"S{j}" for j in range(1, 11)]]
    delays, seen = kiefer_wolfowitz(
        given["T"], service, given["N"], 10, "independent", vectors=True
    )
    assert delays.tolist() == given["delay"].tolist()
    assert np.count_nonzero(seen, axis=1).tolist() == given["total_cores"].tolist()
    widest = int(given["N"].max())
    narrower = kiefer_wolfowitz(given["T"], service.iloc[:, :widest], given["N"], 10, "independent")
    assert narrower.tolist() == delays.tolist()
