"""What a cluster is made of: as plain values, in words, and as a notebook shows it."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import asdict
from typing import Any

from .._html import html_table
from ..errors import plural
from .cluster import Cluster
from .partition import Partition, Queue
from .server import Server
from .states import PowerStates, break_even

_KINDS_SHOWN = 10


def cluster_html(cluster: Cluster) -> str:
    """Return tables of the nodes by kind, and of partitions, queues and pools where there are."""
    tables = [_node_table(cluster)]
    if cluster.partitions:
        rows = [(p.name, len(p.nodes), partition_words(p)) for p in cluster.partitions]
        tables.append(html_table("partitions", ("partition", "nodes", "limits"), rows))
    if cluster.queues:
        lines = [(q.name, q.order, queue_words(q)) for q in cluster.queues]
        note = f"between queues: {cluster.between}" if len(cluster.queues) > 1 else ""
        tables.append(html_table("queues", ("queue", "order", "limits"), lines, note))
    if cluster.pools:
        tables.append(html_table("pools", ("pool", "count"), list(cluster.pools.items())))
    return "".join(tables)


def _node_table(cluster: Cluster) -> str:
    title = f"cluster of {plural(cluster.procs, 'processor')}"
    if not cluster.is_named:
        return html_table(title, (), [("power", str(cluster.power))])
    servers = [node.server for node in cluster.nodes]
    columns: dict[str, list[object]] = {
        "server": [server.model for server in servers],
        "cores": [server.cores for server in servers],
    }
    if not all(math.isnan(server.memory) for server in servers):
        # Those of unknown memory are one kind: nan, which equals nothing, would make many.
        columns["memory (GB)"] = [
            "–" if math.isnan(server.memory) else server.memory for server in servers
        ]
    for name in cluster.resource_names[2:]:
        columns[name] = [server.resources.get(name, 0) for server in servers]
    kinds = Counter(zip(*columns.values(), strict=True))
    most = kinds.most_common(_KINDS_SHOWN)
    rest = len(kinds) - len(most)
    note = f"and {rest:,} more kinds of nodes" if rest else ""
    rows = [(count, *kind) for kind, count in most]
    return html_table(f"{title} on {plural(len(servers), 'node')}", ("nodes", *columns), rows, note)


def time_words(seconds: float) -> str:
    """Return a time limit as Slurm writes it.

    >>> time_words(93784), time_words(3600), time_words(float("inf"))
    ('1-02:03:04', '1:00:00', 'no limit')
    """
    if math.isinf(seconds):
        return "no limit"
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(int(minutes), 60)
    days, hours = divmod(hours, 24)
    whole = f"{rest:02.0f}" if rest == int(rest) else f"{rest:06.3f}"
    return f"{days}-{hours:02}:{minutes:02}:{whole}" if days else f"{hours}:{minutes:02}:{whole}"


def partition_words(partition: Partition) -> str:
    """Return the limits of a partition in a line."""
    words = [] if math.isinf(partition.max_time) else [f"at most {time_words(partition.max_time)}"]
    if partition.min_nodes > 1:
        words.append(f"at least {plural(partition.min_nodes, 'node')}")
    if partition.max_nodes is not None:
        words.append(f"at most {plural(partition.max_nodes, 'node')}")
    if partition.max_cpus_per_node is not None:
        words.append(f"{plural(partition.max_cpus_per_node, 'processor')} of a node")
    if partition.whole_node:
        words.append("whole nodes")
    if partition.tier != 1:
        words.append(f"tier {partition.tier}")
    if partition.default:
        words.append("default")
    return ", ".join(words)


def queue_words(queue: Queue) -> str:
    """Return where the jobs of a queue run, and its limits, in a line."""
    words = [f"to {' or '.join(queue.partitions)}"] if queue.partitions else []
    if queue.priority:
        words.append(f"priority {queue.priority:g}")
    if queue.weight != 1:
        words.append(f"weight {queue.weight}")
    if not math.isinf(queue.max_time):
        words.append(f"at most {time_words(queue.max_time)}")
    for name, text in (
        ("max_procs", "{:,} processors of a job"),
        ("max_running", "{:,} jobs at once"),
        ("max_used", "{:,} processors at once"),
    ):
        if getattr(queue, name) is not None:
            words.append(text.format(getattr(queue, name)))
    if queue.default:
        words.append("default")
    return ", ".join(words)


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
        "threads_per_core": _threads(cluster),
        "reference_ops": (cluster.reference_ops or average) if cluster.has_speeds else None,
        "totals": {**_totals(nodes), "procs": cluster.procs},
        "speed": {
            "slowest": float(speeds.min()) if cluster.has_speeds else None,
            "average": average if cluster.has_speeds else None,
            "fastest": float(speeds.max()) if cluster.has_speeds else None,
        },
        "resources": _resources(cluster),
        "partitions": [_partition(cluster, part) for part in cluster.partitions],
        "queues": [{**_plain(asdict(q)), "limits": queue_words(q)} for q in cluster.queues],
        "between": cluster.between if cluster.queues else None,
        "pools": dict(cluster.pools),
        "models": _models(nodes),
        "kinds": _kinds(cluster),
        "power_states": _power_states(cluster),
        "power_saving": asdict(cluster.power_saving) if cluster.power_saving else None,
        "report": report.as_dict() if report else None,
        "nodes": nodes,
    }


def _threads(cluster: Cluster) -> list[int]:
    """Return how many hardware threads of a core count as cores of their own, of all nodes."""

    def counted(server: Server) -> int:
        threads, of_core = (server.facts.get(name) for name in ("threads", "threads_per_core"))
        # Benchmarks know of threads as well, and count cores.
        if not threads or not of_core or server.cores * of_core <= threads:
            return 1
        return int(of_core)

    return sorted({counted(node.server) for node in cluster.nodes})


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


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    """Return values for JSON, in which no limit is None."""
    return {name: None if value == math.inf else value for name, value in values.items()}


def _totals(nodes: list[dict[str, Any]]) -> dict[str, Any]:
    """Return sums over the nodes; of memory and watts, over those of which it is known."""
    totals: dict[str, Any] = {"nodes": len(nodes)}
    for name in ("procs", "cores", "chips"):
        totals[name] = sum(node[name] for node in nodes)
    for name in ("memory", "ops", "watts", "idle_watts"):
        known = [node[name] for node in nodes if node[name] is not None]
        totals[name] = math.fsum(known) if known else None
    for name in ("memory", "watts", "idle_watts"):
        totals[f"{name}_unknown"] = sum(node[name] is None for node in nodes)
    rated = totals["ops"] is not None and totals["watts"] and not totals["watts_unknown"]
    totals["efficiency"] = totals["ops"] / totals["watts"] if rated else None
    return totals


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
