"""Parts of a cluster that jobs are sent to: partitions of its nodes, and queues."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..errors import OptionError, nearest
from .server import Counts, whole_count

BETWEEN = ("priority", "round-robin", "weights")
"""How queues take turns: the highest priority first, one job each, or shares by their weights."""

_MOST = 2**31 - 1


@dataclass(frozen=True)
class Partition:
    """A set of nodes with limits of its own; partitions may share nodes.

    Parameters
    ----------
    name : of the partition.
    nodes : places of its nodes in the cluster, from 0; they are kept in rising order.
    max_time : s; the longest time limit of a job.
    max_nodes : of a job; None for as many as there are.
    min_nodes : of a job.
    whole_node : whether a job has its nodes to itself.
    tier : jobs of a higher tier are looked at first.
    default : whether jobs that name no partition come here.
    max_cpus_per_node : processors of a node that its jobs may use together; None for all.
    """

    name: str
    nodes: tuple[int, ...]
    max_time: float = math.inf
    max_nodes: int | None = None
    min_nodes: int = 1
    whole_node: bool = False
    tier: int = 1
    default: bool = False
    max_cpus_per_node: int | None = None

    def __post_init__(self) -> None:
        where = f"partition '{_text_of(self.name, 'partition')}'"
        if "," in self.name:
            raise OptionError(f"{where}: jobs name several with commas between; use another sign")
        places = sorted(whole_count(node, f"{where}: node") for node in self.nodes)
        object.__setattr__(self, "nodes", tuple(places))
        if not self.nodes:
            raise OptionError(f"{where} has no node; name some, or remove it")
        if len(set(self.nodes)) < len(self.nodes):
            raise OptionError(f"{where} has a node twice; name each once")
        _check_time(self.max_time, f"{where}: max_time")
        _check_count(self.min_nodes, f"{where}: min_nodes")
        for name in ("max_nodes", "max_cpus_per_node"):
            if getattr(self, name) is not None:
                _check_count(getattr(self, name), f"{where}: {name}")
        if self.max_nodes is not None and self.max_nodes < self.min_nodes:
            raise OptionError(
                f"{where}: at most {self.max_nodes} nodes, but at least {self.min_nodes}; "
                "correct one of them"
            )
        if whole_count(self.tier, f"{where}: tier") > _MOST:
            raise OptionError(f"{where}: tier {self.tier}; at most {_MOST} are distinguished")


@dataclass(frozen=True)
class Queue:
    """A queue of jobs, with an order and limits of its own.

    Parameters
    ----------
    name : of the queue.
    partitions : where its jobs run, by name; none for all nodes.
    order : in which its jobs are looked at, such as ``sjf``; ``fcfs`` stands for the policy's.
    priority : of two queues the one with more is looked at first, if they take turns so.
    weight : its share of what is started, in processors times plan, if they take turns by weights.
    max_time : s; the longest time limit of a job.
    max_procs : processors of a job; None for no limit.
    max_running : jobs of the queue that run at once; None for no limit.
    max_used : processors that its jobs use at once; None for no limit.
    default : whether jobs that name no queue come here.
    """

    name: str
    partitions: tuple[str, ...] = ()
    order: str = "fcfs"
    priority: float = 0.0
    weight: int = 1
    max_time: float = math.inf
    max_procs: int | None = None
    max_running: int | None = None
    max_used: int | None = None
    default: bool = False

    def __post_init__(self) -> None:
        where = f"queue '{_text_of(self.name, 'queue')}'"
        if isinstance(self.partitions, str):
            object.__setattr__(self, "partitions", (self.partitions,))
        object.__setattr__(self, "partitions", tuple(self.partitions))
        if len(set(self.partitions)) < len(self.partitions):
            raise OptionError(f"{where} names a partition twice; name each once")
        if not isinstance(self.order, str) or not self.order.strip():
            raise OptionError(f"{where}: order {self.order!r}; give a name such as fcfs")
        number = isinstance(self.priority, int | float) and not isinstance(self.priority, bool)
        if not number or not math.isfinite(self.priority):
            raise OptionError(f"{where}: priority {self.priority!r}; give a number")
        _check_count(self.weight, f"{where}: weight")
        _check_time(self.max_time, f"{where}: max_time")
        for name in ("max_procs", "max_running", "max_used"):
            if getattr(self, name) is not None:
                _check_count(getattr(self, name), f"{where}: {name}")


@dataclass(frozen=True)
class PowerCap:
    """A set of nodes that a cap may be of.

    Parameters
    ----------
    name : of the set.
    nodes : places of its nodes in the cluster, from 0; they are kept in rising order.
    watts : W that they may draw together; None where a run says how many.
    """

    name: str
    nodes: tuple[int, ...]
    watts: float | None = None

    def __post_init__(self) -> None:
        where = f"cap '{_text_of(self.name, 'cap')}'"
        places = sorted({whole_count(node, f"{where}: node") for node in self.nodes})
        object.__setattr__(self, "nodes", tuple(places))
        if not self.nodes:
            raise OptionError(f"{where} has no node; name some, or remove it")
        if self.watts is not None and not 0 <= self.watts < math.inf:
            raise OptionError(f"{where}: {self.watts:g} W; give a number of at least 0")


def check_caps(nodes: int, caps: Sequence[PowerCap], partitions: Sequence[Partition]) -> None:
    """See that sets of nodes for caps are of a cluster of so many nodes, with other names."""
    names = [cap.name for cap in caps]
    for cap in caps:
        if names.count(cap.name) > 1:
            raise OptionError(f"two caps are called '{cap.name}'; give each a name of its own")
        if max(cap.nodes) >= nodes:
            raise OptionError(
                f"cap '{cap.name}': there is no node {max(cap.nodes)}; the cluster has "
                f"{nodes:,}, counted from 0"
            )
        if any(part.name == cap.name and part.nodes != cap.nodes for part in partitions):
            raise OptionError(
                f"cap '{cap.name}': a partition of that name has other nodes; choose another"
            )


def check_parts(nodes: int, partitions: Sequence[Partition], queues: Sequence[Queue]) -> None:
    """See that partitions and queues of a cluster of so many nodes belong together."""
    _check_unlike("partition", partitions)
    _check_unlike("queue", queues)
    for part in partitions:
        if max(part.nodes) >= nodes:
            raise OptionError(
                f"partition '{part.name}': there is no node {max(part.nodes)}; the cluster has "
                f"{nodes:,}, counted from 0"
            )
    known = [part.name for part in partitions]
    for queue in queues:
        for name in queue.partitions:
            if name not in known:
                raise OptionError(f"queue '{queue.name}': {unknown('partition', name, known)}")


def check_pools(pools: Mapping[str, int], resources: Sequence[str]) -> Counts:
    """Return the pools of a cluster, whose nodes have resources of other names."""
    if not isinstance(pools, Mapping):
        raise OptionError(f"pools: {pools!r} are no counts by name")
    counts = {}
    for name, count in pools.items():
        if _text_of(name, "pool") in resources:
            raise OptionError(f"pool '{name}': nodes have a resource of that name; choose another")
        counts[name] = whole_count(count, f"pool '{name}'")
    return Counts(counts)


def unknown(kind: str, name: str, known: Iterable[str]) -> str:
    """Return that no partition or queue has a name, and which may be meant."""
    names = list(known)
    hint = nearest(name, names) if names else "the cluster has none"
    return f"no {kind} is called '{name[:40]}'; {hint}"


def _check_unlike(kind: str, parts: Sequence[Partition | Queue]) -> None:
    seen: set[str] = set()
    for part in parts:
        if part.name in seen:
            raise OptionError(f"two {kind}s are called '{part.name}'; give each a name of its own")
        seen.add(part.name)
    marked = [part.name for part in parts if part.default]
    if len(marked) > 1:
        raise OptionError(f"{kind}s '{marked[0]}' and '{marked[1]}' are both the default; mark one")


def _text_of(name: object, kind: str) -> str:
    if not isinstance(name, str) or not name.strip() or not name.isprintable():
        raise OptionError(f"{kind}: {str(name)[:40]!r} is no name; give it one")
    return name


def _check_count(value: object, where: str) -> None:
    if not 1 <= whole_count(value, where) <= _MOST:
        raise OptionError(f"{where}: {value}; give a whole number above 0, at most {_MOST}")


def _check_time(value: float, where: str) -> None:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not value > 0:
        raise OptionError(f"{where}: {value!r}; give seconds above 0")
