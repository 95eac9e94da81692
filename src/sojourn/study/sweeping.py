"""Sweeps: a scenario at many points, several times each, with what is known kept and reused."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import InputError, OptionError
from ..measures.registry import described_own, get
from ..run.folder import provenance
from ..run.scenario import Scenario, scenario_of
from .execute import DONE, FAILED, Bundle, Row
from .grid import Grid, Value
from .outcome import Point, Study, Tally
from .plan import (
    PlannedRun,
    StudyPlan,
    check_seed,
    check_size,
    plan_runs,
    replicable,
    settled,
    spelt,
)
from .precheck import added_to, check_files, check_measurable, check_measures
from .runners import Runner, open_runner
from .sequential import further_replications, is_precise
from .store import Store

if TYPE_CHECKING:
    from distributed import Client


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

    def check(self, plan: StudyPlan, replications: int) -> None:
        """Raise OptionError where more replications would not tell more."""
        if replications < 2:
            raise OptionError(
                "precision: one replication says nothing of its spread; give replications = 10 or "
                "so"
            )
        if plan.is_resampled:
            raise OptionError(
                "precision: all draws are of one log, and more of them do not make its numbers "
                "more certain; give replications alone"
            )

    def replications(self, point: Point) -> int:
        """Return how many good replications a point needs, those that it has included."""
        mean = point.measures.get(self.measure)
        if point.n < 2 or mean is None or is_precise(mean, relative=self.relative):
            return point.n
        # Few replications know little of their spread: at most twice as many at a time.
        wanted = min(further_replications(mean, relative=self.relative), 2 * point.n)
        return max(point.n, min(wanted, self.most))


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
    measures: Sequence[str] = (),
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
    measures : names that will be wanted: an error right after the first run if one is of none.
    watch : the measure whose best mean `progress` gets.
    progress : called with a `Tally` when runs have been finished.
    origin : provenance, as from `run.folder.provenance`.

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
    given = chosen = scenario_of(scenario)
    points = grid if isinstance(grid, Grid) else Grid.of(grid)
    start = check_seed(chosen.keys.run.seed if seed is None else seed)
    check_size(len(points), replications)
    check_files(chosen, points)
    chosen = replicable(chosen, points, replications)
    chosen = settled(chosen, points, replications, start)
    plan = plan_runs(chosen, points, replications, start)
    if precision is not None:
        precision.check(plan, replications)
    description = {
        **described(chosen, plan.keys, start, origin),
        **added_to(given, chosen),
        "replications": replications,
    }
    names = [*measures, *([] if precision is None else [precision.measure])]
    check_measurable(names, plan.keys)
    folder = None if out is None else Path(out)
    new, begun, interrupted = 0, False, False
    with Store(folder) as store:
        store.check(description)
        try:
            with contextlib.ExitStack() as stack:
                runner: Runner | None = None

                def opened() -> Runner:
                    bundle = Bundle.of(chosen, plan.keys)
                    return stack.enter_context(open_runner(bundle, workers=workers, client=client))

                missing = plan.ordered(store.finished(failed=not retry_failed))
                # Where all is known nothing has to be started, or even read; what cannot be is
                # found before there is a folder.
                if missing:
                    runner = opened()
                store.begin(description, chosen.as_toml(folder))
                begun = True
                check_measures(names, store.columns, plan.keys)
                while True:
                    missing = plan.ordered(store.finished(failed=not retry_failed))
                    if missing and runner is None:
                        runner = opened()
                    for tally in carried_out(plan, missing, store, runner, watch):
                        new += tally.new
                        if progress is not None:
                            progress(tally)
                        check_measures(names, store.columns, plan.keys)
                    counts = _wanted(plan, store, points, precision)
                    if counts is None:
                        break
                    plan, retry_failed = plan_runs(chosen, points, counts, start), False
        except KeyboardInterrupt:
            if not begun:
                raise
            interrupted = True
        rows = store.compact(run.run_id for run in plan.runs)
    return Study(plan, rows, new, folder, interrupted)


def _wanted(
    plan: StudyPlan, store: Store, grid: Grid, precision: Precision | None
) -> list[int] | None:
    """Replications that each point needs to be known so well; None if it has them."""
    if precision is None:
        return None
    study = Study(plan, store.table(run.run_id for run in plan.runs), 0)
    known = {
        spelt(list(point.values.values())): point for point in study.points([precision.measure])
    }
    counts, former = [], []
    for values in grid.points:
        point = known.get(spelt(list(values)))
        if point is None:  # The same values were given before, spelt in another way.
            former.append(1)
            counts.append(1)
            continue
        former.append(point.n + point.failed)
        wanted = point.failed + precision.replications(point)
        counts.append(max(former[-1], min(wanted, precision.most)))
    return counts if counts != former else None


def described(
    scenario: Scenario, keys: Sequence[str], seed: int, origin: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Return what ``study.json`` says of a study."""
    from ..run.inputs import digest_of

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
        **_assumed_watts(scenario),
        **({"measures": own} if (own := described_own()) else {}),
    }


def _assumed_watts(scenario: Scenario) -> dict[str, str]:
    """Say which watts energies rest on where nodes have none; files that are gone say nothing."""
    try:
        nodes = scenario.nodes
    except InputError:
        return {}
    words = None if nodes is None else nodes.power_model
    return {"power_model": words} if words else {}


def carried_out(
    plan: StudyPlan, missing: Sequence[PlannedRun], store: Store, runner: Runner | None, watch: str
) -> Iterator[Tally]:
    """Carry out what is missing of a plan, and yield how far it is."""
    if not missing or runner is None:
        return
    earlier = _known(plan, missing, store, watch)
    done, failed = len(plan) - len(missing), sum(row["status"] == FAILED for row in earlier)
    best = _Best(plan, watch)
    best.add(earlier)
    for rows in runner.run(missing):
        store.add(plan, rows)
        done += len(rows)
        failed += sum(row["status"] == FAILED for row in rows)
        best.add(rows)
        yield Tally(done, len(plan), failed, len(rows), best.so_far)


def _known(plan: StudyPlan, missing: Sequence[PlannedRun], store: Store, watch: str) -> list[Row]:
    """Rows of a plan that are there already, with the one measure that is watched."""
    table = store.table(None)
    wanted = plan.by_name.keys() - {run.run_id for run in missing}
    if not wanted:
        return []
    names, states = (table.column(name).to_pylist() for name in ("run_id", "status"))
    there = watch in table.column_names and watch not in plan.keys
    values = table.column(watch).to_pylist() if there else [None] * len(names)
    return [
        {"run_id": name, "status": state, "measures": {watch: value} if state == DONE else {}}
        for name, state, value in zip(names, states, values, strict=True)
        if name in wanted
    ]


class _Best:
    """Which point has the best mean so far: the smallest, unless more of the measure is better."""

    def __init__(self, plan: StudyPlan, measure: str) -> None:
        self._keys, self._measure = plan.keys, measure
        self._sign = -1.0 if get(measure).better == "higher" else 1.0
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
        total, n, at = min(self._sums.values(), key=lambda sums: self._sign * sums[0] / sums[1])
        cells = (
            f"{key}={value:.6g}" if isinstance(value, float) else f"{key}={value}"
            for key, value in zip(self._keys, at, strict=True)
        )
        return " ".join([f"{self._measure} {total / n:.4g}", *(("at", *cells) if at else ())])
