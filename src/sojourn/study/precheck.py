"""What can be said of a study before it is run, or right after its first run."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import InputError, OptionError
from ..measures.registry import all_measures
from ..run.inputs import key_of
from ..run.problems import dotted
from .grid import Grid, Range
from .plan import at_point
from .rows import ABOUT, check_known

if TYPE_CHECKING:
    from ..run.scenario import Scenario

_ADDED = ("resample", "warmup")
_MAY_ADD_MEASURES = (
    "power",
    "cluster",
    "workload.events",
    "policy.constraints",
    "policy.sleep",
    "slurm",
    "defer",
    "failures",
    "checkpoint",
    "maintenance",
)
"""What is varied where runs have measures that the first one may not have."""


def check_files(scenario: Scenario, grid: Grid, *, apart: bool = False) -> None:
    """Raise OptionError where no point has all the files that it names.

    Where only some points have not, their runs fail and the others go on.

    Parameters
    ----------
    scenario, grid : as for `plan.plan_runs`.
    apart : whether the values of the points can be combined in other ways too: then a file is
        missed only if it is at all of them.
    """
    lost: list[dict[str, str]] = []
    for values in grid.points:
        try:
            files = at_point(scenario, grid.keys, values).files
        except InputError:
            continue
        lost.append({name: path for name, path in files.items() if not os.path.exists(path)})
        if not lost[-1]:
            return
    for name, path in lost[0].items() if lost else ():
        if not apart or all(name in missing for missing in lost):
            problem, key = f"{path}: no such file; check the path", key_of(name)
            if dotted(key) in grid.keys:
                raise OptionError(f"{dotted(key)}: {problem}")
            raise scenario.source.error(key, problem)


def check_measures(names: Sequence[str], columns: Iterable[str], keys: Sequence[str]) -> None:
    """Raise OptionError for a name that no measure of a study has, by the columns of its runs.

    Where other points may have other measures, their names are left to the end.
    """
    known = [name for name in columns if name not in {*ABOUT, *keys}]
    if not known or any(key.startswith(_MAY_ADD_MEASURES) for key in keys):
        return
    for name in names:
        if not name.startswith("rate_share_"):
            check_known(name, known)


def check_measurable(names: Sequence[str], keys: Sequence[str]) -> None:
    """Raise OptionError for a name that is neither a measure of any run nor a varied key."""
    known = [measure.name for measure in all_measures()]
    for name in names:
        if name not in keys and not name.startswith("rate_share_"):
            check_known(name, known)


def added_to(given: Scenario, chosen: Scenario) -> dict[str, Any]:
    """Return what ``study.json`` says of keys that were not given, and that replications need."""
    if given.digest == chosen.digest:
        return {}
    before, after = given.keys.workload, chosen.keys.workload
    added = {
        f"workload.{name}": getattr(after, name)
        for name in _ADDED
        if getattr(after, name) != getattr(before, name)
    }
    return {"given": given.digest, "added": added}


def typical_points(ranges: Sequence[Range]) -> Grid:
    """Return points that have each value of a list at least once; the first is of low ends."""
    count = max(2, *(len(item.choices) for item in ranges))
    points = tuple(
        tuple(
            item.choices[place % len(item.choices)]
            if item.choices
            else item.at(place / (count - 1))
            for item in ranges
        )
        for place in range(count)
    )
    return Grid(tuple(item.key for item in ranges), points)


def is_random_somewhere(scenario: Scenario, grid: Grid) -> bool:
    """Whether another seed gives another run at some point.

    Where none of them can be run, others may: then it is seen without their values.
    """
    usable = []
    for values in grid.points:
        with contextlib.suppress(InputError):
            usable.append(at_point(scenario, grid.keys, values).is_random)
    return any(usable) if usable else scenario.is_random
