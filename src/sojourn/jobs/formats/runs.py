"""The runs of jobs, from the records that a manager wrote about them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from typing import Any, get_type_hints

import numpy as np
from numpy.typing import NDArray

from ...errors import LogError, check_choice
from ..report import CleaningReport, Finding, noted
from .accounting import Accounting, Record

WAITS = ("submit", "eligible")
"""From when on a job waits: from its submit, or from when it could have started."""

_HELD_BACK = {
    "submit": ("keep", "eligible later than submitted: the wait counts from the submit"),
    "eligible": (
        "repair",
        "eligible later than submitted: taken as submitted when it became eligible",
    ),
}
_TYPES = get_type_hints(Record)
# Texts that may be long, of which few are alike.
_LONG = ("node_list", "name", "features", "licences", "resources", "after")


def distinct(labels: Sequence[str]) -> list[str]:
    """Return labels of which none is there twice: further runs of a job are marked ``#2``.

    >>> distinct(["7", "8", "7"])
    ['7', '8', '7#2']
    """
    seen: dict[str, int] = {}
    made = []
    for label in labels:
        seen[label] = seen.get(label, 0) + 1
        made.append(label if seen[label] == 1 else f"{label}#{seen[label]}")
    return made


def account(
    records: Iterable[Record],
    source: str,
    findings: Iterable[Finding],
    lacks: Sequence[str],
    *,
    header: Sequence[str] = (),
    wait_from: str = "submit",
) -> Accounting:
    """Return records as columns: one row per run, in the order of submission.

    A run recorded twice (a file put together of several, a job seen running and later ended) is
    taken once, as recorded last; a job with several runs was requeued, and each further one is
    submitted when it was requeued.
    """
    check_choice("wait_from", wait_from, WAITS)
    written = list(records)
    kept, repeats = _once(written)
    timeless = [run.job for run in kept if run.submit != run.submit]
    kept = _requeued([run for run in kept if run.submit == run.submit])
    if not kept:
        raise LogError(source, "holds no job with a time of submission; check the file's format")
    held = [run.eligible > run.submit for run in kept]
    if wait_from == "eligible":
        moved = [
            _since_eligible(run) if late else run for run, late in zip(kept, held, strict=True)
        ]
        order = sorted(range(len(moved)), key=lambda k: moved[k].submit)
        kept, held = [moved[k] for k in order], [held[k] for k in order]
    names = distinct([run.label for run in kept])
    attempts = [
        0 if name == run.label else int(name.rpartition("#")[2]) - 1
        for name, run in zip(names, kept, strict=True)
    ]
    try:
        columns = {
            name: np.array(values, object if name in _LONG else _TYPES[name])
            for name, values in zip(Record._fields, zip(*kept, strict=True), strict=True)
        }
        columns["job"] = np.array(_numbers(kept, attempts), np.int64)
    except OverflowError:
        raise LogError(source, "a number takes more than 64 bits; check the file") from None
    del columns["has_number"], columns["array"]
    columns["run"] = np.array(names, np.str_)
    columns["attempt"] = np.array(attempts, np.int64)
    notes = [
        *findings,
        *noted("repeated-record", "drop", "recorded before: the later record is taken", repeats),
        *noted("no-submit", "drop", "no time of submission", timeless),
        *_notes(columns),
        *noted("held-back", *_HELD_BACK[wait_from], columns["job"][np.array(held, np.bool_)]),
    ]
    report = CleaningReport(source, len(written), len(kept), tuple(notes))
    return Accounting(columns, source, report, tuple(lacks), tuple(header))


def _once(written: Sequence[Record]) -> tuple[list[Record], list[int]]:
    """Return each run once, and the numbers of the jobs that were recorded again."""
    runs: dict[tuple[str, float], dict[float, Record]] = {}
    repeats: list[int] = []
    for record in written:
        # A submit that is not known is one place, not a new one each time.
        key = (record.label, math.inf if record.submit != record.submit else record.submit)
        starts = runs.setdefault(key, {})
        # A run seen waiting may have started since; one that started does not wait again.
        start = math.inf if record.start != record.start else record.start
        earlier = starts.pop(math.inf, None) or starts.pop(start, None)
        if earlier is not None:
            repeats.append(record.job)
            record = max(earlier, record, key=_completeness)
            start = math.inf if record.start != record.start else record.start
        starts[start] = record
    return [run for starts in runs.values() for run in starts.values()], repeats


def _completeness(record: Record) -> tuple[bool, bool, int]:
    return record.end == record.end, record.start == record.start, record.line


def _place(run: Record) -> tuple[float, int, float, int]:
    # Tasks of an array get numbers of their own as they start, the last one that of the array.
    number = run.job if run.array < 0 else run.array
    return run.submit, number, run.start if run.start == run.start else math.inf, run.line


def _requeued(runs: list[Record]) -> list[Record]:
    """Return the runs in order; one that was requeued is submitted when the one before ended.

    Slurm has that moment as the submit of the further record. Where a record has the first
    submit of the job instead, the wait would have the former run in it.
    """
    last: dict[str, float] = {}
    made = []
    moved = False
    for run in sorted(runs, key=_place):
        end = last.get(run.label, math.nan)
        if run.submit < end and not run.start < end:
            run = run._replace(submit=end, eligible=max(run.eligible, end))
            moved = True
        last[run.label] = run.end
        made.append(run)
    return sorted(made, key=_place) if moved else made


def _since_eligible(run: Record) -> Record:
    # What is recorded of the end of its wait is surer than when it could have started.
    over = run.start if run.start == run.start else run.end
    return run._replace(submit=run.eligible if over != over else min(run.eligible, over))


def _numbers(runs: Sequence[Record], attempts: Sequence[int]) -> list[int]:
    """Return a number for each run: its job's own where it has one, else a free one."""
    taken: set[int] = set()
    made: list[int | None] = []
    for run, attempt in zip(runs, attempts, strict=True):
        is_own = run.has_number and attempt == 0 and run.job not in taken
        made.append(run.job if is_own else None)
        if is_own:
            taken.add(run.job)
    free = itertools.count(max(run.job for run in runs) + 1)
    return [next(free) if number is None else number for number in made]


def _notes(columns: dict[str, NDArray[Any]]) -> list[Finding]:
    """What reading left as it was, and a reader of the results should know."""
    job, limit = columns["job"], columns["limit"]
    started, ended = np.isfinite(columns["start"]), np.isfinite(columns["end"])
    cases: list[tuple[str, str, NDArray[np.bool_]]] = [
        (
            "never-started",
            "cancelled or failed while it waited: no runtime, the wait is until then",
            ~started & ended,
        ),
        ("unfinished", "still waiting or running when the log was taken", ~ended),
        (
            "requeued",
            "a further run of a job that was requeued: submitted at that moment",
            columns["attempt"] > 0,
        ),
        ("unlimited", "no time limit: the estimate is unknown", np.isinf(limit)),
    ]
    return [note for rule, what, hit in cases for note in noted(rule, "keep", what, job[hit])]
