"""What a scheduler may know of the jobs: the columns that a formula or a decision is handed."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np


class JobColumns(NamedTuple):
    """Columns of the jobs in submission order, to be read only; times in seconds, memory in KB.

    `estimate` is what the scheduler believes, as work (seconds at rate 1). The true runtime is
    not among them: no scheduler knows it. `user`, `account` and the like are the numbers of names;
    -1 is what is not known.
    """

    submit: np.ndarray
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


class ClairvoyantColumns(NamedTuple):
    """The same, and the true runtime as `work` (seconds at rate 1, cut at a limit that kills)."""

    submit: np.ndarray
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
    work: np.ndarray


def read_only(columns: Any) -> Any:
    """Return a named tuple of arrays, of which none can be written through it."""
    views = [column.view() for column in columns]
    for view in views:
        view.flags.writeable = False
    return type(columns)(*views)


def job_columns(jobs: Any, *, clairvoyant: bool = False) -> Any:
    """Return what a scheduler may know of the jobs of a kernel, to be read only.

    Parameters
    ----------
    jobs : the columns of the kernel.
    clairvoyant : whether to have `ClairvoyantColumns`, not `JobColumns`.
    """
    kind: Any = ClairvoyantColumns if clairvoyant else JobColumns
    return read_only(kind(*(getattr(jobs, name) for name in kind._fields)))
