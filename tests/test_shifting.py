"""Carbon shifting of single jobs: every start tried, one by one."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from itertools import combinations
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sojourn import shift_emissions
from sojourn.cli import main
from sojourn.errors import OptionError
from sojourn.measures.cost import Carbon, Clock, read_carbon, shifted_by_hour

HOUR = 3600.0


def tried(grams, length, slack):
    """Emissions at once, of the best start, and of the best choice of steps."""
    n = len(grams)
    rows = []
    for t in range(n - length + 1):
        starts = [sum(grams[s : s + length]) for s in range(t, min(t + slack, n - length) + 1)]
        choices = combinations(grams[t : t + length + slack], length)
        rows.append((sum(grams[t : t + length]), min(starts), min(map(sum, choices))))
    return np.array(rows, dtype=float)


def columns(shifted):
    return np.stack([shifted.at_once, shifted.uninterrupted, shifted.interrupted], axis=1)


@given(
    st.lists(st.integers(0, 20), min_size=2, max_size=14),
    st.integers(1, 14),
    st.integers(0, 16),
)
def test_equals_trying_every_start(grams, length, slack):
    length = min(length, len(grams))
    shifted = shift_emissions(grams, length=length * HOUR, slack=slack * HOUR)
    assert columns(shifted) == pytest.approx(tried(grams, length, slack), rel=1e-12, abs=1e-9)


@given(
    st.lists(st.floats(0, 1000), min_size=30, max_size=120),
    st.integers(1, 30),
    st.integers(0, 130),
)
def test_equals_sorting_every_window(grams, length, slack):
    shifted = shift_emissions(grams, length=length * HOUR, slack=slack * HOUR)
    n = len(grams)
    for t in range(n - length + 1):
        best = min(sum(grams[s : s + length]) for s in range(t, min(t + slack, n - length) + 1))
        least = sum(sorted(grams[t : t + length + slack])[:length])
        assert shifted.uninterrupted[t] == pytest.approx(best, rel=1e-9, abs=1e-9)
        assert shifted.interrupted[t] == pytest.approx(least, rel=1e-9, abs=1e-9)
    assert (shifted.interrupted <= shifted.uninterrupted * (1 + 1e-12) + 1e-9).all()
    assert (shifted.uninterrupted <= shifted.at_once).all()


def test_without_slack_nothing_changes():
    grams = [5.0, 1.0, 4.0, 2.0]
    shifted = shift_emissions(grams, length=HOUR, slack=0)
    assert (columns(shifted) == np.array([grams] * 3).T).all()
    assert shifted.savings() == (0.0, 0.0)


def test_a_job_as_long_as_the_series_has_one_start():
    shifted = shift_emissions([5.0, 1.0, 4.0], length=3 * HOUR, slack=9 * HOUR)
    assert columns(shifted).tolist() == [[10.0, 10.0, 10.0]]


def test_a_slack_may_be_longer_than_any_series():
    shifted = shift_emissions([5.0, 1.0, 4.0], length=HOUR, slack=1e300)
    assert columns(shifted).tolist() == [[5, 1, 1], [1, 1, 1], [4, 4, 4]]


def test_steps_of_other_lengths_count_by_their_hours():
    quarter = Carbon(np.arange(4) * 900.0, np.array([400.0, 100.0, 200.0, 300.0]))
    shifted = shift_emissions(quarter, length=1800, slack=900)
    assert columns(shifted).tolist() == [[125, 75, 75], [75, 75, 75], [125, 125, 125]]


@pytest.mark.parametrize(
    ("grams", "length", "slack", "problem"),
    [
        ([1, 2, 3], 5400, 0, "length 5400 s: not a whole number of the steps"),
        ([1, 2, 3], 3600, 1800, "slack 1800 s: not a whole number"),
        ([1, 2, 3], 0, 0, "takes some time"),
        ([1, 2, 3], 4 * HOUR, 0, "4 steps, but the series has 3"),
        ([1, 2, 3], 1e300, 0, r"2\.77\d*e\+296 steps, but the series has 3"),
        ([1, 2, 3], HOUR, -HOUR, "at least 0"),
        ([1, 2, 3], np.nan, 0, "at least 0"),
        ([1, 2, -3], HOUR, 0, "-3 g per kWh"),
        ([7], HOUR, 0, "holds at all times"),
        (Carbon(np.array([0, 1, 3.0]), np.ones(3)), 1, 0, "one of 2 s after row 2"),
    ],
)
def test_what_cannot_be(grams, length, slack, problem):
    with pytest.raises(OptionError, match=problem):
        shift_emissions(grams, length=length, slack=slack)


@pytest.fixture
def year(tmp_path):
    """Four days around a change of clocks: 100 g from 10 to 13 h in Berlin, else 300 g."""
    lines = ["time,g_per_kwh"]
    for hour in range(96):
        utc = np.datetime64("2024-03-29T00:00") + np.timedelta64(hour, "h")
        ahead = 2 if utc >= np.datetime64("2024-03-31T01:00") else 1
        clean = 10 <= (hour + ahead) % 24 < 13
        lines.append(f"{utc}Z,{100 if clean else 300}")
    path = tmp_path / "series.csv"
    path.write_text("\n".join(lines))
    return path


def test_hours_of_the_day_are_those_of_the_zone(year):
    series = read_carbon(year, Clock.epoch())
    shifted = shift_emissions(series, length=HOUR, slack=0)
    rows = {
        row["hour"]: row["at_once"] for row in shifted_by_hour(shifted, series, "Europe/Berlin")
    }
    assert rows == {hour: 100.0 if 10 <= hour < 13 else 300.0 for hour in range(24)}
    spread = {row["hour"]: row["at_once"] for row in shifted_by_hour(shifted, series)}
    assert spread[9] == spread[10] == 100.0
    assert spread[8] == spread[11] == 200.0  # two days each


def test_verb(year, capsys):
    assert main(["carbon", str(year), "--length", "3h", "--slack", "1d", "--zone", "Europe/Berlin",
                 "--out", str(year.parent / "rows.csv")]) == 0  # fmt: skip
    shown = capsys.readouterr().out
    assert "94 instants" in shown
    assert (year.parent / "rows.csv").read_text().startswith("time,at_once,uninterrupted,interr")
    assert main(["carbon", str(year), "--length", "3h", "--slack", "1d", "--json"]) == 0


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--length", "soon"], "--length: 'soon' is not"),
        (["--length", "90 min"], "not a whole number of the steps"),
        (["--slack", "-1h"], "give a time of at least 0"),
        (["--length", "99d"], "2,376 steps, but"),
        (["--zone", "Europe/Berlm"], "time zone 'Europe/Berlm' is not known here; did you mean"),
    ],
)
def test_verb_says_what_is_wrong(year, capsys, options, problem):
    assert main(["carbon", str(year), *options]) == 2
    told = capsys.readouterr().err
    assert problem in told
    assert told.count("\n") == 1


def test_a_zone_needs_dates(tmp_path, capsys):
    path = tmp_path / "series.csv"
    path.write_text("time,g_per_kwh\n0,1\n3600,2\n7200,3\n")
    assert main(["carbon", str(path)]) == 0
    assert main(["carbon", str(path), "--zone", "Europe/Berlin"]) == 2
    assert "has no dates" in capsys.readouterr().err


def test_the_verb_says_which_column_it_took_and_whose_hours(tmp_path, capsys):
    """Of a file of Electricity Maps the intensity of the whole life cycle, not the direct one."""
    path = tmp_path / "DE.csv"
    header = "Datetime (UTC),Zone,Carbon intensity gCO2eq/kWh (direct),Carbon intensity (LCA)\n"
    rows = (f"2022-01-01 0{hour}:00:00,DE,{100 + hour},{200 + hour}\n" for hour in range(4))
    path.write_text(header + "".join(rows))
    assert main(["carbon", str(path), "--slack", "1h"]) == 0
    shown = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert "values Carbon intensity (LCA)" in shown
    assert "at once 201.5 g of CO2 in the mean" in shown
    assert "hours of UTC" in shown


def test_lengths_below_an_hour_are_shown_in_minutes(tmp_path, capsys):
    path = tmp_path / "grid.csv"
    path.write_text("time,g_per_kwh\n0,100\n300,90\n600,80\n")
    assert main(["carbon", str(path), "--length", "5m", "--slack", "0"]) == 0
    assert "5 min at 1 kW, up to 0 h later" in capsys.readouterr().out


def test_semicolons_and_decimal_commas(tmp_path):
    path = tmp_path / "grid.csv"
    path.write_text("time;g_per_kwh\n0;100,5\n3600;99\n")
    assert read_carbon(path).grams.tolist() == [100.5, 99.0]


@pytest.mark.parametrize(
    ("month", "day", "problem"),
    [(3, 27, "a gap: 7200 s after the row above"), (10, 30, "is not after the row above")],
)
def test_local_times_without_an_offset_are_pointed_out(tmp_path, capsys, month, day, problem):
    path = tmp_path / "local.csv"
    first = datetime(2022, month, day - 1, tzinfo=UTC)
    local = [(first + timedelta(hours=k)).astimezone(ZoneInfo("Europe/Berlin")) for k in range(48)]
    rows = (f"{moment:%Y-%m-%dT%H:%M},{k}\n" for k, moment in enumerate(local))
    path.write_text("time,g_per_kwh\n" + "".join(rows))
    assert main(["carbon", str(path)]) == 2
    error = capsys.readouterr().err
    assert problem in error
    assert "times without an offset are UTC: give local ones with theirs" in error


def test_lengths_are_seconds_without_a_unit(tmp_path, capsys):
    series = tmp_path / "co2.csv"
    series.write_text("time,g_per_kwh\n0,5\n3600,6\n7200,7\n10800,8\n")
    assert main(["carbon", str(series), "--length", "3600", "--slack", "7200", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["length"] == 3600
    assert main(["carbon", str(series), "--length", "0"]) == 2
    assert "length 0 s: a job takes some time" in capsys.readouterr().err
