"""Nodes that sleep: `docs/background/power-states.md`, for every discipline that stops no jobs.

Sleepers are free; whoever gets one wakes it, and the boot is the first part of its service.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from .dispatcher import Dispatcher, Scheduling
from .model import Exact, Instant, Job, State, ratio
from .nodes import Allocation, Vector
from .pools import Hold, Machine
from .queues import Queues
from .sleeping_nodes import Depth, Sleep

__all__ = ["Change", "Depth", "Sleep", "SleepyDispatcher"]

UP, ENTERING, ASLEEP, LEAVING, FAILED = range(5)


class Change(NamedTuple):
    """A node is in a state from a time on."""

    time: Exact
    node: int
    state: int


class SleepyDispatcher(Dispatcher):
    """One run's scheduling passes, and the states of its nodes."""

    def __init__(
        self,
        machine: Machine,
        scheduling: Scheduling,
        queues: Queues | None,
        sleep: Sleep,
        order: Sequence[int],
        first: Exact,
        reserved: bool,
    ) -> None:
        super().__init__(machine, scheduling, queues)
        self.by_count = self.counts = self.is_counted(machine, scheduling) and not reserved
        number = len(machine.nodes)
        self.sleep = sleep
        self.order = order  # in which the placement visits nodes, if it has one
        self.of = [UP] * number
        self.arrives: dict[int, Exact] = {}
        self.expected: dict[int, Exact] = {}  # when planning expects nodes that boot
        self.woken = [False] * number
        self.begins: dict[int, Exact] = {}  # when the boots of those that were woken do
        self.next_sleep: Exact | None = None  # when the next node may go, and the next boot begin
        self.next_wake: Exact | None = None
        self.held_back = False
        self.boots = [0] * number
        self.rested = [0] * number
        self.broken: set[int] = set()  # by boots that failed, and kept down by events
        self.downed: set[int] = set()
        self.idle: dict[int, Exact] = {}  # until when they are idle before they sleep
        self.boot: dict[int, Exact] = {}  # of jobs, as work
        self.up_at: dict[int, Exact] = {}  # when their nodes are up
        self.up_by_plan: dict[int, Exact] = {}  # and when they were planned to be
        self.wanted: dict[int, Exact] = {}  # work at which a reservation counts on a node
        self.changes: list[Change] = []
        self.running: list[int] = []
        self.extra: dict[int, int] = {}  # mW that nodes on their way hold beside idle power
        self.waker: dict[int, int] = {}  # who has woken a node
        machine.up = self._up
        machine.asleep = lambda k: self.of[k] == ASLEEP
        for k in range(number):
            self._lie(k, first)

    @staticmethod
    def is_counted(machine: Machine, scheduling: Scheduling) -> bool:
        """Whether any processors will do, and at most one reservation is made of them."""
        several = scheduling.backfill == "easy" and scheduling.reservations > 1
        return machine.counts_sleepers and not several

    # What planning knows

    def _up_time(self, k: int) -> Exact:
        """When a node is up if it is wanted from now on."""
        depth, now = self.sleep.depths[k], self.state.now
        if self.of[k] in (UP, FAILED) or depth is None:
            return now
        if self.woken[k]:
            return self.begins[k] + depth.leave
        if self.of[k] == ASLEEP:
            return now + depth.leave
        if self.of[k] == ENTERING:
            return self.arrives[k] + depth.leave
        return max(self.expected[k], now)

    def _up(self, k: int) -> Instant:
        """The same on the work clock; a node that should be up is so right after now."""
        state = self.state
        late = self.of[k] == LEAVING and self.expected[k] <= state.now < self.arrives[k]
        return state.clock + (self._up_time(k) - state.now) * state.rate, int(late)

    def _survey(self, state: State) -> None:
        self.wanted = {}
        self._lend()
        super()._survey(state)
        self.on_way: list[Hold] = []
        self._hold_on_way()

    # Watts

    def _on_their_way(self) -> Vector:
        """What nodes that change their states hold beside idle power, under each cap (mW)."""
        draws = self.machine.draws
        assert draws
        caps = range(len(draws.room))
        return tuple(sum(draws.of(c, k, it) for k, it in self.extra.items()) for c in caps)

    def _hold_on_way(self) -> None:
        """What nodes hold that change their states."""
        self.holds = [hold for hold in self.holds if hold not in self.on_way]
        if self.machine.draws and any(self.extra.values()):
            # Right after now nodes have arrived, as far as no fall depends on it.
            until = (math.inf, 0) if self.falling else (self.now[0], 1)
            where = len(self.machine.whole) + 1
            self.on_way = [Hold(self.now, until, {where: self._on_their_way()})]
            self.holds += self.on_way

    def _lend(self) -> None:
        """What caps leave for jobs: sleepers draw less than idle nodes."""
        draws = self.machine.draws
        if draws:
            asleep = [k for k, state in enumerate(self.of) if state == ASLEEP]
            self.machine.capacities[-1] = tuple(
                room + sum(draws.of(c, k, draws.lent[k]) for k in asleep)
                for c, room in enumerate(draws.room)
            )

    def _may_draw(self, k: int, more: int) -> bool:
        """Whether a node may draw more from now on, under all steps to come."""
        draws = self.machine.draws
        if not draws or not more:
            return True
        self._lend()
        for c, room in enumerate(self.machine.capacities[-1]):
            jobs = sum(
                self.machine.drawn(self.machine.jobs[j], self.pools[j])[c] for j in self.running
            )
            ahead = [f.amount for f in draws.falls if f.cap == c and f.end > self.state.now]
            free = room - jobs - self._on_their_way()[c] - max(ahead, default=0)
            if draws.of(c, k, more) > max(free, 0):
                return False
        return True

    def _more(self, k: int) -> tuple[int, int]:
        """What a node draws more when it is on its way, from idle and from sleep (mW)."""
        draws = self.machine.draws
        return (draws.changing[k], draws.changing[k] + draws.lent[k]) if draws else (0, 0)

    def _count_on(self, begin: Instant, pools: Allocation) -> None:
        for k, _ in pools:
            self.wanted[k] = min(self.wanted.get(k, begin[0]), begin[0])

    def _begin(self, j: int, pools: Allocation) -> None:
        planned = self.machine.boot(pools, self.now)
        sleepers = {k: self.machine.beyond(self.machine.jobs[j], k, n) for k, n in pools}
        super()._begin(j, pools)
        state = self.state
        job = state.jobs[j]
        self.up_by_plan[j] = max(map(self._up_time, dict(self.nodes[j])))
        self.running = [*self.running, j]
        for k in sorted(dict(self.nodes[j])):
            self.idle.pop(k, None)
            if self.of[k] == ASLEEP:
                self.waker[k] = j
            self._wake(k, sleepers[k])
        self.up_at[j] = max(map(self._arrival, dict(self.nodes[j])))
        self.boot[j] = boot = (self.up_at[j] - state.now) * state.rate
        state.jobs[j] = Job(job.submit, job.work + boot, job.procs, job.plan + planned)
        state.remaining[j] = job.work + boot
        self._end_later(j)
        # Who is awake lends nothing from now on, however long the job lasts.
        self.holds[-1] = self.holds[-1]._replace(rooms=self.machine.held(j, pools))
        self._lend()
        self._hold_on_way()

    def _easy_by_count(self, order: list[int], second: list[int]) -> None:
        self.reserved: tuple[Instant, int] | None = None
        super()._easy_by_count(order, second)
        if self.reserved is None:
            return
        shadow, extra = self.reserved
        free = {k: self._free_on(k, self.now) for k in range(len(self.machine.nodes))}
        left = sum(free.values()) - extra
        by_then = [k for k in self.order if self._up(k) <= shadow]
        for k in [*by_then, *(k for k in self.order if k not in by_then)]:
            if left > 0 and free[k] > 0:
                self._count_on(shadow, ((k, 1),))
                left -= free[k]

    def _drawn_by_count(self, j: int, free: int) -> Vector:
        """What a job adds, and what it takes to wake as many sleepers as it cannot do without."""
        job, draws = self.machine.jobs[j], self.machine.draws
        assert draws
        watts = job.width * self.machine.of_task(job, 0)
        asleep = [k for k, state in enumerate(self.of) if state == ASLEEP]
        free -= sum(self.machine.nodes[k].procs for k in asleep)
        left = max(job.width - free, 0)
        for k in asleep:
            taken = min(left, self.machine.nodes[k].procs)
            if taken > 0:
                watts += draws.lent[k] + self.machine.beyond(job, k, taken)
                left -= taken
        return tuple(watts for _ in draws.room)

    def _reserve(self, shadow: Instant, extra: int) -> None:
        self.reserved = shadow, extra

    # Changes

    def _arrival(self, k: int) -> Exact:
        """When a node that is wanted is up indeed."""
        depth = self.sleep.depths[k]
        if self.of[k] in (UP, FAILED) or depth is None:
            return self.state.now
        if self.woken[k]:
            return self.begins[k] + depth.boot(self.boots[k] + 1)
        return self.arrives[k]

    def _lie(self, k: int, now: Exact) -> None:
        """A node is idle from now on."""
        self.rested[k] += 1
        rests = self.sleep.rests
        self.idle[k] = now + (rests[k][self.rested[k] - 1] if rests else self.sleep.idle)

    def _change(self, k: int, state: int, now: Exact) -> None:
        self.of[k] = state
        self.changes.append(Change(now, k, state))

    def _wake(self, k: int, extra: int) -> None:
        if self.woken[k] or self.of[k] not in (ENTERING, ASLEEP):
            return
        self.woken[k] = True
        begins = self.arrives[k] if self.of[k] == ENTERING else self.state.now
        if self.sleep.wake_gap:
            begins = begins if self.next_wake is None else max(begins, self.next_wake)
            self.next_wake = begins + self.sleep.wake_gap
        self.begins[k] = begins
        if self.of[k] == ASLEEP:
            self._leave(k, self.state.now, extra)

    def _leave(self, k: int, now: Exact, extra: int) -> None:
        depth = self.sleep.depths[k]
        assert depth is not None
        if self.begins[k] > now:
            self.arrives[k] = self.begins[k]
            return
        self.extra[k] = extra
        self.woken[k] = False
        self.boots[k] += 1
        self._change(k, LEAVING, now)
        self.expected[k] = now + depth.leave
        self.arrives[k] = now + depth.boot(self.boots[k])
        if self.arrives[k] == now and not self.sleep.may_fail:
            self._come_up(k, now)

    def _come_up(self, k: int, now: Exact) -> None:
        self.arrives.pop(k, None)
        self.extra.pop(k, None)
        self.waker.pop(k, None)
        self._change(k, UP, now)
        if self._is_empty(k):
            self._lie(k, now)

    def _is_empty(self, k: int) -> bool:
        return all(k not in dict(self.nodes[j]) for j in self.running)

    def arrive(self, state: State) -> int | None:
        """Changes that are due end, up to the next node whose boot has failed, or is repaired."""
        self.state, self.running = state, list(state.running)
        while due := sorted((t, k) for k, t in self.arrives.items() if t <= state.now):
            now, k = due[0]
            depth = self.sleep.depths[k]
            del self.arrives[k]
            if self.of[k] == ENTERING:
                self._change(k, ASLEEP, now)
                extra = self.extra.pop(k)
                if self.woken[k]:
                    self._leave(k, now, extra)
            elif self.of[k] == ASLEEP:
                self._leave(k, now, 0)
            elif self.of[k] == FAILED:
                self.broken -= {k}
                if k not in self.downed:
                    self.down ^= {k}
                    self._come_up(k, now)
                    return k
            elif depth is not None and depth.fails and depth.fails[self.boots[k] - 1]:
                self._change(k, FAILED, now)
                self.extra.pop(k)
                self.waker.pop(k, None)
                self.down ^= {k}
                self.broken |= {k}
                self.arrives[k] = now + self.sleep.repair
                return k
            else:
                self._come_up(k, now)
        return None

    def release(self, state: State, j: int) -> None:
        """A job has left its nodes."""
        self.running = [i for i in state.running if i != j]
        for k, _ in self.nodes[j]:
            if self.of[k] == UP and self._is_empty(k):
                self._lie(k, state.now)
            if self.waker.get(k) == j:
                # It goes on waking, for nobody.
                self.extra[k] = self._more(k)[0]
                del self.waker[k]

    def speed_up(self, state: State, faster: Exact) -> None:
        """The rate has grown by so much: boots take as long as before, and so more work."""
        for j in [j for j in state.running if self.up_at[j] > state.now]:
            more = faster * (self.up_at[j] - state.now)
            later = faster * max(self.up_by_plan[j] - state.now, 0)
            job = state.jobs[j]
            state.jobs[j] = Job(job.submit, job.work + more, job.procs, job.plan + later)
            state.remaining[j] += more
            self.boot[j] += more

    def shift(self, k: int, now: Exact) -> None:
        """A node goes down or comes up by an event."""
        if k in self.down:
            self.idle.pop(k, None)
            self.arrives.pop(k, None)
            self.extra.pop(k, None)
            self.waker.pop(k, None)
            self.woken[k] = False
            self._change(k, FAILED, now)
        else:
            self._come_up(k, now)

    # The policy

    def rest(self, state: State) -> None:
        """After the pass: who goes to sleep, and who wakes."""
        self.state, self.running = state, list(state.running)
        now = state.now
        if state.stopped:
            self.wanted = {}
        keep, self.held_back = self._keep(), False
        for k, until in sorted(self.idle.items(), key=lambda item: (item[1], item[0])):
            depth = self.sleep.depths[k]
            if depth is None or until > now:
                continue
            back = now + depth.enter + depth.leave
            more = self._more(k)[0] if depth.enter > 0 else 0
            needed = k in self.wanted and (back > self._when(k) or self._when(k) <= now)
            if (
                self._able() > keep
                and not needed
                and not self._stays(k)
                and self._may_draw(k, more)
            ):
                if self.sleep.sleep_gap and self.next_sleep is not None and self.next_sleep > now:
                    self.held_back = True
                    continue
                self.next_sleep = now + self.sleep.sleep_gap
                del self.idle[k]
                self.woken[k] = False
                self._change(k, ENTERING, now)
                self.arrives[k] = now + depth.enter
                self.extra[k] = more
                if depth.enter == 0:
                    del self.arrives[k], self.extra[k]
                    self._change(k, ASLEEP, now)
        draws = self.machine.draws
        for k in [k for k in self.order if k in self.wanted] if draws else self.wanted:
            depth = self.sleep.depths[k]
            if self.of[k] == ASLEEP and depth is not None and self._when(k) - depth.leave <= now:
                self._wake_idle(k)
        coming = [
            k
            for k in range(len(self.of))
            if (self.of[k] == LEAVING or self.woken[k]) and self._is_empty(k)
        ]
        awake = self._able() + len(coming)
        for k in self.order:
            asleep = self.of[k] == ASLEEP and not self.woken[k]
            if asleep and k not in self.wanted and awake < keep:
                awake += self._wake_idle(k)

    def _wake_idle(self, k: int) -> bool:
        """Wake a node for nobody, if it may draw what that takes."""
        extra, more = self._more(k)
        if not self._may_draw(k, more):
            return False
        self._wake(k, extra)
        return True

    def _keep(self) -> int:
        """How many idle nodes stay on."""
        past = [number for time, number in self.sleep.steps if time <= self.state.now]
        if not self.sleep.steps:
            return self.sleep.keep
        number = past[-1] if past else self.sleep.steps[0][1]
        busy = sum(self.of[k] != FAILED and not self._is_empty(k) for k in range(len(self.of)))
        return max(number - busy, 0) if self.sleep.demand else number

    def _stays(self, k: int) -> bool:
        """Whether an idle node is one of those of a set that stay on."""
        able = {i for i in self.idle if self.sleep.depths[i] is not None}
        return any(k in nodes and len(nodes & able) <= least for nodes, least in self.sleep.stays)

    def _able(self) -> int:
        """Idle nodes that could sleep."""
        return sum(self.sleep.depths[k] is not None for k in self.idle)

    def _when(self, k: int) -> Exact:
        """When a reservation counts on a node."""
        state = self.state
        return state.now + ratio(self.wanted[k] - state.clock, state.rate)

    def next_times(self) -> list[Exact]:
        """When something is to be done."""
        now = self.state.now
        times = list(self.arrives.values())
        for k, until in self.idle.items():
            if self.sleep.depths[k] is not None and until > now:
                times.append(until)
        for k in self.wanted:
            depth = self.sleep.depths[k]
            if self.of[k] != ASLEEP or depth is None or self.woken[k]:
                continue
            if self._when(k) - depth.leave > now:
                times.append(self._when(k) - depth.leave)
        if self.held_back and self.next_sleep is not None:
            times.append(self.next_sleep)
        return times + [time for time, _ in self.sleep.steps if time > now]
