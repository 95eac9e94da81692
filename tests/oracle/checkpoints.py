"""Checkpoints: a job works, dumps, works, and so on; a dump counts once it is over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from .model import Exact, Job, Segment, State, ratio


class Checkpoint(NamedTuple):
    """Work between dumps, the time of a dump and of a restore, and whether one dumps at the end."""

    every: Exact
    dump: Exact
    restore: Exact = 0
    at_end: bool = False


def pieces(work: Exact, it: Checkpoint) -> list[Exact]:
    """Lengths of the stretches of a job; every one but the last ends with its dump."""
    lengths = []
    while work > it.every or (it.at_end and work == it.every):
        lengths.append(it.every + it.dump)
        work -= it.every
    return [*lengths, work]


def with_dumps(work: Exact, it: Checkpoint) -> Exact:
    """How long a job of so much work takes without failures."""
    return sum(pieces(work, it))


@dataclass
class Life:
    """What a job has before it since it last came into the queue, and how far it has come."""

    restore: Exact
    pieces: list[Exact]
    plan: Exact  # without the restore
    passed: int = -1  # pieces that are over; -1 while it restores
    mark: Exact | None = None  # when the last of them was, or the restore
    begun: bool = False  # whether it has done anything

    @property
    def work(self) -> Exact:
        """All that is before it."""
        return self.restore + sum(self.pieces)

    def ends(self) -> list[Exact]:
        """The work at which it has restored, and at which each dump is over."""
        ends = [self.restore]
        for length in self.pieces[:-1]:
            ends.append(ends[-1] + length)
        return ends


@dataclass
class Lives:
    """The lives of all jobs with checkpoints."""

    asked: Sequence[Job]  # without dumps
    checkpoints: Sequence[Checkpoint]
    of: dict[int, Life] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.checkpoints:
            return
        for j, (job, it) in enumerate(zip(self.asked, self.checkpoints, strict=True)):
            self.of[j] = Life(0, pieces(job.work, it), with_dumps(job.plan, it))

    def note(
        self,
        state: State,
        before: Exact,
        left: dict[int, Exact],
        rate: Exact,
        boots: dict[int, Exact],
    ) -> None:
        """Time went on from `before`, when those who run had so much left.

        Boots of their nodes come before all else.
        """
        for j, remaining in left.items():
            if j not in self.of:
                continue
            life, total = self.of[j], state.jobs[j].work - boots.get(j, 0)
            # On slow nodes all is longer.
            slowness = ratio(total, life.work) if life.work else 1
            life.begun |= state.remaining[j] < total
            for k, end in enumerate(life.ends()):
                still = total - end * slowness
                if end and k > life.passed and state.remaining[j] <= still <= remaining:
                    life.passed = k
                    life.mark = before + ratio(remaining - still, rate)

    def again(self, j: int, stretches: Sequence[Segment], now: Exact) -> list[Segment]:
        """Job j is stopped; what is lost of the stretches of this life. The next one begins."""
        life, it = self.of[j], self.checkpoints[j]
        lost_since = stretches[0].start
        if life.mark is not None:
            lost_since = life.mark
        elif life.restore and life.begun:
            lost_since = now
        done = max(life.passed, 0)
        plan = life.plan - sum(life.pieces[:done])
        if done and plan <= 0:
            plan = it.every
        restore = it.restore if done or life.restore or self._is_resumed(j) else 0
        self.of[j] = Life(restore, life.pieces[done:], plan)
        *earlier, last = stretches
        return [
            Segment(j, max(start, lost_since), stop)
            for _, start, stop in earlier
            if stop > lost_since
        ] + [Segment(j, max(last.start, lost_since), last.stop)]

    def _is_resumed(self, j: int) -> bool:
        return len(self.of[j].pieces) < len(pieces(self.asked[j].work, self.checkpoints[j]))

    def size(self, j: int) -> tuple[Exact, Exact]:
        """Work and plan of job j now."""
        life = self.of[j]
        return life.work, life.restore + life.plan
