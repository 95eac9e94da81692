"""What each job's energy costs and emits: against sums over minutes, and the bill of the run."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sojourn
from sojourn.errors import OptionError
from sojourn.measures.cost import (
    Carbon,
    Clock,
    electricity_cost,
    emissions,
    known_span,
    parse_price,
    parse_tariff,
    read_carbon,
    read_prices,
    steps_over,
)

near = pytest.approx
HOUR = 3600.0


def jobs(count: int = 40, seed: int = 0) -> sojourn.Jobs:
    draw = np.random.default_rng(seed)
    return sojourn.Jobs(
        {
            "submit": np.sort(draw.integers(0, 3 * 86400, count)).astype(float),
            "runtime": draw.integers(60, 20000, count).astype(float),
            "procs": draw.integers(1, 7, count),
            "user": draw.integers(1, 4, count),
        }
    )


@pytest.fixture
def grid(tmp_path):
    draw = np.random.default_rng(7)
    values = draw.integers(0, 500, 24 * 30)
    rows = "".join(f"{900 * at},{value}\n" for at, value in enumerate(values))
    (tmp_path / "grid.csv").write_text("time,g_per_kwh\n" + rows)
    prices = "".join(f"{900 * at},{(value - 200) / 1000}\n" for at, value in enumerate(values))
    (tmp_path / "market.csv").write_text("time,eur_per_kwh\n" + prices)
    return tmp_path


def by_hand(result: sojourn.Result, value, step: float) -> np.ndarray:
    """Sums over the steps of a series, for counted processors of 41 W."""
    table = result.jobs
    spent = np.zeros(len(table))
    for row, (start, end, procs) in enumerate(
        zip(table.start, table.end, table.procs, strict=True)
    ):
        at = int(start // step)
        while at * step < end:
            lasts = min(end, (at + 1) * step) - max(start, at * step)
            spent[row] += procs * 41.0 * lasts * value(at) / 3.6e6
            at += 1
    return spent


def test_counted_processors(grid):
    files = {"carbon": str(grid / "grid.csv"), "price": str(grid / "market.csv")}
    result = sojourn.simulate(jobs(), 8, "easy", series="repeat", **files)
    grams = read_carbon(grid / "grid.csv").grams
    table = result.jobs
    hand = by_hand(result, lambda at: grams[at % len(grams)], 900.0)
    assert table["carbon"].to_numpy() == near(hand, rel=1e-9)
    hand = by_hand(result, lambda at: (grams[at % len(grams)] - 200) / 1000, 900.0)
    assert table["cost"].to_numpy() == near(hand, rel=1e-9, abs=1e-9)
    classes = result.by("user")
    assert classes["carbon"].sum() == near(table["carbon"].sum())
    for user, row in classes.iterrows():
        assert row["cost"] == near(table.loc[table["user"] == user, "cost"].sum())


CLUSTER = "2 x (4 cores, 8G), 1 x (6 cores, 8G)"


@pytest.mark.parametrize("rate", [None, "count:0.8,1.0:2:4"])
@pytest.mark.parametrize("policy", ["easy", "lcfs-pr"])
@pytest.mark.parametrize("down", [False, True])
def test_jobs_and_idle_processors_pay_for_the_whole_bill(grid, rate, policy, down):
    """On nodes that are shared, with rates, failures and preemption: one flat series more."""
    fast = sojourn.Server("fast", cores=4, ops=8_000, watts=(60, 140))
    old = sojourn.Server("old", cores=6, ops=4_000, watts=(40, 100))
    machine = sojourn.Cluster.of([fast, old, old], reference_ops=4_000)
    options = {"rate": rate, "carbon": str(grid / "grid.csv"), "series": "repeat"}
    if down:
        options["events"] = [
            {"time": 30000, "kind": "down", "nodes": [machine.nodes[0].name], "until": 60000}
        ]
    result = sojourn.simulate(jobs(seed=3), machine, policy, **options)
    energy = result._schedule.energy
    whole = emissions(*result.power_steps, energy.carbon)
    # The idle rest, on the same clock of grams: the two add up to the integral over power steps.
    time, value = energy.series_steps(energy.carbon)
    raised = float(np.abs(value).mean())
    from sojourn.measures import formulas

    other = energy._on_clock(lambda at: formulas.clock_at(at, time, value + raised))
    idle = (other.idle - raised * energy.idle) / 3.6e6
    assert energy.job_costs["carbon"].sum() + idle == near(whole, rel=1e-9)
    assert energy.job_costs["carbon"].min() >= 0
    # A constant price is the energy itself.
    flat = sojourn.simulate(
        jobs(seed=3), machine, policy, **{**options, "carbon": 250.0}
    )._schedule.energy
    assert flat.job_costs["carbon"] == near(flat.jobs * 250.0 / 3.6e6)


ZONES = ("Europe/Berlin", "America/New_York", "Asia/Tokyo")


@settings(deadline=None, max_examples=40)
@given(
    zone=st.sampled_from(ZONES),
    day=st.sampled_from(("2021-03-26", "2021-10-29", "2021-07-01")),
    first=st.integers(0, 400),
    last=st.integers(1, 600),
)
def test_steps_of_a_tariff_over_changes_of_clocks(zone, day, first, last):
    local = datetime.fromisoformat(f"{day}T00:00")
    clock = Clock.of(start=f"{local.isoformat()} {zone}")
    tariff = parse_tariff("0.1, 7:0.3, 20:0.15, sat-sun 0.05")
    begin, end = first * 900.0, (first + last) * 900.0
    time, price = steps_over(tariff, clock, begin, end)
    assert (np.diff(time) > 0).all()
    assert time[0] == begin or len(tariff.prices) == 1
    start = local.replace(tzinfo=ZoneInfo(zone)).astimezone(UTC)
    for quarter in range(first, first + last):
        there = (start + timedelta(minutes=15 * quarter)).astimezone(ZoneInfo(zone))
        want = 0.15 if there.hour >= 20 else 0.3 if there.hour >= 7 else 0.1
        want = 0.05 if there.weekday() >= 5 else want
        assert price[np.searchsorted(time, quarter * 900.0, side="right") - 1] == want
    # The same bill either way.
    power = np.array([begin, (begin + end) / 2, end]), np.array([500.0, 900.0, 0.0])
    from sojourn.measures import formulas

    paid = np.diff(formulas.clock_at(power[0], time, price)) * power[1][:-1]
    assert electricity_cost(*power, tariff, clock) == near(paid.sum() / 3.6e6, rel=1e-9)


def test_a_series_that_repeats():
    carbon = Carbon(np.array([10.0, 20.0, 30.0]), np.array([1.0, 2.0, 3.0]), repeats=True)
    assert known_span(carbon) == carbon.span == (-np.inf, np.inf)
    watts = np.array([3.6e6, 0.0])
    for first in range(-70, 70):
        wanted = sum((1, 2, 3)[(second - 10) // 10 % 3] for second in range(first, first + 45))
        assert emissions(np.array([first, first + 45.0]), watts, carbon) == near(wanted)
    with pytest.raises(OptionError, match="would repeat"):
        emissions(np.array([0.0, 1e12]), watts, carbon)


@pytest.mark.parametrize(
    ("header", "unit", "currency"),
    [
        ("price", 1.0, ""),
        ("price_per_kwh", 1.0, ""),
        ("price_per_mwh", 1e-3, ""),
        ("EUR_per_kWh", 1.0, "EUR"),
        ("usd per mwh", 1e-3, "USD"),
        ("Price (EUR/MWhe)", 1e-3, "EUR"),
        ("Day-ahead Price [SEK/MWh]", 1e-3, "SEK"),
    ],
)
def test_headers_of_prices(tmp_path, header, unit, currency):
    (tmp_path / "p.csv").write_text(f"Country,Datetime (UTC),{header}\nDE,0,100\nDE,3600,-5\n")
    prices = parse_price(str(tmp_path / "p.csv"))
    assert prices.price.tolist() == near([100 * unit, -5 * unit])
    assert prices.currency == currency
    again = read_prices(tmp_path / "p.csv", repeats=True)
    power = np.array([7200.0, 10800.0]), np.array([1000.0, 0.0])
    assert electricity_cost(*power, again) == near(100 * unit)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("time,watts\n0,1\n", "the header must be time,price_per_kwh"),
        ("when,price\n0,1\n", "the header must be time,price_per_kwh"),
        ("time,price\n0,free\n", "line 2, field 'price': 'free' is not a number"),
        ("time,price\n0,-inf\n", "'-inf' is not a number"),
        ("time,price\n0,\n", "'' is not a number"),
        ("time,price\n0,1,2\n", "3 fields; give time,price"),
    ],
)
def test_bad_prices(tmp_path, text, problem):
    (tmp_path / "p.csv").write_text(text)
    with pytest.raises(OptionError, match=problem.replace("(", r"\(")) as caught:
        read_prices(tmp_path / "p.csv")
    assert "\n" not in str(caught.value)


def test_series_of_a_run(grid):
    result = sojourn.simulate(jobs(), 8, carbon=str(grid / "grid.csv"), series="repeat")
    time, value = result.series_steps()
    assert time[0] <= result.submit[0]
    assert len(time) == len(value)
    with pytest.raises(OptionError, match="the run has no price; simulate with price="):
        result.series_steps("price")
    with pytest.raises(OptionError, match="choose carbon or price"):
        result.series_steps("water")


def test_held_jobs_on_nodes_and_under_slurm(grid):
    """Windows and pieces of named nodes; windows under Slurm's model."""
    machine = sojourn.parse_cluster(CLUSTER)
    files = {"carbon": str(grid / "grid.csv"), "series": "repeat"}
    for defer in ("window:12h", "threshold:p20:12h", "pieces:12h:60s"):
        result = sojourn.simulate(jobs(seed=5), machine, "easy", defer=defer, record=True, **files)
        table = result.jobs
        assert (table["start"] >= table["begin"].fillna(table["submit"])).all()
        assert table["deferred"].all()
        assert len(result.allocations) >= len(table)
        if defer.startswith("pieces"):
            pieces = result.segments.sort_values(["job", "start"])
            count = pieces.groupby("job").size()
            assert count.max() > 1
            # No job runs beside itself, and each pause costs a minute.
            apart = pieces["start"].shift(-1) - pieces["end"]
            same = pieces["job"].shift(-1) == pieces["job"]
            assert (apart[same] >= 0).all()
            log = jobs(seed=5)
            wanted = dict(zip(log.job.tolist(), log.runtime.tolist(), strict=True))
            for job, served in zip(table["job"], table["service"], strict=True):
                assert served == near(wanted[job] + 60 * (count[job] - 1))
            assert result.resources.loc["cores", "used"] > 0


def test_held_jobs_on_nodes_that_sleep(grid, tmp_path):
    """Emissions of jobs, idle processors and all other states are those of the power steps."""
    (tmp_path / "sleepy.toml").write_text(
        "[[node]]\ncount = 8\ncores = 1\nops = 1e9\nidle_watts = 95\nwatts = 190\n"
        '[[node.sleep]]\nname = "off"\nwatts = 10\nenter = 10\nenter_watts = 100\n'
        "leave = 150\nleave_watts = 125\n"
    )
    machine = sojourn.read_cluster(tmp_path / "sleepy.toml")
    files = {"carbon": str(grid / "grid.csv"), "series": "repeat", "sleep": "idle:600"}
    result = sojourn.simulate(jobs(seed=5), machine, "easy", defer="window:12h", **files)
    energy = result._schedule.energy
    time, value = energy.series_steps(energy.carbon)
    raised = float(np.abs(value).mean())
    from sojourn.measures import formulas

    other = energy._on_clock(lambda at: formulas.clock_at(at, time, value + raised))
    rest = sum(
        (theirs - raised * ours) / 3.6e6
        for ours, theirs in (
            (energy.idle, other.idle),
            (energy.other_states.sum(), other.other_states.sum()),
        )
    )
    whole = emissions(*result.power_steps, energy.carbon)
    assert energy.other_states.sum() > 0
    assert energy.job_costs["carbon"].sum() + rest == near(whole, rel=1e-9)
    with pytest.raises(OptionError, match="nodes that sleep are woken for whole jobs"):
        sojourn.simulate(jobs(), machine, "easy", defer="pieces:12h", **files)


def test_windows_under_slurm(grid, tmp_path):
    (tmp_path / "slurm.conf").write_text(
        "ClusterName=a\nNodeName=n[1-2] CPUs=4\nPartitionName=p Nodes=n[1-2] Default=YES\n"
        "SelectType=select/cons_tres\nSchedulerType=sched/backfill\n"
    )
    files = {"carbon": str(grid / "grid.csv"), "series": "repeat"}
    policy = f"slurm:{tmp_path / 'slurm.conf'}"
    result = sojourn.simulate(jobs(seed=5), None, policy, defer="window:12h", **files)
    table = result.jobs[result.jobs["status"] == "completed"]
    assert len(table) > 30
    assert (table["start"] >= table["begin"].fillna(table["submit"])).all()
    assert result.summary["deferred"]["hold_mean"] > 3600
    plain = sojourn.simulate(jobs(seed=5), 8, "easy", defer="window:12h", **files)
    came = plain.jobs.set_index("job")["begin"]
    assert came.loc[table["job"]].to_numpy() == near(table["begin"].to_numpy(), nan_ok=True)
    with pytest.raises(OptionError, match="jobs cannot run in pieces here: Slurm's model stops"):
        sojourn.simulate(jobs(), None, policy, defer="pieces:12h", **files)
    with pytest.raises(OptionError, match="cannot be stepped"):
        sojourn.Simulation(jobs(), 8, defer="pieces:12h", **files)
    stepped = sojourn.Simulation(jobs(), 8, defer="window:12h", **files)
    assert stepped is not None
