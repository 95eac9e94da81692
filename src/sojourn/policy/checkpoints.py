"""How often jobs save their work, and what that costs them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import Floats
from ..checks import choice, non_negative, positive
from ..errors import OptionError
from ..theory.checkpoint import checkpoint_interval

RULES = ("daly", "young")
"""Intervals that follow from how often nodes fail."""


@dataclass(frozen=True)
class Checkpoint:
    """Checkpoints of all jobs; see `docs/background/failures`.

    Parameters
    ----------
    every : work between two dumps (s), or ``daly`` or ``young``: the interval that makes a job of
        so many nodes end soonest.
    dump, restore : time that a dump and a restore take (s).
    at_end : whether a job dumps at its very end, too, where its work is a multiple of the interval.

    Examples
    --------
    >>> hourly = Checkpoint(3600, dump=60)
    >>> float(hourly.with_dumps(np.array([7200.0]), np.array([3600.0]))[0])
    7260.0
    """

    every: float | str = "daly"
    dump: float = 60.0
    restore: float = 60.0
    at_end: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.every, str):
            choice(self.every, RULES, "checkpoint: every")
            positive(self.dump, "checkpoint: dump")
        else:
            positive(self.every, "checkpoint: every")
            non_negative(self.dump, "checkpoint: dump")
        non_negative(self.restore, "checkpoint: restore")

    def __str__(self) -> str:
        every = self.every if isinstance(self.every, str) else f"every {self.every:g} s"
        end = ", at the end too" if self.at_end else ""
        return f"{every}, dump {self.dump:g} s, restore {self.restore:g} s{end}"

    def intervals(self, nodes: Floats, mtbf: float | None) -> Floats:
        """Work between dumps of each job (s).

        Parameters
        ----------
        nodes : of each job.
        mtbf : mean time between failures of a node (s); None where nothing fails.
        """
        if not isinstance(self.every, str):
            return np.full(len(nodes), float(self.every))
        if mtbf is None:
            raise OptionError(
                f"checkpoint {self.every}: no failures are given, from which the interval follows; "
                "give failures, or a time",
                key="checkpoint.every",
            )
        widths, place = np.unique(nodes, return_inverse=True)
        best = [checkpoint_interval(self.dump, mtbf / n, rule=self.every) for n in widths]
        # Whole seconds keep a run of whole seconds exact.
        return np.maximum(np.rint(np.array(best, dtype=np.float64)), 1.0)[place]

    def dumps(self, work: Floats, every: Floats) -> Floats:
        """How many dumps jobs of so much work have."""
        with np.errstate(invalid="ignore"):
            count = np.floor(work / every)
            # The quotient is rounded.
            count -= count * every > work
            count += (count + 1) * every <= work
            if not self.at_end:
                count -= (count * every == work) & (count > 0)
        return np.where(np.isfinite(work), count, 0.0)

    def with_dumps(self, work: Floats, every: Floats) -> Floats:
        """How long jobs take without failures (s)."""
        return work + self.dumps(work, every) * self.dump
