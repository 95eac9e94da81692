"""Plans: the answer is confirmed, its neighbours are not hidden, theory is where it is known."""

from __future__ import annotations

import numpy as np
import pytest

import sojourn
from sojourn import Jobs, OptionError
from sojourn.capacity import Target, demand_of, expected_waits, grown, plan, search
from sojourn.theory.response import Response
from sojourn.theory.saturated import Saturated


@pytest.fixture(scope="module")
def log() -> Jobs:
    return sojourn.lublin(1_500, 64, load=0.8, seed=5)


def p95(jobs: Jobs, procs: int, policy: str = "easy") -> float:
    wait = sojourn.simulate(jobs, procs, policy).summary["wait"]
    return float(wait["p95"])


def test_the_answer_holds_and_one_less_does_not(log: Jobs) -> None:
    found = plan(log, growth=1.4, target="p95=1h")
    dense = log.replace(submit=log.submit[0] + (log.submit - log.submit[0]) / 1.4)
    assert found.procs is not None
    assert p95(dense, found.procs) <= 3600
    assert p95(dense, found.procs - 1) > 3600 or found.bounded_by_widest
    assert found.chosen is not None
    assert found.chosen.values[0] == p95(dense, found.procs)
    for size in found.sizes:
        assert size.met == (size.values[0] <= 3600)
        assert size.met or size.procs < found.procs
        told = sojourn.simulate(dense, size.procs, "easy").summary
        assert size.mean_wait == pytest.approx(told["wait"]["mean"])
        assert size.utilisation == pytest.approx(told["utilisation"])
    below = [size for size in found.sizes if size.procs < found.procs]
    assert found.also == tuple(size.procs for size in below if size.met)
    assert len(found.also) < len(below)
    assert f"{found.procs} processors would meet p95=1h under easy, as simulated" in found.verdict


def test_denser_arrivals_and_more_servers(log: Jobs) -> None:
    dense = grown(log, 2.0)
    assert np.ptp(dense.submit) == pytest.approx(np.ptp(log.submit) / 2)
    assert dense.submit[0] == log.submit[0]
    assert demand_of(dense).busy == pytest.approx(2 * demand_of(log).busy)
    sizes = [plan(log, growth=g, target="mean=10m").procs for g in (1.0, 1.5, 2.5)]
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[-1]


def test_whole_nodes(log: Jobs) -> None:
    found = plan(log, growth=1.4, target="p95=1h", step=24, procs=75)
    alone = plan(log, growth=1.4, target="p95=1h")
    assert found.procs is not None
    assert found.procs % 24 == 0
    assert alone.procs is not None
    assert 0 <= found.procs - alone.procs < 24
    # The machine of today is looked at although it is not made of such nodes.
    assert 75 in {size.procs for size in found.sizes}


def test_all_targets_must_hold(log: Jobs) -> None:
    easy, hard = plan(log, target="max=10d"), plan(log, target="mean=5m")
    both = plan(log, target=["max=10d", "mean=5m"])
    assert both.procs == max(easy.procs, hard.procs)
    assert len(both.chosen.values) == len(both.intervals) == 2


def test_nobody_waits_on_a_large_enough_machine(log: Jobs) -> None:
    found = plan(log[:200], target="max=0s", policy="fcfs")
    wait = sojourn.simulate(log[:200], found.procs, "fcfs").summary["wait"]
    assert wait["max"] == 0
    assert sojourn.simulate(log[:200], found.procs - 1, "fcfs").summary["wait"]["max"] > 0
    assert found.weeks_met == 1.0


def test_the_widest_job_bounds_the_machine() -> None:
    jobs = Jobs({"submit": [0.0, 1e6, 2e6], "runtime": [10.0] * 3, "procs": [1, 48, 2]})
    found = plan(jobs, target="mean=1h", procs=64)
    assert (found.procs, found.bounded_by_widest) == (48, True)
    assert "16 fewer than today" in found.verdict
    assert plan(jobs, target="mean=1h", step=32).procs == 64


class _Saw(search.Search):
    """Sizes that are good enough by rule, whatever the waits."""

    def __init__(self, good, log: Jobs, step: int = 1) -> None:
        super().__init__(log, [Target("mean", 1.0)], None, step, demand_of(log), {})
        self._good = good

    def _try(self, procs: int) -> bool:
        self._tried[procs] = search.Size(procs, (0.0,), 0.0, 0.0, self._good(procs), (0.0,))
        return self._tried[procs].met


@pytest.mark.parametrize("first", [64, 90, 150, 400])
@pytest.mark.parametrize("step", [1, 7, 16])
def test_the_search_finds_every_threshold(log: Jobs, first: int, step: int) -> None:
    for threshold in (10, 100, 113, 300):
        found = _Saw(lambda procs, least=threshold: procs >= least, log, step)
        found.around(search.whole(first, step), 64)
        widest = int(log.procs.max())
        assert found.answer == search.whole(max(threshold, widest), step)


def test_large_machines_are_told_apart_by_a_share(log: Jobs) -> None:
    wide = log.replace(procs=log.procs * 100)
    least = int(wide.procs.max())
    found = _Saw(lambda procs: procs >= 9_000, wide)
    found.around(least, least)
    assert found.step == max(least, int(demand_of(wide).busy) + 1) // 500
    assert found.answer == search.whole(9_000, found.step)


def test_sizes_that_are_good_by_chance_are_not_taken(log: Jobs) -> None:
    found = _Saw(lambda procs: procs >= 150 or procs == 147, log)
    found.around(140, 64)
    assert found.answer == 150
    assert [size.procs for size in found.sizes if size.met and size.procs < 150] == [147]


def test_a_larger_size_that_fails_moves_the_answer(log: Jobs) -> None:
    # 1.2 times the first answer fails: a size above it must be found.
    found = _Saw(lambda procs: procs >= 100 and not 115 <= procs <= 125, log)
    found.around(100, 64)
    assert found.answer == 126


def test_theory_of_waits_of_one_server() -> None:
    rng = np.random.default_rng(1)
    jobs = Jobs(
        {
            "submit": np.cumsum(rng.exponential(2.0, 5_000)),
            "runtime": rng.exponential(1.0, 5_000),
            "procs": np.ones(5_000, dtype=int),
        }
    )
    demand = demand_of(jobs)
    rate, mean = demand.arrival_rate, demand.mean_service
    load = rate * mean
    targets = [Target("mean", 1), Target("p95", 1), Target("max", 1)]
    wait, p95, longest = expected_waits(demand, 1, targets)
    # M/M/1: P{W > t} = rho exp(-(mu - lambda) t).
    assert wait == pytest.approx(load / (1 / mean - rate), rel=1e-12)
    assert p95 == pytest.approx(np.log(load / 0.05) / (1 / mean - rate), rel=1e-12)
    assert p95 < longest < np.inf
    dense = demand_of(grown(jobs, 3.0))
    assert expected_waits(dense, 1, targets) == (np.inf,) * 3


def test_theory_is_the_first_guess() -> None:
    rng = np.random.default_rng(3)
    jobs = Jobs(
        {
            "submit": np.cumsum(rng.exponential(100.0, 10_000)),
            "runtime": rng.exponential(1_000.0, 10_000),
            "procs": rng.integers(1, 9, 10_000),
        }
    )
    found = plan(jobs, target="mean=5m", policy="fcfs", procs=64)
    # Poisson arrivals, exponential service and FCFS: what the theory is about.
    assert found.first_guess == pytest.approx(found.procs, rel=0.05)
    assert found.least_exponential == pytest.approx(found.least_simulated, abs=2)
    at = found.theory.procs.index(found.procs)
    assert found.theory.values[0][at] == pytest.approx(found.chosen.values[0], rel=0.5)


def test_an_interrupted_search_keeps_what_is_known(
    log: Jobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs, simulate = [], search.simulate

    def limited(*args, **options):
        if len(runs) == 3:
            raise KeyboardInterrupt
        runs.append(args[1])
        return simulate(*args, **options)

    monkeypatch.setattr(search, "simulate", limited)
    found = plan(log, growth=1.4, target="p95=1h")
    assert found.interrupted
    assert [size.procs for size in found.sizes] == sorted(runs)
    met = [size.procs for size in found.sizes if size.met]
    assert found.procs == (min(met) if met else None)
    runs[:] = [0, 0, 0]
    nothing = plan(log, target="p95=1h")
    assert (nothing.procs, nothing.sizes) == (None, ())
    assert "interrupted" in nothing.verdict


def test_progress_ends_where_it_said(log: Jobs) -> None:
    told: list[tuple[int, int]] = []
    plan(log[:500], target="mean=1h", progress=lambda done, likely: told.append((done, likely)))
    assert all(0 <= done <= likely for done, likely in told)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"growth": 0.0}, "growth = 0"),
        ({"growth": -1.0}, "growth = -1"),
        ({"growth": float("nan")}, "growth"),
        ({"growth": 1e9}, "growth = 1e.09: the log would keep"),
        ({"growth": 1e300}, "growth = 1e.300: the log would keep"),
        ({"target": "soon"}, "target 'soon'"),
        ({"step": 0}, "step = 0"),
        ({"procs": 0}, "procs = 0"),
        ({"policy": "esay"}, "easy"),
    ],
)
def test_what_cannot_be_planned(log: Jobs, options: dict, said: str) -> None:
    with pytest.raises(sojourn.SojournError, match=said):
        plan(log, **options)


def test_one_job_is_no_log() -> None:
    with pytest.raises(OptionError, match="no arrival rate"):
        plan(Jobs({"submit": [0.0], "runtime": [1.0], "procs": [1]}))


def test_theory_is_the_same_for_one_size_and_for_many(log: Jobs) -> None:
    found = plan(log[:500], target=["p95=1h", "mean=10m"])
    for size, *values in zip(found.theory.procs, *found.theory.values, strict=True):
        expected = expected_waits(found.demand, size, found.targets)
        assert values == pytest.approx(expected, rel=1e-9)


def test_the_longest_wait_is_that_of_one_job_of_all(log: Jobs) -> None:
    demand = demand_of(log)
    share = f"p{100 - 100 / len(log):.12f}"
    longest, quantile = expected_waits(demand, 80, [Target("max", 1.0), Target(share, 1.0)])
    assert 0 < longest < np.inf
    assert longest == pytest.approx(quantile, rel=1e-9)


def test_few_wide_jobs_make_waits_likelier() -> None:
    # 100 servers hold 10.5 such jobs on average, but one of 50 processors blocks long before:
    # by E[N^2] / E[N] they are like 2.35 servers.
    rows = {"submit": np.arange(1000.0), "procs": np.where(np.arange(1000) % 10, 1, 50)}
    demand = demand_of(Jobs({**rows, "runtime": np.full(1000, 5.0)}))
    (mean,) = expected_waits(demand, 100, [Target("mean", 1.0)])
    jobs = 1 / demand.constant(100)
    as_many, alike = (
        Response(1.0, 5.0, Saturated(jobs / 5, jobs, 5.9 * jobs, servers, 1.0)).mean_wait
        for servers in (jobs, 100 / (250.9 / 5.9))
    )
    assert mean == pytest.approx(alike)
    assert mean > 3 * as_many


def test_recorded_waits_stand_beside_those_of_the_machine_today(log: Jobs) -> None:
    known = log.replace(wait=np.full(len(log), 7200.0))
    found = plan(known, growth=1.2, target="p95=1h", procs=96)
    alone = sojourn.simulate(known, 96, "easy").summary["recorded"]
    assert found.recorded == found.as_dict()["recorded"] == alone
    assert alone["wait"]["mean"] == 7200.0
    # A machine that cannot keep up tells nothing, nor does a log without waits.
    assert plan(log, target="p95=1h").recorded is None


def test_an_interrupted_comparison_with_the_log_leaves_the_answer(
    log: Jobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("sojourn.capacity.planning.simulate", interrupted)
    found = plan(log.replace(wait=np.zeros(len(log))), target="p95=1h")
    assert (found.recorded, found.interrupted) == (None, False)
    assert found.procs is not None


@pytest.mark.parametrize("procs", [10**9, 2**62])
def test_a_job_wider_than_any_machine_is_refused(procs: int) -> None:
    jobs = Jobs({"submit": [0, 10, 20], "runtime": [5, 5, 5], "procs": [1, procs, 1]})
    with pytest.raises(OptionError, match=f"job 2 has {procs} processors"):
        plan(jobs, target="p95=1h", procs=64)
