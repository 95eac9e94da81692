"""What external events do under Slurm, from its description; nothing of sojourn is used.

Happenings are (time, kind, about): "down" and "up" of a node, "strike" and "cancel" of a job,
"stop", "resume", and "look", where a reservation begins or ends. Reservations are (announced,
begins, ends, node): the first in s, the others in whole seconds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from .checkpoints import Checkpoint, pieces


@dataclass
class Outside:
    happenings: list = field(default_factory=list)
    reservations: list = field(default_factory=list)
    requeue: bool = True
    expire: int = 120
    checkpoints: list[Checkpoint] = field(default_factory=list)


class Events:
    """External events of a controller `c`, and the jobs that they stop."""

    def __init__(self, outside, c):
        self.outside, self.c = outside, c
        self.ahead = list(outside.happenings)
        self.down, self.stopped = set(), False
        # From which second on a job may start; who has to leave its nodes before.
        self.eligible = {j: math.floor(job["submit"]) for j, job in enumerate(c.jobs)}
        self.returning, self.restarts = set(), {}
        # (job, start, stop, nodes) of stretches of service that were cut short.
        self.stretches, self.killed, self.quiet = [], set(), -math.inf
        self.lives = {}
        for j, it in enumerate(outside.checkpoints):
            self.lives[j] = [pieces(c.jobs[j]["run"], it), False]

    def next_time(self):
        return self.ahead[0][0] if self.ahead else math.inf

    def work(self, j):
        """What a job has before it when it starts."""
        if j not in self.lives:
            return self.c.jobs[j]["run"]
        left, is_resumed = self.lives[j]
        return sum(left) + (self.outside.checkpoints[j].restore if is_resumed else 0)

    def stop(self, j, now, returns):
        c = self.c
        started = c.start[j]
        self.stretches.append((j, started, now, sorted(c.given[j])))
        c.leave(j, now)
        if not returns:
            self.killed.add(j)
            c.end[j] = now
            return
        self.restarts[j] = self.restarts.get(j, 0) + 1
        if j in self.lives:
            self.lives[j] = self.life_after(j, now - started)
        del c.start[j], c.by[j]
        self.eligible[j] = math.inf
        self.returning.add(j)
        c.waiting.add(j)

    def life_after(self, j, done):
        """What is left after so much of this life: pieces with their dumps, and whether resumed."""
        left, is_resumed = self.lives[j]
        done -= self.outside.checkpoints[j].restore if is_resumed else 0
        left = list(left)
        while len(left) > 1 and left[0] <= done:
            done -= left.pop(0)
            is_resumed = True
        return [left, is_resumed]

    def leave_nodes(self, j, second):
        """The epilog is over: who comes back is submitted anew."""
        self.quiet = second
        if j in self.returning:
            self.returning.remove(j)
            self.eligible[j] = second + self.outside.expire + 1

    def take(self):
        now, kind, about = self.ahead.pop(0)
        c, second = self.c, math.floor(now)
        self.quiet = second
        if kind == "down":
            for j in sorted(j for j in c.running if about in c.given[j]):
                self.stop(j, now, self.outside.requeue)
            self.down.add(about)
        elif kind == "up":
            self.down.remove(about)
        elif kind == "strike" and about in c.running:
            self.stop(about, now, self.outside.requeue)
        elif kind == "cancel":
            self.cancel(about, now)
        elif kind == "stop":
            self.stopped = True
        elif kind == "resume" and self.stopped:
            self.stopped = False
            c.jobs_changed, c.wanted = second, True
        if kind in ("down", "up"):
            c.nodes_changed, c.wanted = second, True
        if kind == "look":
            c.nodes_changed = second

    def cancel(self, j, now):
        c = self.c
        if j in c.running:
            self.stop(j, now, False)
        elif j in c.waiting:
            c.waiting.remove(j)
            c.cancelled[j] = now
            c.jobs_changed = math.floor(now)
        elif j not in c.end and j not in c.cancelled:
            # It has not come yet, and leaves when it does.
            c.cancelled[j] = c.jobs[j]["submit"]

    # Reservations.

    def reserved(self, instant, begin, end, nodes):
        """Those of the nodes which a known reservation needs from one second until another."""
        return {
            n
            for announced, begins, ends, n in self.outside.reservations
            if announced <= instant and begins < end and ends > begin and n in nodes
        }

    def first_end(self, instant, begin):
        return min(
            ends
            for announced, _, ends, _ in self.outside.reservations
            if announced <= instant and ends >= begin
        )

    # Who holds up whom.

    def is_passed_by(self, j, stopped, now):
        """Whether a job that cannot start now holds up nobody."""
        c, job = self.c, self.c.jobs[j]
        second = math.floor(now)
        members = {n for n, node in enumerate(c.nodes) if job["partition"] in node["partitions"]}
        if len(members - self.down) < job["nodes"]:
            c.jobs_changed = second
        others = {n for n in members if not c.nodes[n]["partitions"] & stopped}
        if len(others - self.down) < job["nodes"]:
            return False
        kept = self.reserved(now, second, second + 60 * job["limit"], members)
        suited = {n for n in members - kept if c.suits(j, n)}
        if kept and len(suited) < job["nodes"]:
            return True
        there = suited - self.down
        if len(there) >= job["nodes"] or any(self.is_in_use(n) for n in there):
            return False
        c.jobs_changed = second
        return True

    def is_in_use(self, n):
        c = self.c
        here = [c.jobs[i] for i in c.running if n in c.given[i]]
        if n in c.closing_nodes():
            return True
        return any(job["whole"] for job in here) if c.conf.shared else bool(here)

    def is_over(self, second):
        """Whether all who wait, wait for ever; while nobody runs, and nothing is to come."""
        c = self.c
        hopeless = all(
            sum(c.suits(j, n) for n in range(len(c.nodes)) if n not in self.down)
            < c.jobs[j]["nodes"]
            for j in c.waiting
        )
        since = max([self.quiet, *(self.eligible[j] for j in c.waiting)])
        return hopeless or self.stopped or second >= since + 3600
