"""What a recorded run tells of a controller's pace."""

from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime

import numpy as np
import pytest

from sojourn.adequacy import CALIBRATED, calibrate
from sojourn.errors import LogError

BEGAN = 1_700_000_000.067
ZERO = 1_700_000_010.2
TICK, NAP = 1.0025, 0.0041
TESTING = CALIBRATED.pace.testing


def stamped(at, text):
    when = datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")
    return f"[{when.removesuffix('+00:00')}] {text}"


@pytest.fixture
def recorded(tmp_path):
    """A run of ten jobs, and the log of its controller, to the millisecond."""
    starts = [BEGAN + TICK * rounds for rounds in (11, 12, 15, 20, 21, 40, 41, 70, 130, 131)]
    lines = [stamped(BEGAN, "Running as primary controller")]
    for k, at in enumerate(starts, 1):
        kind = ("full queue", "default depth")[k % 2]
        lines.append(stamped(at, f"debug:  sched: Running job scheduler for {kind}."))
        lines.append(stamped(at, f"sched: Allocate JobId={k} NodeList=n{k} #CPUs=1"))
    # Each pass comes a sleep of 30 s after the one before; the last is two looks later.
    for passes, looks in ((1, 0), (2, 0), (3, 0), (4, 0), (5, 0), (6, 0), (7, 0), (7, 2)):
        at = BEGAN + passes * (30.0 + NAP + TESTING) + looks * (1.0 + NAP)
        lines.append(stamped(at, "debug:  sched/backfill: _attempt_backfill: beginning"))
    (tmp_path / "run-1.csv.log").write_text("\n".join(lines) + "\n")
    # Launch and completion take between 60 and 105 ms, as the median 80.
    extra = (0.06, 0.07, 0.075, 0.08, 0.08, 0.08, 0.08, 0.09, 0.1, 0.105)
    rows = [
        f"{k},{at - ZERO:.3f},{at - ZERO + 30.0 + more:.3f},30.0"
        for k, (at, more) in enumerate(zip(starts, extra, strict=True), 1)
    ]
    (tmp_path / "run-1.csv").write_text("\n".join(["id,start,end,run", *rows]) + "\n")
    return tmp_path


def test_without_a_log_the_run_tells_the_overheads_only(recorded):
    found = calibrate(recorded / "run-1.csv")
    assert found.pace == CALIBRATED.pace
    assert found.overheads.launch.parameters == pytest.approx([0.08], abs=1e-3)
    assert found.overheads.completion == CALIBRATED.overheads.completion
    assert (found.jobs, found.source) == (10, str(recorded / "run-1.csv"))


@pytest.mark.parametrize("beside", [True, False])
def test_the_log_tells_the_pace(recorded, beside):
    log = recorded / "run-1.csv.log"
    if beside:
        packed = gzip.compress(log.read_bytes())
        (recorded / "run-1.slurmctld.log.gz").write_bytes(packed)
    found = calibrate(recorded / "run-1.csv", None if beside else log)
    assert found.spread < CALIBRATED.spread == 1.0
    pace = found.pace
    # Seconds count from the whole one before the stream's zero.
    assert pace.started == pytest.approx(BEGAN - 1_700_000_010, abs=2e-3)
    assert pace.zero == pytest.approx(0.2, abs=2e-3)
    # Some hundred rounds lie between the first pass and the last.
    assert pace.tick == pytest.approx(TICK, abs=3e-5)
    assert pace.nap == pytest.approx(NAP, abs=3e-4)  # of milliseconds, a mean over six
    kept = ("epoch", "latency", "epilog", "testing")
    assert all(getattr(pace, name) == getattr(CALIBRATED.pace, name) for name in kept)


def test_too_few_passes_leave_the_usual_pace(recorded):
    lines = (recorded / "run-1.csv.log").read_text().splitlines()
    kept = [line for line in lines if "backfill" not in line and "Running job" not in line]
    (recorded / "few.log").write_text("\n".join(kept) + "\n")
    pace = calibrate(recorded / "run-1.csv", recorded / "few.log").pace
    assert (pace.tick, pace.nap) == (CALIBRATED.pace.tick, CALIBRATED.pace.nap)
    assert pace.started == pytest.approx(-9.933, abs=2e-3)


def test_jobs_cut_short_or_never_started_do_not_count(recorded):
    path = recorded / "run-1.csv"
    usual = calibrate(path)
    path.write_text(path.read_text() + "11,,,30\n12,5,20,30\n13,x,y,30\n")
    assert calibrate(path) == usual


def test_it_can_be_written_down(recorded):
    told = json.loads(json.dumps(calibrate(recorded / "run-1.csv").as_dict()))
    assert set(told) == {"source", "jobs", "spread", "pace", "overheads"}
    assert told["pace"]["tick"] == CALIBRATED.pace.tick
    assert told["overheads"]["launch"]["kind"] == "constant"


@pytest.mark.parametrize(
    ("table", "word"),
    [
        ("id,start,end\n1,0,1\n", "has no column run; calibrate from a recorded run"),
        ("id,start,end,run\n" + "1,0,5,4\n" * 4, "has 4 jobs .* 5 are needed"),
        ("id,start,end,run\n" + "1,0,5,9\n" * 9, "has 0 jobs"),
    ],
)
def test_a_table_that_tells_nothing(tmp_path, table, word):
    (tmp_path / "run.csv").write_text(table)
    with pytest.raises(LogError, match=word):
        calibrate(tmp_path / "run.csv")


def test_a_log_that_tells_nothing(recorded):
    path, log = recorded / "run-1.csv", recorded / "x.log"
    with pytest.raises(LogError, match="no such file"):
        calibrate(path, log)
    log.write_text("nothing\n")
    with pytest.raises(LogError, match="has no job and no pass"):
        calibrate(path, log)
    log.write_text(stamped(BEGAN, "Running as primary controller") + "\n")
    with pytest.raises(LogError, match="has no start of a job"):
        calibrate(path, log)


def test_a_recorded_run_of_a_real_slurm(data_dir, tmp_path):
    """Some tens of milliseconds, as for `fit_overheads`."""
    rows = (data_dir / "slurm" / "rt_fcfs_1.csv").read_text()
    head, rest = rows.split("\n", 1)
    names = head.split(",")
    ours = {"start_ms": "start", "end_ms": "end", "run_plan": "run", "start": "s", "end": "e"}
    renamed = ",".join(ours.get(name, name) for name in names)
    (tmp_path / "run.csv").write_text(f"{renamed}\n{rest}")
    found = calibrate(tmp_path / "run.csv")
    assert 0.03 < found.overheads.launch.parameters[0] < 0.08
    assert found.jobs > 150
    assert np.isfinite(found.pace).all()
