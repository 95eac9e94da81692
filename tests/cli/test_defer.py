"""Held jobs and series of prices and carbon, as users type them; and what is said of bad values."""

from __future__ import annotations

import json

import pytest

import sojourn
from sojourn.cli import main

LOG = """; MaxProcs: 4
; UnixStartTime: 1640995200
; TimeZoneString: Europe/Berlin
1 0 -1 3600 2 -1 -1 2 3600 -1 1 1 1 -1 1 -1 -1 -1
2 0 -1 3600 2 -1 -1 2 3600 -1 1 2 1 -1 2 -1 -1 -1
3 600 -1 1800 4 -1 -1 4 7200 -1 1 1 1 -1 2 -1 -1 -1
"""


@pytest.fixture
def grid(tmp_path):
    """A log of three jobs and twelve hours of the grid; hours 4 and 8 are the best."""
    (tmp_path / "log.swf").write_text(LOG)
    grams = [400, 300, 300, 300, 100, 200, 300, 300, 50, 400, 400, 400]
    rows = "".join(f"{3600 * hour},{value}\n" for hour, value in enumerate(grams))
    (tmp_path / "grid.csv").write_text("time,g_per_kwh\n" + rows)
    prices = "".join(f"{3600 * hour},{value}\n" for hour, value in enumerate(grams))
    (tmp_path / "market.csv").write_text("time,Price (EUR/MWhe)\n" + prices)
    dated = "".join(
        f"2022-01-01 {hour:02}:00:00,Germany,{9 * value},{value}\n"
        for hour, value in enumerate(grams)
    )
    head = "Datetime (UTC),Country,Carbon intensity gCO₂eq/kWh (direct),"
    head += "Carbon intensity gCO₂eq/kWh (Life cycle)\n"
    (tmp_path / "maps.csv").write_text(head + dated)
    return tmp_path


def simulate(folder, *options):
    return main(["simulate", str(folder / "log.swf"), *map(str, options)])


def result(folder, capsys, *options):
    watts = ("--watts-busy", "1000", "--watts-idle", "0", "--json")
    assert simulate(folder, *watts, *options) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("file", ["grid.csv", "maps.csv"])
def test_a_window(grid, capsys, file):
    said = result(grid, capsys, "--carbon", grid / file, "--defer", "window:8h")
    # Jobs 1 and 2 run in hour 8; job 3, planned for two hours, from hour 4 on.
    assert said["energy"]["carbon_kg"] == pytest.approx((2 * 50 + 2 * 50 + 4 * 0.5 * 100) / 1000)
    assert said["deferred"]["jobs"] == said["deferred"]["held"] == 3
    assert said["deferred"]["hold_mean"] == pytest.approx((8 + 8 + 4 - 1 / 6) / 3 * 3600)
    assert said["deferred"]["carbon_kg"] == pytest.approx(said["energy"]["carbon_kg"])
    assert said["others"]["jobs"] == 0


def test_a_market_and_a_class_of_jobs(grid, capsys):
    options = ("--price", grid / "market.csv", "--defer", "window:8h", "--defer-jobs", "queue=2")
    said = result(grid, capsys, *options)
    # Of job 1 now; all in EUR per MWh.
    assert said["energy"]["cost"] == pytest.approx((2 * 400 + 2 * 50 + 4 * 0.5 * 100) / 1000)
    assert said["energy"]["currency"] == "EUR"
    assert (said["deferred"]["jobs"], said["others"]["jobs"]) == (2, 1)
    assert said["others"]["cost"] == pytest.approx(0.8)


def test_a_threshold_and_pieces(grid, capsys):
    carbon = ("--carbon", grid / "grid.csv")
    said = result(grid, capsys, *carbon, "--defer", "threshold:250:6h")
    # All three come in hour 4, where two and one fit one after the other.
    assert said["deferred"]["hold_max"] == 4 * 3600
    said = result(grid, capsys, *carbon, "--defer", "pieces:8h")
    # Job 3 is planned for hours 4 and 8, and ends in the first.
    assert said["energy"]["carbon_kg"] == pytest.approx((2 * 50 + 2 * 50 + 4 * 0.5 * 100) / 1000)


def test_no_slack_is_no_deferral(grid, capsys):
    carbon = ("--carbon", grid / "grid.csv")
    plain = result(grid, capsys, *carbon)
    for kind in ("window:0", "threshold:p30:0", "pieces:0s"):
        said = result(grid, capsys, *carbon, "--defer", kind)
        for key in ("wait", "sojourn", "energy", "makespan", "mean_queue", "utilisation"):
            assert said[key] == plain[key], (kind, key)


def test_repeating(grid, capsys):
    carbon = ("--carbon", grid / "grid.csv", "--series", "repeat")
    said = result(grid, capsys, *carbon, "--defer", "window:100h")
    assert said["energy"]["carbon_kg"] == pytest.approx(0.4)


def test_columns_of_the_log(grid, capsys, tmp_path):
    rows = ("submit,runtime,procs,slack,deadline", "0,3600,1,-1,-1", "0,3600,1,14400,-1")
    (grid / "log.csv").write_text("\n".join([*rows, "0,3600,1,-1,36000", ""]))
    said = json_of(grid / "log.csv", capsys, "--carbon", grid / "grid.csv", "--defer", "window")
    assert (said["deferred"]["jobs"], said["others"]["jobs"]) == (2, 1)
    # Hour 4 is within the slack of the second, hour 8 within the deadline of the third.
    assert said["deferred"]["hold_max"] == 8 * 3600
    assert said["deferred"]["hold_mean"] == 6 * 3600


def json_of(log, capsys, *options):
    assert main(["simulate", str(log), "--procs", "4", "--json", *map(str, options)]) == 0
    return json.loads(capsys.readouterr().out)


def test_a_saved_scenario_is_the_same_run(grid, capsys):
    options = (
        "--carbon",
        grid / "grid.csv",
        "--defer",
        "threshold:p30:6h",
        "--defer-jobs",
        "user=1",
    )
    options += ("--save-scenario", grid / "s.toml")
    said = result(grid, capsys, *options)
    text = (grid / "s.toml").read_text()
    for line in ('at = "p30"', 'who = "user=1"', 'kind = "threshold"'):
        assert line in text
    assert main(["run", str(grid / "s.toml"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["deferred"] == said["deferred"]


def test_a_comparison_has_who_is_held_and_who_is_not(grid, capsys):
    words = ["compare", str(grid / "log.swf"), "--policies", "fcfs", "--carbon"]
    words += [str(grid / "grid.csv"), "--defer", "window:0", "--defer-jobs", "queue=2"]
    assert main([*words, "--set", "defer.slack=0,8h", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert rows[1]["deferred_wait_mean"] > rows[0]["deferred_wait_mean"]
    assert rows[1]["others_wait_mean"] == rows[0]["others_wait_mean"] == 0


def test_a_difference_has_carbon_and_who_is_held(grid, capsys):
    sojourn.write_swf(sojourn.lublin(150, 8, load=0.6, seed=2), grid / "long.swf")
    held = '[power]\ncarbon = "grid.csv"\nseries = "repeat"\n[cluster]\nprocs = 8\n'
    held += f'[workload]\nlog = "{(grid / "long.swf").as_posix()}"\n'
    (grid / "a.toml").write_text(held)
    (grid / "b.toml").write_text(
        f'{held}[defer]\nkind = "window"\nslack = "8 h"\nwho = "fraction=0.5"\n'
    )
    words = ["diff", str(grid / "a.toml"), str(grid / "b.toml"), "--draws", "3", "--json"]
    assert main([*words, "--log", str(grid / "long.swf")]) == 0
    rows = {row["measure"]: row for row in json.loads(capsys.readouterr().out)["measures"]}
    assert rows["carbon dioxide"]["b"] != rows["carbon dioxide"]["a"] > 0
    # Who would be held is known on both sides.
    waits = rows["mean wait of jobs that may be held"]
    assert waits["b"] > waits["a"]
    assert "mean wait of all other jobs" in rows


BAD = [
    (["--defer", "window:8h"], "--defer: jobs are held for what? give --carbon or --price"),
    (["--carbon", "300", "--defer", "window:8h"], "--carbon is 300 at all times"),
    (["--price", "0.2", "--defer", "window:8h"], "--price is 0.2 at all times"),
    (["--carbon", "GRID", "--defer", "window:-3h"], "slack '-3h': give a number of seconds, 0"),
    (["--carbon", "GRID", "--defer", "window:8h:9h"], "write window:SLACK, threshold"),
    (["--carbon", "GRID", "--defer", "sometimes:8h"], "'sometimes:8h': write window:SLACK"),
    (["--carbon", "GRID", "--defer", "threshold"], "a threshold of what?"),
    (["--carbon", "GRID", "--defer", "threshold:p0:8h"], "at 'p0': give a number, or a text such"),
    (["--carbon", "GRID", "--defer", "pieces:8h:-5m"], "restart '-5m': give a number of seconds"),
    (["--carbon", "GRID", "--defer", "window"], "no job says how long it may be held"),
    (["--carbon", "GRID", "--defer", "window:8h", "--defer-jobs", "queue=9"], "has the queue '9'"),
    (["--carbon", "GRID", "--defer", "window:8h", "--defer-jobs", "fraction=2"], "from 0 to 1"),
    (
        ["--carbon", "GRID", "--defer", "window:8h", "--defer-jobs", "quue=9"],
        "did you mean 'queue'",
    ),
    (["--carbon", "GRID", "--defer", "window:8h", "--defer-by", "price"], "give --price, a series"),
    (["--defer-jobs", "all"], "--defer-jobs: no job is held; give --defer"),
    (["--price", "nowhere.csv"], "nowhere.csv: no such file"),
    (["--price", "GRID"], "the header must be time,price_per_kwh"),
    (["--carbon", "GRID", "--series", "forever"], "--series"),
    (
        ["--carbon", "GRID", "--starts", "2022-01-01T00:00 Europe/Berln"],
        "time zone 'Europe/Berln' is not known here; did you mean 'Europe/Berlin'?",
    ),
]


@pytest.mark.parametrize(("options", "words"), BAD, ids=[" ".join(options) for options, _ in BAD])
def test_bad_values_are_one_line(grid, refused, options, words):
    given = [str(grid / "grid.csv") if option == "GRID" else option for option in options]
    assert words in refused("simulate", grid / "log.swf", *given)


def test_a_series_with_a_gap(grid, refused):
    rows = [f"{3600 * hour},5" for hour in range(24) if hour != 11]
    (grid / "gap.csv").write_text("\n".join(["time,g_per_kwh", *rows]))
    said = refused("simulate", grid / "log.swf", "--carbon", grid / "gap.csv")
    assert "gap.csv, line 13, field 'time': a gap: 7200 s after the row above" in said
    assert "where steps take 3600 s; fill it" in said


def test_a_series_that_ends_too_soon(grid, refused):
    (grid / "short.csv").write_text("time,g_per_kwh\n0,5\n1800,6\n")
    words = ("simulate", grid / "log.swf", "--carbon", grid / "short.csv")
    said = refused(*words)
    assert "known from 0 s (2022-01-01 01:00+01:00) to 3600 s (2022-01-01 02:00+01:00)" in said
    said = refused(*words, "--defer", "window:1h")
    assert (
        "--series: job 3 comes at 600 s (2022-01-01 01:10+01:00) and may last 7200 s, but" in said
    )
    assert "; let it repeat, or give a longer one" in said


def test_a_negative_slack_of_a_job(grid, refused):
    (grid / "log.csv").write_text("submit,runtime,procs,slack\n0,3600,1,-7\n")
    words = ("simulate", grid / "log.csv", "--procs", 4, "--defer", "window")
    assert "job 1, field 'slack': -7 s is negative" in refused(
        *words, "--carbon", grid / "grid.csv"
    )


def test_pieces_exclude_what_is_about_whole_jobs(grid, refused):
    (grid / "events.csv").write_text("time,kind,procs\n5,down,1\n")
    words = ("simulate", grid / "log.swf", "--carbon", grid / "grid.csv", "--defer", "pieces:8h")
    said = refused(*words, "--events", grid / "events.csv")
    assert "jobs cannot run in pieces here: external events are of whole jobs" in said
