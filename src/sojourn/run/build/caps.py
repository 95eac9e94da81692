"""From caps to what the kernels see: what jobs add to idle power, and what caps leave for it.

Watts are whole milliwatts here. What jobs add is rounded up and what caps leave is rounded down, so
that no sum of them exceeds a cap.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...arrays import Floats, Ints
from ...cluster import AssumedPower, Cluster
from ...cluster.states import SleepState
from ...errors import JobError, OptionError
from ...jobs import Jobs
from ...measures.energy import watts_by_busy
from ...policy import Control, highest_rates, parts_of
from ...policy.cap import OF_CLUSTER, Cap, NodeCap, resolve_caps
from .cap_plan import CapPlan
from .machine import NamedMachine

_MILLI = 1000.0
_SLACK = 1e-6
"""mW that a float may be off by."""
_KEY = "power.cap"


def watts_of_jobs(jobs: Jobs, name: str = "watts") -> Floats | None:
    """Return a column of watts, nan where a job has none; None if there is no such column."""
    if name not in jobs.names:
        return None
    values = np.asarray(jobs[name], dtype=np.float64)
    bad = values < 0
    bad &= values != -1
    if bad.any():
        job = int(np.argmax(bad))
        raise JobError(int(jobs.job[job]), name, f"{values[job]:g} W; give at least 0, or nothing")
    return np.where((values >= 0) & np.isfinite(values), values, np.nan)


def plan_caps(
    given: Sequence[Cap],
    jobs: Jobs,
    cluster: Cluster,
    control: Control,
    named: NamedMachine | None,
    depths: Sequence[SleepState | None] = (),
) -> CapPlan | None:
    """Return the caps of a run, with what jobs add and caps leave; None where there are none.

    `depths` are the states in which nodes sleep, if they do.
    """
    caps = resolve_caps(given, cluster)
    if not caps:
        if control.keeps_cap:
            raise OptionError("cap: there is none for rates 'cap' to keep; give one", key=_KEY)
        return None
    rates = np.array(control.rates or (control.initial,), np.float64)
    known = all(each.is_constant or each.rates for each in parts_of(control))
    if not known:
        raise OptionError(
            "cap: the rates of the control are not known; give them as its rates", key=_KEY
        )
    if control.keeps_cap:
        return _by_rate(caps, cluster, rates, depths)
    if named is None:
        return _counted(caps, cluster, rates)
    return _named(caps, jobs, cluster, highest_rates(control, cluster), named, depths)


def _levels(
    cap: NodeCap, idle: float, what: str, when: str = ""
) -> tuple[tuple[float, float, int], ...]:
    """Steps of a cap with what it leaves (mW); an error where that is less than nothing."""
    steps = []
    for begin, end, watts in cap.cap.steps:
        if watts < idle - 1e-9 * idle:
            since = "" if begin == -np.inf else f" from {begin:g} s on"
            who = f"'{cap.cap.of}'" if cap.cap.of else "the cluster"
            own = cap.cap.source == OF_CLUSTER
            raise OptionError(
                f"{cap.cap.source}: {who} is capped at {watts:g} W{since}, below its idle power of "
                f"{idle:g} W ({what}{when}); give more",
                key="cluster.nodes" if own else _KEY,
            )
        room = 2**60 if watts == np.inf else int(np.floor((watts - idle) * _MILLI + _SLACK))
        steps.append((begin, end, max(room, 0)))
    return tuple(steps)


def _processor_watts(cluster: Cluster, rates: Floats) -> tuple[float, float]:
    """Most W of an idle processor, and most that a busy one adds, at some rates; counted ones."""
    if isinstance(cluster.power, AssumedPower):
        raise OptionError(
            "cap: the watts of a processor are not known; give --watts-busy and --watts-idle, or "
            "nodes with watts: under a cap they decide who waits, and are not assumed as in a "
            "bill (41 and 18 W)",
            key=_KEY,
        )
    idle, busy = cluster.power.idle(rates), cluster.power.busy(rates)
    return float(idle.max()), max(float((busy - idle).max()), 0.0)


def _counted(caps: Sequence[NodeCap], cluster: Cluster, rates: Floats) -> CapPlan:
    idle, more = _processor_watts(cluster, rates)
    drawn = cluster.procs * idle
    task = max(int(np.ceil(more * _MILLI - _SLACK)), 0)
    levels = []
    for cap in caps:
        steps = _levels(cap, drawn, f"{cluster.procs} processors")
        levels.append(
            tuple(
                (begin, end, min(room // task if task else cluster.procs, cluster.procs))
                for begin, end, room in steps
            )
        )
    per_proc, nobody = np.array([task], np.int64), np.zeros(0, np.int64)
    plan = CapPlan(tuple(caps), np.full(len(caps), drawn), tuple(levels), per_proc, nobody)
    return replace(plan, most=cluster.procs)


def _added(cluster: Cluster, highest: Floats) -> Ints:
    """The most mW that each busy processor of a node adds, however many are busy there.

    `highest` is the highest rate, of all nodes or of each.
    """
    procs, curves = cluster.columns.procs, cluster.curves
    watts, first = watts_by_busy(procs, curves)
    node = np.repeat(np.arange(len(procs)), procs + 1)
    busy = np.arange(len(watts)) - first[node]
    each = np.where(busy > 0, (watts - curves[node, 0]) / np.maximum(busy, 1), 0.0)
    most = np.maximum.reduceat(each, first) * highest**3
    return np.maximum(np.ceil(most * _MILLI - _SLACK), 0).astype(np.int64)


def _named(
    caps: Sequence[NodeCap],
    jobs: Jobs,
    cluster: Cluster,
    highest: Floats,
    named: NamedMachine,
    depths: Sequence[SleepState | None],
) -> CapPlan:
    servers, kind = cluster.kinds
    measured = not isinstance(cluster.power, AssumedPower)
    known = np.array([measured or server.has_watts for server in servers])[kind]
    idle, lent, changing = _by_state(cluster, np.where(known, cluster.curves[:, 0], 0.0), depths)
    own, assumed = watts_of_jobs(jobs), 0
    tasks = named.requests.tasks
    of_task = np.full(len(jobs), -1, np.int64)
    if own is not None and np.isfinite(own).any():
        missing = np.isnan(own)
        if not known.all() and missing.any():
            # As much by processor as those jobs draw that say it.
            mean = own[~missing].sum() / jobs.procs[~missing].sum()
            own, assumed = np.where(missing, mean * jobs.procs, own), int(missing.sum())
            missing = np.zeros_like(missing)
        each = np.ceil(np.where(missing, 0.0, own) * _MILLI / tasks - _SLACK)
        of_task = np.where(missing, -1, np.maximum(each, 0)).astype(np.int64)
    elif not known.all():
        name = cluster.nodes[int(np.argmin(known))].name
        raise OptionError(
            f"cap: node '{name}' has no watts, and the jobs have none either; give the nodes "
            "watts, or the log a column watts",
            key=_KEY,
        )
    over = np.ones((len(caps), len(cluster.nodes)), np.bool_)
    for row, cap in zip(over, caps, strict=True):
        if cap.nodes is not None:
            row[:] = False
            row[list(cap.nodes)] = True
    drawn: Floats = over.astype(np.float64) @ idle
    more = bool(np.any(idle > cluster.curves[:, 0]))
    when = ", asleep where that is more" if more else ""
    levels = tuple(
        _levels(cap, float(watts), f"{int(row.sum())} node{'s' if row.sum() > 1 else ''}", when)
        for cap, row, watts in zip(caps, over, drawn, strict=True)
    )
    of_proc = _added(cluster, highest)
    everywhere = bool(over.all())
    alike = bool((of_task >= 0).all()) or len(np.unique(of_proc)) == 1
    names = not (everywhere and alike)
    lends = bool(lent.any() or changing.any())
    if lends:
        sleeps = [k for k, depth in enumerate(depths) if depth is not None]
        kinds = np.stack([cluster.columns.procs, lent, changing])[:, sleeps]
        names |= len(np.unique(kinds, axis=1).T) > 1
    return CapPlan(
        tuple(caps),
        drawn,
        levels,
        of_proc,
        of_task,
        assumed,
        varied=names or lends,
        names=names,
        lent=lent,
        changing=changing,
        over=over,
    )


def _by_state(
    cluster: Cluster, idle: Floats, depths: Sequence[SleepState | None]
) -> tuple[Floats, Ints, Ints]:
    """W that nodes hold when they are on; mW that each draws less asleep, and more on its way.

    Of nodes whose watts are not known nothing is known in any state.
    """
    held, lent, changing = idle.copy(), np.zeros(len(idle)), np.zeros(len(idle))
    sleeps = np.array([depth is not None for depth in depths], dtype=np.bool_)
    # Nodes of one kind that sleep do so alike.
    kind = np.where(sleeps, cluster.kinds[1], -1) if len(depths) else np.full(len(idle), -1)
    for number in np.unique(kind[kind >= 0]).tolist():
        alike = kind == number
        k = int(np.argmax(alike))
        depth = depths[k]
        assert depth is not None
        if idle[k] or cluster.nodes[k].server.has_watts:
            held[alike] = drawn = max(idle[k], depth.watts)
            lent[alike] = np.floor((drawn - depth.watts) * _MILLI + _SLACK)
            most = max(depth.enter_watts, depth.leave_watts)
            changing[alike] = max(np.ceil((most - drawn) * _MILLI - _SLACK), 0.0)
    return held, lent.astype(np.int64), changing.astype(np.int64)


def _by_rate(
    caps: Sequence[NodeCap],
    cluster: Cluster,
    rates: Floats,
    depths: Sequence[SleepState | None],
) -> CapPlan:
    """Caps that are kept by the rate: of the whole cluster alone."""
    other = next((cap for cap in caps if cap.nodes is not None), None)
    if other is not None or len(caps) > 1:
        raise OptionError(
            "rate control 'cap': all servers have one rate, so that one cap of the whole cluster "
            "can be kept; give just that",
            key=_KEY,
        )
    idle, more = rate_watts(cluster, rates, depths)
    least = float((idle + cluster.procs * more).min())
    for begin, _, watts in caps[0].cap.steps:
        if watts < least * (1 - 1e-12):
            since = "" if begin == -np.inf else f" from {begin:g} s on"
            raise OptionError(
                f"{caps[0].cap.source}: {watts:g} W{since}, but all processors together draw "
                f"{least:g} W at rate {rates.min():g}; give more, or a lower rate",
                key=_KEY,
            )
    steps = tuple(
        (begin, end, 2**60 if watts == np.inf else int(watts * _MILLI))
        for begin, end, watts in caps[0].cap.steps
    )
    none = np.zeros(0, np.int64)
    return CapPlan(tuple(caps), np.array([idle.max()]), (steps,), none, none, by_rate=True)


def rate_watts(
    cluster: Cluster, rates: Floats, depths: Sequence[SleepState | None] = ()
) -> tuple[Floats, Floats]:
    """Return W of the idle cluster, and the most that a busy processor adds, at each rate.

    A node that sleeps counts with the most that it draws in any state without a job.
    """
    if not cluster.is_named:
        _processor_watts(cluster, rates)
        idle = cluster.power.idle(rates)
        return cluster.procs * idle, np.maximum(cluster.power.busy(rates) - idle, 0.0)
    if not cluster.has_watts:
        raise OptionError("cap: not all nodes have watts; give them", key=_KEY)
    added = _added(cluster, np.ones(1)).max() / _MILLI
    held, _, changing = _by_state(cluster, cluster.curves[:, 0], depths)
    return np.full(len(rates), held.sum() + changing.sum() / _MILLI), added * rates**3
