"""A score orders the waiting jobs: the smallest comes first, ties by submission."""

from __future__ import annotations

import dis
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from ..errors import PolicyError

__all__ = ["Score", "score"]

Formula = Callable[[Any, int, float, Any], float]


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
        code = self.formula.__code__
        now = code.co_varnames[2]
        return any(
            now in (step.argval if isinstance(step.argval, tuple) else (step.argval,))
            for step in dis.get_instructions(code)
        )

    @cached_property
    def pointer(self) -> Any:
        """The compiled formula, as the kernels take it."""
        import numba

        from ..engine.types import SCORE
        from ..jit import compiled

        try:
            if self.house:
                return compiled(SCORE, pointer=True)(self.formula)
            return numba.njit(SCORE, error_model="numpy", nogil=True)(self.formula)
        except numba.core.errors.NumbaError as error:
            raise PolicyError(
                f"score '{self.name}' does not compile: {_first_line(error)}; use numbers, "
                "arithmetic, the math module and the columns of jobs only, or step the "
                "simulation from Python with sojourn.Simulation"
            ) from None

    @property
    def parameters(self) -> NDArray[np.float64]:
        """Theta as the kernels take it."""
        return np.array(self.theta or (0.0,), dtype=np.float64)


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    told = [line for line in lines if not line.startswith(("Failed in", "During:", "File "))]
    return (told or lines or ["unknown reason"])[0][:200]


@overload
def score(formula: Formula) -> Score: ...
@overload
def score(*, theta: Sequence[float] = ()) -> Callable[[Formula], Score]: ...
def score(
    formula: Formula | None = None, *, theta: Sequence[float] = ()
) -> Score | Callable[[Formula], Score]:
    """Make an order of the queue from a formula ``(jobs, j, now, theta) -> float``.

    Examples
    --------
    >>> @score
    ... def shortest_first(jobs, j, now, theta):
    ...     return jobs.estimate[j]
    """

    def make(formula: Formula) -> Score:
        names = getattr(getattr(formula, "__code__", None), "co_argcount", -1)
        if names != 4:
            raise PolicyError(
                f"score '{getattr(formula, '__name__', formula)}' must be a function of "
                "(jobs, j, now, theta)"
            )
        return Score(formula, tuple(float(value) for value in theta))

    return make if formula is None else make(formula)
