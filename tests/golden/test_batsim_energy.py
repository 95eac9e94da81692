"""Batsim's runs on `medium_late`, one with idle nodes switched off: energy, times, every row.

What it consumed is recomputed from its schedule and its changes of states. Its times of states
leave out what is open at the end of the record; energies, which end with the last job, do not.
"""

from __future__ import annotations

import csv

import numpy as np
import pytest

from sojourn.adequacy import read_batsim_energy
from sojourn.cluster import read_cluster
from sojourn.errors import ClusterError, LogError
from sojourn.measures.energy import KINDS
from sojourn.measures.formulas import clock_at, step_integral

SHUTDOWN = "opportunistic_shutdown"
PRINTED = 1e-6


def rows(path):
    with open(path) as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def batsim(data_dir):
    return data_dir / "batsim"


@pytest.fixture(scope="module")
def replayed(batsim):
    return read_batsim_energy(batsim / SHUTDOWN, batsim / "platform.xml")


@pytest.mark.parametrize("folder", [SHUTDOWN, "easy", "conservative"])
@pytest.mark.parametrize("load", [None, 0.0])
def test_energy_and_times(batsim, folder, load):
    """Its jobs only last: they compute nothing, and the load that their energies imply is 0."""
    run = read_batsim_energy(batsim / folder, batsim / "platform.xml", load=load)
    assert (run.load == 0).all()
    assert run.ledger.energy == pytest.approx(run.recorded["consumed_joules"], rel=1e-9)
    for name, seconds in run.times().items():
        assert seconds == pytest.approx(run.recorded[name], abs=32 * PRINTED), name


def test_figures_of_the_run_with_shutdowns(replayed):
    assert replayed.ledger.energy == pytest.approx(35_848_025.087804, rel=1e-9)
    left, stayed = replayed.times(), replayed.to_last_change.open_seconds.sum(axis=0)
    assert left["time_sleeping"] == pytest.approx(20_817.784651, abs=1e-4)
    # All 32 nodes are asleep at the end, which Batsim does not count.
    total = dict(zip(KINDS, replayed.ledger.seconds.sum(axis=0), strict=True))
    assert total["sleep"] == pytest.approx(177_708.350491, abs=1e-4)
    assert stayed[KINDS.index("sleep")] == pytest.approx(156_890.565848 + 31 * 6.1, abs=1e-3)
    assert stayed.sum() == stayed[KINDS.index("sleep")]
    assert sum(total.values()) == pytest.approx(32 * 16_240.03, rel=1e-12)
    # It switches the last node off after the last job, when its energy is counted no more.
    assert left["time_switching_off"] - total["entering"] == pytest.approx(6.1, abs=1e-6)


def test_ledger_is_the_integral_of_the_power(replayed):
    ledger = replayed.ledger
    power = step_integral(ledger.step_time, ledger.step_watts.sum(axis=0))
    assert power == pytest.approx(ledger.energy, rel=1e-12)


@pytest.mark.parametrize("folder", [SHUTDOWN, "easy", "conservative"])
def test_curve_and_machine_states_row_by_row(batsim, folder):
    """Each row is written after a change of states (p), a start (s) or an end (e) of a job."""
    place = batsim / folder
    run = read_batsim_energy(place, batsim / "platform.xml")
    ledger = run.to_last_change
    energy, states = rows(place / "out_consumed_energy.csv"), rows(place / "out_machine_states.csv")
    assert len(energy) == len(states) > 1600
    changed = rows(place / "out_pstate_changes.csv")
    exact, kinds, at = [], [], 0
    for row in changed:
        count = sum(len(range(*span)) for span in spans(row["machine_id"]))
        exact.append(run.changes["time"].iloc[at])
        kinds.append((row["machine_id"], int(row["new_pstate"])))
        at += count
    jobs = rows(place / "out_jobs.csv")
    pending = {
        "p": list(zip(exact, kinds, strict=True))[1:],
        "s": sorted((float(j["starting_time"]), j["allocated_resources"]) for j in jobs),
        "e": sorted((float(j["finish_time"]), j["allocated_resources"]) for j in jobs),
    }
    first = sum(len(range(*span)) for span in spans(changed[0]["machine_id"]))
    state, busy = np.zeros(first, dtype=int), np.zeros(first, dtype=bool)
    total = ledger.step_watts.sum(axis=0)
    before, ahead = 0.0, []
    for written, counted in zip(energy, states, strict=True):
        waiting = pending[written["event_type"]]
        time = next_event(waiting, written, counted, state, busy, ahead)
        assert counts(state, busy) == [int(counted[name]) for name in NAMES]
        joules = clock_at(np.array([time]), ledger.step_time, total)[0]
        assert joules == pytest.approx(float(written["energy"]), rel=5.1e-6, abs=1e-6)
        if written["epower"] != "NA":
            watts = clock_at(np.array([before, time]), ledger.step_time, total)
            assert np.diff(watts)[0] / (time - before) == pytest.approx(
                float(written["epower"]), rel=2e-5
            )
        before = time
    assert not any(pending.values())


NAMES = ("nb_sleeping", "nb_switching_on", "nb_switching_off", "nb_idle", "nb_computing")


def spans(text):
    for part in text.split():
        low, _, high = part.partition("-")
        yield int(low), int(high or low) + 1


def next_event(waiting, written, counted, state, busy, ahead):
    """Take the next event of this kind and instant, and bring the nodes to where the row has them.

    Batsim lets nodes that are switched at one instant arrive together, and then writes a row for
    each: those `ahead` have been applied before their row.
    """
    wanted = [int(counted[name]) for name in NAMES]
    same = [event for event in waiting if f"{event[0]:.6g}" == written["time"]]
    assert same, f"nothing happens at {written['time']}"
    for event in same:
        if event in ahead:
            if counts(state, busy) == wanted:
                ahead.remove(event)
                waiting.remove(event)
                return event[0]
            continue
        trial = state.copy(), busy.copy()
        apply(written["event_type"], event[1], *trial)
        if counts(*trial) == wanted:
            apply(written["event_type"], event[1], state, busy)
            waiting.remove(event)
            return event[0]
    assert written["event_type"] == "p", f"no start or end leads to {counted}"
    for event in same:
        apply("p", event[1], state, busy)
        ahead.append(event)
        if counts(state, busy) == wanted:
            break
    assert counts(state, busy) == wanted, f"no changes of states lead to {counted}"
    waiting.remove(same[0])
    ahead.remove(same[0])
    return same[0][0]


def apply(kind, who, state, busy):
    text, number = who if kind == "p" else (who, None)
    for low, high in spans(text):
        if kind == "p":
            state[low:high] = number
        else:
            busy[low:high] = kind == "s"


def counts(state, busy):
    on = (state >= 0) & (state != 13)
    return [
        int(np.count_nonzero(mask))
        for mask in (state == 13, state == -1, state == -2, on & ~busy, on & busy)
    ]


def test_units_and_roles_of_a_platform(tmp_path):
    path = tmp_path / "platform.xml"
    path.write_text(
        """<platform version="4.1"><zone id="a"><zone id="b">
        <host id="disk" speed="0f"><prop id="role" value="storage"/></host>
        <host id="boss" speed="1Gf"><prop id="role" value="master"/></host>
        <cluster id="c" prefix="n" suffix=".x" radical="0-1,10" speed="2Gflops" core="4">
          <prop id="wattage_per_state" value="95W:0.19kW"/></cluster>
        </zone></zone></platform>"""
    )
    cluster = read_cluster(path)
    assert [node.name for node in cluster.nodes] == ["n0.x", "n1.x", "n10.x"]
    server = cluster.nodes[0].server
    assert (server.ops, server.watts[0], server.watts[-1]) == (8e9, 95, 190)


def test_platform_as_a_cluster(batsim):
    cluster = read_cluster(batsim / "platform.xml")
    assert len(cluster.nodes) == 128
    server = cluster.nodes[0].server
    assert (server.watts[0], server.watts[-1]) == (95.0, 190.738)
    assert len(server.states.levels) == 13
    assert server.states.levels[12].speed == pytest.approx(0.44976076555)
    (sleep,) = server.states.sleep
    assert (sleep.watts, sleep.enter_watts, sleep.leave_watts) == (9.75, 100.996721311, 125.1743849)
    assert (sleep.enter, sleep.leave) == (pytest.approx(6.1), pytest.approx(151.52))
    assert server.states.off_watts == 10


HOST = """<?xml version='1.0'?>
<platform version="4"><AS id="A" routing="Full">
<host id="master_host" speed="1Gf"/>
{}
</AS></platform>
"""
SMALL = """<host id="{}" speed="100Mf, 50Mf, 1f, 0.5f, 0.25f, 1f, 1f, 0.1f" core="2">
<prop id="watt_per_state" value="90:95:200, 80:80:120, 9:9:9, 50:50:50, 70:70:70, 5:5:5, 40:40:40,
 60:60:60"/><prop id="watt_off" value="1"/><prop id="sleep_pstates" value="2:3:4, 5:6:7"/></host>"""


def recorded(folder, changes, jobs, energy=True):
    (folder / "platform.xml").write_text(HOST.format(SMALL.format("h0") + SMALL.format("h1")))
    head = "job_id,submission_time,starting_time,finish_time,allocated_resources,consumed_energy"
    lines = [
        ",".join(
            [str(i), *(f"{v:.6f}" for v in job[:3]), job[3], f"{job[4]:.6f}" if energy else "-1.0"]
        )
        for i, job in enumerate(jobs)
    ]
    (folder / "out_jobs.csv").write_text("\n".join([head, *lines, ""]))
    body = [f"{t:.6g},{nodes},{state}" for t, nodes, state in changes]
    (folder / "out_pstate_changes.csv").write_text(
        "\n".join(["time,machine_id,new_pstate", *body, ""])
    )
    return read_batsim_energy(folder, folder / "platform.xml")


def test_two_depths_levels_and_loads_by_hand(tmp_path):
    """Node 0 slows down in mid-job; node 1 sleeps at one depth, wakes, and sleeps at the other."""
    half = 100 * (95 + 52.5) + 50 * (80 + 20)  # load 0.5 at both levels
    run = recorded(
        tmp_path,
        [(0, "0-1", 0), (0, "1", -2), (2, "1", 2), (20, "1", -1), (24, "1", 0),
         (30, "1", -2), (31, "1", 5), (100, "0", 1)],
        [(0, 0, 150, "0", half)],
    )  # fmt: skip
    assert run.load.tolist() == [pytest.approx(0.5)]
    assert run.ledger.joules[0].tolist() == [pytest.approx(half), 0, 0, 0, 0, 0, 0]
    by_hand = {
        "idle": 6 * 90,
        "sleep": 18 * 9 + 119 * 5,
        "entering": 2 * 50 + 40,
        "leaving": 4 * 70,
    }
    assert dict(zip(KINDS, run.ledger.joules[1], strict=True)) == {
        **dict.fromkeys(KINDS, 0.0), **{k: pytest.approx(v) for k, v in by_hand.items()}
    }  # fmt: skip


def test_times_are_put_right_from_what_is_exact(tmp_path):
    """12345.678901 is printed as 12345.7: node 1 goes to sleep when the job ends, and arrives."""
    run = recorded(
        tmp_path,
        [(0, "0-1", 0), (12345.678901, "1", -2), (12347.678901, "1", 2)],
        [(0, 0, 12345.678901, "1", 0), (0, 0, 20000, "0", 0)],
        energy=False,
    )
    assert run.changes["time"].tolist() == [0, 0, 12345.678901, pytest.approx(12347.678901)]
    assert run.ledger.seconds[1, KINDS.index("sleep")] == pytest.approx(20000 - 12347.678901)
    assert (run.load == 1).all()  # no energies are recorded


def test_a_node_goes_to_sleep_after_its_job_has_ended(tmp_path):
    """Another job is submitted at 12345.66 s, which is printed like the end at 12345.72 s."""
    run = recorded(
        tmp_path,
        [(0, "0-1", 0), (12345.72, "1", -2), (12347.72, "1", 2)],
        [(0, 0, 12345.72, "1", 0), (12345.66, 13000, 20000, "0", 0)],
        energy=False,
    )
    assert run.changes["time"].tolist()[2:] == [12345.72, pytest.approx(12347.72)]


def test_a_node_goes_to_sleep_after_whole_seconds_of_idleness(tmp_path):
    run = recorded(
        tmp_path,
        [(0, "0-1", 0), (12345.678901 + 300, "1", -2), (12345.678901 + 302, "1", 2)],
        [(0, 0, 12345.678901, "1", 0), (0, 0, 20000, "0", 0)],
        energy=False,
    )
    assert run.changes["time"].tolist()[2:] == pytest.approx([12645.678901, 12647.678901], abs=1e-9)


def test_a_node_is_up_when_its_job_starts(tmp_path):
    """Nobody says why it is woken at 12341.678901 s, printed 12341.7: 4 s later a job starts."""
    run = recorded(
        tmp_path,
        [(0, "0-1", 0), (0, "1", -2), (2, "1", 2), (12341.678901, "1", -1), (12345.678901, "1", 0)],
        [(0, 0, 20000, "0", 0), (50, 12345.678901, 12400, "1", 0)],
        energy=False,
    )
    assert run.changes["time"].tolist()[-2:] == pytest.approx(
        [12341.678901, 12345.678901], abs=1e-9
    )


def test_nodes_that_are_looked_at_every_half_minute_are_switched_at_whole_seconds(tmp_path):
    """Late instants are printed to 0.1 s; early ones show what the scheduler goes by.

    12630.00 s is printed like 12629.98 s, which is whole seconds after the job has ended, and like
    12629.96 s, when another one is submitted.
    """
    jobs = [(0, 0, 20000, "0", 0)]
    changes = [(0, "0-1", 0)]
    for look, end in ((60, 33.123457), (630, 601.765432), (3030, 3004.5), (12630, 12619.98)):
        jobs.append((end - 10, end - 10, end, "1", 0))
        changes += [(look, "1", -2), (look + 2, "1", 2)]
        changes += [(look + 10, "1", -1), (look + 14, "1", 0)]
    jobs.append((12629.96, 12644.5, 20000, "1", 0))
    run = recorded(tmp_path, changes, sorted(jobs), energy=False)
    switched = run.changes[run.changes["state"] == -2]["time"].tolist()
    assert switched == [60, 630, 3030, 12630]


def test_half_of_the_last_digit_may_be_printed_up_or_down(tmp_path):
    """12345.25 s is printed 12345.3 where it is a bit more in Batsim's own numbers."""
    run = recorded(
        tmp_path,
        [(0, "0-1", 0), (12343.25, "1", -2), (12345.3, "1", 2)],
        [(0, 0, 12343.25, "1", 0), (0, 0, 20000, "0", 0)],
        energy=False,
    )
    assert run.changes["time"].tolist()[2:] == [12343.25, 12345.25]


def test_times_with_more_than_six_digits_are_taken_as_they_are(tmp_path):
    """12345.61 s is close to the end of a job, but no rounding of it."""
    changes = [(0, "0-1", 0), (12345.61, "1", -2), (12347.61, "1", 2)]
    jobs = [(0, 0, 12345.58, "1", 0), (0, 0, 12345.64, "0", 0)]
    jobs.append((0, 13000, 20000, "0", 0))
    rounded = recorded(tmp_path, changes, jobs, energy=False)
    assert rounded.changes["time"].tolist()[2] == 12345.58
    path = tmp_path / "out_pstate_changes.csv"
    path.write_text("time,machine_id,new_pstate\n0,0-1,0\n12345.61,1,-2\n12347.61,1,2\n")
    run = read_batsim_energy(tmp_path, tmp_path / "platform.xml")
    assert run.changes["time"].tolist()[2:] == pytest.approx([12345.61, 12347.61], abs=1e-9)


@pytest.mark.parametrize("prefix", ["", "medium_late_"])
def test_names_of_files_may_have_another_prefix(tmp_path, prefix):
    jobs = [(0, 0, 150, "0", 150 * 90)]
    run = recorded(tmp_path, [(0, "0-1", 0), (0, "1", -2), (2, "1", 2)], jobs)
    for path in tmp_path.glob("out_*"):
        path.rename(tmp_path / path.name.replace("out_", prefix))
    (tmp_path / "all_jobs.csv").write_text("what else is there\n")
    again = read_batsim_energy(tmp_path, tmp_path / "platform.xml")
    assert again.ledger.energy == run.ledger.energy
    for name in ("b_jobs.csv", "b_pstate_changes.csv"):
        (tmp_path / name).write_text("another run\n")
    with pytest.raises(LogError, match=r"several runs \(.*jobs.csv, .*jobs.csv\)"):
        read_batsim_energy(tmp_path, tmp_path / "platform.xml")


def test_hosts_were_processors_once(tmp_path):
    jobs = [(0, 0, 150, "0", 150 * 90)]
    run = recorded(tmp_path, [(0, "0-1", 0), (0, "1", -2), (2, "1", 2)], jobs)
    path = tmp_path / "out_jobs.csv"
    path.write_text(path.read_text().replace("allocated_resources", "allocated_processors"))
    again = read_batsim_energy(tmp_path, tmp_path / "platform.xml")
    assert again.ledger.energy == run.ledger.energy


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        (
            "90:95:200",
            "-90:95:200",
            "host h0: watt_per_state'.*'-90' is not a number of at least 0",
        ),
        ("90:95:200,", "", "watts of 7 states, but 8 speeds"),
        ("90:95:200", "90", "is not idle:full or idle:least:full"),
        ("2:3:4", "2:2:4", "both asleep and switching"),
        ("2:3:4", "2:3:9", "state 9, but the last is 7"),
        ("2:3:4", "2:3", "is not sleep:off:on"),
        ("100Mf", "fast", "'fast' is no speed"),
        ("100Mf", "1.0.0Mf", "'1.0.0Mf' is no speed"),
        ("100Mf", "0Mf", "'0Mf' is no speed"),
        ('id="h1"', 'id="h0"', "two hosts are called 'h0'"),
        ('core="2"', 'core="0"', "is no number of cores"),
        ("</platform>", "", "is not XML"),
        ("platform", "machine", "but no platform"),
    ],
)
def test_bad_platforms(tmp_path, old, new, problem):
    text = HOST.format(SMALL.format("h0") + SMALL.format("h1"))
    assert old in text
    path = tmp_path / "platform.xml"
    path.write_text(text.replace(old, new))
    with pytest.raises(ClusterError, match=problem) as told:
        read_cluster(path)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize(
    ("file", "old", "new", "problem"),
    [
        ("out_jobs.csv", "starting_time", "began", "has no column 'starting_time'"),
        ("out_jobs.csv", "allocated_resources", "x", "has no column 'allocated_resources'"),
        ("out_jobs.csv", ",0,", ",0-7,", "line 2, field 'allocated_resources'.*has 2 hosts"),
        ("out_jobs.csv", "150.000000", "soon", "'soon' is not a number"),
        (
            "out_jobs.csv",
            ",0,",
            ',"0-1",',
            "contradicts out_pstate_changes.csv: node 1 has a job on it but is not on at 0 s",
        ),
        ("out_pstate_changes.csv", "0,0-1,0", "-5,0-1,0", "-5 s is before the run begins"),
        ("out_pstate_changes.csv", ",0-1,", ",x,", "'x' is no interval of nodes"),
        ("out_pstate_changes.csv", "0-1,0", "0-1,99", "state 99, but host 0 of the platform has 8"),
        ("out_pstate_changes.csv", "0-1,0", "0-1,-3", "is no number of a state"),
        ("out_pstate_changes.csv", "0-1,0", "0-1", "too many or too few fields"),
    ],
)
def test_bad_records(tmp_path, file, old, new, problem):
    changes = [(0, "0-1", 0), (0, "1", -2), (2, "1", 2)]
    recorded(tmp_path, changes, [(0, 0, 150, "0", 150 * 90)])
    path = tmp_path / file
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(LogError, match=problem) as told:
        read_batsim_energy(tmp_path, tmp_path / "platform.xml")
    assert file in str(told.value)


def test_missing_folder(tmp_path, batsim):
    with pytest.raises(LogError, match=r"out_jobs\.csv"):
        read_batsim_energy(tmp_path, batsim / "platform.xml")
