"""What a promise is made of: pools of interchangeable processors, and room in them over time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from .model import Exact, Instant
from .nodes import Allocation, Node, Request, memory_of, usable
from .placements import (
    Asked,
    Place,
    Placement,
    Site,
    contiguous,
    first_fit,
    lowest_power,
    slowest,
    watts_of,
)
from .profile import later


class Room(NamedTuple):
    """Processors and memory (KB) of a pool."""

    procs: int
    memory: int


class Hold(NamedTuple):
    """Room held in some pools over the half-open stretch [begin, end) of the work clock."""

    begin: Instant
    end: Instant
    rooms: dict[int, Room]


class Future:
    """Room in every pool over the work clock from now on, by direct summation."""

    def __init__(self, pools: Sequence[Node], holds: Sequence[Hold]) -> None:
        self.pools = pools
        self.holds = holds
        self.breakpoints = sorted({x for hold in holds for x in (hold.begin, hold.end)})
        self._known: dict[Instant, list[Room]] = {}

    def free(self, x: Instant) -> list[Room]:
        """Room of each pool at one instant."""
        if x not in self._known:
            held = [hold.rooms for hold in self.holds if hold.begin <= x < hold.end]
            self._known[x] = [
                Room(
                    pool.procs - sum(rooms[q].procs for rooms in held if q in rooms),
                    pool.memory - sum(rooms[q].memory for rooms in held if q in rooms),
                )
                for q, pool in enumerate(self.pools)
            ]
        return self._known[x]

    def available(self, start: Instant, work: Exact) -> list[Room]:
        """The least room of each pool throughout [start, start + work), and at start."""
        end = later(start, work)
        inside = [x for x in self.breakpoints if start < x < end]
        by_pool = zip(*(self.free(x) for x in [start, *inside]), strict=True)
        return [
            Room(min(room.procs for room in rooms), min(room.memory for room in rooms))
            for rooms in by_pool
        ]


class Machine:
    """A cluster as reservations see it; where there are allocations, they are of pools."""

    def __init__(
        self,
        nodes: Sequence[Node],
        placement: Placement,
        jobs: Sequence[Request],
        blind: bool = False,
        pinned: bool = False,
    ) -> None:
        self.nodes = nodes
        self.blind = blind
        self.placement = placement
        self.jobs = jobs
        # Whether any free processor will do, however fast.
        self.counts = placement.name != contiguous.name and all(job.is_plain for job in jobs)
        self.counts = self.counts and not pinned
        self.pools = _pools(nodes, placement) if self.counts else None
        self.pinned = self.pools is None
        self._place: Place = placement.place
        if self.pools is None:
            self.pools = [[k] for k in range(len(nodes))]
        elif placement.name != slowest.name:
            # The pools are in the order of the placement, or there is only one.
            self._place = first_fit.place
        # A pool of several nodes is never asked for its memory, features or watts.
        self.whole = [
            nodes[pool[0]]._replace(procs=sum(nodes[k].procs for k in pool)) for pool in self.pools
        ]

    def pool_of(self, node: int) -> int:
        """The pool that a node belongs to."""
        assert self.pools is not None
        return next(q for q, pool in enumerate(self.pools) if node in pool)

    def future(self, holds: Sequence[Hold]) -> Future:
        """What is left beside these."""
        return Future(self.whole, holds)

    def slowness(self, pools: Allocation) -> Exact:
        """Eq. (2): the slowest processor sets the pace."""
        return max(self.whole[q].slowness for q, _ in pools)

    def expected(self, plan: Exact, slowness: Exact) -> Exact:
        """Work that is expected of a waiting job; a blind scheduler does not know of speeds."""
        return plan if self.blind else plan * slowness

    def held(self, j: int, pools: Allocation) -> dict[int, Room]:
        """What job j takes from others: all of a node that it wants for itself."""
        job = self.jobs[j]
        return {
            q: Room(self.whole[q].procs if job.whole_node else taken, memory_of(job, taken))
            for q, taken in pools
        }

    def place(
        self, asked: Asked, rooms: Sequence[Room], longest: Exact | None = None
    ) -> Allocation | None:
        """The allocation of a job in these rooms, on pools no slower than `longest`."""
        job = asked.job
        sites = []
        for q, (pool, room) in enumerate(zip(self.whole, rooms, strict=True)):
            # Where speeds are not known of, promises may overlap.
            useful = max(usable(pool, room.procs, room.memory, job), 0)
            if longest is not None and pool.slowness > longest:
                useful = 0
            sites.append(
                Site(q, pool.procs, room.procs, useful, pool.slowness, pool.watts_per_proc)
            )
        pools = self._place(sites, job.procs, asked)
        budget = job.power_budget
        if pools is not None and budget is not None and watts_of(pools, sites) > budget:
            if self.placement.name == contiguous.name:
                return None
            pools = lowest_power.place(sites, job.procs, asked)
            if pools is not None and watts_of(pools, sites) > budget:
                return None
        return pools

    def natural(self, asked: Asked, start: Instant, future: Future) -> Allocation | None:
        """What the placement finds in the room at one instant."""
        return self.place(asked, future.free(start))

    def select(self, asked: Asked, start: Instant, future: Future) -> Allocation | None:
        """The allocation that a job could keep for all of its plan, if it started then."""
        plan = asked.job.plan
        pools = self.natural(asked, start, future)
        if pools is None:
            return None
        rooms = future.available(start, self.expected(plan, self.slowness(pools)))
        if self.fits(asked.label, pools, rooms):
            return pools
        for slowness in sorted({pool.slowness for pool in self.whole}, reverse=True):
            rooms = future.available(start, self.expected(plan, slowness))
            pools = self.place(asked, rooms, slowness)
            if pools is not None:
                return pools
        return None

    def fits(self, j: int, pools: Allocation, rooms: Sequence[Room]) -> bool:
        """Whether there is room for all that job j would hold."""
        return all(
            room.procs <= rooms[q].procs and room.memory <= rooms[q].memory
            for q, room in self.held(j, pools).items()
        )

    def concrete(self, asked: Asked, pools: Allocation, taken: Sequence[int]) -> Allocation:
        """Nodes for an allocation of pools, where so many processors of each node are taken."""
        if self.pinned:
            return pools
        chosen: list[tuple[int, int]] = []
        for q, want in pools:
            sites = []
            for k in self.pools[q]:
                node = self.nodes[k]
                free = node.procs - taken[k]
                sites.append(Site(k, node.procs, free, free, node.slowness, node.watts_per_proc))
            part = self.placement.place(sites, want, asked)
            assert part is not None, "a pool has fewer processors than it promised"
            chosen += part
        return tuple(sorted(chosen))


def _pools(nodes: Sequence[Node], placement: Placement) -> list[list[int]] | None:
    """Nodes by pool, or None where a promise must name its nodes."""
    if placement.key is None:
        return [list(range(len(nodes)))] if len({node.slowness for node in nodes}) == 1 else None
    return list(_runs(nodes, placement))


def _runs(nodes: Sequence[Node], placement: Placement) -> Iterator[list[int]]:
    """Maximal runs of equally fast nodes in the fixed order of a placement."""
    key = placement.key
    assert key is not None
    sites = [
        Site(k, node.procs, node.procs, node.procs, node.slowness, node.watts_per_proc)
        for k, node in enumerate(nodes)
    ]
    sites.sort(key=lambda site: (key(site), site.index))
    for _, run in groupby(sites, key=lambda site: site.slowness):
        yield [site.index for site in run]
