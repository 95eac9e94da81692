"""A description of nodes in CSV: which column is which, and what its rows say."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ..errors import ClusterError, OptionError, nearest
from ._group import SHORT, Group
from ._resources import resource_name
from ._table import Path, Table, key
from .report import Remark

__all__ = ["COLUMN_NAMES", "PREFIX", "Sheet", "is_resource", "read_sheet"]

PREFIX = "resource:"
"""How a column begins that counts a resource whatever its name."""

_PARTITIONS = "partitions"
_SAME = {"node": "name", "hostname": "name", "partition": _PARTITIONS, "feature": "features"}
_MEMORY = re.compile(r"memory([kmgtp])i?b")
_WHOLE = re.compile(r"\d{1,15}(\.0*)?")
_ALIKE = 0.75
"""Similarity from which an unknown column is a known one misspelt."""

COLUMN_NAMES = frozenset({*_SAME, _PARTITIONS, *SHORT, "memory_kib"})
"""Names of columns besides the keys of a node, by which a description is known."""


class Sheet(NamedTuple):
    """What a description in CSV says.

    Parameters
    ----------
    groups : its rows.
    partitions : names of the partitions of each row's nodes.
    remarks : which columns were taken for resources.
    """

    groups: list[Group]
    partitions: list[list[str]]
    remarks: tuple[Remark, ...]


class _Column(NamedTuple):
    """A column: key of a node, and the unit or the name of the resource that it has."""

    key: str
    detail: str = ""
    is_guess: bool = False


def read_sheet(path: Path, table: Table, keys: Mapping[str, str]) -> Sheet:
    """Return what a table says; its columns are `keys`, resources and partitions."""
    columns = _columns(path, table.header, keys)
    sheet = Sheet([], [], ())
    for line, row in table.rows:
        if any(cell.strip() for cell in row[len(columns) :]):
            problem = f"{len(row)} cells where the first line names {len(columns)} columns"
            raise ClusterError(path, f"{problem}; correct the row", line=line)
        said: dict[str, Any] = {}
        counts: dict[str, str] = {}
        member: list[str] = []
        for column, cell in zip(columns, map(str.strip, row), strict=False):
            if not cell:
                continue
            if column.is_guess and not _WHOLE.fullmatch(cell):
                raise _unknown(path, column.detail, keys)
            if column.key == "resources":
                counts[column.detail] = cell
            elif column.key == _PARTITIONS:
                member = list(dict.fromkeys(filter(None, re.split(r"[\s;,|]+", cell))))
            elif column.key == "memory":
                said["memory"] = cell + column.detail
            else:
                said[column.key] = cell
        if counts:
            said["resources"] = counts
        sheet.groups.append(Group(line, "", said))
        sheet.partitions.append(member)
    return sheet._replace(remarks=_remarks(columns, sheet.groups))


def is_resource(title: str, keys: Mapping[str, str]) -> bool:
    """Whether a column of this name is taken for a resource, if it has whole numbers."""
    plain = key(title)
    if plain in {key(name) for name in (*keys, *_SAME, _PARTITIONS)} or _MEMORY.fullmatch(plain):
        return False
    return title.lower() in SHORT or not _alike(title, keys)


def _columns(path: Path, header: Sequence[str], keys: Mapping[str, str]) -> list[_Column]:
    columns: list[_Column] = []
    for title in map(str.strip, header):
        column = _column(path, title, keys)
        for other in columns:
            if (column.key, column.key == "resources" and column.detail) == (
                other.key,
                other.key == "resources" and other.detail,
            ):
                name = column.detail if column.key == "resources" else column.key
                raise ClusterError(path, f"two columns are called '{name}'; remove one", line=1)
        columns.append(column)
    return columns


def _column(path: Path, title: str, keys: Mapping[str, str]) -> _Column:
    plain = key(title)
    ours = {key(name): name for name in keys} | _SAME | {_PARTITIONS: _PARTITIONS}
    if plain in ours and ":" not in title:
        return _Column(ours[plain])
    unit = _MEMORY.fullmatch(plain)
    if unit:
        return _Column("memory", unit[1].upper())
    is_marked = title.lower().startswith(PREFIX)
    name = title[len(PREFIX) :] if is_marked else title
    if not is_marked and not is_resource(title, keys):
        raise _unknown(path, title, keys)
    try:
        known = resource_name(name, "column")
    except OptionError as error:
        problem = str(error) if is_marked else _unknown(path, title, keys).problem
        raise ClusterError(path, problem, line=1) from None
    is_sure = is_marked or ":" in name or name.lower() in SHORT
    return _Column("resources", known, not is_sure)


def _alike(title: str, keys: Mapping[str, str]) -> bool:
    names = (*keys, _PARTITIONS)
    return bool(difflib.get_close_matches(title.lower(), names, n=1, cutoff=_ALIKE))


def _unknown(path: Path, title: str, keys: Mapping[str, str]) -> ClusterError:
    names = (*keys, "gpus", _PARTITIONS)
    hint = nearest(title, names) if _alike(title, keys) else f"choose from {', '.join(names)}"
    return ClusterError(path, f"unknown column '{title[:40]}'; {hint}", line=1)


def _remarks(columns: Sequence[_Column], groups: Sequence[Group]) -> tuple[Remark, ...]:
    """Say which columns were taken for resources because of their numbers."""
    remarks = []
    for column in columns:
        counted = [group.said.get("resources", {}).get(column.detail) for group in groups]
        if column.is_guess and any(text and float(text) for text in counted):
            what = f"column '{column.detail}' counts a resource of nodes"
            remarks.append(Remark("kept", what, (1,)))
    return tuple(remarks)
