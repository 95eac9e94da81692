"""Failures of nodes: drawn, and read."""

import math

import numpy as np
import pytest

from sojourn.errors import LogError, OptionError
from sojourn.jobs import Failures, read_failures
from sojourn.jobs.models.failures import Outages, merged

DAY = 86_400.0
YEAR = 365 * DAY


def test_a_further_horizon_only_adds_failures():
    failures = Failures(mtbf=10 * DAY, repair=DAY, rack=0.3, per_rack=4)
    near, far = (failures.outages(16, 100.0, 100 + days * DAY, seed=3) for days in (60, 300))
    early = far.down < near.down.max() - 30 * DAY
    assert len(far.down) > len(near.down)
    for unit in range(16):
        mine = near.down[near.unit == unit]
        assert far.down[far.unit == unit][: len(mine)].tolist() == mine.tolist()
    assert early.any()


def test_nodes_do_not_change_each_other():
    failures = Failures(mtbf=10 * DAY, repair=DAY)
    few, many = (failures.outages(n, 0.0, YEAR, seed=5) for n in (3, 30))
    kept = many.unit < 3
    assert many.down[kept].tolist() == few.down.tolist()
    assert failures.outages(3, 0.0, YEAR, seed=6).down.tolist() != few.down.tolist()
    own = Failures(mtbf=10 * DAY, repair=DAY, seed=5)
    assert own.outages(3, 0.0, YEAR, seed=99).down.tolist() == few.down.tolist()


@pytest.mark.parametrize("shape", [0.6, 1.0, 2.0])
@pytest.mark.parametrize("repairs", ["exponential", "constant", "lognormal"])
def test_means_are_those_asked_for(shape, repairs):
    spread = {"spread": 0.8} if repairs == "lognormal" else {}
    failures = Failures(mtbf=20 * DAY, repair=DAY, shape=shape, repairs=repairs, **spread)
    outages = failures.outages(400, 0.0, 20 * YEAR, seed=1)
    fixed = outages.up - outages.down
    between = [
        outages.down[1:][outages.unit[1:] == outages.unit[:-1]]
        - outages.up[:-1][outages.unit[1:] == outages.unit[:-1]]
    ][0]
    for drawn, mean in ((fixed, DAY), (between, 20 * DAY)):
        # Failures at the horizon are cut off: 20 years of 21 days make that small.
        error = 4 * drawn.std() / math.sqrt(len(drawn)) + 0.005 * mean
        assert abs(drawn.mean() - mean) < error
    # Spread of a Weibull distribution relative to its mean.
    wanted = math.sqrt(math.gamma(1 + 2 / shape) / math.gamma(1 + 1 / shape) ** 2 - 1)
    assert between.std() / between.mean() == pytest.approx(wanted, rel=0.03)
    assert np.array_equal(outages.down, np.rint(outages.down))
    assert fixed.min() >= 1


def test_racks_go_together():
    alone = Failures(mtbf=100 * DAY, repair=DAY).outages(64, 0.0, 5 * YEAR, seed=2)
    together = Failures(mtbf=100 * DAY, repair=DAY, rack=1.0, per_rack=8)
    outages = together.outages(64, 0.0, 5 * YEAR, seed=2)
    # A node fails about eight times as often, less what overlaps.
    assert 7 < len(outages.down) / len(alone.down) < 8.1
    for rack in range(8):
        mine = [outages.down[outages.unit == rack * 8 + k].tolist() for k in range(8)]
        assert all(downs == mine[0] for downs in mine)


def test_what_overlaps_is_one():
    outages = Outages(np.array([1, 0, 0, 0]), np.array([5.0, 10, 2, 4]), np.array([6.0, 12, 5, 9]))
    unit, down, up = merged(outages)
    assert (unit.tolist(), down.tolist(), up.tolist()) == ([0, 0, 1], [2, 10, 5], [9, 12, 6])


def written(tmp_path, text):
    path = tmp_path / "failures.csv"
    path.write_text(text)
    return path


def test_a_log_as_ours(tmp_path):
    log = read_failures(
        written(tmp_path, "node,down,up\n# nothing\nn2,10,20\nn1,5,8\n\nn2,15,30\n")
    )
    unit, down, up = log.outages("log", ["n1", "n2"], 2)
    assert (unit.tolist(), down.tolist(), up.tolist()) == ([0, 1], [5, 10], [8, 30])


def test_a_log_as_that_of_lanl(tmp_path):
    text = (
        "System,machine type,nodenum,nodenumz,node install,Prob Started (mm/dd/yy hh:mm),"
        "Prob Fixed (mm/dd/yy hh:mm),Down Time\n"
        "2,cluster,22,22,Apr-97,06/25/04 12:40,06/25/04 13:10,30\n"
        "2,cluster,7,7,Apr-97,06/26/04 00:00,06/26/04 01:00,60\n"
    )
    log = read_failures(written(tmp_path, text))
    assert log.node == ("22", "7")
    assert log.dated
    assert (log.up - log.down).tolist() == [1800.0, 3600.0]
    assert log.down[1] - log.down[0] == 11 * 3600 + 20 * 60
    # On counted processors: units in the order of their numbers.
    assert log.outages("log", None, 4).unit.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "is empty|no failures"),
        ("node,down\nn1,5\n", "no column says 'up'"),
        ("node,down,up\nn1,5,4\n", "line 2, field 'up': 4 s is not after"),
        ("node,down,up\nn1,soon,4\n", "line 2, field 'down': 'soon' is no time"),
        ("node,down,up\n,1,4\n", "line 2, field 'node'"),
        ("node,down,up\nn1,1\n", "line 2: has only 2 columns"),
        ("node,down,up\nn1,1,2004-01-31T12:00\n", "seconds and dates"),
        ("node,down,up\n", "has no failures"),
    ],
)
def test_bad_logs_are_one_line(tmp_path, text, problem):
    with pytest.raises(LogError, match=problem) as raised:
        read_failures(written(tmp_path, text))
    assert "\n" not in str(raised.value)


def test_a_node_that_is_not_there(tmp_path):
    log = read_failures(written(tmp_path, "node,down,up\nn1,5,8\nn9,5,8\n"))
    with pytest.raises(LogError, match="line 3, field 'node': the cluster has no node 'n9'"):
        log.outages("log", ["n1", "n2"], 2)
    with pytest.raises(LogError, match="names 2 nodes, but the machine has 1"):
        log.outages("log", None, 1)


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({}, "give mtbf, or the log"),
        ({"mtbf": 0.0}, "mtbf"),
        ({"mtbf": 1.0, "log": "f"}, "one of them"),
        ({"mtbf": 1.0, "shape": -1.0}, "shape"),
        ({"mtbf": 1.0, "repairs": "often"}, "repairs"),
        ({"mtbf": 1.0, "rack": 1.5}, "rack"),
        ({"mtbf": 1.0, "rack": 0.5, "level": 0}, "level"),
    ],
)
def test_bad_values_are_one_line(given, problem):
    with pytest.raises(OptionError, match=problem):
        Failures(**given)
