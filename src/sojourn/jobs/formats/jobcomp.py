"""Completion logs of Slurm, as its plugin ``jobcomp/filetxt`` writes them [slurm]."""

from __future__ import annotations

import math
import os
import re

from ...errors import LogError
from ...files.lines import parse_lines
from ..schema import MISSING
from ..table import Jobs
from ._clock import Clock
from ._slurm_resources import (
    gpu_types_among,
    gpu_types_in,
    gpus_among,
    gpus_in,
    licences_among,
    resources_among,
)
from .accounting import ENDED, Accounting, Record, check_width, found
from .runs import account, check_waits
from .sacct import LACKS as SACCT_LACKS
from .slurm_fields import expand_nodes, limit, whole

__all__ = ["LACKS", "jobcomp_accounting", "read_jobcomp"]

LACKS = (*SACCT_LACKS, "jobs that have not ended", "runs that ended in a requeue")
"""Events that a completion log does not tell."""

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
    width : as in `read_sacct`; such a log tells allocated processors and nodes only.
    timezone, wait_from : as in `read_sacct`.

    Returns
    -------
    Jobs
        As from `read_sacct`.
    """
    check_width(width)
    told = jobcomp_accounting(path, strict=strict, timezone=timezone, wait_from=wait_from)
    return told.jobs(width)


def jobcomp_accounting(
    path: str | os.PathLike[str],
    *,
    strict: bool = False,
    timezone: str | None = None,
    wait_from: str = "submit",
) -> Accounting:
    """Read the runs of jobs from a log of ``jobcomp/filetxt``; parameters as in `read_jobcomp`."""
    check_waits(wait_from)
    clock = Clock(timezone)
    records, bad = parse_lines(
        path, lambda text, line: _record(path, text, line, clock), "jobcomp/filetxt", strict=strict
    )
    findings = [
        *found("bad-line", "skip", "no record of jobcomp/filetxt", bad, "line"),
        *clock.findings(),
    ]
    return account(records, str(path), findings, LACKS, header=clock.header(), wait_from=wait_from)


def _record(path: str | os.PathLike[str], text: str, line: int, clock: Clock) -> Record:
    marks = list(_SPLIT.finditer(text))
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    # A name may look like a key; Slurm writes its own after it.
    told = {mark[1]: text[mark.end() : end].strip() for mark, end in zip(marks, ends, strict=False)}
    field = "JobId"
    try:
        job = whole(told[field])
        moments = []
        for field in ("SubmitTime", "EligibleTime", "StartTime", "EndTime"):
            word = told.get(field, "") if field == "EligibleTime" else told[field]
            moments.append(clock.moment(word))
        submit, eligible, start, end = clock.settled(moments, math.nan, line)
        field = "TimeLimit"
        ordered = limit(told.get(field, ""))
        field = "NodeList"
        names = expand_nodes(told.get(field, ""))
        field = "NodeCnt"
        nodes = whole(told.get(field) or str(len(names) or MISSING))
        field = "ProcCnt"
        procs = whole(told.get(field) or str(MISSING))
        field = "Tres"
        gpus = _gpus(told, nodes)
        licences, resources = (
            licences_among(told.get(field, "")),
            resources_among(told.get(field, "")),
        )
        types = gpu_types_among(told.get(field, "")) or gpu_types_in(told.get("Gres", ""))
    except KeyError:
        raise LogError(path, f"has no {field}=; correct or remove the line", line=line) from None
    except (ValueError, OverflowError):
        shown = told.get(field, "")[:40]
        raise LogError(
            path, f"'{shown}' is no value of it; correct or remove the line", line=line, field=field
        ) from None
    state = told.get("JobState", "").partition(" ")[0]
    if start == end and state in ENDED and "NodeList" in told and not names:
        start = math.nan
    return Record(
        label=_label(told, job),
        job=job,
        submit=submit,
        eligible=eligible,
        start=start,
        end=end,
        limit=ordered,
        requested=MISSING,
        allocated=procs,
        nodes=nodes if nodes > 0 else MISSING,
        memory=float(MISSING),
        cpu_time=math.nan,
        resident=math.nan,
        state=state,
        user=_NUMBER.sub(r"\1", told.get("UserId", "")),
        group=_NUMBER.sub(r"\1", told.get("GroupId", "")),
        queue=told.get("Partition", ""),
        node_list=told.get("NodeList", ""),
        line=line,
        name=told.get("Name", ""),
        uid=_number(told.get("UserId", "")),
        gid=_number(told.get("GroupId", "")),
        account=_known(told.get("Account", "")),
        partition=told.get("Partition", ""),
        qos=_known(told.get("QOS", "")),
        gpus=gpus,
        gpu_type=types[0] if len(types) == 1 else "",
        licences=licences,
        resources=resources,
    )


def _gpus(told: dict[str, str], nodes: int) -> int:
    """Return the GPUs of a job, in all; -1 if that is not told."""
    listed = gpus_among(told.get("Tres", ""))
    if listed >= 0 or "Gres" not in told:
        return listed
    return gpus_in(told["Gres"]) * max(nodes, 1)


def _known(name: str) -> str:
    return "" if name.lower() in ("(null)", "n/a") else name


def _label(told: dict[str, str], job: int) -> str:
    array, task = told.get("ArrayJobId", ""), told.get("ArrayTaskId", "")
    if array.isdecimal() and array != "0" and task.isdecimal():
        return f"{array}_{task}"
    whole = told.get("HetJobId") or told.get("PackJobId") or ""
    part = told.get("HetJobOffset") or told.get("PackJobOffset") or ""
    if whole.isdecimal() and whole != "0" and part.isdecimal():
        return f"{whole}+{part}"
    return str(job)


def _number(name: str) -> str:
    """Return the number of ``user5(1005)``."""
    match = _NUMBER.fullmatch(name)
    return match[2] if match else name
