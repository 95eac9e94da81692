"""Completion logs of Slurm, as its plugin ``jobcomp/filetxt`` writes them [slurm]."""

from __future__ import annotations

import math
import os
import re

from ...errors import LogError, check_choice
from ...files.access import parse_lines
from ..report import noted
from ..schema import MISSING
from ..table import Jobs
from .accounting import ACCOUNTED_WIDTHS, ENDED, Accounting, Record
from .clock import LogClock
from .runs import WAITS, account
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
    resources = fields.get("Tres", "")
    field = "JobId"
    try:
        job = whole(fields[field])
        instants = []
        for field in ("SubmitTime", "EligibleTime", "StartTime", "EndTime"):
            word = fields.get(field, "") if field == "EligibleTime" else fields[field]
            instants.append(clock.moment(word))
        submit, eligible, start, end = clock.settled(instants, math.nan, line)
        field = "TimeLimit"
        longest = limit(fields.get(field, ""))
        field = "NodeList"
        names = expand_nodes(fields.get(field, ""))
        field = "NodeCnt"
        nodes = whole(fields.get(field) or str(len(names) or MISSING))
        field = "ProcCnt"
        procs = whole(fields.get(field) or str(MISSING))
        field = "Tres"
        gpus, licences, others = (
            _gpus(fields, nodes),
            licences_among(resources),
            resources_among(resources),
        )
        types = gpu_types_among(resources) or gpu_types_in(fields.get("Gres", ""))
    except KeyError:
        raise LogError(path, f"has no {field}=; correct or remove the line", line=line) from None
    except (ValueError, OverflowError):
        shown = fields.get(field, "")[:40]
        raise LogError(
            path, f"'{shown}' is no value of it; correct or remove the line", line=line, field=field
        ) from None
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
        licences=licences,
        resources=others,
    )


def _gpus(fields: dict[str, str], nodes: int) -> int:
    """Return the GPUs of a job, in all; -1 if not known."""
    listed = gpus_among(fields.get("Tres", ""))
    if listed >= 0 or "Gres" not in fields:
        return listed
    return gpus_in(fields["Gres"]) * max(nodes, 1)


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
