"""What a cluster is made of, as plain values."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import asdict
from typing import Any

from ._pages import partition_words, queue_words
from .cluster import Cluster
from .partition import Partition
from .states import PowerStates, break_even

__all__ = ["cluster_facts"]


def cluster_facts(cluster: Cluster) -> dict[str, Any]:
    """Return totals, speeds, models and one row per node, ready for JSON.

    Speeds are operations per second of a processor; ``speed`` of a node is relative to the
    average processor of the cluster [gomez2012, eq. 1]. What is not known is None.
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
                "ops": server.ops if server.has_speed else None,
                "watts": server.watts[-1] if server.has_watts else None,
                "idle_watts": server.watts[0] if server.idle_known else None,
                "speed": server.ops / procs / average if server.has_speed else 1.0,
                "features": sorted(server.features),
                **({"resources": dict(server.resources)} if server.resources else {}),
            }
        )
    speeds = cluster.columns.ops
    report = cluster.report
    return {
        "source": report.source if report else "",
        "processor": cluster.processor,
        "reference_ops": (cluster.reference_ops or average) if cluster.has_speeds else None,
        "totals": {**_totals(nodes), "procs": cluster.procs},
        "speed": {
            "slowest": float(speeds.min()) if cluster.has_speeds else None,
            "average": average if cluster.has_speeds else None,
            "fastest": float(speeds.max()) if cluster.has_speeds else None,
        },
        "resources": _resources(cluster),
        "partitions": [_partition(cluster, each) for each in cluster.partitions],
        "queues": [
            {**_plain(asdict(each)), "limits": queue_words(each)} for each in cluster.queues
        ],
        "between": cluster.between if cluster.queues else None,
        "pools": dict(cluster.pools),
        "models": _models(nodes),
        "kinds": _kinds(cluster),
        "power_states": _power_states(cluster),
        "power_saving": asdict(cluster.power_saving) if cluster.power_saving else None,
        "report": report.as_dict() if report else None,
        "nodes": nodes,
    }


def _resources(cluster: Cluster) -> list[dict[str, Any]]:
    """Return what nodes have besides cores and memory: how much in all, and on how many nodes."""
    return [
        {"resource": name, "count": int(row.sum()), "nodes": int((row > 0).sum())}
        for name, row in zip(cluster.resource_names[2:], cluster.capacity[2:], strict=True)
    ]


def _kinds(cluster: Cluster) -> list[dict[str, Any]]:
    """Return kinds of nodes, which differ in what they have, the most frequent first."""
    count = Counter(
        (s.model, s.cores, None if math.isnan(s.memory) else s.memory, s.resources)
        for s in (node.server for node in cluster.nodes)
    )
    return [
        {
            "model": model,
            "nodes": number,
            "cores": cores,
            "memory": memory,
            "resources": dict(resources),
        }
        for (model, cores, memory, resources), number in count.most_common()
    ]


def _power_states(cluster: Cluster) -> list[dict[str, Any]]:
    """Return kinds of nodes that sleep, or have levels, with their states and break-even times."""
    count = Counter(node.server for node in cluster.nodes)
    rows = []
    for server, number in count.most_common():
        states = server.states
        if states == PowerStates():
            continue
        idle = server.watts[0] if server.idle_known else None
        sleep = [
            {
                **asdict(depth),
                "break_even": None if idle is None else _finite(break_even(idle, depth)),
            }
            for depth in states.sleep
        ]
        rows.append(
            {
                "model": server.model,
                "nodes": number,
                "idle_watts": idle,
                "watts": server.watts[-1] if server.has_watts else None,
                **asdict(states),
                "sleep": sleep,
            }
        )
    return rows


def _finite(value: float) -> float | None:
    return None if math.isinf(value) else value


def _partition(cluster: Cluster, partition: Partition) -> dict[str, Any]:
    own = list(partition.nodes)
    return {
        **_plain(asdict(partition)),
        "nodes": [cluster.nodes[at].name for at in own],
        "procs": int(cluster.columns.procs[own].sum()),
        "limits": partition_words(partition),
    }


def _plain(told: dict[str, Any]) -> dict[str, Any]:
    """Return values for JSON, in which no limit is None."""
    return {name: None if value == math.inf else value for name, value in told.items()}


def _totals(nodes: list[dict[str, Any]]) -> dict[str, Any]:
    """Return sums over the nodes; of memory and watts, over those of which it is known."""
    told: dict[str, Any] = {"nodes": len(nodes)}
    for name in ("procs", "cores", "chips"):
        told[name] = sum(node[name] for node in nodes)
    for name in ("memory", "ops", "watts", "idle_watts"):
        known = [node[name] for node in nodes if node[name] is not None]
        told[name] = math.fsum(known) if known else None
    for name in ("memory", "watts", "idle_watts"):
        told[f"{name}_unknown"] = sum(node[name] is None for node in nodes)
    rated = told["ops"] is not None and told["watts"] and not told["watts_unknown"]
    told["efficiency"] = told["ops"] / told["watts"] if rated else None
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
