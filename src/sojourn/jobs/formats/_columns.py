"""From the columns of somebody else's table to ours: what others call them, and which are taken."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...errors import InputError, OptionError, did_you_mean
from ..schema import LABEL, SCHEMA, check_columns, is_further, widths

SYNONYMS: Mapping[str, tuple[str, ...]] = {
    name: tuple(others.split())
    for name, others in {
        "job": "jobid jobidraw id jobnumber jobno",
        "submit": "submittime submitted submittedat submission submissiontime submittimestamp "
        "submitdate timesubmit arrival arrivaltime qtime",
        "start": "starttime startingtime started startedat starttimestamp startdate timestart",
        "end": "endtime ended endedat endtimestamp enddate timeend finish finished finishedat "
        "finishtime completiontime",
        "wait": "waittime waitingtime queuewait",
        "runtime": "elapsed elapsedtime elapsedraw duration jobduration executiontime walltimeused "
        "wallclockused usedwalltime",
        "estimate": "limit timelimit walltimelimit wallclocklimit requestedtime timerequested "
        "walltimereq walltimerequested reqwalltime requestedwalltime wallclockreq "
        "wallclockrequested reqtime timereq",
        "procs": "processors cores cpus nprocs ncores ncpus numprocs numprocessors numcores "
        "numcpus corecount cpucount",
        "requested": "processorsreq procsreq coresreq cpusreq reqcpus reqcores reqprocs "
        "reqprocessors requestedprocessors requestedprocs requestedcores requestedcpus "
        "requestednumberofresources requestednumberofprocessors",
        "allocated": "alloccpus alloccores allocprocs allocatedprocessors allocatedprocs "
        "allocatedcores allocatedcpus processorsused procsused coresused cpusused "
        "processorsalloc procsalloc coresalloc cpusalloc",
        "nodes": "numhosts nhosts hostcount nodesreq reqnodes requestednodes nnodes numnodes "
        "nodecount allocnodes nodesalloc nodesused",
        "gpus": "gpusreq reqgpus requestedgpus ngpus numgpus gpucount allocgpus gpusalloc gpusused",
        "cores_per_node": "cpuspernode ncpuspernode procspernode ppn",
        "gpu_type": "gpumodel gpuname acceleratortype",
        "memory": "memreq reqmem memoryreq requestedmemory memoryrequested mempercpu mempercore "
        "memperproc memorypercpu memorypercore",
        "memory_per_node": "mempernode memnode memorynode reqmempernode",
        "whole_node": "exclusive wholenodes nodeexclusive exclusivenodes",
        "licences": "licenses licence license reqlicenses",
        "features": "feature constraint constraints",
        "begin": "begintime earlieststart eligible eligibletime",
        "after": "dependency dependencies depend depends dependson",
        "used_memory": "maxrss memused memoryused usedmem",
        "status": "state jobstate finalstate exitstate jobstatus",
        "user": "userid username uid owner",
        "group": "groupid groupname gid unixgroup",
        "account": "accountid accountname project projectid projectname",
        "queue": "queuename queueid",
        "partition": "partitionname partitionid",
        "qos": "qosname qosid qualityofservice",
    }.items()
}
"""Small letters and digits alone: ``Submit_Time``, ``submit time`` and ``SubmitTime`` are one."""

_FREE_TEXTS = frozenset(
    {"name", "jobname", "comment", "admincomment", "systemcomment", "command", "script", "reason"}
    | {"submitline", "workdir", "workingdirectory", "stdin", "stdout", "stderr", "description"}
    | {"nodelist", "nodeslist", "hosts", "hostlist", "exechost", "exitcode", "derivedexitcode"}
    | {"allocatedresources"}
)
"""Columns of texts that are about one job each, and say nothing of what it requests."""

_BATSIM = frozenset({"requestednumberofresources", "requestednumberofprocessors"})
"""How only tables of Batsim call a width; what they call allocated is a list of hosts."""

_LONGEST_TITLE = 80
# With the unit in the name, plain numbers have a meaning; `mem` alone may be anything.
_SIZE_UNIT = re.compile(r"(?i)[\W_]+\(?([kmgt])i?b(?:ytes)?[)\]]?$")
_PER_PROCESSOR = re.compile(r"(?i)per[\W_]*(cpu|core|proc)")
_WITH_UNIT = {"memory": "mem"}
_SECONDS = re.compile(r"(?i)(_s|_secs?|_seconds|\s*[(\[](s|secs?|seconds)[)\]])$")

_OTHER_UNIT = re.compile(
    r"(?i)([\W_](ms|msecs?|us|ns|mins?|h|hrs?|d|days?)|minutes?|hours?|millis|(milli|micro|nano)"
    r"seconds?)[)\]]?$"
)

_EVERY = frozenset(name for names in SYNONYMS.values() for name in names)

NEEDED: Mapping[str, tuple[str, ...]] = {
    "submit": ("interarrival",),
    "procs": ("requested", "allocated"),
    "runtime": ("work",),
}
"""What a table must have, and what may stand in for it."""

Note = tuple[str, str, str, NDArray[np.bool_]]
"""A rule, an action and what it is about, for each job whether it is touched."""

INSTANTS = ("submit", "start", "end", "begin")
"""Columns of a table that may hold dates; wait and runtime may come from start and end."""

LATEST = 1e11
"""Instants that no log has in seconds: the year 5138, or in milliseconds 1973."""

IN_FRACTIONS = "is no time in seconds; where it is in milliseconds or less, divide all times"
_LISTED, _LONGEST = 20, 40
_ROUNDING, _PART = 2.0, 0.01
_CHOSEN = ("job", "submit", "interarrival", "start", "end")


def synonym_of(ours: str, available: Sequence[str]) -> str | None:
    """Return the column of a table that is called as ours, or as others call it; else None.

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
    match = _SIZE_UNIT.search(name[-_LONGEST_TITLE:])
    return match[1].upper() if match else ""


def is_per_processor(name: str) -> bool:
    """Whether a column's name says that it is per processor.

    >>> is_per_processor("mem_per_cpu_mb"), is_per_processor("memory_kib")
    (True, False)
    """
    return _PER_PROCESSOR.search(name[-_LONGEST_TITLE:]) is not None


def names_other_unit(name: str) -> bool:
    """Whether the name of a column of times ends with a unit that is not seconds.

    >>> [names_other_unit(name) for name in ("run_ms", "Wait (min)", "elapsedHours", "run_s")]
    [True, True, True, False]
    """
    return _OTHER_UNIT.search(name[-_LONGEST_TITLE:]) is not None


def _without_unit(name: str) -> str:
    # No name that anybody gives to a column is longer, and a pattern takes its time over blanks.
    return name if len(name) > _LONGEST_TITLE else _letters(_SIZE_UNIT.sub("", name))


def is_synonym(name: str) -> bool:
    """Whether a column is called as others call one of ours, whichever."""
    return _letters(name) in _EVERY or _without_unit(name) in _EVERY


def is_free_text(name: str) -> bool:
    """Whether a column is called as others call texts about one job."""
    return _letters(name) in _FREE_TEXTS


@lru_cache(maxsize=1 << 12)
def _letters(name: str) -> str:
    if len(name) > _LONGEST_TITLE:  # No name that anybody gives to a column.
        return name
    return re.sub(r"[\W_]", "", _SECONDS.sub("", name)).lower()


class Choice(NamedTuple):
    """Which columns of a table are which of ours.

    Parameters
    ----------
    columns : our name (or ``interarrival``, ``start``, ``end``, or that of a further column) -> the
        table's.
    mapped : those of ours that the caller named.
    unused : the table's own columns that are left aside.
    """

    columns: dict[str, str]
    mapped: frozenset[str]
    unused: tuple[str, ...]

    @property
    def is_mapped(self) -> bool:
        """Whether the caller named all that is needed."""
        return _lacking(self.mapped) is None

    @property
    def guessed(self) -> dict[str, str]:
        """What was taken from a column of another name without being asked to."""
        return {
            ours: theirs
            for ours, theirs in self.columns.items()
            if ours != theirs and ours not in self.mapped
        }


def choose(
    available: Sequence[str],
    mapping: Mapping[str, str] | None,
    table: str,
    error: Callable[[str], InputError] = OptionError,
) -> Choice:
    """Return which column of a table is which of ours.

    Columns that are called as ours, or as others call them, are taken by themselves, and further
    ones under their own names, unless `mapping` names all that is needed: then it alone counts.

    Parameters
    ----------
    available : the table's own column names.
    mapping : our name -> the table's.
    table : what to call the table in a message.
    error : makes the error for what the table lacks, from its message.
    """
    valid = [*_CHOSEN, *(name for name in SCHEMA if name not in _CHOSEN), LABEL]
    if not isinstance(mapping, Mapping | None):
        raise OptionError("columns: give a mapping of our names to those of the table")
    given = mapping or {}
    is_complete = _lacking(given) is None
    # Columns of frames may be called by numbers.
    chosen = {ours: str(theirs) for ours, theirs in given.items()}
    check_columns(ours for ours in chosen if ours not in valid)
    for ours, theirs in chosen.items():
        if theirs not in available:
            near = did_you_mean(theirs, available) or f"; it has: {listed(available)}"
            raise error(f"{table} has no column '{theirs}' (for '{ours}'){near}")
    if not is_complete:
        _add_synonyms(chosen, given, valid, available)
    for theirs in chosen.values():
        if list(available).count(theirs) > 1:
            raise error(f"{table} has several columns called '{theirs}'; keep one of them")
    lacking = _lacking(chosen)
    if lacking is not None:
        left = [name for name in available if name not in chosen.values()]
        near = did_you_mean(lacking, left) or f"; it has: {listed(available)}"
        raise error(
            f"{table} has no column '{lacking}'; name it with columns, such as {lacking}=NAME{near}"
        )
    further = {ours: theirs for ours, theirs in chosen.items() if ours not in valid}
    ordered = {ours: chosen[ours] for ours in valid if ours in chosen} | further
    if not is_complete:
        ordered |= {name: name for name in _kept(available, ordered)}
    unused = tuple(name for name in dict.fromkeys(available) if name not in ordered.values())
    return Choice(ordered, frozenset(given), unused)


def _add_synonyms(
    chosen: dict[str, str], given: Mapping[str, str], valid: Sequence[str], available: Sequence[str]
) -> None:
    """Choose columns that are called as ours, or as others call them, for what is not given."""
    for ours in valid:
        left = [name for name in available if name not in chosen.values()]
        if ours == "queue" and "partition" in given:
            # Where queues are said to be the partitions, they are queues all the same.
            left.append(chosen["partition"])
        # Processors that somebody mapped may be nodes: others are then counted in another unit.
        if ours in NEEDED["procs"] and "procs" in given and ours not in left:
            continue
        if ours == "allocated" and any(_letters(name) in _BATSIM for name in available):
            continue
        if ours not in chosen and (like := synonym_of(ours, left)) is not None:
            chosen[ours] = like


def _kept(available: Sequence[str], taken: Mapping[str, str]) -> list[str]:
    """Return the columns that nobody asked for, and that are taken under their own names."""
    times = Counter(available)
    used = {*taken, *taken.values()}
    return [
        name
        for name in available
        if times[name] == 1
        and name not in used
        and is_further(name)
        # One that could have been ours, and is not, would be taken for it.
        and not is_synonym(name)
        and not is_free_text(name)
    ]


def _lacking(chosen: Collection[str]) -> str | None:
    """Return what a table must have and does not, by our name."""
    for name, substitutes in NEEDED.items():
        if not any(candidate in chosen for candidate in (name, *substitutes)):
            if name == "runtime" and "start" in chosen and "end" in chosen:
                continue
            return name
    return None


def submits(gaps: ArrayLike) -> NDArray[np.float64]:
    """Return submit times (s) from interarrival times (s).

    The first job arrives at 0 and gap i lies between jobs i and i + 1, so that the last gap is
    not used [rumyantsev2014, T_i = t_{i+1} - t_i; rumyantsev2018, T_1 = t_1 = 0].
    """
    steps = np.asarray(gaps, np.float64)
    if steps.size == 0:
        return steps
    return np.concatenate(([0.0], np.cumsum(steps[:-1])))


def listed(names: Sequence[str], show: Callable[[str], str] = repr) -> str:
    """Return names for a message: the first of many, and the beginnings of long ones."""
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return ", ".join(show(name[:_LONGEST]) for name in names[:_LISTED]) + more


def assemble(columns: Mapping[str, Any]) -> tuple[dict[str, Any], list[Note]]:
    """Return columns for `Jobs`, with nan for what is not known, and what there is to say of them.

    Submit times come from interarrivals, procs from either width, and wait and runtime from start
    and end where they have no column of their own.
    """
    made: dict[str, Any] = dict(columns)
    gaps = made.pop("interarrival", None)
    if "submit" not in made:
        made["submit"] = submits(gaps)
    if "procs" not in made:
        known = [np.asarray(made[name]) for name in ("requested", "allocated") if name in made]
        made["procs"] = widths(known[0], known[-1])
    count = len(made["submit"])
    if "begin" in made:  # What could start before time began could start at once.
        made["begin"] = np.where(made["begin"] < 0, np.nan, made["begin"])
    nothing = np.full(count, np.nan)
    notes = [("late-submits", "keep", f"the submit {IN_FRACTIONS}", made["submit"] > LATEST)]
    if "start" not in made and "end" not in made:
        return made, notes
    has_both = "start" in made and "end" in made
    start, end = made.pop("start", nothing), made.pop("end", nothing)
    never = np.isnan(start) & ~np.isnan(end) & has_both
    waited = np.where(never, end, start) - made["submit"]
    ran = end - start
    disordered = (waited < 0) | (ran < 0)
    differing = _differ(made.get("wait", nothing), waited) | _differ(
        made.get("runtime", nothing), ran
    )
    made["wait"] = _filled(made.get("wait", nothing), waited)
    if "runtime" in made or "work" not in made:
        made["runtime"] = _filled(made.get("runtime", nothing), ran)
    return made, [
        *notes,
        ("never-started", "keep", "an end but no start: no runtime, the wait is until then", never),
        ("unfinished", "keep", "no end: still waiting or running", np.isnan(end) & has_both),
        (
            "disordered-times",
            "repair",
            "starts before its submit or ends before its start: wait or runtime unknown",
            disordered,
        ),
        (
            "differing-times",
            "keep",
            "the wait or runtime is not what submit, start and end give, and is taken as it"
            " stands: check that it is in seconds",
            differing,
        ),
    ]


def _differ(given: Any, other: Any) -> Any:
    """Whether times of two sources are both known, and differ by more than rounding does."""
    both = (given >= 0) & (other >= 0)
    return both & (np.abs(given - other) > np.maximum(_ROUNDING, _PART * np.maximum(given, other)))


def _filled(given: Any, other: Any) -> Any:
    """Return times, where they are not known those of another source, if these are known."""
    return np.where(given >= 0, given, np.where(other >= 0, other, np.nan))
