"""Platforms of SimGrid beyond the hosts of Batsim's own: clusters, and hosts of several cores."""

from __future__ import annotations

import pytest

import sojourn
from sojourn.errors import ClusterError

PLATFORM = """<?xml version='1.0'?>
<platform version="4.1"><zone id="z" routing="None">
  <host id="master_host" speed="1Gf"/>
  <cluster id="mini" prefix="x" radical="{radical}" suffix=".mini" speed="1.25Gf" core="20">
    <prop id="watt_per_state" value="28:31.5:98"/>
  </cluster>
  <host id="old" speed="2.5Gf" core="4"><prop id="watt_per_state" value="50:60:90"/></host>
</zone></platform>
"""


@pytest.fixture
def platform(tmp_path):
    def written(radical):
        path = tmp_path / "platform.xml"
        path.write_text(PLATFORM.format(radical=radical))
        return path

    return written


def test_a_cluster_is_so_many_hosts(platform):
    cluster = sojourn.read_cluster(platform("1-3, 7"))
    assert [node.name for node in cluster.nodes] == ["old", *(f"x{n}.mini" for n in (1, 2, 3, 7))]
    assert cluster.procs == 84


def test_the_speed_is_that_of_a_core(platform):
    """A core of the old host is twice as fast, although the new host has more of them."""
    old, new = sojourn.read_cluster(platform("1")).nodes
    assert old.server.ops == 4 * 2.5e9
    assert new.server.ops == 20 * 1.25e9
    jobs = sojourn.Jobs({"submit": [0, 0], "runtime": [100, 100], "procs": [4, 20]})
    ran = sojourn.simulate(jobs, sojourn.read_cluster(platform("1")), "fcfs", placement="fastest")
    on_old, on_new = ran.jobs["end"] - ran.jobs["start"]
    assert on_new == pytest.approx(2 * on_old)


@pytest.mark.parametrize("radical", ["", "a-b", "5-2", "1-", "0-99999999"])
def test_numbers_that_are_none(platform, radical):
    with pytest.raises(ClusterError, match=r"cluster mini: radical.* are no numbers of hosts"):
        sojourn.read_cluster(platform(radical))
