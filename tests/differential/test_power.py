"""The ledger of states = the oracle of nodes that sleep, on its schedules."""

from __future__ import annotations

import tempfile
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle.power import ASLEEP, ENTERING, LEAVING, Job, Sleep, joules, simulate

from sojourn.adequacy import read_batsim_energy
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


HOST = """<host id="h{}" speed="100Mf, 1f, 0.2f, 0.05f"><prop id="watt_per_state"
value="95:190, 10:10, 101:101, 125:125"/><prop id="sleep_pstates" value="1:2:3"/></host>"""
PSTATES = {"on": 0, ENTERING: -2, ASLEEP: 1, LEAVING: -1}
micro = st.integers(10**6, 3 * 10**9).map(lambda number: Fraction(number, 10**6))


@given(
    st.lists(st.tuples(micro, micro, st.integers(1, 3)), min_size=3, max_size=12),
    st.sampled_from(["fcfs", "easy"]),
    st.sampled_from([0, 30, 300]),
)
def test_a_record_of_batsim_gives_the_energy_of_its_schedule(rows, discipline, idle):
    """Nodes switch off in 5 s and on in 20 s; times of states are printed with six digits."""
    submit, jobs = Fraction(0), []
    for gap, work, nodes in rows:
        submit += gap
        jobs.append(Job(submit, work, nodes, work))
    out = simulate(jobs, [Sleep(5, 20)] * 3, discipline, idle)
    last = max(out.end.values())
    exact = sum(sum(bill.values()) for bill in joules(out, [WATTS] * 3, last))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        hosts = "".join(HOST.format(k) for k in range(3))
        (folder / "p.xml").write_text(f'<platform version="4">{hosts}</platform>')
        lines = ["submission_time,starting_time,finish_time,allocated_resources"]
        for j, job in enumerate(jobs):
            times = (float(time) for time in (job.submit, out.start[j], out.end[j]))
            printed = ",".join(f"{time:.6f}" for time in times)
            lines.append(f"{printed},{' '.join(map(str, out.nodes[j]))}")
        (folder / "out_jobs.csv").write_text("\n".join(lines))
        lines = ["time,machine_id,new_pstate"]
        lines += [
            f"{float(change.time):.6g},{change.node},{PSTATES[change.state]}"
            for change in out.changes
            if change.time <= last
        ]
        (folder / "out_pstate_changes.csv").write_text("\n".join(lines))
        run = read_batsim_energy(folder, folder / "p.xml")
    assert run.ledger.energy == pytest.approx(float(exact), rel=1e-6, abs=1e-2)
