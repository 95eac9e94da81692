"""``sojourn energy``: a recorded run of Batsim, recomputed."""

from __future__ import annotations

import json

import pytest

from sojourn.cli import main

STATES = 'speed="100Mf, 1f, 0.2f, 0.1f"'
HOST = f"""<host id="h" {STATES}><prop id="watt_per_state" value="90:200, 10:10, 50:50, 70:70"/>
<prop id="sleep_pstates" value="1:2:3"/></host>"""


@pytest.fixture
def run(tmp_path):
    """50 s busy at load 0.5, 30 s idle, 5 s going to sleep, 15 s asleep."""
    (tmp_path / "p.xml").write_text(f'<platform version="4">{HOST}</platform>')
    (tmp_path / "out_jobs.csv").write_text(
        "job_id,submission_time,starting_time,finish_time,allocated_resources,consumed_energy\n"
        "1,0.0,0.0,50.0,0,7250.0\n"
    )
    (tmp_path / "out_pstate_changes.csv").write_text(
        "time,machine_id,new_pstate\n0,0,0\n80,0,-2\n85,0,1\n"
    )
    (tmp_path / "out_schedule.csv").write_text("consumed_joules,makespan\n10350.0,100.0\n")
    return tmp_path


def verb(run, *options):
    return main(["energy", str(run), "--cluster", str(run / "p.xml"), *options])


def test_json(run, capsys):
    assert verb(run, "--json", "--price", "0.36 EUR", "--carbon", "360") == 0
    told = json.loads(capsys.readouterr().out)
    by_hand = {"busy": (50, 7250), "idle": (30, 2700), "entering": (5, 250), "sleep": (15, 150)}
    assert told["nodes"] == 1
    assert told["joules"] == told["recorded_joules"] == 10350
    assert told["difference"] == 0
    assert told["currency"] == "EUR"
    for row in told["states"]:
        seconds, joules = by_hand.get(row["state"], (0, 0))
        assert (row["node_seconds"], row["joules"]) == (seconds, pytest.approx(joules))
        assert row["cost"] == pytest.approx(1e-7 * joules)
        assert row["carbon_kg"] == pytest.approx(1e-7 * joules)


def test_one_load_for_all(run, capsys):
    assert verb(run, "--json", "--load", "1") == 0
    assert json.loads(capsys.readouterr().out)["joules"] == pytest.approx(10350 + 50 * 55)


def test_table(run, capsys):
    assert verb(run) == 0
    shown = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["sleep", "0.0042", "15.0", "%", "0.0000", "1.4", "%"] in shown
    assert not any(row[:1] == ["failed"] for row in shown)  # nobody was


def test_how_far_the_record_is_and_what_was_assumed(run, capsys):
    assert verb(run) == 0
    out = capsys.readouterr().out
    assert "recorded  10,350 J: the same, to a part in a billion" in out
    assert "assumed" not in out
    jobs = run / "out_jobs.csv"
    jobs.write_text(jobs.read_text().replace("7250.0", "nan"))
    assert verb(run) == 0
    out = capsys.readouterr().out
    assert "recorded  10,350 J: replayed is 27 % more" in out  # 2750 J
    assert "1 job loads its nodes fully, for want of a recorded energy; see --load" in out


def test_times_as_batsim_counts_them(run, capsys):
    """It is asleep at the end: Batsim leaves that out."""
    (run / "out_schedule.csv").write_text(
        "consumed_joules,makespan,time_idle,time_sleeping\n10350.0,100.0,30.0,0.0\n"
    )
    assert verb(run, "--json") == 0
    assert json.loads(capsys.readouterr().out)["times"] == {
        "time_idle": {"seconds": 30, "recorded_seconds": 30},
        "time_sleeping": {"seconds": 0, "recorded_seconds": 0},
    }
    assert verb(run) == 0
    assert ["idle", "30.000", "30.000"] in [
        line.split() for line in capsys.readouterr().out.splitlines()
    ]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--load", "2"], "Invalid value for '--load'"),
        (["--price", "cheap"], "tariff: 'cheap' is not"),
        (["--carbon", "none.csv"], "none.csv"),
        (["--starts", "noon"], "start 'noon' is no ISO 8601 timestamp"),
        (["--cluster", "none.xml"], "none.xml: no such file"),
    ],
)
def test_what_is_wrong_is_one_line(run, capsys, options, problem):
    assert verb(run, *options) == 2
    told = capsys.readouterr().err
    assert problem in told
    assert told.count("\n") == 1


def test_a_makespan_before_the_last_end_is_one_line(run, capsys):
    """Else the replay would be cut there."""
    schedule = run / "out_schedule.csv"
    schedule.write_text("consumed_joules,makespan\n10350.0,49.0\n")
    assert verb(run) == 2
    told = capsys.readouterr().err
    assert "out_schedule.csv, line 2, field 'makespan': 49 s, but a job of out_jobs.csv" in told
    assert told.count("\n") == 1
    # Six digits of a time are not all of it.
    schedule.write_text("consumed_joules,makespan\n10350.0,49.9999\n")
    assert verb(run) == 0


def test_a_folder_that_is_no_record(run, capsys):
    (run / "out_pstate_changes.csv").unlink()
    assert verb(run) == 2
    assert "out_pstate_changes.csv" in capsys.readouterr().err
