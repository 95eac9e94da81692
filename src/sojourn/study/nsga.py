"""NSGA-II [deb2002] over the values of a scenario's keys, one generation at a time.

Points are numbers from 0 to 1, one for each key, which its range turns into a value: so whole
numbers and choices cross and mutate like the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np

from ..arrays import Floats
from ..errors import OptionError
from .front import unknown
from .grid import Range, Value

Values = tuple[Value, ...]

_UNUSABLE = 1e30
"""Objectives of a point that cannot be run: it is held against nothing but others like it."""


class Generations:
    """The population of a search over ranges, for so many objectives and generations."""

    def __init__(
        self, ranges: Sequence[Range], objectives: int, population: int, generations: int, seed: int
    ) -> None:
        if find_spec("pymoo") is None:
            raise OptionError(
                "pymoo is not installed, and the search needs it; pip install 'sojourn[optimise]'"
            )
        from pymoo.algorithms.moo.nsga2 import NSGA2
        from pymoo.core.duplicate import DefaultDuplicateElimination
        from pymoo.core.problem import Problem
        from scipy.stats import qmc

        self._ranges = tuple(ranges)
        self._problem = Problem(n_var=len(ranges), n_obj=objectives, n_ieq_constr=1, xl=0.0, xu=1.0)
        first = qmc.LatinHypercube(d=len(ranges), seed=np.random.default_rng(seed))
        self._algorithm: Any = NSGA2(
            pop_size=population,
            sampling=first.random(population),
            # Two shares of the way that lead to one value are one point.
            eliminate_duplicates=DefaultDuplicateElimination(func=self._places),
        )
        self._algorithm.setup(
            self._problem, termination=("n_gen", generations), seed=seed, verbose=False
        )

    def ask(self) -> list[Values] | None:
        """Return the points of the next generation; None at the end."""
        if not self._algorithm.has_next():
            return None
        self._offspring = self._algorithm.ask()
        return None if self._offspring is None else self._decoded(self._offspring)

    def tell(self, objectives: Floats) -> None:
        """Let a generation compete; a row of nan is of a point that cannot be run."""
        self._set(self._offspring, objectives)
        self._algorithm.tell(infills=self._offspring)

    def front(self) -> list[Values]:
        """Return the points of the population that no other of them beats."""
        return self._decoded(self._algorithm.opt)

    def revise(self, objectives: Callable[[Values], Floats]) -> None:
        """Let the population compete again, with what is known of its points by now."""
        population = self._algorithm.pop
        self._set(
            population, np.array([objectives(values) for values in self._decoded(population)])
        )
        self._algorithm.pop = self._algorithm.survival.do(
            self._problem,
            population,
            n_survive=len(population),
            algorithm=self._algorithm,
            random_state=self._algorithm.random_state,
        )

    def _set(self, population: Any, objectives: Floats) -> None:
        from pymoo.core.evaluator import Evaluator
        from pymoo.problems.static import StaticProblem

        unusable = unknown(objectives)
        known = StaticProblem(
            self._problem,
            F=np.where(unusable[:, None], _UNUSABLE, objectives),
            G=unusable[:, None].astype(np.float64),
        )
        Evaluator(skip_already_evaluated=False).eval(known, population)

    def _decoded(self, population: Any) -> list[Values]:
        rows = population.get("X").tolist()
        return [
            tuple(values.at(share) for values, share in zip(self._ranges, row, strict=True))
            for row in rows
        ]

    def _places(self, population: Any) -> Floats:
        """Shares of the way, with those of one value made equal."""
        shares = np.array(population.get("X"), dtype=np.float64)
        for column, values in enumerate(self._ranges):
            if values.count:
                shares[:, column] = np.floor(shares[:, column] * values.count) / values.count
        return shares
