"""The states of nodes that slept in a run: from when to when, and what they drew."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...arrays import Floats, Ints
from ...engine.sleeping import ASLEEP, ENTERING, FAILED, LEAVING
from ...measures.energy import OtherStates
from ...measures.formulas import sum_by_job
from ..build.sleep import depth_of
from ._stretches import stretches_of

if TYPE_CHECKING:
    from .energy import Allocation, Stretches
    from .schedule import Schedule


_NAMES = {ENTERING: "entering", ASLEEP: "sleep", LEAVING: "leaving", FAILED: "failed"}


class NodeStates:
    """Stretches in which nodes were not on, in the order of nodes, then of time.

    Parameters
    ----------
    schedule : of a run whose nodes sleep, at its end.
    """

    def __init__(self, schedule: Schedule) -> None:
        run, self._cluster = schedule.run, schedule.prepared.cluster
        changes = run.state_changes
        found, self._time = stretches_of(changes, len(self._cluster.nodes), schedule.last)
        self.node: Ints = found.node
        self.state: NDArray[np.int8] = found.state
        self._begin, self._end = found.begin, found.end
        self._depth = schedule.prepared.options.sleep.depth
        self.boots = int(np.count_nonzero(changes["state"] == LEAVING))
        self._waited = schedule.start - schedule.claim

    @cached_property
    def begin(self) -> Floats:
        """When each stretch begins (s)."""
        return self._time[self._begin]

    @cached_property
    def end(self) -> Floats:
        """When each stretch ends (s)."""
        return self._time[self._end]

    def on_clock(self, clock: Callable[[Floats], Floats]) -> NodeStates:
        """Return the same stretches with all instants on another clock."""
        other = copy.copy(self)
        for name in ("begin", "end", "drawn"):
            other.__dict__.pop(name, None)
        other._time = clock(self._time)
        return other

    @cached_property
    def drawn(self) -> OtherStates:
        """The stretches as a bill takes them."""
        return OtherStates(self.node, self._time, self._begin, self._end, self.watts)

    def of_nodes(self, place: Ints) -> OtherStates:
        """The stretches of some nodes as a bill takes them; `place` of all others is below 0."""
        here = place[self.node] >= 0
        columns = (self._begin[here], self._end[here], self.watts[here])
        return OtherStates(place[self.node[here]], self._time, *columns)

    @cached_property
    def watts(self) -> Floats:
        """W of the node in each stretch."""
        servers, kind = self._cluster.kinds
        table = np.zeros((len(servers), FAILED + 1))
        for k, server in enumerate(servers):
            table[k, FAILED] = server.states.failed_watts
            depth = depth_of(server, self._depth)
            if depth is not None:
                table[k, ENTERING], table[k, ASLEEP] = depth.enter_watts, depth.watts
                table[k, LEAVING] = depth.leave_watts
            else:
                # Assumed of nodes that are powered down though no state says how.
                table[k, [ENTERING, LEAVING]] = self._cluster.curves[np.argmax(kind == k), 0]
        watts: Floats = table[kind][self.node, self.state]
        return watts

    def sums(self, joules: Floats) -> dict[str, float]:
        """Joules by state, from those of each stretch."""
        spent = np.bincount(self.state, weights=joules, minlength=FAILED + 1)
        return {f"{name}_joules": float(spent[code]) for code, name in _NAMES.items()}

    def by_node(self, joules: Floats, count: int) -> dict[str, Floats]:
        """Joules of each of `count` nodes by state, from those of each stretch."""
        spent: dict[str, Floats] = {}
        for code, name in _NAMES.items():
            mine = self.state == code
            spent[name] = sum_by_job(self.node[mine], joules[mine], count)
        return spent

    def as_dict(self) -> dict[str, Any]:
        """Node seconds by state, boots, and how long jobs waited for their nodes to be up."""
        lapse = np.bincount(self.state, weights=self.end - self.begin, minlength=FAILED + 1)
        waited = self._waited[np.nan_to_num(self._waited) > 0]
        return {
            **{f"{name}_node_seconds": float(lapse[code]) for code, name in _NAMES.items()},
            "boots": self.boots,
            "jobs_that_waited": len(waited),
            "mean_boot_wait": float(waited.mean()) if len(waited) else 0.0,
        }

    def columns(self) -> dict[str, Any]:
        """One row per stretch: node, state, begin and end (s), watts."""
        names = np.array([node.name for node in self._cluster.nodes])
        return {
            "node": names[self.node],
            "state": np.array([_NAMES.get(code, "on") for code in range(FAILED + 1)])[self.state],
            "begin": self.begin,
            "end": self.end,
            "watts": self.watts,
        }

    def over_time(self, worked: Stretches, given: Allocation, first: float) -> dict[str, Any]:
        """Numbers of nodes in each state, from each instant on.

        Parameters
        ----------
        worked, given : stretches of service from when their nodes were up, and these nodes.
        first : the instant at which the run begins (s).
        """
        rows = np.diff(given.first)
        busy = _merged(given.node, np.repeat(worked.start, rows), np.repeat(worked.stop, rows))
        spans = {"busy": busy}
        for code, name in _NAMES.items():
            mine = self.state == code
            spans[name] = self.begin[mine], self.end[mine]
        edges = [edge for span in spans.values() for edge in span]
        time = np.unique(np.concatenate([[first], *edges]))
        counts = {
            name: np.searchsorted(np.sort(begin), time, side="right")
            - np.searchsorted(np.sort(end), time, side="right")
            for name, (begin, end) in spans.items()
        }
        idle = len(self._cluster.nodes) - np.sum(list(counts.values()), axis=0)
        return {"time": time, "busy": counts.pop("busy"), "idle": idle, **counts}


def _merged(node: Ints, start: Floats, stop: Floats) -> tuple[Floats, Floats]:
    """When nodes became busy, and when idle again: several jobs may share one."""
    time, step = np.concatenate([start, stop]), np.repeat([1, -1], len(node))
    # A job that follows another at once leaves its node no idle time.
    order = np.lexsort((-step, time, np.concatenate([node, node])))
    time, step = time[order], step[order]
    level = np.cumsum(step)
    return time[(level == 1) & (step == 1)], time[level == 0]
