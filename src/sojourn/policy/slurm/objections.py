"""Why jobs would wait for ever, were the machine empty; most sites turn them away."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .nodes import NodeTable
from .requests import Requests
from .site import SlurmConf

_ASKED = ("partition", "features", "nodes", "cpus", "memory", "gpus")


def objections(conf: SlurmConf, nodes: NodeTable, requests: Requests) -> tuple[str, ...]:
    """Return what is wrong with each job, as "jobs ..." would go on; "" where nothing is.

    Parameters
    ----------
    conf, nodes : of the cluster.
    requests : the stream.
    """
    rows = np.stack([getattr(requests, name) for name in _ASKED], axis=1)
    # Many jobs ask for the same.
    kinds, kind = np.unique(rows, axis=0, return_inverse=True)
    texts = [_objection(conf, nodes, dict(zip(_ASKED, row, strict=True))) for row in kinds.tolist()]
    return tuple(texts[k] for k in kind.ravel().tolist())


def _objection(conf: SlurmConf, nodes: NodeTable, asked: dict[str, int]) -> str:
    """Return the first thing that a job asks for in vain."""
    partition = conf.partitions[asked["partition"]]
    where = f"of partition {partition.name}"
    if not partition.is_up:
        return f"{where}, which is not up"
    if asked["features"] < 0:
        return "that ask for features that no node has"
    if asked["nodes"] > partition.most_nodes:
        return f"{where} that ask for more nodes than it allows"
    suited = (nodes.partitions >> asked["partition"]) & 1 == 1
    steps: tuple[tuple[str, NDArray[np.bool_]], ...] = (
        ("", suited),
        (" with those features", nodes.features & asked["features"] == asked["features"]),
        (" with so many processors", nodes.cpus >= asked["cpus"]),
        (" with so much memory", nodes.memory >= asked["memory"]),
        (f" with so many {_gpus(nodes)}", nodes.gpus >= asked["gpus"]),
    )
    for what, enough in steps:
        suited = suited & enough
        if np.count_nonzero(suited) < asked["nodes"]:
            return f"{where} that ask for more nodes{what} than it has"
    return ""


_KINDS = (
    ("with so many processors", "processors"),
    ("with so much memory", "memory"),
    ("with those features", "feature"),
    ("features that no node has", "feature"),
    ("with so many", "resource"),
)
"""Words of objections, and what there is not enough of."""


def kind_of_objection(text: str) -> str:
    """Return what there is not enough of for a job, in a word; "" where nothing is wrong."""
    if not text:
        return ""
    return next((kind for words, kind in _KINDS if words in text), "partition")


def _gpus(nodes: NodeTable) -> str:
    return "GPUs" if nodes.gres in ("", "gpu") else nodes.gres
