"""What jobs run on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._html import html_table
from ..errors import OptionError
from .power import AssumedPower, Power
from .report import ClusterReport
from .server import PROCESSORS, Node, Server

__all__ = ["Cluster", "NodeColumns"]

_KB_PER_GB = 1024 * 1024
_MOST = 2**31 - 1
_KINDS_SHOWN = 10


class NodeColumns(NamedTuple):
    """The nodes of a cluster as columns, in its order; per processor where it says so.

    `slowness` is how much longer than recorded a job runs there: the ratio in [gomez2012, eq. 2].
    """

    procs: NDArray[np.int64]
    ops: NDArray[np.float64]  # per processor, at 100 % load
    slowness: NDArray[np.float64]
    watts: NDArray[np.float64]  # per processor, at 100 % load
    idle_watts: NDArray[np.float64]  # per processor
    memory: NDArray[np.int64]  # KB of the whole node; -1 if not known


@dataclass(frozen=True)
class Cluster:
    """A machine: equal servers that are only counted, or named nodes.

    Parameters
    ----------
    procs : number of servers (processors).
    power : watts of one server, busy and idle; of no effect where there are nodes. Default: watts
        that are assumed, on which no energy is stated unless it is asked for.
    nodes : the machines, in the order in which first fit looks at them; empty if only counted.
    processor : what counts as a processor of a node: ``core``, ``chip`` or ``node``.
    reference_ops : operations per second of the processor on which the runtimes were recorded;
        default: the average processor of the cluster [gomez2012, eq. 1].
    report : what reading it from a file found; None if it was not read.
    """

    procs: int
    power: Power = field(default_factory=AssumedPower)
    nodes: tuple[Node, ...] = ()
    processor: str = "core"
    reference_ops: float | None = None
    report: ClusterReport | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "procs", _whole(self.procs))
        if self.procs > _MOST:
            raise OptionError(f"cluster: {self.procs} processors; at most {_MOST} can be counted")
        if self.processor not in PROCESSORS:
            raise OptionError(
                f"cluster: processor '{self.processor}': choose {', '.join(PROCESSORS)}"
            )
        if self.reference_ops is not None and not 0 < self.reference_ops < float("inf"):
            raise OptionError(
                f"cluster: reference speed of {self.reference_ops} operations per second; "
                "give a number above 0"
            )

    @classmethod
    def homogeneous(cls, procs: int, *, power: Power | None = None) -> Cluster:
        """Return a machine of `procs` equal processors."""
        return cls(procs, power or AssumedPower())

    @classmethod
    def of(
        cls,
        nodes: Iterable[Node | Server],
        *,
        processor: str = "core",
        reference_ops: float | None = None,
        report: ClusterReport | None = None,
    ) -> Cluster:
        """Return a machine of these nodes; a server without a name gets that of its model.

        Parameters
        ----------
        nodes : in the order in which first fit looks at them.
        processor : what counts as a processor: ``core``, ``chip`` or ``node``.
        reference_ops, report : see `Cluster`.
        """
        if processor not in PROCESSORS:
            raise OptionError(f"cluster: processor '{processor}': choose {', '.join(PROCESSORS)}")
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
        )

    def _repr_html_(self) -> str:
        title = f"cluster of {self.procs:,} processors"
        if not self.is_named:
            return html_table(title, (), [("power", str(self.power))])
        kinds = Counter((node.server.model, node.server.cores) for node in self.nodes)
        most = kinds.most_common(_KINDS_SHOWN)
        rest = len(kinds) - len(most)
        rows = [(name, cores, count) for (name, cores), count in most]
        note = f"and {rest:,} more kinds of nodes" if rest else ""
        return html_table(title, ("server", "cores", "nodes"), rows, note)

    @property
    def is_named(self) -> bool:
        """Whether it has nodes with names, speeds and power curves of their own."""
        return bool(self.nodes)

    @property
    def power_model(self) -> str | None:
        """What watts are assumed, in words; None where they were given or are those of nodes."""
        assumed = not self.is_named and isinstance(self.power, AssumedPower)
        return str(self.power) if assumed else None

    @cached_property
    def average_ops(self) -> float:
        """Operations per second of the average processor [gomez2012, eq. 1], rounded once."""
        total = sum(Fraction(node.server.ops) for node in self.nodes)
        return float(total / self.procs)

    @cached_property
    def columns(self) -> NodeColumns:
        """The nodes as columns."""
        servers = [node.server for node in self.nodes]
        procs = np.array([s.procs(self.processor) for s in servers], dtype=np.int64)
        ops = np.array([s.ops for s in servers]) / procs
        reference = self.average_ops if self.reference_ops is None else self.reference_ops
        return NodeColumns(
            procs=procs,
            ops=ops,
            slowness=reference / ops,
            watts=np.array([s.watts[-1] for s in servers]) / procs,
            idle_watts=np.array([s.watts[0] for s in servers]) / procs,
            memory=np.array(
                [-1 if np.isnan(s.memory) else round(s.memory * _KB_PER_GB) for s in servers],
                dtype=np.int64,
            ),
        )

    def with_nodes(self, nodes: Sequence[Node]) -> Cluster:
        """Return a cluster of other nodes, with the same idea of a processor."""
        return Cluster.of(
            nodes,
            processor=self.processor,
            reference_ops=self.reference_ops,
            report=self.report,
        )

    def counting(self, processor: str) -> Cluster:
        """Return the same nodes with another idea of a processor: core, chip or node."""
        return Cluster.of(
            self.nodes,
            processor=processor,
            reference_ops=self.reference_ops,
            report=self.report,
        )

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
            raise OptionError(f"cluster: no node is left by the selection '{where or names}'")
        return self.with_nodes(kept)


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
