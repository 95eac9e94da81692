"""``sojourn limits``."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import sojourn
from sojourn.capacity.limits import time_limits

from .conftest import Run

Refused = Callable[..., str]

# One job reaches its limit of 30 s.
FOUR = ((1, 0, 10, 1, 20), (2, 5, 20, 4, 30), (3, 9, 30, 2, 30), (4, 30, 5, 1, 60))


def test_json_is_the_study(run: Run, write_log: Callable[..., Path]) -> None:
    log = write_log(*FOUR)
    told = json.loads(run("limits", log, "--target", 0.95, "--json").out)
    found = time_limits(sojourn.read_log(log), target=0.95)
    assert told["readings"]["each"]["critical_limit"] == found.readings["each"].critical_limit
    assert told["readings"]["job"]["mean_service"] == pytest.approx(65 / 3)
    assert told["readings"]["job"]["critical_limit"] == pytest.approx(19 * 65 / 3)
    assert told["measured"]["critical_limit"] is None
    assert told["killed_share"] == 0.25
    assert told["processor_hours"]["killed"] == pytest.approx(60 / 3600)
    assert told["burnt_share"] == pytest.approx(60 / 155)
    # Half of the jobs, at 5 and 10 s, have ended when the second has.
    assert time_limits(sojourn.read_log(log), target=0.5).measured_limit == 10


def test_the_table_has_all_readings(run: Run, data_dir: Path, tmp_path: Path) -> None:
    log = data_dir / "swf" / "SDSC-SP2-1998-4.2-cln.swf.gz"
    told = run("limits", log, "--out", tmp_path)
    assert (told.code, told.err) == (0, "")
    # From the file by hand: 54 completed and 4,081 cancelled jobs reach their estimate.
    assert "killed     4,135 of" in told.out
    for reading in ("one limit, one service", "a limit and a service", "one limit, a service"):
        assert reading in told.out
    assert "as measured, common limit" in told.out
    assert "limits.png in" in told.out
    assert (tmp_path / "limits.png").read_bytes()[:4] == b"\x89PNG"


def test_the_picture_of_shared_limits(
    run: Run, write_log: Callable[..., Path], tmp_path: Path
) -> None:
    log = write_log(*FOUR)
    for limits in ("each", "shared"):
        assert run("limits", log, "--limits", limits, "--out", tmp_path / limits).code == 0
    pictures = [(tmp_path / limits / "limits.png").read_bytes() for limits in ("each", "shared")]
    assert pictures[0] != pictures[1]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--target", "1"], "target"),
        (["--target", "nan"], "target"),
        (["--limits", "job"], "each or shared"),
        (["--out", "/dev/null/x"], "/dev/null"),
        (["--procs", "-3"], "procs"),
    ],
)
def test_refuses(
    refused: Refused, write_log: Callable[..., Path], options: list[str], said: str
) -> None:
    assert said in refused("limits", write_log(*FOUR), *options)


def test_refuses_logs_without_limits(refused: Refused, write_log: Callable[..., Path]) -> None:
    log = write_log((1, 0, 10, 1), (2, 5, 20, 4))
    assert "no job has an estimate" in refused("limits", log)
    assert "at least 2 jobs" in refused("limits", write_log(FOUR[0]))
    killed = write_log((1, 0, 20, 1, 10), (2, 5, 31, 4, 30))
    assert "no service ends" in refused("limits", killed)
    copied = write_log((1, 0, 20, 1, 20), (2, 5, 31, 4, 31))
    assert "every estimate equals the runtime" in refused("limits", copied)


def test_jobs_just_before_their_limit(run: Run, write_log: Callable[..., Path]) -> None:
    log = write_log(*FOUR)
    failed = log.read_text().replace("10 1 -1 -1 1 20 -1 1 ", "19 1 -1 -1 1 20 -1 0 ")
    log.write_text(failed)
    killed = [
        json.loads(run("limits", log, "--tolerance", seconds, "--json").out)["jobs"]["killed"]
        for seconds in (0, 1)
    ]
    assert killed == [1, 2]
