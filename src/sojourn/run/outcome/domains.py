"""Rates of domains over the run, and what their nodes consumed."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...arrays import Floats
from ...policy import DomainControl, nodes_of_domains
from .lost import rate_epochs

if TYPE_CHECKING:
    from .schedule import Schedule


class DomainRates:
    """What follows from the switches of each domain.

    Parameters
    ----------
    schedule : of the run, at its end.
    """

    def __init__(self, schedule: Schedule) -> None:
        self._schedule = schedule
        control, cluster = schedule.prepared.control, schedule.prepared.cluster
        assert isinstance(control, DomainControl)
        self.control = control
        self.node: NDArray[np.int64] = nodes_of_domains(control, cluster)
        self._procs = cluster.columns.procs

    @cached_property
    def epochs(self) -> list[tuple[Floats, Floats]]:
        """Epochs (s) and rates of each domain, the first at the first submit."""
        return [rate_epochs(self._schedule.run, d) for d in range(len(self.control.parts))]

    def columns_at(self, time: Floats) -> dict[str, Floats]:
        """Rate of each domain at some instants (s), as columns."""
        return {
            f"rate_{name}": rates[np.maximum(np.searchsorted(since, time, side="right") - 1, 0)]
            for name, (since, rates) in zip(self.control.names, self.epochs, strict=True)
        }

    @property
    def switches(self) -> int:
        """How often a rate changed."""
        return sum(len(epochs) - 1 for epochs, _ in self.epochs)

    def _lasted(self, d: int) -> tuple[Floats, Floats]:
        """Rates of a domain, and for how long it had each (s)."""
        epochs, rates = self.epochs[d]
        last = max(self._schedule.last, epochs[-1])
        return rates, np.diff(np.append(epochs, last))

    @cached_property
    def _span(self) -> float:
        first = float(self._schedule.epochs[0][0])
        return max(self._schedule.last - first, np.finfo(float).tiny)

    @cached_property
    def shares(self) -> dict[str, float]:
        """Shares of the time of all processors at each rate."""
        weights: dict[float, float] = {}
        others = int(self._procs[self.node == len(self.epochs)].sum())
        if others:
            weights[1.0] = others * self._span
        for d in range(len(self.epochs)):
            procs = int(self._procs[self.node == d].sum())
            for rate, lasted in zip(*self._lasted(d), strict=True):
                weights[float(rate)] = weights.get(float(rate), 0.0) + procs * float(lasted)
        whole = float(self._procs.sum()) * self._span
        return {f"{rate:g}": weights[rate] / whole for rate in sorted(weights)}

    def as_dict(self) -> dict[str, dict[str, Any]]:
        """Of each domain by name: its control, rates and joules."""
        spent = self._schedule.energy.of_nodes()
        made: dict[str, dict[str, Any]] = {}
        for d, (name, control) in enumerate(self.control.parts):
            mine = self.node == d
            rates, lasted = self._lasted(d)
            made[name] = {
                "rate": str(control),
                "nodes": int(mine.sum()),
                "procs": int(self._procs[mine].sum()),
                "mean_rate": float(np.dot(rates, lasted) / self._span),
                "rate_shares": {
                    f"{r:g}": float(lasted[rates == r].sum() / self._span) for r in np.unique(rates)
                },
                "rate_switches": len(rates) - 1,
                **{f"{cause}_joules": float(joules[mine].sum()) for cause, joules in spent.items()},
            }
        return made
