"""Named nodes: what a kernel knows of them, and what changes while jobs come and go.

A job is a number of equal tasks, each with a vector of resources on one node. What is free is kept
by node for the placements' indices, and by pool and resource for everything that plans ahead.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np
from numba import types
from numpy.typing import NDArray

from ..jit import called, inlined
from .bits import Bits, bit_clear, bit_set, make_bits
from .caps import CapFacts, Caps, make_caps, open_caps, widen
from .domains import DomainFacts, Domains, make_domains, set_speeds, shift_servers
from .state import table
from .types import empty_jobs

# How a placement finds its nodes (s.rule), and what a reservation is made of (s.pooling).
(ORDERED, SLOWEST, BEST, WORST, PACK, SPREAD, CONTIGUOUS, RANDOM, SCORED) = range(9)
BY_SPEED, ONE_POOL, BY_NODE = range(3)
# Rows of Nodes.given, of Nodes.cell and of Nodes.plan_row.
GIVEN_NODE, GIVEN_TASKS = range(2)
CELL_POOL, CELL_TASKS, NEXT_CELL, FREE_CELL = range(4)
STEP_ROW, FREE_ROW = range(2)
# Of Nodes.stock: what pools have, what is free now, what is free at the head's reservation, and
# what a choice is made from. Of Nodes.ask: what a job asks for each task, for each node that it
# uses, and once of the whole cluster.
SIZE, FREE, AHEAD, THERE = range(4)
PER_TASK, PER_NODE, PER_JOB = range(3)
# Rows of Nodes.list: usable tasks by pool, a list, an allocation under consideration (pools or
# nodes, and tasks); what a score of the user's sees of the nodes. Rows of Nodes.real likewise;
# slownesses, the largest first; keys to sort by; until when a node is kept by the plan, as work.
USABLE, LISTED, PICK, PICK_TASKS = range(4)
VIEW_PROCS, VIEW_FREE, VIEW_MEMORY, VIEW_FREE_MEMORY = range(4, 8)
OPS, SLOWNESS, WATTS, IDLE_WATTS, SPEED, KEY, KEPT = range(7)

# Where the innermost loops look stands first, close together.
NODE = np.dtype(
    [(name, "i8") for name in ("free", "procs", "pool", "place", "order", "shelf")]
    + [("slowness", "f8"), ("slot", "i8")]
    + [(name, "f8") for name in ("ops", "watts", "idle_watts", "ranked", "reserved")]
    + [(name, "i8") for name in ("tally", "speed_rank", "speed_tally", "there", "shut")],
    align=True,
)
"""Per processor: operations per second, slowness, watts. `order` has the nodes as they are visited,
`place` the place of each; `tally` and `speed_tally` are counters of free processors, by node and by
`speed_rank`, and `ranked` the slowness by rank. `there` is 0 while a node is down; `reserved` is
when the next known reservation begins, as work; `shut` what nobody may find for a moment; `shelf`
the row of the index that it stands in, where nodes are visited in an order."""

SLEEPER = np.dtype(
    [("since", "f8"), *((name, "i8") for name in ("after", "before", "extra", "waker"))]
    + [(name, "i1") for name in ("state", "woken", "moving", "able", "varies", "broken", "downed")]
    + [(name, "f8") for name in ("arrives", "expected", "begins", "leave", "enter", "wanted")]
    + [(name, "i8") for name in ("counted", "boots", "rests")],
    align=True,
)
"""Of a node that may sleep: seconds to enter and to leave; when the change under way ends, the boot
that was asked for begins, and planning expects the present one to end; since when its idle time
counts, and when, as work, a reservation of the pass `counted` counts on it. Whether it is `able` to
sleep, the times of its boots vary, a change is under way, it was `woken` but does not boot yet; how
often it has booted and come to be idle; and its neighbours among the idle ones, by the time since
when: -1 if it is not one of them. Whether a boot has failed and it is not repaired, and an event
keeps it down. Under caps, what it holds beside idle power on its way (mW), and the job that it
wakes for, or -1."""

CHANGE = np.dtype([("time", "f8"), ("node", "i4"), ("state", "i4")], align=True)
"""A node is in a state from a time (s) on."""

POOL = np.dtype(
    [("slowness", "f8"), ("group_slowness", "f8")]
    + [(name, "i8") for name in ("first", "procs", "cheap", "group_first", "group_pool")],
    align=True,
)
"""`first` is where its nodes begin in the order of visits; `cheap` has the pools by watts. Beside
them, by number, the groups of equal slowness: where they begin in that order, and their first
pool."""

NEED = np.dtype(
    [(name, "f8") for name in ("budget", "limit", "slowness", "until", "too_long")]
    + [("up", "f8"), ("up_by_plan", "f8"), ("boot", "f8")]
    + [(name, "i8") for name in ("tasks", "row", "rows", "cell", "alike", "refused")]
    + [("choice", "i4"), ("choices", "i4"), ("plain", "i1"), ("whole", "i1"), ("distinct", "i1")],
    align=True,
)
"""What a job asks of nodes, and what it has: the slowness and the rows of its allocation, when its
nodes were `up` (s), when they were planned to be, and the work until then; the end and the first
cell of what it is promised. Its sets of eligible nodes are `choices` many, from `choice` on.
`alike` is the first job with the same request, in whose row stands in which pass one of them was
last `refused`, and from which plan on they all were `too_long`; -1 if none is kept."""


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
    `capacity` is by resource and node, processors and memory (KB) first; `licences` is what the
    whole cluster has of each resource that no node has.
    """

    rule: int
    pooling: int
    seed: int
    blind: bool
    pinned: bool
    capacity: NDArray[np.int64]
    licences: NDArray[np.int64]
    ops: NDArray[np.float64]
    slowness: NDArray[np.float64]
    watts: NDArray[np.float64]
    idle_watts: NDArray[np.float64]
    order: NDArray[np.int64]
    pool_first: NDArray[np.int64]
    group_first: NDArray[np.int64]


class SleepFacts(NamedTuple):
    """When idle nodes sleep.

    By node: whether it is `able` to, seconds to enter and to leave, and whether each boot's time
    `varies`: drawn by `seed`, exponential with the mean that planning knows of. An idle node goes
    to sleep after `idle_time` (s), or with `idle_varies` after an exponential time of this mean. If
    the policy `keeps` some on it says how many, after each pass, each `ask_every` seconds (0: not
    besides) and at the times `asks` (s). Of each row of `stays`, a set of nodes with a number
    behind, so many idle ones stay on. Two nodes begin to go to sleep `sleep_gap` s apart at least,
    and two boots `wake_gap` s. A boot fails with the probability `boot_failure`, and the node is
    back `repair` s later.
    """

    able: NDArray[np.bool_]
    enter: NDArray[np.float64]
    leave: NDArray[np.float64]
    varies: NDArray[np.bool_]
    idle_time: float
    idle_varies: bool = False
    keeps: bool = False
    ask_every: float = 0.0
    boot_failure: float = 0.0
    repair: float = 0.0
    seed: int = 0
    sleep_gap: float = 0.0
    wake_gap: float = 0.0
    stays: NDArray[np.int64] | None = None
    asks: NDArray[np.float64] | None = None


class Needs(NamedTuple):
    """What each job asks of its nodes.

    `need` by resource and job is for each task, `per_node` for each node that it uses, `licence`
    for the job; `eligible` by choice and node, of which each job has `choices` from `choice` on.
    `alike` is the first job with the same request, or -1 where refusals are not remembered.
    """

    plain: NDArray[np.bool_]
    tasks: NDArray[np.int64]
    need: NDArray[np.int64]
    per_node: NDArray[np.int64]
    licence: NDArray[np.int64]
    whole: NDArray[np.bool_]
    distinct: NDArray[np.bool_]
    choice: NDArray[np.int64]
    choices: NDArray[np.int64]
    eligible: NDArray[np.bool_]
    budget: NDArray[np.float64]
    limit: NDArray[np.float64]
    alike: NDArray[np.int64]


class Nodes(NamedTuple):
    """The tables; few, because each is handed from function to function.

    `stock` is by resource and pool, of which the last is the whole cluster, for its licences; `ask`
    by resource and job. `given` holds the nodes of each job that has started. `bits` holds the
    nodes with a free processor: by place in the order in one row, or by node in one row for each
    number of free processors (its last row tells which of those have any, `bucket` how many);
    `stretch` sums them for contiguous choice. `plan_*` and `cell` belong to `plans`, the next seven
    to `sleeping`: of nodes, all changes so far, a heap of the changes under way (end, node), the
    nodes that reservations count on, sets of which some stay on, and when to ask. `caps` and
    `domains` are None where there are none.
    """

    node: np.ndarray
    pool: np.ndarray
    job: np.ndarray
    ask: np.ndarray
    eligible: np.ndarray
    stock: np.ndarray
    list: np.ndarray
    real: np.ndarray
    given: np.ndarray
    bits: Bits
    bucket: np.ndarray
    stretch: np.ndarray
    plan_at: np.ndarray
    plan_row: np.ndarray
    plan: np.ndarray
    cell: np.ndarray
    sleeper: np.ndarray
    change: np.ndarray
    arrival: np.ndarray
    arriving: np.ndarray
    relied: np.ndarray
    stays: np.ndarray
    asks: np.ndarray
    caps: Caps | None
    domains: Domains | None


def make_nodes(
    s: Any,
    facts: Facts,
    needs: Needs,
    jobs: int,
    sleep: SleepFacts | None = None,
    capped: CapFacts | None = None,
    domains: DomainFacts | None = None,
) -> Nodes:
    """Return the nodes before the first job; `open_nodes` frees what they have."""
    procs = facts.capacity[0]
    n, pools = len(procs), len(facts.pool_first) - 1
    groups = len(facts.group_first) - 1
    most = int(procs.max())
    slow = np.unique(facts.slowness)[::-1]
    rows = {BEST: most, WORST: most, SPREAD: most, PACK: 2 * most}.get(facts.rule, 0) + 1
    leaves = 1 << max(n - 1, 0).bit_length()
    vectors = not bool(np.all(needs.plain))
    resources = len(facts.capacity) if vectors else 1
    s.rule, s.pooling, s.seed, s.most = facts.rule, facts.pooling, facts.seed, most
    s.nodes, s.pools, s.groups, s.speeds = n, pools, groups, len(slow)
    s.blind, s.pinned, s.vectors, s.resources = facts.blind, facts.pinned, vectors, resources
    place = np.empty(n, dtype=np.int64)
    place[facts.order] = np.arange(n)
    pool_of_place = np.searchsorted(facts.pool_first, np.arange(n + 1), side="right") - 1
    pool_of_place[n] = pools
    lead = facts.order[facts.pool_first[:-1]]

    node = table(n + 1, NODE)
    for name in ("ops", "slowness", "watts", "idle_watts"):
        node[name][:n] = getattr(facts, name)
    node["procs"][:n], node["order"][:n], node["place"][:n] = procs, facts.order, place
    node["pool"][:n], node["slot"], node["reserved"] = pool_of_place[place], -1, np.inf
    by_speed = np.argsort(facts.slowness, kind="stable")
    node["speed_rank"][by_speed] = np.arange(n)
    node["ranked"][:n] = facts.slowness[by_speed]
    pool = table(max(pools, groups) + 1, POOL)
    pool["first"][: pools + 1] = facts.pool_first
    pool["procs"][:pools] = np.add.reduceat(procs[facts.order], facts.pool_first[:-1])
    pool["slowness"][:pools] = facts.slowness[lead]
    # By watts, then as in the file.
    pool["cheap"][:pools] = np.lexsort((lead, facts.watts[lead]))
    pool["group_first"][: groups + 1] = facts.group_first
    pool["group_pool"][: groups + 1] = pool_of_place[facts.group_first]
    pool["group_slowness"][:groups] = facts.slowness[facts.order[facts.group_first[:-1]]]

    job = table(jobs, NEED)
    for name in set(Needs._fields) & set(NEED.names or ()):
        job[name] = getattr(needs, name)
    job["cell"] = -1
    stock = np.zeros((4, resources, pools + 1), dtype=np.int64)
    stock[SIZE, 0, :pools] = pool["procs"][:pools]
    ask = np.zeros((3, 1, 0), dtype=np.int64)
    if vectors:
        # Every node is a pool; unknown memory is none that anybody could be promised.
        stock[SIZE, :, :pools] = np.maximum(facts.capacity, 0)[:, facts.order]
        stock[SIZE, :, pools] = facts.licences
        ask = np.array([needs.need, needs.per_node, needs.licence], dtype=np.int64)
    lists = np.zeros((8, n + 2), dtype=np.int64)
    lists[VIEW_PROCS, :n] = lists[VIEW_FREE, :n] = procs
    lists[VIEW_MEMORY, :n] = lists[VIEW_FREE_MEMORY, :n] = facts.capacity[1]
    real = np.zeros((7, n + 1))
    real[OPS, :n], real[SLOWNESS, :n] = facts.ops, facts.slowness
    real[WATTS, :n], real[IDLE_WATTS, :n] = facts.watts, facts.idle_watts
    real[SPEED, : len(slow)] = slow
    s.classes = rows
    s.varied = capped is not None and capped.varied
    s.lends = capped is not None and capped.lends
    if sleep is not None:
        able = int(np.argmax(sleep.able))
        s.nap_pool, s.nap_procs = pool_of_place[place[able]], procs[able]
    s.evenly = 0 if capped is None else capped.evenly
    whole = np.int64
    return Nodes(
        node=node,
        pool=pool,
        job=job,
        ask=ask,
        # By pool, as choices are made.
        eligible=np.ascontiguousarray(needs.eligible[:, facts.order], np.bool_),
        stock=stock,
        list=lists,
        real=real,
        # Memory that nobody writes to costs nothing, nor does what is written before it is read.
        given=np.empty((2, 8 * jobs + int(procs.sum()) + 16), dtype=whole),
        bits=make_bits(rows + 2, max(n, rows)),
        bucket=np.zeros((2, 2 * most + 2), dtype=whole),
        stretch=np.zeros((5, 2 * leaves if facts.rule == CONTIGUOUS else 1), dtype=whole),
        plan_at=np.zeros(0),
        plan_row=np.zeros((2, 0), dtype=whole),
        plan=np.zeros((resources, 0, pools + 1), dtype=whole),
        cell=np.zeros((4, 0), dtype=whole),
        **_sleepers(n, sleep, jobs),
        caps=None if capped is None else make_caps(capped, facts.order),
        domains=_domains(domains, facts, jobs),
    )


def _domains(domains: DomainFacts | None, facts: Facts, jobs: int) -> Domains | None:
    if domains is None:
        return None
    return make_domains(domains, facts.slowness, min(jobs, int(facts.capacity[0].sum())))


def _sleepers(nodes: int, sleep: SleepFacts | None, jobs: int) -> dict[str, NDArray[Any]]:
    """Tables of nodes that may sleep: empty where none does. Behind the last is the list's end."""
    n = 0 if sleep is None else nodes
    sleeper = table(n + 1, SLEEPER)
    sleeper["after"] = sleeper["waker"] = -1
    sleeper["before"][n] = sleeper["after"][n] = n
    if sleep is not None:
        for name in ("able", "enter", "leave", "varies"):
            sleeper[name][:n] = getattr(sleep, name)
    return {
        "sleeper": sleeper,
        "change": _unwritten(16 * n + (12 * jobs if n else 0), CHANGE),
        "arrival": np.zeros(n),
        "arriving": np.zeros(n, dtype=np.int64),
        "relied": np.zeros(n, dtype=np.int64),
        "stays": np.zeros((0, n + 1), dtype=np.int64)
        if sleep is None or sleep.stays is None
        else sleep.stays,
        "asks": np.zeros(0) if sleep is None or sleep.asks is None else sleep.asks,
    }


def _unwritten(size: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return a table of records, each of which is written before it is read."""
    return np.empty(size, dtype).view(np.recarray)


def example() -> tuple[Facts, Needs]:
    """Return one node and no job: the example whose types fix signatures."""
    real, ends, zero = np.ones(1), np.array([0, 1]), np.zeros(1, np.int64)
    none, nothing = np.zeros(0, np.int64), np.zeros((2, 0), np.int64)
    flag, everywhere = np.zeros(0, np.bool_), np.ones((1, 1), np.bool_)
    capacity, licences = np.ones((2, 1), np.int64), np.zeros(2, np.int64)
    facts = Facts(
        *(0, 0, 0, False, False, capacity, licences), *(real, real, real, real, zero, ends, ends)
    )
    needs = Needs(
        *(flag, none, nothing, nothing, nothing, flag, flag, none, none, everywhere),
        *(np.zeros(0), np.zeros(0), none),
    )
    return facts, needs


def enlarge(s: Any, nodes: Nodes) -> Nodes:
    """Return the same nodes with more room wherever it may be short."""
    if s.given + s.servers >= nodes.given.shape[1]:
        # Copying takes long, and memory that nobody writes to costs nothing: room for all jobs, if
        # those to come are given as much as those so far.
        used, jobs = int(s.given), len(nodes.job)
        wanted = min(int(1.1 * used * jobs / max(int(s.arrived), 1)), 16 * used)
        size = nodes.given.shape[1] + max(wanted, used) + int(s.servers) + 1024
        given = np.empty((2, size), dtype=nodes.given.dtype)
        given[:, :used] = nodes.given[:, :used]
        return nodes._replace(given=given)
    if s.sleeps == 1 and s.changes + 8 * s.nodes >= len(nodes.change):
        # As many changes for each job to come as for those so far.
        share = int(1.1 * s.changes * len(nodes.job) / max(int(s.arrived), 1))
        wanted = max(2 * s.changes, min(share, 16 * s.changes)) + 16 * s.nodes
        wider = _unwritten(int(wanted), CHANGE)
        wider[: s.changes] = nodes.change[: s.changes]
        return nodes._replace(change=wider)
    if s.planning == 0:
        return nodes
    steps, cells = len(nodes.plan_at), nodes.cell.shape[1]
    plan = np.zeros((nodes.plan.shape[0], 2 * steps + 64, nodes.plan.shape[2]), dtype=np.int64)
    plan[:, :steps] = nodes.plan
    row, cell = _wider(nodes.plan_row, steps + 64), _wider(nodes.cell, cells + 64)
    s.free_rows = _restock(row[FREE_ROW], steps, int(s.free_rows))
    s.free_cells = _restock(cell[FREE_CELL], cells, int(s.free_cells))
    at = np.concatenate([nodes.plan_at, np.zeros(steps + 64)])
    caps = widen(nodes.caps, plan.shape[1])
    return nodes._replace(plan_at=at, plan_row=row, plan=plan, cell=cell, caps=caps)


def _restock(stack: NDArray[np.int64], had: int, size: int) -> int:
    """Put what is new under what lies on a stack: it is used last; how many there are then."""
    kept = stack[:size].copy()
    added = np.arange(had, len(stack))[::-1]
    stack[: len(added)] = added
    stack[len(added) : len(added) + len(kept)] = kept
    return len(added) + len(kept)


def _wider(table: NDArray[Any], more: int) -> NDArray[Any]:
    wider = np.zeros((len(table), table.shape[1] + more), dtype=table.dtype)
    wider[:, : table.shape[1]] = table
    return wider


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
def _reclass(node, bits, bucket, classes, row, present):
    """Put a node into, or take it out of, a class by number of free processors."""
    if present:
        bit_set(bits, row, node)
        bucket[1, row] += 1
        if bucket[1, row] == 1:
            bit_set(bits, classes, row)
    else:
        bit_clear(bits, row, node)
        bucket[1, row] -= 1
        if bucket[1, row] == 0:
            bit_clear(bits, classes, row)


@inlined
def nth_place(nodes, n, by_speed, rank):
    """The place of a counter that has at most `rank` counted before it."""
    at = 0
    step = 1
    while 2 * step <= n:
        step *= 2
    while step > 0:
        if at + step <= n:
            here = nodes.node[at + step].speed_tally if by_speed else nodes.node[at + step].tally
            if here <= rank:
                at += step
                rank -= here
        step >>= 1
    return at


@called
def _follow(s, table, bits, bucket, stretch, node, before):
    """Bring the index of a placement that does not visit nodes in a fixed order up to date."""
    now = table[node].free
    rule = s.rule
    if rule <= SPREAD:
        for free in (before, now):
            row = free
            if rule == PACK and free == table[node].procs:
                row += s.most
            if free > 0:
                _reclass(node, bits, bucket, s.classes, row, free == now)
    elif rule == RANDOM:
        if (before == 0) != (now == 0):
            i = node + 1
            while i <= s.nodes:
                table[i].tally += 1 if now > 0 else -1
                i += i & -i
    elif rule == CONTIGUOUS:
        weigh_stretch(stretch, node, now)


@inlined
def move(s, nodes, node, procs):
    """`procs` more processors (fewer if negative) are free on a node.

    It stands in the innermost loops: handing over all tables would take longer than the rest.
    """
    table = nodes.node
    before = table[node].free
    now = before + procs
    table[node].free = now
    nodes.stock[FREE, 0, table[node].pool] += procs
    if s.speeds > 1:
        i = table[node].speed_rank + 1
        while i <= s.nodes:
            table[i].speed_tally += procs
            i += i & -i
    if s.rule <= SLOWEST:
        if before == 0 and now > 0:
            bit_set(nodes.bits, table[node].shelf, table[node].place)
        elif before > 0 and now == 0:
            bit_clear(nodes.bits, table[node].shelf, table[node].place)
    elif procs != 0:
        _follow(s, table, nodes.bits, nodes.bucket, nodes.stretch, node, before)


@called
def shift_node(s, nodes, node, sign):
    """A node comes (sign 1) or goes (-1) with all that it has; nobody is on it."""
    move(s, nodes, node, sign * nodes.node[node].procs)
    nodes.node[node].there = 1 if sign == 1 else 0
    shift_servers(nodes.domains, node, sign * nodes.node[node].procs)
    q = nodes.node[node].pool
    for r in range(1, s.resources):
        nodes.stock[FREE, r, q] += sign * nodes.stock[SIZE, r, q]


@called
def open_nodes(s, nodes):
    """Free all that nodes have, once."""
    if s.opened == 0:
        s.opened = 1
        for node in range(s.nodes):
            shift_node(s, nodes, node, 1)
        for r in range(s.resources):
            nodes.stock[FREE, r, s.pools] = nodes.stock[SIZE, r, s.pools]
        open_caps(nodes.caps)
        set_speeds(s, nodes, nodes.domains)


@inlined
def note_picks(s, size):
    """So many nodes, or pools, are picked; some of them may not be up."""
    s.picked = size
    s.unsure = 1


@inlined
def takes(s, nodes, j, r, q, tasks):
    """What `j` takes of a resource of a pool, with so many tasks there."""
    if s.vectors == 0:
        return tasks
    if q == s.pools:
        return nodes.ask[PER_JOB, r, j]
    if r == 0 and nodes.job[j].whole == 1:
        return nodes.stock[SIZE, 0, q]
    return tasks * nodes.ask[PER_TASK, r, j] + nodes.ask[PER_NODE, r, j]


@inlined
def expected(s, plan, slowness):
    """How long the scheduler expects a waiting job to run, on nodes of that slowness."""
    return plan if s.blind == 1 else plan * slowness


_i, _f = np.zeros(0, dtype=np.int64), np.zeros(0)
_VIEW = numba.typeof(NodeView(_i, _i, _i, _i, _f, _f, _f, _f))
NODE_SCORE = types.float64(
    _VIEW, types.int64, numba.typeof(empty_jobs()), types.int64, types.float64, types.float64[::1]
)
NODE_SCORE_POINTER = types.FunctionType(NODE_SCORE)
