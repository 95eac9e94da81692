"""Keeps the daemons of one cluster, and ends with them; run as a program of its own.

It reads one line of JSON (what to start, and the folder to remove at the end), starts the daemons,
prints their process ids, and waits. When its standard input ends, also because the driver died,
even by SIGKILL, it kills every process that came from these daemons. Orphans among them come to it
(it is their subreaper), so that none escapes, and nobody else's is among its descendants.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from typing import Any

_PR_SET_CHILD_SUBREAPER = 36
_PATIENCE = 20.0


def descendants(root: int) -> list[int]:
    """Return the ids of all living processes that came from one, without it."""
    children: dict[int, list[int]] = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        with contextlib.suppress(OSError, ValueError, IndexError):
            with open(f"/proc/{entry}/stat", "rb") as file:
                # The name of the program may hold spaces and brackets.
                state, parent = file.read().rpartition(b")")[2].split()[:2]
            if state not in b"ZX":
                children.setdefault(int(parent), []).append(int(entry))
    living, fresh = [], children.get(root, [])
    while fresh:
        living += fresh
        fresh = [child for one in fresh for child in children.get(one, [])]
    return living


def _reap(*_: Any) -> None:
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _end_all() -> bool:
    """Kill what came from here, until nothing is left."""
    until = time.monotonic() + _PATIENCE
    while time.monotonic() < until:
        living = descendants(os.getpid())
        if not living:
            return True
        for one in living:
            with contextlib.suppress(ProcessLookupError):
                os.kill(one, signal.SIGKILL)
        time.sleep(0.01)
        _reap()
    return False


def _start(command: dict[str, Any]) -> int:
    with open(command["output"], "ab") as output:
        daemon = subprocess.Popen(
            command["arguments"],
            env=command["environment"],
            cwd=command["folder"],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
    time.sleep(command.get("pause", 0.0))
    return daemon.pid


def main() -> int:
    """Start what standard input says, and keep it until standard input ends."""
    # Handled, not ignored: what is ignored here would be ignored by the daemons and the jobs too.
    for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(one, lambda *_: None)
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    order = json.loads(sys.stdin.readline() or "{}")
    gone = True
    try:
        started = [_start(command) for command in order.get("commands", [])]
        signal.signal(signal.SIGCHLD, _reap)
        with contextlib.suppress(OSError):
            print(json.dumps(started), flush=True)
        sys.stdin.read()
    finally:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        gone = _end_all()
        if "remove" in order:
            shutil.rmtree(order["remove"], ignore_errors=True)
    return 0 if gone else 1


if __name__ == "__main__":
    sys.exit(main())
