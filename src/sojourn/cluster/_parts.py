"""Partitions, queues and pools of a description, read into what a cluster takes."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from ..errors import ClusterError, OptionError, nearest
from ..files.access import PathName
from ._group import SLEEP_KEYS, Group, GroupReader
from .partition import Partition, PowerCap, Queue, unknown
from .rack import Rack
from .server import MOST_COUNTED
from .states import PowerSaving

PART_KEYS: Mapping[str, Mapping[str, str]] = {
    "partition": {
        "name": "of the partition",
        "nodes": "its nodes: 'all', or a pattern such as n[1-32], or a list of them",
        "max_time": "longest time limit of a job: seconds, or 1-12:00:00",
        "max_nodes": "most nodes of a job",
        "min_nodes": "fewest nodes of a job; default 1",
        "whole_node": "whether a job has its nodes to itself",
        "tier": "jobs of a higher tier are looked at first; default 1",
        "default": "whether jobs that name no partition come here",
        "max_cpus_per_node": "most processors of a node that its jobs use together",
    },
    "queue": {
        "name": "of the queue",
        "partitions": "where its jobs run, by name; default: all nodes",
        "order": "in which its jobs are looked at; default fcfs, that of the policy",
        "priority": "the queue with more is looked at first; default 0",
        "weight": "its share of what is started, in processors times plan; default 1",
        "max_time": "longest time limit of a job: seconds, or 1-12:00:00",
        "max_procs": "most processors of a job",
        "max_running": "most jobs of the queue that run at once",
        "max_used": "most processors that its jobs use at once",
        "default": "whether jobs that name no queue come here",
    },
    "pool": {
        "name": "of the pool, such as a licence",
        "count": "how many the cluster has",
    },
    "cap": {
        "name": "of the set of nodes",
        "watts": "W that its nodes may draw together, or a text such as 40kW; default: a run says",
        "nodes": "its nodes, as of a partition",
        "partitions": "partitions whose nodes it has, by name",
    },
    "rack": {
        "name": "of the rack; a pattern such as r[1-4] names several, which share nodes equally",
        "nodes": "its nodes, as of a partition",
        "racks": "racks that it holds, by name",
    },
    "stay_on": {
        "nodes": "nodes that do not go to sleep, as of a partition",
        "partitions": "partitions whose nodes do not, by name",
        "count": "how many idle ones of them stay on; default: all",
    },
}
"""Keys of the tables of a cluster besides ``[[node]]``, in TOML."""

_FEW_NODES = 10_000  # to look for a similar name among

_Part = TypeVar("_Part", Partition, Queue)
_POWER = re.compile(r"\s*(\d+\.?\d*|\.\d+)\s*(W|kW|MW)?\s*")
_SIZES = {None: 1.0, "W": 1.0, "kW": 1e3, "MW": 1e6}


def tables_of(path: PathName, values: Mapping[str, Any], kind: str) -> list[Group]:
    """Return the tables of one kind; its keys are looked at by `check_keys`."""
    tables = values.get(kind, [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise ClusterError(path, f"{kind}s are tables; begin each with [[{kind}]]", field=kind)
    return [Group(None, f"{kind} {at}: ", table) for at, table in enumerate(tables, 1)]


def check_keys(path: PathName, groups: Sequence[Group], keys: Mapping[str, str]) -> None:
    """See that tables have known keys only."""
    for group in groups:
        for name in group.said:
            if name not in keys:
                is_inner = "sleep" in keys and name in SLEEP_KEYS
                hint = "it belongs in a [[node.sleep]]" if is_inner else nearest(name, keys)
                problem = f"unknown key '{name}'; {hint}"
                raise ClusterError(path, problem, field=group.label.removesuffix(": "))


def partitions_of(
    path: PathName, groups: Sequence[Group], nodes: Mapping[str, Sequence[int]]
) -> list[Partition]:
    """Return the partitions of a description."""

    def made(reader: GroupReader) -> Partition:
        name, places, tier = reader.needed("name"), _places(reader, nodes), reader.natural("tier")
        fewest = reader.whole("min_nodes") or 1
        if fewest > len(places):
            problem = f"{fewest}, but the partition has {len(places)} nodes; correct it"
            raise reader.error("min_nodes", problem)
        return Partition(
            name=name,
            nodes=places,
            max_time=reader.seconds("max_time"),
            max_nodes=reader.whole("max_nodes"),
            min_nodes=fewest,
            whole_node=reader.flag("whole_node"),
            tier=1 if tier is None else tier,
            default=reader.flag("default"),
            max_cpus_per_node=reader.whole("max_cpus_per_node"),
        )

    return _unlike(path, groups, made)


def queues_of(path: PathName, groups: Sequence[Group], partitions: Sequence[str]) -> list[Queue]:
    """Return the queues of a description; `partitions` are those there are."""

    def made(reader: GroupReader) -> Queue:
        names = _words(reader, "partitions")
        if not names and "partitions" in reader.group.said:
            raise reader.error("partitions", "names none; name some, or leave it out for all nodes")
        for name in names:
            if name not in partitions:
                raise reader.error("partitions", unknown("partition", name, partitions))
        return Queue(
            name=reader.needed("name"),
            partitions=tuple(dict.fromkeys(names)),
            order=reader.text("order") or "fcfs",
            priority=reader.number("priority") or 0.0,
            weight=reader.whole("weight") or 1,
            max_time=reader.seconds("max_time"),
            max_procs=reader.whole("max_procs"),
            max_running=reader.whole("max_running"),
            max_used=reader.whole("max_used"),
            default=reader.flag("default"),
        )

    return _unlike(path, groups, made)


def pools_of(path: PathName, groups: Sequence[Group], resources: Sequence[str]) -> dict[str, int]:
    """Return the pools of a description by name; `resources` are the names that nodes use."""
    pools: dict[str, int] = {}
    for group in groups:
        reader = GroupReader(path, group, None)
        name, count = reader.needed("name"), reader.natural("count")
        if count is None:
            raise reader.error("count", "is missing; give it")
        if count > MOST_COUNTED:
            raise reader.error("count", f"{count:g} is too many; give fewer")
        if "," in name or ":" in name:
            problem = f"'{name[:40]}' has a comma or colon in it, and jobs ask for licences such as"
            raise reader.error("name", f"{problem} matlab:2,ansys; choose another")
        if name in pools:
            raise reader.error("name", f"two pools are called '{name}'; remove one")
        if name in resources:
            raise reader.error("name", f"nodes have a resource called '{name}'; choose another")
        pools[name] = count
    return pools


def caps_of(
    path: PathName,
    groups: Sequence[Group],
    nodes: Mapping[str, Sequence[int]],
    partitions: Sequence[Partition],
) -> list[PowerCap]:
    """Return the sets of nodes that caps are of."""
    caps: dict[str, PowerCap] = {}
    for group in groups:
        reader = GroupReader(path, group, None)
        name, places = reader.needed("name"), _set_of(reader, nodes, partitions)
        if name in caps:
            raise reader.error("name", f"'{name}' is there already; give each its own name")
        try:
            caps[name] = PowerCap(name, tuple(places), _power(reader))
        except OptionError as error:
            raise ClusterError(path, str(error), field=group.label.removesuffix(": ")) from None
    return list(caps.values())


def racks_of(
    path: PathName, groups: Sequence[Group], nodes: Mapping[str, Sequence[int]]
) -> list[Rack]:
    """Return the racks of a description; one that holds others comes after them."""
    racks: dict[str, tuple[int, ...]] = {}
    for group in groups:
        reader = GroupReader(path, group, None)
        name, inner, places = reader.needed("name"), _words(reader, "racks"), dict[int, None]()
        for other in inner:
            names = [other] if other in racks else reader.expanded("racks", other)
            for one in names:
                if one not in racks:
                    problem = unknown("rack", one, racks) if racks else f"no rack '{one}' so far"
                    raise reader.error("racks", f"{problem}; those inside come before")
                places |= dict.fromkeys(racks[one])
        if not inner or "nodes" in group.said:
            places |= dict.fromkeys(_places(reader, nodes))
        called = reader.expanded("name", name)
        size, left = divmod(len(places), len(called))
        if left or not size:
            problem = f"{len(places)} nodes for {len(called)} racks; give each as many"
            raise reader.error("nodes", problem)
        for k, one in enumerate(called):
            if one in racks:
                raise reader.error("name", f"'{one}' is there already; give each its own name")
            racks[one] = tuple(places)[k * size : (k + 1) * size]
    return [Rack(name, places) for name, places in racks.items()]


def _set_of(
    reader: GroupReader, nodes: Mapping[str, Sequence[int]], partitions: Sequence[Partition]
) -> set[int]:
    """Return the places of the nodes and of those of the partitions that a table names."""
    parts, places = {part.name: part.nodes for part in partitions}, set[int]()
    names = _words(reader, "partitions")
    for part in names:
        if part not in parts:
            raise reader.error("partitions", unknown("partition", part, parts))
        places |= set(parts[part])
    if not names or "nodes" in reader.group.said:
        places |= set(_places(reader, nodes))
    return places


def staying_of(
    path: PathName,
    groups: Sequence[Group],
    named: Sequence[str],
    nodes: Mapping[str, Sequence[int]],
    partitions: Sequence[Partition],
) -> PowerSaving | None:
    """Return which nodes stay on; `named` are all names in the order of the cluster."""
    sets: list[tuple[tuple[str, ...], int | None]] = []
    for group in groups:
        reader = GroupReader(path, group, None)
        places = _set_of(reader, nodes, partitions)
        count = reader.natural("count")
        if count is not None and count > len(places):
            raise reader.error("count", f"{count} of {len(places)} nodes; correct it")
        sets.append((tuple(named[at] for at in sorted(places)), count))
    if not sets:
        return None
    return PowerSaving(enter_rate=math.inf, leave_rate=math.inf, excluded_nodes=tuple(sets))


def _power(reader: GroupReader) -> float | None:
    value = reader.group.said.get("watts")
    match = _POWER.fullmatch(value) if isinstance(value, str) else None
    return float(match[1]) * _SIZES[match[2]] if match else reader.number("watts")


def _unlike(
    path: PathName, groups: Sequence[Group], made: Callable[[GroupReader], _Part]
) -> list[_Part]:
    """Return parts of different names, of which at most one is the default."""
    parts: dict[str, _Part] = {}
    default = ""
    for group in groups:
        reader = GroupReader(path, group, None)
        try:
            part = made(reader)
        except OptionError as error:
            where = group.label.removesuffix(": ")
            raise ClusterError(path, str(error), field=where) from None
        if part.name in parts:
            raise reader.error("name", f"'{part.name}' is there already; give each its own name")
        if part.default and default:
            raise reader.error("default", f"'{default}' is the default already; mark one")
        default = part.name if part.default else default
        parts[part.name] = part
    return list(parts.values())


def _words(reader: GroupReader, name: str) -> list[str]:
    value = reader.group.said.get(name, [])
    words = [value] if isinstance(value, str) else value
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise reader.error(name, f"{str(value)[:40]!r} is no list of names; correct it")
    return words


def _places(reader: GroupReader, nodes: Mapping[str, Sequence[int]]) -> tuple[int, ...]:
    """Return the places of nodes that a partition names, in its order."""
    patterns = _words(reader, "nodes")
    if not patterns:
        raise reader.error("nodes", "is missing; name some, or write 'all'")
    places: dict[int, None] = {}
    for pattern in patterns:
        if pattern.strip().lower() == "all" and pattern not in nodes:
            places |= dict.fromkeys(at for named in nodes.values() for at in named)
            continue
        names = [pattern] if pattern in nodes else reader.expanded("nodes", pattern)
        for name in names:
            if name not in nodes:
                raise reader.error("nodes", unknown_node(name, nodes))
            places |= dict.fromkeys(nodes[name])
    return tuple(places)


def unknown_node(name: str, nodes: Mapping[str, Sequence[int]]) -> str:
    """Return that no node has a name, and which may be meant."""
    hint = nearest(name, nodes) if len(nodes) <= _FEW_NODES else ""
    if not hint.startswith("did"):
        hint = f"the first is '{next(iter(nodes))}'"
    return f"no node is called '{name[:40]}'; {hint}"
