"""Delays by the recursion: an exact oracle, plain floats, blocks, and the engine beside it."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle import kiefer_wolfowitz as oracle

import sojourn
from sojourn.errors import InputError
from sojourn.theory import Recursion, driving_sequence, kiefer_wolfowitz

# Whole numbers take one way, eighths the other; neither is ever rounded.
UNITS = [1, Fraction(1, 8)]


@st.composite
def streams(draw):
    """Servers, interarrival times, service times by server, and widths; in whole numbers."""
    servers = draw(st.integers(1, 6))
    count = draw(st.integers(0, 25))
    times = st.integers(0, 12)
    column = st.lists(times, min_size=count, max_size=count)
    rows = st.lists(times, min_size=servers, max_size=servers)
    return (
        servers,
        draw(column),
        draw(st.lists(rows, min_size=count, max_size=count)),
        draw(st.lists(st.integers(1, servers), min_size=count, max_size=count)),
    )


def floats(values):
    return np.array(values, dtype=object).astype(float)


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("release", ["concurrent", "independent"])
@given(stream=streams())
def test_delays_and_vectors_are_those_of_the_exact_recursion(unit, release, stream):
    servers, gaps, table, widths = stream
    gaps = [unit * gap for gap in gaps]
    table = [[unit * part for part in row] for row in table]
    works = table if release == "independent" else [row[0] for row in table]
    service = floats(works) if works else np.empty((0, servers) if release != "concurrent" else 0)
    args = floats(gaps), service, widths, servers, release
    expected = [[float(x) for x in v] for v in oracle.vectors(gaps, works, widths, servers)]
    delays, seen = kiefer_wolfowitz(*args, vectors=True)
    assert seen.tolist() == expected
    assert delays.tolist() == [float(d) for d in oracle.delays(gaps, works, widths, servers)]
    assert kiefer_wolfowitz(*args).tolist() == delays.tolist()


@pytest.mark.parametrize("release", ["concurrent", "independent"])
@given(stream=streams(), cuts=st.lists(st.integers(0, 25), max_size=3), eighths=st.data())
def test_blocks_of_either_kind_join(release, stream, cuts, eighths):
    """Some blocks whole, some in eighths: the state passes from one way to the other unharmed."""
    servers, gaps, table, widths = stream
    table = np.array(table, dtype=float).reshape(-1, servers)
    gaps = np.array(gaps, dtype=float)
    edges = [0, *sorted(min(cut, len(gaps)) for cut in cuts), len(gaps)]
    blocks = [slice(a, b) for a, b in pairwise(edges)]
    for block in blocks:
        if eighths.draw(st.booleans()):
            gaps[block] /= 8
            table[block] /= 8
    service = table if release == "independent" else table[:, 0]
    queue = Recursion(servers, release)
    parts = [queue.step(gaps[block], service[block], widths[block]) for block in blocks]
    whole, seen = kiefer_wolfowitz(gaps, service, widths, servers, release, vectors=True)
    assert np.concatenate(parts).tolist() == whole.tolist()
    assert queue.customers == len(gaps)
    if len(gaps):
        after = Recursion(servers, release, initial=seen[-1])
        after.step(gaps[-1:], service[-1:], widths[-1:])
        assert after.workload.tolist() == queue.workload.tolist()


def plainly(gaps, service, widths, servers):
    """Eqs. (1) and (2) in floats, component by component."""
    vector, delays = np.zeros(servers), []
    for gap, parts, width in zip(gaps, service, widths, strict=True):
        delays.append(vector[width - 1])
        vector[:width] = vector[width - 1] + parts[:width]
        vector = np.sort(np.maximum(vector - gap, 0))
    return delays, vector


@pytest.mark.parametrize(("servers", "widest"), [(1, 1), (7, 7), (60, 1), (60, 60)])
@pytest.mark.parametrize("release", ["concurrent", "independent"])
def test_real_numbers_are_rounded_as_the_recursion_is_written(servers, widest, release):
    rng = np.random.default_rng([servers, widest])
    count = 3000
    widths = rng.integers(1, widest + 1, count)
    gaps = rng.exponential(widths.mean() / servers, count)
    service = rng.exponential(1.1, (count, servers))
    if release == "concurrent":
        service[:] = service[:, :1]
    queue = Recursion(servers, release)
    given_service = service if release == "independent" else service[:, 0]
    delays = queue.step(gaps, given_service, widths)
    expected, vector = plainly(gaps, service, widths, servers)
    assert delays.tolist() == expected
    assert queue.workload.tolist() == vector.tolist()
    assert np.count_nonzero(delays) > count / 2


def test_error_of_real_numbers_does_not_grow_with_the_clock():
    """Work of seconds after 30 years: instants as floats would be off by a tenth of 1e-6 s."""
    rng = np.random.default_rng(5)
    gaps, service = rng.exponential(1.0, (2, 400))
    widths = rng.integers(1, 5, 400)
    gaps[0] = 1e9
    exact = oracle.delays(
        [Fraction(gap) for gap in gaps], [Fraction(x) for x in service], widths.tolist(), 4
    )
    ours = kiefer_wolfowitz(gaps, service, widths, 4)
    assert max(abs(Fraction(d) - e) for d, e in zip(ours, exact, strict=True)) < 1e-11


def test_numbers_too_large_for_exact_instants_are_still_right():
    """A clock beyond 2**53 s cannot tell seconds apart."""
    assert kiefer_wolfowitz([2.0**54, 1, 1], [3, 3, 3], [1, 1, 1], 1).tolist() == [0, 0, 2]


@given(stream=streams())
def test_engine_gives_the_same_delays(stream):
    servers, gaps, table, widths = stream
    if not gaps:
        return
    jobs = sojourn.Jobs(
        {
            "submit": np.concatenate([[0], np.cumsum(gaps[:-1])]),
            "runtime": [row[0] for row in table],
            "procs": widths,
        }
    )
    assert engine(jobs, servers).tolist() == recursion(jobs, servers).tolist()


@pytest.mark.parametrize("cores", ["cores_used", "cores_requested"])
def test_engine_gives_the_same_delays_on_the_cluster_data(data_dir, cores):
    jobs = sojourn.read_hpcwld(data_dir / "hpcwld" / "HPC_KRC.csv", cores=cores)
    delays = recursion(jobs, 80)
    assert delays.max() > 0
    assert engine(jobs, 80).tolist() == delays.tolist()


def test_engine_gives_the_same_delays_on_a_log(data_dir):
    jobs = sojourn.clean(sojourn.read_swf(data_dir / "swf" / "KTH-SP2-1996-2.swf.gz"), procs=100)
    delays = recursion(jobs, 100)
    assert len(jobs) > 28_000
    assert np.mean(delays) > 3600
    assert engine(jobs, 100).tolist() == delays.tolist()


def recursion(jobs, servers):
    return kiefer_wolfowitz(*driving_sequence(jobs), servers)


def engine(jobs, servers):
    machine = sojourn.Cluster.homogeneous(servers)
    result = sojourn.simulate(jobs, machine, policy="fcfs", over_limit="run", clean=())
    return result.jobs["wait"].to_numpy()


def test_one_server_is_the_recursion_of_lindley():
    rng = np.random.default_rng(2)
    gaps, service = rng.exponential(1.0, (2, 500))
    delays = kiefer_wolfowitz(gaps, service, np.ones(500), 1)
    for i in range(499):
        assert delays[i + 1] == max(delays[i] + service[i] - gaps[i], 0)


def test_driving_sequence_of_jobs():
    jobs = sojourn.Jobs({"submit": [3, 5, 9], "runtime": [1, 2, 3], "procs": [4, 5, 6]})
    gaps, service, width = driving_sequence(jobs)
    assert (gaps.tolist(), service.tolist(), width.tolist()) == ([2, 4, 0], [1, 2, 3], [4, 5, 6])


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (([1, -2], [1, 1], [1, 1]), "job 2, field 'interarrival': -2; sort the jobs by submit"),
        (([1, np.nan], [1, 1], [1, 1]), "job 2, field 'interarrival': nan; "),
        (([1, 1], [-3, 1], [1, 1]), "job 1, field 'service': -3; give a time of 0 or more"),
        (([1, 1], [1, np.nan], [1, 1]), "job 2, field 'service': nan; "),
        (([1, 1], [1, np.inf], [1, 1]), "job 2, field 'service': inf; "),
        (([1, 1], [1, 1], [1, 0]), "job 2, field 'width': 0; drop the job"),
        (([1, 1], [1, 1], [1, 4]), "job 2, field 'width': 4; there are 3 servers"),
        (([1, 1], [1, 1], [1, 1.5]), "job 2, field 'width': 1.5; give a whole number"),
        (([1, 1], [1], [1, 1]), "service has 1 values, interarrival has 2; "),
        (([1, 1], [1, 1], [1]), "width has 1 values, interarrival has 2; "),
        (([1, 1], [[1], [1]], [1, 1]), "service has 2 dimensions; give one value per job"),
        ((["a"], [1], [1]), "interarrival: holds what is not a number"),
    ],
)
def test_bad_customers_are_named_in_one_line(columns, message):
    with pytest.raises(InputError) as error:
        kiefer_wolfowitz(*columns, 3)
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)


def test_bad_customers_of_independent_release():
    def message(service, width):
        with pytest.raises(InputError) as error:
            kiefer_wolfowitz([1, 1], service, width, 3, "independent")
        return str(error.value)

    assert message([1, 2], [1, 1]).startswith("service has 1 dimensions; give one row")
    assert message([[1, 1], [1, 1]], [1, 3]) == "job 2, field 'width': 3; service has 2 columns"
    assert message([[1, 9], [1, np.nan]], [1, 2]).startswith("job 2, field 'service': nan; ")
    assert message([[1, 9], [7, -2]], [1, 2]).startswith("job 2, field 'service': -2; ")


def test_what_is_beyond_the_width_is_not_looked_at():
    service = [[2.0, np.nan, -1.0], [1.0, 5.0, np.inf]]
    assert kiefer_wolfowitz([1, 1], service, [1, 2], 2, "independent").tolist() == [0, 1]


def test_customers_are_counted_across_blocks():
    queue = Recursion(3)
    queue.step([1, 1], [1, 1], [1, 1])
    with pytest.raises(InputError, match="job 4, field 'width': 9"):
        queue.step([1, 1], [1, 1], [1, 9])
    assert queue.customers == 2


@pytest.mark.parametrize(
    "room", [np.empty((2, 2)), np.empty((1, 3)), np.empty((2, 3), np.float32), np.empty(6)]
)
def test_room_for_vectors_must_fit(room):
    with pytest.raises(InputError, match=r"vectors: give float64 of the shape \(2, 3\)"):
        Recursion(3).step([1, 1], [1, 1], [1, 1], vectors=room)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"servers": 0}, "servers = 0: give a whole number of at least 1"),
        ({"servers": 2, "release": "both"}, "release = 'both': choose one of concurrent"),
        ({"servers": 2, "initial": [1]}, "initial: give the work left on each of the 2 servers"),
        ({"servers": 2, "initial": [1, -1]}, "initial: give the work left"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(InputError) as error:
        Recursion(**options)
    assert str(error.value).startswith(message)
