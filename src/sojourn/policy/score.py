"""A score orders the waiting jobs: the smallest comes first, ties by submission."""

from __future__ import annotations

import dis
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from ..errors import PolicyError
from ._by_name import function_named, name_of

__all__ = ["NodeScore", "Score", "score"]

Formula = Callable[..., float]


@dataclass(frozen=True)
class Score:
    """A formula for the order of the queue, compiled on first use.

    Parameters
    ----------
    formula : ``(jobs, j, now, theta) -> float``; `jobs` has the columns submit, estimate, procs,
        user, group, queue, partition, memory; `now` is in seconds.
    theta : parameters handed to the formula.
    house : one of ours, whose compiled code is kept between processes.
    """

    formula: Formula
    theta: tuple[float, ...] = ()
    house: bool = field(default=False, repr=False)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (Score, name_of(self.formula), self.theta, self.house)

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
        return replace(self, theta=tuple(float(value) for value in theta))

    @cached_property
    def depends_on_time(self) -> bool:
        """Whether the formula reads `now`; one that does not is evaluated once per job."""
        return bool(_read(self.formula, {2}))

    @cached_property
    def pointer(self) -> Any:
        """The compiled formula, as the kernels take it."""
        from ..engine.types import SCORE

        return _compile(self.formula, SCORE, self.house, "the columns of jobs")

    @property
    def parameters(self) -> NDArray[np.float64]:
        """Theta as the kernels take it."""
        return np.array(self.theta or (0.0,), dtype=np.float64)


@dataclass(frozen=True)
class NodeScore:
    """A formula for the order in which a placement visits nodes, compiled on first use.

    Parameters
    ----------
    formula : ``(nodes, n, jobs, j, now, theta) -> float``; `nodes` has the columns procs, free,
        memory and free_memory (KB), ops, slowness, watts and idle_watts (per processor); `jobs`
        and `now` are as for an order of the queue.
    theta : parameters handed to the formula.
    """

    formula: Formula
    theta: tuple[float, ...] = ()

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (NodeScore, name_of(self.formula), self.theta)

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
        """Whether it looks at nothing that changes, nor at the job: one order of nodes for all."""
        names = self.formula.__code__.co_names
        return not (_read(self.formula, {2, 3, 4}) or {"free", "free_memory"} & set(names))

    @cached_property
    def pointer(self) -> Any:
        """The compiled formula, as the kernels take it."""
        from ..engine.nodes import NODE_SCORE

        return _compile(self.formula, NODE_SCORE, False, "the columns of nodes and jobs")

    @property
    def parameters(self) -> NDArray[np.float64]:
        """Theta as the kernels take it."""
        return np.array(self.theta or (0.0,), dtype=np.float64)


def _restored(kind: type[Score | NodeScore], name: tuple[str, str], *rest: Any) -> Any:
    """A score that another process, or this one, has pickled; it is compiled anew."""
    return kind(function_named(*name), *rest)


def _read(formula: Formula, places: set[int]) -> set[str]:
    """Which of the arguments at these places a formula reads."""
    code = formula.__code__
    wanted = {code.co_varnames[place] for place in places}
    found: set[str] = set()
    for step in dis.get_instructions(code):
        values = step.argval if isinstance(step.argval, tuple) else (step.argval,)
        found |= wanted & {value for value in values if isinstance(value, str)}
    return found


@cache
def _compile(formula: Formula, signature: Any, house: bool, columns: str) -> Any:
    import numba

    from ..jit import compiled

    try:
        if house:
            return compiled(signature, pointer=True)(formula)
        return numba.njit(signature, error_model="numpy", nogil=True)(formula)
    except numba.core.errors.NumbaError as error:
        raise PolicyError(
            f"score '{formula.__name__}' does not compile: {_first_line(error)}; use numbers, "
            f"arithmetic, the math module and {columns} only, or step the "
            "simulation from Python with sojourn.Simulation"
        ) from None


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    told = [line for line in lines if not line.startswith(("Failed in", "During:", "File "))]
    return (told or lines or ["unknown reason"])[0][:200]


@overload
def score(formula: Formula) -> Any: ...
@overload
def score(*, theta: Sequence[float] = ()) -> Callable[[Formula], Any]: ...
def score(formula: Formula | None = None, *, theta: Sequence[float] = ()) -> Any:
    """Make an order from a formula; the smallest value comes first.

    Of the queue: ``(jobs, j, now, theta) -> float``, a `Score`. Of the nodes, for a placement:
    ``(nodes, n, jobs, j, now, theta) -> float``, a `NodeScore`.

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
        code = getattr(formula, "__code__", None)
        count = getattr(code, "co_argcount", -1)
        kind = {4: Score, 6: NodeScore}.get(count)
        if kind is None:
            raise PolicyError(
                f"score '{getattr(formula, '__name__', formula)}' must be a function of "
                "(jobs, j, now, theta), or of (nodes, n, jobs, j, now, theta) for a placement"
            )
        made: Score | NodeScore = kind(formula, tuple(float(value) for value in theta))
        return made

    return make if formula is None else make(formula)
