"""Runs in processes of this machine, to which nobody else can connect.

A worker is a Python of its own. Runs and rows travel through a pair of sockets without a name or a
port, of which it gets one end when it is started; what runs have in common is in memory that it
inherits. It ends when the other end is closed, however the driver ended. A worker that dies is
replaced, and what it was sent is done again.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import math
import os
import pickle
import signal
import socket
import subprocess
import sys
import time
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection, wait
from types import TracebackType

from ..errors import RunError
from .execute import Bundle, Row, failed_row
from .plan import PlannedRun
from .work_left import AHEAD, DIED, Batch, Left

_ATTEMPTS = 2
"""Deaths of a worker that had a run for itself, after which the run has failed."""
_GRACE = 1.0
"""Seconds in which a worker ends by itself when it is no longer needed."""
_ONE_THREAD = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
"""What keeps libraries from starting threads beside processes that are as many as processors."""

_BOOTSTRAP = (
    "import sys, json; sys.path[:] = json.loads(sys.argv[1]); "
    "from sojourn.study.worker_process import main; main(*map(int, sys.argv[2:]))"
)
"""Imports from where the driver does: from the current folder only if the driver does so too."""


class _Worker:
    """A process, the driver's end of what connects the two, and what it has been sent."""

    def __init__(self, bundle: int) -> None:
        self.is_ready = False
        self.batches: deque[Batch] = deque()
        self.connection, end = _connected()
        folders = [folder for folder in sys.path if isinstance(folder, str)]
        arguments = [json.dumps(folders), str(end), str(bundle)]
        # Ctrl-C is for the driver: a worker inherits that it is blocked.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            self._process = subprocess.Popen(
                # Without -P Python would look for modules in the current folder first.
                [sys.executable, *_interpreter_options(), "-P", "-c", _BOOTSTRAP, *arguments],
                stdin=subprocess.DEVNULL,
                env={**os.environ, **dict.fromkeys(_ONE_THREAD, "1")},
                pass_fds=(end, bundle),
            )
        except OSError:
            self.connection.close()
            raise
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            os.close(end)

    @property
    def process_id(self) -> int:
        return self._process.pid

    def send(self, batch: Batch) -> None:
        self.batches.append(batch)
        # One that has just died is noticed where its answer is read.
        with contextlib.suppress(OSError):
            self.connection.send(batch)

    def end(self, grace: float = 0.0) -> int:
        """End the process; return its exit status."""
        self.connection.close()
        try:
            return self._process.wait(grace)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()


class Processes:
    """Carries out runs in so many processes of this machine; a context that ends them."""

    def __init__(self, bundle: Bundle, workers: int) -> None:
        self._count = workers
        self._workers: list[_Worker] = []
        self._watched: Batch | None = None
        self._deaths: Counter[str] = Counter()
        self._seconds = math.nan
        self._refusal = ""
        try:
            self._bundle = _in_memory(bundle)
        except OSError as error:
            raise RunError(_no_start(error.strerror or str(error))) from None
        try:
            self._replenish(workers)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Processes:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: object, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the processes."""
        for worker in self._workers:
            worker.connection.close()
        patience = time.monotonic() + _GRACE
        for worker in self._workers:
            worker.end(max(0.0, patience - time.monotonic()))
        self._workers.clear()
        os.close(self._bundle)

    @property
    def process_ids(self) -> list[int]:
        """Of the processes that live."""
        return [worker.process_id for worker in self._workers]

    def is_ready(self) -> bool:
        """Whether one of the processes can begin; does not wait for it."""
        self._receive(None, 0.0)
        return any(worker.is_ready for worker in self._workers)

    def run(self, runs: Sequence[PlannedRun], seconds: float = math.nan) -> Iterator[list[Row]]:
        """Yield the rows of runs, as they are finished; each takes so long, if that is known."""
        left, self._seconds = Left(runs), seconds
        try:
            while left or self._under_way():
                if left:
                    self._replenish(self._count if left.unsuspected else 1)
                    self._send(left)
                # All that has come meanwhile together: a busy driver falls no further behind.
                rows = self._receive(left, None)
                if rows:
                    yield rows
        finally:
            self._drop()

    def _under_way(self) -> bool:
        return any(worker.batches for worker in self._workers)

    def _replenish(self, count: int) -> None:
        """Have so many processes, or as many as the machine lets us."""
        while len(self._workers) < count:
            try:
                self._workers.append(_Worker(self._bundle))
            except OSError as error:
                if self._workers:
                    return
                raise RunError(_no_start(error.strerror or str(error))) from None

    def _send(self, left: Left) -> None:
        """Put batches on their way: to each process one to work on, then one to go on with."""
        ready = [worker for worker in self._workers if worker.is_ready]
        for ahead in range(1, AHEAD + 1):
            for worker in ready:
                if len(worker.batches) < ahead and left.unsuspected:
                    worker.send(left.take(self._seconds, self._count))
        # Which of several runs needs too much memory shows when each is alone.
        if ready and left and not self._under_way():
            self._watched = left.suspect()
            ready[0].send(self._watched)

    def _receive(self, left: Left | None, timeout: float | None) -> list[Row]:
        """Return the rows that have come; waits for some, or so many seconds."""
        heard = set(wait([worker.connection for worker in self._workers], timeout))
        rows: list[Row] = []
        for worker in [worker for worker in self._workers if worker.connection in heard]:
            try:
                answer = worker.connection.recv()
            except (EOFError, OSError):
                rows += self._buried(worker, left)
                continue
            if answer is None:
                worker.is_ready = True
                continue
            if isinstance(answer, str):
                self._refusal = answer
                continue
            done, seconds = answer
            self._seconds = seconds / len(worker.batches.popleft())
            rows += done
        return rows

    def _buried(self, worker: _Worker, left: Left | None) -> list[Row]:
        """Take back what a process had that died; return the row of a run that none survives."""
        self._workers.remove(worker)
        status = worker.end(_GRACE)
        if not worker.is_ready:
            # One that cannot even begin is not tried again and again.
            self._count -= 1
            if not self._count:
                reason = f"the last one ended with status {status}"
                raise RunError(self._refusal or _no_start(reason))
        if left is None or not worker.batches:
            return []
        # Batches are done in the order in which they were sent: it was at the first.
        suspected, *others = worker.batches
        for batch in reversed(others):
            left.again(batch)
        if suspected is not self._watched:
            left.doubt(suspected)
            return []
        name = suspected[0].run_id
        self._deaths[name] += 1
        if self._deaths[name] < _ATTEMPTS:
            left.doubt(suspected)
            return []
        return [failed_row(suspected[0], DIED)]

    def _drop(self) -> None:
        """End the processes that are still at something: nobody waits for it any more."""
        for worker in [worker for worker in self._workers if worker.batches]:
            self._workers.remove(worker)
            worker.end()


def _no_start(reason: str) -> str:
    return f"processes cannot be started ({reason}); give workers = 1"


def _connected() -> tuple[Connection, int]:
    """Return both ends of a connection: one to use here, and the handle of one to give away."""
    here, there = socket.socketpair()
    with here, there:
        return Connection(_duplicate(here.fileno())), _duplicate(there.fileno())


def _in_memory(bundle: Bundle) -> int:
    """Put what runs have in common into memory without a name; return its handle."""
    with open(os.memfd_create("sojourn"), "wb") as file:
        pickle.dump(bundle, file, protocol=5)
        return _duplicate(file.fileno())


def _duplicate(handle: int) -> int:
    """Another handle of the same file: none of the standard three, which a process exchanges."""
    return fcntl.fcntl(handle, fcntl.F_DUPFD_CLOEXEC, 3)


def _interpreter_options() -> list[str]:
    """Options of this Python that make a difference to another, such as -W and -X."""
    options: list[str] = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
    return options
