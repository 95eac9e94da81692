"""From allocations to the resource-seconds used, stranded, free and down, and to their course."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...arrays import Floats, Ints
from ...errors import OptionError, RunError
from ._walk import ALL_FIT, Gone, NodeTables, Rows, Steps, walk
from .states import STATES

if TYPE_CHECKING:
    import pandas as pd


class Holdings(NamedTuple):
    """Who held what: one row per stretch of service and node.

    Parameters
    ----------
    job : whose stretch it is; only for messages.
    node : place of the node.
    start, stop : s.
    held : how much of each resource the job held there (resources x rows). A job that has whole
        nodes holds all processors of them.
    """

    job: ArrayLike
    node: ArrayLike
    start: ArrayLike
    stop: ArrayLike
    held: ArrayLike


class Absences(NamedTuple):
    """When nodes were not there: place of the node, from when to when (s, may be infinite)."""

    node: ArrayLike = ()
    begin: ArrayLike = ()
    end: ArrayLike = ()


@dataclass(frozen=True, eq=False)
class Fragmentation:
    """What became of the resources of a cluster, in resource-seconds.

    Parameters
    ----------
    resources : names, such as ``cores``.
    capacity : what each node has of each (resources x nodes).
    span : s, from beginning to end.
    seconds : resource-seconds by resource, state (see `STATES`) and node.
    """

    resources: tuple[str, ...]
    capacity: Ints
    span: float
    seconds: Floats

    def share(self, resource: int, state: str, nodes: ArrayLike | None = None) -> float:
        """Return the share of the capacity that was in a state; nan where there was none.

        Parameters
        ----------
        resource : its place among the names.
        state : one of `STATES`.
        nodes : places of some nodes; default: all.
        """
        chosen = slice(None) if nodes is None else np.asarray(nodes, np.int64)
        whole = float(self.capacity[resource, chosen].sum()) * self.span
        part = float(self.seconds[resource, STATES.index(state), chosen].sum())
        return part / whole if whole > 0 else float("nan")

    def as_dict(self, nodes: ArrayLike | None = None) -> dict[str, dict[str, Any]]:
        """Return the totals of each resource that some node has, ready for JSON.

        Parameters
        ----------
        nodes : places of some nodes; default: all.
        """
        chosen = slice(None) if nodes is None else np.asarray(nodes, np.int64)
        told: dict[str, dict[str, Any]] = {}
        for r, name in enumerate(self.resources):
            capacity = int(self.capacity[r, chosen].sum())
            if capacity > 0:
                sums = self.seconds[r][:, chosen].sum(axis=1)
                told[name] = {
                    "capacity": capacity,
                    **{state: float(value) for state, value in zip(STATES, sums, strict=True)},
                    "share": {state: self.share(r, state, nodes) for state in STATES},
                }
        return told


def measure_fragmentation(
    holdings: Holdings,
    capacity: ArrayLike,
    resources: tuple[str, ...],
    *,
    begin: float,
    end: float,
    absences: Absences | None = None,
) -> Fragmentation:
    """Sum up what was used, stranded, free and down of each resource of each node.

    Parameters
    ----------
    holdings : who held what.
    capacity : what each node has of each resource (resources x nodes).
    resources : their names.
    begin, end : of the time that is measured, s.
    absences : when nodes were not there.

    Raises
    ------
    OptionError
        If arrays do not fit together, or rows lie outside of the time that is measured.
    RunError
        If jobs hold more of a node at a time than it has.

    Examples
    --------
    One node of 4 cores and 8 GB for 10 s; a job takes 2 cores and all memory for 5 s of them.

    >>> job = Holdings([1], [0], [0.0], [5.0], [[2], [8]])
    >>> found = measure_fragmentation(job, [[4], [8]], ("cores", "GB"), begin=0, end=10)
    >>> found.as_dict()["cores"]["used"], found.as_dict()["cores"]["stranded"]
    (10.0, 10.0)
    """
    nodes, _ = _walked(holdings, capacity, begin, end, absences or Absences(), record=False)
    seconds = nodes.seconds + nodes.rest
    return Fragmentation(resources, nodes.capacity, max(float(end - begin), 0.0), seconds)


def over_time(
    holdings: Holdings,
    capacity: ArrayLike,
    resources: tuple[str, ...],
    *,
    begin: float,
    end: float,
    absences: Absences | None = None,
) -> pd.DataFrame:
    """Return what is used, stranded, free and down of each resource from each instant on.

    Parameters
    ----------
    holdings, capacity, resources, begin, end, absences : as for `measure_fragmentation`.

    Returns
    -------
    pandas.DataFrame
        ``time`` (s), and for each resource that some node has ``NAME_used``, ``NAME_stranded``,
        ``NAME_free`` and ``NAME_down``: the state from then on. The first row is at the beginning,
        the last at the end.
    """
    import pandas as pd

    nodes, steps = _walked(holdings, capacity, begin, end, absences or Absences(), record=True)
    time, level = steps
    if time[-1] < end:
        # What lasts to the end has its last row there, as power over time has.
        time, level = np.append(time, end), np.concatenate([level, level[-1:]])
    there = nodes.capacity.sum(axis=1) > 0
    columns: dict[str, Any] = {"time": time}
    for r in np.flatnonzero(there).tolist():
        for s, state in enumerate(STATES):
            columns[f"{resources[r]}_{state}"] = np.ascontiguousarray(level[:, r, s])
    return pd.DataFrame(columns, copy=False)


def _walked(
    holdings: Holdings,
    capacity: ArrayLike,
    begin: float,
    end: float,
    absences: Absences,
    *,
    record: bool,
) -> tuple[NodeTables, Steps]:
    """Return the nodes at the end, with their sums, and the steps where they are asked for."""
    size = _own(capacity, np.int64)
    _check(size.ndim == 2 and (size >= 0).all(), "capacity: give 0 or more by resource and node")
    resources, count = size.shape
    rows, gone = _rows(holdings, resources), _gone(absences, begin)
    for node in (rows.node, gone.node):
        _check(((node >= 0) & (node < count)).all(), f"a row names a node beyond the {count}")
    inside = (rows.start >= begin).all() and (rows.stop <= end).all()
    _check(inside, f"rows must lie between {begin:g} and {end:g} s")
    nodes = NodeTables(
        capacity=size,
        left=size.copy(),
        used_up=np.zeros(count, np.int64),
        gone=np.zeros(count, np.int64),
        since=np.zeros(count),
        seconds=np.zeros((resources, len(STATES), count)),
        rest=np.zeros((resources, len(STATES), count)),
    )
    room = 0
    if record:
        instants = [rows.start, rows.stop, gone.begin, gone.end, np.array([begin, end])]
        room = len(np.unique(np.concatenate(instants)))
    steps = Steps(np.empty(room), np.empty((room, resources, len(STATES)), np.int64))
    level = np.zeros((resources, len(STATES)), np.int64)
    made, over = walk(rows, gone, nodes, steps, level, float(begin), float(end))
    if over != ALL_FIT:
        job, node = np.asarray(holdings.job)[over], rows.node[over]
        raise RunError(
            f"fragmentation: with job {job} more is held of node {node} than it has, at "
            f"{rows.start[over]:g} s; please report this as a bug"
        )
    return nodes, Steps(steps.time[:made], steps.level[:made])


def _check(good: object, problem: str) -> None:
    if not good:
        raise OptionError(f"fragmentation: {problem}")


def _own(values: ArrayLike, dtype: Any) -> NDArray[Any]:
    """Return an array that kernels take: of one type, in one piece, not read-only."""
    return np.require(values, dtype=dtype, requirements=["C", "W"])


def _in_order(begin: Floats, end: Floats) -> tuple[Ints, Ints]:
    """Return what takes time, by its beginning and by its end.

    What takes none is left out: it would end before it has begun.
    """
    lasting = np.flatnonzero(end > begin)
    first, second = (lasting[np.argsort(x[lasting], kind="stable")] for x in (begin, end))
    return first, second


def _rows(holdings: Holdings, resources: int) -> Rows:
    node, held = _own(holdings.node, np.int64), _own(holdings.held, np.int64)
    start, stop = _own(holdings.start, np.float64), _own(holdings.stop, np.float64)
    if not len(node):
        held = held.reshape(resources, 0)
    _check(node.shape == start.shape == stop.shape, "give one node, start and stop for each row")
    shape = (resources, len(node))
    _check(held.shape == shape, f"held is of shape {held.shape}; give {shape}")
    _check(held.min(initial=0) >= 0, "a row holds less than 0")
    return Rows(node, start, stop, held, *_in_order(start, stop))


def _gone(absences: Absences, begin: float) -> Gone:
    node = _own(absences.node, np.int64)
    since, until = (
        np.maximum(np.asarray(x, dtype=np.float64), begin) for x in (absences.begin, absences.end)
    )
    _check(
        node.shape == since.shape == until.shape, "give one node, begin and end for each absence"
    )
    return Gone(node, since, until, *_in_order(since, until))
