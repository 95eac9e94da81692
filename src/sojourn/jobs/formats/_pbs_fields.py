"""The values that PBS and Torque write: requests, hosts and memory."""

from __future__ import annotations

from ..schema import MISSING
from ._pbs_requests import chunks_of, is_count
from .slurm_fields import kilobytes

__all__ = ["held", "ordered", "ordered_gpus", "requested_memory"]


def requested_memory(told: dict[str, str], procs: int, of_chunks: float = MISSING) -> float:
    """Return requested memory per processor (KB), -1 if not told.

    Parameters
    ----------
    told : values of the records of a job by key.
    procs : it asked for.
    of_chunks : memory of all its chunks (KB), which counts where the records tell no other.
    """
    each = kilobytes(told.get("Resource_List.pmem", ""))
    whole = kilobytes(told.get("Resource_List.mem", ""))
    if each == each:
        return each
    if whole != whole and of_chunks > 0:
        whole = of_chunks
    return whole / procs if whole == whole and procs > 0 else float(MISSING)


def ordered(told: dict[str, str]) -> tuple[int, int]:
    """Return the processors and nodes that a job asked for, -1 if not told."""
    nodes = int(told.get("Resource_List.nodect", MISSING))
    request = told.get("Resource_List.nodes") or told.get("Resource_List.select") or ""
    # Torque tells a default of one processor beside nodes with several.
    if told.get("Resource_List.ncpus") and ":ppn=" not in request:
        return int(told["Resource_List.ncpus"]), nodes
    chunks = chunks_of(request)
    procs = sum(chunk.times * chunk.cores for chunk in chunks)
    total = sum(chunk.times for chunk in chunks)
    if is_count(told.get("Resource_List.procs", "")):
        procs += int(told["Resource_List.procs"])
    return procs or MISSING, nodes if nodes > 0 else total or MISSING


def ordered_gpus(told: dict[str, str]) -> int:
    """Return the GPUs that a job asked for, in all; -1 where its request is not told.

    >>> ordered_gpus({"Resource_List.select": "2:ncpus=8:ngpus=2+1:ncpus=4"})
    4
    >>> ordered_gpus({"Resource_List.nodes": "3:ppn=8:gpus=1"}), ordered_gpus({})
    (3, -1)
    """
    total = told.get("Resource_List.ngpus", "")
    if is_count(total):
        return int(total)
    request = told.get("Resource_List.nodes") or told.get("Resource_List.select") or ""
    found = sum(chunk.times * chunk.gpus for chunk in chunks_of(request))
    return found if request else MISSING


def held(hosts: str) -> tuple[int, int]:
    """Return the slots and nodes of ``exec_host``, -1 if not told.

    >>> held("n1/0+n1/1+n2/0"), held("n1/0-7+n2/0-7"), held("n1/0*8+n2/0*8"), held("n1/0,2-4")
    ((3, 2), (16, 2), (16, 2), (4, 1))
    """
    slots = 0
    names: set[str] = set()
    for part in filter(None, hosts.split("+")):
        name, _, index = part.partition("/")
        names.add(name)
        _, star, times = index.partition("*")
        if star and is_count(times):
            slots += int(times)
            continue
        for span in index.split(","):
            first, dash, last = span.partition("-")
            whole = dash and is_count(first) and is_count(last)
            slots += int(last) - int(first) + 1 if whole else 1
    return (slots, len(names)) if names else (MISSING, MISSING)
