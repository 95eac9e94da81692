"""A clock that can be moved on, for the daemons and jobs of one cluster."""

from __future__ import annotations

import ctypes
import math
import mmap
import shutil
import struct
import subprocess
import time
from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

from ...errors import RunError

_NS = 1_000_000_000
_PROCESSES = 8192
_HEAD = struct.Struct("=qiiii")
_WAIT = struct.Struct("=qqqqiiIii4x")
_PATIENCE = 30.0  # seconds for which a cluster may be busy without a pause

DAEMON, STEP, JOB = range(3)
"""Who waits: a daemon of Slurm, the daemon of one job's step, or a job that sleeps."""


def compiler() -> str | None:
    """Return the path of the system's C compiler, if it has one."""
    return next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)


class Wait(NamedTuple):
    """A timed wait under way: times in ns, by the moved clock."""

    deadline: int  # when it ends, or a little later
    length: int  # that was asked for
    late: int  # by how much such a wait of this thread ends late, on average
    lag: int  # by how much the next one begins late, from the deadline
    pid: int
    tid: int
    word: int  # changes when it is to be looked at again
    kind: int  # `DAEMON`, `STEP` or `JOB`
    round: int  # number of waits of the thread before it since it last read a clock

    @property
    def end(self) -> float:
        """When it ends, as late as it would, seconds of the Unix epoch."""
        return (self.deadline + self.late) / _NS


class ModelClock:
    """The clock of one cluster, in memory that its daemons and jobs share, in its folder."""

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

    def leap(self, instant: float, kept: Collection[int]) -> None:
        """Move time on to an instant before which loops of the daemons find nothing to do.

        All but those of some threads: they wake when their time has come.
        """
        tids = (ctypes.c_int32 * len(kept))(*kept)
        self._library.sojourn_clock_leap(self._address, math.ceil(instant * _NS), tids, len(kept))

    def waits(self) -> list[Wait] | None:
        """Return the timed waits under way; None while a thread begins or ends one.

        A thread may wake by itself at any moment, also right after the cluster was quiet.
        """
        begin = _HEAD.size + 4 * _PROCESSES
        most: int = _HEAD.unpack_from(self._memory)[2]
        some = map(Wait._make, _WAIT.iter_unpack(self._memory[begin : begin + most * _WAIT.size]))
        waits = [wait for wait in some if wait.pid]
        return waits if all(wait.deadline for wait in waits) else None


def _build(folder: Path) -> ctypes.CDLL:
    """Build the clock that is preloaded, and return the driver's side of it."""
    program = compiler()
    if program is None:
        raise RunError("model time needs a C compiler; see `sojourn virtual check`")
    for name in ("clock", "drive"):
        target, source = folder / f"{name}.so", Path(__file__).with_name(f"{name}.c")
        line = [program, "-O2", "-shared", "-fPIC", "-o", str(target), str(source), "-ldl"]
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
    library.sojourn_clock_leap.argtypes = [
        *(ctypes.c_void_p, ctypes.c_int64, ctypes.POINTER(ctypes.c_int32), ctypes.c_int32)
    ]
    library.sojourn_clock_leap.restype = None
    return library
