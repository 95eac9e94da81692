"""A cluster as a notebook shows it."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

from .._html import html_table
from .partition import Partition, Queue

if TYPE_CHECKING:
    from .cluster import Cluster

__all__ = ["cluster_html", "partition_words", "queue_words", "time_words"]

_KINDS_SHOWN = 10


def cluster_html(cluster: Cluster) -> str:
    """Return tables of the nodes by kind, and of partitions, queues and pools where there are."""
    tables = [_nodes(cluster)]
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


def _nodes(cluster: Cluster) -> str:
    title = f"cluster of {cluster.procs:,} processors"
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
    return html_table(f"{title} on {len(servers):,} nodes", ("nodes", *columns), rows, note)


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
        words.append(f"at least {partition.min_nodes:,} nodes")
    if partition.max_nodes is not None:
        words.append(f"at most {partition.max_nodes:,} nodes")
    if partition.max_cpus_per_node is not None:
        words.append(f"{partition.max_cpus_per_node:,} processors of a node")
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
