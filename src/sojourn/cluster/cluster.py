"""What jobs run on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..errors import OptionError
from .partition import (
    BETWEEN,
    Partition,
    PowerCap,
    Queue,
    check_caps,
    check_parts,
    check_pools,
    unknown,
)
from .power import AssumedPower, Power
from .rack import Rack, check_racks
from .report import ClusterReport
from .server import LEVELS, PROCESSORS, Counts, Node, Server
from .states import PowerSaving

_KB_PER_GB = 1024 * 1024
_MOST = 2**31 - 1
_COMMON = ("cores", "memory")

_P = TypeVar("_P", Partition, Queue)


class NodeColumns(NamedTuple):
    """The nodes of a cluster as columns, in its order; per processor where it says so.

    `slowness` is how much longer than recorded a job runs there: the ratio in [gomez2012, eq. 2].
    Where speeds are not known all processors are equally fast; where watts are not known they are
    those of the cluster's `power`.
    """

    procs: NDArray[np.int64]
    ops: NDArray[np.float64]  # per processor, at 100 % load
    slowness: NDArray[np.float64]
    watts: NDArray[np.float64]  # per processor, at 100 % load
    idle_watts: NDArray[np.float64]  # per processor
    memory: NDArray[np.int64]  # KB of the whole node; -1 if not known


@dataclass(frozen=True, repr=False)
class Cluster:
    """A machine: equal servers that are only counted, or named nodes.

    Parameters
    ----------
    procs : number of servers (processors).
    power : watts of one server, busy and idle; of nodes, those of a processor of each node whose
        own watts are not known. Default: watts that are assumed, on which no energy is stated
        unless it is asked for.
    nodes : the machines, in the order in which first fit looks at them; empty if only counted.
    processor : what counts as a processor of a node: ``core``, ``chip`` or ``node``.
    reference_ops : operations per second of the processor on which the runtimes were recorded;
        default: the average processor of the cluster [gomez2012, eq. 1].
    report : what reading it from a file found; None if it was not read.
    pools : what the whole cluster has a number of, such as licences, by name.
    partitions : sets of nodes with limits; none: every job may use every node.
    queues : that jobs wait in; none: there is one.
    between : how queues take turns: ``priority`` (the highest first), ``round-robin`` or
        ``weights``.
    switches : places of the nodes at each leaf switch of the network, if they are known.
    power_saving : when and how fast idle nodes are switched off and on, if a file says so.
    caps : sets of nodes with the watts that each may draw, which nest.
    racks : sets of nodes that stand together, which nest; nodes may fail with their rack, and a cap
        may be of one.

    Examples
    --------
    >>> import sojourn
    >>> sojourn.Cluster.homogeneous(128)
    <Cluster of 128 processors, assumed 41/18 W per processor>
    >>> thin, gpu = sojourn.Server("thin", 32), sojourn.Server("gpu", 32, resources={"gpu": 4})
    >>> sojourn.Cluster.of([thin] * 12 + [gpu] * 4)
    <Cluster of 512 processors on 16 nodes>
    """

    procs: int
    power: Power = field(default_factory=AssumedPower)
    nodes: tuple[Node, ...] = ()
    processor: str = "core"
    reference_ops: float | None = None
    report: ClusterReport | None = field(default=None, compare=False, repr=False)
    pools: Mapping[str, int] = field(default_factory=Counts)
    partitions: tuple[Partition, ...] = ()
    queues: tuple[Queue, ...] = ()
    between: str = "priority"
    switches: tuple[tuple[int, ...], ...] = ()
    power_saving: PowerSaving | None = None
    caps: tuple[PowerCap, ...] = ()
    racks: tuple[Rack, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "procs", _whole(self.procs))
        if self.procs > _MOST:
            raise OptionError(f"cluster: {self.procs} processors; at most {_MOST} can be counted")
        _check_processor(self.processor)
        if self.reference_ops is not None and not 0 < self.reference_ops < float("inf"):
            raise OptionError(
                f"cluster: reference speed of {self.reference_ops} operations per second; "
                "give a number above 0"
            )
        if self.between not in BETWEEN:
            raise OptionError(f"cluster: between '{self.between}': choose {', '.join(BETWEEN)}")
        for name in ("partitions", "queues", "caps", "racks"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        check_parts(len(self.nodes), self.partitions, self.queues)
        check_caps(len(self.nodes), self.caps, self.partitions)
        parts = (("partition", part.name, part.nodes) for part in self.partitions)
        caps = (("cap", cap.name, cap.nodes) for cap in self.caps)
        check_racks(len(self.nodes), self.racks, (*parts, *caps))
        object.__setattr__(self, "pools", check_pools(self.pools, self.resource_names))
        self._check_speeds()

    def _check_speeds(self) -> None:
        """See that all nodes have speeds that can be compared, or none has."""
        known = [node.server.has_speed for node in self.nodes]
        if self.reference_ops is not None and self.nodes and not any(known):
            raise OptionError("cluster: a reference speed, but no node has ops; give them, or none")
        if any(known) and not all(known):
            node = self.nodes[known.index(False)]
            raise OptionError(
                f"cluster: node '{node.name}' has no ops, but others have; give them of all or none"
            )

    @classmethod
    def homogeneous(
        cls,
        procs: int,
        *,
        power: Power | None = None,
        queues: Iterable[Queue] = (),
        between: str = "priority",
    ) -> Cluster:
        """Return a machine of `procs` equal processors.

        Parameters
        ----------
        procs : their number.
        power, queues, between : see `Cluster`.
        """
        return cls(procs, power or AssumedPower(), queues=tuple(queues), between=between)

    @classmethod
    def of(
        cls,
        nodes: Iterable[Node | Server],
        *,
        processor: str = "core",
        reference_ops: float | None = None,
        report: ClusterReport | None = None,
        pools: Mapping[str, int] | None = None,
        partitions: Iterable[Partition] = (),
        queues: Iterable[Queue] = (),
        between: str = "priority",
        caps: Iterable[PowerCap] = (),
        racks: Iterable[Rack] = (),
    ) -> Cluster:
        """Return a machine of these nodes; a server without a name gets that of its model.

        Parameters
        ----------
        nodes : in the order in which first fit looks at them.
        processor : what counts as a processor: ``core``, ``chip`` or ``node``.
        reference_ops, report, pools, partitions, queues, between, caps, racks : see `Cluster`.
        """
        _check_processor(processor)
        named = _named(list(nodes))
        if not named:
            raise OptionError("cluster: no node in it; check the file or the query")
        procs = sum(node.server.procs(processor) for node in named)
        return cls(
            procs,
            nodes=tuple(named),
            processor=processor,
            reference_ops=reference_ops,
            report=report,
            pools=pools or {},
            partitions=tuple(partitions),
            queues=tuple(queues),
            between=between,
            caps=tuple(caps),
            racks=tuple(racks),
        )

    def __repr__(self) -> str:
        nodes = f" on {len(self.nodes)} nodes" if self.nodes else f", {self.power}"
        return f"<Cluster of {self.procs} processors{nodes}>"

    def _repr_html_(self) -> str:
        from .facts import cluster_html

        return cluster_html(self)

    @cached_property
    def is_named(self) -> bool:
        """Whether it has nodes with names, speeds and power curves of their own."""
        return bool(self.nodes)

    @property
    def power_model(self) -> str | None:
        """What watts are assumed, in words; None where they were given or are those of nodes."""
        return None if self.has_watts else str(self.power)

    @cached_property
    def has_watts(self) -> bool:
        """Whether watts were given: for processors, or of every node."""
        if not isinstance(self.power, AssumedPower):
            return True
        return self.is_named and all(node.server.has_watts for node in self.nodes)

    @property
    def has_speeds(self) -> bool:
        """Whether nodes have operations per second; else they are equally fast."""
        return self.is_named and self.nodes[0].server.has_speed

    @cached_property
    def average_ops(self) -> float:
        """Operations per second of the average processor [gomez2012, eq. 1], rounded once.

        It is 1 where speeds are not known.
        """
        if not self.has_speeds:
            return 1.0
        total = sum(Fraction(node.server.ops) for node in self.nodes)
        return float(total / self.procs)

    @cached_property
    def kinds(self) -> tuple[tuple[Server, ...], NDArray[np.int64]]:
        """The servers that differ, and which of them each node is."""
        servers = {id(node.server): node.server for node in self.nodes}
        place = {number: kind for kind, number in enumerate(servers)}
        of_node = [place[id(node.server)] for node in self.nodes]
        return tuple(servers.values()), np.array(of_node, dtype=np.int64)

    @cached_property
    def columns(self) -> NodeColumns:
        """The nodes as columns."""
        servers = [node.server for node in self.nodes]
        procs = np.array([s.procs(self.processor) for s in servers], dtype=np.int64)
        ops = np.array([s.ops for s in servers]) / procs if self.has_speeds else np.ones(len(procs))
        reference = self.average_ops if self.reference_ops is None else self.reference_ops
        return NodeColumns(
            procs=procs,
            ops=ops,
            slowness=reference / ops,
            watts=self.curves[:, -1] / procs,
            idle_watts=self.curves[:, 0] / procs,
            memory=np.array(
                [-1 if np.isnan(s.memory) else round(s.memory * _KB_PER_GB) for s in servers],
                dtype=np.int64,
            ),
        )

    @cached_property
    def curves(self) -> NDArray[np.float64]:
        """Watts of each node at the eleven `LEVELS`; where not known, those of its processors."""
        rate = np.ones(1)
        busy, idle = self.power.busy(rate)[0], self.power.idle(rate)[0]
        line = idle + (busy - idle) * np.array(LEVELS)
        rows = [
            node.server.watts or node.server.procs(self.processor) * line for node in self.nodes
        ]
        return np.array(rows, dtype=np.float64).reshape(len(rows), len(LEVELS))

    @cached_property
    def resource_names(self) -> tuple[str, ...]:
        """What nodes have a number of: ``cores``, ``memory``, then all others by name.

        The first is what counts as a processor, be it a core, a chip or a node.
        """
        kinds = {node.server.resources for node in self.nodes}
        return (*_COMMON, *sorted({name for kind in kinds for name in kind}))

    @cached_property
    def capacity(self) -> NDArray[np.int64]:
        """How much of each resource (row) each node (column) has; memory in KB, 0 if not known."""
        table = np.zeros((len(self.resource_names), len(self.nodes)), dtype=np.int64)
        if self.nodes:
            table[0] = self.columns.procs
            table[1] = np.maximum(self.columns.memory, 0)
        for row, name in enumerate(self.resource_names[len(_COMMON) :], len(_COMMON)):
            table[row] = [node.server.resources.get(name, 0) for node in self.nodes]
        return table

    def partition(self, name: str | None = None) -> Partition:
        """Return a partition by name; without one, that of jobs which name none.

        That is the default one, or the first where none is marked.
        """
        return _part("partition", self.partitions, name)

    def queue(self, name: str | None = None) -> Queue:
        """Return a queue by name; without one, that of jobs which name none."""
        return _part("queue", self.queues, name)

    def with_nodes(self, nodes: Sequence[Node]) -> Cluster:
        """Return a cluster of other nodes, with the same idea of a processor.

        Partitions keep those of their nodes that are among them, by name; what is left without
        nodes is left out, and so are queues whose partitions are all gone.
        """
        place = {node.name: at for at, node in enumerate(nodes)}
        new = [place.get(node.name, -1) for node in self.nodes]

        def kept(old: Iterable[int]) -> tuple[int, ...]:
            return tuple(new[at] for at in old if new[at] >= 0)

        parts = [replace(p, nodes=kept(p.nodes)) for p in self.partitions if kept(p.nodes)]
        names = {part.name for part in parts}
        queues = [
            replace(queue, partitions=tuple(p for p in queue.partitions if p in names))
            for queue in self.queues
            if not queue.partitions or names.intersection(queue.partitions)
        ]
        made = Cluster.of(
            nodes,
            processor=self.processor,
            reference_ops=self.reference_ops,
            report=self.report,
            pools=self.pools,
            partitions=parts,
            queues=queues,
            between=self.between,
        )
        return replace(
            made,
            switches=tuple(filter(None, map(kept, self.switches))),
            caps=tuple(replace(c, nodes=kept(c.nodes)) for c in self.caps if kept(c.nodes)),
            racks=tuple(replace(r, nodes=kept(r.nodes)) for r in self.racks if kept(r.nodes)),
            power_saving=self.power_saving,
        )

    def counting(self, processor: str) -> Cluster:
        """Return the same nodes with another idea of a processor: core, chip or node."""
        _check_processor(processor)
        procs = sum(node.server.procs(processor) for node in self.nodes)
        return replace(self, procs=procs, processor=processor)

    def select(
        self,
        where: str | Callable[[Server], bool] | None = None,
        *,
        names: Iterable[str] | None = None,
        first: int | None = None,
    ) -> Cluster:
        """Return the cluster of some of its nodes, in the same order.

        Parameters
        ----------
        where : a condition such as ``published <= 2011-12 and cores >= 8``, or a function of a
            `Server`; see the guide "Your cluster in sojourn".
        names : of nodes to keep.
        first : how many to keep at most, after the other conditions.
        """
        from .query import parse_query

        kept = list(self.nodes)
        if where is not None:
            holds = parse_query(where) if isinstance(where, str) else where
            kept = [node for node in kept if holds(node.server)]
        if names is not None:
            wanted = set(names)
            missing = wanted - {node.name for node in self.nodes}
            if missing:
                raise OptionError(f"cluster: no node is called '{min(missing)}'")
            kept = [node for node in kept if node.name in wanted]
        if first is not None:
            kept = kept[:first]
        if not kept:
            raise OptionError(
                f"cluster: no node is left by the selection '{where or names}'",
                key="cluster.where",
            )
        return self.with_nodes(kept)


def _part(kind: str, parts: Sequence[_P], name: str | None) -> _P:
    """Return a partition or queue by name, or the default one."""
    for part in parts:
        if part.default if name is None else part.name == name:
            return part
    if name is None and parts:
        return parts[0]
    raise OptionError(f"cluster: {unknown(kind, name or 'default', (p.name for p in parts))}")


def _check_processor(processor: str) -> None:
    if processor not in PROCESSORS:
        raise OptionError(f"cluster: processor '{processor}': choose {', '.join(PROCESSORS)}")


def _whole(procs: object) -> int:
    """Return a number of processors as a plain int, whichever type of number it came as."""
    try:
        whole = 0 if isinstance(procs, (bool, str)) else int(procs)  # type: ignore[call-overload]
    except (TypeError, ValueError, OverflowError):
        whole = 0
    if whole < 1 or whole != procs:
        raise OptionError(f"cluster: {procs} processors; give a whole number above 0")
    return int(whole)


def _named(nodes: list[Node | Server]) -> list[Node]:
    """Give servers the name of their model, numbered where there are several."""
    count = Counter(node.model for node in nodes if isinstance(node, Server))
    names = {node.name for node in nodes if isinstance(node, Node)}
    given: set[str] = set()
    seen: Counter[str] = Counter()
    named = []
    for node in nodes:
        if isinstance(node, Server):
            name = node.model
            while count[node.model] > 1 or name in names:
                seen[node.model] += 1
                name = f"{node.model}-{seen[node.model]}"
                if name not in names:
                    break
            names.add(name)
            node = Node(name, node)
        elif node.name in given:
            raise OptionError(
                f"cluster: two nodes are called '{node.name}'; give each a name of its own"
            )
        given.add(node.name)
        named.append(node)
    return named
