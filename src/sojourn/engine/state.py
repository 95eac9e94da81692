"""The state of a run: arrays only, so that one run can be stopped, stepped and resumed."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .profile import Profile, make_profile
from .queue import QueueIndex, make_queue_index
from .types import JobView

__all__ = ["Orders", "Recording", "Rules", "State", "make_recording", "make_state"]

# state.clock
NOW, WORK, ANCHOR_TIME, ANCHOR_WORK, RATE, LOAD = range(6)
SWITCH_AT, SWITCH_LEVEL, DUE, DUE_WORK, SHADOW, UNTIL = range(6, 12)
PASSED, PASSED_RATE = range(12, 14)
# state.count
ARRIVED, FREE, RUNNING, WAITING, EVENTS, DEPARTED, NEW, EXTRA = range(8)
SHADOW_KNOWN, EARLY, WAS_OVERDUE, RECORDED, SEGMENTS, EPOCHS, PENDING, DUES = range(8, 16)
INSTANTS, HEAD, CURSOR, CHOSEN, SORTED, FIRST, PAUSE = range(16, 23)
# state.total: time integrals of potential load, effective load, waste (eq. 10), workload,
# the workload's left sum, queue and customers in service
POTENTIAL, EFFECTIVE, WASTE, WORKLOAD, WORKLOAD_LEFT, QUEUE, IN_SERVICE = range(7)

# Rules.backfill
NONE, FIRST_FIT, EASY, RESERVE, CONSERVATIVE, PREEMPT, REMAINING = range(7)


class Rules(NamedTuple):
    """What the kernel must know of the policy besides its function pointers."""

    servers: int
    backfill: int
    reservations: int
    dynamic_order: bool
    dynamic_backfill: bool
    own_backfill_order: bool
    longest_first: bool
    per_event: bool
    controlled: bool
    timed_control: bool
    exact: bool
    may_overrun: bool
    record: bool
    stop_at_decisions: bool
    named: bool
    log: bool


class Recording(NamedTuple):
    """Rows written during the run; the driver enlarges them when they are full."""

    time: np.ndarray
    rate: np.ndarray
    workload: np.ndarray
    present: np.ndarray
    queued: np.ndarray
    busy: np.ndarray
    running: np.ndarray
    segment_job: np.ndarray
    segment_start: np.ndarray
    segment_stop: np.ndarray
    epoch_time: np.ndarray
    epoch_rate: np.ndarray


class State(NamedTuple):
    """Everything that changes during a run.

    `held` is what each job occupies, `departed` who has left since the last pass.
    `finish_*` is the completion heap (work, job); `plan` the running jobs by planned end, the
    soonest last; `waiting`, from FIRST on, the waiting jobs by (key, job) where there is no queue
    index; `promise`, `due_*` and `profile` belong to conservative backfilling; `remaining`,
    `left` and `resumed` to preemption.
    """

    clock: np.ndarray
    count: np.ndarray
    total: np.ndarray
    start: np.ndarray
    end: np.ndarray
    held: np.ndarray
    departed: np.ndarray
    finish_key: np.ndarray
    finish_job: np.ndarray
    plan: np.ndarray
    planned: np.ndarray
    queue: QueueIndex
    backfill: QueueIndex
    waiting: np.ndarray
    key: np.ndarray
    backfill_key: np.ndarray
    sorted: np.ndarray
    chosen: np.ndarray
    score: np.ndarray
    scored: np.ndarray
    remaining: np.ndarray
    left: np.ndarray
    resumed: np.ndarray
    promise: np.ndarray
    first_promise: np.ndarray
    due_key: np.ndarray
    due_job: np.ndarray
    profile: Profile
    coins: np.ndarray


class Orders(NamedTuple):
    """Static keys of the order and the backfill order: smaller first; None where dynamic."""

    order: np.ndarray | None
    backfill: np.ndarray | None


def is_indexed(rules: Rules) -> bool:
    """Whether the waiting jobs live in a queue index: fixed orders, and no look-ahead."""
    listed = rules.dynamic_order or rules.dynamic_backfill or rules.stop_at_decisions or rules.log
    return rules.backfill <= EASY and not listed


def is_planned(rules: Rules) -> bool:
    """Whether running jobs are kept in order: by planned end, or by that of the discipline."""
    return rules.backfill >= EASY


def make_recording(jobs: int, rules: Rules) -> Recording:
    """Room for a first stretch of rows."""
    rows = 2 * jobs + 16 if rules.record else 0
    pieces = 2 * jobs + 2 * min(jobs, rules.servers) + 16 if rules.backfill >= PREEMPT else 0
    return Recording(
        *(np.empty(rows) for _ in range(3)),
        *(np.empty(rows, dtype=np.int32) for _ in range(4)),
        np.empty(pieces, dtype=np.int64),
        np.empty(pieces),
        np.empty(pieces),
        np.empty(1024),
        np.empty(1024),
    )


def _room(n: int, wanted: bool, dtype: type = np.float64) -> np.ndarray:
    return np.empty(n if wanted else 0, dtype=dtype)


def _index(key: np.ndarray | None, wanted: bool, servers: int) -> QueueIndex:
    if not wanted or key is None:
        return make_queue_index(np.empty(0, dtype=np.int64), 1)
    in_place = bool(np.all(key[1:] >= key[:-1]))
    order = np.arange(len(key)) if in_place else np.argsort(key, kind="stable")
    return make_queue_index(order, servers)


def make_state(
    jobs: JobView, rules: Rules, orders: Orders, rate: float, coins: np.ndarray
) -> State:
    """State before the first event: an empty system at rate `rate`."""
    n = len(jobs.submit)
    most = min(n, rules.servers) + 1
    indexed, planned = is_indexed(rules), is_planned(rules)
    preemptive = rules.backfill >= PREEMPT
    promised = rules.backfill == CONSERVATIVE
    clock = np.zeros(14)
    clock[RATE] = rate
    clock[PASSED] = -np.inf
    clock[SWITCH_AT] = clock[DUE] = clock[DUE_WORK] = np.inf
    count = np.zeros(23, dtype=np.int64)
    count[FREE] = rules.servers
    key = np.zeros(0) if indexed else np.zeros(n)
    if not indexed and orders.order is not None:
        key[:] = orders.order
    backfill_key = np.zeros(0)
    if not indexed and orders.backfill is not None:
        backfill_key = np.ascontiguousarray(orders.backfill, dtype=np.float64)
    steps = {RESERVE: 4 * most + 64, CONSERVATIVE: 2 * n + 16}.get(rules.backfill, 2)
    if rules.backfill == RESERVE:
        steps += 2 * min(n, rules.reservations)
    return State(
        clock=clock,
        count=count,
        total=np.zeros(7),
        start=np.full(n, np.nan),
        end=np.full(n, np.nan),
        held=np.zeros(n, dtype=np.int64) if rules.named else jobs.procs,
        departed=np.empty(most, dtype=np.int64),
        finish_key=np.empty(most),
        finish_job=np.empty(most, dtype=np.int64),
        plan=_room(most, planned, np.int64),
        planned=_room(n, planned),
        queue=_index(orders.order, indexed, rules.servers),
        backfill=_index(orders.backfill, indexed and rules.own_backfill_order, rules.servers),
        waiting=_room(n, not indexed, np.int64),
        key=key,
        backfill_key=backfill_key,
        sorted=_room(n, not indexed, np.int64),
        chosen=_room(n, not indexed, np.int64),
        score=_room(n, not indexed),
        scored=_room(n, not indexed, np.int64),
        remaining=jobs.work.copy() if preemptive else np.empty(0),
        left=jobs.plan.copy() if preemptive else np.empty(0),
        resumed=_room(n, preemptive),
        promise=np.full(n if promised else 0, np.inf),
        first_promise=np.full(n if promised else 0, np.nan),
        due_key=_room(2 * n + 16, promised),
        due_job=_room(2 * n + 16, promised, np.int64),
        profile=make_profile(steps, rules.servers),
        coins=coins,
    )


def waiting_jobs(state: State) -> np.ndarray:
    """The list of waiting jobs, in its order."""
    first = state.count[FIRST]
    return state.waiting[first : first + state.count[WAITING]]
