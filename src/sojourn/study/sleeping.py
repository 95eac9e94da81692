"""What sleeping would save on a log, and what it costs in waits, idle time by idle time.

Every idle time runs on the log itself, and on logs drawn from its blocks, each beside a run without
sleep on the same draw. What the log itself shows depends on chance: one job that starts a minute
later moves all behind it. So savings and waits are judged by the means over the draws.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from ..cluster import Cluster, break_even
from ..cluster.server import Server
from ..errors import OptionError
from ..jobs import STANDARD, Jobs
from ..jobs.clean import cleaned
from ..jobs.models.resample import fitting_block, resample_blocks
from ..measures.registry import get
from ..policy import Policy
from ..policy.sleep import after_idle, never
from ..run.result import Result
from ..run.simulate import simulate
from .changes import FEWEST, BothSides, Change, overall_changes
from .intervals import Interval
from .paired import paired_difference, relative_change

IDLE_TIMES = (0.0, 60.0, 120.0, 300.0, 600.0, 1200.0, 1800.0, 3600.0, 7200.0, 14400.0)
"""Seconds for which nodes are idle before they go to sleep, unless asked otherwise."""

_MEASURES = ("energy_kwh", "wait_mean", "cost", "carbon_kg")
_KWH = 3.6e6


@dataclass(frozen=True)
class NodeKind:
    """Nodes of one kind: what they use without sleep, and from when on sleep pays.

    Parameters
    ----------
    model, nodes : name of the kind, and how many nodes are of it.
    busy_kwh, idle_kwh : energy of processors with and without jobs, if no node sleeps.
    idle_watts : W of an idle node.
    break_even : by depth, the idle time (s) from which on sleeping saves energy; inf: never.
    """

    model: str
    nodes: int
    busy_kwh: float
    idle_kwh: float
    idle_watts: float
    break_even: dict[str, float]


@dataclass(frozen=True)
class SleepPoint:
    """What comes of one idle time.

    Parameters
    ----------
    idle_time : s for which a node is idle before it goes to sleep.
    boots : of nodes, in the run on the log itself.
    jobs_that_waited : for a boot.
    saved : share of the energy that is saved, the mean over the draws.
    added : to the mean wait (s), the mean over the draws.
    energy, wait : kWh and mean wait (s) on the log itself, without sleep and with it; the interval
        of the difference is how far another such log might be from it.
    cost, carbon : the same of the bill and of kg of CO2, where these are known.
    """

    idle_time: float
    boots: int
    jobs_that_waited: int
    saved: Interval
    added: Interval
    energy: Change
    wait: Change
    cost: Change | None = None
    carbon: Change | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return {
            "idle_time": self.idle_time,
            "kwh": self.energy.b,
            "wait_mean": self.wait.b,
            "saved": self.saved.as_dict(),
            "added": self.added.as_dict(),
            "boots": self.boots,
            "jobs_that_waited": self.jobs_that_waited,
            "energy": self.energy.as_dict(),
            "wait": self.wait.as_dict(),
            "cost": None if self.cost is None else self.cost.as_dict(),
            "carbon": None if self.carbon is None else self.carbon.as_dict(),
        }


@dataclass(frozen=True)
class SleepSavings:
    """Idle times and what they save.

    Parameters
    ----------
    jobs, nodes : how many; jobs after cleaning.
    policy : that starts them.
    kwh, wait : energy and mean wait (s) without sleep.
    kinds : of nodes, those that use most first.
    points : one for each idle time, in their order.
    knee : place among these of the idle time beyond which savings become dear, see `knee_of`.
    draws, block : how many logs were drawn for the intervals, and of which blocks.
    """

    jobs: int
    nodes: int
    policy: str
    kwh: float
    wait: float
    kinds: tuple[NodeKind, ...]
    points: tuple[SleepPoint, ...]
    knee: int | None
    draws: int
    block: str

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        names = ("jobs", "nodes", "policy", "kwh", "wait", "draws", "block")
        return {
            **{name: getattr(self, name) for name in names},
            "kinds": [asdict(kind) for kind in self.kinds],
            "points": [point.as_dict() for point in self.points],
            "knee": None if self.knee is None else self.points[self.knee].idle_time,
        }

    def curve(self) -> dict[str, Any]:
        """Return what `sojourn.report.sleep_curve` draws."""
        points = self.points
        return {
            "idle_times": [point.idle_time for point in points],
            "saved": [(p.saved.estimate, p.saved.low, p.saved.high) for p in points],
            "waits": [(p.added.estimate, p.added.low, p.added.high) for p in points],
            "knee": self.knee,
        }

    def rows(self) -> list[dict[str, Any]]:
        """Return one row per idle time, for a table."""
        rows = []
        for point in self.points:
            saved, added = point.saved, point.added
            rows.append(
                {
                    "idle_time": point.idle_time,
                    "kwh": point.energy.b,
                    "wait_mean": point.wait.b,
                    "boots": point.boots,
                    "saved": saved.estimate,
                    "saved_low": saved.low,
                    "saved_high": saved.high,
                    "wait_added": added.estimate,
                    "wait_added_low": added.low,
                    "wait_added_high": added.high,
                }
            )
        return rows


def knee_of(cost: Sequence[float], gain: Sequence[float]) -> int | None:
    """Return which choice is the knee of a curve of costs and gains; None if it has none.

    Of the choices, and of doing nothing (0 for 0), those count that no other one beats in both.
    They form a rising curve. Both axes are scaled to 1 between its ends, and the knee is the choice
    farthest above the straight line from its beginning to its end [satopaa2011]: up to it, gains
    come at less than their average cost, beyond it at more. Where a single choice is as good as any
    in both, it is the knee; if all lie on the line, there is none.

    Examples
    --------
    >>> knee_of([10.0, 2.0, 1.0], [100.0, 90.0, 30.0])
    1
    """
    known = [(float(c), float(g), k) for k, (c, g) in enumerate(zip(cost, gain, strict=True))]
    front: list[tuple[float, float, int]] = []
    # The cheapest first, and of those that cost the same the one that gains most.
    for point in sorted([(0.0, 0.0, -1), *known], key=lambda p: (p[0], -p[1])):
        if not front or point[1] > front[-1][1]:
            front.append(point)
    if len(front) == 1:
        return front[0][2] if front[0][2] >= 0 else None
    (left, low, _), (right, high, _) = front[0], front[-1]
    above = [(g - low) / (high - low) - (c - left) / (right - left) for c, g, _ in front]
    best = int(np.argmax(above))
    return front[best][2] if above[best] > 0 and front[best][2] >= 0 else None


def sleep_savings(
    jobs: Jobs,
    cluster: Cluster,
    policy: str | Policy = "easy",
    *,
    idle_times: Sequence[float] = IDLE_TIMES,
    depth: str = "",
    draws: int = 10,
    block: str | None = None,
    level: float = 0.95,
    draw_seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
    **options: Any,
) -> SleepSavings:
    """Find what it would save to let idle nodes sleep, and what it costs in waits.

    Parameters
    ----------
    jobs : the log.
    cluster : of named nodes that can sleep, with their watts.
    policy : who starts when.
    idle_times : s for which a node is idle before it goes to sleep; each is tried.
    depth : at which nodes sleep; "": the first of each.
    draws : logs drawn from blocks of this one, on which every idle time runs beside a run without
        sleep, for the intervals.
    block : what is drawn: ``user``, ``day``, ``week`` or ``jobs``; default: what suits the log.
    level : of confidence.
    draw_seed : of the draws.
    progress : called with (runs done, runs).
    options : of `simulate`, such as price, carbon, estimates, boot_failure; but not sleep.

    Raises
    ------
    OptionError, PolicyError
        When something given cannot be used; where no node can sleep, or watts are not known.

    Examples
    --------
    >>> import sojourn
    >>> from sojourn.cluster import Node, PowerStates, Server, SleepState
    >>> off = SleepState("off", 10, enter=10, enter_watts=100, leave=150, leave_watts=125)
    >>> server = Server("node", 1, ops=1e9, watts=(95, 190), states=PowerStates((off,)))
    >>> cluster = sojourn.Cluster.of(Node(f"n{k}", server) for k in range(16))
    >>> jobs = sojourn.lublin(300, 16, load=0.4, seed=1)
    >>> found = sleep_savings(jobs, cluster, idle_times=(60, 3600), draws=3)
    >>> [f"{100 * point.saved.estimate:.0f} %" for point in found.points]
    ['39 %', '31 %']
    """
    if draws < FEWEST:
        raise OptionError(
            f"replications {draws}: give {FEWEST} or more, to know how sure a saving is"
        )
    rules = [after_idle(time, depth) for time in idle_times]
    if not rules:
        raise OptionError("idle times: none are given; give seconds, such as 60,600,3600")
    _check_watts(cluster)
    jobs = cleaned(jobs, cluster.procs, options.pop("clean", STANDARD)).sorted()
    chosen = fitting_block(jobs) if block is None else block
    whole, done = (1 + draws) * (1 + len(rules)), 0

    def run(log: Jobs, sleep: Any) -> Result:
        nonlocal done
        result = simulate(log, cluster, policy, sleep=sleep, clean=(), **options)
        done += 1
        if progress is not None:
            progress(done, whole)
        return result

    # A run with sleep comes first: it says at once if that is not possible.
    first = [run(jobs, rule) for rule in rules]
    awake = run(jobs, never())
    real = [_both(awake, result) for result in first]
    drawn: list[list[BothSides]] = [[] for _ in rules]
    for k in range(draws):
        other = resample_blocks(jobs, chosen, draw_seed + k)
        without = run(other, never())
        for place, rule in enumerate(rules):
            drawn[place].append(_both(without, run(other, rule)))
    points = tuple(
        _point(time, result, real[k], drawn[k], level)
        for k, (time, result) in enumerate(zip(idle_times, first, strict=True))
    )
    waits = [point.added.estimate for point in points]
    return SleepSavings(
        jobs=len(awake.submit),
        nodes=len(cluster.nodes),
        policy=str(awake.policy),
        kwh=awake.summary["energy"]["total_kwh"],
        wait=awake.summary["wait"]["mean"],
        kinds=_kinds(cluster, awake),
        points=points,
        knee=knee_of(waits, [point.saved.estimate for point in points]),
        draws=draws,
        block=chosen,
    )


def _check_watts(cluster: Cluster) -> None:
    """Raise OptionError where what nodes use is not known."""
    for node in cluster.nodes:
        server = node.server
        if server.states.sleep and not (server.has_watts and server.idle_known):
            missing = "idle watts" if server.has_watts else "watts"
            raise OptionError(
                f"node '{node.name}': can sleep, but its {missing} are not known; give 'watts' "
                "and 'idle_watts' in the cluster's file"
            )


def _both(awake: Result, asleep: Result) -> BothSides:
    """The measures without sleep and with it."""
    sides = awake.summary, asleep.summary
    pairs = {name: (get(name).of(sides[0]), get(name).of(sides[1])) for name in _MEASURES}
    known = {name: pair for name, pair in pairs.items() if np.isfinite(pair).all()}
    return BothSides(len(awake.submit), (0, 0), known, {})


def _point(
    time: float, result: Result, real: BothSides, drawn: Sequence[BothSides], level: float
) -> SleepPoint:
    changes = {change.what.name: change for change in overall_changes(real, drawn, level)}
    kwh, wait = (
        np.array([both.measures[name] for both in drawn]).T for name in ("energy_kwh", "wait_mean")
    )
    less = relative_change(kwh[1], kwh[0], level=level)
    slept = result.summary["sleep"]
    return SleepPoint(
        idle_time=float(time),
        boots=int(slept["boots"]),
        jobs_that_waited=int(slept["jobs_that_waited"]),
        saved=replace(less, estimate=-less.estimate, low=-less.high, high=-less.low),
        added=paired_difference(wait[1], wait[0], level=level),
        energy=changes["energy_kwh"],
        wait=changes["wait_mean"],
        cost=changes.get("cost"),
        carbon=changes.get("carbon_kg"),
    )


def _kinds(cluster: Cluster, awake: Result) -> tuple[NodeKind, ...]:
    table = awake.nodes
    busy, idle = (table[name].to_numpy() / _KWH for name in ("busy_energy", "idle_energy"))
    rows: dict[Server, list[int]] = {}
    for place, node in enumerate(cluster.nodes):
        rows.setdefault(node.server, []).append(place)
    kinds = [
        NodeKind(
            model=server.model,
            nodes=len(places),
            busy_kwh=float(busy[places].sum()),
            idle_kwh=float(idle[places].sum()),
            idle_watts=server.watts[0] if server.idle_known else math.nan,
            break_even={
                state.name: break_even(server.watts[0], state) for state in server.states.sleep
            },
        )
        for server, places in rows.items()
    ]
    return tuple(sorted(kinds, key=lambda kind: -kind.busy_kwh - kind.idle_kwh))
