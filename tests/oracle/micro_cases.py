"""Small cases worked out by hand, for the oracle and for the engine."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from .model import Exact
from .nodes import Allocation, Node, Request

HALF, QUARTER = Fraction(1, 2), Fraction(1, 4)
WAITS: Allocation = ()


class Choice(NamedTuple):
    """Where the last of the jobs that arrive at 0 goes; the others keep processors busy."""

    placement: str
    nodes: tuple[Node, ...]
    jobs: tuple[Request, ...]
    expected: Allocation  # WAITS if there is no place for it at 0


class Schedule(NamedTuple):
    """A whole run."""

    name: str
    policy: str
    nodes: tuple[Node, ...]
    jobs: tuple[Request, ...]
    start: tuple[Exact, ...]
    end: tuple[Exact, ...]
    allocations: tuple[Allocation, ...]
    placement: str = "first-fit"


def flat(procs: int, watts: Exact = 1) -> tuple[Exact, ...]:
    """A curve of a straight line from 0, with so many watts per processor at 100 %."""
    return tuple(Fraction(procs * watts * level, 10) for level in range(11))


def choice(
    placement: str,
    procs: Sequence[int],
    busy: Sequence[int],
    width: int,
    expected: Allocation,
    *,
    slowness: Sequence[Exact] = (),
    watts: Sequence[Exact] = (),
    limit: Exact | None = None,
) -> Choice:
    """One job of work 4 on nodes of which so many processors are busy."""
    slowness = slowness or (1,) * len(procs)
    watts = watts or (1,) * len(procs)
    nodes = tuple(
        Node(c, f, flat(c, w), 0, frozenset({f"n{k}"}))
        for k, (c, f, w) in enumerate(zip(procs, slowness, watts, strict=True))
    )
    fill = [Request(0, 9, b, 9, feature=f"n{k}") for k, b in enumerate(busy) if b]
    return Choice(placement, nodes, (*fill, Request(0, 4, width, 4, limit)), expected)


def asking(nodes: Sequence[Node], *jobs: Request, expected: Allocation) -> Choice:
    """First fit of jobs that ask for something."""
    return Choice("first-fit", tuple(nodes), jobs, expected)


SPEEDS = (HALF, 1, 2, 4)
PLACED = {
    # Usable 1, 2, 4.
    "first-fit fills nodes by index": choice(
        "first-fit", (4, 2, 4), (3, 0, 0), 4, ((0, 1), (1, 2), (2, 1))
    ),
    "first-fit passes over a full node": choice("first-fit", (2, 2), (2, 0), 2, ((1, 2),)),
    # Usable 4, 3, 5 in the next eight.
    "best-fit takes the tightest": choice("best-fit", (4, 3, 6), (0, 0, 1), 3, ((1, 3),)),
    "best-fit takes the largest, then the tightest": choice(
        "best-fit", (4, 3, 6), (0, 0, 1), 6, ((1, 1), (2, 5))
    ),
    "best-fit takes the two largest": choice(
        "best-fit", (4, 3, 6), (0, 0, 1), 9, ((0, 4), (2, 5))
    ),
    "worst-fit takes the largest": choice("worst-fit", (4, 3, 6), (0, 0, 1), 3, ((2, 3),)),
    "worst-fit goes on with the largest": choice(
        "worst-fit", (4, 3, 6), (0, 0, 1), 8, ((0, 3), (2, 5))
    ),
    # From 4, 3, 5: node 2; of 4, 3, 4 node 0; of 3, 3, 4 node 2; of 3, 3, 3 node 0.
    "spread levels the nodes": choice("spread", (4, 3, 6), (0, 0, 1), 4, ((0, 2), (2, 2))),
    # Then of 2, 3, 3 node 1.
    "spread levels them further": choice(
        "spread", (4, 3, 6), (0, 0, 1), 5, ((0, 2), (1, 1), (2, 2))
    ),
    "spread takes one of each": choice("spread", (2, 2, 2), (0, 0, 0), 3, ((0, 1), (1, 1), (2, 1))),
    "best-fit ties go to the first": choice("best-fit", (3, 2, 2), (0, 0, 0), 2, ((1, 2),)),
    "worst-fit ties go to the first": choice("worst-fit", (1, 2, 2), (0, 0, 0), 2, ((1, 2),)),
    "fastest takes the fastest": choice(
        "fastest", (2, 2, 2), (0, 0, 0), 3, ((1, 2), (2, 1)), slowness=(2, HALF, 1)
    ),
    "fastest of what is free": choice(
        "fastest", (2, 2, 2), (0, 2, 1), 2, ((0, 1), (2, 1)), slowness=(2, HALF, 1)
    ),
    "fastest ties go to the first": choice(
        "fastest", (2, 2, 2), (0, 0, 0), 3, ((1, 2), (2, 1)), slowness=(2, 1, 1)
    ),
    "slowest without a limit": choice(
        "slowest", (2, 2, 2, 2), (0, 0, 0, 0), 3, ((2, 1), (3, 2)), slowness=SPEEDS
    ),
    # Simulated plans 2, 4, 8, 16.
    "slowest that meets the limit": choice(
        "slowest", (2, 2, 2, 2), (0, 0, 0, 0), 3, ((1, 1), (2, 2)), slowness=SPEEDS, limit=8
    ),
    "slowest, then the fastest that does not": choice(
        "slowest", (2, 2, 2, 2), (0, 0, 0, 0), 3, ((0, 2), (1, 1)), slowness=SPEEDS, limit=3
    ),
    "slowest, with the fast ones busy": choice(
        "slowest", (2, 2, 2, 2), (2, 1, 0, 0), 3, ((1, 1), (2, 2)), slowness=SPEEDS, limit=3
    ),
    "lowest-power takes the least watts": choice(
        "lowest-power", (2, 2, 2), (0, 0, 0), 3, ((1, 2), (2, 1)), watts=(30, 10, 20)
    ),
    # Watts of a whole node would say node 0.
    "lowest-power is per processor": choice(
        "lowest-power", (2, 8), (0, 0), 2, ((1, 2),), watts=(20, 10)
    ),
    "lowest-power of what is free": choice(
        "lowest-power", (2, 2, 2), (0, 1, 0), 2, ((1, 1), (2, 1)), watts=(30, 10, 20)
    ),
    # Watts times slowness: 7.5, 10, 20.
    "lowest-energy takes the most operations per joule": choice(
        "lowest-energy", (2, 2, 2), (0, 0, 0), 3, ((0, 2), (1, 1)),
        slowness=(QUARTER, 1, 1), watts=(30, 10, 20),
    ),
    # Watts times slowness: 30, 40, 20.
    "lowest-energy shuns a slow node of few watts": choice(
        "lowest-energy", (2, 2, 2), (0, 0, 0), 3, ((0, 1), (2, 2)),
        slowness=(1, 4, 1), watts=(30, 10, 20),
    ),
    "contiguous needs neighbours": choice(
        "contiguous", (2, 2, 2, 2), (0, 2, 0, 0), 3, ((2, 2), (3, 1))
    ),
    "contiguous takes the first stretch": choice(
        "contiguous", (2, 2, 2, 2), (0, 2, 0, 0), 2, ((0, 2),)
    ),
    "contiguous waits for neighbours": choice("contiguous", (2, 2, 2, 2), (0, 2, 0, 2), 3, WAITS),
    "contiguous may use parts of nodes": choice(
        "contiguous", (2, 2, 2, 2), (2, 1, 0, 0), 4, ((1, 1), (2, 2), (3, 1))
    ),
    # Usable 4, 3, 1, 2: nodes 1 and 2 are partly busy.
    "pack fills started nodes": choice("pack", (4, 4, 4, 2), (0, 1, 3, 0), 2, ((1, 1), (2, 1))),
    "pack opens the smallest free node": choice(
        "pack", (4, 4, 4, 2), (0, 1, 3, 0), 7, ((0, 1), (1, 3), (2, 1), (3, 2))
    ),
}  # fmt: skip

_MEMORY = (Node(4, 1, flat(4), 10), Node(4, 1, flat(4), 6))
_PER_CORE = Request(0, 4, 4, 4, memory_per_core=3)
_PER_NODE = Request(0, 4, 3, 4, memory_per_node=7)
_WHOLE = (Node(4, 1, flat(4)), Node(2, 1, flat(2)), Node(2, 1, flat(2)))
_ALONE = Request(0, 4, 3, 4, whole_node=True)
_GPU = (
    Node(2, 1, flat(2)),
    Node(2, 1, flat(2), 0, frozenset({"gpu"})),
    Node(2, 1, flat(2), 0, frozenset({"gpu", "big"})),
)
_WATTS = (Node(2, 1, flat(2, 30)), Node(2, 1, flat(2, 10)), Node(2, 1, flat(2, 20)))


def _plain(width: int) -> Request:
    return Request(0, 4, width, 4)


CONSTRAINED = {
    "cores are needed": choice("first-fit", (2, 2), (1, 1), 3, WAITS),
    # 10 // 3 = 3 and 6 // 3 = 2.
    "memory per core": asking(_MEMORY, _PER_CORE, expected=((0, 3), (1, 1))),
    # 1 KB is left on node 0 and 3 KB on node 1.
    "memory per core is used up": asking(
        _MEMORY, _PER_CORE, _PER_CORE._replace(procs=1), expected=((1, 1),)
    ),
    "memory per core has run out": asking(
        _MEMORY, _PER_CORE, _PER_CORE._replace(procs=2), expected=WAITS
    ),
    "who asks for no memory takes the first core": asking(
        _MEMORY, _PER_CORE, _plain(2), expected=((0, 1), (1, 1))
    ),
    "memory per node": asking(_MEMORY, _PER_NODE, expected=((0, 3),)),
    # 3 KB are left on node 0, and one core.
    "memory per node is used up": asking(
        _MEMORY, _PER_NODE, _PER_NODE._replace(procs=1), expected=WAITS
    ),
    "memory per node, elsewhere": asking(
        _MEMORY, _PER_NODE, Request(0, 4, 1, 4, memory_per_node=6), expected=((1, 1),)
    ),
    "memory per node is held on each": asking(
        _MEMORY, Request(0, 4, 5, 4, memory_per_node=5), Request(0, 4, 1, 4, memory_per_core=2),
        expected=WAITS,
    ),
    "whole node": asking(_WHOLE, _ALONE, _plain(1), expected=((1, 1),)),
    "whole node must be free": asking(
        _WHOLE, _plain(1), _ALONE, expected=((1, 2), (2, 1))
    ),
    "whole node may have to wait": asking(_WHOLE, _plain(5), _ALONE, expected=WAITS),
    "feature": asking(_GPU, Request(0, 4, 3, 4, feature="gpu"), expected=((1, 2), (2, 1))),
    "another feature": asking(_GPU, Request(0, 4, 1, 4, feature="big"), expected=((2, 1),)),
    "feature is taken": asking(
        _GPU, Request(0, 4, 3, 4, feature="gpu"), Request(0, 4, 2, 4, feature="gpu"),
        expected=WAITS,
    ),
    # First fit draws 2 * 30 + 10 W.
    "power budget is kept": asking(
        _WATTS, Request(0, 4, 3, 4, power_budget=70), expected=((0, 2), (1, 1))
    ),
    # Two at 10 W and one at 20 W.
    "power budget sends to the lowest power": asking(
        _WATTS, Request(0, 4, 3, 4, power_budget=69), expected=((1, 2), (2, 1))
    ),
    "power budget waits for low power": asking(
        _WATTS, Request(0, 4, 2, 4, power_budget=20), Request(0, 4, 1, 4, power_budget=15),
        expected=WAITS,
    ),
}  # fmt: skip

# (nodes, job, placement, why)
REFUSED = (
    (_MEMORY, _plain(9), "first-fit", "procs"),
    (_MEMORY, Request(0, 4, 6, 4, memory_per_core=3), "first-fit", "memory"),
    (_MEMORY, Request(0, 4, 5, 4, memory_per_node=7), "first-fit", "memory"),
    (_GPU, Request(0, 4, 5, 4, feature="gpu"), "first-fit", "feature"),
    (_GPU, Request(0, 4, 1, 4, feature="tape"), "first-fit", "feature"),
    # Nodes 0 and 2 have the memory, and are no neighbours.
    (
        (Node(2, memory=8), Node(2, memory=1), Node(2, memory=8)),
        Request(0, 4, 4, 4, memory_per_core=4),
        "contiguous",
        "contiguous",
    ),
    (_WATTS, Request(0, 4, 3, 4, power_budget=39), "first-fit", "power"),
)

_FAST, _SLOW = Node(2, HALF, flat(2)), Node(2, 2, flat(2))


def _jobs(*rows: tuple[Exact, Exact, int]) -> tuple[Request, ...]:
    return tuple(Request(*row, row[1]) for row in rows)


SCHEDULES = (
    # Job 0 runs on the fast node until 4, where job 1 gets both nodes, for 2 * 2. On the slow one
    # job 2 would run for 6 and job 3 runs for 4: only that ends in time, though both plans would.
    # After job 1 the fast node is the first.
    Schedule(
        "easy on unlike nodes",
        "easy",
        (_FAST, _SLOW),
        _jobs((0, 8, 2), (0, 2, 4), (0, 3, 2), (0, 2, 1)),
        start=(0, 4, 8, 0),
        end=(4, 8, 9 + HALF, 4),
        allocations=(((0, 2),), ((0, 2), (1, 2)), ((0, 2),), ((1, 1),)),
    ),
    # Job 0 is on one slow processor until 4, when job 1 needs all. First fit would give job 2 a
    # slow and a fast one, for 8; on the two fast ones it needs 2, and starts at once.
    Schedule(
        "a faster part succeeds where the natural choice fails",
        "easy",
        (_SLOW, _FAST),
        _jobs((0, 2, 1), (0, 1, 4), (0, 4, 2)),
        start=(0, 4, 0),
        end=(4, 6, 2),
        allocations=(((0, 1),), ((0, 2), (1, 2)), ((1, 2),)),
    ),
    # Jobs 0 and 1 end at 4, where job 2 gets their nodes and one processor of node 2, until 6.
    # Job 3 would have both of node 2 until 5; job 4 has the one that is left over.
    Schedule(
        "what the head leaves of a node",
        "easy",
        (Node(2, 1, flat(2)), Node(2, 2, flat(2)), Node(2, 1, flat(2))),
        _jobs((0, 4, 2), (0, 2, 2), (0, 1, 5), (0, 5, 2), (0, 5, 1)),
        start=(0, 0, 4, 6, 0),
        end=(4, 4, 6, 11, 5),
        allocations=(((0, 2),), ((1, 2),), ((0, 2), (1, 2), (2, 1)), ((0, 2),), ((2, 1),)),
    ),
    # At 2 one fast processor is free. Job 3 waits for two processors until 4, when six will be
    # free: job 4 runs past that, until 6, and job 3 is left with a slow one.
    Schedule(
        "one reservation counts processors",
        "easy",
        (_FAST, _SLOW._replace(procs=4)),
        _jobs((0, 4, 1), (0, 8, 1), (0, 2, 4), (2, 1, 2), (2, 8, 1)),
        start=(0, 0, 0, 4, 2),
        end=(2, 4, 4, 6, 6),
        allocations=(((0, 1),), ((0, 1),), ((1, 4),), ((0, 1), (1, 1)), ((0, 1),)),
    ),
    # Here job 3 is promised the fast node on [4, 9/2), which leaves job 4 a slow processor.
    Schedule(
        "several reservations hold speeds",
        "easy:2",
        (_FAST, _SLOW._replace(procs=4)),
        _jobs((0, 4, 1), (0, 8, 1), (0, 2, 4), (2, 1, 2), (2, 8, 1)),
        start=(0, 0, 0, 4, 4),
        end=(2, 4, 4, 4 + HALF, 20),
        allocations=(((0, 1),), ((0, 1),), ((1, 4),), ((0, 2),), ((1, 1),)),
    ),
    # Job 0 is on nodes 0, 1 and 3 until 7. Jobs 2 and 3 run on the slow node 2 past that, beside
    # job 1, which counts on any six of fifteen; it then packs the rest of node 2 and node 0.
    Schedule(
        "one reservation counts unlike processors",
        "easy",
        (Node(3, 2, flat(3)), Node(3, 1, flat(3)), Node(5, 4, flat(5)), Node(4, 1, flat(4))),
        _jobs((1, 3, 10), (1, 1, 6), (5, 1, 1), (6, 1, 1)),
        start=(1, 7, 5, 6),
        end=(7, 11, 9, 10),
        allocations=(((0, 3), (1, 3), (3, 4)), ((0, 3), (2, 3)), ((2, 1),), ((2, 1),)),
        placement="pack",
    ),
    # At 4 all six are free, of which job 2 needs three, but those of node 1: job 3 would be on
    # one of them until 6. At 4 it has node 0.
    Schedule(
        "a reservation with a feature holds nodes",
        "easy",
        (Node(3, 1, flat(3)), Node(3, 1, flat(3), 0, frozenset({"gpu"}))),
        (
            Request(0, 4, 2, 4, feature="gpu"),
            Request(0, 4, 3, 4),
            Request(0, 1, 3, 1, feature="gpu"),
            Request(0, 6, 1, 6),
        ),
        start=(0, 0, 4, 4),
        end=(4, 4, 5, 10),
        allocations=(((1, 2),), ((0, 3),), ((1, 3),), ((0, 1),)),
    ),
    # Promises: job 2 the fast node on [4, 5), job 3 everything on [5, 7). At 4 the slow node is
    # free for 1, and job 4 would need 2; after 7 it has the fast one for 1/2.
    Schedule(
        "conservative on unlike nodes",
        "conservative",
        (_FAST, _SLOW),
        _jobs((0, 8, 2), (0, 2, 2), (0, 2, 2), (0, 1, 4), (0, 1, 2)),
        start=(0, 0, 4, 5, 7),
        end=(4, 4, 5, 7, 7 + HALF),
        allocations=(((0, 2),), ((1, 2),), ((0, 2),), ((0, 2), (1, 2)), ((0, 2),)),
    ),
    # As it was, but job 4 fits before job 3.
    Schedule(
        "conservative backfills on a slow node",
        "conservative",
        (_FAST, _SLOW),
        _jobs((0, 8, 2), (0, 2, 2), (0, 2, 2), (0, 1, 4), (0, HALF, 2)),
        start=(0, 0, 4, 5, 4),
        end=(4, 4, 5, 7, 5),
        allocations=(((0, 2),), ((1, 2),), ((0, 2),), ((0, 2), (1, 2)), ((1, 2),)),
    ),
    # Job 1 goes to the slow node rather than wait for the fast one; job 2 has both from 2 on and
    # is as slow as its slowest processor; job 3 waits behind it, and then for a processor.
    Schedule(
        "fcfs does not wait for speed",
        "fcfs",
        (_FAST, _SLOW),
        _jobs((0, 4, 2), (0, 4, 1), (0, 4, 3), (1, 1, 1)),
        start=(0, 0, 2, 8),
        end=(2, 8, 10, 10),
        allocations=(((0, 2),), ((1, 1),), ((0, 2), (1, 1)), ((1, 1),)),
    ),
)
