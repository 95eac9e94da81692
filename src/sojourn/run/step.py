"""Stepping a simulation from Python: for policies that cannot be compiled, and for agents."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..engine.drive import DONE, Run
from ..engine.passes import DECIDE
from ..errors import OptionError, plural
from ..policy import Control, parse_policy
from ..policy.columns import JobColumns, job_columns
from .build.engine import watch
from .build.queues import limit_reached, queues_of
from .options import with_keywords
from .result import Result
from .simulate import prepare

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..jobs import Jobs


class Decision:
    """The system at an instant at which somebody waits, before anything is started.

    Jobs are named by their position in submission order; `jobs` has their columns. A decision is
    over when the simulation goes on.

    Attributes
    ----------
    now : seconds.
    free : processors that are free.
    waiting, running : positions of the jobs that wait (by submission) and run.
    jobs : columns submit, estimate, procs, user, group, queue, partition, memory, account, qos,
        nodes, gpus; to be read only.
    """

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation

    def _run(self) -> Run:
        if self._simulation._decision is not self:
            raise OptionError(
                "this decision is over, the simulation has gone on; use the one that the last "
                "step returned"
            )
        return self._simulation._run

    @property
    def now(self) -> float:
        """The instant, in seconds."""
        return float(self._run().s.now)

    @property
    def free(self) -> int:
        """Free processors, less those of the jobs started in this decision."""
        return int(self._run().s.free)

    @property
    def jobs(self) -> JobColumns:
        """The columns of all jobs."""
        return self._simulation._columns

    @property
    def waiting(self) -> NDArray[np.int64]:
        """Who waits, less the jobs started in this decision."""
        return _waiting(self._run())

    @property
    def running(self) -> NDArray[np.int64]:
        """Who runs, less the jobs started in this decision."""
        run, started = self._run(), self._simulation._started
        everybody = np.sort(run.running.plan[: run.s.running])
        return everybody[~np.isin(everybody, started)]

    def started(self, j: int) -> float:
        """When a running job started, in seconds."""
        place = _position(j)
        if place not in self.running:
            raise OptionError(f"job at position {place} does not run; choose from decision.running")
        return float(self._run().start[place])

    def start(self, j: int) -> None:
        """Start a waiting job now."""
        self._run()
        self._simulation._start(_position(j))


def _position(j: object) -> int:
    """The position of a job as a number; a fraction is not rounded."""
    try:
        return operator.index(j)  # type: ignore[arg-type]
    except TypeError:
        raise OptionError(
            f"job at position {j!r}: give a whole number, one of decision.waiting"
        ) from None


@with_keywords
class Simulation:
    """A run that stops at each decision.

    Several queues take no turns here: whoever waits may be started. Their limits hold, and a start
    that would exceed one is refused.

    Parameters
    ----------
    jobs, cluster, rate : as for `simulate`.
    **options : the keywords of `Options`.

    Examples
    --------
    >>> import sojourn
    >>> jobs = sojourn.lublin(50, 32, load=0.9, seed=2)
    >>> run = sojourn.Simulation(jobs, 32)
    >>> for decision in run:
    ...     for j in decision.waiting:
    ...         if decision.jobs.procs[j] > decision.free:
    ...             break
    ...         decision.start(j)
    >>> by_hand = run.result.jobs["wait"]
    >>> bool((by_hand == sojourn.simulate(jobs, 32, "fcfs").jobs["wait"]).all())
    True
    """

    def __init__(
        self,
        jobs: Jobs,
        cluster: Cluster | int,
        *,
        rate: Control | float | str | None = None,
        **options: Any,
    ) -> None:
        if "policy" in options:
            raise OptionError(
                f"policy '{options['policy']}': whoever steps decides who starts; leave it out, or "
                "call simulate"
            )
        self._run, self._prepared = prepare(
            jobs, cluster, parse_policy("fcfs"), rate=rate, stop_at_decisions=True, **options
        )
        self._watch = watch(self._run, self._prepared)
        self._columns: JobColumns = job_columns(self._run.jobs)
        self._queues: NDArray[np.int64] | None = None
        if self._prepared.cluster.queues:
            accepted = self._prepared.jobs[self._prepared.accepted]
            self._queues = queues_of(accepted, self._prepared.cluster)
        self._decision: Decision | None = None
        self._started: list[int] = []
        self._done = False

    def __iter__(self) -> Iterator[Decision]:
        """Go from decision to decision until every job has ended."""
        while not self._done:
            decision = self.step()
            if decision is not None:
                yield decision

    def step(self) -> Decision | None:
        """Go on to the next decision; None at the end."""
        self._started, self._decision = [], None
        self._run.s.chosen = 0
        status = self._advance()
        if status == DECIDE:
            self._decision = Decision(self)
        self._done = status == DONE
        return self._decision

    def _advance(self) -> int:
        """Go on; PolicyError where a rate control of the user's makes a mistake."""
        try:
            status = self._run.advance()
        except Exception as error:
            self._watch.look(error)
            raise
        self._watch.look()
        return status

    @property
    def result(self) -> Result:
        """The result, once the run has ended."""
        left = int(self._run.s.waiting)
        if not self._done:
            raise OptionError("the simulation has not ended; go on stepping")
        if left:
            raise OptionError(
                f"the run ended with {plural(left, 'job')} never started: start every job in some "
                "decision"
            )
        self._run.check()
        return Result(self._prepared, self._run)

    def _start(self, j: int) -> None:
        """Start a job at once, on nodes that the placement chooses."""
        run = self._run
        if j in self._started:
            raise OptionError(f"job at position {j} was started already in this decision")
        if not run.s.pending or j not in _waiting(run):
            raise OptionError(f"job at position {j} does not wait; choose from decision.waiting")
        if self._queues is not None:
            running = run.running.plan[: run.s.running]
            cluster = self._prepared.cluster
            reached = limit_reached(cluster, self._queues, run.jobs.procs, running, j)
            if reached is not None:
                raise OptionError(f"job at position {j} {reached}")
        run.discipline.waiting.chosen[0] = j
        run.s.chosen = 1
        self._advance()
        if run.s.refused:
            procs, free = int(run.jobs.procs[j]), int(run.s.free)
            problem = f"needs {procs} processors, {free} are free"
            if procs <= free:
                capped = ", or a cap has no watts left for it" if self._prepared.caps else ""
                problem = (
                    f"finds no room: {free} processors are free, but not such as it asks for, or "
                    f"they are reserved before it would be over{capped}"
                )
            raise OptionError(f"job at position {j} {problem}")
        self._started.append(j)


def _waiting(run: Run) -> NDArray[np.int64]:
    """Who waits, by submission."""
    first, size = int(run.s.first), int(run.s.waiting)
    waiting: NDArray[np.int64] = run.discipline.waiting.job[first : first + size].copy()
    return waiting
