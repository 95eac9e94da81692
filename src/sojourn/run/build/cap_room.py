"""Whether the empty cluster has room for jobs under caps: else they can never run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import Floats, Ints
from ...jit import compiled
from .machine import NamedMachine, usable_tasks

if TYPE_CHECKING:
    from .cap_plan import CapPlan

_NO, _YES, _UNKNOWN = 0, 1, 2


class _Filled(NamedTuple):
    """Nodes that are filled one after the other with tasks of one kind, in that order."""

    task: Ints  # mW that each task adds
    room: Ints  # tasks that this node and those before have room for
    drawn: Ints  # by cap and node: mW of those before, if they are full
    alike: bool  # whether all nodes have room for as many tasks, at as many mW


class _Site(NamedTuple):
    """Nodes as the kernel sees them, the order in which it visits them, and what caps leave."""

    order: Ints
    most: Ints  # tasks that the node has room for
    task: Ints  # mW that each task adds
    least: Ints  # mW that it holds on its way
    watts: Floats  # W of a processor at full load
    first: Ints  # where the caps of a node begin in `cap`
    cap: Ints
    free: Ints  # mW by cap


class CapRoom:
    """Room for jobs under caps on the empty cluster.

    If nodes sleep, even if all of them must be woken while all others are on.

    Parameters
    ----------
    plan : the caps.
    named : the nodes, and what jobs ask of them.
    """

    def __init__(self, plan: CapPlan, named: NamedMachine) -> None:
        assert plan.over is not None
        self._named, self._asked, self._own = named, named.requests, plan.of_task
        self._of_proc, self._over, self._last = plan.of_proc, plan.over, plan.last
        nodes = len(plan.of_proc)
        self._least = np.zeros(nodes, np.int64) if plan.changing is None else plan.changing
        self._order = np.argsort(plan.of_proc, kind="stable")
        self._neighbours = named.placement.rule == "contiguous"
        node, cap = np.nonzero(plan.over.T)
        self._caps_of = np.searchsorted(node, np.arange(nodes + 1)), cap
        self._one_cap = len(self._last) == 1 and bool(plan.over.all())

    def holds(self, jobs: Sequence[int]) -> NDArray[np.bool_]:
        """Whether there are nodes for each of some jobs under all caps."""
        asked, held = self._asked, np.zeros(len(jobs), np.bool_)
        of_kind: dict[tuple[object, ...], list[int]] = {}
        for place, j in enumerate(jobs):
            column = asked.need[:, j].tobytes(), asked.per_node[:, j].tobytes()
            kind = (self._own[j], asked.choice[j], asked.choices[j], asked.distinct[j], *column)
            of_kind.setdefault(kind, []).append(place)
        chosen = np.asarray(jobs, np.int64)
        for places in of_kind.values():
            held[places] = self._hold_kind(chosen[places])
        return held

    def _hold_kind(self, jobs: Ints) -> NDArray[np.bool_]:
        """As `holds`, of jobs that ask for different numbers of the same tasks."""
        asked, held = self._asked, np.zeros(len(jobs), np.bool_)
        j = int(jobs[0])
        task = np.full(len(self._of_proc), self._own[j])
        if self._own[j] < 0:
            task = self._of_proc * asked.need[0, j]
        first = asked.choice[j]
        for some in asked.eligible[first : first + asked.choices[j]]:
            most = usable_tasks(asked, j, range(len(asked.capacity)), some)
            known = np.full(len(jobs), _UNKNOWN)
            if not self._neighbours:
                known = self._hold_in_order(self._fill(most, task), asked.tasks[jobs])
                known[asked.budget[jobs] < np.inf] = _UNKNOWN
            held |= known == _YES
            for i in np.flatnonzero((known == _UNKNOWN) & ~held).tolist():
                held[i] = self._holds_one_by_one(int(jobs[i]), most, task)
        return held

    def _fill(self, most: Ints, task: Ints) -> _Filled:
        """Fill the nodes, from room for tasks and mW of each task by node."""
        order = self._order
        most, task, least = most[order], task[order], self._least[order]
        full = np.where(most > 0, np.maximum(most * task, least), 0)
        drawn: Ints = np.cumsum(self._over[:, order] * full, axis=1) - self._over[:, order] * full
        alike = all(bool((kind == kind[0]).all()) for kind in (most, task, least))
        return _Filled(task, np.cumsum(most), drawn, alike)

    def _hold_in_order(self, filled: _Filled, tasks: Ints) -> NDArray[np.int64]:
        """Whether jobs have room on nodes that are filled one after the other.

        They have if no cap is in the way then. If one is, they have none where all nodes are
        alike; else it is not known.

        Parameters
        ----------
        filled : the nodes.
        tasks : of each job.
        """
        last = np.searchsorted(filled.room, tasks)
        enough = last < len(filled.room)
        last = np.where(enough, last, 0)
        order = self._order[last]
        part = tasks - np.where(last > 0, filled.room[last - 1], 0)
        more = np.maximum(part * filled.task[last], self._least[order])
        drawn = filled.drawn[:, last] + self._over[:, order] * more
        kept = (drawn <= self._last[:, None]).all(axis=0)
        otherwise = _NO if filled.alike and self._one_cap else _UNKNOWN
        return np.where(enough, np.where(kept, _YES, otherwise), _NO)

    def _holds_one_by_one(self, j: int, most: Ints, task: Ints) -> bool:
        """Whether job `j` has room, from room for its tasks and mW of each by node."""
        asked, order = self._asked, self._order
        if self._neighbours:
            stretches = np.split(np.arange(len(most)), np.flatnonzero(most == 0))
            order = next((s for s in stretches if most[s].sum() >= asked.tasks[j]), np.arange(0))
        watts = self._named.cluster.columns.watts
        site = _Site(order, most, task, self._least, watts, *self._caps_of, self._last.copy())
        tasks, procs = int(asked.tasks[j]), int(asked.need[0, j])
        left, drawn = fill(site, tasks, procs, not self._neighbours)
        return left == 0 and bool((site.free >= 0).all()) and bool(drawn <= asked.budget[j])


@compiled()
def fill(site: Any, tasks: int, procs: int, keeps: bool) -> tuple[int, float]:
    """Place tasks on nodes in order; return how many are left over, and the W of all others.

    Parameters
    ----------
    site : see there; what caps leave is taken from `free`.
    tasks, procs : of the job, and processors of each task.
    keeps : whether nodes take only what the caps leave.
    """
    left, drawn = tasks, 0.0
    for k in site.order:
        taken, least = min(site.most[k], left), site.least[k]
        mine = range(site.first[k], site.first[k + 1])
        if keeps:
            for i in mine:
                free = site.free[site.cap[i]]
                if least > free:
                    taken = 0
                if taken * site.task[k] > free:
                    taken = max(free, 0) // site.task[k]
        if taken > 0:
            for i in mine:
                site.free[site.cap[i]] -= max(taken * site.task[k], least)
        drawn += taken * procs * site.watts[k]
        left -= taken
    return left, drawn
