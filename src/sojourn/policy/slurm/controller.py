"""A run of Slurm's controller: its tables, and the engine's loop that advances them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...engine.kernels import kernel_for, parts_for
from ...engine.passes.slurm import Slurm
from ...engine.passes.slurm_priority import Associations, Rule
from ...engine.passes.slurm_tables import (
    CONSUMABLE,
    LINEAR,
    Loops,
    Machine,
    Pace,
    Wants,
    example,
    make_slurm,
)
from ...engine.scores import no_node_score
from ...engine.state import Running, make_recording, make_scalars
from ...engine.types import JobView
from ..control import constant
from ..orders import ORDERS

__all__ = [
    "CONSUMABLE",
    "LINEAR",
    "Controller",
    "Loops",
    "Machine",
    "Pace",
    "Wants",
    "load_kernel",
]

_DONE = 0


class Controller:
    """A machine under Slurm before the first submit, and what becomes of the jobs.

    Parameters
    ----------
    wants : what the jobs ask for.
    machine : the nodes.
    loops, pace : the numbers of the two loops, and how long the controller takes.
    rule, tree : how priorities are counted, and the accounts.
    """

    def __init__(
        self,
        wants: Wants,
        machine: Machine,
        loops: Loops,
        pace: Pace,
        rule: Rule,
        tree: Associations,
    ) -> None:
        self.discipline: Slurm = make_slurm(wants, machine, loops, pace, rule, tree)
        s = self.s = make_scalars(int(machine.cpus.sum()), 1.0)
        s.plans = 1
        # The first instant: nothing is before the controller's start, unless somebody comes then.
        first = min(wants.submit.min(initial=np.inf), wants.cancel.min(initial=np.inf))
        s.now = s.work = s.due = s.due_work = min(pace.started, first)
        self._jobs = _job_view(wants, loops)
        self.running = _make_running(self._jobs)
        self._recording = make_recording(0, s, np.zeros(0))
        law, wake = constant(1.0).pointers
        order, theta = ORDERS["fcfs"].compiled(checked=False), ORDERS["fcfs"].parameters
        # The controller has an order and a placement of its own: these are never asked.
        self._functions = (
            *(law, wake, constant(1.0).parameters, *(order, theta) * 3),
            *(no_node_score, np.zeros(1), *parts_for(self.discipline, None)),
        )

    @property
    def tables(self) -> tuple[Any, ...]:
        """What the engine's loop works on; nodes are the discipline's own."""
        return (
            self.discipline, self.s, self._jobs, self.running, self._recording, None, None
        )  # fmt: skip

    def advance(self, budget: int = 2**62) -> bool:
        """Run on for so many instants; whether every job has ended or was taken back."""
        tables = self.tables
        return int(kernel_for(*tables)(*tables, *self._functions, budget)) == _DONE

    @property
    def start(self) -> NDArray[np.float64]:
        """Start of each job (s); nan if it did not."""
        return self.running.start

    @property
    def end(self) -> NDArray[np.float64]:
        """End of each job (s), or when it was taken back."""
        return self.running.end

    @property
    def left(self) -> int:
        """Jobs that have not left the system yet."""
        return int(self.discipline.controller[0].left)

    @property
    def only_waits(self) -> bool:
        """Whether jobs wait on an empty machine, and nothing will happen but the loops' passes."""
        controller = self.discipline.controller[0]
        return bool(
            self.s.waiting > 0
            and self.s.running == controller.ending == 0
            and self.s.arrived == len(self.start)
            and controller.cancelled == len(self.discipline.cancels)
        )


def _job_view(wants: Wants, loops: Loops) -> JobView:
    """The jobs as the engine sees them: processors, and work that is cut at the limit."""
    limit = 60.0 * wants.limit
    work = np.minimum(wants.launch + wants.run + wants.finish, limit + loops.over_limit)
    none = np.zeros(len(limit), np.int64)
    return JobView(
        submit=wants.submit,
        work=work,
        plan=limit,
        estimate=limit,
        procs=wants.cpus * wants.nodes,
        user=wants.user,
        group=none,
        queue=none,
        partition=wants.partition,
        memory=wants.memory.astype(np.float64),
        account=none,
        qos=none,
        nodes=none,
        gpus=none,
    )


def _make_running(jobs: JobView) -> Running:
    """Nobody is in service yet; all may be at once, since jobs may share processors."""
    n = len(jobs.submit)
    return Running(
        plan=np.empty(n, np.int64),
        planned=np.empty(n),
        start=np.full(n, np.nan),
        end=np.full(n, np.nan),
        held=jobs.procs,
        finish_key=np.empty(n),
        finish_job=np.empty(n, np.int64),
        departed=np.empty(n, np.int64),
    )


def load_kernel() -> None:
    """Load the compiled code of the controller, or compile it."""
    kernel_for(*Controller(*example()).tables)
