"""The nodes of a ``slurm.conf`` as arrays, in the order in which Slurm looks at them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...arrays import Ints
from ...cluster.slurm import natural_order
from ...errors import ClusterError
from .conf import SlurmConf

_BITS = 62
"""Features or partitions that a mask has room for."""


class NodeTable(NamedTuple):
    """One row per node.

    Parameters
    ----------
    names : by which Slurm has sorted them: 2 before 10.
    cpus, memory, gpus : of each; memory in MB, gpus of the first kind of generic resource.
    features : mask of those it has; bit k stands for ``feature_names[k]``.
    weight : as told; nodes of all weights are used alike.
    partitions : mask of those it is in; bit k stands for ``partition_names[k]``.
    leaf : number of its leaf switch; -1 where the network is not known.
    tier : of each partition.
    feature_names, partition_names : what bits stand for.
    gres : kind of generic resource that ``gpus`` counts, empty if there is none.
    """

    names: tuple[str, ...]
    cpus: Ints
    memory: Ints
    gpus: Ints
    features: Ints
    weight: Ints
    partitions: Ints
    leaf: Ints
    tier: Ints
    feature_names: tuple[str, ...]
    partition_names: tuple[str, ...]
    gres: str

    def mask(self, features: Sequence[str]) -> int:
        """Return the mask of features; -1 if no node has one of them."""
        known = {name: k for k, name in enumerate(self.feature_names)}
        if any(name not in known for name in features):
            return -1
        return sum({1 << known[name] for name in features})


def node_table(conf: SlurmConf) -> NodeTable:
    """Return the nodes of a configuration.

    Slurm sorts them by name unless its network plugin ranks them, and looks for neighbours in
    that order.

    Raises
    ------
    ClusterError
        When there is no node or no partition, or there are more features than a mask can hold.
    """
    if not conf.nodes:
        raise ClusterError(conf.path, "has no NodeName line; add one, or give a number of nodes")
    if not conf.partitions:
        raise ClusterError(conf.path, "has no PartitionName line; add one")
    nodes = sorted(conf.nodes, key=lambda node: natural_order(node.name))
    features = tuple(dict.fromkeys(word for node in conf.nodes for word in node.features))
    kinds = dict.fromkeys(kind for node in conf.nodes for kind, _ in node.gres)
    # Where there are several kinds, GPUs are what jobs wait for.
    gres = "gpu" if "gpu" in kinds else next(iter(kinds), "")
    for count, what in ((len(features), "features"), (len(conf.partitions), "partitions")):
        if count > _BITS:
            raise ClusterError(conf.path, f"has {count} {what}; {_BITS} are the most")
    bit = {name: 1 << k for k, name in enumerate(features)}
    leaf = {name: k for k, names in enumerate(conf.switches) for name in names}
    member: dict[str, int] = {}
    for k, partition in enumerate(conf.partitions):
        for name in partition.nodes:
            member[name] = member.get(name, 0) | (1 << k)

    def column(values: Sequence[int]) -> Ints:
        return np.array(values, np.int64)

    return NodeTable(
        names=tuple(node.name for node in nodes),
        cpus=column([node.cpus for node in nodes]),
        memory=column([node.memory for node in nodes]),
        gpus=column([dict(node.gres).get(gres, 0) for node in nodes]),
        features=column([sum({bit[word] for word in node.features}) for node in nodes]),
        weight=column([node.weight for node in nodes]),
        partitions=column([member.get(node.name, 0) for node in nodes]),
        leaf=column([leaf.get(node.name, -1) for node in nodes]),
        tier=column([partition.tier for partition in conf.partitions]),
        feature_names=features,
        partition_names=tuple(partition.name for partition in conf.partitions),
        gres=gres,
    )
