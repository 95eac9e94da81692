"""Clusters from any file: which of the formats it is, is seen from the file."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path as FilePath

from ..errors import ClusterError
from . import description, specpower
from ._layout import field_of
from ._sheet import COLUMN_NAMES
from ._table import Path, key, read_head, read_table
from .cluster import Cluster
from .counts import parse_cluster
from .description import KEYS

__all__ = ["find_cluster", "read_cluster"]

_TOML = re.compile(r"\s*(\[|[A-Za-z_-]+\s*=)")
_COUNTS = re.compile(r"\s*\d+\s*[x×*]\s*\S")
_PACKED = (".gz", ".xz")
_STATEMENT = re.compile(r"^[ \t]*[^#\s].*", re.M)
_SLURM = re.compile(r"^[ \t]*(NodeName|PartitionName)[ \t]*=[ \t]*[^\s\"']", re.I | re.M)


def read_cluster(
    path: Path,
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


def is_slurm_conf(path: Path) -> bool:
    """Whether a file is one of Slurm's: by its name, or by lines of nodes or partitions in it."""
    if FilePath(os.fspath(path)).suffix.lower() == ".conf":
        return True
    head = read_head(path)
    first = _STATEMENT.search(head)
    return first is not None and "=" in first[0] and _SLURM.search(head) is not None


def _read_slurm(path: Path, processor: str, reference_ops: float | None, strict: bool) -> Cluster:
    from .slurm import read_slurm_cluster

    if reference_ops is not None:
        problem = "has no speeds of nodes, so none to compare with; leave the reference speed out"
        raise ClusterError(path, problem)
    return read_slurm_cluster(path, processor=processor, strict=strict)


def _read_batsim(path: Path, processor: str, reference_ops: float | None) -> Cluster:
    from .batsim import read_batsim_cluster

    cluster = read_batsim_cluster(path, processor=processor)
    return cluster if reference_ops is None else replace(cluster, reference_ops=reference_ops)


def _read_toml(
    path: Path, processor: str | None, reference_ops: float | None, catalogue: Cluster | None
) -> Cluster:
    return description.read_toml(
        path,
        processor=processor,
        reference_ops=reference_ops,
        catalogue=catalogue,
        read_catalogue=_read_catalogue,
    )


def _read_catalogue(path: FilePath) -> Cluster:
    """Read the servers that a description names; a catalogue cannot name another one."""
    if _suffix(path) == ".toml":
        raise ClusterError(path, "is a description; 'servers' must be a table of servers")
    return read_cluster(path)


def _suffix(path: Path) -> str:
    name = FilePath(os.fspath(path))
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
