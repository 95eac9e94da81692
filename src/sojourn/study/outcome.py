"""What a study found: its runs, and what they say of each point."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .._html import html_table, plain
from ..arrays import Floats
from ..cluster.power import assumed_watts_of_study, study_asks
from ..errors import OptionError, did_you_mean
from ..measures.entry import Unit
from ..measures.registry import in_table
from .execute import DONE, FAILED
from .grid import Value
from .intervals import Interval, mean_interval, resampled_interval
from .paired import relative_change, resampled_change
from .plan import StudyPlan, as_cell, spelt
from .rows import ABOUT, check_known

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


_POINTS_SHOWN = 20


def replicated_interval(values: Floats, resampled: bool, *, level: float = 0.95) -> Interval:
    """Return the interval of a mean over replications, or over draws of one log."""
    if resampled and len(values) > 1:
        return resampled_interval(values, level=level)
    return mean_interval(values, level=level)


def replicated_change(
    values: Floats, baseline: Floats, resampled: bool, *, level: float = 0.95
) -> Interval:
    """Return the relative change between pairs of replications, or of draws of one log."""
    if np.array_equal(values, baseline):
        return Interval(0.0, 0.0, 0.0, level, len(values), "the same in each pair")
    if resampled and len(values) > 1:
        return resampled_change(values, baseline, level=level)
    return relative_change(values, baseline, level=level)


def _with_half_width(interval: Interval | None, unit: Unit) -> str:
    """A mean as a notebook shows it."""
    if interval is None:
        return plain(math.nan)
    half = (interval.high - interval.low) / 2 / unit.size
    mean = plain(interval.estimate / unit.size)
    return f"{mean} ± {plain(half)}" if math.isfinite(half) else mean


@dataclass(frozen=True)
class Tally:
    """How far a study is: runs that are done, those of earlier calls too; `new` just now.

    `best` is what is best so far, in a few words; empty before there is anything.
    """

    done: int
    total: int
    failed: int
    new: int
    best: str = ""


@dataclass(frozen=True)
class Point:
    """What a study found at one point.

    Parameters
    ----------
    values : by key.
    n : replications that were done.
    failed : replications that failed.
    measures : means over the replications with their intervals, by name.
    """

    values: Mapping[str, Value]
    n: int
    failed: int
    measures: Mapping[str, Interval]

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return asdict(self)


@dataclass(frozen=True, repr=False)
class Study:
    """The runs of a sweep.

    Parameters
    ----------
    plan : what was requested.
    rows : one row per run: name, keys, replication, seed, every measure, status, error.
    new : how many runs this call carried out.
    folder : where they are kept; None if nowhere.
    interrupted : whether the study was cut short.

    Examples
    --------
    >>> import sojourn
    >>> workload = {"model": "lublin", "jobs": 200, "load": 0.8}
    >>> scenario = {"workload": workload, "cluster": {"procs": 64}}
    >>> grid = {"policy.name": ["fcfs", "easy"]}
    >>> study = sojourn.sweep(scenario, grid, replications=3, workers=1)
    >>> study
    <Study of policy.name: 2 points, 6 of 6 runs>
    >>> [point.n for point in study.points(["wait_mean"])]
    [3, 3]
    >>> first, second = study.changes({"policy.name": "fcfs"}, ["wait_mean"])
    >>> second.measures["wait_mean"].estimate < 0
    True
    """

    plan: StudyPlan
    rows: pa.Table
    new: int
    folder: Path | None = None
    interrupted: bool = False

    def __repr__(self) -> str:
        points = len(self._by_point) if self.rows.num_rows else 0
        return f"<Study of {', '.join(self.plan.keys)}: {points} points, {self._progress}>"

    @property
    def _progress(self) -> str:
        failed = f", {self.failed:,} failed" if self.failed else ""
        return f"{self.done:,} of {len(self.plan):,} runs{failed}"

    def _repr_html_(self) -> str:
        scenario, keys = self.plan.scenario, self.plan.keys
        settings = scenario.as_mapping()
        assumed = assumed_watts_of_study(settings, keys)
        if not assumed and scenario.nodes is not None:
            assumed = scenario.nodes.power_model or ""
        stated = not assumed or study_asks(settings, keys)
        shown = [
            what
            for what in in_table("sweep")
            if what.name in self.measures and (stated or not what.rests_on_watts)
        ]
        points = list(self.points([what.name for what in shown]))
        means = [
            {name: interval.estimate for name, interval in point.measures.items()}
            for point in points
            if len(point.measures) == len(shown)
        ]
        units = [what.unit_of_column(means) for what in shown]
        rows = [
            [
                *point.values.values(),
                point.n,
                *(
                    _with_half_width(point.measures.get(what.name), unit)
                    for what, unit in zip(shown, units, strict=True)
                ),
            ]
            for point in points[:_POINTS_SHOWN]
        ]
        heads = [what.titled(unit) for what, unit in zip(shown, units, strict=True)]
        notes = ["means with half of their 95 % intervals"]
        if len(points) > len(rows):
            notes.append(f"and {len(points) - len(rows):,} more points")
        if stated and assumed:
            notes.append(f"energy: {assumed}")
        return html_table(self._progress, [*keys, "n", *heads], rows, "; ".join(notes))

    @cached_property
    def table(self) -> pd.DataFrame:
        """The runs as a data frame, by point and replication."""
        frame: pd.DataFrame = self.rows.to_pandas()
        return frame

    @property
    def measures(self) -> tuple[str, ...]:
        """Names of the measures."""
        aside = {*ABOUT, *self.plan.keys}
        return tuple(name for name in self.rows.column_names if name not in aside)

    @property
    def is_resampled(self) -> bool:
        """Whether replications are draws of one log: their spread is the error of its numbers."""
        return self.plan.is_resampled

    @cached_property
    def done(self) -> int:
        """How many of the runs requested are there and did not fail."""
        return self._count(DONE)

    @cached_property
    def failed(self) -> int:
        """How many of the runs requested failed."""
        return self._count(FAILED)

    def _count(self, status: str) -> int:
        if not self.rows.num_rows:
            return 0
        return int((self.table["status"].iloc[: self._planned] == status).sum())

    @cached_property
    def _planned(self) -> int:
        """Rows of this plan, which come first; others are of earlier calls."""
        mine = self.plan.by_name
        return sum(name in mine for name in self.rows.column("run_id").to_pylist())

    @property
    def errors(self) -> list[str]:
        """What went wrong in runs that failed, each message once."""
        if not self.failed:
            return []
        runs = self.table.iloc[: self._planned]
        return list(dict.fromkeys(runs.loc[runs["status"] == FAILED, "error"]))

    def points(
        self, measures: Sequence[str] | None = None, *, level: float = 0.95
    ) -> Iterator[Point]:
        """Yield what was found at each point, in their order.

        Parameters
        ----------
        measures : which ones; default: all.
        level : of the intervals, by Student's t over the replications. Where these are draws of
            one log the interval is as wide as they spread, however many there are.
        """
        names = self._chosen(measures)
        for values, failed, good in self._by_point:
            intervals = {
                name: replicated_interval(numbers, self.is_resampled, level=level)
                for name in names
                if len(good) and np.isfinite(numbers := good[name].to_numpy()).all()
            }
            at = dict(zip(self.plan.keys, values, strict=True))
            yield Point(at, len(good), failed, intervals)

    def changes(
        self,
        baseline: Mapping[str, Value],
        measures: Sequence[str] | None = None,
        *,
        level: float = 0.95,
    ) -> Iterator[Point]:
        """Yield how much each point differs from its baseline: -0.31 is 31 % less.

        Replications are compared in pairs that share their random numbers, so that intervals are
        much narrower than those of the points themselves.

        Parameters
        ----------
        baseline : values of some keys, such as ``{"policy.name": "fcfs"}``: a point is compared
            with the one that has these, and its own values of all other keys.
        measures, level : as in `points`.
        """
        keys = self.plan.keys
        names = self._chosen(measures)
        known = {tuple(map(as_cell, values)): good for values, _, good in self._by_point}
        for key in baseline:
            if key not in keys:
                near = did_you_mean(key, keys) or f"; varied are {', '.join(keys)}"
                raise OptionError(f"baseline: '{key}' is not varied{near}")
        for values, failed, good in self._by_point:
            at = dict(zip(keys, values, strict=True))
            base = tuple(as_cell(value) for value in {**at, **baseline}.values())
            if base not in known:
                other = ", ".join(f"{key}={value}" for key, value in baseline.items())
                raise OptionError(f"baseline: no point has {other}; give values that were run")
            pairs = good.index.intersection(known[base].index)
            intervals = {}
            for name in names if len(pairs) > 1 else ():
                these, those = (rows.loc[pairs, name].to_numpy() for rows in (good, known[base]))
                if np.isfinite(these).all() and np.isfinite(those).all() and those.mean() != 0:
                    intervals[name] = replicated_change(
                        these, those, self.is_resampled, level=level
                    )
            yield Point(at, len(pairs), failed, intervals)

    def _chosen(self, measures: Sequence[str] | None) -> Sequence[str]:
        """Measures requested, each of them one that there is."""
        if measures is None or not self.measures:
            return self.measures
        for name in measures:
            check_known(name, self.measures)
        return measures

    @cached_property
    def _by_point(self) -> list[tuple[tuple[Value, ...], int, pd.DataFrame]]:
        """Of each point its values, how many runs failed, and those that did not."""
        table = self.table.iloc[: self._planned]
        runs = self.plan.by_name
        points = []
        for _, rows in table.groupby(
            [spelt(runs[name].values) for name in table["run_id"]], sort=False
        ):
            good = rows[rows["status"] == DONE].set_index("replication", drop=False)
            good.index.name = None
            points.append((runs[rows["run_id"].iloc[0]].values, len(rows) - len(good), good))
        return points

    def as_dict(
        self, measures: Sequence[str] | None = None, baseline: Mapping[str, Value] | None = None
    ) -> dict[str, Any]:
        """Return plain values, ready for JSON; with a baseline the changes against it too."""
        points = [point.as_dict() for point in self.points(measures)]
        if baseline:
            for point, change in zip(points, self.changes(baseline, measures), strict=True):
                point["changes"] = change.as_dict()["measures"]
        return {
            "folder": None if self.folder is None else str(self.folder),
            "keys": list(self.plan.keys),
            "runs": len(self.plan),
            "done": self.done,
            "failed": self.failed,
            "new": self.new,
            "interrupted": self.interrupted,
            "errors": self.errors,
            "points": points,
        }
