"""The model of Slurm against recorded runs of a real one.

When the loops of those controllers began is not known. So the model begins at thirty moments, a
second apart, and each recorded run is held against the nearest: bounds are on what remains.
"""

from __future__ import annotations

import numba
import numpy as np
import pytest

from sojourn.adequacy import CALIBRATED, Calibration, compare_streams, read_stream, replay

pytestmark = pytest.mark.skipif(
    bool(numba.config.DISABLE_JIT), reason="hours of a controller's seconds, uncompiled"
)

MILLISECONDS = {name: f"{name}_ms" for name in ("submit", "start", "end")}
ACCOUNTING = "micro_real_slurm_run_slurm_acct.out"
EASY = 14_119.0  # s, P of plain EASY for the same run


@pytest.fixture
def nearest(data_dir):
    """P (s) between each of two recorded runs and the nearest of thirty runs of the model."""
    folder = data_dir / "slurm"

    def found(name, workload, conf, **changes):
        real = [read_stream(folder / f"{name}_{k}.csv", columns=MILLISECONDS) for k in (1, 2)]
        distances = []
        for moment in range(30):
            pace = CALIBRATED.pace._replace(started=-0.96 - moment)
            done = replay(
                folder / f"wl_{workload}.csv",
                folder / f"{conf}.slurm.conf",
                members=1,
                changes=changes,
                calibration=Calibration(pace, CALIBRATED.overheads),
            )
            distances.append(
                [compare_streams(run, done.stream, submit_tolerance=1.0).P for run in real]
            )
        return np.min(distances, axis=0), compare_streams(*real, submit_tolerance=1.0).P

    return found


@pytest.mark.parametrize(
    ("name", "workload", "conf", "bound"),
    [
        # Measured for both runs; and how far they are apart (s).
        ("rt_fcfs", "rt", "rt_fcfs", 8.0),  # 6.8, 2.6; 4.2
        ("rt_bfdef", "rt", "rt_bfdef", 7.5),  # 3.5, 6.3; 7.7
        ("rt_easy", "rt", "rt_easy", 42.0),  # 15.4, 35.5; 37.4
        ("mid_easy_x1", "mid", "mid_easy_x1", 55.0),  # 1.2, 47.4; 47.0
        ("mid_fcfs_x1", "mid", "mid_fcfs_x1", 2.0),  # 1.4, 1.3; 0.6
        ("midlo_easy_x1", "midlo", "midlo_easy_x1", 1.5),  # 0.5, 1.0; 1.3
        ("q61_easy_x1", "q61", "q61_easy", 0.8),  # 0.3, 0.6; 0.6
        ("q62_easy_x1", "q62", "q62_easy", 0.6),  # 0.4, 0.4; 0.4
    ],
)
def test_a_recorded_run_is_near_a_run_of_the_model(nearest, name, workload, conf, bound):
    apart, between = nearest(name, workload, conf)
    assert apart.max() <= bound
    # These two controllers agreed to the second, and the model's rounds are not quite theirs.
    if name != "mid_fcfs_x1":
        assert apart.max() < 2 * between


@pytest.mark.parametrize(
    "change",
    [
        {"bf_job_part_count_reserve": "0"},
        {"bf_interval": "12"},
        {"SchedulerType": "sched/builtin"},
    ],
)
def test_a_loop_of_another_kind_is_told_apart(nearest, change):
    """No beginning makes up for a wrong rule: the bounds above would see it."""
    assert nearest("q61_easy_x1", "q61", "q61_easy", **change)[0].min() > 5.0
    assert nearest("mid_easy_x1", "mid", "mid_easy_x1", **change)[0].min() > 100.0


def test_the_default_beginning(data_dir):
    """What `sojourn replay` gives for two short streams: below twice Slurm against itself."""
    folder = data_dir / "slurm"
    for name, workload in (("q61_easy", "q61"), ("q62_easy", "q62")):
        done = replay(folder / f"wl_{workload}.csv", folder / f"{name}.slurm.conf")
        real = [read_stream(folder / f"{name}_x1_{k}.csv", columns=MILLISECONDS) for k in (1, 2)]
        between = compare_streams(*real, submit_tolerance=1.0).P
        apart = [compare_streams(run, done.stream, submit_tolerance=1.0).P for run in real]
        assert max(apart) < 2 * between


def test_the_500_jobs_with_their_submit_commands(data_dir):
    """At least twice as near as plain EASY: measured 6,700 s.

    The machine is overloaded for hours, and runs of the model are 5,000 s apart among themselves.
    """
    folder = data_dir / "sacct"
    done = replay(folder / ACCOUNTING, folder / "slurm.conf", complement=folder / "jobs500.events")
    assert done.adequacy.n == 500
    assert not done.scheduled.refused.any()
    assert done.adequacy.P < EASY / 2
    assert done.near > 0.08
    assert any("500 of 500 jobs completed" in word for word in done.requests.said)


def test_the_500_jobs_from_their_log_alone(data_dir):
    """Without features two fifths of the jobs may go where they did not: measured 7,650 s."""
    folder = data_dir / "sacct"
    done = replay(folder / ACCOUNTING, folder / "slurm.conf", members=6)
    assert done.adequacy.n == 500
    assert 5_000 < done.adequacy.P < 9_500
    assert any("features are not told" in word for word in done.requests.said)
