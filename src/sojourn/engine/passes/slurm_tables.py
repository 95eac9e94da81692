"""What the controller of Slurm sees and changes.

Times are seconds of the controller's clock, on which whole seconds matter: Slurm plans in them.
The stream's zero lies `Pace.zero` past a whole one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...errors import OptionError
from ..state import table
from .slurm_nodes import PLACES
from .slurm_power import NEVER, PoweredNodes, Saving, make_power, no_saving
from .slurm_priority import Associations, Rule, no_associations, unchanging

# Loops.select
LINEAR, CONSUMABLE = 0, 1
# Slurm.by: which loop started a job
MAIN, BACKFILL = 1, 2

# When a loop wakes next, and when priorities are counted anew.
# Nodes that were lately powered down, and woken, as rates count them.
_CLOCKS = "tick wake period look"
_RATED = "suspended resumed"
_SECONDS = """jobs_changed nodes_changed last_full last_main last_backfill last_limits last_period
last_purge last_power quiet_from"""
_COUNTS = """wanted left slots cancelled ending tried ended purged oldest opened leaves changes
plans moment power_due changing resuming ready naps stirred"""

CONTROLLER = np.dtype(
    [(name, "f8") for name in f"{_CLOCKS} {_RATED}".split()]
    + [(name, "i8") for name in f"{_SECONDS} {_COUNTS}".split()],
    align=True,
)
"""The controller's clocks (s), whole seconds at which something was last done, and its counts."""


class Wants(NamedTuple):
    """What jobs ask for, by submit: times in s, `limit` in whole minutes, the rest per node.

    `launch` and `finish` are what Slurm needs before and after a job's own run, `features` a mask
    of those that a node must have, `cancel` when a user takes the job back.
    """

    submit: np.ndarray
    run: np.ndarray
    launch: np.ndarray
    finish: np.ndarray
    cancel: np.ndarray
    limit: np.ndarray
    nodes: np.ndarray
    cpus: np.ndarray
    memory: np.ndarray
    gpus: np.ndarray
    whole: np.ndarray
    features: np.ndarray
    partition: np.ndarray
    user: np.ndarray
    association: np.ndarray
    fixed: np.ndarray


class Machine(NamedTuple):
    """The nodes in Slurm's order; `partitions` is a mask, `tier` belongs to the partitions.

    `leaf` is the switch of each node, below the number of nodes; -1 where Slurm is told of none.
    """

    cpus: np.ndarray
    memory: np.ndarray
    gpus: np.ndarray
    features: np.ndarray
    partitions: np.ndarray
    leaf: np.ndarray
    tier: np.ndarray


class Loops(NamedTuple):
    """The numbers of ``slurm.conf`` that decide who starts when; periods and windows in s."""

    backfill: bool
    select: int
    main_period: int
    main_delay: int
    main_depth: int
    main_starts: int
    backfill_period: int
    resolution: int
    window: int
    tests: int
    reserve: int
    tests_per_user: int
    tests_per_partition: int
    backfill_starts: int
    least_age: int
    over_limit: int
    limit_period: int
    purge_period: int
    purge_age: int


class Pace(NamedTuple):
    """How long the controller takes, and when it was started; all in s.

    started : before the stream's zero if negative; the loops count their periods from there.
    epoch : the second of the Unix epoch at second 0, as far as it matters: Slurm rounds absolute
        times down to the backfill resolution.
    zero : of the stream, past a whole second.
    latency : from the submit to the job's being in the queue.
    epilog : from a job's end to its nodes' being idle.
    tick : of the main loop, which looks about once a second.
    nap : by how much a sleep of the backfill loop is longer than asked for.
    testing : one pass of the backfill loop.
    """

    started: float = -9.96
    epoch: int = 0
    zero: float = 0.19
    latency: float = 0.012
    epilog: float = 0.02
    tick: float = 1.0018
    nap: float = 0.0003
    testing: float = 0.0002


class Outside(NamedTuple):
    """What comes from outside: advance reservations, and what becomes of jobs that come back.

    A reservation is known from `announced` on, a time of the controller's clock (s), and keeps
    `nodes`, a row of bits, from the second `begin` until the second `end`. A job that comes back
    may start `expire` s and one more after its new submit; `saves`: it goes on from a checkpoint.
    """

    expire: int
    saves: bool
    announced: np.ndarray
    begin: np.ndarray
    end: np.ndarray
    nodes: np.ndarray


def nothing_outside(words: int) -> Outside:
    """Nothing is reserved."""
    whole = np.empty(0, np.int64)
    return Outside(0, False, np.empty(0), whole, whole, np.empty((0, words), np.int64))


class Room(NamedTuple):
    """Where jobs that ask for the same have room, one row for each such kind of request.

    `suits` are the nodes that would do were they empty, `now` those that have room; `at` is the
    moment at which a node has it. `kind` is whose row it is, `seen` how many changes it knows.
    """

    kind: np.ndarray
    seen: np.ndarray
    suits: np.ndarray
    now: np.ndarray
    at: np.ndarray


class Slurm(NamedTuple):
    """The discipline: what is given, and the controller's own tables.

    `controller` is one record. `queue` holds the waiting jobs in order, `queued` counts them by
    partition, `given` are the nodes of job j from `first[j]` on. `busy` and `closing` count the
    jobs of a node that run and that are ending, `ending` are the moments at which those that run
    are planned to end; `changed` are the nodes whose jobs changed lately, a ring. From the second
    `eligible` on a job may start.
    `ended` are the jobs that have ended, in order.

    Sets of nodes are rows of bits: `members_of` those of each partition, `closing_set`, `down`, the
    backfill loop's map of the future `space_*`, `kept`, what a pass finds free, `unreserved`, what
    no advance reservation needs, and `usable`.

    `kind` numbers what jobs ask of a node, `alike` what they ask for in all, limits included;
    `vain` remembers for whom of these the backfill loop has looked in vain. `power` are the nodes
    as power saving sees them.
    """

    wants: Wants
    machine: Machine
    loops: Loops
    pace: Pace
    rule: Rule
    tree: Associations
    controller: np.ndarray
    timed_out: np.ndarray
    by: np.ndarray
    priority: np.ndarray
    queue: np.ndarray
    first: np.ndarray
    given: np.ndarray
    kind: np.ndarray
    alike: np.ndarray
    vain: np.ndarray
    room: Room
    members_of: np.ndarray
    queued: np.ndarray
    busy: np.ndarray
    ending: np.ndarray
    changed: np.ndarray
    closing: np.ndarray
    closing_set: np.ndarray
    cpus: np.ndarray
    memory: np.ndarray
    gpus: np.ndarray
    idle_key: np.ndarray
    idle_job: np.ndarray
    ended: np.ndarray
    planned_nodes: np.ndarray
    space_begin: np.ndarray
    space_end: np.ndarray
    space_free: np.ndarray
    usable: np.ndarray
    kept: np.ndarray
    chosen: np.ndarray
    group: np.ndarray
    members: np.ndarray
    soonest: np.ndarray
    tested: np.ndarray
    looked: np.ndarray
    reserved: np.ndarray
    cancels: np.ndarray
    power: PoweredNodes
    outside: Outside
    eligible: np.ndarray
    down: np.ndarray
    unreserved: np.ndarray


def example() -> tuple[Wants, Machine, Loops, Pace, Rule, Associations]:
    """No jobs and no nodes: what fixes the kernel's signature."""
    real, whole, flag = np.empty(0), np.empty(0, np.int64), np.empty(0, np.bool_)
    wants = Wants(*(real,) * 5, *(whole,) * 5, flag, *(whole,) * 4, real)
    loops = Loops(True, *(0,) * (len(Loops._fields) - 1))
    return wants, Machine(*(whole,) * 7), loops, Pace(), unchanging(), no_associations()


def _make_controller(jobs: int, loops: Loops, pace: Pace, rule: Rule, saving: Saving) -> np.ndarray:
    """The controller has just looked at everything, and its nodes have just come up."""
    controller = table(1, CONTROLLER)
    for name in _SECONDS.split():
        controller[name] = int(np.floor(pace.started))
    controller["left"] = jobs
    controller["wanted"] = 1
    controller["tick"] = pace.started + pace.tick
    wake = pace.started + loops.backfill_period + pace.nap
    controller["wake"] = wake if loops.backfill else np.inf
    period = int(np.floor(pace.started)) + rule.period
    controller["period"] = period if rule.period > 0 else np.inf
    controller["look"] = pace.started + 1.0 + pace.nap if saving.on else np.inf
    controller["power_due"] = -NEVER
    return controller


_ROOM = 1 << 23
"""Numbers that the table of rooms may hold; kinds of requests beyond that share rows."""


def _kinds(wants: Wants) -> tuple[np.ndarray, np.ndarray]:
    """Number what jobs ask of a node, and what they ask for in all."""
    node = (wants.partition, wants.features, wants.cpus, wants.memory, wants.gpus, wants.whole)
    rows = np.stack([np.asarray(column, np.int64) for column in (*node, wants.nodes, wants.limit)])
    kind = np.unique(rows[: len(node)], axis=1, return_inverse=True)[1]
    alike = np.unique(rows, axis=1, return_inverse=True)[1]
    return kind.ravel().astype(np.int64), alike.ravel().astype(np.int64)


def _members(machine: Machine, words: int) -> np.ndarray:
    """The nodes of each partition, as rows of bits."""
    members = np.zeros((len(machine.tier), words), np.int64)
    for part in range(len(machine.tier)):
        for node in np.flatnonzero((machine.partitions >> part) & 1).tolist():
            members[part, node >> 5] |= 1 << (node & 31)
    return members


def make_slurm(
    wants: Wants,
    machine: Machine,
    loops: Loops,
    pace: Pace,
    rule: Rule,
    tree: Associations,
    saving: Saving | None = None,
    outside: Outside | None = None,
) -> Slurm:
    """An idle machine before the first submit."""
    saving = no_saving() if saving is None else saving
    jobs, nodes = len(wants.submit), len(machine.cpus)
    slots = 2 * min(jobs, loops.tests) + 8
    whole, real = np.int64, np.float64
    if jobs >> PLACES:
        raise OptionError(f"{jobs:,} jobs; the model of Slurm takes fewer than {1 << PLACES:,}")
    words = max((nodes + 31) >> 5, 1)
    kind, alike = _kinds(wants)
    rows = max(1, min(int(kind.max(initial=0)) + 1, _ROOM // max(nodes, 1)))
    given = int(wants.nodes.sum())
    controller = _make_controller(jobs, loops, pace, rule, saving)
    controller["leaves"] = int(machine.leaf.max(initial=-1)) + 1
    cancelled = np.flatnonzero(np.isfinite(wants.cancel))
    return Slurm(
        wants=wants,
        machine=machine,
        loops=loops,
        pace=pace,
        rule=rule,
        tree=tree,
        controller=controller,
        timed_out=np.zeros(jobs, dtype=np.bool_),
        by=np.zeros(jobs, dtype=np.int8),
        priority=np.zeros(jobs, dtype=real),
        queue=np.empty(jobs, dtype=whole),
        first=np.concatenate([[0], np.cumsum(wants.nodes)]).astype(whole),
        given=np.full(given, -1, dtype=whole),
        kind=kind,
        alike=alike,
        vain=np.full((int(alike.max(initial=0)) + 1, 2), -1, dtype=whole),
        room=Room(
            kind=np.full(rows, -1, dtype=whole),
            seen=np.zeros(rows, dtype=whole),
            suits=np.zeros((rows, words), dtype=whole),
            now=np.zeros((rows, words), dtype=whole),
            at=np.zeros((rows, nodes), dtype=whole),
        ),
        members_of=_members(machine, words),
        queued=np.zeros(len(machine.tier), dtype=whole),
        busy=np.zeros(nodes, dtype=whole),
        # Each job of a node has a processor of its own.
        ending=np.zeros((nodes, int(machine.cpus.max(initial=0)) + 1), dtype=whole),
        # Who knows less than the last changes, one for each node, looks at all nodes.
        changed=np.zeros(1 << nodes.bit_length(), dtype=whole),
        closing=np.zeros(nodes, dtype=whole),
        closing_set=np.zeros(words, dtype=whole),
        cpus=machine.cpus.copy(),
        memory=machine.memory.copy(),
        gpus=machine.gpus.copy(),
        idle_key=np.empty(jobs, dtype=real),
        idle_job=np.empty(jobs, dtype=whole),
        ended=np.empty(jobs, dtype=whole),
        planned_nodes=np.zeros(nodes, dtype=np.bool_),
        space_begin=np.empty(slots, dtype=whole),
        space_end=np.empty(slots, dtype=whole),
        space_free=np.empty((slots, words), dtype=whole),
        usable=np.empty(words, dtype=whole),
        kept=np.empty(words, dtype=whole),
        chosen=np.empty(nodes, dtype=whole),
        group=np.empty(nodes, dtype=whole),
        members=np.empty(nodes + 1, dtype=whole),
        soonest=np.empty(nodes + 1, dtype=whole),
        tested=np.zeros(int(wants.user.max(initial=0)) + 1, dtype=whole),
        looked=np.zeros(len(machine.tier), dtype=whole),
        reserved=np.zeros(len(machine.tier), dtype=whole),
        cancels=cancelled[np.argsort(wants.cancel[cancelled], kind="stable")].astype(whole),
        power=make_power(saving, jobs, nodes, given, pace.started),
        outside=nothing_outside(words) if outside is None else outside,
        eligible=np.floor(wants.submit).astype(whole),
        down=np.zeros(words, dtype=whole),
        unreserved=np.zeros(words, dtype=whole),
    )
