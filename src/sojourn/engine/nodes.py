"""Named nodes: what a kernel knows of them, and what changes while jobs come and go.

A kernel takes long to compile if it is handed many arrays, so columns of one kind are the rows of
one table: ``nodes.i[PROCS, node]``, ``nodes.job[WHOLE, j]``.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
from numba import types
from numpy.typing import NDArray

from ..jit import called, inlined
from .bits import Bits, bit_clear, bit_set, make_bits
from .types import empty_jobs

__all__ = [
    "NODES",
    "NODE_SCORE",
    "NODE_SCORE_POINTER",
    "Facts",
    "Needs",
    "NodeView",
    "Nodes",
    "enlarge",
    "expected",
    "make_nodes",
    "move",
    "nth_place",
    "open_nodes",
    "weigh_stretch",
]

# Rows of Nodes.i, by node: its processors, memory (KB) and features; the nodes in the order of
# visits, the place of each in it, and its pool; free processors; a counter for random choice; its
# rank by speed, and a counter of the free processors by rank.
PROCS, MEMORY, FEATURE, ORDER, PLACE, POOL, NODE_FREE, SLOT, TALLY = range(9)
SPEED_RANK, SPEED_TALLY = range(26, 28)
# By pool: where it begins in the order, its processors, what is free of it now (processors and
# KB), what the head of the queue leaves at its reservation, and the pools by watts. By group of
# equal slowness: where it begins in the order, and its first pool.
POOL_FIRST, POOL_PROCS, POOL_FREE, POOL_MEMORY, AHEAD, AHEAD_MEMORY, CHEAP = range(9, 16)
GROUP_FIRST, GROUP_POOL = range(16, 18)
# An allocation under consideration: pairs of node (or pool) and processors in use, and what they
# occupy (processors, KB). Vectors over pools to choose from: what is there, and usable.
PICK, PICK_PROCS, PICK_HELD, PICK_KB, THERE, THERE_MEMORY, USABLE, LISTED = range(18, 26)
# Rows of Nodes.f: by node, per processor; by pool; by group; slownesses, the largest first; a
# key to sort by; slowness by rank.
OPS, SLOWNESS, WATTS, IDLE_WATTS, POOL_SLOWNESS, GROUP_SLOWNESS, SPEEDS, KEY, RANKED = range(9)
# Rows of Nodes.job: what each job asks (memory in KB, a mask of features), the rows of its
# allocation, and the first cell of what it is promised.
PLAIN, PER_CORE, PER_NODE, WHOLE, ASKED, FIRST_ROW, ROW_COUNT, FIRST_CELL = range(8)
# Rows of Nodes.real, by job.
BUDGET, LIMIT, JOB_SLOWNESS, HELD_UNTIL = range(4)
# Rows of Nodes.given, of Nodes.cell and of Nodes.plan_row.
GIVEN_NODE, GIVEN_PROCS = range(2)
CELL_POOL, CELL_PROCS, NEXT_CELL, FREE_CELL = range(4)
STEP_ROW, FREE_ROW = range(2)
# Rows of Nodes.bucket, by number of free processors.
BUCKET, MEMBERS = range(2)
# Rows of Nodes.log.
LOG_TIME, LOG_JOB, LOG_CODE, LOG_ABOUT, LOG_VALUE = range(5)
# Nodes.number
RULE, POOLING, SEED, MOST, COUNT, POOLS, GROUPS, SPEED_COUNT = range(8)
ROWS, PICKED, OPEN, STEPS, FREE_ROWS, FREE_CELLS, NEEDED, LOGGED, BLIND = range(8, 17)
PINNED = 17

# How a placement finds its nodes (RULE), and what a reservation is made of (POOLING).
(ORDERED, SLOWEST, BEST, WORST, PACK, SPREAD, CONTIGUOUS, RANDOM, SCORED) = range(9)
BY_SPEED, ONE_POOL, BY_NODE = range(3)


class NodeView(NamedTuple):
    """Columns of the nodes, as a placement's score sees them; memory in KB."""

    procs: np.ndarray
    free: np.ndarray
    memory: np.ndarray
    free_memory: np.ndarray
    ops: np.ndarray
    slowness: np.ndarray
    watts: np.ndarray
    idle_watts: np.ndarray


class Facts(NamedTuple):
    """What never changes: of nodes, of their order, and of the pools that reservations hold.

    Pools are numbered in the order of visits: the nodes of pool q stand at
    `pool_first[q]:pool_first[q + 1]` in `order`. So are groups of equal slowness. A `blind`
    scheduler expects of a waiting job the recorded runtime, wherever it will run. With jobs
    `pinned` to nodes by what they ask for, a number of free processors is no promise.
    """

    rule: int
    pooling: int
    seed: int
    blind: bool
    pinned: bool
    procs: NDArray[np.int64]
    memory: NDArray[np.int64]
    feature: NDArray[np.int64]
    ops: NDArray[np.float64]
    slowness: NDArray[np.float64]
    watts: NDArray[np.float64]
    idle_watts: NDArray[np.float64]
    order: NDArray[np.int64]
    pool_first: NDArray[np.int64]
    group_first: NDArray[np.int64]


class Needs(NamedTuple):
    """What each job asks of its nodes: memory in KB, a mask of features, watts, a time limit.

    `plain` tells that it asks for processors only.
    """

    plain: NDArray[np.bool_]
    memory_per_core: NDArray[np.int64]
    memory_per_node: NDArray[np.int64]
    whole: NDArray[np.bool_]
    feature: NDArray[np.int64]
    budget: NDArray[np.float64]
    limit: NDArray[np.float64]


class Nodes(NamedTuple):
    """The tables.

    `given` holds the nodes of each job that has started. `bits` holds the nodes with a free
    processor: by place in the order in one row, or by node in one row for each number of free
    processors (`classes`: which of those rows have any); `stretch` sums them for contiguous
    choice. `plan_at`, `plan_row`, `plan` and `cell` belong to `plans`.
    """

    number: np.ndarray
    i: np.ndarray
    f: np.ndarray
    job: np.ndarray
    real: np.ndarray
    given: np.ndarray
    bits: Bits
    classes: Bits
    bucket: np.ndarray
    stretch: np.ndarray
    plan_at: np.ndarray
    plan_row: np.ndarray
    plan: np.ndarray
    cell: np.ndarray
    log: np.ndarray


def make_nodes(facts: Facts, needs: Needs, jobs: int) -> Nodes:
    """Return the nodes before the first job; `open_nodes` frees their processors."""
    n, pools = len(facts.procs), len(facts.pool_first) - 1
    groups = len(facts.group_first) - 1
    most = int(facts.procs.max())
    slow = np.unique(facts.slowness)[::-1]
    classes = {BEST: most, WORST: most, SPREAD: most, PACK: 2 * most}
    rows = classes.get(facts.rule, 0) + 1
    leaves = 1 << max(n - 1, 0).bit_length()
    number = np.zeros(18, dtype=np.int64)
    number[BLIND], number[PINNED] = facts.blind, facts.pinned
    number[:ROWS] = facts.rule, facts.pooling, facts.seed, most, n, pools, groups, len(slow)
    lead = facts.order[facts.pool_first[:-1]]
    place = np.empty(n, dtype=np.int64)
    place[facts.order] = np.arange(n)
    pool_of_place = np.searchsorted(facts.pool_first, np.arange(n + 1), side="right") - 1
    pool_of_place[n] = pools

    i = np.zeros((28, n + 1), dtype=np.int64)
    i[PROCS, :n], i[FEATURE, :n] = facts.procs, facts.feature
    # Unknown memory is none that anybody could be promised.
    i[MEMORY, :n] = np.maximum(facts.memory, 0)
    i[ORDER, :n], i[PLACE, :n], i[POOL, :n] = facts.order, place, pool_of_place[place]
    i[SLOT] = -1
    i[POOL_FIRST, : pools + 1] = facts.pool_first
    i[POOL_PROCS, :pools] = np.add.reduceat(facts.procs[facts.order], facts.pool_first[:-1])
    # By watts, then as in the file.
    i[CHEAP, :pools] = np.lexsort((lead, facts.watts[lead]))
    i[GROUP_FIRST, : groups + 1] = facts.group_first
    i[GROUP_POOL, : groups + 1] = pool_of_place[facts.group_first]
    f = np.zeros((9, n + 1))
    f[OPS, :n], f[SLOWNESS, :n] = facts.ops, facts.slowness
    f[WATTS, :n], f[IDLE_WATTS, :n] = facts.watts, facts.idle_watts
    f[POOL_SLOWNESS, :pools] = facts.slowness[lead]
    f[GROUP_SLOWNESS, :groups] = facts.slowness[facts.order[facts.group_first[:-1]]]
    f[SPEEDS, : len(slow)] = slow
    by_speed = np.argsort(facts.slowness, kind="stable")
    i[SPEED_RANK, by_speed] = np.arange(n)
    f[RANKED, :n] = facts.slowness[by_speed]

    job = np.zeros((8, jobs), dtype=np.int64)
    job[PLAIN], job[PER_CORE], job[PER_NODE] = needs[:3]
    job[WHOLE], job[ASKED], job[FIRST_CELL] = needs.whole, needs.feature, -1
    real = np.zeros((4, jobs))
    real[BUDGET], real[LIMIT] = needs.budget, needs.limit
    return Nodes(
        number=number,
        i=i,
        f=f,
        job=job,
        real=real,
        given=np.zeros((2, 4 * jobs + int(facts.procs.sum()) + 16), dtype=np.int64),
        bits=make_bits(rows, n),
        classes=make_bits(1, rows),
        bucket=np.zeros((2, 2 * most + 2), dtype=np.int64),
        stretch=np.zeros((5, 2 * leaves if facts.rule == CONTIGUOUS else 1), dtype=np.int64),
        plan_at=np.zeros(0),
        plan_row=np.zeros((2, 0), dtype=np.int64),
        plan=np.zeros((2, 0, pools), dtype=np.int64),
        cell=np.zeros((4, 0), dtype=np.int64),
        log=np.zeros((5, 0)),
    )


def enlarge(nodes: Nodes, servers: int, logged: bool) -> Nodes:
    """Return the same nodes with more room wherever it may be short."""
    number = nodes.number
    given, log = nodes.given, nodes.log
    used, jobs = int(number[ROWS]), nodes.job.shape[1]
    if used + servers >= given.shape[1]:
        given = _wider(given, used + servers + 1024)
    if logged and number[LOGGED] + 4 * jobs + 8 >= log.shape[1]:
        log = _wider(log, log.shape[1] + 8 * jobs + 64)
    steps, cells = len(nodes.plan_at), nodes.cell.shape[1]
    plan = np.zeros((2, 2 * steps + 64, nodes.plan.shape[2]), dtype=np.int64)
    plan[:, :steps] = nodes.plan
    row, cell = _wider(nodes.plan_row, steps + 64), _wider(nodes.cell, cells + 64)
    # New rows and cells lie under the others: they are used last.
    for table, which, had, counter in (
        (row, FREE_ROW, steps, FREE_ROWS),
        (cell, FREE_CELL, cells, FREE_CELLS),
    ):
        kept = table[which, : number[counter]].copy()
        added = np.arange(had, table.shape[1])[::-1]
        table[which, : len(added)] = added
        table[which, len(added) : len(added) + len(kept)] = kept
        number[counter] += len(added)
    at = np.concatenate([nodes.plan_at, np.zeros(steps + 64)])
    return nodes._replace(given=given, log=log, plan_at=at, plan_row=row, plan=plan, cell=cell)


def _wider(table: NDArray[np.generic], more: int) -> NDArray[np.generic]:
    return np.concatenate([table, np.zeros((len(table), more), dtype=table.dtype)], axis=1)


@inlined
def weigh_stretch(stretch, leaf, free):
    """Sum, prefix, suffix and best stretch of neighbours with free processors, and "no gap"."""
    at = leaf + (stretch.shape[1] >> 1)
    for what in range(4):
        stretch[what, at] = free
    stretch[4, at] = 1 if free > 0 else 0
    at >>= 1
    while at >= 1:
        a = 2 * at
        b = a + 1
        stretch[0, at] = stretch[0, a] + stretch[0, b]
        stretch[1, at] = stretch[1, a] + (stretch[1, b] if stretch[4, a] == 1 else 0)
        stretch[2, at] = stretch[2, b] + (stretch[2, a] if stretch[4, b] == 1 else 0)
        stretch[3, at] = max(stretch[3, a], stretch[3, b], stretch[2, a] + stretch[1, b])
        stretch[4, at] = stretch[4, a] & stretch[4, b]
        at >>= 1


@inlined
def _reclass(nodes, node, free, present):
    """Put a node into, or take it out of, the class of its number of free processors."""
    row = free
    if nodes.number[RULE] == PACK and free == nodes.i[PROCS, node]:
        row += nodes.number[MOST]
    members = nodes.bucket[MEMBERS]
    if present:
        bit_set(nodes.bits, row, node)
        members[row] += 1
        if members[row] == 1:
            bit_set(nodes.classes, 0, row)
    else:
        bit_clear(nodes.bits, row, node)
        members[row] -= 1
        if members[row] == 0:
            bit_clear(nodes.classes, 0, row)


@inlined
def _tally(nodes, row, place, more):
    """Count `more` at a place of a Fenwick tree."""
    i = place + 1
    while i <= nodes.number[COUNT]:
        nodes.i[row, i] += more
        i += i & -i


@inlined
def nth_place(nodes, row, rank):
    """The place of a Fenwick tree that has at most `rank` counted before it."""
    n = nodes.number[COUNT]
    at = 0
    step = 1
    while 2 * step <= n:
        step *= 2
    while step > 0:
        if at + step <= n and nodes.i[row, at + step] <= rank:
            at += step
            rank -= nodes.i[row, at]
        step >>= 1
    return at


@called
def move(nodes, node, procs, memory):
    """`procs` more processors (fewer if negative) and KB of memory are free on a node."""
    before = nodes.i[NODE_FREE, node]
    now = before + procs
    nodes.i[NODE_FREE, node] = now
    pool = nodes.i[POOL, node]
    nodes.i[POOL_FREE, pool] += procs
    nodes.i[POOL_MEMORY, pool] += memory
    if nodes.number[SPEED_COUNT] > 1:
        _tally(nodes, SPEED_TALLY, nodes.i[SPEED_RANK, node], procs)
    rule = nodes.number[RULE]
    if rule <= SLOWEST:
        if before == 0 and now > 0:
            bit_set(nodes.bits, 0, nodes.i[PLACE, node])
        elif before > 0 and now == 0:
            bit_clear(nodes.bits, 0, nodes.i[PLACE, node])
    elif rule <= SPREAD:
        if before > 0:
            _reclass(nodes, node, before, False)
        if now > 0:
            _reclass(nodes, node, now, True)
    elif rule == RANDOM:
        if (before == 0) != (now == 0):
            _tally(nodes, TALLY, node, 1 if now > 0 else -1)
    elif rule == CONTIGUOUS:
        weigh_stretch(nodes.stretch, node, now)


@called
def open_nodes(nodes):
    """Free all processors, once."""
    if nodes.number[OPEN] == 0:
        nodes.number[OPEN] = 1
        for node in range(nodes.number[COUNT]):
            move(nodes, node, nodes.i[PROCS, node], nodes.i[MEMORY, node])


@inlined
def expected(nodes, plan, slowness):
    """How long the scheduler expects a waiting job to run, on nodes of that slowness."""
    return plan if nodes.number[BLIND] else plan * slowness


def _example() -> Nodes:
    one, real = np.ones(1, dtype=np.int64), np.ones(1)
    zero, ends = np.zeros(1, dtype=np.int64), np.array([0, 1])
    facts = Facts(0, 0, 0, False, False, one, zero, zero, real, real, real, real, zero, ends, ends)
    flag = np.zeros(0, dtype=np.bool_)
    none, nothing = np.zeros(0, dtype=np.int64), np.zeros(0)
    return make_nodes(facts, Needs(flag, none, none, flag, none, nothing, nothing), 0)


NODES = numba.typeof(_example())

_i, _f = np.zeros(0, dtype=np.int64), np.zeros(0)
_VIEW = numba.typeof(NodeView(_i, _i, _i, _i, _f, _f, _f, _f))
NODE_SCORE = types.float64(
    _VIEW, types.int64, numba.typeof(empty_jobs()), types.int64, types.float64, types.float64[::1]
)
NODE_SCORE_POINTER = types.FunctionType(NODE_SCORE)
