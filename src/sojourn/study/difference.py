"""Two configurations, clusters or scenarios on one log: who gains, who loses, and how sure that is.

Both sides run on the log itself, which gives the numbers, and on logs drawn from its blocks, which
give their errors: two sides that run on the same draw have good and bad luck together.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..adequacy import distance
from ..adequacy.replaying import agreed, typical
from ..cluster import Power
from ..errors import OptionError
from ..jobs import STANDARD, Jobs
from ..jobs.classes import check_known, known_classes
from ..jobs.clean import cleaned
from ..jobs.log import read_jobs
from ..jobs.models.resample import fitting_block, resample_blocks
from ..policy import Policy
from ..run.result import Result
from .changes import (
    FEWEST,
    Change,
    ClassChange,
    ClassMeans,
    class_changes,
    columns_of,
    measure_sides,
    overall_changes,
    remarks_on,
)
from .sides import LineChange, Side, lines_that_differ, side_of

BY = ("partition", "account", "user", "width")
"""What jobs are classed by, unless asked otherwise."""

_NEAR = 60.0
_NAMED = 5


@dataclass(frozen=True)
class Trust:
    """How near the first side comes to what the log recorded.

    Parameters
    ----------
    jobs : whose starts were recorded.
    P : s, root mean square of the differences of times in the system.
    relative : the same over the mean recorded time in the system.
    near : share of the jobs within a minute.
    wait, recorded : mean waits (s), simulated and recorded.
    members : runs of the first side, of which the most typical is held against the log: with
        Slurm's loops begun at other moments, as `replay` does; 1 under other policies.
    itself : s, the median P between two of these runs; nan of one.
    """

    jobs: int
    P: float
    relative: float
    near: float
    wait: float
    recorded: float
    members: int = 1
    itself: float = float("nan")


@dataclass(frozen=True, repr=False)
class Difference:
    """What changes from one side to the other on a log.

    Parameters
    ----------
    a, b : names of the sides.
    log : its file, or where its jobs came from.
    jobs : that ran on both sides.
    only_a, only_b : jobs that ran on one side only, and are left out.
    trust : how near the first side comes to the log; None where it recorded no starts.
    lines : that differ.
    measures : of all jobs.
    classes : by what jobs are classed by.
    draws, block : how many logs were drawn, and of which blocks.
    not_modelled : what the sides have no notion of, in words.
    left : classes that are in too few of the draws to be judged, by what jobs are classed by;
        those with most jobs first.
    runs : of both sides on the log itself.
    """

    a: str
    b: str
    log: str
    jobs: int
    only_a: int
    only_b: int
    trust: Trust | None
    lines: tuple[LineChange, ...]
    measures: tuple[Change, ...]
    classes: dict[str, tuple[ClassChange, ...]]
    draws: int
    block: str
    not_modelled: tuple[str, ...]
    left: dict[str, tuple[str, ...]]
    runs: tuple[Result, Result] = field(repr=False, compare=False)

    def __repr__(self) -> str:
        return f"<Difference from {self.a} to {self.b}: {' '.join(self.in_words())}>"

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return {
            **{name: getattr(self, name) for name in ("a", "b", "log", "jobs")},
            **{name: getattr(self, name) for name in ("only_a", "only_b", "draws", "block")},
            "adequacy": None if self.trust is None else asdict(self.trust),
            "lines": [asdict(line) for line in self.lines],
            "measures": [change.as_dict() for change in self.measures],
            "classes": {by: [row.as_dict() for row in rows] for by, rows in self.classes.items()},
            "left": {by: list(names) for by, names in self.left.items()},
            "not_modelled": list(self.not_modelled),
            "remarks": self.remarks(),
        }

    def left_in_words(self, by: str) -> str:
        """Return which classes are not judged, in a sentence; empty where all are."""
        left = self.left[by]
        if not left:
            return ""
        more = f" and {len(left) - _NAMED} more" if len(left) > _NAMED else ""
        return f"In fewer than half of the draws, and not judged: {', '.join(left[:_NAMED])}{more}."

    def remarks(self) -> list[str]:
        """Return what to know of the numbers: who is left out, and what only one side has."""
        return list(remarks_on(self.runs, (self.only_a, self.only_b)))

    def in_words(self) -> list[str]:
        """Return the answer in a few sentences."""
        said = []
        for wait in self.measures[:1]:
            size = f"{100 * abs(wait.share):.1f} % " if np.isfinite(wait.share) else ""
            more = "longer" if wait.difference.estimate > 0 else "shorter"
            reach = f"{wait.difference.low:+,.0f} to {wait.difference.high:+,.0f} s"
            said.append(
                {
                    "same": "The mean wait is the same, to the second.",
                    "no sure difference": f"No sure difference in the mean wait ({reach}).",
                }.get(wait.verdict, f"Mean waits are {size}{more} with {self.b} ({reach}).")
            )
        for by, rows in self.classes.items():
            gain = [row.name for row in rows if row.wait.verdict == "better"]
            lose = [row.name for row in rows if row.wait.verdict == "worse"]
            if gain or lose:
                said.append(
                    f"By {by}: {len(gain)} gain, {len(lose)} lose, of {len(rows)} with enough jobs."
                )
        if self.trust is not None:
            said.append(
                f"{self.a} is {100 * self.trust.relative:.1f} % of the mean time in the system "
                "away from the log, job by job: smaller differences of single jobs mean little."
            )
        return said


def diff(
    a: Any,
    b: Any,
    log: str | os.PathLike[str] | Jobs,
    *,
    policy: str | Policy = "easy",
    power: Power | None = None,
    by: Sequence[str] | None = None,
    draws: int = 20,
    block: str | None = None,
    level: float = 0.95,
    seed: int = 0,
    rules: Sequence[str] = STANDARD,
    progress: Callable[[int, int], None] | None = None,
    reading: dict[str, Any] | None = None,
    **options: Any,
) -> Difference:
    """Compare two configurations, clusters or scenarios on one log.

    Parameters
    ----------
    a, b : each a ``slurm.conf``, the file of a cluster or of a scenario; or a `SlurmPolicy`, a
        `Cluster` or a `Scenario`.
    log : the log, or its jobs.
    policy : of clusters, which have none of their own.
    power : watts of a processor, where those of the nodes are not known; scenarios say their own.
    by : classes of jobs: ``partition``, ``account``, ``user``, ``width`` and so on; default: those
        of `BY` that the log knows.
    draws : logs drawn from blocks of this one, on which both sides run for the intervals.
    block : what is drawn: ``user``, ``day``, ``week`` or ``jobs``; default: what suits the log.
    level : of confidence.
    seed : of the draws.
    rules : of cleaning.
    progress : called with (runs done, runs).
    reading : options of `read_jobs`.
    options : of `simulate`, where a side is no scenario: price, carbon, estimates.

    Raises
    ------
    OptionError, LogError, ClusterError
        When something given cannot be used.

    Examples
    --------
    >>> import sojourn
    >>> jobs = sojourn.lublin(300, 64, load=0.9, seed=1)
    >>> small, large = sojourn.Cluster.homogeneous(64), sojourn.Cluster.homogeneous(80)
    >>> difference = sojourn.diff(small, large, jobs, draws=5)
    >>> difference.measures[0].measure, difference.measures[0].verdict
    ('mean wait', 'better')
    """
    if draws < FEWEST:
        raise OptionError(f"draws {draws}: give {FEWEST} or more, to know how sure a difference is")
    sides = side_of(a, policy, power, **options), side_of(b, policy, power, **options)
    jobs = log if isinstance(log, Jobs) else read_jobs(log, **(reading or {}))
    source = jobs.source if isinstance(log, Jobs) else os.fspath(log)
    size = max(side.machine(jobs).procs for side in sides)
    jobs = cleaned(jobs, size, rules).sorted()
    known = known_classes(jobs)
    for name in by or ():
        check_known(jobs, name)
    wanted = [name for name in BY if name in known] if by is None else list(by)
    chosen = fitting_block(jobs) if block is None else block

    def report(done: int) -> None:
        if progress is not None:
            progress(done, 2 * (draws + 1))

    report(0)
    first = sides[0].run(jobs, record=True), sides[1].run(jobs, record=True)
    report(2)
    real = measure_sides(jobs, first, wanted)
    drawn = []
    for k in range(draws):
        other = resample_blocks(jobs, chosen, seed + k)
        drawn.append(measure_sides(other, [side.run(other) for side in sides], wanted))
        report(2 * (k + 2))
    names = _names(sides)
    classes = {name: tuple(class_changes(name, real, drawn, level)) for name in wanted}
    return Difference(
        a=names[0],
        b=names[1],
        log=source or "jobs",
        jobs=real.jobs,
        only_a=real.only[0],
        only_b=real.only[1],
        trust=_trust(jobs, sides[0], first[0]),
        lines=lines_that_differ(*sides),
        measures=tuple(overall_changes(real, drawn, level)),
        classes=classes,
        draws=draws,
        block=chosen,
        not_modelled=tuple(
            dict.fromkeys(what for run in first for what in run.summary["not_modelled"])
        ),
        left={name: _left(real.classes[name], rows) for name, rows in classes.items()},
        runs=first,
    )


def _names(sides: tuple[Side, Side]) -> tuple[str, str]:
    """Names that differ: of files of one name, with as many folders as it takes."""
    parts = [Path(side.path).absolute().parts if side.path else (side.name,) for side in sides]
    for length in range(1, max(map(len, parts)) + 1):
        a, b = (str(Path(*folders[-length:])) for folders in parts)
        if a != b:
            return a, b
    return f"{sides[0].name} (A)", f"{sides[1].name} (B)"


def _left(classes: Mapping[str, ClassMeans], rows: Sequence[ClassChange]) -> tuple[str, ...]:
    """Names of the classes that are not among the rows."""
    others = classes.keys() - {row.name for row in rows}
    return tuple(sorted(others, key=lambda name: (-classes[name].jobs, name)))


def _trust(jobs: Jobs, side: Side, run: Result) -> Trust | None:
    """How near a side comes to the starts that the log recorded."""
    if "wait" not in jobs.names:
        return None
    here = (jobs.wait >= 0) & np.isfinite(columns_of(jobs, run)["wait"]) & (jobs.runtime >= 0)
    if not here.any():
        return None
    runs = [run, *side.begun_otherwise(jobs)]
    waits = [columns_of(jobs, other)["wait"][here] for other in runs]
    chosen, itself = typical(waits)
    wait, real = agreed(waits, chosen), jobs.wait[here]
    residence = real + jobs.runtime[here]
    P = distance(residence, wait + jobs.runtime[here])
    return Trust(
        jobs=int(here.sum()),
        P=P,
        relative=P / float(residence.mean()) if residence.mean() > 0 else float("nan"),
        near=float(np.mean(np.abs(wait - real) <= _NEAR)),
        wait=float(wait.mean()),
        recorded=float(real.mean()),
        members=len(runs),
        itself=itself,
    )


def as_rows(difference: Difference) -> list[dict[str, Any]]:
    """Return one row per measure and class, for a table: values, interval and verdict."""
    rows = [("all", "", difference.jobs, change) for change in difference.measures]
    rows += [
        (by, row.name, row.jobs, change)
        for by, classes in difference.classes.items()
        for row in classes
        for change in (row.wait, row.slowdown)
    ]
    return [
        {"by": by, "class": name, "jobs": jobs, **change.as_row()}
        for by, name, jobs, change in rows
    ]
