"""What a promise is made of: pools of interchangeable processors, and room in them over time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from .caps import Draws
from .model import Exact, Instant, ratio
from .nodes import Allocation, Node, Partition, Request, Vector, held_on, usable
from .nodes import amount as amount_of
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


class Hold(NamedTuple):
    """Room held in some pools over the half-open stretch [begin, end) of the work clock."""

    begin: Instant
    end: Instant
    rooms: dict[int, Vector]


class Future:
    """Room in every pool over the work clock from now on, by direct summation."""

    def __init__(self, capacities: Sequence[Vector], holds: Sequence[Hold]) -> None:
        self.capacities = capacities
        self.holds = holds
        self.breakpoints = sorted({x for hold in holds for x in (hold.begin, hold.end)})
        self._known: dict[Instant, list[Vector]] = {}

    def free(self, x: Instant) -> list[Vector]:
        """Room of each pool at one instant."""
        if x not in self._known:
            held = [hold.rooms for hold in self.holds if hold.begin <= x < hold.end]
            self._known[x] = [
                tuple(
                    amount - sum(amount_of(rooms[q], r) for rooms in held if q in rooms)
                    for r, amount in enumerate(capacity)
                )
                for q, capacity in enumerate(self.capacities)
            ]
        return self._known[x]

    def available(self, start: Instant, work: Exact) -> list[Vector]:
        """The least room of each pool throughout [start, start + work), and at start."""
        end = later(start, work)
        inside = [x for x in self.breakpoints if start < x < end]
        by_pool = zip(*(self.free(x) for x in [start, *inside]), strict=True)
        return [tuple(map(min, zip(*rooms, strict=True))) for rooms in by_pool]


class Machine:
    """A cluster as reservations see it; where there are allocations, they are of pools.

    Licences stand behind the pools, as one more, and what caps leave behind these.
    """

    def __init__(
        self,
        nodes: Sequence[Node],
        placement: Placement,
        jobs: Sequence[Request],
        blind: bool = False,
        pinned: bool = False,
        partitions: Sequence[Partition] = (),
        licences: Vector = (),
        draws: Draws | None = None,
        domains: Sequence[int] = (),
    ) -> None:
        self.nodes = nodes
        # Of each node now, where domains have rates of their own.
        self.rates: list[Exact] = [1] * len(nodes)
        self.partitions = partitions
        everywhere = frozenset(range(len(nodes)))
        self.blind = blind
        self.placement = placement
        self.jobs = list(jobs)
        # Whether any free processor will do, however fast.
        self.counts = placement.name != contiguous.name and all(
            job.is_plain
            and all(job.feature is None or job.feature in node.features for node in nodes)
            and all(partitions[i].nodes == everywhere for i in job.partitions or ())
            for job in jobs
        )
        self.draws = draws
        self.counts = self.counts and not (draws and draws.named)
        # Where nodes sleep choices are of nodes, but any will do all the same.
        self.counts_sleepers = self.counts
        self.counts = self.counts and not pinned
        self.pools = _pools(nodes, placement, domains) if self.counts else None
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
        self.capacities = [*(pool.capacity for pool in self.whole), licences]
        if draws:
            self.capacities.append(draws.room)
        # Where nodes sleep: the instant at which each is up if it is wanted from now on.
        self.up: Callable[[int], Instant] | None = None
        self.asleep: Callable[[int], bool] = lambda k: False

    def pool_of(self, node: int) -> int:
        """The pool that a node belongs to."""
        assert self.pools is not None
        return next(q for q, pool in enumerate(self.pools) if node in pool)

    def future(self, holds: Sequence[Hold]) -> Future:
        """What is left beside these."""
        return Future(self.capacities, holds)

    def slowness(self, pools: Allocation) -> Exact:
        """Eq. (2): the slowest processor sets the pace."""
        return max(self.slowness_now(q) for q, _ in pools)

    def slowness_now(self, q: int) -> Exact:
        """Of a pool, at the rate of its domain."""
        assert self.pools is not None
        return ratio(self.whole[q].slowness, self.rates[self.pools[q][0]])

    def node_slowness(self, k: int) -> Exact:
        """Of a node, at the rate of its domain."""
        return ratio(self.nodes[k].slowness, self.rates[k])

    def expected(self, plan: Exact, slowness: Exact) -> Exact:
        """Work that is expected of a waiting job; a blind scheduler does not know of speeds."""
        return plan if self.blind else plan * slowness

    def held(self, j: int, pools: Allocation) -> dict[int, Vector]:
        """What job j takes from others: all of a node that it wants for itself, and licences."""
        job = self.jobs[j]
        held = {q: held_on(self.whole[q], job, tasks) for q, tasks in pools}
        if job.licences:
            held |= {len(self.whole): job.licences}
        return held | {len(self.whole) + 1: self.drawn(job, pools)} if self.draws else held

    def drawn(self, job: Request, pools: Allocation) -> Vector:
        """What a job adds in these pools under each cap (mW), with what waking takes."""
        added = self._under_caps([(q, n * self.of_task(job, q)) for q, n in pools])
        return tuple(a + b for a, b in zip(added, self.waking(job, pools), strict=True))

    def waking(self, job: Request, pools: Allocation) -> Vector:
        """What it takes under each cap to wake the sleepers among these nodes for a job (mW)."""
        assert self.draws is not None
        return self._under_caps(
            [(q, self.draws.lent[q] + self.beyond(job, q, n)) for q, n in pools if self.asleep(q)]
        )

    def lending(self, pools: Allocation) -> Vector:
        """What the sleepers among these nodes lend under each cap (mW)."""
        assert self.draws is not None
        return self._under_caps([(q, self.draws.lent[q]) for q, _ in pools if self.asleep(q)])

    def beyond(self, job: Request, q: int, tasks: int) -> int:
        """What a node that wakes for a job draws more than the job adds there (mW)."""
        if not self.draws:
            return 0
        return max(self.draws.changing[q] - tasks * self.of_task(job, q), 0)

    def _under_caps(self, watts: Sequence[tuple[int, int]]) -> Vector:
        """Sums of mW in pools under each cap."""
        assert self.draws is not None
        assert self.pools is not None
        return tuple(
            sum(self.draws.of(cap, self.pools[q][0], it) for q, it in watts)
            for cap in range(len(self.draws.room))
        )

    def of_task(self, job: Request, q: int) -> int:
        """What a task of a job adds in a pool (mW)."""
        assert self.draws is not None
        assert self.pools is not None
        if job.milliwatts is not None:
            return job.milliwatts
        return job.of_task[0] * self.draws.added[self.pools[q][0]]

    def boot(self, pools: Allocation, start: Instant) -> Exact:
        """Work until all nodes of an allocation are up, from a start on."""
        if self.up is None:
            return 0
        return max(0, *(self.up(q)[0] - start[0] for q, _ in pools))

    def place(
        self,
        asked: Asked,
        rooms: Sequence[Vector],
        longest: Exact | None = None,
        start: Instant | None = None,
    ) -> Allocation | None:
        """The allocation of a job in these rooms, on pools no slower than `longest`.

        It lies in the first of the job's partitions that has one. If some nodes are not up at the
        start, it is looked for among the others alone; then among all.
        """
        if self.up is None or start is None:
            return self._place_among(asked, rooms, longest)
        up = {q for q in range(len(self.whole)) if self.up(q) <= start}
        barred = [
            room if q in up or q >= len(self.whole) else tuple(0 for _ in room)
            for q, room in enumerate(rooms)
        ]
        found = self._place_among(asked, barred, longest)
        return found if found is not None else self._place_among(asked, rooms, longest, up)

    def _place_among(
        self,
        asked: Asked,
        rooms: Sequence[Vector],
        longest: Exact | None,
        up: set[int] | None = None,
    ) -> Allocation | None:
        job = asked.job
        licences = rooms[len(self.whole)]
        if any(want > amount_of(licences, r) for r, want in enumerate(job.licences)):
            return None
        sites = []
        for q, pool in enumerate(self.whole):
            useful = usable(pool, rooms[q], job)
            if longest is not None and self.slowness_now(q) > longest:
                useful = 0
            sites.append(
                Site(q, pool.procs, rooms[q][0], useful, pool.slowness, pool.watts_per_proc)
            )
        if job.partitions is None or self.counts:
            return self._place_under_caps(asked, sites, rooms, up)
        for i in job.partitions:
            members = self.partitions[i].nodes
            within = [s if s.index in members else s._replace(usable=0) for s in sites]
            allocation = self._place_under_caps(asked, within, rooms, up)
            if allocation is not None:
                return allocation
        return None

    def _place_under_caps(
        self,
        asked: Asked,
        sites: Sequence[Site],
        rooms: Sequence[Vector],
        up: set[int] | None = None,
    ) -> Allocation | None:
        """The placement's choice, or if it adds too much under a cap, the cheapest under all."""
        pools = self._place_within(asked, sites, up)
        if pools is None or not self.draws:
            return pools
        free = rooms[len(self.whole) + 1]
        drawn = self.drawn(asked.job, pools)
        if all(a <= max(b, 0) for a, b in zip(drawn, free, strict=True)):
            return pools
        if self.placement.name == contiguous.name or not self.draws.varied:
            return None
        return self.cheapest(asked.job, sites, free)

    def cheapest(self, job: Request, sites: Sequence[Site], free: Vector) -> Allocation | None:
        """Nodes by what a processor adds, of each no more than all its caps have room for."""
        assert self.draws is not None
        room, left, chosen = list(free), job.width, []
        mine = range(len(room))

        def order(site: Site) -> tuple[int, bool, int]:
            return self.draws.added[site.index], self.asleep(site.index), site.index

        for site in sorted(sites, key=order):
            taken = min(site.usable, left)
            while taken > 0:
                drawn = self.drawn(job, ((site.index, taken),))
                if all(drawn[c] <= max(room[c], 0) for c in mine):
                    break
                taken -= 1
            if taken > 0:
                chosen.append((site.index, taken))
                left -= taken
                room = [room[c] - drawn[c] for c in mine]
        if left:
            return None
        pools = tuple(sorted(chosen))
        budget = job.power_budget
        over = budget is not None and watts_of(pools, sites, job.of_task[0]) > budget
        return None if over else pools

    def _place_within(
        self, asked: Asked, sites: Sequence[Site], up: set[int] | None = None
    ) -> Allocation | None:
        job = asked.job
        procs = job.of_task[0]
        budget = job.power_budget
        visits = self.placement.key is not None and self.placement.name != slowest.name
        if up is not None and visits and budget is None:
            return self._up_first(asked, sites, up)
        pools = self._place(sites, job.width, asked)
        if pools is not None and budget is not None and watts_of(pools, sites, procs) > budget:
            if self.placement.name == contiguous.name:
                return None
            pools = lowest_power.place(sites, job.width, asked)
            if pools is not None and watts_of(pools, sites, procs) > budget:
                return None
        return pools

    def _up_first(self, asked: Asked, sites: Sequence[Site], up: set[int]) -> Allocation | None:
        """What a placement that visits nodes in an order takes, if those that are up come first."""
        ready = [site for site in sites if site.index in up]
        others = [site for site in sites if site.index not in up]
        first = min(asked.job.width, sum(site.usable for site in ready))
        chosen: list[tuple[int, int]] = []
        for some, want in ((ready, first), (others, asked.job.width - first)):
            part = self._place(some, want, asked) if want else ()
            if part is None:
                return None
            chosen += part
        return tuple(sorted(chosen))

    def natural(self, asked: Asked, start: Instant, future: Future) -> Allocation | None:
        """What the placement finds in the room at one instant."""
        return self.place(asked, future.free(start), start=start)

    def select(self, asked: Asked, start: Instant, future: Future) -> Allocation | None:
        """The allocation that a job could keep for all of its plan, if it started then."""
        plan = asked.job.plan
        pools = self.natural(asked, start, future)
        if pools is None:
            return None
        first = self.boot(pools, start)

        def lasts(pools: Allocation) -> bool:
            """Whether there is room until it would end, boot and all."""
            work = self.boot(pools, start) + self.expected(plan, self.slowness(pools))
            if not self.fits(asked.label, pools, future.available(start, work)):
                return False
            return not self.draws or self._stay_on(asked.job, pools, later(start, work), future)

        if lasts(pools):
            return pools
        every = {self.slowness_now(q) for q in range(len(self.whole))}
        for slowness in sorted(every, reverse=True):
            rooms = future.available(start, first + self.expected(plan, slowness))
            pools = self.place(asked, rooms, slowness, start)
            if pools is not None and lasts(pools):
                return pools
        return None

    def _stay_on(self, job: Request, pools: Allocation, end: Instant, future: Future) -> bool:
        """Whether there is room for what waking takes after a job's end, for nodes stay on."""
        waking = self.waking(job, pools)
        return all(
            want <= free
            for x in future.breakpoints
            if x >= end
            for want, free in zip(waking, future.free(x)[-1], strict=True)
            if want
        )

    def fits(self, j: int, pools: Allocation, rooms: Sequence[Vector]) -> bool:
        """Whether there is room for all that job j would hold."""
        return all(
            want <= amount_of(rooms[q], r)
            for q, held in self.held(j, pools).items()
            for r, want in enumerate(held)
            if want
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
                free = max(node.procs - taken[k], 0)
                sites.append(Site(k, node.procs, free, free, node.slowness, node.watts_per_proc))
            part = self.placement.place(sites, want, asked)
            assert part is not None, "a pool has fewer processors than it promised"
            chosen += part
        return tuple(sorted(chosen))


def _pools(
    nodes: Sequence[Node], placement: Placement, domains: Sequence[int] = ()
) -> list[list[int]] | None:
    """Nodes by pool, or None where a promise must name its nodes."""
    if placement.key is None:
        alike = len({node.slowness for node in nodes}) == 1 and len(set(domains)) <= 1
        return [list(range(len(nodes)))] if alike else None
    return list(_runs(nodes, placement, domains))


def visits(nodes: Sequence[Node], placement: Placement) -> list[int]:
    """Nodes as the placement visits them, or as they are numbered."""
    if placement.key is None:
        return list(range(len(nodes)))
    if placement.name == slowest.name:
        return sorted(range(len(nodes)), key=lambda k: -nodes[k].slowness)
    return [k for run in _runs(nodes, placement) for k in run]


def _runs(
    nodes: Sequence[Node], placement: Placement, domains: Sequence[int] = ()
) -> Iterator[list[int]]:
    """Maximal runs of nodes that are always equally fast, in the fixed order of a placement."""
    key = placement.key
    assert key is not None
    sites = [
        Site(k, node.procs, node.procs, node.procs, node.slowness, node.watts_per_proc)
        for k, node in enumerate(nodes)
    ]
    sites.sort(key=lambda site: (key(site), site.index))

    def kind(site: Site) -> tuple[Exact, int]:
        return site.slowness, domains[site.index] if domains else 0

    for _, run in groupby(sites, key=kind):
        yield [site.index for site in run]
