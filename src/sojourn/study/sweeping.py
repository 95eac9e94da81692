"""Sweeps: a scenario at many points, several times each, with what is known kept and reused."""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import OptionError
from ..output import provenance
from .execute import FAILED, Bundle, Row
from .grid import Grid, Value
from .outcome import Point, Study, Tally
from .plan import Plan, Run, plan_runs, replicable, spelt
from .runners import Runner, open_runner, stop_if_imported
from .scenario import Scenario, scenario_of
from .sequential import is_precise
from .store import Store

if TYPE_CHECKING:
    from distributed import Client

__all__ = ["Precision", "sweep"]


@dataclass(frozen=True)
class Precision:
    """How well a measure is to be known.

    Parameters
    ----------
    measure : its name.
    relative : half width of the 95 % interval over the mean, such as 0.05.
    most : replications of a point, however well it is known then.
    """

    measure: str
    relative: float
    most: int = 1000

    def __post_init__(self) -> None:
        if not 0 < self.relative < 1:
            raise OptionError(f"a precision of {self.relative:g}: give a share such as 0.05")

    def replications(self, point: Point) -> int:
        """Return how many good replications a point needs, those that it has included."""
        found = point.measures.get(self.measure)
        if point.n < 2 or found is None or is_precise(found, relative=self.relative):
            return point.n
        if found.estimate == 0:
            return max(point.n, self.most)
        # The half width falls as the root of the replications [stein1945].
        goal = self.relative * abs(found.estimate)
        return max(point.n, min(math.ceil(point.n * (found.half_width / goal) ** 2), self.most))


def sweep(
    scenario: Scenario | Mapping[str, Any] | str | os.PathLike[str],
    grid: Grid | Mapping[str, Sequence[Value] | str] | Sequence[Mapping[str, Value]],
    replications: int = 1,
    client: Client | str | None = None,
    *,
    out: str | os.PathLike[str] | None = None,
    seed: int | None = None,
    workers: int | None = None,
    precision: Precision | None = None,
    retry_failed: bool = False,
    watch: str = "wait_mean",
    progress: Callable[[Tally], None] | None = None,
    origin: Mapping[str, Any] | None = None,
) -> Study:
    """Run a scenario at many points, several times each.

    Parameters
    ----------
    scenario : what is the same in all runs: a `Scenario`, the values of its keys, or its file.
    grid : values by key, such as ``{"control.k": "0:3e6:1e5", "policy.order": ["fcfs", "sjf"]}``,
        a list of points, or a `Grid`.
    replications : runs of each point, each with other random numbers; those of replication r are
        the same at all points.
    client : a Dask client, which stays open, or the address of a Dask scheduler.
    out : folder in which runs are kept as they are finished. Runs that are there already are not
        run again, so that a study which was cut short goes on, and one that is extended runs only
        what is new.
    seed : of the study; default: ``run.seed`` of the scenario.
    workers : processes on this machine, where there is no client; see `open_runner`.
    precision : how well a measure is to be known at each point; replications are added until it
        is.
    retry_failed : run again what failed.
    watch : the measure whose smallest mean `progress` is told.
    progress : called with a `Tally` when runs have been finished.
    origin : provenance, as from `output.provenance`.

    Returns
    -------
    Study
        Of all runs; when interrupted, of those that were finished.

    Examples
    --------
    >>> from sojourn.study import Scenario, sweep
    >>> scenario = Scenario.from_mapping(
    ...     {"workload": {"model": "lublin", "jobs": 200, "load": 0.8}, "cluster": {"procs": 64}}
    ... )
    >>> study = sweep(scenario, {"policy.name": ["fcfs", "easy"]}, replications=3, workers=1)
    >>> len(study.table)
    6
    """
    stop_if_imported()
    chosen = scenario_of(scenario)
    points = grid if isinstance(grid, Grid) else Grid.of(grid)
    chosen = replicable(chosen, points, replications)
    start = chosen.keys.run.seed if seed is None else seed
    plan = plan_runs(chosen, points, replications, start)
    if precision is not None and replications < 2:
        raise OptionError(
            "precision: one replication says nothing of its spread; give replications = 10 or so"
        )
    if precision is not None and chosen.keys.workload.resample is not None:
        raise OptionError(
            "precision: all draws are of one log, and more of them do not make its numbers more "
            "certain; give replications alone"
        )
    told = {**described(chosen, plan.keys, start, origin), "replications": replications}
    folder = None if out is None else Path(out)
    new, interrupted = 0, False
    with Store(folder) as store:
        store.begin(told, chosen.as_toml(folder))
        try:
            with contextlib.ExitStack() as stack:
                runner: Runner | None = None
                while True:
                    missing = plan.ordered(store.finished(failed=not retry_failed))
                    # Where all is known nothing has to be started, or even read.
                    if missing and runner is None:
                        bundle = Bundle.of(chosen, plan.keys)
                        opened = open_runner(bundle, workers=workers, client=client)
                        runner = stack.enter_context(opened)
                    for tally in carried_out(plan, missing, store, runner, watch):
                        new += tally.new
                        if progress is not None:
                            progress(tally)
                    counts = _wanted(plan, store, points, precision)
                    if counts is None:
                        break
                    plan, retry_failed = plan_runs(chosen, points, counts, start), False
        except KeyboardInterrupt:
            interrupted = True
        rows = store.compact(run.run_id for run in plan.runs)
    return Study(plan, rows, new, folder, interrupted)


def _wanted(plan: Plan, store: Store, grid: Grid, precision: Precision | None) -> list[int] | None:
    """Replications that each point needs to be known so well; None if it has them."""
    if precision is None:
        return None
    study = Study(plan, store.table(run.run_id for run in plan.runs), 0)
    found = {
        spelt(list(point.values.values())): point for point in study.points([precision.measure])
    }
    counts, former = [], []
    for values in grid.points:
        point = found.get(spelt(list(values)))
        if point is None:  # The same values were given before, spelt in another way.
            former.append(1)
            counts.append(1)
            continue
        former.append(point.n + point.failed)
        counts.append(point.failed + precision.replications(point))
    return counts if counts != former else None


def described(
    scenario: Scenario, keys: Sequence[str], seed: int, origin: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Return what ``study.json`` says of a study."""
    from .inputs import digest_of

    return {
        **(origin or provenance("", {})),
        "seed": seed,
        "keys": list(keys),
        "scenario": scenario.digest,
        "question": scenario.keys.question,
        "inputs": {
            name: {"path": str(path), "sha256": digest_of(path)}
            for name, path in scenario.files.items()
        },
    }


def carried_out(
    plan: Plan, missing: Sequence[Run], store: Store, runner: Runner | None, watch: str
) -> Iterator[Tally]:
    """Carry out what is missing of a plan, and yield how far it is."""
    done, failed = len(plan) - len(missing), 0
    best = _Best(plan, watch)
    for rows in runner.run(missing) if runner is not None and missing else ():
        store.add(plan, rows)
        done += len(rows)
        failed += sum(row["status"] == FAILED for row in rows)
        best.add(rows)
        yield Tally(done, len(plan), failed, len(rows), best.so_far)


class _Best:
    """Which point has the smallest mean so far."""

    def __init__(self, plan: Plan, measure: str) -> None:
        self._keys, self._measure = plan.keys, measure
        self._runs = plan.by_name
        self._sums: dict[str, tuple[float, int, Sequence[Value]]] = {}

    def add(self, rows: Sequence[Row]) -> None:
        for row in rows:
            value = row["measures"].get(self._measure)
            if value is not None and value == value:
                at = self._runs[row["run_id"]].values
                total, n, _ = self._sums.get(spelt(at), (0.0, 0, at))
                self._sums[spelt(at)] = total + value, n + 1, at

    @property
    def so_far(self) -> str:
        if not self._sums:
            return ""
        total, n, at = min(self._sums.values(), key=lambda each: each[0] / each[1])
        cells = (
            f"{key}={value:.6g}" if isinstance(value, float) else f"{key}={value}"
            for key, value in zip(self._keys, at, strict=True)
        )
        return " ".join([f"{self._measure} {total / n:.4g}", *(("at", *cells) if at else ())])
