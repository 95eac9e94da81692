"""The options of a run, and its input after validation."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from .cluster import Cluster
from .errors import OptionError
from .policy import Control, Policy
from .workload import STANDARD, Jobs

__all__ = ["Options", "Prepared"]


@dataclass(frozen=True)
class Options:
    """How a run treats the jobs and what it records.

    Parameters
    ----------
    estimates : what the scheduler believes: ``"user"``, ``"exact"``, or a factor of the truth.
    over_limit : ``"kill"`` a job at the user's estimate, or let it ``"run"`` on.
    passes : one scheduling pass per ``"instant"``, or per ``"event"`` as some simulators do.
    reference_rate : rate at which the runtimes were recorded; the job amount is runtime times it.
    record : keep the trajectory.
    seed : of the coins of a randomized control.
    clean : names of cleaning rules; an empty tuple for none.
    """

    estimates: str | float = "user"
    over_limit: str = "kill"
    passes: str = "instant"
    reference_rate: float = 1.0
    record: bool = False
    seed: int = 0
    clean: tuple[str, ...] = field(default=STANDARD)

    def __post_init__(self) -> None:
        if self.over_limit not in ("kill", "run"):
            raise OptionError(f"over_limit '{self.over_limit}': choose kill or run")
        if self.passes not in ("instant", "event"):
            raise OptionError(f"passes '{self.passes}': choose instant or event")
        if not (np.isfinite(self.reference_rate) and self.reference_rate > 0):
            raise OptionError(f"reference rate {self.reference_rate}: give a number above 0")
        self.factor  # noqa: B018  (raises on nonsense)

    @property
    def factor(self) -> float | None:
        """Estimates as a factor of the truth; None for the user's own."""
        if self.estimates == "user":
            return None
        if self.estimates == "exact":
            return 1.0
        try:
            factor = float(self.estimates)
        except ValueError:
            factor = float("nan")
        if not (np.isfinite(factor) and factor > 0):
            raise OptionError(
                f"estimates '{self.estimates}': choose user, exact or a factor above 0"
            )
        return factor


@dataclass(frozen=True)
class Prepared:
    """A run's input after validation: what `Result` must know besides the kernel's state."""

    jobs: Jobs
    accepted: NDArray[np.bool_]
    killed: NDArray[np.bool_]
    cluster: Cluster
    policy: Policy
    control: Control
    options: Options
