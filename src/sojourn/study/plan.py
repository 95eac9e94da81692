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
from ..jobs.models.resample import fitting_block
from ..measures.registry import own_measures
from ..measures.warmup import common_cut
from ..run.keys import ASIDE
from ..run.problems import Source
from ..run.setting import with_setting
from .grid import Grid, Value

if TYPE_CHECKING:
    from ..run.scenario import Scenario

_NAME = 20
"""Letters of a run's name: 80 bits, so that no two of a billion runs share one."""
_LARGEST_SEED = 2**63
_MOST_RUNS = 10_000_000
_RESAMPLE, _WARMUP = "workload.resample", "workload.warmup"
_PILOTS = 10
"""Replications whose warm-up is looked at: of fewer the cut falls where they happen to be calm."""


class PlannedRun(NamedTuple):
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
class StudyPlan:
    """The runs of a study, in the order of their points, each with all its replications.

    Parameters
    ----------
    scenario : what is the same in all of them.
    keys : what is varied.
    runs : each of them once.
    merged : points that are another one in other words, such as 3600 and "1 h".
    """

    scenario: Scenario
    keys: tuple[str, ...]
    runs: tuple[PlannedRun, ...]
    merged: int = 0

    def __len__(self) -> int:
        return len(self.runs)

    @cached_property
    def by_name(self) -> dict[str, PlannedRun]:
        """The runs by their names."""
        return {run.run_id: run for run in self.runs}

    @cached_property
    def kinds(self) -> tuple[type, ...]:
        """What the columns of the keys hold: bool, int, float or str."""
        return tuple(
            _kind({type(as_cell(run.values[place])) for run in self.runs})
            for place in range(len(self.keys))
        )

    @property
    def is_resampled(self) -> bool:
        """Whether replications are draws of one log: their spread is the error of its numbers."""
        return draws_log(self.scenario, self.keys)

    def ordered(self, skip: Collection[str] = ()) -> list[PlannedRun]:
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
    scenario: Scenario,
    grid: Grid,
    replications: int | Sequence[int] = 1,
    seed: int = 0,
    *,
    alike: bool = False,
) -> StudyPlan:
    """Return the runs of a study.

    Parameters
    ----------
    scenario : what is the same in all runs.
    grid : the points.
    replications : of each point; or for each point how many.
    seed : of the study.
    alike : whether replications may all be alike: some points of a search are random, others not.

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
    seed = check_seed(seed)
    seeds = [replication_seed(seed, replication) for replication in range(max(counts))]
    runs: dict[str, PlannedRun] = {}
    digests: set[str] = set()
    wrong: InputError | None = None
    usable = random = False
    for values, count in zip(grid.points, counts, strict=True):
        try:
            point = at_point(scenario, grid.keys, values)
            digest, drawn = point.digest, point.workload_digest
            usable, random = True, random or count == 1 or point.is_random
        except InputError as error:
            wrong = wrong or error
            values_text = spelt(dict(zip(grid.keys, values, strict=True)))  # In whatever order.
            digest, drawn = f"{scenario.digest} {values_text}", ""
        digests.add(digest)
        for replication in range(count):
            own = seeds[replication]
            name = run_name(digest, own)
            runs[name] = runs.get(name) or PlannedRun(
                name, tuple(values), replication, own, run_name(drawn, own)
            )
    if wrong is not None and not usable:
        raise wrong
    if not random and not alike:
        raise OptionError(
            "nothing in the scenario is random, and all its replications would be alike; give it "
            "workload.resample or a workload.model, or ask for 1 replication"
        )
    return StudyPlan(scenario, grid.keys, tuple(runs.values()), len(grid) - len(digests))


def _whole(replications: Any) -> int:
    try:
        return operator.index(replications)
    except TypeError:
        raise OptionError(f"replications = {replications!r}: give a whole number") from None


def check_size(points: int, replications: int) -> None:
    """Raise OptionError for more runs than can be kept in mind, before any of them is."""
    runs = points * _whole(replications)
    if runs > _MOST_RUNS:
        raise OptionError(f"{runs:,} runs: a study has at most {_MOST_RUNS:,}; give fewer")


def check_seed(seed: Any) -> int:
    """Return the seed of a study; OptionError where it is none."""
    try:
        whole = operator.index(seed)
    except TypeError:
        whole = -1
    if not 0 <= whole < _LARGEST_SEED:
        raise OptionError(f"seed {seed}: give a whole number from 0 to 2**63 - 1")
    return whole


def check_keys(scenario: Scenario, grid: Grid) -> None:
    """Raise OptionError for a key that is not known, or on which no measure depends."""
    settings, source = dict(scenario.given), Source(scenario.source.name)
    for key, value in zip(grid.keys, grid.points[0], strict=True):
        if key.partition(".")[0] in ASIDE:
            raise OptionError(
                f"'{key}' changes no measure; for other random numbers give replications, or "
                "another seed"
            )
        settings = with_setting(settings, key, value, source)


def replicable(scenario: Scenario, grid: Grid, replications: int) -> Scenario:
    """Return the scenario, with blocks of its log drawn where replications would be alike.

    So it is if some point has nothing random: its copies would pass for a number without error. One
    replication is of the log as it is.
    """
    if _whole(replications) < 2 or _RESAMPLE in grid.keys or "workload.model" in grid.keys:
        return scenario
    if scenario.is_random and not any(map(_may_settle_chance, grid.keys)):
        return scenario
    for values in grid.points:
        with contextlib.suppress(InputError):
            if not at_point(scenario, grid.keys, values).is_random:
                break
    else:
        return scenario
    log = scenario.log()
    assert log is not None  # A model is random.
    return scenario.with_value(_RESAMPLE, fitting_block(log))


def _may_settle_chance(key: str) -> bool:
    """Whether another value of a key may leave nothing random in a scenario."""
    return key.startswith(("workload", "control", "policy.placement", "failures"))


def draws_log(scenario: Scenario, keys: Sequence[str]) -> bool:
    """Whether replications of a scenario, at whatever values of some keys, are draws of one log."""
    return scenario.keys.workload.resample is not None or _RESAMPLE in keys


def settled(scenario: Scenario, grid: Grid, replications: int, seed: int) -> Scenario:
    """Return the scenario with a warm-up that is a number of jobs, the same in all its runs.

    MSER-5 over the first replications of the first point that can be run.
    """
    if scenario.keys.workload.warmup != "mser" or _WARMUP in grid.keys:
        return scenario
    whole, seeds = scenario.with_value(_WARMUP, 0), range(min(_whole(replications), _PILOTS))
    wrong: InputError | None = None
    for values in grid.points:
        try:
            point = at_point(whole, grid.keys, values)
            drawn = (replication_seed(seed, replication) for replication in seeds)
            cut = common_cut(point.run(point.workload(draw), draw) for draw in drawn)
        except InputError as error:
            wrong = wrong or error
            continue
        return scenario.with_value(_WARMUP, cut)
    raise wrong or OptionError("there is no point to find a warm-up at; give some values")


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


def run_name(digest: str, seed: int) -> str:
    """Return the name of a run, from the digest of its scenario.

    Measures that users registered are part of it: a run without them has not their columns.
    """
    own = [[measure.name, measure.digest] for measure in own_measures()]
    text = spelt([digest, seed, __version__, *([own] if own else [])])
    return hashlib.sha256(text.encode()).hexdigest()[:_NAME]
