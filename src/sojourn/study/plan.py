"""The runs of a study: which values, which replication, which seed, and a name for each.

Replication r draws the same workload at every point (common random numbers), so that points are
compared on the same jobs. A run's name depends on nothing but what it computes: the scenario with
its values, the seed and the version. A study that is called again finds what it has by name.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import operator
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..__about__ import __version__
from ..errors import InputError, OptionError
from ._problems import Source
from ._sections import ASIDE
from ._setting import with_setting
from .grid import Grid, Value
from .resample import fitting_block

if TYPE_CHECKING:
    from .scenario import Scenario

__all__ = [
    "Plan",
    "Run",
    "as_cell",
    "at_point",
    "check_keys",
    "plan_runs",
    "replicable",
    "replication_seed",
    "spelt",
]

_NAME = 20
"""Letters of a run's name: 80 bits, so that no two of a billion runs share one."""
_LARGEST_SEED = 2**63


class Run(NamedTuple):
    """One run of a study.

    Parameters
    ----------
    run_id : its name.
    values : of the keys that the study varies.
    replication : counted from 0.
    seed : of the workload and of everything random in the run.
    draw : the same for runs of the same jobs.
    """

    run_id: str
    values: tuple[Value, ...]
    replication: int
    seed: int
    draw: str


@dataclass(frozen=True)
class Plan:
    """The runs of a study, in the order of their points, each with all its replications.

    Parameters
    ----------
    scenario : what is the same in all of them.
    keys : what is varied.
    runs : each of them once.
    """

    scenario: Scenario
    keys: tuple[str, ...]
    runs: tuple[Run, ...]

    def __len__(self) -> int:
        return len(self.runs)

    @cached_property
    def by_name(self) -> dict[str, Run]:
        """The runs by their names."""
        return {run.run_id: run for run in self.runs}

    @cached_property
    def kinds(self) -> tuple[type, ...]:
        """What the columns of the keys hold: bool, int, float or str."""
        return tuple(
            _kind({type(as_cell(run.values[place])) for run in self.runs})
            for place in range(len(self.keys))
        )

    def ordered(self, skip: Collection[str] = ()) -> list[Run]:
        """Return the runs as they are best carried out, without those whose names are to skip.

        All points get their first replication before any gets its second, and runs of the same
        jobs follow each other.
        """
        first: dict[str, int] = {}
        for run in self.runs:
            first.setdefault(run.draw, len(first))
        left = (run for run in self.runs if run.run_id not in skip)
        return sorted(left, key=lambda run: (run.replication, first[run.draw]))


def plan_runs(
    scenario: Scenario, grid: Grid, replications: int | Sequence[int] = 1, seed: int = 0
) -> Plan:
    """Return the runs of a study.

    Parameters
    ----------
    scenario : what is the same in all runs.
    grid : the points.
    replications : of each point; or for each point how many.
    seed : of the study.

    Raises
    ------
    InputError
        If no point makes a scenario that can be run. Where only some do not, their runs fail.
    """
    if isinstance(replications, Sequence) and not isinstance(replications, str):
        counts = list(replications)
    else:
        counts = [_whole(replications)] * len(grid)
    if min(counts) < 1:
        raise OptionError(f"replications = {min(counts)}: at least 1 is needed")
    check_keys(scenario, grid)
    if not 0 <= seed < _LARGEST_SEED:
        raise OptionError(f"seed {seed}: give a whole number from 0 to 2**63 - 1")
    seeds = [replication_seed(seed, replication) for replication in range(max(counts))]
    runs: dict[str, Run] = {}
    wrong: InputError | None = None
    usable = random = False
    for values, count in zip(grid.points, counts, strict=True):
        try:
            point = at_point(scenario, grid.keys, values)
            digest, drawn = point.digest, point.workload_digest
            usable, random = True, random or count == 1 or point.is_random
        except InputError as error:
            wrong = wrong or error
            digest, drawn = f"{scenario.digest} {spelt([grid.keys, values])}", ""
        for replication in range(count):
            drawn_from = seeds[replication]
            name = _name(digest, drawn_from)
            run = Run(name, tuple(values), replication, drawn_from, _name(drawn, drawn_from))
            runs.setdefault(name, run)
    if wrong is not None and not usable:
        raise wrong
    if not random:
        raise OptionError(
            "nothing in the scenario is random, and all its replications would be alike; give it "
            "workload.resample or a workload.model, or ask for 1 replication"
        )
    return Plan(scenario, grid.keys, tuple(runs.values()))


def _whole(replications: Any) -> int:
    try:
        return operator.index(replications)
    except TypeError:
        raise OptionError(f"replications = {replications!r}: give a whole number") from None


def check_keys(scenario: Scenario, grid: Grid) -> None:
    """Raise OptionError for a key that is not known, or on which no measure depends."""
    told, source = dict(scenario.told), Source(scenario.source.name)
    for key, value in zip(grid.keys, grid.points[0], strict=True):
        if key.partition(".")[0] in ASIDE:
            raise OptionError(
                f"'{key}' changes no measure; for other random numbers give replications, or "
                "another seed"
            )
        told = with_setting(told, key, value, source)


def replicable(scenario: Scenario, grid: Grid, replications: int) -> Scenario:
    """Return the scenario, with blocks of its log drawn where replications would be alike.

    Parameters
    ----------
    scenario, grid : as in `plan_runs`.
    replications : of each point; one of them is of the log as it is.
    """
    if _whole(replications) < 2 or scenario.is_random:
        return scenario
    for values in grid.points:
        with contextlib.suppress(InputError):
            if at_point(scenario, grid.keys, values).is_random:
                return scenario
    log = scenario.log()
    assert log is not None  # A model is random.
    return scenario.with_value("workload.resample", fitting_block(log))


def at_point(scenario: Scenario, keys: Sequence[str], values: Sequence[Value]) -> Scenario:
    """Return a scenario with the values of a point."""
    return scenario.with_values(dict(zip(keys, values, strict=True))) if keys else scenario


def replication_seed(seed: int, replication: int) -> int:
    """Return the seed of a replication: independent streams from the seed of a study."""
    child = np.random.SeedSequence(seed, spawn_key=(replication,))
    return int(child.generate_state(1, np.uint64)[0] >> np.uint64(1))


def as_cell(value: Value) -> Any:
    """Return a value as a column holds it: a number, a text or a truth value."""
    plain = value.item() if isinstance(value, np.generic) else value
    return plain if isinstance(plain, bool | int | float | str) else spelt(plain)


def _kind(kinds: set[type]) -> type:
    if len(kinds) == 1:
        return next(iter(kinds))
    return float if kinds == {int, float} else str


def spelt(value: Any) -> str:
    """Return values as text that is the same wherever they are the same."""
    return json.dumps(value, sort_keys=True, default=str)


def _name(digest: str, seed: int) -> str:
    told = spelt([digest, seed, __version__])
    return hashlib.sha256(told.encode()).hexdigest()[:_NAME]
