"""Accounting logs of PBS and Torque [pbs]: one record per event of a job."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from typing import NamedTuple

from ...errors import LogError, check_choice
from ...files.access import parse_lines
from ..report import Finding, noted
from ..schema import MISSING
from ..table import Jobs
from ._pbs_requests import PbsRequest, held, ordered, ordered_gpus, request_of, requested_memory
from .accounting import ACCOUNTED_WIDTHS, Accounting, Record
from .clock import NO_ZONE, zone_of
from .runs import WAITS, account
from .slurm_fields import duration, whole

LACKS = (
    "nodes going down and up",
    "changes of the number of nodes",
    "stops and starts of the manager",
)
"""Events that an accounting log of PBS does not record."""

_TYPES = "ABCDEFGHKLMNPQRSTUYcrsu"
_OF_JOBS = "QSEDAR"
_TERMINATED = {256 + 9, 256 + 15, 128 + 9, 128 + 15, -9, -15}
"""Exit statuses of a job that a signal ended."""

_LATEST = 1e11  # s since 1970
_QUARTER = 900.0
"""Time zones differ by whole quarters of an hour (s)."""


class PbsRecord(NamedTuple):
    """One line of an accounting log.

    Parameters
    ----------
    line : its number.
    time : Unix time (s) at which it was written.
    type : its letter: Q queued, S started, E ended, D deleted, A aborted, R rerun, B reservation.
    job : number and server of the job.
    fields : values by key.
    """

    line: int
    time: float
    type: str
    job: str
    fields: dict[str, str]


def read_pbs(
    path: str | os.PathLike[str],
    *,
    strict: bool = False,
    width: str = "requested",
    timezone: str | None = None,
    wait_from: str = "submit",
) -> Jobs:
    """Read jobs from an accounting log of PBS or Torque.

    Parameters
    ----------
    path : the log, plain or packed with gzip or xz; several days may be put together.
    strict : raise at the first malformed line, instead of skipping and counting it.
    width : as in `read_sacct`.
    timezone : of the server; only for logs in which no line has a Unix time beside its stamp.
    wait_from : as in `read_sacct`.

    Returns
    -------
    Jobs
        As from `read_sacct`. A ``select`` of equal chunks gives ``cores_per_node``,
        ``memory_per_node``, ``gpu_type`` and ``features``; of one whose chunks differ, or shared
        nodes, the totals are kept, and the report counts it.
    """
    check_choice("width", width, ACCOUNTED_WIDTHS)
    log = pbs_accounting(path, strict=strict, timezone=timezone, wait_from=wait_from)
    return log.jobs(width)


def pbs_records(
    path: str | os.PathLike[str], *, strict: bool = False, timezone: str | None = None
) -> tuple[list[PbsRecord], list[int]]:
    """Return the records of an accounting log, and the numbers of malformed lines."""
    zone = zone_of(timezone or "UTC")
    written, bad = parse_lines(
        path, lambda text, line: _parsed(path, text, line, zone), "PBS accounting", strict=strict
    )
    # Lines before the first with its Unix time were written by the same clock.
    shift = next((known for record in written if (known := _apart(record)) is not None), 0.0)
    records = []
    for record in written:
        shift = _shift(record, shift)
        records.append(record._replace(time=record.time - shift))
    return records, bad


def _parsed(path: str | os.PathLike[str], text: str, line: int, zone: tzinfo) -> PbsRecord:
    parts = text.split(";", 3)
    if len(parts) < 4:
        raise LogError(
            path,
            f"{len(parts)} fields of 4 (time;type;job;text); correct or remove the line",
            line=line,
        )
    stamp, kind, job, message = (part.strip() for part in parts)
    form = "%m/%d/%Y %H:%M:%S.%f" if "." in stamp else "%m/%d/%Y %H:%M:%S"
    try:
        moment = datetime.strptime(stamp, form).replace(tzinfo=zone).timestamp()
    except ValueError:
        raise LogError(
            path, f"'{stamp[:40]}' is no time; correct the line", line=line, field="time"
        ) from None
    if len(kind) != 1 or kind not in _TYPES:
        raise LogError(
            path, f"'{kind[:40]}' is no type of record; correct it", line=line, field="type"
        )
    fields: dict[str, str] = {}
    key = ""
    for word in message.split():
        name, equals, value = word.partition("=")
        if equals and re.fullmatch(r"[\w.]+", name):
            key, fields[name] = name, value
        elif key:
            fields[key] += f" {word}"
    record = PbsRecord(line, moment, kind, job, fields)
    if kind in _OF_JOBS:
        _check(path, record)
    return record


def _check(path: str | os.PathLike[str], record: PbsRecord) -> None:
    """Raise LogError for a value that cannot be read."""
    readers: dict[str, Callable[[str], object]] = {
        **dict.fromkeys(("ctime", "qtime", "etime", "start", "end"), _unix_time),
        **dict.fromkeys(("Resource_List.walltime", "resources_used.walltime"), duration),
        "resources_used.cput": duration,
        **dict.fromkeys(("Resource_List.ncpus", "Resource_List.nodect", "Exit_status"), whole),
    }
    if not re.match(r"\d{1,18}(?!\d)", record.job):
        raise LogError(
            path, f"'{record.job[:40]}' is no job; correct it", line=record.line, field="job"
        )
    for key, read in readers.items():
        try:
            read(record.fields.get(key, "0"))
        except ValueError:
            raise LogError(
                path,
                f"'{record.fields[key][:40]}' is no value of it; correct the line",
                line=record.line,
                field=key,
            ) from None


def _unix_time(text: str) -> float:
    """Return a moment (s); ValueError for one that no clock shows."""
    value = float(text)
    if not 0 <= value < _LATEST:
        raise ValueError(text)
    return value


def _apart(record: PbsRecord) -> float | None:
    """Return how far the clock on a line is from Unix time (s); None if the line does not say."""
    key = {"S": "start", "E": "end"}.get(record.type)
    if key is None or key not in record.fields:
        return None
    return _QUARTER * round((record.time - float(record.fields[key])) / _QUARTER)


def _shift(record: PbsRecord, shift: float) -> float:
    """Return how far the clock on the lines is from Unix time (s), as the last pair has it."""
    apart = _apart(record)
    # A line may be written late; clocks are set on or back by no less than half an hour.
    if apart is None or abs(apart - shift) < 2 * _QUARTER:
        return shift
    return apart


@dataclass
class _Run:
    """What the records say so far of one run of a job."""

    fields: dict[str, str] = field(default_factory=dict)
    queued: float = math.nan
    start: float = math.nan
    end: float = math.nan
    state: str = "PENDING"
    deleted: bool = False
    line: int = 0


def pbs_accounting(
    path: str | os.PathLike[str],
    *,
    strict: bool = False,
    timezone: str | None = None,
    wait_from: str = "submit",
) -> Accounting:
    """Read the runs of jobs from an accounting log; parameters as in `read_pbs`."""
    check_choice("wait_from", wait_from, WAITS)
    records, bad = pbs_records(path, strict=strict, timezone=timezone)
    runs: dict[str, list[_Run]] = {}
    for record in records:
        if record.type in _OF_JOBS:
            _add_record(runs.setdefault(record.job, []), record)
    if not runs:
        raise LogError(path, "holds no record of a job; check that the log is complete")
    every = [(job, run, request_of(run.fields)) for job, of_job in runs.items() for run in of_job]
    made = [_record(job, run, request) for job, run, request in every]
    notes = [
        *noted("bad-line", "skip", "no record of PBS accounting", bad, "line"),
        *_unsaid(list(zip(made, (request for _, _, request in every), strict=True))),
    ]
    return account(
        made,
        str(path),
        notes,
        LACKS,
        header=_clock(records, timezone),
        wait_from=wait_from,
    )


def _clock(records: list[PbsRecord], timezone: str | None) -> list[str]:
    """Return the lines of a header that say on which clock the log was."""
    is_known = timezone is not None or any(_apart(record) is not None for record in records)
    return [f"TimeZoneString: {timezone or 'UTC'}" if is_known else f"Clock: {NO_ZONE}"]


def _add_record(runs: list[_Run], record: PbsRecord) -> None:
    """Add a record to the run of a job that it belongs to."""
    over = bool(runs) and runs[-1].end == runs[-1].end
    if not runs or (over and record.type in "QS"):
        former = runs[-1] if runs else None
        runs.append(_Run(line=record.line))
        if former is not None:
            # A job that is run again waits from the end of its last run.
            runs[-1].queued = former.end
            runs[-1].fields = {
                k: v for k, v in former.fields.items() if k.startswith("Resource_List")
            }
    run = runs[-1]
    run.fields.update(record.fields)
    if record.type == "Q" and run.queued != run.queued:
        run.queued = record.time
    elif record.type == "S":
        run.start = float(record.fields.get("start", record.time))
        run.state = "RUNNING"
    elif record.type == "D":
        run.deleted = True
        if run.start != run.start:
            run.end, run.state = record.time, "CANCELLED"
    elif record.type == "A":
        run.end, run.state = record.time, "FAILED"
    elif record.type == "R":
        run.end, run.state = record.time, "REQUEUED"
    elif record.type == "E":
        run.start = float(record.fields.get("start", run.start))
        run.end = float(record.fields.get("end", record.time))
        run.state = _ended(run)


def _ended(run: _Run) -> str:
    status = int(run.fields.get("Exit_status", "0"))
    used = duration(run.fields.get("resources_used.walltime", ""))
    ordered = duration(run.fields.get("Resource_List.walltime", ""))
    if status in _TERMINATED or status == -29:
        if run.deleted:
            return "CANCELLED"
        return "TIMEOUT" if max(used, run.end - run.start) >= ordered else "FAILED"
    return "COMPLETED" if status == 0 else "FAILED"


def _unsaid(requests: list[tuple[Record, PbsRequest]]) -> list[Finding]:
    """Return what jobs asked for that the columns of a table cannot hold."""
    cases = (
        (
            "different-chunks",
            "asks for chunks that differ: kept as totals over all of them",
            [record.job for record, request in requests if request.differs],
        ),
        (
            "packed-chunks",
            "chunks of it shared a node: what it asked for per chunk is kept as totals",
            [record.job for record, request in requests if _is_packed(request, record.nodes)],
        ),
        (
            "named-request",
            "asks for hosts by name, or by a text that no column holds: left out",
            [record.job for record, request in requests if request.unsaid],
        ),
    )
    return [note for rule, what, jobs in cases for note in noted(rule, "keep", what, jobs)]


def _is_packed(request: PbsRequest, nodes: int) -> bool:
    return request.cores_per_node > 0 and 0 < nodes != request.chunks


def _record(job: str, run: _Run, request: PbsRequest) -> Record:
    fields = run.fields
    number = job.partition(".")[0]
    digits = re.match(r"\d+", number)
    created = float(fields["ctime"]) if "ctime" in fields else math.nan
    again = run.queued > created
    submit = run.queued if again or created != created else created
    if submit != submit:
        submit = float(fields.get("qtime", "nan"))
    requested, nodes = ordered(fields)
    slots, hosts = held(fields.get("exec_host", ""))
    wanted = requested if requested > 0 else slots
    had = hosts if hosts > 0 else nodes
    is_packed = _is_packed(request, had)
    return Record(
        label=number,
        job=int(digits[0]) if digits else MISSING,
        submit=submit,
        eligible=float(fields.get("etime", "nan")),
        start=run.start,
        end=run.end,
        limit=duration(fields.get("Resource_List.walltime", "")),
        requested=requested,
        allocated=slots,
        nodes=had,
        memory=requested_memory(fields, wanted, request.memory),
        cpu_time=duration(fields.get("resources_used.cput", "")),
        state=run.state,
        user=fields.get("user", ""),
        group=fields.get("group", ""),
        queue=fields.get("queue", ""),
        node_list=fields.get("exec_host", ""),
        line=run.line,
        name=fields.get("jobname", ""),
        account=fields.get("account", "").strip('"') or fields.get("project", ""),
        least_nodes=nodes,
        gpus=ordered_gpus(fields),
        gpu_type=request.gpu_type,
        cores_per_node=MISSING if is_packed else request.cores_per_node,
        memory_per_node=float(MISSING) if is_packed else request.memory_per_node,
        features=request.features,
        resources=request.resources,
        whole_node=request.whole_node,
        after=fields.get("depend", ""),
        qos=fields.get("Resource_List.qos", ""),
        has_number=number.isdecimal() or number.endswith("[]"),
    )
