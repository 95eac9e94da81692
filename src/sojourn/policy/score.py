"""A score orders the waiting jobs: the smallest comes first, ties by submission."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from ..errors import PolicyError
from ._naming import portable, restored
from ._reading import reading_of
from .record import numbers, with_record

Formula = Callable[..., float]

# What never changes about a node.
_FIXED = frozenset({"procs", "memory", "ops", "slowness", "watts", "idle_watts"})


@dataclass(frozen=True)
class Score:
    """A formula for the order of the queue, compiled on first use.

    Parameters
    ----------
    formula : ``(jobs, j, now, theta) -> float``; `jobs` has the columns submit, estimate, procs,
        user, group, queue, partition, memory, account, qos, nodes, gpus; `now` is in seconds.
    theta : parameters handed to the formula.
    house : one of ours, whose compiled code is kept between processes.
    clairvoyant : whether `jobs` has the column work too, the true runtime.
    """

    formula: Formula
    theta: tuple[float, ...] = ()
    house: bool = field(default=False, repr=False)
    clairvoyant: bool = field(default=False, kw_only=True)

    def __reduce__(self) -> tuple[Any, ...]:
        formula = portable(self.formula, "formula")
        return _remade, (Score, formula, self.theta, self.house, self.clairvoyant)

    def __copy__(self) -> Score:
        return self

    def __deepcopy__(self, known: Any) -> Score:
        return self

    @property
    def name(self) -> str:
        """The function's name."""
        return self.formula.__name__

    def __call__(self, jobs: Any, j: int, now: float, theta: Any = ()) -> float:
        """Evaluate the formula as plain Python."""
        return self.formula(jobs, j, now, theta or self.theta)

    def with_theta(self, *theta: float) -> Score:
        """Return the same formula with other parameters."""
        return replace(self, theta=numbers(theta, "theta"))

    @cached_property
    def depends_on_time(self) -> bool:
        """Whether the formula may read `now`; one that does not is evaluated once per job."""
        reading = reading_of(self.formula)
        return reading.mentions(2) or reading.helpers is None

    @property
    def pointer(self) -> Any:
        """The compiled formula, as the kernels take it."""
        return self.compiled()

    def compiled(self, *, checked: bool = True) -> Any:
        """Return the formula as the kernels take it; `checked` if its indices are to be checked."""
        if self.house:
            return _compile_ours(self.formula)
        bounds = _bounds(self.formula, {0: 1}, 3, len(self.theta)) if checked else None
        return _compile(self.formula, False, self.clairvoyant, bounds)

    @property
    def parameters(self) -> NDArray[np.float64]:
        """Theta as the compiled formula takes it, new for each run."""
        return _parameters(self.theta, self.house)


@dataclass(frozen=True)
class NodeScore:
    """A formula for the order in which a placement visits nodes, compiled on first use.

    Parameters
    ----------
    formula : ``(nodes, n, jobs, j, now, theta) -> float``; `nodes` has the columns procs, free,
        memory and free_memory (KB), ops, slowness, watts and idle_watts (per processor); `jobs`
        and `now` are as for an order of the queue.
    theta : parameters handed to the formula.
    clairvoyant : whether `jobs` has the column work too, the true runtime.
    """

    formula: Formula
    theta: tuple[float, ...] = ()
    clairvoyant: bool = field(default=False, kw_only=True)

    def __reduce__(self) -> tuple[Any, ...]:
        formula = portable(self.formula, "formula")
        return _remade, (NodeScore, formula, self.theta, False, self.clairvoyant)

    def __copy__(self) -> NodeScore:
        return self

    def __deepcopy__(self, known: Any) -> NodeScore:
        return self

    @property
    def name(self) -> str:
        """The function's name."""
        return self.formula.__name__

    @cached_property
    def is_fixed(self) -> bool:
        """Whether it is seen to look at nothing that changes, nor at the job.

        There is one order of the nodes for all jobs then.
        """
        reading = reading_of(self.formula)
        looks = reading.mentions(2, 3, 4) or not reading.takes_only(0, _FIXED)
        return not looks and reading.helpers is not None

    @property
    def pointer(self) -> Any:
        """The compiled formula, as the kernels take it."""
        return self.compiled()

    def compiled(self, *, checked: bool = True) -> Any:
        """Return the formula as the kernels take it; `checked` if its indices are to be checked."""
        bounds = _bounds(self.formula, {0: 1, 2: 3}, 5, len(self.theta)) if checked else None
        return _compile(self.formula, True, self.clairvoyant, bounds)

    @property
    def parameters(self) -> NDArray[np.float64]:
        """Theta as the compiled formula takes it, new for each run."""
        return _parameters(self.theta, False)


def _remade(kind: Any, formula: Any, theta: Any, house: bool, clairvoyant: bool) -> Any:
    """A score that another process, or this one, has pickled; it is compiled anew."""
    more = {"house": house} if house else {}
    return kind(restored(formula), theta, clairvoyant=clairvoyant, **more)


def _parameters(theta: tuple[float, ...], house: bool) -> NDArray[np.float64]:
    return np.array(theta or (0.0,), dtype=np.float64) if house else with_record(theta)


def _bounds(
    formula: Formula, index_of: dict[int, int], theta: int, length: int
) -> tuple[Any, ...] | None:
    """The helpers whose indices are checked with those of a formula; None if none can be wrong."""
    reading = reading_of(formula)
    return None if reading.stays_inside(index_of, theta, length) else (reading.helpers or ())


@cache
def _compile_ours(formula: Formula) -> Any:
    from ..engine.scores import compile_formula

    return compile_formula(formula)


@cache
def _compile(
    formula: Formula, of_nodes: bool, clairvoyant: bool, bounds: tuple[Any, ...] | None
) -> Any:
    from ._complaints import why_not_compiled
    from ._guard import compile_score

    try:
        return compile_score(formula, of_nodes=of_nodes, clairvoyant=clairvoyant, checked=bounds)
    except Exception as error:
        # Whatever the compiler trips over, it is the formula that has to change.
        raise PolicyError(
            why_not_compiled("score", formula, error, clairvoyant=clairvoyant)
        ) from None


@overload
def score(formula: Formula) -> Any: ...
@overload
def score(
    *, theta: Sequence[float] = (), clairvoyant: bool = False
) -> Callable[[Formula], Any]: ...
def score(
    formula: Formula | None = None, *, theta: Sequence[float] = (), clairvoyant: bool = False
) -> Any:
    """Make an order from a formula; the smallest value comes first.

    Of the queue: ``(jobs, j, now, theta) -> float``, a `Score`. Of the nodes, for a placement:
    ``(nodes, n, jobs, j, now, theta) -> float``, a `NodeScore`.

    Parameters
    ----------
    formula : the function; it can read what it is handed, not write it.
    theta : parameters handed to the formula.
    clairvoyant : offer it the column ``jobs.work`` too, the true runtimes (s), which no scheduler
        knows: for a bound on what any order could reach.

    Examples
    --------
    >>> @score
    ... def shortest_first(jobs, j, now, theta):
    ...     return jobs.estimate[j]
    >>> @score
    ... def coolest_first(nodes, n, jobs, j, now, theta):
    ...     return nodes.watts[n]
    """

    def make(formula: Formula) -> Score | NodeScore:
        # One that is compiled already is compiled again, for what it is handed here.
        formula = getattr(formula, "py_func", formula)
        code = getattr(formula, "__code__", None)
        count = getattr(code, "co_argcount", -1)
        kind = {4: Score, 6: NodeScore}.get(count)
        if kind is None:
            raise PolicyError(
                f"score '{getattr(formula, '__name__', formula)}' must be a function of "
                "(jobs, j, now, theta), or of (nodes, n, jobs, j, now, theta) for a placement"
            )
        made: Score | NodeScore = kind(formula, numbers(theta, "theta"), clairvoyant=clairvoyant)
        return made

    return make if formula is None else make(formula)
