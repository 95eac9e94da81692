"""Delays without a simulation: the recursion for workload vectors [rumyantsev2014, eqs. 1, 2].

W_i is the work left on each server, in ascending order, as customer i finds it. Customer i starts
when the N_i servers that are free first are free, after D_i = W_{i,N_i}; then

    W_{i+1} = R(D_i + S_i - T_i (N_i times), W_{i,N_i+1} - T_i, ..., W_{i,s} - T_i)^+

where R sorts. These are the delays of first come, first served.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import checks
from ..arrays import Floats, Ints
from ..errors import JobError, OptionError
from ._workload_vectors import Runs, Stream, complete, subtract

if TYPE_CHECKING:
    from ..jobs.table import Jobs


_RELEASES = ("concurrent", "independent")
_EXACT = 2.0**53
"""Whole numbers up to here are float64 without error, and so are their sums and differences."""


_PIECE = 20_000_000
"""Customers times servers between which an interrupt is heard."""


class DrivingSequence(NamedTuple):
    """What drives the recursion: T_i, S_i and N_i of each customer."""

    interarrival: Floats  # s, to the next customer; 0 for the last
    service: Floats  # s
    width: Ints


def driving_sequence(jobs: Jobs) -> DrivingSequence:
    """Return interarrival times, service times and widths of the jobs of a log, in its order."""
    gaps = np.diff(jobs.submit, append=jobs.submit[-1:])
    return DrivingSequence(gaps, jobs.runtime, jobs.procs)


@overload
def kiefer_wolfowitz(
    interarrival: ArrayLike,
    service: ArrayLike,
    width: ArrayLike,
    servers: int,
    release: str = ...,
    *,
    vectors: Literal[False] = ...,
) -> Floats: ...


@overload
def kiefer_wolfowitz(
    interarrival: ArrayLike,
    service: ArrayLike,
    width: ArrayLike,
    servers: int,
    release: str = ...,
    *,
    vectors: Literal[True],
) -> tuple[Floats, Floats]: ...


def kiefer_wolfowitz(
    interarrival: ArrayLike,
    service: ArrayLike,
    width: ArrayLike,
    servers: int,
    release: str = "concurrent",
    *,
    vectors: bool = False,
) -> Floats | tuple[Floats, Floats]:
    """Delays of customers that need several servers at once [rumyantsev2014, eqs. 1, 2].

    Parameters
    ----------
    interarrival : T_i, from customer i to customer i + 1 (s); the last is not used.
    service : S_i (s). With independent release a table, one row per customer: server j of the
        N_i serves for ``service[i, j]``; what is beyond N_i is not looked at.
    width : N_i, servers that customer i needs, from 1 to `servers`.
    servers : s.
    release : ``concurrent``: the servers of a customer are released together; ``independent``:
        each after its own service time. All of them start together, after the delay.
    vectors : also return the workload vectors.

    Returns
    -------
    delays : D_i (s); with `vectors` also W_i (s), customers x servers, ascending in each row.

    Raises
    ------
    JobError
        A width, time or service that is out of range, with the number of the customer from 1.

    Notes
    -----
    Real numbers are rounded as (1) is written, so equal to its plain evaluation to the last bit,
    at O(runs) per customer: jobs under way, at most s. Whole numbers (logs in seconds) need no
    rounding, and take O(log s).

    Examples
    --------
    >>> kiefer_wolfowitz([1, 1, 1], [5, 3, 2], [1, 2, 1], servers=2)
    array([0., 4., 6.])
    """
    queue = Recursion(servers, release)
    if not vectors:
        return queue.step(interarrival, service, width)
    seen = np.empty((np.size(interarrival), queue.servers))
    return queue.step(interarrival, service, width, vectors=seen), seen


class Recursion:
    """The same, block by block: a log need not be in memory, nor the system empty at first.

    Parameters
    ----------
    servers, release : as in `kiefer_wolfowitz`.
    initial : work left on each server when the first customer comes (s); none by default.

    Examples
    --------
    >>> queue = Recursion(2)
    >>> queue.step([1, 1], [5, 3], [1, 2]), queue.workload, queue.step([1], [2], [1])
    (array([0., 4.]), array([6., 6.]), array([6.]))
    """

    def __init__(
        self, servers: int, release: str = "concurrent", *, initial: ArrayLike | None = None
    ) -> None:
        self.servers = checks.servers(servers)
        self.release = checks.choice(release, _RELEASES, "release")
        self.customers = 0
        # Twice what runs can fill, so that they are seldom moved to the front.
        room = 2 * self.servers
        idle, first, last = (np.zeros(1, np.int64) for _ in range(3))
        self._runs = Runs(np.zeros(room), np.zeros(room, np.int64), idle, first, last)
        work = np.zeros(self.servers) if initial is None else checks.numbers(initial, "initial")
        if work.shape != (self.servers,) or not np.all((work >= 0) & np.isfinite(work)):
            raise OptionError(
                f"initial: give the work left on each of the {self.servers} servers, 0 or more"
            )
        self._keep(*np.unique(work, return_counts=True))

    @property
    def workload(self) -> Floats:
        """W as the next customer will find it (s, ascending)."""
        return np.repeat(*self._kept())

    def step(
        self,
        interarrival: ArrayLike,
        service: ArrayLike,
        width: ArrayLike,
        *,
        vectors: Floats | None = None,
    ) -> Floats:
        """Return the delays of the next customers (s).

        Parameters
        ----------
        interarrival, service, width : as in `kiefer_wolfowitz`; the last interarrival time is
            that to the first customer of the next block.
        vectors : room for the workload vectors, customers x servers; filled in.
        """
        stream = self._stream(interarrival, service, width)
        room = len(stream.gap), self.servers
        seen = np.empty((0, self.servers)) if vectors is None else vectors
        if vectors is not None and (seen.shape != room or seen.dtype != np.float64):
            raise OptionError(f"vectors: give float64 of the shape {room}, not {seen.shape}")
        concurrent = self.release == "concurrent"
        if vectors is None and self._is_exact(stream):
            work, count = self._kept()
            end, servers = np.zeros(self.servers), np.zeros(self.servers, np.int64)
            end[: work.size], servers[: work.size] = work, count
            size, now = complete(stream, end, servers, work.size, concurrent)
            order = np.argsort(end[:size])
            self._keep(np.maximum(end[order] - now, 0), servers[order])
        else:
            # Each customer may meet a run per server; an interrupt is heard between two pieces.
            piece = max(_PIECE // self.servers, 1)
            for first in range(0, len(stream.gap), piece):
                part = slice(first, first + piece)
                block = Stream(
                    stream.gap[part], stream.service[part], stream.width[part], stream.delay[part]
                )
                subtract(block, self._runs, concurrent, seen[part])
        self.customers += len(stream.gap)
        return stream.delay

    def _kept(self) -> tuple[Floats, Ints]:
        """Work left and number of servers of each run, idle ones first."""
        runs = self._runs
        busy = slice(int(runs.first[0]), int(runs.last[0]))
        idle = runs.idle[runs.idle > 0]
        work = np.concatenate([np.zeros(idle.size), runs.work[busy]])
        return work, np.concatenate([idle, runs.servers[busy]])

    def _keep(self, work: Floats, count: Ints) -> None:
        runs = self._runs
        idle = int(np.searchsorted(work, 0, side="right"))
        size = work.size - idle
        runs.idle[0], runs.first[0], runs.last[0] = count[:idle].sum(), 0, size
        runs.work[:size], runs.servers[:size] = work[idle:], count[idle:]

    def _is_exact(self, stream: Stream) -> bool:
        """Whether no sum is rounded, so that instants do as well as differences."""
        work = self._kept()[0]
        longest = stream.service.max(axis=1, initial=0, where=stream.service < np.inf)
        if not work[-1] + stream.gap.sum() + longest.sum() < _EXACT:
            return False
        return all(np.array_equal(x, np.rint(x)) for x in (work, stream.gap, stream.service))

    def _stream(self, interarrival: ArrayLike, service: ArrayLike, width: ArrayLike) -> Stream:
        """Return the columns of a block, checked."""
        concurrent = self.release == "concurrent"
        gap = _numbers("interarrival", interarrival, 1)
        wide = _numbers("width", width, 1)
        times = _numbers("service", service, 1 if concurrent else 2)
        for name, column in (("service", times), ("width", wide)):
            if len(column) != len(gap):
                raise OptionError(
                    f"{name} has {len(column)} values, interarrival has {len(gap)};"
                    " give one value per job"
                )
        times = times[:, np.newaxis] if concurrent else times
        self._refuse("interarrival", gap, ~(gap >= 0), "sort the jobs by submit time")
        self._refuse("width", wide, ~(wide >= 1), "drop the job, or give it at least 1 server")
        self._refuse("width", wide, wide != np.rint(wide), "give a whole number of servers")
        self._refuse("width", wide, wide > self.servers, f"there are {self.servers} servers")
        parts = np.ones_like(wide) if concurrent else wide
        columns = times.shape[1]
        self._refuse("width", wide, parts > columns, f"service has {columns} columns")
        used = np.arange(columns) < parts[:, np.newaxis]
        wrong = used & ~((times >= 0) & (times < np.inf))
        shown = times[np.arange(len(gap)), np.argmax(wrong, axis=1)] if columns else gap
        self._refuse("service", shown, np.any(wrong, axis=1), "give a time of 0 or more")
        if not concurrent:
            # Ascending up to the width: the parts of a customer join the runs in one pass.
            times = np.sort(np.where(used, times, np.inf), axis=1)
        return Stream(gap, np.ascontiguousarray(times), wide.astype(np.int64), np.empty(len(gap)))

    def _refuse(self, field: str, values: Floats, wrong: NDArray[np.bool_], advice: str) -> None:
        """Raise at the first wrong value, with the number of its customer from 1."""
        if wrong.any():
            row = int(np.argmax(wrong))
            raise JobError(self.customers + row + 1, field, f"{values[row]:g}; {advice}")


def _numbers(name: str, values: ArrayLike, dimensions: int) -> Floats:
    # Writable, although nobody writes: kernels are compiled for one kind of array alone.
    array = np.require(checks.numbers(values, name), np.float64, ["C", "W"])
    if array.ndim != dimensions:
        shape = "one value per job" if dimensions == 1 else "one row of service times per job"
        raise OptionError(f"{name} has {array.ndim} dimensions; give {shape}")
    return array
