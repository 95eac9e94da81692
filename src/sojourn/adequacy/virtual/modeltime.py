"""Model time: the clock is moved on whenever nothing is under way on the cluster."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from .clock import DAEMON, JOB, STEP, ModelClock, Wait
from .cluster import VirtualCluster
from .reading import ControllerLog

_NS = 1_000_000_000
_CALIBRATION = 3.0
_WAITS = 10  # of the main loop in one round
_LIMITS, _PURGE = 30, 60  # seconds: the main loop looks for exceeded limits, for old jobs
_NEAR = 0.05
_MOMENT = 0.002  # seconds: a wait that ends sooner may end by itself
_POLL = 2.5  # seconds: a longer wait of a daemon is a period of its own
_SETTLING = 1.5  # seconds after which the nodes of a job that ended are surely free
_TICKS = 2.0  # seconds in which the main loop surely comes round
_SHORT_MAIN, _SHORT_BACKFILL = 10, 5  # seconds: of shorter periods all with nothing new are leapt
_STEADY = 3  # passes of the backfill loop with nothing new, after which it will make others


class MainLoop:
    """The controller's main loop, as its waits show it.

    It waits ten times a tenth of a second, reads the clock, and does what is due: each duty has
    a period, counted in whole seconds from when it was last done. So a duty keeps its second, but
    for one that the loop, whose rounds are a little longer than a second, has skipped.

    Parameters
    ----------
    begun : when the loop began, seconds of the Unix epoch.
    periods : of its duties, in seconds.
    """

    def __init__(self, begun: float, periods: Iterable[int]) -> None:
        self.length = 1.0
        """Seconds that a round takes."""
        self.next = begun + 1.0
        """When it will next read the clock."""
        self.done = dict.fromkeys(periods, math.floor(begun))
        """By period, the second in which the duties of that period were last done."""

    def follow(self, wait: Wait) -> None:
        """Take over where the loop is from a wait of its."""
        one = (wait.length + wait.lag) / _NS
        self.length = _WAITS * one
        reading = wait.end + (_WAITS - 1 - wait.round) * one
        rounds = round((reading - self.next) / self.length)
        for k in range(rounds, 0, -1):
            self._read(math.floor(reading - k * self.length))
        self.next = reading

    def _read(self, second: int) -> None:
        for period, done in self.done.items():
            if second >= done + period:
                self.done[period] = second

    def rounds_before(self, period: int) -> int:
        """Return how many rounds end before the one in which a duty is due."""
        return max(math.ceil((self.done[period] + period - self.next) / self.length), 0)

    def last_round(self, period: int, most: int) -> int:
        """Return how many rounds end before the last, of so many and one, in which it is due.

        With no such round all of them do.
        """
        done, last = self.done[period], most
        while True:
            rounds = max(math.ceil((done + period - self.next) / self.length), 0)
            if rounds > most:
                return last
            last, done = rounds, math.floor(self.next + rounds * self.length)


class ModelTime:
    """Moves the clock of an idle cluster from event to event.

    While anything is under way time passes by itself, so that launch and completion take what they
    take. When all threads of all processes sleep, it is stepped to whoever wakes first, or leaps
    over whole rounds of the main loop in which neither it nor the backfill loop would find anything
    to do. Passes that would change nothing are leapt over only where they come every few seconds.

    Parameters
    ----------
    clock : the clock that the cluster was started with.
    cluster : the cluster, idle.
    log : the controller's log.
    """

    def __init__(self, clock: ModelClock, cluster: VirtualCluster, log: ControllerLog) -> None:
        self._clock = clock
        self._scheduling = cluster.scheduling
        self._controller = cluster.controller
        self._log = log
        self.steps = self.leaps = 0
        # Long enough for the loops to be seen at their own pace.
        time.sleep(_CALIBRATION)
        waits = self._settled()
        log.read()
        # The loops that never end, and the one that saves the state after each change.
        self._loops = {wait.tid for wait in waits} | _threads(cluster, "sstate")
        self._backfill = _threads(cluster, "bckfl")
        self._main = MainLoop(log.began, {self._scheduling.main_period, _LIMITS, _PURGE})

    def now(self) -> float:
        """Return the instant by the cluster's clock, seconds of the Unix epoch."""
        return self._clock.now()

    def _settled(self) -> list[Wait]:
        """Return the waits of a cluster on which nothing is under way."""
        while True:
            self._clock.settle()
            waits = self._clock.waits()
            if waits is not None:
                return waits

    def pass_until(self, instant: float, done: Callable[[], bool]) -> None:
        """Move time on to an instant, or until something is done."""
        while True:
            waits = self._settled()
            now = self.now()
            if done() or now >= instant:
                return
            target = min([instant, *(wait.end for wait in waits if wait.kind == JOB)])
            main = next((wait for wait in waits if wait.tid == self._controller), None)
            if main is None or not self._is_at_rest(waits):
                self._clock.step(min([target, *(wait.end for wait in waits)]))
                self.steps += 1
            else:
                self._pass_at_rest(now, target, main, waits)
                self.leaps += 1

    def _pass_at_rest(self, now: float, target: float, main: Wait, waits: Sequence[Wait]) -> None:
        """Move time on, no farther than a target, when all but the loops is at rest."""
        self._main.follow(main)
        if self._log.last_full_pass > self._log.began:
            self._main.done[self._scheduling.main_period] = math.floor(self._log.last_full_pass)
        kept = [wait for wait in waits if self._may_matter(wait)]
        target = min([target, *(wait.end for wait in kept)])
        rounds = self._idle_rounds(now, target) if main.deadline > (now + _MOMENT) * _NS else 0
        if rounds > 0:
            self._clock.leap(now + rounds * self._main.length, [wait.tid for wait in kept])
        else:
            self._clock.leap(min(target, self._main.next), [wait.tid for wait in (main, *kept)])

    def _idle_rounds(self, now: float, target: float) -> int:
        """Rounds of the main loop before a target in which nothing would happen."""
        log, period = self._log, self._scheduling.main_period
        if log.is_called and now < log.changed + self._scheduling.delay + _TICKS:
            return 0
        rounds = math.floor(min(target - now - _NEAR, _LIMITS) / self._main.length)
        rounds = min([rounds, *map(self._main.rounds_before, (_LIMITS, _PURGE))])
        if not self._is_settled() or period >= _SHORT_MAIN:
            return min(rounds, self._main.rounds_before(period))
        # To the last pass before the target: others between then are as good as made.
        return rounds if period == 1 else self._main.last_round(period, rounds)

    def _is_at_rest(self, waits: Sequence[Wait]) -> bool:
        """Whether nothing waits for time but loops and jobs, each with a step that looks on."""
        jobs, steps = (sum(wait.kind == kind for wait in waits) for kind in (JOB, STEP))
        daemons = (wait.tid for wait in waits if wait.kind == DAEMON)
        return steps <= jobs and self._loops.issuperset(daemons)

    def _is_settled(self) -> bool:
        """Whether the loops have looked at all that wait since anything changed."""
        if not self._log.waiting:
            return True
        loops = {"main pass", "backfill pass"} if self._scheduling.is_backfill else {"main pass"}
        return self._scheduling.is_ageless and loops <= self._log.passes.keys()

    def _may_matter(self, wait: Wait) -> bool:
        """Whether something may happen when a wait of a daemon ends."""
        is_period = wait.length > _POLL * _NS
        if wait.kind != DAEMON or wait.tid not in self._backfill:
            return wait.kind == DAEMON and is_period
        log, scheduling = self._log, self._scheduling
        if scheduling.backfill_period < _SHORT_BACKFILL and self._is_settled():
            if log.passes["backfill pass"] >= _STEADY:
                return False
        elif is_period:
            return True
        # It looks every second whether anything is new, be it that old jobs were forgotten.
        stirred = max(log.changed, self._main.done[_PURGE])
        if log.waiting and scheduling.main_period >= _SHORT_MAIN:
            stirred = max(stirred, log.last_pass)
        return (wait.deadline - wait.length) / _NS < stirred + _SETTLING


def _threads(cluster: VirtualCluster, name: str) -> set[int]:
    """Return the ids of the threads of a name in the cluster's daemons."""
    threads = set()
    for pid in cluster.pids:
        for thread in Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(OSError):
                if (thread / "comm").read_text().strip() == name:
                    threads.add(int(thread.name))
    return threads
