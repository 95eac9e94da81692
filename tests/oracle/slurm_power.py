"""Slurm's power saving from its description, with sets and lists; nothing of sojourn is used.

States of nodes: "up", "entering", "asleep", "leaving". A node is `down` from when it is sent to
sleep until it is woken, and `blocked` as long as it cannot be given to jobs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field


@dataclass
class Saving:
    """Lists by node: idle time, time to enter and to leave (s). `spared`: [(nodes, how many)]."""

    idle_time: list
    enter: list
    leave: list
    suspend_timeout: int = 30
    suspend_rate: int = 60
    resume_rate: int = 300
    spared: list = field(default_factory=list)
    spare_planned: bool = False
    interval: int = 10
    least_interval: int = 0


class PowerLoop:
    """The third loop of a controller `c`, and the nodes that it switches."""

    def __init__(self, saving, c):
        self.saving, self.c = saving, c
        count = len(c.nodes)
        self.state = ["up"] * count
        self.last_busy = [math.floor(c.pace.started)] * count
        self.down, self.blocked, self.asked = set(), set(), {}
        self.last = math.floor(c.pace.started)
        self.at = c.pace.started + 1.0 + c.pace.nap
        self.suspended = self.resumed = 0.0
        # (time, node) at which a change of state is over; who waits for nodes, in order.
        self.changes, self.resuming, self.booting = set(), [], set()
        self.up, self.history = {}, []

    # What happens to jobs.

    def is_up(self, nodes):
        return all(self.state[n] == "up" and n not in self.down for n in nodes)

    def claim(self, j):
        """A job has got nodes that are not all up."""
        self.booting.add(j)
        if self.down & set(self.c.given[j]):
            self.resuming.append(j)

    def let_go(self, now):
        """Jobs whose nodes are all up start: the controller looks when it looks for limits."""
        for j in sorted(self.booting):
            if self.is_up(self.c.given[j]):
                self.booting.remove(j)
                self.up[j] = now
                self.c.set_going(j, now)

    def leave_nodes(self, j, second):
        """The epilog of a job is over."""
        for n in self.c.given[j]:
            if not self.holders(n) and n not in self.c.closing_nodes() and n not in self.down:
                self.last_busy[n] = second

    def holders(self, n):
        return [j for j in self.c.running if n in self.c.given[j]]

    def choose(self, fitting, need, tightest):
        """Nodes for a job that starts now: such as are not powered down, if these suffice."""
        able = fitting - self.blocked - self.c.closing_nodes()
        if len(able) < need:
            return None
        awake = able - self.down
        return tightest(self.c.nodes, awake if len(awake) >= need else able, need)

    # What happens to nodes.

    def first_change(self):
        return min(self.changes, default=(math.inf, -1))

    def note(self, now, n, state):
        self.state[n] = state
        self.history.append((now, n, state))

    def change(self):
        """The next change of state is over."""
        now, n = self.first_change()
        self.changes.remove((now, n))
        if self.state[n] == "entering":
            self.note(now, n, "asleep")
            return
        self.note(now, n, "up")
        second = math.floor(now)
        self.c.nodes_changed = second
        if not self.holders(n):
            self.last_busy[n] = second

    def look(self):
        now = self.at
        self.at = now + 1.0 + self.c.pace.nap
        second = math.floor(now)
        if second < self.last + self.saving.least_interval:
            return
        if self.c.nodes_changed < self.last and second < self.last + self.saving.interval:
            return
        lapse = second - self.last
        kept = (60 - lapse) / 60.0 if lapse < 60 else 0.0
        self.suspended *= kept
        self.resumed *= kept
        self.last = second
        self.work(now, second)

    def work(self, now, second):
        s = self.saving
        woken = self.whom_to_wake()
        for n in sorted(woken):
            self.down.remove(n)
            self.note(now, n, "leaving")
            self.changes.add((now + s.leave[n], n))
        spared = self.spared()
        count = int(self.suspended + 0.5)
        for n in range(len(self.c.nodes)):
            if (
                self.is_idle(n)
                and (s.suspend_rate == 0 or count < s.suspend_rate)
                and self.last_busy[n] + s.idle_time[n] < second
                and n not in spared
            ):
                count += 1
                self.suspended += 1
                self.down.add(n)
                self.blocked.add(n)
                self.asked[n] = second
                self.note(now, n, "entering")
                self.changes.add((now + s.enter[n], n))
            if n in self.blocked and self.asked[n] + s.suspend_timeout < second:
                self.blocked.remove(n)

    def whom_to_wake(self):
        rate, woken = self.saving.resume_rate, set()
        count = int(self.resumed + 0.5)
        for j in list(self.resuming):
            if rate and count >= rate:
                break
            needed = sorted(self.down & set(self.c.given[j])) if j in self.booting else []
            for n in needed:
                if rate == 0 or count < rate:
                    count += 1
                    self.resumed += 1
                    woken.add(n)
            if woken.issuperset(needed):
                self.resuming.remove(j)
        return woken

    def is_idle(self, n):
        return (
            self.state[n] == "up"
            and n not in self.down
            and not self.holders(n)
            and n not in self.c.closing_nodes()
        )

    def spared(self):
        spared = set(self.c.planned) if self.saving.spare_planned else set()
        for nodes, number in self.saving.spared:
            idle = [n for n in sorted(nodes) if self.is_idle(n)]
            spared |= set(idle[:number]) if number < len(nodes) else set(nodes)
        return spared
