"""The best trade-offs of a scenario: a search for its Pareto front, with intervals.

Every point is run with the same random numbers, so that the search compares means over the same
replications. A point that wins may have been lucky in them: the points found are run again with
others, and only these are reported.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import Floats
from ..errors import OptionError, RunError
from ..run.scenario import Scenario, scenario_of
from .evaluation import Evaluations, Objective, parse_objectives
from .execute import Bundle
from .front import (
    Front,
    FrontPoint,
    comparable,
    estimated_front,
    hypervolume,
    nondominated,
    unknown,
)
from .grid import Range, Value, parse_ranges
from .intervals import Interval
from .nsga import Generations
from .outcome import Tally
from .plan import check_keys, check_seed, check_size, draws_log, replicable, settled
from .precheck import added_to, check_files, check_measurable, is_random_somewhere, typical_points
from .runners import open_runner
from .store import Store
from .sweeping import described

if TYPE_CHECKING:
    from distributed import Client

Values = tuple[Value, ...]

_REPLICATIONS = 5


def optimise(
    scenario: Scenario | Mapping[str, Any] | str | os.PathLike[str],
    vary: Sequence[Range | str] | Mapping[str, str],
    minimise: Sequence[str] | str,
    client: Client | str | None = None,
    *,
    maximise: Sequence[str] | str = (),
    out: str | os.PathLike[str] | None = None,
    seed: int | None = None,
    population: int = 32,
    generations: int = 25,
    replications: int | None = None,
    confirm: int | None = None,
    noisy: bool = False,
    reference: Sequence[float] | None = None,
    workers: int | None = None,
    progress: Callable[[Tally], None] | None = None,
    origin: Mapping[str, Any] | None = None,
) -> Front:
    """Search for the best trade-offs of a scenario, by NSGA-II [deb2002].

    Parameters
    ----------
    scenario : what is the same in all runs: a `Scenario`, the values of its keys, or its file.
    vary : keys and their ranges, such as ``"control.k=0:3e6"``, ``"policy.order=fcfs,sjf"``, or
        by key.
    minimise, maximise : measures, as a list or with commas between them.
    client, out, seed, workers : as for `sweep`; a search that was cut short goes on from what it
        has, and one with more generations from where it ended.
    population, generations : of the search.
    replications : of each point; default: 5, or 1 where nothing in the scenario is random.
    confirm : replications of each point that was found, with other random numbers: what is reported
        of the front is from these alone, without those that fail at one of the points. Default:
        as many as `replications`; 0 for none.
    noisy : begin with a quarter of the replications, and add to points as long as they are on the
        front: more points are looked at for the same runs.
    reference : of the hypervolume, one value for each measure; default: the worst of the first
        generation.
    progress : called with a `Tally` when runs have been finished.
    origin : provenance, as from `run.folder.provenance`.
    """
    given = chosen = scenario_of(scenario)
    ranges = parse_ranges(vary)
    keys = tuple(item.key for item in ranges)
    objectives = parse_objectives(minimise, maximise)
    check_measurable([objective.measure for objective in objectives], keys)
    points = typical_points(ranges)
    check_keys(chosen, points)
    check_files(chosen, points, apart=True)
    start = check_seed(chosen.keys.run.seed if seed is None else seed)
    if replications is None:
        replications = _REPLICATIONS if is_random_somewhere(chosen, points) else 1
    chosen = replicable(chosen, points, replications)
    random = is_random_somewhere(chosen, points)
    effort = _Effort(population, generations, replications, confirm, noisy, random)
    corner = _corner(reference, objectives)
    chosen = settled(chosen, points, effort.replications, start)
    evolution = Generations(ranges, len(objectives), population, generations, start)
    folder = None if out is None else Path(out)
    description = {
        **described(chosen, keys, start, origin),
        **added_to(given, chosen),
        "replications": effort.replications,
        "objectives": [objective.measure for objective in objectives],
        "maximised": [objective.measure for objective in objectives if objective.sign < 0],
    }
    bundle = Bundle.of(chosen, keys)
    with Store(folder) as store:
        store.check(description)
        with open_runner(bundle, workers=workers, client=client) as runner:
            store.begin(description, chosen.as_toml(folder))
            search = _Search(evolution, effort, corner)

            def report(tally: Tally) -> None:
                if progress is not None:
                    total = max(effort.runs, tally.done)
                    progress(replace(tally, total=total, best=search.so_far))

            evaluations = Evaluations(chosen, keys, objectives, start, store, runner, report)
            interrupted = False
            try:
                search.through(evaluations)
            except KeyboardInterrupt:
                interrupted = True
        store.compact(evaluations.order)
        resampled = draws_log(chosen, keys)
        front = search.front(evaluations, keys, objectives, start, resampled)
        front = replace(front, folder=folder, interrupted=interrupted)
        if front.points:
            store.write_json("front.json", front.as_dict())
        elif not interrupted:
            store.remove("front.json")  # Of an earlier search, which found another answer.
            raise RunError(
                "no point that was found could be run again to confirm it; the first error: "
                f"{evaluations.first_error or 'a measure is not a number'}"
            )
    return front


@dataclass(frozen=True)
class _Effort:
    """How much is run."""

    population: int
    generations: int
    replications: int
    confirmed: int | None
    noisy: bool
    random: bool

    def __post_init__(self) -> None:
        for name, least in (("population", 4), ("generations", 1), ("replications", 1)):
            if getattr(self, name) < least:
                raise OptionError(f"{name} = {getattr(self, name)}: at least {least} is needed")
        if self.confirmed is not None and self.confirmed < 0:
            raise OptionError(f"confirm = {self.confirmed}: give 0 or more")
        if self.confirmed and not self.random:
            raise OptionError(
                f"confirm = {self.confirmed}: nothing in the scenario is random, and another run "
                "would be the same; give 2 or more replications, or confirm nothing"
            )
        check_size(self.population * self.generations, self.replications)
        check_size(self.population, self.confirm)
        if self.noisy and self.replications < 2:
            raise OptionError("noisy: with less than 2 replications there is nothing to add")

    @property
    def first(self) -> int:
        """Replications that a point begins with."""
        return max(1, self.replications // 4) if self.noisy else self.replications

    @property
    def confirm(self) -> int:
        """Replications of a point that was found, besides those of the search."""
        if not self.random:
            return 0
        return self.replications if self.confirmed is None else self.confirmed

    @property
    def runs(self) -> int:
        """About how many there will be."""
        return self.population * (self.generations * self.first + self.confirm)


class _Search:
    """The course of a search.

    `corner` is the reference of the hypervolume, signed; None: the worst of the first generation.
    """

    def __init__(self, evolution: Generations, effort: _Effort, corner: Floats | None) -> None:
        self._evolution, self._effort, self._corner = evolution, effort, corner
        self._worst: list[Values] = []
        self._best: list[Values] = []
        self.history: list[float] = []

    @property
    def so_far(self) -> str:
        return f"hypervolume {self.history[-1]:.5g}" if self.history else ""

    def through(self, evaluations: Evaluations) -> None:
        """Go through all generations, and confirm what they found."""
        effort = self._effort
        while (points := self._evolution.ask()) is not None:
            evaluations.add(points, effort.first)
            means = np.array([evaluations.mean(values) for values in points])
            if not self.history:
                self._begin(points, means, evaluations)
            self._evolution.tell(means)
            if effort.noisy:
                self._add_to(self._evolution.front(), evaluations)
                self._evolution.revise(evaluations.mean)
            self._look(evaluations)
        # What is on the front by few replications has to stay there by all of them.
        while any(len(evaluations.sample(values)) < effort.replications for values in self._best):
            evaluations.add(self._best + self._worst, effort.replications)
            self._look(evaluations)
        evaluations.add(self._best + self._worst, effort.replications + effort.confirm)

    def _begin(self, points: list[Values], means: Floats, evaluations: Evaluations) -> None:
        """See that some of the first generation is of use; its worst makes the reference."""
        usable = ~unknown(means)
        if not usable.any():
            problem = "no point of the first generation could be run"
            if evaluations.first_error:
                raise RunError(f"{problem}; the first error: {evaluations.first_error}")
            raise evaluations.problem or OptionError(f"{problem}; check what is varied")
        if self._corner is None:
            worst = np.where(usable[:, None], means, -np.inf).argmax(axis=0)
            self._worst = [points[place] for place in sorted(set(worst.tolist()))]

    def _add_to(self, points: Sequence[Values], evaluations: Evaluations) -> None:
        """Give points some more replications."""
        effort = self._effort
        known = [len(evaluations.sample(values)) for values in points]
        evaluations.add(points, [min(n + effort.first, effort.replications) for n in known])

    def _look(self, evaluations: Evaluations) -> None:
        """See which of all points looked at are on the front, by the search's replications."""
        points = list(evaluations.points.values())
        means = self._means(points, evaluations)
        # Points that do the same are listed once, by the first of them.
        _, first = np.unique(means, axis=0, return_index=True)
        unlike = np.isin(np.arange(len(points)), first)
        on_front = nondominated(means) & unlike
        self._best = [values for values, best in zip(points, on_front, strict=True) if best]
        corner = self._corner
        if corner is None:
            corner = self._by_search(evaluations)
        self.history.append(hypervolume(means[on_front], corner))

    def _means(self, points: Sequence[Values], evaluations: Evaluations) -> Floats:
        last = self._effort.replications
        return np.array([evaluations.mean(values, last=last) for values in points])

    def _by_search(self, evaluations: Evaluations) -> Floats:
        """The reference by the search's replications, of which the first were good."""
        last = self._effort.replications
        samples = (evaluations.sample(values)[:last] for values in self._worst)
        means: Floats = np.array([rows[~unknown(rows)].mean(axis=0) for rows in samples])
        worst: Floats = means.max(axis=0)
        return worst

    def front(
        self,
        evaluations: Evaluations,
        keys: tuple[str, ...],
        objectives: tuple[Objective, ...],
        seed: int,
        resampled: bool,
    ) -> Front:
        """Return the points found, by replications that the search has not seen."""
        last = self._effort.replications
        samples = [evaluations.sample(values) for values in self._best + self._worst]
        # Without enough of them, as when interrupted, those of the search have to do.
        fresh = all(len(rows) > last for rows in samples)
        samples = [rows[last:] if fresh else rows[:last] for rows in samples]
        left, common = comparable(samples)
        kept = [self._best[place] for place in left if place < len(self._best)]
        limit = self._corner
        if limit is None and len(left) == len(kept) and self._worst:
            # No point of the reference was confirmed: by the search there is one.
            limit = self._by_search(evaluations)
        points: tuple[FrontPoint, ...] = ()
        volume: Interval | None = None
        corner: tuple[float, ...] = ()
        if kept:
            stacked = np.stack([samples[place][common] for place in left])
            known = kept, stacked, limit
            points, volume, corner = estimated_front(*known, keys, objectives, seed, resampled)
            points = tuple(
                replace(point, unaccepted=evaluations.unaccepted(tuple(point.values.values())))
                for point in points
            )
        return Front(
            keys=keys,
            objectives=objectives,
            points=points,
            hypervolume=volume,
            reference=corner,
            history=tuple(self.history),
            evaluated=len(evaluations.points),
            runs=len(evaluations.order),
            new=evaluations.new,
            done=evaluations.done,
        )


def _corner(reference: Sequence[float] | None, objectives: Sequence[Objective]) -> Floats | None:
    if reference is None:
        return None
    if len(reference) != len(objectives):
        raise OptionError(
            f"a reference of {len(reference)} values for {len(objectives)} measures; give one each"
        )
    values = np.asarray(reference, dtype=np.float64)
    if not np.isfinite(values).all():
        given = ", ".join(f"{value:g}" for value in values)
        raise OptionError(f"reference {given}: give finite numbers")
    return np.array([objective.sign for objective in objectives]) * values
