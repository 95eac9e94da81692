"""What changes during a run: scalars in one record, tables in small named tuples of arrays.

A run can be stopped between two instants, looked at, stepped and resumed: all of it is here, in the
calendar, in the nodes and in the tables of the discipline.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .types import JobView

_CLOCKS = """now work anchor_time anchor_work rate load switch_at switch_level due due_work
shadow until last_pass last_rate
stir rouse awake_by nap_leave idle_time idle_mean ask_every boot_failure repair
sleep_gap wake_gap next_sleep next_wake"""
# Where domains have rates of their own: work done per second, the most that could be, and how fast
# unfinished work falls.
_FLOWS = "flow most_flow slope"
_INTEGRALS = "potential effective waste workload workload_left queue_time service_time"
_COUNTS = """servers gone free running waiting new withdrawn arrived admitted departed events
instants pause recorded epochs segments logged"""
# Of the policy: its backfilling, and what else a pass must know of it.
_POLICY = """lists planning written
backfill reservations dynamic_order dynamic_backfill own_order longest_first in_order
per_event controlled timed exact plans may_overrun records logs in_pieces requeue"""
# Of a discipline's queue: rank of the head, where backfilling stands, the list of waiting jobs.
_QUEUE = """head cursor first sorted shadow_known extra early was_overdue
dues chosen pending refused"""
# Of several queues: how they take turns, who had the last one, and whether some have limits.
_TURNS = "between turn limited"
# Of external events: the next, and whether it has begun; whether the manager stands still, and
# whether the plan is spoilt. Of reservations by their beginnings: how many at first are over, and
# how many the plan of named nodes has. Whether the discipline takes the events, at their turn.
_OUTSIDE = "next midway stopped stale looked returned reserving over kept falling own_events"
# Of named nodes.
_NODES = """rule pooling seed most classes
nodes resources pools groups speeds pinned blind opened given
picked steps free_rows free_cells needed vectors reserved_for passes varied evenly
domains switched"""
# Of nodes that sleep: whether they do, how many are not up, idle, on their way, changes so far;
# whether a choice is made from those that are up alone; the job that blocks others, and the pass in
# which reservations last counted on nodes; how many are asleep, whether watts depend on that, and
# where a node that can sleep is found: its pool and its processors; whether changes of state may
# have `eased` the start of somebody who waits, and jobs have `begun` since all were asked. Whether
# of the picks some may not be up, and whether some nodes take no time to wake (`light`).
_SLEEP = """sleeps keeps idle_varies seed_of_boots not_up idlers transits changes stirred
only_up blocked counted relied asleep lends nap_pool nap_procs
asked failing eased begun unsure light"""

UP, ENTERING, ASLEEP, LEAVING, FAILED = range(5)
"""States of a node, as they are recorded."""

SCALARS = np.dtype(
    [(name, "f8") for name in f"{_CLOCKS} {_FLOWS} {_INTEGRALS}".split()]
    + [
        (name, "i8")
        for name in f"{_COUNTS} {_POLICY} {_QUEUE} {_TURNS} {_OUTSIDE} {_NODES} {_SLEEP}".split()
    ],
    align=True,
)
"""The scalars of a run."""

ROW = np.dtype(
    [(name, "f8") for name in ("time", "rate", "workload")]
    + [(name, "i4") for name in ("present", "queued", "busy", "running")],
    align=True,
)
"""The system after an instant."""

EPOCH = np.dtype([("time", "f8"), ("rate", "f8"), ("domain", "i8")], align=True)
"""The service rate from a time on, of a domain where there are some."""

SEGMENT = np.dtype(
    [(name, "f8") for name in ("start", "stop", "work", "slowness", "up", "boot", "kept")]
    + [(name, "i8") for name in ("job", "held", "row", "rows", "lost")],
    align=True,
)
"""An uninterrupted stretch of service; `lost` if its work must be done again, but for what is
`kept` of the work of the reference node since the job came into the queue. Its nodes were `up` from
a time on (s); `boot` is its work until then."""

LINE = np.dtype(
    [("time", "f8"), ("value", "f8")] + [(name, "i8") for name in ("job", "code", "about")],
    align=True,
)
"""A line of the log of decisions."""


class Running(NamedTuple):
    """The jobs in service.

    `plan` has them by (planned end, job), the soonest last; `finish_*` is the heap of completions
    (work, job). By job: the planned end as work, start and end (s), and the processors it holds.
    `departed` are those who have left since the last pass.
    """

    plan: np.ndarray
    planned: np.ndarray
    start: np.ndarray
    end: np.ndarray
    held: np.ndarray
    finish_key: np.ndarray
    finish_job: np.ndarray
    departed: np.ndarray


class Recording(NamedTuple):
    """What is written during the run; the driver enlarges it when it is full.

    `node`: of a discipline with nodes of its own, those of stretches that were cut short.
    """

    row: np.ndarray
    epoch: np.ndarray
    segment: np.ndarray
    line: np.ndarray
    coins: np.ndarray
    node: np.ndarray


def record(dtype: np.dtype[Any]) -> Any:
    """Return a record of zeros that Python, compiled code and a disabled JIT read as ``s.now``."""
    return np.zeros(1, dtype).view(np.recarray)[0]


def make_scalars(servers: int, rate: float) -> Any:
    """Return the scalars of an idle machine of `servers` processors."""
    s = record(SCALARS)
    s.rate = rate
    s.last_pass = -np.inf
    s.reserved_for = s.failing = -1
    s.switch_at = s.due = s.due_work = s.stir = np.inf
    s.servers = s.free = servers
    return s


def make_running(jobs: JobView, s: Any, *, named: bool) -> Running:
    """Return the tables of jobs in service: none yet."""
    n = len(jobs.submit)
    most = min(n, int(s.servers)) + 1
    planned = n if s.plans else 0
    return Running(
        plan=np.empty(most if s.plans else 0, dtype=np.int64),
        planned=np.empty(planned),
        start=np.full(n, np.nan),
        end=np.full(n, np.nan),
        held=np.zeros(n, dtype=np.int64) if named else jobs.procs,
        finish_key=np.empty(0 if s.exact else most),
        finish_job=np.empty(0 if s.exact else most, dtype=np.int64),
        departed=np.empty(most, dtype=np.int64),
    )


def table(size: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return an empty table of records."""
    return np.zeros(size, dtype).view(np.recarray)


def make_recording(jobs: int, s: Any, coins: NDArray[np.float64]) -> Recording:
    """Return room for a first stretch of what is written."""
    pieces = 2 * jobs + 2 * min(jobs, int(s.servers)) + 16 if s.in_pieces else 0
    return Recording(
        table(2 * jobs + 16 if s.records else 0, ROW),
        table(1024, EPOCH),
        table(pieces, SEGMENT),
        table(16 * jobs + 1024 if s.logs else 0, LINE),
        coins,
        np.empty(0, dtype=np.int64),
    )
