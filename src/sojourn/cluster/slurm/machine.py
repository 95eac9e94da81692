"""A site's ``slurm.conf`` as a cluster: nodes, partitions, licences, switches [slurm]."""

from __future__ import annotations

import math
import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from ...errors import ClusterError, OptionError
from ...jobs.formats.slurm_fields import fold_nodes
from ..cluster import Cluster
from ..partition import Partition
from ..rack import Rack, do_not_nest
from ..report import ClusterReport, Remark
from ..server import Node, Server
from .lines import Line, read_lines
from .power import power_saving_of
from .reading import SlurmNode, SlurmPartition, SlurmTables, natural_order, read_tables

_MB_PER_GB = 1024.0
_LICENCE = re.compile(r"([^\s:*]+)(?:[:*](\d+))?")
_LINEAR = "select/linear"


def read_gres(path: Path, names: Iterable[str]) -> dict[str, dict[tuple[str, str], int]]:
    """Return the generic resources of nodes that a ``gres.conf`` has, by kind and type.

    A line that names no node is about all of `names`.
    """
    every = tuple(names)
    counts: dict[str, dict[tuple[str, str], int]] = {}
    for line in read_lines(path):
        said = line.said
        kind = said.get("name", "")
        if not kind and said.keys() & {"count", "file", "multiplefiles", "type"}:
            raise line.error("Name", "is missing; say of what, as in Name=gpu")
        if not kind:
            continue
        head, count = (kind, said.get("type", "")), _count(line, said)
        nodes = _listed(line, said["nodename"], "NodeName") if "nodename" in said else every
        for node in nodes:
            own = counts.setdefault(node, {})
            own[head] = own.get(head, 0) + count
    return counts


def _count(line: Line, said: Mapping[str, str]) -> int:
    """Return how many a line has: as it says, or one for each of its files."""
    if said.get("count"):
        return line.number_of("Count", said["count"])
    files = said.get("file", "") or said.get("multiplefiles", "")
    return len(_listed(line, files, "File")) if files else 1


def _listed(line: Line, text: str, field: str) -> tuple[str, ...]:
    names = line.nodes(field, text)
    if not names:
        raise line.bad(field, text)
    return names


def types_of(
    gres: Mapping[str, int], types: Mapping[str, int], listed: Mapping[tuple[str, str], int]
) -> tuple[dict[str, int], list[str]]:
    """Return the generic resources of a node with their types, and what does not agree.

    The ``slurm.conf`` counts (`gres` by kind, `types` by ``kind:type``); a ``gres.conf`` (`listed`)
    adds types to kinds that it gives none, if they make up the same number.
    """
    counts = {**gres, **types}
    fewer = []
    for kind, count in gres.items():
        own = {model: n for (name, model), n in listed.items() if name == kind}
        total = sum(own.values()) if own else math.inf
        if total < count:
            fewer.append(f"{count} {kind}, {total} in gres.conf")
        has_types = any(name.startswith(f"{kind}:") for name in types)
        if not has_types and own and total == count and all(own):
            counts |= {f"{kind}:{model}": n for model, n in own.items()}
    return counts, fewer


def read_slurm_cluster(
    path: str | os.PathLike[str], *, processor: str = "core", strict: bool = False
) -> Cluster:
    """Read a ``slurm.conf``, with the ``gres.conf`` and ``topology.conf`` beside it, as a cluster.

    Nodes are in the order of their names, as Slurm has them: n2 before n10. They have no speeds
    and no watts. Nodes that are down or for the future are left out, and so are partitions that
    are not up or have no node; `Cluster.report` says which.

    Parameters
    ----------
    path : the file.
    processor : what counts as a processor: ``core`` (one of Slurm's CPUs), ``chip`` or ``node``.
    strict : fail where something would be left out.

    Raises
    ------
    ClusterError
        When a file cannot be read or says what cannot be; it names file, line and field.
    """
    tables = read_tables(path)
    if not tables.nodes:
        raise ClusterError(tables.path, "has no NodeName line; add one")
    if not tables.partitions:
        raise ClusterError(tables.path, "has no PartitionName line; add one")
    remarks: list[Remark] = []
    nodes = _present(tables, remarks)
    servers, kinds = _servers(tables, nodes, remarks)
    partitions = _partitions(tables, [node.name for node in nodes], remarks)
    remarks += [Remark("kept", words, ()) for words in (*_unmodelled(tables), *tables.assumed)]
    left_out = next((remark for remark in remarks if remark.lines), None)
    if strict and left_out is not None:
        raise ClusterError(tables.path, f"{left_out.what}; correct it", line=left_out.lines[0])
    kept = len({tables.origins[node.name] for node in nodes}) + len(partitions)
    report = ClusterReport(
        tables.path, "slurm.conf", len(tables.statements), kept, len(nodes), tuple(remarks)
    )
    try:
        cluster = Cluster.of(
            [Node(node.name, server) for node, server in zip(nodes, servers, strict=True)],
            processor=processor,
            report=report,
            pools=_licences(tables, kinds),
            partitions=partitions,
        )
    except OptionError as error:
        raise ClusterError(tables.path, str(error)) from None
    place = {node.name: at for at, node in enumerate(nodes)}
    switches = (tuple(place[name] for name in leaf if name in place) for leaf in tables.switches)
    below = {
        name: {place[node] for node in names if node in place}
        for name, names in tables.racks.items()
    }
    # A network in which a node hangs on several switches is no tree, and has no racks.
    nests = do_not_nest({name: nodes for name, nodes in below.items() if nodes}) is None
    taken = {part.name for part in cluster.partitions if set(part.nodes) != below.get(part.name)}
    racks = (
        Rack(name, tuple(nodes))
        for name, nodes in below.items()
        if nests and nodes and name not in taken
    )
    return replace(
        cluster,
        switches=tuple(filter(None, switches)),
        racks=tuple(racks),
        power_saving=power_saving_of(tables),
    )


def _present(tables: SlurmTables, remarks: list[Remark]) -> list[SlurmNode]:
    """Return the nodes that jobs can use, in Slurm's order."""
    absent: dict[str, list[str]] = {}
    present = []
    for node in sorted(tables.nodes, key=lambda node: natural_order(node.name)):
        state = tables.state_of(node)
        if state:
            absent.setdefault(state, []).append(node.name)
        else:
            present.append(node)
    if not present:
        raise ClusterError(tables.path, "has no node that is up; check the states of nodes")
    used = {tables.origins[node.name] for node in present}
    for state, names in absent.items():
        rest = [name for name in names if tables.origins[name] in used]
        gone = [name for name in names if tables.origins[name] not in used]
        remarks += [
            Remark(
                action,
                f"{_nodes(len(some))} in state {state} left out",
                tuple(sorted({tables.origins[name].number for name in some})),
                fold_nodes(some),
            )
            for action, some in (("refused", gone), ("kept", rest))
            if some
        ]
    return present


def _servers(
    tables: SlurmTables, nodes: Iterable[SlurmNode], remarks: list[Remark]
) -> tuple[list[Server], set[str]]:
    """Return the server of each node, and the names of its resources."""
    file = Path(tables.path).parent / "gres.conf"
    listed = read_gres(file, (node.name for node in nodes)) if file.is_file() else {}
    servers: list[Server] = []
    made: dict[tuple[SlurmNode, tuple[object, ...]], Server] = {}
    short: Counter[str] = Counter()
    for node in nodes:
        own = listed.get(node.name, {})
        head = (replace(node, name=_kind(node.name)), tuple(own.items()))
        gres = {kind: count for kind, count in node.gres if kind not in node.held}
        counts, fewer = types_of(gres, dict(node.types), own)
        short.update(fewer)
        if head not in made:
            try:
                made[head] = _server(head[0], counts)
            except OptionError as error:
                raise tables.origins[node.name].error(None, str(error)) from None
        servers.append(made[head])
    for words, count in short.items():
        what = f"{_nodes(count)} with {words}: the slurm.conf is taken, where Slurm drains them"
        remarks.append(Remark("kept", what, ()))
    return servers, {name for server in made.values() for name in server.resources}


def _server(node: SlurmNode, counts: Mapping[str, int]) -> Server:
    memory = node.memory - node.reserved_memory
    return Server(
        model=node.name,
        cores=max(node.cpus - node.reserved_cpus, 1),
        chips=node.sockets,
        # Slurm takes 1 MB where the file says nothing.
        memory=memory / _MB_PER_GB if node.memory > 1 and memory > 0 else math.nan,
        features=frozenset(node.features),
        facts={"threads_per_core": float(node.threads_per_core), "threads": float(node.cpus)},
        resources={name: count for name, count in counts.items() if count},
    )


def _nodes(count: int) -> str:
    return "1 node" if count == 1 else f"{count:,} nodes"


def _kind(name: str) -> str:
    """Return what the names of nodes of a kind have in common: gn of gn001."""
    return name.rstrip("0123456789").rstrip("-_.") or "node"


def _partitions(
    tables: SlurmTables, names: Iterable[str], remarks: list[Remark]
) -> list[Partition]:
    place = {name: at for at, name in enumerate(names)}
    is_linear = tables.lines.get("selecttype", _LINEAR).lower() == _LINEAR
    # Of several default partitions Slurm takes the last.
    default = next((p.name for p in reversed(tables.partitions) if p.is_default), "")
    lines = {
        statement.said["partitionname"]: statement.line
        for statement in tables.statements
        if statement.kind == "partitionname"
    }
    made: dict[str, Partition] = {}
    for part in tables.partitions:
        own = [place[name] for name in part.nodes if name in place]
        problem = "" if part.is_up else "is not up"
        problem = problem or ("" if own else "has no node")
        if problem:
            what = f"partition {part.name} {problem}, and is left out"
            remarks.append(Remark("refused", what, (lines[part.name].number,)))
            continue
        try:
            made[part.name] = _made(part, own, part.whole or is_linear, part.name == default)
        except OptionError as error:
            raise lines[part.name].error(None, str(error)) from None
    if not made:
        raise ClusterError(tables.path, "has no partition that is up and has nodes; add one")
    if default not in made:
        what = f"no partition is the default: jobs that name none come to {next(iter(made))}"
        remarks.append(Remark("kept", what, ()))
    unused = len(place) - len({at for part in made.values() for at in part.nodes})
    if unused:
        what = f"nodes in no partition, which no job can use: {unused:,}"
        remarks.append(Remark("kept", what, ()))
    return list(made.values())


def _made(part: SlurmPartition, own: list[int], whole: bool, default: bool) -> Partition:
    return Partition(
        name=part.name,
        nodes=tuple(own),
        max_time=60.0 * part.most_minutes,
        max_nodes=None if math.isinf(part.most_nodes) else int(part.most_nodes),
        min_nodes=max(part.least_nodes, 1),
        whole_node=whole,
        tier=part.tier,
        default=default,
        max_cpus_per_node=None if math.isinf(part.most_cpus) else int(part.most_cpus),
    )


def _licences(tables: SlurmTables, resources: set[str]) -> dict[str, int]:
    """Return the licences of the site; one whose name a resource of nodes has gets a longer one."""
    pools: dict[str, int] = {}
    for text in filter(
        None, (part.strip() for part in tables.lines.get("licenses", "").split(","))
    ):
        match = _LICENCE.fullmatch(text)
        if match is None:
            problem = f"'{text[:40]}' is no licence; write for example matlab:4"
            raise ClusterError(tables.path, problem, field="Licenses")
        name = f"licence {match[1]}" if match[1] in resources else match[1]
        pools[name] = pools.get(name, 0) + int(match[2] or 1)
    return pools


def _unmodelled(tables: SlurmTables) -> list[str]:
    """Return what the file says about its machine that a cluster has no place for."""
    words: list[str] = []
    if tables.lines.get("selecttype", _LINEAR).lower() == _LINEAR:
        words.append(f"SelectType={_LINEAR}: every job has its nodes to itself")
    elif "memory" not in tables.lines.get("selecttypeparameters", "").lower():
        words.append(
            "SelectTypeParameters: Slurm hands out no memory; here jobs that ask for it get it"
        )
    for kind, _, said in tables.statements:
        if kind != "partitionname":
            continue
        share = said.get("oversubscribe", "NO").upper()
        if share not in ("NO", "EXCLUSIVE"):
            name = said["partitionname"]
            words.append(f"partition {name} OverSubscribe={share}: no two jobs share a processor")
    threads = max((node.threads_per_core for node in tables.nodes), default=1)
    if threads > 1:
        whole = (
            ""
            if "core" not in tables.lines.get("selecttypeparameters", "").lower()
            else ("; Slurm gives whole cores, here a job gets as many processors as it asks for")
        )
        words.append(f"ThreadsPerCore={threads}: a processor is a hardware thread{whole}")
    if len({node.weight for node in tables.nodes}) > 1:
        words.append("NodeName Weight: nodes of all weights are used alike")
    return words
