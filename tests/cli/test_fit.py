"""``sojourn fit``."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import sojourn
from sojourn.theory import fit_model

from .conftest import Run

Refused = Callable[..., str]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Poisson arrivals, exponential services of mean 600 s, limits of mean 1,200 s."""
    rng = np.random.default_rng(4)
    service, limit = rng.exponential(600, 1500), rng.exponential(1200, 1500)
    jobs = sojourn.Jobs(
        {
            "submit": np.cumsum(rng.exponential(100, 1500)),
            "runtime": np.minimum(service, limit),
            "procs": rng.choice([1, 2, 4, 16], 1500),
            "estimate": limit,
            "status": np.where(service < limit, 1, 0),
        },
        header=["; MaxProcs: 16"],
    )
    path = tmp_path / "log.swf"
    sojourn.write_swf(jobs, path)
    return path


def test_json_is_the_fit(run: Run, log: Path) -> None:
    told = json.loads(run("fit", log, "--json").out)
    fit = fit_model(sojourn.read_log(log))
    for name in ("arrival_rate", "service_rate", "limit_rate"):
        assert told[name] == getattr(fit, name)
        assert told["standard_errors"][name] == fit.standard_errors[name]
    assert told["cleaning"]["kept"] == 1500
    assert abs(1 / told["service_rate"] - 600) < 100
    assert told["arrivals"]["weekly"] == [None] * 7


def test_the_table_says_what_was_found(run: Run, log: Path) -> None:
    told = run("fit", log)
    assert (told.code, told.err) == (0, "")
    fit = fit_model(sojourn.read_log(log))
    lines = {line.split("  ")[0]: line for line in told.out.splitlines() if line.strip()}
    assert f"mean {1 / fit.service_rate:,.1f}" in lines["service"]
    assert f"{fit.rates.removed:,} removed" in lines["counted as"]
    assert "Anderson-Darling" in told.out
    assert "nothing in the log speaks against the model" in told.out


def test_options_reach_the_fit(run: Run, log: Path) -> None:
    jobs = sojourn.read_log(log)
    options = ["--reading", "sub-request", "--limits", "shared", "--procs", 4]
    told = json.loads(run("fit", log, "--json", *options).out)
    fit = fit_model(jobs, servers=4, reading="sub-request", limits="shared")
    assert (told["service_rate"], told["width"]["max"]) == (fit.service_rate, 4)
    options = ["--served", "completed", "--removed", "none", "--limits-from", "estimates"]
    told = json.loads(run("fit", log, "--json", *options).out)
    assert told["removed"] == 0
    assert told["limit_rate"] == pytest.approx(1 / jobs.estimate.mean())


def test_a_real_log_is_warned_of(run: Run, data_dir: Path, tmp_path: Path) -> None:
    log = data_dir / "swf" / "KTH-SP2-1996-2.swf.gz"
    told = run("fit", log, "--tolerance", 60, "--out", tmp_path / "new" / "folder")
    assert (told.code, told.err) == (0, "")
    warnings = [line for line in told.out.splitlines() if line.startswith("! ")]
    assert any("arrivals are not Poisson" in line for line in warnings)
    assert any("durations are not exponential" in line for line in warnings)
    assert "fit.png in" in told.out
    assert (tmp_path / "new" / "folder" / "fit.png").read_bytes()[:4] == b"\x89PNG"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--reading", "task"], "reading"),
        (["--limits", "none"], "limits"),
        (["--limits-from", "thin air"], "limits_from"),
        (["--served", "complete"], "did you mean 'completed'"),
        (["--served", "none"], "served"),
        (["--removed", "failed"], "both"),
        (["--tolerance", "-1"], "tolerance"),
        (["--procs", "0"], "procs"),
        (["--out", "/dev/null/x"], "/dev/null"),
    ],
)
def test_refuses(refused: Refused, log: Path, options: list[str], said: str) -> None:
    assert said in refused("fit", log, *options)


def test_refuses_logs_that_tell_nothing(refused: Refused, write_log: Callable[..., Path]) -> None:
    assert "at least 2 jobs" in refused("fit", write_log((1, 0, 10, 1, 20)))
    together = write_log((1, 5, 10, 1, 20), (2, 5, 10, 1, 20))
    assert f"{together}: all jobs are submitted at the same instant" in refused("fit", together)
    assert "no job is left" in refused("fit", write_log((1, 0, 10, 9), (2, 1, 10, 9)), "--procs", 2)
    timeless = write_log((1, 0, 0, 1), (2, 9, -1, 1))
    assert f"{timeless}: no job with a runtime ends" in refused("fit", timeless)


def test_two_jobs_are_enough(run: Run, write_log: Callable[..., Path], tmp_path: Path) -> None:
    log = write_log((1, 0, 10, 1, 20), (2, 5, 20, 4, 30))
    told = run("fit", log, "--out", tmp_path)
    assert (told.code, told.err) == (0, "")
    found = json.loads(run("fit", log, "--json").out)
    assert found["service_rate"] == pytest.approx(2 / 30)
    assert found["arrival_rate"] == pytest.approx(1 / 5)
    assert "no job was removed" in " ".join(found["warnings"])
