"""Why no nodes would ever do for a job."""

from __future__ import annotations

from collections import Counter

import numpy as np
from numpy.typing import NDArray

from .nodes import NodeTable
from .requests import Requests
from .site import SlurmConf

__all__ = ["refusals"]


def refusals(
    conf: SlurmConf, nodes: NodeTable, requests: Requests, refused: NDArray[np.bool_]
) -> dict[str, int]:
    """Return the reasons for which jobs were refused, with how many each, the most frequent first.

    Parameters
    ----------
    conf, nodes : of the cluster.
    requests : the stream.
    refused : the jobs that no nodes suit.
    """
    asked = ("partition", "features", "nodes", "cpus", "memory", "gpus")
    rows = np.stack([getattr(requests, name)[refused] for name in asked], axis=1)
    counts: Counter[str] = Counter()
    for row, times in zip(*np.unique(rows, axis=0, return_counts=True), strict=True):
        wanted = dict(zip(asked, row.tolist(), strict=True))
        counts[_reason(conf, nodes, wanted)] += int(times)
    return dict(counts.most_common())


def _reason(conf: SlurmConf, nodes: NodeTable, wanted: dict[str, int]) -> str:
    """Return the first thing that a job asks for in vain."""
    partition = conf.partitions[wanted["partition"]]
    name = f"partition '{partition.name}'"
    if not partition.is_up:
        return f"{name} is not up"
    if wanted["nodes"] > partition.most_nodes:
        return f"more nodes than MaxNodes of {name}"
    suited = (nodes.partitions >> wanted["partition"]) & 1 == 1
    if wanted["nodes"] > np.count_nonzero(suited):
        return f"more nodes than {name} has"
    steps = (
        ("features", _have(nodes, wanted["features"])),
        ("processors", nodes.cpus >= wanted["cpus"]),
        ("memory", nodes.memory >= wanted["memory"]),
        (_gpus(nodes), nodes.gpus >= wanted["gpus"]),
    )
    for what, enough in steps:
        suited = suited & enough
        if np.count_nonzero(suited) < wanted["nodes"]:
            how = "" if what == "features" else " on each"
            return f"not so many nodes of {name} with the {what} asked for{how}"
    return "no nodes suit it"


def _gpus(nodes: NodeTable) -> str:
    return "GPUs" if nodes.gres in ("", "gpu") else nodes.gres


def _have(nodes: NodeTable, features: int) -> NDArray[np.bool_]:
    if features < 0:
        return np.zeros(nodes.cpus.size, np.bool_)
    return np.asarray(nodes.features & features == features)
