"""Scenarios to be compared: each named by what sets it apart from the others."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import product
from typing import TYPE_CHECKING, Any

from ..errors import OptionError
from .scenario import Scenario

if TYPE_CHECKING:
    from ..jobs import Jobs
    from .result import Result

Values = Mapping[str, Any]
"""Values of keys, by their dotted names."""


@dataclass(frozen=True)
class Variant:
    """One of several runs that are compared.

    Parameters
    ----------
    scenario : what is run.
    about : what it has of its own besides policy and placement, by key or as ``scenario``.
    label : what a table calls it; empty where policy and placement say enough.
    """

    scenario: Scenario
    about: Values
    label: str = ""


def policies_of(text: str, files: Sequence[str]) -> list[Values]:
    """Return the values of keys for each policy of a list.

    Parameters
    ----------
    text : names with commas between; orders from files go by their names.
    files : where these are, each as ``FILE.py:NAME``.
    """
    own = {where.rpartition(":")[2]: where for where in files}
    policies: list[Values] = []
    for name in filter(None, map(str.strip, text.split(","))):
        order, plus, backfill = name.partition("+")
        if order in own:
            values = {"policy.name": f"fcfs{plus}{backfill}", "policy.order": own[order]}
        else:
            values = {"policy.name": name}
        policies.append(values)
    return policies


def variants_of(
    bases: Mapping[str, Scenario],
    axes: Sequence[tuple[str, Sequence[Any]]],
    placements: Sequence[str],
    policies: Sequence[Values],
) -> list[Variant]:
    """Return every combination of scenarios, values, placements and policies.

    Parameters
    ----------
    bases : scenarios by name.
    axes : keys with the values that each of them takes in turn.
    placements, policies : to put in place of those of the scenarios; none: these stay.
    """
    keys = [key for key, _ in axes]
    points = [dict(zip(keys, values, strict=True)) for values in product(*(v for _, v in axes))]
    places: list[Values] = [{"policy.placement": name} for name in placements] or [{}]
    parts = list(product(bases.items(), points, places, policies or [{}]))
    made: list[tuple[Scenario, dict[str, Any]]] = []
    for (name, base), point, place, policy in parts:
        about = {"scenario": name} if len(bases) > 1 else {}
        values = {**point, **place, **policy}
        scenario = base.with_values(values) if values else base
        made.append((scenario, about | {key: _short(scenario, key) for key in point}))
    if not any(about for _, about in made):
        return [Variant(scenario, about) for scenario, about in made]
    differ = [
        text
        for text in (
            [_policy(scenario, about) for scenario, about in made],
            [str(scenario.placement) for scenario, _ in made],
        )
        if len(set(text)) > 1 and len(bases) == 1
    ]
    return [
        Variant(scenario, about, ", ".join([*_words(about), *(text[place] for text in differ)]))
        for place, (scenario, about) in enumerate(made)
    ]


def _policy(scenario: Scenario, about: Values) -> str:
    """The policy's name, without lines of Slurm that are named already."""
    name = str(scenario.policy)
    return name.partition("[")[0] if any(key.startswith("slurm.") for key in about) else name


def _words(about: Values) -> Iterator[str]:
    for key, value in about.items():
        yield str(value) if key == "scenario" else f"{key}={value}"


def _short(scenario: Scenario, key: str) -> Any:
    """A value as it was given."""
    try:
        return reduce(lambda table, step: table[step], key.split("."), scenario.as_mapping())
    except (LookupError, TypeError):
        return scenario.value(key)


def runs_of(
    variants: Sequence[Variant],
    jobs_of: Callable[[Scenario], Jobs],
    *,
    record: bool,
    progress: Callable[[int, int], None] | None = None,
) -> Iterator[tuple[Variant, Result, float]]:
    """Run scenarios one after the other; yield each with its result and the seconds it took.

    Parameters
    ----------
    variants : what to run.
    jobs_of : returns the jobs of a scenario.
    record : keep trajectories.
    progress : called with (jobs arrived, jobs) from time to time.
    """
    if not variants:
        raise OptionError("nothing to compare; give at least one policy or scenario")
    for variant in variants:
        scenario = variant.scenario
        jobs = jobs_of(scenario)
        # Whatever has to be loaded or compiled is, before the clock starts.
        scenario.preload(decisions=scenario.keys.run.decisions)
        begun = time.perf_counter()
        with scenario.locating():
            result = scenario.run(jobs, record=record, progress=progress)
        yield variant, result, time.perf_counter() - begun
