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

from sojourn.study import Scenario, sweep

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
    from sojourn.study import runners

    runners._TOGETHER = 0.01  # Many small parts: many moments at which one is half written.
    whole_study(None, workers=1)  # Compiled and imported before anybody forks.
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
    from sojourn.study import runners

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


def short_study(folder: Path) -> None:
    """6 runs."""
    sweep(small_scenario(), {"policy.name": ["fcfs", "easy"]}, 3, out=folder, workers=1)


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


def kill_workers(folder: Path, count: int) -> int:
    """Kill some of two workers in the middle of a study; return how many died."""
    from sojourn.study.dask_runner import local_client

    died = 0
    with local_client(2) as client:
        alive = list(client.run(os.getpid).values())[:count]

        def kill(tally: Any) -> None:
            nonlocal died
            while alive and tally.done < tally.total:
                os.kill(alive.pop(), signal.SIGKILL)
                died += 1

        whole_study(folder, client=client, progress=kill)
    return died


def kill_one_worker(folder: Path) -> int:
    """The other one has what runs have in common."""
    return kill_workers(folder, 1)


def kill_both_workers(folder: Path) -> int:
    """What runs have in common must be sent again."""
    return kill_workers(folder, 2)


DEADLY = """
import os, signal

os.kill(os.getpid(), signal.SIGKILL)
"""


def kill_by_run(folder: Path) -> int:
    """Have a run that kills each worker which begins it; return how many rows there are."""
    import dask

    from sojourn.study.dask_runner import local_client

    folder.mkdir()
    (folder / "deadly.py").write_text(DEADLY)
    grid = {"policy.order": ["fcfs", "sjf", f"{folder / 'deadly.py'}:score", "ljf"]}
    with dask.config.set({"distributed.scheduler.allowed-failures": 0}), local_client(2) as client:
        study = sweep(small_scenario(), grid, 2, out=folder / "study", client=client)
    return len(study.table)


def grow(folder: Path) -> int:
    """Begin in this process and go on in two; return how many runs this one had done by then."""
    from sojourn.study import runners

    runners._TOGETHER, runners._WORTH_IT = -1.0, -1.0
    runners.usable_processors = lambda: 2
    counts: list[int] = []
    whole_study(folder, progress=lambda tally: counts.append(tally.new))
    return counts[0]


def kill_itself(folder: Path) -> None:
    """Die as soon as two processes of its own have done some runs; tell theirs before."""
    from sojourn.study import dask_runner, execute, runners

    class Slow(execute.Worker):
        """Leaves the runs to the others; those made of small batches."""

        def run(self, run: Any) -> Any:
            time.sleep(0.2)
            return super().run(run)

    whole = dask_runner.DaskRunner.run

    def run(self: Any, *arguments: Any) -> Any:
        for rows in whole(self, *arguments):
            yield rows
            print(*self._client.run(os.getpid).values(), flush=True)
            os.kill(os.getpid(), signal.SIGKILL)

    runners.Worker, dask_runner.DaskRunner.run = Slow, run
    whole_study(folder, workers=2)


if __name__ == "__main__":
    print(globals()[sys.argv[1]](Path(sys.argv[2])))
