"""What jobs of PBS and Torque ask for: chunks of resources, and how they are placed."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from ..schema import MISSING
from .slurm_fields import kilobytes

__all__ = ["Chunk", "Request", "chunks_of", "is_count", "request_of"]

_DIGITS = 7
"""Of a count that can be true."""

_CORES = ("ncpus", "ppn")
_GPUS = ("ngpus", "gpus")
_GPU_TYPES = ("gpu_type", "gputype", "gpu_model", "gpu_id", "accelerator_model")
# Named in one way for chunks, in another for nodes.
_COUNTED_AS = {"nmics": "mics"}
# What decides how a job is started inside of its chunks, not what it holds.
_INSIDE = ("mpiprocs", "ompthreads", "procs", "vmem", "pmem", "pvmem", "walltime", "cput")
# Amounts of the whole job that are no resources of nodes, or told by the chunks too.
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
    """What a job holds on one node, so and so many times.

    Parameters
    ----------
    times : how many such chunks.
    cores, gpus : of one.
    memory : of one, KB, -1 if not told.
    gpu_type : empty if any will do.
    features : of the node, in the order in which they are written.
    resources : others, by name.
    unsaid : what cannot be said in a column: hosts, texts of other keys.
    """

    times: int
    cores: int = 1
    gpus: int = 0
    memory: float = float(MISSING)
    gpu_type: str = ""
    features: tuple[str, ...] = ()
    resources: tuple[tuple[str, int], ...] = ()
    unsaid: tuple[str, ...] = ()


class Request(NamedTuple):
    """A request as the columns of a table tell it.

    Parameters
    ----------
    chunks : in all; -1 where none are written.
    cores_per_node, memory_per_node, gpu_type, features : of every chunk; unknown where they differ.
    memory : of all chunks together, KB, -1 if one does not tell it.
    resources : others, in all, such as ``mics=4``; None where nothing is told of them.
    whole_node : 1, 0 or -1.
    differs : whether chunks differ, so that only totals are told.
    unsaid : whether something was asked for that no column can tell.
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


def request_of(told: Mapping[str, str]) -> Request:
    """Return the request of a job.

    Parameters
    ----------
    told : values of its records by key, ``Resource_List.select`` and so on.

    Examples
    --------
    >>> same = request_of({"Resource_List.select": "2:ncpus=16:mem=32gb:nmics=1"})
    >>> same.chunks, same.cores_per_node, same.memory_per_node, same.resources
    (2, 16, 33554432.0, 'mics=2')
    >>> request_of({"Resource_List.select": "2:ncpus=16+1:ncpus=4"}).differs
    True
    """
    written = told.get("Resource_List.nodes") or told.get("Resource_List.select") or ""
    chunks = chunks_of(written)
    amounts = _of_job(told)
    made = Request(resources=_joined(amounts) if amounts else None, whole_node=_whole_node(told))
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
        # The total of the job is told beside its chunks; it counts once.
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


def _alike(chunk: Chunk) -> Chunk:
    return chunk._replace(times=1, unsaid=())


def _joined(amounts: Mapping[str, int]) -> str:
    return ",".join(f"{name}={amount}" for name, amount in amounts.items())


def _of_job(told: Mapping[str, str]) -> dict[str, int]:
    """Return other amounts that are told of the whole job."""
    prefix = "Resource_List."
    named = {
        key.removeprefix(prefix): value for key, value in told.items() if key.startswith(prefix)
    }
    return {
        _COUNTED_AS.get(name, name): int(value)
        for name, value in named.items()
        if name not in _OF_JOB and is_count(value)
    }


def _whole_node(told: Mapping[str, str]) -> int:
    """Return whether whole nodes are asked for: 1, 0, or -1 where it is not told."""
    if told.get("Resource_List.naccesspolicy", "").lower() in ("singlejob", "singletask"):
        return 1
    place = told.get("Resource_List.place", "")
    if not place:
        return MISSING
    return int(any(word in ("excl", "exclhost") for word in place.lower().split(":")))
