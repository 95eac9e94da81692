"""The accounting of a resource manager as columns, whatever file it was read from."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, get_type_hints

import numpy as np
from numpy.typing import NDArray

from ...arrays import Floats, Ints, Mask
from ...errors import LogError, check_choice
from ..header import numbered
from ..report import CleaningReport, Finding, noted
from ..schema import MISSING, WIDTHS, is_further, widths
from ..table import Jobs

if TYPE_CHECKING:
    import pandas as pd


ACCOUNTED_WIDTHS = (*WIDTHS, "nodes")
_FAILED = ("FAILED", "TIMEOUT", "OUT_OF_MEMORY", "NODE_FAIL", "BOOT_FAIL", "DEADLINE")
ENDED = {
    "COMPLETED": 1,
    **dict.fromkeys((*_FAILED, "PREEMPTED", "REQUEUED"), 0),
    **dict.fromkeys(("REVOKED", "CANCELLED"), 5),
}
"""States in which a job has ended, and the status of [swf] for each."""

WAITS = ("submit", "eligible")
"""From when on a job waits: from its submit, or from when it could have started."""

_HELD_BACK = {
    "submit": ("keep", "eligible later than submitted: the wait counts from the submit"),
    "eligible": (
        "repair",
        "eligible later than submitted: taken as submitted when it became eligible",
    ),
}
_OPTIONAL = ("partition", "account", "qos", "gpu_type", "licences", "features", "after")
_NAMES = {"user": "uid", "group": "gid", **dict.fromkeys(("queue", *_OPTIONAL), "")}
"""Columns of names, and those that may have the manager's own numbers for them."""

_OPTIONAL_NUMBERS = ("nodes", "cores_per_node", "gpus", "memory_per_node", "whole_node")
# Texts that may be long, of which few are alike.
_LONG = ("node_list", "name", "features", "licences", "resources", "after")
# A name in a damaged file may have a comma in it.
_AMOUNT = re.compile(r"(.+?)=(\d+)(?:,|$)", re.DOTALL)


class Record(NamedTuple):
    """One run of one job, as its manager accounted for it.

    What is not known is -1, nan, None or an empty text.

    Parameters
    ----------
    label : the job as its manager names it, such as ``12_3``.
    job : its number, or that of the array or heterogeneous job it is a part of.
    line : of the file.
    submit, eligible, start, end : Unix times (s). A job that never started has no start, and its
        end is when it was cancelled or failed.
    limit : s, inf if there was none.
    requested, allocated : processors.
    nodes, least_nodes : those it had, else those it requested; those it requested by number.
    memory, memory_per_node : requested, KB per processor and per node.
    cpu_time : s, over all processors; resident : KB, the largest resident set of a task.
    state : in Slurm's words.
    name : given by its user; uid, gid : numbers of user and group, as texts.
    node_list, features, after : nodes it had, features requested, what it depends on; as written.
    gpus, gpu_type, cores_per_node : requested; the type and cores where all nodes have the same.
    licences, resources : requested, such as ``matlab:2,ansys`` and ``mic=4,fpga=1``.
    whole_node : 1 if it requested whole nodes, 0 if not.
    has_number : whether `job` is its own number.
    array : number of the array that it is a task of, or of its heterogeneous job.
    """

    label: str
    job: int
    line: int
    submit: float
    eligible: float
    start: float
    end: float
    limit: float = math.nan
    requested: int = MISSING
    allocated: int = MISSING
    nodes: int = MISSING
    least_nodes: int = MISSING
    memory: float = float(MISSING)
    memory_per_node: float = float(MISSING)
    cpu_time: float = math.nan
    resident: float = math.nan
    state: str = ""
    name: str = ""
    user: str = ""
    group: str = ""
    uid: str = ""
    gid: str = ""
    account: str = ""
    queue: str = ""
    partition: str = ""
    qos: str = ""
    node_list: str = ""
    gpus: int = MISSING
    gpu_type: str = ""
    cores_per_node: int = MISSING
    whole_node: int = MISSING
    features: str | None = None
    licences: str = ""
    resources: str | None = None
    after: str = ""
    has_number: bool = True
    array: int = MISSING


_TYPES = get_type_hints(Record)


@dataclass(frozen=True)
class Accounting:
    """The runs of jobs in the order of submission: one array per field of `Record`.

    Parameters
    ----------
    columns : arrays by name, those of `Record`, with a ``job`` of its own for each run;
        ``attempt``: 0 for the first run of a job, and one more each time it was requeued; ``run``:
        the label, with ``#2`` after it for a second run.
    source : the file.
    report : what reading decided.
    lacks : kinds of events that are not in such a file.
    header : lines about all jobs.
    """

    columns: dict[str, NDArray[Any]]
    source: str
    report: CleaningReport
    lacks: tuple[str, ...] = ()
    header: tuple[str, ...] = ()

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
        """Return the runs as jobs; see `read_sacct` for what becomes of what, and for `width`."""
        check_choice("width", width, ACCOUNTED_WIDTHS)
        columns = self.columns
        submit, start, end = columns["submit"], columns["start"], columns["end"]
        started = np.isfinite(start)
        wait = np.where(started, start, end) - submit
        runtime = end - start
        disordered = (wait < 0) | (runtime < 0)
        limit, requested, allocated = columns["limit"], columns["requested"], columns["allocated"]
        per_processor = columns["cpu_time"] / np.where(allocated > 0, allocated, np.nan)
        origin = np.floor(submit.min(initial=np.inf)) if len(self) else 0.0
        numbers, names = self._numbers()
        job, nodes = columns["job"], columns["nodes"]
        made = {
            "job": job,
            "submit": submit - origin,
            "wait": _known(wait, wait >= 0),
            "runtime": _known(runtime, runtime >= 0),
            "allocated": np.where(started, allocated, MISSING),
            "cpu_time": _known(per_processor, started & np.isfinite(per_processor)),
            "requested": requested,
            "estimate": _known(limit, np.isfinite(limit)),
            "memory": columns["memory"],
            "status": [ENDED.get(state, MISSING) for state in columns["state"].tolist()],
            **numbers,
            "procs": nodes if width == "nodes" else widths(requested, allocated, width),
        }
        optional = {
            **{name: columns[name] for name in _OPTIONAL_NUMBERS},
            "begin": self._begin(origin),
            **self._resources(),
        }
        made |= {name: values for name, values in optional.items() if (values >= 0).any()}
        if (columns["run"] != job.astype(np.str_)).any():
            made["label"] = columns["run"]
        return Jobs(
            made,
            header=[f"UnixStartTime: {int(origin)}", *self.header, *names],
            source=self.source,
            report=self.report.extended(
                noted(
                    "disordered-times",
                    "repair",
                    "starts before its submit or ends before its start: wait or runtime unknown",
                    job[disordered],
                ),
                len(self),
            ),
        )

    def _begin(self, origin: float) -> Floats:
        """Return before when jobs could not start; -1 for those that could at their submit."""
        submit, eligible = self.columns["submit"], self.columns["eligible"]
        over = np.where(np.isfinite(self.columns["start"]), self.columns["start"], self["end"])
        # What is recorded of the end of a wait is surer than when the job could have started.
        held = (eligible > submit) & ~(eligible > over)
        return _known(eligible - origin, held)

    def _resources(self) -> dict[str, Ints]:
        """Return further resources that jobs requested, by name; 0 where others did."""
        texts = self.columns["resources"].tolist()
        amounts = {
            text: {name: int(amount) for name, amount in _AMOUNT.findall(text)}
            for text in dict.fromkeys(texts)
            if text
        }
        names = dict.fromkeys(name for listed in amounts.values() for name in listed)
        unknown = {None: MISSING}
        return {
            name: np.array(
                [amounts[t].get(name, 0) if t else unknown.get(t, 0) for t in texts], np.int64
            )
            for name in names
            if is_further(name)
        }

    def _numbers(self) -> tuple[dict[str, Ints], list[str]]:
        """Return the columns that stand for names, and the lines that say for which."""
        made: dict[str, Ints] = {}
        lines: list[str] = []
        for column, number in _NAMES.items():
            names = [name or "" for name in self.columns[column].tolist()]
            if column in _OPTIONAL and not any(names):
                continue
            own = self.columns[number].tolist() if number else []
            made[column], said = numbered(column, names, own)
            lines += said
        return made, lines


def _known(values: Floats, known: Mask) -> Floats:
    return np.where(known, values, float(MISSING))


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
    cases: list[tuple[str, str, Mask]] = [
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
