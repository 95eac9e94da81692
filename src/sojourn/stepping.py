"""Stepping a simulation from Python: for policies that cannot be compiled, and for agents."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .engine.drive import DECIDE, DONE
from .engine.state import CHOSEN, FREE, NOW, PENDING, RUNNING, WAITING, waiting_jobs
from .engine.types import JobView
from .errors import OptionError
from .policy import parse_policy
from .result import Result
from .simulation import prepare

if TYPE_CHECKING:
    from .cluster import Cluster
    from .workload import Jobs

__all__ = ["Decision", "Simulation"]


class Decision:
    """The system at an instant at which somebody waits, before anything is started.

    Jobs are named by their position in submission order; `jobs` has their columns.

    Attributes
    ----------
    now : seconds.
    free : processors that are free.
    waiting, running : positions of the jobs that wait (by submission) and run.
    jobs : columns submit, estimate, procs, user, group, queue, partition, memory.
    """

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation

    @property
    def now(self) -> float:
        """The instant, in seconds."""
        return float(self._simulation._run.state.clock[NOW])

    @property
    def free(self) -> int:
        """Free processors, less those of the jobs started in this decision."""
        return int(self._simulation._run.state.count[FREE]) - self._simulation._taken

    @property
    def jobs(self) -> JobView:
        """The columns of all jobs."""
        return self._simulation._run.jobs

    @property
    def waiting(self) -> NDArray[np.int64]:
        """Who waits, less the jobs started in this decision."""
        state = self._simulation._run.state
        everybody = waiting_jobs(state)
        return everybody[~np.isin(everybody, self._simulation._chosen)]

    @property
    def running(self) -> NDArray[np.int64]:
        """Who runs, less the jobs started in this decision."""
        state = self._simulation._run.state
        return np.sort(state.finish_job[: state.count[RUNNING]])

    def started(self, j: int) -> float:
        """When a running job started, in seconds."""
        return float(self._simulation._run.state.start[j])

    def start(self, j: int) -> None:
        """Start a waiting job now."""
        self._simulation._choose(int(j))


class Simulation:
    """A run that stops at each decision.

    Parameters
    ----------
    jobs, cluster, rate, and the options of `simulate`.

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

    def __init__(self, jobs: Jobs, cluster: Cluster | int, **options: Any) -> None:
        self._run, self._prepared = prepare(
            jobs, cluster, parse_policy("fcfs"), stop_at_decisions=True, **options
        )
        self._chosen: list[int] = []
        self._taken = 0
        self._done = False

    def __iter__(self) -> Iterator[Decision]:
        """Go from decision to decision until every job has ended."""
        while not self._done:
            decision = self.step()
            if decision is not None:
                yield decision

    def step(self) -> Decision | None:
        """Carry out what was decided and go on to the next decision; None at the end."""
        state = self._run.state
        state.chosen[: len(self._chosen)] = self._chosen
        state.count[CHOSEN] = len(self._chosen)
        self._chosen, self._taken = [], 0
        status = self._run.advance()
        if status == DECIDE:
            return Decision(self)
        self._done = status == DONE
        return None

    @property
    def result(self) -> Result:
        """The result, once the run has ended."""
        left = int(self._run.state.count[WAITING])
        if not self._done:
            raise OptionError("the simulation has not ended; go on stepping")
        if left:
            raise OptionError(
                f"the run ended with {left} jobs never started: start every job in some decision"
            )
        self._run.check()
        return Result(self._prepared, self._run)

    def _choose(self, j: int) -> None:
        state = self._run.state
        if not state.count[PENDING] or j not in waiting_jobs(state):
            raise OptionError(f"job at position {j} does not wait; choose from decision.waiting")
        if j in self._chosen:
            raise OptionError(f"job at position {j} was started already in this decision")
        procs = int(self._run.jobs.procs[j])
        if procs > int(state.count[FREE]) - self._taken:
            raise OptionError(
                f"job at position {j} needs {procs} processors, "
                f"{int(state.count[FREE]) - self._taken} are free"
            )
        self._chosen.append(j)
        self._taken += procs
