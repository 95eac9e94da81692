"""Tariffs, carbon and clocks against sums over quarters of an hour."""

from __future__ import annotations

import gzip
import math
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sojourn.errors import InputError, OptionError
from sojourn.jobs import Jobs
from sojourn.jobs.header import Header
from sojourn.measures.cost import (
    Carbon,
    Clock,
    Tariff,
    electricity_cost,
    emissions,
    parse_carbon,
    parse_tariff,
    read_carbon,
)

HOUR = 3600.0
DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
near = pytest.approx


def spend(tariff: str, hours: list[float], kilowatts: list[float], start: str | None = None):
    """Cost of power steps given by hours of the log and kW from each on."""
    time, watts = np.array(hours) * HOUR, np.array([*kilowatts, 0.0]) * 1000
    return electricity_cost(time, watts, parse_tariff(tariff), Clock.of(start=start))


def test_one_price():
    tariff = parse_tariff(0.25)
    assert (tariff.begins, tariff.prices, tariff.currency) == ((0.0,), (0.25,), "")
    assert spend("0.25", [0, 2, 5], [1, 4]) == 0.25 * (2 + 12)
    assert spend("0.25", [7], []) == 0.0


def test_hours_of_the_day_across_midnight():
    tariff = "0.15, 8:0.30, 20:0.15"
    assert spend(tariff, [7, 9], [1]) == near(0.15 + 0.30)
    assert spend(tariff, [19.5, 32.5], [2]) == near(2 * (0.5 * 0.30 + 12 * 0.15 + 0.5 * 0.30))
    assert spend(tariff, [0, 24 * 70], [1]) == near(70 * (12 * 0.15 + 12 * 0.30))
    assert spend(tariff, [-2, 9], [1]) == near(10 * 0.15 + 0.30)


def test_hours_are_those_of_the_place():
    tariff = "0, 8:1, 20:0"
    # Second 0 is 17:00 there: three hours of day are left.
    assert spend(tariff, [0, 10], [1], "2011-05-02T17:00+09:00") == near(3)
    assert spend(tariff, [0, 10], [1], "2011-05-02T08:00Z") == near(10)


def test_days_of_the_week():
    tariff = "0.10, mon-fri 8:0.30, mon-fri 20:0.10"
    friday = "2024-03-01T00:00+01:00"
    assert spend(tariff, [0, 24], [1], friday) == near(12 * 0.1 + 12 * 0.3)
    assert spend(tariff, [24, 72], [1], friday) == near(48 * 0.1)
    assert spend(tariff, [24, 24 * 8], [1], friday) == near(2 * 2.4 + 5 * 4.8)
    # An entry without an hour takes its whole days.
    weekend = "0.15, 8:0.30, 20:0.15, sat-sun 0.05"
    assert spend(weekend, [24, 72], [1], friday) == near(48 * 0.05)
    # Ranges may go over the end of the week.
    assert spend("1, fri-mon 0", [0, 24 * 7], [1]) == near(3 * 24)


def test_minutes_currency_and_negative_prices():
    tariff = parse_tariff("0.15, 7:30:-0.30, 20:.15e0 EUR")
    assert tariff.begins[:3] == (0.0, 7.5 * HOUR, 20 * HOUR)
    assert tariff.prices[:3] == (0.15, -0.30, 0.15)
    assert tariff.currency == "EUR"
    assert parse_tariff("0.2€").currency == "€"
    assert parse_tariff("0.2", currency="CHF").currency == "CHF"
    assert parse_tariff("MON-Fri 0.2, SAT-sun 0.1").prices == (0.2, 0.1)


def test_equal_neighbours_are_one():
    assert parse_tariff("0.2, 8:0.2") == Tariff((0.0,), (0.2,))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "'' is not"),
        ("cheap", "'cheap' is not"),
        ("0.15,", "'' is not"),
        ("0.15, mon", "'mon' is not"),
        ("EUR 0.15", "day 'EUR'"),
        ("0.15, 24:0.30", "hours go from 0 to 23"),
        ("0.15, 8:60:0.30", "minutes from 00 to 59"),
        ("0.15, fro-mon 8:0.30", "day 'fro': choose from mon, tue"),
        ("8:0.30", "no price for mon at 0:00"),
        ("mon-fri 0.30", "no price for sat at 0:00"),
        ("0.15, 20:0.15, 8:0.30", "'20:0.15' never holds"),
        ("1e999", "finite"),
        ("0.15; 8:0.30", "is not"),
    ],
)
def test_bad_tariffs(text: str, problem: str):
    with pytest.raises(OptionError, match=problem) as caught:
        parse_tariff(text)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("begins", "prices"),
    [((), ()), ((0.0,), (1.0, 2.0)), ((5.0,), (1.0,)), ((0.0, 7 * 86400.0), (1.0, 2.0)),
     ((0.0, 9.0, 9.0), (1.0, 2.0, 3.0)), ((0.0,), (math.nan,))],
)  # fmt: skip
def test_bad_pieces_of_a_tariff(begins: tuple[float, ...], prices: tuple[float, ...]):
    with pytest.raises(OptionError, match="tariff: "):
        Tariff(begins, prices)


entries = st.tuples(
    st.integers(0, 6), st.integers(0, 6), st.integers(0, 95), st.integers(0, 40)
)  # first day, how many more, quarter of the day, cents


def parsed(text: str) -> tuple[Tariff | None, str]:
    try:
        return parse_tariff(text), ""
    except InputError as error:
        return None, str(error)


@settings(max_examples=150)
@given(
    st.lists(entries, max_size=4),
    st.lists(st.integers(0, 900), min_size=1, max_size=6, unique=True).map(sorted),
    st.data(),
)
def test_cost_is_the_sum_over_quarters(later, quarters, data):
    """Any tariff, any power, from any moment: entry by entry, quarter by quarter."""
    watts = data.draw(st.lists(st.integers(0, 900), min_size=len(quarters), max_size=len(quarters)))
    begin = datetime(2023, 12, 30, tzinfo=UTC) + timedelta(
        minutes=15 * data.draw(st.integers(0, 700))
    )
    text = "0.07"
    for day, more, quarter, cents in later:
        last = DAYS[(day + more) % 7]
        text += f", {DAYS[day]}-{last} {quarter // 4}:{quarter % 4 * 15:02d}:{cents / 100}"
    exact = Fraction(0)
    used = set()
    for k in range(quarters[0], quarters[-1]):
        at = begin + timedelta(minutes=15 * k)
        owner, price = -1, 7
        for i, (day, more, quarter, cents) in enumerate(later):
            if (at.weekday() - day) % 7 <= more and at.hour * 4 + at.minute // 15 >= quarter:
                owner, price = i, cents
        used.add(owner)
        drawn = [w for q, w in zip(quarters, watts, strict=True) if q <= k][-1]
        exact += Fraction(price, 100) * Fraction(drawn, 1000) / 4
    tariff, problem = parsed(text)
    if tariff is None:
        assert "never holds" in problem
        assert text.split(", ").index(problem.split("'")[1]) - 1 not in used
        return
    made = electricity_cost(
        np.array(quarters) * 900.0, np.array(watts, dtype=float), tariff, Clock.of(start=str(begin))
    )
    assert made == near(float(exact), rel=1e-12, abs=1e-12)


def test_clock_of_a_header():
    # 1,000,000,000 s: Sunday, 9 September 2001, 1:46:40 UTC.
    sunday = 6 * 86400 + HOUR + 46 * 60 + 40
    lines = ["; UnixStartTime: 1000000000"]
    assert Clock.of(Header(lines)).second_of_week == sunday
    assert Clock.of(Header([*lines, "; TimeZone: 3600"])).second_of_week == sunday + HOUR
    summer = Clock.of(Header([*lines, "; TimeZone: 3600", "; TimeZoneString: Europe/Stockholm"]))
    assert summer.known
    assert summer.second_of_week == sunday + 2 * HOUR
    assert summer.start == datetime(2001, 9, 9, 1, 46, 40, tzinfo=UTC)
    # An unknown name leaves the number; a start given overrides all.
    odd = Header([*lines, "; TimeZone: 3600", "; TimeZoneString: Middle/Earth"])
    assert Clock.of(odd).second_of_week == sunday + HOUR
    assert Clock.of(odd, start="2011-05-02T09:00").second_of_week == 9 * HOUR
    given = Clock.of(start=datetime(2011, 5, 3, tzinfo=UTC))
    assert (given.second_of_week, given.known) == (86400.0, True)


@pytest.mark.parametrize("lines", [[], ["; UnixStartTime: 0"], ["; UnixStartTime:"]])
def test_clock_of_a_log_that_says_nothing(lines: list[str]):
    clock = Clock.of(Header(lines))
    assert not clock.known
    assert clock.second_of_week == 0
    assert (
        clock == Clock.of() == Clock.of(Jobs({"submit": [0], "runtime": [1], "procs": [1]}).header)
    )


@pytest.mark.parametrize(
    ("lines", "start", "problem"),
    [
        ([], "yesterday", "start 'yesterday' is no ISO 8601 timestamp; give the start as 2011"),
        (["UnixStartTime: soon"], None, "UnixStartTime 'soon' is not a number"),
        (["UnixStartTime: 1e30"], None, "no moment"),
        (["UnixStartTime: 10", "TimeZone: east"], None, "TimeZone 'east'"),
        (["UnixStartTime: 10", "TimeZone: 9e9"], None, "no moment"),
        (["UnixStartTime: 10", "TimeZoneString: Middle/Earth"], None, "zone 'Middle/Earth' is not"),
        (["UnixStartTime: 10", "TimeZoneString: ../etc"], None, "zone '../etc' is not"),
    ],
)
def test_bad_clocks(lines: list[str], start: str | None, problem: str):
    with pytest.raises(OptionError, match=problem):
        Clock.of(Header(lines), start)


@pytest.mark.parametrize("log", ["KTH-SP2-1996-2", "RICC-2010-2", "SDSC-SP2-1998-4.2-cln"])
def test_clock_of_real_logs(data_dir: Path, log: str):
    """The moment that the header also tells in words, in local time."""
    with gzip.open(data_dir / "swf" / f"{log}.swf.gz", "rt") as file:
        lines = [line.strip() for line, _ in zip(file, range(60), strict=False)]
    header = Header([line for line in lines if line.startswith(";")])
    day, _, _, clock, _, _ = (header.get("StartTime") or "").split()
    hours, minutes, seconds = map(int, clock.split(":"))
    expected = DAYS.index(day.lower()) * 86400 + hours * HOUR + minutes * 60 + seconds
    assert Clock.of(header).second_of_week == expected


def test_the_zone_of_a_header_is_followed_and_a_distance_is_not():
    # Thursday, 1 January 2004, 1:00 in Stockholm; half a year later its people rise an hour sooner.
    begin, zone = "UnixStartTime: 1072915200", "TimeZoneString: Europe/Stockholm"
    july = (datetime(2004, 7, 1, 6, tzinfo=UTC).timestamp() - 1072915200) / HOUR
    time, watts = np.array([july, july + 2]) * HOUR, np.array([1000.0, 0.0])
    tariff = parse_tariff("0, 8:1, 20:0")
    # From 8 to 10 there; from 7 to 9 on a clock that is not moved.
    assert electricity_cost(time, watts, tariff, Clock.of(Header([begin, zone]))) == near(2.0)
    moved = Clock.of(Header([begin, "TimeZone: 3600"]))
    assert electricity_cost(time, watts, tariff, moved) == near(1.0)


CHANGES = {
    "Europe/Berlin": ("2021-03-27", "2021-10-30"),
    "America/St_Johns": ("2006-04-01", "2006-10-28"),  # At one minute past midnight.
    "Australia/Lord_Howe": ("2021-04-03", "2021-10-02"),  # By half an hour.
    "Asia/Tokyo": ("2021-03-27", "2021-10-30"),
}


@settings(deadline=None, max_examples=100)
@given(
    zone=st.sampled_from(sorted(CHANGES)),
    autumn=st.booleans(),
    hour=st.integers(0, 47),
    prices=st.lists(st.integers(-5, 50), min_size=2, max_size=5),
    steps=st.lists(st.tuples(st.integers(1, 40), st.integers(0, 9)), min_size=1, max_size=6),
    days=st.sampled_from([0, 0, 90, 400]),
)
def test_cost_over_changes_of_clocks_minute_by_minute(zone, autumn, hour, prices, steps, days):
    there = ZoneInfo(zone)
    local = datetime.fromisoformat(CHANGES[zone][autumn]) + timedelta(hours=hour % 24)
    start = local.replace(tzinfo=there)
    quarters = np.cumsum([0, *(length for length, _ in steps)])
    time = days * 86400.0 + quarters * 900.0
    watts = np.array([1000.0 * kilowatts for _, kilowatts in steps] + [0.0])
    entries = [str(prices[0] / 100), *(f"{k}:{p / 100}" for k, p in enumerate(prices[1:], 1))]
    tariff, _ = parsed(", ".join(entries))
    if tariff is None:
        return
    exact = Fraction(0)
    for k, (length, kilowatts) in enumerate(steps):
        for minute in range(15 * length):
            elapsed = timedelta(days=days, minutes=int(15 * quarters[k] + minute))
            clock = (start.astimezone(UTC) + elapsed).astimezone(there)
            price = prices[min(clock.hour, len(prices) - 1)]
            exact += Fraction(price, 100) * kilowatts / 60
    text = f"{local.isoformat()} {zone}"
    made = electricity_cost(time, watts, tariff, Clock.of(start=text))
    assert made == near(float(exact), rel=1e-12, abs=1e-10)
    assert made == electricity_cost(time, watts, tariff, Clock.of(start=start))
    assert made == electricity_cost(time, watts, tariff, Clock.of(start=f"{local} [{zone}]"))


@pytest.mark.parametrize(("day", "hours"), [("2021-03-28", 23), ("2021-10-31", 25)])
def test_days_of_23_and_of_25_hours(day: str, hours: int):
    """A kW all day at 1 from 8 on, else at 2: the nights differ, the days do not."""
    clock = Clock.of(start=f"{day}T00:00 Europe/Berlin")
    time, watts = np.array([0.0, hours * HOUR]), np.array([1000.0, 0.0])
    cost = electricity_cost(time, watts, parse_tariff("2, 8:1"), clock)
    assert cost == near(2 * (hours - 16) + 16)
    parts = list(clock.pieces(0.0, hours * HOUR))
    change = HOUR * (2 if hours == 23 else 3)
    assert [part[:2] for part in parts] == [(0.0, change), (change, hours * HOUR)]
    sooner = Clock.of(start=f"{day}T00:00:00.25 Europe/Berlin")
    assert [part[1] for part in sooner.pieces(0.0, HOUR * 5)] == [change - 0.25, HOUR * 5]


@pytest.mark.parametrize(
    ("start", "problem"),
    [
        ("2021-05-01T00:00 Europe/Berln", "zone 'Europe/Berln' is not known.*Europe/Berlin"),
        ("2021-05-01T00:00 Middle/Earth", "time zone 'Middle/Earth' is not known here"),
        ("2021-05-01T00:00[Europe/Berlin", "is no ISO 8601 timestamp"),
        ("noon Europe/Berlin", "is no ISO 8601 timestamp"),
        ("2021-03-28T02:30 Europe/Berlin", "left this time out; give another"),
        ("2021-10-31T02:30 Europe/Berlin", r"occurs twice.*02:30:00\+02:00 or .*02:30:00\+01:00"),
        ("2021-05-01T00:00+01:00 Europe/Berlin", r"showed 2021-05-01T00:00:00\+02:00; correct"),
    ],
)
def test_bad_starts_with_a_zone(start: str, problem: str):
    with pytest.raises(OptionError, match=problem) as refused:
        Clock.of(start=start)
    assert "\n" not in str(refused.value)


def test_a_time_that_occurs_twice_is_told_by_its_distance():
    first, second = (
        Clock.of(start=f"2021-10-31T02:30+0{k}:00 Europe/Berlin").start for k in (2, 1)
    )
    assert second.timestamp() - first.timestamp() == HOUR


def test_a_run_beyond_all_calendars():
    time, watts, tariff = np.array([0.0, 1e12]), np.array([1.0, 0.0]), parse_tariff("1, 8:2")
    assert electricity_cost(time, watts, tariff) > 0
    with pytest.raises(OptionError, match="no calendar has the moment"):
        electricity_cost(time, watts, tariff, Clock.of(start="2021-05-01T00:00 Europe/Berlin"))


def write(folder: Path, text: str) -> Path:
    path = folder / "carbon.csv"
    path.write_text(text)
    return path


def test_constant_carbon():
    time, watts = np.array([0.0, 7200.0]), np.array([500.0, 0.0])
    assert emissions(time, watts, parse_carbon("300")) == 300.0
    assert emissions(time, watts, parse_carbon(250.0)) == 250.0


def test_carbon_series(tmp_path: Path):
    carbon = parse_carbon(str(write(tmp_path, "time,g_per_kwh\n0,100\n3600,400\n\n7200,50\n")))
    assert carbon.span == (0.0, 10800.0)
    time, watts = np.array([1800.0, 5400.0, 10800.0]), np.array([1000.0, 2000.0, 0.0])
    expected = 0.5 * 100 + 0.5 * 400 + 2 * (0.5 * 400 + 1 * 50)
    assert emissions(time, watts, carbon) == near(expected, rel=1e-14)


def test_carbon_with_timestamps(tmp_path: Path):
    text = (
        "Time, g_per_kWh\n2011-05-01T00:00Z,100\n2011-05-01T10:00+09:00,400\n2011-05-01 02:00,7\n"
    )
    path = write(tmp_path, text)
    carbon = read_carbon(path, Clock.of(start="2011-05-01T09:30+09:00"))
    assert carbon.time.tolist() == [-1800.0, 1800.0, 5400.0]
    packed = tmp_path / "carbon.csv.gz"
    packed.write_bytes(gzip.compress(b"\xef\xbb\xbf" + path.read_bytes()))
    assert read_carbon(packed, Clock.of(start="2011-05-01")).time.tolist() == [0.0, 3600.0, 7200.0]
    with pytest.raises(OptionError, match="line 2, field 'time': the log does not say when it"):
        read_carbon(path, Clock())


def test_carbon_is_not_known_outside_its_series():
    carbon = Carbon(np.array([0.0, 10.0]), np.array([1.0, 2.0]))
    watts = np.array([1.0, 0.0])
    assert emissions(np.array([0.0, 20.0]), watts, carbon) == near(30 / 3.6e6)
    for begin, end in ((-1.0, 5.0), (5.0, 20.5)):
        with pytest.raises(OptionError, match="known from 0 s to 20 s of the log, but the run"):
            emissions(np.array([begin, end]), watts, carbon)
    # One value alone holds at all times.
    alone = Carbon(np.array([50.0]), np.array([3.6e6]))
    assert emissions(np.array([0.0, 7.0]), watts, alone) == near(7)


@settings(max_examples=100)
@given(
    st.lists(st.integers(0, 50), min_size=2, max_size=8, unique=True).map(sorted),
    st.lists(st.integers(0, 50), min_size=1, max_size=8, unique=True).map(sorted),
    st.data(),
)
def test_emissions_are_the_sum_over_seconds(rows, steps, data):
    grams = data.draw(st.lists(st.integers(0, 900), min_size=len(rows), max_size=len(rows)))
    watts = data.draw(st.lists(st.integers(0, 900), min_size=len(steps), max_size=len(steps)))
    times = [rows[0] + s for s in steps if s <= 2 * rows[-1] - rows[-2] - rows[0]]
    if not times:
        return
    exact = 0
    for second in range(times[0], times[-1]):
        intensity = [g for t, g in zip(rows, grams, strict=True) if t <= second][-1]
        exact += intensity * [w for t, w in zip(times, watts, strict=False) if t <= second][-1]
    made = emissions(
        np.array(times, dtype=float),
        np.array(watts[: len(times)], dtype=float),
        Carbon(np.array(rows), np.array(grams)),
    )
    assert made == near(exact / 3.6e6, rel=1e-12)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "line 1: the header must be time,g_per_kwh"),
        ("0,100\n", "line 1: the header"),
        ("time,g_per_kwh\n", "0 values"),
        ("time,g_per_kwh\n0\n", "line 2: 1 fields"),
        ("time,g_per_kwh\n0,1,2\n", "line 2: 3 fields"),
        ("time,g_per_kwh\n0,dirty\n", "line 2, field 'g_per_kwh': 'dirty' is not a number"),
        ("time,g_per_kwh\n0,-1\n", "'-1' is not a number of at least 0"),
        ("time,g_per_kwh\n0,nan\n", "'nan' is not"),
        ("time,g_per_kwh\nnoon,5\n", "'noon' is no time such as 2022"),
        ("time,g_per_kwh\ninf,5\n", "'inf' is no time such as 2022"),
        (
            "time,g_per_kwh\n0,5\n2011-05-01,6\n",
            "line 3, field 'time': '2011-05-01' is not a number",
        ),
        ("time,g_per_kwh\n2011-05-01,6\n7,5\n", "'7' is no time such as 2022"),
        ("time,g_per_kwh\n5,1\n5,2\n", "line 3, field 'time': '5' is not after the row above"),
        ('time,g_per_kwh\n"' + "x" * 200_000 + '",2\n', "line 2: field larger than"),
    ],
)
def test_bad_carbon_files(tmp_path: Path, text: str, problem: str):
    clock = Clock.of(start="2011-05-01")
    with pytest.raises(OptionError, match=problem) as caught:
        read_carbon(write(tmp_path, text), clock)
    told = str(caught.value)
    assert "carbon.csv" in told
    assert "\n" not in told
    assert len(told) < 300


def test_carbon_files_that_are_none(tmp_path: Path):
    with pytest.raises(OptionError, match="no such file"):
        parse_carbon(str(tmp_path / "none.csv"))
    with pytest.raises(OptionError, match="is a directory"):
        read_carbon(tmp_path)
    path = tmp_path / "latin.csv"
    path.write_bytes(b"time,g_per_kwh\n\xe9,1\n")
    with pytest.raises(OptionError, match="not a text in UTF-8"):
        read_carbon(path)


@given(st.text(max_size=30))
def test_any_text_is_a_tariff_or_a_plain_error(text: str):
    tariff, problem = parsed(text)
    assert problem.startswith("tariff: ") if tariff is None else tariff.prices


def test_a_series_that_does_not_cover_the_run_says_dates(tmp_path):
    """Seconds since a log began say nothing to whoever looks for the right file."""
    path = tmp_path / "co2.csv"
    path.write_text("time,g_per_kwh\n2021-07-01T00:00,100\n2021-07-01T01:00,200\n")
    clock = Clock.of(start="2021-07-01T12:00 Europe/Berlin")
    known = "from -36000 s .2021-07-01 02:00.02:00. to -28800 s .2021-07-01 04:00.02:00. of the log"
    with pytest.raises(OptionError, match=known):
        read_carbon(path, clock).over(0.0, 60.0)


@pytest.mark.parametrize(
    ("text", "grams", "column"),
    [
        ("from,to,intensity.forecast,intensity.actual\n{0}Z,x,9,300\n{1}Z,x,9,200\n", 1, ".actual"),
        ("time,Actual Carbon Intensity (gCO2/kWh)\n{0},300\n{1},200\n", 1, "(gCO2/kWh)"),
        (
            "timestamp,MOER,MOER version\n{0},300,3.0\n{1},200,3.0\n",
            0.45359237,
            "MOER, of 0.4536 g/kWh each",
        ),
        ("point_time,lbs_co2_per_mwh\n{0},300\n{1},200\n", 0.45359237, "0.4536 g/kWh each"),
        ("time,carbon_intensity_kg_per_kwh\n{0},300\n{1},200\n", 1000, "of 1000 g/kWh each"),
        ("time,carbon intensity [kgCO2eq/MWh]\n{0},300\n{1},200\n", 1, "/MWh]"),
        ("datetime,carbonIntensity\n{0},300\n{1},200\n", 1, "carbonIntensity"),
        ("time\tg_per_kwh\n{0}\t300\n{1}\t200\n", 1, "g_per_kwh"),
        ("time_s,g_per_kwh\n3600,300\n7200,200\n", 1, "g_per_kwh"),
        ("timestamp,carbon_intensity_avg\n1640998800,300\n1641002400,200\n", 1, "_avg"),
    ],
)
def test_series_of_others_are_read_as_they_are(tmp_path, text, grams, column):
    """Each has 300 of its units from 01:00 UTC on, and 200 from 02:00 on."""
    path = tmp_path / "grid.csv"
    path.write_text(text.format("2022-01-01T01:00", "2022-01-01T02:00"))
    carbon = read_carbon(path, Clock.of(start="2022-01-01T00:00Z"))
    assert carbon.time.tolist() == [3600, 7200]
    assert carbon.grams == pytest.approx([300 * grams, 200 * grams], rel=1e-12)
    assert carbon.column.endswith(column)


@pytest.mark.parametrize("date", ["01.01.2022 01:00", "01/01/2022 01:00"])
def test_dates_whose_order_nobody_knows(tmp_path, date):
    path = tmp_path / "grid.csv"
    path.write_text(f"time,g_per_kwh\n{date},300\n")
    with pytest.raises(OptionError, match="no number of seconds"):
        read_carbon(path, Clock.of(start="2022-01-01T00:00Z"))


def test_what_a_header_lacks(tmp_path):
    path = tmp_path / "grid.csv"
    path.write_text("MTU (CET/CEST),g_per_kwh\n0,300\n")
    with pytest.raises(OptionError, match="no column is called time"):
        read_carbon(path)
