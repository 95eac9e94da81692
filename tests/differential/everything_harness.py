"""A case of everything in engine and oracle, and what must be equal afterwards."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from oracle.everything import Everything
from oracle.everything import simulate as simulate_exactly

from sojourn.run.build.machine import REASONS
from sojourn.run.decisions import Decisions
from sojourn.run.outcome.aftermath import STATUS
from sojourn.run.outcome.schedule import Schedule

from .everything_cases import Drawn
from .everything_input import set_up
from .harness import TOLERANCE
from .pairwise import Row

STARTS = ("started", "backfilled in time", "backfilled beside", "promise kept")


def compare(row: Row, drawn: Drawn) -> None:
    """Run both; all that they say must agree, exactly or to 1e-9."""
    run, prepared, drive = set_up(row, drawn)
    accepted = np.flatnonzero(prepared.accepted)
    case = drawn.case._replace(coins=drawn.case.coins[: 2 * len(accepted)])
    expected = simulate_exactly(case)
    reasons = {i: REASONS[code] for i, code in enumerate(prepared.reason) if code}
    wanted = {i: why.split(" 2")[0] for i, why in expected.reasons.items()}
    assert reasons == wanted, f"unaccepted: {reasons} are not {wanted}"
    drive()
    schedule = Schedule(prepared, run)
    states = [STATUS[code] for code in schedule.status]
    assert states == [expected.states[i] for i in accepted], f"fates: {states}"
    found = Found(schedule, accepted)
    slack = 0.0 if drawn.exactly else TOLERANCE
    for name, values, exact, scale in found.columns(expected):
        _must_be(name, values, exact, slack, scale)
    if case.nodes is not None:
        given, nodes = found.nodes, [stretch.nodes for stretch in sorted(expected.stretches)]
        assert given == nodes, f"nodes: {given} are not {nodes}"
    if case.sleep is not None:
        found.must_have_slept(expected, slack)
    if row["log"] == "kept":
        found.must_be_logged()
    schedule.check()


class Found:
    """What the engine says of a run, by the places of the jobs in the case."""

    def __init__(self, schedule: Schedule, accepted: NDArray[np.int64]) -> None:
        self.schedule, self.run = schedule, schedule.run
        self.accepted = accepted
        job, start, stop = schedule.stretches
        nodes = self._given(len(job))
        ran = np.flatnonzero(np.isfinite(start)).tolist()
        order = sorted(ran, key=lambda i: (job[i], start[i], stop[i], nodes[i]))
        self.job, self.start, self.stop = (column[order] for column in (job, start, stop))
        self.nodes = [nodes[i] for i in order]

    def _given(self, stretches: int) -> list[tuple[tuple[int, int], ...]]:
        """Node and processors of each stretch of service; none where they are only counted."""
        if self.run.nodes is None:
            return [()] * stretches
        first, node, procs, _ = self.schedule.energy.given
        rows = list(zip(node.tolist(), procs.tolist(), strict=True))
        return [tuple(sorted(rows[first[i] : first[i + 1]])) for i in range(stretches)]

    def columns(
        self, expected: Everything
    ) -> Iterator[tuple[str, NDArray[Any], Sequence[Any], float]]:
        """Name, what the engine says, what the oracle says, and the size of what was summed up."""
        run, after = self.run, self.schedule.after
        mine = self.accepted.tolist()
        stretches = sorted(expected.stretches)
        yield "start", run.start, [expected.start[i] for i in mine], 0.0
        yield "end", run.end, [expected.end[i] for i in mine], 0.0
        yield "jobs served", self.accepted[self.job], [s.job for s in stretches], 0.0
        yield "starts of service", self.start, [s.start for s in stretches], 0.0
        yield "ends of service", self.stop, [s.stop for s in stretches], 0.0
        if after is not None:
            fates = [expected.fates[i] for i in mine]
            yield "left", after.left, [fate.left for fate in fates], 0.0
            yield "restarts", after.restarts, [fate.restarts for fate in fates], 0.0
            lost = expected.lost_service
            ours = after.lost[np.lexsort([after.lost[key] for key in ("stop", "start", "job")])]
            yield "jobs lost", self.accepted[ours["job"]], [s.job for s in lost], 0.0
            yield "lost starts", ours["start"], [s.start for s in lost], 0.0
            yield "lost stops", ours["stop"], [s.stop for s in lost], 0.0
        if len(run.promises):
            exact = np.array([_number(expected.promises[i]) for i in mine])
            # A promise made beside an overdue job has an infinitesimal, which is one ulp here.
            above = run.promises == np.nextafter(exact, np.inf)
            yield "promise", np.where(above, exact, run.promises), exact.tolist(), 0.0
        path = expected.trajectory
        if path:
            size = 4 * float(run.jobs.work.sum())
            rows: Any = slice(None)
            if run.s.sleeps and run.rules.controlled:
                # A node is woken so as to be up when it is wanted: rounding parts the two instants.
                rows = _lasting(run.rows("time"))
                paths = _lasting(np.array([float(row.time) for row in path]))
                path = [path[i] for i in np.flatnonzero(paths)]
            for name, wanted in zip(path[0]._fields, zip(*path, strict=True), strict=True):
                yield name, run.rows(name)[rows], wanted, size if name == "workload" else 0.0

    def must_have_slept(self, expected: Everything, slack: float) -> None:
        """Nodes change their states when the oracle's do, and jobs wait as long for them."""
        assert self.run.nodes is not None
        changes = self.run.nodes.change[: self.run.s.changes]
        # Node by node: at one instant the order of nodes is of no account.
        changes = changes[np.argsort(changes["node"], kind="stable")]
        wanted = sorted(expected.changes, key=lambda change: change.node)
        for name in ("node", "state"):
            ours = changes[name].tolist()
            theirs = [getattr(change, name) for change in wanted]
            assert ours == theirs, f"changes, {name}: {ours} are not {theirs}"
        _must_be("changes", changes["time"], [change.time for change in wanted], slack, 0.0)
        # A boot is the difference of two instants, of which each is rounded.
        last = max((abs(float(change.time)) for change in wanted), default=0.0)
        rounding = 8 * float(np.spacing(last)) / TOLERANCE
        _must_be("boots", self.run.nodes.job["boot"], expected.boots, slack, max(rounding, 1.0))

    def must_be_logged(self) -> None:
        """Every stretch of service has begun by a decision, and no decision began another."""
        log = Decisions(self.schedule.prepared, self.run).table()
        starts = log[log["decision"].isin(STARTS)]
        numbers = self.schedule.prepared.jobs.job[self.accepted]
        decided = sorted(zip(starts["job"], starts["time"], strict=True))
        assert decided == sorted(zip(numbers[self.job], self.start, strict=True)), "decisions"


def _lasting(time: NDArray[Any]) -> NDArray[np.bool_]:
    """Rows that no other follows at the same instant, but for rounding."""
    return np.append(np.diff(time) > TOLERANCE * time[1:], True)


def _number(x: Any) -> float:
    return math.nan if x is None else float(x)


def _must_be(
    name: str, found: NDArray[Any], wanted: Sequence[Any], slack: float, scale: float
) -> None:
    exact = np.array([_number(x) for x in wanted])
    assert len(found) == len(exact), f"{name}: {found.tolist()} is not {exact.tolist()}"
    near = np.abs(found - exact) <= slack * np.maximum(np.abs(exact), scale)
    same = near | (np.isnan(found) & np.isnan(exact))
    assert same.all(), f"{name}: {found.tolist()} is not {exact.tolist()}"
