"""What a cluster of named nodes is made of, as plain values."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

from .cluster import Cluster

__all__ = ["cluster_facts"]


def cluster_facts(cluster: Cluster) -> dict[str, Any]:
    """Return totals, speeds, models and one row per node, ready for JSON.

    Speeds are operations per second of a processor; ``speed`` of a node is relative to the
    average processor of the cluster [gomez2012, eq. 1].
    """
    average = cluster.average_ops
    nodes = []
    for node, procs in zip(cluster.nodes, cluster.columns.procs.tolist(), strict=True):
        server = node.server
        nodes.append(
            {
                "name": node.name,
                "model": server.model,
                "procs": procs,
                "cores": server.cores,
                "chips": server.chips,
                "memory": None if math.isnan(server.memory) else server.memory,
                "ops": server.ops,
                "watts": server.watts[-1],
                "idle_watts": server.watts[0] if server.idle_known else None,
                "speed": server.ops / procs / average,
                "features": sorted(server.features),
            }
        )
    speeds = cluster.columns.ops
    report = cluster.report
    return {
        "source": report.source if report else "",
        "processor": cluster.processor,
        "reference_ops": cluster.reference_ops or average,
        "totals": _totals(nodes),
        "speed": {
            "slowest": float(speeds.min()),
            "average": average,
            "fastest": float(speeds.max()),
        },
        "models": _models(nodes),
        "report": report.as_dict() if report else None,
        "nodes": nodes,
    }


def _totals(nodes: list[dict[str, Any]]) -> dict[str, Any]:
    """Return sums over the nodes; of memory and idle watts, over those of which it is known."""
    told: dict[str, Any] = {"nodes": len(nodes)}
    for name in ("procs", "cores", "chips"):
        told[name] = sum(node[name] for node in nodes)
    for name in ("memory", "ops", "watts", "idle_watts"):
        known = [node[name] for node in nodes if node[name] is not None]
        told[name] = math.fsum(known) if known else None
    for name in ("memory", "idle_watts"):
        told[f"{name}_unknown"] = sum(node[name] is None for node in nodes)
    told["efficiency"] = told["ops"] / told["watts"] if told["watts"] else None
    return told


def _models(nodes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return models by count, the most frequent first."""
    count = Counter(node["model"] for node in nodes)
    procs: Counter[str] = Counter()
    for node in nodes:
        procs[node["model"]] += node["procs"]
    return [
        {"model": model, "nodes": number, "procs": procs[model]}
        for model, number in count.most_common()
    ]
