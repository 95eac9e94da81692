"""Power saving of a ``slurm.conf``: which idle nodes are suspended, when and how fast [slurm]."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Protocol

from ...errors import ClusterError
from ...jobs.formats.slurm_fields import expand_nodes
from ..states import PowerSaving
from .reading import SlurmNode, SlurmPartition, SlurmTables

_KEYS = (
    *("suspendtime", "suspendtimeout", "resumetimeout", "suspendrate", "resumerate"),
    *("suspendexcnodes", "suspendexcparts", "suspendexcstates"),
)
_NEVER = ("INFINITE", "UNLIMITED", "-1", "NONE")
_STATES = frozenset(
    {"CLOUD", "DOWN", "DRAIN", "DYNAMIC_FUTURE", "DYNAMIC_NORM", "FAIL", "INVALID_REG"}
    | {"MAINTENANCE", "NOT_RESPONDING", "PERFCTRS", "PLANNED", "RESERVED"}
)


def power_saving_of(tables: SlurmTables) -> PowerSaving | None:
    """Return how a site saves power; None if its file does not say.

    Parameters
    ----------
    tables : what the file says.

    Raises
    ------
    ClusterError
        When a time or rate is none, or nodes and partitions are named that are not there.
    """
    own = suspend_times(tables)
    if not own and not any(key in tables.lines for key in _KEYS):
        return None
    return power_saving_in(tables, own)


class _Said(Protocol):
    """What a file says: its lines, nodes and partitions."""

    @property
    def path(self) -> str: ...
    @property
    def lines(self) -> Mapping[str, str]: ...
    @property
    def nodes(self) -> tuple[SlurmNode, ...]: ...
    @property
    def partitions(self) -> tuple[SlurmPartition, ...]: ...


def power_saving_in(
    tables: _Said, own: tuple[tuple[str, float], ...], *, strict: bool = True
) -> PowerSaving:
    """Return how lines of a file save power.

    Parameters
    ----------
    tables : what the file says.
    own : idle times of partitions (s).
    strict : raise where nodes or partitions are named that are not there; else leave them out.
    """
    usual = PowerSaving()
    return PowerSaving(
        idle_time=_seconds(tables, tables.lines, "SuspendTime", usual.idle_time),
        enter_timeout=_number(tables, tables.lines, "SuspendTimeout", usual.enter_timeout),
        leave_timeout=_number(tables, tables.lines, "ResumeTimeout", usual.leave_timeout),
        enter_rate=_rate(tables, "SuspendRate", usual.enter_rate),
        leave_rate=_rate(tables, "ResumeRate", usual.leave_rate),
        excluded_nodes=tuple(_excluded_nodes(tables, strict)),
        excluded_partitions=tuple(_excluded_partitions(tables, strict)),
        excluded_states=tuple(_excluded_states(tables)),
        by_partition=own,
    )


def suspend_times(tables: SlurmTables) -> tuple[tuple[str, float], ...]:
    """Return idle times (s) that partitions have of their own."""
    return tuple(
        (said["partitionname"], _seconds(tables, said, "SuspendTime", math.inf))
        for kind, _, said in tables.statements
        if kind == "partitionname" and "suspendtime" in said
    )


def _wrong(tables: _Said, field: str, problem: str) -> ClusterError:
    return ClusterError(tables.path, problem, field=field)


def _number(tables: _Said, said: Mapping[str, str], field: str, default: float) -> float:
    text = said.get(field.lower(), "")
    if text and not text.isdecimal():
        raise _wrong(tables, field, f"'{text[:40]}' is no whole number of at least 0; correct it")
    return float(text) if text else default


def _seconds(tables: _Said, said: Mapping[str, str], field: str, default: float) -> float:
    is_never = said.get(field.lower(), "").upper() in _NEVER
    return math.inf if is_never else _number(tables, said, field, default)


def _rate(tables: _Said, field: str, default: float) -> float:
    # Slurm's 0 is no limit.
    return _number(tables, tables.lines, field, default) or math.inf


def _excluded_nodes(tables: _Said, strict: bool) -> Iterator[tuple[tuple[str, ...], int | None]]:
    """Yield sets of nodes that stay on, and how many of each: ``n[1-8]:2`` are two of eight."""
    known = {node.name for node in tables.nodes}
    text = tables.lines.get("suspendexcnodes", "")
    # Commas inside brackets belong to a set.
    for part in filter(None, re.split(r",(?![^\[]*\])", text)):
        pattern, colon, number = part.partition(":")
        try:
            names = expand_nodes(pattern)
        except ValueError:
            names = ()
        if not names or (colon and not number.isdecimal()):
            problem = f"'{part[:40]}' is no list of nodes; write for example n[1-8]:2"
            raise _wrong(tables, "SuspendExcNodes", problem)
        unknown = next((name for name in names if name not in known), None)
        if unknown is not None and strict:
            raise _wrong(tables, "SuspendExcNodes", f"no NodeName line has '{unknown[:40]}'")
        yield tuple(n for n in names if n in known), int(number) if colon else None


def _excluded_partitions(tables: _Said, strict: bool) -> Iterator[str]:
    known = {partition.name for partition in tables.partitions}
    for name in filter(None, tables.lines.get("suspendexcparts", "").split(",")):
        if name in known:
            yield name
        elif strict:
            raise _wrong(tables, "SuspendExcParts", f"no PartitionName line has '{name[:40]}'")


def _excluded_states(tables: _Said) -> Iterator[str]:
    for name in filter(None, tables.lines.get("suspendexcstates", "").upper().split(",")):
        if name not in _STATES:
            problem = f"'{name[:40]}' is none of {', '.join(sorted(_STATES))}"
            raise _wrong(tables, "SuspendExcStates", problem)
        yield name
