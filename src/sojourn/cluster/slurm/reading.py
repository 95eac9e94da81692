"""Nodes, partitions and switches of a ``slurm.conf``, statement by statement [slurm]."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from ...errors import ClusterError
from ...jobs.formats.slurm_fields import limit
from .lines import Line, read_lines

_MOST_NODES = 100_000
_ALIAS = {"features": "feature", "shared": "oversubscribe"}
_YES = frozenset({"YES", "UP", "TRUE", "1"})
_NO = frozenset({"", "NO", "DOWN", "FALSE", "0"})
_ABSENT = ("FUTURE", "DOWN", "DRAIN", "DRAINED", "DRAINING", "FAIL", "FAILING")
_STATES = frozenset(
    {"UNKNOWN", "IDLE", "CLOUD", "UP", "RESUME", "ALLOCATED", "MIXED", "PLANNED", "RESERVED"}
    | {"MAINT", "ERROR", "NO_RESPOND", "COMPLETING", "REBOOT", "POWER_UP", "POWER_DOWN"}
    | {"POWERED_DOWN", "POWERING_DOWN", "POWER_SAVE", *_ABSENT}
)
"""Words with which the state of a node begins."""
_UNLIMITED = ("", "UNLIMITED", "INFINITE")

Counts = tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class SlurmNode:
    """A node of a ``slurm.conf``.

    Parameters
    ----------
    name : of the node.
    cpus, memory : processors, and MB.
    gres : generic resources by kind.
    features : words that jobs can ask for.
    weight : nodes with less are used first.
    types : generic resources of a type, by ``kind:type``.
    held : kinds of generic resources that are not used up (``no_consume``).
    sockets, threads_per_core : of its processors; 1 where these are whole cores.
    reserved_cpus, reserved_memory : not for jobs: processors, and MB.
    state : in capitals, as its line says; empty if it does not.
    """

    name: str
    cpus: int = 1
    memory: int = 1
    gres: tuple[tuple[str, int], ...] = ()
    features: tuple[str, ...] = ()
    weight: int = 1
    types: tuple[tuple[str, int], ...] = ()
    held: tuple[str, ...] = ()
    sockets: int = 1
    threads_per_core: int = 1
    reserved_cpus: int = 0
    reserved_memory: int = 0
    state: str = ""


@dataclass(frozen=True)
class SlurmPartition:
    """A partition of a ``slurm.conf``.

    Parameters
    ----------
    name : of the partition.
    nodes : by name.
    is_default : whether jobs that name none come here.
    is_up : whether its jobs may start.
    whole : whether a job has its nodes to itself (``OverSubscribe=EXCLUSIVE``).
    tier, factor : ``PriorityTier`` and ``PriorityJobFactor``.
    most_minutes, default_minutes : limits of time; inf for none, nan if not given.
    least_nodes, most_nodes : of a job.
    memory_per_cpu, memory_per_node : default requests (MB), 0 if not given.
    most_cpus : processors of a node that its jobs may use together.
    """

    name: str
    nodes: tuple[str, ...]
    is_default: bool = False
    is_up: bool = True
    whole: bool = False
    tier: int = 1
    factor: int = 1
    most_minutes: float = math.inf
    default_minutes: float = math.nan
    least_nodes: int = 1
    most_nodes: float = math.inf
    memory_per_cpu: int = 0
    memory_per_node: int = 0
    most_cpus: float = math.inf


class Statement(NamedTuple):
    """A line of nodes or of a partition, with what the default lines before it say."""

    kind: str
    line: Line
    said: Mapping[str, str]


@dataclass(frozen=True)
class SlurmTables:
    """What a ``slurm.conf`` says, statement by statement.

    Parameters
    ----------
    path : of the file.
    lines : all lines but those of nodes and partitions, by their names in small letters.
    nodes, partitions : in the order of the file.
    switches : the nodes of each leaf switch; empty where the file has none.
    racks : the nodes below each switch of a ``topology.conf``, by its name.
    assumed : what had to be assumed, in words.
    statements : of nodes and partitions, in the order of the file.
    origins : the line of each node.
    absent : nodes that ``DownNodes`` lines name, with their state.
    """

    path: str
    lines: Mapping[str, str]
    nodes: tuple[SlurmNode, ...]
    partitions: tuple[SlurmPartition, ...]
    switches: tuple[tuple[str, ...], ...]
    racks: Mapping[str, tuple[str, ...]]
    assumed: tuple[str, ...]
    statements: tuple[Statement, ...]
    origins: Mapping[str, Line]
    absent: Mapping[str, str]

    def state_of(self, node: SlurmNode) -> str:
        """Return why jobs can never use a node: FUTURE, DOWN, DRAIN and the like; else nothing."""
        state = re.split(r"[^A-Z]", self.absent.get(node.name, node.state))[0]
        return state if state in _ABSENT else ""


def read_tables(path: str | os.PathLike[str]) -> SlurmTables:
    """Read a ``slurm.conf``, the files it includes, and the ``topology.conf`` beside it.

    Raises
    ------
    ClusterError
        When a file cannot be read or says what cannot be; it names file, line and field.
    """
    lines: dict[str, str] = {}
    nodes: dict[str, SlurmNode] = {}
    origins: dict[str, Line] = {}
    groups: list[tuple[str, ...]] = []
    default: dict[str, dict[str, str]] = {"nodename": {}, "partitionname": {}}
    statements: list[Statement] = []
    sets: list[tuple[Line, dict[str, str]]] = []
    absent: dict[str, str] = {}
    down: list[tuple[Line, tuple[str, ...]]] = []
    parts: set[str] = set()
    for line in read_lines(path):
        said = {_ALIAS.get(name, name): value for name, value in line.said.items()}
        kind = line.name.lower()
        if kind in default and said[kind].upper() == "DEFAULT":
            default[kind] |= said
        elif kind in default:
            said = {**default[kind], **said}
            if kind == "partitionname" and said[kind] in parts:
                problem = f"'{said[kind][:40]}' is there already; name each partition once"
                raise line.error("PartitionName", problem)
            if kind == "partitionname":
                parts.add(said[kind])
            statements.append(Statement(kind, line, said))
            if kind == "nodename":
                made = _nodes(line, said)
                again = next((name for name in made if name in nodes), None)
                if again is not None:
                    problem = f"'{again}' is there already; name each node once"
                    raise line.error("NodeName", problem)
                groups.append(tuple(made))
                nodes |= made
                origins |= dict.fromkeys(made, line)
        elif kind == "nodeset":
            sets.append((line, said))
        else:
            lines |= said
            if kind == "downnodes":
                state = _state(line, said, "DOWN")
                down.append((line, line.nodes("DownNodes", said[kind])))
                absent |= dict.fromkeys(down[-1][1], state)
    if "ALL" in absent:
        absent |= dict.fromkeys(nodes, absent.pop("ALL"))
    for line, gone in down:
        unknown = next((name for name in gone if name not in nodes and name != "ALL"), None)
        if unknown is not None:
            raise line.error("DownNodes", f"no NodeName line has '{unknown[:40]}'")
    # A partition may name nodes that stand further down.
    named = {said["nodeset"]: _node_set(line, said, nodes) for line, said in sets}
    partitions = [
        _partition(line, said, nodes, named)
        for kind, line, said in statements
        if kind == "partitionname"
    ]
    switches, assumed = _switches(Path(path), lines, groups)
    racks = {} if assumed else _below(Path(path), lines)
    return SlurmTables(
        path=str(path),
        lines=lines,
        nodes=tuple(nodes.values()),
        partitions=tuple(partitions),
        switches=switches,
        racks=racks,
        assumed=assumed,
        statements=tuple(statements),
        origins=origins,
        absent=absent,
    )


def natural_order(name: str) -> tuple[tuple[int, int, str], ...]:
    """Return a key by which n2 comes before n10."""
    parts = re.findall(r"\d+|\D+", name)
    return tuple((0, int(p), p) if p.isdecimal() else (1, 0, p) for p in parts)


def is_tree(plugin: str) -> bool:
    """Whether a network plugin has switches that nodes hang on."""
    return plugin.lower() == "topology/tree"


def whole_minutes(text: str, path: str, line: int | None, field: str) -> float:
    """Return whole minutes, rounded up as Slurm does."""
    try:
        seconds = limit(text)
    except ValueError:
        seconds = math.nan
    if not seconds >= 0:
        raise ClusterError(path, f"'{text[:40]}' is no time; correct it", line=line, field=field)
    return seconds if math.isinf(seconds) else float(math.ceil(seconds / 60.0))


def _node_set(
    line: Line, said: Mapping[str, str], nodes: Mapping[str, SlurmNode]
) -> dict[str, None]:
    """Return the nodes of a ``NodeSet``: those it lists, and those with its feature."""
    feature = said.get("feature", "")
    having = [name for name, node in nodes.items() if feature in node.features]
    return dict.fromkeys([*line.nodes("Nodes", said.get("nodes", "")), *having])


def _switches(
    path: Path, lines: Mapping[str, str], groups: Iterable[tuple[str, ...]]
) -> tuple[tuple[tuple[str, ...], ...], tuple[str, ...]]:
    """Return the leaf switches, and a word where they are not known."""
    if not is_tree(lines.get("topologyplugin", "")):
        return (), ()
    file = path.parent / "topology.conf"
    if not file.is_file():
        return tuple(groups), (
            "TopologyPlugin=topology/tree without a topology.conf beside the file: "
            "the nodes of one NodeName line are taken for those of one leaf switch",
        )
    leaves, below = [], dict[str, tuple[str, ...]]()
    line_of = dict[str, Line]()
    for line in read_lines(file):
        name = line.said.get("switchname")
        if name is None:
            continue
        if not name or name in line_of:
            problem = f"switch '{name[:40]}' has a line already" if name else "is missing"
            raise ClusterError(
                file, f"{problem}; give each a name", line=line.number, field="SwitchName"
            )
        line_of[name] = line
        below[name] = line.nodes("Switches", line.said.get("switches", ""))
        if line.said.get("nodes"):
            leaves.append(line.nodes("Nodes", line.said["nodes"]))
    _check_tree(line_of, below)
    return tuple(leaves), ()


def _below(path: Path, lines: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """Return the nodes below each switch of a tree that has been checked, by its name."""
    file = path.parent / "topology.conf"
    if not is_tree(lines.get("topologyplugin", "")) or not file.is_file():
        return {}
    own, inner = dict[str, tuple[str, ...]](), dict[str, tuple[str, ...]]()
    for line in read_lines(file):
        if name := line.said.get("switchname"):
            own[name] = line.nodes("Nodes", line.said.get("nodes", ""))
            inner[name] = line.nodes("Switches", line.said.get("switches", ""))

    def nodes(name: str) -> tuple[str, ...]:
        return (*own[name], *(node for other in inner[name] for node in nodes(other)))

    return {name: nodes(name) for name in own}


def _check_tree(line_of: Mapping[str, Line], below: Mapping[str, tuple[str, ...]]) -> None:
    """Refuse switches that no line has, and such as are below themselves."""
    left = dict(below)
    for name, others in below.items():
        for other in others:
            if other not in below:
                raise line_of[name].bad("Switches", other)
    while left:
        done = [name for name, others in left.items() if not left.keys() & set(others)]
        if not done:
            name = next(iter(left))
            problem = f"switch '{name[:40]}' is below itself; correct one of the lines"
            line = line_of[name]
            raise ClusterError(line.path, problem, line=line.number, field="Switches")
        for name in done:
            del left[name]


def _whole(line: Line, said: Mapping[str, str], field: str, default: int) -> int:
    text = said.get(field.lower(), "")
    if not text:
        return default
    if not text.isdecimal():
        raise line.bad(field, text)
    return int(text)


def _yes_or_no(line: Line, said: Mapping[str, str], field: str) -> bool:
    text = said.get(field.lower(), "")
    if text.upper() not in _YES | _NO:
        raise line.bad(field, text)
    return text.upper() in _YES


def _nodes(line: Line, said: Mapping[str, str]) -> dict[str, SlurmNode]:
    sockets = _whole(line, said, "Sockets", 0)
    threads = max(_whole(line, said, "ThreadsPerCore", 1), 1)
    cores = _whole(line, said, "CoresPerSocket", 1)
    boards = _whole(line, said, "Boards", 1)
    sockets = sockets or boards * _whole(line, said, "SocketsPerBoard", 1)
    cpus = _whole(line, said, "CPUs", _whole(line, said, "Procs", sockets * cores * threads))
    if cpus == 0:
        raise line.bad("CPUs", "0")
    if cpus <= sockets * cores:  # Slurm then uses one thread of each core.
        threads = 1
    gres, types, held = _gres(line, said.get("gres", ""))
    node = SlurmNode(
        name="",
        cpus=cpus,
        memory=_whole(line, said, "RealMemory", 1),
        gres=gres,
        features=tuple(word.strip() for word in said.get("feature", "").split(",") if word.strip()),
        weight=_whole(line, said, "Weight", 1),
        types=types,
        held=held,
        sockets=max(sockets, 1),
        threads_per_core=threads,
        reserved_cpus=_whole(line, said, "CoreSpecCount", 0) * threads,
        reserved_memory=_whole(line, said, "MemSpecLimit", 0),
        state=_state(line, said, ""),
    )
    if node.reserved_cpus >= cpus:
        problem = f"'{said['corespeccount']}' leaves no processor to jobs; correct it"
        raise line.error("CoreSpecCount", problem)
    names = line.nodes("NodeName", said["nodename"])
    # A name that is not given takes what follows for its value.
    if not names or len(names) > _MOST_NODES or "=" in said["nodename"]:
        raise line.bad("NodeName", said["nodename"])
    return {name: replace(node, name=name) for name in names}


def _state(line: Line, said: Mapping[str, str], default: str) -> str:
    """Return the state of nodes in capitals, without the marks that Slurm adds to it."""
    text = said.get("state", "") or default
    if text and re.split(r"[^A-Z_]", text.upper())[0] not in _STATES:
        raise line.bad("State", text)
    return text.upper()


def _gres(line: Line, text: str) -> tuple[Counts, Counts, tuple[str, ...]]:
    """Return counts by kind and by type, and kinds that are not used up.

    ``gpu:tesla:2,gpu:kepler:1`` are three of gpu.
    """
    counts: dict[str, int] = {}
    types: dict[str, int] = {}
    held: list[str] = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        words = part.partition("(")[0].split(":")
        has_count = len(words) > 1 and words[-1][:1].isdecimal()
        count = words.pop() if has_count else "1"
        number = line.number_of("Gres", count)
        kind, *more = words
        named = [word for word in more if word != "no_consume"]
        if not kind or len(named) > 1 or any(re.fullmatch(r"|-\d+", word) for word in named):
            raise line.bad("Gres", text)
        counts[kind] = counts.get(kind, 0) + number
        if "no_consume" in more:
            held.append(kind)
        elif more:
            name = f"{kind}:{more[0]}"
            types[name] = types.get(name, 0) + number
    return tuple(counts.items()), tuple(types.items()), tuple(held)


def _partition(
    line: Line,
    said: Mapping[str, str],
    nodes: Mapping[str, SlurmNode],
    sets: Mapping[str, Iterable[str]],
) -> SlurmPartition:
    text = said.get("nodes", "")
    listed = tuple(nodes) if text.upper() == "ALL" else line.nodes("Nodes", text)
    names = tuple(dict.fromkeys(name for one in listed for name in sets.get(one, (one,))))
    unknown = next((name for name in names if name not in nodes), None)
    if unknown is not None:
        raise line.error("Nodes", f"no NodeName line has '{unknown}'")

    def minutes(field: str, default: float) -> float:
        text = said.get(field.lower(), "")
        return whole_minutes(text, line.path, line.number, field) if text else default

    def most(field: str) -> float:
        is_free = said.get(field.lower(), "").upper() in _UNLIMITED
        return math.inf if is_free else _whole(line, said, field, 1)

    both = _whole(line, said, "Priority", 1)
    share = said.get("oversubscribe", "NO").upper()
    if not re.fullmatch(r"NO|EXCLUSIVE|(YES|FORCE)(:\d+)?", share):
        raise line.bad("OverSubscribe", share)
    state = said.get("state", "UP").upper()
    if state not in ("UP", "DOWN", "DRAIN", "INACTIVE"):
        raise line.bad("State", state)
    if not said["partitionname"] or "=" in said["partitionname"]:
        # A name that is not given takes what follows for its value.
        raise line.bad("PartitionName", said["partitionname"])
    return SlurmPartition(
        name=said["partitionname"],
        nodes=names,
        is_default=_yes_or_no(line, said, "Default"),
        is_up=state in ("UP", "DRAIN"),
        whole=share == "EXCLUSIVE",
        tier=_whole(line, said, "PriorityTier", both),
        factor=_whole(line, said, "PriorityJobFactor", both),
        most_minutes=minutes("MaxTime", math.inf),
        default_minutes=minutes("DefaultTime", math.nan),
        least_nodes=_whole(line, said, "MinNodes", 1),
        most_nodes=most("MaxNodes"),
        memory_per_cpu=_whole(line, said, "DefMemPerCPU", 0),
        memory_per_node=_whole(line, said, "DefMemPerNode", 0),
        most_cpus=most("MaxCPUsPerNode"),
    )
