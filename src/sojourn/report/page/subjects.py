"""Runs, comparisons and studies: what a page is about."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...cluster.power import assumed_watts_of_study, study_asks
from ...errors import InputError
from ...files.access import load_toml
from ...jobs.classes import UNKNOWN
from ...measures import formulas
from ...measures.cost.clock import start_of
from ...run.inputs import digest_of
from ...run.keys import typed

if TYPE_CHECKING:
    import pandas as pd

    from ...jobs import Jobs

Columns = dict[str, NDArray[Any]]
_READING = ("width", "delimiter", "timezone", "wait_from", "partition_column")
"""Options of the reader of a log."""


@dataclass(frozen=True)
class RunFolder:
    """One run, as ``sojourn simulate --out`` writes it: its summary, and its tables by column.

    `schedule` and `nodes` are of a run on named nodes; a table is None if it was not written.
    """

    name: str
    folder: Path
    summary: Mapping[str, Any]
    jobs: Columns
    trajectory: Columns | None = None
    schedule: Columns | None = None
    nodes: Columns | None = None

    @property
    def described(self) -> Mapping[str, Mapping[str, Any]]:
        """What the files say of measures that are not ours, by name."""
        return self.summary.get("measures") or {}

    @property
    def procs(self) -> int:
        """Processors of the machine."""
        return int(self.summary["procs"])

    @property
    def resources(self) -> Mapping[str, Mapping[str, Any]]:
        """Of the resources of the nodes those that jobs ask for, as the summary has them."""
        every = self.summary.get("resources") or {}
        return {str(name): row for name, row in every.items() if row["jobs"]}

    @cached_property
    def _order(self) -> NDArray[np.int64]:
        return np.argsort(np.asarray(self.jobs["submit"], np.float64), kind="stable")

    def ordered(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return one value of each job in the order of submission."""
        return values[self._order]

    @cached_property
    def served(self) -> NDArray[np.bool_]:
        """Whether each job ran, in the order of submission."""
        return self.ordered(np.isfinite(np.asarray(self.jobs["start"], np.float64)))

    def in_order(self, name: str) -> NDArray[np.float64]:
        """Return a measure of each job that ran, in the order of submission."""
        if name in self.jobs:
            values = np.asarray(self.jobs[name], np.float64)
        else:
            since = self.jobs["submit" if name in ("sojourn", "slowdown") else "start"]
            values = np.asarray(self.jobs["end"], np.float64) - since
            if name == "slowdown":
                values = formulas.slowdown(values, self.jobs["end"] - self.jobs["start"])
        return self.ordered(values)[self.served]

    @property
    def _input(self) -> Mapping[str, Any]:
        """What the provenance says of the jobs."""
        origin: Mapping[str, Any] = self.summary.get("provenance", {}).get("input", {})
        return origin

    def _option(self, section: str, key: str, flag: str | None = None) -> Any:
        """What was requested: by a key of a scenario, or else by an option of a command."""
        options = self.summary.get("provenance", {}).get("options", {})
        table = options.get(section)
        return table.get(key) if isinstance(table, Mapping) else options.get(flag or key)

    @property
    def is_of_model(self) -> bool:
        """Whether a model made the jobs."""
        return bool(self._input.get("model"))

    @property
    def is_redrawn(self) -> bool:
        """Whether jobs are drawn from a log, so that their numbers are not those of the log."""
        grown = self._option("workload", "growth")
        return self._option("workload", "resample") is not None or grown not in (None, 1, 1.0)

    @cached_property
    def log(self) -> Jobs | None:
        """The log that the run was made of, if it is still there as it was."""
        from ...jobs.log import read_jobs

        given, names = self._input, self._option("workload", "columns")
        path, digest = given.get("path"), given.get("sha256")
        if path is None or digest is None or digest_of(path) != digest:
            return None
        try:
            return read_jobs(
                Path(path),
                self._option("workload", "format", "log_format"),
                columns=typed.columns(names) if isinstance(names, str) else names,
                **{name: self._option("workload", name) for name in _READING},
            )
        except (InputError, ValueError):
            return None

    def who(self, column: str) -> NDArray[Any] | None:
        """Return the user, group, account, partition, queue or QoS of each job by name.

        None where it is known of no job.
        """
        if column not in self._who:
            names = self._names(column)
            if names is not None and (names == "").all():
                names = None
            self._who[column] = None if names is None else np.where(names == "", UNKNOWN, names)
        return self._who[column]

    @cached_property
    def _who(self) -> dict[str, NDArray[Any] | None]:
        return {}

    def _names(self, column: str) -> NDArray[Any] | None:
        if column in self.jobs:
            return _as_names(self.jobs[column])
        if self.is_redrawn or self.log is None or column not in self.log.names:
            return None
        order = np.argsort(self.log.job, kind="stable")
        sorted_jobs = self.log.job[order]
        wanted = self.jobs["job"]
        at = np.minimum(np.searchsorted(sorted_jobs, wanted), sorted_jobs.size - 1)
        if not np.array_equal(sorted_jobs[at], wanted):
            return None
        return self.log[order[at]].labels(column)

    @cached_property
    def unix_start(self) -> float | None:
        """Unix time (s) of second 0 of the log's clock: as it was given, or as its header says."""
        given = self._option("power", "starts")
        if given is not None:
            return start_of(str(given)).timestamp()
        recorded = self.log.header.get("UnixStartTime") if self.log is not None else None
        try:
            seconds = float(recorded or 0.0)
        except ValueError:
            return None
        return seconds if seconds > 0 else None

    @property
    def clock_name(self) -> str:
        """Whose clock `unix_start` goes by: UTC, unless the log does not name its zone."""
        zones = ("TimeZoneString", "TimeZone")
        named = self.log is not None and any(self.log.header.get(zone) for zone in zones)
        given = self._option("power", "starts") is not None
        return "UTC" if named or given else "clock of the log"


@dataclass(frozen=True)
class ComparisonFolder:
    """At least two runs of the same jobs; changes are relative to the first.

    `facts` is ``compare.json``, if there is one.
    """

    folder: Path
    runs: tuple[RunFolder, ...]
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def described(self) -> Mapping[str, Mapping[str, Any]]:
        """What the files say of measures that are not ours, by name."""
        return {name: what for run in self.runs for name, what in run.described.items()}


@dataclass(frozen=True)
class StudyFolder:
    """Many runs, one row for each that was finished or failed.

    `keys` are columns of what was varied, `measures` columns of numbers, `facts` is ``study.json``,
    `scenario` the text of ``scenario.toml``, `front` is ``front.json`` of a search for trade-offs.
    """

    folder: Path
    runs: pd.DataFrame
    keys: tuple[str, ...]
    measures: tuple[str, ...]
    facts: Mapping[str, Any]
    scenario: str
    front: Mapping[str, Any]

    @property
    def described(self) -> Mapping[str, Mapping[str, Any]]:
        """What the files say of measures that are not ours, by name."""
        return self.facts.get("measures") or {}

    @cached_property
    def settings(self) -> Mapping[str, Any]:
        """What the scenario says; nothing where it cannot be read."""
        try:
            return load_toml(self.scenario)
        except ValueError:
            return {}

    @property
    def assumed_watts(self) -> str:
        """What watts its energies rest on if nobody gave any; else nothing."""
        recorded = str(self.facts.get("power_model") or "")
        assumed = assumed_watts_of_study(self.settings, self.keys)
        return assumed or recorded if self.scenario else ""

    @property
    def states_energy(self) -> bool:
        """Whether its energies are shown without being what it is about."""
        return not self.assumed_watts or study_asks(self.settings, self.keys)

    @property
    def is_resampled(self) -> bool:
        """Whether replications are draws of one log."""
        workload = self.settings.get("workload")
        drawn = isinstance(workload, Mapping) and workload.get("resample") is not None
        return drawn or "workload.resample" in self.keys

    @cached_property
    def requested(self) -> int | None:
        """How many runs were requested, if that is known beforehand."""
        from ...study.grid import parse_axis

        options = self.facts.get("options") or {}
        if "set" not in options or options.get("sample") or options.get("precision"):
            return None
        try:
            points = math.prod(len(parse_axis(axis)[1]) for axis in options["set"])
            return points * int(self.facts["replications"])
        except (InputError, LookupError, TypeError, ValueError):
            return None


def _as_names(values: NDArray[Any]) -> NDArray[Any]:
    """Return names, or the numbers of a table that has no names, as text; empty if not known."""
    if values.dtype.kind in "iuf":
        known = (values >= 0) & (values < 2.0**63)
        return np.where(known, np.where(known, values, 0).astype(np.int64).astype(np.str_), "")
    return np.array(["" if name is None else str(name) for name in values], dtype=np.str_)
