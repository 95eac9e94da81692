"""Whether a machine keeps up: published figures, margins, and the smallest that does."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import sojourn
from sojourn import Jobs, OptionError
from sojourn.capacity import demand_of, log_backlog, stability
from sojourn.policy import parse_policy
from sojourn.theory import stability_constant


def poisson(count: int, rate: float, widths, seed: int = 1) -> Jobs:
    """Exponential service of mean 1 s, widths drawn evenly from a list."""
    rng = np.random.default_rng(seed)
    return Jobs(
        {
            "submit": np.cumsum(rng.exponential(1 / rate, count)),
            "runtime": rng.exponential(1.0, count),
            "procs": rng.choice(widths, count),
        }
    )


@pytest.mark.parametrize(
    ("data", "cores", "clean"),
    [
        ("HPC_KRC", "cores_used", False),
        ("HPC_KRC", "cores_requested", False),
        ("HPC_KRC2", "cores_used", True),
    ],
)
def test_published_loads(data_dir: Path, data: str, cores: str, clean: bool) -> None:
    expected = json.loads((data_dir / "hpcwld" / "rho_datasets.json").read_text())
    want = expected[f"{data}|{cores}"]
    jobs = sojourn.read_hpcwld(data_dir / "hpcwld" / f"{data}.csv", cores=cores, clean=clean)
    found = stability(jobs, 80, policies=())
    assert found.demand.jobs == want["n"]
    assert found.demand.arrival_rate == pytest.approx(want["lam"], rel=1e-13)
    assert found.demand.mean_service == pytest.approx(want["ES"], rel=1e-13)
    assert found.constant == pytest.approx(want["C"], rel=1e-13)
    assert found.exponential.load == pytest.approx(want["rho"], rel=1e-13)
    assert found.offered == pytest.approx(want["offered_util"], rel=1e-13)


def test_formula_and_simulation_agree_on_exponential_jobs() -> None:
    jobs = poisson(20_000, 1.2, [1, 2, 4])
    found = stability(jobs, 8, policies=("fcfs", "easy"), batch=20_000)
    exact, (fcfs, easy) = found.exponential, found.simulated
    assert fcfs.max_rate.value == pytest.approx(exact.max_rate.value, rel=0.02)
    assert easy.max_rate.value > fcfs.max_rate.value
    assert exact.load == pytest.approx(found.demand.arrival_rate / exact.max_rate.value)
    assert exact.margin == pytest.approx(1 / exact.load - 1)
    assert exact.state == fcfs.state == "stable"
    assert "stable: fcfs keeps up to" in found.verdict
    assert found.demand.dependence == pytest.approx(1.0, abs=0.02)
    for name in ("fcfs", "exponential"):
        sizes, rates = found.curve[name]
        assert np.all(np.diff(sizes) > 0)
        assert np.all(np.diff(rates) > 0)


@pytest.mark.parametrize("rate", [2.0, 4.0, 7.0])
@pytest.mark.parametrize("policy", ["fcfs", "easy"])
def test_smallest_is_the_least_size_that_keeps_up(rate: float, policy: str) -> None:
    jobs = poisson(2_000, rate, [1, 2, 4])
    found = stability(jobs, 16, policies=(policy,), batch=2_000, replications=4)
    (bound,) = found.simulated
    backlog = log_backlog(jobs, 2_000, 4)
    arrivals = found.demand.arrival_rate
    kept_up = [
        size
        for size in range(4, 40)
        if backlog.throughput(size, parse_policy(policy)).value > arrivals
    ]
    assert bound.smallest == kept_up[0]
    assert (bound.smallest <= 16) == (bound.load < 1)
    exact = found.exponential.smallest
    widths = found.demand.p

    def load(size: int) -> float:
        p = np.zeros(size)
        p[: len(widths)] = widths
        return arrivals * found.demand.mean_service * stability_constant(p)

    assert load(exact) < 1
    assert exact == 4 or load(exact - 1) >= 1


def test_an_overloaded_machine_says_what_it_needs() -> None:
    found = stability(poisson(3_000, 9.0, [1, 2, 4]), 8, batch=2_000)
    (bound,) = found.simulated
    assert bound.state == found.exponential.state == "unstable"
    assert bound.margin < 0
    assert bound.smallest > 8
    assert f"needs {bound.smallest:,} processors" in found.verdict


def test_the_edge_is_told_as_such() -> None:
    jobs = poisson(2_000, 1.0, [1, 2, 4])
    found = stability(jobs, 8, batch=500, replications=3)
    rate = found.simulated[0].max_rate.value
    factor = rate / found.demand.arrival_rate
    scaled = jobs.replace(submit=jobs.submit / factor)
    edge = stability(scaled, 8, batch=500, replications=3)
    assert edge.simulated[0].state == "undecided"
    assert "at the edge" in edge.verdict


def test_wider_jobs_are_left_out_and_counted() -> None:
    jobs = poisson(1_000, 1.0, [1, 2, 4])
    found = stability(jobs, 3, policies=())
    assert found.unaccepted == np.count_nonzero(jobs.procs == 4)
    assert found.demand.widest == 2
    assert found.as_dict()["jobs"] + found.unaccepted == 1_000


def test_what_depends_on_the_width_is_seen() -> None:
    jobs = poisson(5_000, 1.0, [1, 4])
    longer = jobs.replace(runtime=jobs.runtime * np.where(jobs.procs == 4, 2.0, 0.5))
    found = stability(longer, 8, batch=5_000)
    assert found.demand.dependence > 1.1
    # The formula spreads the mean service time evenly over the widths.
    assert found.simulated[0].max_rate.high < found.exponential.max_rate.value


def test_bursts_are_measured_by_the_day() -> None:
    rng = np.random.default_rng(4)
    even = np.sort(rng.uniform(0, 400 * 86_400, 20_000))
    columns = {"runtime": np.ones(20_000), "procs": np.ones(20_000, dtype=int)}
    assert demand_of(Jobs({"submit": even, **columns})).dispersion == pytest.approx(1, abs=0.25)
    # Twenty at a time: the number of arrivals varies twenty times as much.
    bursts = np.repeat(np.sort(rng.choice(even, 1_000)), 20)
    assert demand_of(Jobs({"submit": bursts, **columns})).dispersion == pytest.approx(20, rel=0.25)
    assert demand_of(Jobs({"submit": even / 400, **columns})).dispersion == 1.0


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"submit": [5.0], "runtime": [1.0], "procs": [1]}, "no arrival rate"),
        ({"submit": [5.0, 5.0], "runtime": [1.0, 1.0], "procs": [1, 1]}, "no arrival rate"),
        ({"submit": [5.0, 6.0], "runtime": [1.0, 1.0], "procs": [9, 9]}, "give at least 9"),
        ({"submit": [5.0, 6.0], "runtime": [0.0, 0.0], "procs": [1, 1]}, "all runtimes are 0"),
    ],
)
def test_logs_without_an_answer(columns: dict, said: str) -> None:
    with pytest.raises(OptionError, match=said):
        stability(Jobs(columns), 4)


def test_days_without_jobs_are_counted_not_stored() -> None:
    # A clock that was set wrong: ten days of jobs, one a long time later.
    submit = np.append(np.arange(100) * 8_640.0, 1e15)
    found = demand_of(Jobs({"submit": submit, "runtime": np.ones(101), "procs": np.ones(101, int)}))
    days = 1e15 // 86_400
    # Ten jobs on each of ten days: nearly all of the variance is that of their squares.
    assert found.dispersion == pytest.approx(10 * 10**2 / days / (100 / days), rel=1e-6)
    known = np.array([0, 0, 5, 1, 0, 2, 0, 0, 1, 1, 3, 0])
    day = np.repeat(np.arange(12), known) * 86_400.0
    submit = np.concatenate([[0.0], day + 7, [12 * 86_400.0 + 1]])
    rows = {"runtime": np.ones(submit.size), "procs": np.ones(submit.size, int)}
    known[0] = 1
    expected = known.var(ddof=1) / known.mean()
    assert demand_of(Jobs({"submit": submit, **rows})).dispersion == pytest.approx(expected)


def test_the_curve_has_the_machine_as_it_is_told() -> None:
    found = stability(poisson(500, 1.0, [1, 2, 4]), 4, batch=300)
    sizes, rates = found.curve["fcfs"]
    assert rates[sizes == 4].tolist() == [found.simulated[0].max_rate.value]
