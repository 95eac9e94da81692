"""Where runs are carried out: in this process, in several, or on a cluster."""

from __future__ import annotations

import contextlib
import math
import os
import time
import warnings
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from itertools import chain
from typing import TYPE_CHECKING, Any, Protocol

from ..errors import OptionError, RunError
from .execute import Bundle, Row, Worker
from .plan import PlannedRun
from .processes import Processes

if TYPE_CHECKING:
    from distributed import Client

_TOGETHER = 0.5
"""Seconds of runs that are handed over, and written, together."""
_WORTH_IT = 6.0
"""Seconds of work left that are worth starting processes for."""

_MANY = 50
"""Runs that may well be worth it, so that processes are started before that is known."""
_PIECE = 0.1
"""Seconds of runs after which it is seen whether processes have been started."""


class Runner(Protocol):
    """Carries out runs and hands over their rows as they are finished, in any order."""

    def run(self, runs: Sequence[PlannedRun]) -> Iterator[list[Row]]:
        """Yield the rows of runs, some at a time."""
        ...


class Serial:
    """Carries out runs one after the other in this process; `shared`: with others beside it."""

    def __init__(self, bundle: Bundle, *, shared: bool = False) -> None:
        self._worker = Worker(bundle, shared=shared)
        self.is_interrupted = False

    def run(self, runs: Sequence[PlannedRun], together: float | None = None) -> Iterator[list[Row]]:
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
            self.is_interrupted = True
            if rows:
                yield rows
            raise
        if rows:
            yield rows


class Growing:
    """Begins in this process, and goes on in several where that is worth their start.

    While these are started runs go on here. If they cannot be started that is an error where they
    are `required`; else runs go on here. `stack` closes them in the end.
    """

    def __init__(
        self, bundle: Bundle, workers: int, stack: contextlib.ExitStack, *, required: bool
    ) -> None:
        self._bundle, self._workers, self._stack = bundle, workers, stack
        self._required = required
        self._serial = Serial(bundle, shared=True)
        self._processes: Processes | None = None
        self._can_start = True

    def run(self, runs: Sequence[PlannedRun]) -> Iterator[list[Row]]:
        """Yield the rows of runs, some at a time."""
        done, begun, seconds = 0, time.perf_counter(), math.nan
        if not self._is_ready():
            if len(runs) >= _MANY and self._required:
                self._start()
            # The first one loads the compiled code, the second shows how long the others take.
            parts = (self._serial.run(part, _PIECE) for part in (runs[:1], runs[1:2], runs[2:]))
            for rows in chain.from_iterable(parts):
                done += len(rows)
                yield rows
                if self._serial.is_interrupted:
                    # What was done by then has been handed over: the interrupt itself comes next.
                    continue
                if done == 1:
                    begun = time.perf_counter()
                    continue
                seconds = (time.perf_counter() - begun) / (done - 1)
                if seconds * (len(runs) - done) > _WORTH_IT:
                    self._start()
                if self._is_ready():
                    break
        if done < len(runs):
            assert self._processes is not None
            yield from self._processes.run(runs[done:], seconds)

    def _start(self) -> None:
        """Start the processes beside what goes on here."""
        if self._processes is not None or not self._can_start:
            return
        try:
            self._processes = self._several()
        except RunError as error:
            self._without(error)

    def _is_ready(self) -> bool:
        """Whether one of the processes can begin."""
        try:
            return self._processes is not None and self._processes.is_ready()
        except RunError as error:
            self._without(error)
            return False

    def _without(self, error: RunError) -> None:
        """Go on in this process, if that will do."""
        if self._required:
            raise error
        self._processes, self._can_start = None, False
        warnings.warn(f"runs go on in this process alone: {error}", RuntimeWarning, stacklevel=2)

    def _several(self) -> Processes:
        return self._stack.enter_context(Processes(self._bundle, self._workers))


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
        else:
            count = usable_processors() if workers is None else workers
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


def check_dask() -> None:
    """Raise OptionError where Dask is not installed."""
    if find_spec("distributed") is None:
        raise OptionError(
            "Dask is not installed, and a cluster needs it; pip install 'sojourn[scale]', or leave "
            "out --dask"
        )


def usable_processors() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0))
