"""A site's nodes and partitions as a cluster, and a cluster in the place of a site's own."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from ...cluster import Cluster, Server
from ...cluster import Node as ClusterNode
from ...cluster import Partition as ClusterPartition
from ...cluster.slurm import natural_order
from ...errors import OptionError
from .conf import plain_conf
from .site import Node, Partition, SlurmConf

_MB_PER_GB = 1024.0


def cluster_of(conf: SlurmConf) -> Cluster:
    """Return the machine that a configuration describes, as the model of Slurm uses it.

    Its nodes are in Slurm's order, and all of them are up, with all of their processors. They have
    no watts.
    """
    nodes = sorted(conf.nodes, key=lambda node: natural_order(node.name))
    place = {node.name: at for at, node in enumerate(nodes)}
    servers: dict[Node, Server] = {}
    for node in nodes:
        kind = replace(node, name=node.name.rstrip("0123456789").rstrip("-_.") or "node")
        servers.setdefault(kind, _server(kind))
        servers[node] = servers[kind]
    partitions = [
        ClusterPartition(
            name=part.name,
            nodes=tuple(place[name] for name in part.nodes if name in place),
            max_time=60.0 * part.most_minutes,
            max_nodes=None if math.isinf(part.most_nodes) else int(part.most_nodes),
            whole_node=part.whole or conf.is_linear,
            tier=part.tier,
            default=part.is_default,
        )
        for part in conf.partitions
        if part.is_up and any(name in place for name in part.nodes)
    ]
    cluster = Cluster.of(
        [ClusterNode(node.name, servers[node]) for node in nodes], partitions=partitions
    )
    switches = (tuple(place[name] for name in leaf if name in place) for leaf in conf.switches)
    return replace(cluster, switches=tuple(filter(None, switches)))


def _server(node: Node) -> Server:
    return Server(
        model=node.name,
        cores=node.cpus,
        chips=node.sockets,
        # Slurm takes 1 MB where the file says nothing.
        memory=node.memory / _MB_PER_GB if node.memory > 1 else math.nan,
        features=frozenset(node.features),
        resources={kind: count for kind, count in node.gres if count},
    )


def conf_on(cluster: Cluster, conf: SlurmConf) -> SlurmConf:
    """Return a configuration whose nodes are those of a cluster.

    Partitions that the file knows by name keep their priorities, limits and defaults. On a cluster
    without partitions all nodes are in the file's default one; one that only counts processors has
    as many nodes, with one job each.
    """
    if not cluster.is_named:
        return plain_conf(cluster.procs, conf)
    columns = cluster.columns
    names = [node.name for node in cluster.nodes]
    if len(set(names)) < len(names):
        raise OptionError("slurm: nodes of the cluster share a name; give each one of its own")
    nodes = tuple(
        Node(
            name=node.name,
            cpus=int(procs),
            memory=max(int(memory) // 1024, 1),
            gres=tuple((kind, n) for kind, n in node.server.resources.items() if ":" not in kind),
            features=tuple(sorted(node.server.features)),
        )
        for node, procs, memory in zip(cluster.nodes, columns.procs, columns.memory, strict=True)
    )
    switches = tuple(tuple(names[at] for at in leaf) for leaf in cluster.switches)
    partitions = _partitions(cluster, conf, names)
    return replace(conf, nodes=nodes, partitions=partitions, switches=switches)


def scaled_conf(conf: SlurmConf, procs: int) -> SlurmConf:
    """Return a configuration of about so many processors, with all kinds of nodes in proportion.

    Nodes that are alike, and in the same partitions and at the same switch, are more or fewer, but
    at least one. A further node is called after the one that it is a copy of.
    """
    groups = [*(part.nodes for part in conf.partitions), *conf.switches]
    inside = [frozenset(names) for names in groups]
    kinds: dict[tuple[Node, tuple[bool, ...]], list[str]] = {}
    for node in conf.nodes:
        where = tuple(node.name in names for names in inside)
        kinds.setdefault((replace(node, name=""), where), []).append(node.name)
    factor = procs / sum(node.cpus for node in conf.nodes)
    nodes = []
    copies: dict[str, list[str]] = {}
    for (kind, _), names in kinds.items():
        for k in range(max(1, round(factor * len(names)))):
            turn, at = divmod(k, len(names))
            name = f"{names[at]}-{turn + 1}" if turn else names[at]
            nodes.append(replace(kind, name=name))
            copies.setdefault(names[at], []).append(name)

    def there(names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(copy for name in names for copy in copies.get(name, ()))

    return replace(
        conf,
        nodes=tuple(nodes),
        partitions=tuple(replace(part, nodes=there(part.nodes)) for part in conf.partitions),
        switches=tuple(filter(None, map(there, conf.switches))),
    )


def _partitions(cluster: Cluster, conf: SlurmConf, names: list[str]) -> tuple[Partition, ...]:
    if not cluster.partitions:
        default = next((part for part in conf.partitions if part.is_default), conf.partitions[0])
        return (replace(default, nodes=tuple(names)),)
    known = {part.name: part for part in conf.partitions}
    made = []
    for part in cluster.partitions:
        own = known.get(part.name) or Partition(
            part.name,
            (),
            whole=part.whole_node,
            tier=part.tier,
            most_minutes=part.max_time / 60.0,
            most_nodes=math.inf if part.max_nodes is None else float(part.max_nodes),
        )
        inside = tuple(names[at] for at in np.asarray(part.nodes).tolist())
        made.append(replace(own, nodes=inside, is_default=part.default))
    return tuple(made)
