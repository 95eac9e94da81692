"""Whatever ends a run, nothing of it is left; and while it lasts, nobody outside can reach it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sojourn.adequacy.virtual import Job, Scheduling, run_stream
from sojourn.adequacy.virtual.cluster import VirtualCluster, own_folder
from sojourn.errors import RunError

from .conftest import is_free, leftovers, used_ports

# Jobs without end: in model time others would be over before they could be interrupted. A shell
# lets what it runs in the background ignore Ctrl-C, nohup lets it ignore the end of a terminal, and
# children inherit that.
RUN = """
import signal
import sys
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
from sojourn.adequacy.virtual import Job, run_stream
jobs = [Job(1, 0.0, 2, 1e9, 100_000_000), Job(2, 1.0, 2, 1e9, 100_000_000)]
run_stream(jobs, 4, mode=sys.argv[1])
"""


def _wait(condition, seconds=180.0):
    # A job that the first passes of Slurm's loops have missed starts a minute later.
    until = time.monotonic() + seconds
    while not condition() and time.monotonic() < until:
        time.sleep(0.05)
    assert condition()


def _daemons_run(place):
    return sum("slurmd" in line for line in leftovers(place)) >= 4


def _jobs_run(place):
    """Whether both jobs of a run are asleep."""
    return sum("sleep" in line for line in leftovers(place)) >= 2


@pytest.mark.parametrize(
    ("mode", "number", "moment"),
    [
        ("real", signal.SIGINT, _jobs_run),
        ("real", signal.SIGTERM, _daemons_run),
        ("real", signal.SIGHUP, _daemons_run),
        ("real", signal.SIGKILL, _jobs_run),
        ("model", signal.SIGTERM, _jobs_run),
        ("model", signal.SIGKILL, _daemons_run),
    ],
)
def test_an_interrupted_run_leaves_nothing(need, place, mode, number, moment):
    need(mode)
    with subprocess.Popen(
        [sys.executable, "-c", RUN, mode],
        env={**os.environ, "TMPDIR": str(place)},
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as process:
        try:
            _wait(lambda: moment(place))
            ports = used_ports(place)
            process.send_signal(number)
            process.wait(30)
        finally:
            process.kill()
        if number == signal.SIGKILL:
            # Nobody waits for the keeper then.
            _wait(lambda: not leftovers(place))
        assert leftovers(place) == []
        assert process.returncode in (-number, 128 + number, 1)
        assert len(ports) == 5
        assert all(map(is_free, ports))


def test_a_configuration_that_slurm_refuses_is_told_in_its_words(need, place):
    need("real")
    conf = Scheduling({"SchedulerType": "sched/nonsense"})
    with pytest.raises(RunError, match="nonsense"):
        run_stream([Job(1, 0.0, 1, 1.0, 1)], 2, conf=conf)


def test_a_place_that_sockets_cannot_have_is_refused(need, place, monkeypatch):
    need("real")
    (place / "a folder").mkdir()
    monkeypatch.setenv("TMPDIR", str(place / "a folder"))
    monkeypatch.setattr("tempfile.tempdir", None)
    with pytest.raises(RunError, match="set TMPDIR"):
        run_stream([Job(1, 0.0, 1, 1.0, 1)], 2)
    (place / "a folder").rmdir()


def test_a_daemon_that_dies_ends_the_run(need, place):
    need("real")
    with own_folder() as folder, VirtualCluster(2, Scheduling({}), folder=folder) as cluster:
        os.kill(cluster.pids[1], signal.SIGKILL)
        _wait(lambda: not Path(f"/proc/{cluster.pids[1]}").exists())
        with pytest.raises(RunError, match="has ended"):
            cluster.check()


def test_daemons_listen_on_the_loopback_only(need, place):
    need("real")
    with own_folder() as folder, VirtualCluster(3, Scheduling({}), folder=folder) as cluster:
        assert folder.stat().st_mode & 0o077 == 0
        sockets = {
            os.readlink(link)
            for pid in cluster.pids
            for link in Path(f"/proc/{pid}/fd").iterdir()
            if os.path.lexists(link)
        }
        listening = []
        for table in ("tcp", "tcp6"):
            for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
                fields = line.split()
                if fields[3] == "0A" and f"socket:[{fields[9]}]" in sockets:
                    listening.append(fields[1])
        addresses = {place.split(":")[0] for place in listening}
        ports = sorted(int(place.split(":")[1], 16) for place in listening)
        assert addresses == {"0100007F"}
        assert len(ports) == 4
        assert ports == list(range(ports[0], ports[0] + 4))
        assert ports[-1] < 32_768
