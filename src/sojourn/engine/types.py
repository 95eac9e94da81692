"""What a policy function sees, and the pointer types by which kernels call it.

A kernel receives policies as first-class function pointers of a fixed signature: it is compiled
once, and a user's own function never recompiles it.
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any, NamedTuple

import numba
import numpy as np
from numba import config, types
from numba.experimental.function_type import _get_wrapper_address

# Event kinds, as a control sees them; and what it does not see.
UNSEEN, ARRIVE, FINISH, SWITCH = range(4)

# Where a job is, while external events may come.
EXPECTED, NEW, WAITS, RUNS, GONE = range(5)

# What became of a job; nobody is left undecided but those who wait for ever.
UNDECIDED, COMPLETED, KILLED, CANCELLED = range(4)


class JobView(NamedTuple):
    """Columns of the jobs in submission order, as a score and the kernels see them.

    `estimate` and `plan` are the same array: what the scheduler believes, as work (seconds at
    rate 1). `work` is the truth, already cut at the limit when jobs are killed there.
    """

    submit: np.ndarray
    work: np.ndarray
    plan: np.ndarray
    estimate: np.ndarray
    procs: np.ndarray
    user: np.ndarray
    group: np.ndarray
    queue: np.ndarray
    partition: np.ndarray
    memory: np.ndarray
    account: np.ndarray
    qos: np.ndarray
    nodes: np.ndarray
    gpus: np.ndarray


class SystemView(NamedTuple):
    """The system at one event, as a rate control sees it [rumyantsev2018, sec. II].

    `before` is nu before the event, `present` nu after it; `workload` is W after it; `coin` is
    the event's uniform draw (one per arrival or departure, errata 8).
    """

    event: int
    before: int
    present: int
    waiting: int
    busy: int
    servers: int
    workload: float
    rate: float
    coin: float


class RateLaw(NamedTuple):
    """A rate control: its law, when it wakes, and their parameters."""

    law: Any
    wake: Any
    theta: Any


class Laws(NamedTuple):
    """Functions of a policy with their parameters: orders, and `Parts` with what they are handed.

    Orders are `SCORES`; `changing` is the order of queues whose own one changes with time.
    """

    order: Any
    order_theta: Any
    backfill: Any
    backfill_theta: Any
    changing: Any
    changing_theta: Any
    parts: Any
    tables: Any


class Parts(NamedTuple):
    """Larger parts of a kernel on named nodes, compiled by themselves; None where not needed."""

    try_to_start: Any
    find_shadow: Any
    earliest: Any
    take_now: Any
    promise: Any
    take_promised: Any
    find_naturally: Any


def empty_jobs() -> JobView:
    """No jobs: the example whose type fixes the signatures."""
    f, i = np.empty(0), np.empty(0, dtype=np.int64)
    return JobView(f, f, f, f, i, i, i, i, i, f, i, i, i, i)


_JOBS = numba.typeof(empty_jobs())
_SYSTEM = numba.typeof(SystemView(1, 0, 0, 0, 0, 0, 0.0, 0.0, 0.0))
_THETA = types.float64[::1]

_WHICH, _VALUES = types.int64[::1], types.float64[::1]
SCORES = types.void(_JOBS, _WHICH, types.int64, types.int64, types.float64, _THETA, _VALUES)
"""Of (jobs, which, first, last, now, theta, values): ``values[i]`` becomes the score of job
``which[i]``, for i from `first` to `last` - 1. One call scores a whole queue: handing over the jobs
takes longer than a formula."""
CONTROL = types.float64(_SYSTEM, types.float64, _THETA)
SCORES_POINTER = types.FunctionType(SCORES)
CONTROL_POINTER = types.FunctionType(CONTROL)

MOST_DOMAINS = 16
"""Sets of nodes with rates of their own, of which each has a control."""

ControlPointers = namedtuple(  # type: ignore[misc]
    "ControlPointers", [f"domain{d}" for d in range(MOST_DOMAINS)]
)
"""A control for each domain: one that is never asked behind the last."""

CONTROLS_POINTER = types.NamedUniTuple(CONTROL_POINTER, MOST_DOMAINS, ControlPointers)


class _Pointer(types.WrapperAddressProtocol):  # type: ignore[misc]
    """A compiled control as a pointer, whichever it is: so that several are of one type."""

    def __init__(self, law: Any) -> None:
        self._law = law

    def __wrapper_address__(self) -> int:
        address: int = _get_wrapper_address(self._law, CONTROL)
        return address

    def signature(self) -> Any:
        """What it takes and returns."""
        return CONTROL


def control_pointers(laws: tuple[Any, ...]) -> Any:
    """Return compiled controls as a kernel takes those of domains."""
    return ControlPointers(*(laws if config.DISABLE_JIT else map(_Pointer, laws)))
