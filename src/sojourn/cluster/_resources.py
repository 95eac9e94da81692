"""Countable things by name: resources of a node, licences of a cluster."""

from __future__ import annotations

import operator
import re
from collections.abc import Iterator, Mapping

from ..errors import OptionError

__all__ = ["Counts", "resource_name", "resources_of", "whole_count"]

_MOST = 2**53
_NAME = re.compile(r"[A-Za-z_][\w.+-]*(:[\w.+-]+)?")
_TAKEN = ("cores", "core", "memory", "nodes", "node", "procs", "processors", "cpus", "cpu")
_SHORT = {"gpus": "gpu", "mics": "mic", "fpgas": "fpga", "licences": "licence"}


class Counts(Mapping[str, int]):
    """An immutable mapping from names to whole numbers, sorted by name.

    It can be hashed, so that servers which are equal are counted together.
    """

    __slots__ = ("_counts",)

    def __init__(self, counts: Mapping[str, int] | None = None) -> None:
        self._counts = dict(sorted((counts or {}).items()))

    def __getitem__(self, name: str) -> int:
        return self._counts[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._counts)

    def __len__(self) -> int:
        return len(self._counts)

    def __hash__(self) -> int:
        return hash(tuple(self._counts.items()))

    def __repr__(self) -> str:
        return repr(self._counts)

    def __reduce__(self) -> tuple[type[Counts], tuple[dict[str, int]]]:
        return Counts, (self._counts,)


def resource_name(name: object, where: str) -> str:
    """Return the name of a resource: ``gpus`` is ``gpu``, a typed one is ``gpu:a100``.

    Raises
    ------
    OptionError
        When it is no name, or that of something every node has; it begins with `where`.
    """
    text = name.strip() if isinstance(name, str) else ""
    if not _NAME.fullmatch(text):
        raise OptionError(f"{where}: {str(name)[:40]!r} is no name of a resource; use letters")
    kind, colon, model = text.partition(":")
    if kind.lower() in _TAKEN:
        raise OptionError(f"{where}: '{text}' is no further resource; choose another name")
    return _SHORT.get(kind.lower(), kind) + colon + model


def resources_of(given: Mapping[str, object], where: str) -> Counts:
    """Return counts by name, without zeros; those of a type count under their kind as well.

    Parameters
    ----------
    given : ``{"gpu:a100": 2, "gpu:t4": 1}`` has three of ``gpu``, unless it says more.
    where : how an error begins.

    Raises
    ------
    OptionError
        When a name or a count is none, or fewer of a kind are given than of its types.
    """
    if not isinstance(given, Mapping):
        raise OptionError(f"{where}: {given!r} are no counts by name")
    counts: dict[str, int] = {}
    for name, count in given.items():
        known = resource_name(name, where)
        if known in counts:
            raise OptionError(f"{where}: '{known}' is given twice; remove one")
        counts[known] = whole_count(count, f"{where}: {known}")
    typed: dict[str, int] = {}
    for name, count in counts.items():
        kind, colon, _ = name.partition(":")
        if colon:
            typed[kind] = typed.get(kind, 0) + count
    for kind, count in typed.items():
        if counts.setdefault(kind, count) < count:
            raise OptionError(
                f"{where}: {counts[kind]} {kind}, but {count} of its types; correct one of them"
            )
    return Counts({name: count for name, count in counts.items() if count})


def whole_count(value: object, where: str) -> int:
    """Return a whole number that is not negative, whichever type of number it came as."""
    try:
        count = -1 if isinstance(value, (bool, str)) else operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        count = int(value) if isinstance(value, float) and value.is_integer() else -1
    if not 0 <= count <= _MOST:
        most = f"at most {_MOST:,}" if count > _MOST else "0 or more"
        raise OptionError(f"{where}: {value!r}; give a whole number, {most}")
    return count
