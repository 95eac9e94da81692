"""What jobs of PBS and Torque ask for: chunks of resources, and how they are placed."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from ..schema import MISSING
from .slurm_fields import kilobytes

_DIGITS = 7
"""Of a count that can be true."""

_CORES = ("ncpus", "ppn")
_GPUS = ("ngpus", "gpus")
_GPU_TYPES = ("gpu_type", "gputype", "gpu_model", "gpu_id", "accelerator_model")
# Named in one way for chunks, in another for nodes.
_COUNTED_AS = {"nmics": "mics"}
# What decides how a job is started inside of its chunks, not what it holds.
_INSIDE = ("mpiprocs", "ompthreads", "procs", "vmem", "pmem", "pvmem", "walltime", "cput")
# Amounts of the whole job that are no resources of nodes, or counted by the chunks too.
_OF_JOB = frozenset(
    {"ncpus", "nodect", "nodes", "neednodes", "select", "place", "procs", "mem", "pmem", "ngpus"}
    | {"vmem", "pvmem", "walltime", "cput", "pcput", "nice", "file", "mpiprocs", "ompthreads"}
    | {"gpus", "mppwidth", "mppnppn", "min_walltime", "max_walltime", "soft_walltime", "preempt"}
)
_TRUE, _FALSE = ("true", "t", "yes", "y"), ("false", "f", "no", "n")


def is_count(text: str) -> bool:
    """Whether a text is a count that can be true."""
    return text.isascii() and text.isdecimal() and len(text) <= _DIGITS


class Chunk(NamedTuple):
    """What a job holds on one node, so and so many times; memory in KB, -1 if not known.

    `unsaid` is what no column can hold: hosts, texts of other keys.
    """

    times: int
    cores: int = 1
    gpus: int = 0
    memory: float = float(MISSING)
    gpu_type: str = ""
    features: tuple[str, ...] = ()
    resources: tuple[tuple[str, int], ...] = ()
    unsaid: tuple[str, ...] = ()


class PbsRequest(NamedTuple):
    """A request as the columns of a table hold it.

    Parameters
    ----------
    chunks : in all; -1 where none are written.
    cores_per_node, memory_per_node, gpu_type, features : of every chunk; unknown where they differ.
    memory : of all chunks together, KB, -1 if one has none.
    resources : others, in all, such as ``mics=4``; None if not known.
    whole_node : 1, 0 or -1.
    differs : whether chunks differ, so that only totals are known.
    unsaid : whether something was requested that no column can hold.
    """

    chunks: int = MISSING
    cores_per_node: int = MISSING
    memory_per_node: float = float(MISSING)
    memory: float = float(MISSING)
    gpu_type: str = ""
    features: str = ""
    resources: str | None = None
    whole_node: int = MISSING
    differs: bool = False
    unsaid: bool = False


@lru_cache(maxsize=1 << 12)
def chunks_of(text: str) -> tuple[Chunk, ...]:
    """Return the chunks of a ``select`` of PBS, or of ``nodes`` of Torque.

    >>> [chunk[:4] for chunk in chunks_of("2:ncpus=16:ngpus=2:mem=32gb+1:ncpus=4")]
    [(2, 16, 2, 33554432.0), (1, 4, 0, -1.0)]
    >>> chunks_of("3:ppn=8:bigmem")[0].features
    ('bigmem',)
    """
    return tuple(_chunk(part.strip()) for part in text.partition("#")[0].split("+") if part.strip())


def _chunk(text: str) -> Chunk:
    first, *rest = text.split(":")
    times = int(first) if is_count(first) else 1
    # A node may be asked for by its name, and a single chunk without its count.
    if "=" in first:
        rest.insert(0, first)
        first = "1"
    chunk = Chunk(times, unsaid=() if is_count(first) else (first,))
    for option in rest:
        name, equals, value = option.partition("=")
        chunk = _with(chunk, name, value) if equals else _with(chunk, option, "true")
    return chunk


def _with(chunk: Chunk, name: str, value: str) -> Chunk:
    if name in _CORES and is_count(value):
        return chunk._replace(cores=int(value))
    if name in _GPUS and is_count(value):
        return chunk._replace(gpus=int(value))
    if name == "mem":
        size = kilobytes(value)
        return chunk._replace(memory=size if size == size else float(MISSING))
    if name in _GPU_TYPES:
        return chunk._replace(gpu_type=value)
    if name in _INSIDE:
        return chunk
    if is_count(value):
        amounts = (*chunk.resources, (_COUNTED_AS.get(name, name), int(value)))
        return chunk._replace(resources=amounts)
    if value.lower() in _TRUE:
        return chunk._replace(features=(*chunk.features, name))
    if value.lower() in _FALSE:
        return chunk._replace(features=(*chunk.features, f"!{name}"))
    return chunk._replace(unsaid=(*chunk.unsaid, name))


def request_of(fields: Mapping[str, str]) -> PbsRequest:
    """Return the request of a job.

    Parameters
    ----------
    fields : values of its records by key, ``Resource_List.select`` and so on.

    Examples
    --------
    >>> same = request_of({"Resource_List.select": "2:ncpus=16:mem=32gb:nmics=1"})
    >>> same.chunks, same.cores_per_node, same.memory_per_node, same.resources
    (2, 16, 33554432.0, 'mics=2')
    >>> request_of({"Resource_List.select": "2:ncpus=16+1:ncpus=4"}).differs
    True
    """
    chunks = chunks_of(_written(fields))
    amounts = _of_job(fields)
    made = PbsRequest(
        resources=_joined(amounts) if amounts else None, whole_node=_whole_node(fields)
    )
    if not chunks:
        return made
    totals: dict[str, int] = {}
    for chunk in chunks:
        for name, amount in chunk.resources:
            totals[name] = totals.get(name, 0) + chunk.times * amount
    sizes = [chunk.times * chunk.memory for chunk in chunks]
    first = chunks[0]
    same = all(_alike(chunk) == _alike(first) for chunk in chunks)
    made = made._replace(
        chunks=sum(chunk.times for chunk in chunks),
        # The total of the job stands beside its chunks; it counts once.
        resources=_joined({**totals, **amounts}),
        memory=sum(sizes) if all(chunk.memory >= 0 for chunk in chunks) else float(MISSING),
        differs=not same,
        unsaid=any(chunk.unsaid for chunk in chunks),
    )
    if not same:
        return made
    return made._replace(
        cores_per_node=first.cores,
        memory_per_node=first.memory,
        gpu_type=first.gpu_type,
        features="&".join(first.features),
    )


def _written(fields: Mapping[str, str]) -> str:
    """Return the chunks as they are written, by Torque or by PBS."""
    return fields.get("Resource_List.nodes") or fields.get("Resource_List.select") or ""


def _alike(chunk: Chunk) -> Chunk:
    return chunk._replace(times=1, unsaid=())


def _joined(amounts: Mapping[str, int]) -> str:
    return ",".join(f"{name}={amount}" for name, amount in amounts.items())


def _of_job(fields: Mapping[str, str]) -> dict[str, int]:
    """Return other amounts of the whole job."""
    prefix = "Resource_List."
    named = {
        key.removeprefix(prefix): value for key, value in fields.items() if key.startswith(prefix)
    }
    return {
        _COUNTED_AS.get(name, name): int(value)
        for name, value in named.items()
        if name not in _OF_JOB and is_count(value)
    }


def _whole_node(fields: Mapping[str, str]) -> int:
    """Return whether whole nodes are requested: 1, 0, or -1 where it is not known."""
    if fields.get("Resource_List.naccesspolicy", "").lower() in ("singlejob", "singletask"):
        return 1
    place = fields.get("Resource_List.place", "")
    if not place:
        return MISSING
    return int(any(word in ("excl", "exclhost") for word in place.lower().split(":")))


def requested_memory(fields: dict[str, str], procs: int, of_chunks: float = MISSING) -> float:
    """Return requested memory per processor (KB), -1 if not known.

    That of all chunks counts where the records have no other.
    """
    per_processor = kilobytes(fields.get("Resource_List.pmem", ""))
    whole = kilobytes(fields.get("Resource_List.mem", ""))
    if per_processor == per_processor:
        return per_processor
    if whole != whole and of_chunks > 0:
        whole = of_chunks
    return whole / procs if whole == whole and procs > 0 else float(MISSING)


def ordered(fields: dict[str, str]) -> tuple[int, int]:
    """Return the processors and nodes that a job asked for, -1 if not known."""
    nodes = int(fields.get("Resource_List.nodect", MISSING))
    request = _written(fields)
    # Torque writes a default of one processor beside nodes with several.
    if fields.get("Resource_List.ncpus") and ":ppn=" not in request:
        return int(fields["Resource_List.ncpus"]), nodes
    chunks = chunks_of(request)
    procs = sum(chunk.times * chunk.cores for chunk in chunks)
    total = sum(chunk.times for chunk in chunks)
    if is_count(fields.get("Resource_List.procs", "")):
        procs += int(fields["Resource_List.procs"])
    return procs or MISSING, nodes if nodes > 0 else total or MISSING


def ordered_gpus(fields: dict[str, str]) -> int:
    """Return the GPUs that a job asked for, in all; -1 if not known.

    >>> ordered_gpus({"Resource_List.select": "2:ncpus=8:ngpus=2+1:ncpus=4"})
    4
    >>> ordered_gpus({"Resource_List.nodes": "3:ppn=8:gpus=1"}), ordered_gpus({})
    (3, -1)
    """
    total = fields.get("Resource_List.ngpus", "")
    if is_count(total):
        return int(total)
    request = _written(fields)
    return sum(chunk.times * chunk.gpus for chunk in chunks_of(request)) if request else MISSING


def held(hosts: str) -> tuple[int, int]:
    """Return the slots and nodes of ``exec_host``, -1 if not known.

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
