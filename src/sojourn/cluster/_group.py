"""A row or table of a description of a cluster, and the nodes it describes."""

from __future__ import annotations

import contextlib
import math
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

from ..errors import ClusterError, InputError, OptionError, nearest
from ..files.access import PathName
from ..jobs.formats.slurm_fields import duration, expand_nodes
from ._table import number
from .cluster import Cluster
from .library import find_server
from .server import LEVELS, Server, resource_name
from .states import PowerLevel, PowerStates, SleepState

FORMULA = ("=", "+", "-", "@")
"""How texts begin that spreadsheets take for formulas."""

SHORT = ("gpu", "gpus", "mic", "mics")
"""Resources that are so common that they need no table of resources."""

SLEEP_KEYS: Mapping[str, str] = {
    "name": "of the depth of sleep, such as suspend or off",
    "watts": "W of a node that is asleep",
    "enter": "how long it takes to go to sleep: seconds, or 1:30; default 0",
    "enter_watts": "W meanwhile; needed if it takes time",
    "leave": "how long it takes to wake: seconds, or 2:30; default 0",
    "leave_watts": "W meanwhile; needed if it takes time",
    "leave_varies": "exponential: the time of each boot is drawn, with this mean; default: none",
}
"""Keys of a ``[[node.sleep]]`` in TOML."""

LEVEL_KEYS: Mapping[str, str] = {
    "speed": "relative to the first level, which has 1",
    "watts": "W at full load",
    "idle_watts": "W of an idle node; default 0",
    "least_watts": "W of a busy node as its load goes to 0; default: those of an idle one",
}
"""Keys of a ``[[node.level]]`` in TOML."""

GB_OF = {"K": 2.0**-20, "M": 2.0**-10, "G": 1.0, "T": 2.0**10, "P": 2.0**20}
_SIZE = re.compile(r"(.*[\d.])\s*([KMGTP])i?B?", re.IGNORECASE | re.DOTALL)
_BRACKET = re.compile(r"[\[\]]")
_MOST_NAMES = 1_000_000

_Made = TypeVar("_Made")


class Group(NamedTuple):
    """A row or table of a description: where it is, and what it says."""

    line: int | None
    label: str
    said: Mapping[str, Any]


class GroupReader:
    """Reads the values of one row or table."""

    def __init__(self, path: PathName, group: Group, catalogue: Cluster | None) -> None:
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

    def needed(self, name: str) -> str:
        """Return a name that must be given."""
        label = self.label(name)
        if not label:
            raise self.error(name, "is missing; give it")
        return label

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

    def natural(self, name: str) -> int | None:
        """Return a whole number, 0 or more, or None if it is not given."""
        value = self.number(name)
        if value is not None and (value < 0 or value != int(value)):
            raise self.error(name, f"{value:g}; give a whole number, 0 or more")
        return None if value is None else int(value)

    def count(self) -> int:
        """How many nodes."""
        count = self.whole("count") or 1
        if count > _MOST_NAMES:
            raise self.error("count", f"more than {_MOST_NAMES:,} nodes; give fewer")
        return count

    def names(self) -> list[str]:
        """Return the names of the nodes, of a pattern or numbered; none if they have no name."""
        name, count = self.label("name"), self.count()
        if not name:
            return []
        if not _BRACKET.search(name):
            return [name] if count == 1 else [f"{name}-{i}" for i in range(1, count + 1)]
        names = self.expanded("name", name)
        if "count" in self.group.said and count != len(names):
            raise self.error("count", f"{count}, but '{name[:40]}' are {len(names)}; remove it")
        return names

    def expanded(self, name: str, pattern: str) -> list[str]:
        """Return the names that a pattern such as ``n[1-32],login`` stands for."""
        is_closed = pattern.count("[") == pattern.count("]")
        try:
            names = expand_nodes(pattern) if is_closed else ()
        except ValueError:
            names = ()
        if not names or any(map(_BRACKET.search, names)):
            problem = f"'{pattern[:40]}' is no list of nodes; write for example n[1-32]"
            raise self.error(name, problem)
        return list(names)

    def flag(self, name: str) -> bool:
        """Return what is true or false; false if it is not given."""
        value = self.group.said.get(name, False)
        if not isinstance(value, bool):
            raise self.error(name, f"{str(value)[:40]!r} is neither true nor false; correct it")
        return value

    def seconds(self, name: str) -> float:
        """Return a length of time: seconds, or ``1-12:00:00``; inf if it is not given."""
        value = self.group.said.get(name)
        if value is None:
            return math.inf
        try:
            length = duration(value) if isinstance(value, str) else self._number(name, value)
        except ValueError:
            length = math.nan
        if not length > 0:
            problem = f"{str(value)[:40]!r} is no time; write seconds, or '1-12:00:00'"
            raise self.error(name, problem)
        return length

    def memory(self) -> float | None:
        """Return memory in GB, of which a number without a unit is one; None if not given."""
        value = self.group.said.get("memory")
        sized = _SIZE.fullmatch(value.strip()) if isinstance(value, str) else None
        if value is None or sized is None:
            return self.positive("memory")
        gigabytes = self._number("memory", sized[1]) * GB_OF[sized[2].upper()]
        if gigabytes <= 0:
            raise self.error("memory", f"{value.strip()[:40]} is not above 0; correct it")
        return gigabytes

    def resources(self) -> dict[str, int] | None:
        """Return what else can be counted, by name; None if nothing is given."""
        said = self.group.said
        table = said.get("resources", {})
        if not isinstance(table, Mapping):
            raise self.error("resources", "is no table; write for example { gpu = 2 }")
        given = [(name, name, said[name]) for name in SHORT if name in said]
        given += [("resources", name, value) for name, value in table.items()]
        counts: dict[str, int] = {}
        for field, name, value in given:
            try:
                known = resource_name(name, f"'{name}'")
            except OptionError as error:
                raise self.error(field, str(error)) from None
            count = self._number(field, value)
            if count < 0 or count != int(count):
                raise self.error(field, f"{count:g} of {known}; give a whole number, 0 or more")
            if known in counts:
                raise self.error(field, f"'{known}' is given twice; remove one")
            counts[known] = int(count)
        return counts if given else None

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
            return tuple(self._watts("watts", level) for level in value), True
        if value is None and base is None:
            raise self.error("watts", "is missing; give it, or a server to take it from")
        if value is None and base is not None and not base.has_watts:
            raise self.error("watts", f"is missing, and server {base.model} has none; give it")
        full = base.watts[-1] if value is None and base else self._watts("watts", value)
        least = 0.0 if idle is None else self._watts("idle_watts", idle)
        if least > full:
            problem = f"{least:g} W, more than the {full:g} W of a busy node; correct one"
            raise self.error("idle_watts", problem)
        return (least, full), idle is not None

    def _watts(self, name: str, value: Any) -> float:
        watts = self._number(name, value)
        if watts < 0:
            raise self.error(name, f"{watts:g} W is below 0; correct it")
        return watts

    def states(self, base: Server | None) -> PowerStates | None:
        """Return depths of sleep, levels, and watts when off or failed; None if none is given."""
        said = self.group.said
        known = PowerStates() if base is None else base.states
        changed: dict[str, Any] = {
            name: self._watts(name, said[name])
            for name in ("off_watts", "failed_watts")
            if name in said
        }
        if "sleep" in said:
            changed["sleep"] = tuple(self._inner("sleep", SLEEP_KEYS, GroupReader._sleep))
        if "level" in said:
            changed["levels"] = tuple(self._inner("level", LEVEL_KEYS, GroupReader._level))
        if not changed:
            return None
        try:
            return replace(known, **changed)
        except OptionError as error:
            raise self.error("sleep" if "sleep" in said else "level", str(error)) from None

    def _inner(
        self, kind: str, keys: Mapping[str, str], made: Callable[[GroupReader], _Made]
    ) -> Iterator[_Made]:
        """Yield what the tables of one kind inside this one describe."""
        tables = self.group.said[kind]
        if not isinstance(tables, list) or not all(isinstance(table, Mapping) for table in tables):
            raise self.error(kind, f"is a table; begin each with [[node.{kind}]]")
        for at, table in enumerate(tables, 1):
            label = f"{self.group.label}{kind} {at}: "
            reader = GroupReader(self.path, Group(self.group.line, label, table), None)
            for name in table:
                if name not in keys:
                    raise reader.error(name, f"unknown key; {nearest(name, keys)}")
            try:
                yield made(reader)
            except OptionError as error:
                raise reader.error(next(iter(keys)), str(error)) from None

    def _sleep(self) -> SleepState:
        """Return the depth of sleep that a table describes."""
        for name in ("name", "watts"):
            if name not in self.group.said:
                raise self.error(name, "is missing; give it")
        taken: dict[str, float] = {}
        for name in ("enter", "leave"):
            watts = f"{name}_watts"
            taken[name] = self._lapse(name)
            if taken[name] > 0 and watts not in self.group.said:
                raise self.error(watts, f"is missing, and it takes {taken[name]:g} s; give it")
            taken[watts] = self._watts(watts, self.group.said.get(watts, 0.0))
        varies = self.label("leave_varies") if "leave_varies" in self.group.said else ""
        return SleepState(
            self.label("name"),
            self._watts("watts", self.group.said["watts"]),
            **taken,
            leave_varies=varies,
        )

    def _level(self) -> PowerLevel:
        """Return the level that a table describes."""
        speed = self.positive("speed")
        for name, value in (("speed", speed), ("watts", self.group.said.get("watts"))):
            if value is None:
                raise self.error(name, "is missing; give it")
        watts = {
            name: self._watts(name, self.group.said[name])
            for name in ("watts", "idle_watts", "least_watts")
            if name in self.group.said
        }
        return PowerLevel(speed or 1.0, **watts)

    def _lapse(self, name: str) -> float:
        """Return a time that may be 0, which it is if it is not given."""
        if self.group.said.get(name) in (0, 0.0, None):
            return 0.0
        return self.seconds(name)

    def server(self) -> Server:
        """Return the server that is described."""
        wanted, base = self.text("server"), None
        if wanted:
            try:
                base = find_server(wanted, self.catalogue)
            except OptionError as error:
                raise self.error("server", str(error)) from None
        cores, ops, watts = self.whole("cores"), self.positive("ops"), self.watts(base)
        if cores is None and base is None:
            raise self.error("cores", "is missing; give it, or a server to take it from")
        given = {
            "model": self.label("model") or (base.model if base else self._kind(ops is None)),
            "cores": cores,
            "chips": self.whole("chips"),
            "ops": ops,
            "memory": self.memory(),
            "features": self.features(),
            "watts": watts[0] if watts else None,
            "idle_known": watts[1] if watts else None,
            "resources": self.resources(),
            "states": self.states(base),
        }
        try:
            changes: dict[str, Any] = {name: v for name, v in given.items() if v is not None}
            return Server(**changes) if base is None else replace(base, **changes)
        except InputError as error:
            raise self.error("server", str(error)) from None

    def _kind(self, is_plain: bool) -> str:
        """Return a name of the kind of node: what nodes of it have in common.

        Of nodes whose speed was measured it is the whole name, unless that is a pattern.
        """
        name = self.label("name")
        bare = name.partition("[")[0]
        if is_plain or bare != name:
            bare = bare.rstrip("0123456789").rstrip("-_.")
        return bare or "node"


def is_number(value: Any) -> bool:
    # Whole numbers of TOML have no bound, and no float is beyond the largest.
    return type(value) in (int, float) and abs(value) <= sys.float_info.max
