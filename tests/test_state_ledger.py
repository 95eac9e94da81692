"""The ledger of states: SimGrid's figures, and sums in fractions, second by second."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sojourn.errors import OptionError
from sojourn.measures.cost import Carbon, Clock, electricity_cost, emissions, parse_tariff
from sojourn.measures.energy import KINDS, NodeState, Occupation, state_ledger
from sojourn.measures.formulas import step_integral

near = pytest.approx


@pytest.mark.parametrize(("until", "joules"), [(10, 950), (17, 1_720), (27, 1_820), (177, 19_820)])
def test_simgrid_boot(until, joules):
    """Idle 95 W, off 10 W, shutting down at 110 W, booting at 120 W; another at 100 W."""
    states = [NodeState("on", 95), NodeState("entering", 110), NodeState("off", 10)]
    states += [NodeState("leaving", 120), NodeState("on", 100)]
    changes = [(0, 0, 0), (10, 0, 1), (17, 0, 2), (27, 0, 3), (177, 0, 0), (0, 1, 4)]
    ledger = state_ledger(*zip(*changes, strict=True), states, until=until)
    assert ledger.joules.sum(axis=1).tolist() == [joules, 100 * until]
    if until == 177:
        assert ledger.joules[1].sum() == 17_700
        assert ledger.by_state() == {
            "busy": (0, 0), "idle": (950 + 17_700, 10 + 177), "sleep": (0, 0),
            "entering": (770, 7), "leaving": (18_000, 150), "off": (100, 10), "failed": (0, 0),
        }  # fmt: skip


@pytest.mark.parametrize(
    ("until", "joules"),
    [(10, (1_000, 1_000, 1_000)), (11, (1_120, 1_100, 1_100)), (16, (1_645, 1_600, 1_600)),
     (20, (2_005, 2_000, 2_000)), (30, (2_905, 2_100, 3_000))],
)  # fmt: skip
def test_simgrid_execution(until, joules):
    """4 cores, 100 W idle, 93.33 W close to load 0, 200 W at full load; then at 20 % of the speed.

    One core is busy from 10 to 11 s, and from 11 to 16 s at the slow level, which stays. Another
    node is off from 20 to 30 s at 10 W, a third idles throughout.
    """
    states = [
        NodeState("on", 100, (280 / 3, 200)),
        NodeState("on", 90, (90, 150)),
        NodeState("off", 10),
    ]
    changes = [(0, 0, 0), (0, 1, 0), (0, 2, 0), (11, 0, 1), (20, 1, 2), (30, 1, 0)]
    busy = Occupation([10, 11], [11, 16], [0, 0], 0.25)
    ledger = state_ledger(*zip(*changes, strict=True), states, busy, until=until)
    assert ledger.joules.sum(axis=1) == near(joules, rel=1e-12)


def test_opendc_failure():
    """A task of 600 s is lost at 300 s, its node fails for 300 s: 150 W busy, 100 W failed."""
    states = [NodeState("on", 50, (150, 150)), NodeState("failed", 100)]
    busy = Occupation([0, 600], [300, 1200], [0, 0])
    ledger = state_ledger([0, 300, 600], [0, 0, 0], [0, 1, 0], states, busy)
    assert ledger.energy == 165_000
    assert ledger.seconds[0, KINDS.index("failed")] == 300


STATES = (
    NodeState("on", 95, (100, 120, 190)),
    NodeState("on", 80, (80, 130)),
    NodeState("sleep", 9),
    NodeState("entering", 101),
    NodeState("leaving", 125),
    NodeState("off", 0),
    NodeState("failed", 30),
)


@st.composite
def histories(draw):
    """Changes of up to 3 nodes in 20 s, and jobs, of a quarter or half of it, while they are on."""
    nodes = draw(st.integers(1, 3))
    changes, rows = [], []
    for node in range(nodes):
        at = [0, *sorted(draw(st.lists(st.integers(0, 20), max_size=6)))]
        to = [draw(st.integers(0, len(STATES) - 1)) for _ in at]
        changes += [(t, node, s) for t, s in zip(at, to, strict=True)]
        edges = [*at[1:], 20]
        for begin, end, state in zip(at, edges, to, strict=True):
            for load in (0.0, 0.25, 0.5):
                if STATES[state].kind == "on" and draw(st.booleans()):
                    first, last = sorted(
                        (draw(st.integers(begin, end)), draw(st.integers(begin, end)))
                    )
                    rows.append((first, last, node, load))
    return nodes, draw(st.permutations(rows)), changes


def watts_by_hand(node, second, changes, rows):
    """Kind and watts of a node from a whole second to the next."""
    current = STATES[[s for t, which, s in changes if which == node and t <= second][-1]]
    loads = [Fraction(w) for a, b, which, w in rows if which == node and a <= second < b]
    if not loads:
        return ("idle" if current.kind == "on" else current.kind), Fraction(current.watts)
    load, steps = sum(loads), len(current.busy_watts) - 1
    if load == 0:
        return "busy", Fraction(current.watts)
    level = min(int(load * steps), steps - 1)
    low, high = current.busy_watts[level : level + 2]
    return "busy", low + (high - low) * (load * steps - level)


@given(histories(), st.integers(1, 25))
def test_equals_a_sum_over_seconds(history, until):
    nodes, rows, changes = history
    columns = list(zip(*rows, strict=True)) or [(), (), (), ()]
    ledger = state_ledger(*zip(*changes, strict=True), STATES, Occupation(*columns), until=until)
    joules = [[Fraction(0)] * len(KINDS) for _ in range(nodes)]
    seconds = np.zeros((nodes, len(KINDS)))
    power = np.zeros(until)
    for node in range(nodes):
        for second in range(until):
            kind, watts = watts_by_hand(node, second, changes, rows)
            joules[node][KINDS.index(kind)] += watts
            seconds[node, KINDS.index(kind)] += 1
            power[second] += watts
    assert (ledger.seconds == seconds).all()
    assert ledger.joules == near(np.array(joules, dtype=float), rel=1e-12)
    steps = ledger.step_watts.sum(axis=0)
    assert step_integral(ledger.step_time, steps) == near(ledger.energy, rel=1e-9)
    at = np.searchsorted(ledger.step_time, np.arange(until), side="right") - 1
    assert steps[at] == near(power, rel=1e-12)
    assert (ledger.step_nodes.sum(axis=0) == nodes).all()
    for node in range(nodes):
        kinds = [watts_by_hand(node, second, changes, rows)[0] for second in range(until)]
        run = next((n for n in range(until) if kinds[-1 - n] != kinds[-1]), until)
        assert ledger.open_seconds[node].sum() <= run


def test_a_job_without_load_draws_idle_watts_after_others_have_gone():
    """0.1 + 0.2 + 0.3 - 0.1 - 0.2 - 0.3 is not 0 in floating point: a load would be left."""
    rows = Occupation([0, 0, 0, 0], [3, 4, 5, 9], [0] * 4, [0.1, 0.2, 0.3, 0.0])
    ledger = state_ledger([0], [0], [0], [NodeState("on", 95, (100, 190))], rows)
    above = (3 * 0.1 + 4 * 0.2 + 5 * 0.3) * 90
    assert ledger.energy == near(5 * 100 + above + 4 * 95, rel=1e-12)


def test_a_change_at_the_end_is_what_the_node_is_in():
    ledger = state_ledger([0, 10], [0, 0], [0, 3], STATES, until=10)
    assert ledger.step_time.tolist() == [0, 10]
    assert ledger.step_nodes[:, -1].tolist() == [kind == "entering" for kind in KINDS]
    assert ledger.open_seconds.sum() == 0
    assert ledger.energy == 950


@given(histories())
def test_cost_and_carbon_by_state_are_those_of_the_power(history):
    _, rows, changes = history
    columns = list(zip(*rows, strict=True)) or [(), (), (), ()]
    half, ledger = (
        state_ledger(*zip(*changes, strict=True), STATES, Occupation(*columns), until=until)
        for until in (10, 20)
    )
    clock = Clock.of(start="2024-03-31T00:59:50 Europe/Berlin")
    tariff = parse_tariff("0.1, 1:0.4")
    carbon = Carbon(np.array([0.0, 7.0, 14.0]), np.array([100.0, 400.0, 250.0]))
    steps = ledger.step_watts.sum(axis=0)
    cost, grams = ledger.cost(tariff, clock), ledger.emissions(carbon)
    assert cost.sum() == near(electricity_cost(ledger.step_time, steps, tariff, clock), rel=1e-9)
    assert grams.sum() == near(emissions(ledger.step_time, steps, carbon), rel=1e-9)
    # At 1:00, ten seconds after the beginning, the price is four times as high.
    first, all_joules = half.joules.sum(axis=0), ledger.joules.sum(axis=0)
    assert cost == near((first * 0.1 + (all_joules - first) * 0.4) / 3.6e6, rel=1e-9, abs=1e-15)


def test_a_million_changes_add_up():
    rng = np.random.default_rng(1)
    nodes, count = 500, 1_000_000
    time = np.concatenate([np.zeros(nodes), np.sort(rng.uniform(0, 1e7, count - nodes))])
    node = np.concatenate([np.arange(nodes), rng.integers(0, nodes, count - nodes)])
    ledger = state_ledger(time, node, rng.integers(0, len(STATES), count), STATES)
    assert ledger.seconds.sum() == near(nodes * time[-1], rel=1e-12)
    whole = step_integral(ledger.step_time, ledger.step_watts.sum(axis=0))
    assert whole == near(ledger.energy, rel=1e-9)


@pytest.mark.parametrize(
    ("time", "node", "state", "rows", "problem"),
    [
        ([], [], [], None, "no state of a node"),
        ([0, 1], [0], [0, 0], None, "one node and one state for each change"),
        ([0, 0], [0, 2], [0, 0], None, "node 1 has no state"),
        ([0], [0], [9], None, "not given"),
        ([np.nan], [0], [0], None, "finite"),
        ([0], [-1], [0], None, "numbered from 0"),
        ([0], [0.5], [0], None, "numbered from 0"),
        ([0], [0], [2], ([1], [2], [0]), "node 0 has a job on it but is not on at 1 s"),
        ([5], [0], [0], ([1], [7], [0]), "before its first state"),
        ([0], [0], [0], ([1, 1], [2, 3], [0, 0]), "load of more than 1 at 1 s"),
        ([0], [0], [0], ([1], [2], [1]), "node 1 has no state"),
        ([0], [0], [0], ([2], [1], [0]), "ends before it starts"),
        ([0], [0], [0], ([1], [2], [0], [1.5]), "between 0 and 1"),
        ([0], [0], [0], ([1], [2], [0, 0]), "of every row"),
    ],
)
def test_what_cannot_be(time, node, state, rows, problem):
    with pytest.raises(OptionError, match=problem):
        state_ledger(time, node, state, STATES, None if rows is None else Occupation(*rows))


@pytest.mark.parametrize("until", [-1.0, np.inf, np.nan])
def test_an_end_that_cannot_be(until):
    with pytest.raises(OptionError, match="before it begins or never"):
        state_ledger([0], [0], [0], STATES, until=until)


@pytest.mark.parametrize(
    ("kind", "watts", "busy", "problem"),
    [
        ("awake", 1, (), "kind 'awake': choose on, sleep"),
        ("sleep", -1, (), "watts below 0"),
        ("on", 1, (1, np.inf), "not finite"),
        ("sleep", 1, (1, 2), "no job is on a node that is sleep"),
        ("on", 1, (2,), "loads 0 and 1"),
    ],
)
def test_states_that_cannot_be(kind, watts, busy, problem):
    with pytest.raises(OptionError, match=problem):
        NodeState(kind, watts, busy)
