"""Where runs are carried out: in this process, in several, or on a cluster."""

from __future__ import annotations

import contextlib
import math
import multiprocessing
import os
import signal
import time
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from importlib import import_module
from importlib.util import find_spec
from itertools import chain
from multiprocessing import forkserver, resource_tracker
from typing import TYPE_CHECKING, Any, Protocol

from ..errors import OptionError, RunError
from .execute import Bundle, Row, Worker
from .plan import Run

if TYPE_CHECKING:
    from distributed import Client

    from .dask_runner import DaskRunner

__all__ = ["Growing", "Runner", "Serial", "open_runner", "stop_if_imported", "usable_processors"]

_TOGETHER = 0.5
"""Seconds of runs that are handed over, and written, together."""
_WORTH_IT = 6.0
"""Seconds of work left that are worth starting processes for."""

_MANY = 50
"""Runs that may well be worth it, so that what takes longest is begun before that is known."""
_PIECE = 0.1
"""Seconds of runs after which it is seen whether processes have been started."""
_ONE_THREAD = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
"""What keeps libraries from starting threads beside processes that are as many as processors."""
_NEEDED = ["distributed", "numba", "sojourn.study.dask_runner", "sojourn.study.scenario"]
"""What is imported before processes are started."""


class Runner(Protocol):
    """Carries out runs and hands over their rows as they are finished, in any order."""

    def run(self, runs: Sequence[Run]) -> Iterator[list[Row]]:
        """Yield the rows of runs, some at a time."""
        ...


class Serial:
    """Carries out runs one after the other in this process."""

    def __init__(self, bundle: Bundle) -> None:
        self._worker = Worker(bundle)

    def run(self, runs: Sequence[Run], together: float | None = None) -> Iterator[list[Row]]:
        """Yield the rows of runs, in order, each time those of so many seconds."""
        most = _TOGETHER if together is None else together
        rows: list[Row] = []
        begun = time.perf_counter()
        try:
            for run in runs:
                rows.append(self._worker.run(run))
                if time.perf_counter() - begun > most:
                    yield rows
                    rows, begun = [], time.perf_counter()
        except KeyboardInterrupt:
            if rows:
                yield rows
            raise
        if rows:
            yield rows


class Growing:
    """Begins in this process, and goes on in several where that is worth their start.

    While these are started runs go on here.

    Parameters
    ----------
    bundle : what the runs have in common.
    workers : processes to go on in.
    stack : closes them in the end.
    required : whether it is an error if they cannot be started; else runs go on here.
    """

    def __init__(
        self, bundle: Bundle, workers: int, stack: contextlib.ExitStack, *, required: bool
    ) -> None:
        self._bundle, self._workers, self._stack = bundle, workers, stack
        self._required = required
        self._serial = Serial(bundle)
        self._pool = stack.enter_context(ThreadPoolExecutor(1))
        self._starting: Future[DaskRunner] | None = None

    def run(self, runs: Sequence[Run]) -> Iterator[list[Row]]:
        """Yield the rows of runs, some at a time."""
        done, begun, each = 0, time.perf_counter(), math.nan
        if not self._is_ready():
            if len(runs) >= _MANY and self._required:
                self._start()
            elif len(runs) >= _MANY:
                self._prepare()
            # The first one loads the compiled code, the second tells how long the others take.
            parts = (self._serial.run(part, _PIECE) for part in (runs[:1], runs[1:2], runs[2:]))
            for rows in chain.from_iterable(parts):
                done += len(rows)
                yield rows
                if done == 1:
                    begun = time.perf_counter()
                    continue
                each = (time.perf_counter() - begun) / (done - 1)
                if self._starting is None and each * (len(runs) - done) > _WORTH_IT:
                    self._start()
                if self._is_ready():
                    break
        if done < len(runs):
            assert self._starting is not None
            yield from self._starting.result().run(runs[done:], each)

    def _prepare(self) -> None:
        """Import beside the first runs what processes need, here and there."""
        warm_up()
        self._pool.submit(import_module, ".dask_runner", __package__)

    def _start(self) -> None:
        """Start the processes beside what goes on here."""
        warm_up()
        self._starting = self._pool.submit(self._several)

    def _is_ready(self) -> bool:
        """Whether processes have been started, or failed to and must not."""
        if self._starting is None or not self._starting.done():
            return False
        error = self._starting.exception()
        if error is None or self._required or not isinstance(error, RunError):
            return True
        # Python shows a warning once for each place.
        warnings.warn(f"runs go on in this process alone: {error}", RuntimeWarning, stacklevel=2)
        return False

    def _several(self) -> DaskRunner:
        from .dask_runner import DaskRunner, local_client

        client = self._stack.enter_context(local_client(self._workers))
        runner = DaskRunner(client, self._bundle)
        runner.get_ready()
        return runner


def warm_up() -> None:
    """Start the process that others are forked from, and let it import what they need.

    It has one thread and no state of ours, so that forks of it are safe; imports are done once,
    while this process goes on.
    """
    multiprocessing.get_context("forkserver").set_forkserver_preload(_NEEDED)
    resource_tracker.ensure_running()  # Which would lift the mask.
    # Ctrl-C is for this process, whatever the others do at that moment: they inherit the mask.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    told = {name: os.environ.get(name) for name in _ONE_THREAD}
    os.environ.update(dict.fromkeys(_ONE_THREAD, "1"))
    try:
        forkserver.ensure_running()
    finally:
        for name, value in told.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextlib.contextmanager
def open_runner(
    bundle: Bundle,
    *,
    workers: int | None = None,
    client: Client | str | None = None,
) -> Iterator[Runner]:
    """Yield what carries out the runs of a study.

    Parameters
    ----------
    bundle : what the runs have in common.
    workers : processes on this machine, which are started where the study takes longer than that;
        1 is this process alone. Default: one for each usable processor.
    client : a Dask client, which stays open, or the address of a Dask scheduler.
    """
    if workers is not None and workers < 1:
        raise OptionError(f"workers = {workers}: at least 1 is needed")
    if client is not None and workers is not None:
        raise OptionError("workers are counted on this machine only; give them or a Dask cluster")
    with contextlib.ExitStack() as stack:
        if client is not None:
            yield _on_cluster(bundle, client, stack)
        elif workers is None and find_spec("distributed") is None:
            yield Serial(bundle)
        else:
            count = usable_processors() if workers is None else workers
            if count > 1:
                check_dask()
            required = workers is not None
            yield (
                Growing(bundle, count, stack, required=required) if count > 1 else Serial(bundle)
            )


def _on_cluster(bundle: Bundle, client: Any, stack: contextlib.ExitStack) -> Runner:
    check_dask()
    from .dask_runner import DaskRunner, connected

    if isinstance(client, str):
        return DaskRunner(stack.enter_context(connected(client)), bundle)
    return DaskRunner(client, bundle)


def stop_if_imported() -> None:
    """End a process that was started for runs, and imports the script that started it.

    What it was started from then hears that it cannot be, and why.
    """
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        raise SystemExit(1)


def check_dask() -> None:
    """Raise OptionError where Dask is not installed."""
    if find_spec("distributed") is None:
        raise OptionError(
            "Dask is not installed, and several processes need it; pip install 'sojourn[scale]', "
            "or use one worker"
        )


def usable_processors() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0))
