"""Completion logs of Slurm, as its plugin ``jobcomp/filetxt`` writes them [slurm]."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable
from typing import TypeVar

from ...errors import LogError, check_choice
from ...files.access import parse_lines
from ..report import noted
from ..schema import MISSING
from ..table import Jobs
from .accounting import ACCOUNTED_WIDTHS, ENDED, WAITS, Accounting, Record, account
from .clock import LogClock
from .sacct import LACKS as SACCT_LACKS
from .slurm_fields import (
    expand_nodes,
    gpu_types_among,
    gpu_types_in,
    gpus_among,
    gpus_in,
    licences_among,
    limit,
    resources_among,
    whole,
)

LACKS = (*SACCT_LACKS, "jobs that have not ended", "runs that ended in a requeue")
"""Events that a completion log does not record."""

_KEYS = (
    *("JobId", "UserId", "GroupId", "Name", "JobState", "Partition", "TimeLimit", "StartTime"),
    *("EndTime", "NodeList", "NodeCnt", "ProcCnt", "WorkDir", "ReservationName", "Gres", "Tres"),
    *("Account", "QOS", "WcKey", "Cluster", "SubmitTime", "EligibleTime", "ArrayJobId"),
    *("ArrayTaskId", "HetJobId", "HetJobOffset", "PackJobId", "PackJobOffset", "DerivedExitCode"),
    *("ExitCode", "Comment", "AdminComment", "FailedNode"),
)
# Names and folders may have blanks in them, so only known keys end a value.
_SPLIT = re.compile(rf"(?:^|\s)({'|'.join(_KEYS)})=")
_NUMBER = re.compile(r"(.*)\((\d+)\)")

T = TypeVar("T")


def read_jobcomp(
    path: str | os.PathLike[str],
    *,
    strict: bool = False,
    width: str = "requested",
    timezone: str | None = None,
    wait_from: str = "submit",
) -> Jobs:
    """Read jobs from a log of ``jobcomp/filetxt``.

    Parameters
    ----------
    path : the log, plain or packed with gzip or xz.
    strict : raise at the first malformed line, instead of skipping and counting it.
    width : as in `read_sacct`; such a log has allocated processors and nodes only.
    timezone, wait_from : as in `read_sacct`.

    Returns
    -------
    Jobs
        As from `read_sacct`.
    """
    check_choice("width", width, ACCOUNTED_WIDTHS)
    log = jobcomp_accounting(path, strict=strict, timezone=timezone, wait_from=wait_from)
    return log.jobs(width)


def jobcomp_accounting(
    path: str | os.PathLike[str],
    *,
    strict: bool = False,
    timezone: str | None = None,
    wait_from: str = "submit",
) -> Accounting:
    """Read the runs of jobs from a log of ``jobcomp/filetxt``; parameters as in `read_jobcomp`."""
    check_choice("wait_from", wait_from, WAITS)
    clock = LogClock(timezone)
    records, bad = parse_lines(
        path, lambda text, line: _record(path, text, line, clock), "jobcomp/filetxt", strict=strict
    )
    findings = [
        *noted("bad-line", "skip", "no record of jobcomp/filetxt", bad, "line"),
        *clock.findings(),
    ]
    return account(records, str(path), findings, LACKS, header=clock.header(), wait_from=wait_from)


def _record(path: str | os.PathLike[str], text: str, line: int, clock: LogClock) -> Record:
    marks = list(_SPLIT.finditer(text))
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    # A name may look like a key; Slurm writes its own after it.
    fields = {
        mark[1]: text[mark.end() : end].strip() for mark, end in zip(marks, ends, strict=False)
    }

    def read(name: str, parse: Callable[[str], T], missing: str | None = None) -> T:
        """Return a field as a value; `missing` is what is read where there is none."""
        if name not in fields and missing is None:
            raise LogError(path, f"has no {name}=; correct or remove the line", line=line)
        try:
            return parse(fields.get(name) or missing or "")
        except (ValueError, OverflowError):
            problem = f"'{fields.get(name, '')[:40]}' is no value of it; correct or remove the line"
            raise LogError(path, problem, line=line, field=name) from None

    job = read("JobId", whole)
    submit, eligible, start, end = clock.settled(
        [
            read("SubmitTime", clock.moment),
            read("EligibleTime", clock.moment, ""),
            read("StartTime", clock.moment),
            read("EndTime", clock.moment),
        ],
        math.nan,
        line,
    )
    longest = read("TimeLimit", limit, "")
    names = read("NodeList", expand_nodes, "")
    nodes = read("NodeCnt", whole, str(len(names) or MISSING))
    procs = read("ProcCnt", whole, str(MISSING))
    gpus = read("Tres", lambda text: _gpus(text, fields.get("Gres"), nodes), "")
    types = read("Tres", gpu_types_among, "") or gpu_types_in(fields.get("Gres", ""))
    state = fields.get("JobState", "").partition(" ")[0]
    if start == end and state in ENDED and "NodeList" in fields and not names:
        start = math.nan
    return Record(
        label=_label(fields, job),
        job=job,
        line=line,
        submit=submit,
        eligible=eligible,
        start=start,
        end=end,
        limit=longest,
        allocated=procs,
        nodes=nodes if nodes > 0 else MISSING,
        state=state,
        name=fields.get("Name", ""),
        user=_NUMBER.sub(r"\1", fields.get("UserId", "")),
        group=_NUMBER.sub(r"\1", fields.get("GroupId", "")),
        uid=_number(fields.get("UserId", "")),
        gid=_number(fields.get("GroupId", "")),
        account=_known(fields.get("Account", "")),
        queue=fields.get("Partition", ""),
        partition=fields.get("Partition", ""),
        qos=_known(fields.get("QOS", "")),
        node_list=fields.get("NodeList", ""),
        gpus=gpus,
        gpu_type=types[0] if len(types) == 1 else "",
        licences=read("Tres", licences_among, ""),
        resources=read("Tres", resources_among, ""),
    )


def _gpus(trackable: str, generic: str | None, nodes: int) -> int:
    """Return the GPUs of a job, in all; -1 if not known."""
    listed = gpus_among(trackable)
    if listed >= 0 or generic is None:
        return listed
    return gpus_in(generic) * max(nodes, 1)


def _known(name: str) -> str:
    return "" if name.lower() in ("(null)", "n/a") else name


def _label(fields: dict[str, str], job: int) -> str:
    array, task = fields.get("ArrayJobId", ""), fields.get("ArrayTaskId", "")
    if array.isdecimal() and array != "0" and task.isdecimal():
        return f"{array}_{task}"
    whole = fields.get("HetJobId") or fields.get("PackJobId") or ""
    part = fields.get("HetJobOffset") or fields.get("PackJobOffset") or ""
    if whole.isdecimal() and whole != "0" and part.isdecimal():
        return f"{whole}+{part}"
    return str(job)


def _number(name: str) -> str:
    """Return the number of ``user5(1005)``."""
    match = _NUMBER.fullmatch(name)
    return match[2] if match else name
