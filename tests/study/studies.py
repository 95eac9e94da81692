"""Small studies for the tests, and processes that are killed in the middle of them.

Run as a script it is a driver that can be killed: ``python studies.py CASE FOLDER``.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sojourn.study import Scenario, runners, sweep
from sojourn.study.processes import Processes

GRID = {"policy.name": ["fcfs", "easy", "sjf+easy"], "control.k": "0:3e5:1e5"}
REPLICATIONS = 10


def small_scenario(jobs: int = 200, **sections: dict[str, Any]) -> Scenario:
    """A stochastic scenario with a threshold, quick to run."""
    return Scenario.from_mapping(
        {
            "workload": {"model": "lublin", "jobs": jobs, "load": 0.7},
            "cluster": {"procs": 32},
            "control": {"kind": "threshold", "rates": [0.6, 1.0], "k": 1e5},
            "power": {"static": 10, "dynamic": 30},
            **sections,
        }
    )


def whole_study(folder: Path | None, **options: Any) -> Any:
    """120 runs."""
    return sweep(small_scenario(), GRID, REPLICATIONS, out=folder, **options)


def killed(child: Callable[[], object], after: float) -> bool:
    """Fork, let the child work, and kill it after so many seconds; whether it had not ended."""
    pid = os.fork()
    if pid == 0:
        child()
        os._exit(0)
    time.sleep(after)
    os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    return os.WIFSIGNALED(status)


def kill_drivers(folder: Path) -> int:
    """Kill ten drivers of one study at random moments; return how many were at work."""
    runners._TOGETHER = 0.01  # Many small parts: many moments at which one is half written.
    short_study(None)  # Compiled and imported before anybody forks.
    begun = time.perf_counter()
    whole_study(None, workers=1)
    lasts = time.perf_counter() - begun
    draw = random.Random(1)
    return sum(
        killed(lambda: whole_study(folder, workers=1), draw.uniform(0, lasts / 3))
        for _ in range(10)
    )


def kill_at_each_step(folder: Path) -> int:
    """Kill a driver at each renaming or removal, each in a folder of its own.

    Returns how many of them died.
    """
    runners._TOGETHER = -1.0  # Each run is a part, so that each driver has the same steps.
    names: list[str] = []
    _watch_changes(names.append, lambda name: None)
    short_study(folder / "0")
    died = 0
    for step in range(1, len(names) + 1):
        pid = os.fork()
        if pid == 0:
            _die_at(step)
            short_study(folder / str(step))
            os._exit(0)
        _, status = os.waitpid(pid, 0)
        died += os.WIFSIGNALED(status)
        short_study(folder / str(step))
    return died


def short_study(folder: Path | None) -> None:
    """3 runs."""
    sweep(small_scenario(), {"policy.name": ["easy"]}, 3, out=folder, workers=1)


def _die_at(step: int) -> None:
    """Let this process die at its n-th renaming or removal, right before or after it."""
    names: list[str] = []

    def before(name: str) -> None:
        names.append(name)
        if len(names) == step and step % 2:
            os.kill(os.getpid(), signal.SIGKILL)

    def after(name: str) -> None:
        if len(names) == step:
            os.kill(os.getpid(), signal.SIGKILL)

    _watch_changes(before, after)


def _watch_changes(before: Callable[[str], None], after: Callable[[str], None]) -> None:
    def watched(change: Callable[..., None]) -> Callable[..., None]:
        def call(path: Any, *arguments: Any, **options: Any) -> None:
            before(str(path))
            try:
                change(path, *arguments, **options)
            finally:
                after(str(path))

        return call

    os.replace = watched(os.replace)
    os.unlink = watched(os.unlink)
    os.rmdir = watched(os.rmdir)


class Awaited(Processes):
    """Processes that the driver waits for, so that even a short study goes on in them."""

    latest: Awaited

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        Awaited.latest = self

    def is_ready(self) -> bool:
        """As soon as all of them can begin."""
        while not super().is_ready() or not all(worker.is_ready for worker in self._workers):
            time.sleep(0.01)
        return True


def kill_itself(folder: Path) -> None:
    """Die as soon as two processes of its own have done some runs; tell theirs before."""
    runners.Processes, runners._WORTH_IT = Awaited, -1.0  # type: ignore[misc]

    def die(tally: Any) -> None:
        if tally.done > 2:
            print(*Awaited.latest.process_ids, flush=True)
            os.kill(os.getpid(), signal.SIGKILL)

    whole_study(folder, workers=2, progress=die)


if __name__ == "__main__":
    print(globals()[sys.argv[1]](Path(sys.argv[2])))
