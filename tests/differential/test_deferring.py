"""Jobs held for cheap or clean electricity: ours and the oracle, rule by rule and in queues."""

from __future__ import annotations

import os
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import deferring as exactly
from oracle import simulate as simulate_exactly
from oracle.begin import as_they_come
from oracle.strategies import Workload, workloads

import sojourn
from sojourn.policy.deferral import (
    Series,
    cheapest_pieces,
    first_below,
    lowest_window,
    next_day_quantiles,
)

from .cast import CONSTANT, PAIRS

EXAMPLES = max(1, int(os.environ.get("SOJOURN_EXAMPLES", 2000)) // 10)
RUN = {"clean": (), "over_limit": "run", "record": True, "series": "repeat"}
POLICIES = ("fcfs", "first-fit", "easy", "easy:2", "conservative")

grids = st.builds(
    exactly.Series,
    st.lists(st.integers(0, 6), min_size=2, max_size=9),
    st.sampled_from((1, 2, 3, 5)),
)
waits = st.tuples(*(st.integers(0, most) for most in (25, 12, 25)))
"""When a job comes, how long it is planned to run, and how much later it may start."""


def unrolled(series: exactly.Series, until: int) -> Series:
    """The series over and over, to an instant after `until`."""
    count = until // series.step + 2
    values = [series.values[at % len(series.values)] for at in range(count)]
    time = np.arange(count) * float(series.step)
    return Series(time, np.array(values, dtype=float), float(count * series.step))


def floats(*numbers: int) -> list[np.ndarray]:
    return [np.array([float(number)]) for number in numbers]


@settings(max_examples=EXAMPLES, derandomize=True)
@given(grids, waits)
def test_the_window_of_least_sum(grid, job):
    came, plan, slack = job
    series = unrolled(grid, came + plan + slack)
    ours = lowest_window(*floats(came, plan, came + slack), series)
    assert ours.tolist() == [exactly.window(grid, came, plan, came + slack)]


@settings(max_examples=EXAMPLES, derandomize=True)
@given(st.lists(st.tuples(waits), min_size=1, max_size=12), grids)
def test_windows_of_many_jobs_at_once(drawn, grid):
    jobs = [job for (job,) in drawn]
    came, plan, slack = (np.array(column, dtype=float) for column in zip(*jobs, strict=True))
    series = unrolled(grid, 80)
    wanted = [exactly.window(grid, a, b, a + c) for a, b, c in jobs]
    assert lowest_window(came, plan, came + slack, series).tolist() == wanted
    limits = [exactly.below(grid, a, a + c, 2) for a, _, c in jobs]
    assert first_below(came, came + slack, series, 2.0).tolist() == limits


@settings(max_examples=EXAMPLES, derandomize=True)
@given(grids, waits, st.integers(1, 10))
def test_the_quantile_of_the_next_day(grid, job, tenths):
    came, _, slack = job
    hourly = exactly.Series(grid.values, 3600 * grid.step)
    share = Fraction(tenths, 10)
    came, slack = came * 1800, slack * 1800
    # Half hours stand for seconds: the definition counts what all 48 of a day have.
    halves = exactly.Series(grid.values, 2 * grid.step)
    limit = exactly.quantile(halves, came // 1800, share, day=48)
    wanted = 1800 * exactly.below(halves, came // 1800, (came + slack) // 1800, limit)
    series = unrolled(hourly, came + slack + exactly.DAY)
    assert next_day_quantiles(*floats(came), series, tenths / 10).tolist() == [limit]
    ours = first_below(*floats(came, came + slack), series, tenths / 10, is_quantile=True)
    assert ours.tolist() == [wanted]


@settings(max_examples=EXAMPLES, derandomize=True)
@given(grids, waits)
def test_the_cheapest_pieces(grid, job):
    came, plan, slack = job
    plan = max(plan, 1)
    until = came + slack + plan
    series = unrolled(grid, until)
    begin, length = cheapest_pieces(float(came), float(plan), float(until), series)
    wanted = exactly.pieces(grid, came, plan, until)
    assert list(zip(begin.tolist(), length.tolist(), strict=True)) == wanted
    # No other seconds cost less.
    least = sum(sorted(grid.at(second) for second in range(came, until))[:plan])
    spent = [grid.at(at + more) for at, long in wanted for more in range(long)]
    assert len(spent) == plan
    assert sum(spent) == least


def log_of(drawn: Workload) -> sojourn.Jobs:
    submit, work, procs, plan = zip(*drawn.jobs, strict=True)
    return sojourn.Jobs({"submit": submit, "runtime": work, "procs": procs, "estimate": plan})


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("grid") / "grid.csv"

    def written(grid: exactly.Series) -> str:
        rows = "".join(f"{at * grid.step},{value}\n" for at, value in enumerate(grid.values))
        path.write_text("time,g_per_kwh\n" + rows)
        return str(path)

    return written


def emitted(grid: exactly.Series, stretches, procs: int) -> Fraction:
    """Grams of so many kW over some stretches of whole seconds."""
    grams = sum(grid.at(int(t)) for a, b in stretches for t in range(int(a), int(b)))
    return Fraction(grams * procs, 3600)


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("kind", ["window", "threshold"])
def test_held_jobs_in_a_queue(name, kind, file):
    pair = PAIRS[name]

    @settings(max_examples=EXAMPLES, derandomize=True)
    @given(workloads(8, min_plan=1), grids, st.integers(0, 12))
    def agree(drawn: Workload, grid: exactly.Series, slack: int) -> None:
        begin: list[int | None] = []
        for submit, _, _, plan in drawn.jobs:
            if kind == "window":
                begin.append(exactly.window(grid, submit, plan, submit + slack))
            else:
                begin.append(exactly.below(grid, submit, submit + slack, 2))
        order, jobs = as_they_come(drawn.jobs, begin)
        wanted = simulate_exactly(jobs, drawn.servers, pair.discipline, CONSTANT[1.0].exact)
        cluster = sojourn.Cluster.homogeneous(
            drawn.servers, power=sojourn.ConstantPower(1000.0, 0.0)
        )
        defer = f"{kind}:{slack}s" if kind == "window" else f"{kind}:2:{slack}s"
        result = sojourn.simulate(
            log_of(drawn), cluster, pair.policy, carbon=file(grid), defer=defer, **RUN
        )
        table = result.jobs
        assert table["job"].tolist() == [place + 1 for place in order]
        assert table["start"].tolist() == list(wanted.start)
        assert table["end"].tolist() == list(wanted.end)
        held = [a - drawn.jobs[place].submit for place, (a, *_) in zip(order, jobs, strict=True)]
        assert result.summary["deferred"]["hold_mean"] == pytest.approx(sum(held) / len(held))
        for at, (_, _, procs, _) in enumerate(jobs):
            grams = emitted(grid, [(wanted.start[at], wanted.end[at])], procs)
            assert table["carbon"][at] == pytest.approx(float(grams), rel=1e-9, abs=1e-9)

    agree()


@pytest.mark.parametrize("name", POLICIES)
def test_pieces_in_a_queue(name, file):
    pair = PAIRS[name]

    @settings(max_examples=EXAMPLES, derandomize=True)
    @given(workloads(7, min_plan=1), grids, st.integers(0, 12), st.sampled_from((0, 0, 1, 2)))
    def agree(drawn: Workload, grid: exactly.Series, slack: int, restart: int) -> None:
        chains = [
            exactly.chain(exactly.pieces(grid, submit, plan, submit + slack + plan), work, restart)
            for submit, work, _, plan in drawn.jobs
        ]
        procs = [job.procs for job in drawn.jobs]
        times, outcome = exactly.simulate_in_pieces(
            chains, procs, drawn.servers, pair.discipline, CONSTANT[1.0].exact
        )
        cluster = sojourn.Cluster.homogeneous(
            drawn.servers, power=sojourn.ConstantPower(1000.0, 0.0)
        )
        result = sojourn.simulate(
            log_of(drawn), cluster, pair.policy,
            carbon=file(grid), defer=f"pieces:{slack}s:{restart}s", **RUN,
        )  # fmt: skip
        table = result.jobs.set_index("job").sort_index()
        assert table["start"].tolist() == [parts[0][0] for parts in times]
        assert table["end"].tolist() == [parts[-1][1] for parts in times]
        served = [sum(end - start for start, end in parts) for parts in times]
        assert table["service"].tolist() == served
        wanted = sorted(
            (row + 1, start, end) for row, parts in enumerate(times) for start, end in parts
        )
        ours = sorted(map(tuple, result.segments[["job", "start", "end"]].to_numpy().tolist()))
        assert ours == wanted
        for row, parts in enumerate(times):
            grams = float(emitted(grid, parts, procs[row]))
            assert table["carbon"].iloc[row] == pytest.approx(grams, rel=1e-9, abs=1e-9)
        for column in ("time", "queued", "busy"):
            found = result.trajectory[column].tolist()
            assert found == [getattr(at, column) for at in outcome.trajectory], column

    agree()
