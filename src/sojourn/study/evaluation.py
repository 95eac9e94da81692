"""Objectives of points: means over replications, from runs that are kept and never done twice."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..arrays import Floats
from ..errors import InputError, OptionError
from ..run.scenario import Scenario
from .execute import DONE, FAILED
from .grid import Grid, Value
from .outcome import Tally
from .plan import StudyPlan, at_point, plan_runs, spelt
from .precheck import check_measures
from .rows import ABOUT, check_known
from .runners import Runner
from .store import Store
from .sweeping import carried_out

Values = tuple[Value, ...]

_UNACCEPTED = "unaccepted"
"""Measure of jobs that never fit, which no other measure counts."""


class Objective(NamedTuple):
    """A measure that is to be small (sign 1), or large (-1)."""

    measure: str
    sign: float = 1.0


def parse_objectives(
    minimise: Sequence[str] | str, maximise: Sequence[str] | str = ()
) -> tuple[Objective, ...]:
    """Return the objectives; an error where a measure is named twice, or none is."""
    objectives = [Objective(name) for name in _names(minimise)]
    objectives += [Objective(name, -1.0) for name in _names(maximise)]
    names = [objective.measure for objective in objectives]
    if not names:
        raise OptionError("no measure to minimise; give one or more, such as wait_mean,energy_kwh")
    if len(set(names)) < len(names):
        raise OptionError(f"objectives {', '.join(names)}: one is named twice")
    return tuple(objectives)


def _names(measures: Sequence[str] | str) -> list[str]:
    """The names of a list, or of a text with commas between them."""
    parts = measures.split(",") if isinstance(measures, str) else measures
    return [name.strip() for name in parts if name.strip()]


class Evaluations:
    """Evaluates points by their runs.

    `report` is called with a tally, of all runs requested so far, when some have been finished.
    """

    def __init__(
        self,
        scenario: Scenario,
        keys: Sequence[str],
        objectives: Sequence[Objective],
        seed: int,
        store: Store,
        runner: Runner,
        report: Callable[[Tally], None],
    ) -> None:
        self._scenario, self._keys, self._objectives = scenario, tuple(keys), tuple(objectives)
        self._seed, self._store, self._runner, self._report = seed, store, runner, report
        self._known: dict[str, Floats] = {}
        self._failed: dict[str, str] = {}
        self._unaccepted: dict[str, float] = {}
        self._order: dict[str, None] = {}
        self.points: dict[str, Values] = {}
        """Every point that was looked at, by its spelling."""
        self._samples: dict[str, Floats] = {}
        self._runs: dict[str, dict[str, None]] = {}
        self.new = 0
        self.problem: InputError | None = None
        """Why the first of the points that cannot be run cannot."""
        self._read()

    def add(self, points: Sequence[Values], replications: int | Sequence[int]) -> None:
        """Make sure that points have been run so many times."""
        counts = [replications] * len(points) if isinstance(replications, int) else replications
        wanted: dict[str, tuple[Values, int]] = {}
        for values, count in zip(points, counts, strict=True):
            self.points.setdefault(spelt(values), values)
            self._samples.setdefault(spelt(values), np.empty((0, len(self._objectives))))
            if len(self._samples[spelt(values)]) < count and self._usable(values):
                wanted[spelt(values)] = values, count
        if not wanted:
            return
        grid = Grid(self._keys, tuple(values for values, _ in wanted.values()))
        # Whether anything is random was seen before: these may be the points where nothing is.
        plan = plan_runs(
            self._scenario, grid, [count for _, count in wanted.values()], self._seed, alike=True
        )
        # Runs of earlier plans are in a plan again where a point gets more replications.
        others = self._order.keys() - plan.by_name.keys()
        lost = len(others & self._failed.keys())
        self._order.update(dict.fromkeys(plan.by_name))
        missing = plan.ordered(self._store.finished())
        for tally in carried_out(plan, missing, self._store, self._runner, ""):
            self.new += tally.new
            self._check_names()
            done = len(others) + tally.done
            self._report(replace(tally, done=done, failed=lost + tally.failed))
        self._read()
        self._take(plan)

    def _usable(self, values: Values) -> bool:
        try:
            at_point(self._scenario, self._keys, values)
        except InputError as error:
            self.problem = self.problem or error
            return False
        return True

    def _check_names(self) -> None:
        """See that each objective is a measure, once there is a run that has some."""
        names = (objective.measure for objective in self._objectives)
        wanted = [name for name in names if name not in self._keys]
        check_measures(wanted, self._store.columns, self._keys)

    def _read(self) -> None:
        """Look up the objectives of all runs that are kept."""
        table = self._store.table(())
        if not table.num_rows:
            return
        names = [objective.measure for objective in self._objectives]
        ids, states = (table.column(name).to_pylist() for name in ("run_id", "status"))
        rows = zip(ids, states, table.column("error").to_pylist(), strict=True)
        self._failed = {name: error for name, state, error in rows if state == FAILED}
        done = np.array([state == DONE for state in states])
        if not done.any():
            return
        for name in names:
            check_known(name, [column for column in table.column_names if column not in ABOUT])
            if str(table.schema.field(name).type) == "string":
                raise OptionError(f"'{name}' is a text; give measures to minimise or maximise")
        columns = [table.column(name).to_pandas().to_numpy(dtype=np.float64) for name in names]
        signed = np.column_stack(columns) * [objective.sign for objective in self._objectives]
        self._known = {name: row for name, row, good in zip(ids, signed, done, strict=True) if good}
        if _UNACCEPTED in table.column_names:
            counts = table.column(_UNACCEPTED).to_pylist()
            self._unaccepted = {
                name: count for name, count in zip(ids, counts, strict=True) if count is not None
            }

    def _take(self, plan: StudyPlan) -> None:
        """Put together the replications of each point; a failed one is a row of nan."""
        rows: dict[str, list[Floats | None]] = {}
        for run in plan.runs:
            rows.setdefault(spelt(run.values), []).append(self._known.get(run.run_id))
            self._runs.setdefault(spelt(run.values), {})[run.run_id] = None
        nothing = np.full(len(self._objectives), np.nan)
        for key, runs in rows.items():
            self._samples[key] = np.array(
                [nothing if row is None or not np.isfinite(row).all() else row for row in runs]
            )

    def sample(self, values: Values) -> Floats:
        """Return the signed objectives of a point, one row for each replication; nan if failed."""
        return self._samples[spelt(values)]

    def mean(self, values: Values, first: int = 0, last: int | None = None) -> Floats:
        """Return the signed mean objectives of a point; nan where a replication failed."""
        sample = self.sample(values)[first:last]
        return sample.mean(axis=0) if len(sample) else np.full(len(self._objectives), math.nan)

    def unaccepted(self, values: Values) -> float:
        """Return how many jobs never fit at a point: the mean over its runs."""
        names = self._runs.get(spelt(values), ())
        counts = [self._unaccepted[name] for name in names if name in self._unaccepted]
        return float(np.mean(counts)) if counts else 0.0

    @property
    def done(self) -> int:
        """How many of the runs that were requested are there."""
        return len(self._order.keys() & self._store.finished())

    @property
    def first_error(self) -> str:
        """What went wrong in the first run that failed; empty if none did."""
        return next((self._failed[name] for name in self._order if name in self._failed), "")

    @property
    def order(self) -> list[str]:
        """Names of all runs, in the order in which they were requested."""
        return list(self._order)
