"""Jobs held for cheap or clean electricity, from the definitions: second by second.

All instants are whole seconds, so that every best choice is at one. A series is a list of values,
each of which lasts `step` seconds; after the last one it begins again.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from .model import Control, Discipline, Exact, Job, Outcome
from .recursion import _Run

DAY = 86400


class Series(NamedTuple):
    """Values, each of which lasts `step` seconds."""

    values: Sequence[int]
    step: int

    def at(self, second: int) -> int:
        """The value that holds from a second to the next."""
        return self.values[second // self.step % len(self.values)]


def window(series: Series, came: int, plan: int, latest: int) -> int:
    """The start whose `plan` seconds cost least; the first of equals."""

    def spent(start: int) -> int:
        return sum(series.at(second) for second in range(start, start + plan))

    return min(range(came, latest + 1), key=lambda start: (spent(start), start))


def below(series: Series, came: int, latest: int, threshold: int) -> int:
    """The first second at or below the threshold, else the latest."""
    for second in range(came, latest):
        if series.at(second) <= threshold:
            return second
    return latest


def quantile(series: Series, came: int, share: Fraction, day: int = DAY) -> int:
    """The least value that at least a share of the next day does not exceed."""
    every = sorted(series.at(second) for second in range(came, came + day))
    for number, value in enumerate(every, 1):
        if number >= share * day:
            return value
    raise AssertionError


def pieces(series: Series, came: int, plan: int, until: int) -> list[tuple[int, int]]:
    """Pieces, as first second and length: whole steps, the cheapest first, of equals the first.

    Of the last step that is taken only a part is needed: the end, if the step after it is taken and
    the one before is not; else the beginning.
    """
    if until - came <= plan:
        return [(came, plan)]
    steps: dict[int, list[int]] = {}
    for second in range(came, until):
        steps.setdefault(second // series.step, []).append(second)
    taken: dict[int, list[int]] = {}
    left = plan
    for step in sorted(steps, key=lambda step: (series.at(step * series.step), step)):
        if left == 0:
            break
        seconds = steps[step]
        if len(seconds) > left:
            joins_after = step + 1 in taken and step - 1 not in taken
            seconds = seconds[-left:] if joins_after else seconds[:left]
        taken[step] = seconds
        left -= len(seconds)
    chosen = sorted(second for seconds in taken.values() for second in seconds)
    made: list[tuple[int, int]] = []
    for second in chosen:
        if made and sum(made[-1]) == second:
            made[-1] = made[-1][0], made[-1][1] + 1
        else:
            made.append((second, 1))
    return made


class Piece(NamedTuple):
    """A part of a job: when it is planned to begin, its plan and its work (s)."""

    begin: Exact
    plan: Exact
    work: Exact


def chain(planned: Sequence[tuple[int, int]], work: Exact, restart: Exact = 0) -> list[Piece]:
    """The pieces that a job runs in: it may end before all of them, or go on after the last."""
    made: list[Piece] = []
    left = work
    for at, (begin, length) in enumerate(planned):
        if at and left <= 0:
            break
        done = left if at == len(planned) - 1 else min(left, length)
        left -= done
        more = restart if at else 0
        made.append(Piece(begin, length + more, done + more))
    return made


class _InPieces(_Run):
    """Pieces of jobs come when they are planned, or when the one before has ended if later."""

    def __init__(
        self,
        chains: Sequence[Sequence[Piece]],
        procs: Sequence[int],
        servers: int,
        discipline: Discipline,
        control: Control,
    ) -> None:
        super().__init__([], servers, discipline, control, ())
        self.chains, self.procs = chains, procs
        self.comes: dict[tuple[int, int], Exact] = {}
        self.label: dict[tuple[int, int], int] = {}
        for row, parts in enumerate(chains):
            self.comes[row, 0] = parts[0].begin
        self.state.now = self.state.clock = min(self.comes.values())

    def _other_epochs(self) -> list[Exact]:
        return list(self.comes.values())

    def instant(self, switch_due: bool) -> None:
        whose = {label: piece for piece, label in self.label.items()}
        for j in self._complete():
            self._depart(j)
            row, at = whose[j]
            if at + 1 < len(self.chains[row]):
                self.comes[row, at + 1] = max(self.chains[row][at + 1].begin, self.state.now)
        for piece in sorted(piece for piece, when in self.comes.items() if when == self.state.now):
            del self.comes[piece]
            row, at = piece
            part = self.chains[row][at]
            self.label[piece] = len(self.state.jobs)
            job = Job(self.state.now, part.work, self.procs[row], part.plan)
            self.state.jobs.append(job)  # type: ignore[attr-defined]
        while self._arrival_due():
            self._arrive()
        self._pass()


def simulate_in_pieces(
    chains: Sequence[Sequence[Piece]],
    procs: Sequence[int],
    servers: int,
    discipline: Discipline,
    control: Control,
) -> tuple[list[list[tuple[Exact, Exact]]], Outcome]:
    """Run the pieces of all jobs: start and end of each piece of each job."""
    run = _InPieces(chains, procs, servers, discipline, control)
    while run.comes or run.state.present:
        run.instant(run.advance())
    outcome = run.outcome()
    times = [
        [
            (outcome.start[run.label[row, at]], outcome.end[run.label[row, at]])
            for at in range(len(parts))
        ]
        for row, parts in enumerate(chains)
    ]
    return times, outcome
