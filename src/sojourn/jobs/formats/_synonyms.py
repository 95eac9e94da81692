"""What other tables call our columns: one table, ours -> names seen elsewhere."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType

__all__ = [
    "SYNONYMS",
    "is_free_text",
    "is_per_processor",
    "is_synonym",
    "names_other_unit",
    "size_unit",
]
__all__ += ["synonym_of"]

SYNONYMS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "job": ("jobid", "jobidraw", "id", "jobnumber", "jobno"),
        "submit": (
            *("submittime", "submitted", "submittedat", "submission", "submissiontime"),
            *("submittimestamp", "submitdate", "timesubmit", "arrival", "arrivaltime", "qtime"),
        ),
        "start": ("starttime", "started", "startedat", "starttimestamp", "startdate", "timestart"),
        "end": (
            *("endtime", "ended", "endedat", "endtimestamp", "enddate", "timeend"),
            *("finish", "finished", "finishedat", "finishtime", "completiontime"),
        ),
        "wait": ("waittime", "waitingtime", "queuewait"),
        "runtime": (
            *("elapsed", "elapsedtime", "elapsedraw", "duration", "jobduration"),
            *("executiontime", "walltimeused", "wallclockused", "usedwalltime"),
        ),
        "estimate": (
            *(
                "limit",
                "timelimit",
                "walltimelimit",
                "wallclocklimit",
                "requestedtime",
                "timerequested",
            ),
            *("walltimereq", "walltimerequested", "reqwalltime", "requestedwalltime"),
            *("wallclockreq", "wallclockrequested", "reqtime", "timereq"),
        ),
        "procs": (
            *("processors", "cores", "cpus", "nprocs", "ncores", "ncpus"),
            *("numprocs", "numprocessors", "numcores", "numcpus", "corecount", "cpucount"),
        ),
        "requested": (
            *("processorsreq", "procsreq", "coresreq", "cpusreq", "reqcpus", "reqcores"),
            *("reqprocs", "reqprocessors", "requestedprocessors", "requestedprocs"),
            *("requestedcores", "requestedcpus"),
        ),
        "allocated": (
            *("alloccpus", "alloccores", "allocprocs", "allocatedprocessors", "allocatedprocs"),
            *("allocatedcores", "allocatedcpus", "processorsused", "procsused", "coresused"),
            *("cpusused", "processorsalloc", "procsalloc", "coresalloc", "cpusalloc"),
        ),
        "nodes": (
            *("numhosts", "nhosts", "hostcount"),
            *("nodesreq", "reqnodes", "requestednodes", "nnodes", "numnodes", "nodecount"),
            *("allocnodes", "nodesalloc", "nodesused"),
        ),
        "gpus": (
            *("gpusreq", "reqgpus", "requestedgpus", "ngpus", "numgpus", "gpucount"),
            *("allocgpus", "gpusalloc", "gpusused"),
        ),
        "cores_per_node": ("cpuspernode", "ncpuspernode", "procspernode", "ppn"),
        "gpu_type": ("gpumodel", "gpuname", "acceleratortype"),
        "memory": (
            *("memreq", "reqmem", "memoryreq", "requestedmemory", "memoryrequested"),
            *("mempercpu", "mempercore", "memperproc", "memorypercpu", "memorypercore"),
        ),
        "memory_per_node": ("mempernode", "memnode", "memorynode", "reqmempernode"),
        "whole_node": ("exclusive", "wholenodes", "nodeexclusive", "exclusivenodes"),
        "licences": ("licenses", "licence", "license", "reqlicenses"),
        "features": ("feature", "constraint", "constraints"),
        "begin": ("begintime", "earlieststart", "eligible", "eligibletime"),
        "after": ("dependency", "dependencies", "depend", "depends", "dependson"),
        "used_memory": ("maxrss", "memused", "memoryused", "usedmem"),
        "status": ("state", "jobstate", "finalstate", "exitstate", "jobstatus"),
        "user": ("userid", "username", "uid", "owner"),
        "group": ("groupid", "groupname", "gid", "unixgroup"),
        "account": ("accountid", "accountname", "project", "projectid", "projectname"),
        "queue": ("queuename", "queueid"),
        "partition": ("partitionname", "partitionid"),
        "qos": ("qosname", "qosid", "qualityofservice"),
    }
)
"""Small letters and digits alone: ``Submit_Time``, ``submit time`` and ``SubmitTime`` are one."""

_FREE_TEXTS = frozenset(
    {"name", "jobname", "comment", "admincomment", "systemcomment", "command", "script", "reason"}
    | {"submitline", "workdir", "workingdirectory", "stdin", "stdout", "stderr", "description"}
    | {"nodelist", "nodeslist", "hosts", "hostlist", "exechost", "exitcode", "derivedexitcode"}
)
"""Columns of texts that are about one job each, and tell nothing of what it asks for."""

_LONGEST = 80
# With the unit in the name, plain numbers tell how much it is; `mem` alone may be anything.
_SIZE_UNIT = re.compile(r"(?i)[\W_]+\(?([kmgt])i?b(?:ytes)?[)\]]?$")
_PER_PROCESSOR = re.compile(r"(?i)per[\W_]*(cpu|core|proc)")
_WITH_UNIT = {"memory": "mem"}
_SECONDS = re.compile(r"(?i)(_s|_secs?|_seconds|\s*[(\[](s|secs?|seconds)[)\]])$")

_OTHER_UNIT = re.compile(
    r"(?i)([\W_](ms|msecs?|us|ns|mins?|h|hrs?|d|days?)|minutes?|hours?|millis|(milli|micro|nano)"
    r"seconds?)[)\]]?$"
)


def synonym_of(ours: str, available: Sequence[str]) -> str | None:
    """Return the column of a table that is called as ours, or as others call it; else None.

    Parameters
    ----------
    ours : our name, or ``start`` or ``end``.
    available : the names that are left to choose from.

    Examples
    --------
    >>> synonym_of("submit", ["Job ID", "Submit_Time"]), synonym_of("runtime", ["Elapsed (s)"])
    ('Submit_Time', 'Elapsed (s)')
    """
    if ours in available:
        return ours
    plain = {_letters(name): name for name in reversed(available)}
    # Processor time is counted per processor here and over all of them elsewhere.
    own = () if ours == "cpu_time" else (_letters(ours),)
    wanted = (*own, *SYNONYMS.get(ours, ()))
    like = next((plain[name] for name in wanted if name in plain), None)
    if like is not None or "memory" not in ours:
        return like
    sized = {_without_unit(name): name for name in reversed(available) if size_unit(name)}
    wanted = (*wanted, _WITH_UNIT.get(ours, ""))
    return next((sized[name] for name in wanted if name in sized), None)


def size_unit(name: str) -> str:
    """Return the unit of memory that a column's name ends with: K, M, G or T, empty if with none.

    >>> size_unit("memory_kib"), size_unit("ReqMem (GB)"), size_unit("memory")
    ('K', 'G', '')
    """
    match = _SIZE_UNIT.search(name[-_LONGEST:])
    return match[1].upper() if match else ""


def is_per_processor(name: str) -> bool:
    """Whether a column's name says that it is told per processor.

    >>> is_per_processor("mem_per_cpu_mb"), is_per_processor("memory_kib")
    (True, False)
    """
    return _PER_PROCESSOR.search(name[-_LONGEST:]) is not None


def names_other_unit(name: str) -> bool:
    """Whether the name of a column of times ends with a unit that is not seconds.

    >>> [names_other_unit(name) for name in ("run_ms", "Wait (min)", "elapsedHours", "run_s")]
    [True, True, True, False]
    """
    return _OTHER_UNIT.search(name[-_LONGEST:]) is not None


def _without_unit(name: str) -> str:
    # No name that anybody gives to a column is longer, and a pattern takes its time over blanks.
    return name if len(name) > _LONGEST else _letters(_SIZE_UNIT.sub("", name))


def is_synonym(name: str) -> bool:
    """Whether a column is called as others call one of ours, whichever."""
    return _letters(name) in _EVERY or _without_unit(name) in _EVERY


_EVERY = frozenset(name for names in SYNONYMS.values() for name in names)


def is_free_text(name: str) -> bool:
    """Whether a column is called as others call texts about one job."""
    return _letters(name) in _FREE_TEXTS


@lru_cache(maxsize=1 << 12)
def _letters(name: str) -> str:
    if len(name) > _LONGEST:  # No name that anybody gives to a column.
        return name
    return re.sub(r"[\W_]", "", _SECONDS.sub("", name)).lower()
