"""The slurm.conf of a virtual cluster, and what it takes over from a site's."""

from __future__ import annotations

import socket

import pytest

from sojourn.adequacy.virtual.conf import Scheduling, free_ports, read_scheduling, slurm_conf
from sojourn.errors import ClusterError

SITE = r"""
# a comment
ClusterName=site
SchedulerType=sched/builtin   # FCFS
schedulerparameters=bf_interval=5,\
sched_interval=10,bf_resolution=1
PriorityType=priority/multifactor
PriorityWeightAge=1000
PriorityWeightFairshare=5000
SelectTypeParameters=CR_Core
NodeName=n[1-16] CPUs=4
Include other.conf
StateSaveLocation=/var/spool/slurm
"""


def _lines(text):
    return dict(line.split("=", 1) for line in text.splitlines())


def test_scheduling_lines_are_taken_and_the_rest_is_named(tmp_path):
    path = tmp_path / "slurm.conf"
    path.write_text(SITE)
    found = read_scheduling(path)
    assert found.get("schedulertype") == "sched/builtin"
    assert found.get("PriorityWeightAge") == "1000"
    assert not found.is_backfill
    assert not found.is_ageless
    assert (found.main_period, found.backfill_period) == (10, 5)
    left = ("ClusterName", "PriorityWeightFairshare", "NodeName", "Include", "StateSaveLocation")
    assert found.left == left


def test_defaults_are_those_of_slurm():
    found = read_scheduling(None)
    assert found.is_backfill
    assert found.is_ageless
    assert (found.main_period, found.backfill_period) == (60, 30)


def test_a_parameter_is_not_mistaken_for_one_that_ends_like_it():
    said = Scheduling({"SchedulerParameters": "my_sched_interval=7,bf_interval=3"})
    assert said.main_period == 60
    assert said.backfill_period == 3


@pytest.mark.parametrize(
    ("text", "word"), [("SchedulerType\n", "not Name=value"), (None, "cannot be read")]
)
def test_a_file_that_is_no_configuration_is_refused(tmp_path, text, word):
    path = tmp_path / "slurm.conf"
    if text is not None:
        path.write_text(text)
    with pytest.raises(ClusterError, match=word):
        read_scheduling(path)


def test_everything_is_in_the_folder_and_on_the_loopback(tmp_path):
    site = tmp_path / "site.conf"
    site.write_text(SITE)
    folder = tmp_path / "cluster"
    text = slurm_conf(folder, 16, 20_000, read_scheduling(site))
    lines = _lines(text)
    for name, value in lines.items():
        if value.startswith("/") and name != "MailProg":
            assert value.startswith(str(folder)), name
    assert lines["SlurmctldHost"] == "localhost(127.0.0.1)"
    assert lines["CommunicationParameters"] == "NoInAddrAny,NoCtldInAddrAny"
    assert "NodeAddr=127.0.0.1" in lines["NodeName"]
    assert "Port=[20001-20016]" in lines["NodeName"]
    assert lines["SchedulerType"] == "sched/builtin"
    # Nodes are handed out whole, whatever the site does.
    assert lines["SelectType"] == "select/linear"
    assert "SelectTypeParameters" not in text
    assert lines["AuthType"] == "auth/none"


def test_munge_is_asked_for_by_its_socket(tmp_path):
    text = slurm_conf(tmp_path, 1, 20_000, read_scheduling(None), munge=tmp_path / "socket")
    assert f"AuthInfo=socket={tmp_path}/socket" in text
    assert "AuthType=auth/munge" in text
    assert "NodeName=n1 " in text


def test_ports_are_free_neighbours_below_those_the_kernel_lends():
    first = free_ports(20)
    assert 10_000 <= first <= 32_767 - 19
    for port in range(first, first + 20):
        with socket.socket() as one:
            one.bind(("127.0.0.1", port))
