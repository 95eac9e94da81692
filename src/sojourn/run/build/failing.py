"""Failures and maintenance of a run, as external events beside those that are given."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ...arrays import Floats
from ...cluster import Cluster
from ...cluster.rack import racks_around
from ...engine.happenings import DOWN, UP
from ...errors import OptionError
from ...jobs import ExternalEvents, Jobs
from ...jobs.arrivals import arrivals_of
from ...jobs.models.failures import Failures, Outages, read_failures
from .gathering import ENDS, Gathered, gather_rows
from .maintenance import Maintenance

if TYPE_CHECKING:
    from ..options import Options

_DOWN_ALREADY = "a failure of what an event keeps down"
_LONGER = 16
"""How much further failures go where a run cannot be done again."""


@dataclass(frozen=True)
class Beside:
    """What happens to a machine besides the events that are given.

    Parameters
    ----------
    outages : of nodes, or of units of counted processors.
    procs : processors of a unit.
    horizon : from which on no failures were drawn (s).
    mtbf : mean time between failures of a node or unit (s); None where none fails.
    maintenance : windows.
    """

    outages: Outages | None = None
    procs: int = 1
    horizon: float = np.inf
    mtbf: float | None = None
    maintenance: Maintenance | None = None

    def gather(self, into: Gathered, jobs: Jobs, cluster: Cluster, unused: Counter[str]) -> int:
        """Add the events to those `into` one order; how many there are."""
        number = 0
        arrival = arrivals_of(jobs)
        if self.maintenance is not None and len(arrival):
            rows = self.maintenance.events(cluster, float(arrival.min()), float(arrival.max()))
            try:
                gather_rows(into, ExternalEvents(tuple(rows)), jobs, jobs.work, cluster, unused)
            except OptionError as error:
                problem = str(error).partition("': ")[2] or str(error)
                raise OptionError(f"maintenance: {problem}", key="maintenance.nodes") from None
            number += len(rows)
        if self.outages is not None:
            number += self._gather_failures(into, cluster, unused)
        return number

    def _gather_failures(self, into: Gathered, cluster: Cluster, unused: Counter[str]) -> int:
        assert self.outages is not None
        kept_down = _kept_down(into, cluster.is_named)
        number = 0
        for unit, down, up in zip(*(column.tolist() for column in self.outages), strict=True):
            which = unit if cluster.is_named else -1
            number += 1
            if any(begin < up and end > down for begin, end in kept_down.get(which, ())):
                unused[_DOWN_ALREADY] += 1
                continue
            about = unit if cluster.is_named else self.procs
            into.add(down, DOWN, about, event=None)
            into.add(up, UP, about, event=None, turn=ENDS)
        return number


def beside_of(
    jobs: Jobs, cluster: Cluster, options: Options, horizon: float | None, *, stepped: bool = False
) -> Beside | None:
    """Return failures and maintenance of a run; None where there are none.

    Parameters
    ----------
    jobs, cluster, options : of the run.
    horizon : to which failures are drawn (s); None: twice what the jobs should need.
    stepped : whether what was decided cannot be decided again.
    """
    windows = options.maintenance
    if options.failures is None:
        return None if windows is None else Beside(maintenance=windows)
    if horizon is None:
        horizon = horizon_of(jobs, cluster) * (_LONGER if stepped else 1)
    beside = outages_of(options.failures, jobs, cluster, options.seed, horizon)
    return replace(beside, maintenance=windows)


def _kept_down(into: Gathered, named: bool) -> dict[int, list[tuple[float, float]]]:
    """When events that are given keep each node down; of counted processors, any."""
    order = sorted(range(len(into.time)), key=lambda i: (into.time[i], into.turn[i]))
    since: dict[int, float] = {}
    gone: Counter[int] = Counter()
    stretches: dict[int, list[tuple[float, float]]] = {}
    for i in order:
        if into.kind[i] not in (DOWN, UP):
            continue
        which, size = (into.about[i], 1) if named else (-1, into.about[i])
        if into.kind[i] == DOWN:
            since.setdefault(which, into.time[i])
            gone[which] += size
        else:
            gone[which] -= size
            if gone[which] <= 0 and which in since:
                stretches.setdefault(which, []).append((since.pop(which), into.time[i]))
    for which, begin in since.items():
        stretches.setdefault(which, []).append((begin, np.inf))
    return stretches


def nodes_of(jobs: Jobs, cluster: Cluster, procs: int) -> Floats:
    """How many nodes, or units of so many processors, each job has at least."""
    size = float(np.mean(cluster.columns.procs)) if cluster.is_named else float(procs)
    return np.maximum(np.ceil(jobs.procs / size), 1.0)


def horizon_of(jobs: Jobs, cluster: Cluster) -> float:
    """Return until when failures are drawn at first (s): twice what the jobs should need."""
    arrival = arrivals_of(jobs)
    if not len(arrival):
        return 0.0
    span = max(float(np.ptp(arrival)), float(np.dot(jobs.procs, jobs.work)) / cluster.procs)
    enough = 2 * span + 4 * float(jobs.work.max(initial=0.0)) + 1.0
    return float(arrival.min() + np.ceil(enough))


def outages_of(
    failures: Failures, jobs: Jobs, cluster: Cluster, seed: int, horizon: float
) -> Beside:
    """Return the failures of a run.

    Parameters
    ----------
    failures : how nodes fail.
    jobs, cluster : of the run.
    seed : of the run.
    horizon : to which failures are drawn (s).
    """
    arrival = arrivals_of(jobs)
    begin = float(arrival.min(initial=np.inf)) if len(arrival) else 0.0
    units = len(cluster.nodes) if cluster.is_named else int(cluster.procs) // failures.procs
    if units < 1:
        raise OptionError(
            f"failures: procs = {failures.procs}, but the machine has {cluster.procs}; give less",
            key="failures.procs",
        )
    if cluster.is_named and failures.procs != 1:
        raise OptionError(
            "failures: procs are of counted processors, but the cluster has named nodes; leave it "
            "out",
            key="failures.procs",
        )
    if failures.log is not None:
        log = read_failures(failures.log)
        shift = 0.0
        if log.dated:
            start = jobs.header.get("UnixStartTime") if jobs.header else None
            shift = -float(start) if start is not None else begin - float(log.down.min())
        names = [node.name for node in cluster.nodes] if cluster.is_named else None
        outages = log.outages(failures.log, names, units, shift)
        span = float(outages.up.max() - min(float(outages.down.min()), begin))
        return Beside(outages, failures.procs, np.inf, units * span / len(outages.unit))
    assert failures.mtbf is not None
    racks = _racks(failures, cluster, units)
    together = 1 + failures.rack * (float(np.mean([len(rack) for rack in racks])) - 1)
    outages = failures.outages(units, begin, horizon, seed, racks)
    return Beside(outages, failures.procs, horizon, failures.mtbf / together)


def _racks(failures: Failures, cluster: Cluster, units: int) -> Sequence[Sequence[int]]:
    """Of each unit the units that its rack has; itself alone where it is in none."""
    if failures.per_rack is not None or not failures.rack:
        return failures.racks_of(units)
    if not cluster.racks:
        raise OptionError(
            f"failures: rack = {failures.rack:g}, but the cluster has no racks; give per_rack, or "
            "racks in the cluster's file",
            key="failures.per_rack",
        )
    around = racks_around(len(cluster.nodes), cluster.racks, failures.level)
    if not any(around):
        raise OptionError(
            f"failures: level = {failures.level}, but no racks of the cluster are so deep; give "
            "less",
            key="failures.level",
        )
    return [(k,) if rack is None else rack.nodes for k, rack in enumerate(around)]
