"""The points of a study, from its rows; those of a comparison, from its summaries."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arrays import Floats
from ...cluster.power import states_energy
from ...errors import OptionError
from ...measures.entry import Measure
from ...measures.registry import find, headline, in_table, rests_on_watts
from ...measures.registry import get as measure
from .points import RUN, Points, is_numeric, mean_of_run, mean_over_time, quantile_of_run
from .subjects import ComparisonFolder, RunFolder, StudyFolder
from .timeline import paths_of
from .words import bounded

if TYPE_CHECKING:
    import pandas as pd

    from ...study.intervals import Interval


_MEASURES = 16


def points_of_study(study: StudyFolder) -> Points:
    """Group the finished runs of a study by what was varied; an error when none was finished."""
    done = study.runs[study.runs["status"] == "done"]
    if done.empty:
        raise OptionError(f"{study.folder}: no run of the study is done; run it first")
    measures = _chosen(done, study)
    done = done.sort_values("replication", kind="stable")
    if study.keys:
        grouped = done.groupby(list(study.keys), sort=False, dropna=False)
        groups = [part for _, part in grouped]
    else:
        groups = [done]
    keys = {key: [part[key].iloc[0] for part in groups] for key in study.keys}
    order = _order(keys, len(groups))
    groups = [groups[i] for i in order]
    keys = {key: [values[i] for i in order] for key, values in keys.items()}
    front = _front(keys, len(groups), study.front.get("points", []))
    fresh: frozenset[int] = frozenset()
    if front:
        groups, fresh = _fresh(groups, front, int(study.facts.get("replications", 0)))
    return Points(
        keys,
        {name: [part[name].to_numpy(np.float64) for part in groups] for name in measures},
        [part["replication"].to_numpy(np.int64) for part in groups],
        _objectives(study, measures),
        front,
        fresh,
        study.is_resampled,
        tuple(str(name) for name in study.facts.get("maximised", ())),
        unaccepted=_unaccepted(groups),
    )


def _unaccepted(groups: Sequence[pd.DataFrame]) -> list[float]:
    """How many jobs of each point never fit; nothing of runs that do not say so."""
    if not all("unaccepted" in part and part["unaccepted"].notna().any() for part in groups):
        return []
    return [float(part["unaccepted"].mean()) for part in groups]


def _front(
    keys: Mapping[str, Sequence[Any]], count: int, points: Sequence[Mapping[str, Any]]
) -> dict[int, float]:
    """Places of the points that a search found, and how often each is on the front."""
    shares = {}
    for i in range(count):
        mine = {key: values[i] for key, values in keys.items()}
        for point in points:
            if _same_point(mine, point.get("values", {})):
                shares[i] = float(point.get("share", np.nan))
    return shares


def _fresh(
    groups: Sequence[pd.DataFrame], front: Mapping[int, float], searched: int
) -> tuple[list[pd.DataFrame], frozenset[int]]:
    """Points by the replications that the search has not seen, where they have some; which have.

    What a search chose had luck in the replications that it was chosen by. Where it was cut short
    before it could confirm all of the front, those have to do, for all points.
    """
    late = [part["replication"] >= searched for part in groups]
    fresh = frozenset(i for i, rows in enumerate(late) if rows.any())
    if not fresh.issuperset(front):
        fresh = frozenset()
    chosen = [
        part[late[i]] if i in fresh else part[~late[i]] if (~late[i]).any() else part
        for i, part in enumerate(groups)
    ]
    return chosen, fresh


def _order(keys: Mapping[str, Sequence[Any]], count: int) -> list[int]:
    """Points in the order of their numbers; words keep the order in which they came."""
    columns = []
    for values in keys.values():
        ranks: dict[Any, int] = {}
        for value in sorted(set(values)) if is_numeric(values) else values:
            ranks.setdefault(value, len(ranks))
        columns.append([ranks[value] for value in values])
    rows = list(zip(*columns, strict=True)) if columns else [()] * count
    return sorted(range(count), key=rows.__getitem__)


def _same_point(values: Mapping[str, Any], point: Mapping[str, Any]) -> bool:
    def same(a: Any, b: Any) -> bool:
        try:
            return bool(np.isclose(float(a), float(b), rtol=1e-12, atol=0.0))
        except (TypeError, ValueError):
            return str(a) == str(b)

    return (
        bool(point)
        and set(point) <= set(values)
        and all(same(values[key], point[key]) for key in point)
    )


def _chosen(done: pd.DataFrame, study: StudyFolder) -> list[str]:
    """Measures worth a place on the page: those that differ between runs, the main ones first."""
    aims = _aims(study)
    moving = [
        name
        for name in study.measures
        if (study.states_energy or not rests_on_watts(name) or name in aims)
        and _moves(done[name].to_numpy(np.float64))
    ]
    # A measure that never changes says nothing, unless the study is about it.
    main = [name for name in headline() if name in moving]
    known = [name for name in moving if find(name) is not None]
    ordered = list(dict.fromkeys([*aims, *main, *known, *moving]))
    return ordered[:_MEASURES] or list(study.measures[:1])


def _moves(values: Floats) -> bool:
    known = values[np.isfinite(values)]
    return known.size > 0 and bool(known.min() < known.max())


def _aims(study: StudyFolder) -> list[str]:
    """Measures that a study is said to be about."""
    given = study.facts.get("objectives") or study.front.get("objectives") or ()
    return [str(name) for name in given if name in study.measures]


def _objectives(study: StudyFolder, measures: Sequence[str]) -> tuple[str, ...]:
    if _aims(study):
        return tuple(_aims(study))
    main = [name for name in headline() if name in measures]
    return tuple(main[:2]) or tuple(measures[:1])


def points_of_runs(comparison: ComparisonFolder) -> Points:
    """Return the runs of a comparison as points, one replication each."""
    stated = any(states_energy(run.summary) for run in comparison.runs)
    columns = {
        what.name: np.array([what.of(run.summary) for run in comparison.runs])
        for what in _compared()
        if stated or not what.rests_on_watts
    }
    kept = {name: values for name, values in columns.items() if np.nansum(np.abs(values)) > 0}
    if not kept:
        raise OptionError(f"{comparison.folder}: no job was served; there is nothing to report")
    objectives = [name for name in headline() if name in kept and np.ptp(kept[name]) > 0]
    return Points(
        {RUN: [run.name for run in comparison.runs]},
        {name: [values[i : i + 1] for i in range(values.size)] for name, values in kept.items()},
        [np.zeros(1, np.int64) for _ in comparison.runs],
        tuple(objectives[:2]) or tuple(list(kept)[:1]),
        jobs=_job_by_job(comparison),
        alone=[intervals_of_run(run) for run in comparison.runs],
        unaccepted=[float(run.summary.get("unaccepted", 0)) for run in comparison.runs],
    )


def intervals_of_run(run: RunFolder) -> dict[str, Interval]:
    """Return the intervals of one run, by measure: from batches of its jobs or of its time."""
    paths = paths_of(run)
    wait, slowdown, sojourn = map(run.in_order, ("wait", "bounded_slowdown", "sojourn"))
    made: dict[str, Callable[[float], Interval | None]] = {
        "wait_mean": partial(mean_of_run, wait),
        "wait_median": partial(quantile_of_run, wait, 0.5),
        "wait_p95": partial(quantile_of_run, wait, 0.95),
        "bounded_slowdown_mean": partial(mean_of_run, slowdown),
        "sojourn_mean": partial(mean_of_run, sojourn),
        "utilisation": partial(mean_over_time, paths.get("busy")),
        "mean_queue": partial(mean_over_time, paths.get("queued")),
        "energy_kwh": partial(mean_over_time, paths.get("power")),
    }
    intervals = {}
    for name, make in made.items():
        what = measure(name)
        if what.rests_on_watts and not states_energy(run.summary):
            continue
        value = what.of(run.summary)
        interval = make(value) if np.isfinite(value) and value > 0 else None
        if interval is not None:
            intervals[name] = bounded(what, interval)
    return intervals


def _compared() -> list[Measure]:
    """Measures of a comparison, those that a page speaks of first in front."""
    every = [*in_table("compare"), *in_table("report")]
    first = [what for what in map(measure, headline()) if what in every]
    return list(dict.fromkeys([*first, *every]))


def _job_by_job(comparison: ComparisonFolder) -> dict[str, list[Floats]]:
    """Measures of each job, if all runs served the same jobs."""
    tables = [run.jobs for run in comparison.runs]
    first = tables[0]["job"][np.isfinite(tables[0]["start"])]
    served = [np.isfinite(table["start"]) for table in tables]
    if not all(
        np.array_equal(table["job"][ran], first) for table, ran in zip(tables, served, strict=True)
    ):
        return {}
    return {
        name: [
            np.asarray(t[column], np.float64)[ran] for t, ran in zip(tables, served, strict=True)
        ]
        for name, column in (("wait_mean", "wait"), ("bounded_slowdown_mean", "bounded_slowdown"))
    }
