"""Runs on a Dask cluster that is running, whoever started it.

What runs have in common goes to each worker once. Short runs travel in batches of about a second,
so that a study of many of them does not spend its time on messages. Whatever happens to a worker
or to the scheduler, a batch has been handed over or is done again.
"""

from __future__ import annotations

import contextlib
import logging
import math
import queue
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError

from distributed import Client, Future, KilledWorker

from ..errors import OptionError, RunError
from .execute import Bundle, Row, Worker, failed_row
from .plan import PlannedRun
from .work_left import AHEAD, DIED, Batch, Left

_LOOK = 2.0
"""Seconds without news after which the cluster is looked at."""
_PATIENCE = 60.0
"""Seconds to wait for a worker, or for the scheduler to come back."""
_PAUSE = 0.2
_ATTEMPTS = 5
_CONNECT = 30.0
"""Seconds in which a scheduler has to answer, also one that was lost."""

_here = threading.local()


def carry_out(bundle: Bundle, runs: Batch) -> tuple[list[Row], float]:
    """Carry out a batch in a worker; return its rows and the seconds that it took."""
    begun = time.perf_counter()
    rows = [_worker_for(bundle).run(run) for run in runs]
    return rows, time.perf_counter() - begun


def _worker_for(bundle: Bundle) -> Worker:
    """The one of this thread, which keeps jobs and compiled code."""
    if getattr(_here, "bundle", None) is not bundle:
        bundle.register_measures()
        _here.worker, _here.bundle = Worker(bundle, shared=True), bundle
    worker: Worker = _here.worker
    return worker


class DaskRunner:
    """Carries out runs on the workers of a Dask cluster, whose client stays open."""

    def __init__(self, client: Client, bundle: Bundle) -> None:
        if not isinstance(client, Client):
            raise OptionError(
                f"client is a {type(client).__name__}; give a Dask client, or the address of a "
                "scheduler such as 'tcp://host:8786'"
            )
        self._client = client
        self._bundle = bundle
        self._sent: Future | None = None
        self._news: queue.SimpleQueue[Future] = queue.SimpleQueue()
        self._under_way: dict[str, tuple[Future, Batch]] = {}
        self._watched: Batch | None = None
        self._seconds = math.nan
        self._available, self._counted = 0, -math.inf

    def run(self, runs: Sequence[PlannedRun], seconds: float = math.nan) -> Iterator[list[Row]]:
        """Yield the rows of runs, as they are finished; each takes so long, if that is known."""
        left, self._seconds = Left(runs), seconds
        try:
            while left or self._under_way:
                if left:
                    self._send(left)
                # All that has come meanwhile together: a busy driver falls no further behind.
                rows = [row for future in self._heard() for row in self._taken(future, left)]
                if rows:
                    yield rows
        finally:
            self._drop()

    def _send(self, left: Left) -> None:
        """Put batches on their way, as many as the workers can take."""
        threads = self._threads()
        if self._sent is None:
            self._sent = self._scattered()
        while left.unsuspected and len(self._under_way) < AHEAD * threads:
            self._submit(left.take(self._seconds, threads))
        # A worker that dies takes with it what waited for it: the cause shows when it is alone.
        if left and not self._under_way:
            self._watched = left.suspect()
            self._submit(self._watched)

    def _submit(self, batch: Batch) -> None:
        future = self._client.submit(carry_out, self._sent, batch, pure=False)
        self._under_way[future.key] = future, batch
        future.add_done_callback(self._news.put)

    def _scattered(self) -> Future:
        """Send what runs have in common to each worker; those that come later ask the others."""
        attempts = _ATTEMPTS
        while True:
            try:
                return self._client.scatter(self._bundle, broadcast=True, hash=False)
            except (OSError, TimeoutError) as error:
                # Workers that have just died were among those that were to answer.
                attempts -= 1
                if not attempts:
                    reason = " ".join(str(error).split())
                    raise RunError(f"the Dask workers cannot be reached ({reason})") from None
                self._count()

    def _threads(self) -> int:
        """Threads of the workers, as of a moment ago."""
        if self._sent is None or time.monotonic() - self._counted > _LOOK:
            self._available = self._count()
            self._counted = time.monotonic()
        return self._available

    def _count(self) -> int:
        """Threads of the workers; waits for the first one, and for the scheduler to be there."""
        patience = time.monotonic() + _PATIENCE
        while time.monotonic() < patience:
            if self._client.status == "closed":
                break
            with contextlib.suppress(OSError, TimeoutError):
                threads: int = sum(self._client.nthreads().values())
                if threads:
                    return threads
            time.sleep(_PAUSE)
        raise RunError(
            f"the Dask cluster has had no workers for {_PATIENCE:g} s, or no scheduler; start some "
            "and give the same command again: what is done is kept"
        )

    def _heard(self) -> list[Future]:
        """Batches that are over; none if there was no news for a while."""
        over = []
        try:
            over.append(self._news.get(timeout=_LOOK))
            while True:
                over.append(self._news.get_nowait())
        except queue.Empty:
            if not over:
                self._count()
        return over

    def _taken(self, future: Future, left: Left) -> list[Row]:
        """The rows of a batch; none if it has to be done again."""
        _, batch = self._under_way.pop(future.key, (future, ()))
        if not batch:
            return []
        try:
            rows, seconds = future.result(timeout=_PATIENCE)
        except KilledWorker:
            if batch is self._watched:
                return [failed_row(batch[0], DIED)]
            left.doubt(batch)
            return []
        except RunError:
            raise
        except (OSError, TimeoutError, CancelledError):
            # The scheduler has gone, or the last worker that had what runs have in common.
            self._sent = None
            left.again(batch)
            return []
        except Exception as error:
            reason = " ".join(f"{type(error).__name__}: {error}".split())
            raise RunError(
                f"a Dask worker failed ({reason}); is the same sojourn installed there?"
            ) from None
        self._seconds = seconds / len(batch)
        return list(rows)

    def _drop(self) -> None:
        """Take back what is under way."""
        futures = [future for future, _ in self._under_way.values()]
        self._under_way.clear()
        with contextlib.suppress(Exception):
            self._client.cancel(futures, force=True)


@contextlib.contextmanager
def connected(address: str) -> Iterator[Client]:
    """Yield a client of the scheduler at an address such as ``tcp://host:8786``."""
    with _quiet():
        try:
            client = Client(address, timeout=_CONNECT)
        except Exception as error:  # TypeError, RuntimeError, ...: by the kind of address.
            reason = " ".join(str(error).split())
            raise OptionError(
                f"--dask {address}: no scheduler answers ({reason}); start one, or check the "
                "address"
            ) from None
        with client:
            yield client


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep Dask's log of workers that come and go from the terminal."""
    logger = logging.getLogger("distributed")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(before)
