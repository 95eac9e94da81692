"""Writing a cluster as a description, in CSV or TOML, that reads back as the same cluster."""

from __future__ import annotations

import csv
import io
import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from ..errors import ClusterError, LogError, OptionError
from ..files.access import PathName
from ..jobs.formats.slurm_fields import expand_nodes, fold_nodes
from .cluster import Cluster
from .description import KEYS, PREFIX, is_resource
from .partition import Partition, Queue
from .server import Node, Server
from .states import PowerLevel, PowerSaving, PowerStates, SleepState


def write_cluster(cluster: Cluster, path: PathName) -> None:
    """Write a cluster as a description, atomically.

    Parameters
    ----------
    cluster : with nodes, or with processors that are only counted, whose watts are not written.
    path : ends in ``.toml`` for a description of everything; else the nodes are written in CSV,
        which has neither partitions, queues and pools nor what counts as a processor and the
        reference speed.

    Every number reads back as the same number. Further facts for queries, the switches of the
    network, and how a manager saves power are not written.

    Raises
    ------
    OptionError
        When CSV has no place for what the cluster has.
    ClusterError
        When the file cannot be written.
    """
    from ..files.staging import open_atomic

    if Path(os.fspath(path)).suffix.lower() == ".toml":
        text = "\n".join(_toml(cluster))
    elif not cluster.is_named:
        raise OptionError("cluster: CSV has rows of nodes, this one is counted; name a .toml file")
    elif cluster.partitions or cluster.queues or cluster.pools:
        raise OptionError("cluster: CSV has no partitions, queues and pools; name a .toml file")
    elif cluster.caps or cluster.racks:
        raise OptionError("cluster: CSV has no caps and racks; name a .toml file")
    elif any(node.server.states != PowerStates() for node in cluster.nodes):
        raise OptionError("cluster: CSV has no states of sleep and power; name a .toml file")
    else:
        text = _csv(cluster)
    try:
        with open_atomic(path) as file:
            file.write(text.encode())
    except LogError as error:
        raise ClusterError(path, error.problem) from None


def _csv(cluster: Cluster) -> str:
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    more = cluster.resource_names[2:]
    titles = [name if is_resource(name, KEYS) else f"{PREFIX}{name}" for name in more]
    head = ["name", "model", "cores", "chips", "memory", "ops", "watts", "features"]
    writer.writerow([*head, *titles])
    for node in cluster.nodes:
        server = node.server
        writer.writerow(
            [
                node.name,
                server.model,
                server.cores,
                server.chips,
                "" if math.isnan(server.memory) else repr(server.memory),
                repr(server.ops) if server.has_speed else "",
                " ".join(map(repr, _watts(server))),
                " ".join(sorted(server.features)),
                *(server.resources.get(name, 0) for name in more),
            ]
        )
    return out.getvalue()


def _watts(server: Server) -> tuple[float, ...]:
    return server.watts if server.idle_known else server.watts[-1:]


def _toml(cluster: Cluster) -> Iterator[str]:
    if not cluster.is_named:
        yield f"procs = {_value(cluster.procs)}"
    if cluster.processor != "core":
        yield f"processor = {_value(cluster.processor)}"
    if cluster.reference_ops is not None:
        yield f"reference_ops = {_value(cluster.reference_ops)}"
    if cluster.queues:
        yield f"between = {_value(cluster.between)}"
    for server, names in _runs(cluster.nodes):
        yield from _table("node", {"name": names, **_node_keys(server)})
        for sleep in server.states.sleep:
            yield from _table("node.sleep", _timed(sleep))
        for level in server.states.levels:
            yield from _table("node.level", _level(level))
    for partition in cluster.partitions:
        own = [cluster.nodes[at].name for at in partition.nodes]
        nodes = _folded(own) or own
        yield from _table("partition", {**_changed(partition), "nodes": nodes})
    for queue in cluster.queues:
        yield from _table("queue", _changed(queue))
    for name, count in cluster.pools.items():
        yield from _table("pool", {"name": name, "count": count})
    for cap in cluster.caps:
        own = [cluster.nodes[at].name for at in cap.nodes]
        watts = {} if cap.watts is None else {"watts": cap.watts}
        yield from _table("cap", {"name": cap.name, **watts, "nodes": _folded(own) or own})
    for rack in cluster.racks:
        own = [cluster.nodes[at].name for at in rack.nodes]
        yield from _table("rack", {"name": rack.name, "nodes": _folded(own) or own})
    if cluster.power_saving is not None:
        yield from _staying(cluster.power_saving)
    yield ""


def _staying(saving: PowerSaving) -> Iterator[str]:
    """Tables of the nodes that stay on."""
    for names, count in saving.excluded_nodes:
        number = {} if count is None else {"count": count}
        yield from _table("stay_on", {"nodes": _folded(list(names)) or list(names), **number})
    if saving.excluded_partitions:
        yield from _table("stay_on", {"partitions": list(saving.excluded_partitions)})


def _runs(nodes: Sequence[Node]) -> Iterator[tuple[Server, str]]:
    """Yield equal nodes that follow each other, with their names as a pattern."""
    begin = 0
    for at in range(1, len(nodes) + 1):
        if at < len(nodes) and nodes[at].server == nodes[begin].server:
            continue
        names = [node.name for node in nodes[begin:at]]
        pattern = _folded(names)
        called = [pattern] if "[" in pattern else names
        yield from ((nodes[begin].server, name) for name in called)
        begin = at


def _folded(names: list[str]) -> str:
    """Return names as a pattern, if that stands for the same names in the same order."""
    pattern = fold_nodes(names)
    try:
        return pattern if expand_nodes(pattern) == tuple(names) else ""
    except ValueError:
        return ""


def _node_keys(server: Server) -> dict[str, Any]:
    keys: dict[str, Any] = {"model": server.model, "cores": server.cores, "chips": server.chips}
    if not math.isnan(server.memory):
        keys["memory"] = server.memory
    if server.has_speed:
        keys["ops"] = server.ops
    watts = _watts(server)
    if watts:
        keys["watts"] = watts[0] if len(watts) == 1 else list(watts)
    if server.features:
        keys["features"] = sorted(server.features)
    if server.resources:
        keys["resources"] = dict(server.resources)
    for name in ("off_watts", "failed_watts"):
        if getattr(server.states, name):
            keys[name] = getattr(server.states, name)
    return keys


def _level(level: PowerLevel) -> dict[str, Any]:
    return {name: value for name, value in asdict(level).items() if value is not None}


def _timed(sleep: SleepState) -> dict[str, Any]:
    """Return what a depth of sleep has; no watts of what takes no time."""
    keys = ["name", "watts"]
    for name in ("enter", "leave"):
        keys += [name, f"{name}_watts"] if getattr(sleep, name) else []
    keys += ["leave_varies"] if sleep.leave_varies else []
    return {key: getattr(sleep, key) for key in keys}


def _changed(part: Partition | Queue) -> dict[str, Any]:
    """Return what a partition or queue has besides its name that is not the default."""
    values = {field.name: getattr(part, field.name) for field in fields(part)}
    defaults = {field.name: field.default for field in fields(part)}
    return {name: value for name, value in values.items() if value != defaults[name]}


def _table(kind: str, values: Mapping[str, Any]) -> Iterator[str]:
    yield ""
    yield f"[[{kind}]]"
    yield from (f"{name} = {_value(value)}" for name, value in values.items())


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, Mapping):
        pairs = (f"{_value(name)} = {count}" for name, count in value.items())
        return f"{{ {', '.join(pairs)} }}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    return repr(float(value)) if isinstance(value, float) else str(int(value))
