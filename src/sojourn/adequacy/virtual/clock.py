"""Model time: a clock that is moved on whenever nothing is under way on the cluster."""

from __future__ import annotations

import contextlib
import ctypes
import math
import mmap
import shutil
import struct
import subprocess
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from ...errors import RunError
from .cluster import Cluster
from .reading import ControllerLog
from .stream import Job

__all__ = ["Clock", "ModelTime", "compiler"]

_NS = 1_000_000_000
_PROCESSES = 8192
_HEAD = struct.Struct("=qiiii")
_WAIT = struct.Struct("=qqqqiiIi")
_DAEMON, _STEP, _JOB = range(3)
_PATIENCE = 30.0  # seconds for which a cluster may be busy without a pause
_ROUND = 1.5  # seconds: a longer wait of the backfill loop is its period
_NEAR = 0.05
_CALIBRATION = 3.0
_STEADY = 3  # passes of the backfill loop with nothing new, after which it will make others
_TICKS = 2.0  # seconds in which the main loop surely comes round


def compiler() -> str | None:
    """Return the path of the system's C compiler, if it has one."""
    return next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)


class Wait(NamedTuple):
    """A timed wait under way: times in ns, by the moved clock."""

    deadline: int
    length: int
    late: int
    lag: int
    pid: int
    tid: int
    word: int
    kind: int


class Clock:
    """The clock of one cluster, in memory that its daemons and jobs share.

    Parameters
    ----------
    folder : the cluster's own, where the library is built and the memory lies.
    """

    def __init__(self, folder: Path) -> None:
        self._library = _build(folder)
        path = folder / "clock"
        size = self._library.sojourn_clock_size()
        with open(path, "w+b") as file:
            file.truncate(size)
            self._memory = mmap.mmap(file.fileno(), size)
        self._address = ctypes.addressof(ctypes.c_char.from_buffer(self._memory))
        self.environment = {"LD_PRELOAD": str(folder / "clock.so"), "SOJOURN_CLOCK": str(path)}

    def now(self) -> float:
        """Return the moved instant, seconds of the Unix epoch."""
        offset: int = _HEAD.unpack_from(self._memory)[0]
        return (time.time_ns() + offset) / _NS

    def settle(self) -> None:
        """Wait until nothing is under way on the cluster."""
        if not self._library.sojourn_clock_settle(self._address, int(_PATIENCE * _NS)):
            raise RunError(f"the cluster has been busy for {_PATIENCE:.0f} s; use --mode real")

    def step(self, instant: float) -> None:
        """Move time on to an instant, and wake those whose time has come."""
        self._library.sojourn_clock_step(self._address, math.ceil(instant * _NS))

    def leap(self, seconds: int) -> None:
        """Move time on by whole seconds in which no loop of the daemons finds anything to do."""
        self._library.sojourn_clock_leap(self._address, seconds * _NS)

    def waits(self) -> list[Wait]:
        """Return the timed waits under way."""
        begin = _HEAD.size + 4 * _PROCESSES
        most: int = _HEAD.unpack_from(self._memory)[2]
        some = map(Wait._make, _WAIT.iter_unpack(self._memory[begin : begin + most * _WAIT.size]))
        return [wait for wait in some if wait.pid]


def _build(folder: Path) -> ctypes.CDLL:
    """Build the clock that is preloaded, and return the driver's side of it."""
    found = compiler()
    if found is None:
        raise RunError("model time needs a C compiler; see `sojourn virtual check`")
    for name in ("clock", "drive"):
        target, source = folder / f"{name}.so", Path(__file__).with_name(f"{name}.c")
        line = [found, "-O2", "-shared", "-fPIC", "-o", str(target), str(source), "-ldl"]
        done = subprocess.run(
            [*line, "-lpthread"], capture_output=True, text=True, stdin=subprocess.DEVNULL
        )
        if done.returncode:
            said = " ".join(done.stderr.split())[:200]
            raise RunError(f"the clock of model time cannot be built: {said}")
    library = ctypes.CDLL(str(folder / "drive.so"))
    library.sojourn_clock_size.restype = ctypes.c_size_t
    library.sojourn_clock_settle.argtypes = [ctypes.c_void_p, ctypes.c_int64]
    library.sojourn_clock_step.argtypes = [ctypes.c_void_p, ctypes.c_int64]
    library.sojourn_clock_step.restype = None
    library.sojourn_clock_leap.argtypes = [ctypes.c_void_p, ctypes.c_int64]
    library.sojourn_clock_leap.restype = None
    return library


class ModelTime:
    """Moves the clock of an idle cluster from event to event.

    While anything is under way time passes by itself, so that launch and completion take what they
    take. When all threads of all processes sleep, it is stepped to whoever wakes first, or leaps
    over whole seconds in which the scheduling loops would find nothing to do: no job waits, or
    both loops have looked at all that wait since anything last changed.

    Parameters
    ----------
    clock : the clock that the cluster was started with.
    cluster : the cluster, idle.
    log : the controller's log.
    """

    def __init__(self, clock: Clock, cluster: Cluster, log: ControllerLog) -> None:
        self._clock = clock
        self._scheduling = cluster.scheduling
        self._log = log
        self._limits: dict[int, float] = {}
        self.steps = self.leaps = 0
        # Long enough for the loops to be seen at their own pace.
        time.sleep(_CALIBRATION)
        clock.settle()
        # The controller has just begun to count.
        log.last_pass = max(log.last_pass, clock.now())
        # The loops that never end, and the one that saves the state after each change.
        self._loops = {wait.tid for wait in clock.waits()} | _threads(cluster, "sstate")
        self._backfill = _threads(cluster, "bckfl")

    def now(self) -> float:
        """Return the instant by the cluster's clock, seconds of the Unix epoch."""
        return self._clock.now()

    def submitted(self, number: int, job: Job) -> None:
        """Note a job that will be killed at its limit."""
        if job.run >= 60.0 * job.limit:
            self._limits[number] = 60.0 * job.limit

    def pass_until(self, instant: float, done: Callable[[], bool]) -> None:
        """Move time on to an instant, or until something is done."""
        while True:
            self._clock.settle()
            now = self.now()
            if done() or now >= instant:
                return
            waits = self._clock.waits()
            target = min(instant, _first(wait for wait in waits if wait.kind == _JOB))
            seconds = 0
            if self._is_at_rest(waits):
                period = (wait for wait in waits if wait.tid in self._backfill)
                backfill = _first(wait for wait in period if wait.length > _ROUND * _NS)
                seconds = self._idle_seconds(now, target, backfill)
            if seconds > 0:
                self._clock.leap(seconds)
                self.leaps += 1
            else:
                self._clock.step(min(target, _first(waits)))
                self.steps += 1

    def _is_at_rest(self, waits: Sequence[Wait]) -> bool:
        """Whether nothing waits for time but loops and jobs, each with a step that looks on."""
        jobs, steps = (sum(wait.kind == kind for wait in waits) for kind in (_JOB, _STEP))
        daemons = (wait.tid for wait in waits if wait.kind == _DAEMON)
        return steps <= jobs and self._loops.issuperset(daemons)

    def _idle_seconds(self, now: float, target: float, backfill: float) -> int:
        """Whole seconds from now in which nothing would happen.

        `backfill` is the end of the backfill loop's period, if it is not looking every second
        whether there is anything to do.
        """
        log, period = self._log, self._scheduling.main_period
        if log.is_called and now < log.changed + self._scheduling.delay + _TICKS:
            return 0
        for number, limit in self._limits.items():
            if number in log.starts and number not in log.ends:
                target = min(target, log.starts[number].time + limit - 1.0)
        due = log.last_pass + period
        if log.passes["backfill pass"] < _STEADY:
            # With nothing new it would not begin another period but look every second.
            target = min(target, backfill)
        if not self._is_settled():
            target = min(target, due)
        elif period > 1 and target > due:
            # To the last round before the target, not past it: the loop keeps its phase.
            target = due + period * math.floor((target - due) / period) if due > now else now
        return math.floor(target - now - _NEAR) if math.isfinite(target) else 0

    def _is_settled(self) -> bool:
        """Whether the loops have looked at all that wait since anything changed."""
        if not self._log.waiting:
            return True
        loops = {"main pass", "backfill pass"} if self._scheduling.is_backfill else {"main pass"}
        return self._scheduling.is_ageless and loops <= self._log.passes.keys()


def _first(waits: Iterable[Wait]) -> float:
    """Return the instant at which the first of some waits ends, as late as it would."""
    return min((wait.deadline + wait.late for wait in waits), default=math.inf) / _NS


def _threads(cluster: Cluster, name: str) -> set[int]:
    """Return the ids of the threads of a name in the cluster's daemons."""
    found = set()
    for pid in cluster.pids:
        for thread in Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(OSError):
                if (thread / "comm").read_text().strip() == name:
                    found.add(int(thread.name))
    return found
