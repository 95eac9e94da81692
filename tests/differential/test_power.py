"""The ledger of states = the oracle of nodes that sleep, on its schedules."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle.power import ASLEEP, ENTERING, LEAVING, Job, Sleep, joules, simulate

from sojourn.measures.energy import KINDS, NodeState, Occupation, state_ledger

WATTS = {"busy": 190, "idle": 95, ENTERING: 101, ASLEEP: 10, LEAVING: 125}
STATES = (
    NodeState("on", 95, (190, 190)),
    NodeState("entering", 101),
    NodeState("sleep", 10),
    NodeState("leaving", 125),
)
NUMBERS = {"on": 0, ENTERING: 1, ASLEEP: 2, LEAVING: 3}
NAMES = {ASLEEP: "sleep"}

times = st.integers(0, 40).map(lambda quarter: quarter / 4)


@given(
    st.lists(st.tuples(times, times, st.integers(1, 3), times), min_size=1, max_size=12),
    st.lists(st.one_of(st.none(), st.builds(Sleep, times, times)), min_size=3, max_size=3),
    st.sampled_from(["fcfs", "easy"]),
    times,
)
def test_energy_by_node_and_state(rows, sleep, discipline, idle):
    submit, jobs = 0.0, []
    for gap, work, nodes, plan in rows:
        submit += gap
        jobs.append(Job(submit, work, nodes, plan))
    out = simulate(jobs, sleep, discipline, idle)
    last = max(out.end.values())
    held = [(out.start[j], out.end[j], k) for j in out.nodes for k in out.nodes[j]]
    changes = [(change.time, change.node, NUMBERS[change.state]) for change in out.changes]
    occupation = Occupation(*zip(*held, strict=True))
    ledger = state_ledger(*zip(*changes, strict=True), STATES, occupation, until=last)
    for k, bill in enumerate(joules(out, [WATTS] * 3, last)):
        for state, energy in bill.items():
            place = KINDS.index(NAMES.get(state, state))
            assert ledger.joules[k, place] == pytest.approx(energy, rel=1e-12, abs=1e-9)
    assert ledger.seconds.sum() == pytest.approx(3 * (last - jobs[0].submit), rel=1e-12)
