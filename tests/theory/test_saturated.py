"""The saturated system: closed forms, hpcwld's table, and an enumeration of all orders."""

from __future__ import annotations

import csv
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from sojourn.errors import OptionError
from sojourn.theory import max_throughput, saturated_system, small_system, stability_constant
from sojourn.theory._phases import classes_of
from sojourn.theory.saturated import _walked


def _throughput(p, rates, servers):
    """Solve the chain of the classes of the first `servers` jobs, in order, in fractions."""
    states = list(product([k for k in range(1, len(p) + 1) if p[k - 1]], repeat=servers))
    index = {m: i for i, m in enumerate(states)}
    size = len(states)
    q = [[Fraction(0)] * size for _ in range(size)]
    served = []
    for m in states:
        running, used = 0, 0
        while running < servers and used + m[running] <= servers:
            used += m[running]
            running += 1
        served.append(sum(rates[k - 1] for k in m[:running]))
        for i in range(running):
            for k in {n for n in range(1, len(p) + 1) if p[n - 1]}:
                after = (*m[:i], *m[i + 1 :], k)
                q[index[m]][index[after]] += rates[m[i] - 1] * p[k - 1]
    for i in range(size):
        q[i][i] -= sum(q[i])
    # Transposed, the last equation replaced by the sum of all; Gauss with fractions.
    a = [[q[i][j] for i in range(size)] + [Fraction(0)] for j in range(size)]
    a[-1] = [Fraction(1)] * size + [Fraction(1)]
    for c in range(size):
        pivot = next(r for r in range(c, size) if a[r][c])
        a[c], a[pivot] = a[pivot], a[c]
        a[c] = [x / a[c][c] for x in a[c]]
        for r in range(size):
            if r != c and a[r][c]:
                a[r] = [x - a[r][c] * y for x, y in zip(a[r], a[c], strict=True)]
    return sum(a[i][-1] * served[i] for i in range(size))


_HALF, _THIRD = Fraction(1, 2), Fraction(1, 3)


@pytest.mark.parametrize(
    ("p", "rates"),
    [
        ([_HALF, _HALF], [1, 1]),
        ([_HALF, _HALF], [1, _HALF]),
        ([_THIRD, _THIRD, _THIRD], [1, 1, 1]),
        ([_THIRD, _THIRD, _THIRD], [1, 2, 3]),
        ([_HALF, 0, _HALF], [3, 1, 1]),
        ([Fraction(1, 4), Fraction(3, 4), 0], [1, 5, 1]),
    ],
)
def test_equals_the_chain_of_all_orders(p, rates):
    exact = _throughput(p, rates, len(p))
    ours = max_throughput([float(x) for x in p], [float(x) for x in rates])
    assert ours == pytest.approx(float(exact), rel=1e-13)
    solved = saturated_system([float(x) for x in p], [float(x) for x in rates])
    assert solved.throughput == pytest.approx(float(exact), rel=1e-13)


@pytest.mark.parametrize("p1", [0.0, 0.1, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("rates", [(1.0, 1.0), (1.0, 0.5), (0.2, 3.0)])
def test_two_servers_in_closed_form(p1, rates):
    p2, (mu1, mu2) = 1 - p1, rates
    told = 1 / (p1**2 / (2 * mu1) + p1 * p2 / mu1 + p2 / mu2)
    assert max_throughput([p1, p2], rates) == pytest.approx(told, rel=1e-13)


def test_published_figures():
    assert round(max_throughput([0.5, 0.5], [1, 0.5]), 6) == 0.727273
    p = np.zeros(10)
    p[[2, 9]] = 0.5
    assert round(max_throughput(p, servers=30), 7) == 4.0683481
    assert round(saturated_system(p, servers=30).throughput, 7) == 4.0683481


def test_hpcwlds_table_of_random_speeds(data_dir):
    with open(data_dir / "hpcwld" / "maxthroughput2.csv") as file:
        rows = [{k: float(v) for k, v in row.items()} for row in csv.DictReader(file)]
    assert len(rows) == 180
    for r in rows:
        ours = max_throughput(
            [r["p1"], 1 - r["p1"]],
            [r["mu1"], r["mu2"]],
            speeds=(r["f1"], r["f2"]),
            switch=(r["pd"], r["pa"]),
        )
        assert ours == pytest.approx(r["val"], rel=1e-9)


@pytest.mark.parametrize(("pa", "pd", "f"), [(0.7, 0.3, (1, 2)), (0.2, 0.9, (1, 3))])
@pytest.mark.parametrize("p1", [0.0, 1.0])
def test_random_speeds_with_one_class(p1, pa, pd, f):
    # The completion rate does not depend on the phase, so the share x of the high speed solves
    # X (1 - x) pa = f2 d x pd with X = d (f1 (1 - x) + f2 x).
    d = 2.0 if p1 == 1 else 1.0
    f1, f2 = f
    roots = np.roots([-(f2 - f1) * pa, (f2 - f1) * pa - f1 * pa - f2 * pd, f1 * pa])
    x = next(r for r in roots if 0 <= r <= 1)
    told = d * (f1 * (1 - x) + f2 * x)
    ours = max_throughput([p1, 1 - p1], speeds=f, switch=(pd, pa))
    assert ours == pytest.approx(told, rel=1e-12)


def test_random_speeds_at_the_edges():
    assert round(max_throughput([0, 1], speeds=(1, 2), switch=(0.3, 0.7)), 4) == 1.6594
    p, one = [0.5, 0.5], max_throughput([0.5, 0.5])
    assert max_throughput(p, speeds=(1, 2), switch=(0.3, 0.0)) == pytest.approx(one)
    assert max_throughput(p, speeds=(1, 2), switch=(0.0, 0.3)) == pytest.approx(2 * one)
    assert max_throughput(p, speeds=(1, 2), switch=(0.0, 0.0)) == pytest.approx(one)
    assert max_throughput(p, speeds=2.0) == pytest.approx(2 * one)


def test_the_chain_gives_the_constant():
    p = [0.4, 0.3, 0.2, 0.1]
    assert saturated_system(p).throughput == pytest.approx(1 / stability_constant(p), rel=1e-13)


def test_many_widths_need_no_chain_when_rates_are_equal():
    p = np.full(500, 1 / 500)
    assert max_throughput(p, 2.0) == pytest.approx(2 / stability_constant(p), rel=1e-13)
    with pytest.raises(OptionError, match="more than 50,000 phases"):
        max_throughput(p[:40] / p[:40].sum(), np.linspace(1, 2, 40), servers=200)


def test_dispersion_is_what_near_saturation_is_made_of():
    p, rates = [0.5, 0.2, 0.3], [2.0, 1.0, 0.5]
    full = saturated_system(p, rates)
    load = 0.99999
    system = small_system(load * full.throughput, p, rates)
    term = (1 + full.relative_completions) / full.throughput
    assert system.mean_response * (1 - load) == pytest.approx(term, rel=1e-4)


def test_single_servers_complete_as_a_poisson_stream():
    full = saturated_system([1.0], 0.5, servers=4)
    assert full.throughput == pytest.approx(2.0)
    assert full.dispersion == pytest.approx(1.0)
    assert full.in_service == pytest.approx(4.0)
    assert full.busy == pytest.approx(4.0)


@pytest.mark.parametrize("rates", [1.0, [1.0, 2.0, 0.5]])
def test_the_walk_finds_what_the_chain_solves(rates):
    p = [0.5, 0.2, 0.3]
    exact, walked = saturated_system(p, rates), _walked(classes_of(p, rates), seed=3)
    assert walked.throughput == pytest.approx(exact.throughput, rel=5e-3)
    assert walked.busy == pytest.approx(exact.busy, rel=5e-3)
    assert abs(walked.dispersion - exact.dispersion) < 4 * walked.error + 5e-3
    assert walked.error > 0


def test_a_long_memory_needs_long_batches():
    # 130 jobs at a time: batches of 15 rounds of them would lack a tenth of the dispersion.
    p = np.zeros(100)
    p[[0, 99]] = 0.98, 0.02
    exact = saturated_system(p, servers=400)
    walked = [_walked(classes_of(p, 1.0, 400), seed) for seed in range(6)]
    found = np.mean([each.dispersion for each in walked])
    assert found == pytest.approx(exact.dispersion, rel=0.06)
    assert all(each.error < 0.07 * exact.dispersion for each in walked)


def test_many_widths_take_no_longer():
    # As few combinations as widths, but far too many of both to go through at each completion.
    p = np.zeros(20_000)
    p[10_000:] = 1 / 10_000
    walked = saturated_system(p)
    # The order in which NumPy adds 10,000 shares depends on the processor.
    assert walked.throughput == pytest.approx(1.0, abs=1e-12)
    # One job at a time: a Poisson stream.
    assert walked.dispersion == pytest.approx(1.0, abs=1e-12)


def test_random_speeds_with_two_classes_leave_no_idle_time_at_the_limit():
    p, rates, law = [0.5, 0.5], [1.0, 0.5], {"speeds": (1.0, 2.0), "switch": (0.3, 0.7)}
    limit = max_throughput(p, rates, **law)
    near, nearer = (small_system(x * limit, p, rates, **law).empty for x in (0.999, 0.9999))
    assert nearer == pytest.approx(near / 10, rel=0.01)
