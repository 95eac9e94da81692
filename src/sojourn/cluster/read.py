"""Clusters from any file, or from counts such as ``64 x X5670`` and ``64 x (16 cores, 2 gpu)``."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

from ..errors import ClusterError, OptionError
from ..files.access import PathName
from . import description, specpower
from ._group import GB_OF
from ._layout import field_of
from ._table import key, read_head, read_table
from .cluster import Cluster
from .description import COLUMN_NAMES, KEYS
from .library import find_server
from .report import ClusterReport
from .server import Server, resource_name

_MOST_NODES = 1_000_000
_DIGITS = 9
_SHOWN = 60
_EXAMPLE = "write for example 64 x X5670, 8 x L5420 or 64 x (16 cores, 32G, 2 gpu)"
_COUNT_OF = re.compile(r"(?:(\d+)\s*[x×*]\s*)?(?!\d+\s*[x×*]?$)(.+)", re.IGNORECASE | re.DOTALL)
# A plus joins counts where it stands alone: names of servers may have one in them.
_JOINT = re.compile(r",|(?<=[\s)])\+(?=[\s\d(])")
_MEMORY = re.compile(r"(\d+(?:\.\d*)?)\s*([KMGTP])i?B?(?:\s+(?:of\s+)?memory)?", re.IGNORECASE)
_AMOUNT = re.compile(r"(\d+)\s*([A-Za-z_][\w.+:-]*)")
_NO_SIZE = re.compile(r"\d+([a-z](i?b)?|e\d.*)", re.IGNORECASE)
"""A number with an unknown unit, or beyond all numbers: no resource that is called so."""
_CORES = ("core", "cores", "cpu", "cpus")
_CHIPS = ("chip", "chips", "socket", "sockets")

_TOML = re.compile(r"\s*(\[|[A-Za-z_-]+\s*=)")
_COUNTS = re.compile(r"\s*\d+\s*[x×*]\s*\S")
_PACKED = (".gz", ".xz")
_STATEMENT = re.compile(r"^[ \t]*[^#\s].*", re.M)
_SLURM = re.compile(r"^[ \t]*(NodeName|PartitionName)[ \t]*=[ \t]*[^\s\"']", re.I | re.M)


def parse_cluster(
    text: str,
    *,
    catalogue: Cluster | None = None,
    processor: str = "core",
    reference_ops: float | None = None,
) -> Cluster:
    """Return the cluster of counts such as ``64 x X5670, 8 x L5420``.

    Parameters
    ----------
    text : counts and names of servers, or in parentheses what a node has: cores, memory, and
        whatever else can be counted, as in ``64 x (16 cores, 32G, 2 gpu)``; with commas or ``+``
        between.
    catalogue : a cluster that has the servers; default: the built-in library.
    processor, reference_ops : see `Cluster`.

    Examples
    --------
    >>> import sojourn
    >>> sojourn.parse_cluster("64 x (16 cores, 32G, 2 gpu), 8 x (64 cores, 512G)")
    <Cluster of 1536 processors on 72 nodes>
    """
    parts = list(_parts(text))
    kinds: dict[Server, str] = {}
    nodes: list[Server] = []
    for part in parts:
        match = _COUNT_OF.fullmatch(part.strip())
        if match is None:
            _fail(text, _EXAMPLE)
        count = int((match[1] or "1")[:_DIGITS])
        if not 1 <= count <= _MOST_NODES - len(nodes):
            _fail(text, f"{count} nodes; give 1 to {_MOST_NODES:,} in all")
        what = match[2].strip()
        if what.startswith("("):
            server = _described(text, what, catalogue)
            kinds.setdefault(server, f"node{len(kinds) + 1}")
        else:
            server = find_server(what, catalogue)
        nodes += [server] * count
    if len(kinds) > 1:
        # Nodes of several kinds have different names.
        renamed = {kind: replace(kind, model=name) for kind, name in kinds.items()}
        nodes = [renamed.get(server, server) for server in nodes]
    report = ClusterReport(text, "counts", len(parts), len(parts), len(nodes))
    return Cluster.of(nodes, processor=processor, reference_ops=reference_ops, report=report)


def _parts(text: str) -> Iterator[str]:
    """Yield what stands between commas and signs outside of parentheses."""
    depth = begin = 0
    joints = {match.start() for match in _JOINT.finditer(text)}
    for at, sign in enumerate(text):
        depth += (sign == "(") - (sign == ")")
        if depth not in (0, 1):
            _fail(text, f"a parenthesis too many at character {at + 1}")
        if at in joints and not depth:
            yield text[begin:at]
            begin = at + 1
    if depth:
        _fail(text, "a parenthesis is not closed")
    yield text[begin:]


def _described(text: str, what: str, catalogue: Cluster | None) -> Server:
    """Return the server of what a node has, in parentheses."""
    if not what.endswith(")"):
        _fail(text, f"'{what.rpartition(')')[2].strip()[:40]}' after a parenthesis; remove it")
    base: Server | None = None
    given: dict[str, Any] = {}
    resources: dict[str, int] = {}
    for word in map(str.strip, what[1:-1].split(",")):
        memory, amount = _MEMORY.fullmatch(word), _AMOUNT.fullmatch(word)
        if memory is not None:
            _give(text, given, "memory", float(memory[1]) * GB_OF[memory[2].upper()])
        elif amount is None and word and not word[0].isdecimal() and base is None:
            try:
                base = find_server(word, catalogue)
            except OptionError as error:
                _fail(text, str(error))
        elif amount is None or _NO_SIZE.fullmatch(word):
            _fail(text, f"'{word[:40]}' is nothing a node has; {_EXAMPLE}")
        elif amount[2].lower() in (*_CORES, *_CHIPS):
            name = "cores" if amount[2].lower() in _CORES else "chips"
            _give(text, given, name, _whole(text, amount[1]))
        else:
            name = resource_name(amount[2], f"cluster '{text[:_SHOWN]}'")
            _give(text, resources, name, _whole(text, amount[1]))
    if base is None and "cores" not in given:
        _fail(text, f"'{what[:40]}' says no cores; {_EXAMPLE}")
    if resources:
        given["resources"] = resources
    try:
        return Server("node", **given) if base is None else replace(base, **given)
    except OptionError as error:
        _fail(text, str(error))


def _whole(text: str, digits: str) -> int:
    if len(digits) > _DIGITS:
        _fail(text, f"{digits[:40]} is too many; give fewer")
    return int(digits)


def _give(text: str, given: dict[str, Any], name: str, value: float) -> None:
    if name in given:
        _fail(text, f"'{name}' is given twice; remove one")
    given[name] = value


def _fail(text: str, problem: str) -> NoReturn:
    raise OptionError(f"cluster '{text[:_SHOWN]}': {problem}")


def read_cluster(
    path: PathName,
    *,
    processor: str | None = None,
    reference_ops: float | None = None,
    catalogue: Cluster | None = None,
    noncompliant: str = "refuse",
    split: bool = True,
    strict: bool = False,
) -> Cluster:
    """Read a cluster: a ``slurm.conf``, a Batsim platform, a SPECpower table, or a description.

    Parameters
    ----------
    path : the file; tables and descriptions, in CSV or TOML, may be packed with gzip or xz. What
        it is, is seen from its content.
    processor : what counts as a processor: ``core``, ``chip`` or ``node``; default: what the file
        says, or ``core``.
    reference_ops : operations per second of the processor on which runtimes were recorded;
        default: what the file says, or the average processor [gomez2012, eq. 1].
    catalogue : where the servers that a description names are; default: the file that it names,
        or the built-in library.
    noncompliant, split : as for `read_specpower`; of no effect on other files.
    strict : fail at the first row that is refused or repaired; of no effect on descriptions.

    Raises
    ------
    ClusterError
        When it is none of these, or says what no cluster can be.
    """
    if _suffix(path) == ".toml":
        return _read_toml(path, processor, reference_ops, catalogue)
    if _suffix(path) == ".xml":
        return _read_batsim(path, processor or "core", reference_ops)
    if is_slurm_conf(path):
        return _read_slurm(path, processor or "core", reference_ops, strict)
    table = read_table(path)
    if _TOML.match(table.header[0]):
        return _read_toml(path, processor, reference_ops, catalogue)
    kind = processor or "core"
    ours = {key(name) for name in (*KEYS, *COLUMN_NAMES)}
    described = sum(key(name) in ours for name in table.header)
    published = sum(field_of(name) is not None and key(name) not in ours for name in table.header)
    if not described and not published:
        shown = ", ".join(name.strip() for name in table.header)[:60]
        raise ClusterError(
            path,
            f"is no cluster file: its columns are '{shown}'; give a slurm.conf, a SPECpower "
            f"table, or a description with columns {', '.join(KEYS)}",
        )
    if described > published:
        return description.cluster_of_table(
            path, table, processor=kind, reference_ops=reference_ops, catalogue=catalogue
        )
    return specpower.cluster_of_table(
        path,
        table,
        noncompliant=noncompliant,
        split=split,
        processor=kind,
        strict=strict,
        reference_ops=reference_ops,
    )


def is_slurm_conf(path: PathName) -> bool:
    """Whether a file is one of Slurm's: by its name, or by lines of nodes or partitions in it."""
    if Path(os.fspath(path)).suffix.lower() == ".conf":
        return True
    head = read_head(path)
    first = _STATEMENT.search(head)
    return first is not None and "=" in first[0] and _SLURM.search(head) is not None


def _read_slurm(
    path: PathName, processor: str, reference_ops: float | None, strict: bool
) -> Cluster:
    from .slurm import read_slurm_cluster

    if reference_ops is not None:
        problem = "has no speeds of nodes, so none to compare with; leave the reference speed out"
        raise ClusterError(path, problem)
    return read_slurm_cluster(path, processor=processor, strict=strict)


def _read_batsim(path: PathName, processor: str, reference_ops: float | None) -> Cluster:
    from .batsim import read_batsim_cluster

    cluster = read_batsim_cluster(path, processor=processor)
    return cluster if reference_ops is None else replace(cluster, reference_ops=reference_ops)


def _read_toml(
    path: PathName, processor: str | None, reference_ops: float | None, catalogue: Cluster | None
) -> Cluster:
    return description.read_toml(
        path,
        processor=processor,
        reference_ops=reference_ops,
        catalogue=catalogue,
        read_catalogue=_read_catalogue,
    )


def _read_catalogue(path: PathName) -> Cluster:
    """Read the servers that a description names; a catalogue cannot name another one."""
    if _suffix(path) == ".toml":
        raise ClusterError(path, "is a description; 'servers' must be a table of servers")
    return read_cluster(path)


def _suffix(path: PathName) -> str:
    name = Path(os.fspath(path))
    return (name.with_suffix("") if name.suffix.lower() in _PACKED else name).suffix.lower()


def find_cluster(
    what: str, *, processor: str | None = None, noncompliant: str = "refuse", strict: bool = False
) -> Cluster:
    """Return the cluster of a file, or of counts such as ``64 x X5670``; for command lines.

    Parameters
    ----------
    what : a path, or counts of library servers.
    processor, noncompliant, strict : as for `read_cluster`.
    """
    if _COUNTS.match(what) and not os.path.exists(what):
        return parse_cluster(what, processor=processor or "core")
    return read_cluster(what, processor=processor, noncompliant=noncompliant, strict=strict)
