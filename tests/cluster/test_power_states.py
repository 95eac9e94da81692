"""States of nodes: from TOML and slurm.conf, with what is wrong in them; and when sleep saves."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sojourn import Cluster, Node, Server, read_cluster, write_cluster
from sojourn.cli import main
from sojourn.cluster import PowerLevel, PowerSaving, PowerStates, SleepState, break_even
from sojourn.errors import ClusterError, OptionError

NODES = """\
[[node]]
name = "n[1-4]"
cores = 16
ops = 1000
watts = 190
idle_watts = 95
off_watts = 5
failed_watts = 30

[[node.sleep]]
name = "suspend"
watts = 20
enter = 5
enter_watts = 100
leave = "0:30"
leave_watts = 120

[[node.sleep]]
name = "off"
watts = 9.75
enter = 6.1
enter_watts = 101
leave = 151.52
leave_watts = 125.17

[[node.level]]
speed = 1
watts = 190
idle_watts = 95

[[node.level]]
speed = 0.5
watts = 130
idle_watts = 80
least_watts = 85

[[node]]
name = "login"
cores = 4
ops = 250
watts = 100
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "machine.toml"
    path.write_text(NODES)
    return path


def test_states_of_a_description(file):
    cluster = read_cluster(file)
    states = cluster.nodes[3].server.states
    assert states == PowerStates(
        sleep=(
            SleepState("suspend", 20, 5, 100, 30, 120),
            SleepState("off", 9.75, 6.1, 101, 151.52, 125.17),
        ),
        levels=(PowerLevel(1, 190, 95), PowerLevel(0.5, 130, 80, 85)),
        off_watts=5,
        failed_watts=30,
    )
    assert cluster.nodes[4].server.states == PowerStates()


def test_written_and_read_back(file, tmp_path):
    cluster = read_cluster(file)
    write_cluster(cluster, tmp_path / "again.toml")
    assert read_cluster(tmp_path / "again.toml").nodes == cluster.nodes
    with pytest.raises(OptionError, match="no states of sleep"):
        write_cluster(cluster, tmp_path / "again.csv")


def test_a_server_of_the_library_can_sleep(tmp_path):
    path = tmp_path / "machine.toml"
    path.write_text('[[node]]\nserver = "X5670"\n[[node.sleep]]\nname = "off"\nwatts = 4\n')
    (node,) = read_cluster(path).nodes
    assert node.server.states.sleep == (SleepState("off", 4),)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("watts = 20\n", "watts = -20\n", "node 1: sleep 1: watts': -20 W is below 0"),
        ("enter = 5\n", "enter = -5\n", "node 1: sleep 1: enter': '-5' is no time"),
        ("leave_watts = 120\n", "", "node 1: sleep 1: leave_watts': is missing, and it takes 30 s"),
        (
            'leave = "0:30"\n',
            'leave = 30\nleave_varies = "exponentialy"\n',
            "did you mean 'exponential'?",
        ),
        ('leave = "0:30"\n', "", "leave_watts of a change that takes no time; give 'leave'"),
        ("enter = 5\n", "wake = 5\n", "sleep 1: wake': unknown key; "),
        ("off_watts = 5\n", "leave = 150\n", "unknown key 'leave'; it belongs in a [[node.sleep]]"),
        ("off_watts = 5\n", "off_watts = -5\n", "node 1: off_watts': -5 W is below 0"),
        ("failed_watts = 30\n", "failed_wats = 30\n", "did you mean 'failed_watts'?"),
        ('name = "off"\n', 'name = "suspend"\n', "two sleep states are called 'suspend'"),
        ('name = "off"\n', "", "sleep 2: name': is missing"),
        ("watts = 9.75\n", "", "sleep 2: watts': is missing"),
        ("speed = 1\n", "speed = 2\n", "the first level has speed 2"),
        ("speed = 0.5\n", "speed = 0\n", "level 2: speed': 0 is not above 0"),
        ("watts = 130\n", "", "level 2: watts': is missing"),
        ("off_watts = 5\n", 'off_watts = 5\nsleep = "deep"\n', ""),
        ("[[node.sleep]]", "[node.sleep]", ""),
    ],
)
def test_bad_values_are_one_line(file, capsys, old, new, problem):
    assert old in NODES
    file.write_text(NODES.replace(old, new, 1))
    assert main(["cluster", "inspect", str(file)]) == 2
    told = capsys.readouterr().err
    assert problem in told
    assert told.count("\n") == 1
    assert "machine.toml" in told


def test_a_sleep_that_is_no_table(tmp_path):
    path = tmp_path / "machine.toml"
    path.write_text('[[node]]\ncores = 1\nsleep = "deep"\n')
    with pytest.raises(ClusterError, match=r"begin each with \[\[node.sleep\]\]"):
        read_cluster(path)


watts = st.floats(0, 500)
lapse = st.floats(0.5, 300)


@given(watts, watts, lapse, watts, lapse, watts)
def test_break_even_is_where_sleeping_begins_to_save(idle, asleep, enter, entering, leave, leaving):
    """Energies of idle gaps of many lengths, as the node goes through its states."""
    assume(entering > 0 and leaving > 0)
    sleep = SleepState("off", asleep, enter, entering, leave, leaving)
    even = break_even(idle, sleep)
    for gap in np.linspace(enter + leave, enter + leave + 5000, 400).tolist():
        slept = enter * entering + leave * leaving + (gap - enter - leave) * asleep
        saved = gap * idle - slept
        if asleep >= idle:
            assert math.isinf(even)
        elif abs(saved) > 1e-6 * max(slept, 1.0):
            assert (saved > 0) == (gap >= even), (gap, even)
    assert even >= enter + leave


def test_break_even_by_hand():
    """At 45 1/3 s both use 4,306 2/3 J: 500 + 3,600 + 10 1/3 s at 20 W, or all at 95 W."""
    sleep = SleepState("suspend", 20, 5, 100, 30, 120)
    assert break_even(95, sleep) == pytest.approx(136 / 3)
    slept = 5 * 100 + 30 * 120 + (136 / 3 - 35) * 20
    assert slept == pytest.approx(95 * 136 / 3)
    assert break_even(20, sleep) == math.inf
    # Cheap changes save from the first moment, but take their time.
    assert break_even(95, SleepState("nap", 20, 5, 10, 5, 10)) == 10


def test_inspect_shows_states_and_break_even(file, capsys):
    assert main(["cluster", "inspect", str(file)]) == 0
    shown = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["n", "suspend", "95", "20", "5", "100", "30", "120", "45.33", "s"] in shown
    assert ["n", "0.5000", "80", "130"] in shown
    assert ["n:", "5", "W", "when", "off,", "30", "W", "when", "failed"] in shown
    assert main(["cluster", "inspect", str(file), "--json"]) == 0
    (kind,) = json.loads(capsys.readouterr().out)["power_states"]
    assert kind["nodes"] == 4
    assert kind["sleep"][0]["break_even"] == pytest.approx(136 / 3)


def test_break_even_is_not_known_without_idle_watts(capsys, tmp_path):
    drawn = SleepState("off", 4, leave=60, leave_watts=90, leave_varies="exponential")
    sleeping = PowerStates(sleep=(drawn,))
    machine = Cluster.of([Server("thin", 4, states=sleeping)])
    write_cluster(machine, tmp_path / "machine.toml")
    assert read_cluster(tmp_path / "machine.toml").nodes[0].server.states == sleeping
    assert main(["cluster", "inspect", str(tmp_path / "machine.toml")]) == 0
    assert "not known" in capsys.readouterr().out.splitlines()[-1]


SLURM = """\
SelectType=select/cons_tres
SuspendTime=600
SuspendTimeout=45
ResumeTimeout=300
SuspendRate=20
ResumeRate=0
SuspendExcNodes=n[1-4,7]:2,g1
SuspendExcParts=gpu
SuspendExcStates=DRAIN,planned
NodeName=n[1-12] CPUs=16
NodeName=g[1-4] CPUs=16
PartitionName=batch Nodes=n[1-12] Default=YES SuspendTime=INFINITE
PartitionName=gpu Nodes=g[1-4]
"""


def test_power_saving_of_slurm(tmp_path, capsys):
    path = tmp_path / "slurm.conf"
    path.write_text(SLURM)
    assert read_cluster(path).power_saving == PowerSaving(
        idle_time=600,
        enter_timeout=45,
        leave_timeout=300,
        enter_rate=20,
        leave_rate=math.inf,
        excluded_nodes=((("n1", "n2", "n3", "n4", "n7"), 2), (("g1",), None)),
        excluded_partitions=("gpu",),
        excluded_states=("DRAIN", "PLANNED"),
        by_partition=(("batch", math.inf),),
    )
    assert main(["cluster", "inspect", str(path)]) == 0
    shown = capsys.readouterr().out
    assert "after 600 s of idleness; batch never" in shown
    assert "2 of n[1-4,7], all of g1, partition gpu" in shown
    assert main(["cluster", "inspect", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["power_saving"]["enter_rate"] == 20


def test_slurm_says_nothing_or_the_usual(tmp_path):
    path = tmp_path / "slurm.conf"
    nodes = "NodeName=n1 CPUs=4\nPartitionName=all Nodes=ALL\n"
    path.write_text(nodes)
    assert read_cluster(path).power_saving is None
    path.write_text(f"SuspendTime=-1\n{nodes}")
    saving = read_cluster(path).power_saving
    assert saving == PowerSaving()
    assert (saving.enter_timeout, saving.leave_timeout) == (30, 60)
    assert (saving.enter_rate, saving.leave_rate) == (60, 300)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("SuspendTime=600", "SuspendTime=-600", "field 'SuspendTime': '-600' is no whole number"),
        ("ResumeTimeout=300", "ResumeTimeout=soon", "field 'ResumeTimeout': 'soon' is no whole"),
        ("SuspendRate=20", "SuspendRate=1.5", "field 'SuspendRate': '1.5' is no whole number"),
        ("n[1-4,7]:2", "n[1-4,7]:two", "'n[1-4,7]:two' is no list of nodes"),
        (",g1", ",x1", "no NodeName line has 'x1'"),
        ("Parts=gpu", "Parts=gpus", "no PartitionName line has 'gpus'"),
        ("DRAIN,", "ASLEEP,", "'ASLEEP' is none of CLOUD, DOWN"),
        ("SuspendTime=INFINITE", "SuspendTime=late", "field 'SuspendTime': 'late' is no whole"),
    ],
)
def test_bad_power_saving_is_one_line(tmp_path, capsys, old, new, problem):
    path = tmp_path / "slurm.conf"
    assert old in SLURM
    path.write_text(SLURM.replace(old, new, 1))
    assert main(["cluster", "inspect", str(path)]) == 2
    told = capsys.readouterr().err
    assert problem in told
    assert told.count("\n") == 1


@pytest.mark.parametrize(
    ("made", "problem"),
    [
        (lambda: SleepState("", 1), "name is empty"),
        (lambda: SleepState("off", math.nan), "watts = nan"),
        (lambda: SleepState("off", 1, leave=-1), "leave = -1"),
        (lambda: SleepState("off", 1, leave_varies="exponential"), "give 'leave' as well"),
        (lambda: SleepState("off", 1, leave=1, leave_varies="exp"), "leave_varies = 'exp'"),
        (lambda: PowerLevel(0, 1), "speed = 0; give a number above 0"),
        (lambda: PowerLevel(1, 1, -1), "idle_watts = -1"),
        (lambda: PowerStates(failed_watts=math.inf), "failed_watts = inf"),
    ],
)
def test_states_that_cannot_be(made, problem):
    with pytest.raises(OptionError, match=problem):
        made()


@pytest.mark.parametrize("kind", ["toml", "csv"])
@pytest.mark.parametrize("known", [{"watts": (50.0, 100.0)}, {"ops": 1e9}])
def test_watts_and_speeds_are_written_and_read_one_without_the_other(tmp_path, kind, known):
    cluster = Cluster.of([Node("a1", Server("made", 16, **known))])
    write_cluster(cluster, tmp_path / f"nodes.{kind}")
    assert read_cluster(tmp_path / f"nodes.{kind}").nodes == cluster.nodes
