"""Nothing outlives the keeper of a cluster's daemons, and nobody else's process is touched."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import sojourn.adequacy.virtual as virtual

KEEPER = Path(virtual.__file__).with_name("_keeper.py")
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="virtual nodes need Linux")

# A daemon that leaves an orphan in a session of its own, as slurmd leaves its steps.
ORPHAN = "setsid sh -c 'echo $$ > orphan; exec sleep 1000' & sleep 1000"


def _plan(folder, script):
    folder.mkdir()
    command = {
        "arguments": ["sh", "-c", script],
        "environment": {"PATH": os.environ["PATH"]},
        "folder": str(folder),
        "output": str(folder / "out"),
    }
    return json.dumps({"commands": [command], "remove": str(folder)}) + "\n"


def _keeper():
    return subprocess.Popen(
        [sys.executable, "-I", "-S", str(KEEPER)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def _lives(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def _wait(condition, seconds=10.0):
    until = time.monotonic() + seconds
    while not condition() and time.monotonic() < until:
        time.sleep(0.02)
    assert condition()


def test_orphans_and_folder_go_when_standard_input_ends(tmp_path):
    folder = tmp_path / "cluster"
    with _keeper() as keeper, subprocess.Popen(["sleep", "1000"]) as other:
        keeper.stdin.write(_plan(folder, ORPHAN))
        keeper.stdin.flush()
        (daemon,) = json.loads(keeper.stdout.readline())
        _wait(lambda: (folder / "orphan").exists() and (folder / "orphan").read_text().strip())
        orphan = int((folder / "orphan").read_text())
        assert _lives(daemon)
        assert _lives(orphan)
        # What a terminal or an init system might send does not stop it halfway.
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            os.kill(keeper.pid, number)
        keeper.stdin.close()
        assert keeper.wait(10) == 0
        assert not _lives(daemon)
        assert not _lives(orphan)
        assert not folder.exists()
        assert _lives(other.pid)
        other.kill()


def test_daemons_go_when_whoever_started_the_keeper_is_killed(tmp_path):
    folder = tmp_path / "cluster"
    code = (
        "import subprocess, sys, time\n"
        "keeper = subprocess.Popen([sys.executable, '-I', '-S', sys.argv[1]], text=True,\n"
        "    stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)\n"
        "keeper.stdin.write(sys.argv[2]); keeper.stdin.flush()\n"
        "print(keeper.stdout.readline(), flush=True)\n"
        "time.sleep(1000)\n"
    )
    line = [sys.executable, "-c", code, str(KEEPER), _plan(folder, "sleep 1000")]
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as starter:
        (daemon,) = json.loads(starter.stdout.readline())
        assert _lives(daemon)
        starter.kill()
    _wait(lambda: not _lives(daemon) and not folder.exists())


def test_daemons_hear_signals_that_the_keeper_does_not_heed(tmp_path):
    folder = tmp_path / "cluster"
    with _keeper() as keeper:
        keeper.stdin.write(_plan(folder, "exec sleep 1000"))
        keeper.stdin.flush()
        (daemon,) = json.loads(keeper.stdout.readline())
        os.kill(daemon, signal.SIGTERM)
        _wait(lambda: not _lives(daemon))
        keeper.stdin.close()
