"""Mistakes of a user's own functions: looked for before a run, and found in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import PolicyError
from ._reading import reading_of
from .columns import job_columns, read_only
from .control import Control
from .record import BAD_VALUE, BAD_WAKE, MOST_WAKES, RESTLESS, Mistake, mistake_in
from .score import NodeScore, Score

# Waits at which an order is tried out, and at how many jobs and nodes.
_WAITS = (0.0, 1.0)
_JOBS, _NODES = 8, 4


@dataclass(frozen=True)
class Scene:
    """What the functions of a run are evaluated on.

    Parameters
    ----------
    jobs : the kernel's columns.
    numbers : of the jobs, by position.
    nodes : the kernel's columns of the empty nodes, if they have names.
    names : of the nodes.
    """

    jobs: Any
    numbers: NDArray[np.int64]
    nodes: Any = None
    names: tuple[str, ...] = ()

    def try_order(self, score: Score) -> None:
        """Evaluate an order of the queue for some jobs; PolicyError for the first mistake."""
        if score.house:
            return
        submit = self.jobs.submit
        waits = _WAITS if score.depends_on_time else (0.0,)
        points = (
            (j, float(submit[j]) + wait if score.depends_on_time else 0.0)
            for j in _spread(len(submit), _JOBS)
            for wait in waits
        )
        self._try(score, (((self.jobs, j, now), j, now, 0) for j, now in points))

    def try_placement(self, score: NodeScore) -> None:
        """Evaluate an order of the nodes for some nodes and jobs, all of it empty."""
        submit = self.jobs.submit
        points = (
            (n, j, float(submit[j]))
            for n in _spread(len(self.names), _NODES)
            for j in _spread(len(submit), _JOBS)
        )
        handed = (((self.nodes, n, self.jobs, j, now), j, now, n) for n, j, now in points)
        self._try(score, handed)

    def _try(self, score: Score | NodeScore, points: Iterator[Any]) -> None:
        compiled, theta = score.compiled(), score.parameters
        values = np.empty(1)
        # Helpers would have to be compiled a second time for a call from Python.
        comparable = reading_of(score.formula).helpers == ()
        for handed, j, now, n in points:
            error = None
            try:
                if isinstance(score, NodeScore):
                    value = compiled(*handed, theta)
                else:
                    jobs, j, now = handed
                    compiled(jobs, np.array([j]), 0, 1, now, theta, values)
                    value = float(values[0])
            except Exception as problem:
                error = problem
            mistake = mistake_in(theta)
            if mistake is not None:
                raise self.complaint(score, mistake, error)
            if comparable:
                self._compare(score, value, j, now, n)

    def _compare(self, score: Score | NodeScore, value: float, j: int, now: float, n: int) -> None:
        """Refuse a formula whose compiled code is no longer what it says."""
        try:
            plain = float(self._in_python(score, j, now, n))
        except Exception:
            # Compiled arithmetic has infinities where Python has exceptions.
            return
        if not (np.isfinite(plain) and np.isfinite(value)):
            return
        if abs(plain - value) > 1e-6 * max(abs(plain), abs(value)):
            raise PolicyError(
                f"score '{score.name}' of {self._at(score, j, now, n)} is {value:g} compiled, but "
                f"{plain:g} in Python: a variable outside of it has changed since it was "
                "compiled, or a whole number is too large; hand in what changes as theta"
            )

    def _in_python(self, score: Score | NodeScore, j: int, now: float, n: int) -> Any:
        """The formula in plain Python, of the same arguments, which cannot be written."""
        jobs = job_columns(self.jobs, clairvoyant=score.clairvoyant)
        theta = np.array(score.theta, dtype=np.float64)
        theta.flags.writeable = False
        before = () if isinstance(score, Score) else (read_only(self.nodes), n)
        with np.errstate(all="ignore"):
            return score.formula(*before, jobs, j, now, theta)

    def _at(self, score: Score | NodeScore, j: int, now: float, n: int) -> str:
        node = f"node {self.names[n]} for " if isinstance(score, NodeScore) else ""
        fixed = isinstance(score, Score) and not score.depends_on_time
        return f"{node}job {int(self.numbers[j])}" + ("" if fixed else f" at {now:.15g} s")

    def complaint(
        self, score: Score | NodeScore, mistake: Mistake, error: Exception | None = None
    ) -> PolicyError:
        """Return what is said of a mistake in a formula; `error` is what it was left by."""
        j, now, n = int(mistake.subject), mistake.now, mistake.node
        begin = f"score '{score.name}' of {self._at(score, j, now, n)}"
        if mistake.kind == BAD_VALUE:
            return PolicyError(f"{begin} is not a number (nan); return a number in every case")
        try:
            self._in_python(score, j, now, n)
        except Exception as problem:
            error = problem
        reason = "an exception" if error is None else f"{type(error).__name__}: {error}"
        counts = f"{len(self.numbers):,} jobs and {len(score.theta)} parameters"
        if isinstance(score, NodeScore):
            counts = f"{len(self.names):,} nodes, {counts}"
        advice = f"there are {counts}" if isinstance(error, IndexError) else "mend the formula"
        return PolicyError(" ".join(f"{begin} fails: {reason}; {advice}".split()))


@dataclass(frozen=True)
class Watch:
    """The user's own functions in a run, with the parameters that keep a record of them.

    Parameters
    ----------
    scene : what they are evaluated on.
    watched : functions and the parameters that the kernel hands to them.
    """

    scene: Scene
    watched: tuple[tuple[Score | NodeScore | Control, NDArray[np.float64]], ...]

    def look(self, error: Exception | None = None) -> None:
        """Raise PolicyError if one of them has made a mistake.

        Parameters
        ----------
        error : what the kernel was left by, if it was.
        """
        for function, theta in self.watched:
            mistake = mistake_in(theta)
            if mistake is None:
                continue
            if isinstance(function, Control):
                raise _complaint_of_control(function, mistake, error) from None
            raise self.scene.complaint(function, mistake, error) from None

    def around(
        self, run: Callable[[Any], None], progress: Callable[[int, int], None] | None
    ) -> None:
        """Call ``run(progress)``, and look whenever it reports, when it fails and at its end."""

        def report(arrived: int, total: int) -> None:
            self.look()
            if progress is not None:
                progress(arrived, total)

        try:
            run(report)
        except PolicyError:
            raise
        except Exception as error:
            self.look(error)
            raise
        self.look()


def _complaint_of_control(
    control: Control, mistake: Mistake, error: Exception | None
) -> PolicyError:
    begin = f"control '{control}' at {mistake.now:.15g} s"
    if mistake.kind == BAD_WAKE:
        return PolicyError(f"{begin}: its wake-up is not a number; return a workload, or -inf")
    if mistake.kind == RESTLESS:
        return PolicyError(
            f"{begin} wakes up more than {MOST_WAKES:,} times between two arrivals or departures; "
            "let its wake-up return a workload further down, or -inf"
        )
    if mistake.kind == BAD_VALUE:
        return PolicyError(
            f"{begin} asks for a rate of {mistake.subject:g}; rates must be above 0 and finite"
        )
    reason = "an exception" if error is None else f"{type(error).__name__}: {error}"
    count = len(control.theta)
    return PolicyError(f"{begin} fails: {reason}; mend it (it has {count} parameters)")


def _spread(count: int, most: int) -> list[int]:
    """The first, the last and some between."""
    places = np.linspace(0, count - 1, min(most, count)).astype(np.int64)
    return [int(place) for place in np.unique(places)]
