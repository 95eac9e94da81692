"""Pictures of nodes that sleep: states over time, and energy by cause."""

import numpy as np
import pytest

import sojourn
from sojourn import report
from sojourn.cli import main
from sojourn.cluster import Cluster, Node, Server
from sojourn.cluster.states import PowerStates, SleepState
from sojourn.errors import OptionError

STATES = ("busy", "idle", "entering", "sleep", "leaving", "failed")
OFF = SleepState("off", 10, enter=5, enter_watts=100, leave=20, leave_watts=125)
WATTS = {"busy": 190, "idle": 90, "entering": 100, "sleep": 10, "leaving": 125, "failed": 40}


def machine(nodes, cores=1):
    states = PowerStates((OFF,), failed_watts=40)
    server = Server("node", cores=cores, ops=1e9, watts=(90, 190), states=states)
    return Cluster.of(Node(f"n{k}", server) for k in range(nodes))


@pytest.fixture(scope="module")
def run():
    """One node sleeps from 30 s on and boots for the second job; the other one sleeps to the end.

    Node 0: busy to 20, idle to 30, entering to 35, asleep to 100, leaving to 120, busy to 150.
    Node 1: idle to 10, entering to 15, asleep.
    """
    jobs = sojourn.Jobs({"submit": [0, 100], "runtime": [20, 30], "procs": [1, 1]})
    return sojourn.simulate(jobs, machine(2), "fcfs", sleep="idle:10")


def test_states_over_time_are_those_worked_out_by_hand(run):
    table = run.nodes_by_state
    assert table["time"].tolist() == [0, 10, 15, 20, 30, 35, 100, 120, 150]
    assert table["busy"].tolist() == [1, 1, 1, 0, 0, 0, 0, 1, 0]
    assert table["idle"].tolist()[:-1] == [1, 0, 0, 1, 0, 0, 0, 0]
    assert table["entering"].tolist() == [0, 1, 0, 0, 1, 0, 0, 0, 0]
    assert table["sleep"].tolist()[:-1] == [0, 0, 1, 1, 1, 2, 1, 1]
    assert table["leaving"].tolist() == [0, 0, 0, 0, 0, 0, 1, 0, 0]


def test_states_times_watts_are_the_bill():
    """With boots that fail, and several jobs at once on a node."""
    jobs = sojourn.lublin(300, 32, load=0.6, seed=3)
    shared = sojourn.simulate(
        jobs, machine(8, cores=4), "easy", sleep="idle:60", boot_failure=0.05, seed=2
    )
    table, bill = shared.nodes_by_state, shared.summary["energy"]
    lapse = np.diff(table["time"])
    area = {state: float(np.sum(lapse * table[state].to_numpy()[:-1])) for state in STATES}
    assert (table[list(STATES)].to_numpy() >= 0).all()
    assert (table[list(STATES)].sum(axis=1) == 8).all()
    assert area["failed"] > 0
    for state in STATES[2:]:
        assert area[state] * WATTS[state] == pytest.approx(bill[f"{state}_joules"], rel=1e-9)
    # Of a node that is busy in part the bill counts the other part as idle.
    on = bill["busy_joules"] + bill["idle_joules"] - area["idle"] * 90
    assert area["busy"] * 90 < on < area["busy"] * 190


def test_areas_are_stacked_up_to_all_nodes(run):
    (ax,) = run.plot.node_states().axes
    assert ax.get_ylim() == (0, 2)
    tops = [area.get_paths()[0].vertices[:, 1].max() for area in ax.collections]
    assert tops[-1] == 2
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        "busy 16.7 %",
        "idle 6.7 %",
        "booting 6.7 %",
        "going to sleep 3.3 %",
        "asleep 66.7 %",
    ]


def test_long_runs_are_drawn_as_means():
    count = 5000
    table = {state: np.zeros(count) for state in STATES}
    table |= {"time": np.arange(count) * 60.0, "busy": np.arange(count) % 2}
    table["idle"] = 1 - table["busy"]
    (ax,) = report.node_states(table).axes
    assert ax.get_title(loc="right") == "means over 13.9 min"
    heights = ax.collections[0].get_paths()[0].vertices[:, 1]
    assert 0.45 < np.median(heights[heights > 0]) < 0.55


def test_bars_are_stacked_and_compared_with_the_first():
    never = {"busy_joules": 72e6, "idle_joules": 36e6}
    asleep = {"busy_joules": 72e6, "idle_joules": 3.6e6, "sleep_joules": 3.6e6}
    (ax,) = report.energy_by_cause({"never": {"energy": never}, "idle:60": asleep}).axes
    bars = [[(bar.get_x(), bar.get_width()) for bar in group] for group in ax.containers]
    assert bars == [[(0, 20), (0, 20)], [(20, 10), (20, 1)], [(30, 0), (21, 1)]]
    words = [text.get_text() for text in ax.texts]
    assert words == ["20", "20", "10", "30 kWh", "22 kWh  -26.7 %"]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["busy", "idle", "asleep"]


def test_savings_against_waits_with_the_knee_marked():
    saved = [(0.3, 0.2, 0.4), (0.25, 0.2, 0.3), (0.1, 0.05, 0.15)]
    waits = [(120, 100, 140), (60, 50, 70), (30, 20, 40)]
    (ax,) = report.sleep_curve([60, 600, 7200], saved, waits, knee=1).axes
    curve, never, knee = ax.lines[2:]
    assert curve.get_xydata().tolist() == [[120, 30], [60, 25], [30, 10]]
    assert never.get_xydata().tolist() == [[0, 0]]
    assert knee.get_xydata().tolist() == [[60, 25]]
    assert {text.get_text() for text in ax.texts} == {"never", "1 min", "10 min (knee)", "2 h"}
    assert ax.get_title(loc="right") == "95 % intervals"
    wide = [(120, -900, 1140), *waits[1:]]
    (ax,) = report.sleep_curve([60, 600, 7200], saved, wide).axes
    assert ax.get_title(loc="right") == "95 % intervals, cut where they are wide"
    assert len(ax.containers[0].lines[2][0].get_segments()) == 3
    with pytest.raises(OptionError, match="differ in number"):
        report.sleep_curve([60, 600], saved, waits)


def test_intervals_that_are_not_drawn_are_not_said_to_be_alike_where_they_are_wider():
    saved = [(0.3, -0.2, 0.8), (0.25, -0.2, 0.7), (0.1, -0.3, 0.5)]
    waits = [(120, 20, 220), (60, 30, 90), (30, 0, 60)]
    (ax,) = report.sleep_curve([60, 600, 7200], saved, waits, knee=1).axes
    title = ax.get_title(loc="right")
    assert title == "95 % interval of 10 min, cut; others up to ±100 s and ±50 %"


def test_of_many_wide_intervals_one_is_drawn():
    """All of them would be a grid in front of the curve."""
    saved = [(0.3, -0.2, 0.8), (0.25, -0.2, 0.7), (0.1, -0.3, 0.5)]
    waits = [(120, 90, 150), (60, 30, 90), (30, 0, 60)]
    (ax,) = report.sleep_curve([60, 600, 7200], saved, waits, knee=1).axes
    across, upright = (bars.get_segments() for bars in ax.containers[0].lines[2])
    assert [line.tolist() for line in across] == [[[30, 25], [90, 25]]]
    assert [line[:, 0].tolist() for line in upright] == [[60, 60]]
    assert ax.get_title(loc="right") == "95 % interval of 10 min, cut; others alike"
    assert all(text.get_path_effects() for text in ax.texts)
    left, right = ax.get_xlim()
    assert left < 0
    assert right > 120


def test_a_front_is_coloured_by_carbon_with_its_settings_below():
    waits = [(3600, 3000, 4200), (7200, 7000, 7400)]
    energy = [(0.1, 0.09, 0.11), (0.2, 0.18, 0.22)]
    settings = {"idle time (s)": [60, 90], "threshold": [1e3, 1e6]}
    others = {"sleep alone": (1800, 0.05, 0.06)}
    ax, idle, threshold, bar = sorted(
        report.saving_front(waits, energy, [0.1, 0.3], settings=settings, others=others).axes,
        key=lambda ax: (
            "CO2" in ax.get_ylabel(),
            ax.get_title(loc="left") != "The best trade-offs",
        ),
    )
    (dots,) = (part for part in ax.collections if part.get_array() is not None)
    assert dots.get_offsets().tolist() == [[1, 10], [2, 20]]
    assert dots.get_array().tolist() == [10, 30]
    assert [text.get_text() for text in ax.texts] == ["sleep alone: CO2 6.0 %"]
    assert (idle.get_yscale(), threshold.get_yscale()) == ("linear", "log")
    assert bar.get_ylabel() == "CO2 saved (%)"
    with pytest.raises(OptionError, match="differ in number"):
        report.saving_front(waits, energy[:1], [0.1, 0.3])


def test_simulate_draws_the_states_where_nodes_slept(tmp_path):
    sojourn.write_swf(sojourn.lublin(50, 8, load=0.5, seed=1), tmp_path / "log.swf")
    (tmp_path / "nodes.toml").write_text(
        "[[node]]\ncount = 8\ncores = 1\nops = 1e9\nidle_watts = 90\nwatts = 190\n"
        '[[node.sleep]]\nname = "off"\nwatts = 10\n'
    )
    for rule, drawn in (("idle:60", True), ("never", False)):
        options = [f"--cluster={tmp_path / 'nodes.toml'}", f"--sleep={rule}", "--plots"]
        # The same folder: a picture of an earlier run is taken away.
        command = ["simulate", str(tmp_path / "log.swf"), *options, f"--out={tmp_path / 'run'}"]
        assert main(command) == 0
        assert (tmp_path / "run" / "node-states.png").exists() is drawn


def test_simulate_draws_the_power_where_there_is_a_cap(tmp_path):
    sojourn.write_swf(sojourn.lublin(50, 8, load=0.5, seed=1), tmp_path / "log.swf")
    watts = ["--procs=8", "--watts-busy=40", "--watts-idle=10", "--plots"]
    for cap, drawn in ((["--cap=320W"], True), ([], False)):
        command = ["simulate", str(tmp_path / "log.swf"), *watts, *cap, f"--out={tmp_path / 'run'}"]
        assert main(command) == 0
        assert (tmp_path / "run" / "power.png").exists() is drawn


def test_nothing_to_draw_is_an_error(run):
    with pytest.raises(OptionError, match="no runs are given"):
        report.energy_by_cause({})
    with pytest.raises(OptionError, match="'x' has no 'busy_joules'"):
        report.energy_by_cause({"x": {}})
    with pytest.raises(OptionError, match="no column 'sleep'"):
        report.node_states(
            {name: [0.0] for name in ("time", "busy", "idle", "leaving", "entering")}
        )
    awake = sojourn.simulate(sojourn.lublin(10, 2, load=0.5, seed=1), machine(2))
    with pytest.raises(OptionError, match="no node of this run sleeps"):
        awake.plot.node_states()
