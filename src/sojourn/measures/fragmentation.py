"""Fragmentation: resources that nobody can use because another one is used up on the same node.

At any time what a node has of a resource is

- *used*: held by jobs (a job with whole nodes holds all processors of its nodes);
- *stranded*: held by nobody, while the node is there and another resource that it has is used up;
- *free*: held by nobody, while the node is there and has some of every resource left;
- *down*: held by nobody, while the node is not there.

These four add up to what the node has, at any time. They follow from allocations alone, and know
nothing of the engine that made them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Floats, Ints
from ..errors import OptionError, RunError

if TYPE_CHECKING:
    import pandas as pd


STATES = ("used", "stranded", "free", "down")
"""What a part of a resource can be at a time."""

_USED, _STRANDED, _FREE, _DOWN = range(len(STATES))


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

        The resource is given by its place, some nodes by theirs; default: all nodes.
        """
        chosen = slice(None) if nodes is None else np.asarray(nodes, np.int64)
        whole = float(self.capacity[resource, chosen].sum()) * self.span
        part = float(self.seconds[resource, STATES.index(state), chosen].sum())
        return part / whole if whole > 0 else float("nan")

    def as_dict(self, nodes: ArrayLike | None = None) -> dict[str, dict[str, Any]]:
        """Return the totals of each resource that nodes have, of all or some, ready for JSON."""
        chosen = slice(None) if nodes is None else np.asarray(nodes, np.int64)
        rows: dict[str, dict[str, Any]] = {}
        for r, name in enumerate(self.resources):
            capacity = int(self.capacity[r, chosen].sum())
            if capacity > 0:
                sums = self.seconds[r][:, chosen].sum(axis=1)
                rows[name] = {
                    "capacity": capacity,
                    **{state: float(value) for state, value in zip(STATES, sums, strict=True)},
                    "share": {state: self.share(r, state, nodes) for state in STATES},
                }
        return rows


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
    course = _course(holdings, capacity, begin, end, absences or Absences())
    count = course.capacity.shape[1]
    is_last = np.append(course.node[1:] != course.node[:-1], True)[: len(course.node)]
    until = np.where(is_last, end, np.append(course.time[1:], end)[: len(course.node)])
    lapse = np.minimum(until, end) - np.minimum(course.time, end)
    seconds = np.zeros((len(resources), len(STATES), count))
    place = course.idle * count + course.node
    for row, used, left in zip(course.there.tolist(), course.used, course.left, strict=True):
        part = seconds[row]
        part += np.bincount(place, left * lapse, len(STATES) * count).reshape(part.shape)
        part[_USED] = np.bincount(course.node, used * lapse, count)
    return Fragmentation(resources, course.capacity, max(float(end - begin), 0.0), seconds)


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

    course = _course(holdings, capacity, begin, end, absences or Absences())
    level = np.zeros((len(course.node), *course.used.T.shape[1:], len(STATES)), np.int64)
    level[:, :, _USED] = course.used.T
    np.put_along_axis(level, course.idle[:, None, None], course.left.T[:, :, None], axis=2)
    change = np.diff(level, axis=0, prepend=0)
    is_first = np.append(True, course.node[1:] != course.node[:-1])[: len(course.node)]
    change[is_first] = level[is_first]
    order = np.argsort(course.time, kind="stable")
    order = order[course.time[order] <= max(begin, end)]
    time, level = course.time[order], np.cumsum(change[order], axis=0)
    lasts = np.append(time[1:] > time[:-1], True)
    time, level = time[lasts], level[lasts]
    differs = np.append(True, (level[1:] != level[:-1]).any(axis=(1, 2)))
    time, level = time[differs], level[differs]
    if time[-1] < end:
        # What lasts to the end has its last row there, as power over time has.
        time, level = np.append(time, end), np.concatenate([level, level[-1:]])
    columns: dict[str, Any] = {"time": time}
    for place, r in enumerate(course.there.tolist()):
        for s, state in enumerate(STATES if course.capacity[r].any() else ()):
            columns[f"{resources[r]}_{state}"] = np.ascontiguousarray(level[:, place, s])
    return pd.DataFrame(columns, copy=False)


class _Course(NamedTuple):
    """What became of the nodes, by node and time: from each instant on to the next of its node."""

    capacity: Ints  # resources x nodes
    there: Ints  # the resources that some node has, or some job holds
    node: Ints
    time: Floats  # s
    used: Ints  # these resources x instants
    left: Ints  # held by nobody, likewise
    idle: Ints  # what that counts as, a place in `STATES`


def _course(
    holdings: Holdings, capacity: ArrayLike, begin: float, end: float, absences: Absences
) -> _Course:
    """Return what is held of each node, and what the rest of it counts as."""
    size = np.asarray(capacity, np.int64)
    _check(size.ndim == 2 and (size >= 0).all(), "capacity: give 0 or more by resource and node")
    resources, count = size.shape
    node, held = np.asarray(holdings.node, np.int64), np.asarray(holdings.held, np.int64)
    start, stop = (np.asarray(x, np.float64) for x in (holdings.start, holdings.stop))
    held = held if len(node) else held.reshape(resources, 0)
    _check(node.shape == start.shape == stop.shape, "give one node, start and stop for each row")
    shape = (resources, len(node))
    _check(held.shape == shape, f"held is of shape {held.shape}; give {shape}")
    _check(held.min(initial=0) >= 0, "a row holds less than 0")
    away = np.asarray(absences.node, np.int64)
    since, until = (
        np.maximum(np.asarray(x, np.float64), begin) for x in (absences.begin, absences.end)
    )
    _check(
        away.shape == since.shape == until.shape, "give one node, begin and end for each absence"
    )
    for named in (node, away):
        _check(((named >= 0) & (named < count)).all(), f"a row names a node beyond the {count}")
    inside = (start >= begin).all() and (stop <= end).all()
    _check(inside, f"rows must lie between {begin:g} and {end:g} s")
    # What takes no time would end before it has begun.
    rows, gone = np.flatnonzero(stop > start), np.flatnonzero(until > since)
    # At one instant stops come first, and starts last.
    places = [np.arange(count), node[rows], away[gone], away[gone], node[rows]]
    times = [np.full(count, float(begin)), stop[rows], until[gone], since[gone], start[rows]]
    there = np.flatnonzero(size.any(axis=1) | held.any(axis=1))
    some = len(there)
    mine = held[there].take(rows, axis=1)
    nobody = np.zeros((some, count), np.int64), np.zeros((some, 2 * len(gone)), np.int64)
    taken = np.concatenate([nobody[0], -mine, nobody[1], mine], axis=1)
    which, when = np.concatenate(places), np.concatenate(times)
    order = np.argsort(when, kind="stable")
    # Small integers are sorted by counting.
    order = order[np.argsort(which.astype(np.min_scalar_type(count))[order], kind="stable")]
    which = which[order]
    # Whatever a node gives away comes back to it, so that each begins with 0 again.
    used = np.cumsum(taken.take(order, axis=1), axis=1)
    room = size[there].take(which, axis=1)
    left = room - used
    _check_room(holdings, left, rows, order, start)
    used_up = ((left == 0) & (room > 0)).any(axis=0)
    idle = np.where(used_up, _STRANDED, _FREE)
    if len(gone):
        absent = np.repeat([0, -1, 1, 0], [count + len(rows), len(gone), len(gone), len(rows)])
        idle[np.cumsum(absent[order]) > 0] = _DOWN
    return _Course(size, there, which, when[order], used, left, idle)


def _check_room(holdings: Holdings, left: Ints, rows: Ints, order: Ints, start: Floats) -> None:
    """Raise RunError for the first row that takes more than its node has."""
    started = order[(left < 0).any(axis=0)] - (len(order) - len(rows))
    over = rows[started[started >= 0]]
    if len(over):
        first = over[np.lexsort((over, start[over]))[0]]
        raise RunError(
            f"fragmentation: with job {np.asarray(holdings.job)[first]} more is held of node "
            f"{np.asarray(holdings.node)[first]} than it has, at {start[first]:g} s; please report "
            "this as a bug"
        )


def _check(good: object, problem: str) -> None:
    if not good:
        raise OptionError(f"fragmentation: {problem}")
