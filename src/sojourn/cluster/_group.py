"""A row or table of a description of a cluster, and the nodes it describes."""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Mapping
from typing import Any, NamedTuple

from ..errors import ClusterError, InputError, OptionError
from ._table import Path, number
from .cluster import Cluster
from .library import find_server
from .server import LEVELS, Server

__all__ = ["FORMULA", "Group", "GroupReader", "is_number"]

FORMULA = ("=", "+", "-", "@")
"""How texts begin that spreadsheets take for formulas."""


class Group(NamedTuple):
    """A row or table of a description: where it is, and what it says."""

    line: int | None
    label: str
    said: Mapping[str, Any]


class GroupReader:
    """Reads the values of one row or table."""

    def __init__(self, path: Path, group: Group, catalogue: Cluster | None) -> None:
        self.path = path
        self.group = group
        self.catalogue = catalogue

    def error(self, name: str, problem: str) -> ClusterError:
        """Return an error that says where."""
        field = self.group.label + name
        return ClusterError(self.path, problem, line=self.group.line, field=field)

    def text(self, name: str) -> str:
        """Return a value as text; empty if it is not given."""
        value = self.group.said.get(name, "")
        if not isinstance(value, str):
            raise self.error(name, f"{value!r} is not text; put it in quotes")
        return value.strip()

    def label(self, name: str) -> str:
        """Return a name; empty if it is not given.

        Names go to tables in CSV, and a spreadsheet takes some for formulas to be carried out.
        """
        text = self.text(name)
        if text.startswith(FORMULA):
            problem = f"'{text[:40]}' begins with '{text[0]}', as formulas do; choose another name"
            raise self.error(name, problem)
        if not text.isprintable():
            raise self.error(name, f"{text[:40]!r} has a control character in it; choose another")
        return text

    def number(self, name: str) -> float | None:
        """Return a number, or None if it is not given."""
        value = self.group.said.get(name)
        return None if value is None else self._number(name, value)

    def _number(self, name: str, value: Any) -> float:
        if is_number(value):
            return float(value)
        with contextlib.suppress(ValueError):
            if isinstance(value, str):
                return number(value)
        raise self.error(name, f"{repr(value)[:40]} is not a number; correct it")

    def positive(self, name: str) -> float | None:
        """Return a number above 0, or None if it is not given."""
        value = self.number(name)
        if value is not None and value <= 0:
            raise self.error(name, f"{value:g} is not above 0; correct it")
        return value

    def whole(self, name: str) -> int | None:
        """Return a whole number above 0, or None if it is not given."""
        value = self.positive(name)
        if value is None:
            return None
        if value != int(value):
            raise self.error(name, f"{value:g} is not a whole number; correct it")
        return int(value)

    def count(self) -> int:
        """How many nodes."""
        return self.whole("count") or 1

    def features(self) -> frozenset[str] | None:
        """Return the words that jobs can ask for, or None if not given."""
        value = self.group.said.get("features")
        if value is None:
            return None
        words = re.split(r"[\s;,|]+", value) if isinstance(value, str) else value
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            raise self.error("features", f"{value!r} is no list of words; correct it")
        return frozenset(filter(None, words))

    def watts(self, base: Server | None) -> tuple[tuple[float, ...], bool] | None:
        """Return watts as `Server` takes them, and whether idle is known; None if not given."""
        value, idle = self.group.said.get("watts"), self.group.said.get("idle_watts")
        if value is None and idle is None:
            return None
        if isinstance(value, str) and len(value.split()) > 1:
            value = value.split()
        if isinstance(value, list):
            if len(value) != len(LEVELS):
                raise self.error(
                    "watts", f"{len(value)} values; give 1 (full load), or {len(LEVELS)} from idle"
                )
            if idle is not None:
                raise self.error("idle_watts", "the first of the watts says it; remove one")
            return tuple(self._watts("watts", each) for each in value), True
        if value is None and base is None:
            raise self.error("watts", "is missing; give it, or a server to take it from")
        full = base.watts[-1] if value is None and base else self._watts("watts", value)
        return (0.0 if idle is None else self._watts("idle_watts", idle), full), idle is not None

    def _watts(self, name: str, value: Any) -> float:
        watts = self._number(name, value)
        if watts < 0:
            raise self.error(name, f"{watts:g} W is below 0; correct it")
        return watts

    def server(self) -> Server:
        """Return the server that is described."""
        wanted, base = self.text("server"), None
        if wanted:
            try:
                base = find_server(wanted, self.catalogue)
            except OptionError as error:
                raise self.error("server", str(error)) from None
        cores, chips, ops = self.whole("cores"), self.whole("chips"), self.positive("ops")
        memory, features, watts = self.positive("memory"), self.features(), self.watts(base)
        for name, value in (("cores", cores), ("ops", ops), ("watts", watts)):
            if value is None and base is None:
                raise self.error(name, "is missing; give it, or a server to take it from")
        model = self.label("model") or (base.model if base else self.label("name") or "node")
        given = {
            "model": model,
            "cores": cores,
            "chips": chips,
            "ops": ops,
            "memory": memory,
            "features": features,
            "watts": watts[0] if watts else None,
            "idle_known": watts[1] if watts else None,
        }
        try:
            return _overlaid(base, {name: v for name, v in given.items() if v is not None})
        except InputError as error:
            raise self.error("server", str(error)) from None


def _overlaid(base: Server | None, given: dict[str, Any]) -> Server:
    if base is None:
        return Server(**given)
    kept = ("model", "cores", "ops", "watts", "chips", "memory", "features", "idle_known", "facts")
    return Server(**{**{name: getattr(base, name) for name in kept}, **given})


def is_number(value: Any) -> bool:
    # Whole numbers of TOML have no bound, and no float is beyond the largest.
    return type(value) in (int, float) and abs(value) <= sys.float_info.max
