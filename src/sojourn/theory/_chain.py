"""Stationary distributions of finite Markov chains in continuous time."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..arrays import Floats
from ..errors import OptionError

State = TypeVar("State", bound=Hashable)


def explore(
    begin: Iterable[State],
    neighbours: Callable[[State], Iterable[State]],
    *,
    most: int,
) -> list[State] | None:
    """Return all states that can be reached, in the order in which they are found.

    From those to `begin` with it goes on to neighbours; None where there are more than `most`.
    """
    states = dict.fromkeys(begin)
    fresh = list(states)
    while fresh:
        if len(states) > most:
            return None
        reached: list[State] = []
        for state in fresh:
            for after in neighbours(state):
                if after not in states:
                    states[after] = None
                    reached.append(after)
        fresh = reached
    return list(states)


def rates_between(
    states: Sequence[State], transitions: Callable[[State], Mapping[State, float]]
) -> Any:
    """Return the rates between states as a sparse matrix, without a diagonal."""
    from scipy import sparse

    index = {state: i for i, state in enumerate(states)}
    rows, columns, values = [], [], []
    for i, state in enumerate(states):
        for after, rate in transitions(state).items():
            rows.append(i)
            columns.append(index[after])
            values.append(rate)
    size = (len(states), len(states))
    return sparse.csr_matrix((values, (rows, columns)), shape=size)


def stationary(rates: Any) -> Floats:
    """Solve pi Q = 0, sum pi = 1, for a chain with one closed class, from a sparse matrix of rates.

    What is on its diagonal does not matter. Transient states get probability 0. Small classes are
    solved without a subtraction (Grassmann, Taksar and Heyman), so that each probability is right
    to rounding, however small.
    """
    from scipy import sparse

    closed = _closed_class(rates)
    inner = sparse.csr_matrix(rates)[closed][:, closed]
    pi = np.zeros(rates.shape[0])
    if len(closed) <= _DENSE:
        pi[closed] = eliminate(inner.toarray())
    else:
        pi[closed] = _solve(inner)
    return pi


_DENSE = 600


def _closed_class(rates: Any) -> NDArray[np.intp]:
    """The states of the class that is never left."""
    from scipy.sparse import csgraph

    count, label = csgraph.connected_components(rates, directed=True, connection="strong")
    if count == 1:
        return np.arange(rates.shape[0])
    graph = rates.tocoo()
    leaves = np.zeros(count, dtype=bool)
    out = (label[graph.row] != label[graph.col]) & (graph.data > 0)
    leaves[label[graph.row[out]]] = True
    kept = np.flatnonzero(~leaves)
    if len(kept) > 1:
        raise OptionError("the chain never leaves where it begins: more than one closed class")
    return np.flatnonzero(label == kept[0])


def eliminate(rates: Floats) -> Floats:
    """Eliminate states one by one, from the last; no subtraction, so no cancellation."""
    q = rates.copy()
    np.fill_diagonal(q, 0.0)
    size = len(q)
    for n in range(size - 1, 0, -1):
        q[:n, n] /= q[n, :n].sum()
        q[:n, :n] += np.outer(q[:n, n], q[n, :n])
    pi = np.ones(size)
    for n in range(1, size):
        pi[n] = pi[:n] @ q[:n, n]
    return np.asarray(pi / pi.sum())


def _solve(rates: Any) -> Floats:
    from scipy import sparse
    from scipy.sparse import linalg

    out = np.asarray(rates.sum(axis=1)).ravel()
    generator = (rates - sparse.diags(out)).T.tolil()
    generator[0, :] = 1.0
    right = np.zeros(rates.shape[0])
    right[0] = 1.0
    pi = np.abs(linalg.spsolve(generator.tocsc(), right))
    return np.asarray(pi / pi.sum())


def deviation(rates: Any, pi: Floats, reward: Floats) -> Floats:
    """Solve Poisson's equation Q g = mean - reward with pi g = 0, of rates and rewards per second.

    g is how much more reward than on average is to come, for each state to begin in.
    """
    from scipy import sparse
    from scipy.sparse import linalg

    out = np.asarray(rates.sum(axis=1)).ravel()
    # The first unknown is set to 0, then all are shifted to pi g = 0.
    system = (rates - sparse.diags(out)).tocsc()[1:, 1:]
    g = np.zeros(len(pi))
    g[1:] = linalg.spsolve(system, pi @ reward - reward[1:])
    return np.asarray(g - pi @ g)
