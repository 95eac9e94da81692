"""What other tables call our columns: one table, ours -> names seen elsewhere."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType

__all__ = ["SYNONYMS", "names_other_unit", "synonym_of"]

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
            *("nodesreq", "reqnodes", "requestednodes", "nnodes", "numnodes", "nodecount"),
            *("allocnodes", "nodesalloc", "nodesused"),
        ),
        "gpus": (
            *("gpusreq", "reqgpus", "requestedgpus", "ngpus", "numgpus", "gpucount"),
            *("allocgpus", "gpusalloc", "gpusused"),
        ),
        "memory": ("memreq", "reqmem", "memoryreq", "requestedmemory", "memoryrequested"),
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

_LONGEST = 80
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
    return next((plain[name] for name in wanted if name in plain), None)


def names_other_unit(name: str) -> bool:
    """Whether the name of a column of times ends with a unit that is not seconds.

    >>> [names_other_unit(name) for name in ("run_ms", "Wait (min)", "elapsedHours", "run_s")]
    [True, True, True, False]
    """
    return _OTHER_UNIT.search(name[-_LONGEST:]) is not None


@lru_cache(maxsize=1 << 12)
def _letters(name: str) -> str:
    if len(name) > _LONGEST:  # No name that anybody gives to a column.
        return name
    return re.sub(r"[\W_]", "", _SECONDS.sub("", name)).lower()
