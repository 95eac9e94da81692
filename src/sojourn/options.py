"""The options of a run, and its input after validation."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .cluster import Cluster
from .errors import OptionError
from .external import External
from .machine import REASONS, Machine
from .policy import Constraints, Control, NodeScore, Placement, Policy, parse_placement
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
    placement : which nodes of a cluster of named nodes a job gets: a name, or a score over nodes.
    constraints : what jobs ask of their nodes besides processors.
    foresight : what the scheduler expects of a waiting job: its runtime on the ``"nodes"`` that it
        would get, or the one in the ``"log"`` wherever it will run. Jobs outlast promises made
        from the log, so conservative backfilling then makes all of them anew in each pass.
    price : of a kWh: a number, or a tariff such as ``"0.15, 8:0.30, 20:0.15 EUR"``.
    carbon : grams of CO2 per kWh: a number, or a file with a time series.
    starts : the time of day at second 0 of the log, as ISO 8601; default: from its header.
    decisions : keep every decision of the scheduler, and its reason.
    events : external events: a file, rows, `ExternalEvents`, or the `EventStream` of the jobs' log.
    node_failure : ``"kill"`` the jobs of processors that go down, or ``"requeue"`` them.
    warmup : how many jobs at the beginning, as they were submitted, the measures over jobs leave
        out, because the machine was empty before them.
    check_policy : try out orders and placements of the user's own before the run, and check their
        indices in it.
    """

    estimates: str | float = "user"
    over_limit: str = "kill"
    passes: str = "instant"
    reference_rate: float = 1.0
    record: bool = False
    seed: int = 0
    clean: tuple[str, ...] = field(default=STANDARD)
    placement: str | Placement | NodeScore = "first-fit"
    constraints: Constraints = field(default_factory=Constraints)
    foresight: str = "nodes"
    price: str | float | None = None
    carbon: str | float | None = None
    starts: str | None = None
    decisions: bool = False
    events: Any = None
    node_failure: str = "kill"
    warmup: int = 0
    check_policy: bool = True

    def __post_init__(self) -> None:
        for name in ("estimates", "reference_rate", "seed", "warmup"):
            # Numbers of NumPy have no place in the summary's JSON.
            if isinstance(number := getattr(self, name), np.generic):
                object.__setattr__(self, name, number.item())
        if self.over_limit not in ("kill", "run"):
            raise OptionError(f"over_limit '{self.over_limit}': choose kill or run")
        if self.passes not in ("instant", "event"):
            raise OptionError(f"passes '{self.passes}': choose instant or event")
        if self.foresight not in ("nodes", "log"):
            raise OptionError(f"foresight '{self.foresight}': choose nodes or log")
        if self.node_failure not in ("kill", "requeue"):
            raise OptionError(f"node_failure '{self.node_failure}': choose kill or requeue")
        if isinstance(self.warmup, bool) or not isinstance(self.warmup, int) or self.warmup < 0:
            raise OptionError(f"warmup {self.warmup!r}: give a number of jobs, 0 or more")
        if not 0 <= self.seed < 2**63:
            raise OptionError(f"seed {self.seed}: give a whole number from 0 to 2**63 - 1")
        if not (np.isfinite(self.reference_rate) and self.reference_rate > 0):
            raise OptionError(f"reference rate {self.reference_rate}: give a number above 0")
        if not isinstance(self.constraints, Constraints):
            raise OptionError(f"constraints {self.constraints!r}: give sojourn.Constraints(...)")
        self.factor  # noqa: B018  (raises on nonsense)
        object.__setattr__(self, "placement", parse_placement(self.placement))

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
    machine: Machine | None = None
    external: External | None = None
    remarks: tuple[str, ...] = ()
    """What a policy does not model or had to assume, in words."""

    @property
    def reason(self) -> NDArray[np.int8]:
        """Why each job is not accepted, as a place in `REASONS`; 0 if it is."""
        if self.machine is not None:
            return self.machine.reason
        return np.where(self.accepted, 0, REASONS.index("processors")).astype(np.int8)
