"""Caps: how many watts a cluster, or a set of its nodes, may draw, from when on."""

from __future__ import annotations

import csv
import math
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..cluster import Cluster
from ..errors import LogError, OptionError, nearest
from ..files.access import is_no_file, read_text
from ..measures.cost.clock import START_HINT, Clock, timestamp

_UNITS = {"": 1.0, "W": 1.0, "kW": 1e3, "MW": 1e6}
_WATTS = re.compile(r"\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*([^\W\d_]*)\s*")
_NO_NUMBERS = ("nan", "inf", "infinity")
_TIMES, _POWERS = ("time", "time_s"), ("watts", "cap_w", "cap")
_SETS = ("partition", "nodes", "of")
_KEY = "power.cap"
_FORM = "write 2MW, gpu=40kW, several with commas between, or name a CSV file time,watts"


OF_CLUSTER = "the cluster's file"
"""Source of a cap that the cluster has."""


@dataclass(frozen=True)
class Cap:
    """A number of watts that is not to be exceeded, constant or in steps over time.

    Parameters
    ----------
    watts : from each time on.
    time : s of the log; before the first there is no cap.
    of : name of a partition, a rack, a set of nodes, or a node; empty for the whole cluster.
    source : the file, for messages.

    Examples
    --------
    >>> Cap((2e6,))
    Cap(watts=(2000000.0,), time=(-inf,), of='', source='cap')
    """

    watts: tuple[float, ...]
    time: tuple[float, ...] = (-math.inf,)
    of: str = ""
    source: str = "cap"

    def __post_init__(self) -> None:
        object.__setattr__(self, "watts", tuple(map(float, self.watts)))
        object.__setattr__(self, "time", tuple(map(float, self.time)))
        if not self.watts or len(self.watts) != len(self.time):
            raise OptionError(f"{self._where}: give watts, and as many times", key=_KEY)
        for watts in self.watts:
            if watts == math.inf:
                raise OptionError(f"{self._where}: no cap is endless; give less", key=_KEY)
            if not watts >= 0:
                raise OptionError(
                    f"{self._where}: {watts:g} W; give a number of at least 0", key=_KEY
                )
        rises = all(a < b for a, b in zip(self.time, self.time[1:], strict=False))
        if not rises or math.isnan(self.time[0]) or self.time[-1] == math.inf:
            raise OptionError(f"{self._where}: its times do not increase", key=_KEY)

    @property
    def _where(self) -> str:
        return f"{self.source}: {self.of}" if self.of else self.source

    @property
    def steps(self) -> tuple[tuple[float, float, float], ...]:
        """Begin and end (s) of each step, and its watts: the first is without a cap, if any."""
        time, watts = [*self.time], [*self.watts]
        if time[0] > -math.inf:
            time, watts = [-math.inf, *time], [math.inf, *watts]
        return tuple(zip(time, [*time[1:], math.inf], watts, strict=True))

    def __str__(self) -> str:
        least, most = min(self.watts), max(self.watts)
        words = _shown(most) if least == most else f"{_shown(least)} to {_shown(most)}"
        return f"{self.of}={words}" if self.of else words


class NodeCap(NamedTuple):
    """A cap and the places of its nodes; None for all that is there."""

    cap: Cap
    nodes: tuple[int, ...] | None

    @property
    def name(self) -> str:
        """Of the set; of the whole cluster, that."""
        return self.cap.of or "cluster"


def _shown(watts: float) -> str:
    for unit, size in (("MW", 1e6), ("kW", 1e3)):
        if watts >= size:
            return f"{watts / size:g} {unit}"
    return f"{watts:g} W"


def _watts(text: str, where: str) -> float:
    match = _WATTS.fullmatch(text)
    if match is None:
        raise OptionError(f"{where} '{text.strip()[:40]}' is no power; {_FORM}", key=_KEY)
    if match[2] not in _UNITS:
        units = [unit for unit in _UNITS if unit]
        meant = next((unit for unit in units if unit.lower() == match[2].lower()), None)
        hint = f"did you mean '{meant}'?" if meant else f"choose {', '.join(units)}"
        raise OptionError(
            f"{where} '{text.strip()[:40]}': '{match[2]}' is no unit of power; {hint}",
            key=_KEY,
        )
    return float(match[1]) * _UNITS[match[2]]


def is_cap_file(text: str) -> bool:
    """Whether a text names a file, not watts."""
    plain = "=" not in text and "," not in text and _WATTS.fullmatch(text) is None
    return plain and text.strip().lower().lstrip("+-") not in _NO_NUMBERS


def parse_caps(given: Any, *, files: bool = True, clock: Clock | None = None) -> tuple[Cap, ...]:
    """Return caps from a number of W, a text, a file, caps, or several of these.

    Parameters
    ----------
    given : ``2e6``, ``'2MW'``, ``'gpu=40kW'``, ``'2MW, gpu=40kW'``, the name of a CSV file, a
        `Cap`, or a list of these.
    files : whether to read files; else they are taken to be good.
    clock : which moment second 0 of the log is, for files with timestamps.
    """
    if given is None:
        return ()
    if isinstance(given, Cap):
        return (given,)
    if isinstance(given, int | float) and not isinstance(given, bool):
        return (Cap((float(given),)),)
    if isinstance(given, os.PathLike) or (isinstance(given, str) and is_cap_file(given)):
        path = os.fspath(given)
        if isinstance(path, str) and not path.strip():
            raise OptionError(f"cap '': {_FORM}", key=_KEY)
        if files and is_no_file(os.fsdecode(path)):
            name = os.path.basename(os.fsdecode(path))[:40]
            raise OptionError(f"cap '{name}' is neither a power nor a file; {_FORM}", key=_KEY)
        return read_caps(path, clock) if files else ()
    if isinstance(given, str):
        return tuple(_one(part) for part in given.split(","))
    if isinstance(given, Iterable):
        return tuple(cap for one in given for cap in parse_caps(one, files=files, clock=clock))
    raise OptionError(f"cap {given!r}: {_FORM}", key=_KEY)


def _one(text: str) -> Cap:
    of, equals, watts = text.rpartition("=")
    if equals and not of.strip():
        raise OptionError(f"cap '{text.strip()[:40]}' names no nodes; {_FORM}", key=_KEY)
    return Cap((_watts(watts, "cap"),), of=of.strip())


def read_caps(path: str | os.PathLike[str], clock: Clock | None = None) -> tuple[Cap, ...]:
    """Read caps over time: CSV with columns ``time`` and ``watts``, and of which nodes.

    A row holds from its time on: seconds of the log, or ISO 8601 timestamps (UTC where they have no
    offset), for which the clock says which moment second 0 is. A
    third column, ``partition`` or ``nodes``, names a set of nodes where rows are not of the whole
    cluster; each set has its own steps.
    """
    rows = csv.reader(read_text(path).splitlines())

    def wrong(problem: object, field: str | None = None) -> OptionError:
        error = LogError(path, str(problem), line=rows.line_num or 1, field=field)
        return OptionError(str(error), path=path, key=_KEY)

    series: dict[str, list[tuple[float, float]]] = {}
    try:
        header = [name.strip().lower() for name in next(rows, [])]
        known = len(header) in (2, 3) and header[0] in _TIMES and header[1] in _POWERS
        if not known or (len(header) == 3 and header[2] not in _SETS):
            raise wrong("the header must be time,watts or time,watts,nodes")
        for row in filter(None, rows):
            if len(row) != len(header):
                raise wrong(f"{len(row)} fields; give {','.join(header)}")
            try:
                time = _second(row[0], clock)
            except OptionError as error:
                raise wrong(str(error), "time") from None
            try:
                watts = _watts(row[1], "watts")
            except OptionError as error:
                raise wrong(str(error), "watts") from None
            if not 0 <= watts < math.inf:
                raise wrong(f"'{row[1][:40]}' is not a number of at least 0", "watts")
            steps = series.setdefault(row[2].strip() if len(row) == 3 else "", [])
            if steps and time <= steps[-1][0]:
                raise wrong(f"'{row[0][:40]}' is not after the row above", "time")
            steps.append((time, watts))
    except csv.Error as error:
        raise wrong(error) from None
    if not series:
        raise wrong("there is no row; give time,watts")
    return tuple(
        Cap(tuple(w for _, w in steps), tuple(t for t, _ in steps), of, os.fspath(path))
        for of, steps in series.items()
    )


def _second(text: str, clock: Clock | None) -> float:
    """Return the second of the log that a number or a timestamp is."""
    moment = timestamp(text)
    try:
        second = float(text)
    except ValueError:
        second = math.nan
        if moment is not None:
            if clock is None or not clock.known:
                raise OptionError(f"the log does not say when it begins; {START_HINT}") from None
            second = (moment - clock.start).total_seconds()
    if not math.isfinite(second):
        raise OptionError(f"'{text[:40]}' is neither a number of seconds nor a timestamp")
    return second


def resolve_caps(given: Sequence[Cap], cluster: Cluster) -> tuple[NodeCap, ...]:
    """Return the caps of a run: those of the cluster, in whose place a given one of the name comes.

    Raises
    ------
    OptionError
        For a set of nodes that is not there, two caps of one set, or sets that overlap and do not
        nest.
    """
    sets = {cap.name: cap for cap in cluster.caps}
    named = {cap.of: cap for cap in given}
    if len(named) < len(given):
        twice = next(cap for cap in given if named[cap.of] is not cap)
        both = " and ".join(
            cap.source if len(cap.watts) > 1 else _shown(cap.watts[0])
            for cap in (twice, named[twice.of])
        )
        who = f"'{twice.of}'" if twice.of else "the whole cluster"
        raise OptionError(f"cap: two of {who}, {both}; leave one out", key=_KEY)
    caps = [
        NodeCap(Cap((own.watts,), of=own.name, source=OF_CLUSTER), own.nodes)
        for own in cluster.caps
        if own.watts is not None and own.name not in named
    ]
    for cap in given:
        nodes = sets[cap.of].nodes if cap.of in sets else _places(cap, cluster)
        caps.append(NodeCap(cap, nodes))
    _check_tree(caps)
    # One over all nodes is of the whole cluster.
    count = len(cluster.nodes)
    return tuple(
        cap._replace(nodes=None) if cap.nodes is not None and len(cap.nodes) == count else cap
        for cap in caps
    )


def _places(cap: Cap, cluster: Cluster) -> tuple[int, ...] | None:
    if not cap.of:
        return None
    if not cluster.is_named:
        raise OptionError(
            f"cap '{cap.of}': processors are only counted; name nodes with --cluster, or cap all",
            key=_KEY,
        )
    parts = {part.name: part.nodes for part in cluster.partitions}
    parts |= {rack.name: rack.nodes for rack in cluster.racks}
    if cap.of in parts:
        return parts[cap.of]
    nodes = {node.name: (at,) for at, node in enumerate(cluster.nodes)}
    if cap.of in nodes:
        return nodes[cap.of]
    known = [*parts, *(own.name for own in cluster.caps)]
    hint = nearest(cap.of, known) if known else "the cluster has neither; name a node"
    where = "cap" if cap.source == "cap" else f"{cap.source}: cap"
    raise OptionError(
        f"{where} '{cap.of[:40]}': no partition, rack or set of nodes is called so; {hint}",
        key=_KEY,
    )


def _check_tree(caps: Sequence[NodeCap]) -> None:
    sets = [(cap.name, frozenset(cap.nodes)) for cap in caps if cap.nodes is not None]
    for i, (name, mine) in enumerate(sets):
        for other, theirs in sets[:i]:
            if mine & theirs and not (mine <= theirs or theirs <= mine):
                raise OptionError(
                    f"cap: '{other}' and '{name}' share nodes, but neither has all of the other's; "
                    "caps must nest",
                    key=_KEY,
                )
