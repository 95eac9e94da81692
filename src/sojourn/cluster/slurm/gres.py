"""Generic resources of a ``gres.conf``: how many of which type nodes have [slurm]."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from pathlib import Path

from ...errors import ClusterError
from ...jobs.formats.slurm_fields import expand_nodes
from .lines import Line, read_lines

__all__ = ["read_gres", "types_of"]

_SIZES = {"K": 1024, "M": 1024**2, "G": 1024**3, "T": 1024**4, "P": 1024**5}


def read_gres(path: Path, names: Iterable[str]) -> dict[str, dict[tuple[str, str], int]]:
    """Return the generic resources of nodes that a ``gres.conf`` has, by kind and type.

    Parameters
    ----------
    path : of the file.
    names : of all nodes; a line that names none is about all of them.

    Raises
    ------
    ClusterError
        When the file cannot be read or a line says what cannot be.
    """
    every = tuple(names)
    counts: dict[str, dict[tuple[str, str], int]] = {}
    for line in read_lines(path):
        said = {name.lower(): value for name, value in line.pairs}
        kind = said.get("name", "")
        if not kind and said.keys() & {"count", "file", "multiplefiles", "type"}:
            problem = "is missing; say of what, as in Name=gpu"
            raise ClusterError(line.path, problem, line=line.number, field="Name")
        if not kind:
            continue
        head = (kind, said.get("type", ""))
        count = _count(line, said)
        nodes = _expanded(line, said["nodename"], "NodeName") if "nodename" in said else every
        for node in nodes:
            own = counts.setdefault(node, {})
            own[head] = own.get(head, 0) + count
    return counts


def _count(line: Line, said: Mapping[str, str]) -> int:
    """Return how many a line has: as it says, or one for each of its files."""
    text = said.get("count", "")
    if text:
        size = _SIZES.get(text[-1:].upper(), 1)
        digits = text if size == 1 else text[:-1]
        if not digits.isdecimal():
            problem = f"'{text[:40]}' is no number; correct it"
            raise ClusterError(line.path, problem, line=line.number, field="Count")
        return size * int(digits)
    files = said.get("file", "") or said.get("multiplefiles", "")
    return len(_expanded(line, files, "File")) if files else 1


def _expanded(line: Line, text: str, field: str) -> tuple[str, ...]:
    try:
        names = expand_nodes(text)
    except ValueError:
        names = ()
    if not names or text.count("[") != text.count("]"):
        problem = f"'{text[:40]}' is no list; correct it"
        raise ClusterError(line.path, problem, line=line.number, field=field)
    return names


def types_of(
    gres: Mapping[str, int], types: Mapping[str, int], listed: Mapping[tuple[str, str], int]
) -> tuple[dict[str, int], list[str]]:
    """Return the generic resources of a node with their types, and what does not agree.

    The ``slurm.conf`` counts; a ``gres.conf`` adds types to kinds that it gives none, if they
    make up the same number.

    Parameters
    ----------
    gres, types : of the ``slurm.conf``, by kind and by ``kind:type``.
    listed : of the ``gres.conf``, by kind and type.
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
