"""The accounting of a resource manager as columns, whatever file it was read from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import LogError, OptionError
from ._columns import WIDTHS, widths
from ._names import numbered
from ._report import EXAMPLES, CleaningReport, Finding
from .jobs import MISSING, Jobs, did_you_mean

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ENDED", "Accounting", "Record", "account", "check_width", "found"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

_WIDTHS = (*WIDTHS, "nodes")
ENDED = {
    "COMPLETED": 1,
    "FAILED": 0,
    "TIMEOUT": 0,
    "OUT_OF_MEMORY": 0,
    "NODE_FAIL": 0,
    "BOOT_FAIL": 0,
    "DEADLINE": 0,
    "PREEMPTED": 0,
    "REQUEUED": 0,
    "REVOKED": 5,
    "CANCELLED": 5,
}
"""States in which a job has ended, and the status of [swf] for each."""


class Record(NamedTuple):
    """One run of one job, as its manager accounted for it.

    Parameters
    ----------
    label : the job as its manager names it, such as ``12_3``.
    job : its number.
    submit, eligible, start, end : Unix times (s), nan if not known. A job that never started has
        no start, and its end is when it was cancelled or failed.
    limit : s, nan if not known, inf if there was none.
    requested, allocated : processors, -1 if not known.
    nodes : -1 if not known.
    memory : requested, KB per processor, -1 if not known.
    cpu_time : s, over all processors, nan if not known.
    resident : KB, the largest resident set of a task, nan if not known.
    state : in Slurm's words.
    user, group, queue : names, empty if not known.
    node_list : as written.
    line : of the file.
    """

    label: str
    job: int
    submit: float
    eligible: float
    start: float
    end: float
    limit: float
    requested: int
    allocated: int
    nodes: int
    memory: float
    cpu_time: float
    resident: float
    state: str
    user: str
    group: str
    queue: str
    node_list: str
    line: int


_TEXTS = ("label", "state", "user", "group", "queue", "node_list")
_WHOLE = ("job", "requested", "allocated", "nodes", "line")


@dataclass(frozen=True)
class Accounting:
    """The runs of jobs in the order of submission: one array per field of `Record`.

    Parameters
    ----------
    columns : arrays by name, those of `Record` and ``attempt``: 0 for the first run of a job, and
        one more each time it was requeued.
    source : the file.
    report : what reading decided.
    lacks : kinds of events that such a file cannot tell.
    """

    columns: dict[str, NDArray[Any]]
    source: str
    report: CleaningReport
    lacks: tuple[str, ...] = ()

    def __len__(self) -> int:
        return int(self.columns["job"].size)

    def __getitem__(self, name: str) -> NDArray[Any]:
        """Return a column."""
        return self.columns[name]

    def to_pandas(self) -> pd.DataFrame:
        """Return the columns as a data frame."""
        import pandas as pd

        return pd.DataFrame(self.columns)

    def jobs(self, width: str = "requested") -> Jobs:
        """Return the runs as jobs; see `read_sacct` for what becomes of what.

        Parameters
        ----------
        width : where ``procs`` comes from: ``requested`` or ``allocated`` (the other where that is
            not known), ``max`` of the two, or ``nodes``.
        """
        check_width(width)
        columns = self.columns
        submit, start, end = columns["submit"], columns["start"], columns["end"]
        started = np.isfinite(start)
        wait = np.where(started, start, end) - submit
        runtime = end - start
        disordered = (wait < 0) | (runtime < 0)
        limit, requested, allocated = columns["limit"], columns["requested"], columns["allocated"]
        per_processor = columns["cpu_time"] / np.where(allocated > 0, allocated, np.nan)
        queue, queues = numbered("queue", columns["queue"].tolist())
        user, users = numbered("user", columns["user"].tolist())
        group, groups = numbered("group", columns["group"].tolist())
        origin = np.floor(submit.min(initial=np.inf)) if len(self) else 0.0
        header = [
            f"UnixStartTime: {int(origin)}",
            *users,
            *groups,
            *queues,
        ]
        nodes = columns["nodes"]
        return Jobs(
            {
                "job": columns["job"],
                "submit": submit - origin,
                "wait": _known(wait, wait >= 0),
                "runtime": _known(runtime, runtime >= 0),
                "allocated": np.where(started, allocated, MISSING),
                "cpu_time": _known(per_processor, started & np.isfinite(per_processor)),
                "requested": requested,
                "estimate": _known(limit, np.isfinite(limit)),
                "memory": columns["memory"],
                "status": [ENDED.get(state, MISSING) for state in columns["state"].tolist()],
                "user": user,
                "group": group,
                "queue": queue,
                "procs": nodes if width == "nodes" else widths(requested, allocated, width),
            },
            header=header,
            source=self.source,
            report=self.report.extended(
                found(
                    "disordered-times",
                    "repair",
                    "starts before its submit or ends before its start: wait or runtime unknown",
                    columns["job"][disordered],
                ),
                len(self),
            ),
        )


def check_width(width: str) -> None:
    """Raise OptionError for a width that `Accounting.jobs` does not know."""
    if width not in _WIDTHS:
        near = did_you_mean(width, _WIDTHS) or f"; use one of {', '.join(_WIDTHS)}"
        raise OptionError(f"width '{width}' is unknown{near}")


def _known(values: Floats, known: Mask) -> Floats:
    return np.where(known, values, float(MISSING))


def found(
    rule: str, action: str, what: str, hits: Sequence[int] | Ints, unit: str = "job"
) -> list[Finding]:
    """Return a finding about jobs or lines, or nothing if there are none."""
    listed = [int(hit) for hit in hits]
    if not listed:
        return []
    return [Finding(rule, action, what, len(listed), tuple(listed[:EXAMPLES]), unit)]


def account(
    records: Iterable[Record],
    source: str,
    findings: Iterable[Finding],
    lacks: Sequence[str],
) -> Accounting:
    """Return records as columns: one row per run, in the order of submission.

    A run told twice (a file put together of several, a job seen running and later ended) is taken
    once, as told last; a job with several runs was requeued.
    """
    told = list(records)
    latest: dict[tuple[str, float], list[Record]] = {}
    repeats: list[int] = []
    for record in told:
        runs = latest.setdefault((record.label, record.submit), [])
        same = next((k for k, run in enumerate(runs) if _same(run, record)), None)
        if same is None:
            runs.append(record)
        else:
            repeats.append(record.job)
            runs[same] = max(runs[same], record, key=_completeness)
    kept = [run for runs in latest.values() for run in runs]
    timeless = [run.job for run in kept if run.submit != run.submit]
    kept = [run for run in kept if run.submit == run.submit]
    if not kept:
        raise LogError(source, "holds no job with a time of submission; check the file's format")
    kept.sort(key=lambda run: (run.submit, run.job, run.line))
    seen: dict[str, int] = {}
    attempts = []
    for run in kept:
        attempts.append(seen.get(run.label, 0))
        seen[run.label] = attempts[-1] + 1
    try:
        columns: dict[str, NDArray[Any]] = {
            name: np.array(values, _type(name))
            for name, values in zip(Record._fields, zip(*kept, strict=True), strict=True)
        }
    except OverflowError:
        raise LogError(source, "a number takes more than 64 bits; check the file") from None
    columns["attempt"] = np.array(attempts, np.int64)
    notes = [
        *findings,
        *found("repeated-record", "drop", "told before: the later record is taken", repeats),
        *found("no-submit", "drop", "no time of submission", timeless),
        *_notes(columns),
    ]
    report = CleaningReport(source, len(told), len(kept), tuple(notes))
    return Accounting(columns, source, report, tuple(lacks))


def _type(name: str) -> Any:
    if name in _TEXTS:
        return np.str_
    return np.int64 if name in _WHOLE else np.float64


def _same(earlier: Record, later: Record) -> bool:
    # A run seen waiting may have started since; one that started does not wait again.
    return earlier.start == later.start or earlier.start != earlier.start


def _completeness(record: Record) -> tuple[bool, bool, int]:
    return record.end == record.end, record.start == record.start, record.line


def _notes(columns: dict[str, NDArray[Any]]) -> list[Finding]:
    """What reading left as it was, and a reader of the results should know."""
    job, limit = columns["job"], columns["limit"]
    started, ended = np.isfinite(columns["start"]), np.isfinite(columns["end"])
    cases: list[tuple[str, str, Mask]] = [
        (
            "never-started",
            "cancelled or failed while it waited: no runtime, the wait is until then",
            ~started & ended,
        ),
        ("unfinished", "still waiting or running when the log was taken", ~ended),
        ("requeued", "a further run of a job that was requeued", columns["attempt"] > 0),
        ("unlimited", "no time limit: the estimate is unknown", np.isinf(limit)),
        (
            "held-back",
            "eligible later than submitted: the wait counts from the submit",
            columns["eligible"] > columns["submit"],
        ),
    ]
    return [each for rule, what, hit in cases for each in found(rule, "keep", what, job[hit])]
