"""The ledger of states: what nodes consume while they are busy, idle, asleep, switching or failed.

A node is in one state from each change to the next. One that is on is busy while a job is on it,
at the watts of its load, and idle else. All of it is constant between changes, so that energies are
sums of products, and those of all nodes in all states together are the integral of the power.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...arrays import Floats, Ints
from ...errors import OptionError
from ..cost import Carbon, Clock, Prices, Tariff, electricity_cost, emissions
from ._checks import check, is_known

KINDS = ("busy", "idle", "sleep", "entering", "leaving", "off", "failed")
"""What a ledger distinguishes; a node that is ``on`` is busy or idle."""

_ON = "on"
_BUSY, _IDLE = 0, 1
_LOAD_SLACK = 1e-9


@dataclass(frozen=True)
class NodeState:
    """A state that nodes can be in.

    Parameters
    ----------
    kind : ``on``, ``sleep``, ``entering``, ``leaving``, ``off`` or ``failed``.
    watts : W of the node; of one that is on, while it is idle or its load is 0.
    busy_watts : W of a node that is on at loads from 0 to 1, evenly spaced, with straight lines
        between; the first is the limit as the load goes to 0, which for SimGrid is not idle. Empty:
        `watts` at every load.
    """

    kind: str
    watts: float
    busy_watts: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        kinds = (_ON, *KINDS[2:])
        if self.kind not in kinds:
            raise OptionError(f"node state: kind '{self.kind}': choose {', '.join(kinds)}")
        if not is_known(np.array([self.watts, *self.busy_watts], dtype=np.float64)):
            raise OptionError(
                f"node state: {self.kind} with watts below 0 or not finite; correct it"
            )
        if self.busy_watts and self.kind != _ON:
            raise OptionError(
                f"node state: no job is on a node that is {self.kind}; leave busy_watts"
            )
        if len(self.busy_watts) == 1:
            raise OptionError("node state: give busy_watts at loads 0 and 1 at least")


class Occupation(NamedTuple):
    """Which nodes jobs have: a row for each node of each job."""

    start: ArrayLike  # s
    end: ArrayLike  # s
    node: ArrayLike
    load: ArrayLike = 1.0  # of the whole node, 0 to 1; those of jobs on one node add up


class _StateSpans(NamedTuple):
    """Between two changes of a node, in the order of nodes, then of time."""

    node: Ints
    begin: Floats  # s
    end: Floats  # s
    kind: Ints  # place in `KINDS`
    watts: Floats


@dataclass(frozen=True, eq=False)
class StateLedger:
    """Energies and times of nodes by state.

    ``joules.sum()`` is the integral of ``step_watts.sum(axis=0)`` over ``step_time``.

    Parameters
    ----------
    joules, seconds : by node (row) and state (column, in the order of `KINDS`).
    open_seconds : the part of `seconds` of the state that each node is in at the end: what a tally
        that adds a time when a state is left does not have.
    stretches : what they are made of.
    """

    joules: Floats
    seconds: Floats
    open_seconds: Floats
    stretches: _StateSpans

    @property
    def energy(self) -> float:
        """Joules of all nodes."""
        return float(self.joules.sum())

    def by_state(self) -> dict[str, tuple[float, float]]:
        """Return joules and node seconds of each state, by its name."""
        sums = zip(self.joules.sum(axis=0).tolist(), self.seconds.sum(axis=0).tolist(), strict=True)
        return dict(zip(KINDS, sums, strict=True))

    @property
    def step_time(self) -> Floats:
        """Instants (s) at which something changes; the last is the end."""
        return self._instants[0]

    @cached_property
    def _instants(self) -> tuple[Floats, Ints]:
        """All instants, and which of them each stretch begins at; at last, that of the end."""
        last = self.stretches.end.max(initial=-np.inf)
        time, place = np.unique(np.append(self.stretches.begin, last), return_inverse=True)
        return time, place

    @cached_property
    def step_watts(self) -> Floats:
        """W of all nodes in each state (row), from each instant on."""
        return self._stepped(self.stretches.watts)

    @cached_property
    def step_nodes(self) -> Ints:
        """How many nodes are in each state (row), from each instant on."""
        return self._stepped(np.ones(len(self.stretches.node))).astype(np.int64)

    def _stepped(self, value: Floats) -> Floats:
        """Return the sums of a value of nodes in each state, from each instant on."""
        begin, end = self._instants[1][:-1], self._instants[1][1:].copy()
        # The last state of a node is what it is in at the end, too.
        end[_is_last(self.stretches.node)] = len(self.step_time)
        lasting = end > begin
        width, first = len(self.step_time) + 1, self.stretches.kind * (len(self.step_time) + 1)
        places = np.concatenate([(first + begin)[lasting], (first + end)[lasting]])
        signed = np.concatenate([value[lasting], -value[lasting]])
        change = _sums(places, signed, (len(KINDS), width))
        return np.cumsum(change, axis=1)[:, :-1]

    def cost(self, tariff: Tariff | Prices, clock: Clock | None = None) -> Floats:
        """Return the cost of the energy of each state, in the currency of the tariff.

        Parameters
        ----------
        tariff : price per kWh.
        clock : which moment second 0 is; default: midnight, Monday, UTC.
        """
        return np.array(
            [electricity_cost(self.step_time, watts, tariff, clock) for watts in self.step_watts]
        )

    def emissions(self, carbon: Carbon) -> Floats:
        """Return the grams of CO2 of the energy of each state."""
        return np.array([emissions(self.step_time, watts, carbon) for watts in self.step_watts])


def state_ledger(
    time: ArrayLike,
    node: ArrayLike,
    state: ArrayLike,
    states: Sequence[NodeState],
    occupation: Occupation | None = None,
    *,
    until: float | None = None,
) -> StateLedger:
    """Return what nodes consumed in each state, from recorded changes of states and jobs.

    Changes of a node at one instant are in the order in which they are given, and the last holds.

    Parameters
    ----------
    time, node, state : changes: when (s), of which node (0, 1, ...), and to which of `states`. The
        first change of a node is where its account begins.
    states : that nodes can be in.
    occupation : nodes of jobs; jobs run only on nodes that are on.
    until : where the account ends, s; default: the last change or end of a job.

    Raises
    ------
    OptionError
        When a node has no state when a job is on it, is not on, or has more load than it can take.

    Examples
    --------
    A node idles for 10 s at 95 W, shuts down in 7 s at 110 W, and is off for 10 s at 10 W:

    >>> states = NodeState("on", 95), NodeState("entering", 110), NodeState("off", 10)
    >>> ledger = state_ledger([0, 10, 17], [0, 0, 0], [0, 1, 2], states, until=27)
    >>> ledger.energy, ledger.by_state()["off"]
    (1820.0, (100.0, 10.0))
    """
    when, which, to = _column(time), _whole(node, "nodes"), _whole(state, "states")
    check(len(when) == len(which) == len(to), "give one node and one state for each change")
    check(len(when) > 0, "no state of a node; give the first of each")
    check(len(states) > 0 and to.max() < len(states), "a change to a state that is not given")
    rows = Occupation((), (), ()) if occupation is None else occupation
    start, end, on = _column(rows.start), _column(rows.end), _whole(rows.node, "nodes")
    load = np.broadcast_to(_column(rows.load), start.shape)
    check(len(start) == len(end) == len(on), "give start, end and node of every row of a job")
    check((end >= start).all(), "a job ends before it starts")
    check(((load >= 0) & (load <= 1)).all(), "loads must be between 0 and 1")
    last = float(max(when.max(), end.max(initial=-np.inf)) if until is None else until)
    check(when.min() <= last < np.inf, f"it ends at {last:g} s, before it begins or never")
    missing = np.setdiff1d(np.arange(max(which.max(), on.max(initial=0)) + 1), which)
    check(missing.size == 0, f"node {missing[:1].sum()} has no state; give its first")

    stretches = _stretches(states, (when, which, to), (start, end, on, load), last)
    lapse = stretches.end - stretches.begin
    shape = (int(which.max()) + 1, len(KINDS))
    place = stretches.node * len(KINDS) + stretches.kind
    return StateLedger(
        joules=_sums(place, lapse * stretches.watts, shape),
        seconds=_sums(place, lapse, shape),
        open_seconds=_open(stretches, shape),
        stretches=stretches,
    )


def _stretches(
    states: Sequence[NodeState], changes: tuple[Any, ...], rows: tuple[Any, ...], last: float
) -> _StateSpans:
    """Return what each node is in between one change and the next, of states or of jobs."""
    (when, which, to), (start, end, on, load) = changes, rows
    # At one instant the order is of no account, but for that of changes: no time passes.
    nodes, times = np.concatenate([which, on, on]), np.concatenate([when, end, start])
    order = np.argsort(times, kind="stable")
    # Small integers are sorted by counting.
    place = nodes.astype(np.min_scalar_type(nodes.max()))[order]
    order = order[np.argsort(place, kind="stable")]
    nodes, times = nodes[order], times[order]
    changed = np.concatenate([to, np.full(2 * len(start), -1)])[order]
    early = (np.diff(nodes, prepend=-1) != 0) & (changed < 0)
    check(not early.any(), f"a job is on node {nodes[early][:1].sum()} before its first state")
    current = changed[np.maximum.accumulate(np.where(changed >= 0, np.arange(len(nodes)), 0))]

    def in_use(weight: Floats) -> Floats:
        """Return the sum of a weight of the jobs on the node."""
        return np.cumsum(np.concatenate([np.zeros(len(when)), -weight, weight])[order])

    jobs, working, loads = in_use(np.ones(len(start))), in_use(np.sign(load)), in_use(load)
    loads[working == 0] = 0.0  # exactly, whatever rounding left
    known = times <= last
    nodes, begin, current = nodes[known], times[known], current[known]
    jobs, loads = jobs[known], loads[known]
    finish = np.where(_is_last(nodes), last, np.append(begin[1:], last))

    is_on = np.array([state.kind == _ON for state in states])[current]
    lasting = (jobs > 0) & (finish > begin)
    for wrong, problem in (
        (lasting & ~is_on, "has a job on it but is not on"),
        (lasting & (loads > 1 + _LOAD_SLACK), "has a load of more than 1"),
    ):
        at = np.flatnonzero(wrong)[:1]
        check(at.size == 0, f"node {nodes[at].sum()} {problem} at {begin[at].sum():.15g} s")
    code = np.array([_IDLE if s.kind == _ON else KINDS.index(s.kind) for s in states])
    kind = np.where(is_on & (jobs > 0), _BUSY, code[current])
    return _StateSpans(nodes, begin, finish, kind, _watts(states, current, loads))


def _column(values: ArrayLike) -> Floats:
    column = np.asarray(values, dtype=np.float64)
    check(np.isfinite(column).all(), "times and loads must be finite numbers")
    return column


def _whole(values: ArrayLike, what: str) -> Ints:
    given = np.asarray(values)
    column = given.astype(np.int64)
    check((column == given).all() and (column >= 0).all(), f"{what} are numbered from 0")
    return column


def _watts(states: Sequence[NodeState], current: Ints, load: Floats) -> Floats:
    """Return the watts of states at loads; at load 0 those of an idle node."""
    idle = np.array([state.watts for state in states], dtype=np.float64)[current]
    curves = [state.busy_watts or (state.watts, state.watts) for state in states]
    first = np.concatenate([[0], np.cumsum([len(curve) for curve in curves])])
    flat = np.concatenate([np.asarray(curve, dtype=np.float64) for curve in curves])
    steps = (np.diff(first) - 1)[current]
    place = np.clip(load, 0.0, 1.0) * steps
    level = np.minimum(place.astype(np.int64), steps - 1)
    low, high = flat[first[current] + level], flat[first[current] + level + 1]
    beyond = place - level
    return np.where(load > 0, low * (1 - beyond) + high * beyond, idle)


def _is_last(node: Ints) -> NDArray[np.bool_]:
    """Whether a stretch is the last of its node."""
    return np.append(np.diff(node) != 0, True)[: len(node)]


def _sums(place: Ints, value: Floats, shape: tuple[int, int]) -> Floats:
    """Return the sum of a value at each place of a table, by rows."""
    sums = np.bincount(place, weights=value, minlength=shape[0] * shape[1])
    return sums.astype(np.float64).reshape(shape)


def _open(stretches: _StateSpans, shape: tuple[int, int]) -> Floats:
    """Return, by node and state, how long each node has been in its last state at the end."""
    node, kind = stretches.node, stretches.kind
    entered = (np.diff(node, prepend=-1) != 0) | (np.diff(kind, prepend=-1) != 0)
    since = np.maximum.accumulate(np.where(entered, np.arange(len(node)), 0))
    final = np.flatnonzero(_is_last(node))
    seconds = np.zeros(shape)
    seconds[node[final], kind[final]] = stretches.end[final] - stretches.begin[since[final]]
    return seconds
