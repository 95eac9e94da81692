"""Nodes that fail: drawn from distributions, or as a log of failures has them.

A node is up for a time X, down for a time Y, up again, and so on; see
`docs/background/failures`.
"""

from __future__ import annotations

import csv
import io
import math
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import Floats, Ints
from ...checks import positive, probability, servers
from ...errors import LogError, OptionError
from ...files.access import read_log_text

REPAIRS = ("exponential", "constant", "lognormal")
"""Distributions of times to repair."""

_BLOCK = 8
"""Failures of a node that are drawn at a time; how many at once must not change the numbers."""

_FAILURES = 0xFA11
"""What tells these random numbers from others of the same seed."""

_COLUMNS = {
    "node": ("node", "nodenum", "node_number", "node_id", "nodename", "name", "host", "hostname"),
    "down": ("down", "started", "prob_started", "start", "begin", "failed", "time"),
    "up": ("up", "fixed", "prob_fixed", "end", "until", "repaired"),
}
"""What columns of logs of failures are called."""

_DATES = ("%m/%d/%y %H:%M", "%m/%d/%Y %H:%M", "%m/%d/%y %H:%M:%S", "%m/%d/%Y %H:%M:%S")


class Outages(NamedTuple):
    """When units (nodes, or so many processors) are down, [down, up) in s; by unit and time."""

    unit: Ints
    down: Floats
    up: Floats


@dataclass(frozen=True)
class Failures:
    """How nodes fail.

    Parameters
    ----------
    mtbf, repair : mean time between failures of a node, up to down, and to its repair (s).
    shape : of the Weibull distribution of the time between failures; 1: exponential.
    repairs : distribution of the time to repair, one of `REPAIRS`.
    spread : of a lognormal repair: standard deviation of its logarithm.
    rack : probability that a failure takes the whole rack with it.
    per_rack : nodes of a rack, in their order; None: the racks of the cluster.
    level : which of the cluster's racks: 1 for the innermost that holds the node, 2 for what holds
        that, and so on.
    procs : processors of a unit, where they are only counted.
    seed : of what is drawn; None: that of the run.
    log : file of recorded failures, in place of all that.

    Examples
    --------
    >>> Failures(mtbf=86_400.0, repair=3600.0).outages(2, 0.0, 1e5, seed=1).down
    array([ 7357., 38844., 64136.])
    """

    mtbf: float | None = None
    repair: float = 86_400.0
    shape: float = 1.0
    repairs: str = "exponential"
    spread: float = 1.0
    rack: float = 0.0
    per_rack: int | None = None
    level: int = 1
    procs: int = 1
    seed: int | None = None
    log: str | None = None

    def __post_init__(self) -> None:
        if (self.mtbf is None) == (self.log is None):
            raise OptionError(
                "failures: give mtbf, or the log of recorded failures, one of them",
                key="failures.mtbf",
            )
        if self.mtbf is not None:
            positive(self.mtbf, "failures: mtbf")
        for name in ("repair", "shape", "spread"):
            positive(getattr(self, name), f"failures: {name}")
        if self.repairs not in REPAIRS:
            raise OptionError(f"failures: repairs {self.repairs!r}; choose {', '.join(REPAIRS)}")
        if self.spread != 1 and self.repairs != "lognormal":
            raise OptionError(
                f"failures: spread = {self.spread:g} is of lognormal repairs, and these are "
                f"{self.repairs}; give repairs=lognormal, or leave it out",
                key="failures.spread",
            )
        probability(self.rack, "failures: rack")
        servers(self.procs, "failures: procs")
        if self.per_rack is not None:
            servers(self.per_rack, "failures: per_rack")
        servers(self.level, "failures: level")

    def __str__(self) -> str:
        if self.log is not None:
            return f"as in {os.path.basename(self.log)}"
        words = f"mtbf {self.mtbf:g} s, repair {self.repair:g} s"
        if self.shape != 1:
            words += f", shape {self.shape:g}"
        return words + (f", rack {self.rack:g}" if self.rack else "")

    def outages(
        self,
        units: int,
        begin: float,
        horizon: float,
        seed: int,
        racks: Sequence[Sequence[int]] | None = None,
    ) -> Outages:
        """Draw when units are down.

        Parameters
        ----------
        units : how many there are.
        begin : all are up then (s).
        horizon : failures from there on are left out (s); those before do not depend on it.
        seed : used where there is none of one's own.
        racks : of each unit the units of its rack; None: `per_rack` in a row, or no racks.
        """
        if racks is None:
            racks = self.racks_of(units)
        own = seed if self.seed is None else self.seed
        parts = [self._of_unit(k, begin, horizon, own) for k in range(units)]
        down, up = (np.concatenate([*(part[i] for part in parts), []]) for i in (0, 1))
        takes_rack = np.concatenate([*(part[2] for part in parts), np.empty(0, np.bool_)])
        unit = np.repeat(np.arange(units), [len(part[0]) for part in parts])
        return merged(_with_racks(Outages(unit, down, up), takes_rack, racks))

    def racks_of(self, units: int) -> list[range]:
        """Return of each unit the units of its rack: `per_rack` in a row, or itself alone."""
        size = self.per_rack or 1
        firsts = (k // size * size for k in range(units))
        return [range(first, min(first + size, units)) for first in firsts]

    def _of_unit(
        self, k: int, begin: float, horizon: float, seed: int
    ) -> tuple[Floats, Floats, NDArray[np.bool_]]:
        """Downs and ups of one unit, and whether each takes the rack with it."""
        source = np.random.default_rng([seed, _FAILURES, k])
        downs, ups, coins = [np.empty(0)], [np.empty(0)], [np.empty(0, np.bool_)]
        since = begin
        while since < horizon:
            lives, fixes = self._lives(source), self._fixes(source)
            coin = source.random(_BLOCK) < self.rack
            up = since + np.cumsum(lives + fixes)
            down = up - fixes
            early = down < horizon
            downs.append(down[early])
            ups.append(up[early])
            coins.append(coin[early])
            since = float(up[-1])
        return np.concatenate(downs), np.concatenate(ups), np.concatenate(coins)

    def _lives(self, source: np.random.Generator) -> Floats:
        assert self.mtbf is not None
        drawn = source.standard_exponential(_BLOCK) ** (1 / self.shape)
        return _whole(drawn * (self.mtbf / math.gamma(1 + 1 / self.shape)))

    def _fixes(self, source: np.random.Generator) -> Floats:
        if self.repairs == "constant":
            drawn = np.full(_BLOCK, self.repair)
        elif self.repairs == "exponential":
            drawn = self.repair * source.standard_exponential(_BLOCK)
        else:
            normal = self.spread * source.standard_normal(_BLOCK)
            drawn = self.repair * np.exp(normal - self.spread**2 / 2)
        return _whole(drawn)


def _with_racks(
    alone: Outages, takes_rack: NDArray[np.bool_], racks: Sequence[Sequence[int]]
) -> Outages:
    """Outages of units, and of the racks that some of them take with them."""
    parts = [alone]
    for i in np.flatnonzero(takes_rack).tolist():
        others = np.array(racks[int(alone.unit[i])], np.int64)
        times = (np.full(len(others), column[i]) for column in (alone.down, alone.up))
        parts.append(Outages(others, *times))
    return Outages(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _whole(seconds: Floats) -> Floats:
    """Whole seconds, rounded up, at least one."""
    rounded: Floats = np.maximum(np.ceil(seconds), 1.0)
    return rounded


def merged(outages: Outages) -> Outages:
    """Return outages of which none of one unit overlap, by unit and time."""
    order = np.lexsort((outages.down, outages.unit))
    rows: list[list[float]] = []
    for unit, down, up in zip(*(column[order].tolist() for column in outages), strict=True):
        if rows and rows[-1][0] == unit and down <= rows[-1][2]:
            rows[-1][2] = max(rows[-1][2], up)
        else:
            rows.append([unit, down, up])
    table = np.array(rows, dtype=np.float64).reshape(-1, 3).T
    return Outages(table[0].astype(np.int64), table[1].copy(), table[2].copy())


class FailureLog(NamedTuple):
    """Recorded failures: names of nodes, when each went down and was up again (s).

    `dated`: whether times were dates, which are s since 1970 then, in UTC.
    """

    node: tuple[str, ...]
    down: Floats
    up: Floats
    line: tuple[int, ...]
    dated: bool

    def outages(
        self, path: str, names: Sequence[str] | None, units: int, shift: float = 0.0
    ) -> Outages:
        """Return when units are down, all times moved by `shift` (s).

        Where processors are only counted there are no names, and nodes of the log are units in the
        order of theirs. The path is for messages.
        """
        known = _numbered(self.node) if names is None else {name: k for k, name in enumerate(names)}
        if names is None and len(known) > units:
            raise LogError(
                path,
                f"names {len(known)} nodes, but the machine has {units} units of processors; give "
                "procs= as many as a node has",
            )
        unit = []
        for name, line in zip(self.node, self.line, strict=True):
            place = known.get(name, -1)
            if place < 0 and name.isdigit() and names is not None and int(name) < units:
                place = int(name)
            if place < 0:
                raise LogError(
                    path,
                    f"the cluster has no node '{name}'; correct the line, or name the nodes so",
                    line=line,
                    field="node",
                )
            unit.append(place)
        return merged(Outages(np.array(unit, np.int64), self.down + shift, self.up + shift))


def _numbered(names: Sequence[str]) -> dict[str, int]:
    """Places of names: numbers by size, others by letter."""
    different = sorted(set(names), key=lambda n: (0, int(n), "") if n.isdigit() else (1, 0, n))
    return {name: k for k, name in enumerate(different)}


def read_failures(path: str | os.PathLike[str]) -> FailureLog:
    """Read a log of failures: a table whose first line names the columns.

    Parameters
    ----------
    path : plain or packed. It has a column for the node (``node``, ``nodenum``, ``hostname``), when
        it went down (``down``, ``started``, ``begin``) and was up again (``up``, ``fixed``,
        ``end``); all others are passed over. Times are seconds on the clock of the jobs, or dates.
    """
    text = read_log_text(path, kind="table", wanted="a table with a line of column names")
    reader = csv.reader(io.StringIO(text, newline=""), skipinitialspace=True)
    places: dict[str, int] = {}
    rows: list[tuple[str, float, float, int]] = []
    kinds: set[bool] = set()
    for cells in reader:
        line = reader.line_num
        if not any(cell.strip() for cell in cells) or cells[0].startswith("#"):
            continue
        if not places:
            places = _places(path, cells, line)
            continue
        if len(cells) <= max(places.values()):
            raise LogError(path, f"has only {len(cells)} columns; correct the line", line=line)
        node = cells[places["node"]].strip()
        if not node:
            raise LogError(path, "is empty; fill it in", line=line, field="node")
        times = []
        for name in ("down", "up"):
            value, dated = _time(path, cells[places[name]], line, name)
            times.append(value)
            kinds.add(dated)
        if not times[1] > times[0]:
            problem = f"{times[1]:.15g} s is not after it went down, {times[0]:.15g} s; correct one"
            raise LogError(path, problem, line=line, field="up")
        rows.append((node, times[0], times[1], line))
    if not rows:
        raise LogError(path, "has no failures; give a table with the columns node, down, up")
    if len(kinds) > 1:
        raise LogError(path, "has seconds and dates; give one of them throughout")
    node_, down, up, lines = zip(*rows, strict=True)
    return FailureLog(node_, np.array(down), np.array(up), lines, kinds.pop())


def _places(path: str | os.PathLike[str], names: Sequence[str], line: int) -> dict[str, int]:
    """Where the columns stand."""
    words = [re.sub(r"\(.*\)", "", name).strip().lower().replace(" ", "_") for name in names]
    places = {}
    for column, known in _COLUMNS.items():
        at = next((words.index(name) for name in known if name in words), None)
        if at is None:
            raise LogError(
                path,
                f"no column says '{column}' of failures; name it so, or {', '.join(known[1:4])}",
                line=line,
            )
        places[column] = at
    return places


def _time(path: str | os.PathLike[str], text: str, line: int, name: str) -> tuple[float, bool]:
    """A time in seconds, and whether it was a date."""
    word = text.strip()
    try:
        value = float(word)
        if math.isfinite(value):
            return value, False
    except ValueError:
        pass
    for form in ("", *_DATES):
        try:
            moment = datetime.strptime(word, form) if form else datetime.fromisoformat(word)
        except ValueError:
            continue
        return moment.replace(tzinfo=moment.tzinfo or UTC).timestamp(), True
    raise LogError(
        path,
        f"'{word[:40]}' is no time; write seconds, 2004-01-31T12:00 or 01/31/04 12:00",
        line=line,
        field=name,
    )
