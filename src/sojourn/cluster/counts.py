"""Clusters of counts, such as ``64 x X5670`` or ``64 x (16 cores, 32G, 2 gpu)``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NoReturn

from ..errors import OptionError
from ._resources import resource_name
from .cluster import Cluster
from .library import find_server
from .report import ClusterReport
from .server import Server

__all__ = ["parse_cluster"]

_MOST_NODES = 1_000_000
_DIGITS = 9
_SHOWN = 60
_EXAMPLE = "write for example 64 x X5670, 8 x L5420 or 64 x (16 cores, 32G, 2 gpu)"
_COUNTED = re.compile(r"(?:(\d+)\s*[x×*]\s*)?(?!\d+\s*[x×*]?$)(.+)", re.IGNORECASE | re.DOTALL)
# A plus joins counts where it stands alone: names of servers may have one in them.
_JOINT = re.compile(r",|(?<=[\s)])\+(?=[\s\d(])")
_MEMORY = re.compile(r"(\d+(?:\.\d*)?)\s*([KMGTP])i?B?(?:\s+(?:of\s+)?memory)?", re.IGNORECASE)
_GB = {"K": 2.0**-20, "M": 2.0**-10, "G": 1.0, "T": 2.0**10, "P": 2.0**20}
_AMOUNT = re.compile(r"(\d+)\s*([A-Za-z_][\w.+:-]*)")
_NO_SIZE = re.compile(r"\d+([a-z](i?b)?|e\d.*)", re.IGNORECASE)
"""A number with an unknown unit, or beyond all numbers: no resource that is called so."""
_CORES = ("core", "cores", "cpu", "cpus")
_CHIPS = ("chip", "chips", "socket", "sockets")


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
        found = _COUNTED.fullmatch(part.strip())
        if found is None:
            _fail(text, _EXAMPLE)
        count = int((found[1] or "1")[:_DIGITS])
        if not 1 <= count <= _MOST_NODES - len(nodes):
            _fail(text, f"{count} nodes; give 1 to {_MOST_NODES:,} in all")
        what = found[2].strip()
        if what.startswith("("):
            server = _described(text, what, catalogue)
            kinds.setdefault(server, f"node{len(kinds) + 1}")
        else:
            server = find_server(what, catalogue)
        nodes += [server] * count
    if len(kinds) > 1:
        # Nodes of several kinds are told apart by their names.
        renamed = {kind: replace(kind, model=name) for kind, name in kinds.items()}
        nodes = [renamed.get(server, server) for server in nodes]
    report = ClusterReport(text, "counts", len(parts), len(parts), len(nodes))
    return Cluster.of(nodes, processor=processor, reference_ops=reference_ops, report=report)


def _parts(text: str) -> Iterator[str]:
    """Yield what stands between commas and signs outside of parentheses."""
    depth = begin = 0
    joints = {found.start() for found in _JOINT.finditer(text)}
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
            _give(text, given, "memory", float(memory[1]) * _GB[memory[2].upper()])
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
